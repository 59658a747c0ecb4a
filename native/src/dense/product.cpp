#include "qed/dense/product.hpp"

#include <memory>
#include <vector>

#include "qed/dense/fold.hpp"
#include "qed/dense/packed_rows.hpp"
#include "qed/machine/parallel.hpp"

namespace qed {
namespace {

constexpr Index kMirrorBlock = 64;

// ---------------------------------------------------------------- narrow results: a fold over rows

/// part += aᵀ a over `count` rows from `row` on; below it, one row for the sums if they are wanted.
template <class T>
void add_self(const Factor& a, Index row, Index count, double* part, double* sums) {
    const Index stride = padded<T>(a.columns());
    const ScratchArray<T> packed(strips_of<T>(a.columns()) * kStrip<T> * kDepth);
    for (Index k = 0; k < count; k += kDepth) {
        const Panel<T> panel{packed.get(), std::min(kDepth, count - k), a.columns()};
        pack_strips(a, row + k, panel.depth, 0, panel.strips(), packed.get());
        multiply_panels<T, true>(panel, panel, part, stride);
        if constexpr (std::is_same_v<T, double>) {
            if (sums != nullptr) {
                add_column_sums(panel, a.row_scale == nullptr ? nullptr : a.row_scale + row + k, sums);
            }
        }
    }
}

template <class T>
void narrow_self(const Factor& a, double* c, double* sums) {
    const Index q = a.columns();
    const Index side = padded<T>(q);
    const Index size = (side + (sums == nullptr ? 0 : 1)) * side;
    const Index step = fold_rows(a.depth(), kDepth);
    const ScratchArray<double> total(size);
    fold_blocks(blocks_of(a.depth(), step), size, total.get(), [&](Index block, double* part) {
        const Index row = block * step;
        add_self<T>(a, row, std::min(step, a.depth() - row), part, sums == nullptr ? nullptr : part + side * side);
    });
    for (Index i = 0; i < q; ++i) {
        std::copy_n(total.get() + i * side + i, q - i, c + i * q + i);
    }
    mirror_upper(c, q);
    if (sums != nullptr) {
        std::copy_n(total.get() + side * side, q, sums);
    }
}

/// part += aᵀ b over some rows. The columns of a are packed a few strips at a time: they may be many.
void add_cross(const Factor& a, const Factor& b, Index row, Index count, double* part) {
    const Index stride = padded<double>(b.columns());
    const Index strips = strips_of<double>(a.columns());
    const Index right_size = strips_of<double>(b.columns()) * kStrip<double> * kDepth;
    const ScratchArray<double> packed(right_size + kTile<double> * kDepth);
    double* left_data = packed.get() + right_size;
    for (Index k = 0; k < count; k += kDepth) {
        const Panel<double> right{packed.get(), std::min(kDepth, count - k), b.columns()};
        pack_strips(b, row + k, right.depth, 0, right.strips(), packed.get());
        for (Index first = 0; first < strips; first += kTileStrips<double>) {
            const Index last = std::min(strips, first + kTileStrips<double>);
            const Index column = first * kStrip<double>;
            const Panel<double> left{left_data, right.depth, std::min(a.columns(), last * kStrip<double>) - column};
            pack_strips(a, row + k, right.depth, first, last, left_data);
            multiply_panels<double, false>(left, right, part + column * stride, stride);
        }
    }
}

void narrow_cross(const Factor& a, const Factor& b, double* c) {
    const Index stride = padded<double>(b.columns());
    const Index size = padded<double>(a.columns()) * stride;
    const Index step = fold_rows(a.depth(), kDepth);
    const ScratchArray<double> total(size);
    fold_blocks(blocks_of(a.depth(), step), size, total.get(), [&](Index block, double* part) {
        const Index row = block * step;
        add_cross(a, b, row, std::min(step, a.depth() - row), part);
    });
    for (Index i = 0; i < a.columns(); ++i) {
        std::copy_n(total.get() + i * stride, b.columns(), c + i * b.columns());
    }
}

// ---------------------------------------------------------------- wide results: tiles

/// Rows that are packed together, and lie between two merges into the result.
constexpr Index kRowsAtOnce = 8 * kDepth;

/// Where a wide result grows. `low` and `sums` may be null.
struct Growing {
    double* c;
    Index stride;
    double* low;
    double* sums;
    double* sums_low;
};

void add_row(const double* __restrict from, double* __restrict total, Index count) noexcept {
    for (Index j = 0; j < count; ++j) {
        total[j] += from[j];
    }
}

template <class T>
void add_tile(const PackedRows<T>& a, const PackedRows<T>* b, Index i, Index j, const Growing& into) {
    const ScratchArray<double> buffer(kTile<T> * kTile<T>);
    double* tile = buffer.get();
    const Index height = a.panel(0, i).columns;
    const Index width = (b == nullptr ? a : *b).panel(0, j).columns;
    const bool diagonal = b == nullptr && i == j;
    std::fill_n(tile, padded<T>(height) * kTile<T>, 0.0);
    for (Index number = 0; number < a.panels(); ++number) {
        const Panel<T> left = a.panel(number, i);
        if (diagonal) {
            multiply_panels<T, true>(left, left, tile, kTile<T>);
        } else {
            multiply_panels<T, false>(left, (b == nullptr ? a : *b).panel(number, j), tile, kTile<T>);
        }
    }
    for (Index row = 0; row < height; ++row) {
        const Index skip = diagonal ? row : 0;
        const Index at = (i * kTile<T> + row) * into.stride + j * kTile<T> + skip;
        const double* from = tile + row * kTile<T> + skip;
        if (into.low != nullptr) {
            merge_row(from, into.c + at, into.low + at, width - skip);
        } else {
            add_row(from, into.c + at, width - skip);
        }
    }
}

void add_tile_sums(const PackedRows<double>& a, Index tile, const Growing& into) {
    alignas(kCacheLine) double sums[kTile<double>] = {};
    for (Index number = 0; number < a.panels(); ++number) {
        add_column_sums(a.panel(number, tile), a.scale(number), sums);
    }
    const Index at = tile * kTile<double>;
    merge_row(sums, into.sums + at, into.sums_low + at, a.panel(0, tile).columns);
}

template <class T>
void wide_product(const Factor& a, const Factor* b, const Growing& into) {
    PackedRows<T> left(a, std::min(a.depth(), kRowsAtOnce));
    std::unique_ptr<PackedRows<T>> right;
    if (b != nullptr) {
        right = std::make_unique<PackedRows<T>>(*b, std::min(a.depth(), kRowsAtOnce));
    }
    const Index high = blocks_of(a.columns(), kTile<T>);
    const Index wide = b == nullptr ? high : blocks_of(b->columns(), kTile<T>);
    for (Index row = 0; row < a.depth(); row += kRowsAtOnce) {
        left.fill(row);
        if (right) {
            right->fill(row);
        }
        parallel_for(high * wide, [&](Index block) {
            const Index i = block / wide;
            const Index j = block % wide;
            if (right || i <= j) {
                add_tile<T>(left, right.get(), i, j, into);
            }
            if constexpr (std::is_same_v<T, double>) {
                if (into.sums != nullptr && i == j) {
                    add_tile_sums(left, i, into);
                }
            }
        });
    }
}

void wide_moments(const Factor& a, double* c, double* sums) {
    const Index q = a.columns();
    std::vector<double> low(static_cast<std::size_t>(q * (q + 1)));
    double* sums_low = low.data() + q * q;
    std::fill_n(sums, q, 0.0);
    wide_product<double>(a, nullptr, {c, q, low.data(), sums, sums_low});
    parallel_for(q, [&](Index i) {
        for (Index j = i; j < q; ++j) {
            c[i * q + j] = joined(c[i * q + j], low[static_cast<std::size_t>(i * q + j)]);
        }
        sums[i] = joined(sums[i], sums_low[i]);
    });
}

/// Multiply-adds in a product; packing costs as much as a few columns.
double operations(const Factor& a, const Factor& b) noexcept {
    return static_cast<double>(a.depth()) * static_cast<double>(a.columns()) * static_cast<double>(b.columns() + 8);
}

}  // namespace

void mirror_upper(double* c, Index n) {
    const Index blocks = blocks_of(n, kMirrorBlock);
    parallel_for(blocks, [=](Index block) {
        const Index first = block * kMirrorBlock;
        const Index last = std::min(n, first + kMirrorBlock);
        for (Index column = 0; column < last; column += kMirrorBlock) {
            for (Index i = first; i < last; ++i) {
                const Index end = std::min(i, column + kMirrorBlock);
                for (Index j = column; j < end; ++j) {
                    c[i * n + j] = c[j * n + i];
                }
            }
        }
    });
}

void self_product(const Factor& a, double* c, double* sums) {
    const Effort effort(0.5 * operations(a, a));
    const Index q = a.columns();
    if (q <= kNarrow) {
        narrow_self<double>(a, c, sums);
        return;
    }
    std::fill_n(c, q * q, 0.0);
    if (sums == nullptr) {
        wide_product<double>(a, nullptr, {c, q, nullptr, nullptr, nullptr});
    } else {
        wide_moments(a, c, sums);
    }
    mirror_upper(c, q);
}

void self_product_fast(const Factor& a, double* c) {
    const Effort effort(0.5 * operations(a, a));
    const Index q = a.columns();
    if (q <= kNarrow) {
        narrow_self<float>(a, c, nullptr);
        return;
    }
    std::fill_n(c, q * q, 0.0);
    wide_product<float>(a, nullptr, {c, q, nullptr, nullptr, nullptr});
    mirror_upper(c, q);
}

void cross_product(const Factor& a, const Factor& b, double* c) {
    const Effort effort(operations(a, b));
    const Index m = a.columns();
    const Index n = b.columns();
    if (n <= kNarrow && m * n <= kNarrow * kNarrow) {
        narrow_cross(a, b, c);
        return;
    }
    std::fill_n(c, m * n, 0.0);
    wide_product<double>(a, &b, {c, n, nullptr, nullptr, nullptr});
}

}  // namespace qed
