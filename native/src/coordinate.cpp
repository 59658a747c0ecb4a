#include "qed/coordinate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "qed/parallel.hpp"
#include "qed/scratch.hpp"
#include "qed/simd.hpp"
#include "qed/triangular.hpp"

namespace qed {
namespace {

/// Coordinates without a kink have no compact dual: what is left of their gradient is charged this far, as the
/// certificate does.
constexpr double kReach = 10.0;
/// Less progress than this share of the objective (whose gap is of the size of the root) is rounding.
constexpr double kNothing = 1e-28;

/// A direction on a face is tried at lengths that shrink like this, until it brings this share of what it promised.
constexpr double kShorter = 0.3;
constexpr double kEnough = 0.05;

using Numbers = std::vector<double>;

std::size_t at(Index i) noexcept {
    return static_cast<std::size_t>(i);
}

void add_scaled(const double* __restrict from, double factor, double* __restrict to, Index count) noexcept {
    for (Index i = 0; i < count; ++i) {
        to[i] += factor * from[i];
    }
}

double dot(const double* a, const double* b, Index count) noexcept {
    Vector<double> total[4] = {};
    Index i = 0;
    for (; i + 4 * kLanes<double> <= count; i += 4 * kLanes<double>) {
        for (int v = 0; v < 4; ++v) {
            total[v] += load(a + i + v * kLanes<double>) * load(b + i + v * kLanes<double>);
        }
    }
    double rest = 0.0;
    for (; i < count; ++i) {
        rest += a[i] * b[i];
    }
    return sum_lanes((total[0] + total[1]) + (total[2] + total[3])) + rest;
}

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

double slope_at(const Kinks& penalty, Index j, double w) noexcept {
    return w > 0 ? penalty.high[j] : penalty.low[j];
}

/// What the residual as a dual point leaves between objective and optimum; `half` is half the squared residual,
/// `squares` the squared lengths of the columns. Without a ridge the dual point is shrunk until it is feasible.
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

/// Which coordinates of a face are not zero, and what pulls them towards its minimum.
struct Face {
    std::vector<Index> index;
    Numbers pull;

    Face(const Kinks& penalty, Index size, const double* w, const double* gradient) {
        for (Index j = 0; j < size; ++j) {
            if (w[j] != 0.0) {
                index.push_back(j);
                pull.push_back(-(gradient[j] + penalty.ridge * w[j] + slope_at(penalty, j, w[j])));
            }
        }
    }
    [[nodiscard]] Index size() const noexcept { return static_cast<Index>(index.size()); }

    /// How far one may go along a direction before a sign changes, at most one; and which sign that is.
    [[nodiscard]] double room(const double* w, const Numbers& direction, Index& blocking) const noexcept {
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
};

/// How much the penalty changes with a move that stays on the face or ends on its edge.
double penalty_change(const Kinks& penalty, const Face& face, const double* w, const Numbers& move) noexcept {
    double total = 0.0;
    for (Index a = 0; a < face.size(); ++a) {
        const Index j = face.index[at(a)];
        const double fresh = w[j] + move[at(a)];
        total += slope_at(penalty, j, w[j]) * move[at(a)] + 0.5 * penalty.ridge * (fresh * fresh - w[j] * w[j]);
    }
    return total;
}

/// Cuts a direction at the edge of the face: coordinates that would change their sign become zero.
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

// ---------------------------------------------------------------- from the Gram matrix

class GramDescent {
  public:
    GramDescent(const Quadratic& quadratic, const Kinks& penalty, double* w, double* gradient)
        : q_(quadratic), penalty_(penalty), w_(w), g_(gradient), squares_(at(quadratic.size)) {
        for (Index j = 0; j < q_.size; ++j) {
            squares_[at(j)] = row(j)[j];
        }
        refresh();
    }

    /// One sweep over all coordinates. Returns how much lower the objective is at least.
    double sweep() noexcept {
        double moved = 0.0;
        changed_ = 0;
        for (Index j = 0; j < q_.size; ++j) {
            const double length = squares_[at(j)];
            const double curvature = length + penalty_.ridge;
            if (!(curvature > 0.0)) {
                continue;
            }
            const double step = settle(length * w_[j] - g_[j], curvature, penalty_.low[j], penalty_.high[j]) - w_[j];
            if (step != 0.0) {
                w_[j] += step;
                add_scaled(row(j), step, g_, q_.size);
                moved += 0.5 * curvature * step * step;
                ++changed_;
            }
        }
        return moved;
    }

