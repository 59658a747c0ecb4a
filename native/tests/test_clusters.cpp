#include <algorithm>
#include <limits>
#include <utility>

#include "check.hpp"
#include "qed/clusters/cf_tree.hpp"
#include "qed/clusters/condensed.hpp"
#include "qed/clusters/dense_groups.hpp"
#include "qed/clusters/linkage.hpp"
#include "qed/clusters/mean_shift.hpp"
#include "qed/clusters/medoids.hpp"
#include "qed/clusters/messages.hpp"
#include "qed/clusters/spanning.hpp"
#include "qed/machine/parallel.hpp"

using namespace qed;

namespace {

constexpr Measure kEuclidean{Metric::euclidean, 2.0};

/// Rows with what a search of them needs.
struct Rows {
    std::vector<double> x;
    Index rows, columns;
    std::vector<double> octets;
    std::vector<Index> ids;
    Boxes boxes;

    Rows(std::vector<double> given, Index width, bool tree)
        : x(std::move(given)), rows(static_cast<Index>(x.size()) / width), columns(width) {
        octets.resize(static_cast<std::size_t>(blocks_of(rows, kOctet) * columns * kOctet));
        ids.resize(static_cast<std::size_t>(blocks_of(rows, kOctet) * kOctet));
        arrange(x.data(), rows, columns, octets.data(), ids.data(), tree ? &boxes : nullptr);
    }
    [[nodiscard]] NeighborIndex index() const {
        return {octets.data(),     ids.data(),
                rows,              columns,
                blocks_of(rows, kOctet), boxes.ends.data(),
                boxes.children.data(), static_cast<Index>(boxes.children.size()) / kOctet};
    }
    [[nodiscard]] double away(Index i, Index j) const {
        double sum = 0.0;
        for (Index c = 0; c < columns; ++c) {
            const double step = x[static_cast<std::size_t>(i * columns + c)] - x[static_cast<std::size_t>(j * columns + c)];
            sum += step * step;
        }
        return std::sqrt(sum);
    }
};

/// Lengths of the edges of a minimum spanning tree, shortest first: all pairs, joined from the shortest on (Kruskal).
std::vector<double> tree_lengths(const Rows& rows, const std::vector<double>& core) {
    struct Edge {
        double length;
        Index i, j;
    };
    std::vector<Edge> edges;
    for (Index i = 0; i < rows.rows; ++i) {
        for (Index j = i + 1; j < rows.rows; ++j) {
            const double least = std::max(core[static_cast<std::size_t>(i)], core[static_cast<std::size_t>(j)]);
            edges.push_back({std::max(rows.away(i, j), least), i, j});
        }
    }
    std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.length < b.length; });
    std::vector<Index> part(static_cast<std::size_t>(rows.rows));
    for (std::size_t i = 0; i < part.size(); ++i) {
        part[i] = static_cast<Index>(i);
    }
    std::vector<double> out;
    for (const Edge& edge : edges) {
        const Index from = part[static_cast<std::size_t>(edge.j)];
        const Index to = part[static_cast<std::size_t>(edge.i)];
        if (from != to) {
            out.push_back(edge.length);
            std::replace(part.begin(), part.end(), from, to);
        }
    }
    return out;
}

bool same(std::vector<double> a, const std::vector<double>& b) {
    std::sort(a.begin(), a.end());
    bool is_same = a.size() == b.size();
    for (std::size_t i = 0; is_same && i < a.size(); ++i) {
        is_same = check::near(a[i], b[i]);
    }
    return is_same;
}

}  // namespace

