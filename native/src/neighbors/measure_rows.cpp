#include "qed/neighbors/measure_rows.hpp"

#include <algorithm>

#include "qed/machine/parallel.hpp"
#include "qed/machine/scratch.hpp"

namespace qed {

void measure_rows(const NeighborIndex& index, const double* queries, Index count, const Measure& measure, double* out) {
    constexpr Index block = 4;
    const Effort effort(static_cast<double>(count) * static_cast<double>(index.rows * (index.columns + 2)));
    with_metric(measure.metric, [&]<class M>(M) {
        parallel_for(blocks_of(count, block), [&](Index number) {
            const ScratchArray<double> row(index.octet_count * kOctet);
            for (Index q = number * block; q < std::min(count, (number + 1) * block); ++q) {
                measure_row<M>(index, queries + q * index.columns, measure.power, row.get());
                std::copy_n(row.get(), index.rows, out + q * index.rows);
            }
        });
    });
}

}  // namespace qed
