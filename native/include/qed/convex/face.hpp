/// A face: the coordinates that are not zero, with the signs they have. What all descents by coordinates share.
#pragma once

#include <cmath>
#include <vector>

#include "qed/convex/coordinate.hpp"
#include "qed/dense/numbers.hpp"

namespace qed {

/// Less progress than this share of the objective (whose gap is of the size of the root) is rounding.
inline constexpr double kNothing = 1e-28;
/// A direction on a face is tried at lengths that shrink like this, until it brings this share of what it promised.
inline constexpr double kShorter = 0.3;
inline constexpr double kEnough = 0.05;

/// The minimiser of L/2 w² - pull w + penalty for one coordinate.
[[gnu::always_inline]] inline double settle(double pull, double curvature, double low, double high) noexcept {
    if (pull > high) {
        return (pull - high) / curvature;
    }
    if (pull < low) {
        return (pull - low) / curvature;
    }
    return 0.0;
}

inline double slope_at(const Kinks& penalty, Index j, double w) noexcept {
    return w > 0 ? penalty.high[j] : penalty.low[j];
}

/// What the residual as a dual point leaves between objective and optimum; `half` is half the squared residual,
/// `squares` the squared lengths of the columns. Without a ridge the dual point is shrunk until it is feasible.
double gap_of(const Kinks& penalty, Index size, const double* w, const double* gradient, double half,
              const double* squares) noexcept;

/// Which coordinates of a face are not zero, and what pulls them towards its minimum.
struct Face {
    std::vector<Index> index;
    Numbers pull;

    Face(const Kinks& penalty, Index size, const double* w, const double* gradient);
    [[nodiscard]] Index size() const noexcept { return static_cast<Index>(index.size()); }

    /// How far one may go along a direction before a sign changes, at most one; and which sign that is.
    [[nodiscard]] double room(const double* w, const Numbers& direction, Index& blocking) const noexcept;
};

/// How much the penalty changes with a move that stays on the face or ends on its edge.
double penalty_change(const Kinks& penalty, const Face& face, const double* w, const Numbers& move) noexcept;

/// Cuts a direction at the edge of the face: coordinates that would change their sign become zero.
Numbers clipped(const Face& face, const double* w, const Numbers& direction);

/// Takes a step on a face: as much of the direction, with signs kept, as goes down well, at least to the first change
/// of sign. apply(move) returns the change of the quadratic and keeps what commit() needs.
template <class Apply, class Commit>
bool take_step(const Kinks& penalty, const Face& face, const Numbers& direction, double* w, Apply&& apply,
               Commit&& commit) {
    Index blocking = -1;
    const double room = face.room(w, direction, blocking);
    const double slope = dot(face.pull.data(), direction.data(), face.size());  // the fall to first order
    Numbers part = direction;
    Numbers move = clipped(face, w, part);
    double change = apply(move) + penalty_change(penalty, face, w, move);
    for (double length = kShorter; blocking >= 0 && length > room && change > -kEnough * length * slope;
         length *= kShorter) {
        for (Index a = 0; a < face.size(); ++a) {
            part[at(a)] = length * direction[at(a)];
        }
        move = clipped(face, w, part);
        change = apply(move) + penalty_change(penalty, face, w, move);
    }
    if (blocking >= 0 && !(change < 0.0)) {
        for (Index a = 0; a < face.size(); ++a) {
            move[at(a)] = room * direction[at(a)];
        }
        move[at(blocking)] = -w[face.index[at(blocking)]];
        change = apply(move) + penalty_change(penalty, face, w, move);
    }
    if (!(change < 0.0)) {
        return false;
    }
    for (Index a = 0; a < face.size(); ++a) {
        const Index j = face.index[at(a)];
        w[j] = move[at(a)] == -w[j] ? 0.0 : w[j] + move[at(a)];
    }
    commit();
    return true;
}

/// Decides when a direct step is cheaper than the sweeps it would save.
class Pace {
  public:
    void note(double gap) noexcept {
        for (int i = 3; i > 0; --i) {
            gaps_[i] = gaps_[i - 1];
        }
        gaps_[0] = gap;
        ++since_;
    }
    /// Sweeps until the target, at the pace of the last ones.
    [[nodiscard]] double sweeps_left(double target) const noexcept {
        if (since_ < 4) {
            return since_ < 3 ? 0.0 : 1.0;
        }
        const double rate = std::log(gaps_[3] / gaps_[0]) / 3.0;
        const double far = std::log(gaps_[0] / std::max(target, 1e-300));
        return rate > 1e-3 ? far / rate : 1e3 * far;
    }
    void restart() noexcept { since_ = 0; }

  private:
    double gaps_[4] = {};
    int since_ = 0;
};

}  // namespace qed
