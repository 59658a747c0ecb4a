#include <algorithm>
#include <vector>

#include "qed/fold.hpp"
#include "qed/glm.hpp"
#include "qed/row_chunk.hpp"

namespace qed {
namespace {

constexpr Index kRowsAtOnce = 64;

/// sums += Σ s (row - origin) and squares += Σ s (row - origin)², over R rows.
template <int R, class S>
void add_powers(const S* const* from, const double* s, const double* origin, Index length, double* sums,
                double* squares) noexcept {
    Index c = 0;
    for (; c + kLanes<double> <= length; c += kLanes<double>) {
        const Vector<double> away = load(origin + c);
        Vector<double> first = load(sums + c);
        Vector<double> second = load(squares + c);
#pragma GCC unroll 8
        for (int i = 0; i < R; ++i) {
            const Vector<double> entry = load_double(from[i] + c) - away;
            const Vector<double> weighted = entry * s[i];
            first += weighted;
            second += weighted * entry;
        }
        store(sums + c, first);
        store(squares + c, second);
    }
    for (; c < length; ++c) {
        for (int i = 0; i < R; ++i) {
            const double entry = static_cast<double>(from[i][c]) - origin[c];
            sums[c] += entry * s[i];
            squares[c] += entry * s[i] * entry;
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
    const Index width = RowChunk<S>::padded_length(p);
    RowChunk<S> chunk(x, kRowsAtOnce);
    const PaddedVector away(origin, p);
    const ScratchArray<double> scratch(2 * width);
    double weight = 0.0;
    const Seen now{&weight, scratch.get(), scratch.get() + width};
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
        std::fill_n(now.mean, 2 * width, 0.0);
        Index i = 0;
        for (; i + 8 <= count; i += 8) {
            add_powers<8>(from + i, weights + i, away.get(), chunk.length(), now.mean, now.spread);
        }
        for (; i < count; ++i) {
            add_powers<1>(from + i, weights + i, away.get(), chunk.length(), now.mean, now.spread);
        }
        const double inverse = weight > 0.0 ? 1.0 / weight : 0.0;
        for (Index j = 0; j < p; ++j) {
            const double sum = now.mean[j];
            now.mean[j] *= inverse;
            const double left = now.spread[j] - sum * now.mean[j];
            now.spread[j] = left < 0.0 ? 0.0 : left;  // NaN stays what it is
        }
        join(out, now, p);
    }
}

/// Whether some column lies so far from its first entry that squares about that lose more than three digits.
bool is_far(const double* mean, const double* spread, double weight, Index p) noexcept {
    for (Index j = 0; j < p; ++j) {
        if (weight * mean[j] * mean[j] > 1e3 * spread[j]) {
            return true;
        }
    }
    return false;
}

/// Means less origin, and spreads; returns the weight.
double look_from(const Matrix& x, const double* s, const double* origin, double* mean, double* spread) {
    const Index p = x.columns;
    std::fill_n(mean, p, 0.0);
    std::fill_n(spread, p, 0.0);
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
            look_at<S>(x, s, origin, block * step, std::min(x.rows, (block + 1) * step), part(block));
        });
    });
    double weight = 0.0;
    const Seen all{&weight, mean, spread};
    for (Index block = 0; block < blocks; ++block) {
        join(all, part(block), p);
    }
    return weight;
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
    const double weight = look_from(x, s, origin.data(), mean, spread);
    if (is_far(mean, spread, weight, p)) {
        // the first row is unlike the others: squares once more, about the means; means stay as they are
        std::vector<double> centre(origin);
        std::vector<double> rest(static_cast<std::size_t>(p));
        for (Index j = 0; j < p; ++j) {
            centre[static_cast<std::size_t>(j)] += mean[j];
        }
        look_from(x, s, centre.data(), rest.data(), spread);
        for (Index j = 0; j < p; ++j) {
            mean[j] += spread[j] > 0.0 ? rest[static_cast<std::size_t>(j)] : 0.0;
        }
    }
    for (Index j = 0; j < p; ++j) {
        mean[j] += origin[static_cast<std::size_t>(j)];
    }
}

}  // namespace qed
