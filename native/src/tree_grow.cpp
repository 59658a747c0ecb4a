#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

#include "qed/numbers.hpp"
#include "qed/parallel.hpp"
#include "qed/scratch.hpp"
#include "qed/tree.hpp"
#include "qed/tree_columns.hpp"
#include "qed/tree_node.hpp"
#include "qed/tree_split.hpp"

namespace qed {
namespace {

constexpr Index kTogether = Index{1} << 17;  // entries of a node above which all threads work on it
constexpr double kEven = 16.0;  // weights of so many to one cost sums the four digits that they have to spare

std::uint64_t mixed(std::uint64_t bits) noexcept {
    bits += 0x9E3779B97F4A7C15U;
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9U;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBU;
    return bits ^ (bits >> 31);
}
double uniform(std::uint64_t bits) noexcept {
    return static_cast<double>(mixed(bits) >> 11) * 0x1p-53;
}

struct Node {
    Index start = 0, stop = 0, depth = 0;
    Index left = -1, right = -1;
    Index feature = -1;
    TreeCut cut;
    double threshold = 0.0, weight = 0.0, scale = 0.0;
    std::uint64_t seed = 0;
    bool is_open = false, missing_left = false;

    [[nodiscard]] Index count() const noexcept { return stop - start; }
};

/// Nodes in the order of their making, and width values of each; and what a search of two children works with.
struct Arena {
    std::vector<Node> nodes;
    std::vector<double> values;
    std::vector<TreeCut> cuts;
    std::vector<double> thresholds;
    std::vector<double> totals[2];
    std::vector<std::uint8_t> chosen[2];
};

/// What differs between the two copies of the rows, which take turns by depth.
struct Copy {
    ScratchArray<TreeEntry> entries;
    ScratchArray<std::uint32_t> rows, codes;
    ScratchArray<double> weights, numbers;
};

class Grower {
  public:
    Grower(const TreeTable& x, const TreeTargets& y, const TreeLimits& limits)
        : x_(x),
          y_(y),
          limits_(limits),
          columns_(x.columns()),
          used_(used_rows(x, y)),
          count_(static_cast<Index>(used_.size())),
          copies_{make_copy(), make_copy()},
          pulls_(y.codes != nullptr && !by_sum() ? 1 : count_ * y.width),
          places_(count_),
          order_(is_absolute() ? count_ : 1),
          sorted_(is_absolute() ? count_ : 1) {
        const Copy& first = copies_[0];
        std::copy(used_.begin(), used_.end(), first.rows.get());
        for (Index i = 0; i < count_; ++i) {
            const auto row = static_cast<Index>(used_[at(i)]);
            if (y.weights != nullptr) {
                first.weights[i] = y.weights[row];
            }
            if (y.codes != nullptr) {
                first.codes[i] = static_cast<std::uint32_t>(y.codes[row]);
            } else {
                std::copy_n(y.numbers + row * y.width, y.width, first.numbers.get() + i * y.width);
            }
        }
        if (y.weights != nullptr && count_ > 0) {
            const auto [least, most] = std::minmax_element(first.weights.get(), first.weights.get() + count_);
            is_uneven_ = *most > kEven * *least;
        }
        distinct_ = sort_columns(x, first.rows.get(), count_, first.entries.get());
        if (y.criterion == Criterion::entropy && y.weights == nullptr) {
            xlogx_.resize(at(count_ + 1), 0.0);
            for (Index k = 2; k <= count_; ++k) {
                xlogx_[at(k)] = static_cast<double>(k) * std::log(static_cast<double>(k));
            }
        }
    }

