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

/// One block of rows: the state that its chunks share.
class Pass {
  public:
    Pass(const Matrix& x, const SoftmaxIn& in, const SoftmaxOut& out)
        : in_(in),
          out_(out),
          width_(softmax_width(in.classes)),
          step_(std::clamp<Index>(2560 / std::max<Index>(x.columns, 1) / kRows * kRows, 2 * kRows, kDepth)),
          rows_(x, in.shift, step_),
          w_(x.columns * width_),
          b_(width_),
          t_(step_ * width_) {
        std::fill_n(b_.get(), width_, 0.0);
        std::copy_n(in.b, in.classes, b_.get());
        std::fill_n(w_.get(), x.columns * width_, 0.0);
        for (Index c = 0; c < x.columns; ++c) {
            std::copy_n(in.w + c * in.classes, in.classes, w_.get() + c * width_);
        }
    }
    static Index softmax_width(Index classes) noexcept { return round_up(classes, kLane); }

    void run(Index first, Index last, double* part) noexcept {
        double* gradient = part + kSoftmaxSums;
        for (Index row = first; row < last; row += step_) {
            const Index count = std::min(step_, last - row);
            rows_.take(row, count);
            find_scores(count);
            if (out_.scores != nullptr) {
                for (Index i = 0; i < count; ++i) {
                    std::copy_n(t_.get() + i * width_, in_.classes, out_.scores + (row + i) * in_.classes);
                }
            }
            to_slopes(row, count, part, gradient + CentredRows::padded_length(rows_.columns()) * width_);
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
    /// Replaces scores by slopes times weights, and adds up losses, squares and slopes.
    void to_slopes(Index row, Index count, double* sums, double* level) noexcept {
        alignas(kCacheLine) double total[kDepth];
        double above[kDepth];  // the largest score less that of the label
        for (Index i = 0; i < count; ++i) {
            double* t = t_.get() + i * width_;
            const Index own = static_cast<Index>(in_.y[row + i]);
            double top = t[0];
            double square = 0.0;
            for (Index k = 0; k < in_.classes; ++k) {
                top = t[k] > top ? t[k] : top;
                square += t[k] * t[k];
            }
            above[i] = top - t[own];
            sums[1] += in_.c[row + i] * square;
            Vector<double> sum{};
            for (Index k = 0; k < width_; k += kLane) {
                store(t + k, exponential(load(t + k) - top));
            }
            std::fill(t + in_.classes, t + width_, 0.0);
            const double mine = t[own];
            t[own] = 0.0;
            for (Index k = 0; k < width_; k += kLane) {
                sum += load(t + k);
            }
            const double others = sum_lanes(sum);
            t[own] = -others;
            total[i] = mine + others;
        }
        for (Index i = count; i < round_up(count, kLane); ++i) {
            total[i] = 1.0;
        }
        for (Index i = 0; i < count; i += kLane) {
            const Vector<double> logs = logarithm(load(total + i));
            store(total + i, 1.0 / load(total + i));
            for (Index lane = 0; lane < std::min(kLane, count - i); ++lane) {
                sums[0] += in_.c[row + i + lane] * (logs[lane] + above[i + lane]);
            }
        }
        for (Index i = 0; i < count; ++i) {
            double* t = t_.get() + i * width_;
            const double weight = in_.c[row + i];
            Vector<double> square{};
            for (Index k = 0; k < width_; k += kLane) {
                const Vector<double> slope = load(t + k) * total[i];
                square += slope * slope;
                store(t + k, slope * weight);
                store(level + k, load(level + k) + slope * weight);
            }
            sums[2] += weight * sum_lanes(square);
        }
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

    const SoftmaxIn& in_;
    const SoftmaxOut& out_;
    Index width_;
    Index step_;
    CentredRows rows_;
    ScratchArray<double> w_;  // padded with classes that nobody has
    ScratchArray<double> b_;
    ScratchArray<double> t_;
};

}  // namespace

void softmax_pass(const Matrix& x, const SoftmaxIn& in, const SoftmaxOut& out) {
    const Index p = x.columns;
    const Index k = in.classes;
    const Index width = Pass::softmax_width(k);
    const Index height = CentredRows::padded_length(p);
    const Index size = kSoftmaxSums + (height + 1) * width;
    const Effort effort(static_cast<double>(x.rows) * static_cast<double>(k) * (2.0 * static_cast<double>(p) + 30.0));
    const Index step = fold_rows(x.rows, kDepth);
    const ScratchArray<double> total(size);
    fold_blocks(blocks_of(x.rows, step), size, total.get(), [&](Index block, double* part) {
        const Index first = block * step;
        Pass(x, in, out).run(first, std::min(x.rows, first + step), part);
    });
    std::copy_n(total.get(), kSoftmaxSums, out.sums);
    for (Index c = 0; c <= p; ++c) {
        std::copy_n(total.get() + kSoftmaxSums + (c < p ? c : height) * width, k, out.gradient + c * k);
    }
}

}  // namespace qed
