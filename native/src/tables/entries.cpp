#include "qed/tables/entries.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "qed/machine/parallel.hpp"

namespace qed {
namespace {

constexpr Index kStripColumns = 256;
constexpr Index kBlockEntries = Index{1} << 15;  // of doubles, a share of the second-level cache
constexpr Index kBlocksPerTask = 16;
constexpr Index kLanesOfLine = 16;

/// Running statistics of up to kStripColumns columns.
struct Strip {
    alignas(64) double count[kStripColumns];
    alignas(64) double weight[kStripColumns];
    alignas(64) double mean[kStripColumns];
    alignas(64) double scatter[kStripColumns];
    alignas(64) double low[kStripColumns];
    alignas(64) double high[kStripColumns];

    void clear(Index width) noexcept {
        for (Index j = 0; j < width; ++j) {
            count[j] = weight[j] = mean[j] = scatter[j] = 0.0;
            low[j] = std::numeric_limits<double>::infinity();
            high[j] = -std::numeric_limits<double>::infinity();
        }
    }
};

/// Chan's merge, column by column.
void merge(Strip& total, const Strip& more, Index width) noexcept {
    for (Index j = 0; j < width; ++j) {
        total.count[j] += more.count[j];
        total.low[j] = std::min(total.low[j], more.low[j]);
        total.high[j] = std::max(total.high[j], more.high[j]);
        if (more.weight[j] > 0.0) {
            const double weight = total.weight[j] + more.weight[j];
            const double step = more.mean[j] - total.mean[j];
            const double pull = more.weight[j] / weight;
            total.scatter[j] += more.scatter[j] + step * step * (total.weight[j] * pull);
            total.mean[j] = total.weight[j] > 0.0 ? total.mean[j] + step * pull : more.mean[j];
            total.weight[j] = weight;
        }
    }
}

/// First reading of a block by rows: sums, counts and extremes. False if something was missing and Masked is false.
template <class T, bool Masked, bool Weighted>
bool sums_by_rows(const T* x, Index stride, Index rows, Index width, const double* s, Strip& out) noexcept {
    out.clear(width);
    for (Index i = 0; i < rows; ++i) {
        const T* row = x + i * stride;
        const double w = Weighted ? s[i] : 1.0;
        for (Index j = 0; j < width; ++j) {
            const double value = static_cast<double>(row[j]);
            if constexpr (Masked) {
                const bool here = value == value;
                out.count[j] += here ? 1.0 : 0.0;
                out.weight[j] += here ? w : 0.0;
                out.mean[j] += here ? w * value : 0.0;
            } else {
                out.mean[j] += Weighted ? w * value : value;
            }
            out.low[j] = value < out.low[j] ? value : out.low[j];
            out.high[j] = value > out.high[j] ? value : out.high[j];
        }
    }
    if constexpr (!Masked) {
        double weight = static_cast<double>(rows);
        if constexpr (Weighted) {
            weight = 0.0;
            for (Index i = 0; i < rows; ++i) {
                weight += s[i];
            }
        }
        double all = 0.0;
        for (Index j = 0; j < width; ++j) {
            all += out.mean[j] * 0.0;  // NaN, if one of the sums is not finite
            out.count[j] = static_cast<double>(rows);
            out.weight[j] = weight;
        }
        return all == 0.0;
    }
    return true;
}

/// Second reading: squared deviations from the block's mean, and what the deviations sum up to, which corrects both.
template <class T, bool Masked, bool Weighted>
void squares_by_rows(const T* x, Index stride, Index rows, Index width, const double* s, Strip& out) noexcept {
    alignas(64) double rest[kStripColumns] = {};
    for (Index j = 0; j < width; ++j) {
        out.mean[j] = out.weight[j] > 0.0 ? out.mean[j] / out.weight[j] : 0.0;
    }
    for (Index i = 0; i < rows; ++i) {
        const T* row = x + i * stride;
        const double w = Weighted ? s[i] : 1.0;
        for (Index j = 0; j < width; ++j) {
            double step = static_cast<double>(row[j]) - out.mean[j];
            if constexpr (Masked) {
                step = step == step ? step : 0.0;
            }
            rest[j] += Weighted ? w * step : step;
            out.scatter[j] += Weighted ? w * step * step : step * step;
        }
    }
    for (Index j = 0; j < width; ++j) {
        if (out.weight[j] > 0.0) {
            const double correction = rest[j] / out.weight[j];
            out.mean[j] += correction;
            out.scatter[j] = std::max(0.0, out.scatter[j] - correction * rest[j]);
        }
    }
}

/// The same for one column whose entries follow each other at `stride`: lanes take turns.
template <class T, bool Unit>
void look_line(const T* x, Index stride, Index rows, const double* s, Strip& out, Index j) noexcept {
    constexpr Index L = kLanesOfLine;
    alignas(64) double count[L] = {};
    alignas(64) double weight[L] = {};
    alignas(64) double sum[L] = {};
    alignas(64) double low[L];
    alignas(64) double high[L];
    for (Index l = 0; l < L; ++l) {
        low[l] = std::numeric_limits<double>::infinity();
        high[l] = -low[l];
    }
    const auto value_at = [&](Index i) { return static_cast<double>(Unit ? x[i] : x[i * stride]); };
    const auto first = [&](Index i, Index l) {
        const double value = value_at(i);
        const double w = s != nullptr ? s[i] : 1.0;
        const bool here = value == value;
        count[l] += here ? 1.0 : 0.0;
        weight[l] += here ? w : 0.0;
        sum[l] += here ? w * value : 0.0;
        low[l] = value < low[l] ? value : low[l];
        high[l] = value > high[l] ? value : high[l];
    };
    Index i = 0;
    for (; i + L <= rows; i += L) {
        for (Index l = 0; l < L; ++l) {
            first(i + l, l);
        }
    }
    for (Index l = 0; i < rows; ++i, ++l) {
        first(i, l);
    }
    out.count[j] = out.weight[j] = 0.0;
    double total = 0.0;
    out.low[j] = low[0];
    out.high[j] = high[0];
    for (Index l = 0; l < L; ++l) {
        out.count[j] += count[l];
        out.weight[j] += weight[l];
        total += sum[l];
        out.low[j] = std::min(out.low[j], low[l]);
        out.high[j] = std::max(out.high[j], high[l]);
    }
    const double mean = out.weight[j] > 0.0 ? total / out.weight[j] : 0.0;
    alignas(64) double rest[L] = {};
    alignas(64) double squares[L] = {};
    const auto second = [&](Index k, Index l) {
        double step = value_at(k) - mean;
        step = step == step ? step : 0.0;
        const double w = s != nullptr ? s[k] : 1.0;
        rest[l] += w * step;
        squares[l] += w * step * step;
    };
    i = 0;
    for (; i + L <= rows; i += L) {
        for (Index l = 0; l < L; ++l) {
            second(i + l, l);
        }
    }
    for (Index l = 0; i < rows; ++i, ++l) {
        second(i, l);
    }
    double off = 0.0;
    double scatter = 0.0;
    for (Index l = 0; l < L; ++l) {
        off += rest[l];
        scatter += squares[l];
    }
    const double correction = out.weight[j] > 0.0 ? off / out.weight[j] : 0.0;
    out.mean[j] = mean + correction;
    out.scatter[j] = std::max(0.0, scatter - correction * off);
}

template <class T>
void look_block(const Matrix& x, Index row, Index rows, Index column, Index width, const double* s,
                Strip& out) noexcept {
    const T* from = x.at<T>(row, column);
    const double* weights = s == nullptr ? nullptr : s + row;
    if (x.column_stride == 1 && width > 1) {
        const Index stride = x.row_stride;
        if (weights == nullptr) {
            if (sums_by_rows<T, false, false>(from, stride, rows, width, weights, out)) {
                squares_by_rows<T, false, false>(from, stride, rows, width, weights, out);
            } else {
                sums_by_rows<T, true, false>(from, stride, rows, width, weights, out);
                squares_by_rows<T, true, false>(from, stride, rows, width, weights, out);
            }
        } else {
            sums_by_rows<T, true, true>(from, stride, rows, width, weights, out);
            squares_by_rows<T, true, true>(from, stride, rows, width, weights, out);
        }
        return;
    }
    for (Index j = 0; j < width; ++j) {
        const T* line = from + j * x.column_stride;
        if (x.row_stride == 1) {
            look_line<T, true>(line, 1, rows, weights, out, j);
        } else {
            look_line<T, false>(line, x.row_stride, rows, weights, out, j);
        }
    }
}

template <class T>
T moved(T value, double first, double second, const Move& move) noexcept {
    const double x = static_cast<double>(value);
    double y = move.divides ? (x - first) / second : x * second + first;
    if (move.clips) {
        y = y < move.low ? move.low : (y > move.high ? move.high : y);
    }
    return static_cast<T>(y);
}

/// A line along which the columns change; -1 as the stride of the parameters' column means that they do not.
template <class T, bool Divides, bool Clips>
void move_row(const T* x, Index stride, T* out, Index out_stride, Index count, const double* first,
              const double* second, double low, double high) noexcept {
    const auto one = [&](T value, Index j) {
        const double v = static_cast<double>(value);
        double y = Divides ? (v - first[j]) / second[j] : v * second[j] + first[j];
        if constexpr (Clips) {
            y = y < low ? low : (y > high ? high : y);
        }
        return static_cast<T>(y);
    };
    if (stride == 1 && out_stride == 1) {
        for (Index j = 0; j < count; ++j) {
            out[j] = one(x[j], j);
        }
    } else {
        for (Index j = 0; j < count; ++j) {
            out[j * out_stride] = one(x[j * stride], j);
        }
    }
}

template <class T>
void move_rows(const Matrix& x, const Move& move, const Target& out, Index from, Index to) noexcept {
    for (Index i = from; i < to; ++i) {
        const auto call = [&]<bool Divides, bool Clips>() {
            move_row<T, Divides, Clips>(x.at<T>(i, 0), x.column_stride, out.at<T>(i, 0), out.column_stride, x.columns,
                                        move.first, move.second, move.low, move.high);
        };
        if (move.divides) {
            move.clips ? call.template operator()<true, true>() : call.template operator()<true, false>();
        } else {
            move.clips ? call.template operator()<false, true>() : call.template operator()<false, false>();
        }
    }
}

template <class T>
void move_line(const Matrix& x, const Move& move, const Target& out, Index j, Index from, Index to) noexcept {
    const double first = move.first[j];
    const double second = move.second[j];
    const T* source = x.at<T>(0, j);
    T* target = out.at<T>(0, j);
    if (x.row_stride == 1 && out.row_stride == 1) {
        for (Index i = from; i < to; ++i) {
            target[i] = moved(source[i], first, second, move);
        }
    } else {
        for (Index i = from; i < to; ++i) {
            target[i * out.row_stride] = moved(source[i * x.row_stride], first, second, move);
        }
    }
}

}  // namespace

Index look_columns(const Matrix& x, const double* s, double* out) {
    const Index strips = std::max<Index>(1, blocks_of(x.columns, kStripColumns));
    const Index width_of_all = std::min(x.columns, kStripColumns);
    const Index rows_at_once = std::max<Index>(128, kBlockEntries / std::max<Index>(1, width_of_all));
    const Index blocks = blocks_of(x.rows, rows_at_once);
    const Index tasks = blocks_of(blocks, kBlocksPerTask);
    const Effort effort(4.0 * static_cast<double>(x.rows) * static_cast<double>(x.columns));
    std::vector<Strip> parts(static_cast<std::size_t>(std::max<Index>(1, tasks * strips)));
    parallel_for(tasks * strips, [&](Index at) {
        const Index strip = at % strips;
        const Index column = strip * kStripColumns;
        const Index width = std::min(kStripColumns, x.columns - column);
        Strip& total = parts[static_cast<std::size_t>(at)];
        total.clear(width);
        const auto block = std::make_unique<Strip>();
        const Index last = std::min(blocks, (at / strips + 1) * kBlocksPerTask);
        for (Index b = at / strips * kBlocksPerTask; b < last; ++b) {
            const Index row = b * rows_at_once;
            const Index rows = std::min(rows_at_once, x.rows - row);
            with_type(x.kind, [&](auto type) {
                using T = std::remove_cv_t<std::remove_pointer_t<decltype(type)>>;
                look_block<T>(x, row, rows, column, width, s, *block);
            });
            merge(total, *block, width);
        }
    });
    for (Index strip = 0; strip < strips; ++strip) {
        const Index column = strip * kStripColumns;
        const Index width = std::min(kStripColumns, x.columns - column);
        const auto total = std::make_unique<Strip>();
        total->clear(width);
        for (Index task = 0; task < tasks; ++task) {
            merge(*total, parts[static_cast<std::size_t>(task * strips + strip)], width);
        }
        const double* rows[kLookRows] = {total->count,   total->weight, total->mean,
                                         total->scatter, total->low,    total->high};
        for (int row = 0; row < kLookRows; ++row) {
            std::copy(rows[row], rows[row] + width, out + row * x.columns + column);
        }
    }
    return rows_at_once + 4 * (kBlocksPerTask + tasks) + 8;
}

void move_columns(const Matrix& x, const Move& move, const Target& out) {
    const Effort effort(static_cast<double>(x.rows) * static_cast<double>(x.columns));
    const bool by_rows = std::abs(x.column_stride) <= std::abs(x.row_stride) || x.rows == 1;
    const Index at_once =
        by_rows ? std::max<Index>(1, kBlockEntries * 4 / std::max<Index>(1, x.columns)) : kBlockEntries * 4;
    const Index blocks = blocks_of(x.rows, at_once);
    const Index lines = by_rows ? 1 : x.columns;
    parallel_for(blocks * lines, [&](Index block) {
        const Index from = block % blocks * at_once;
        const Index to = std::min(x.rows, from + at_once);
        with_type(x.kind, [&](auto type) {
            using T = std::remove_cv_t<std::remove_pointer_t<decltype(type)>>;
            if (by_rows) {
                move_rows<T>(x, move, out, from, to);
            } else {
                move_line<T>(x, move, out, block / blocks, from, to);
            }
        });
    });
}

void monomials(const Matrix& x, const Run* runs, Index count, Index first, void* out, Index out_columns) {
    const Effort effort(static_cast<double>(x.rows) * static_cast<double>(out_columns));
    const Index at_once = std::max<Index>(1, kBlockEntries / std::max<Index>(1, out_columns));
    parallel_for(blocks_of(x.rows, at_once), [&](Index block) {
        const Index to = std::min(x.rows, (block + 1) * at_once);
        with_type(x.kind, [&](auto type) {
            using T = std::remove_cv_t<std::remove_pointer_t<decltype(type)>>;
            for (Index i = block * at_once; i < to; ++i) {
                T* row = static_cast<T*>(out) + i * out_columns;
                std::fill(row, row + first, T{1});
                T* linear = row + first;
                for (Index j = 0; j < x.columns; ++j) {
                    linear[j] = *x.at<T>(i, j);
                }
                for (Index r = 0; r < count; ++r) {
                    const Run& run = runs[r];
                    const T factor = linear[run.factor];
                    const T* source = row + run.source;
                    T* target = row + run.target;
                    for (Index k = 0; k < run.length; ++k) {
                        target[k] = source[k] * factor;
                    }
                }
            }
        });
    });
}

namespace {

/// Walks the products of one row in rising order of their place, by recursion over the degree.
template <class T>
struct RowProducts {
    const Products& how;
    const Index* columns;
    const T* values;
    Index count;
    Index width;
    std::int32_t* places;
    T* out;

