#include "qed/online.hpp"

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "qed/parallel.hpp"
#include "qed/visited_rows.hpp"

namespace qed {
namespace {

/// Visits between looks at the clock, and how far ahead rows are fetched.
constexpr Index kChunk = 1 << 15;
constexpr Index kAhead = 8;
/// Bytes of neighbouring rows that stay together when rows are shuffled, how many such groups are mixed at a time, and the size
/// of a table whose rows are all near one another.
constexpr Index kGroupBytes = 1 << 16;
constexpr Index kHands = 16;
constexpr Index kNearBytes = 1 << 20;
/// Rows of a block when all of them are looked at.
constexpr Index kLooked = 4096;
/// Problems that share a visit to a row.
constexpr Index kTogether = 4;
/// Below this the scale joins the coefficients.
constexpr double kSmallScale = 1e-6;

/// A loss of one score: slope and value at t.
template <OnlineLoss kind>
struct Loss {
    double width;

    [[nodiscard]] double slope(double t, double y) const noexcept {
        const double m = y * t;
        if constexpr (kind == OnlineLoss::perceptron) {
            return m <= 0.0 ? -y : 0.0;
        } else if constexpr (kind == OnlineLoss::hinge) {
            return m < 1.0 ? -y : 0.0;
        } else if constexpr (kind == OnlineLoss::squared_hinge) {
            return m < 1.0 ? -2.0 * y * (1.0 - m) : 0.0;
        } else if constexpr (kind == OnlineLoss::modified_huber) {
            return m >= 1.0 ? 0.0 : (m >= -1.0 ? -2.0 * y * (1.0 - m) : -4.0 * y);
        } else if constexpr (kind == OnlineLoss::logistic) {
            return -y / (1.0 + std::exp(m));
        } else {
            const double r = t - y;
            if constexpr (kind == OnlineLoss::squared) {
                return r;
            } else if constexpr (kind == OnlineLoss::huber) {
                return std::clamp(r, -width, width);
            } else {
                const double over = std::fabs(r) - width;
                const double size = kind == OnlineLoss::insensitive ? 1.0 : 2.0 * over;
                return over > 0.0 ? std::copysign(size, r) : 0.0;
            }
        }
    }
    [[nodiscard]] double value(double t, double y) const noexcept {
        const double m = y * t;
        if constexpr (kind == OnlineLoss::perceptron) {
            return std::max(0.0, -m);
        } else if constexpr (kind == OnlineLoss::hinge) {
            return std::max(0.0, 1.0 - m);
        } else if constexpr (kind == OnlineLoss::squared_hinge) {
            return m < 1.0 ? (1.0 - m) * (1.0 - m) : 0.0;
        } else if constexpr (kind == OnlineLoss::modified_huber) {
            return m >= 1.0 ? 0.0 : (m >= -1.0 ? (1.0 - m) * (1.0 - m) : -4.0 * m);
        } else if constexpr (kind == OnlineLoss::logistic) {
            return m > 0.0 ? std::log1p(std::exp(-m)) : std::log1p(std::exp(m)) - m;
        } else {
            const double r = std::fabs(t - y);
            if constexpr (kind == OnlineLoss::squared) {
                return 0.5 * r * r;
            } else if constexpr (kind == OnlineLoss::huber) {
                return r <= width ? 0.5 * r * r : width * (r - 0.5 * width);
            } else {
                const double over = std::max(0.0, r - width);
                return kind == OnlineLoss::insensitive ? over : over * over;
            }
        }
    }
    static constexpr bool kOfLabels = kind <= OnlineLoss::logistic;
    /// Second derivative of losses whose slope grows without bound.
    static constexpr double kBend =
        kind == OnlineLoss::squared ? 1.0
        : kind == OnlineLoss::squared_hinge || kind == OnlineLoss::squared_insensitive ? 2.0
                                                                                       : 0.0;
};

/// Runs `work` with the loss as a type.
template <class Work>
void with_loss(const OnlineRule& rule, Work&& work) {
    switch (rule.loss) {
        case OnlineLoss::perceptron: return work(Loss<OnlineLoss::perceptron>{rule.width});
        case OnlineLoss::hinge: return work(Loss<OnlineLoss::hinge>{rule.width});
        case OnlineLoss::squared_hinge: return work(Loss<OnlineLoss::squared_hinge>{rule.width});
        case OnlineLoss::modified_huber: return work(Loss<OnlineLoss::modified_huber>{rule.width});
        case OnlineLoss::logistic: return work(Loss<OnlineLoss::logistic>{rule.width});
        case OnlineLoss::squared: return work(Loss<OnlineLoss::squared>{rule.width});
        case OnlineLoss::huber: return work(Loss<OnlineLoss::huber>{rule.width});
        case OnlineLoss::insensitive: return work(Loss<OnlineLoss::insensitive>{rule.width});
        case OnlineLoss::squared_insensitive: return work(Loss<OnlineLoss::squared_insensitive>{rule.width});
    }
}

double step_size(const OnlineRule& rule, double t) noexcept {
    switch (rule.steps) {
        case StepRule::optimal: return 1.0 / (rule.alpha * (rule.offset + t));
        case StepRule::power: return rule.eta / std::pow(t + 1.0, rule.power);
        default: return rule.eta;
    }
}

/// A number below `count` < 2^32, each as likely as the others up to count / 2^32.
Index draw_below(Index count, std::uint64_t& seed) noexcept {
    return static_cast<Index>(((draw(seed) >> 32) * static_cast<std::uint64_t>(count)) >> 32);
}

void shuffle(std::uint32_t* order, Index count, std::uint64_t& seed) noexcept {
    for (Index i = count - 1; i > 0; --i) {
        std::swap(order[i], order[draw_below(i + 1, seed)]);
    }
}

/// A new order of all rows. Of a large table groups of neighbouring rows are dealt out in random order to some hands, and every
/// row is the next one of a hand drawn at random: memory is then read in a few streams, while a row drawn from anywhere would
/// cost a page walk, which takes longer than learning from it.
void reorder(std::uint32_t* order, Index rows, Index row_bytes, std::uint64_t& seed) {
    const Index group = std::max<Index>(1, kGroupBytes / std::max<Index>(1, row_bytes));
    if (rows * row_bytes <= kNearBytes || group == 1) {
        return shuffle(order, rows, seed);
    }
    std::vector<std::uint32_t> groups(static_cast<std::size_t>(blocks_of(rows, group)));
    std::iota(groups.begin(), groups.end(), 0U);
    shuffle(groups.data(), static_cast<Index>(groups.size()), seed);
    struct Hand {
        Index next;
        Index end;
    };
    Hand hands[kHands];
    Index held = 0;
    std::size_t dealt = 0;
    const auto deal = [&](Hand& hand) {
        if (dealt == groups.size()) {
            return false;
        }
        const Index begin = static_cast<Index>(groups[dealt++]) * group;
        hand = {begin, std::min(rows, begin + group)};
        return true;
    };
    while (held < kHands && deal(hands[held])) {
        ++held;
    }
    for (Index filled = 0; filled < rows; ++filled) {
        Hand& hand = hands[draw_below(held, seed)];
        order[filled] = static_cast<std::uint32_t>(hand.next++);
        if (hand.next == hand.end && !deal(hand)) {
            hand = hands[--held];
        }
    }
}

/// One of the problems, as the loop sees it.
template <class Table>
class Learner {
  public:
    Learner(const Table& table, Index columns, Index problem, const OnlineRule& rule, OnlineState& state) noexcept
        : table_(table),
          rule_(rule),
          columns_(columns),
          w_(state.w + problem * columns),
          lag_(state.lag == nullptr ? nullptr : state.lag + problem * columns),
          paid_(state.paid == nullptr ? nullptr : state.paid + problem * columns),
          b_(state.b[problem]),
          scale_(state.scale[problem]),
          mass_(state.mass[problem]),
          b_sum_(state.b_sum[problem]) {}

