#include <cstdint>
#include <tuple>

#include "neighbor_parts.hpp"
#include "qed/clusters/dense_groups.hpp"
#include "qed/clusters/linkage.hpp"
#include "qed/neighbors/measure_rows.hpp"
#include "qed/clusters/medoids.hpp"
#include "qed/clusters/spanning.hpp"

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

Linkage linkage_of(int number, bool centroids) {
    require(number >= 0 && number <= static_cast<int>(Linkage::median), "there is no such linkage");
    const auto linkage = static_cast<Linkage>(number);
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
    require(static_cast<Index>(X.shape(0)) == index.rows && index.node_count == 0, "the index must keep the order of X");
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
    const Linkage kind = linkage_of(linkage, false);
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
    require(static_cast<Index>(X.shape(0)) == index.rows && index.node_count == 0, "the index must keep the order of X");
    const SpanningIn in{vector(from, "from", index.rows), vector(to, "to", index.rows), limit};
    const Measure measure = measure_of(metric, index.columns);
    Fresh<Index> order({index.rows});
    Fresh<Index> parent({index.rows});
    Fresh<double> distance({index.rows});
    run([&] { span_rows(index, X.data(), measure, in, {order.get(), parent.get(), distance.get()}); });
    return nb::make_tuple(order.give(), parent.give(), distance.give());
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

nb::tuple swapped(const Table& distances, const MaybeArray& weight, const Integers& start, Index most) {
    const auto rows = static_cast<Index>(distances.shape(0));
    const auto count = static_cast<Index>(start.shape(0));
    require(static_cast<Index>(distances.shape(1)) == rows && count >= 1 && count <= rows && most >= 0,
            "distances must be square, with a row for each medoid");
    Fresh<Index> medoids({count});
    for (Index m = 0; m < count; ++m) {
        require(start.data()[m] >= 0 && start.data()[m] < rows, "medoids must be rows");
        medoids.get()[m] = start.data()[m];
    }
    Fresh<Index> label({rows});
    Fresh<double> cost({most + 1});
    const MedoidsIn in{distances.data(), vector(weight, "weight", rows), rows, count, most};
    MedoidsOut out{medoids.get(), label.get(), cost.get(), false};
    Index taken = 0;
    run([&] { taken = swap_medoids(in, out); });
    return nb::make_tuple(medoids.give(), label.give(), cost.give(), taken, out.done);
}

}  // namespace

void bind_clusters(nb::module_& module) {
    module.def("link_centroids", &centroids_linked, arg("X"), arg("linkage"), arg("nearest"));
    module.def("link_rows", &rows_linked, arg("index"), arg("X"), arg("metric"), arg("linkage"), arg("nearest"));
    module.def("link_matrix", &matrix_linked, arg("distances").noconvert(), arg("linkage"));
    module.def("measure_rows", &measured, arg("index"), arg("queries"), arg("metric"));
    module.def("span_rows", &spanned, arg("index"), arg("X"), arg("metric"), arg("source").none(), arg("target").none(),
               arg("limit"));
    module.def("dense_groups", &grouped, arg("index"), arg("X"), arg("metric"), arg("radius"), arg("least"),
               arg("weight").none());
    module.def("swap_medoids", &swapped, arg("distances"), arg("weight").none(), arg("start"), arg("most"));
}

}  // namespace qed::bindings
