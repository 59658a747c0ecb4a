#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <queue>
#include <utility>
#include <vector>

#include "qed/dense/numbers.hpp"
#include "qed/machine/parallel.hpp"
#include "qed/machine/scratch.hpp"
#include "qed/tree/columns.hpp"
#include "qed/tree/forest.hpp"
#include "qed/tree/node.hpp"
#include "qed/tree/rows.hpp"
#include "qed/tree/split.hpp"
#include "qed/tree/tree.hpp"

namespace qed {
namespace {

constexpr std::uint32_t kNowhere = 0xFFFFFFFFU;
constexpr Index kTogether = Index{1} << 17;  // entries of a node above which all threads work on it

using Node = TreeNode;

/// Nodes, and what a search of two children works with.
struct Arena : TreeArena {
    std::vector<TreeCut> cuts;
    std::vector<double> totals[2];
    std::vector<std::uint8_t> chosen[2];
    std::vector<CategorySet> found_sets;  ///< of the cuts of columns of categories
};

class Grower {
  public:
    Grower(const TreeTable& x, const TreeTargets& y, const TreeLimits& limits, const TreeEntry* sorted = nullptr)
        : x_(x),
          y_(y),
          limits_(limits),
          columns_(x.columns()),
          used_(used_rows(y, x.rows())),
          count_(static_cast<Index>(used_.size())),
          weights_(used_weights(y, used_)),
          rows_(y, limits, count_, !weights_.empty()),
          entries_{ScratchArray<TreeEntry>(count_ * columns_), ScratchArray<TreeEntry>(count_ * columns_)},
          places_(count_) {
        rows_.start(used_.data(), count_, weights_.empty() ? nullptr : weights_.data(), weights_.empty());
        if (sorted == nullptr) {
            distinct_ = sort_columns(x, used_.data(), count_, entries_[0].get());
        } else {
            take_sorted(sorted);
        }
    }

    GrownTree grow() {
        Arena arena;
        add_root(arena);
        limits_.leaves > 0 ? grow_best_first(arena) : grow_depth_first(arena);
        GrownTree tree = rows_.written(arena);
        tree.all_distinct = distinct_ == count_;
        return tree;
    }

    /// The least impurity of all trees of depth two (or one), in units of gains.
    double least(Index depth, Index most) {
        Arena arena;
        add_root(arena);
        const Node root = arena.nodes[0];
        double least = root.scale - std::max(root.cut.gain, 0.0);
        if (depth < 2 || !root.is_open) {
            return least;
        }
        std::vector<std::pair<Index, TreeCut>> cuts = all_cuts();
        if (static_cast<Index>(cuts.size()) > most / std::max<Index>(count_ * columns_, 1)) {
            return std::numeric_limits<double>::quiet_NaN();
        }
        for (const auto& [feature, cut] : cuts) {
            arena.nodes.resize(1);
            arena.values.resize(at(y_.width));
            arena.nodes[0].feature = feature;
            arena.nodes[0].cut = cut;
            split(arena, 0, false);
            double total = 0.0;
            for (const Node& child : {arena.nodes[1], arena.nodes[2]}) {
                total += child.scale - std::max(child.cut.gain, 0.0);
            }
            least = std::min(least, total);
        }
        return std::max(least, 0.0);
    }

    [[nodiscard]] double total_weight() const noexcept { return total_weight_; }

  private:
    /// Copies columns that are sorted already, without the rows that are not used.
    void take_sorted(const TreeEntry* sorted) {
        const Index rows = x_.rows();
        std::vector<std::uint32_t> place_of(at(rows), kNowhere);
        for (Index i = 0; i < count_; ++i) {
            place_of[used_[at(i)]] = static_cast<std::uint32_t>(i);
        }
        for_columns(count_ * columns_ > kTogether, [&](Index j) {
            const TreeEntry* const from = sorted + j * rows;
            TreeEntry* to = entries_[0].get() + j * count_;
            if (count_ == rows) {
                std::copy_n(from, rows, to);
                return;
            }
            for (Index i = 0; i < rows; ++i) {
                const std::uint32_t place = place_of[from[i].place];
                if (place != kNowhere) {
                    *to++ = {from[i].rank, place};
                }
            }
        });
    }
    [[nodiscard]] const TreeEntry* entries_of(const Node& node, Index feature) const noexcept {
        return entries_[node.depth % 2].get() + feature * count_ + node.start;
    }
    [[nodiscard]] double value_of(const Node& node, Index feature, Index entry) const noexcept {
        const std::uint32_t place = entries_of(node, feature)[entry].place;
        return value_at(x_, static_cast<Index>(rows_.rows_of(node)[place]), feature);
    }

