/// Problems that do not depend on one another, over a stretch of a pass: dense rows four at a time, others one by one or in
/// batches.
#pragma once

#include <vector>

#include "qed/online/learner.hpp"
#include "qed/online/loss.hpp"

namespace qed {

/// How far ahead rows are fetched.
inline constexpr Index kAhead = 16;
/// Rows that are learnt from four at a time shrink the coefficients by no more than this each.
inline constexpr double kGentle = 0.5;

/// What is the same for all problems of one chunk of visits.
struct Chunk {
    Index begin;
    Index end;
    double steps;
    double owed;
};

template <class Loss, class Table>
class Pass {
  public:
    Pass(const Table& table, Index rows, Index columns, const OnlineTargets& targets, const OnlineRule& rule,
         OnlineState& state, const Loss& loss, bool sums_losses) noexcept
        : table_(table), rows_(rows), columns_(columns), targets_(targets), rule_(rule), state_(state), loss_(loss),
          sums_losses_(sums_losses) {}

    /// Some problems over one chunk; `found` has one entry for each of all problems.
    void operator()(const Index* problems, Index count, const Chunk& chunk, OnlinePass* found) const {
        std::vector<Learner<Table>> learners;
        for (Index at = 0; at < count; ++at) {
            learners.emplace_back(table_, columns_, problems[at], rule_, state_, sums_losses_);
        }
        const Index rows = chunk.end - chunk.begin;
        Index k = 0;
        if constexpr (Table::kQuads) {
            // steps that grow, or that ask the loss how long to be, go one by one
            const bool quads = rule_.batch == 1 && state_.paid == nullptr && rule_.steps < StepRule::passive && rule_.power >= 0.0;
            for (; quads && k + 4 <= rows; k += 4) {
                const double step = chunk.steps + static_cast<double>(k);
                if (step_size(rule_, step) * rule_.ridge <= kGentle) {
                    four(learners, chunk.begin + k, step, found);
                } else {
                    few(learners, chunk, k, k + 4, found);
                }
            }
        }
        few(learners, chunk, k, rows, found);
    }

