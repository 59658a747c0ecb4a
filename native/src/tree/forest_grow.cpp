#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <queue>
#include <utility>

#include "qed/dense/numbers.hpp"
#include "qed/machine/parallel.hpp"
#include "qed/machine/simd.hpp"
#include "qed/tree/forest.hpp"
#include "qed/tree/histogram.hpp"
#include "qed/tree/rows.hpp"

namespace qed {
namespace {

/// Columns of the rows of a node, copied to where they stay in the cache while everything below it grows. The rows are
/// then known by their number in the copy.
struct LocalRows {
    Index most;  ///< rows
    Index step;  ///< from a column to the next: not a power of two, which would share few places of the cache
    ScratchArray<std::uint32_t> rows, ranks;
    ScratchArray<std::uint8_t> bins;
    ScratchArray<double> values;
    Index depth = 0;  ///< of the stack of open nodes below the one that was copied

    LocalRows(Index rows_, Index columns, bool has_values)
        : most(rows_),
          step(rows_ + 16),
          rows(rows_),
          ranks(has_values ? 1 : step * columns),
          bins(has_values ? 1 : step * columns),
          values(has_values ? step * columns : 1) {}
};
constexpr Index kLocalRows = 1 << 10;          // 64 columns of ranks, or 32 of values, fill 256 KiB
constexpr Index kLargerCopy = Index{4} << 20;  // bytes of a copy that takes the place of all rows, and stays in a cache

/// Grows one tree; what it works with is used again for the next.
class SampledGrower {
  public:
    SampledGrower(const RankedTable& x, const TreeTargets& y, const TreeLimits& limits, bool has_weights)
        : x_(x),
          y_(y),
          limits_(limits),
          columns_(x.columns()),
          rows_(y, limits_, x.rows(), has_weights),
          rule_{std::max<Index>(limits.leaf, 1), 0.0},
          width_(y.codes != nullptr && !rows_.by_sum() ? y.width : (rows_.by_sum() ? 1 : y.width) + 1),
          sides_(x.rows() + 1),
          keys_(x.rows()),
          entries_(x.rows()),
          pairs_(2 * x.rows()),
          sums_(kPlaces * width_),
          values_(limits.is_random ? 2 * (x.rows() + kLanes<double>) : 1),
          own_values_(values_.get()),
          best_values_(values_.get() + (limits.is_random ? x.rows() + kLanes<double> : 0)),
          codes_(limits.by_category != nullptr ? x.rows() : 1),
          drawn_(at(columns_)) {
        if (limits.leaves > 0) {
            return;  // nodes are split in no order of places
        }
        const Index larger = kLargerCopy / (columns_ * static_cast<Index>(sizeof(double)));
        if (limits.is_random && larger >= 4 * kLocalRows &&
            x.rows() >= 2 * larger) {  // bins are small enough as they are
            copies_.push_back(std::make_unique<LocalRows>(larger, columns_, limits.is_random));
        }
        copies_.push_back(std::make_unique<LocalRows>(std::min(x.rows(), kLocalRows), columns_, limits.is_random));
    }

    /// A tree of some rows, and their weights (null for ones).
    ForestTree grow(std::uint64_t seed, double leaf_weight, const std::vector<std::uint32_t>& rows,
                    const double* weights, bool is_whole) {
        limits_.seed = seed;
        limits_.leaf_weight = rule_.leaf_weight = leaf_weight;
        rows_.start(rows.data(), static_cast<Index>(rows.size()), weights, is_whole);
        local_ = nullptr;
        arena_.nodes.clear();
        arena_.values.clear();
        arena_.sets.clear();
        arena_.nodes.push_back(rows_.root(arena_));
        total_weight_ = arena_.nodes[0].weight;
        limits_.leaves > 0 ? grow_best_first() : grow_depth_first();
        return written();
    }

  private:
    struct Found {
        Index column;
        TreeCut cut;
        std::uint32_t rank;
        double threshold;
        Index set = -1;  // number of the categories that go left
    };

