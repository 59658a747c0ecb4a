#include "qed/tree/rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "qed/dense/numbers.hpp"
#include "qed/machine/simd.hpp"

namespace qed {
namespace {

constexpr double kEven = 16.0;  // weights of so many to one cost sums the four digits that they have to spare

}  // namespace

std::vector<std::uint32_t> used_rows(const TreeTargets& y, Index count) {
    std::vector<std::uint32_t> used;
    used.reserve(at(count));
    for (Index i = 0; i < count; ++i) {
        if (y.weights == nullptr || y.weights[i] > 0.0) {
            used.push_back(static_cast<std::uint32_t>(i));
        }
    }
    return used;
}

std::vector<double> used_weights(const TreeTargets& y, const std::vector<std::uint32_t>& used) {
    std::vector<double> weights;
    if (y.weights != nullptr) {
        weights.reserve(used.size());
        for (const std::uint32_t row : used) {
            weights.push_back(y.weights[row]);
        }
    }
    return weights;
}

TreeRows::TreeRows(const TreeTargets& y, const TreeLimits& limits, Index most, bool has_weights)
    : y_(y),
      limits_(limits),
      has_weights_(has_weights),
      copies_{make_copy(most), make_copy(most)},
      pulls_(y.codes != nullptr && !by_sum() ? 1 : most * y.width + kLanes<double>),
      order_(is_absolute() ? most : 1),
      sorted_(is_absolute() ? most : 1) {}

void TreeRows::start(const std::uint32_t* rows, Index count, const double* weights, bool is_whole) {
    count_ = count;
    const Copy& first = copies_[0];
    std::copy_n(rows, count, first.rows.get());
    if (weights != nullptr) {
        std::copy_n(weights, count, first.weights.get());
    }
    double total = weights == nullptr ? static_cast<double>(count) : 0.0;
    for (Index i = 0; i < count; ++i) {
        const auto row = static_cast<Index>(rows[i]);
        total += weights != nullptr ? weights[i] : 0.0;
        if (y_.codes != nullptr) {
            first.codes[i] = static_cast<std::uint32_t>(y_.codes[row]);
        } else {
            std::copy_n(y_.numbers + row * y_.width, y_.width, first.numbers.get() + i * y_.width);
        }
    }
    if (weights != nullptr && count > 0) {
        const auto [least, most] = std::minmax_element(weights, weights + count);
        is_uneven_ = *most > kEven * *least;
    }
    constexpr double kTable = 1 << 22;  // terms that are worth looking up
    if (y_.criterion == Criterion::entropy && is_whole && total <= kTable) {
        const auto terms = static_cast<Index>(total);
        for (auto k = static_cast<Index>(xlogx_.size()); k <= terms; ++k) {
            xlogx_.push_back(k < 2 ? 0.0 : static_cast<double>(k) * std::log(static_cast<double>(k)));
        }
    }
}

TreeRows::Copy TreeRows::make_copy(Index most) const {
    const bool has_classes = y_.codes != nullptr;
    return {ScratchArray<std::uint32_t>(most), ScratchArray<std::uint32_t>(has_classes ? most : 1),
            ScratchArray<double>(has_weights_ ? most + kLanes<double> : 1), ScratchArray<double>(has_classes ? 1 : most * y_.width)};
}

TreeNode TreeRows::root(TreeArena& arena) const {
    TreeNode root;
    root.stop = count_;
    root.seed = mixed_bits(limits_.seed);
    describe(arena, root);
    return root;
}

void TreeRows::describe(TreeArena& arena, TreeNode& node) const {
    const Copy& copy = copies_[node.depth % 2];
    const std::size_t first = arena.values.size();
    arena.values.resize(first + at(y_.width));
    double* const values = arena.values.data() + first;
    const double* const weights = has_weights_ ? copy.weights.get() + node.start : nullptr;
    const NodeRows rows{node.count(), weights, copy.codes.get() + (y_.codes != nullptr ? node.start : 0),
                        copy.numbers.get() + (y_.codes != nullptr ? 0 : node.start * y_.width)};
    std::uint32_t* const order = is_absolute() ? order_.get() + node.start : nullptr;
    const NodeSummary found = summarise(y_, rows, values, order, is_absolute() ? sorted_.get() + node.start : nullptr);
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
void TreeRows::pull(const TreeNode& node, const NodeRows& rows, const double* values) const {
    const bool is_centred = y_.criterion != Criterion::absolute;
    if (y_.codes != nullptr && !by_sum()) {
        return;
    }
    const Index width = by_sum() ? 1 : y_.width;
    double* const own = pulls_.get() + node.start * width;
    if (by_sum()) {
        for (Index i = 0; i < rows.count; ++i) {
            own[i] = (rows.weights != nullptr ? rows.weights[i] : 1.0) * static_cast<double>(rows.codes[i]);
        }
        return;
    }
    for (Index i = 0; i < rows.count; ++i) {
        const double w = rows.weights != nullptr ? rows.weights[i] : 1.0;
        for (Index k = 0; k < width; ++k) {
            own[i * width + k] = w * (rows.numbers[i * width + k] - (is_centred ? values[k] : 0.0));
        }
    }
}

SplitView TreeRows::view_of(const TreeNode& node, const double* totals, double mean) const noexcept {
    const Copy& copy = copies_[node.depth % 2];
    return {.criterion = by_sum() ? Criterion::squared : y_.criterion,
            .width = by_sum() ? 1 : y_.width,
            .count = node.count(),
            .weight = node.weight,
            .totals = totals,
            .mean = mean,
            .origin = by_sum() ? 0.0 : mean,
            .scale = node.scale,
            .pulls = pulls_.get(),
            .weights = has_weights_ ? copy.weights.get() : nullptr,
            .codes = copy.codes.get(),
            .order = order_.get(),
            .targets = sorted_.get() + (is_absolute() ? node.start : 0),
            .xlogx = xlogx_.empty() ? nullptr : xlogx_.data(),
            .is_uneven = is_uneven_};
}

void TreeRows::find_totals(const TreeArena& arena, const TreeNode* node, std::vector<double>& totals) const {
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

void TreeRows::move(const TreeNode& parent, Index middle, std::uint32_t* sides) const {
    const Copy& from = copies_[parent.depth % 2];
    const Copy& to = copies_[(parent.depth + 1) % 2];
    Index left = parent.start;
    Index right = middle;
    for (Index i = parent.start; i < parent.stop; ++i) {
        const Index place = sides[i] != 0 ? right : left;
        left += 1 - static_cast<Index>(sides[i]);
        right += static_cast<Index>(sides[i]);
        sides[i] = static_cast<std::uint32_t>(place);
        to.rows[place] = from.rows[i];
        if (has_weights_) {
            to.weights[place] = from.weights[i];
        }
        if (y_.codes != nullptr) {
            to.codes[place] = from.codes[i];
        } else {
            std::copy_n(from.numbers.get() + i * y_.width, y_.width, to.numbers.get() + place * y_.width);
        }
    }
}

void TreeRows::add_children(TreeArena& arena, Index number, Index middle) const {
    const auto left = static_cast<Index>(arena.nodes.size());
    arena.nodes.resize(at(left + 2));
    TreeNode& parent = arena.nodes[at(number)];
    parent.left = left;
    parent.right = left + 1;
    for (const bool is_right : {false, true}) {
        TreeNode& child = arena.nodes[at(left + (is_right ? 1 : 0))];
        child.start = is_right ? middle : parent.start;
        child.stop = is_right ? parent.stop : middle;
        child.depth = parent.depth + 1;
        child.seed = mixed_bits(2 * parent.seed + (is_right ? 1 : 0));
        child.low = parent.low;
        child.high = parent.high;
        describe(arena, child);
    }
    const int direction = limits_.monotone != nullptr ? limits_.monotone[parent.feature] : 0;
    if (direction != 0) {  // what is below either child stays on its side of the middle
        const double between = value_of(arena, parent.left) / 2.0 + value_of(arena, parent.right) / 2.0;
        arena.nodes[at(direction > 0 ? parent.left : parent.right)].high = between;
        arena.nodes[at(direction > 0 ? parent.right : parent.left)].low = between;
    }
}

double TreeRows::value_of(const TreeArena& arena, Index number) const noexcept {
    const double* const values = arena.values.data() + number * y_.width;
    return y_.codes != nullptr ? values[y_.width - 1] / arena.nodes[at(number)].weight : values[0];
}

GrownTree TreeRows::written(const TreeArena& arena) const {
    GrownTree tree;
    const double unit = unit_of(y_);
    walk_left_first(arena.nodes, [&](Index number, Index parent, bool is_right) {
        const TreeNode& node = arena.nodes[at(number)];
        const auto here = static_cast<Index>(tree.left.size());
        if (parent >= 0) {
            (is_right ? tree.right : tree.left)[at(parent)] = here;
        }
        const bool is_leaf = node.left < 0;
        tree.left.push_back(-1);
        tree.right.push_back(-1);
        tree.feature.push_back(is_leaf ? -2 : node.feature);
        tree.threshold.push_back(is_leaf ? -2.0 : node.threshold);
        tree.missing_left.push_back(!is_leaf && node.missing_left ? 1 : 0);
        if (!is_leaf && node.set >= 0) {
            const CategorySet& set = arena.sets[at(node.set)];
            tree.by_set.push_back(here);
            tree.sets.insert(tree.sets.end(), set.words, set.words + 16);
        }
        tree.rows.push_back(node.count());
        tree.weight.push_back(node.weight);
        tree.impurity.push_back(node.scale * unit / node.weight);
        for (Index k = 0; k < y_.width; ++k) {
            const double value = arena.values[at(number * y_.width + k)];
            tree.values.push_back(y_.codes != nullptr ? value / node.weight : value);
        }
        if (limits_.monotone != nullptr && y_.width <= 2) {
            double* const last = &tree.values.back();
            *last = std::clamp(*last, node.low, node.high);
            if (y_.width == 2) {
                last[-1] = 1.0 - *last;
            }
        }
    });
    return tree;
}

bool TreeRows::is_enough(double gain, double total_weight) const noexcept {
    return gain * unit_of(y_) / total_weight + std::numeric_limits<double>::epsilon() >= limits_.decrease;
}

}  // namespace qed
