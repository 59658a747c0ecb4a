/// Distances of queries to all rows, in the order of the rows: by differences, for every metric of rows_by_8.hpp.
#pragma once

#include "qed/neighbors/neighbors.hpp"

namespace qed {

/// out[i] = distance of row i, for i up to the rows rounded up to eight; the index has no tree.
template <class M>
void measure_row(const NeighborIndex& index, const double* query, Exponent power, double* out) noexcept {
    constexpr double far = std::numeric_limits<double>::infinity();
    for (Index o = 0; o < index.octet_count; ++o) {
        Vector<double> sums[1][kOctetVectors];
        octet_sums<M, 1>(index.octets + o * index.columns * kOctet, query, index.columns, power, sums, {far});
        for (int v = 0; v < kOctetVectors; ++v) {
            store(out + o * kOctet + v * kLanes<double>, sums[0][v]);
        }
    }
    for (Index i = 0; i < index.octet_count * kOctet; ++i) {  // apart, so that roots are taken of whole vectors
        out[i] = M::distance(out[i], power, index.columns);
    }
}

/// out[q * rows + i] = distance of query q and row i; the index has no tree.
void measure_rows(const NeighborIndex& index, const double* queries, Index count, const Measure& measure, double* out);

}  // namespace qed
