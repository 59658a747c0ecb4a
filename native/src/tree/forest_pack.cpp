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

constexpr std::uint64_t kNoNumber = 0x7FF8000000000000U;  // its lower bits are free

/// A tree among those that are stored: its first node, inner node and leaf.
struct Place {
    Index node, inner, leaf;
};

/// Follows every node of a tree to its right child, which comes after the whole of the left branch; -1 for leaves.
const char* find_right(const std::int32_t* feature, Index count, Index columns, std::vector<Index>& right) {
    right.assign(at(count), -1);
    std::vector<Index> open;
    bool ends = false;
    for (Index i = 0; i < count; ++i) {
        if (ends) {
            return "nodes follow the end of a tree";
        }
        if (feature[i] >= columns) {
            return "a node looks at a column that is not there";
        }
        if (feature[i] >= 0) {
            open.push_back(i);
            continue;
        }
        while (!open.empty() && right[at(open.back())] >= 0) {
            open.pop_back();
        }
        ends = open.empty();
        if (!ends) {
            right[at(open.back())] = i + 1;
        }
    }
    return ends ? nullptr : "a tree ends before all its branches do";
}

/// Lays out one tree; `set_of` by inner node of all trees: one more than the number of its set, or zero.
const char* pack_one(const ForestNodes& nodes, const Place& place, Index count,
                     const std::vector<std::uint32_t>& set_of, PackedNode* to) {
    const std::int32_t* const feature = nodes.feature + place.node;
    std::vector<Index> right;
    if (const char* const fault = find_right(feature, count, nodes.columns, right)) {
        return fault;
    }
    std::vector<Index> number(at(count));  // among all inner nodes, or among all leaves
    Index inner = place.inner;
    Index leaf = place.leaf;
    for (Index i = 0; i < count; ++i) {
        number[at(i)] = feature[i] >= 0 ? inner++ : leaf++;
    }
    struct Branch {
        Index node, size, place;
    };
    std::vector<Branch> waiting{{0, count, 0}};
    Index filled = 1;
    while (!waiting.empty()) {
        const auto [node, size, k] = waiting.back();
        waiting.pop_back();
        const Index own = number[at(node)];
        if (feature[node] < 0) {
            // nothing is at most a threshold that is no number: the way is to the right, which is here
            to[k] = {std::bit_cast<double>(kNoNumber | static_cast<std::uint64_t>(own)), 0, -1};
            continue;
        }
        if (std::isnan(nodes.threshold[own])) {
            return "a threshold is not a number";
        }
        to[k] = {nodes.threshold[own],
                 static_cast<std::uint32_t>(feature[node]) | (nodes.missing_left[own] != 0 ? kMissingLeft : 0U),
                 static_cast<std::int32_t>(filled - k)};
        if (!set_of.empty() && set_of[at(own)] > 0) {
            to[k].threshold = static_cast<double>(set_of[at(own)] - 1);
            to[k].feature |= kByCategory;
        }
        const Index lefts = right[at(node)] - node - 1;
        const Branch children[2] = {{node + 1, lefts, filled}, {right[at(node)], size - 1 - lefts, filled + 1}};
        const bool is_left_larger = children[0].size >= children[1].size;
        waiting.push_back(children[is_left_larger ? 1 : 0]);
        waiting.push_back(children[is_left_larger ? 0 : 1]);
        filled += 2;
    }
    return nullptr;
}

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
    forest.nodes = std::make_unique_for_overwrite<PackedNode[]>(at(nodes.nodes));
    std::vector<const char*> faults(at(nodes.trees), nullptr);
    const Effort effort(64.0 * static_cast<double>(nodes.nodes));
    parallel_for(nodes.trees, [&](Index tree) {
        faults[at(tree)] = pack_one(nodes, places[at(tree)], nodes.sizes[tree], set_of,
                                    forest.nodes.get() + forest.starts[at(tree)]);
    });
    const auto found = std::find_if(faults.begin(), faults.end(), [](const char* one) { return one != nullptr; });
    return found == faults.end() ? nullptr : *found;
}

}  // namespace qed
