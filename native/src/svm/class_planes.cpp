#include "qed/svm/class_planes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "qed/convex/dual_ascent.hpp"
#include "qed/convex/face_pace.hpp"
#include "qed/convex/simplex_level.hpp"
#include "qed/dense/conjugate.hpp"
#include "qed/dense/numbers.hpp"
#include "qed/machine/parallel.hpp"
#include "qed/machine/sum.hpp"
#include "qed/sparse/visited_rows.hpp"

namespace qed {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kUnit = std::numeric_limits<double>::epsilon() / 2;
constexpr std::uint64_t kSeed = 20'011;
constexpr double kWork = 4e8;     // multiply-adds: about a second at most
constexpr Index kMostRests = 50;  // passes after which rows that rest are looked at again
constexpr Index kPasses = 600;    // which columns of very different sizes exceed: others take them at once
constexpr double kNothing = 1e-15;
constexpr int kDigits = 4;        // times that a gap which the proof does not confirm is asked for with a digit more

template <class Table, class Rows>
class ClassPlanes {
  public:
    ClassPlanes(const Table& table, const Rows& rows, const ClassPlanesIn& in, double* w, double* u)
        : table_(table), rows_(rows), in_(in), n_(table.rows), p_(table.columns), k_(in.classes), w_(w), u_(u),
          squares_(at(n_)), order_(at(n_)), ahead_(at(k_)) {
        double entries = 0.0;
        for (Index i = 0; i < n_; ++i) {
            squares_[at(i)] = rows.square(i);
            longest_ = std::max(longest_, rows.count(i));
            entries += static_cast<double>(rows.count(i));
        }
        pass_work_ = 2.0 * entries * static_cast<double>(k_);
        std::iota(order_.begin(), order_.end(), Index{0});
    }

    PlaneDone find() {
        std::fill_n(w_, k_ * p_, 0.0);
        std::fill_n(u_, n_ * k_, 0.0);
        PlaneDone out{};
        Sum null;
        for (Index i = 0; i < n_; ++i) {
            null.add(in_.c[i]);  // every other class is as good as the label, and ahead by one
        }
        out.null = null.value();
        const double target = in_.tol * out.null;
        double asked = target;  // rows are looked at before a pass improves them
        for (int digit = 0; digit < kDigits; ++digit, asked *= 0.1) {
            const bool is_over = climb(asked, out);
            prove(out);
            if (out.gap - out.rounding <= target || is_over || out.steps >= in_.most) {
                break;
            }
        }
        return out;
    }

  private:
    /// Passes over the rows until the gap that they see is within the target; says whether more of them would not help.
    bool climb(double target, PlaneDone& out) {
        const ClassRows about{in_.label, in_.c, squares_.data(), 1.0, k_};
        ClassState state{u_, w_, order_.data(), n_, kInfinity, kInfinity, kInfinity, seed_};
        Index rests = 0;
        while (out.steps < std::min(in_.most, kPasses) && work_ <= kWork) {
            const bool is_whole = state.active == n_;
            work_ += pass_work_ * static_cast<double>(state.active) / static_cast<double>(n_);
            parallel_for(1, [&](Index) { class_ascent(table_, about, state, 1); });
            ++out.steps;
            ++rests;
            const bool is_near = state.gap <= target;
            const bool is_over = is_whole && state.largest <= kNothing;
            if ((is_near && is_whole) || is_over) {
                seed_ = state.seed;
                return is_over;
            }
            if (is_near || rests >= kMostRests) {  // what rows at rest would add is told by a pass over all of them
                state.active = n_;
                state.threshold = kInfinity;
                rests = 0;
            } else if (out.steps >= FacePace::kAlone && !pace_.waits) {
                settle(target);
            } else {
                pace_.waits = false;
            }
        }
        return true;
    }

    [[nodiscard]] Index label(Index i) const noexcept { return static_cast<Index>(in_.label[i]); }
    /// Probabilities: of the label what the others leave.
    [[nodiscard]] double mass(Index i, Index k) const noexcept { return u_[i * k_ + k] + (k == label(i) ? 1.0 : 0.0); }

