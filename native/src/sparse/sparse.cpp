#include "qed/sparse/sparse.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <type_traits>
#include <vector>

#include "qed/dense/fold.hpp"
#include "qed/dense/pack.hpp"
#include "qed/dense/product.hpp"
#include "qed/machine/parallel.hpp"
#include "qed/sparse/csr.hpp"

namespace qed {
namespace {

constexpr Index kEntriesAtOnce = Index{1} << 15;

/// Calls work with a function from stored values to doubles.
template <class Work>
void with_reading(Reading reading, Work&& work) {
    if (reading == Reading::absolute) {
        work([](auto value) { return std::abs(static_cast<double>(value)); });
    } else if (reading == Reading::squared) {
        work([](auto value) { return static_cast<double>(value) * static_cast<double>(value); });
    } else {
        work([](auto value) { return static_cast<double>(value); });
    }
}

std::vector<double> row_major_copy(const Matrix& w) {
    std::vector<double> out(static_cast<std::size_t>(w.rows * w.columns));
    load_rows(w, 0, w.rows, 0, w.columns, out.data(), w.columns);
    return out;
}

template <class T, class I, class Read>
void multiply_one(const Csr<T, I>& x, Read read, Index first, Index last, const double* w, double offset,
                  T* out) noexcept {
    for (Index i = first; i < last; ++i) {
        // One plain loop: rows are short, and a second one costs more in mispredicted branches than it wins.
        double total = offset;
        const Index end = x.starts[i + 1];
        for (Index e = x.starts[i]; e < end; ++e) {
            total += read(x.values[e]) * w[x.indices[e]];
        }
        out[i] = static_cast<T>(total);
    }
}

void add_scaled(const double* __restrict from, double factor, double* __restrict to, Index count) noexcept {
    for (Index j = 0; j < count; ++j) {
        to[j] += factor * from[j];
    }
}

template <class T, class I, class Read>
void multiply_several(const Csr<T, I>& x, Read read, Index first, Index last, const double* w, Index m, const double* b,
                      T* out) {
    const ScratchArray<double> total(m);
    for (Index i = first; i < last; ++i) {
        std::fill_n(total.get(), m, 0.0);
        for (Index e = x.starts[i]; e < Index{x.starts[i + 1]}; ++e) {
            add_scaled(w + x.indices[e] * m, read(x.values[e]), total.get(), m);
        }
        for (Index j = 0; j < m; ++j) {
            out[i * m + j] = static_cast<T>(total[j] + (b == nullptr ? 0.0 : b[j]));
        }
    }
}

template <class T, class I, class Read>
void scatter_rows(const Csr<T, I>& x, Read read, Index first, Index last, const Matrix& u, double* out) {
    constexpr Index kChunk = 256;
    const Index m = u.columns;
    const ScratchArray<double> loaded(kChunk * m);
    for (Index row = first; row < last; row += kChunk) {
        const Index count = std::min(kChunk, last - row);
        load_rows(u, row, count, 0, m, loaded.get(), m);
        for (Index i = row; i < row + count; ++i) {
            const double* factor = loaded.get() + (i - row) * m;
            const Index end = x.starts[i + 1];
            if (m == 1) {
                const double scale = *factor;
                for (Index e = x.starts[i]; e < end; ++e) {
                    out[x.indices[e]] += read(x.values[e]) * scale;
                }
                continue;
            }
            for (Index e = x.starts[i]; e < end; ++e) {
                add_scaled(factor, read(x.values[e]), out + x.indices[e] * m, m);
            }
        }
    }
}

/// One row of [x | y] as a list of entries.
struct RowEntries {
    std::vector<Index> index;
    std::vector<double> value;
    bool sorted = true;

