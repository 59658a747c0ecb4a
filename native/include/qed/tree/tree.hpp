/// Decision trees: grown greedily from columns that are sorted once, and followed from root to leaf.
///
/// Layout: every column is kept as entries (rank, place) in the order of its values; a node owns the places [start,
/// stop) and, in each column, the entries of the same range. A split renumbers the places of the node so that those of
/// each child are contiguous, and deals the entries out stably: targets are then read from memory as small as the node.
/// Entries and rows lie in two copies that take turns by depth. Memory: 16 bytes for each row and column, about 64 for
/// each row. Determinism: columns are searched one by one and compared in order; of equally good cuts the first column
/// and the lowest threshold are taken, where "equally" allows for the rounding of sums, so that neither the number of
/// threads nor the order of the rows changes the tree. What is random depends on the seed, the path to the node and the
/// column.
#pragma once

#include <cstdint>
#include <vector>

#include "qed/machine/matrix.hpp"
#include "qed/sparse/sparse.hpp"

namespace qed {

enum class Criterion : std::uint8_t { gini, entropy, misclassification, squared, poisson, absolute };

/// The columns of a table, dense or compressed; `by_columns` holds a row for each column of the table.
struct TreeTable {
    Matrix dense;
    SparseRows by_columns;
    bool is_sparse = false;

    [[nodiscard]] Index rows() const noexcept { return is_sparse ? by_columns.columns : dense.rows; }
    [[nodiscard]] Index columns() const noexcept { return is_sparse ? by_columns.rows : dense.columns; }
};

struct TreeTargets {
    Criterion criterion;
    Index width;            ///< classes, or numbers a row
    const double* numbers;  ///< rows × width, or null for classes
    const Index* codes;     ///< a class for each row, or null for numbers
    const double* weights;  ///< >= 0; null for ones
};

struct TreeLimits {
    Index depth;         ///< most splits above a leaf
    Index split;         ///< fewest rows of a node that is split
    Index leaf;          ///< fewest rows of a leaf
    double leaf_weight;  ///< least weight of a leaf
    double decrease;     ///< least decrease of the impurity, as a share of all weight
    Index leaves;        ///< most leaves, best first; 0 for any number, depth first
    Index features;      ///< columns to look at for a split
    bool is_random;      ///< one random threshold a column instead of all
    std::uint64_t seed;
    const std::int8_t* monotone = nullptr;  ///< by column 1, -1 or 0: values rise, fall or are free; null: all are free
    const std::uint8_t* by_category =
        nullptr;  ///< by column whether it holds categories, from 0 to 254; null: none does

    [[nodiscard]] bool is_by_set(Index column) const noexcept {
        return by_category != nullptr && by_category[column] != 0;
    }
};

/// Nodes in the order of a walk that goes left first; leaves have children of -1.
struct GrownTree {
    std::vector<Index> left, right, feature, rows;
    std::vector<double> threshold, impurity, weight, values;  ///< values: width a node
    std::vector<std::uint8_t> missing_left;
    std::vector<Index> by_set;        ///< nodes that ask whether a category is in a set
    std::vector<std::uint32_t> sets;  ///< sixteen words for each: categories that go left, and those that it has met
    bool all_distinct = false;        ///< whether some column tells all rows apart
};

GrownTree grow_tree(const TreeTable& x, const TreeTargets& y, const TreeLimits& limits);

struct TreeEntry;

/// The sorted columns of all rows of a table, made once for many trees that are grown on it. The table must outlive it.
struct SortedTable {
    TreeTable table;
    std::vector<TreeEntry> entries;  ///< column after column; a place is a row

    explicit SortedTable(const TreeTable& x);
    SortedTable(SortedTable&&) noexcept;
    ~SortedTable();
};

/// The same tree as that of the table: rows without weight are passed over.
GrownTree grow_tree(const SortedTable& x, const TreeTargets& y, const TreeLimits& limits);

/// The least weighted impurity, as a share of all weight, that a tree of depth one or two can leave; NaN if there are
/// more than `most` steps to search.
double least_impurity(const TreeTable& x, const TreeTargets& y, Index depth, Index most);

/// The impurity, as a share of all weight, within groups of rows that agree in all columns: no tree leaves less.
double contradictions(const TreeTable& x, const TreeTargets& y);

/// A node as it is followed: 16 bytes, children side by side. Leaves lead to themselves.
struct PackedNode {
    double threshold;
    std::uint32_t feature;  ///< the highest bit says that missing values go left
    std::int32_t left;      ///< from here to the left child
};

struct TreeNodes {
    Index count;
    Index columns;
    const Index* left;
    const Index* right;
    const Index* feature;
    const double* threshold;
    const std::uint8_t* missing_left;
};

/// Lays nodes out level by level; `origin` says which node stands where. False if the children are not those of one
/// tree.
bool pack_tree(const TreeNodes& nodes, PackedNode* packed, std::uint32_t* origin);

/// The leaf of each row. Indices of `packed` are trusted: they come from pack_tree.
void find_leaves(const Matrix& x, const PackedNode* packed, const std::uint32_t* origin, Index* leaves);
void find_leaves(const SparseRows& x, const PackedNode* packed, const std::uint32_t* origin, Index* leaves);

}  // namespace qed
