#include <algorithm>
#include <vector>

#include "qed/fold.hpp"
#include "qed/glm.hpp"
#include "qed/row_chunk.hpp"

namespace qed {
namespace {

constexpr Index kRowsAtOnce = 64;

/// part += sum over R rows of s (row - shift)².
template <int R, class S>
void add_squares(const S* const* from, const double* s, const double* shift, Index length, double* part) noexcept {
    Index c = 0;
    for (; c + kLanes<double> <= length; c += kLanes<double>) {
        const Vector<double> away = load(shift + c);
        Vector<double> total = load(part + c);
#pragma GCC unroll 8
        for (int i = 0; i < R; ++i) {
            const Vector<double> entry = load_double(from[i] + c) - away;
            total += entry * entry * s[i];
        }
        store(part + c, total);
    }
    for (; c < length; ++c) {
        for (int i = 0; i < R; ++i) {
            const double entry = static_cast<double>(from[i][c]) - shift[c];
            part[c] += entry * entry * s[i];
        }
    }
}

/// Weight, means less `origin`, and sums of squares about those means.
struct Seen {
    double* weight;
    double* mean;
    double* spread;
};

/// Joins two sets of rows into the first. A set without weight changes nothing, unless it holds what is not finite.
void join(const Seen& into, const Seen& more, Index p) noexcept {
    const double weight = *into.weight + *more.weight;
    const double pull = weight > 0.0 ? *more.weight / weight : 0.0;
    const double cross = *into.weight * pull;
    for (Index j = 0; j < p; ++j) {
        const double step = more.mean[j] - into.mean[j];
        into.mean[j] += pull * step;
        into.spread[j] += more.spread[j] + cross * step * step;
    }
    *into.weight = weight;
}

template <class S>
void look_at(const Matrix& x, const double* s, const double* origin, Index first, Index last, const Seen& out) {
    const Index p = x.columns;
    RowChunk<S> chunk(x, kRowsAtOnce);
    const ScratchArray<double> scratch(3 * p);
    double weight = 0.0;
    const Seen now{&weight, scratch.get(), scratch.get() + p};
    double* centre = scratch.get() + 2 * p;
    double weights[kRowsAtOnce];
    const S* from[kRowsAtOnce];
    for (Index row = first; row < last; row += kRowsAtOnce) {
        const Index count = std::min(kRowsAtOnce, last - row);
        chunk.move_to(row, count);
        weight = 0.0;
        for (Index i = 0; i < count; ++i) {
            from[i] = chunk.row(i);
            weights[i] = s == nullptr ? 1.0 : s[row + i];
            weight += weights[i];
        }
        std::fill_n(now.mean, 2 * p, 0.0);
        sum_shifted(from, weights, count, origin, p, now.mean);
        const double inverse = weight > 0.0 ? 1.0 / weight : 0.0;
        for (Index j = 0; j < p; ++j) {
            now.mean[j] *= inverse;
            centre[j] = origin[j] + now.mean[j];
        }
        Index i = 0;
        for (; i + 8 <= count; i += 8) {
            add_squares<8>(from + i, weights + i, centre, p, now.spread);
        }
        for (; i < count; ++i) {
            add_squares<1>(from + i, weights + i, centre, p, now.spread);
        }
        join(out, now, p);
    }
}

}  // namespace

void look(const Matrix& x, const double* s, double* mean, double* spread) {
    const Index p = x.columns;
    std::fill_n(mean, p, 0.0);
    std::fill_n(spread, p, 0.0);
    if (x.rows == 0 || p == 0) {
        return;
    }
    std::vector<double> origin(static_cast<std::size_t>(p));
    load_rows(x, 0, 1, 0, p, origin.data(), p);
    const Effort effort(4.0 * static_cast<double>(x.rows) * static_cast<double>(p));
    const Index step = fold_rows(x.rows, kDepth);
    const Index blocks = blocks_of(x.rows, step);
    const Index size = 2 * p + 1;
    const ScratchArray<double> parts(blocks * size);
    std::fill_n(parts.get(), blocks * size, 0.0);
    const auto part = [&](Index block) {
        double* at = parts.get() + block * size;
        return Seen{at, at + 1, at + 1 + p};
    };
    parallel_for(blocks, [&](Index block) {
        with_chunk_type(x, [&]<class S>(const S*) {
            look_at<S>(x, s, origin.data(), block * step, std::min(x.rows, (block + 1) * step), part(block));
        });
    });
    double weight = 0.0;
    const Seen all{&weight, mean, spread};
    for (Index block = 0; block < blocks; ++block) {
        join(all, part(block), p);
    }
    for (Index j = 0; j < p; ++j) {
        mean[j] += origin[static_cast<std::size_t>(j)];
    }
}

}  // namespace qed