    /// Half the squared residual.
    [[nodiscard]] double half() const noexcept {
        double total = 0.0;
        for (Index j = 0; j < q_.size; ++j) {
            total += w_[j] * (g_[j] - q_.linear[j]);
        }
        return std::max(q_.constant + 0.5 * total, 0.0);
    }
    [[nodiscard]] double gap() const noexcept { return gap_of(penalty_, q_.size, w_, g_, half(), squares_.data()); }

    /// Multiply-adds of a sweep like the last one, and of a direct step, in which a factorisation runs faster.
    [[nodiscard]] double sweep_cost() const noexcept {
        return static_cast<double>(changed_) * static_cast<double>(q_.size);
    }
    [[nodiscard]] double step_cost() const noexcept {
        const auto s = static_cast<double>(std::count_if(w_, w_ + q_.size, [](double v) { return v != 0.0; }));
        return s * s * s / 20.0 + 2.0 * s * static_cast<double>(q_.size) + 2e3;
    }

    /// To the minimum of the face, or as far towards it as signs allow. False if nothing was gained.
    bool step() {
        const Face face(penalty_, q_.size, w_, g_);
        const Index s = face.size();
        if (s == 0) {
            return false;
        }
        const ScratchArray<double> matrix(s * s);
        const ScratchArray<double> factor(s * s);
        double largest = 0.0;
        for (Index a = 0; a < s; ++a) {
            const double* from = row(face.index[at(a)]);
            for (Index b = 0; b < s; ++b) {
                matrix[a * s + b] = from[face.index[at(b)]];
            }
            matrix[a * s + a] += penalty_.ridge;
            largest = std::max(largest, matrix[a * s + a]);
        }
        const Matrix view = row_major(matrix.get(), s, s, s);
        // a face whose columns depend on each other has no single minimum: a little more on the diagonal picks one
        for (const double extra : {0.0, 1e-12, 1e-8}) {
            for (Index a = 0; a < s; ++a) {
                matrix[a * s + a] += extra * largest;
            }
            if (cholesky(view, factor.get()) < 0) {
                return take(face, solved(factor.get(), face.pull));
            }
        }
        return false;
    }

    /// Gives one coordinate a value, and lets the gradient follow.
    void set(Index j, double value) noexcept {
        if (value != w_[j]) {
            add_scaled(row(j), value - w_[j], g_, q_.size);
            w_[j] = value;
        }
    }

    /// The gradient anew, without what rounding has added up.
    void refresh() noexcept {
        for (Index j = 0; j < q_.size; ++j) {
            g_[j] = -q_.linear[j];
        }
        for (Index j = 0; j < q_.size; ++j) {
            if (w_[j] != 0.0) {
                add_scaled(row(j), w_[j], g_, q_.size);
            }
        }
    }

  private:
    [[nodiscard]] const double* row(Index j) const noexcept { return q_.gram + j * q_.stride; }

    /// The solution of uᵀu d = pull.
    static Numbers solved(const double* u, const Numbers& pull) {
        const Index s = static_cast<Index>(pull.size());
        Numbers d = pull;
        for (Index a = 0; a < s; ++a) {
            d[at(a)] /= u[a * s + a];
            add_scaled(u + a * s + a + 1, -d[at(a)], d.data() + a + 1, s - a - 1);
        }
        for (Index a = s - 1; a >= 0; --a) {
            d[at(a)] = (d[at(a)] - dot(u + a * s + a + 1, d.data() + a + 1, s - a - 1)) / u[a * s + a];
        }
        return d;
    }

    bool take(const Face& face, const Numbers& direction) {
        Numbers change(at(q_.size));
        const auto apply = [&](const Numbers& move) {
            std::fill(change.begin(), change.end(), 0.0);
            double linear = 0.0;
            for (Index a = 0; a < face.size(); ++a) {
                if (move[at(a)] != 0.0) {
                    add_scaled(row(face.index[at(a)]), move[at(a)], change.data(), q_.size);
                }
            }
            for (Index a = 0; a < face.size(); ++a) {
                const Index j = face.index[at(a)];
                linear += move[at(a)] * (g_[j] + 0.5 * change[at(j)]);
            }
            return linear;
        };
        return take_step(penalty_, face, direction, w_, apply, [&] { add_scaled(change.data(), 1.0, g_, q_.size); });
    }

