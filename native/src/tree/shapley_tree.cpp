#include "qed/tree/shapley_tree.hpp"

namespace qed {
namespace {

/// `path` holds the nodes from the root to the parent.
void enter(ShapleyTree& tree, Index node, const std::vector<Index>& path) {
    const auto depth = static_cast<std::int32_t>(path.size());
    tree.depth[at(node)] = depth;
    tree.deepest = std::max<Index>(tree.deepest, depth);
    if (depth == 0) {
        return;
    }
    const Index parent = path.back();
    const std::int32_t player = tree.all->player[tree.feature[parent]];
    std::int32_t before = depth - 1;
    while (before > 0 && tree.player[at(path[at(before)])] != player) {
        --before;
    }
    tree.player[at(node)] = player;
    tree.previous[at(node)] = before;
    tree.place[at(node)] = before > 0 ? tree.place[at(path[at(before)])] : tree.present[at(parent)];
    tree.present[at(node)] = tree.present[at(parent)] + (before > 0 ? 0 : 1);
    tree.most_players = std::max<Index>(tree.most_players, tree.present[at(node)]);
}

}  // namespace

std::vector<ShapleyTree> prepare_shapley(const ShapleyTrees& trees) {
    std::vector<ShapleyTree> prepared(at(trees.trees));
    Index first = 0;
    Index inner = 0;
    Index leaf = 0;
    Index sets = 0;
    std::vector<Index> path;
    for (Index t = 0; t < trees.trees; ++t) {
        ShapleyTree& tree = prepared[at(t)];
        tree.count = trees.sizes[t];
        tree.feature = trees.feature + first;
        tree.all = &trees;
        const auto count = at(tree.count);
        for (auto* part : {&tree.depth, &tree.end, &tree.previous, &tree.player, &tree.place, &tree.present}) {
            part->assign(count, 0);
        }
        tree.set.assign(count, -1);
        tree.own.assign(count, 0);
        path.clear();
        for (Index node = 0; node < tree.count; ++node) {
            enter(tree, node, path);
            if (tree.feature[node] >= 0) {
                if (sets < trees.set_count && trees.by_set[sets] == inner) {
                    tree.set[at(node)] = static_cast<std::int32_t>(sets++);
                }
                tree.own[at(node)] = inner++;
                path.push_back(node);
                continue;
            }
            tree.own[at(node)] = leaf++;
            tree.end[at(node)] = static_cast<std::int32_t>(node + 1);
            // branches that end here: those whose right child was begun, marked by an end that is not zero
            while (!path.empty() && tree.end[at(path.back())] < 0) {
                tree.end[at(path.back())] = static_cast<std::int32_t>(node + 1);
                path.pop_back();
            }
            if (!path.empty()) {
                tree.end[at(path.back())] = -1;
            }
        }
        tree.cover.resize(count);
        for (Index node = tree.count - 1; node >= 0; --node) {
            tree.cover[at(node)] = tree.feature[node] < 0
                                       ? trees.weight[tree.own[at(node)]]
                                       : tree.cover[at(node + 1)] + tree.cover[at(tree.end[at(node + 1)])];
        }
        first += tree.count;
    }
    return prepared;
}

}  // namespace qed
