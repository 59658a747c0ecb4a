#include "qed/convex/face_strides.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "qed/convex/face.hpp"
#include "qed/machine/parallel.hpp"

namespace qed {
namespace {

constexpr Index kStrides = 24;   // for one descent, at most
constexpr Index kPatience = 4;   // strides without fewer changes than ever before: lost
constexpr Index kMany = 4;       // times as many changes as the fewest so far, and then some: lost as well
constexpr int kParts = 4;        // of a way that was lost when it was tried at once
constexpr double kEdge = 1e-10;  // a pull must outgrow its kink by more than this share to count
/// Coordinates that may join at once: so many, or this share of the face if that is more. From far away most of those
/// that want to join would have to leave again.
constexpr Index kFew = 32;
constexpr Index kShare = 2;

constexpr signed char kAbove = 1;
constexpr signed char kBelow = -1;

/// A coordinate that is zero and should not be: how far its pull is beyond the kink, and on which side.
struct Wanting {
    double beyond;
    Index j;
    signed char side;

    bool operator<(const Wanting& other) const noexcept {
        return beyond > other.beyond || (beyond == other.beyond && j < other.j);
    }
};

class Strides {
  public:
    explicit Strides(GramTask& task)
        : q_(task.quadratic),
          penalty_(task.penalty),
          w_(task.w),
          g_(task.gradient),
          factor_(*task.factor),
          side_(at(q_.size)),
          squares_(at(q_.size)),
          move_(at(q_.size)) {
        for (Index j = 0; j < q_.size; ++j) {
            side_[at(j)] = static_cast<signed char>((w_[j] > 0.0) - (w_[j] < 0.0));
            squares_[at(j)] = row(j)[j];
        }
        is_sure_ = factor_.follow(q_, penalty_.ridge, w_);
        if (!task.knows_gradient) {
            gradient_of(q_, w_, g_);
        }
    }

    /// Whether the factor could be relied on at the start.
    [[nodiscard]] bool is_sure() const noexcept { return is_sure_; }

    /// To the minimum of the face, on which nothing has changed since; signs may be wrong there.
    void solve() {
        const std::vector<Index>& face = factor_.index();
        Numbers pull(face.size());
        for (std::size_t a = 0; a < face.size(); ++a) {
            const Index j = face[a];
            pull[a] = -g_[j] - penalty_.ridge * w_[j] - slope(j);
        }
        const Numbers direction = factor_.solved(pull);
        std::fill(move_.begin(), move_.end(), 0.0);
        for (std::size_t a = 0; a < face.size(); ++a) {
            move_[at(face[a])] = direction[a];
        }
        for (Index j = 0; j < q_.size; ++j) {
            if (side_[at(j)] == 0) {
                g_[j] += dot(row(j), move_.data(), q_.size);
            } else {
                w_[j] += move_[at(j)];
                g_[j] = -slope(j) - penalty_.ridge * w_[j];  // what a solved face has
            }
        }
    }

    /// Finds what is wrong there. Returns how many coordinates must leave or join.
    Index look() {
        gone_.clear();
        fresh_.clear();
        for (Index a = 0; a < factor_.size(); ++a) {
            const Index j = factor_.index()[at(a)];
            if (side_[at(j)] * w_[j] < 0.0) {
                gone_.push_back(a);
            }
        }
        for (Index j = 0; j < q_.size; ++j) {
            if (side_[at(j)] == 0 && squares_[at(j)] > 0.0) {
                const double high = -g_[j] - penalty_.high[j];
                const double low = penalty_.low[j] + g_[j];
                if (high > kEdge * penalty_.high[j] || low > -kEdge * penalty_.low[j]) {
                    fresh_.push_back({std::max(high, low), j, high > low ? kAbove : kBelow});
                }
            }
        }
        return static_cast<Index>(gone_.size() + fresh_.size());
    }

    /// Lets them leave and join. False if the factor cannot be relied on any more.
    bool turn() {
        const auto most = static_cast<std::size_t>(std::max(kFew, factor_.size() / kShare));
        for (const Index a : gone_) {
            const Index j = factor_.index()[at(a)];
            add_scaled(row(j), -w_[j], g_, q_.size);
            w_[j] = 0.0;
            side_[at(j)] = 0;
        }
        factor_.leave(gone_);
        if (fresh_.size() > most) {
            std::nth_element(fresh_.begin(), fresh_.begin() + static_cast<std::ptrdiff_t>(most), fresh_.end());
            fresh_.resize(most);
        }
        std::vector<Index> joining;
        for (const Wanting& one : fresh_) {
            side_[at(one.j)] = one.side;
            joining.push_back(one.j);
        }
        std::sort(joining.begin(), joining.end());
        return factor_.join(q_, joining);
    }

