/// Arrays that kernels write to, as views.
#pragma once

#include "arrays.hpp"
#include "qed/tables/entries.hpp"

namespace qed::bindings {

using Writable = nb::ndarray<nb::device::cpu>;

/// A matrix of the type and shape of x.
inline Target target(Writable& out, const Matrix& x) {
    const bool is_float32 = out.dtype() == nb::dtype<float>();
    require(is_float32 || out.dtype() == nb::dtype<double>(), "out must be float32 or float64");
    require((is_float32 ? Kind::float32 : Kind::float64) == x.kind, "out must have the type of X");
    const bool fits =
        out.ndim() == 2 && static_cast<Index>(out.shape(0)) == x.rows && static_cast<Index>(out.shape(1)) == x.columns;
    require(fits, "out must have the shape of X");
    return {out.data(), out.stride(0), out.stride(1)};
}

}  // namespace qed::bindings
