#include <algorithm>
#include <limits>

#include "qed/convex/face.hpp"
#include "qed/machine/parallel.hpp"

namespace qed {
namespace {

/// Column operations on a residual that is there in full.
class DenseResidual {
  public:
    DenseResidual(const DenseColumns& columns, double* residual) noexcept : c_(columns), r_(residual) {}
    [[nodiscard]] Index rows() const noexcept { return c_.rows; }
    [[nodiscard]] Index count() const noexcept { return c_.count; }
    [[nodiscard]] double square(Index j) const noexcept { return dot(column(j), column(j), c_.rows); }
    [[nodiscard]] double gradient(Index j) const noexcept { return dot(column(j), r_, c_.rows); }
    void move(Index j, double step) noexcept { add_scaled(column(j), step, r_, c_.rows); }
    /// image = Σ factor × column, for the columns in `index`.
    void combine(const std::vector<Index>& index, const Numbers& factors, Numbers& image) const noexcept {
        std::fill(image.begin(), image.end(), 0.0);
        for (std::size_t a = 0; a < index.size(); ++a) {
            if (factors[a] != 0.0) {
                add_scaled(column(index[a]), factors[a], image.data(), c_.rows);
            }
        }
    }
    /// What all products with a vector have in common.
    [[nodiscard]] static double shared(const Numbers&) noexcept { return 0.0; }
    [[nodiscard]] double along(const Numbers& v, double, Index j) const noexcept {
        return dot(column(j), v.data(), c_.rows);
    }
    [[nodiscard]] double half() const noexcept { return 0.5 * dot(r_, r_, c_.rows); }
    void add(const double* change) noexcept { add_scaled(change, 1.0, r_, c_.rows); }
    void finish() noexcept {}
    [[nodiscard]] double work() const noexcept { return static_cast<double>(c_.rows * c_.count); }

  private:
    [[nodiscard]] const double* column(Index j) const noexcept { return c_.data + j * c_.rows; }
    const DenseColumns& c_;
    double* r_;
};

/// The same for compressed columns: what centring would fill in is one multiple of `root`, kept apart.
class SparseResidual {
  public:
    SparseResidual(const SparseColumns& columns, double* residual)
        : c_(columns), r_(residual), roots_(at(columns.count)) {
        for (Index i = 0; i < c_.rows; ++i) {
            weight_ += c_.root[i] * c_.root[i];
            total_ += c_.root[i] * r_[i];
        }
        for (Index j = 0; j < c_.count; ++j) {
            roots_[at(j)] = plain_dot(j, c_.root);
        }
    }
    [[nodiscard]] Index rows() const noexcept { return c_.rows; }
    [[nodiscard]] Index count() const noexcept { return c_.count; }
    [[nodiscard]] double square(Index j) const noexcept {
        double total = 0.0;
        for (Index e = c_.starts[j]; e < c_.starts[j + 1]; ++e) {
            total += c_.values[e] * c_.values[e];
        }
        const double m = c_.centre[j];
        return std::max(total - m * (2.0 * roots_[at(j)] - m * weight_), 0.0);
    }
    [[nodiscard]] double gradient(Index j) const noexcept {
        return plain_dot(j, r_) + offset_ * roots_[at(j)] - c_.centre[j] * total_;
    }
    void move(Index j, double step) noexcept {
        plain_add(r_, j, step);
        offset_ -= step * c_.centre[j];
        total_ += step * (roots_[at(j)] - c_.centre[j] * weight_);
    }
    void combine(const std::vector<Index>& index, const Numbers& factors, Numbers& image) const noexcept {
        std::fill(image.begin(), image.end(), 0.0);
        double middle = 0.0;
        for (std::size_t a = 0; a < index.size(); ++a) {
            if (factors[a] != 0.0) {
                plain_add(image.data(), index[a], factors[a]);
                middle += factors[a] * c_.centre[index[a]];
            }
        }
        add_scaled(c_.root, -middle, image.data(), c_.rows);
    }
    [[nodiscard]] double shared(const Numbers& v) const noexcept { return dot(c_.root, v.data(), c_.rows); }
    [[nodiscard]] double along(const Numbers& v, double part, Index j) const noexcept {
        return plain_dot(j, v.data()) - c_.centre[j] * part;
    }
    [[nodiscard]] double half() noexcept {
        finish();
        return 0.5 * dot(r_, r_, c_.rows);
    }
    void add(const double* change) noexcept {
        finish();
        add_scaled(change, 1.0, r_, c_.rows);
        total_ += dot(c_.root, change, c_.rows);
    }
    /// Brings what was kept apart into the residual.
    void finish() noexcept {
        add_scaled(c_.root, offset_, r_, c_.rows);
        offset_ = 0.0;
    }
    [[nodiscard]] double work() const noexcept { return 2.0 * static_cast<double>(c_.starts[c_.count]); }

  private:
    [[nodiscard]] double plain_dot(Index j, const double* v) const noexcept {
        double total = 0.0;
        for (Index e = c_.starts[j]; e < c_.starts[j + 1]; ++e) {
            total += c_.values[e] * v[c_.indices[e]];
        }
        return total;
    }
    void plain_add(double* to, Index j, double factor) const noexcept {
        for (Index e = c_.starts[j]; e < c_.starts[j + 1]; ++e) {
            to[c_.indices[e]] += factor * c_.values[e];
        }
    }
    const SparseColumns& c_;
    double* r_;
    Numbers roots_;  ///< columns, not centred, times root
    double weight_ = 0.0;
    double offset_ = 0.0;
    double total_ = 0.0;  ///< root times the whole residual
};

template <class Residual>
class ColumnDescent {
  public:
    ColumnDescent(Residual& residual, const Kinks& penalty, double* w, double* gradient)
        : r_(residual), penalty_(penalty), w_(w), g_(gradient), squares_(at(residual.count())) {
        const Effort effort(r_.work());
        for_columns([&](Index j) { squares_[at(j)] = r_.square(j); });
        gradients();
    }