    void add(Index column, double entry) {
        sorted = sorted && (index.empty() || index.back() < column);
        index.push_back(column);
        value.push_back(entry);
    }
    template <class T, class I>
    void read(const Csr<T, I>& x, const Matrix& y, Index row) {
        index.clear();
        value.clear();
        sorted = true;
        for (Index e = x.starts[row]; e < Index{x.starts[row + 1]}; ++e) {
            add(x.indices[e], static_cast<double>(x.values[e]));
        }
        for (Index j = 0; j < y.columns; ++j) {
            double entry = 0.0;
            load_rows(y, row, 1, j, 1, &entry, 1);
            add(x.columns + j, entry);
        }
    }
};

/// The lines i of the upper triangle with i % of == which.
struct Share {
    Index which = 0;
    Index of = 1;
};

/// scatter += s z zᵀ in the upper triangle, for the lines of one share; sums likewise.
void add_outer(const RowEntries& z, double s, Index q, const Share& share, double* scatter, double* sums) noexcept {
    const Index count = static_cast<Index>(z.index.size());
    const Index* index = z.index.data();
    const double* value = z.value.data();
    for (Index a = 0; a < count; ++a) {
        if (share.of > 1 && index[a] % share.of != share.which) {
            continue;
        }
        const double scaled = s * value[a];
        double* line = scatter + index[a] * q;
        sums[index[a]] += scaled;
        if (z.sorted) {
            for (Index b = a; b < count; ++b) {
                line[index[b]] += scaled * value[b];
            }
        } else {
            for (Index b = 0; b < count; ++b) {
                if (index[b] >= index[a]) {
                    line[index[b]] += scaled * value[b];
                }
            }
        }
    }
}

template <class T, class I>
void narrow_moments(const Csr<T, I>& x, const Matrix& y, const double* s, double* sums, double* scatter) {
    const Index q = x.columns + y.columns;
    const Index size = q * (q + 1);
    // A part costs its own size to clear and merge: it should hold several times as many entries.
    const Index count =
        std::clamp<Index>(x.entries() / std::max<Index>(1, size / 2), 1, std::max<Index>(1, x.blocks(kEntriesAtOnce)));
    const ScratchArray<double> total(size);
    fold_blocks(x.rows == 0 ? 0 : count, size, total.get(), [&](Index block, double* part) {
        RowEntries z;
        for (Index i = x.first_row(block, count); i < x.first_row(block + 1, count); ++i) {
            z.read(x, y, i);
            add_outer(z, s == nullptr ? 1.0 : s[i], q, {}, part, part + q * q);
        }
    });
    std::copy_n(total.get(), q * q, scatter);
    std::copy_n(total.get() + q * q, q, sums);
}

/// Every thread sees all rows of a chunk but adds to its own lines of the result only: no copies of a large matrix.
template <class T, class I>
void wide_moments(const Csr<T, I>& x, const Matrix& y, const double* s, double* sums, double* scatter) {
    constexpr Index kShares = 16;
    const Index q = x.columns + y.columns;
    const Index count = x.blocks(kEntriesAtOnce);
    std::fill_n(scatter, q * q, 0.0);
    std::fill_n(sums, q, 0.0);
    for (Index block = 0; block < count; ++block) {
        parallel_for(kShares, [&](Index which) {
            RowEntries z;
            for (Index i = x.first_row(block, count); i < x.first_row(block + 1, count); ++i) {
                z.read(x, y, i);
                add_outer(z, s == nullptr ? 1.0 : s[i], q, {which, kShares}, scatter, sums);
            }
        });
    }
}

/// Compressed columns: what is taken lies together.
template <class T, class I>
TakenColumns take_lines(const Csr<T, I>& x, const Index* index, Index count, const double* scale) {
    TakenColumns out;
    out.starts.push_back(0);
    for (Index j = 0; j < count; ++j) {
        for (Index e = x.starts[index[j]]; e < Index{x.starts[index[j] + 1]}; ++e) {
            const Index row = x.indices[e];
            out.rows.push_back(row);
            out.values.push_back(static_cast<double>(x.values[e]) * (scale == nullptr ? 1.0 : scale[row]));
        }
        out.starts.push_back(static_cast<Index>(out.rows.size()));
    }
    return out;
}

/// An entry of a column that is taken, by the place of the column in the result.
struct Hit {
    std::int32_t place;
    Index row;
    double value;
};

/// Compressed rows: one look at every entry, in blocks of rows; then each column gathers its own, block after block.
template <class T, class I>
TakenColumns take_across(const Csr<T, I>& x, const Index* index, Index count, const double* scale) {
    std::vector<std::int32_t> place(static_cast<std::size_t>(x.columns), -1);
    for (Index j = 0; j < count; ++j) {
        place[static_cast<std::size_t>(index[j])] = static_cast<std::int32_t>(j);
    }
    const Index blocks = std::max<Index>(1, x.blocks(kEntriesAtOnce));
    std::vector<std::vector<Hit>> found(static_cast<std::size_t>(blocks));
    const Effort effort(2.0 * static_cast<double>(x.entries()));
    parallel_for(blocks, [&](Index block) {
        std::vector<Hit>& hits = found[static_cast<std::size_t>(block)];
        for (Index i = x.first_row(block, blocks); i < x.first_row(block + 1, blocks); ++i) {
            const double factor = scale == nullptr ? 1.0 : scale[i];
            for (Index e = x.starts[i]; e < Index{x.starts[i + 1]}; ++e) {
                const std::int32_t column = place[static_cast<std::size_t>(x.indices[e])];
                if (column >= 0) {
                    hits.push_back({column, i, static_cast<double>(x.values[e]) * factor});
                }
            }
        }
    });
    TakenColumns out;
    out.starts.assign(static_cast<std::size_t>(count) + 1, 0);
    for (const auto& hits : found) {
        for (const Hit& hit : hits) {
            ++out.starts[static_cast<std::size_t>(hit.place) + 1];
        }
    }
    for (std::size_t j = 0; j < static_cast<std::size_t>(count); ++j) {
        out.starts[j + 1] += out.starts[j];
    }
    out.rows.resize(static_cast<std::size_t>(out.starts.back()));
    out.values.resize(out.rows.size());
    std::vector<Index> next(out.starts.begin(), out.starts.end() - 1);
    for (const auto& hits : found) {
        for (const Hit& hit : hits) {
            const auto to = static_cast<std::size_t>(next[static_cast<std::size_t>(hit.place)]++);
            out.rows[to] = hit.row;
            out.values[to] = hit.value;
        }
    }
    return out;
}

/// Seen as unsigned, a negative index lies beyond every bound.
template <class I>
bool all_below(const I* indices, Index count, Index bound) {
    constexpr Index kAtOnce = Index{1} << 17;
    using Unsigned = std::make_unsigned_t<I>;
    std::atomic<bool> within{true};
    const Effort effort(0.25 * static_cast<double>(count));
    parallel_for(blocks_of(count, kAtOnce), [&](Index block) {
        const Index last = std::min(count, (block + 1) * kAtOnce);
        Unsigned largest = 0;
        for (Index e = block * kAtOnce; e < last; ++e) {
            largest = std::max(largest, static_cast<Unsigned>(indices[e]));
        }
        if (static_cast<std::uint64_t>(largest) >= static_cast<std::uint64_t>(bound)) {
            within = false;
        }
    });
    return within;
}

}  // namespace

bool indices_within(const void* indices, bool wide, Index count, Index bound) {
    return wide ? all_below(static_cast<const std::int64_t*>(indices), count, bound)
                : all_below(static_cast<const std::int32_t*>(indices), count, bound);
}

void sparse_multiply(const SparseRows& x, const Matrix& w, const double* b, void* out) {
    const std::vector<double> factor = row_major_copy(w);
    const Index m = w.columns;
    with_csr(x, [&]<class T, class I>(const Csr<T, I>& csr) {
        const Effort effort(2.0 * static_cast<double>(csr.entries()) * static_cast<double>(m));
        const Index count = csr.blocks(kEntriesAtOnce);
        parallel_for(count, [&](Index block) {
            const Index first = csr.first_row(block, count);
            const Index last = csr.first_row(block + 1, count);
            with_reading(x.reading, [&](auto read) {
                if (m == 1) {
                    multiply_one(csr, read, first, last, factor.data(), b == nullptr ? 0.0 : b[0],
                                 static_cast<T*>(out));
                } else {
                    multiply_several(csr, read, first, last, factor.data(), m, b, static_cast<T*>(out));
                }
            });
        });
    });
}

void sparse_multiply_transposed(const SparseRows& x, const Matrix& u, double* out) {
    const Index size = x.columns * u.columns;
    with_csr(x, [&]<class T, class I>(const Csr<T, I>& csr) {
        const Index work = csr.entries() * u.columns;
        const Effort effort(2.0 * static_cast<double>(work));
        const Index most = std::max<Index>(1, csr.blocks(kEntriesAtOnce));
        const Index count = std::clamp<Index>(work / std::max<Index>(1, 4 * size), 1, std::min<Index>(most, 64));
        fold_blocks(csr.rows == 0 ? 0 : count, size, out, [&](Index block, double* part) {
            with_reading(x.reading, [&](auto read) {
                scatter_rows(csr, read, csr.first_row(block, count), csr.first_row(block + 1, count), u, part);
            });
        });
    });
}

void sparse_moments(const SparseRows& x, const Matrix& y, const double* s, const SparseMomentsOut& out) {
    const Index q = x.columns + y.columns;
    double weight = static_cast<double>(x.rows);
    if (s != nullptr) {
        double low = 0.0;
        weight = 0.0;
        for (Index i = 0; i < x.rows; ++i) {
            add_compensated(weight, low, s[i]);
        }
        weight = joined(weight, low);
    }
    *out.weight = weight;
    with_csr(x, [&](const auto& csr) {
        const double entries = static_cast<double>(csr.entries());
        const Effort effort(entries * (entries / static_cast<double>(std::max<Index>(x.rows, 1)) + 8));
        if (q <= kNarrow) {
            narrow_moments(csr, y, s, out.sums, out.scatter);
        } else {
            wide_moments(csr, y, s, out.sums, out.scatter);
        }
    });
    mirror_upper(out.scatter, q);
}

TakenColumns take_sparse_columns(const SparseRows& x, bool transposed, const Index* index, Index count,
                                 const double* scale) {
    TakenColumns out;
    with_csr(x, [&](const auto& csr) {
        out = transposed ? take_lines(csr, index, count, scale) : take_across(csr, index, count, scale);
    });
    return out;
}

}  // namespace qed
