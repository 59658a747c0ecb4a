#include <limits>

#include "arrays.hpp"
#include "qed/manifold/graph.hpp"
#include "qed/manifold/ranks.hpp"
#include "qed/manifold/scaling.hpp"
#include "qed/manifold/similarity.hpp"
#include "qed/manifold/stress.hpp"
#include "qed/manifold/tsne.hpp"
#include "qed/manifold/umap.hpp"

namespace qed::bindings {
namespace {

using nb::arg;
using Whole = nb::ndarray<nb::ro, nb::device::cpu, std::int64_t, nb::ndim<1>, nb::c_contig>;
using Plain = nb::ndarray<nb::ro, nb::device::cpu, double, nb::c_contig>;
using Written = nb::ndarray<nb::device::cpu, double, nb::ndim<2>, nb::c_contig>;
using Edges = std::tuple<Whole, Whole, Plain>;

/// Edges in compressed rows, every index inside the graph of `nodes` ends.
Graph graph(const Edges& edges, Index ends_below) {
    const auto& [starts, ends, values] = edges;
    require(starts.shape(0) > 0, "starts must hold one number more than there are nodes");
    const auto nodes = static_cast<Index>(starts.shape(0)) - 1;
    const auto count = static_cast<Index>(ends.shape(0));
    require(values.ndim() == 1 && static_cast<Index>(values.shape(0)) == count,
            "ends and values must be of one length");
    require(starts.data()[0] == 0 && starts.data()[nodes] == count, "starts must begin at 0 and end at the last edge");
    require(nodes < std::numeric_limits<std::int32_t>::max(), "a graph has at most 2^31 - 2 nodes");
    for (Index i = 0; i < nodes; ++i) {
        require(starts.data()[i] <= starts.data()[i + 1], "starts must not fall");
    }
    const Index below = ends_below < 0 ? nodes : ends_below;
    for (Index e = 0; e < count; ++e) {
        require(ends.data()[e] >= 0 && ends.data()[e] < below, "an edge ends outside of the graph");
    }
    return {nodes, starts.data(), ends.data(), values.data()};
}

void require_indices(const Whole& rows, Index below) {
    for (std::size_t i = 0; i < rows.shape(0); ++i) {
        require(rows.data()[i] >= 0 && rows.data()[i] < below, "a row is not one of the graph");
    }
}

void require_square(const Plain& D, Index n) {
    require(D.ndim() == 2 && static_cast<Index>(D.shape(0)) == n && static_cast<Index>(D.shape(1)) == n,
            "the matrix of distances must be square, a row for each point");
}

nb::ndarray<nb::numpy, double> paths(const Edges& edges, const Whole& sources) {
    const Graph g = graph(edges, -1);
    require_indices(sources, g.nodes);
    const auto count = static_cast<Index>(sources.shape(0));
    Fresh<double> out({count, g.nodes});
    run([&] { shortest_paths(g, sources.data(), count, out.get()); });
    return out.give();
}

std::tuple<Doubles, double, double> guttman(const Plain& D, const Plain& columns) {
    require(columns.ndim() == 2, "points must be columns");
    const auto k = static_cast<Index>(columns.shape(0));
    const auto n = static_cast<Index>(columns.shape(1));
    require_square(D, n);
    Fresh<double> out({k, n});
    StressSums sums;
    run([&] { sums = guttman_step(D.data(), columns.data(), n, k, out.get()); });
    return {out.give<Doubles>(), sums.stress, sums.squares};
}

nb::ndarray<nb::numpy, double> distances(const Plain& columns) {
    require(columns.ndim() == 2, "points must be columns");
    const auto k = static_cast<Index>(columns.shape(0));
    const auto n = static_cast<Index>(columns.shape(1));
    Fresh<double> out({n > 0 ? n * (n - 1) / 2 : 0});
    run([&] { pair_distances(columns.data(), n, k, out.get()); });
    return out.give();
}

nb::ndarray<nb::numpy, double> squared(const Plain& D, const Plain& v) {
    require(D.ndim() == 2 && v.ndim() == 2 && D.shape(1) == v.shape(0), "v must have a row for each column of D");
    const auto m = static_cast<Index>(D.shape(0));
    const auto c = static_cast<Index>(v.shape(1));
    Fresh<double> out({m, c});
    run([&] { squared_product(D.data(), m, static_cast<Index>(D.shape(1)), v.data(), c, out.get()); });
    return out.give();
}

Index beyond(const Plain& reference, const Plain& other, const Whole& own, Index k) {
    require(reference.ndim() == 2 && other.ndim() == 2 && reference.shape(0) == other.shape(0) &&
                reference.shape(1) == other.shape(1) && own.shape(0) == other.shape(0),
            "both spaces must hold a row of distances for each number of a row");
    const auto n = static_cast<Index>(other.shape(1));
    require(k >= 1 && k < n, "there must be more columns than neighbours");
    require_indices(own, n);
    Index sum = 0;
    run([&] {
        sum = places_beyond(reference.data(), other.data(), own.data(), static_cast<Index>(other.shape(0)), n, k);
    });
    return sum;
}

std::tuple<Doubles, Doubles> perplexity(const Plain& d, double wanted) {
    require(d.ndim() == 2 && d.shape(1) > 0, "distances must be rows of at least one neighbour");
    const auto n = static_cast<Index>(d.shape(0));
    const auto k = static_cast<Index>(d.shape(1));
    Fresh<double> out({n, k});
    Fresh<double> precision({n});
    run([&] { perplexity_similarities(d.data(), n, k, wanted, out.get(), precision.get()); });
    return {out.give<Doubles>(), precision.give<Doubles>()};
}

std::tuple<Doubles, Doubles, Doubles> memberships(const Plain& d, double wanted, double connected) {
    require(d.ndim() == 2 && d.shape(1) > 0, "distances must be rows of at least one neighbour");
    require(connected >= 0.0, "connected must not be negative");
    const auto n = static_cast<Index>(d.shape(0));
    const auto k = static_cast<Index>(d.shape(1));
    Fresh<double> out({n, k});
    Fresh<double> near({n});
    Fresh<double> spread({n});
    run([&] { membership_similarities(d.data(), n, k, wanted, connected, out.get(), near.get(), spread.get()); });
    return {out.give<Doubles>(), near.give<Doubles>(), spread.give<Doubles>()};
}

void require_points(const Graph& g, Index rows, Index d, double angle, bool by_grid = false) {
    require(rows == g.nodes && d > 0, "there must be a point for each node");
    require(angle >= 0.0 && (angle == 0.0 || d <= 3), "boxes hold points of at most three coordinates");
    require(!by_grid || (angle > 0.0 && d <= 2),
            "a grid holds points of at most two coordinates, with boxes beside it");
}

std::tuple<double, double> descend(const Edges& p, const Written& y, const Written& velocity, const Written& gains,
                                   double exaggeration, double momentum, double learning_rate, double angle,
                                   bool by_grid, Index steps) {
    const Graph g = graph(p, -1);
    const auto d = static_cast<Index>(y.shape(1));
    require_points(g, static_cast<Index>(y.shape(0)), d, angle, by_grid);
    for (const Written* other : {&velocity, &gains}) {
        require(other->shape(0) == y.shape(0) && other->shape(1) == y.shape(1),
                "velocity and gains are of the shape of y");
    }
    const TsneRule rule{exaggeration, momentum, learning_rate, {angle, by_grid}};
    TsneValue value;
    run([&] { value = tsne_steps(g, d, y.data(), velocity.data(), gains.data(), rule, steps); });
    return {value.divergence, value.gradient_norm};
}

std::tuple<double, Doubles> gradient(const Edges& p, const Plain& y, double angle, bool by_grid) {
    const Graph g = graph(p, -1);
    require(y.ndim() == 2, "points must be rows");
    const auto d = static_cast<Index>(y.shape(1));
    require_points(g, static_cast<Index>(y.shape(0)), d, angle, by_grid);
    Fresh<double> out({g.nodes, d});
    TsneValue value;
    run([&] { value = tsne_gradient(g, d, y.data(), {angle, by_grid}, out.get()); });
    return {value.divergence, out.give<Doubles>()};
}

double summed(const Plain& y, const Whole& rows) {
    require(y.ndim() == 2 && y.shape(1) > 0, "points must be rows");
    const auto n = static_cast<Index>(y.shape(0));
    require_indices(rows, n);
    double value = 0.0;
    run([&] {
        value =
            student_sum(y.data(), n, static_cast<Index>(y.shape(1)), rows.data(), static_cast<Index>(rows.shape(0)));
    });
    return value;
}

void layout(const Edges& edges, const Written& y, const std::optional<Plain>& fixed,
            const std::tuple<double, double>& curve,
            const std::tuple<double, Index, double, Index, std::uint64_t>& sampling, Index first, Index last) {
    const auto d = static_cast<Index>(y.shape(1));
    const bool is_fixed = fixed.has_value();
    require(!is_fixed || (fixed->ndim() == 2 && static_cast<Index>(fixed->shape(1)) == d && fixed->shape(0) > 0),
            "fixed points must have the coordinates of the others");
    const Index m = is_fixed ? static_cast<Index>(fixed->shape(0)) : -1;
    const Graph g = graph(edges, m);
    require_points(g, static_cast<Index>(y.shape(0)), d, 0.0);
    const auto& [a, b] = curve;
    const auto& [repulsion, negatives, rate, epochs, seed] = sampling;
    require(negatives >= 0 && negatives < (Index{1} << 20) && epochs > 0,
            "negatives and epochs must be sensible counts");
    const UmapRule rule{{a, b}, repulsion, negatives, rate, epochs, seed};
    run([&] { umap_epochs(g, d, y.data(), is_fixed ? fixed->data() : nullptr, m, rule, first, last); });
}

double cross_entropy(const Edges& edges, const Plain& y, const std::tuple<double, double>& curve, double repulsion,
                     const Whole& rows) {
    const Graph g = graph(edges, -1);
    require(y.ndim() == 2, "points must be rows");
    const auto d = static_cast<Index>(y.shape(1));
    require_points(g, static_cast<Index>(y.shape(0)), d, 0.0);
    require_indices(rows, g.nodes);
    const UmapCurve at{std::get<0>(curve), std::get<1>(curve)};
    double value = 0.0;
    run([&] {
        value = umap_cross_entropy(g, d, y.data(), at, repulsion, rows.data(), static_cast<Index>(rows.shape(0)));
    });
    return value;
}

}  // namespace

void bind_manifold(nb::module_& module) {
    module.def(
        "shortest_paths", &paths, arg("edges"), arg("sources"),
        nb::sig("def shortest_paths(edges: Edges, sources: NDArray[np.int64]) -> Matrix64"),
        R"doc(Lengths of shortest paths from each source to all nodes, (sources, nodes); infinity where there is none.)doc");
    module.def(
        "guttman_step", &guttman, arg("D"), arg("columns"),
        nb::sig("def guttman_step(D: Matrix64, columns: Matrix64) -> tuple[Matrix64, float, float]"),
        R"doc(Points (k, n) after one step of majorisation towards the distances D, and the stress and squared distances before it.)doc");
    module.def("pair_distances", &distances, arg("columns"), nb::sig("def pair_distances(columns: Matrix64) -> Vector"),
               R"doc(Distances of all pairs i < j of points that are given as columns, (k, n).)doc");
    module.def(
        "places_beyond", &beyond, arg("reference"), arg("other"), arg("own"), arg("k"),
        nb::sig("def places_beyond(reference: Matrix64, other: Matrix64, own: NDArray[np.int64], k: int) -> int"),
        R"doc(Sum over rows and their k nearest columns in `other` of how far beyond place k these stand in `reference`.)doc");
    module.def("squared_product", &squared, arg("D"), arg("v"),
               nb::sig("def squared_product(D: Matrix64, v: Matrix64) -> Matrix64"),
               R"doc(Squares of D (m, n) times v (n, c); the squares are never stored.)doc");
    module.def(
        "perplexity_similarities", &perplexity, arg("distances"), arg("perplexity"),
        nb::sig("def perplexity_similarities(distances: Matrix64, perplexity: float) -> tuple[Matrix64, Vector]"),
        R"doc(Shares of neighbours whose entropy is log(perplexity), (n, k), and the precision of each row.)doc");
    module.def(
        "membership_similarities", &memberships, arg("distances"), arg("wanted"), arg("connected"),
        nb::sig("def membership_similarities(distances: Matrix64, wanted: float, connected: float) -> tuple[Matrix64, "
                "Vector, Vector]"),
        R"doc(Memberships of neighbours that add up to ``wanted``, the distance they begin at, and their spread.)doc");
    module.def(
        "tsne_steps", &descend, arg("p"), arg("y"), arg("velocity"), arg("gains"), arg("exaggeration"), arg("momentum"),
        arg("learning_rate"), arg("angle"), arg("by_grid"), arg("steps"),
        nb::sig(
            "def tsne_steps(p: Edges, y: Matrix64, velocity: Matrix64, gains: Matrix64, exaggeration: float, momentum: "
            "float, learning_rate: float, angle: float, by_grid: bool, steps: int) -> tuple[float, float]"),
        R"doc(Move points by so many steps, in place; returns the divergence and the norm of the gradient before the last.

With ``angle`` 0 all pairs push each other in double precision; else boxes of points do, in single precision (up to three
columns), or points through a grid where ``by_grid`` and where that costs less (up to two columns).)doc");
    module.def(
        "tsne_gradient", &gradient, arg("p"), arg("y"), arg("angle"), arg("by_grid"),
        nb::sig("def tsne_gradient(p: Edges, y: Matrix64, angle: float, by_grid: bool) -> tuple[float, Matrix64]"),
        R"doc(Divergence at points, and its gradient.)doc");
    module.def("student_sum", &summed, arg("y"), arg("rows"),
               nb::sig("def student_sum(y: Matrix64, rows: NDArray[np.int64]) -> float"),
               R"doc(Sum of the similarities of some points with all others.)doc");
    module.def(
        "umap_epochs", &layout, arg("edges"), arg("y"), arg("fixed").none(), arg("curve"), arg("sampling"),
        arg("first"), arg("last"),
        nb::sig("def umap_epochs(edges: Edges, y: Matrix64, fixed: Matrix64 | None, curve: tuple[float, float], "
                "sampling: tuple[float, int, float, int, int], first: int, last: int) -> None"),
        R"doc(Move points through epochs ``first`` to ``last - 1``, in place; among ``fixed`` points where those are given.

``curve`` is a and b; ``sampling`` is the strength of repulsion, points that push for each that pulls, rate, epochs in all,
seed.)doc");
    module.def("umap_cross_entropy", &cross_entropy, arg("edges"), arg("y"), arg("curve"), arg("repulsion"),
               arg("rows"),
               nb::sig("def umap_cross_entropy(edges: Edges, y: Matrix64, curve: tuple[float, float], repulsion: "
                       "float, rows: NDArray[np.int64]) -> float"),
               R"doc(Return what the layout lowers, summed over some rows.)doc");
}

}  // namespace qed::bindings