TEST(spanning_trees_are_least) {
    set_thread_count(3);
    constexpr Index n = 400;
    const Rows flat(check::numbers(n * 3), 3, false);
    const Rows boxed(check::numbers(n * 3), 3, true);
    for (const bool has_core : {false, true}) {
        std::vector<double> core(n);
        if (has_core) {
            kth_distances(flat.index(), flat.x.data(), n, 5, core.data());
            CHECK(*std::min_element(core.begin(), core.end()) > 0.0);
        }
        const std::vector<double> wanted = tree_lengths(flat, core);
        const double* given = has_core ? core.data() : nullptr;
        std::vector<Index> order(n);
        std::vector<Index> parent(n);
        std::vector<double> distance(n);
        span_rows(flat.index(), flat.x.data(), kEuclidean, {given, given, 1e300},
                  {order.data(), parent.data(), distance.data()});
        CHECK(order[0] == 0 && parent[0] == -1);
        CHECK(same({distance.begin() + 1, distance.end()}, wanted));
        std::vector<Index> first(n - 1);
        std::vector<Index> second(n - 1);
        std::vector<double> length(n - 1);
        spanning_edges(boxed.index(), boxed.x.data(), kEuclidean, given, {first.data(), second.data(), length.data()});
        CHECK(same(length, wanted));
    }
}

TEST(rows_beyond_the_limit_begin_anew) {
    const Rows rows({0.0, 1.0, 10.0, 11.0}, 1, false);
    Index order[4];
    Index parent[4];
    double distance[4];
    span_rows(rows.index(), rows.x.data(), kEuclidean, {nullptr, nullptr, 2.0}, {order, parent, distance});
    CHECK(order[0] == 0 && order[1] == 1 && order[2] == 2 && order[3] == 3);
    CHECK(parent[1] == 0 && parent[2] == -1 && parent[3] == 2);
}

TEST(small_sides_leave_a_condensed_tree) {
    // rows 0 1 2 and 3 4 5 are merged, then both (merge 10); of sides of one row the rows leave
    const std::vector<Index> children{0, 1, 3, 4, 2, 6, 5, 7, 8, 9};
    const std::vector<double> density{8.0, 8.0, 4.0, 4.0, 1.0};
    const Condensed tree = condense(children.data(), density.data(), 6, 3);
    Index clusters = 0;
    for (std::size_t i = 0; i < tree.child.size(); ++i) {
        if (tree.child[i] >= 6) {
            ++clusters;
            CHECK(tree.parent[i] == 6 && tree.size[i] == 3 && tree.density[i] == 1.0);
        } else {
            CHECK(tree.parent[i] > 6 && tree.size[i] == 1);
            CHECK(tree.density[i] == 4.0);  // a side of two rows is small as well: both leave where it does
        }
    }
    CHECK(clusters == 2 && tree.child.size() == 8);
    const Condensed whole = condense(children.data(), density.data(), 6, 4);  // no side is large enough
    CHECK(whole.child.size() == 6 && *std::max_element(whole.parent.begin(), whole.parent.end()) == 6);
}

TEST(linkages_of_a_matrix_by_hand) {
    // on a line: 0, 1, 3, 7
    const std::vector<double> D{0, 1, 3, 7, 1, 0, 2, 6, 3, 2, 0, 4, 7, 6, 4, 0};
    const auto heights = [&](Linkage linkage) {
        std::vector<double> table = D;
        Index first[3];
        Index second[3];
        Index size[3];
        std::vector<double> height(3);
        link_matrix(table.data(), 4, linkage, {first, second, height.data(), size});
        CHECK(first[0] == 0 && second[0] == 1 && size[2] == 4 && second[2] == 5);
        return height;
    };
    CHECK((heights(Linkage::single) == std::vector<double>{1.0, 2.0, 4.0}));
    CHECK((heights(Linkage::complete) == std::vector<double>{1.0, 3.0, 7.0}));
    CHECK(same(heights(Linkage::average), {1.0, 2.5, 17.0 / 3.0}));
    CHECK(same(heights(Linkage::weighted), {1.0, 2.5, 5.25}));
}

