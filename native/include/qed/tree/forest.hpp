/// Many trees over the same columns, each grown on rows of its own drawing.
///
/// Columns are ranked and binned once. At a node with more than kSortedRows rows the cuts between bins of a column are
/// compared, at a smaller one all cuts between its values; thresholds always lie midway between two values of the node.
/// Determinism: what is drawn depends on the seed, the number of the tree, the path to the node and the column; a tree
/// is grown by one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "qed/tree/ranks.hpp"
#include "qed/tree/tree.hpp"

namespace qed {

inline constexpr Index kSortedRows = 64;  ///< below, comparing all rows is cheaper than going through all bins

struct ForestRules {
    Index first;    ///< number of the first tree
    Index trees;    ///< how many
    Index draws;    ///< rows drawn for each tree, with replacement; 0: all rows once
    bool balances;  ///< whether classes are given equal weight within the rows of each tree
    std::uint64_t seed;
};

/// Nodes in the order of a walk that goes left first: a left child follows its parent.
struct ForestTree {
    std::vector<std::int32_t> feature;       ///< by node; -1 for leaves
    std::vector<double> threshold;           ///< by inner node
    std::vector<std::uint8_t> missing_left;  ///< by inner node
    std::vector<double> values;              ///< by leaf, width of them: weights of classes, or what is predicted
    std::vector<double> weight;              ///< by leaf
    std::vector<double> importance;          ///< by column: decrease of impurity, as a share of all weight
    std::vector<Index> by_set;               ///< inner nodes that ask whether a category is in a set
    std::vector<std::uint32_t> sets;         ///< sixteen words for each
    std::vector<std::int32_t> leaf;          ///< by row of the table, where the tree has seen all of them: its leaf
};

/// `share` of a row: its weight in the drawing (null for equal ones). Weights of the targets multiply what is drawn.
std::vector<ForestTree> grow_forest(const RankedTable& x, const TreeTargets& y, const double* share,
                                    const TreeLimits& limits, const ForestRules& rules);

/// One tree of all rows whose thresholds are drawn, with all that is known of its nodes; one thread grows it.
GrownTree grow_drawn_tree(const TreeTable& x, const TreeTargets& y, const TreeLimits& limits);

/// The seed of a tree, and how often each row is drawn for it.
std::uint64_t seed_of_tree(std::uint64_t seed, Index tree) noexcept;
void draw_rows(std::uint64_t seed, Index draws, const double* cumulated, Index count, std::uint32_t* times);

/// Trees as they are stored: nodes of all trees in the order of a walk that goes left first.
struct ForestNodes {
    Index columns, trees, nodes, inner, in_sets;
    const Index* sizes;                 ///< nodes of each tree
    const std::int32_t* feature;        ///< by node; negative for leaves
    const double* threshold;            ///< by inner node
    const std::uint8_t* missing_left;   ///< by inner node
    const Index* by_set;                ///< inner nodes that ask whether a category is in a set, rising
    const std::uint32_t* sets;          ///< sixteen words for each
};

/// Trees as they are followed. Children lie in pairs; the pair of the child with the larger branch follows its own pair,
/// so that most steps stay within a line of the cache. A leaf leads to itself; its threshold is no number, and holds the
/// number of the leaf among those of all trees.
struct PackedForest {
    Index columns = 0;
    Index width = 0;  ///< numbers a leaf
    Index leaves = 0;
    int levels = 1;   ///< that rows go down before it is asked which have arrived
    std::unique_ptr<PackedNode[]> all_nodes;
    std::vector<Index> starts;        ///< first packed node of each tree, and their number
    std::vector<std::uint32_t> sets;  ///< sixteen words for each node that looks at categories

    [[nodiscard]] Index trees() const noexcept { return static_cast<Index>(starts.size()) - 1; }
    [[nodiscard]] PackedNode* nodes(Index tree) const noexcept { return all_nodes.get() + starts.data()[tree]; }
    [[nodiscard]] Index nodes_of(Index tree) const noexcept {
        const Index* const first = starts.data() + tree;
        return first[1] - first[0];
    }
};

/// Checks nodes that may come from a file, and lays them out; returns what is wrong with them, or null.
const char* pack_forest(const ForestNodes& nodes, PackedForest& forest);
/// The number of a packed leaf among those of all trees.
Index leaf_number(const PackedNode& leaf) noexcept;

/// What is added up: width numbers of the leaf of each tree, into column tree % groups of rows × groups × width. Rows
/// that were drawn for a tree are passed over where `bags` is not null (a bit for each row, trees one after the other).
struct ForestSum {
    const double* values;
    Index groups;
    const std::uint8_t* bags;
    Index bag_bytes;
};
void add_leaves(const PackedForest& forest, const Matrix& x, const ForestSum& sum, double* out);
void add_leaves(const PackedForest& forest, const SparseRows& x, const ForestSum& sum, double* out);
/// The leaf of each row in each tree, by its number within all trees.
void apply_forest(const PackedForest& forest, const Matrix& x, std::int32_t* leaves);
void apply_forest(const PackedForest& forest, const SparseRows& x, std::int32_t* leaves);

}  // namespace qed
