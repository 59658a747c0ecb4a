#include "qed/svm/planes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "qed/dense/numbers.hpp"
#include "qed/machine/sum.hpp"
#include "qed/svm/plane_losses.hpp"
#include "qed/svm/plane_tables.hpp"

namespace qed {
namespace {

constexpr double kUnit = std::numeric_limits<double>::epsilon() / 2;
constexpr int kDigits = 4;     // times that a gap which the proof does not confirm is asked for with a digit more
constexpr Index kRounds = 50;    // with absolute values: where these do not do, others go on with listeners and pauses

template <class Table>
class Planes {
  public:
    Planes(Table& table, const PlanesIn& in)
        : in_(in), table_(table), losses_(in, table.rows()), n_(table.rows()), p_(table.columns()), t_(at(n_)),
          weighted_(at(n_)), z_(at(p_)) {}

    PlaneDone find(const double* y, double* w, double* u) {
        losses_.take(y);
        table_.begin();
        PlaneDone out{};
        std::fill_n(w, p_, 0.0);
        std::fill_n(u, n_, 0.0);
        Sum null;
        for (Index i = 0; i < n_; ++i) {
            null.add(in_.c[i] * losses_.value(i, -y[i]));
        }
        out.null = null.value();
        const double target = in_.tol * out.null;
        double asked = table_.cautious(target);
        for (int digit = 0; digit < kDigits; ++digit, asked *= 0.1) {
            const Index left = (in_.has_kinks ? std::min(kRounds, in_.most) : in_.most) - out.steps;
            const Improved done = table_.improve(losses_, {asked, left}, w, u);
            out.steps += done.steps;
            prove(w, u, out);
            if (out.gap - out.rounding <= target || done.is_over || left <= 0 || out.steps >= in_.most) {
                break;
            }
        }
        return out;
    }

  private:
    void prove(const double* w, double* u, PlaneDone& out) {
        const double* y = losses_.y();
        table_.scores(w, t_.data());
        double moved = 0.0;  // Σ c |u| |x|, which bounds what rounds in Σ c u x
        for (Index i = 0; i < n_; ++i) {
            if (!table_.gives_duals()) {
                u[i] = losses_.slope(i, t_[at(i)] - y[i]);
            }
            weighted_[at(i)] = in_.c[i] * u[i];
            moved += std::abs(weighted_[at(i)]) * table_.length(i);
        }
        table_.combine(weighted_.data(), z_.data());
        const double length = std::sqrt(dot(w, w, p_));
        const double terms = static_cast<double>(n_ + p_) + 32.0;
        const double rounding_error = terms * kUnit * moved;
        const PenaltyPart part = in_.has_kinks ? by_absolute_values(w, u, rounding_error)
                                               : by_squares(w, length, rounding_error, terms);
        const double along = (static_cast<double>(table_.longest_row()) + 8.0) * kUnit * length;
        Sum sum;
        double gap = part.gap;
        double rounding = part.rounding;
        for (Index i = 0; i < n_; ++i) {
            const double c = in_.c[i];
            const double r = t_[at(i)] - y[i];
            const double off = along * table_.length(i) + 8.0 * kUnit * (std::abs(t_[at(i)]) + std::abs(y[i]) + in_.width);
            sum.add(c * losses_.value(i, r));
            gap += c * losses_.excess(i, r, u[i]);
            rounding += c * off * losses_.steepness(i, r, u[i], off);
        }
        out.objective = sum.value() + part.value;
        out.rounding = rounding + terms * kUnit * gap + 8.0 * kUnit * out.objective;
        out.gap = gap + out.rounding;
    }

    /// A penalty, what separates its coefficients from minus Σ c u x, and what rounding can hide of it.
    struct PenaltyPart {
        double value;
        double gap;
        double rounding;
    };
    PenaltyPart by_squares(const double* w, double length, double rounding_error, double terms) noexcept {
        add_scaled(w, 1.0, z_.data(), p_);
        const double square = dot(z_.data(), z_.data(), p_);
        const double whole = rounding_error + terms * kUnit * length;
        return {0.5 * length * length, 0.5 * square, std::sqrt(square) * whole + 0.5 * whole * whole};
    }
    /// Shrinks the dual variables until no coefficient is pulled by more than one.
    PenaltyPart by_absolute_values(const double* w, double* u, double rounding_error) const noexcept {
        double most = 0.0;
        double sum = 0.0;
        for (Index j = 0; j < p_; ++j) {
            most = std::max(most, std::abs(z_[at(j)]) + rounding_error);
            sum += std::abs(w[j]);
        }
        const double share = most > 1.0 ? (1.0 - 4.0 * kUnit) / most : 1.0;
        double gap = 0.0;
        for (Index j = 0; j < p_; ++j) {
            gap += std::max(0.0, std::abs(w[j]) + share * z_[at(j)] * w[j]);
        }
        for (Index i = 0; i < n_; ++i) {
            u[i] *= share;
        }
        return {sum, gap, sum * (rounding_error + 8.0 * kUnit)};
    }

    const PlanesIn& in_;
    Table& table_;
    PlaneLosses losses_;
    Index n_;
    Index p_;
    Numbers t_, weighted_, z_;
};

template <class Table>
void find_on(Table&& table, const PlanesIn& in, double* w, double* u, PlaneDone* found) {
    Planes planes(table, in);
    for (Index k = 0; k < in.planes; ++k) {
        found[k] = planes.find(in.y + k * table.rows(), w + k * table.columns(), u + k * table.rows());
    }
}

}  // namespace

void find_planes(const Matrix& x, const PlanesIn& in, double* w, double* u, PlaneDone* found) {
    find_on(NarrowTable(x, in), in, w, u, found);
}

void find_planes(const EndedRows& x, const PlanesIn& in, double* w, double* u, PlaneDone* found) {
    find_on(LooseTable(x, in), in, w, u, found);
}

}  // namespace qed
