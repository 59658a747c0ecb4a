#include "qed/neighbors/neighbors.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

#include "neighbor_parts.hpp"
#include "qed/tables/density.hpp"

namespace qed::bindings {
namespace {

using nb::arg;
nb::tuple arranged(const Table& X, bool tree) {
    const auto rows = static_cast<Index>(X.shape(0));
    const auto columns = static_cast<Index>(X.shape(1));
    require(rows >= 1 && columns >= 1, "X must have rows and columns");
    const Index count = blocks_of(rows, kOctet);
    Fresh<double> octets({count, columns * kOctet});
    Fresh<Index> ids({count, kOctet});
    Boxes boxes;
    run([&] { arrange(X.data(), rows, columns, octets.get(), ids.get(), tree ? &boxes : nullptr); });
    const auto nodes = static_cast<Index>(boxes.children.size()) / kOctet;
    Fresh<double> ends({nodes, 2 * columns * kOctet});
    Fresh<Index> children({nodes, kOctet});
    std::copy(boxes.ends.begin(), boxes.ends.end(), ends.get());
    std::copy(boxes.children.begin(), boxes.children.end(), children.get());
    return nb::make_tuple(octets.give(), ids.give(), ends.give(), children.give(), rows);
}

nb::tuple nearest_rows(const Parts& parts, const Table& queries, Index k, const Named& metric, bool others) {
    const NeighborIndex index = index_of(parts, static_cast<Index>(queries.shape(1)));
    const auto count = static_cast<Index>(queries.shape(0));
    require(k >= 1 && k <= index.rows - (others ? 1 : 0), "k must be between 1 and the number of rows");
    require(!others || count <= index.rows, "queries that are rows must be rows of the index");
    const Measure measure = measure_of(metric, index.columns);
    Fresh<double> distance({count, k});
    Fresh<Index> id({count, k});
    Index seen = 0;
    run([&] { seen = nearest(index, queries.data(), count, k, measure, others, distance.get(), id.get()); });
    return nb::make_tuple(distance.give(), id.give(), seen);
}

nb::tuple rows_within(const Parts& parts, const Table& queries, double radius, const Named& metric, bool others) {
    const NeighborIndex index = index_of(parts, static_cast<Index>(queries.shape(1)));
    const auto count = static_cast<Index>(queries.shape(0));
    const Measure measure = measure_of(metric, index.columns);
    std::vector<std::vector<Near>> found(static_cast<std::size_t>(count));
    run([&] { within(index, queries.data(), count, radius, measure, others, found.data()); });
    Fresh<Index> starts({count + 1});
    starts.get()[0] = 0;
    for (Index q = 0; q < count; ++q) {
        starts.get()[q + 1] = starts.get()[q] + static_cast<Index>(found[static_cast<std::size_t>(q)].size());
    }
    Fresh<double> distance({starts.get()[count]});
    Fresh<Index> id({starts.get()[count]});
    Index at = 0;
    for (const std::vector<Near>& list : found) {
        for (const Near& one : list) {
            distance.get()[at] = one.distance;
            id.get()[at++] = one.id;
        }
    }
    return nb::make_tuple(starts.give(), distance.give(), id.give());
}

/// `shape` is the number of a kernel and the bandwidth.
Doubles densities(const Parts& parts, const Table& queries, const MaybeArray& weights,
                  const std::pair<int, double>& shape, const Named& metric) {
    const NeighborIndex index = index_of(parts, static_cast<Index>(queries.shape(1)));
    const auto count = static_cast<Index>(queries.shape(0));
    require(shape.first >= 0 && shape.first <= static_cast<int>(Window::cosine) && shape.second > 0,
            "there is no such kernel");
    const double* s = vector(weights, "weights", index.rows);
    const Measure measure = measure_of(metric, index.columns);
    require(measure.metric != Metric::differing, "densities need a metric of lengths");
    Fresh<double> out({count});
    run([&] {
        log_densities(index, queries.data(), count, s, {static_cast<Window>(shape.first), shape.second}, measure,
                      out.get());
    });
    return out.give();
}

}  // namespace

void bind_neighbors(nb::module_& module) {
    module.def(
        "arrange_rows", &arranged, arg("X"), arg("tree"),
        nb::sig("def arrange_rows(X: Matrix, tree: bool) -> tuple[Matrix, NDArray[np.int64], Matrix, "
                "NDArray[np.int64], int]"),
        R"doc(Rows in groups of eight, which row is where, boxes around near groups and what is in them, and the number of rows.

Without ``tree`` rows keep their order, and there are no boxes.)doc");
    module.def(
        "nearest_rows", &nearest_rows, arg("index"), arg("queries"), arg("k"), arg("metric"), arg("others"),
        nb::sig("def nearest_rows(index: tuple[Matrix, NDArray[np.int64], Matrix, NDArray[np.int64], int], queries: "
                "Matrix, k: int, metric: tuple[int, float, Vector | None], others: bool) -> tuple[Matrix, "
                "NDArray[np.int64], int]"),
        R"doc(Distances and numbers of the k nearest rows, nearest first, equal ones by number; and the groups of eight looked at.

With ``others`` query i is row i, and is left out.)doc");
    module.def(
        "rows_within", &rows_within, arg("index"), arg("queries"), arg("radius"), arg("metric"), arg("others"),
        nb::sig("def rows_within(index: tuple[Matrix, NDArray[np.int64], Matrix, NDArray[np.int64], int], queries: "
                "Matrix, radius: float, metric: tuple[int, float, Vector | None], others: bool) -> "
                "tuple[NDArray[np.int64], Vector, NDArray[np.int64]]"),
        R"doc(Where the list of each query begins, then distances and numbers of all rows within the radius, nearest first.)doc");
    module.def(
        "log_densities", &densities, arg("index"), arg("queries"), arg("weights").none(), arg("kernel"), arg("metric"),
        nb::sig("def log_densities(index: tuple[Matrix, NDArray[np.int64], Matrix, NDArray[np.int64], int], queries: "
                "Matrix, weights: Vector | None, kernel: tuple[int, float], metric: tuple[int, float, Vector | None]) "
                "-> Vector"),
        R"doc(Logarithms of sums of windows of a bandwidth around the rows, each with a positive weight or all with one.)doc");
}

}  // namespace qed::bindings
