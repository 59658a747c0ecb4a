/// One query against all octets, for keepers of neighbor_walk.hpp.
#pragma once

#include "qed/neighbors/neighbor_walk.hpp"

namespace qed {

template <class M, class Keep>
void scan_one(const NeighborIndex& index, const double* query, Exponent power, Keep& keep) {
    for (Index o = 0; o < index.octet_count && keep.limit() >= 0; ++o) {
        Vector<double> sums[1][kOctetVectors];
        octet_sums<M, 1>(index.octets + o * index.columns * kOctet, query, index.columns, power, sums, {keep.limit()});
        offer_octet(index, o, sums[0], -1, keep);
    }
}

}  // namespace qed
