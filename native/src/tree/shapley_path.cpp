#include <cmath>
#include <numbers>

#include "qed/machine/parallel.hpp"
#include "qed/machine/simd.hpp"
#include "qed/tree/shapley_tree.hpp"

namespace qed {
namespace {

using Vec = Vector<double>;
using Mask = decltype(Vec{} <= Vec{});
constexpr int kVectorsOfBlock = 2;  // rows of a block in vectors: what an edge is worth is then loaded once for two
constexpr int kWidth = kLanes<double>;
constexpr Index kRowsOfBlock = Index{kVectorsOfBlock} * kWidth;
constexpr Index kEdgeNumbers = Index{1} << 21;  // numbers of prepared edges at a time: 16 MiB

/// A number, and a truth, for each row of a block.
struct Values {
    Vec of[kVectorsOfBlock];
};
struct Truths {
    Mask of[kVectorsOfBlock];
};

/// Nodes and weights of Gauss on (0, 1).
struct Rule {
    std::vector<double> node, weight;
};

Rule gauss(Index count) {
    Rule rule{std::vector<double>(at(count)), std::vector<double>(at(count))};
    for (Index i = 0; i < count; ++i) {
        long double x = std::cos(std::numbers::pi_v<long double> * (static_cast<long double>(i) + 0.75L) /
                                 (static_cast<long double>(count) + 0.5L));
        long double slope = 1.0L;
        for (int step = 0; step < 8; ++step) {  // Newton: the start is closer than the distance to the next root
            long double before = 1.0L;
            long double value = x;
            for (Index k = 2; k <= count; ++k) {
                const auto degree = static_cast<long double>(k);
                const long double next = ((2.0L * degree - 1.0L) * x * value - (degree - 1.0L) * before) / degree;
                before = value;
                value = next;
            }
            slope = static_cast<long double>(count) * (before - x * value) / (1.0L - x * x);
            x -= value / slope;
        }
        rule.node[at(i)] = static_cast<double>(0.5L * (1.0L + x));
        rule.weight[at(i)] = static_cast<double>(1.0L / ((1.0L - x * x) * slope * slope));
    }
    return rule;
}

/// What passing an edge multiplies the product by, and what it adds to its player, at each node of the rule: four
/// numbers, for rows that meet the conditions of the player down to here and for those that lose them here. Rows that
/// lost them before are multiplied by the share of the cover, and add nothing.
struct Edges {
    Index points = 0;
    std::vector<double> numbers;  // nodes × points × 4
    std::vector<double> share;    // nodes
};

Edges edges_of(const ShapleyTree& tree) {
    Edges edges;
    edges.points = std::max<Index>((tree.most_players + 1) / 2, 1);
    const Rule rule = gauss(edges.points);
    edges.numbers.resize(at(tree.count * edges.points * 4));
    edges.share.assign(at(tree.count), 1.0);
    std::vector<double> z(at(tree.deepest + 1), 1.0);  // by depth: share of the player of that edge, down to it
    std::vector<Index> path(at(tree.deepest + 1), 0);
    for (Index node = 1; node < tree.count; ++node) {
        path[at(tree.depth[at(node - 1)])] = node - 1;
        const Index depth = tree.depth[at(node)];
        const Index before = tree.previous[at(node)];
        const double share = tree.cover[at(node)] / tree.cover[at(path[at(depth - 1)])];
        const double old = before > 0 ? z[at(before)] : 1.0;
        const double now = z[at(depth)] = old * share;
        edges.share[at(node)] = share;
        double* to = edges.numbers.data() + node * edges.points * 4;
        for (Index q = 0; q < edges.points; ++q, to += 4) {
            const double t = rule.node[at(q)];
            const double rest = rule.node[at(edges.points - 1 - q)];  // 1 - t: the rule is symmetric
            const double factor_old = old * rest + t;
            const double factor_now = now * rest + t;
            to[0] = factor_now / factor_old;
            to[1] = now * rest / factor_old;
            to[2] = rule.weight[at(q)] * (old - now) / (factor_old * factor_now);
            to[3] = -rule.weight[at(q)] / (rest * factor_old);
        }
    }
    return edges;
}

/// A walk of a block of rows through one tree.
class Walk {
  public:
    Walk(const ShapleyTree& tree, const Edges& edges, const double* rows, double* out)
        : tree_(tree), edges_(edges), points_(edges.points), width_(tree.all->width), rows_(rows), out_(out) {
        const Index levels = tree.deepest + 1;
        product_.resize(at(levels * points_));
        sum_.resize(at(levels * points_ * width_));
        met_.resize(at(levels));
        was_.resize(at(levels));
        left_.resize(at(levels));
        path_.resize(at(levels));
        for (Index q = 0; q < points_; ++q) {
            for (Vec& one : product_[at(q)].of) {
                one = splat(1.0);
            }
        }
    }

