#include "qed/dense/reflect.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "qed/dense/packed_rows.hpp"

namespace qed {
namespace {

constexpr Index kBlock = kDepth;             // rows swallowed at once: two strips of them fit into first-level cache
constexpr Index kMostShares = 64;            // enough for many threads
constexpr Index kShareBlocks = 16;           // fewer blocks are not worth a factor of their own
constexpr Index kFactorNumbers = 1 << 23;    // in all factors together
constexpr double kWaveOperations = 1 << 26;  // of one share between two looks for an interrupt
constexpr double kFaint = 1e-290;            // squares below this are rounding of the range, not of the numbers
constexpr Index kWide = kStrip<double>;

// ---------------------------------------------------------------- where numbers lie

/// Some rows of the matrix, strip after strip, filled up with zeros to whole groups of kRows.
struct Block {
    double* data;
    Index depth;
    [[nodiscard]] double* strip(Index number) const noexcept { return data + number * kWide * kBlock; }
};

/// A triangular factor as strips; strip number s ends with the last row that its columns reach.
struct Upper {
    double* data;
    Index columns;

    [[nodiscard]] static Index size(Index columns) noexcept {
        const Index strips = strips_of<double>(columns);
        return kWide * kWide * strips * (strips + 1) / 2;
    }
    [[nodiscard]] Index strips() const noexcept { return strips_of<double>(columns); }
    [[nodiscard]] Index width(Index strip) const noexcept { return strip_width<double>(columns, strip); }
    [[nodiscard]] double* strip(Index number) const noexcept {
        return data + kWide * kWide * number * (number + 1) / 2;
    }
    /// Rows of the factor that belong to panel `panel`, within strip `number`.
    [[nodiscard]] double* rows(Index panel, Index number) const noexcept {
        return strip(number) + panel * kWide * width(number);
    }
};

/// The reflections of one panel, together: I - U T Uᵀ. Column j of U holds top[j] in row j of the factor and, below,
/// what the block holds in column j of the panel. Columns are not scaled: T takes up their lengths.
struct Reflections {
    alignas(kCacheLine) double top[kWide];
    alignas(kCacheLine) double T[kWide * kWide];  // row-major, upper triangular
};

// ---------------------------------------------------------------- one panel

/// dots = column `column` times all columns of a strip.
template <int V>
struct Dots {
    Vector<double> even[V] = {};
    Vector<double> odd[V] = {};

    [[gnu::always_inline]] void add(const double* row, double value, Vector<double> (&to)[V]) noexcept {
#pragma GCC unroll 3
        for (int i = 0; i < V; ++i) {
            to[i] += load(row + i * kLanes<double>) * value;
        }
    }
    void write(double* dots) const noexcept {
        for (int i = 0; i < V; ++i) {
            store(dots + i * kLanes<double>, even[i] + odd[i]);
        }
    }
};

template <int V>
void first_dots(const double* a, Index depth, double* dots) noexcept {
    constexpr Index width = V * kLanes<double>;
    Dots<V> sums;
    for (Index k = 0; k < depth; k += 2) {
        const double* row = a + k * width;
        sums.add(row, row[0], sums.even);
        sums.add(row + width, row[width], sums.odd);
    }
    sums.write(dots);
}

/// Clears reflection j from the strip (a -= a_j stepᵀ) and takes the products of column j + 1, in one look at each row.
/// They are taken of what was stored, so that a reflection fits the column it belongs to, to the last bit.
template <int V>
void sweep(double* a, Index depth, Index j, const double* step, double* dots) noexcept {
    constexpr Index width = V * kLanes<double>;
    Vector<double> pull[V];
    for (int i = 0; i < V; ++i) {
        pull[i] = load(step + i * kLanes<double>);
    }
    const auto clear = [&](double* row) {
        const double value = row[j];
#pragma GCC unroll 3
        for (int i = 0; i < V; ++i) {
            store(row + i * kLanes<double>, load(row + i * kLanes<double>) - pull[i] * value);
        }
    };
    Dots<V> sums;
    for (Index k = 0; k < depth; k += 2) {
        double* row = a + k * width;
        clear(row);
        clear(row + width);
        sums.add(row, row[j + 1], sums.even);
        sums.add(row + width, row[width + j + 1], sums.odd);
    }
    sums.write(dots);
}

/// Reflects the columns of one strip of a block onto the corner of the factor above it.
template <int V>
void reflect_panel(double* a, Index depth, Index columns, double* corner, Reflections& out) noexcept {
    constexpr Index width = V * kLanes<double>;
    alignas(kCacheLine) double dots[width];
    first_dots<V>(a, depth, dots);
    for (Index j = 0; j < columns; ++j) {
        alignas(kCacheLine) double step[width] = {};
        double* row = corner + j * width;
        const double squares = row[j] * row[j] + dots[j];
        double* T = out.T + j;
        for (Index c = 0; c <= j; ++c) {
            T[c * kWide] = 0.0;
        }
        out.top[j] = 0.0;
        if (squares >= kFaint && dots[j] > 0.0) {
            const double length = row[j] > 0.0 ? -std::sqrt(squares) : std::sqrt(squares);
            const double top = row[j] - length;
            const double factor = -1.0 / (length * top);
            out.top[j] = top;
            row[j] = length;
            for (Index c = j + 1; c < width; ++c) {
                step[c] = factor * (top * row[c] + dots[c]);
                row[c] -= top * step[c];
            }
            for (Index c = 0; c < j; ++c) {
                double total = 0.0;
                for (Index e = c; e < j; ++e) {
                    total += out.T[c * kWide + e] * dots[e];
                }
                T[c * kWide] = -factor * total;
            }
            T[j * kWide] = factor;
        }
        if (j + 1 < columns) {
            sweep<V>(a, depth, j, step, dots);
        }
    }
}

// ---------------------------------------------------------------- the strips to the right of a panel

/// a -= v w for `depth` rows of strip a; v is a full strip.
template <int V>
void subtract_product(const double* v, const double* w, double* a, Index depth) noexcept {
    constexpr Index width = V * kLanes<double>;
    for (Index k = 0; k < depth; k += kRows) {
        Vector<double> rows[kRows][V];
        double* at = a + k * width;
        const double* left = v + k * kWide;
#pragma GCC unroll 8
        for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 3
            for (int i = 0; i < V; ++i) {
                rows[r][i] = load(at + r * width + i * kLanes<double>);
            }
        }
        for (Index j = 0; j < kWide; ++j) {
            Vector<double> right[V];
#pragma GCC unroll 3
            for (int i = 0; i < V; ++i) {
                right[i] = load(w + j * width + i * kLanes<double>);
            }
#pragma GCC unroll 8
            for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 3
                for (int i = 0; i < V; ++i) {
                    rows[r][i] -= right[i] * left[r * kWide + j];
                }
            }
        }
#pragma GCC unroll 8
        for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 3
            for (int i = 0; i < V; ++i) {
                store(at + r * width + i * kLanes<double>, rows[r][i]);
            }
        }
    }
}