    /// A row that classes compete for: the first of its entries among all of them.
    struct Contest {
        Index row;
        Index first;
        Index count;
    };
    /// Lists the rows that have mass on more than one class, and those classes.
    void gather() {
        contests_.clear();
        class_.clear();
        for (Index i = 0; i < n_; ++i) {
            const Index first = Index(class_.size());
            for (Index k = 0; k < k_; ++k) {
                if (mass(i, k) > 0.0) {
                    class_.push_back(k);
                }
            }
            const Index count = Index(class_.size()) - first;
            if (count > 1 && squares_[at(i)] > 0.0) {
                contests_.push_back({i, first, count});
            } else {
                class_.resize(at(first));
            }
        }
    }

    /// Takes the mean of each contest away, so that mass only moves between its classes.
    void level(const Numbers& from, Numbers& to, bool by_squares) const {
        for (const Contest& one : contests_) {
            double mean = 0.0;
            for (Index a = one.first; a < one.first + one.count; ++a) {
                mean += from[at(a)];
            }
            mean /= static_cast<double>(one.count);
            const double scale = by_squares ? squares_[at(one.row)] : 1.0;
            for (Index a = one.first; a < one.first + one.count; ++a) {
                to[at(a)] = (from[at(a)] - mean) / scale;
            }
        }
    }
    /// image_k = Σ factor x over the contests.
    void combine(const Numbers& factors) {
        image_.assign(at(k_ * p_), 0.0);
        for (const Contest& one : contests_) {
            for (Index a = one.first; a < one.first + one.count; ++a) {
                rows_.add(one.row, factors[at(a)], image_.data() + class_[at(a)] * p_);
            }
        }
    }

    /// Solves for the mass of all contests at once, by conjugate gradients; what would fall below zero stops there.
    void settle(double target) {
        gather();
        const Index m = Index(class_.size());
        if (m == 0) {
            return;
        }
        Numbers push(at(m)), step(at(m));
        for (const Contest& one : contests_) {
            for (Index a = one.first; a < one.first + one.count; ++a) {
                const Index k = class_[at(a)];
                push[at(a)] = rows_.dot(one.row, w_ + k * p_) + (k == label(one.row) ? 0.0 : 1.0);
            }
        }
        level(push, push, false);
        Numbers left(push);
        const Index steps = conjugate_gradients(
            left, step, [&](const Numbers& from, Numbers& out) { level(from, out, true); },
            [&](const Numbers& along, Numbers& out) {
                combine(along);
                for (const Contest& one : contests_) {
                    for (Index a = one.first; a < one.first + one.count; ++a) {
                        out[at(a)] = rows_.dot(one.row, image_.data() + class_[at(a)] * p_) +
                                     pace_.damping * squares_[at(one.row)] * along[at(a)];
                    }
                }
                level(out, out, false);
            },
            [&, count = Index{0}](double share) mutable { return pace_.is_enough(count++, share, lack(left), target); });
        const double own = pass_work_ * static_cast<double>(m) / static_cast<double>(n_ * k_);
        work_ += own * static_cast<double>(steps);
        double reach = 1.0;
        while (!take(push, step, reach) && reach > FacePace::kLeastReach) {
            reach *= 0.5;
            work_ += 0.5 * own;
        }
        pace_.follow(reach);
    }
    /// About what is left of the gap, over the contests.
    [[nodiscard]] double lack(const Numbers& left) const noexcept {
        double total = 0.0;
        for (const Contest& one : contests_) {
            for (Index a = one.first; a < one.first + one.count; ++a) {
                total += in_.c[one.row] * mass(one.row, class_[at(a)]) * std::abs(left[at(a)]);
            }
        }
        return total;
    }
    /// Goes along a step, whose mass is projected onto what rows have, as far as the objective falls; not if that is not far.
    bool take(const Numbers& push, const Numbers& step, double reach) {
        Numbers change(step.size());
        Numbers wanted(at(k_)), work(at(k_));
        for (const Contest& one : contests_) {
            const double c = in_.c[one.row];
            for (Index a = 0; a < one.count; ++a) {
                wanted[at(a)] = mass(one.row, class_[at(one.first + a)]) + reach * step[at(one.first + a)] / c;
            }
            const double down = simplex_level(wanted.data(), work.data(), one.count);
            for (Index a = 0; a < one.count; ++a) {
                const double next = std::max(wanted[at(a)] - down, 0.0);
                change[at(one.first + a)] = c * (next - mass(one.row, class_[at(one.first + a)]));
            }
        }
        combine(change);
        const double fall = dot(push.data(), change.data(), Index(change.size()));
        const double curve = dot(image_.data(), image_.data(), k_ * p_);
        const double length = curve > 0.0 ? std::min(1.0, fall / curve) : 0.0;
        const bool is_far = length >= FacePace::kGoodLength;
        if (!is_far && (reach > FacePace::kLeastReach || !(length > 0.0))) {
            return false;
        }
        for (const Contest& one : contests_) {
            for (Index a = one.first; a < one.first + one.count; ++a) {
                u_[one.row * k_ + class_[at(a)]] += length * change[at(a)] / in_.c[one.row];
            }
            balance(one.row);
        }
        add_scaled(image_.data(), -length, w_, k_ * p_);
        return true;
    }
    /// Rounding leaves no mass below zero, and the label has what the others leave.
    void balance(Index i) noexcept {
        double* u = u_ + i * k_;
        double others = 0.0;
        for (Index k = 0; k < k_; ++k) {
            if (k != label(i)) {
                u[k] = std::clamp(u[k], 0.0, 1.0);
                others += u[k];
            }
        }
        if (others > 1.0) {
            for (Index k = 0; k < k_; ++k) {
                u[k] /= others;
            }
            others = 1.0;
        }
        u[label(i)] = -others;
    }