    void choose(Index number) {
        TreeNode& node = arena_.nodes[at(number)];
        if (!node.is_open) {
            return;
        }
        rows_.find_totals(arena_, &node, totals_);
        const SplitView view = rows_.view_of(node, totals_.data(), arena_.values[at(number * y_.width)]);
        for (Index j = 0; j < columns_; ++j) {
            drawn_[at(j)] = j;
        }
        const bool draws = limits_.features < columns_;
        has_pairs_ = false;
        found_.clear();
        best_column_ = -1;
        double most_gain = -1.0;
        found_sets_.clear();
        bool has_values = false;
        for (Index j = 0; j < columns_ && (j < limits_.features || !has_values); ++j) {
            if (draws) {
                const double share = uniform_of(node.seed + static_cast<std::uint64_t>(j));
                const auto other = static_cast<Index>(share * static_cast<double>(columns_ - j));
                std::swap(drawn_[at(j)], drawn_[at(j + std::min(other, columns_ - j - 1))]);
            }
            Found found{drawn_[at(j)], {}, 0, 0.0};
            if (limits_.monotone != nullptr) {
                rule_.direction = limits_.monotone[found.column];
                rule_.low = node.low;
                rule_.high = node.high;
            }
            has_values = search(node, view, found) || has_values;
            if (found.cut.is_found()) {
                found_.push_back(found);
                if (limits_.is_random &&
                    found.cut.gain > most_gain) {  // its rows are parted by these values, most likely
                    most_gain = found.cut.gain;
                    std::swap(own_values_, best_values_);
                    best_column_ = found.column;
                }
            }
        }
        settle(node);
    }

    /// Medians, and sides of very different weight, are found from rows in order, never from sums over bins.
    [[nodiscard]] bool by_rows(const SplitView& view) const noexcept {
        return view.criterion == Criterion::absolute || (view.is_uneven && divides_by_weights(view.criterion));
    }

    /// Looks for the best cut of a column; false if the column holds a single value.
    bool search(const TreeNode& node, const SplitView& view, Found& found) {
        if (limits_.is_by_set(found.column)) {
            return search_set(node, view, found);
        }
        if (limits_.is_random) {
            return draw(node, view, found);
        }
        if (view.count > kSortedRows && !by_rows(view)) {
            const int several = search_bins(node, view, found);
            if (several != 0) {
                return several > 0;
            }
        }
        return search_sorted(node, view, found);
    }

    /// 1: the column has several bins here; -1: it holds one value; 0: one bin of several values.
    int search_bins(const TreeNode& node, const SplitView& view, Found& found) {
        const RankedColumn& column = x_.column(found.column);
        const std::uint8_t* const bins = bins_of(found.column);
        const std::uint32_t* const rows = rows_.rows_of(node) + node.start;
        const double* const weights = view.weights != nullptr ? view.weights + node.start : nullptr;
        std::fill_n(sums_.get(), kPlaces * width_, 0.0);
        if (width_ == 2 && view.criterion >= Criterion::squared) {
            if (!has_pairs_) {
                for (Index i = 0; i < view.count; ++i) {
                    pairs_[2 * i] = view.pulls[node.start + i];
                    pairs_[2 * i + 1] = weights != nullptr ? weights[i] : 1.0;
                }
                has_pairs_ = true;
            }
            add_pairs<1>(bins, rows, view.count, pairs_.get(), sums_.get());
        } else if (y_.codes != nullptr) {
            for (Index i = 0; i < view.count; ++i) {
                sums_[bins[rows[i]] * width_ + view.codes[node.start + i]] += weights != nullptr ? weights[i] : 1.0;
            }
        } else {
            for (Index i = 0; i < view.count; ++i) {
                double* const own = sums_.get() + bins[rows[i]] * width_;
                for (Index k = 0; k < view.width; ++k) {
                    own[k] += view.pulls[(node.start + i) * view.width + k];
                }
                own[view.width] += weights != nullptr ? weights[i] : 1.0;
            }
        }
        SplitView grouped = view;
        Index filled = 0;
        if (rule_.leaf > 1) {
            std::fill_n(counts_, kPlaces, Index{0});
            for (Index i = 0; i < view.count; ++i) {
                ++counts_[bins[rows[i]]];
            }
        }
        const Index weighed = y_.codes != nullptr && !rows_.by_sum() ? 0 : width_ - 1;  // the first of the weights
        for (Index bin = 0; bin < kPlaces && rule_.leaf == 1; ++bin) {
            counts_[bin] = sums_[bin * width_ + weighed] > 0.0 ? 1 : 0;
        }
        for (Index k = weighed + 1; k < width_ && rule_.leaf == 1; ++k) {
            for (Index bin = 0; bin < kPlaces; ++bin) {
                counts_[bin] |= sums_[bin * width_ + k] > 0.0 ? 1 : 0;
            }
        }
        std::uint8_t known[kPlaces];
        for (Index bin = 0; bin < kPlaces; ++bin) {
            known[filled] = static_cast<std::uint8_t>(bin);
            filled += counts_[bin] > 0 ? 1 : 0;
        }
        const Index many = filled - (counts_[kMissingBin] > 0 ? 1 : 0);
        if (filled < 2) {
            return column.is_exact() ? -1 : 0;
        }
        if (rule_.leaf == 1) {
            grouped.count = filled;  // bins stand for their rows: no leaf is too small
        }
        found.cut = best_bin(grouped, rule_, {sums_.get(), counts_, width_, known, many, kMissingBin});
        if (found.cut.is_found()) {
            found.rank = column.last[at(found.cut.known)];
        }
        return 1;
    }

