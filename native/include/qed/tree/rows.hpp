/// The rows of a tree that grows, side by side by node, and what every way of growing does with them.
///
/// Layout: a node owns the places [start, stop); rows, weights and targets lie at their places in two copies that take
/// turns by depth, so that a split moves them stably from one to the other.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "qed/machine/scratch.hpp"
#include "qed/tree/categories.hpp"
#include "qed/tree/node.hpp"
#include "qed/tree/split.hpp"
#include "qed/tree/tree.hpp"

namespace qed {

/// What is drawn depends on numbers mixed from a seed: whoever knows the seed can draw it again.
inline std::uint64_t mixed_bits(std::uint64_t bits) noexcept {
    bits += 0x9E3779B97F4A7C15U;
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9U;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBU;
    return bits ^ (bits >> 31);
}
inline double uniform_of(std::uint64_t bits) noexcept {
    return static_cast<double>(mixed_bits(bits) >> 11) * 0x1p-53;
}
/// The stream from which the threshold of a column is drawn at a node.
inline std::uint64_t column_stream(std::uint64_t seed, Index column) noexcept {
    return mixed_bits(seed ^ mixed_bits(static_cast<std::uint64_t>(column) + 1));
}

struct TreeNode {
    Index start = 0, stop = 0, depth = 0;
    Index left = -1, right = -1;
    Index feature = -1;
    Index set = -1;  ///< number of the categories that go left, where the column holds categories
    TreeCut cut;
    double threshold = 0.0, weight = 0.0, scale = 0.0;
    double low = -std::numeric_limits<double>::infinity();  ///< what the node may predict, where values rise or fall
    double high = std::numeric_limits<double>::infinity();
    std::uint64_t seed = 0;
    bool is_open = false, missing_left = false;

    [[nodiscard]] Index count() const noexcept { return stop - start; }
};

/// Nodes in the order of their making, and width values of each.
struct TreeArena {
    std::vector<TreeNode> nodes;
    std::vector<double> values;
    std::vector<CategorySet> sets;
};

/// The rows that have weight, and their weights; none where all weigh one.
std::vector<std::uint32_t> used_rows(const TreeTargets& y, Index count);
std::vector<double> used_weights(const TreeTargets& y, const std::vector<std::uint32_t>& used);

class TreeRows {
  public:
    /// Memory for trees of at most so many rows, grown one after the other.
    TreeRows(const TreeTargets& y, const TreeLimits& limits, Index most, bool has_weights);
    /// Starts a tree. `weights` by place, or null for ones; whole weights let entropies be looked up.
    void start(const std::uint32_t* rows, Index count, const double* weights, bool is_whole);

    [[nodiscard]] Index count() const noexcept { return count_; }
    [[nodiscard]] std::uint32_t* rows_of(const TreeNode& node) const noexcept {
        return copies_[node.depth % 2].rows.get();
    }
    [[nodiscard]] const double* weights_of(const TreeNode& node) const noexcept {
        return has_weights_ ? copies_[node.depth % 2].weights.get() : nullptr;
    }
    /// Two classes are told apart by the sum of one of them.
    [[nodiscard]] bool by_sum() const noexcept { return y_.criterion == Criterion::gini && y_.width == 2; }

    [[nodiscard]] TreeNode root(TreeArena& arena) const;
    /// Adds the values of a node, and says whether it may be split.
    void describe(TreeArena& arena, TreeNode& node) const;
    /// Sums that a search starts from: weights of classes, or of pulls, added up in the order of the places.
    void find_totals(const TreeArena& arena, const TreeNode* node, std::vector<double>& totals) const;
    [[nodiscard]] SplitView view_of(const TreeNode& node, const double* totals, double mean) const noexcept;
    /// Deals the places of a node to its children, in their order: `sides` holds 0 or 1 by place, and then new places.
    void move(const TreeNode& parent, Index middle, std::uint32_t* sides) const;
    /// Makes the children of a node whose rows have been moved, and describes them.
    void add_children(TreeArena& arena, Index number, Index middle) const;
    /// What a node predicts before limits: its number, or the share of the second class.
    [[nodiscard]] double value_of(const TreeArena& arena, Index number) const noexcept;
    /// The nodes of a grown tree, in the order of a walk that goes left first.
    [[nodiscard]] GrownTree written(const TreeArena& arena) const;
    /// Whether a gain is large enough, of all weight.
    [[nodiscard]] bool is_enough(double gain, double total_weight) const noexcept;

  private:
    struct Copy {
        ScratchArray<std::uint32_t> rows, codes;
        ScratchArray<double> weights, numbers;
    };
    [[nodiscard]] bool is_absolute() const noexcept { return y_.criterion == Criterion::absolute; }
    [[nodiscard]] Copy make_copy(Index most) const;
    void pull(const TreeNode& node, const NodeRows& rows, const double* values) const;

    const TreeTargets& y_;
    const TreeLimits& limits_;
    Index count_ = 0;
    bool has_weights_;
    Copy copies_[2];
    ScratchArray<double> pulls_;
    ScratchArray<std::uint32_t> order_;
    ScratchArray<double> sorted_;
    std::vector<double> xlogx_;
    bool is_uneven_ = false;
};

/// Visits the nodes in the order of a walk that goes left first: visit(number, parent as visited, is_right).
template <class Visit>
void walk_left_first(const std::vector<TreeNode>& nodes, const Visit& visit) {
    struct Step {
        Index number, parent;
        bool is_right;
    };
    std::vector<Step> stack{{0, -1, false}};
    for (Index here = 0; !stack.empty(); ++here) {
        const Step step = stack.back();
        stack.pop_back();
        const TreeNode& node = nodes[static_cast<std::size_t>(step.number)];
        visit(step.number, step.parent, step.is_right);
        if (node.left >= 0) {
            stack.push_back({node.right, here, true});
            stack.push_back({node.left, here, false});
        }
    }
}

}  // namespace qed