    void prove(PlaneDone& out) {
        const double classes = static_cast<double>(k_);
        const double terms = static_cast<double>(n_ + k_ * p_) + 32.0;
        const double length = std::sqrt(dot(w_, w_, k_ * p_));
        Numbers pulled(w_, w_ + k_ * p_);  // w + Σ c u x, which vanishes where both belong together
        Sum losses;
        double gap = 0.0;
        double rounding = 0.0;
        double moved = 0.0;  // Σ c |u| |x|, which bounds what rounds in Σ c u x
        for (Index i = 0; i < n_; ++i) {
            balance(i);
            const double c = in_.c[i];
            const double row = std::sqrt(squares_[at(i)]);
            double top = -kInfinity;
            double size = 1.0;
            double used = 0.0;
            for (Index k = 0; k < k_; ++k) {
                const double t = rows_.dot(i, w_ + k * p_);
                ahead_[at(k)] = t + (k == label(i) ? 0.0 : 1.0);
                top = std::max(top, ahead_[at(k)]);
                size = std::max(size, std::abs(t));
            }
            for (Index k = 0; k < k_; ++k) {
                const double u = u_[i * k_ + k];
                gap += c * std::max(mass(i, k), 0.0) * (top - ahead_[at(k)]);
                used += std::abs(u);
                if (u != 0.0) {
                    rows_.add(i, c * u, pulled.data() + k * p_);
                }
            }
            losses.add(c * (top - ahead_[at(label(i))]));
            // errors of scores move the largest and their mean with that mass; mass sums to one but for rounding
            const double off = (static_cast<double>(longest_) + 8.0) * kUnit * row * length + 8.0 * kUnit * size;
            rounding += c * (2.0 * off + (classes + 4.0) * kUnit * 4.0 * size);
            moved += c * used * row;
        }
        const double square = dot(pulled.data(), pulled.data(), k_ * p_);
        const double rounding_error = terms * kUnit * (length + moved);
        gap += 0.5 * square;
        rounding += std::sqrt(square) * rounding_error + 0.5 * rounding_error * rounding_error;
        out.objective = losses.value() + 0.5 * length * length;
        out.rounding = rounding + terms * kUnit * gap + 8.0 * kUnit * out.objective;
        out.gap = gap + out.rounding;
    }

    const Table& table_;
    const Rows& rows_;
    const ClassPlanesIn& in_;
    Index n_, p_, k_;
    double* w_;
    double* u_;
    Numbers squares_;
    std::vector<Index> order_;
    Numbers ahead_, image_;
    std::vector<Contest> contests_;
    std::vector<Index> class_;
    FacePace pace_;
    Index longest_ = 0;
    double pass_work_ = 0.0;
    double work_ = 0.0;
    std::uint64_t seed_ = kSeed;
};

template <class Table>
PlaneDone find_on(const Table& x, const ClassPlanesIn& in, double* w, double* u) {
    PlaneDone done{};
    with_visited(x, [&](const auto& rows) { done = ClassPlanes(x, rows, in, w, u).find(); });
    return done;
}

}  // namespace

PlaneDone find_class_planes(const Matrix& x, const ClassPlanesIn& in, double* w, double* u) {
    return find_on(x, in, w, u);
}

PlaneDone find_class_planes(const SparseRows& x, const ClassPlanesIn& in, double* w, double* u) {
    return find_on(x, in, w, u);
}

}  // namespace qed
