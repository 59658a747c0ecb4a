#include <algorithm>
#include <bit>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <queue>
#include <utility>

#include "qed/dense/numbers.hpp"
#include "qed/machine/parallel.hpp"
#include "qed/tree/drawn_splits.hpp"
#include "qed/tree/forest.hpp"
#include "qed/tree/local_rows.hpp"
#include "qed/tree/ranked_splits.hpp"
#include "qed/tree/rows.hpp"

namespace qed {
namespace {

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
          local_(x, limits.is_random, limits.leaves == 0),  // best first, nodes are split in no order of places
          drawn_splits_(x, limits.is_random ? limits.features : 0),
          ranked_splits_(x, y, rows_.by_sum(), !limits.is_random),
          sides_(x.rows()),
          codes_(limits.by_category != nullptr ? x.rows() : 1),
          entries_(limits.by_category != nullptr ? x.rows() : 1),
          drawn_(at(columns_)),
          chosen_(at(blocks_of(columns_, 64)), 0) {}

    /// Grows a tree of some rows, and their weights (null for ones).
    void grow(std::uint64_t seed, double leaf_weight, const std::vector<std::uint32_t>& rows, const double* weights,
              bool is_whole) {
        limits_.seed = seed;
        limits_.leaf_weight = rule_.leaf_weight = leaf_weight;
        rows_.start(rows.data(), static_cast<Index>(rows.size()), weights, is_whole);
        local_.start();
        arena_.nodes.clear();
        arena_.values.clear();
        arena_.sets.clear();
        arena_.nodes.push_back(rows_.root(arena_));
        total_weight_ = arena_.nodes[0].weight;
        limits_.leaves > 0 ? grow_best_first() : grow_depth_first();
    }

    /// The tree, with all that is known of each node.
    [[nodiscard]] GrownTree all_nodes() const { return rows_.written(arena_); }