    const Quadratic& q_;
    const Kinks& penalty_;
    double* w_;
    double* g_;
    Numbers squares_;
    Index changed_ = 0;
};

// ---------------------------------------------------------------- from columns

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
Descent descend_with(Residual residual, const Kinks& penalty, const Goal& goal, double* w, double* gradient) {
    constexpr int kShort = 6;  // sweeps over the coordinates in use, between two over all of them
    ColumnDescent<Residual> descent(residual, penalty, w, gradient);
    const double start = residual.half();
    Descent result{0, std::numeric_limits<double>::infinity()};
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

// ---------------------------------------------------------------- several targets

/// One row of coordinates, each penalised by itself.
struct Separate {
    const Kinks& kinks;
    [[nodiscard]] double ridge() const noexcept { return kinks.ridge; }
    void settle_row(Index j, Index targets, const double* pull, double curvature, double* w) const noexcept {
        for (Index t = 0; t < targets; ++t) {
            w[t] = settle(pull[t], curvature, kinks.low[j], kinks.high[j]);
        }
    }
    /// The largest factor that brings z into the conjugate's domain.
    [[nodiscard]] double shrink(Index j, Index targets, const double* z) const noexcept {
        double factor = 1.0;
        for (Index t = 0; t < targets; ++t) {
            const double bound = z[t] > 0 ? kinks.high[j] : kinks.low[j];
            if (z[t] > 0 ? z[t] > bound : z[t] < bound) {
                factor = std::min(factor, bound / z[t]);
            }
        }
        return factor;
    }
    [[nodiscard]] double excess(Index j, Index targets, const double* w, const double* z,
                                double factor) const noexcept {
        double total = 0.0;
        for (Index t = 0; t < targets; ++t) {
            const double inside = std::clamp(factor * z[t], kinks.low[j], kinks.high[j]);
            total += w[t] == 0.0 ? 0.0 : std::max(w[t] * (slope_at(kinks, j, w[t]) - inside), 0.0);
            if (kinks.ridge > 0.0) {
                const double apart = kinks.ridge * w[t] - (z[t] - inside);
                total += 0.5 * apart * apart / kinks.ridge;
            }
        }
        return total;
    }
};

/// One row of coordinates, penalised by its length.
struct Together {
    const RowLengths& lengths;
    [[nodiscard]] double ridge() const noexcept { return lengths.ridge; }
    void settle_row(Index j, Index targets, const double* pull, double curvature, double* w) const noexcept {
        const double length = std::sqrt(dot(pull, pull, targets));
        const double factor = length > lengths.strength[j] ? (1.0 - lengths.strength[j] / length) / curvature : 0.0;
        for (Index t = 0; t < targets; ++t) {
            w[t] = factor * pull[t];
        }
    }
    [[nodiscard]] double shrink(Index j, Index targets, const double* z) const noexcept {
        const double length = std::sqrt(dot(z, z, targets));
        return length > lengths.strength[j] ? lengths.strength[j] / length : 1.0;
    }
    [[nodiscard]] double excess(Index j, Index targets, const double* w, const double* z,
                                double factor) const noexcept {
        const double length = std::sqrt(dot(z, z, targets));
        const double kept = length > lengths.strength[j] ? lengths.strength[j] / length : 1.0;
        const double inside = std::min(factor, kept);
        double total = std::sqrt(dot(w, w, targets)) * lengths.strength[j] - inside * dot(w, z, targets);
        total = std::max(total, 0.0);
        for (Index t = 0; t < targets && lengths.ridge > 0.0; ++t) {
            const double apart = lengths.ridge * w[t] - (1.0 - inside) * z[t];
            total += 0.5 * apart * apart / lengths.ridge;
        }
        return total;
    }
};

template <class Penalty>
class RowDescent {
  public:
    RowDescent(const Quadratic& quadratic, Index targets, const Penalty& penalty, double* w, double* gradient)
        : q_(quadratic), m_(targets), penalty_(penalty), w_(w), g_(gradient), pull_(at(targets)), step_(at(targets)) {
        refresh();
    }

    double sweep() noexcept {
        double moved = 0.0;
        for (Index j = 0; j < q_.size; ++j) {
            const double length = row(j)[j];
            const double curvature = length + penalty_.ridge();
            if (!(curvature > 0.0)) {
                continue;
            }
            double* w = w_ + j * m_;
            double* g = g_ + j * m_;
            for (Index t = 0; t < m_; ++t) {
                pull_[at(t)] = length * w[t] - g[t];
            }
            penalty_.settle_row(j, m_, pull_.data(), curvature, step_.data());
            double size = 0.0;
            for (Index t = 0; t < m_; ++t) {
                const double step = step_[at(t)] - w[t];
                w[t] = step_[at(t)];
                step_[at(t)] = step;
                size += step * step;
            }
            if (size > 0.0) {
                moved += 0.5 * curvature * size;
                move(row(j), step_.data());
            }
        }
        return moved;
    }

    [[nodiscard]] double gap() noexcept {
        const Index count = q_.size * m_;
        const double half = std::max(q_.constant + 0.5 * (dot(w_, g_, count) - dot(w_, q_.linear, count)), 0.0);
        double factor = 1.0;
        for (Index j = 0; j < q_.size && penalty_.ridge() == 0.0; ++j) {
            factor = std::min(factor, penalty_.shrink(j, m_, pulled(j)));
        }
        double total = (1.0 - factor) * (1.0 - factor) * half;
        for (Index j = 0; j < q_.size; ++j) {
            total += penalty_.excess(j, m_, w_ + j * m_, pulled(j), factor);
        }
        return total;
    }

    void refresh() noexcept {
        for (Index i = 0; i < q_.size * m_; ++i) {
            g_[i] = -q_.linear[i];
        }
        for (Index j = 0; j < q_.size; ++j) {
            const double* w = w_ + j * m_;
            if (std::any_of(w, w + m_, [](double v) { return v != 0.0; })) {
                move(row(j), w);
            }
        }
    }

  private:
    [[nodiscard]] const double* row(Index j) const noexcept { return q_.gram + j * q_.stride; }
    void move(const double* line, const double* step) noexcept {
        for (Index i = 0; i < q_.size; ++i) {
            add_scaled(step, line[i], g_ + i * m_, m_);
        }
    }
    /// Minus the gradient of the quadratic.
    const double* pulled(Index j) noexcept {
        for (Index t = 0; t < m_; ++t) {
            pull_[at(t)] = -g_[j * m_ + t];
        }
        return pull_.data();
    }

    const Quadratic& q_;
    Index m_;
    const Penalty& penalty_;
    double* w_;
    double* g_;
    Numbers pull_;
    Numbers step_;
};

template <class Penalty>
Descent descend_several(const Quadratic& quadratic, Index targets, const Penalty& penalty, const Goal& goal, double* w,
                        double* gradient) {
    RowDescent<Penalty> descent(quadratic, targets, penalty, w, gradient);
    Descent result{0, descent.gap()};
    while (result.gap > goal.target && result.sweeps < goal.most) {
        double moved = 0.0;
        parallel_for(1, [&](Index) { moved = descent.sweep(); });
        ++result.sweeps;
        result.gap = descent.gap();
        if (moved <= kNothing * quadratic.constant) {
            break;
        }
    }
    return result;
}

/// Descends on the whole of a quadratic.
Descent descend_whole(GramDescent& descent, double constant, const Goal& goal) {
    Pace pace;
    Descent result{0, descent.gap()};
    int idle = 0;
    while (result.gap > goal.target && result.sweeps < goal.most) {
        double moved = 0.0;
        parallel_for(1, [&](Index) { moved = descent.sweep(); });
        ++result.sweeps;
        result.gap = descent.gap();
        pace.note(result.gap);
        if (result.gap <= goal.target) {
            break;
        }
        const bool still = moved <= kNothing * constant;
        if (still || pace.sweeps_left(goal.target) * descent.sweep_cost() > descent.step_cost()) {
            const bool gained = descent.step();
            descent.refresh();
            result.gap = descent.gap();
            pace.restart();
            idle = still && !gained ? idle + 1 : 0;
            if (idle > 1) {
                break;
            }
        }
    }
    return result;
}

/// The coordinates that move: those in use, and those that want to be. Their products lie together, so that sweeps over
/// them cost no more than they must; the others follow when all is done.
class Part {
  public:
    Part(const Quadratic& whole, const Kinks& penalty, double half, const double* w, const double* gradient)
        : whole_(&whole), inside_(at(whole.size), false), ridge_(penalty.ridge), half_(half) {
        for (Index j = 0; j < whole.size; ++j) {
            if (w[j] != 0.0 || wants(penalty, j, gradient[j])) {
                inside_[at(j)] = true;
                index_.push_back(j);
            }
        }
        for (const Index j : index_) {
            low_.push_back(penalty.low[j]);
            high_.push_back(penalty.high[j]);
            w_.push_back(w[j]);
            gradient_.push_back(gradient[j]);
        }
    }
    [[nodiscard]] Index size() const noexcept { return static_cast<Index>(index_.size()); }

    /// Descends on the part, and lets all coordinates of `descent` follow. Returns sweeps.
    Index descend(GramDescent& descent, double scale, const Goal& goal) const {
        const Index s = size();
        const ScratchArray<double> gram(s * s);
        for (Index a = 0; a < s; ++a) {
            const double* from = whole_->gram + index_[at(a)] * whole_->stride;
            for (Index b = 0; b < s; ++b) {
                gram[a * s + b] = from[index_[at(b)]];
            }
        }
        // the linear part and the constant that give the gradient and the residual there are
        Numbers linear(at(s));
        double constant = half_;
        for (Index a = 0; a < s; ++a) {
            linear[at(a)] = dot(gram.get() + a * s, w_.data(), s) - gradient_[at(a)];
            constant -= 0.5 * w_[at(a)] * (gradient_[at(a)] - linear[at(a)]);
        }
        const Quadratic quadratic{gram.get(), s, s, linear.data(), constant};
        const Kinks penalty{low_.data(), high_.data(), ridge_};
        Numbers w = w_;
        Numbers gradient(at(s));
        GramDescent part(quadratic, penalty, w.data(), gradient.data());
        const Index sweeps = descend_whole(part, scale, goal).sweeps;
        for (Index a = 0; a < s; ++a) {
            descent.set(index_[at(a)], w[at(a)]);
        }
        return sweeps;
    }
    /// Whether coordinates outside the part want to be used.
    [[nodiscard]] bool grows(const Kinks& penalty, const double* gradient) const noexcept {
        for (Index j = 0; j < whole_->size; ++j) {
            if (!inside_[at(j)] && wants(penalty, j, gradient[j])) {
                return true;
            }
        }
        return false;
    }

  private:
    static bool wants(const Kinks& penalty, Index j, double gradient) noexcept {
        return -gradient > penalty.high[j] || -gradient < penalty.low[j];
    }
    const Quadratic* whole_;
    std::vector<bool> inside_;
    std::vector<Index> index_;
    Numbers low_, high_, w_, gradient_;
    double ridge_;
    double half_;
};

}  // namespace

Descent descend_gram(const Quadratic& quadratic, const Kinks& penalty, const Goal& goal, double* w, double* gradient) {
    constexpr Index kSmall = 64;
    GramDescent descent(quadratic, penalty, w, gradient);
    Descent result{0, descent.gap()};
    double target = 0.5 * goal.target;
    while (result.gap > goal.target && result.sweeps < goal.most) {
        const Part part(quadratic, penalty, descent.half(), w, gradient);
        const Goal inner{target, goal.most - result.sweeps};
        if (quadratic.size <= kSmall || 5 * part.size() > 3 * quadratic.size) {
            const Descent done = descend_whole(descent, quadratic.constant, {goal.target, inner.most});
            return {result.sweeps + done.sweeps, done.gap};
        }
        const double before = result.gap;
        result.sweeps += std::max<Index>(1, part.descend(descent, quadratic.constant, inner));
        result.gap = descent.gap();
        if (result.gap > 0.9 * before && !part.grows(penalty, gradient)) {
            target *= 0.1;  // nothing is missing, so the part needs more digits
            if (target < 1e-6 * goal.target || target == 0.0) {
                break;
            }
        }
    }
    return result;
}

void descend_grams(GramTask* tasks, Index count) {
    double work = 0.0;
    for (Index k = 0; k < count; ++k) {
        work += 8.0 * static_cast<double>(tasks[k].quadratic.size * tasks[k].quadratic.size);
    }
    const Effort effort(work);
    parallel_for(count, [&](Index k) {
        GramTask& task = tasks[k];
        task.done = descend_gram(task.quadratic, task.penalty, task.goal, task.w, task.gradient);
    });
}

Descent descend_targets(const Quadratic& quadratic, Index targets, const Kinks& penalty, const Goal& goal, double* w,
                        double* gradient) {
    return descend_several(quadratic, targets, Separate{penalty}, goal, w, gradient);
}

Descent descend_rows(const Quadratic& quadratic, Index targets, const RowLengths& penalty, const Goal& goal, double* w,
                     double* gradient) {
    return descend_several(quadratic, targets, Together{penalty}, goal, w, gradient);
}

Descent descend_columns(const DenseColumns& columns, const Kinks& penalty, const Goal& goal, double* w,
                        double* residual, double* gradient) {
    return descend_with(DenseResidual(columns, residual), penalty, goal, w, gradient);
}

Descent descend_columns(const SparseColumns& columns, const Kinks& penalty, const Goal& goal, double* w,
                        double* residual, double* gradient) {
    return descend_with(SparseResidual(columns, residual), penalty, goal, w, gradient);
}

}  // namespace qed
