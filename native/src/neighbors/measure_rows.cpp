#include "qed/neighbors/measure_rows.hpp"

#include <algorithm>
#include <limits>

#include "qed/machine/parallel.hpp"
#include "qed/machine/scratch.hpp"

namespace qed {

namespace {

constexpr int kTogether = 4;  // queries that meet an octet while it is in registers

/// Up to four queries against all rows; absent ones are copies that nobody listens to.
template <class M>
void measure_together(const NeighborIndex& index, const double* queries, Index count, Exponent power, double* out) {
    constexpr double far = std::numeric_limits<double>::infinity();
    const ScratchArray<double> packed(index.columns * kTogether);
    for (Index i = 0; i < kTogether; ++i) {
        const double* query = queries + std::min(i, count - 1) * index.columns;
        for (Index j = 0; j < index.columns; ++j) {
            packed[j * kTogether + i] = query[j];
        }
    }
    const Index width = index.octet_count * kOctet;
    const ScratchArray<double> found(kTogether * width);
    for (Index o = 0; o < index.octet_count; ++o) {
        Vector<double> sums[kTogether][kOctetVectors];
        octet_sums<M, kTogether>(index.octets + o * index.columns * kOctet, packed.get(), index.columns, power, sums,
                                 {far, far, far, far});
        for (int i = 0; i < kTogether; ++i) {
            for (int v = 0; v < kOctetVectors; ++v) {
                store(found.get() + i * width + o * kOctet + v * kLanes<double>, sums[i][v]);
            }
        }
    }
    for (Index i = 0; i < count; ++i) {
        for (Index x = 0; x < index.rows; ++x) {
            out[i * index.rows + x] = M::distance(found[i * width + x], power, index.columns);
        }
    }
}

}  // namespace

void measure_rows(const NeighborIndex& index, const double* queries, Index count, const Measure& measure, double* out) {
    const Effort effort(static_cast<double>(count) * static_cast<double>(index.rows * (index.columns + 2)));
    with_metric(measure.metric, [&]<class M>(M) {
        parallel_for(blocks_of(count, kTogether), [&](Index number) {
            const Index first = number * kTogether;
            measure_together<M>(index, queries + first * index.columns, std::min<Index>(count - first, kTogether),
                                measure.power, out + first * index.rows);
        });
    });
}

}  // namespace qed
