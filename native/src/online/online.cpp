#include "qed/online/online.hpp"

#include <type_traits>
#include <vector>

#include "qed/dense/numbers.hpp"
#include "qed/machine/parallel.hpp"
#include "qed/online/compete.hpp"
#include "qed/online/pass.hpp"
#include "qed/sparse/visit_order.hpp"
#include "qed/sparse/visited_rows.hpp"

namespace qed {
namespace {

/// Visits between looks at the clock.
constexpr Index kChunk = 1 << 15;
/// Problems that share a visit to a row, at most.
constexpr Index kTogether = 4;

/// One pass of some problems; `found` gets what each of all problems found.
template <class Table>
void pass_over(const Table& table, Index rows, Index row_bytes, Index columns, const OnlineTargets& targets,
               const OnlineRule& rule, OnlineState& state, const std::vector<Index>& problems, bool sums_losses,
               std::vector<OnlinePass>& found) {
    if (state.replaces) {
        for (Index i = 0; i < rows; ++i) {
            state.order[i] = static_cast<std::uint32_t>(draw_below(rows, state.seed));
        }
    } else if (state.shuffles) {
        reorder(state.order, rows, row_bytes, state.seed);
    }
    if (state.slopes != nullptr && (state.passes & (state.passes - 1)) == 0) {
        std::fill_n(state.slopes, targets.problems * rows, 0.0F);
        state.recorded = 0;
    }
    const Index size = round_up(kChunk, rule.batch);
    const auto many = static_cast<Index>(problems.size());
    const Index groups = many <= 1 ? many : round_up(blocks_of(many, kTogether), 2);  // an even number: for two threads
    for (Index begin = 0; begin < rows; begin += size) {
        const Chunk chunk{begin, std::min(rows, begin + size), state.steps, state.owed};
        if (rule.competes) {
            parallel_for(1, [&](Index) { compete(table, columns, targets, rule, state, chunk, rows, found[0]); });
        } else {
            with_loss(rule, [&](const auto& loss) {
                const Pass pass(table, rows, columns, targets, rule, state, loss, sums_losses);
                parallel_for(groups, [&](Index group) {
                    const Index first = many * group / groups;
                    pass(problems.data() + first, many * (group + 1) / groups - first, chunk, found.data());
                });
            });
        }
        const Index taken = blocks_of(chunk.end - chunk.begin, rule.batch);
        for (Index k = 0; k < taken && rule.lasso > 0.0; ++k) {
            state.owed += step_size(rule, chunk.steps + static_cast<double>(k)) * rule.lasso;
        }
        const double before = std::max(chunk.steps, state.average_from);
        state.steps += static_cast<double>(taken);
        state.averaged += state.lag == nullptr ? 0.0 : std::max(0.0, state.steps - before);
    }
    ++state.passes;
    state.recorded += state.slopes == nullptr ? 0 : 1;
}

/// The running mean of a problem that has ended stays as it is while the steps go on that all of them are divided by.
void keep_mean(OnlineState& state, Index problem, Index columns, double before) noexcept {
    if (state.lag == nullptr || state.averaged == before) {
        return;
    }
    double* lag = state.lag + problem * columns;
    if (before == 0.0) {  // it ended before means began: where it ended is its mean
        std::fill_n(lag, columns, 0.0);
        state.mass[problem] = state.averaged * state.scale[problem];
        state.b_sum[problem] = state.averaged * state.b[problem];
        return;
    }
    const double factor = state.averaged / before;
    for (Index j = 0; j < columns; ++j) {
        lag[j] *= factor;
    }
    state.mass[problem] *= factor;
    state.b_sum[problem] *= factor;
}

template <class Rows>
Index passes_over(const Rows& x, const OnlineTargets& targets, const OnlineRule& rule, OnlineState& state,
                  OnlineStop& stop, bool sums_losses, OnlinePass* found) {
    const auto ended = [&](Index problem) { return stop.idle[problem] < 0 || stop.idle[problem] >= stop.patience; };
    std::vector<OnlinePass> own(static_cast<std::size_t>(targets.problems));
    Index done = 0;
    Numbers squares;
    with_visited(x, [&](const auto& table) {
        if (!std::decay_t<decltype(table)>::kQuads && stop.most > 1) {
            for (Index row = 0; row < x.rows; ++row) {
                squares.push_back(table.square(row));
            }
            state.squares = squares.data();
        }
        while (done < stop.most) {
            std::vector<Index> left;
            std::vector<Index> over;
            bool goes_on = false;
            for (Index problem = 0; problem < (rule.competes ? 1 : targets.problems); ++problem) {
                goes_on = goes_on || !ended(problem);
                (stop.together || !ended(problem) ? left : over).push_back(problem);
            }
            if (!goes_on) {
                break;
            }
            std::fill(own.begin(), own.end(), OnlinePass{});
            const double averaged = state.averaged;
            pass_over(table, x.rows, table.row_bytes(x.rows), x.columns, targets, rule, state, left,
                      sums_losses || (stop.by_loss && !stop.when_clean), own);
            for (const Index problem : over) {
                keep_mean(state, problem, x.columns, averaged);
            }
            found[done] = {};
            for (const Index problem : left) {
                const OnlinePass& pass = own[static_cast<std::size_t>(problem)];
                found[done].loss += pass.loss;
                found[done].mistakes += pass.mistakes;
                const double measure = stop.when_clean ? static_cast<double>(pass.mistakes) : pass.loss;
                std::int64_t& idle = stop.idle[problem];
                if (stop.when_clean && pass.mistakes == 0) {
                    idle = -1;
                } else if (stop.by_loss) {
                    idle = measure > stop.best[problem] - stop.least ? std::max<std::int64_t>(idle, 0) + 1 : 0;
                    stop.best[problem] = std::min(stop.best[problem], measure);
                } else {
                    idle = 0;
                }
            }
            ++done;
        }
    });
    state.squares = nullptr;
    return done;
}

}  // namespace

Index online_passes(const Matrix& x, const OnlineTargets& targets, const OnlineRule& rule, OnlineState& state,
                    OnlineStop& stop, bool sums_losses, OnlinePass* found) {
    return passes_over(x, targets, rule, state, stop, sums_losses, found);
}

Index online_passes(const SparseRows& x, const OnlineTargets& targets, const OnlineRule& rule, OnlineState& state,
                    OnlineStop& stop, bool sums_losses, OnlinePass* found) {
    return passes_over(x, targets, rule, state, stop, sums_losses, found);
}

}  // namespace qed
