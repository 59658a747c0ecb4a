#include "qed/svm/coded.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "qed/convex/glm.hpp"
#include "qed/dense/numbers.hpp"
#include "qed/dense/triangular.hpp"
#include "qed/machine/parallel.hpp"

namespace qed {
namespace {

constexpr double kUnit = std::numeric_limits<double>::epsilon() / 2;
/// Share of the foreseen fall that a step must bring, and how often it is halved until it does.
constexpr double kEnough = 1e-4;
constexpr int kHalvings = 40;
constexpr double kNoise = 16.0 * kUnit;      // share of the objective that rounding may hide from a step
constexpr double kLean = 2056.0 * kUnit;     // share of either sign of slopes by which sums over rows may be off
constexpr double kLittle = 1e7;             // multiply-adds that nobody waits for
constexpr double kCheap = 0.1;               // share of a gap asked for that is not worth a look at the rows

double length(const double* a, Index count) noexcept {
    return std::sqrt(dot(a, a, count));
}

/// One problem while it is solved.
class Plane {
  public:
    Plane(const CodedRows& rows, const CodedModel& model, const std::int8_t* sides, double* w, double* b)
        : model_(model), p_(rows.columns), w_(w), b_(*b), g_(at(p_ + 1)), d_(at(p_ + 1)), rise_(at(p_)), fall_(at(p_)),
          trial_(at(p_)), hessian_(at((p_ + 1) * (p_ + 1))) {
        gather(rows, sides);
        const auto n = static_cast<std::size_t>(x_.rows);
        c_.assign(n, model.strength);
        t_.resize(n);
        slope_.resize(n);
        mass_ = model.strength * static_cast<double>(x_.rows);
        shift_length_ = length(model.shift, p_);
    }

    CodedPlane solve_within(double target, Index most) {
        CodedPlane out{};
        double objective = look(w_, b_, true);
        double before = std::numeric_limits<double>::infinity();
        for (;; ++out.steps) {
            out.objective = objective;
            prove(target, out);
            // a step falls short by the square of what is left: the last one needs no curvature behind it
            const bool is_last = out.gap * (out.gap / before) <= target;
            if (out.gap - out.rounding <= target) {
                return polished(out, objective);
            }
            if (out.steps == most || !step(objective, !is_last)) {
                return out;
            }
            before = out.gap;
        }
    }

