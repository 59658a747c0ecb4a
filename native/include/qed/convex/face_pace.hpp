/// How long conjugate gradients are followed over the variables that are free to move: longer after steps that led well.
#pragma once

#include <algorithm>

#include "qed/machine/matrix.hpp"

namespace qed {

struct FacePace {
    static constexpr Index kAlone = 12;  // passes by single rows before they are tried
    static constexpr Index kFewest = 20;
    static constexpr Index kMost = 1280;
    static constexpr double kGoodLength = 0.5;   // of a step along a path that the ends have bent
    static constexpr double kLeastReach = 1e-3;  // of the path that is still looked at
    static constexpr double kLeastDamping = 1e-10;
    static constexpr double kPart = 0.2;         // of a gap, which they may leave

    Index steps = kFewest;  ///< at most
    double sharp = 0.1;     ///< to which they bring what is left
    double damping = 0.01;  ///< share of its own second derivative that every variable gains: rows may depend on each other
    bool waits = false;     ///< for a pass by single rows in between

    /// `share` is what is left of the square of the right side, `lack` what is left of the gap, about.
    [[nodiscard]] bool is_enough(Index count, double share, double lack, double target) const noexcept {
        return count >= steps || share <= sharp * sharp || lack <= kPart * target;
    }
    /// Takes note of how much of its path a step could go.
    void follow(double reach) noexcept {
        const bool leads = reach > 0.4;
        steps = leads ? std::min(kMost, 2 * steps) : std::max(kFewest, steps / 2);
        sharp = leads ? std::max(0.1 * sharp, 1e-4) : 0.1;
        damping = leads ? std::max(0.1 * damping, kLeastDamping) : std::min(10.0 * damping, 1.0);
        waits = true;
    }
};

}  // namespace qed
