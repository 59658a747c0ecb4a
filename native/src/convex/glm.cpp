#include "qed/convex/glm.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "qed/convex/loss_lanes.hpp"
#include "qed/dense/centred_rows.hpp"
#include "qed/dense/fold.hpp"
#include "qed/dense/panel.hpp"
#include "qed/dense/product.hpp"
#include "qed/sparse/csr.hpp"

namespace qed {
namespace {

constexpr Index kLane = kLanes<double>;
constexpr Index kSums = kGlmSums;
static_assert(kDepth % kLane == 0);

/// What the rows of a chunk ask for: scores in, weighted slopes and curvatures out.
struct ChunkRows {
    alignas(kCacheLine) double t[kDepth];
    alignas(kCacheLine) double slope[kDepth];  // without weight
    alignas(kCacheLine) double pull[kDepth];   // with it
    alignas(kCacheLine) double bend[kDepth];
    alignas(kCacheLine) double given[kDepth];  // dual variables with weight
};

/// Where a block keeps what it adds up: sums, the gradient by signs, and what else is asked for.
struct Layout {
    Index width;
    bool has_given;
    [[nodiscard]] Index rise() const noexcept { return kSums + (has_given ? kGivenSums : 0); }
    [[nodiscard]] Index fall() const noexcept { return rise() + width; }
    [[nodiscard]] Index given_rise() const noexcept { return rise() + 2 * width; }
    [[nodiscard]] Index given_fall() const noexcept { return rise() + 3 * width; }
    [[nodiscard]] Index hessian() const noexcept { return rise() + (has_given ? 4 : 2) * width; }
};

/// Dual variables that are given, times weights, and sums of mixtures with the slopes.
template <class Loss>
void take_given(const GlmIn& in, Index row, Index count, const double* y, const double* c, ChunkRows& rows,
                double* sums) noexcept {
    alignas(kCacheLine) double given[kDepth] = {};
    for (Index i = 0; i < count; ++i) {
        given[i] = in.given.times * static_cast<double>(in.given.numbers[row + i]);
    }
    const Vector<double> zero{};
    Vector<double> total[kGivenSums] = {};
    for (Index i = 0; i < count; i += kLane) {
        const Vector<double> target = load(y + i);
        const Vector<double> weight = load(c + i);
        const Vector<double> u = Loss::project(target, load(given + i));
        const Vector<double> slope = load(rows.slope + i);
        const Vector<double> part[4] = {maximum(slope, zero), minimum(slope, zero), maximum(u, zero), minimum(u, zero)};
        store(rows.given + i, weight * u);
        total[0] += weight * part[2];
        total[1] += weight * part[3];
        for (int k = 0; k < 4; ++k) {
            const Vector<double> mass = weight * part[k];
            total[2 + k] += target * mass;
            total[6 + k] += part[k] * mass;
        }
        for (int k = 0; k < 4; ++k) {
            total[10 + k] += weight * part[k / 2] * part[2 + k % 2];
        }
    }
    for (Index k = 0; k < kGivenSums; ++k) {
        sums[k] += sum_lanes(total[k]);
    }
}

/// Slopes and curvatures times weights, and their sums.
template <class Loss>
void take_losses(const GlmIn& in, Index row, Index count, ChunkRows& rows, double* sums) noexcept {
    alignas(kCacheLine) double y[kDepth] = {};
    alignas(kCacheLine) double c[kDepth] = {};
    std::copy_n(in.y + row, count, y);
    std::copy_n(in.c + row, count, c);
    for (Index i = count; i < round_up(count, kLane); ++i) {  // copies of the first row, without weight
        y[i] = y[0];
        rows.t[i] = rows.t[0];
    }
    Vector<double> value{};
    Vector<double> over{};
    Vector<double> under{};
    Vector<double> bend{};
    Vector<double> score_square{};
    Vector<double> slope_square{};
    for (Index i = 0; i < count; i += kLane) {
        const Vector<double> weight = load(c + i);
        const Lanes lanes = Loss::at(load(rows.t + i), load(y + i));
        const Vector<double> slope = weight * lanes.slope;
        const Vector<double> curve = weight * lanes.bend;
        value += weight * lanes.value;
        over += maximum(slope, Vector<double>{});
        under += minimum(slope, Vector<double>{});
        bend += curve;
        score_square += weight * load(rows.t + i) * load(rows.t + i);
        slope_square += slope * lanes.slope;
        store(rows.slope + i, lanes.slope);
        store(rows.pull + i, slope);
        store(rows.bend + i, curve);
    }
    sums[0] += sum_lanes(value);
    sums[1] += sum_lanes(over);
    sums[2] += sum_lanes(under);
    sums[3] += sum_lanes(bend);
    sums[4] += sum_lanes(score_square);
    sums[5] += sum_lanes(slope_square);
    if (in.given.numbers != nullptr) {
        take_given<Loss>(in, row, count, y, c, rows, sums + kSums);
    }
}

void keep_rows(const ChunkRows& rows, Index row, Index count, const GlmOut& out) noexcept {
    if (out.scores != nullptr) {
        std::copy_n(rows.t, count, out.scores + row);
    }
    if (out.slopes != nullptr) {
        std::copy_n(rows.slope, count, out.slopes + row);
    }
    if (out.bend != nullptr) {
        std::copy_n(rows.bend, count, out.bend + row);
    }
}

/// The gradient, rows of either sign of slope apart.
void add_by_sign(const CentredRows& rows, const double* slope, Index count, double* rise, double* fall) noexcept {
    const double* from[2][kDepth];
    double factor[2][kDepth];
    Index number[2] = {0, 0};
    for (Index i = 0; i < count; ++i) {
        const int side = slope[i] > 0.0 ? 0 : 1;
        from[side][number[side]] = rows.row(i);
        factor[side][number[side]++] = slope[i];
    }
    add_rows(from[0], factor[0], number[0], rows.width(), rise);
    add_rows(from[1], factor[1], number[1], rows.width(), fall);
}

/// Weighted second derivatives of a few rows and a constant.
class HessianRows {
  public:
    HessianRows(Index columns, bool wanted) : packed_(wanted ? strips_of<double>(columns + 1) * kStrip<double> * kDepth : 0) {}
    void add(const CentredRows& rows, Index count, const double* bend, double* part) const noexcept {
        static constexpr double kOne = 1.0;
        double scale[kDepth];
        for (Index i = 0; i < count; ++i) {
            scale[i] = std::sqrt(bend[i]);
        }
        Factor z;
        z.parts[0] = row_major(rows.row(0), count, rows.columns(), rows.width());
        z.parts[1] = {&kOne, Kind::float64, count, 1, 0, 1};
        z.row_scale = scale;
        const Panel<double> panel{packed_.get(), count, rows.columns() + 1};
        pack_strips(z, 0, count, 0, panel.strips(), packed_.get());
        multiply_panels<double, true>(panel, panel, part, padded<double>(rows.columns() + 1));
    }

