/// Entries placed among rising levels, a list of them for each column.
///
/// Layout: any strides. Determinism: every entry is placed on its own, whatever thread does it. NaN stays NaN.
#pragma once

#include "qed/tables/entries.hpp"

namespace qed {

/// Writes how many levels of its column each entry reaches: those at or below it. The levels of column j stand from
/// starts[j] on and end before starts[j + 1]. `out` has the type and shape of x.
void count_levels(const Matrix& x, const double* levels, const Index* starts, const Target& out);

/// Writes the value of a curve through (levels, values) at each entry: linear between levels, flat outside, and at a
/// level that is listed several times the mean of its first and last value. Each column has `count` levels of its own,
/// those of column j from j * count on; the values are the same for all. `out` has the type and shape of x.
void follow_levels(const Matrix& x, const double* levels, const double* values, Index count, const Target& out);

}  // namespace qed
