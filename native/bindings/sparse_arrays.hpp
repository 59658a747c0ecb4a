/// Compressed rows as they come from SciPy.
#pragma once

#include <utility>

#include "arrays.hpp"
#include "qed/sparse/sparse.hpp"

namespace qed::bindings {

using Shape = std::pair<Index, Index>;

SparseRows sparse_rows(const Array& indptr, const Array& indices, const Array& data, const Shape& shape);

}  // namespace qed::bindings
