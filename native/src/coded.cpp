#include "qed/coded.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "qed/parallel.hpp"
#include "qed/simd.hpp"

namespace qed {
namespace {

constexpr double kUnit = std::numeric_limits<double>::epsilon() / 2;
/// Share of the foreseen fall that a step must bring, and how often it is halved until it does.
constexpr double kEnough = 1e-4;
constexpr int kHalvings = 40;

double dot(const double* a, const double* b, Index count) noexcept {
    Vector<double> total[2] = {};
    Index j = 0;
    for (; j + 2 * kLanes<double> <= count; j += 2 * kLanes<double>) {
        total[0] += load(a + j) * load(b + j);
        total[1] += load(a + j + kLanes<double>) * load(b + j + kLanes<double>);
    }
    double sum = sum_lanes(total[0] + total[1]);
    for (; j < count; ++j) {
        sum += a[j] * b[j];
    }
    return sum;
}

/// The lower triangle of h gains factor x xᵀ.
void add_outer(const double* x, double factor, Index count, double* h) noexcept {
    for (Index i = 0; i < count; ++i) {
        const double own = factor * x[i];
        double* __restrict row = h + i * count;
        for (Index j = 0; j <= i; ++j) {
            row[j] += own * x[j];
        }
    }
}

/// Solves h d = g by a factor of the lower triangle; false if h is not positive definite.
bool solve(std::vector<double>& h, const std::vector<double>& g, std::vector<double>& d) noexcept {
    const auto count = static_cast<Index>(g.size());
    double* l = h.data();
    for (Index i = 0; i < count; ++i) {
        for (Index j = 0; j <= i; ++j) {
            const double left = l[i * count + j] - dot(l + i * count, l + j * count, j);
            if (i == j) {
                if (!(left > 0.0)) {
                    return false;
                }
                l[i * count + i] = std::sqrt(left);
            } else {
                l[i * count + j] = left / l[j * count + j];
            }
        }
    }
    for (Index i = 0; i < count; ++i) {
        d[static_cast<std::size_t>(i)] =
            (g[static_cast<std::size_t>(i)] - dot(l + i * count, d.data(), i)) / l[i * count + i];
    }
    for (Index i = count - 1; i >= 0; --i) {
        const double own = d[static_cast<std::size_t>(i)] / l[i * count + i];
        d[static_cast<std::size_t>(i)] = own;
        for (Index j = 0; j < i; ++j) {
            d[static_cast<std::size_t>(j)] -= l[i * count + j] * own;
        }
    }
    return true;
}

/// One problem while it is solved.
class Plane {
  public:
    Plane(const CodedRows& rows, const std::int8_t* sides, double strength, const double* products, double* w)
        : columns_(rows.columns), strength_(strength), w_(w) {
        const auto size = static_cast<std::size_t>(columns_);
        g_.resize(size);
        d_.resize(size);
        curvature_.assign(size * size, 0.0);
        for (Index c = 0; c < rows.classes; ++c) {
            if (sides[c] == 0) {
                continue;
            }
            for (Index row = rows.starts[c]; row < rows.starts[c + 1]; ++row) {
                x_.push_back(rows.x + row * columns_);
                y_.push_back(static_cast<double>(sides[c]));
            }
            for (std::size_t k = 0; k < size * size; ++k) {
                curvature_[k] += products[static_cast<std::size_t>(c) * size * size + k];
            }
        }
        std::fill_n(w_, columns_, 0.0);
        margin_.assign(x_.size(), 0.0);
        ahead_.resize(x_.size());
        short_.assign(x_.size(), true);
    }

    CodedPlane solve_within(double tol, Index most) {
        CodedPlane out{};
        out.rows = static_cast<Index>(x_.size());
        const double target = tol * strength_ * static_cast<double>(x_.size());
        for (;; ++out.steps) {
            look(out);
            if (out.gap - out.rounding <= target || out.steps == most || !step(out.objective)) {
                return out;
            }
        }
    }

