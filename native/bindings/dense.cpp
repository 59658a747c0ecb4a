#include "arrays.hpp"
#include "qed/finite.hpp"
#include "qed/moments.hpp"

namespace qed::bindings {
namespace {

using nb::arg;

nb::tuple moments_of(const Array& X, const Array& Y, const MaybeArray& s, const Array& shift) {
    const Matrix x = matrix(X, "X");
    const Matrix y = matrix(Y, "Y");
    require(x.rows == y.rows, "X and Y must have equally many rows");
    const Index q = x.columns + y.columns;
    const double* weights = vector(s, "s", x.rows);
    const double* offset = vector(shift, "shift", q);
    double weight = 0.0;
    Fresh<double> sums({q});
    Fresh<double> scatter({q, q});
    run([&] { moments(x, y, weights, offset, {&weight, sums.get(), scatter.get()}); });
    return nb::make_tuple(weight, sums.give(), scatter.give());
}

Doubles gram_of(const Array& X, const MaybeArray& s, const MaybeArray& shift, bool transpose, bool fast) {
    const Matrix x = matrix(X, "X");
    const Index q = transpose ? x.rows : x.columns;
    const GramOptions options{.s = vector(s, "s", transpose ? x.columns : x.rows),
                              .shift = vector(shift, "shift", x.columns),
                              .transpose = transpose,
                              .fast = fast};
    require(!fast || x.kind == Kind::float32, "fast=True needs a float32 X");
    Fresh<double> out({q, q});
    run([&] { gram(x, options, out.get()); });
    return out.give();
}

bool all_finite_in(const Array& X) {
    const Matrix x = matrix(X, "X");
    bool answer = false;
    run([&] { answer = all_finite(x); });
    return answer;
}

}  // namespace

void bind_dense(nb::module_& module) {
    module.def("moments", &moments_of, arg("X"), arg("Y"), arg("s").none(), arg("shift"));
    module.def("gram", &gram_of, arg("X"), arg("s").none(), arg("shift").none(), arg("transpose"), arg("fast") = false);
    module.def("all_finite", &all_finite_in, arg("X"));
}

}  // namespace qed::bindings
