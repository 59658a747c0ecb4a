#include <algorithm>

#include "arrays.hpp"
#include "qed/convex/precision_descent.hpp"

namespace qed::bindings {
namespace {

using nb::arg;

const double* square(const Array& array, const char* name, Index p) {
    const Matrix found = matrix(array, name);
    require(array.dtype() == nb::dtype<double>() && found.rows == p && found.columns == p && array.stride(1) == 1 &&
                (p <= 1 || array.stride(0) == p),
            std::string(name) + " must be a contiguous square matrix of float64, all of one size");
    return static_cast<const double*>(array.data());
}

nb::ndarray<nb::numpy, double> direction(const Array& S, const Array& T, const Array& W, double alpha, Index sweeps) {
    const auto p = static_cast<Index>(S.ndim() == 2 ? S.shape(0) : 0);
    const double* s = square(S, "S", p);
    const double* t = square(T, "T", p);
    const double* w = square(W, "W", p);
    Fresh<double> out({p, p});
    std::fill(out.get(), out.get() + p * p, 0.0);
    run([&] { precision_descent(s, t, w, alpha, p, sweeps, out.get()); });
    return out.give();
}

}  // namespace

void bind_precision(nb::module_& module) {
    module.def(
        "precision_descent", &direction, arg("S"), arg("T"), arg("W"), arg("alpha"), arg("sweeps"),
        nb::sig("def precision_descent(S: Matrix, T: Matrix, W: Matrix, alpha: float, sweeps: int) -> Matrix"),
        R"doc(Newton direction from a precision matrix T, of inverse W, for a covariance S with an l1 penalty off the diagonal.)doc");
}

}  // namespace qed::bindings
