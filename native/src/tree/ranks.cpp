#include "qed/tree/ranks.hpp"

#include <algorithm>
#include <numeric>

#include "qed/dense/numbers.hpp"
#include "qed/machine/parallel.hpp"
#include "qed/sparse/csr.hpp"

namespace qed {
namespace {

constexpr Index kSortedTogether = 16;  // columns that are sorted at a time
constexpr Index kRowsOfBlock = 4096;

TreeTable some_columns(const TreeTable& x, Index first, Index many) {
    TreeTable part = x;
    if (x.is_sparse) {
        const Index width = x.by_columns.wide ? 8 : 4;
        part.by_columns.starts = static_cast<const char*>(x.by_columns.starts) + first * width;
        part.by_columns.rows = many;
        return part;
    }
    with_type(x.dense.kind, [&](auto type) {
        using T = std::remove_cv_t<std::remove_pointer_t<decltype(type)>>;
        part.dense.data = x.dense.at<T>(0, first);
    });
    part.dense.columns = many;
    return part;
}

/// Copies some columns, one after the other, to `to`.
void load_columns(const TreeTable& x, Index first, Index many, double* to) {
    const Index rows = x.rows();
    if (x.is_sparse) {
        parallel_for(many, [&](Index j) {
            std::fill_n(to + j * rows, rows, 0.0);
            with_csr(x.by_columns, [&](auto csr) {
                for (Index e = csr.starts[first + j]; e < csr.starts[first + j + 1]; ++e) {
                    to[j * rows + csr.indices[e]] = static_cast<double>(csr.values[e]);
                }
            });
        });
        return;
    }
    parallel_for(blocks_of(rows, kRowsOfBlock), [&](Index block) {
        const Index stop = std::min(rows, (block + 1) * kRowsOfBlock);
        with_type(x.dense.kind, [&](auto type) {
            using T = std::remove_cv_t<std::remove_pointer_t<decltype(type)>>;
            for (Index i = block * kRowsOfBlock; i < stop; ++i) {
                const T* const row = x.dense.at<T>(i, first);
                for (Index j = 0; j < many; ++j) {
                    to[j * rows + i] = static_cast<double>(row[j * x.dense.column_stride]);
                }
            }
        });
    });
}

}  // namespace

RankedTable::RankedTable(const TreeTable& x, const double* weights, Index most, Keeps keeps)
    : rows_(x.rows()),
      columns_(x.columns()),
      info_(at(columns_)),
      ranks_(keeps == Keeps::bins_and_ranks ? new ScratchArray<std::uint32_t>(rows_ * columns_) : nullptr),
      bins_(keeps != Keeps::values ? new ScratchArray<std::uint8_t>(rows_ * columns_) : nullptr) {
    if (keeps == Keeps::values) {
        if (!load_rows(x, singles_)) {
            singles_.reset();
            load_rows(x, doubles_);
        }
        return;
    }
    std::vector<std::uint32_t> rows(at(rows_));
    std::iota(rows.begin(), rows.end(), 0U);
    double total = static_cast<double>(rows_);
    if (weights != nullptr) {
        total = std::accumulate(weights, weights + rows_, 0.0);
    }
    const ScratchArray<TreeEntry> entries(rows_ * std::min(columns_, kSortedTogether));
    const ScratchArray<double> values(rows_ * std::min(columns_, kSortedTogether));
    for (Index first = 0; first < columns_; first += kSortedTogether) {
        const Index many = std::min(kSortedTogether, columns_ - first);
        sort_columns(some_columns(x, first, many), rows.data(), rows_, entries.get());
        load_columns(x, first, many, values.get());
        parallel_for(many, [&](Index j) {
            read(entries.get() + j * rows_, first + j, weights, total, most, values.get() + j * rows_);
        });
    }
    lay_rows();
}

/// Copies the values, row after row, and notes which columns lack some. False if one of them is not what it was, as the
/// type holds fewer digits.
template <class T>
bool RankedTable::load_rows(const TreeTable& x, Kept<T>& values) {
    const Index step = line_step<T>(columns_);
    values = std::make_unique<ScratchArray<T>>(rows_ * step);
    T* const to = values->get();
    struct Seen {
        bool is_missing = false, is_other = false;

        T read(double value) noexcept {
            const auto own = static_cast<T>(value);
            is_missing |= value != value;
            is_other |= static_cast<double>(own) != value && value == value;
            return own;
        }
    };
    const Index blocks = x.is_sparse ? 1 : blocks_of(rows_, kRowsOfBlock);
    std::vector<Seen> seen(at(blocks * columns_));
    if (x.is_sparse) {
        std::fill_n(to, rows_ * step, T{0});
        parallel_for(columns_, [&](Index j) {
            with_csr(x.by_columns, [&](auto csr) {
                for (Index e = csr.starts[j]; e < csr.starts[j + 1]; ++e) {
                    to[csr.indices[e] * step + j] = seen[at(j)].read(static_cast<double>(csr.values[e]));
                }
            });
        });
    } else {
        parallel_for(blocks, [&](Index block) {
            Seen* const own = seen.data() + block * columns_;
            const Index stop = std::min(rows_, (block + 1) * kRowsOfBlock);
            with_type(x.dense.kind, [&](auto type) {
                using From = std::remove_cv_t<std::remove_pointer_t<decltype(type)>>;
                for (Index i = block * kRowsOfBlock; i < stop; ++i) {
                    const From* const row = x.dense.at<From>(i, 0);
                    for (Index j = 0; j < columns_; ++j) {
                        to[i * step + j] = own[j].read(static_cast<double>(row[j * x.dense.column_stride]));
                    }
                }
            });
        });
    }
    bool is_same = true;
    for (std::size_t k = 0; k < seen.size(); ++k) {
        info_[k % at(columns_)].has_missing |= seen[k].is_missing;
        is_same &= !seen[k].is_other;
    }
    return is_same;
}

void RankedTable::lay_rows() {
    const Index step = row_step();
    bins_by_row_ = std::make_unique<ScratchArray<std::uint8_t>>(step * rows_);
    parallel_for(blocks_of(rows_, kRowsOfBlock), [&](Index block) {
        const Index stop = std::min(rows_, (block + 1) * kRowsOfBlock);
        std::fill_n(bins_by_row_->get() + block * kRowsOfBlock * step, (stop - block * kRowsOfBlock) * step, 0);
        for (Index j = 0; j < columns_; ++j) {
            const std::uint8_t* const own = bins(j);
            for (Index i = block * kRowsOfBlock; i < stop; ++i) {
                (*bins_by_row_)[i * step + j] = own[i];
            }
        }
    });
}

void RankedTable::read(const TreeEntry* entries, Index j, const double* weights, double total, Index most,
                       const double* values) {
    RankedColumn& info = info_[at(j)];
    Index known = rows_;
    double known_weight = total;
    while (known > 0 && entries[known - 1].rank == kMissingRank) {
        --known;
        known_weight -= weights != nullptr ? weights[entries[known].place] : 1.0;
    }
    info.has_missing = known < rows_;
    const Index distinct = known > 0 ? static_cast<Index>(entries[known - 1].rank) + 1 : 0;
    info.values.reserve(at(distinct));
    std::uint8_t* const bins = bins_->get() + j * rows_;
    double seen = 0.0;
    for (Index first = 0; first < known;) {
        const std::uint32_t rank = entries[first].rank;
        info.values.push_back(values[entries[first].place] + 0.0);  // one zero
        const auto bin = static_cast<std::uint8_t>(info.last.size());
        Index last = first;
        for (; last < known && entries[last].rank == rank; ++last) {
            seen += weights != nullptr ? weights[entries[last].place] : 1.0;
            bins[entries[last].place] = bin;
            if (ranks_ != nullptr) {
                (*ranks_)[static_cast<Index>(entries[last].place) * columns_ + j] = rank;
            }
        }
        // a bin ends where it holds its share of what is left to the bins
        const bool is_full = seen * static_cast<double>(most) >= known_weight * static_cast<double>(bin + 1);
        if (distinct <= most || last == known || (is_full && static_cast<Index>(bin) + 1 < most)) {
            info.last.push_back(rank);
        }
        first = last;
    }
    for (Index i = known; i < rows_; ++i) {
        bins[entries[i].place] = kMissingBin;
        if (ranks_ != nullptr) {
            (*ranks_)[static_cast<Index>(entries[i].place) * columns_ + j] = kMissingRank;
        }
    }
}

}  // namespace qed