    void add_root(Arena& arena) {
        arena.nodes.push_back(rows_.root(arena));
        total_weight_ = arena.nodes[0].weight;
        Node* const nodes[1] = {&arena.nodes[0]};
        choose(arena, nodes, 1, count_ * columns_ > kTogether);
    }

    template <class Work>
    void for_columns(bool in_parallel, const Work& work) const {
        if (in_parallel) {
            parallel_for(columns_, work);
            return;
        }
        for (Index j = 0; j < columns_; ++j) {
            work(j);
        }
    }

    /// Marks the columns that are searched: as many drawn ones as asked for, and more while these hold a single value.
    void choose_columns(const Node& node, std::vector<std::uint8_t>& chosen) const {
        chosen.assign(at(columns_), 0);
        std::vector<Index> drawn(at(columns_));
        for (Index j = 0; j < columns_; ++j) {
            drawn[at(j)] = j;
        }
        bool found = false;
        for (Index j = 0; j < columns_ && (j < limits_.features || !found); ++j) {
            const double share = uniform_of(node.seed + static_cast<std::uint64_t>(j));
            const auto other = static_cast<Index>(share * static_cast<double>(columns_ - j));
            std::swap(drawn[at(j)], drawn[at(j + std::min(other, columns_ - j - 1))]);
            const TreeEntry* entries = entries_of(node, drawn[at(j)]);
            found = found || entries[0].rank != entries[node.count() - 1].rank;
            chosen[at(drawn[at(j)])] = 1;
        }
    }

    /// Finds the best cuts of open nodes, and closes those that have none.
    void choose(Arena& arena, Node* const* nodes, Index many, bool in_parallel) const {
        const bool draws = limits_.features < columns_;
        arena.cuts.assign(at(many * columns_), TreeCut{});
        arena.found_sets.resize(limits_.by_category != nullptr ? at(many * columns_) : 0);
        SplitView views[2] = {};
        for (Index c = 0; c < many; ++c) {
            if (nodes[c]->is_open) {
                rows_.find_totals(arena, nodes[c], arena.totals[c]);
                const double mean = arena.values[at((nodes[c] - arena.nodes.data()) * y_.width)];
                views[c] = rows_.view_of(*nodes[c], arena.totals[c].data(), mean);
            }
            if (nodes[c]->is_open && draws) {
                choose_columns(*nodes[c], arena.chosen[c]);
            }
        }
        const SplitRule rule{std::max<Index>(limits_.leaf, 1), limits_.leaf_weight};
        for_columns(in_parallel, [&](Index j) {
            for (Index c = 0; c < many; ++c) {
                if (!nodes[c]->is_open || (draws && arena.chosen[c][at(j)] == 0)) {
                    continue;
                }
                const TreeEntry* const entries = entries_of(*nodes[c], j);
                if (entries[0].rank == entries[views[c].count - 1].rank) {
                    continue;
                }
                const std::size_t place = at(c * columns_ + j);
                SplitRule own = rule;
                if (limits_.monotone != nullptr) {
                    own.direction = limits_.monotone[j];
                    own.low = nodes[c]->low;
                    own.high = nodes[c]->high;
                }
                if (limits_.is_by_set(j)) {
                    const CategoryCut found = category_cut(*nodes[c], views[c], own, j);
                    arena.cuts[place] = found.cut;
                    arena.found_sets[place] = found.set;
                    continue;
                }
                arena.cuts[place] = best_cut(views[c], own, entries);
            }
        });
        for (Index c = 0; c < many; ++c) {
            if (nodes[c]->is_open) {
                settle(arena, *nodes[c], c * columns_);
            }
        }
    }

    [[nodiscard]] std::uint8_t category_at(const Node& node, Index place, Index feature) const noexcept {
        return category_of(value_at(x_, static_cast<Index>(rows_.rows_of(node)[place]), feature));
    }

    [[nodiscard]] CategoryCut category_cut(const Node& node, const SplitView& view, const SplitRule& rule,
                                           Index j) const {
        const ScratchArray<std::uint8_t> codes(view.count);
        const ScratchArray<TreeEntry> entries(view.count);
        for (Index i = 0; i < view.count; ++i) {
            codes[i] = category_at(node, node.start + i, j);
        }
        return best_set(view, rule, node.start, codes.get(), entries.get());
    }