    GrownTree grow() {
        Arena arena;
        add_root(arena);
        limits_.leaves > 0 ? grow_best_first(arena) : grow_depth_first(arena);
        return written(arena);
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
    static std::vector<std::uint32_t> used_rows(const TreeTable& x, const TreeTargets& y) {
        std::vector<std::uint32_t> used;
        used.reserve(at(x.rows()));
        for (Index i = 0; i < x.rows(); ++i) {
            if (y.weights == nullptr || y.weights[i] > 0.0) {
                used.push_back(static_cast<std::uint32_t>(i));
            }
        }
        return used;
    }
    [[nodiscard]] bool is_absolute() const noexcept { return y_.criterion == Criterion::absolute; }
    /// Two classes are told apart by the sum of one of them.
    [[nodiscard]] bool by_sum() const noexcept { return y_.criterion == Criterion::gini && y_.width == 2; }

    [[nodiscard]] Copy make_copy() const {
        const bool has_classes = y_.codes != nullptr;
        return {ScratchArray<TreeEntry>(count_ * columns_), ScratchArray<std::uint32_t>(count_),
                ScratchArray<std::uint32_t>(has_classes ? count_ : 1),
                ScratchArray<double>(y_.weights != nullptr ? count_ : 1),
                ScratchArray<double>(has_classes ? 1 : count_ * y_.width)};
    }
    [[nodiscard]] const Copy& copy_of(const Node& node) const noexcept { return copies_[node.depth % 2]; }
    [[nodiscard]] const TreeEntry* entries_of(const Node& node, Index feature) const noexcept {
        return copy_of(node).entries.get() + feature * count_ + node.start;
    }
    [[nodiscard]] double value_of(const Node& node, Index feature, Index entry) const noexcept {
        const std::uint32_t place = entries_of(node, feature)[entry].place;
        return value_at(x_, static_cast<Index>(copy_of(node).rows[place]), feature);
    }

    void add_root(Arena& arena) {
        Node root;
        root.stop = count_;
        root.seed = mixed(limits_.seed);
        describe(arena, root);
        total_weight_ = root.weight;
        arena.nodes.push_back(root);
        Node* const nodes[1] = {&arena.nodes[0]};
        choose(arena, nodes, 1, count_ * columns_ > kTogether);
    }

    /// Adds the values of a node, and says whether it may be split.
    void describe(Arena& arena, Node& node) {
        const Copy& copy = copy_of(node);
        const std::size_t first = arena.values.size();
        arena.values.resize(first + at(y_.width));
        double* const values = arena.values.data() + first;
        const double* const weights = y_.weights != nullptr ? copy.weights.get() + node.start : nullptr;
        const NodeRows rows{node.count(), weights, copy.codes.get() + (y_.codes != nullptr ? node.start : 0),
                            copy.numbers.get() + (y_.codes != nullptr ? 0 : node.start * y_.width)};
        std::uint32_t* const order = is_absolute() ? order_.get() + node.start : nullptr;
        const NodeSummary found =
            summarise(y_, rows, values, order, is_absolute() ? sorted_.get() + node.start : nullptr);
        for (Index i = node.start; is_absolute() && i < node.stop; ++i) {
            sorted_[i] -= values[0];  // so that sums of them round as errors do, however far from zero they lie
        }
        node.weight = found.weight;
        node.scale = found.scale;
        node.is_open = !found.is_pure && node.depth < limits_.depth &&
                       node.count() >= std::max(limits_.split, 2 * limits_.leaf) &&
                       node.weight >= 2.0 * limits_.leaf_weight;
        if (node.is_open) {
            pull(node, rows, values);
        }
    }

    /// Weighted targets of an open node: classes as they are, numbers about the mean, so that nothing cancels.
    void pull(const Node& node, const NodeRows& rows, const double* values) const {
        const bool is_centred = y_.criterion != Criterion::absolute;
        if (y_.codes != nullptr && !by_sum()) {
            return;
        }
        double* const own = pulls_.get() + node.start * (by_sum() ? 1 : y_.width);
        const Index width = by_sum() ? 1 : y_.width;
        for (Index i = 0; i < rows.count; ++i) {
            const double w = rows.weights != nullptr ? rows.weights[i] : 1.0;
            for (Index k = 0; k < width; ++k) {
                const double number = by_sum() ? static_cast<double>(rows.codes[i])
                                               : rows.numbers[i * width + k] - (is_centred ? values[k] : 0.0);
                own[i * width + k] = w * number;
            }
        }
    }

    [[nodiscard]] SplitView view_of(const Node& node, const double* totals, double mean) const noexcept {
        const Copy& copy = copy_of(node);
        return {.criterion = by_sum() ? Criterion::squared : y_.criterion,
                .width = by_sum() ? 1 : y_.width,
                .count = node.count(),
                .weight = node.weight,
                .totals = totals,
                .mean = mean,
                .scale = node.scale,
                .pulls = pulls_.get(),
                .weights = y_.weights != nullptr ? copy.weights.get() : nullptr,
                .codes = copy.codes.get(),
                .order = order_.get(),
                .targets = sorted_.get() + (is_absolute() ? node.start : 0),
                .xlogx = xlogx_.data(),
                .is_uneven = is_uneven_};
    }

    /// Sums that a search starts from: weights of classes, or of pulls, added up in the order of the places.
    void find_totals(const Arena& arena, const Node* node, std::vector<double>& totals) const {
        const double* const values = arena.values.data() + (node - arena.nodes.data()) * y_.width;
        if (y_.codes != nullptr) {
            totals.assign(values + (by_sum() ? 1 : 0), values + y_.width);
            return;
        }
        totals.assign(at(y_.width), 0.0);
        for (Index i = node->start; i < node->stop; ++i) {
            for (Index k = 0; k < y_.width; ++k) {
                totals[at(k)] += pulls_[i * y_.width + k];
            }
        }
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
            const double share = uniform(node.seed + static_cast<std::uint64_t>(j));
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
        arena.thresholds.resize(limits_.is_random ? at(many * columns_) : 0);
        SplitView views[2] = {};
        for (Index c = 0; c < many; ++c) {
            if (nodes[c]->is_open) {
                find_totals(arena, nodes[c], arena.totals[c]);
                const double mean = arena.values[at((nodes[c] - arena.nodes.data()) * y_.width)];
                views[c] = view_of(*nodes[c], arena.totals[c].data(), mean);
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
                arena.cuts[place] = limits_.is_random ? drawn_cut(*nodes[c], views[c], rule, j, arena.thresholds[place])
                                                      : best_cut(views[c], rule, entries);
            }
        });
        for (Index c = 0; c < many; ++c) {
            if (nodes[c]->is_open) {
                const double* const thresholds = limits_.is_random ? arena.thresholds.data() + c * columns_ : nullptr;
                settle(*nodes[c], arena.cuts.data() + c * columns_, thresholds);
            }
        }
    }

