#include "qed/neighbors/nearest.hpp"

#include <algorithm>
#include <cstdint>

#include "sparse_arrays.hpp"

namespace qed::bindings {
namespace {

using nb::arg;
using Compressed = std::tuple<Array, Array, Array, Shape>;
template <class T>
using Written = nb::ndarray<T, nb::device::cpu, nb::c_contig>;

Places places(const nb::object& X, const MaybeArray& shift) {
    Places x;
    x.is_sparse = nb::isinstance<nb::tuple>(X);
    if (x.is_sparse) {
        const auto [indptr, indices, data, shape] = nb::cast<Compressed>(X);
        x.sparse = sparse_rows(indptr, indices, data, shape);
    } else {
        x.dense = matrix(nb::cast<Array>(X), "X");
    }
    require(!x.is_sparse || !shift, "compressed rows are not shifted");
    x.shift = vector(shift, "shift", x.columns());
    return x;
}

CentresIn centres(const Array& C, const Array& half, Index columns) {
    const Matrix view = matrix(C, "centres");
    require(view.kind == Kind::float64 && view.columns == columns && (view.columns <= 1 || view.column_stride == 1) &&
                (view.rows <= 1 || view.row_stride == view.columns),
            "centres must be contiguous float64 with the columns of X");
    return {static_cast<const double*>(view.data), vector(half, "half", view.rows), view.rows};
}

Doubles squares_of(const nb::object& X, const MaybeArray& shift) {
    const Places x = places(X, shift);
    Fresh<double> out({x.rows()});
    run([&] { row_squares(x, out.get()); });
    return out.give();
}

const Index* groups_of(const Array& starts, Index k, Index& groups) {
    require(starts.ndim() == 1 && starts.dtype() == nb::dtype<std::int64_t>() && starts.shape(0) >= 2,
            "starts must be int64");
    const auto* first = static_cast<const Index*>(starts.data());
    groups = static_cast<Index>(starts.shape(0)) - 1;
    bool in_order = first[0] == 0 && first[groups] == k && k > 0;
    for (Index g = 0; g < groups; ++g) {
        in_order = in_order && first[g] < first[g + 1];
    }
    require(in_order, "starts must cover the centres");
    return first;
}

void require_bounds(const Written<std::int32_t>& labels, const Written<double>& upper, const Written<double>& lower,
                    Index n, Index groups, Index k, bool is_first) {
    require(static_cast<Index>(labels.size()) == n && static_cast<Index>(upper.size()) == n &&
                static_cast<Index>(lower.size()) == n * groups,
            "labels, upper and lower must have an entry for each row (and group)");
    for (Index i = 0; !is_first && i < n; ++i) {
        if (labels.data()[i] < 0 || labels.data()[i] >= k) {
            require(false, "labels must be numbers of centres");
        }
    }
}

nb::tuple assigned(const nb::object& X, const MaybeArray& shift, const MaybeArray& squares, const MaybeArray& s,
                   const std::tuple<Array, Array>& given, const Array& starts,
                   const std::tuple<Array, Array, Array, double>& motion, Written<std::int32_t> labels,
                   Written<double> upper, Written<double> lower, bool is_first, bool sums) {
    const Places x = places(X, shift);
    const Index n = x.rows();
    NearestIn in{};
    in.x = x;
    in.squares = vector(squares, "squares", n);
    in.s = vector(s, "s", n);
    in.centres = centres(std::get<0>(given), std::get<1>(given), x.columns());
    const Index k = in.centres.k;
    in.starts = groups_of(starts, k, in.groups);
    in.moved = vector(std::get<0>(motion), "moved", k);
    in.group_moved = vector(std::get<1>(motion), "group_moved", in.groups);
    in.reach = vector(std::get<2>(motion), "reach", k);
    in.slack = std::get<3>(motion);
    in.is_first = is_first;
    require(in.squares != nullptr || (is_first && in.groups == 1 && !x.is_sparse),
            "only dense rows that are looked at once, with centres of one group, do without squares");
    require_bounds(labels, upper, lower, n, in.groups, k, is_first);
    Fresh<double> total({sums ? k : 0, x.columns()});
    Fresh<double> weights({sums ? k : 0});
    NearestOut out{sums ? total.get() : nullptr, sums ? weights.get() : nullptr, 0.0, 0, 0};
    const NearestState state{labels.data(), upper.data(), lower.data()};
    run([&] { assign_nearest(in, state, out); });
    return nb::make_tuple(total.give(), weights.give(), out.inertia, out.changed, out.evaluated);
}

nb::tuple run_of(
    const nb::object& X, const MaybeArray& shift, const Array& squares, const MaybeArray& s, const Array& starts,
    const std::tuple<double, double, double, double, Index>& goal, Written<std::int32_t> labels, Written<double> upper,
    Written<double> lower,
    const std::tuple<Written<double>, Written<double>, Written<double>, Written<double>, Written<double>>& run_state,
    bool is_first, bool is_pending) {
    const Places x = places(X, shift);
    const Index n = x.rows();
    LloydIn in{};
    in.rows.x = x;
    in.rows.squares = vector(squares, "squares", n);
    in.rows.s = vector(s, "s", n);
    std::tie(in.total, in.weight, in.longest, in.tol, in.most) = goal;
    const auto& [centres, sums, weights, moved, group_moved] = run_state;
    const auto k = static_cast<Index>(weights.size());
    in.rows.centres.k = k;
    in.rows.starts = groups_of(starts, k, in.rows.groups);
    in.rows.is_first = is_first;
    in.is_pending = is_pending;
    require(static_cast<Index>(centres.size()) == k * x.columns() && sums.size() == centres.size() &&
                static_cast<Index>(moved.size()) == k && static_cast<Index>(group_moved.size()) == in.rows.groups,
            "centres, sums, weights and moves must have an entry for each centre");
    require_bounds(labels, upper, lower, n, in.rows.groups, k, is_first);
    Fresh<double> trace({in.most + 1});
    LloydOut out{trace.get(), 0, 0, 0};
    const NearestState state{labels.data(), upper.data(), lower.data()};
    const LloydState at{centres.data(), sums.data(), weights.data(), moved.data(), group_moved.data()};
    LloydEnd end{};
    run([&] { end = run_lloyd(in, state, at, out); });
    return nb::make_tuple(static_cast<int>(end), trace.give(), out.moves, out.passes, out.evaluated);
}

nb::tuple batches_of(const nb::object& X, const MaybeArray& shift, const Array& squares, const MaybeArray& s,
                     nb::ndarray<const std::int64_t, nb::ndim<2>, nb::device::cpu, nb::c_contig> batches,
                     const std::tuple<double, double, double, double, double>& rule, Written<double> centres,
                     Written<double> counts, Written<double> seen) {
    const Places x = places(X, shift);
    const Index n = x.rows();
    BatchesIn in{};
    in.rows.x = x;
    in.rows.squares = vector(squares, "squares", n);
    in.rows.s = vector(s, "s", n);
    in.rows.centres.k = static_cast<Index>(counts.size());
    in.batches = batches.data();
    in.steps = static_cast<Index>(batches.shape(0));
    in.size = static_cast<Index>(batches.shape(1));
    std::tie(in.ratio, in.every, in.rate, in.tol, in.patience) = rule;
    require(in.rows.centres.k > 0 && in.size > 0 && seen.nbytes() == sizeof(BatchesSeen) &&
                static_cast<Index>(centres.size()) == in.rows.centres.k * x.columns(),
            "centres and counts must have an entry for each centre, batches a row");
    require(std::all_of(in.batches, in.batches + in.steps * in.size, [&](Index row) { return row >= 0 && row < n; }),
            "batches must be numbers of rows");
    Index taken = 0;
    BatchesEnd end{};
    const BatchesState state{centres.data(), counts.data(), reinterpret_cast<BatchesSeen*>(seen.data())};
    run([&] { end = run_batches(in, state, taken); });
    return nb::make_tuple(static_cast<int>(end), taken);
}

nb::tuple approached(const nb::object& X, const MaybeArray& shift, const Array& squares, const MaybeArray& s,
                     const std::tuple<Array, Array>& given, const MaybeArray& closest) {
    const Places x = places(X, shift);
    const Index n = x.rows();
    const CentresIn candidates = centres(std::get<0>(given), std::get<1>(given), x.columns());
    const double* length = vector(squares, "squares", n);
    const double* weight = vector(s, "s", n);
    const double* before = vector(closest, "closest", n);
    Fresh<double> near({candidates.k, n});
    Fresh<double> total({candidates.k});
    run([&] { approach(x, length, weight, candidates, before, near.get(), total.get()); });
    return nb::make_tuple(near.give(), total.give());
}

nb::object drawn(const nb::object& X, const MaybeArray& shift, const Array& squares, const MaybeArray& s,
                 const Array& uniforms, Index k, Index trials, double power) {
    SeedingIn in{};
    in.x = places(X, shift);
    in.squares = vector(squares, "squares", in.x.rows());
    in.s = vector(s, "s", in.x.rows());
    require(k >= 1 && trials >= 1 && in.x.rows() >= 1, "there must be rows, and at least one to draw");
    in.uniforms = vector(uniforms, "uniforms", 1 + (k - 1) * trials);
    in.k = k;
    in.trials = trials;
    in.power = power;
    Fresh<std::int64_t> found({k});
    run([&] { draw_apart(in, found.get()); });
    return nb::cast(found.give());
}

}  // namespace

void bind_nearest(nb::module_& module) {
    module.def("row_squares", &squares_of, arg("X"), arg("shift").none(),
               nb::sig("def row_squares(X: Rows, shift: Vector | None) -> Vector"),
               R"doc(Return the squared lengths of rows, less a shift; compressed rows are not shifted.)doc");
    module.def(
        "assign_nearest", &assigned, arg("X"), arg("shift").none(), arg("squares").none(), arg("s").none(),
        arg("centres"), arg("starts"), arg("motion"), arg("labels").noconvert(), arg("upper").noconvert(),
        arg("lower").noconvert(), arg("is_first"), arg("sums"),
        nb::sig("def assign_nearest(X: Rows, shift: Vector | None, squares: Vector | None, s: Vector | None, centres: "
                "tuple[Vector, Vector], starts: NDArray[np.int64], motion: tuple[Vector, Vector, Vector, float], "
                "labels: NDArray[np.int32], upper: Vector, lower: Vector, is_first: bool, sums: bool) -> tuple[Vector, "
                "Vector, float, int, int]"),
        R"doc(Find the nearest of some centres for each row whose bounds do not tell it, and write labels and bounds.

``centres`` come with half their squared lengths, in groups that begin at ``starts``; ``motion`` is how far centres and
groups moved, half the distance of each to the nearest other one, and the rounding of a squared distance. Returns changes
of the sums and weights of clusters, the inertia (of a first pass), rows that changed, and distances that were computed.
Without squares no later pass follows: the upper bounds are the distances, and there are no lower ones.)doc");
    module.def("run_lloyd", &run_of, arg("X"), arg("shift").none(), arg("squares"), arg("s").none(), arg("starts"),
               arg("goal"), arg("labels").noconvert(), arg("upper").noconvert(), arg("lower").noconvert(), arg("state"),
               arg("is_first"), arg("is_pending"),
               nb::sig("def run_lloyd(X: Rows, shift: Vector | None, squares: Vector, s: Vector | None, starts: "
                       "NDArray[np.int64], goal: tuple[float, float, float, float, int], labels: NDArray[np.int32], "
                       "upper: Vector, lower: Vector, state: tuple[Vector, Vector, Vector, Vector, Vector], is_first: "
                       "bool, is_pending: bool) -> tuple[int, Vector, int, int, int]"),
               R"doc(Run Lloyd's algorithm until nothing moves (1), a cluster is empty (2), or passes are used up (0).

``goal`` is the total of squares, the weight, the longest row, squared moves that are small enough, and passes; ``state``,
which is written, centres, sums, weights, moves of centres and of groups. Returns how it ended, the inertia after each move
of the centres (the first so many numbers), moves, passes, and distances that were computed.)doc");
    module.def(
        "run_batches", &batches_of, arg("X"), arg("shift").none(), arg("squares"), arg("s").none(), arg("batches"),
        arg("rule"), arg("centres").noconvert(), arg("counts").noconvert(), arg("seen").noconvert(),
        nb::sig("def run_batches(X: Rows, shift: Vector | None, squares: Vector, s: Vector | None, batches: "
                "NDArray[np.int64], rule: tuple[float, float, float, float, float], centres: Matrix, counts: Vector, "
                "seen: Vector) -> tuple[int, int]"),
        R"doc(Move centres by batches of rows until they rest (1), one has seen too few rows (2), or batches are used up (0).

``rule`` is the share of the largest count that is too little, rows after which to look, the rate of averages, the averaged
squared move that is small enough, and steps without a lower average to wait. ``centres``, ``counts`` and ``seen`` are
written; the last holds steps, rows since counts were looked at, distances computed, the mean squared distance of the last
batch, its average and that of the squared move, the least average, and steps since. Returns how it ended, after how many
batches.)doc");
    module.def(
        "approach", &approached, arg("X"), arg("shift").none(), arg("squares"), arg("s").none(), arg("candidates"),
        arg("closest").none(),
        nb::sig("def approach(X: Rows, shift: Vector | None, squares: Vector, s: Vector | None, candidates: "
                "tuple[Vector, Vector], closest: Vector | None) -> tuple[Vector, Vector]"),
        R"doc(Return squared distances to what is nearer, a candidate or what was closest, a row for each candidate; and sums.)doc");
    module.def(
        "draw_apart", &drawn, arg("X"), arg("shift").none(), arg("squares"), arg("s").none(), arg("uniforms"), arg("k"),
        arg("trials"), arg("power"),
        nb::sig("def draw_apart(X: Rows, shift: Vector | None, squares: Vector, s: Vector | None, uniforms: Vector, k: "
                "int, trials: int, power: float) -> NDArray[np.int64]"),
        R"doc(Draw rows with probability in proportion to a power of the distance from those before, the best of some each time.)doc");
}

}  // namespace qed::bindings