  private:
    ScratchArray<double> packed_;
};

/// Rows that are read together: few enough to stay in the nearest cache between scores and gradient, or, where second
/// derivatives are asked for, enough to make their tiles worth storing.
Index chunk_rows(Index columns, bool with_hessian) noexcept {
    const Index numbers = with_hessian ? 6144 : 2560;
    return std::clamp<Index>(numbers / std::max<Index>(columns, 1) / 8 * 8, 16, kDepth);
}

template <class Loss>
void add_pass(const Matrix& x, const GlmIn& in, const GlmOut& out, Index first, Index last, double* part) {
    const bool with_hessian = out.hessian != nullptr;
    const Index step = chunk_rows(x.columns, with_hessian);
    CentredRows rows(x, in.shift, step);
    const Layout at{rows.width(), in.given.numbers != nullptr};
    ChunkRows found;
    const HessianRows hessian(x.columns, with_hessian);
    const PaddedVector w(in.w, x.columns);
    for (Index row = first; row < last; row += step) {
        const Index count = std::min(step, last - row);
        rows.take(row, count);
        dot_rows(rows, count, w.get(), found.t);
        for (Index i = 0; i < count; ++i) {
            found.t[i] += in.b;
        }
        take_losses<Loss>(in, row, count, found, part);
        keep_rows(found, row, count, out);
        add_by_sign(rows, found.pull, count, part + at.rise(), part + at.fall());
        if (at.has_given) {
            add_by_sign(rows, found.given, count, part + at.given_rise(), part + at.given_fall());
        }
        if (with_hessian) {
            hessian.add(rows, count, found.bend, part + at.hessian());
        }
    }
}

void give(const double* total, Index p, const Layout& at, const GlmOut& out) noexcept {
    std::copy_n(total, kSums, out.sums);
    std::copy_n(total + at.rise(), p, out.rise);
    std::copy_n(total + at.fall(), p, out.fall);
    if (at.has_given) {
        std::copy_n(total + kSums, kGivenSums, out.given_sums);
        std::copy_n(total + at.given_rise(), p, out.given_rise);
        std::copy_n(total + at.given_fall(), p, out.given_fall);
    }
}

/// Adds sparse rows, times factors, to one of two sums by the sign of the factor.
template <class T, class I>
void add_by_sign(const Csr<T, I>& x, Index row, const double* factor, Index count, double* rise, double* fall) noexcept {
    for (Index i = 0; i < count; ++i) {
        double* __restrict to = factor[i] > 0.0 ? rise : fall;
        const Index end = x.starts[row + i + 1];
        for (Index e = x.starts[row + i]; e < end; ++e) {
            to[x.indices[e]] += static_cast<double>(x.values[e]) * factor[i];
        }
    }
}

template <class Loss, class T, class I>
void add_sparse_pass(const Csr<T, I>& x, const GlmIn& in, const GlmOut& out, double offset, Index first, Index last,
                     double* part) noexcept {
    const Layout at{x.columns, in.given.numbers != nullptr};
    ChunkRows rows;
    for (Index row = first; row < last; row += kDepth) {
        const Index count = std::min(kDepth, last - row);
        for (Index i = 0; i < count; ++i) {
            double total = offset;
            const Index end = x.starts[row + i + 1];
            for (Index e = x.starts[row + i]; e < end; ++e) {
                total += static_cast<double>(x.values[e]) * in.w[x.indices[e]];
            }
            rows.t[i] = total;
        }
        take_losses<Loss>(in, row, count, rows, part);
        keep_rows(rows, row, count, out);
        add_by_sign(x, row, rows.pull, count, part + at.rise(), part + at.fall());
        if (at.has_given) {
            add_by_sign(x, row, rows.given, count, part + at.given_rise(), part + at.given_fall());
        }
    }
}

/// Blocks of a fold over sparse rows into `size` numbers: a part costs its own size to clear and merge.
template <class T, class I>
Index sparse_blocks(const Csr<T, I>& x, Index size) noexcept {
    constexpr Index kEntriesAtOnce = Index{1} << 15;
    const Index most = std::clamp<Index>(x.blocks(kEntriesAtOnce), 1, 64);
    return x.rows == 0 ? 0 : std::clamp<Index>(x.entries() / std::max<Index>(1, 4 * size), 1, most);
}

double dot(const double* a, const double* b, Index count) noexcept {
    double total = 0.0;
    for (Index i = 0; i < count; ++i) {
        total += a[i] * b[i];
    }
    return total;
}

double longest_square(const Matrix& x, const double* shift, const PaddedVector& scale, Index first, Index last) {
    const Index step = chunk_rows(x.columns, false);
    CentredRows rows(x, shift, step);
    double longest = 0.0;
    for (Index row = first; row < last; row += step) {
        const Index count = std::min(step, last - row);
        rows.take(row, count);
        for (Index i = 0; i < count; ++i) {
            Vector<double> even{};
            Vector<double> odd{};
            Index c = 0;
            for (; c + 2 * kLane <= rows.width(); c += 2 * kLane) {
                const Vector<double> one = load(rows.row(i) + c) * load(scale.get() + c);
                const Vector<double> two = load(rows.row(i) + c + kLane) * load(scale.get() + c + kLane);
                even += one * one;
                odd += two * two;
            }
            if (c < rows.width()) {
                const Vector<double> one = load(rows.row(i) + c) * load(scale.get() + c);
                even += one * one;
            }
            longest = std::max(longest, sum_lanes(even + odd));
        }
    }
    return longest;
}

void add_curvature(const Matrix& x, const double* weight, const double* shift, const double* v, Index first, Index last,
                   double* part) {
    const Index p = x.columns;
    const Index step = chunk_rows(p, false);
    CentredRows rows(x, shift, step);
    const PaddedVector along(v, p);
    const double* from[kDepth];
    double t[kDepth];
    for (Index row = first; row < last; row += step) {
        const Index count = std::min(step, last - row);
        rows.take(row, count);
        dot_rows(rows, count, along.get(), t);
        double total = 0.0;
        for (Index i = 0; i < count; ++i) {
            t[i] = (t[i] + v[p]) * weight[row + i];
            total += t[i];
            from[i] = rows.row(i);
        }
        part[rows.width()] += total;
        add_rows(from, t, count, rows.width(), part);
    }
}

}  // namespace

void glm_pass(const Matrix& x, const GlmIn& in, const GlmOut& out) {
    const Index p = x.columns;
    const Layout at{CentredRows::padded_length(p), in.given.numbers != nullptr};
    const Index side = padded<double>(p + 1);
    const Index size = at.hessian() + (out.hessian == nullptr ? 0 : side * side);
    const double each = 3.0 * static_cast<double>(p) + 60.0 +
                        (out.hessian == nullptr ? 0.0 : 0.5 * static_cast<double>(p) * static_cast<double>(p));
    const Effort effort(static_cast<double>(x.rows) * each);
    const Index step = fold_rows(x.rows, kDepth);
    const ScratchArray<double> total(size);
    with_loss(in.kind, [&]<class Loss>(Loss) {
        fold_blocks(blocks_of(x.rows, step), size, total.get(), [&](Index block, double* part) {
            const Index first = block * step;
            add_pass<Loss>(x, in, out, first, std::min(x.rows, first + step), part);
        });
    });
    give(total.get(), p, at, out);
    if (out.hessian != nullptr) {
        const double* from = total.get() + at.hessian();
        for (Index i = 0; i <= p; ++i) {
            std::copy_n(from + i * side + i, p + 1 - i, out.hessian + i * (p + 1) + i);
        }
        mirror_upper(out.hessian, p + 1);
    }
}

void glm_pass(const SparseRows& x, const GlmIn& in, const GlmOut& out) {
    const Index p = x.columns;
    const Layout at{p, in.given.numbers != nullptr};
    const Index size = at.hessian();
    const ScratchArray<double> total(size);
    const double offset = in.b - dot(in.shift, in.w, p);
    with_csr(x, [&]<class T, class I>(const Csr<T, I>& csr) {
        const Effort effort(4.0 * static_cast<double>(csr.entries()) + 60.0 * static_cast<double>(csr.rows));
        const Index count = sparse_blocks(csr, size);
        with_loss(in.kind, [&]<class Loss>(Loss) {
            fold_blocks(count, size, total.get(), [&](Index block, double* part) {
                add_sparse_pass<Loss>(csr, in, out, offset, csr.first_row(block, count),
                                      csr.first_row(block + 1, count), part);
            });
        });
    });
    give(total.get(), p, at, out);
    for (Index j = 0; j < p; ++j) {
        out.rise[j] -= in.shift[j] * out.sums[1];
        out.fall[j] -= in.shift[j] * out.sums[2];
        if (at.has_given) {
            out.given_rise[j] -= in.shift[j] * out.given_sums[0];
            out.given_fall[j] -= in.shift[j] * out.given_sums[1];
        }
    }
}

void curvature_product(const Matrix& x, const double* weight, const double* shift, const double* v, double* out) {
    const Effort effort(3.0 * static_cast<double>(x.rows) * static_cast<double>(x.columns));
    const Index step = fold_rows(x.rows, kDepth);
    const Index width = CentredRows::padded_length(x.columns);
    const ScratchArray<double> total(width + 1);
    fold_blocks(blocks_of(x.rows, step), width + 1, total.get(), [&](Index block, double* part) {
        const Index first = block * step;
        add_curvature(x, weight, shift, v, first, std::min(x.rows, first + step), part);
    });
    std::copy_n(total.get(), x.columns, out);
    out[x.columns] = total[width];
}

double longest_square(const Matrix& x, const double* shift, const double* scale) {
    const Effort effort(2.0 * static_cast<double>(x.rows) * static_cast<double>(x.columns));
    const Index step = fold_rows(x.rows, kDepth);
    const Index count = blocks_of(x.rows, step);
    const PaddedVector factors(scale, x.columns);
    std::vector<double> longest(static_cast<std::size_t>(count));
    parallel_for(count, [&](Index block) {
        const Index first = block * step;
        longest[static_cast<std::size_t>(block)] =
            longest_square(x, shift, factors, first, std::min(x.rows, first + step));
    });
    return count == 0 ? 0.0 : *std::max_element(longest.begin(), longest.end());
}

void curvature_product(const SparseRows& x, const double* weight, const double* shift, const double* v, double* out) {
    const Index p = x.columns;
    const double offset = v[p] - dot(shift, v, p);
    with_csr(x, [&]<class T, class I>(const Csr<T, I>& csr) {
        const Effort effort(4.0 * static_cast<double>(csr.entries()));
        const Index count = sparse_blocks(csr, p + 1);
        fold_blocks(count, p + 1, out, [&](Index block, double* part) {
            double* __restrict to = part;
            const Index last = csr.first_row(block + 1, count);
            for (Index i = csr.first_row(block, count); i < last; ++i) {
                double total = offset;
                const Index end = csr.starts[i + 1];
                for (Index e = csr.starts[i]; e < end; ++e) {
                    total += static_cast<double>(csr.values[e]) * v[csr.indices[e]];
                }
                total *= weight[i];
                to[p] += total;
                for (Index e = csr.starts[i]; e < end; ++e) {
                    to[csr.indices[e]] += static_cast<double>(csr.values[e]) * total;
                }
            }
        });
    });
    for (Index j = 0; j < p; ++j) {
        out[j] -= shift[j] * out[p];
    }
}

}  // namespace qed
