#include "qed/convex/face.hpp"

#include <algorithm>

namespace qed {
namespace {

/// Coordinates without a kink have no compact dual: what is left of their gradient is charged this far, as the
/// certificate does.
constexpr double kReach = 10.0;

}  // namespace

double gap_of(const Kinks& penalty, Index size, const double* w, const double* gradient, double half,
              const double* squares) noexcept {
    double reach = 2.0 * half;
    for (Index j = 0; j < size; ++j) {
        reach = std::max(reach, w[j] * w[j] * squares[j]);
    }
    reach = kReach * std::sqrt(reach);
    double factor = 1.0;
    double total = 0.0;
    for (Index j = 0; j < size; ++j) {
        const double z = -gradient[j];
        const double inside = std::clamp(z, penalty.low[j], penalty.high[j]);
        if (penalty.ridge > 0.0) {
            const double apart = penalty.ridge * w[j] - (z - inside);
            total += 0.5 * apart * apart / penalty.ridge;
            total += w[j] == 0.0 ? 0.0 : std::max(w[j] * (slope_at(penalty, j, w[j]) - inside), 0.0);
        } else if (z != inside) {
            if (inside == 0.0) {
                total += std::abs(z) * reach / std::sqrt(std::max(squares[j], 1e-300));
            } else {
                factor = std::min(factor, inside / z);
            }
        }
    }
    if (penalty.ridge > 0.0) {
        return total;
    }
    total += (1.0 - factor) * (1.0 - factor) * half;
    for (Index j = 0; j < size; ++j) {
        if (w[j] != 0.0) {
            total += std::max(w[j] * (slope_at(penalty, j, w[j]) + factor * gradient[j]), 0.0);
        }
    }
    return total;
}

Face::Face(const Kinks& penalty, Index size, const double* w, const double* gradient) {
    for (Index j = 0; j < size; ++j) {
        if (w[j] != 0.0) {
            index.push_back(j);
            pull.push_back(-(gradient[j] + penalty.ridge * w[j] + slope_at(penalty, j, w[j])));
        }
    }
}

double Face::room(const double* w, const Numbers& direction, Index& blocking) const noexcept {
    double step = 1.0;
    blocking = -1;
    for (Index a = 0; a < size(); ++a) {
        const double from = w[index[at(a)]];
        if (direction[at(a)] * from < 0.0 && -from / direction[at(a)] < step) {
            step = -from / direction[at(a)];
            blocking = a;
        }
    }
    return step;
}

double penalty_change(const Kinks& penalty, const Face& face, const double* w, const Numbers& move) noexcept {
    double total = 0.0;
    for (Index a = 0; a < face.size(); ++a) {
        const Index j = face.index[at(a)];
        const double fresh = w[j] + move[at(a)];
        total += slope_at(penalty, j, w[j]) * move[at(a)] + 0.5 * penalty.ridge * (fresh * fresh - w[j] * w[j]);
    }
    return total;
}

Numbers clipped(const Face& face, const double* w, const Numbers& direction) {
    Numbers move = direction;
    for (Index a = 0; a < face.size(); ++a) {
        const double from = w[face.index[at(a)]];
        if ((from + move[at(a)]) * from <= 0.0) {
            move[at(a)] = -from;
        }
    }
    return move;
}

}  // namespace qed
