/// Sums of many terms.
#pragma once

#include <cmath>

namespace qed {

/// A sum that keeps what rounding drops, so that a stated objective is as exact as its terms.
class Sum {
  public:
    void add(double x) noexcept {
        const double now = total_ + x;
        lost_ += std::abs(total_) >= std::abs(x) ? (total_ - now) + x : (x - now) + total_;
        total_ = now;
    }
    [[nodiscard]] double value() const noexcept { return total_ + lost_; }

  private:
    double total_ = 0.0;
    double lost_ = 0.0;
};

}  // namespace qed