    [[nodiscard]] double score(Index row) const noexcept { return scale_ * table_.dot(row, w_) + b_; }

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

  private:
    void rescale() noexcept {
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
    double* w_;
    double* lag_;
    double* paid_;
    double& b_;
    double& scale_;
    double& mass_;
    double& b_sum_;
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
    Pass(const Table& table, Index columns, const OnlineTargets& targets, const OnlineRule& rule, OnlineState& state,
         const Loss& loss, bool sums_losses) noexcept
        : table_(table), columns_(columns), targets_(targets), rule_(rule), state_(state), loss_(loss),
          sums_losses_(sums_losses) {}

    /// Problems from `first` to `last`, over one chunk.
    OnlinePass operator()(Index first, Index last, const Chunk& chunk) const {
        std::vector<Learner<Table>> learners;
        for (Index problem = first; problem < last; ++problem) {
            learners.emplace_back(table_, columns_, problem, rule_, state_);
        }
        OnlinePass out{};
        double owed = chunk.owed;
        const Index rows = static_cast<Index>(chunk.end - chunk.begin);
        std::vector<double> slopes(static_cast<std::size_t>(rule_.batch * (last - first)));
        for (Index k = 0; k < rows; k += rule_.batch) {
            const Index together = std::min(rule_.batch, rows - k);
            const double step = chunk.steps + static_cast<double>(k / rule_.batch);
            const double eta = step_size(rule_, step);
            owed += eta * rule_.lasso;
            for (Index at = 0; at < together; ++at) {
                look(learners, first, chunk.begin + k + at, eta, &slopes[static_cast<std::size_t>(at * (last - first))], out);
            }
            const bool averages = state_.lag != nullptr && step >= state_.average_from;
            for (std::size_t c = 0; c < learners.size(); ++c) {
                learners[c].shrink(eta);
                bool moved = false;
                for (Index at = 0; at < together; ++at) {
                    const double slope = slopes[static_cast<std::size_t>(at) * learners.size() + c];
                    const Index row = state_.order[chunk.begin + k + at];
                    if (slope != 0.0) {
                        learners[c].move(row, -far(row, eta, slope) / static_cast<double>(together));
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
        return out;
    }

  private:
    /// The slopes of one row, times its weights, and what it adds to the losses.
    void look(std::vector<Learner<Table>>& learners, Index first, Index place, double eta, double* slopes,
              OnlinePass& out) const {
        if (place + kAhead < ahead_end_) {
            table_.prefetch(state_.order[place + kAhead]);
        }
        const Index row = state_.order[place];
        const double weight = targets_.weight == nullptr ? 1.0 : targets_.weight[row];
        double most = std::numeric_limits<double>::infinity();
        if constexpr (Loss::kBend > 0.0) {  // a longer step would overshoot the row, and the next ones without end
            most = 1.0 / (eta * Loss::kBend * (table_.square(row) + (rule_.intercept ? 1.0 : 0.0)));
        }
        for (std::size_t c = 0; c < learners.size(); ++c) {
            const double t = learners[c].score(row);
            double y = targets_.y[row];
            const Index problem = first + static_cast<Index>(c);
            if (targets_.problems > 1) {
                y = static_cast<Index>(y) == problem ? 1.0 : -1.0;
            }
            double s = weight;
            if (targets_.favour != nullptr) {
                s *= targets_.favour[2 * problem + (y > 0.0 ? 1 : 0)];
            }
            if (Loss::kOfLabels) {
                out.mistakes += y * t <= 0.0 ? 1 : 0;
            }
            if (sums_losses_) {
                out.loss += s * loss_.value(t, y);
            }
            const double slope = loss_.slope(t, y);
            slopes[c] = rule_.steps < StepRule::passive || slope == 0.0 ? std::min(s, most) * slope
                                                                       : s * std::copysign(loss_.value(t, y), slope);
        }
    }
    /// How far a row moves the coefficients; rules that look at the loss find it where the slope was.
    [[nodiscard]] double far(Index row, double eta, double slope) const noexcept {
        if (rule_.steps < StepRule::passive) {
            return eta * slope;
        }
        const double square = table_.square(row);
        if (square == 0.0) {
            return 0.0;
        }
        if (rule_.steps == StepRule::passive) {
            return std::copysign(std::min(rule_.eta, std::fabs(slope) / square), slope);
        }
        return slope / (square + 0.5 / rule_.eta);
    }

    const Table& table_;
    Index columns_;
    const OnlineTargets& targets_;
    const OnlineRule& rule_;
    OnlineState& state_;
    Loss loss_;
    bool sums_losses_;

  public:
    Index ahead_end_ = 0;
};

/// Classes that compete for a row: all scores are needed before any of them moves.
template <class Table>
OnlinePass compete(const Table& table, Index columns, const OnlineTargets& targets, const OnlineRule& rule,
                   OnlineState& state, const Chunk& chunk, Index end) {
    std::vector<Learner<Table>> learners;
    for (Index problem = 0; problem < targets.problems; ++problem) {
        learners.emplace_back(table, columns, problem, rule, state);
    }
    OnlinePass out{};
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
    return out;
}

template <class Table>
OnlinePass pass_over(const Table& table, Index rows, Index row_bytes, Index columns, const OnlineTargets& targets,
                     const OnlineRule& rule, OnlineState& state, bool sums_losses) {
    if (state.replaces) {
        for (Index i = 0; i < rows; ++i) {
            state.order[i] = static_cast<std::uint32_t>(draw_below(rows, state.seed));
        }
    } else if (state.shuffles) {
        reorder(state.order, rows, row_bytes, state.seed);
    }
    OnlinePass total{};
    const Index size = round_up(kChunk, rule.batch);
    const Index groups = rule.competes ? 1 : blocks_of(targets.problems, kTogether);
    std::vector<OnlinePass> parts(static_cast<std::size_t>(groups));
    for (Index begin = 0; begin < rows; begin += size) {
        const Chunk chunk{begin, std::min(rows, begin + size), state.steps, state.owed};
        if (rule.competes) {
            parallel_for(1, [&](Index) { parts[0] = compete(table, columns, targets, rule, state, chunk, rows); });
        } else {
            with_loss(rule, [&](const auto& loss) {
                Pass pass(table, columns, targets, rule, state, loss, sums_losses);
                pass.ahead_end_ = rows;
                parallel_for(groups, [&](Index group) {
                    const Index first = group * kTogether;
                    const Index last = std::min(targets.problems, first + kTogether);
                    parts[static_cast<std::size_t>(group)] = pass(first, last, chunk);
                });
            });
        }
        for (const OnlinePass& part : parts) {
            total.loss += part.loss;
            total.mistakes += part.mistakes;
        }
        const Index taken = blocks_of(chunk.end - chunk.begin, rule.batch);
        for (Index k = 0; k < taken && rule.lasso > 0.0; ++k) {
            state.owed += step_size(rule, chunk.steps + static_cast<double>(k)) * rule.lasso;
        }
        const double before = std::max(chunk.steps, state.average_from);
        state.steps += static_cast<double>(taken);
        state.averaged += state.lag == nullptr ? 0.0 : std::max(0.0, state.steps - before);
    }
    return total;
}

template <class Rows>
Index passes_over(const Rows& x, const OnlineTargets& targets, const OnlineRule& rule, OnlineState& state,
                  OnlineStop& stop, bool sums_losses, OnlinePass* found) {
    Index done = 0;
    with_visited(x, [&](const auto& table) {
        while (done < stop.most && stop.idle < stop.patience) {
            const OnlinePass pass =
                pass_over(table, x.rows, table.row_bytes(x.rows), x.columns, targets, rule, state,
                          sums_losses || (stop.by_loss && !stop.when_clean));
            found[done++] = pass;
            if (stop.when_clean && pass.mistakes == 0) {
                break;
            }
            if (stop.by_loss) {
                const double measure = stop.when_clean ? static_cast<double>(pass.mistakes) : pass.loss;
                stop.idle = measure > stop.best - stop.least ? stop.idle + 1 : 0;
                stop.best = std::min(stop.best, measure);
            }
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