TEST(medoids_are_exchanged_until_none_helps) {
    set_thread_count(2);
    const std::vector<double> x{0.0, 1.0, 2.0, 10.0, 11.0, 12.0};
    std::vector<double> D(36);
    for (std::size_t i = 0; i < 6; ++i) {
        for (std::size_t j = 0; j < 6; ++j) {
            D[6 * i + j] = std::abs(x[i] - x[j]);
        }
    }
    Index medoids[2] = {0, 2};
    Index label[6];
    double cost[11];
    MedoidsOut out{medoids, 2, label, cost, false};
    const Index swaps = swap_medoids({D.data(), nullptr, nullptr, 6, 2, 10}, out);
    std::sort(medoids, medoids + 2);
    CHECK(out.done && medoids[0] == 1 && medoids[1] == 4);
    CHECK(cost[0] == 28.0 && cost[swaps] == 4.0);
    CHECK(label[0] == label[2] && label[3] == label[5] && label[0] != label[5]);
    Index one[1] = {0};
    MedoidsOut alone{one, 1, label, cost, false};
    CHECK(cost[swap_medoids({D.data(), nullptr, nullptr, 6, 1, 10}, alone)] == 30.0 && alone.done);
    const std::vector<double> fee(6, 3.0);
    for (const Index count : {1, 6}) {  // from too few and from too many
        Index free[6] = {0, 1, 2, 3, 4, 5};
        MedoidsOut chosen{free, count, label, cost, false};
        CHECK(cost[swap_medoids({D.data(), nullptr, fee.data(), 6, count, 10}, chosen)] == 10.0 && chosen.done);
        std::sort(free, free + 2);
        CHECK(chosen.count == 2 && free[0] == 1 && free[1] == 4);
    }
}

TEST(dense_groups_and_means) {
    for (const bool tree : {false, true}) {
        const Rows rows({0.0, 0.1, 0.2, 5.0, 5.1, 5.2, 9.0}, 1, tree);
        Index label[7];
        bool core[7];
        dense_groups(rows.index(), rows.x.data(), kEuclidean, {0.15, 3.0, nullptr}, label, core);
        CHECK(!core[0] && core[1] && core[4] && !core[6]);
        CHECK(label[0] == 0 && label[2] == 0 && label[3] == 1 && label[5] == 1 && label[6] == -1);
    }
    const Rows rows({0.0, 1.0, 2.0, 8.0}, 1, true);
    const std::vector<double> points{0.9, 20.0};
    double mean[2];
    Index counts[2];
    shift_means(rows.index(), points.data(), 2, 1.5, mean, counts);
    CHECK(check::near(mean[0], 1.0) && counts[0] == 3 && mean[1] == 20.0 && counts[1] == 0);
}

TEST(features_keep_count_mean_and_squares) {
    const std::vector<double> x{0.0, 0.2, 5.0, 0.1, 5.2, 9.0, 13.0, 17.0};
    CfTree tree;
    std::vector<Index> place(8);
    grow_cf_tree(tree, x.data(), 8, 1, 0.5, 3, place.data());
    CHECK(place[0] == place[1] && place[1] == place[3] && place[2] == place[4] && place[0] != place[2]);
    CHECK(tree.weights.size() == 5 && tree.weights[0] == 3.0 && tree.weights[1] == 2.0);
    CHECK(check::near(tree.means[0], 0.1) && check::near(tree.squares[0], 0.02) && check::near(tree.squares[1], 0.02));
    for (std::size_t node = 0; node + 1 < tree.starts.size(); ++node) {
        CHECK(tree.starts[node + 1] - tree.starts[node] <= 3);
    }
}

TEST(prices_bound_every_election) {
    // similarities of rows on a line at 0, 1, 4; preferences -2
    const double none = -std::numeric_limits<double>::infinity();
    const std::vector<double> similarity{none, -1.0, -16.0, -1.0, none, -9.0, -16.0, -9.0, none};
    const std::vector<double> best{0.0, 0.0, 0.0};
    const std::vector<double> fee{2.0, 2.0, 2.0};
    double price[3] = {0.0, 0.0, 0.0};
    raise_prices(similarity.data(), best.data(), fee.data(), 3, 50, price);
    for (std::size_t k = 0; k < 3; ++k) {
        double over = 0.0;
        for (std::size_t i = 0; i < 3; ++i) {
            const double cost = i == k ? 0.0 : -similarity[3 * i + k];
            over += std::max(price[i] - cost, 0.0);
        }
        CHECK(over <= 2.0 + 1e-12);
    }
    const double bound = price[0] + price[1] + price[2];
    CHECK(bound > 4.0 && bound <= 5.0 + 1e-12);  // the best election: rows 0 (or 1) and 2, at 2 + 2 + 1
}