/// Applies the reflections of panel v to another strip `a` of the block and to `rows` of the factor.
template <int V>
void apply(const Reflections& by, const double* v, double* a, Index depth, double* rows) noexcept {
    constexpr Index width = V * kLanes<double>;
    alignas(kCacheLine) double w[kWide * width];
    for (Index j = 0; j < kWide; ++j) {
        for (Index c = 0; c < width; ++c) {
            w[j * width + c] = by.top[j] * rows[j * width + c];
        }
    }
    multiply_strips<double, false, false>(depth, v, kWide, a, width, w, width);
    for (Index j = kWide - 1; j >= 0; --j) {  // w = Tᵀ w, from below: what is still needed lies above
        Vector<double> total[V] = {};
        for (Index c = 0; c <= j; ++c) {
#pragma GCC unroll 3
            for (int i = 0; i < V; ++i) {
                total[i] += load(w + c * width + i * kLanes<double>) * by.T[c * kWide + j];
            }
        }
#pragma GCC unroll 3
        for (int i = 0; i < V; ++i) {
            const Index at = j * width + i * kLanes<double>;
            store(w + at, total[i]);
            store(rows + at, load(rows + at) - total[i] * by.top[j]);
        }
    }
    subtract_product<V>(v, w, a, depth);
}

/// Calls work with the number of vectors in a row of a strip, as a constant.
template <class Work>
void with_vectors(Index width, Work&& work) {
    if (width == 3 * kLanes<double>) {
        work(std::integral_constant<int, 3>{});
    } else if (width == 2 * kLanes<double>) {
        work(std::integral_constant<int, 2>{});
    } else {
        work(std::integral_constant<int, 1>{});
    }
}

/// upper = triangular factor of upper and, below it, the block, which is used up. Strips before `first` are zero.
void swallow(const Upper& upper, const Block& block, Index first) {
    Reflections reflections;
    const Index strips = upper.strips();
    for (Index panel = first; panel < strips; ++panel) {
        const Index columns = std::min(kWide, upper.columns - panel * kWide);
        with_vectors(upper.width(panel), [&](auto vectors) {
            reflect_panel<vectors>(block.strip(panel), block.depth, columns, upper.rows(panel, panel), reflections);
        });
        // On the spot when shares run side by side, on all threads when there is one share.
        parallel_for(strips - panel - 1, [&](Index number) {
            const Index strip = panel + 1 + number;
            with_vectors(upper.width(strip), [&](auto vectors) {
                apply<vectors>(reflections, block.strip(panel), block.strip(strip), block.depth,
                               upper.rows(panel, strip));
            });
        });
    }
}

// ---------------------------------------------------------------- shares of rows

/// Packs rows [row, row + count) and scales their columns.
Block load_block(const Factor& z, const double* scale, Index row, Index count, double* to) {
    const Block block{to, round_up(count, kRows)};
    parallel_for(strips_of<double>(z.columns()), [&](Index strip) {
        const Index width = strip_width<double>(z.columns(), strip);
        double* at = block.strip(strip);
        pack_strip(z, row, count, strip, at);
        std::fill_n(at + count * width, (block.depth - count) * width, 0.0);
        for (Index k = 0; k < count; ++k) {
            for (Index c = 0; c < width; ++c) {
                at[k * width + c] *= scale[strip * kWide + c];
            }
        }
    });
    return block;
}

