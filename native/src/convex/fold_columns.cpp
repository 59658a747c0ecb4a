#include "qed/convex/fold_columns.hpp"

#include <algorithm>
#include <vector>

#include "qed/dense/numbers.hpp"
#include "qed/machine/parallel.hpp"

namespace qed {
namespace {

constexpr Index kLeft = 4;          // columns whose products are summed together,
constexpr Index kRight = 3;         // with so many fresh ones
constexpr Index kRowsAtOnce = 1024;  // of such columns, which a first-level cache holds
constexpr Index kColumnsAtOnce = 64;
constexpr Index kResiduals = 256;

/// sums[i * kRight + j] += left[i] · right[j].
void add_products(const double* const* left, const double* const* right, Index rows, double* sums) noexcept {
    constexpr Index lanes = kLanes<double>;
    Vector<double> total[kLeft][kRight] = {};
    Index r = 0;
    for (; r + lanes <= rows; r += lanes) {
        Vector<double> there[kRight];
#pragma GCC unroll 3
        for (Index j = 0; j < kRight; ++j) {
            there[j] = load(right[j] + r);
        }
#pragma GCC unroll 4
        for (Index i = 0; i < kLeft; ++i) {
            const Vector<double> here = load(left[i] + r);
#pragma GCC unroll 3
            for (Index j = 0; j < kRight; ++j) {
                total[i][j] += here * there[j];
            }
        }
    }
    for (Index i = 0; i < kLeft; ++i) {
        for (Index j = 0; j < kRight; ++j) {
            double rest = 0.0;
            for (Index k = r; k < rows; ++k) {
                rest += left[i][k] * right[j][k];
            }
            sums[i * kRight + j] += sum_lanes(total[i][j]) + rest;
        }
    }
}

/// Products of up to kLeft columns from `first` on with all fresh ones.
void multiply_tile(const FreshColumns& fold, Index first, Numbers& sums) {
    const Index fresh = fold.count - fold.old;
    const Index tiles = (fresh + kRight - 1) / kRight;
    sums.assign(at(tiles * kLeft * kRight), 0.0);
    for (Index row = 0; row < fold.counted; row += kRowsAtOnce) {
        const double* left[kLeft];
        for (Index i = 0; i < kLeft; ++i) {  // what is not there is another's double, and not written
            left[i] = fold.columns + std::min(first + i, fold.count - 1) * fold.rows + row;
        }
        for (Index tile = 0; tile < tiles; ++tile) {
            const double* right[kRight];
            for (Index j = 0; j < kRight; ++j) {
                right[j] = fold.weighted + std::min(tile * kRight + j, fresh - 1) * fold.counted + row;
            }
            add_products(left, right, std::min(kRowsAtOnce, fold.counted - row), sums.data() + tile * kLeft * kRight);
        }
    }
    for (Index a = first; a < std::min(first + kLeft, fold.count); ++a) {
        for (Index c = 0; c < fresh; ++c) {
            const double sum = sums[at((c / kRight * kLeft + a - first) * kRight + c % kRight)];
            fold.products[a * fold.stride + fold.old + c] = sum;
            if (a < fold.old) {
                fold.products[(fold.old + c) * fold.stride + a] = sum;
            }
        }
    }
}

/// to -= Σ w[i] from[i], for kLeft columns.
void subtract_columns(const double* const* from, const double* w, Index rows, double* __restrict to) noexcept {
    const double* __restrict a = from[0];
    const double* __restrict b = from[1];
    const double* __restrict c = from[2];
    const double* __restrict d = from[3];
    for (Index i = 0; i < rows; ++i) {
        to[i] -= (w[0] * a[i] + w[1] * b[i]) + (w[2] * c[i] + w[3] * d[i]);
    }
}

/// Blocks of several folds, counted through.
struct Block {
    Index fold;
    Index first;
};

}  // namespace

void extend_products(const FreshColumns* folds, Index count) {
    std::vector<Block> blocks;
    double work = 0.0;
    for (Index f = 0; f < count; ++f) {
        for (Index first = 0; first < folds[f].count && folds[f].old < folds[f].count; first += kColumnsAtOnce) {
            blocks.push_back({f, first});
        }
        work += static_cast<double>(folds[f].count - folds[f].old) * static_cast<double>(folds[f].count * folds[f].counted);
    }
    const Effort effort(work);
    parallel_for(static_cast<Index>(blocks.size()), [&](Index b) {
        const FreshColumns& fold = folds[blocks[at(b)].fold];
        Numbers sums;
        const Index first = blocks[at(b)].first;
        for (Index a = first; a < std::min(first + kColumnsAtOnce, fold.count); a += kLeft) {
            multiply_tile(fold, a, sums);
        }
    });
}

void make_residuals(const FoldResidual* folds, Index count) {
    std::vector<Block> blocks;
    double work = 0.0;
    for (Index f = 0; f < count; ++f) {
        for (Index first = 0; first < folds[f].rows; first += kResiduals) {
            blocks.push_back({f, first});
        }
        work += static_cast<double>(folds[f].rows) * static_cast<double>(folds[f].count);
    }
    const Effort effort(work);
    parallel_for(static_cast<Index>(blocks.size()), [&](Index b) {
        const FoldResidual& fold = folds[blocks[at(b)].fold];
        const Index first = blocks[at(b)].first;
        const Index rows = std::min(kResiduals, fold.rows - first);
        double here[kResiduals];
        std::copy_n(fold.target + first, rows, here);
        const double* from[kLeft];
        double w[kLeft];
        Index waiting = 0;
        for (Index j = 0; j < fold.count; ++j) {
            if (fold.w[j] != 0.0) {
                from[waiting] = fold.columns + j * fold.rows + first;
                w[waiting++] = fold.w[j];
            }
            if (waiting == kLeft) {
                subtract_columns(from, w, rows, here);
                waiting = 0;
            }
        }
        for (Index j = 0; j < waiting; ++j) {
            add_scaled(from[j], -w[j], here, rows);
        }
        for (Index i = 0; i < rows; ++i) {
            fold.residual[fold.order[first + i] * fold.step] = here[i];
        }
    });
}

}  // namespace qed
