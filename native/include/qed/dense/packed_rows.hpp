/// Rows of a factor, packed once and used by many blocks.
#pragma once

#include "qed/dense/panel.hpp"
#include "qed/machine/parallel.hpp"
#include "qed/machine/scratch.hpp"

namespace qed {

/// A tile of a result and the panels it is made of fit into 512 KiB of second-level cache.
template <class T>
inline constexpr Index kTileStrips = std::max<Index>(1, 144 / kStrip<T>);
template <class T>
inline constexpr Index kTile = kTileStrips<T> * kStrip<T>;

/// All strips of a factor for up to `capacity` rows: panel of kDepth rows after panel. Owns its copy.
template <class T>
class PackedRows {
  public:
    PackedRows(const Factor& from, Index capacity)
        : from_(from),
          strips_(strips_of<T>(from.columns())),
          capacity_(capacity),
          data_(strips_ * kStrip<T> * round_up(capacity, kDepth)) {}

    /// Packs rows from `row` on, as many as fit, on all threads.
    void fill(Index row) {
        row_ = row;
        count_ = std::min(capacity_, from_.depth() - row);
        const Index chunks = blocks_of(strips_, kTileStrips<T>);
        parallel_for(chunks * panels(), [&](Index block) {
            const Index number = block / chunks;
            const Index first = block % chunks * kTileStrips<T>;
            pack_strips(from_, row_ + number * kDepth, depth(number), first, std::min(strips_, first + kTileStrips<T>),
                        start(number) + first * kStrip<T> * depth(number));
        });
    }
    [[nodiscard]] Index panels() const noexcept { return blocks_of(count_, kDepth); }
    [[nodiscard]] Index depth(Index number) const noexcept { return std::min(kDepth, count_ - number * kDepth); }
    [[nodiscard]] Panel<T> panel(Index number) const noexcept {
        return {start(number), depth(number), from_.columns()};
    }
    /// The columns of tile `tile` in panel `number`.
    [[nodiscard]] Panel<T> panel(Index number, Index tile) const noexcept {
        return panel(number).part(tile * kTileStrips<T>, std::min(strips_, (tile + 1) * kTileStrips<T>));
    }
    [[nodiscard]] const double* scale(Index number) const noexcept {
        return from_.row_scale == nullptr ? nullptr : from_.row_scale + row_ + number * kDepth;
    }

  private:
    [[nodiscard]] T* start(Index number) const noexcept { return data_.get() + number * strips_ * kStrip<T> * kDepth; }

    Factor from_;
    Index strips_;
    Index capacity_;
    ScratchArray<T> data_;
    Index row_ = 0;
    Index count_ = 0;
};

/// out += rows [tile * kTile, ...) of x times the packed matrix; `x_transposed` is x with its axes exchanged. `out` is
/// row-major with padded rows and columns; `rows` counts the rows of the tile.
inline void multiply_rows(const Factor& x_transposed, Index tile, Index rows, const PackedRows<double>& right,
                          double* out, Index stride) {
    const Index first = tile * kTileStrips<double>;
    const ScratchArray<double> buffer(kTile<double> * kDepth);
    for (Index number = 0; number < right.panels(); ++number) {
        const Index depth = right.depth(number);
        const Panel<double> left{buffer.get(), depth, rows};
        pack_strips(x_transposed, number * kDepth, depth, first, first + left.strips(), buffer.get());
        multiply_panels<double, false>(left, right.panel(number), out, stride);
    }
}

}  // namespace qed
