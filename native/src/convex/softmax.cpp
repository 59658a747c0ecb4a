#include <algorithm>

#include "qed/convex/glm.hpp"
#include "qed/dense/centred_rows.hpp"
#include "qed/dense/fold.hpp"
#include "qed/dense/moments.hpp"
#include "qed/machine/elementary.hpp"

namespace qed {
namespace {

constexpr Index kLane = kLanes<double>;
constexpr Index kLine = kCacheLine / sizeof(double);
constexpr Index kAhead = 8;  // rows, which are far enough to arrive in time

/// Calls work<V>(at) for vectors [at, at + V) of `count` vectors, as many at once as the micro-kernel takes.
template <class Work>
void for_vectors(Index count, Work&& work) {
    Index at = 0;
    for (; at + 3 <= count; at += 3) {
        work(std::integral_constant<int, 3>{}, at);
    }
    if (count - at == 2) {
        work(std::integral_constant<int, 2>{}, at);
    } else if (count - at == 1) {
        work(std::integral_constant<int, 1>{}, at);
    }
}

/// Rows where they lie; `ahead` leads to those that memory is asked for meanwhile.
struct RowsAt {
    const double* first;
    Index stride;
    Index columns;
    Index ahead;
};

/// out(i, j) += row i · column j of w for R rows and V vectors of columns; w is row-major with rows of `stride` numbers.
template <int R, int V>
void multiply_rows(const RowsAt& rows, Index first, const double* w, Index stride, double* out) noexcept {
    Vector<double> total[R][V] = {};
    const double* from = rows.first + first * rows.stride;
    for (Index c = 0; c < rows.columns; ++c) {
        if (c % kLine == 0) {
            for (int i = 0; i < R; ++i) {
                __builtin_prefetch(from + i * rows.stride + rows.ahead + c, 0, 2);
            }
        }
        Vector<double> right[V];
#pragma GCC unroll 3
        for (int j = 0; j < V; ++j) {
            right[j] = load(w + c * stride + j * kLane);
        }
#pragma GCC unroll 4
        for (int i = 0; i < R; ++i) {
#pragma GCC unroll 3
            for (int j = 0; j < V; ++j) {
                total[i][j] += right[j] * from[i * rows.stride + c];
            }
        }
    }
    for (int i = 0; i < R; ++i) {
        for (int j = 0; j < V; ++j) {
            double* to = out + i * stride + j * kLane;
            store(to, load(to) + total[i][j]);
        }
    }
}

Index padded_classes(Index classes) noexcept {
    return round_up(classes, kLane);
}

/// Whether rows can be multiplied where they lie: nothing is to be converted, nor subtracted.
bool are_plain(const Matrix& x, const double* shift) noexcept {
    return x.kind == Kind::float64 && x.column_stride == 1 &&
           std::all_of(shift, shift + x.columns, [](double one) { return one == 0.0; });
}

/// Products of a few rows at a time with one column for each class, and back.
class ClassRows {
  public:
    ClassRows(const Matrix& x, const double* shift, const double* w, const double* b, Index classes)
        : x_(x),
          is_plain_(are_plain(x, shift)),
          classes_(classes),
          width_(padded_classes(classes)),
          step_(std::clamp<Index>(2560 / std::max<Index>(x.columns, 1) / kRows * kRows, 2 * kRows, kDepth)),
          rows_(x, shift, step_),
          w_(x.columns * width_),
          b_(width_),
          t_(step_ * width_) {
        std::fill_n(b_.get(), width_, 0.0);
        std::copy_n(b, classes, b_.get());
        std::fill_n(w_.get(), x.columns * width_, 0.0);
        for (Index c = 0; c < x.columns; ++c) {
            std::copy_n(w + c * classes, classes, w_.get() + c * width_);
        }
    }
    [[nodiscard]] Index classes() const noexcept { return classes_; }
    [[nodiscard]] Index width() const noexcept { return width_; }
    /// Scores, or what has taken their place, of row i of those at hand; what pads the classes counts for nothing.
    [[nodiscard]] double* at(Index i) const noexcept { return t_.get() + i * width_; }

    /// For chunks of rows [first, last): finds scores, lets `work(row, count)` replace them, and adds up (x - shift)ᵀ of
    /// the result, row-major with `width` columns.
    template <class Work>
    void run(Index first, Index last, double* gradient, Work&& work) noexcept {
        for (Index row = first; row < last; row += step_) {
            const Index count = std::min(step_, last - row);
            const RowsAt rows = at_hand(row, count);
            find_scores(rows, count);
            work(row, count);
            add_gradient(rows, count, gradient);
        }
    }

