/// Classes that compete for every row.
#pragma once

#include <limits>
#include <vector>

#include "qed/online/pass.hpp"

namespace qed {

/// Classes that compete for a row: all scores are needed before any of them moves.
template <class Table>
void compete(const Table& table, Index columns, const OnlineTargets& targets, const OnlineRule& rule, OnlineState& state,
             const Chunk& chunk, Index end, OnlinePass& out) {
    std::vector<Learner<Table>> learners;
    for (Index problem = 0; problem < targets.problems; ++problem) {
        learners.emplace_back(table, columns, problem, rule, state, false);
    }
    for (Index place = chunk.begin; place < chunk.end; ++place) {
        if (place + kAhead < end) {
            table.prefetch(state.order[place + kAhead]);
        }
        const Index row = state.order[place];
        const auto right = static_cast<std::size_t>(targets.y[row]);
        double own = 0.0;
        double best = -std::numeric_limits<double>::infinity();
        std::size_t wrong = 0;
        for (std::size_t c = 0; c < learners.size(); ++c) {
            const double t = learners[c].score(row);
            if (c == right) {
                own = t;
            } else if (t > best) {
                best = t;
                wrong = c;
            }
        }
        const double s = (targets.weight == nullptr ? 1.0 : targets.weight[row]) *
                         (targets.favour == nullptr ? 1.0 : targets.favour[2 * right + 1]);
        const double eta = step_size(rule, chunk.steps + static_cast<double>(place - chunk.begin));
        out.mistakes += own <= best ? 1 : 0;
        out.loss += s * std::max(0.0, rule.margin + best - own);
        for (Learner<Table>& learner : learners) {
            learner.shrink(eta);
        }
        const bool moves = rule.margin > 0.0 ? own < best + rule.margin : own <= best;
        if (moves) {
            learners[right].move(row, eta * s);
            learners[wrong].move(row, -eta * s);
            if (state.log != nullptr) {
                state.log[state.logged++] = place;
            }
        }
        if (state.lag != nullptr && chunk.steps + static_cast<double>(place - chunk.begin) >= state.average_from) {
            for (Learner<Table>& learner : learners) {
                learner.count();
            }
        }
    }
}

}  // namespace qed
