#include <limits>
#include <vector>

#include "qed/machine/parallel.hpp"
#include "qed/online/online.hpp"
#include "qed/sparse/visited_rows.hpp"

namespace qed {
namespace {

/// Rows of a block when all of them are looked at.
constexpr Index kLooked = 4096;

template <class Rows>
void margins_over(const Rows& x, const OnlineTargets& targets, const double* w, const double* b, double* least,
                  double* longest) {
    const Index blocks = std::max<Index>(1, blocks_of(x.rows, kLooked));
    const auto k = static_cast<std::size_t>(targets.problems);
    std::vector<double> found(static_cast<std::size_t>(blocks) * (k + 1));
    with_visited(x, [&](const auto& table) {
        parallel_for(blocks, [&](Index block) {
            double* own = found.data() + static_cast<std::size_t>(block) * (k + 1);
            std::fill_n(own, k, std::numeric_limits<double>::infinity());
            own[k] = 0.0;
            for (Index row = block * kLooked; row < std::min(x.rows, (block + 1) * kLooked); ++row) {
                own[k] = std::max(own[k], table.square(row));
                for (std::size_t c = 0; c < k; ++c) {
                    const double t = table.dot(row, w + static_cast<Index>(c) * x.columns) + b[c];
                    const double y =
                        k == 1 ? targets.y[row] : (static_cast<std::size_t>(targets.y[row]) == c ? 1.0 : -1.0);
                    own[c] = std::min(own[c], y * t);
                }
            }
        });
    });
    std::fill_n(least, k, std::numeric_limits<double>::infinity());
    *longest = 0.0;
    for (Index block = 0; block < blocks; ++block) {
        const double* own = found.data() + static_cast<std::size_t>(block) * (k + 1);
        for (std::size_t c = 0; c < k; ++c) {
            least[c] = std::min(least[c], own[c]);
        }
        *longest = std::max(*longest, own[k]);
    }
}

}  // namespace

void online_margins(const Matrix& x, const OnlineTargets& targets, const double* w, const double* b, double* least,
                    double* longest) {
    margins_over(x, targets, w, b, least, longest);
}

void online_margins(const SparseRows& x, const OnlineTargets& targets, const double* w, const double* b, double* least,
                    double* longest) {
    margins_over(x, targets, w, b, least, longest);
}

}  // namespace qed
