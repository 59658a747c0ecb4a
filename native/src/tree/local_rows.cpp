#include "qed/tree/local_rows.hpp"

#include <algorithm>
#include <numeric>

#include "qed/machine/fetch.hpp"
#include "qed/machine/matrix.hpp"

namespace qed {
namespace {

constexpr Index kLocalRows = 1 << 10;  // 64 columns of ranks, or 32 of doubles, fill 256 KiB
constexpr Index kAhead = 8;            // rows that are fetched while others are copied

/// Copies some rows, `from_step` apart, into columns, `to_step` apart.
template <class T>
void turn(const T* from, Index from_step, Index columns, const std::uint32_t* rows, Index count, T* to, Index to_step) {
    Index i = 0;
    for (; i + kAhead <= count; i += kAhead) {  // so many rows at once: a column of them is written in one piece
        const T* own[kAhead];
        for (Index k = 0; k < kAhead; ++k) {
            own[k] = from + static_cast<Index>(rows[i + k]) * from_step;
            fetch_lines(from + static_cast<Index>(rows[std::min(i + k + kAhead, count - 1)]) * from_step, columns);
        }
        for (Index j = 0; j < columns; ++j) {
            T piece[kAhead];
            for (Index k = 0; k < kAhead; ++k) {
                piece[k] = own[k][j];
            }
            std::copy_n(piece, kAhead, to + j * to_step + i);
        }
    }
    for (; i < count; ++i) {
        const T* const row = from + static_cast<Index>(rows[i]) * from_step;
        for (Index j = 0; j < columns; ++j) {
            to[j * to_step + i] = row[j];
        }
    }
}

template <class T>
void copy_rows(const T* from, Index step, const std::uint32_t* rows, Index count, T* to) {
    for (Index i = 0; i < count; ++i) {
        fetch_lines(from + static_cast<Index>(rows[std::min(i + kAhead, count - 1)]) * step, step);
        std::copy_n(from + static_cast<Index>(rows[i]) * step, step, to + i * step);
    }
}

}  // namespace

LocalRows::LocalRows(const RankedTable& x, bool has_values, bool has_copies)
    : x_(x),
      has_values_(has_values),
      most_(has_copies ? std::min(x.rows(), kLocalRows) : 0),
      step_(most_ + 16),
      rows_(most_),
      ranks_(has_values ? 1 : step_ * x.columns()),
      bins_(has_values ? 1 : step_ * x.columns()),
      all_(has_values ? x.values() : RowValues{}),
      singles_(all_.singles != nullptr ? most_ * all_.step : 1),
      doubles_(all_.doubles != nullptr ? most_ * all_.step : 1) {}

void LocalRows::enter(std::uint32_t* rows, Index count, Index open, bool is_open) {
    is_copied_ = is_copied_ && open >= depth_;
    if (is_copied_ || !is_open || count > most_) {
        return;
    }
    std::copy_n(rows, count, rows_.get());
    const Index columns = x_.columns();
    if (!has_values_) {
        turn(x_.ranks(), columns, columns, rows, count, ranks_.get(), step_);
        turn(x_.bins_by_row(), x_.row_step(), columns, rows, count, bins_.get(), step_);
    } else if (all_.singles != nullptr) {
        copy_rows(all_.singles, all_.step, rows, count, singles_.get());
    } else {
        copy_rows(all_.doubles, all_.step, rows, count, doubles_.get());
    }
    std::iota(rows, rows + count, 0U);
    is_copied_ = true;
    depth_ = open;
}

void LocalRows::restore(std::uint32_t* rows, Index count) const noexcept {
    for (Index i = 0; i < count && is_copied_; ++i) {
        rows[i] = rows_[rows[i]];
    }
}

RankView LocalRows::ranks(Index column) const noexcept {
    return is_copied_ ? RankView{ranks_.get() + column * step_, 1} : RankView{x_.ranks() + column, x_.columns()};
}

const std::uint8_t* LocalRows::bins(Index column) const noexcept {
    return is_copied_ ? bins_.get() + column * step_ : x_.bins(column);
}

RowValues LocalRows::values() const noexcept {
    if (!is_copied_) {
        return all_;
    }
    return all_.singles != nullptr ? RowValues{singles_.get(), nullptr, all_.step}
                                   : RowValues{nullptr, doubles_.get(), all_.step};
}

}  // namespace qed
