#include "qed/tree/ranked_splits.hpp"

#include <algorithm>
#include <limits>

#include "qed/dense/numbers.hpp"
#include "qed/tree/forest.hpp"
#include "qed/tree/histogram.hpp"

namespace qed {

RankedSplits::RankedSplits(const RankedTable& x, const TreeTargets& y, bool by_sum, bool is_used)
    : x_(x),
      has_classes_(y.codes != nullptr && !by_sum),
      width_(has_classes_ ? y.width : (by_sum ? 1 : y.width) + 1),
      keys_(is_used ? x.rows() : 1),
      entries_(is_used ? x.rows() : 1),
      pairs_(is_used ? 2 * x.rows() : 1),
      sums_(is_used ? kPlaces * width_ : 1) {}

bool RankedSplits::search(const RankedNode& node, const SplitView& view, const SplitRule& rule, bool by_rows,
                          ColumnSplit& found) {
    if (view.count > kSortedRows && !by_rows) {
        const int several = search_bins(node, view, rule, found);
        if (several != 0) {
            return several > 0;
        }
    }
    return search_sorted(node, view, rule, found);
}

/// Adds pulls and weights, or weights of classes, to the bins of their rows.
void RankedSplits::fill_bins(const RankedNode& node, const SplitView& view) {
    const double* const weights = view.weights != nullptr ? view.weights + node.first : nullptr;
    std::fill_n(sums_.get(), kPlaces * width_, 0.0);
    if (width_ == 2 && view.criterion >= Criterion::squared) {
        if (!has_pairs_) {
            for (Index i = 0; i < view.count; ++i) {
                pairs_[2 * i] = view.pulls[node.first + i];
                pairs_[2 * i + 1] = weights != nullptr ? weights[i] : 1.0;
            }
            has_pairs_ = true;
        }
        add_pairs<1>(node.bins, node.rows, view.count, pairs_.get(), sums_.get());
    } else if (has_classes_) {
        for (Index i = 0; i < view.count; ++i) {
            sums_[node.bins[node.rows[i]] * width_ + view.codes[node.first + i]] +=
                weights != nullptr ? weights[i] : 1.0;
        }
    } else {
        for (Index i = 0; i < view.count; ++i) {
            double* const own = sums_.get() + node.bins[node.rows[i]] * width_;
            for (Index k = 0; k < view.width; ++k) {
                own[k] += view.pulls[(node.first + i) * view.width + k];
            }
            own[view.width] += weights != nullptr ? weights[i] : 1.0;
        }
    }
}

/// Rows of each bin; only whether there are any, where leaves may be of any size.
void RankedSplits::count_rows(const RankedNode& node, const SplitView& view, Index leaf) {
    if (leaf > 1) {
        std::fill_n(counts_, kPlaces, Index{0});
        for (Index i = 0; i < view.count; ++i) {
            ++counts_[node.bins[node.rows[i]]];
        }
        return;
    }
    const Index weighed = has_classes_ ? 0 : width_ - 1;  // the first of the weights
    for (Index bin = 0; bin < kPlaces; ++bin) {
        counts_[bin] = sums_[bin * width_ + weighed] > 0.0 ? 1 : 0;
    }
    for (Index k = weighed + 1; k < width_; ++k) {
        for (Index bin = 0; bin < kPlaces; ++bin) {
            counts_[bin] |= sums_[bin * width_ + k] > 0.0 ? 1 : 0;
        }
    }
}

/// 1: the column has several bins here; -1: it holds one value; 0: one bin of several values.
int RankedSplits::search_bins(const RankedNode& node, const SplitView& view, const SplitRule& rule,
                              ColumnSplit& found) {
    fill_bins(node, view);
    count_rows(node, view, rule.leaf);
    const RankedColumn& column = x_.column(found.column);
    std::uint8_t known[kPlaces];
    Index filled = 0;
    for (Index bin = 0; bin < kPlaces; ++bin) {
        known[filled] = static_cast<std::uint8_t>(bin);
        filled += counts_[bin] > 0 ? 1 : 0;
    }
    const Index many = filled - (counts_[kMissingBin] > 0 ? 1 : 0);
    if (filled < 2) {
        return column.is_exact() ? -1 : 0;
    }
    SplitView grouped = view;
    if (rule.leaf == 1) {
        grouped.count = filled;  // bins stand for their rows: no leaf is too small
    }
    found.cut = best_bin(grouped, rule, {sums_.get(), counts_, width_, known, many, kMissingBin});
    if (found.cut.is_found()) {
        found.rank = column.last[at(found.cut.known)];
    }
    return 1;
}

bool RankedSplits::search_sorted(const RankedNode& node, const SplitView& view, const SplitRule& rule,
                                 ColumnSplit& found) {
    const Index count = view.count;
    std::uint32_t low = kMissingRank;
    std::uint32_t high = 0;
    for (Index i = 0; i < count; ++i) {
        keys_[i] = node.ranks[node.rows[i]];
        low = std::min(low, keys_[i]);
        high = std::max(high, keys_[i]);
    }
    if (low == high) {
        return false;
    }
    sort_keys(node.first, count);
    found.cut = best_cut(view, rule, entries_.get());
    if (found.cut.is_found()) {
        found.rank = entries_[found.cut.known - 1].rank;
    }
    return true;
}

/// Puts keys in order, equal ones by their place: few of them by comparing all with all, which needs no branches.
void RankedSplits::sort_keys(Index start, Index count) {
    const auto first = static_cast<std::uint32_t>(start);
    if (count <= kSortedRows) {
        for (Index i = 0; i < count; ++i) {
            const std::uint32_t key = keys_[i];
            std::uint32_t before = 0;
            for (Index k = 0; k < i; ++k) {
                before += keys_[k] <= key ? 1U : 0U;
            }
            for (Index k = i + 1; k < count; ++k) {
                before += keys_[k] < key ? 1U : 0U;
            }
            entries_[before] = {key, first + static_cast<std::uint32_t>(i)};
        }
        return;
    }
    for (Index i = 0; i < count; ++i) {
        entries_[i] = {keys_[i], first + static_cast<std::uint32_t>(i)};
    }
    std::sort(entries_.get(), entries_.get() + count, [](const TreeEntry& a, const TreeEntry& b) {
        return a.rank != b.rank ? a.rank < b.rank : a.place < b.place;
    });
}

/// Bins tell the side of a row; ranks are looked up where they decide on the threshold, next to the cut.
SideCounts RankedSplits::part(const RankedNode& node, Index column, Index count, const TreeCut& cut,
                              std::uint32_t* sides, double& threshold) const {
    const RankedColumn& own_column = x_.column(column);
    const auto rank = static_cast<std::uint32_t>(cut.known);
    const auto cut_bin = static_cast<std::uint8_t>(
        std::lower_bound(own_column.last.begin(), own_column.last.end(), rank) - own_column.last.begin());
    const bool is_end = own_column.last[cut_bin] == rank;  // whether all ranks of that bin go left
    SideCounts found;
    std::uint8_t next = kMissingBin;
    for (Index i = 0; i < count; ++i) {
        const std::uint8_t own = node.bins[node.rows[i]];
        std::uint32_t is_left = own <= cut_bin ? 1U : 0U;
        if (own == cut_bin && !is_end) {
            is_left = node.ranks[node.rows[i]] <= rank ? 1U : 0U;
        } else if (own == kMissingBin) {
            is_left = cut.missing_left ? 1U : 0U;
            ++found.missing;
        }
        next = own > cut_bin && own < next ? own : next;
        sides[i] = 1U - is_left;
        found.lefts += is_left;
    }
    std::uint32_t low = 0;
    std::uint32_t high = kMissingRank;
    for (Index i = 0; i < count; ++i) {
        const std::uint8_t own = node.bins[node.rows[i]];
        if (own == cut_bin || own == next) {
            const std::uint32_t one = node.ranks[node.rows[i]];
            low = one <= rank ? std::max(low, one) : low;
            high = one > rank ? std::min(high, one) : high;
        }
    }
    threshold = high == kMissingRank ? std::numeric_limits<double>::infinity()
                                     : RankedColumn::between(own_column.values[low], own_column.values[high]);
    return found;
}

}  // namespace qed
