#include "qed/online.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "qed/online_loss.hpp"
#include "qed/parallel.hpp"
#include "qed/visit_order.hpp"
#include "qed/visited_rows.hpp"

namespace qed {
namespace {

/// Visits between looks at the clock, and how far ahead rows are fetched.
constexpr Index kChunk = 1 << 15;
constexpr Index kAhead = 16;
/// Rows of a block when all of them are looked at.
constexpr Index kLooked = 4096;
/// Problems that share a visit to a row, at most.
constexpr Index kTogether = 4;
/// Below this the scale joins the coefficients.
constexpr double kSmallScale = 1e-6;
/// Rows that are learnt from four at a time shrink the coefficients by no more than this each.
constexpr double kGentle = 0.5;

double step_size(const OnlineRule& rule, double t) noexcept {
    switch (rule.steps) {
        case StepRule::optimal: return 1.0 / (rule.alpha * (rule.offset + t));
        case StepRule::power:  // a root is many times faster than a power
            return rule.eta / (rule.power == 0.25  ? std::sqrt(std::sqrt(t + 1.0))
                               : rule.power == 0.5 ? std::sqrt(t + 1.0)
                                                   : std::pow(t + 1.0, rule.power));
        default: return rule.eta;
    }
}

/// One of the problems, as the loop sees it.
template <class Table>
class Learner {
  public:
    Learner(const Table& table, Index columns, Index problem, const OnlineRule& rule, OnlineState& state, bool weighs) noexcept
        : table_(table),
          rule_(rule),
          columns_(columns),
          problem_(problem),
          weighs_(weighs && (rule.ridge > 0.0 || rule.lasso > 0.0) && rule.steps < StepRule::passive),
          w_(state.w + problem * columns),
          lag_(state.lag == nullptr ? nullptr : state.lag + problem * columns),
          paid_(state.paid == nullptr ? nullptr : state.paid + problem * columns),
          b_(state.b[problem]),
          scale_(state.scale[problem]),
          mass_(state.mass[problem]),
          b_sum_(state.b_sum[problem]) {
        for (Index j = 0; j < columns_ && weighs_; ++j) {
            square_ += w_[j] * w_[j];
            total_ += std::fabs(w_[j]);
        }
    }

    [[nodiscard]] Index problem() const noexcept { return problem_; }
    [[nodiscard]] double score(Index row) const noexcept { return scale_ * table_.dot(row, w_) + b_; }
    /// What the penalty comes to, or zero where nobody asks.
    [[nodiscard]] double penalty() const noexcept {
        return scale_ * (0.5 * rule_.ridge * scale_ * square_ + rule_.lasso * total_);
    }

    void shrink(double eta) noexcept {
        if (rule_.ridge > 0.0) {
            scale_ *= std::max(0.0, 1.0 - eta * rule_.ridge);
            if (scale_ < kSmallScale) {
                rescale();
            }
        }
    }
    void move(Index row, double by) noexcept {
        const double factor = by / scale_;
        if (weighs_) {
            table_.each(row, [&](Index j, double x) { weigh(w_[j], w_[j] + factor * x); });
        }
        table_.add(row, factor, w_);
        if (lag_ != nullptr && mass_ != 0.0) {
            table_.add(row, factor * mass_, lag_);
        }
        if (rule_.intercept) {
            b_ += by;
        }
    }
    /// Pulls the coefficients of a row towards zero by what the penalty has come to since they were last pulled.
    void settle(Index row, double owed) noexcept {
        table_.each(row, [&](Index j, double) {
            const double before = scale_ * w_[j];
            double after = before;
            if (before > 0.0) {
                after = std::max(0.0, before - (owed + paid_[j]));
            } else if (before < 0.0) {
                after = std::min(0.0, before + (owed - paid_[j]));
            }
            const double change = (after - before) / scale_;
            paid_[j] += after - before;
            weigh(w_[j], w_[j] + change);
            w_[j] += change;
            if (lag_ != nullptr) {
                lag_[j] += change * mass_;
            }
        });
    }
    void count() noexcept {
        mass_ += scale_;
        b_sum_ += b_;
    }