    /// The tree, with what a forest keeps.
    [[nodiscard]] ForestTree written() const {
        ForestTree tree;
        const bool is_whole = rows_.count() == x_.rows();
        tree.leaf.assign(is_whole ? at(x_.rows()) : 0, 0);
        tree.importance.assign(at(columns_), 0.0);
        const std::size_t inner = arena_.nodes.size() / 2;
        tree.feature.reserve(arena_.nodes.size());
        tree.threshold.reserve(inner);
        tree.missing_left.reserve(inner);
        tree.weight.reserve(inner + 1);
        tree.values.reserve((inner + 1) * at(y_.width));
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

  private:
    void choose(Index number) {
        TreeNode& node = arena_.nodes[at(number)];
        if (!node.is_open) {
            return;
        }
        rows_.find_totals(arena_, &node, totals_);
        const SplitView view = rows_.view_of(node, totals_.data(), arena_.values[at(number * y_.width)]);
        std::iota(drawn_.begin(), drawn_.end(), Index{0});
        found_.clear();
        found_sets_.clear();
        ranked_splits_.start_node();
        bool has_values = false;
        for (Index first = 0, stop = limits_.features; !has_values && first < columns_; first = stop++) {
            draw_columns(node.seed, first, stop);  // after the first ones, one more while none tells rows apart
            const Index* const columns = drawn_.data() + first;
            has_values = limits_.is_random ? search_drawn(node, view, columns, stop - first)
                                           : search_ranked(node, view, columns, stop - first);
        }
        settle(node);
    }

    /// Draws the columns at [first, stop) of those that are left, and puts them in order: a bit for each, read from the
    /// lowest, takes no comparisons that could not be foreseen.
    void draw_columns(std::uint64_t seed, Index first, Index stop) {
        for (Index j = first; j < stop && limits_.features < columns_; ++j) {
            const double share = uniform_of(seed + static_cast<std::uint64_t>(j));
            const auto other = static_cast<Index>(share * static_cast<double>(columns_ - j));
            std::swap(drawn_[at(j)], drawn_[at(j + std::min(other, columns_ - j - 1))]);
        }
        for (Index j = first; j < stop; ++j) {
            chosen_[at(drawn_[at(j)] / 64)] |= std::uint64_t{1} << (drawn_[at(j)] % 64);
        }
        Index place = first;
        for (std::size_t word = 0; word < chosen_.size(); ++word) {
            for (std::uint64_t bits = std::exchange(chosen_[word], 0); bits != 0; bits &= bits - 1) {
                drawn_[at(place++)] = static_cast<Index>(word) * 64 + std::countr_zero(bits);
            }
        }
    }

    void offer(const ColumnSplit& found) {
        if (found.cut.is_found()) {
            found_.push_back(found);
        }
    }

    void set_direction(const TreeNode& node, Index column) noexcept {
        if (limits_.monotone != nullptr) {
            rule_.direction = limits_.monotone[column];
            rule_.low = node.low;
            rule_.high = node.high;
        }
    }

    /// Medians, and sides of very different weight, are found from rows in order, never from sums.
    [[nodiscard]] static bool by_rows(const SplitView& view) noexcept {
        return view.criterion == Criterion::absolute || (view.is_uneven && divides_by_weights(view.criterion));
    }

    /// Random splits of columns; false if none of them tells rows apart.
    bool search_drawn(const TreeNode& node, const SplitView& view, const Index* columns, Index many) {
        const bool is_by_rows = by_rows(view);
        const bool by_sums = !is_by_rows && view.criterion == Criterion::squared && view.width == 1;
        bool has_values = false;
        for (Index first = 0; first < many; first += kDrawnTogether) {
            const Index together = std::min(kDrawnTogether, many - first);
            drawn_splits_.gather(local_.values(), rows_.rows_of(node) + node.start, view.count, columns + first,
                                 together);
            drawn_splits_.draw(node.seed);
            if (by_sums) {
                drawn_splits_.add(view, node.start);
            }
            for (Index lane = 0; lane < together; ++lane) {
                const Index column = columns[first + lane];
                if (!drawn_splits_.is_varied(lane)) {
                    continue;
                }
                has_values = true;
                set_direction(node, column);
                if (limits_.is_by_set(column)) {
                    drawn_splits_.read_categories(lane, codes_.get());
                    offer_set(column, drawn_set(view, rule_, node.start, codes_.get(), entries_.get(),
                                                column_stream(node.seed, column)));
                } else {
                    offer(drawn_splits_.evaluate(view, rule_, node.start, lane, by_sums, is_by_rows));
                }
            }
        }
        return has_values;
    }

    /// The best splits of columns; false if none of them tells rows apart.
    bool search_ranked(const TreeNode& node, const SplitView& view, const Index* columns, Index many) {
        bool has_values = false;
        for (Index k = 0; k < many; ++k) {
            const Index column = columns[k];
            set_direction(node, column);
            if (limits_.is_by_set(column)) {
                read_binned_categories(node, column);
                const std::uint8_t* const codes = codes_.get();
                if (std::any_of(codes, codes + view.count, [&](std::uint8_t one) { return one != codes[0]; })) {
                    has_values = true;
                    offer_set(column, best_set(view, rule_, node.start, codes, entries_.get()));
                }
                continue;
            }
            ColumnSplit found{.column = column};
            has_values = ranked_splits_.search(ranked(node, column), view, rule_, by_rows(view), found) || has_values;
            offer(found);
        }
        return has_values;
    }

    void offer_set(Index column, const CategoryCut& own) {
        offer({.column = column, .cut = own.cut, .set = static_cast<Index>(found_sets_.size())});
        found_sets_.push_back(own.set);
    }

    [[nodiscard]] RankedNode ranked(const TreeNode& node, Index column) const noexcept {
        return {rows_.rows_of(node) + node.start, local_.bins(column), local_.ranks(column), node.start};
    }

    void read_binned_categories(const TreeNode& node, Index column) {
        std::uint8_t category[kPlaces];
        const RankedColumn& own = x_.column(column);
        for (Index bin = 0; bin < own.bins(); ++bin) {
            category[bin] = category_of(own.values[own.last[at(bin)]]);
        }
        category[kMissingBin] = kMissingCategory;
        const RankedNode seen = ranked(node, column);
        for (Index i = 0; i < node.count(); ++i) {
            codes_[i] = category[seen.bins[seen.rows[i]]];
        }
    }

    /// Takes the first of the columns that gain most.
    void settle(TreeNode& node) {
        double bar = -std::numeric_limits<double>::infinity();
        for (const ColumnSplit& found : found_) {
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
            for (const ColumnSplit& found : found_) {
                if (found.column == node.feature) {
                    node.set = static_cast<Index>(arena_.sets.size());
                    arena_.sets.push_back(found_sets_[at(found.set)]);
                }
            }
        }
    }

    /// The lane of drawn splits that holds the column of a node's split.
    Index drawn_lane(const TreeNode& node) {
        const Index lane = limits_.leaves > 0 ? -1 : drawn_splits_.lane_of(node.feature);
        if (lane >= 0) {
            return lane;
        }
        // best first, other nodes were looked at since; of many columns, later ones
        drawn_splits_.gather(local_.values(), rows_.rows_of(node) + node.start, node.count(), &node.feature, 1);
        return 0;
    }

    SideCounts part(TreeNode& node) {
        std::uint32_t* const sides = sides_.get() + node.start;
        if (node.set >= 0) {
            return part_by_set(node, sides);
        }
        if (limits_.is_random) {
            return drawn_splits_.part(drawn_lane(node), node.threshold, node.cut.missing_left, sides);
        }
        return ranked_splits_.part(ranked(node, node.feature), node.feature, node.count(), node.cut, sides,
                                   node.threshold);
    }

    SideCounts part_by_set(const TreeNode& node, std::uint32_t* sides) {
        if (limits_.is_random) {
            drawn_splits_.read_categories(drawn_lane(node), codes_.get());
        } else {
            read_binned_categories(node, node.feature);
        }
        const CategorySet& set = arena_.sets[at(node.set)];
        SideCounts found;
        for (Index i = 0; i < node.count(); ++i) {
            const bool is_missing = codes_[i] == kMissingCategory;
            const std::uint32_t is_left = (is_missing ? node.cut.missing_left : set.has(codes_[i])) ? 1U : 0U;
            sides[i] = 1U - is_left;
            found.lefts += is_left;
            found.missing += is_missing ? 1 : 0;
        }
        return found;
    }

    void split(Index number) {
        TreeNode& node = arena_.nodes[at(number)];
        const SideCounts counts = part(node);
        node.missing_left = counts.missing > 0 ? node.cut.missing_left : counts.lefts > node.count() - counts.lefts;
        const Index middle = node.start + counts.lefts;
        rows_.move(node, middle, sides_.get());
        rows_.add_children(arena_, number, middle);
    }

    void grow_depth_first() {
        std::vector<Index> open{0};
        while (!open.empty()) {
            const Index number = open.back();
            open.pop_back();
            const TreeNode& node = arena_.nodes[at(number)];
            std::uint32_t* const rows = rows_.rows_of(node) + node.start;
            local_.enter(rows, node.count(), static_cast<Index>(open.size()), node.is_open);
            choose(number);
            if (node.is_open) {
                split(number);
                open.push_back(arena_.nodes[at(number)].right);
                open.push_back(arena_.nodes[at(number)].left);
            } else {
                local_.restore(rows, node.count());
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

    const RankedTable& x_;
    const TreeTargets& y_;
    TreeLimits limits_;
    Index columns_;
    TreeRows rows_;
    SplitRule rule_;
    LocalRows local_;
    DrawnSplits drawn_splits_;
    RankedSplits ranked_splits_;
    ScratchArray<std::uint32_t> sides_;
    ScratchArray<std::uint8_t> codes_;  // categories of a node's rows
    ScratchArray<TreeEntry> entries_;   // the same in order
    std::vector<Index> drawn_;
    std::vector<std::uint64_t> chosen_;  // a bit for each column
    std::vector<ColumnSplit> found_;  // columns ascending
    std::vector<CategorySet> found_sets_;
    std::vector<double> totals_;
    TreeArena arena_;
    double total_weight_ = 0.0;
};

}  // namespace

std::uint64_t seed_of_tree(std::uint64_t seed, Index tree) noexcept {
    return column_stream(seed, tree);
}

void draw_rows(std::uint64_t seed, Index draws, const double* cumulated, Index count, std::uint32_t* times) {
    const std::uint64_t stream = column_stream(seed, -1);
    std::fill_n(times, count, 0U);
    const auto cells = static_cast<double>(count);
    const ScratchArray<std::uint32_t> guide(cumulated == nullptr ? 1 : count + 1);  // a row near the start of each cell
    Index near = 0;
    for (Index cell = 0; cumulated != nullptr && cell <= count; ++cell) {
        const double start = static_cast<double>(cell) / cells * cumulated[count - 1];
        for (; near < count - 1 && cumulated[near] <= start; ++near) {
        }
        guide[cell] = static_cast<std::uint32_t>(near);
    }
    for (Index i = 0; i < draws; ++i) {
        const double share = uniform_of(stream + static_cast<std::uint64_t>(i));
        auto row = static_cast<Index>(share * cells);
        if (cumulated != nullptr) {  // the first row whose cumulated share is larger
            const double reached = share * cumulated[count - 1];
            row = static_cast<Index>(guide[row]);
            for (; row > 0 && cumulated[row - 1] > reached; --row) {
            }
            for (; row < count - 1 && cumulated[row] <= reached; ++row) {
            }
        }
        ++times[std::min(row, count - 1)];
    }
}

GrownTree grow_drawn_tree(const TreeTable& x, const TreeTargets& y, const TreeLimits& limits) {
    const RankedTable table(x, nullptr, kBins, Keeps::values);
    const std::vector<std::uint32_t> rows = used_rows(y, x.rows());
    const std::vector<double> weights = used_weights(y, rows);
    SampledGrower grower(table, y, limits, !weights.empty());
    grower.grow(limits.seed, limits.leaf_weight, rows, weights.empty() ? nullptr : weights.data(), weights.empty());
    return grower.all_nodes();
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
        grower->grow(seed, limits.leaf_weight * weight, rows, weights.empty() ? nullptr : weights.data(), is_whole);
        trees[at(k)] = grower->written();
        const std::lock_guard lock(guards_idle);
        idle.push_back(std::move(grower));
    });
    return trees;
}

}  // namespace qed
