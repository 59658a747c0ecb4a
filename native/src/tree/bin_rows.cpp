#include <algorithm>
#include <cmath>

#include "qed/dense/numbers.hpp"
#include "qed/machine/parallel.hpp"
#include "qed/tree/ranks.hpp"

namespace qed {

void bin_rows(const Matrix& x, const double* cuts, const Index* ends, Index first, Index rows, const BinsRoom& to) {
    const Index step = BinsView{nullptr, nullptr, rows, x.columns}.row_step();
    parallel_for(x.columns, [&](Index j) {
        const double* const from = cuts + (j == 0 ? 0 : ends[j - 1]);
        const double* const stop = cuts + ends[j];
        double* const low = to.low + j * kPlaces;
        double* const high = to.high + j * kPlaces;
        std::uint8_t* const column = to.by_column + j * rows + first;
        with_type(x.kind, [&](auto type) {
            using T = std::remove_cv_t<std::remove_pointer_t<decltype(type)>>;
            for (Index i = 0; i < x.rows; ++i) {
                const auto value = static_cast<double>(*x.at<T>(i, j)) + 0.0;  // one zero
                if (std::isnan(value)) {
                    column[i] = kMissingBin;
                    continue;
                }
                const auto bin = std::lower_bound(from, stop, value) - from;
                column[i] = static_cast<std::uint8_t>(bin);
                low[bin] = std::min(low[bin], value);
                high[bin] = std::max(high[bin], value);
            }
        });
    });
    for (Index i = 0; i < x.rows; ++i) {
        std::uint8_t* const row = to.by_row + (first + i) * step;
        for (Index j = 0; j < x.columns; ++j) {
            row[j] = to.by_column[j * rows + first + i];
        }
        std::fill(row + x.columns, row + step, std::uint8_t{0});
    }
}

}  // namespace qed