  private:
    /// Margins, gradient and its proof at w, all made afresh: the objective has a curvature of at least one, so that it is no
    /// further above its least value than half the squared gradient.
    void look(CodedPlane& out) {
        std::copy_n(w_, columns_, g_.data());
        double squares = 0.0;
        double lengths = 0.0;
        double moved = 0.0;
        const double size_w = dot(w_, w_, columns_);
        for (std::size_t i = 0; i < x_.size(); ++i) {
            const double* x = x_[i];
            margin_[i] = y_[i] * dot(x, w_, columns_);
            const double lack = std::max(0.0, 1.0 - margin_[i]);
            const double length = dot(x, x, columns_);
            lengths += length;
            if (lack > 0.0) {
                const double pull = 2.0 * strength_ * lack * y_[i];
                for (Index j = 0; j < columns_; ++j) {
                    g_[static_cast<std::size_t>(j)] -= pull * x[j];
                }
                squares += lack * lack;
                moved += lack * std::sqrt(length);
            }
        }
        const double terms = static_cast<double>(x_.size()) + static_cast<double>(columns_) + 16.0;
        const double root = std::sqrt(size_w);
        out.objective = 0.5 * size_w + strength_ * squares;
        const double g = std::sqrt(dot(g_.data(), g_.data(), columns_));
        const double doubt = terms * kUnit * (root + 2.0 * strength_ * moved) +
                             2.0 * strength_ * (static_cast<double>(columns_) + 4.0) * kUnit * root * lengths;
        out.rounding = g * doubt + 0.5 * doubt * doubt + terms * kUnit * (out.objective + 0.5 * g * g);
        out.gap = 0.5 * g * g + out.rounding;
    }
    /// One Newton step, shortened until the objective falls; false if it does not.
    bool step(double before) {
        for (std::size_t i = 0; i < x_.size(); ++i) {
            const bool lacks = margin_[i] < 1.0;
            if (lacks != short_[i]) {
                add_outer(x_[i], lacks ? 1.0 : -1.0, columns_, curvature_.data());
                short_[i] = lacks;
            }
        }
        factor_ = curvature_;
        for (Index i = 0; i < columns_; ++i) {
            for (Index j = 0; j <= i; ++j) {
                factor_[static_cast<std::size_t>(i * columns_ + j)] *= 2.0 * strength_;
            }
            factor_[static_cast<std::size_t>(i * (columns_ + 1))] += 1.0;
        }
        if (!solve(factor_, g_, d_)) {
            return false;
        }
        const double fall = dot(g_.data(), d_.data(), columns_);
        for (std::size_t i = 0; i < x_.size(); ++i) {
            ahead_[i] = y_[i] * dot(x_[i], d_.data(), columns_);
        }
        const double cross = dot(w_, d_.data(), columns_);
        const double own = dot(d_.data(), d_.data(), columns_);
        const double start = dot(w_, w_, columns_);
        double far = 1.0;
        for (int k = 0; k < kHalvings; ++k, far *= 0.5) {
            double squares = 0.0;
            for (std::size_t i = 0; i < x_.size(); ++i) {
                const double lack = std::max(0.0, 1.0 - margin_[i] + far * ahead_[i]);
                squares += lack * lack;
            }
            const double after = 0.5 * (start - 2.0 * far * cross + far * far * own) + strength_ * squares;
            if (after <= before - kEnough * far * fall) {
                for (Index j = 0; j < columns_; ++j) {
                    w_[j] -= far * d_[static_cast<std::size_t>(j)];
                }
                return true;
            }
        }
        return false;
    }

    Index columns_;
    double strength_;
    double* w_;
    std::vector<const double*> x_;
    std::vector<double> y_, margin_, ahead_, g_, d_, curvature_, factor_;
    std::vector<char> short_;  ///< rows in the curvature
};

}  // namespace

void coded_planes(const CodedRows& rows, Index problems, const std::int8_t* book, double strength, double tol, Index most,
                  double* w, CodedPlane* found) {
    const auto size = static_cast<std::size_t>(rows.columns * rows.columns);
    std::vector<double> products(static_cast<std::size_t>(rows.classes) * size, 0.0);
    parallel_for(rows.classes, [&](Index c) {
        for (Index row = rows.starts[c]; row < rows.starts[c + 1]; ++row) {
            add_outer(rows.x + row * rows.columns, 1.0, rows.columns, products.data() + static_cast<std::size_t>(c) * size);
        }
    });
    parallel_for(problems, [&](Index problem) {
        Plane plane(rows, book + problem * rows.classes, strength, products.data(), w + problem * rows.columns);
        found[problem] = plane.solve_within(tol, most);
    });
}

}  // namespace qed