  private:
    RowsAt at_hand(Index row, Index count) noexcept {
        if (is_plain_) {
            return {x_.at<double>(row, 0), x_.row_stride, x_.columns, kAhead * x_.row_stride};
        }
        rows_.take(row, count);
        return {rows_.row(0), rows_.width(), x_.columns, 0};
    }
    void find_scores(const RowsAt& rows, Index count) noexcept {
        for (Index i = 0; i < count; ++i) {
            std::copy_n(b_.get(), width_, t_.get() + i * width_);
        }
        for_vectors(width_ / kLane, [&]<int V>(std::integral_constant<int, V>, Index at) {
            Index i = 0;
            for (; i + 4 <= count; i += 4) {
                multiply_rows<4, V>(rows, i, w_.get() + at * kLane, width_, t_.get() + i * width_ + at * kLane);
            }
            for (; i < count; ++i) {
                multiply_rows<1, V>(rows, i, w_.get() + at * kLane, width_, t_.get() + i * width_ + at * kLane);
            }
        });
    }
    void add_gradient(const RowsAt& rows, Index count, double* gradient) noexcept {
        for_vectors(width_ / kLane, [&]<int V>(std::integral_constant<int, V>, Index at) {
            Index c = 0;
            for (; c + kRows <= rows.columns; c += kRows) {
                add_columns<kRows, V>(rows, c, count, at, gradient);
            }
            for (; c < rows.columns; ++c) {
                add_columns<1, V>(rows, c, count, at, gradient);
            }
        });
    }
    template <int R, int V>
    void add_columns(const RowsAt& rows, Index c, Index count, Index at, double* gradient) noexcept {
        Tile<double, R, V> tile;
        tile.multiply(count, rows.first + c, rows.stride, t_.get() + at * kLane, width_);
        tile.template add_to<false>(gradient + c * width_ + at * kLane, width_);
    }