    /// Products of `degree` more factors from entry `from` on, to be multiplied by `value` and moved by `shift`.
    void walk(Index degree, Index from, T value, Index shift) {
        if (degree == 1) {
            for (Index i = from; i < count; ++i) {
                *places++ = static_cast<std::int32_t>(shift + how.first + columns[i]);
                *out++ = value * values[i];
            }
            return;
        }
        const Index* offsets = how.offsets + (degree - 2) * width;
        const Index end = how.distinct ? count - degree + 1 : count;  // the other factors come from later entries
        for (Index i = from; i < end; ++i) {
            walk(degree - 1, how.distinct ? i + 1 : i, value * values[i], shift + offsets[columns[i]]);
        }
    }
};

}  // namespace

void sparse_monomials(const SparseEntries& x, const Products& how, const Index* out_starts, std::int32_t* out_indices,
                      void* out_data) {
    const Effort effort(4.0 * static_cast<double>(out_starts[x.rows]));
    constexpr Index kRowsAtOnce = 256;
    parallel_for(blocks_of(x.rows, kRowsAtOnce), [&](Index block) {
        const Index to = std::min(x.rows, (block + 1) * kRowsAtOnce);
        with_type(x.kind, [&](auto type) {
            using T = std::remove_cv_t<std::remove_pointer_t<decltype(type)>>;
            for (Index i = block * kRowsAtOnce; i < to; ++i) {
                const Index begin = x.starts[i];
                RowProducts<T> row{how,
                                   x.indices + begin,
                                   static_cast<const T*>(x.data) + begin,
                                   x.starts[i + 1] - begin,
                                   x.columns,
                                   out_indices + out_starts[i],
                                   static_cast<T*>(out_data) + out_starts[i]};
                if (how.ones) {
                    *row.places++ = 0;
                    *row.out++ = T{1};
                }
                for (Index degree = how.low; degree <= how.high; ++degree) {
                    row.walk(degree, 0, T{1}, 0);
                }
            }
        });
    });
}

namespace {

std::uint64_t mixed(std::uint64_t state, std::uint64_t word) noexcept {
    state = (state ^ word) * 0x9E3779B97F4A7C15ULL;
    return state ^ (state >> 32);
}

std::uint64_t hashed(const std::uint8_t* word, Index width) noexcept {
    std::uint64_t state = 0x243F6A8885A308D3ULL;
    Index at = 0;
    for (; at + 8 <= width; at += 8) {
        std::uint64_t piece = 0;
        std::memcpy(&piece, word + at, 8);
        state = mixed(state, piece);
    }
    if (at < width) {
        std::uint64_t piece = 0;
        std::memcpy(&piece, word + at, static_cast<std::size_t>(width - at));
        state = mixed(state, piece);
    }
    return mixed(state, static_cast<std::uint64_t>(width));
}

}  // namespace

Index number_words(const std::uint8_t* words, Index n, Index width, Index stride, std::int32_t* codes, Index* firsts) {
    struct Slot {
        std::uint64_t hash;
        std::int32_t code;
    };
    std::vector<Slot> table(1024, Slot{0, -1});
    std::uint64_t mask = table.size() - 1;
    Index known = 0;
    for (Index i = 0; i < n; ++i) {
        const std::uint8_t* word = words + i * stride;
        const std::uint64_t hash = hashed(word, width);
        std::uint64_t at = hash & mask;
        while (table[at].code >= 0) {
            const Slot& slot = table[at];
            if (slot.hash == hash &&
                std::memcmp(words + firsts[slot.code] * stride, word, static_cast<std::size_t>(width)) == 0) {
                break;
            }
            at = (at + 1) & mask;
        }
        if (table[at].code < 0) {
            table[at] = {hash, static_cast<std::int32_t>(known)};
            firsts[known++] = i;
            if (static_cast<std::uint64_t>(known) * 2 > mask) {
                std::vector<Slot> larger(table.size() * 4, Slot{0, -1});
                mask = larger.size() - 1;
                for (const Slot& slot : table) {
                    if (slot.code >= 0) {
                        std::uint64_t place = slot.hash & mask;
                        while (larger[place].code >= 0) {
                            place = (place + 1) & mask;
                        }
                        larger[place] = slot;
                    }
                }
                table.swap(larger);
            }
            codes[i] = static_cast<std::int32_t>(known - 1);
        } else {
            codes[i] = table[at].code;
        }
    }
    return known;
}

namespace {

std::uint32_t rotated(std::uint32_t word, int by) noexcept {
    return (word << by) | (word >> (32 - by));
}
std::uint32_t scrambled(std::uint32_t word) noexcept {
    return rotated(word * 0xCC9E2D51U, 15) * 0x1B873593U;
}

}  // namespace

void hash_words(const std::uint8_t* bytes, const Index* ends, Index count, std::int32_t* out) noexcept {
    Index at = 0;
    for (Index i = 0; i < count; ++i) {
        const Index length = ends[i] - at;
        std::uint32_t state = 0;
        Index done = 0;
        for (; done + 4 <= length; done += 4) {
            std::uint32_t piece = 0;
            std::memcpy(&piece, bytes + at + done, 4);
            state = rotated(state ^ scrambled(piece), 13) * 5U + 0xE6546B64U;
        }
        if (done < length) {
            std::uint32_t piece = 0;
            std::memcpy(&piece, bytes + at + done, static_cast<std::size_t>(length - done));
            state ^= scrambled(piece);
        }
        state ^= static_cast<std::uint32_t>(length);
        state = (state ^ (state >> 16)) * 0x85EBCA6BU;
        state = (state ^ (state >> 13)) * 0xC2B2AE35U;
        out[i] = static_cast<std::int32_t>(state ^ (state >> 16));
        at = ends[i];
    }
}

}  // namespace qed