    /// Compares columns in order.
    void settle(Arena& arena, Node& node, Index first) const {
        const TreeCut* const cuts = arena.cuts.data() + first;
        double bar = -std::numeric_limits<double>::infinity();
        for (Index j = 0; j < columns_; ++j) {
            if (cuts[j].is_found() && cuts[j].gain > bar) {
                node.feature = j;
                node.cut = cuts[j];
                bar = cuts[j].gain + beyond_rounding(cuts[j].gain, node.scale);
            }
        }
        node.is_open = node.feature >= 0 && rows_.is_enough(node.cut.gain, total_weight_);
        if (node.is_open && limits_.is_by_set(node.feature)) {
            node.set = static_cast<Index>(arena.sets.size());
            arena.sets.push_back(arena.found_sets[at(first + node.feature)]);
        } else if (node.is_open) {
            node.threshold = middle_of(node);
        }
    }

    [[nodiscard]] double middle_of(const Node& node) const noexcept {
        if (entries_of(node, node.feature)[node.cut.known].rank == kMissingRank) {
            return std::numeric_limits<double>::infinity();
        }
        const double low = value_of(node, node.feature, node.cut.known - 1);
        const double high = value_of(node, node.feature, node.cut.known);
        const double middle = low / 2.0 + high / 2.0;
        return middle >= low && middle < high ? middle : low;
    }

    /// Gives the places of a node to its children, searches them, and adds both to the arena.
    void split(Arena& arena, Index number, bool in_parallel) {
        const Node parent = arena.nodes[at(number)];
        const TreeEntry* const own = entries_of(parent, parent.feature);
        const Index count = parent.count();
        const Index missing = count_missing(own, count);
        for (Index i = 0; i < count; ++i) {
            bool is_left = i < parent.cut.known;
            if (i >= count - missing) {
                is_left = parent.cut.missing_left;
            } else if (parent.set >= 0) {
                is_left = arena.sets[at(parent.set)].has(category_at(parent, own[i].place, parent.feature));
            }
            places_[own[i].place] = is_left ? 0U : 1U;
        }
        const Index lefts = parent.cut.known + (parent.cut.missing_left ? missing : 0);
        const Index middle = parent.start + lefts;
        rows_.move(parent, middle, places_.get());
        arena.nodes[at(number)].missing_left = missing > 0 ? parent.cut.missing_left : lefts > count - lefts;
        rows_.add_children(arena, number, middle);
        const Index first = arena.nodes[at(number)].left;
        Node* const children[2] = {&arena.nodes[at(first)], &arena.nodes[at(first + 1)]};
        if (children[0]->is_open || children[1]->is_open) {
            deal(parent, middle, in_parallel);
            choose(arena, children, 2, in_parallel);
        }
    }

    void deal(const Node& parent, Index middle, bool in_parallel) const {
        for_columns(in_parallel, [&](Index j) {
            const TreeEntry* const from = entries_of(parent, j);
            TreeEntry* const to = entries_[(parent.depth + 1) % 2].get() + j * count_;
            Index left = parent.start;
            Index right = middle;
            for (Index i = 0; i < parent.count(); ++i) {
                const std::uint32_t place = places_[from[i].place];
                const bool is_right = static_cast<Index>(place) >= middle;
                to[is_right ? right : left] = {from[i].rank, place};
                right += is_right ? 1 : 0;
                left += is_right ? 0 : 1;
            }
        });
    }

    void grow_best_first(Arena& arena) {
        using Ranked = std::pair<double, Index>;
        const auto after = [](const Ranked& a, const Ranked& b) {
            return a.first != b.first ? a.first < b.first : a.second > b.second;
        };
        std::priority_queue<Ranked, std::vector<Ranked>, decltype(after)> open(after);
        const auto offer = [&](Index number) {
            if (arena.nodes[at(number)].is_open) {
                open.emplace(arena.nodes[at(number)].cut.gain, number);
            }
        };
        offer(0);
        for (Index leaves = 1; leaves < limits_.leaves && !open.empty(); ++leaves) {
            const Index number = open.top().second;
            open.pop();
            split(arena, number, arena.nodes[at(number)].count() * columns_ > kTogether);
            offer(arena.nodes[at(number)].left);
            offer(arena.nodes[at(number)].right);
        }
        for (Node& node : arena.nodes) {
            node.is_open = false;
        }
    }