  private:
    /// Rows from `k` to `end` of a chunk, a batch at a time.
    void few(std::vector<Learner<Table>>& learners, const Chunk& chunk, Index k, Index end, OnlinePass* found) const {
        const std::size_t count = learners.size();
        std::vector<double> steps(static_cast<std::size_t>(std::min(rule_.batch, end - k)) * count);
        double owed = chunk.owed;
        for (; k < end; k += rule_.batch) {
            const Index together = std::min(rule_.batch, end - k);
            const double step = chunk.steps + static_cast<double>(k / rule_.batch);
            const double eta = step_size(rule_, step);
            owed += eta * rule_.lasso;
            for (Index at = 0; at < together; ++at) {
                fetch(chunk.begin + k + at);
                const Index row = state_.order[chunk.begin + k + at];
                const double square = needs_squares() ? square_of(row) : 0.0;
                for (std::size_t c = 0; c < count; ++c) {
                    steps[static_cast<std::size_t>(at) * count + c] =
                        far(learners[c].problem(), row, learners[c].score(row), learners[c].penalty(), eta, square,
                            found[learners[c].problem()]);
                }
            }
            const bool averages = state_.lag != nullptr && step >= state_.average_from;
            for (std::size_t c = 0; c < count; ++c) {
                learners[c].shrink(eta);
                bool moved = false;
                for (Index at = 0; at < together; ++at) {
                    const double by = steps[static_cast<std::size_t>(at) * count + c];
                    const Index row = state_.order[chunk.begin + k + at];
                    moved = moved || by != 0.0;
                    if (together == 1) {
                        if (state_.paid != nullptr) {
                            learners[c].move_and_settle(row, by, owed);
                        } else if (by != 0.0) {
                            learners[c].move_scored(row, by, learners[c].weighs_squares() ? square_of(row) : 0.0);
                        }
                        continue;
                    }
                    if (by != 0.0) {
                        learners[c].move(row, by / static_cast<double>(together));
                    }
                    if (state_.paid != nullptr) {
                        learners[c].settle(row, owed);
                    }
                }
                if (averages) {
                    learners[c].count();
                }
                if (moved && state_.log != nullptr) {
                    state_.log[state_.logged++] = chunk.begin + k;
                }
            }
        }
    }
    /// Four rows from a place on, one after the other for the result, side by side for the processor.
    void four(std::vector<Learner<Table>>& learners, Index place, double step, OnlinePass* found) const {
        const std::uint32_t* rows = state_.order + place;
        const auto quad = table_.quad(rows);
        Four steps;
        quad.pairs(steps.pairs);
        if (needs_squares() || sums_losses_) {
            quad.squares(steps.squares);
        }
        double eta[4];
        double y[4];
        double weight[4];
        double shrunk = 1.0;
        steps.counts = 4;
        steps.intercept = rule_.intercept ? 1.0 : 0.0;
        step_sizes(rule_, step, eta);
        for (int k = 3; k >= 0; --k) {
            fetch(place + k);
            steps.counts = step + static_cast<double>(k) >= state_.average_from ? k : steps.counts;
            y[k] = targets_.y[rows[k]];
            weight[k] = targets_.weight == nullptr ? 1.0 : targets_.weight[rows[k]];
        }
        for (int k = 0; k < 4; ++k) {
            shrunk *= 1.0 - eta[k] * rule_.ridge;
            steps.shrunk[k] = shrunk;
        }
        for (int k = 0; k < 4; ++k) {
            steps.grown[k] = 1.0 / steps.shrunk[k];
        }
        for (Learner<Table>& learner : learners) {
            const Index problem = learner.problem();
            double side[4];
            double s[4];
            for (int k = 0; k < 4; ++k) {
                side[k] = targets_.problems == 1 ? y[k] : (static_cast<Index>(y[k]) == problem ? 1.0 : -1.0);
                s[k] = weight[k];
                if (targets_.favour != nullptr) {
                    s[k] *= targets_.favour[2 * problem + (side[k] > 0.0 ? 1 : 0)];
                }
                steps.far[k] = -eta[k] * gentle(s[k], eta[k], steps.squares[k]);
            }
            Did did;
            did.penalty = 0.0;
            learner.learn(quad, steps, did, [&](int k, double t) { return loss_.slope(t, side[k]); });
            note(problem, place, did, side, s, found[problem]);
        }
    }
    /// What four rows leave behind.
    [[gnu::always_inline]] void note(Index problem, Index place, const Did& did, const double (&y)[4], const double (&s)[4],
                                     OnlinePass& found) const noexcept {
        const std::uint32_t* rows = state_.order + place;
        if (Loss::kOfLabels) {
            Index mistakes = 0;
            for (int k = 0; k < 4; ++k) {
                mistakes += y[k] * did.t[k] <= 0.0 ? 1 : 0;
            }
            found.mistakes += mistakes;
        }
        if (sums_losses_) {
            double sum = did.penalty;
            for (int k = 0; k < 4; ++k) {
                sum += s[k] * loss_.value(did.t[k], y[k]);
            }
            found.loss += sum;
        }
        if (state_.slopes != nullptr) {
            float* slopes = state_.slopes + problem * rows_;
            for (int k = 0; k < 4; ++k) {
                slopes[rows[k]] += static_cast<float>(did.slope[k]);
            }
        }
        for (int k = 0; state_.log != nullptr && k < 4; ++k) {
            if (did.slope[k] != 0.0) {
                state_.log[state_.logged++] = place + k;
            }
        }
    }
    [[nodiscard]] double square_of(Index row) const noexcept {
        return state_.squares == nullptr ? table_.square(row) : state_.squares[row];
    }
    void fetch(Index place) const noexcept {
        if (place + kAhead < rows_) {
            const Index row = state_.order[place + kAhead];
            table_.prefetch(row);
            __builtin_prefetch(targets_.y + row);
        }
    }
    [[nodiscard]] bool needs_squares() const noexcept { return Loss::kBend > 0.0 || rule_.steps >= StepRule::passive; }

    /// The weight of a row: a longer step would overshoot the row, and the next ones without end.
    [[gnu::always_inline]] double gentle(double s, double eta, double square) const noexcept {
        if constexpr (Loss::kBend > 0.0) {
            return std::min(s, 1.0 / (eta * Loss::kBend * (square + (rule_.intercept ? 1.0 : 0.0))));
        }
        return s;
    }
    /// How far a row moves the coefficients of a problem at score t; what it adds to the losses is added.
    [[gnu::always_inline]] double far(Index problem, Index row, double t, double penalty, double eta, double square,
                                      OnlinePass& found) const noexcept {
        double y = targets_.y[row];
        if (targets_.problems > 1) {
            y = static_cast<Index>(y) == problem ? 1.0 : -1.0;
        }
        double s = targets_.weight == nullptr ? 1.0 : targets_.weight[row];
        if (targets_.favour != nullptr) {
            s *= targets_.favour[2 * problem + (y > 0.0 ? 1 : 0)];
        }
        if (Loss::kOfLabels) {
            found.mistakes += y * t <= 0.0 ? 1 : 0;
        }
        if (sums_losses_) {
            found.loss += s * loss_.value(t, y) + penalty;
        }
        const double slope = loss_.slope(t, y);
        if (state_.slopes != nullptr) {
            state_.slopes[problem * rows_ + row] += static_cast<float>(slope);
        }
        if (rule_.steps < StepRule::passive) {
            return -eta * gentle(s, eta, square) * slope;
        }
        if (slope == 0.0 || square == 0.0) {
            return 0.0;
        }
        const double lost = s * loss_.value(t, y);
        const double length = rule_.steps == StepRule::passive ? std::min(rule_.eta, lost / square)
                                                               : lost / (square + 0.5 / rule_.eta);
        return -std::copysign(length, slope);
    }

    const Table& table_;
    Index rows_;
    Index columns_;
    const OnlineTargets& targets_;
    const OnlineRule& rule_;
    OnlineState& state_;
    Loss loss_;
    bool sums_losses_;
};

}  // namespace qed
