#include "qed/product.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "qed/panel.hpp"
#include "qed/parallel.hpp"
#include "qed/scratch.hpp"

namespace qed {
namespace {

constexpr Index kMirrorBlock = 64;

/// Copies the upper triangle of an n × n matrix onto the lower one.
void mirror(double* c, Index n) {
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

void merge_row(const double* __restrict from, double* __restrict total, double* __restrict low, Index count) noexcept {
    for (Index j = 0; j < count; ++j) {
        add_compensated(total[j], low[j], from[j]);
    }
}

void add_row(const double* __restrict from, double* __restrict total, Index count) noexcept {
    for (Index j = 0; j < count; ++j) {
        total[j] += from[j];
    }
}

// ---------------------------------------------------------------- narrow results: superblocks of rows

/// Rows of a superblock: enough blocks to keep many threads busy, at most 64 panels so that rounding stays bounded.
Index superblock_rows(Index depth) noexcept {
    return std::clamp(round_up(blocks_of(depth, 64), kDepth), 4 * kDepth, 64 * kDepth);
}

/// The accumulator of one superblock: padded rows of c, and one more row for the sums.
template <class T>
class Narrow {
  public:
    Narrow(const Factor& a, const Factor* b, bool with_sums)
        : a_(a), b_(b), with_sums_(with_sums), rows_(padded<T>(a.columns())), stride_(padded<T>(right().columns())) {}

    void run(double* c, double* sums) {
        const Index step = superblock_rows(a_.depth());
        const Index count = blocks_of(a_.depth(), step);
        const Index size = (rows_ + 1) * stride_;
        const Index at_once = std::min(count, std::clamp<Index>((Index{1} << 22) / size, 8, 256));
        std::vector<double> total(static_cast<std::size_t>(size)), low(static_cast<std::size_t>(size));
        ScratchArray<double> parts(at_once * size);
        for (Index first = 0; first < count; first += at_once) {
            const Index now = std::min(at_once, count - first);
            parallel_for(now, [&](Index block) {
                const Index row = (first + block) * step;
                add_rows(row, std::min(step, a_.depth() - row), parts.get() + block * size);
            });
            parallel_for(blocks_of(rows_ + 1, 8), [&](Index chunk) {
                for (Index block = 0; block < now; ++block) {
                    const Index at = chunk * 8 * stride_;
                    const Index length = std::min<Index>(8, rows_ + 1 - chunk * 8) * stride_;
                    merge_row(parts.get() + block * size + at, total.data() + at, low.data() + at, length);
                }
            });
        }
        finish(total.data(), low.data(), c, sums);
    }

  private:
    [[nodiscard]] const Factor& right() const noexcept { return b_ == nullptr ? a_ : *b_; }

    void add_rows(Index row, Index count, double* into) const {
        std::fill_n(into, (rows_ + 1) * stride_, 0.0);
        const Index a_size = strips_of<T>(a_.columns()) * kStrip<T> * kDepth;
        const Index b_size = b_ == nullptr ? 0 : strips_of<T>(b_->columns()) * kStrip<T> * kDepth;
        ScratchArray<T> packed(a_size + b_size);
        for (Index k = 0; k < count; k += kDepth) {
            const Index depth = std::min(kDepth, count - k);
            const Panel<T> left{packed.get(), depth, a_.columns()};
            pack_strips(a_, row + k, depth, 0, left.strips(), packed.get());
            if (b_ != nullptr) {
                const Panel<T> right_panel{packed.get() + a_size, depth, b_->columns()};
                pack_strips(*b_, row + k, depth, 0, right_panel.strips(), packed.get() + a_size);
                multiply_panels<T, false>(left, right_panel, into, stride_);
                continue;
            }
            multiply_panels<T, true>(left, left, into, stride_);
            if constexpr (std::is_same_v<T, double>) {
                if (with_sums_) {
                    add_column_sums(left, a_.row_scale == nullptr ? nullptr : a_.row_scale + row + k,
                                    into + rows_ * stride_);
                }
            }
        }
    }

    void finish(const double* total, const double* low, double* c, double* sums) const {
        const Index m = a_.columns();
        const Index n = right().columns();
        for (Index i = 0; i < m; ++i) {
            for (Index j = b_ == nullptr ? i : 0; j < n; ++j) {
                c[i * n + j] = joined(total[i * stride_ + j], low[i * stride_ + j]);
            }
        }
        if (b_ == nullptr) {
            mirror(c, n);
        }
        if (with_sums_) {
            for (Index j = 0; j < n; ++j) {
                sums[j] = joined(total[rows_ * stride_ + j], low[rows_ * stride_ + j]);
            }
        }
    }

    const Factor& a_;
    const Factor* b_;
    bool with_sums_;
    Index rows_;
    Index stride_;
};

// ---------------------------------------------------------------- wide results: tiles

/// Panels that are packed together, and the rows between two merges into the result.
constexpr Index kPanelsAtOnce = 8;
constexpr Index kRowsAtOnce = kPanelsAtOnce * kDepth;

/// A tile of the result and the panels it is made of fit into 512 KiB of second-level cache.
template <class T>
constexpr Index kTileStrips = std::max<Index>(1, 144 / kStrip<T>);
template <class T>
constexpr Index kTile = kTileStrips<T> * kStrip<T>;

/// All strips of a factor for kRowsAtOnce rows: panel after panel.
template <class T>
class PackedRows {
  public:
    explicit PackedRows(const Factor& from)
        : from_(from), strips_(strips_of<T>(from.columns())), data_(strips_ * kStrip<T> * kRowsAtOnce) {}

    void fill(Index row) {
        row_ = row;
        count_ = std::min(kRowsAtOnce, from_.depth() - row);
        const Index chunks = blocks_of(strips_, kTileStrips<T>);
        parallel_for(chunks * panels(), [&](Index block) {
            const Index number = block / chunks;
            const Index first = block % chunks * kTileStrips<T>;
            const Index depth = std::min(kDepth, count_ - number * kDepth);
            pack_strips(from_, row_ + number * kDepth, depth, first, std::min(strips_, first + kTileStrips<T>),
                        start(number) + first * kStrip<T> * depth);
        });
    }
    [[nodiscard]] Index panels() const noexcept { return blocks_of(count_, kDepth); }
    /// The columns of tile `tile` in panel `number`.
    [[nodiscard]] Panel<T> panel(Index number, Index tile) const noexcept {
        const Panel<T> whole{start(number), std::min(kDepth, count_ - number * kDepth), from_.columns()};
        return whole.part(tile * kTileStrips<T>, std::min(strips_, (tile + 1) * kTileStrips<T>));
    }
    [[nodiscard]] const double* scale(Index number) const noexcept {
        return from_.row_scale == nullptr ? nullptr : from_.row_scale + row_ + number * kDepth;
    }

  private:
    [[nodiscard]] T* start(Index number) const noexcept { return data_.get() + number * strips_ * kStrip<T> * kDepth; }

    const Factor& from_;
    Index strips_;
    ScratchArray<T> data_;
    Index row_ = 0;
    Index count_ = 0;
};

/// Where a wide result grows. `low` and `sums` may be null.
struct Growing {
    double* c;
    Index stride;
    double* low;
    double* sums;
    double* sums_low;
};

template <class T>
void add_tile(const PackedRows<T>& a, const PackedRows<T>* b, Index i, Index j, const Growing& into) {
    const ScratchArray<double> buffer(kTile<T> * kTile<T>);
    double* tile = buffer.get();
    const Index height = a.panel(0, i).columns;
    const Index width = (b == nullptr ? a : *b).panel(0, j).columns;
    std::fill_n(tile, padded<T>(height) * kTile<T>, 0.0);
    for (Index number = 0; number < a.panels(); ++number) {
        if (b != nullptr) {
            multiply_panels<T, false>(a.panel(number, i), b->panel(number, j), tile, kTile<T>);
        } else if (i == j) {
            multiply_panels<T, true>(a.panel(number, i), a.panel(number, i), tile, kTile<T>);
        } else {
            multiply_panels<T, false>(a.panel(number, i), a.panel(number, j), tile, kTile<T>);
        }
    }
    for (Index row = 0; row < height; ++row) {
        const Index skip = b == nullptr && i == j ? row : 0;
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
    PackedRows<T> left(a);
    std::unique_ptr<PackedRows<T>> right;
    if (b != nullptr) {
        right = std::make_unique<PackedRows<T>>(*b);
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

}  // namespace

void self_product(const Factor& a, double* c, double* sums) {
    const Index q = a.columns();
    if (q == 0) {
        return;
    }
    if (q <= kNarrow) {
        Narrow<double>(a, nullptr, sums != nullptr).run(c, sums);
        return;
    }
    std::fill_n(c, q * q, 0.0);
    std::vector<double> low(static_cast<std::size_t>(sums == nullptr ? 0 : q * (q + 1)));
    if (sums == nullptr) {
        wide_product<double>(a, nullptr, {c, q, nullptr, nullptr, nullptr});
    } else {
        std::fill_n(sums, q, 0.0);
        wide_product<double>(a, nullptr, {c, q, low.data(), sums, low.data() + q * q});
        parallel_for(q, [&](Index i) {
            for (Index j = i; j < q; ++j) {
                c[i * q + j] = joined(c[i * q + j], low[static_cast<std::size_t>(i * q + j)]);
            }
            sums[i] = joined(sums[i], low[static_cast<std::size_t>(q * q + i)]);
        });
    }
    mirror(c, q);
}

void self_product_fast(const Factor& a, double* c) {
    const Index q = a.columns();
    if (q == 0) {
        return;
    }
    if (q <= kNarrow) {
        Narrow<float>(a, nullptr, false).run(c, nullptr);
        return;
    }
    std::fill_n(c, q * q, 0.0);
    wide_product<float>(a, nullptr, {c, q, nullptr, nullptr, nullptr});
    mirror(c, q);
}

void cross_product(const Factor& a, const Factor& b, double* c) {
    const Index m = a.columns();
    const Index n = b.columns();
    if (m == 0 || n == 0) {
        return;
    }
    if (m <= kNarrow && n <= kNarrow) {
        Narrow<double>(a, &b, false).run(c, nullptr);
        return;
    }
    std::fill_n(c, m * n, 0.0);
    wide_product<double>(a, &b, {c, n, nullptr, nullptr, nullptr});
}

}  // namespace qed
