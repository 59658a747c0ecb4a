#include <algorithm>
#include <cmath>
#include <limits>

#include "qed/convex/face.hpp"
#include "qed/convex/face_factor.hpp"
#include "qed/convex/face_strides.hpp"
#include "qed/machine/parallel.hpp"

namespace qed {
namespace {

/// Follows the minimum from kinks for which w is it to the kinks that are asked for.
///
/// At the share τ that is left, from one to zero, a coordinate that is not zero obeys -gradient = slope + τ extra, and
/// the others lie between low + τ below and high + τ above; at one this holds by the choice of these numbers. In
/// between everything is linear in τ until a coordinate becomes zero, or one that was zero meets an end of its
/// interval.
class Walk {
  public:
    Walk(const Quadratic& quadratic, const Kinks& penalty, double* w, double* gradient, FaceFactor& factor)
        : q_(quadratic),
          penalty_(penalty),
          w_(w),
          g_(gradient),
          factor_(factor),
          side_(at(quadratic.size)),
          below_(at(quadratic.size)),
          above_(at(quadratic.size)),
          change_(at(quadratic.size)) {
        factor_.follow(q_, penalty_.ridge, w_);
        refresh();
        for (Index j = 0; j < q_.size; ++j) {
            side_[at(j)] = static_cast<signed char>((w_[j] > 0.0) - (w_[j] < 0.0));
            const double pull = -g_[j] - penalty_.ridge * w_[j];
            below_[at(j)] = pull - penalty_.low[j];
            above_[at(j)] = pull - penalty_.high[j];
            if (side_[at(j)] == 0) {
                below_[at(j)] = std::min(below_[at(j)], 0.0);
                above_[at(j)] = std::max(above_[at(j)], 0.0);
            }
        }
    }

    /// To the next change of the face, or to the end. Returns false there.
    bool advance() {
        const std::vector<Index>& face = factor_.index();
        Numbers pull(face.size());
        for (std::size_t a = 0; a < face.size(); ++a) {
            pull[a] = extra(face[a]);
        }
        const Numbers direction = factor_.solved(pull);
        std::fill(change_.begin(), change_.end(), 0.0);
        for (std::size_t a = 0; a < face.size(); ++a) {
            add_scaled(q_.gram + face[a] * q_.stride, direction[a], change_.data(), q_.size);
        }
        double length = left_;
        Index row = -1;  // of the factor, which leaves
        for (std::size_t a = 0; a < face.size(); ++a) {
            const Index j = face[a];
            if (side_[at(j)] * direction[a] < 0.0) {
                const double room = std::max(-w_[j] / direction[a], 0.0);
                if (room < length) {
                    length = room;
                    row = static_cast<Index>(a);
                }
            }
        }
        Index fresh = -1;
        signed char side = 0;
        for (Index j = 0; j < q_.size; ++j) {
            if (side_[at(j)] != 0 || !(q_.gram[j * q_.stride + j] > 0.0)) {
                continue;
            }
            const double rate = change_[at(j)];
            if (rate < above_[at(j)]) {
                const double room = std::max(penalty_.high[j] + left_ * above_[at(j)] + g_[j], 0.0);
                if (room < length * (above_[at(j)] - rate)) {
                    length = room / (above_[at(j)] - rate);
                    fresh = j;
                    side = 1;
                }
            }
            if (rate > below_[at(j)]) {
                const double room = std::max(-g_[j] - penalty_.low[j] - left_ * below_[at(j)], 0.0);
                if (room < length * (rate - below_[at(j)])) {
                    length = room / (rate - below_[at(j)]);
                    fresh = j;
                    side = -1;
                }
            }
        }
        for (std::size_t a = 0; a < face.size(); ++a) {
            w_[face[a]] += length * direction[a];
        }
        add_scaled(change_.data(), length, g_, q_.size);
        left_ -= length;
        still_ = length > 0.0 ? 0 : still_ + 1;
        if (still_ > q_.size) {  // round and round among coordinates that change at the same time
            return false;
        }
        if (fresh >= 0) {
            side_[at(fresh)] = side;
            factor_.join(q_, {fresh});
            return true;
        }
        if (row >= 0) {
            drop(row);
            return true;
        }
        return false;
    }

