#include <algorithm>

#include "qed/centred_rows.hpp"
#include "qed/elementary.hpp"
#include "qed/fold.hpp"
#include "qed/glm.hpp"

namespace qed {
namespace {

constexpr Index kLane = kLanes<double>;

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

/// out(i, j) = row i · column j of w for R rows and V vectors of columns; w is row-major with rows of `stride` numbers.
template <int R, int V>
void multiply_rows(const CentredRows& rows, Index first, const double* w, Index stride, double* out) noexcept {
    Vector<double> total[R][V] = {};
    const double* from = rows.row(first);
    for (Index c = 0; c < rows.columns(); ++c) {
        Vector<double> right[V];
#pragma GCC unroll 3
        for (int j = 0; j < V; ++j) {
            right[j] = load(w + c * stride + j * kLane);
        }
#pragma GCC unroll 4
        for (int i = 0; i < R; ++i) {
#pragma GCC unroll 3
            for (int j = 0; j < V; ++j) {
                total[i][j] += right[j] * from[i * rows.width() + c];
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

/// Products of a few rows at a time with one column for each class, and back.
class ClassRows {
  public:
    ClassRows(const Matrix& x, const double* shift, const double* w, const double* b, Index classes)
        : classes_(classes),
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
            rows_.take(row, count);
            find_scores(count);
            work(row, count);
            add_gradient(count, gradient);
        }
    }

  private:
    void find_scores(Index count) noexcept {
        for (Index i = 0; i < count; ++i) {
            std::copy_n(b_.get(), width_, t_.get() + i * width_);
        }
        for_vectors(width_ / kLane, [&]<int V>(std::integral_constant<int, V>, Index at) {
            Index i = 0;
            for (; i + 4 <= count; i += 4) {
                multiply_rows<4, V>(rows_, i, w_.get() + at * kLane, width_, t_.get() + i * width_ + at * kLane);
            }
            for (; i < count; ++i) {
                multiply_rows<1, V>(rows_, i, w_.get() + at * kLane, width_, t_.get() + i * width_ + at * kLane);
            }
        });
    }
    void add_gradient(Index count, double* gradient) noexcept {
        for_vectors(width_ / kLane, [&]<int V>(std::integral_constant<int, V>, Index at) {
            for (Index c = 0; c < rows_.columns(); c += kRows) {
                Tile<double, kRows, V> tile;
                tile.multiply(count, rows_.row(0) + c, rows_.width(), t_.get() + at * kLane, width_);
                tile.template add_to<false>(gradient + c * width_ + at * kLane, width_);
            }
        });
    }

    Index classes_;
    Index width_;
    Index step_;
    CentredRows rows_;
    ScratchArray<double> w_;  // padded with classes that nobody has
    ScratchArray<double> b_;
    ScratchArray<double> t_;
};

void keep_scores(const ClassRows& rows, Index row, Index count, double* to) noexcept {
    for (Index i = 0; i < count; ++i) {
        std::copy_n(rows.at(i), rows.classes(), to + (row + i) * rows.classes());
    }
}

/// Replaces scores by slopes times weights, and adds up losses, squares and slopes.
void to_slopes(const ClassRows& rows, const SoftmaxIn& in, Index row, Index count, double* sums,
               double* level) noexcept {
    alignas(kCacheLine) double total[kDepth];
    double above[kDepth];  // the largest score less that of the label
    const Index classes = rows.classes();
    const Index width = rows.width();
    for (Index i = 0; i < count; ++i) {
        double* t = rows.at(i);
        const Index own = static_cast<Index>(in.y[row + i]);
        double top = t[0];
        double square = 0.0;
        Index k = 0;
        if (classes >= kLane) {
            Vector<double> most = load(t);
            Vector<double> squares{};
            for (; k + kLane <= classes; k += kLane) {
                most = maximum(most, load(t + k));
                squares += load(t + k) * load(t + k);
            }
            for (Index lane = 0; lane < kLane; ++lane) {
                top = most[lane] > top ? most[lane] : top;
            }
            square = sum_lanes(squares);
        }
        for (; k < classes; ++k) {
            top = t[k] > top ? t[k] : top;
            square += t[k] * t[k];
        }
        above[i] = top - t[own];
        sums[1] += in.c[row + i] * square;
        for (k = 0; k < width; k += kLane) {
            store(t + k, exponential(load(t + k) - top));
        }
        std::fill(t + classes, t + width, 0.0);
        const double mine = t[own];
        t[own] = 0.0;
        Vector<double> sum{};
        for (k = 0; k < width; k += kLane) {
            sum += load(t + k);
        }
        const double others = sum_lanes(sum);  // the slope of the label: one less its probability would cancel
        t[own] = -others;
        total[i] = mine + others;
    }
    std::fill(total + count, total + round_up(count, kLane), 1.0);
    for (Index i = 0; i < count; i += kLane) {
        const Vector<double> logs = logarithm(load(total + i));
        store(total + i, 1.0 / load(total + i));
        for (Index lane = 0; lane < std::min(kLane, count - i); ++lane) {
            sums[0] += in.c[row + i + lane] * (logs[lane] + above[i + lane]);
        }
    }
    for (Index i = 0; i < count; ++i) {
        double* t = rows.at(i);
        const double weight = in.c[row + i];
        Vector<double> square{};
        for (Index k = 0; k < width; k += kLane) {
            const Vector<double> slope = load(t + k) * total[i];
            square += slope * slope;
            store(t + k, slope * weight);
            store(level + k, load(level + k) + slope * weight);
        }
        sums[2] += weight * sum_lanes(square);
    }
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

}  // namespace

void softmax_pass(const Matrix& x, const SoftmaxIn& in, const SoftmaxOut& out) {
    fold_classes(x, in.classes, kSoftmaxSums, out.sums, out.gradient,
                 [&](Index first, Index last, double* sums, double* gradient, double* level) {
                     ClassRows rows(x, in.shift, in.w, in.b, in.classes);
                     rows.run(first, last, gradient, [&](Index row, Index count) {
                         keep_scores(rows, row, count, out.scores);
                         to_slopes(rows, in, row, count, sums, level);
                     });
                 });
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

}  // namespace qed