    [[nodiscard]] double gap() const noexcept {
        double total = 0.0;
        for (Index j = 0; j < q_.size; ++j) {
            total += w_[j] * (g_[j] - q_.linear[j]);
        }
        return gap_of(penalty_, q_.size, w_, g_, std::max(q_.constant + 0.5 * total, 0.0), squares_.data());
    }

  private:
    [[nodiscard]] const double* row(Index j) const noexcept { return q_.gram + j * q_.stride; }
    [[nodiscard]] double slope(Index j) const noexcept { return side_[at(j)] > 0 ? penalty_.high[j] : penalty_.low[j]; }

    const Quadratic& q_;
    const Kinks& penalty_;
    double* w_;
    double* g_;
    FaceFactor& factor_;
    std::vector<signed char> side_;
    Numbers squares_;
    Numbers move_;
    std::vector<Index> gone_;  // rows of the factor
    std::vector<Wanting> fresh_;
    bool is_sure_ = true;
};

/// Strides until the face is right, or the way is lost: then the gap stays above the goal.
DescentResult stride(GramTask& task) {
    const Goal& goal = task.goal;
    Strides strides(task);
    Index fewest = task.quadratic.size + 1;
    Index since = 0;
    DescentResult result{0, strides.gap()};
    bool is_under_way = result.gap > goal.target && strides.is_sure();
    while (is_under_way && result.sweeps < std::min(kStrides, goal.most)) {
        parallel_for(1, [&](Index) {
            strides.solve();
            const Index changes = strides.look();
            since = changes < fewest ? 0 : since + 1;
            is_under_way = changes > 0 && since < kPatience && changes <= kMany * fewest + kFew;
            fewest = std::min(fewest, changes);
            if (changes == 0) {
                result.gap = strides.gap();
            } else if (is_under_way) {
                is_under_way = strides.turn();
            }
        });
        ++result.sweeps;
    }
    return result;
}

/// How many times as strong the kinks are for which w is the minimum, if they are in proportion to those asked for.
double strength_before(const GramTask& task) {
    const Kinks& penalty = task.penalty;
    double most = 1.0;
    for (Index j = 0; j < task.quadratic.size; ++j) {
        const double slope = slope_at(penalty, j, task.w[j]);
        if (task.w[j] != 0.0 && slope != 0.0) {
            most = std::max(most, -task.gradient[j] / slope);
        }
    }
    return most;
}

/// The same in several parts, with kinks in between.
DescentResult stride_in_parts(const GramTask& task, double ratio) {
    const Index size = task.quadratic.size;
    DescentResult result{0, 0.0};
    for (int part = kParts - 1; part >= 0 && result.gap <= task.goal.target; --part) {
        const double times = std::pow(ratio, static_cast<double>(part) / kParts);
        Numbers low(task.penalty.low, task.penalty.low + size);
        Numbers high(task.penalty.high, task.penalty.high + size);
        for (Index j = 0; j < size; ++j) {
            low[at(j)] *= times;
            high[at(j)] *= times;
        }
        GramTask between = task;
        between.penalty = {low.data(), high.data(), task.penalty.ridge};
        between.knows_gradient = part < kParts - 1;
        const DescentResult done = stride(between);
        result = {result.sweeps + done.sweeps, done.gap};
    }
    return result;
}

}  // namespace

DescentResult stride_faces(GramTask& task) {
    const Numbers start(task.w, task.w + task.quadratic.size);
    const double target = task.goal.target;
    const double ratio = task.knows_gradient ? strength_before(task) : 1.0;
    DescentResult result = stride(task);
    if (!(result.gap <= target) && ratio > 1.0) {
        std::copy(start.begin(), start.end(), task.w);
        const DescentResult parts = stride_in_parts(task, ratio);
        result = {result.sweeps + parts.sweeps, parts.gap};
    }
    if (result.gap <= target) {
        return result;
    }
    std::copy(start.begin(), start.end(), task.w);
    return {result.sweeps, std::numeric_limits<double>::infinity()};
}

}  // namespace qed