    /// A set of categories, the best one or a drawn one.
    bool search_set(const TreeNode& node, const SplitView& view, Found& found) {
        read_categories(node, found.column);
        const std::uint8_t* const codes = codes_.get();
        if (std::all_of(codes, codes + view.count, [&](std::uint8_t one) { return one == codes[0]; })) {
            return false;
        }
        const CategoryCut own = limits_.is_random ? drawn_set(view, rule_, node.start, codes, entries_.get(),
                                                              column_stream(node.seed, found.column))
                                                  : best_set(view, rule_, node.start, codes, entries_.get());
        found.cut = own.cut;
        found.set = static_cast<Index>(found_sets_.size());
        found_sets_.push_back(own.set);
        return true;
    }

    /// The categories of the rows of a node.
    void read_categories(const TreeNode& node, Index column) {
        const std::uint32_t* const rows = rows_.rows_of(node) + node.start;
        const Index count = node.count();
        if (limits_.is_random) {
            gather_values(node, column);
            for (Index i = 0; i < count; ++i) {
                codes_[i] = category_of(own_values_[i]);
            }
            return;
        }
        std::uint8_t category[kPlaces];
        const RankedColumn& own = x_.column(column);
        for (Index bin = 0; bin < own.bins(); ++bin) {
            category[bin] = category_of(own.values[own.last[at(bin)]]);
        }
        category[kMissingBin] = kMissingCategory;
        const std::uint8_t* const bins = bins_of(column);
        for (Index i = 0; i < count; ++i) {
            codes_[i] = category[bins[rows[i]]];
        }
    }

    bool search_sorted(const TreeNode& node, const SplitView& view, Found& found) {
        const RankView ranks = ranks_of(found.column);
        const std::uint32_t* const rows = rows_.rows_of(node) + node.start;
        const Index count = view.count;
        std::uint32_t low = kMissingRank;
        std::uint32_t high = 0;
        for (Index i = 0; i < count; ++i) {
            keys_[i] = ranks[rows[i]];
            low = std::min(low, keys_[i]);
            high = std::max(high, keys_[i]);
        }
        if (low == high) {
            return false;
        }
        sort_keys(node, count);
        found.cut = best_cut(view, rule_, entries_.get());
        if (found.cut.is_found()) {
            found.rank = entries_[found.cut.known - 1].rank;
        }
        return true;
    }