    /// One sweep over all coordinates, or over those that are not zero. Returns how much lower the objective is at
    /// least.
    double sweep(bool all) noexcept {
        double moved = 0.0;
        for (Index j = 0; j < r_.count(); ++j) {
            const double length = squares_[at(j)];
            const double curvature = length + penalty_.ridge;
            if ((!all && w_[j] == 0.0) || !(curvature > 0.0)) {
                continue;
            }
            const double pull = length * w_[j] - r_.gradient(j);
            const double step = settle(pull, curvature, penalty_.low[j], penalty_.high[j]) - w_[j];
            if (step != 0.0) {
                w_[j] += step;
                r_.move(j, step);
                moved += 0.5 * curvature * step * step;
            }
        }
        return moved;
    }

    double gap() {
        const double half = r_.half();
        gradients();
        return gap_of(penalty_, r_.count(), w_, g_, half, squares_.data());
    }

    /// Conjugate gradients towards the minimum of the face. The gradient must be fresh.
    bool step() {
        const Face face(penalty_, r_.count(), w_, g_);
        const Index s = face.size();
        if (s == 0) {
            return false;
        }
        Numbers d(at(s)), left = face.pull, p(at(s)), product(at(s)), image(at(r_.rows()));
        double size = 0.0;
        for (Index a = 0; a < s; ++a) {
            p[at(a)] = left[at(a)] / (squares_[at(face.index[at(a)])] + penalty_.ridge);
            size += left[at(a)] * p[at(a)];
        }
        const double enough = 1e-4 * size;
        for (int round = 0; round < 40 && size > enough && size > 0.0; ++round) {
            parallel_for(1, [&](Index) {
                r_.combine(face.index, p, image);
                double curvature = penalty_.ridge * dot(p.data(), p.data(), s);
                curvature += dot(image.data(), image.data(), r_.rows());
                if (!(curvature > 0.0)) {
                    size = 0.0;
                    return;
                }
                const double length = size / curvature;
                const double part = r_.shared(image);
                double fresh = 0.0;
                for (Index a = 0; a < s; ++a) {
                    const Index j = face.index[at(a)];
                    d[at(a)] += length * p[at(a)];
                    left[at(a)] -= length * (r_.along(image, part, j) + penalty_.ridge * p[at(a)]);
                    product[at(a)] = left[at(a)] / (squares_[at(j)] + penalty_.ridge);
                    fresh += left[at(a)] * product[at(a)];
                }
                const double keep = fresh / size;
                for (Index a = 0; a < s; ++a) {
                    p[at(a)] = product[at(a)] + keep * p[at(a)];
                }
                size = fresh;
            });
        }
        const auto apply = [&](const Numbers& move) {
            r_.combine(face.index, move, image);
            double linear = 0.0;
            for (Index a = 0; a < s; ++a) {
                linear += move[at(a)] * g_[face.index[at(a)]];
            }
            return linear + 0.5 * dot(image.data(), image.data(), r_.rows());
        };
        return take_step(penalty_, face, d, w_, apply, [&] { r_.add(image.data()); });
    }

  private:
    void gradients() {
        r_.finish();
        for_columns([&](Index j) { g_[j] = r_.gradient(j); });
    }
    template <class Work>
    void for_columns(Work&& work) {
        constexpr Index kTogether = 64;
        const Effort effort(r_.work());
        parallel_for(blocks_of(r_.count(), kTogether), [&](Index block) {
            for (Index j = block * kTogether; j < std::min(r_.count(), (block + 1) * kTogether); ++j) {
                work(j);
            }
        });
    }

    Residual& r_;
    const Kinks& penalty_;
    double* w_;
    double* g_;
    Numbers squares_;
};

template <class Residual>
DescentResult descend_with(Residual residual, const Kinks& penalty, const Goal& goal, double* w, double* gradient) {
    constexpr int kShort = 6;  // sweeps over the coordinates in use, between two over all of them
    ColumnDescent<Residual> descent(residual, penalty, w, gradient);
    const double start = residual.half();
    DescentResult result{0, std::numeric_limits<double>::infinity()};
    while (result.sweeps < goal.most) {
        double moved = 0.0;
        parallel_for(1, [&](Index) { moved = descent.sweep(true); });
        ++result.sweeps;
        double last = moved;
        for (int i = 0; i < kShort && last > 0.1 * goal.target; ++i) {
            parallel_for(1, [&](Index) { last = descent.sweep(false); });
            ++result.sweeps;
        }
        result.gap = descent.gap();
        if (result.gap <= goal.target || moved <= kNothing * start) {
            break;
        }
        if (result.sweeps > kShort && descent.step()) {
            result.gap = descent.gap();
            if (result.gap <= goal.target) {
                break;
            }
        }
    }
    residual.finish();
    return result;
}

}  // namespace

DescentResult descend_columns(const DenseColumns& columns, const Kinks& penalty, const Goal& goal, double* w,
                              double* residual, double* gradient) {
    return descend_with(DenseResidual(columns, residual), penalty, goal, w, gradient);
}

DescentResult descend_columns(const SparseColumns& columns, const Kinks& penalty, const Goal& goal, double* w,
                              double* residual, double* gradient) {
    return descend_with(SparseResidual(columns, residual), penalty, goal, w, gradient);
}

}  // namespace qed