    /// Coordinates that came and did not go anywhere are zero: they leave.
    void finish() {
        for (Index a = factor_.size() - 1; a >= 0; --a) {
            if (w_[factor_.index()[at(a)]] == 0.0) {
                drop(a);
            }
        }
        refresh();
    }

    [[nodiscard]] double gap() const {
        Numbers squares(at(q_.size));
        double total = 0.0;
        for (Index j = 0; j < q_.size; ++j) {
            squares[at(j)] = q_.gram[j * q_.stride + j];
            total += w_[j] * (g_[j] - q_.linear[j]);
        }
        return gap_of(penalty_, q_.size, w_, g_, std::max(q_.constant + 0.5 * total, 0.0), squares.data());
    }

  private:
    [[nodiscard]] double extra(Index j) const noexcept { return side_[at(j)] > 0 ? above_[at(j)] : below_[at(j)]; }

    void drop(Index row) {
        const Index j = factor_.index()[at(row)];
        w_[j] = 0.0;
        // it stays inside its interval: the end it comes from goes on as it was, the other one makes room if it must
        if (side_[at(j)] > 0) {
            below_[at(j)] = std::min(0.0, penalty_.high[j] - penalty_.low[j] + above_[at(j)]);
        } else {
            above_[at(j)] = std::max(0.0, penalty_.low[j] - penalty_.high[j] + below_[at(j)]);
        }
        side_[at(j)] = 0;
        factor_.leave({row});
    }

    void refresh() noexcept {
        for (Index j = 0; j < q_.size; ++j) {
            g_[j] = -q_.linear[j];
        }
        for (Index j = 0; j < q_.size; ++j) {
            if (w_[j] != 0.0) {
                add_scaled(q_.gram + j * q_.stride, w_[j], g_, q_.size);
            }
        }
    }

    const Quadratic& q_;
    const Kinks& penalty_;
    double* w_;
    double* g_;
    FaceFactor& factor_;
    std::vector<signed char> side_;
    Numbers below_;
    Numbers above_;
    Numbers change_;
    double left_ = 1.0;
    Index still_ = 0;  // changes since the last move
};

/// Strides, or a walk where they lose their way, or sweeps where that is lost too.
DescentResult descend_faces(GramTask& task) {
    constexpr int kWalks = 3;  // the second one takes up what the first has rounded
    const Index size = task.quadratic.size;
    const Goal& goal = task.goal;
    const Numbers start(task.w, task.w + size);
    DescentResult result = stride_faces(task);
    for (int walks = 0; walks < kWalks && result.gap > goal.target; ++walks) {
        Walk walk(task.quadratic, task.penalty, task.w, task.gradient, *task.factor);
        result.gap = walk.gap();
        if (result.gap <= goal.target) {
            break;
        }
        bool is_under_way = true;
        while (is_under_way && result.sweeps < goal.most) {
            parallel_for(1, [&](Index) { is_under_way = walk.advance(); });
            ++result.sweeps;
        }
        walk.finish();
        result.gap = walk.gap();
    }
    if (result.gap <= goal.target || result.sweeps >= goal.most) {
        return result;
    }
    if (!std::isfinite(result.gap)) {  // of columns that depend on each other a factor may be nothing but rounding
        std::copy(start.begin(), start.end(), task.w);
        *task.factor = FaceFactor{};
    }
    const Goal further{goal.target, goal.most - result.sweeps};
    const DescentResult rest = descend_gram(task.quadratic, task.penalty, further, task.w, task.gradient);
    return {result.sweeps + rest.sweeps, rest.gap};
}

}  // namespace

void descend_grams(GramTask* tasks, Index count) {
    double work = 0.0;
    for (Index k = 0; k < count; ++k) {
        work += 8.0 * static_cast<double>(tasks[k].quadratic.size * tasks[k].quadratic.size);
    }
    const Effort effort(work);
    parallel_for(count, [&](Index k) {
        GramTask& task = tasks[k];
        // a ridge bends every direction, so that sweeps end soon; and where it changes, no factor can be kept
        task.done = task.penalty.ridge > 0.0
                        ? descend_gram(task.quadratic, task.penalty, task.goal, task.w, task.gradient)
                        : descend_faces(task);
    });
}

}  // namespace qed
