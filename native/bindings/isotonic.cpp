#include "qed/tables/isotonic.hpp"

#include "arrays.hpp"

namespace qed::bindings {
namespace {

using nb::arg;

nb::ndarray<nb::numpy, double> pooled(const Array& x, const Array& y, const MaybeArray& s) {
    const auto n = static_cast<Index>(x.ndim() == 1 ? x.shape(0) : 0);
    const double* places = vector(x, "x", n);
    const double* targets = vector(y, "y", n);
    const double* weights = vector(s, "s", n);
    Fresh<double> out({n});
    run([&] { pool_adjacent_violators(places, targets, weights, n, out.get()); });
    return out.give();
}

}  // namespace

void bind_isotonic(nb::module_& module) {
    module.def(
        "pool_adjacent_violators", &pooled, arg("x"), arg("y"), arg("s").none(),
        nb::sig("def pool_adjacent_violators(x: Vector, y: Vector, s: Vector | None) -> Vector"),
        R"doc(Best rising values by weighted least squares, of rows sorted by x; equal x share one value. Weights are positive.)doc");
}

}  // namespace qed::bindings