    TreeCut drawn_cut(const Node& node, const SplitView& view, const SplitRule& rule, Index j,
                      double& threshold) const {
        const TreeEntry* const entries = entries_of(node, j);
        const Index known = view.count - count_missing(entries, view.count);
        const std::uint64_t stream = mixed(node.seed ^ mixed(static_cast<std::uint64_t>(j) + 1));
        const double low = value_of(node, j, 0);
        const double high = value_of(node, j, known - 1);
        const double share = uniform(stream);
        threshold = low * (1.0 - share) + high * share;
        threshold = threshold >= low && threshold < high ? threshold : low;
        if (low == high) {  // only missing values differ
            threshold = std::numeric_limits<double>::infinity();
            return one_cut(view, rule, entries, known, false);
        }
        Index left = 1;
        Index right = known;
        while (left < right) {  // entries before `left` are up to the threshold, those from `right` on above it
            const Index middle = left + (right - left) / 2;
            value_of(node, j, middle) <= threshold ? left = middle + 1 : right = middle;
        }
        return one_cut(view, rule, entries, left, known < view.count && (mixed(stream) & 1U) != 0);
    }

    /// Compares columns in order.
    void settle(Node& node, const TreeCut* cuts, const double* thresholds) const {
        double bar = -std::numeric_limits<double>::infinity();
        for (Index j = 0; j < columns_; ++j) {
            if (cuts[j].is_found() && cuts[j].gain > bar) {
                node.feature = j;
                node.cut = cuts[j];
                bar = cuts[j].gain + beyond_rounding(cuts[j].gain, node.scale);
            }
        }
        const double decrease = node.cut.gain * unit_of(y_) / total_weight_;
        node.is_open = node.feature >= 0 && decrease + std::numeric_limits<double>::epsilon() >= limits_.decrease;
        if (node.is_open) {
            node.threshold = thresholds != nullptr ? thresholds[node.feature] : middle_of(node);
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
        Node parent = arena.nodes[at(number)];
        const TreeEntry* const own = entries_of(parent, parent.feature);
        const Index count = parent.count();
        const Index missing = count_missing(own, count);
        for (Index i = 0; i < count; ++i) {
            const bool is_left = i < parent.cut.known || (parent.cut.missing_left && i >= count - missing);
            places_[own[i].place] = is_left ? 0U : 1U;
        }
        const Index lefts = parent.cut.known + (parent.cut.missing_left ? missing : 0);
        const Index middle = parent.start + lefts;
        move_rows(parent, middle);
        parent.missing_left = missing > 0 ? parent.cut.missing_left : lefts > count - lefts;
        parent.left = static_cast<Index>(arena.nodes.size());
        parent.right = parent.left + 1;
        arena.nodes[at(number)] = parent;
        for (const bool is_right : {false, true}) {
            Node child;
            child.start = is_right ? middle : parent.start;
            child.stop = is_right ? parent.stop : middle;
            child.depth = parent.depth + 1;
            child.seed = mixed(2 * parent.seed + (is_right ? 1 : 0));
            describe(arena, child);
            arena.nodes.push_back(child);
        }
        Node* const children[2] = {&arena.nodes[at(parent.left)], &arena.nodes[at(parent.right)]};
        if (children[0]->is_open || children[1]->is_open) {
            deal(parent, middle, in_parallel);
            choose(arena, children, 2, in_parallel);
        }
    }

    /// Numbers the places of both sides anew, in their order, and moves what belongs to them.
    void move_rows(const Node& parent, Index middle) const {
        const Copy& from = copies_[parent.depth % 2];
        const Copy& to = copies_[(parent.depth + 1) % 2];
        Index next[2] = {parent.start, middle};
        for (Index i = parent.start; i < parent.stop; ++i) {
            const Index place = next[places_[i]]++;
            places_[i] = static_cast<std::uint32_t>(place);
            to.rows[place] = from.rows[i];
            if (y_.weights != nullptr) {
                to.weights[place] = from.weights[i];
            }
            if (y_.codes != nullptr) {
                to.codes[place] = from.codes[i];
            } else {
                std::copy_n(from.numbers.get() + i * y_.width, y_.width, to.numbers.get() + place * y_.width);
            }
        }
    }

    void deal(const Node& parent, Index middle, bool in_parallel) const {
        for_columns(in_parallel, [&](Index j) {
            const TreeEntry* const from = entries_of(parent, j);
            TreeEntry* const to = copies_[(parent.depth + 1) % 2].entries.get() + j * count_;
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
            own.values.resize(at(y_.width));
            for (Index number = 0; number < static_cast<Index>(own.nodes.size()); ++number) {
                if (own.nodes[at(number)].is_open) {
                    split(own, number, false);
                }
            }
        });
        for (std::size_t k = 0; k < small.size(); ++k) {
            const Index shift = static_cast<Index>(arena.nodes.size()) - 1;
            for (std::size_t i = 0; i < below[k].nodes.size(); ++i) {
                Node node = below[k].nodes[i];
                if (node.left >= 0) {
                    node.left += shift;
                    node.right += shift;
                }
                if (i == 0) {
                    arena.nodes[at(small[k])] = node;
                } else {
                    arena.nodes.push_back(node);
                }
            }
            arena.values.insert(arena.values.end(), below[k].values.begin() + y_.width, below[k].values.end());
        }
    }

    [[nodiscard]] GrownTree written(const Arena& arena) const {
        GrownTree tree;
        tree.all_distinct = distinct_ == count_;
        const double unit = unit_of(y_);
        struct Visit {
            Index number, parent;
            bool is_right;
        };
        std::vector<Visit> stack{{0, -1, false}};
        while (!stack.empty()) {
            const Visit visit = stack.back();
            stack.pop_back();
            const Node& node = arena.nodes[at(visit.number)];
            const auto here = static_cast<Index>(tree.left.size());
            if (visit.parent >= 0) {
                (visit.is_right ? tree.right : tree.left)[at(visit.parent)] = here;
            }
            const bool is_leaf = node.left < 0;
            tree.left.push_back(-1);
            tree.right.push_back(-1);
            tree.feature.push_back(is_leaf ? -2 : node.feature);
            tree.threshold.push_back(is_leaf ? -2.0 : node.threshold);
            tree.missing_left.push_back(!is_leaf && node.missing_left ? 1 : 0);
            tree.rows.push_back(node.count());
            tree.weight.push_back(node.weight);
            tree.impurity.push_back(node.scale * unit / node.weight);
            for (Index k = 0; k < y_.width; ++k) {
                const double value = arena.values[at(visit.number * y_.width + k)];
                tree.values.push_back(y_.codes != nullptr ? value / node.weight : value);
            }
            if (!is_leaf) {
                stack.push_back({node.right, here, true});
                stack.push_back({node.left, here, false});
            }
        }
        return tree;
    }

    /// Every cut of the root between different values.
    [[nodiscard]] std::vector<std::pair<Index, TreeCut>> all_cuts() const {
        std::vector<std::pair<Index, TreeCut>> cuts;
        for (Index j = 0; j < columns_; ++j) {
            const TreeEntry* const entries = copies_[0].entries.get() + j * count_;
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
    Copy copies_[2];
    ScratchArray<double> pulls_;
    ScratchArray<std::uint32_t> places_, order_;
    ScratchArray<double> sorted_;
    std::vector<double> xlogx_;
    bool is_uneven_ = false;
    Index distinct_ = 0;
    double total_weight_ = 0.0;
};

}  // namespace

GrownTree grow_tree(const TreeTable& x, const TreeTargets& y, const TreeLimits& limits) {
    const Effort effort(64.0 * static_cast<double>(x.rows()) * static_cast<double>(x.columns()));
    return Grower(x, y, limits).grow();
}

double least_impurity(const TreeTable& x, const TreeTargets& y, Index depth, Index most) {
    const TreeLimits limits{depth, 2, 1, 0.0, 0.0, 0, x.columns(), false, 0};
    const Effort effort(32.0 * static_cast<double>(x.rows()) * static_cast<double>(x.columns()));
    Grower grower(x, y, limits);
    return grower.least(depth, most) * unit_of(y) / grower.total_weight();
}

}  // namespace qed
