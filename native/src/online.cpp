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

[[gnu::always_inline]] inline double step_size(const OnlineRule& rule, double t) noexcept {
    switch (rule.steps) {
        case StepRule::optimal: return 1.0 / (rule.alpha * (rule.offset + t));
        case StepRule::power:  // a root is many times faster than a power
            return rule.eta / (rule.power == 0.25  ? std::sqrt(std::sqrt(t + 1.0))
                               : rule.power == 0.5 ? std::sqrt(t + 1.0)
                                                   : std::pow(t + 1.0, rule.power));
        default: return rule.eta;
    }
}

/// Four steps, one after the other.
struct Four {
    double pairs[6];    ///< products of the rows with one another
    double squares[4];  ///< |x|², where they are needed
    double far[4];      ///< how far a row moves the coefficients against a slope of one; of one problem
    double shrunk[4];   ///< what the coefficients are multiplied by up to and with each step
    double grown[4];    ///< 1 / shrunk
    double intercept;   ///< one, or zero without one
    int counts;         ///< step from which on coefficients join the running mean
};

/// What four rows were when they were met, and the penalties at that time.
struct Did {
    double t[4];
    double slope[4];
    double penalty;
};

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

    /// Learns from four rows: `slope(k, t)` is that of the loss of row k at score t. `did` gets scores and slopes as they were met.
    template <class Quad, class Slope>
    [[gnu::always_inline]] void learn(const Quad& rows, const Four& four, Did& did, Slope&& slope) noexcept {
        if (scale_ < kSmallScale) {
            rescale();
        }
        const double start = scale_;
        const double inverse = 1.0 / start;
        double dots[4];
        double factor[4];
        double level[4];
        rows.dots(w_, dots);
        double b = b_;
#pragma GCC unroll 4
        for (int k = 0; k < 4; ++k) {
#pragma GCC unroll 4
            for (int before = 0; before < k; ++before) {
                dots[k] += factor[before] * four.pairs[k * (k - 1) / 2 + before];
            }
            const double shrunk = k == 0 ? start : start * four.shrunk[k - 1];
            did.t[k] = shrunk * dots[k] + b;
            did.slope[k] = slope(k, did.t[k]);
            const double by = four.far[k] * did.slope[k];
            factor[k] = by * (inverse * four.grown[k]);
            b += four.intercept * by;
            level[k] = b;
        }
        b_ = b;
        scale_ = start * four.shrunk[3];
        if (weighs_) {
            double shrunk = start;
            for (int k = 0; k < 4; ++k) {
                did.penalty += 0.5 * rule_.ridge * shrunk * shrunk * square_;
                square_ += factor[k] * (2.0 * dots[k] + factor[k] * four.squares[k]);
                shrunk = start * four.shrunk[k];
            }
        }
        if (factor[0] != 0.0 || factor[1] != 0.0 || factor[2] != 0.0 || factor[3] != 0.0) {
            rows.add(factor, w_);
        }
        if (lag_ != nullptr) {
            for (int k = 0; k < 4; ++k) {
                factor[k] *= mass_;
                if (k >= four.counts) {
                    mass_ += start * four.shrunk[k];
                    b_sum_ += level[k];
                }
            }
            rows.add(factor, lag_);
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
        for (int k = 3; k >= 0; --k) {
            fetch(place + k);
            eta[k] = step_size(rule_, step + static_cast<double>(k));
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
