#include "arrays.hpp"
#include "qed/dense/reflect.hpp"
#include "qed/dense/triangular.hpp"

namespace qed::bindings {
namespace {

using nb::arg;

nb::tuple cholesky_of(const Array& A) {
    const Matrix a = matrix(A, "A");
    require(a.rows == a.columns, "A must be square");
    Fresh<double> lower({a.rows, a.rows}, true);
    Index bad = -1;
    run([&] { bad = cholesky(a, lower.get()); });
    return nb::make_tuple(lower.give(), bad);
}

using Solve = void (*)(const Matrix&, const Matrix&, double*);

template <Solve solve>
Doubles solution_of(const Array& L, const Array& B) {
    const Matrix l = matrix(L, "L");
    const Matrix b = matrix(B, "B");
    require(l.rows == l.columns, "L must be square");
    require(l.rows == b.rows, "B must have as many rows as L");
    Fresh<double> x({b.rows, b.columns});
    run([&] { solve(l, b, x.get()); });
    return x.give();
}

Doubles triangle_of(const Array& X, const Array& Y, const MaybeArray& s, const MaybeArray& shift,
                    const MaybeArray& scale, bool ones) {
    const Matrix x = matrix(X, "X");
    const Matrix y = matrix(Y, "Y");
    require(x.rows == y.rows, "X and Y must have equally many rows");
    const Index q = x.columns + y.columns;
    const TriangleOptions options{.s = vector(s, "s", x.rows),
                                  .shift = vector(shift, "shift", q),
                                  .scale = vector(scale, "scale", q),
                                  .ones = ones};
    Fresh<double> r({q + ones, q + ones});
    run([&] { triangle(x, y, options, r.get()); });
    return r.give();
}

}  // namespace

void bind_factor(nb::module_& module) {
    module.def("cholesky", &cholesky_of, arg("A"));
    module.def("triangle", &triangle_of, arg("X"), arg("Y"), arg("s").none(), arg("shift").none(), arg("scale").none(),
               arg("ones"));
    module.def("solve_lower", &solution_of<solve_lower>, arg("L"), arg("B"));
    module.def("solve_lower_t", &solution_of<solve_lower_transposed>, arg("L"), arg("B"));
}

}  // namespace qed::bindings
