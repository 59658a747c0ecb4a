#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "qed/dense/numbers.hpp"
#include "qed/machine/parallel.hpp"
#include "qed/tree/descend.hpp"
#include "qed/tree/forest.hpp"

namespace qed {
namespace {

// Trees of at most so many levels are gone down by all lanes together, however early some arrive. Tuned on one machine,
// in CPU time: bushy trees of 6 levels 29 -> 23 ms, of 7 15 -> 13; boosted ones of 31 leaves lose, 23 -> 28 at 8 levels
// and 24 -> 33 at 10.
constexpr int kMaxLevelsWithoutLook = 8;
constexpr std::uint64_t kNoNumber = 0x7FF8000000000000U;  // its lower bits are free

/// A tree among those that are stored: its first node, inner node and leaf.
struct Place {
    Index node, inner, leaf;
};

/// A branch that waits to be laid out: its first node, its nodes, the inner ones before it, its place, and its depth.
struct Branch {
    Index node, size, inners, place;
    int depth;
};

/// Counts the nodes of each left branch, from the last node to the first.
const char* count_lefts(const std::int32_t* feature, Index count, Index columns, std::vector<std::int32_t>& lefts) {
    lefts.assign(at(count), 0);
    std::vector<std::int32_t> sizes;  // of the branches behind a node, the nearest one last
    for (Index i = count - 1; i >= 0; --i) {
        if (feature[i] >= columns) {
            return "a node looks at a column that is not there";
        }
        if (feature[i] < 0) {
            sizes.push_back(1);
            continue;
        }
        if (sizes.size() < 2) {
            return "a tree ends before all its branches do";
        }
        lefts[at(i)] = sizes.back();
        sizes.pop_back();
        sizes.back() += lefts[at(i)] + 1;
    }
    return sizes.size() == 1 ? nullptr : "nodes follow the end of a tree";
}

/// Lays out the nodes of one tree.
class TreePacker {
  public:
    /// `set_of` by inner node of all trees: one more than the number of its set, or zero.
    TreePacker(const ForestNodes& nodes, const Place& first, const std::vector<std::uint32_t>& set_of, PackedNode* to)
        : nodes_(nodes), first_(first), set_of_(set_of), to_(to) {}

    const char* pack(Index count) {
        if (const char* const fault = count_lefts(nodes_.feature + first_.node, count, nodes_.columns, lefts_)) {
            return fault;
        }
        std::vector<Branch> waiting{{0, count, 0, 0, 0}};
        while (!waiting.empty()) {
            const Branch branch = waiting.back();
            waiting.pop_back();
            lay(branch, waiting);
        }
        return fault_;
    }
    [[nodiscard]] int depth() const noexcept { return depth_; }

  private:
    /// Writes the node at the top of a branch; of the branches below it the larger one is next.
    void lay(const Branch& branch, std::vector<Branch>& waiting) {
        const std::int32_t feature = nodes_.feature[first_.node + branch.node];
        PackedNode& node = to_[branch.place];
        if (feature < 0) {
            // nothing is at most a threshold that is no number: the way is to the right, which is here
            const auto leaf = static_cast<std::uint64_t>(first_.leaf + branch.node - branch.inners);
            node = {std::bit_cast<double>(kNoNumber | leaf), 0, -1};
            depth_ = std::max(depth_, branch.depth);
            return;
        }
        const Index own = first_.inner + branch.inners;
        if (std::isnan(nodes_.threshold[own])) {
            fault_ = "a threshold is not a number";
        }
        node = {nodes_.threshold[own],
                static_cast<std::uint32_t>(feature) | (nodes_.missing_left[own] != 0 ? kMissingLeft : 0U),
                static_cast<std::int32_t>(filled_ - branch.place)};
        if (!set_of_.empty() && set_of_[at(own)] > 0) {
            node.threshold = static_cast<double>(set_of_[at(own)] - 1);
            node.feature |= kByCategory;
        }
        const Index lefts = lefts_[at(branch.node)];
        const int depth = branch.depth + 1;
        const Branch left{branch.node + 1, lefts, branch.inners + 1, filled_, depth};
        const Branch right{branch.node + 1 + lefts, branch.size - 1 - lefts, branch.inners + 1 + lefts / 2, filled_ + 1,
                           depth};
        filled_ += 2;
        const bool is_left_larger = left.size >= right.size;
        waiting.push_back(is_left_larger ? right : left);
        waiting.push_back(is_left_larger ? left : right);
    }