    /// Learns from four rows. `far(k, t, penalty)` says how far row k moves the coefficients at score t; `counts` says from which
    /// row on coefficients join the running mean.
    template <class Quad, class Far>
    void learn(const Quad& rows, const double* pairs, const double* squares, const double* eta, int counts,
               Far&& far) noexcept {
        if (scale_ < kSmallScale) {
            rescale();
        }
        double factor[4];
        double late[4];
        alignas(kVectorBytes) double dots[4];
        rows.dots(w_, dots);
        double b = b_;
        double scale = scale_;
        double mass = mass_;
        bool moves = false;
        bool lags = false;
#pragma GCC unroll 4
        for (int k = 0; k < 4; ++k) {
            double dot = dots[k];
            for (int before = 0; before < k; ++before) {
                dot += factor[before] * pairs[k * (k - 1) / 2 + before];
            }
            const double by = far(k, scale * dot + b, scale * scale * square_ * 0.5 * rule_.ridge);
            scale *= 1.0 - eta[k] * rule_.ridge;
            factor[k] = by * (1.0 / scale);
            late[k] = factor[k] * mass;
            moves |= factor[k] != 0.0;
            lags |= late[k] != 0.0;
            b += rule_.intercept ? by : 0.0;
            if (k >= counts) {
                mass += scale;
                b_sum_ += b;
            }
            if (weighs_) {
                square_ += factor[k] * (2.0 * dot + factor[k] * squares[k]);
            }
        }
        b_ = b;
        scale_ = scale;
        mass_ = mass;
        if (moves) {
            rows.add(factor, w_);
        }
        if (lags && lag_ != nullptr) {
            rows.add(late, lag_);
        }
    }

  private:
    void weigh(double before, double after) noexcept {
        square_ += after * after - before * before;
        total_ += std::fabs(after) - std::fabs(before);
    }
    void rescale() noexcept {
        square_ *= scale_ * scale_;
        total_ *= scale_;
        if (scale_ == 0.0) {  // everything was forgotten
            if (lag_ != nullptr) {
                for (Index j = 0; j < columns_; ++j) {
                    lag_[j] -= mass_ * w_[j];
                }
            }
            std::fill_n(w_, columns_, 0.0);
            mass_ = 0.0;
            scale_ = 1.0;
            return;
        }
        for (Index j = 0; j < columns_; ++j) {
            w_[j] *= scale_;
        }
        mass_ /= scale_;
        scale_ = 1.0;
    }