    void go() {
        if (tree_.count == 1) {
            return;
        }
        look(0, 0);
        Index open = 0;  // depth of the deepest inner node on the path
        for (Index node = 1; node < tree_.count; ++node) {
            const Index depth = tree_.depth[at(node)];
            for (; open >= depth; --open) {
                close(open);
            }
            turn(node, depth);
            if (tree_.feature[node] >= 0) {
                descend(node, depth);
                look(node, depth);
                open = depth;
            } else {
                add_leaf(node, depth);
            }
        }
        for (; open >= 1; --open) {
            close(open);
        }
    }

  private:
    /// Which rows go left at an inner node.
    void look(Index node, Index depth) {
        path_[at(depth)] = node;
        const double* const values = rows_ + tree_.feature[node] * kRowsOfBlock;
        Truths& left = left_[at(depth)];
        if (tree_.set[at(node)] >= 0) {
            for (Index lane = 0; lane < kRowsOfBlock; ++lane) {
                left.of[lane / kWidth][lane % kWidth] = tree_.goes_left(node, values[lane]) ? -1 : 0;
            }
            return;
        }
        const Index inner = tree_.own[at(node)];
        const Vec threshold = splat(tree_.all->threshold[inner]);
        const bool missing_left = tree_.all->missing_left[inner] != 0;
        for (int v = 0; v < kVectorsOfBlock; ++v) {
            const Vec value = load(values + v * kWidth);
            left.of[v] = value <= threshold;
            if (missing_left) {
                left.of[v] |= value != value;
            }
        }
    }

    /// Whether rows meet the conditions of the player of the edge into a node, and met those before it.
    void turn(Index node, Index depth) {
        const Index before = tree_.previous[at(node)];
        const bool is_left = tree_.is_left_child(node);
        for (int v = 0; v < kVectorsOfBlock; ++v) {
            const Mask side = left_[at(depth - 1)].of[v];
            const Mask was = before > 0 ? met_[at(before)].of[v] : Mask{} - 1;
            was_[at(depth)].of[v] = was;
            met_[at(depth)].of[v] = was & (is_left ? side : ~side);
        }
    }

    void descend(Index node, Index depth) {
        const double* edge = edges_.numbers.data() + node * points_ * 4;
        const Vec share = splat(edges_.share[at(node)]);
        const Values* const above = product_.data() + (depth - 1) * points_;
        Values* const here = product_.data() + depth * points_;
        const Truths met = met_[at(depth)];
        const Truths was = was_[at(depth)];
        for (Index q = 0; q < points_; ++q, edge += 4) {
            for (int v = 0; v < kVectorsOfBlock; ++v) {
                const Vec lost = was.of[v] ? splat(edge[1]) : share;
                here[q].of[v] = above[q].of[v] * (met.of[v] ? splat(edge[0]) : lost);
            }
        }
    }

    /// Adds what an edge is worth to its player, and the sum below it to the one above.
    void close(Index depth) {
        const Index node = path_[at(depth)];
        const bool is_left = tree_.is_left_child(node);
        const Truths met = met_[at(depth)];
        const Truths was = was_[at(depth)];
        for (Index k = 0; k < width_; ++k) {
            const double* edge = edges_.numbers.data() + node * points_ * 4;
            const Values* const here = sum_.data() + (depth * width_ + k) * points_;
            Values* const above = sum_.data() + ((depth - 1) * width_ + k) * points_;
            Values total = {};
            for (Index q = 0; q < points_; ++q, edge += 4) {
                for (int v = 0; v < kVectorsOfBlock; ++v) {
                    const Vec lost = was.of[v] ? splat(edge[3]) : Vec{};
                    total.of[v] += here[q].of[v] * (met.of[v] ? splat(edge[2]) : lost);
                    above[q].of[v] = is_left ? here[q].of[v] : above[q].of[v] + here[q].of[v];
                }
            }
            add(node, k, total);
        }
    }

