/// The rows of a boosted fit, or some of them: dealt out to the nodes of the tree that grows.
///
/// Ownership: arrays with an entry for each row belong to whoever calls, and may lie in a file that is mapped; this holds
/// where the rows of each node are. Order: within a node, rows stay in the order of the table. Determinism: sums over bins
/// are whole numbers, so that those of all rows are those of their parts, added in any order.
#pragma once

#include <cstdint>
#include <vector>

#include "qed/tree/boost.hpp"
#include "qed/tree/boost_sums.hpp"

namespace qed {

/// Arrays of the rows of a part.
struct BoostArrays {
    BinsView bins;
    BoostRows given;
    std::int64_t* words;       ///< two a row
    std::uint32_t* order[2];   ///< rows of nodes of even and of odd depth
};

/// How the rows of a node are parted.
struct Division {
    Index node, left, right;      ///< the children are new
    Index filled;                 ///< the child whose histogram is wanted; -1 for neither
    Index feature;
    std::uint8_t right_of[kPlaces];  ///< by bin: 1 if it goes right
};

class BoostPart {
  public:
    /// Rounds slopes and curvatures, and puts all rows into node 0; returns the sum of all rows.
    Sums start(const BoostArrays& arrays, const BoostScale& scale);

    /// Sums over the rows of a part, as they were rounded at the start.
    [[nodiscard]] BoostSums sums(const BoostArrays& arrays) const { return {arrays.bins, scale_, arrays.words}; }

    /// Deals the rows of a node out to its children; fills the histogram of one, if that is wanted.
    void divide(const BoostArrays& arrays, const Division& division, Sums* histogram);

    /// Adds up slopes and curvatures of the rows of nodes, in their order.
    void leaf_sums(const BoostArrays& arrays, const std::vector<Index>& nodes, double* slopes, double* curvatures) const;

    /// Adds the values of nodes to the scores of their rows, `stride` numbers apart.
    void add(const BoostArrays& arrays, const std::vector<Index>& nodes, const double* values, double* scores,
             Index stride) const;

    /// Numbers the rows of nodes by the place of the node in the list.
    void mark(const BoostArrays& arrays, const std::vector<Index>& nodes, std::int32_t* leaf) const;

  private:
    struct Range {
        Index start = 0, stop = 0, side = 0;
        [[nodiscard]] Index count() const noexcept { return stop - start; }
    };
    template <class Work>
    void for_nodes(const BoostArrays& arrays, const std::vector<Index>& nodes, const Work& work) const;

    BoostScale scale_;
    std::vector<Range> ranges_;  ///< by node
};

}  // namespace qed