  private:
    /// One more step multiplies what is left by a small number: where it costs next to nothing it is taken.
    CodedPlane polished(const CodedPlane& found, double objective) {
        if (static_cast<double>(x_.rows) * static_cast<double>(p_ * p_) > kLittle) {
            return found;
        }
        const Numbers kept(w_, w_ + p_);
        const double level = b_;
        CodedPlane out = found;
        if (step(objective, false)) {
            out.objective = objective;
            prove(0.0, out);
            if (out.gap < found.gap) {
                return out;
            }
        }
        std::copy(kept.begin(), kept.end(), w_);
        b_ = level;
        return found;
    }
    /// Rows of the problem: where they lie if they follow one another, a copy otherwise.
    void gather(const CodedRows& rows, const std::int8_t* sides) {
        Index count = 0;
        Index first = rows.classes;
        Index last = -1;
        for (Index c = 0; c < rows.classes; ++c) {
            if (sides[c] != 0) {
                count += rows.starts[c + 1] - rows.starts[c];
                first = std::min(first, c);
                last = c;
                y_.insert(y_.end(), at(rows.starts[c + 1] - rows.starts[c]), static_cast<double>(sides[c]));
            }
        }
        const bool follow = last >= 0 && rows.starts[last + 1] - rows.starts[first] == count;
        if (!follow) {
            copy_.reserve(at(count * p_));
            for (Index c = 0; c < rows.classes; ++c) {
                if (sides[c] != 0) {
                    copy_.insert(copy_.end(), rows.x + rows.starts[c] * p_, rows.x + rows.starts[c + 1] * p_);
                }
            }
        }
        x_ = row_major(follow ? rows.x + rows.starts[first] * p_ : copy_.data(), count, p_, p_);
        double squares = 0.0;
        const double* x = static_cast<const double*>(x_.data);
        for (Index i = 0; i < count; ++i, x += p_) {
            for (Index j = 0; j < p_; ++j) {
                squares += (x[j] - model_.shift[j]) * (x[j] - model_.shift[j]);
            }
        }
        size_ = std::sqrt(squares / static_cast<double>(std::max<Index>(count, 1))) * (1.0 + 1e-6);
    }
    /// Passes over the rows; returns the objective, and leaves the gradient behind.
    double look(const double* w, double b, bool with_hessian) {
        glm_pass(x_, {model_.kind, y_.data(), c_.data(), w, b, model_.shift},
                 {.sums = sums_, .rise = rise_.data(), .fall = fall_.data(), .scores = t_.data(), .slopes = slope_.data(),
                  .hessian = with_hessian ? hessian_.data() : nullptr});
        is_fresh_ = is_fresh_ || with_hessian;
        for (Index j = 0; j < p_; ++j) {
            g_[at(j)] = w[j] + (rise_[at(j)] + fall_[at(j)]);
        }
        g_[at(p_)] = sums_[1] + sums_[2];
        return sums_[0] + 0.5 * dot(w, w, p_);
    }
    /// The slopes as a dual point, their heavier sign shrunk until an intercept is balanced, and all that rounding hides.
    void prove(double target, CodedPlane& out) {
        const double terms = static_cast<double>(std::min<Index>(x_.rows, 8192) + 64);
        const double length_w = length(w_, p_);
        const double length_t = std::sqrt(sums_[4] / mass_);
        double length_u = std::sqrt(sums_[5] / mass_);
        const double steps = static_cast<double>(p_ + 4) * kUnit;
        const double off = steps * size_ * length_w + 2.0 * kUnit * (std::abs(b_) + length_t);
        double up = 1.0;
        double down = 1.0;
        if (model_.has_intercept) {
            const double over = sums_[1];
            const double under = -sums_[2];
            up = over > under ? under / over : 1.0;
            down = under > over ? over / under : 1.0;
        }
        for (Index j = 0; j < p_; ++j) {
            trial_[at(j)] = w_[j] + (up * rise_[at(j)] + down * fall_[at(j)]);
        }
        const double away = length(trial_.data(), p_);
        const double lost = 1.0 - std::min(up, down);
        double excess = lost * sums_[0];  // convex, nothing at the slope, the loss at zero
        double apart = lost * length_u;
        if (excess > kCheap * target && (target == 0.0 || 0.5 * away * away <= target)) {
            double found[kSideSums];
            dual_.resize(slope_.size());
            scale_sides({.kind = model_.kind, .t = t_.data(), .y = y_.data(), .rows = x_.rows},
                        {c_.data(), slope_.data(), up, down}, dual_.data(), found);
            excess = found[3];
            apart = std::sqrt(found[4] / mass_);
            length_u = std::sqrt(found[2] / mass_);
        }
        const double lean = model_.has_intercept ? kLean : 0.0;
        const double slopes_off = (terms * kUnit + lean) * length_u + model_.bend * (off + 8.0 * kUnit);
        const double rounding_error = mass_ * size_ * slopes_off + 8.0 * kUnit * (length_w + away);
        double rounding = away * rounding_error + 0.5 * rounding_error * rounding_error + 16.0 * kUnit * (0.5 * away * away);
        rounding += lean * sums_[0] + terms * kUnit * excess + 8.0 * kUnit * out.objective;
        rounding += mass_ * (apart * (off + 8.0 * kUnit * (2.0 + length_t)) +
                             model_.bend * (off * off + 64.0 * kUnit * kUnit));
        if (model_.has_intercept) {  // as it will be stored, for rows that are not shifted
            const double moved = steps * (shift_length_ * length_w + std::abs(b_));
            rounding += moved * (std::abs(sums_[1] + sums_[2]) + model_.bend * mass_ * moved);
        }
        out.rounding = rounding;
        out.gap = 0.5 * away * away + excess + rounding;
        if (!(out.gap < std::numeric_limits<double>::infinity())) {
            out.gap = std::numeric_limits<double>::infinity();
            out.rounding = 0.0;
        }
    }
    /// One Newton step, shortened until the objective falls; false if it does not. Curvature is kept until it is renewed.
    bool step(double& objective, bool renew) {
        const Index size = model_.has_intercept ? p_ + 1 : p_;
        if (is_fresh_ && !factorise(size)) {
            return false;
        }
        // read by columns, what is written is the lower factor
        const Matrix lower = row_major(factor_.data(), size, size, size).transposed();
        half_.resize(at(size));
        solve_lower(lower, row_major(g_.data(), size, 1, 1), half_.data());
        solve_lower_transposed(lower, row_major(half_.data(), size, 1, 1), d_.data());
        const double fall = dot(g_.data(), d_.data(), size);
        double far = 1.0;
        for (int k = 0; k < kHalvings; ++k, far *= 0.5) {
            for (Index j = 0; j < p_; ++j) {
                trial_[at(j)] = w_[j] - far * d_[at(j)];
            }
            const double b = model_.has_intercept ? b_ - far * d_[at(p_)] : b_;
            const double found = look(trial_.data(), b, renew);
            if (found <= objective - kEnough * far * fall + kNoise * objective) {
                std::copy_n(trial_.data(), p_, w_);
                b_ = b;
                objective = found;
                return true;
            }
        }
        return false;
    }
    bool factorise(Index size) {
        second_.resize(at(size * size));
        factor_.resize(at(size * size));
        for (Index i = 0; i < size; ++i) {
            std::copy_n(hessian_.data() + i * (p_ + 1), size, second_.data() + i * size);
            second_[at(i * (size + 1))] += i < p_ ? 1.0 : 0.0;
        }
        is_fresh_ = false;
        return cholesky(row_major(second_.data(), size, size, size), factor_.data()) < 0;
    }

    const CodedModel& model_;
    Index p_;
    double* w_;
    double& b_;
    Matrix x_{};
    Numbers g_, d_, rise_, fall_, trial_, hessian_, y_, c_, t_, slope_, dual_, copy_, half_, second_, factor_;
    double sums_[kGlmSums] = {};
    double mass_ = 0.0;          ///< weight of all rows
    double size_ = 0.0;          ///< root mean square length of a row
    double shift_length_ = 0.0;
    bool is_fresh_ = false;  ///< whether second derivatives are newer than their factor
};

}  // namespace

void coded_planes(const CodedRows& rows, const CodedModel& model, Index problems, const std::int8_t* book,
                  const double* target, Index most, double* w, double* b, CodedPlane* found) {
    const double columns = static_cast<double>(rows.columns);
    const double each = static_cast<double>(rows.starts[rows.classes]) * (columns * columns + 60.0);
    const Effort effort(static_cast<double>(problems) * each);
    parallel_for(problems, [&](Index problem) {
        Plane plane(rows, model, book + problem * rows.classes, w + problem * rows.columns, b + problem);
        found[problem] = plane.solve_within(target[problem], most);
    });
}

}  // namespace qed