/// Rows [row, row + count) of a factor as a block.
Block rows_of(const Upper& from, Index row, Index count, double* to) {
    const Block block{to, round_up(count, kRows)};
    for (Index strip = row / kWide; strip < from.strips(); ++strip) {
        const Index width = from.width(strip);
        const Index filled = std::clamp<Index>((strip + 1) * kWide - row, 0, count);
        std::copy_n(from.strip(strip) + row * width, filled * width, block.strip(strip));
        std::fill_n(block.strip(strip) + filled * width, (block.depth - filled) * width, 0.0);
    }
    return block;
}

/// The factors of all shares, and the rows they are made of.
class Shares {
  public:
    Shares(const Factor& z, const double* scale)
        : z_(z),
          scale_(scale),
          size_(Upper::size(z.columns())),
          rows_(round_up(std::max(blocks_of(z.depth(), most(size_)), kShareBlocks * kBlock), kBlock)),
          count_(std::max<Index>(1, blocks_of(z.depth(), rows_))),
          factors_(static_cast<std::size_t>(count_ * size_)) {}

    Upper reduce() {
        const auto wide = static_cast<double>(z_.columns());
        const auto blocks = static_cast<Index>(kWaveOperations / (wide * wide * static_cast<double>(kBlock)));
        const Index wave = std::max<Index>(1, blocks) * kBlock;
        for (Index done = 0; done < rows_; done += wave) {
            each(count_, [&](Index share) { advance(share, done, std::min(done + wave, rows_)); });
        }
        for (Index apart = 1; apart < count_; apart *= 2) {
            each(blocks_of(count_ - apart, 2 * apart), [&](Index pair) { merge(pair * 2 * apart, apart); });
        }
        return factor(0);
    }

  private:
    /// A single share stays outside of a parallel region, so that its strips may be spread over threads.
    template <class Work>
    static void each(Index count, Work&& work) {
        if (count == 1) {
            work(Index{0});
        } else {
            parallel_for(count, work);
        }
    }
    static Index most(Index size) noexcept {
        return std::clamp<Index>(kFactorNumbers / std::max<Index>(size, 1), 1, kMostShares);
    }
    [[nodiscard]] Upper factor(Index share) noexcept { return {factors_.data() + share * size_, z_.columns()}; }
    [[nodiscard]] Index block_size() const noexcept { return strips_of<double>(z_.columns()) * kWide * kBlock; }

    /// Swallows rows [first, last) of a share, counted from its own first.
    void advance(Index share, Index first, Index last) {
        const ScratchArray<double> room(block_size());
        const Index begin = share * rows_;
        const Index end = std::min(begin + last, z_.depth());
        for (Index row = begin + first; row < end; row += kBlock) {
            swallow(factor(share), load_block(z_, scale_, row, std::min(kBlock, end - row), room.get()), 0);
        }
    }

    void merge(Index into, Index apart) {
        const ScratchArray<double> room(block_size());
        for (Index row = 0; row < z_.columns(); row += kBlock) {
            const Index count = std::min(kBlock, z_.columns() - row);
            swallow(factor(into), rows_of(factor(into + apart), row, count, room.get()), row / kWide);
        }
    }

    const Factor& z_;
    const double* scale_;
    Index size_;
    Index rows_;
    Index count_;
    std::vector<double> factors_;
};

void write(const Upper& upper, double* r) {
    const Index q = upper.columns;
    for (Index i = 0; i < q; ++i) {
        std::fill_n(r + i * q, i, 0.0);
        for (Index c = i; c < q; ++c) {
            const Index strip = c / kWide;
            r[i * q + c] = upper.strip(strip)[i * upper.width(strip) + c % kWide];
        }
    }
}

}  // namespace

void triangle(const Matrix& x, const Matrix& y, const TriangleOptions& options, double* r) {
    const Index n = x.rows;
    const Index q = x.columns + y.columns;
    const Index first = options.ones ? 1 : 0;
    const auto columns = static_cast<std::size_t>(padded<double>(q + first));
    std::vector<double> shift(columns, 0.0);
    std::vector<double> scale(columns, 1.0);
    if (options.shift != nullptr) {
        std::copy_n(options.shift, q, shift.begin() + first);
    }
    if (options.scale != nullptr) {
        std::copy_n(options.scale, q, scale.begin() + first);
    }
    const double one = 1.0;
    Factor z{.parts = {Matrix{&one, Kind::float64, n, first, 0, 0}, x, y}, .column_shift = shift.data()};
    std::vector<double> roots;
    if (options.s != nullptr) {
        roots.resize(static_cast<std::size_t>(n));
        std::transform(options.s, options.s + n, roots.begin(), [](double weight) { return std::sqrt(weight); });
        z.row_scale = roots.data();
    }
    const Effort effort(static_cast<double>(n) * static_cast<double>(z.columns()) * static_cast<double>(z.columns()));
    Shares shares(z, scale.data());
    write(shares.reduce(), r);
}

}  // namespace qed
