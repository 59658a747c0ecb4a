#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "neighbor_parts.hpp"
#include "qed/clusters/cf_tree.hpp"
#include "qed/clusters/condensed.hpp"
#include "qed/clusters/dense_groups.hpp"
#include "qed/clusters/linkage.hpp"
#include "qed/clusters/mean_shift.hpp"
#include "qed/clusters/medoids.hpp"
#include "qed/clusters/messages.hpp"
#include "qed/clusters/spanning.hpp"
#include "qed/neighbors/measure_rows.hpp"

namespace qed::bindings {
namespace {

using nb::arg;
using Integers = nb::ndarray<nb::ro, std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Square = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

struct MergeArrays {
    explicit MergeArrays(Index rows)
        : count(rows > 0 ? rows - 1 : 0), first({count}), second({count}), height({count}), size({count}) {}
    [[nodiscard]] Merges view() const { return {first.get(), second.get(), height.get(), size.get()}; }
    nb::tuple give() { return nb::make_tuple(first.give(), second.give(), height.give(), size.give()); }
    Index count;
    Fresh<Index> first;
    Fresh<Index> second;
    Fresh<double> height;
    Fresh<Index> size;
};

Linkage linkage_of(int number) {
    require(number >= 0 && number <= static_cast<int>(Linkage::median), "there is no such linkage");
    return static_cast<Linkage>(number);
}

Linkage linkage_of(int number, bool centroids) {
    const Linkage linkage = linkage_of(number);
    require((linkage >= Linkage::ward) == centroids, "this linkage is measured in another way");
    return linkage;
}

Nearest nearest_of(const std::pair<Integers, Array>& given, Index rows) {
    require(static_cast<Index>(given.first.shape(0)) == rows, "every row has a nearest other one");
    for (Index i = 0; i < rows; ++i) {
        require(given.first.data()[i] >= 0 && given.first.data()[i] < rows && given.first.data()[i] != i,
                "the nearest other row must be another row");
    }
    return {given.first.data(), vector(given.second, "distance", rows)};
}

nb::tuple centroids_linked(const Table& X, int linkage, const std::pair<Integers, Array>& nearest) {
    const auto rows = static_cast<Index>(X.shape(0));
    MergeArrays out(rows);
    const Nearest known = nearest_of(nearest, rows);
    const Linkage kind = linkage_of(linkage, true);
    run([&] { link_centroids(X.data(), rows, static_cast<Index>(X.shape(1)), kind, known, out.view()); });
    return out.give();
}

nb::tuple rows_linked(const Parts& parts, const Table& X, const Named& metric, int linkage,
                      const std::pair<Integers, Array>& nearest) {
    const NeighborIndex index = index_of(parts, static_cast<Index>(X.shape(1)));
    require(static_cast<Index>(X.shape(0)) == index.rows && index.node_count == 0,
            "the index must keep the order of X");
    MergeArrays out(index.rows);
    const Nearest known = nearest_of(nearest, index.rows);
    const Linkage kind = linkage_of(linkage, false);
    const Measure measure = measure_of(metric, index.columns);
    run([&] { link_rows(index, X.data(), measure, kind, known, out.view()); });
    return out.give();
}

nb::tuple matrix_linked(Square distances, int linkage) {
    const auto rows = static_cast<Index>(distances.shape(0));
    require(static_cast<Index>(distances.shape(1)) == rows, "distances must be square");
    MergeArrays out(rows);
    const Linkage kind = linkage_of(linkage);
    run([&] { link_matrix(distances.data(), rows, kind, out.view()); });
    return out.give();
}

Doubles measured(const Parts& parts, const Table& queries, const Named& metric) {
    const NeighborIndex index = index_of(parts, static_cast<Index>(queries.shape(1)));
    require(index.node_count == 0, "the index must keep the order of the rows");
    const Measure measure = measure_of(metric, index.columns);
    const auto count = static_cast<Index>(queries.shape(0));
    Fresh<double> out({count, index.rows});
    run([&] { measure_rows(index, queries.data(), count, measure, out.get()); });
    return out.give();
}

nb::tuple spanned(const Parts& parts, const Table& X, const Named& metric, const MaybeArray& from, const MaybeArray& to,
                  double limit) {
    const NeighborIndex index = index_of(parts, static_cast<Index>(X.shape(1)));
    require(static_cast<Index>(X.shape(0)) == index.rows && index.node_count == 0,
            "the index must keep the order of X");
    const SpanningIn in{vector(from, "from", index.rows), vector(to, "to", index.rows), limit};
    const Measure measure = measure_of(metric, index.columns);
    Fresh<Index> order({index.rows});
    Fresh<Index> parent({index.rows});
    Fresh<double> distance({index.rows});
    run([&] { span_rows(index, X.data(), measure, in, {order.get(), parent.get(), distance.get()}); });
    return nb::make_tuple(order.give(), parent.give(), distance.give());
}

nb::tuple spanning(const Parts& parts, const Table& X, const Named& metric, const MaybeArray& core) {
    const NeighborIndex index = index_of(parts, static_cast<Index>(X.shape(1)));
    require(static_cast<Index>(X.shape(0)) == index.rows && index.node_count > 0,
            "X must be the rows of an index with boxes");
    const double* ends = vector(core, "core", index.rows);
    const Measure measure = measure_of(metric, index.columns);
    Fresh<Index> first({index.rows - 1});
    Fresh<Index> second({index.rows - 1});
    Fresh<double> distance({index.rows - 1});
    run([&] { spanning_edges(index, X.data(), measure, ends, {first.get(), second.get(), distance.get()}); });
    return nb::make_tuple(first.give(), second.give(), distance.give());
}

auto joined(const Integers& first, const Integers& second) {
    const auto edges = static_cast<Index>(first.shape(0));
    require(static_cast<Index>(second.shape(0)) == edges, "first and second must have an entry for each edge");
    for (Index t = 0; t < edges; ++t) {
        require(first.data()[t] >= 0 && first.data()[t] <= edges && second.data()[t] >= 0 && second.data()[t] <= edges,
                "edges must join rows");
    }
    Fresh<Index> children({edges, 2});
    run([&] { join_edges(first.data(), second.data(), edges, children.get()); });
    return children.give();
}

nb::tuple condensed(const Integers& first, const Integers& second, const Array& density, Index least) {
    const auto edges = static_cast<Index>(density.shape(0));
    const double* densities = vector(density, "density", edges);
    require(static_cast<Index>(first.shape(0)) == edges && static_cast<Index>(second.shape(0)) == edges && edges >= 1 &&
                least >= 1,
            "first, second and density must have an entry for each merge");
    std::vector<Index> children(static_cast<std::size_t>(2 * edges));
    std::vector<bool> is_joined(static_cast<std::size_t>(2 * edges + 1));
    for (Index t = 0; t < edges; ++t) {
        const std::pair<Index, Index> sides{first.data()[t], second.data()[t]};
        for (const Index side : {sides.first, sides.second}) {
            require(side >= 0 && side <= edges + t && !is_joined[static_cast<std::size_t>(side)],
                    "merges must join rows or earlier merges, each once");
            is_joined[static_cast<std::size_t>(side)] = true;
        }
        children[static_cast<std::size_t>(2 * t)] = sides.first;
        children[static_cast<std::size_t>(2 * t + 1)] = sides.second;
    }
    Condensed tree;
    run([&] { tree = condense(children.data(), densities, edges + 1, least); });
    const auto count = static_cast<Index>(tree.parent.size());
    Fresh<Index> parent({count});
    Fresh<Index> child({count});
    Fresh<double> left({count});
    Fresh<Index> size({count});
    std::copy(tree.parent.begin(), tree.parent.end(), parent.get());
    std::copy(tree.child.begin(), tree.child.end(), child.get());
    std::copy(tree.density.begin(), tree.density.end(), left.get());
    std::copy(tree.size.begin(), tree.size.end(), size.get());
    return nb::make_tuple(parent.give(), child.give(), left.give(), size.give());
}

nb::tuple grouped(const Parts& parts, const Table& X, const Named& metric, double radius, double least,
                  const MaybeArray& weight) {
    const NeighborIndex index = index_of(parts, static_cast<Index>(X.shape(1)));
    require(static_cast<Index>(X.shape(0)) == index.rows, "X must be the rows of the index");
    const DenseGroupsIn in{radius, least, vector(weight, "weight", index.rows)};
    const Measure measure = measure_of(metric, index.columns);
    Fresh<Index> label({index.rows});
    Fresh<bool> core({index.rows});
    run([&] { dense_groups(index, X.data(), measure, in, label.get(), core.get()); });
    return nb::make_tuple(label.give(), core.give());
}

nb::tuple swapped(const Table& distances, const MaybeArray& weight, const MaybeArray& fee, const Integers& start,
                  Index most) {
    const auto rows = static_cast<Index>(distances.shape(0));
    const auto count = static_cast<Index>(start.shape(0));
    require(static_cast<Index>(distances.shape(1)) == rows && count >= 1 && count <= rows && most >= 0,
            "distances must be square, with a row for each medoid");
    const MedoidsIn in{distances.data(), vector(weight, "weight", rows), vector(fee, "fee", rows), rows, count, most};
    std::vector<Index> medoids(static_cast<std::size_t>(rows));
    for (Index m = 0; m < count; ++m) {
        require(start.data()[m] >= 0 && start.data()[m] < rows, "medoids must be rows");
        medoids[static_cast<std::size_t>(m)] = start.data()[m];
    }
    Fresh<Index> label({rows});
    Fresh<double> cost({most + 1});
    MedoidsOut out{medoids.data(), count, label.get(), cost.get(), false};
    Index taken = 0;
    run([&] { taken = swap_medoids(in, out); });
    Fresh<Index> found({out.count});
    std::copy(medoids.begin(), medoids.begin() + out.count, found.get());
    return nb::make_tuple(found.give(), label.give(), cost.give(), taken, out.done);
}

nb::tuple shifted(const Parts& parts, const Table& points, double radius) {
    const NeighborIndex index = index_of(parts, static_cast<Index>(points.shape(1)));
    const auto count = static_cast<Index>(points.shape(0));
    Fresh<double> mean({count, index.columns});
    Fresh<Index> counts({count});
    run([&] { shift_means(index, points.data(), count, radius, mean.get(), counts.get()); });
    return nb::make_tuple(mean.give(), counts.give());
}

Doubles kth(const Parts& parts, const Table& queries, Index k) {
    const NeighborIndex index = index_of(parts, static_cast<Index>(queries.shape(1)));
    require(index.node_count == 0 && k >= 1 && k <= index.rows,
            "the index must keep the order of the rows, and have k of them");
    const auto count = static_cast<Index>(queries.shape(0));
    Fresh<double> out({count});
    run([&] { kth_distances(index, queries.data(), count, k, out.get()); });
    return out.give();
}

using Line = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// Similarities and their diagonal; responsibilities, availabilities, their diagonals, and support, which are written.
nb::ndarray<nb::numpy, bool> messages_passed(const Table& similarity, const Array& preference, Square responsibility,
                                             Square availability, std::tuple<Line, Line, Line> vectors, double damping,
                                             bool is_first) {
    const auto rows = static_cast<Index>(similarity.shape(0));
    auto& [own_responsibility, own_availability, support] = vectors;
    const auto is_square = [&](const auto& table) {
        return static_cast<Index>(table.shape(0)) == rows && static_cast<Index>(table.shape(1)) == rows;
    };
    require(is_square(similarity) && is_square(responsibility) && is_square(availability) &&
                static_cast<Index>(own_responsibility.shape(0)) == rows &&
                static_cast<Index>(own_availability.shape(0)) == rows && static_cast<Index>(support.shape(0)) == rows,
            "messages go between all rows");
    const Messages messages{similarity.data(),
                            vector(preference, "preference", rows),
                            responsibility.data(),
                            availability.data(),
                            own_responsibility.data(),
                            own_availability.data(),
                            support.data(),
                            rows,
                            damping};
    Fresh<bool> is_exemplar({rows});
    run([&] { pass_messages(messages, is_first, is_exemplar.get()); });
    return is_exemplar.give();
}

Doubles prices(const Table& similarity, const Array& best, const Array& fee, Index rounds) {
    const auto rows = static_cast<Index>(similarity.shape(0));
    require(static_cast<Index>(similarity.shape(1)) == rows && rows >= 1 && rounds >= 1, "similarities must be square");
    Fresh<double> price({rows});
    const double* top = vector(best, "best", rows);
    const double* cost = vector(fee, "fee", rows);
    run([&] { raise_prices(similarity.data(), top, cost, rows, rounds, price.get()); });
    return price.give();
}

constexpr Index kDeepest = 10'000;  // levels of a tree that is walked down by calls

/// Refuses children that are no tree: each node but the first and each subcluster is named once, by a node before it.
void require_tree(const CfTree& tree, Index branching) {
    const auto nodes = static_cast<Index>(tree.starts.size()) - 1;
    const auto leaves = static_cast<Index>(tree.weights.size());
    std::vector<Index> depth(static_cast<std::size_t>(nodes), 0);
    std::vector<char> is_named(static_cast<std::size_t>(leaves), 0);
    bool fits = nodes >= 1 && tree.starts.front() == 0 &&
                tree.starts.back() == static_cast<Index>(tree.children.size()) &&
                static_cast<Index>(tree.children.size()) == nodes - 1 + leaves;
    for (Index v = 0; fits && v < nodes; ++v) {
        const Index first = tree.starts[static_cast<std::size_t>(v)];
        const Index last = tree.starts[static_cast<std::size_t>(v + 1)];
        fits = first >= 0 && last > first && last - first <= branching &&
               last <= static_cast<Index>(tree.children.size()) && (v == 0 || depth[static_cast<std::size_t>(v)] > 0);
        for (Index e = first; fits && e < last; ++e) {
            const Index child = tree.children[static_cast<std::size_t>(e)];
            fits = (child >= 0) == (tree.children[static_cast<std::size_t>(first)] >= 0);
            if (child >= 0) {
                fits = fits && child > v && child < nodes && depth[static_cast<std::size_t>(child)] == 0 &&
                       depth[static_cast<std::size_t>(v)] < kDeepest;
                if (fits) {
                    depth[static_cast<std::size_t>(child)] = depth[static_cast<std::size_t>(v)] + 1;
                }
            } else {
                fits = fits && ~child < leaves && is_named[static_cast<std::size_t>(~child)] == 0;
                if (fits) {
                    is_named[static_cast<std::size_t>(~child)] = 1;
                }
            }
        }
    }
    require(fits, "these nodes are no tree of subclusters");
}

template <class T>
nb::ndarray<nb::numpy, T> handed(const std::vector<T>& values, Index columns = 0) {
    const auto count = static_cast<Index>(values.size());
    Fresh<T> out = columns > 0 ? Fresh<T>({count / columns, columns}) : Fresh<T>({count});
    std::copy(values.begin(), values.end(), out.get());
    return out.give();
}

/// Means, weights and squares of subclusters, where the entries of nodes begin, and the entries.
using StoredTree = std::tuple<Table, Array, Array, Integers, Integers>;

nb::tuple cf_tree_grown(const Table& X, const std::optional<StoredTree>& stored, double threshold, Index branching) {
    const auto rows = static_cast<Index>(X.shape(0));
    const auto columns = static_cast<Index>(X.shape(1));
    require(branching >= 2 && threshold >= 0 && columns >= 1,
            "a node has at least two entries, and the threshold is not negative");
    CfTree tree;
    if (stored) {
        const auto& [means, weights, squares, starts, children] = *stored;
        const auto count = static_cast<Index>(means.shape(0));
        require(static_cast<Index>(means.shape(1)) == columns, "subclusters must have the columns of X");
        const double* weight = vector(weights, "weights", count);
        const double* square = vector(squares, "squares", count);
        tree.means.assign(means.data(), means.data() + count * columns);
        tree.weights.assign(weight, weight + count);
        tree.squares.assign(square, square + count);
        tree.starts.assign(starts.data(), starts.data() + starts.shape(0));
        tree.children.assign(children.data(), children.data() + children.shape(0));
        require_tree(tree, branching);
    }
    Fresh<Index> place({rows});
    run([&] { grow_cf_tree(tree, X.data(), rows, columns, threshold, branching, place.get()); });
    return nb::make_tuple(handed(tree.means, columns), handed(tree.weights), handed(tree.squares), handed(tree.starts),
                          handed(tree.children), place.give());
}

}  // namespace

void bind_clusters(nb::module_& module) {
    module.def(
        "link_centroids", &centroids_linked, arg("X"), arg("linkage"), arg("nearest"),
        nb::sig("def link_centroids(X: Matrix, linkage: int, nearest: tuple[NDArray[np.int64], Vector]) -> "
                "tuple[NDArray[np.int64], NDArray[np.int64], Vector, NDArray[np.int64]]"),
        R"doc(Merge by ward (4), centroid (5) or median (6) linkage: ids of both clusters, heights, rows they hold together.

``nearest`` is the nearest other row of each row, and its distance.)doc");
    module.def(
        "link_rows", &rows_linked, arg("index"), arg("X"), arg("metric"), arg("linkage"), arg("nearest"),
        nb::sig("def link_rows(index: tuple[Matrix, NDArray[np.int64], Matrix, NDArray[np.int64], int], X: Matrix, "
                "metric: tuple[int, float, Vector | None], linkage: int, nearest: tuple[NDArray[np.int64], Vector]) -> "
                "tuple[NDArray[np.int64], NDArray[np.int64], Vector, NDArray[np.int64]]"),
        R"doc(Merge by complete (1), average (2) or weighted (3) linkage of rows with a metric; the index has no boxes.)doc");
    module.def(
        "link_matrix", &matrix_linked, arg("distances").noconvert(), arg("linkage"),
        nb::sig("def link_matrix(distances: Matrix, linkage: int) -> tuple[NDArray[np.int64], NDArray[np.int64], "
                "Vector, NDArray[np.int64]]"),
        R"doc(Merge by single (0), complete, average or weighted linkage of given distances, which are written over.)doc");
    module.def("measure_rows", &measured, arg("index"), arg("queries"), arg("metric"),
               nb::sig("def measure_rows(index: tuple[Matrix, NDArray[np.int64], Matrix, NDArray[np.int64], int], "
                       "queries: Matrix, metric: tuple[int, float, Vector | None]) -> Matrix"),
               R"doc(Distances of queries to all rows of an index without boxes, in the order of the rows.)doc");
    module.def(
        "span_rows", &spanned, arg("index"), arg("X"), arg("metric"), arg("source").none(), arg("target").none(),
        arg("limit"),
        nb::sig("def span_rows(index: tuple[Matrix, NDArray[np.int64], Matrix, NDArray[np.int64], int], X: Matrix, "
                "metric: tuple[int, float, Vector | None], source: Vector | None, target: Vector | None, limit: float) "
                "-> tuple[NDArray[np.int64], NDArray[np.int64], Vector]"),
        R"doc(Rows in the order of Prim's algorithm, the row from which each is reached (-1 for none), and how far it is.

The distance of row i, reached, to row j is the largest of their distance, ``source[i]`` and ``target[j]``.)doc");
    module.def("spanning_edges", &spanning, arg("index"), arg("X"), arg("metric"), arg("core").none(),
               nb::sig("def spanning_edges(index: tuple[Matrix, NDArray[np.int64], Matrix, NDArray[np.int64], int], X: "
                       "Matrix, metric: tuple[int, float, Vector | None], core: Vector | None) -> "
                       "tuple[NDArray[np.int64], NDArray[np.int64], Vector]"),
               R"doc(Find the ends and lengths of the edges of a minimum spanning tree, by an index with boxes.

The distance of two rows is the largest of their distance and of ``core`` of both.)doc");
    module.def(
        "join_edges", &joined, arg("first"), arg("second"),
        nb::sig("def join_edges(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]"),
        R"doc(Clusters that the edges of a tree join, one edge after the other, (edges, 2): rows first, then edges by number.)doc");
    module.def(
        "condense", &condensed, arg("first"), arg("second"), arg("density"), arg("least"),
        nb::sig("def condense(first: NDArray[np.int64], second: NDArray[np.int64], density: Vector, least: int) -> "
                "tuple[NDArray[np.int64], NDArray[np.int64], Vector, NDArray[np.int64]]"),
        R"doc(Clusters that rows and clusters of at least so many rows leave, which, at which density, and of how many rows.)doc");
    module.def(
        "dense_groups", &grouped, arg("index"), arg("X"), arg("metric"), arg("radius"), arg("least"),
        arg("weight").none(),
        nb::sig("def dense_groups(index: tuple[Matrix, NDArray[np.int64], Matrix, NDArray[np.int64], int], X: Matrix, "
                "metric: tuple[int, float, Vector | None], radius: float, least: float, weight: Vector | None) -> "
                "tuple[NDArray[np.int64], NDArray[np.bool_]]"),
        R"doc(Return the group of each row, -1 for none, and whether rows within the radius of it weigh at least ``least``.)doc");
    module.def(
        "swap_medoids", &swapped, arg("distances"), arg("weight").none(), arg("fee").none(), arg("start"), arg("most"),
        nb::sig(
            "def swap_medoids(distances: Matrix, weight: Vector | None, fee: Vector | None, start: NDArray[np.int64], "
            "most: int) -> tuple[NDArray[np.int64], NDArray[np.int64], Vector, int, bool]"),
        R"doc(Medoids after exchanges, the medoid of each row, the cost before and after each, their number, and whether none is left.

With a fee for each row medoids also come and go alone.)doc");
    module.def(
        "shift_means", &shifted, arg("index"), arg("points"), arg("radius"),
        nb::sig("def shift_means(index: tuple[Matrix, NDArray[np.int64], Matrix, NDArray[np.int64], int], points: "
                "Matrix, radius: float) -> tuple[Matrix, NDArray[np.int64]]"),
        R"doc(Means of the rows within a radius of each point, the point itself where there is none, and how many they are.)doc");
    module.def("kth_distances", &kth, arg("index"), arg("queries"), arg("k"),
               nb::sig("def kth_distances(index: tuple[Matrix, NDArray[np.int64], Matrix, NDArray[np.int64], int], "
                       "queries: Matrix, k: int) -> Vector"),
               R"doc(Distances of queries to their k-th nearest rows, of an index without boxes.)doc");
    module.def(
        "pass_messages", &messages_passed, arg("similarity"), arg("preference"), arg("responsibility").noconvert(),
        arg("availability").noconvert(), arg("vectors").noconvert(), arg("damping"), arg("is_first"),
        nb::sig("def pass_messages(similarity: Matrix, preference: Vector, responsibility: Matrix, availability: "
                "Matrix, vectors: tuple[Vector, Vector, Vector], damping: float, is_first: bool) -> NDArray[np.bool_]"),
        R"doc(Pass one round of messages of affinity propagation; return which rows elect themselves.

Diagonals stand in ``preference`` and the first two ``vectors``; that of ``similarity`` is minus infinity. The third vector is
the support of each row. Availabilities are written at the beginning of the next round.)doc");
    module.def(
        "raise_prices", &prices, arg("similarity"), arg("best"), arg("fee"), arg("rounds"),
        nb::sig("def raise_prices(similarity: Matrix, best: Vector, fee: Vector, rounds: int) -> Vector"),
        R"doc(Prices of rows that rise together until fees hold them back: a dual solution of the choice of exemplars.)doc");
    module.def("grow_cf_tree", &cf_tree_grown, arg("X"), arg("tree").none(), arg("threshold"), arg("branching"),
               nb::sig("def grow_cf_tree(X: Matrix, tree: tuple[Matrix, Vector, Vector, NDArray[np.int64], "
                       "NDArray[np.int64]] | None, threshold: float, branching: int) -> tuple[Matrix, Vector, Vector, "
                       "NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]"),
               R"doc(Put rows into a tree of clustering features.

Means, weights and squares of subclusters, where the entries of nodes begin, the entries, and the subcluster of each row.)doc");
}

}  // namespace qed::bindings