    const ForestNodes& nodes_;
    Place first_;
    const std::vector<std::uint32_t>& set_of_;
    PackedNode* to_;
    std::vector<std::int32_t> lefts_;
    Index filled_ = 1;
    int depth_ = 0;
    const char* fault_ = nullptr;
};

}  // namespace

Index leaf_number(const PackedNode& leaf) noexcept {
    return static_cast<Index>(std::bit_cast<std::uint64_t>(leaf.threshold) & ~kNoNumber);
}

const char* pack_forest(const ForestNodes& nodes, PackedForest& forest) {
    if (nodes.trees < 1 || nodes.nodes >= std::numeric_limits<std::int32_t>::max()) {
        return "an ensemble has trees, and fewer than 2^31 nodes";
    }
    std::vector<Place> places;
    Place next{0, 0, 0};
    forest.starts.assign(1, 0);
    for (Index tree = 0; tree < nodes.trees; ++tree) {
        const Index count = nodes.sizes[tree];
        if (count < 1 || count > nodes.nodes - next.node) {
            return "the sizes of the trees do not add up";
        }
        places.push_back(next);
        const auto leaves = std::count_if(nodes.feature + next.node, nodes.feature + next.node + count,
                                          [](std::int32_t feature) { return feature < 0; });
        next = {next.node + count, next.inner + count - leaves, next.leaf + leaves};
        forest.starts.push_back(next.node);
    }
    if (next.inner > nodes.inner) {
        return "there are fewer thresholds than inner nodes";
    }
    std::vector<std::uint32_t> set_of(nodes.in_sets > 0 ? at(nodes.inner) : 0, 0);
    for (Index k = 0; k < nodes.in_sets; ++k) {
        const Index own = nodes.by_set[k];
        if (own < 0 || own >= nodes.inner || (k > 0 && own <= nodes.by_set[k - 1])) {
            return "the nodes that ask about sets are not rising numbers of inner nodes";
        }
        set_of[at(own)] = static_cast<std::uint32_t>(k) + 1;
    }
    if (next.node != nodes.nodes || next.inner != nodes.inner) {
        return "there are more nodes than the trees have";
    }
    forest.columns = nodes.columns;
    forest.leaves = next.leaf;
    forest.sets.assign(nodes.sets, nodes.sets + nodes.in_sets * 16);
    forest.all_nodes = std::make_unique_for_overwrite<PackedNode[]>(at(nodes.nodes));
    std::vector<const char*> faults(at(nodes.trees), nullptr);
    std::vector<int> depths(at(nodes.trees), 0);
    const Effort effort(64.0 * static_cast<double>(nodes.nodes));
    parallel_for(nodes.trees, [&](Index tree) {
        TreePacker packer(nodes, places[at(tree)], set_of, forest.nodes(tree));
        faults[at(tree)] = packer.pack(nodes.sizes[tree]);
        depths[at(tree)] = packer.depth();
    });
    const int deepest = *std::max_element(depths.begin(), depths.end());
    forest.levels = deepest <= kMaxLevelsWithoutLook ? std::max(deepest, 1) : kLevelsBetweenLooks;
    const auto found = std::find_if(faults.begin(), faults.end(), [](const char* one) { return one != nullptr; });
    return found == faults.end() ? nullptr : *found;
}

}  // namespace qed