    /// Down, the value of the leaf, and up again.
    void add_leaf(Index node, Index depth) {
        const Vec share = splat(edges_.share[at(node)]);
        const bool is_left = tree_.is_left_child(node);
        const Values* const product = product_.data() + (depth - 1) * points_;
        const Truths met = met_[at(depth)];
        const Truths was = was_[at(depth)];
        const double* const values = tree_.all->values + tree_.own[at(node)] * width_;
        for (Index k = 0; k < width_; ++k) {
            const double* edge = edges_.numbers.data() + node * points_ * 4;
            const Vec value = splat(values[k]);
            Values* const above = sum_.data() + ((depth - 1) * width_ + k) * points_;
            Values total = {};
            for (Index q = 0; q < points_; ++q, edge += 4) {
                for (int v = 0; v < kVectorsOfBlock; ++v) {
                    const Vec down = met.of[v] ? splat(edge[0]) : (was.of[v] ? splat(edge[1]) : share);
                    const Vec up = met.of[v] ? splat(edge[2]) : (was.of[v] ? splat(edge[3]) : Vec{});
                    const Vec sum = product[q].of[v] * down * value;
                    total.of[v] += sum * up;
                    above[q].of[v] = is_left ? sum : above[q].of[v] + sum;
                }
            }
            add(node, k, total);
        }
    }

    void add(Index node, Index k, const Values& total) {
        double* const to = out_ + (tree_.player[at(node)] * width_ + k) * kRowsOfBlock;
        for (int v = 0; v < kVectorsOfBlock; ++v) {
            store(to + v * kWidth, load(to + v * kWidth) + total.of[v]);
        }
    }

    const ShapleyTree& tree_;
    const Edges& edges_;
    Index points_, width_;
    const double* rows_;
    double* out_;
    std::vector<Values> product_, sum_;     // by depth
    std::vector<Truths> met_, was_, left_;  // by depth
    std::vector<Index> path_;
};

/// The rows of a block, column after column; lanes behind the last row repeat it.
void turn_rows(const Matrix& x, Index first, Index count, double* to) {
    with_type(x.kind, [&](auto type) {
        using T = std::remove_cv_t<std::remove_pointer_t<decltype(type)>>;
        for (Index j = 0; j < x.columns; ++j) {
            for (Index lane = 0; lane < kRowsOfBlock; ++lane) {
                to[j * kRowsOfBlock + lane] =
                    static_cast<double>(*x.at<T>(first + std::min(lane, count - 1), j));
            }
        }
    });
}

}  // namespace

void add_path_values(const ShapleyTrees& trees, const Matrix& x, double* out) {
    const std::vector<ShapleyTree> prepared = prepare_shapley(trees);
    const Index outputs = trees.outputs();
    const Index size = trees.players * trees.width * kRowsOfBlock;
    for (Index first = 0, last = 0; first < trees.trees; first = last) {
        Index numbers = 0;
        for (last = first; last < trees.trees && (last == first || numbers < kEdgeNumbers); ++last) {
            const ShapleyTree& tree = prepared[at(last)];
            numbers += tree.count * 2 * (tree.most_players + 1);
        }
        const Effort effort(static_cast<double>(numbers) * static_cast<double>(x.rows));
        std::vector<Edges> edges(at(last - first));
        parallel_for(last - first, [&](Index t) { edges[at(t)] = edges_of(prepared[at(first + t)]); });
        parallel_for(blocks_of(x.rows, kRowsOfBlock), [&](Index block) {
            const Index row = block * kRowsOfBlock;
            const Index count = std::min(kRowsOfBlock, x.rows - row);
            std::vector<double> rows(at(x.columns * kRowsOfBlock));
            turn_rows(x, row, count, rows.data());
            std::vector<double> found(at(size * trees.groups), 0.0);
            for (Index t = first; t < last; ++t) {
                double* const own = found.data() + (t % trees.groups) * size;
                Walk(prepared[at(t)], edges[at(t - first)], rows.data(), own).go();
            }
            for (Index lane = 0; lane < count; ++lane) {
                double* to = out + (row + lane) * trees.players * outputs;
                for (Index player = 0; player < trees.players; ++player) {
                    for (Index group = 0; group < trees.groups; ++group) {
                        for (Index k = 0; k < trees.width; ++k) {
                            *to++ += found[at(group * size + (player * trees.width + k) * kRowsOfBlock + lane)];
                        }
                    }
                }
            }
        });
    }
}

}  // namespace qed