    const Matrix& x_;
    bool is_plain_;
    Index classes_;
    Index width_;
    Index step_;
    CentredRows rows_;
    ScratchArray<double> w_;  // padded with classes that nobody has
    ScratchArray<double> b_;
    ScratchArray<double> t_;
};

void keep_scores(const ClassRows& rows, Index row, Index count, double* to) noexcept {
    const Index classes = rows.classes();
    to += row * classes;
    for (Index i = 0; i < count; ++i, to += classes) {
        const double* from = rows.at(i);
        Index k = 0;
        for (; k + kLane <= classes; k += kLane) {
            store(to + k, load(from + k));
        }
        for (; k < classes; ++k) {
            to[k] = from[k];
        }
    }
}

double largest_lane(Vector<double> a) noexcept {
    double top = a[0];
    for (Index lane = 1; lane < kLane; ++lane) {
        top = a[lane] > top ? a[lane] : top;
    }
    return top;
}

/// The numbers of `kLane` classes from the first on.
Vector<double> numbers_from(Index first) noexcept {
    Vector<double> numbers{};
    for (Index lane = 0; lane < kLane; ++lane) {
        numbers[lane] = static_cast<double>(first + lane);
    }
    return numbers;
}

/// What the rows of a chunk have of their classes.
struct ClassSums {
    alignas(kCacheLine) double above[kDepth];   // the largest score less that of the label
    alignas(kCacheLine) double others[kDepth];  // sum over the classes of the exponentials, the label left out
    alignas(kCacheLine) double total[kDepth];   // with it; then the inverse
};

/// Scores less the largest of their row; returns the weighted sum of their squares. What pads the classes is zero, and no
/// score.
double less_largest(const ClassRows& rows, const ScoresIn& in, Index row, Index count, ClassSums& found) noexcept {
    const Index width = rows.width();
    const Index last = width - kLane;
    const auto is_class = numbers_from(last) < splat(static_cast<double>(rows.classes()));
    Vector<double> squares{};
    for (Index i = 0; i < count; ++i) {
        double* t = rows.at(i);
        const Vector<double> end = load(t + last);
        Vector<double> most = is_class ? end : splat(t[0]);
        Vector<double> square = end * end;
        for (Index k = 0; k < last; k += kLane) {
            most = maximum(most, load(t + k));
            square += load(t + k) * load(t + k);
        }
        const double top = largest_lane(most);
        found.above[i] = top - t[static_cast<Index>(in.y[row + i])];
        squares += square * in.c[row + i];
        for (Index k = 0; k < width; k += kLane) {
            store(t + k, load(t + k) - top);
        }
    }
    return sum_lanes(squares);
}

/// Sums over the classes of exponentials that have taken the place of scores; single entries are told apart by their number,
/// because a vector that is read right after one of its entries is written has to wait.
void sum_classes(const ClassRows& rows, const ScoresIn& in, Index row, Index count, ClassSums& found) noexcept {
    const Vector<double> zero{};
    const Index last = rows.width() - kLane;
    const Vector<double> ends = numbers_from(last);
    const auto is_class = ends < splat(static_cast<double>(rows.classes()));
    for (Index i = 0; i < count; ++i) {
        const double* t = rows.at(i);
        const Vector<double> own = splat(in.y[row + i]);
        const Vector<double> end = is_class ? load(t + last) : zero;
        Vector<double> sum = ends == own ? zero : end;
        Vector<double> number = numbers_from(0);
        for (Index k = 0; k < last; k += kLane, number += static_cast<double>(kLane)) {
            sum += number == own ? zero : load(t + k);
        }
        found.others[i] = sum_lanes(sum);
        found.total[i] = found.others[i] + t[static_cast<Index>(in.y[row + i])];
    }
    std::fill(found.total + count, found.total + round_up(count, kLane), 1.0);
}

/// Returns the weighted sum of the losses, and inverts the totals.
double sum_losses(const ScoresIn& in, Index row, Index count, ClassSums& found) noexcept {
    double loss = 0.0;
    for (Index i = 0; i < count; i += kLane) {
        const Vector<double> logs = logarithm(load(found.total + i));
        store(found.total + i, 1.0 / load(found.total + i));
        for (Index lane = 0; lane < std::min(kLane, count - i); ++lane) {
            loss += in.c[row + i + lane] * (logs[lane] + found.above[i + lane]);
        }
    }
    return loss;
}

/// Replaces scores by slopes times weights, and adds up losses, squares and slopes.
void to_slopes(const ClassRows& rows, const ScoresIn& in, Index row, Index count, double* sums,
               double* level) noexcept {
    ClassSums found;
    const Index width = rows.width();
    sums[1] += less_largest(rows, in, row, count, found);
    for (Index at = 0; at < count * width; at += kLane) {  // rows follow one another: no exponential waits for the last one
        store(rows.at(0) + at, exponential(load(rows.at(0) + at)));
    }
    sum_classes(rows, in, row, count, found);
    sums[0] += sum_losses(in, row, count, found);
    Vector<double> squares{};
    for (Index k = 0; k < width; k += kLane) {
        const Vector<double> number = numbers_from(k);
        const auto is_class = number < splat(static_cast<double>(rows.classes()));
        Vector<double> sum{};
        for (Index i = 0; i < count; ++i) {
            double* t = rows.at(i) + k;
            // the slope of the label is minus the sum of the others: one less its probability would cancel
            Vector<double> slope = number == splat(in.y[row + i]) ? splat(-found.others[i]) : load(t);
            slope = (is_class ? slope : Vector<double>{}) * found.total[i];
            const Vector<double> pull = slope * in.c[row + i];
            squares += slope * pull;
            sum += pull;
            store(t, pull);
        }
        store(level + k, load(level + k) + sum);
    }
    sums[2] += sum_lanes(squares);
}

/// Replaces scores by their distances from targets times weights, and adds up losses, squares and slopes.
void to_residuals(const ClassRows& rows, const ScoresIn& in, Index row, Index count, double* sums,
                  double* level) noexcept {
    const Index targets = rows.classes();
    double scores = 0.0;
    double slopes = 0.0;
    for (Index i = 0; i < count; ++i) {
        double* t = rows.at(i);
        const double* y = in.y + (row + i) * targets;
        const double weight = in.c[row + i];
        for (Index k = 0; k < targets; ++k) {
            const double slope = t[k] - y[k];
            scores += weight * t[k] * t[k];
            slopes += weight * slope * slope;
            t[k] = weight * slope;
            level[k] += t[k];
        }
    }
    sums[0] += 0.5 * slopes;
    sums[1] += scores;
    sums[2] += slopes;
}

/// Replaces changes s of the scores by c p (s - Σ p s), the change of the slopes times weights, and adds them up.
void to_changes(const ClassRows& rows, const double* p, const double* c, Index row, Index count,
                double* level) noexcept {
    const Index classes = rows.classes();
    for (Index i = 0; i < count; ++i) {
        double* s = rows.at(i);
        const double* mine = p + (row + i) * classes;
        Vector<double> products{};
        Index k = 0;
        for (; k + kLane <= classes; k += kLane) {
            products += load(mine + k) * load(s + k);
        }
        double mean = sum_lanes(products);
        for (; k < classes; ++k) {
            mean += mine[k] * s[k];
        }
        const double weight = c[row + i];
        for (k = 0; k + kLane <= classes; k += kLane) {
            const Vector<double> change = load(mine + k) * (load(s + k) - mean) * weight;
            store(s + k, change);
            store(level + k, load(level + k) + change);
        }
        for (; k < classes; ++k) {
            s[k] = mine[k] * (s[k] - mean) * weight;
            level[k] += s[k];
        }
    }
}

/// Folds blocks of rows: work(first, last, part), whose sums are `extra` numbers and then a gradient with its level.
template <class Work>
void fold_classes(const Matrix& x, Index classes, Index extra, double* sums, double* gradient, Work&& work) {
    const Index p = x.columns;
    const Index width = padded_classes(classes);
    const Index height = CentredRows::padded_length(p);
    const Index size = extra + (height + 1) * width;
    const Effort effort(static_cast<double>(x.rows) * static_cast<double>(classes) *
                        (2.0 * static_cast<double>(p) + 30.0));
    const Index step = fold_rows(x.rows, kDepth);
    const ScratchArray<double> total(size);
    fold_blocks(blocks_of(x.rows, step), size, total.get(), [&](Index block, double* part) {
        const Index first = block * step;
        work(first, std::min(x.rows, first + step), part, part + extra, part + extra + height * width);
    });
    for (Index i = 0; i < extra; ++i) {
        sums[i] = total[i];
    }
    for (Index c = 0; c <= p; ++c) {
        std::copy_n(total.get() + extra + (c < p ? c : height) * width, classes, gradient + c * classes);
    }
}

using Replace = void (*)(const ClassRows&, const ScoresIn&, Index, Index, double*, double*) noexcept;

void scores_pass(const Matrix& x, const ScoresIn& in, const ScoresOut& out, Replace replace) {
    fold_classes(x, in.classes, kScoresSums, out.sums, out.gradient,
                 [&](Index first, Index last, double* sums, double* gradient, double* level) {
                     ClassRows rows(x, in.shift, in.w, in.b, in.classes);
                     rows.run(first, last, gradient, [&](Index row, Index count) {
                         keep_scores(rows, row, count, out.scores);
                         replace(rows, in, row, count, sums, level);
                     });
                 });
}

}  // namespace

void softmax_pass(const Matrix& x, const ScoresIn& in, const ScoresOut& out) {
    scores_pass(x, in, out, to_slopes);
}

void targets_pass(const Matrix& x, const ScoresIn& in, const ScoresOut& out) {
    scores_pass(x, in, out, to_residuals);
}

void softmax_curvature(const Matrix& x, const SoftmaxBend& in, double* out) {
    const double* b = in.v + x.columns * in.classes;
    fold_classes(x, in.classes, 0, nullptr, out,
                 [&](Index first, Index last, double*, double* gradient, double* level) {
                     ClassRows rows(x, in.shift, in.v, b, in.classes);
                     rows.run(first, last, gradient, [&](Index row, Index count) {
                         to_changes(rows, in.p, in.c, row, count, level);
                     });
                 });
}

void softmax_hessian(const Matrix& x, const double* p, const double* c, Index classes, double* out) {
    const Index q = x.columns;
    const Index width = classes * q;
    std::fill_n(out, width * width, 0.0);
    const ScratchArray<double> weight(x.rows);
    const ScratchArray<double> block(q * q);
    for (Index a = 0; a < classes; ++a) {
        for (Index b = 0; b < a; ++b) {
            for (Index i = 0; i < x.rows; ++i) {
                weight.get()[i] = c[i] * p[i * classes + a] * p[i * classes + b];
            }
            gram(x, {.s = weight.get()}, block.get());
            for (Index i = 0; i < q; ++i) {
                double* mine = out + (a * q + i) * width;
                double* other = out + (b * q + i) * width;
                for (Index j = 0; j < q; ++j) {
                    const double entry = block.get()[i * q + j];
                    mine[a * q + j] += entry;
                    other[b * q + j] += entry;
                    mine[b * q + j] = -entry;
                    other[a * q + j] = -entry;
                }
            }
        }
    }
}

}  // namespace qed
