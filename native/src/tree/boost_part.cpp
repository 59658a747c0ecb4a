#include "qed/tree/boost_part.hpp"

#include <algorithm>
#include <numeric>

#include "qed/dense/numbers.hpp"
#include "qed/machine/parallel.hpp"
#include "qed/machine/scratch.hpp"

namespace qed {
namespace {

constexpr Index kRowsOfBlock = Index{1} << 14;  // rows that are parted at a time

}  // namespace

Sums BoostPart::start(const BoostArrays& arrays, const BoostScale& scale) {
    scale_ = scale;
    const Index count = arrays.given.count;
    ranges_.assign(1, {0, count, 0});
    std::iota(arrays.order[0], arrays.order[0] + count, 0U);
    return sums(arrays).round(arrays.given);
}

void BoostPart::divide(const BoostArrays& arrays, const Division& division, Sums* histogram) {
    const Range node = ranges_[at(division.node)];
    const std::uint8_t* const own = arrays.bins.column(division.feature);
    const std::uint32_t* const from = arrays.order[node.side];
    std::uint32_t* const to = arrays.order[1 - node.side];
    const Index blocks = blocks_of(node.count(), kRowsOfBlock);
    const ScratchArray<std::uint8_t> sides(node.count());
    std::vector<Index> lefts(at(blocks), 0);
    const Effort effort(8.0 * static_cast<double>(node.count()));
    parallel_for(blocks, [&](Index block) {
        const Index first = node.start + block * kRowsOfBlock;
        const Index last = std::min(node.stop, first + kRowsOfBlock);
        Index rights = 0;
        for (Index i = first; i < last; ++i) {
            const std::uint8_t side = division.right_of[own[from[i]]];
            sides[i - node.start] = side;
            rights += side;
        }
        lefts[at(block)] = last - first - rights;
    });
    const Index middle = node.start + std::accumulate(lefts.begin(), lefts.end(), Index{0});
    std::vector<Index> first_left(at(blocks), node.start), first_right(at(blocks), middle);
    for (Index block = 1; block < blocks; ++block) {
        first_left[at(block)] = first_left[at(block - 1)] + lefts[at(block - 1)];
        first_right[at(block)] = first_right[at(block - 1)] + kRowsOfBlock - lefts[at(block - 1)];
    }
    parallel_for(blocks, [&](Index block) {
        Index left = first_left[at(block)];
        Index right = first_right[at(block)];
        const Index last = std::min(node.stop, node.start + (block + 1) * kRowsOfBlock);
        for (Index i = node.start + block * kRowsOfBlock; i < last; ++i) {
            const auto side = static_cast<Index>(sides[i - node.start]);
            to[left + side * (right - left)] = from[i];  // no branch: sides are as good as drawn
            left += 1 - side;
            right += side;
        }
    });
    ranges_.resize(std::max(ranges_.size(), at(std::max(division.left, division.right) + 1)));
    ranges_[at(division.left)] = {node.start, middle, 1 - node.side};
    ranges_[at(division.right)] = {middle, node.stop, 1 - node.side};
    if (division.filled >= 0) {
        const Range& child = ranges_[at(division.filled)];
        const BoostSums rounded = sums(arrays);
        const BoostSums* const classes[] = {&rounded};
        BoostSums::fill(classes, to + child.start, child.count(), &histogram);
    }
}

template <class Work>
void BoostPart::for_nodes(const BoostArrays& arrays, const std::vector<Index>& nodes, const Work& work) const {
    const Effort effort(4.0 * static_cast<double>(arrays.given.count));
    parallel_for(static_cast<Index>(nodes.size()), [&](Index k) {
        const Range& node = ranges_[at(nodes[at(k)])];
        work(k, arrays.order[node.side] + node.start, node.count());
    });
}

void BoostPart::leaf_sums(const BoostArrays& arrays, const std::vector<Index>& nodes, double* slopes,
                          double* curvatures) const {
    for_nodes(arrays, nodes, [&](Index k, const std::uint32_t* rows, Index count) {
        double slope = 0.0;
        double curvature = 0.0;
        for (Index i = 0; i < count; ++i) {
            slope += arrays.given.slope(rows[i]);
            curvature += arrays.given.curvature(rows[i]);
        }
        slopes[k] = slope;
        curvatures[k] = curvature;
    });
}

void BoostPart::add(const BoostArrays& arrays, const std::vector<Index>& nodes, const double* values, double* scores,
                    Index stride) const {
    for_nodes(arrays, nodes, [&](Index k, const std::uint32_t* rows, Index count) {
        for (Index i = 0; i < count; ++i) {
            scores[rows[i] * stride] += values[k];
        }
    });
}

void BoostPart::mark(const BoostArrays& arrays, const std::vector<Index>& nodes, std::int32_t* leaf) const {
    for_nodes(arrays, nodes, [&](Index k, const std::uint32_t* rows, Index count) {
        for (Index i = 0; i < count; ++i) {
            leaf[rows[i]] = static_cast<std::int32_t>(k);
        }
    });
}

}  // namespace qed
