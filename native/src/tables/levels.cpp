#include "qed/tables/levels.hpp"

#include <algorithm>
#include <cmath>

#include "qed/machine/parallel.hpp"

namespace qed {
namespace {

constexpr Index kRowsOfBlock = 4096;
constexpr Index kFewLevels = 48;  // up to which comparing with all of them beats searching

/// The number of levels at or below a value, by halving without branches.
Index upto(const double* levels, Index count, double value) noexcept {
    const double* from = levels;
    Index left = count;
    while (left > 1) {
        const Index half = left / 2;
        from += from[half - 1] <= value ? half : 0;
        left -= half;
    }
    return from - levels + (count > 0 && *from <= value ? 1 : 0);
}

/// Calls work(first row, rows, column) for pieces of columns, in parallel.
template <class Work>
void by_pieces(const Matrix& x, const Work& work) {
    const Index blocks = (x.rows + kRowsOfBlock - 1) / kRowsOfBlock;
    parallel_for(blocks, [&](Index block) {
        const Index first = block * kRowsOfBlock;
        const Index rows = std::min(kRowsOfBlock, x.rows - first);
        for (Index j = 0; j < x.columns; ++j) {
            work(first, rows, j);
        }
    });
}

template <class T>
void load(const Matrix& x, Index first, Index rows, Index j, double* to) noexcept {
    for (Index i = 0; i < rows; ++i) {
        to[i] = static_cast<double>(*x.at<T>(first + i, j));
    }
}

template <class T>
void count_typed(const Matrix& x, const double* levels, const Index* starts, const Target& out) {
    by_pieces(x, [&](Index first, Index rows, Index j) {
        alignas(64) double values[kRowsOfBlock];
        alignas(64) double counts[kRowsOfBlock];
        load<T>(x, first, rows, j, values);
        const double* own = levels + starts[j];
        const Index count = starts[j + 1] - starts[j];
        if (count <= kFewLevels) {
            std::fill_n(counts, rows, 0.0);
            for (Index k = 0; k < count; ++k) {
                const double level = own[k];
                for (Index i = 0; i < rows; ++i) {
                    counts[i] += values[i] >= level ? 1.0 : 0.0;
                }
            }
        } else {
            for (Index i = 0; i < rows; ++i) {
                counts[i] = static_cast<double>(upto(own, count, values[i]));
            }
        }
        for (Index i = 0; i < rows; ++i) {
            *out.at<T>(first + i, j) = static_cast<T>(values[i] == values[i] ? counts[i] : values[i]);
        }
    });
}

double follow(const double* levels, const double* values, Index count, double x) noexcept {
    if (!(x == x)) {
        return x;
    }
    const Index reached = upto(levels, count, x);
    if (reached == 0) {
        return values[0];
    }
    const double below = levels[reached - 1];
    if (below == x) {
        // the first of equal levels: searched for only where there are several
        Index start = reached - 1;
        if (start > 0 && levels[start - 1] == x) {
            start = std::lower_bound(levels, levels + reached, x) - levels;
        }
        return 0.5 * (values[start] + values[reached - 1]);
    }
    if (reached == count) {
        return values[count - 1];
    }
    const double slope = (values[reached] - values[reached - 1]) / (levels[reached] - below);
    return slope * (x - below) + values[reached - 1];
}

template <class T>
void follow_typed(const Matrix& x, const double* levels, const double* values, Index count, const Target& out) {
    by_pieces(x, [&](Index first, Index rows, Index j) {
        const double* own = levels + j * count;
        for (Index i = first; i < first + rows; ++i) {
            *out.at<T>(i, j) = static_cast<T>(follow(own, values, count, static_cast<double>(*x.at<T>(i, j))));
        }
    });
}

}  // namespace

void count_levels(const Matrix& x, const double* levels, const Index* starts, const Target& out) {
    const Effort effort(static_cast<double>(x.rows * x.columns) * 16.0);
    x.kind == Kind::float32 ? count_typed<float>(x, levels, starts, out) : count_typed<double>(x, levels, starts, out);
}

void follow_levels(const Matrix& x, const double* levels, const double* values, Index count, const Target& out) {
    const Effort effort(static_cast<double>(x.rows * x.columns) * 64.0);
    x.kind == Kind::float32 ? follow_typed<float>(x, levels, values, count, out)
                            : follow_typed<double>(x, levels, values, count, out);
}

}  // namespace qed