    /// Large nodes one after the other, with all threads on their columns; then what is below small ones, a thread
    /// each.
    void grow_depth_first(Arena& arena) {
        std::vector<Index> small;
        for (Index number = 0; number < static_cast<Index>(arena.nodes.size()); ++number) {
            const Node& node = arena.nodes[at(number)];
            if (!node.is_open) {
                continue;
            }
            if (node.count() * columns_ > kTogether) {
                split(arena, number, true);
            } else {
                small.push_back(number);
            }
        }
        std::vector<Arena> below(small.size());
        parallel_for(static_cast<Index>(small.size()), [&](Index k) {
            Arena& own = below[at(k)];
            own.nodes.push_back(arena.nodes[at(small[at(k)])]);
            if (own.nodes[0].set >= 0) {
                own.sets.push_back(arena.sets[at(own.nodes[0].set)]);
                own.nodes[0].set = 0;
            }
            own.values.resize(at(y_.width));
            for (Index number = 0; number < static_cast<Index>(own.nodes.size()); ++number) {
                if (own.nodes[at(number)].is_open) {
                    split(own, number, false);
                }
            }
        });
        for (std::size_t k = 0; k < small.size(); ++k) {
            const Index shift = static_cast<Index>(arena.nodes.size()) - 1;
            const auto sets = static_cast<Index>(arena.sets.size());
            arena.sets.insert(arena.sets.end(), below[k].sets.begin(), below[k].sets.end());
            for (std::size_t i = 0; i < below[k].nodes.size(); ++i) {
                Node node = below[k].nodes[i];
                if (node.left >= 0) {
                    node.left += shift;
                    node.right += shift;
                }
                node.set += node.set >= 0 ? sets : 0;
                if (i == 0) {
                    arena.nodes[at(small[k])] = node;
                } else {
                    arena.nodes.push_back(node);
                }
            }
            arena.values.insert(arena.values.end(), below[k].values.begin() + y_.width, below[k].values.end());
        }
    }

    /// Every cut of the root between different values.
    [[nodiscard]] std::vector<std::pair<Index, TreeCut>> all_cuts() const {
        std::vector<std::pair<Index, TreeCut>> cuts;
        for (Index j = 0; j < columns_; ++j) {
            const TreeEntry* const entries = entries_[0].get() + j * count_;
            const bool has_missing = count_missing(entries, count_) > 0;
            for (Index i = 1; i < count_; ++i) {
                if (entries[i].rank == entries[i - 1].rank) {
                    continue;
                }
                cuts.push_back({j, {0.0, i, false}});
                if (has_missing && entries[i].rank != kMissingRank) {
                    cuts.push_back({j, {0.0, i, true}});
                }
            }
        }
        return cuts;
    }

    const TreeTable& x_;
    const TreeTargets& y_;
    const TreeLimits& limits_;
    Index columns_;
    std::vector<std::uint32_t> used_;
    Index count_;
    std::vector<double> weights_;
    TreeRows rows_;
    ScratchArray<TreeEntry> entries_[2];
    ScratchArray<std::uint32_t> places_;
    Index distinct_ = 0;
    double total_weight_ = 0.0;
};

}  // namespace

GrownTree grow_tree(const TreeTable& x, const TreeTargets& y, const TreeLimits& limits) {
    if (limits.is_random) {  // nothing needs to be sorted
        return grow_drawn_tree(x, y, limits);
    }
    const Effort effort(64.0 * static_cast<double>(x.rows()) * static_cast<double>(x.columns()));
    return Grower(x, y, limits).grow();
}

SortedTable::SortedTable(const TreeTable& x) : table(x), entries(at(x.rows() * x.columns())) {
    const Effort effort(64.0 * static_cast<double>(x.rows()) * static_cast<double>(x.columns()));
    std::vector<std::uint32_t> rows(at(x.rows()));
    std::iota(rows.begin(), rows.end(), 0U);
    sort_columns(x, rows.data(), x.rows(), entries.data());
}
SortedTable::SortedTable(SortedTable&&) noexcept = default;
SortedTable::~SortedTable() = default;

GrownTree grow_tree(const SortedTable& x, const TreeTargets& y, const TreeLimits& limits) {
    const Effort effort(16.0 * static_cast<double>(x.table.rows()) * static_cast<double>(x.table.columns()));
    return Grower(x.table, y, limits, x.entries.data()).grow();
}

double least_impurity(const TreeTable& x, const TreeTargets& y, Index depth, Index most) {
    const TreeLimits limits{depth, 2, 1, 0.0, 0.0, 0, x.columns(), false, 0};
    const Effort effort(32.0 * static_cast<double>(x.rows()) * static_cast<double>(x.columns()));
    Grower grower(x, y, limits);
    return grower.least(depth, most) * unit_of(y) / grower.total_weight();
}

}  // namespace qed