    const Table& table_;
    const OnlineRule& rule_;
    Index columns_;
    Index problem_;
    bool weighs_;
    double* w_;
    double* lag_;
    double* paid_;
    double& b_;
    double& scale_;
    double& mass_;
    double& b_sum_;
    double square_ = 0.0;  ///< Σ w² and Σ |w|, before the scale, kept for the penalty where somebody asks
    double total_ = 0.0;
};

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
            while (rule_.batch == 1 && state_.paid == nullptr && k + 4 <= rows) {
                const double step = chunk.steps + static_cast<double>(k);
                if (step_size(rule_, step) * rule_.ridge <= kGentle) {
                    four(learners, chunk.begin + k, step, found);
                } else {
                    few(learners, chunk, k, k + 4, found);
                }
                k += 4;
            }
        }
        few(learners, chunk, k, rows, found);
    }

  private:
    /// Rows from `k` to `end` of a chunk, a batch at a time.
    void few(std::vector<Learner<Table>>& learners, const Chunk& chunk, Index k, Index end, OnlinePass* found) const {
        const std::size_t count = learners.size();
        std::vector<double> steps(static_cast<std::size_t>(rule_.batch) * count);
        double owed = chunk.owed;
        for (; k < end; k += rule_.batch) {
            const Index together = std::min(rule_.batch, end - k);
            const double step = chunk.steps + static_cast<double>(k / rule_.batch);
            const double eta = step_size(rule_, step);
            owed += eta * rule_.lasso;
            for (Index at = 0; at < together; ++at) {
                fetch(chunk.begin + k + at);
                const Index row = state_.order[chunk.begin + k + at];
                const double square = needs_squares() ? table_.square(row) : 0.0;
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
                    if (by != 0.0) {
                        learners[c].move(row, by / static_cast<double>(together));
                        moved = true;
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
        double eta[4];
        int counts = 4;
        for (int k = 3; k >= 0; --k) {
            fetch(place + k);
            const double at = step + static_cast<double>(k);
            eta[k] = step_size(rule_, at);
            counts = state_.lag != nullptr && at >= state_.average_from ? k : counts;
        }
        const std::uint32_t* rows = state_.order + place;
        const auto quad = table_.quad(rows);
        alignas(kVectorBytes) double pairs[8];
        alignas(kVectorBytes) double squares[4] = {};
        quad.pairs(pairs);
        if (needs_squares() || sums_losses_) {
            quad.squares(squares);
        }
        for (Learner<Table>& learner : learners) {
            const Index problem = learner.problem();
            OnlinePass own = found[problem];  // in registers, not in memory that others might look at
            learner.learn(quad, pairs, squares, eta, counts, [&](int k, double t, double penalty) {
                const double by = far(problem, rows[k], t, penalty, eta[k], squares[k], own);
                if (by != 0.0 && state_.log != nullptr) {
                    state_.log[state_.logged++] = place + k;
                }
                return by;
            });
            found[problem] = own;
        }
    }
    void fetch(Index place) const noexcept {
        if (place + kAhead < rows_) {
            table_.prefetch(state_.order[place + kAhead]);
        }
    }
    [[nodiscard]] bool needs_squares() const noexcept { return Loss::kBend > 0.0 || rule_.steps >= StepRule::passive; }

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
            if constexpr (Loss::kBend > 0.0) {  // a longer step would overshoot the row, and the next ones without end
                s = std::min(s, 1.0 / (eta * Loss::kBend * (square + (rule_.intercept ? 1.0 : 0.0))));
            }
            return -eta * s * slope;
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

template <class Rows>
Index passes_over(const Rows& x, const OnlineTargets& targets, const OnlineRule& rule, OnlineState& state,
                  OnlineStop& stop, bool sums_losses, OnlinePass* found) {
    const auto ended = [&](Index problem) { return stop.idle[problem] < 0 || stop.idle[problem] >= stop.patience; };
    std::vector<OnlinePass> own(static_cast<std::size_t>(targets.problems));
    Index done = 0;
    with_visited(x, [&](const auto& table) {
        while (done < stop.most) {
            std::vector<Index> left;
            bool goes_on = false;
            for (Index problem = 0; problem < (rule.competes ? 1 : targets.problems); ++problem) {
                goes_on = goes_on || !ended(problem);
                if (stop.together || !ended(problem)) {
                    left.push_back(problem);
                }
            }
            if (!goes_on) {
                break;
            }
            std::fill(own.begin(), own.end(), OnlinePass{});
            pass_over(table, x.rows, table.row_bytes(x.rows), x.columns, targets, rule, state, left,
                      sums_losses || (stop.by_loss && !stop.when_clean), own);
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
    return done;
}

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

Index online_passes(const Matrix& x, const OnlineTargets& targets, const OnlineRule& rule, OnlineState& state,
                    OnlineStop& stop, bool sums_losses, OnlinePass* found) {
    return passes_over(x, targets, rule, state, stop, sums_losses, found);
}

Index online_passes(const SparseRows& x, const OnlineTargets& targets, const OnlineRule& rule, OnlineState& state,
                    OnlineStop& stop, bool sums_losses, OnlinePass* found) {
    return passes_over(x, targets, rule, state, stop, sums_losses, found);
}

}  // namespace qed