    /// Puts keys in order, equal ones by their place: few of them by comparing all with all, which needs no branches.
    void sort_keys(const TreeNode& node, Index count) {
        const auto first = static_cast<std::uint32_t>(node.start);
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

    /// Gathers the values of a column at the places of a node, and fills the last vector with NaN, which no comparison
    /// lets in.
    void gather_values(const TreeNode& node, Index column) {
        const std::uint32_t* const rows = rows_.rows_of(node) + node.start;
        const Index count = node.count();
        const double* const values =
            local_ != nullptr ? local_->values.get() + column * local_->step : x_.values(column);
        for (Index i = 0; i < count; ++i) {
            own_values_[i] = values[rows[i]];
        }
        store(own_values_ + count, std::numeric_limits<double>::quiet_NaN() + Vector<double>{});
    }

    /// The smallest of all lanes, in as few steps as halving takes.
    static double least_lane(Vector<double> lanes) noexcept {
        double own[kLanes<double>];
        store(own, lanes);
        for (int half = kLanes<double> / 2; half > 0; half /= 2) {
            for (int lane = 0; lane < half; ++lane) {
                own[lane] = own[lane + half] < own[lane] ? own[lane + half] : own[lane];
            }
        }
        return own[0];
    }

    /// One threshold, drawn between the least and the largest value of the node.
    bool draw(const TreeNode& node, const SplitView& view, Found& found) {
        gather_values(node, found.column);
        const Index count = view.count;
        const double* const values = own_values_;
        constexpr double kInfinity = std::numeric_limits<double>::infinity();
        Index missing = 0;
        Vector<double> low = kInfinity + Vector<double>{};
        Vector<double> high = -kInfinity + Vector<double>{};
        for (Index i = 0; i < count; i += kLanes<double>) {
            const Vector<double> own = load(values + i);
            low = own < low ? own : low;
            high = own > high ? own : high;
        }
        const double least = least_lane(low);
        const double most = -least_lane(-high);
        for (Index i = 0; i < count && x_.column(found.column).has_missing; ++i) {
            missing += values[i] != values[i] ? 1 : 0;
        }
        if (missing == count || (least == most && missing == 0)) {
            return false;
        }
        const std::uint64_t stream = column_stream(node.seed, found.column);
        const double share = uniform_of(stream);
        found.threshold = least * (1.0 - share) + most * share;
        found.threshold = found.threshold >= least && found.threshold < most ? found.threshold : least;
        const bool missing_left = least < most && missing > 0 && (mixed_bits(stream) & 1U) != 0;
        if (least == most) {  // only missing values differ
            found.threshold = std::numeric_limits<double>::infinity();
        }
        const double threshold = found.threshold;
        if (by_rows(view)) {
            Index place = 0;
            Index known = 0;
            for (int part = 0; part < 3; ++part) {  // those that go left, those that go right, missing ones
                for (Index i = 0; i < count; ++i) {
                    const bool is_missing = values[i] != values[i];
                    if ((is_missing ? 2 : (values[i] <= threshold ? 0 : 1)) == part) {
                        entries_[place++] = {is_missing ? kMissingRank : static_cast<std::uint32_t>(part),
                                             static_cast<std::uint32_t>(node.start + i)};
                    }
                }
                known = part == 0 ? place : known;
            }
            found.cut = one_cut(view, rule_, entries_.get(), known, missing_left);
            return true;
        }
        if (missing == 0 && view.criterion == Criterion::squared && view.width == 1) {
            found.cut = by_threshold(view, rule_, node.start, values, threshold);
            return true;
        }
        Index lefts = 0;
        for (Index i = 0; i < count; ++i) {
            sides_[lefts] = static_cast<std::uint32_t>(node.start + i);
            lefts += values[i] <= threshold || (missing_left && values[i] != values[i]) ? 1 : 0;
        }
        found.cut = one_side(view, rule_, sides_.get(), lefts);
        found.cut.missing_left = missing_left;
        return true;
    }

    /// Compares columns in order.
    void settle(TreeNode& node) {
        std::sort(found_.begin(), found_.end(), [](const Found& a, const Found& b) { return a.column < b.column; });
        double bar = -std::numeric_limits<double>::infinity();
        for (const Found& found : found_) {
            if (found.cut.gain > bar) {
                node.feature = found.column;
                node.cut = found.cut;
                node.cut.known = static_cast<Index>(found.rank);
                node.threshold = found.threshold;
                bar = found.cut.gain + beyond_rounding(found.cut.gain, node.scale);
            }
        }
        node.is_open = node.feature >= 0 && rows_.is_enough(node.cut.gain, total_weight_);
        if (node.is_open && limits_.is_by_set(node.feature)) {
            for (const Found& found : found_) {
                if (found.column == node.feature) {
                    node.set = static_cast<Index>(arena_.sets.size());
                    arena_.sets.push_back(found_sets_[at(found.set)]);
                }
            }
        }
    }

    /// How many rows go left, and how many lack a value.
    struct Sides {
        Index lefts = 0, missing = 0;
    };

    /// Bins tell the side of a row; ranks are looked up where they decide on the threshold, next to the cut.
    Sides part_by_rank(TreeNode& node) {
        const RankView ranks = ranks_of(node.feature);
        const std::uint8_t* const bins = bins_of(node.feature);
        const std::uint32_t* const rows = rows_.rows_of(node);
        const RankedColumn& column = x_.column(node.feature);
        const auto rank = static_cast<std::uint32_t>(node.cut.known);
        const auto cut = static_cast<std::uint8_t>(std::lower_bound(column.last.begin(), column.last.end(), rank) -
                                                   column.last.begin());
        const bool is_end = column.last[cut] == rank;  // whether all ranks of that bin go left
        Sides sides;
        std::uint8_t next = kMissingBin;
        for (Index i = node.start; i < node.stop; ++i) {
            const std::uint8_t own = bins[rows[i]];
            std::uint32_t is_left = own <= cut ? 1U : 0U;
            if (own == cut && !is_end) {
                is_left = ranks[rows[i]] <= rank ? 1U : 0U;
            } else if (own == kMissingBin) {
                is_left = node.cut.missing_left ? 1U : 0U;
                ++sides.missing;
            }
            next = own > cut && own < next ? own : next;
            sides_[i] = 1U - is_left;
            sides.lefts += is_left;
        }
        std::uint32_t low = 0;
        std::uint32_t high = kMissingRank;
        for (Index i = node.start; i < node.stop; ++i) {
            const std::uint8_t own = bins[rows[i]];
            if (own == cut || own == next) {
                const std::uint32_t one = ranks[rows[i]];
                low = one <= rank ? std::max(low, one) : low;
                high = one > rank ? std::min(high, one) : high;
            }
        }
        node.threshold = high == kMissingRank ? std::numeric_limits<double>::infinity()
                                              : RankedColumn::between(column.values[low], column.values[high]);
        return sides;
    }

    Sides part_by_value(const TreeNode& node) {
        if (best_column_ != node.feature || limits_.leaves > 0) {  // best first, other nodes were looked at since
            gather_values(node, node.feature);
            std::swap(own_values_, best_values_);
        }
        const double* const values = best_values_;
        const double threshold = node.threshold;
        const std::uint32_t missing_left = node.cut.missing_left ? 1U : 0U;
        const Index count = node.count();
        std::uint32_t* const sides = sides_.get() + node.start;
        Sides found;
        for (Index i = 0; i < count; ++i) {  // without branches: half of them would be guessed wrong
            const std::uint32_t is_missing = values[i] != values[i] ? 1U : 0U;
            const std::uint32_t is_left = (values[i] <= threshold ? 1U : 0U) | (is_missing & missing_left);
            sides[i] = 1U - is_left;
            found.lefts += is_left;
            found.missing += is_missing;
        }
        return found;
    }

    Sides part_by_set(const TreeNode& node) {
        read_categories(node, node.feature);
        const CategorySet& set = arena_.sets[at(node.set)];
        Sides found;
        for (Index i = 0; i < node.count(); ++i) {
            const bool is_missing = codes_[i] == kMissingCategory;
            const std::uint32_t is_left = (is_missing ? node.cut.missing_left : set.has(codes_[i])) ? 1U : 0U;
            sides_[node.start + i] = 1U - is_left;
            found.lefts += is_left;
            found.missing += is_missing ? 1 : 0;
        }
        return found;
    }

    void split(Index number) {
        TreeNode& node = arena_.nodes[at(number)];
        const Sides sides = node.set >= 0       ? part_by_set(node)
                            : limits_.is_random ? part_by_value(node)
                                                : part_by_rank(node);
        node.missing_left = sides.missing > 0 ? node.cut.missing_left : sides.lefts > node.count() - sides.lefts;
        const Index middle = node.start + sides.lefts;
        rows_.move(node, middle, sides_.get());
        rows_.add_children(arena_, number, middle);
    }

    /// Ranks of a column by number of the row, `step` apart.
    struct RankView {
        const std::uint32_t* first;
        Index step;

        std::uint32_t operator[](std::uint32_t row) const noexcept { return first[static_cast<Index>(row) * step]; }
    };
    [[nodiscard]] RankView ranks_of(Index column) const noexcept {
        return local_ != nullptr ? RankView{local_->ranks.get() + column * local_->step, 1}
                                 : RankView{x_.ranks() + column, columns_};
    }
    [[nodiscard]] const std::uint8_t* bins_of(Index column) const noexcept {
        return local_ != nullptr ? local_->bins.get() + column * local_->step : x_.bins(column);
    }

    /// Copies some rows, `from_step` apart, into columns; rows further on are fetched early.
    template <class T>
    static void turn(const T* from, Index from_step, Index columns, Index count, const LocalRows& copy, T* to) {
        constexpr Index kLine = kCacheLine / sizeof(T);
        constexpr Index kAhead = 8;
        const std::uint32_t* const rows = copy.rows.get();
        const Index step = copy.step;
        Index i = 0;
        for (; i + kAhead <= count; i += kAhead) {  // so many rows at once: a column of them is written in one piece
            const T* own[kAhead];
            for (Index k = 0; k < kAhead; ++k) {
                own[k] = from + static_cast<Index>(rows[i + k]) * from_step;
                const T* const next = from + static_cast<Index>(rows[std::min(i + k + kAhead, count - 1)]) * from_step;
                for (Index j = 0; j < columns; j += kLine) {
                    __builtin_prefetch(next + j);
                }
            }
            for (Index j = 0; j < columns; ++j) {
                T piece[kAhead];
                for (Index k = 0; k < kAhead; ++k) {
                    piece[k] = own[k][j];
                }
                std::copy_n(piece, kAhead, to + j * step + i);
            }
        }
        for (; i < count; ++i) {
            const T* const row = from + static_cast<Index>(rows[i]) * from_step;
            for (Index j = 0; j < columns; ++j) {
                to[j * step + i] = row[j];
            }
        }
    }

    void make_local(const TreeNode& node, const LocalRows& copy) {
        std::uint32_t* const rows = rows_.rows_of(node) + node.start;
        const Index count = node.count();
        for (Index i = 0; i < count; ++i) {
            copy.rows[i] = local_ != nullptr ? local_->rows[rows[i]] : rows[i];
            rows[i] = static_cast<std::uint32_t>(i);
        }
        if (limits_.is_random) {
            turn(x_.values_by_row(), columns_, columns_, count, copy, copy.values.get());
        } else {
            turn(x_.ranks(), columns_, columns_, count, copy, copy.ranks.get());
            turn(x_.bins_by_row(), x_.row_step(), columns_, count, copy, copy.bins.get());
        }
    }

    void grow_depth_first() {
        std::vector<Index> open{0};
        std::size_t used = 0;  // copies, each of a node below that of the one before
        while (!open.empty()) {
            const Index number = open.back();
            open.pop_back();
            while (used > 0 && static_cast<Index>(open.size()) < copies_[used - 1]->depth) {
                --used;
            }
            local_ = used > 0 ? copies_[used - 1].get() : nullptr;
            const TreeNode& node = arena_.nodes[at(number)];
            while (node.is_open && used < copies_.size() && node.count() <= copies_[used]->most) {
                const bool is_last = used + 1 == copies_.size();
                if (is_last || node.count() > copies_[used + 1]->most) {
                    make_local(node, *copies_[used]);
                    local_ = copies_[used].get();
                }
                copies_[used++]->depth = static_cast<Index>(open.size());
            }
            choose(number);
            if (arena_.nodes[at(number)].is_open) {
                split(number);
                open.push_back(arena_.nodes[at(number)].right);
                open.push_back(arena_.nodes[at(number)].left);
            } else if (local_ != nullptr) {
                std::uint32_t* const rows = rows_.rows_of(node);
                for (Index i = node.start; i < node.stop; ++i) {
                    rows[i] = local_->rows[rows[i]];
                }
            }
        }
    }

    void grow_best_first() {
        using Ranked = std::pair<double, Index>;
        const auto after = [](const Ranked& a, const Ranked& b) {
            return a.first != b.first ? a.first < b.first : a.second > b.second;
        };
        std::priority_queue<Ranked, std::vector<Ranked>, decltype(after)> open(after);
        const auto offer = [&](Index number) {
            if (arena_.nodes[at(number)].is_open) {
                open.emplace(arena_.nodes[at(number)].cut.gain, number);
            }
        };
        choose(0);
        offer(0);
        for (Index leaves = 1; leaves < limits_.leaves && !open.empty(); ++leaves) {
            const Index number = open.top().second;
            open.pop();
            split(number);
            for (const Index child : {arena_.nodes[at(number)].left, arena_.nodes[at(number)].right}) {
                choose(child);
                offer(child);
            }
        }
    }

    [[nodiscard]] ForestTree written() const {
        ForestTree tree;
        const bool is_whole = rows_.count() == x_.rows();
        tree.leaf.assign(is_whole ? at(x_.rows()) : 0, 0);
        tree.importance.assign(at(columns_), 0.0);
        const double unit = unit_of(y_) / total_weight_;
        walk_left_first(arena_.nodes, [&](Index number, Index, bool) {
            const TreeNode& node = arena_.nodes[at(number)];
            if (node.left >= 0) {
                tree.feature.push_back(static_cast<std::int32_t>(node.feature));
                tree.threshold.push_back(node.threshold);
                tree.missing_left.push_back(node.missing_left ? 1 : 0);
                if (node.set >= 0) {
                    const CategorySet& set = arena_.sets[at(node.set)];
                    tree.by_set.push_back(static_cast<Index>(tree.threshold.size()) - 1);
                    tree.sets.insert(tree.sets.end(), set.words, set.words + 16);
                }
                tree.importance[at(node.feature)] +=
                    unit *
                    std::max(node.scale - arena_.nodes[at(node.left)].scale - arena_.nodes[at(node.right)].scale, 0.0);
                return;
            }
            tree.feature.push_back(-1);
            const std::uint32_t* const rows = rows_.rows_of(node);
            for (Index i = node.start; i < node.stop && is_whole; ++i) {
                tree.leaf[rows[i]] = static_cast<std::int32_t>(tree.weight.size());
            }
            tree.weight.push_back(node.weight);
            const double* const values = arena_.values.data() + number * y_.width;
            tree.values.insert(tree.values.end(), values, values + y_.width);
            if (limits_.monotone != nullptr) {  // splits on free columns leave the limits
                const double own = std::clamp(rows_.value_of(arena_, number), node.low, node.high);
                tree.values.back() = y_.codes != nullptr ? own * node.weight : own;
                if (y_.codes != nullptr) {
                    tree.values[tree.values.size() - 2] = (1.0 - own) * node.weight;
                }
            }
        });
        return tree;
    }

    const RankedTable& x_;
    const TreeTargets& y_;
    TreeLimits limits_;
    Index columns_;
    TreeRows rows_;
    SplitRule rule_;
    Index width_;
    ScratchArray<std::uint32_t> sides_, keys_;
    ScratchArray<TreeEntry> entries_;
    ScratchArray<double> pairs_, sums_, values_;
    double* own_values_;   // of the column that is looked at
    double* best_values_;  // of the best column so far
    ScratchArray<std::uint8_t> codes_;
    std::vector<std::unique_ptr<LocalRows>> copies_;
    const LocalRows* local_ = nullptr;
    Index best_column_ = -1;  // whose values of the last node are in best_values_
    Index counts_[kPlaces] = {};
    std::vector<Index> drawn_;
    std::vector<Found> found_;
    std::vector<CategorySet> found_sets_;
    std::vector<double> totals_;
    TreeArena arena_;
    double total_weight_ = 0.0;
    bool has_pairs_ = false;
};

}  // namespace

std::uint64_t seed_of_tree(std::uint64_t seed, Index tree) noexcept {
    return column_stream(seed, tree);
}

void draw_rows(std::uint64_t seed, Index draws, const double* cumulated, Index count, std::uint32_t* times) noexcept {
    const std::uint64_t stream = column_stream(seed, -1);
    std::fill_n(times, count, 0U);
    for (Index i = 0; i < draws; ++i) {
        const double share = uniform_of(stream + static_cast<std::uint64_t>(i));
        Index row = 0;
        if (cumulated == nullptr) {
            row = static_cast<Index>(share * static_cast<double>(count));
        } else {
            row = std::upper_bound(cumulated, cumulated + count, share * cumulated[count - 1]) - cumulated;
        }
        ++times[std::min(row, count - 1)];
    }
}

std::vector<ForestTree> grow_forest(const RankedTable& x, const TreeTargets& y, const double* share,
                                    const TreeLimits& limits, const ForestRules& rules) {
    const Index count = x.rows();
    std::vector<double> cumulated;
    if (share != nullptr && rules.draws > 0) {
        cumulated.resize(at(count));
        double total = 0.0;
        for (Index i = 0; i < count; ++i) {
            total += share[i];
            cumulated[at(i)] = total;
        }
    }
    std::vector<ForestTree> trees(at(rules.trees));
    std::vector<std::unique_ptr<SampledGrower>> idle;  // whose memory is used again
    std::mutex guards_idle;
    parallel_for(rules.trees, [&](Index k) {
        const std::uint64_t seed = seed_of_tree(rules.seed, rules.first + k);
        std::vector<std::uint32_t> rows;
        std::vector<double> weights;
        rows.reserve(at(count));
        bool is_whole = y.weights == nullptr;
        if (rules.draws > 0) {
            const ScratchArray<std::uint32_t> times(count);
            draw_rows(seed, rules.draws, cumulated.empty() ? nullptr : cumulated.data(), count, times.get());
            for (Index i = 0; i < count; ++i) {
                if (times[i] > 0) {
                    rows.push_back(static_cast<std::uint32_t>(i));
                    weights.push_back(static_cast<double>(times[i]) * (y.weights != nullptr ? y.weights[i] : 1.0));
                }
            }
        } else {
            rows.resize(at(count));
            std::iota(rows.begin(), rows.end(), 0U);
            if (y.weights != nullptr) {
                weights.assign(y.weights, y.weights + count);
            }
        }
        if (rules.balances) {
            weights.resize(rows.size(), 1.0);
            std::vector<double> sums(at(y.width), 0.0);
            double total = 0.0;
            Index present = 0;
            for (std::size_t i = 0; i < rows.size(); ++i) {
                double& sum = sums[at(y.codes[rows[i]])];
                present += sum == 0.0 ? 1 : 0;
                sum += weights[i];
                total += weights[i];
            }
            for (std::size_t i = 0; i < rows.size(); ++i) {
                weights[i] *= total / (static_cast<double>(present) * sums[at(y.codes[rows[i]])]);
            }
            is_whole = false;
        }
        const double weight = weights.empty() ? static_cast<double>(rows.size()) : [&] {
            double total = 0.0;
            for (const double one : weights) {
                total += one;
            }
            return total;
        }();
        std::unique_ptr<SampledGrower> grower;
        {
            const std::lock_guard lock(guards_idle);
            if (!idle.empty()) {
                grower = std::move(idle.back());
                idle.pop_back();
            }
        }
        if (grower == nullptr) {
            grower = std::make_unique<SampledGrower>(x, y, limits, !weights.empty());
        }
        trees[at(k)] =
            grower->grow(seed, limits.leaf_weight * weight, rows, weights.empty() ? nullptr : weights.data(), is_whole);
        const std::lock_guard lock(guards_idle);
        idle.push_back(std::move(grower));
    });
    return trees;
}

}  // namespace qed
