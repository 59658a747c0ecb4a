#include "qed/convex/coordinate.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <vector>

#include "arrays.hpp"
#include "loss_names.hpp"
#include "qed/convex/curved.hpp"
#include "qed/convex/face_factor.hpp"
#include "qed/convex/multipliers.hpp"
#include "qed/convex/narrow.hpp"
#include "qed/dense/columns.hpp"
#include "sparse_arrays.hpp"

namespace qed::bindings {
namespace {

using nb::arg;
using QuadraticArrays = std::tuple<Array, Array, double>;
using KinkArrays = std::tuple<Array, Array, double>;
using RowArrays = std::tuple<Array, double>;
using GoalNumbers = std::tuple<double, Index>;
using StartArrays = std::tuple<Array, MaybeArray>;

/// A matrix of doubles whose rows are contiguous.
Matrix rows_of(const Array& array, const char* name) {
    const Matrix view = matrix(array, name);
    require(view.kind == Kind::float64 && (view.columns <= 1 || view.column_stride == 1),
            std::string(name) + " must be float64 with contiguous rows");
    return view;
}

Quadratic quadratic_of(const QuadraticArrays& given) {
    const Matrix gram = rows_of(std::get<0>(given), "the Gram matrix");
    const Matrix linear = rows_of(std::get<1>(given), "the linear part");
    require(gram.rows == gram.columns && linear.rows == gram.rows,
            "the quadratic must be square, with one linear part");
    require(linear.rows <= 1 || linear.row_stride == linear.columns, "the linear part must be contiguous");
    return {.gram = static_cast<const double*>(gram.data),
            .stride = gram.row_stride,
            .size = gram.rows,
            .linear = static_cast<const double*>(linear.data),
            .constant = std::get<2>(given)};
}

Kinks kinks_of(const KinkArrays& given, Index size) {
    return {.low = vector(std::get<0>(given), "low", size),
            .high = vector(std::get<1>(given), "high", size),
            .ridge = std::get<2>(given)};
}

Goal goal_of(const GoalNumbers& given) {
    return {.target = std::get<0>(given), .most = std::get<1>(given)};
}

Fresh<double> copy_of(const double* from, Index count) {
    Fresh<double> out({count});
    std::copy_n(from, count, out.get());
    return out;
}

nb::tuple gram_of(const QuadraticArrays& quadratic, const KinkArrays& penalty, const GoalNumbers& goal,
                  const Array& start) {
    const Quadratic q = quadratic_of(quadratic);
    const Kinks kinks = kinks_of(penalty, q.size);
    Fresh<double> w = copy_of(vector(start, "w", q.size), q.size);
    Fresh<double> gradient({q.size});
    DescentResult done{};
    run([&] { done = descend_gram(q, kinks, goal_of(goal), w.get(), gradient.get()); });
    return nb::make_tuple(w.give(), gradient.give(), done.sweeps, done.gap);
}

nb::list grams_of(
    const std::vector<std::tuple<QuadraticArrays, KinkArrays, GoalNumbers, StartArrays, FaceFactor*>>& problems) {
    std::vector<GramTask> tasks;
    std::vector<Fresh<double>> results;
    for (const auto& [quadratic, penalty, goal, start, factor] : problems) {
        require(factor != nullptr, "each problem needs a factor of its own");
        const Quadratic q = quadratic_of(quadratic);
        const double* gradient = vector(std::get<1>(start), "the gradient", q.size);
        results.push_back(copy_of(vector(std::get<0>(start), "w", q.size), q.size));
        double* w = results.back().get();
        results.push_back(gradient == nullptr ? Fresh<double>({q.size}) : copy_of(gradient, q.size));
        tasks.push_back({.quadratic = q,
                         .penalty = kinks_of(penalty, q.size),
                         .goal = goal_of(goal),
                         .w = w,
                         .gradient = results.back().get(),
                         .knows_gradient = gradient != nullptr,
                         .factor = factor,
                         .done = {}});
    }
    run([&] { descend_grams(tasks.data(), static_cast<Index>(tasks.size())); });
    nb::list out;
    for (std::size_t k = 0; k < tasks.size(); ++k) {
        out.append(
            nb::make_tuple(results[2 * k].give(), results[2 * k + 1].give(), tasks[k].done.sweeps, tasks[k].done.gap));
    }
    return out;
}

/// What both kernels for several targets share: a start of size × targets, contiguous.
template <class Descend>
nb::tuple several(const Quadratic& q, const Array& start, Descend&& descend) {
    const Matrix given = rows_of(start, "w");
    require(given.rows == q.size && (given.rows <= 1 || given.row_stride == given.columns),
            "w must be contiguous, with a row for each coordinate");
    Fresh<double> w({q.size, given.columns});
    std::copy_n(static_cast<const double*>(given.data), q.size * given.columns, w.get());
    Fresh<double> gradient({q.size, given.columns});
    DescentResult done{};
    run([&] { done = descend(given.columns, w.get(), gradient.get()); });
    return nb::make_tuple(w.give(), gradient.give(), done.sweeps, done.gap);
}

nb::tuple targets_of(const QuadraticArrays& quadratic, const KinkArrays& penalty, const GoalNumbers& goal,
                     const Array& start) {
    const Quadratic q = quadratic_of(quadratic);
    const Kinks kinks = kinks_of(penalty, q.size);
    return several(q, start, [&](Index targets, double* w, double* gradient) {
        return descend_targets(q, targets, kinks, goal_of(goal), w, gradient);
    });
}

nb::tuple row_lengths_of(const QuadraticArrays& quadratic, const RowArrays& penalty, const GoalNumbers& goal,
                         const Array& start) {
    const Quadratic q = quadratic_of(quadratic);
    const RowLengths lengths{.strength = vector(std::get<0>(penalty), "strength", q.size),
                             .ridge = std::get<1>(penalty)};
    return several(q, start, [&](Index targets, double* w, double* gradient) {
        return descend_rows(q, targets, lengths, goal_of(goal), w, gradient);
    });
}

template <class Columns>
nb::tuple columns_with(const Columns& columns, const KinkArrays& penalty, const GoalNumbers& goal, const Array& start,
                       const Array& residual) {
    const Kinks kinks = kinks_of(penalty, columns.count);
    Fresh<double> w = copy_of(vector(start, "w", columns.count), columns.count);
    Fresh<double> r = copy_of(vector(residual, "residual", columns.rows), columns.rows);
    Fresh<double> gradient({columns.count});
    DescentResult done{};
    run([&] { done = descend_columns(columns, kinks, goal_of(goal), w.get(), r.get(), gradient.get()); });
    return nb::make_tuple(w.give(), r.give(), gradient.give(), done.sweeps, done.gap);
}

nb::tuple dense_of(const Array& A, const KinkArrays& penalty, const GoalNumbers& goal, const Array& start,
                   const Array& residual) {
    const Matrix a = matrix(A, "A");
    require(
        a.kind == Kind::float64 && (a.rows <= 1 || a.row_stride == 1) && (a.columns <= 1 || a.column_stride == a.rows),
        "A must be float64, column after column");
    const DenseColumns columns{static_cast<const double*>(a.data), a.rows, a.columns};
    return columns_with(columns, penalty, goal, start, residual);
}

const Index* indices_of(const Array& array, const char* name) {
    require(array.ndim() == 1 && array.dtype() == nb::dtype<std::int64_t>() &&
                (array.shape(0) <= 1 || array.stride(0) == 1),
            std::string(name) + " must be a contiguous vector of int64");
    return static_cast<const Index*>(array.data());
}

nb::tuple sparse_of(const std::tuple<Array, Array, Array>& A, const std::tuple<Array, Array>& centring,
                    const KinkArrays& penalty, const GoalNumbers& goal, const Array& start, const Array& residual) {
    const auto& [starts, rows, values] = A;
    const Index count = static_cast<Index>(starts.shape(0)) - 1;
    const Index n = static_cast<Index>(residual.shape(0));
    const Index* first = indices_of(starts, "starts");
    require(count >= 0 && rows.shape(0) == values.shape(0) && first[count] <= static_cast<Index>(values.shape(0)),
            "starts, rows and values do not belong together");
    const SparseColumns columns{.starts = first,
                                .indices = indices_of(rows, "rows"),
                                .values = vector(values, "values", static_cast<Index>(values.shape(0))),
                                .centre = vector(std::get<0>(centring), "centre", count),
                                .root = vector(std::get<1>(centring), "root", n),
                                .rows = n,
                                .count = count};
    return columns_with(columns, penalty, goal, start, residual);
}

using Pace = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

nb::tuple curved_of(const std::string& loss, const std::tuple<Array, Array>& rows,
                    const std::tuple<Array, Array, Array>& A, const KinkArrays& penalty, bool has_intercept,
                    const std::tuple<double, Index, double>& goal, const std::tuple<Array, double>& start, Pace& pace) {
    const Index n = static_cast<Index>(std::get<0>(rows).shape(0));
    const Index p = static_cast<Index>(std::get<0>(start).shape(0));
    const CurvedIn in{.kind = loss_kind(loss),
                      .y = vector(std::get<0>(rows), "y", n),
                      .c = vector(std::get<1>(rows), "c", n),
                      .columns = sparse_rows(std::get<0>(A), std::get<1>(A), std::get<2>(A), {p, n}),
                      .penalty = kinks_of(penalty, p),
                      .has_intercept = has_intercept};
    require(in.kind != LossKind::softmax && in.kind != LossKind::hinge,
            "this descent knows smooth losses of one score a row");
    Fresh<double> w = copy_of(vector(std::get<0>(start), "w", p), p);
    Fresh<double> t({n});
    Fresh<double> slope({n});
    Fresh<double> gradient({p});
    Fresh<double> dual({n});
    require(pace.shape(0) == static_cast<std::size_t>(kCurvedPace), "pace must hold six numbers");
    CurvedState state{pace.data(), w.get(), std::get<1>(start), t.get(), slope.get(), gradient.get(), dual.get()};
    CurvedDone done{};
    run([&] { done = descend_curved(in, {std::get<0>(goal), std::get<1>(goal)}, std::get<2>(goal), state); });
    const nb::object u = done.has_dual ? nb::cast(dual.give()) : nb::none();
    return nb::make_tuple(w.give(), state.b, t.give(), slope.give(), gradient.give(), u, done.gap, done.rounds,
                          done.is_over);
}

/// Kinks, low ends and high ends of conjugates, their bend and their width.
using PieceArrays = std::tuple<Array, Array, Array, double, double>;

DualLosses pieces_of(const PieceArrays& given, Index rows) {
    return {.kind = DualLoss::pieces,
            .kink = vector(std::get<0>(given), "kink", rows),
            .low = vector(std::get<1>(given), "low", rows),
            .high = vector(std::get<2>(given), "high", rows),
            .bend = std::get<3>(given),
            .width = std::get<4>(given)};
}

nb::tuple narrow_of(const std::string& loss, const std::variant<Array, PieceArrays>& given, const Array& c,
                    const Array& X, const MaybeArray& shift, const KinkArrays& penalty, bool has_intercept,
                    const GoalNumbers& goal, const std::tuple<Array, double>& start) {
    const Matrix x = matrix(X, "X");
    const auto* pieces = std::get_if<PieceArrays>(&given);
    NarrowIn in{.loss = {LossKind::squared, nullptr, nullptr},
                .x = {x, vector(shift, "shift", x.columns)},
                .c = vector(c, "c", x.rows),
                .penalty = kinks_of(penalty, x.columns),
                .has_intercept = has_intercept};
    DualLosses parts{};
    if (pieces != nullptr) {
        parts = pieces_of(*pieces, x.rows);
        require(parts.bend > 0.0, "pieces must bend");
        in.loss.pieces = &parts;
    } else {
        in.loss.kind = loss_kind(loss);
        in.loss.y = vector(std::get<Array>(given), "y", x.rows);
        require(in.loss.kind != LossKind::softmax && in.loss.kind != LossKind::hinge,
                "this descent knows smooth losses of one score a row");
    }
    Fresh<double> w = copy_of(vector(std::get<0>(start), "w", x.columns), x.columns);
    Fresh<double> t({x.rows});
    Fresh<double> slope({x.rows});
    Fresh<double> gradient({x.columns});
    NarrowState state{w.get(), std::get<1>(start), t.get(), slope.get(), gradient.get()};
    NarrowDone done{};
    run([&] { done = descend_narrow(in, goal_of(goal), state); });
    return nb::make_tuple(w.give(), state.b, t.give(), slope.give(), gradient.give(), done.loss, done.gap, done.rounds,
                          done.is_over);
}

nb::tuple multipliers_of(const PieceArrays& pieces, const Array& c, const Array& X, double ridge,
                         const GoalNumbers& goal, const std::tuple<Array, Array, double>& start) {
    const Matrix x = matrix(X, "X");
    require(ridge > 0.0, "the ridge must be positive");
    const MultipliersIn in{.loss = pieces_of(pieces, x.rows), .x = x, .c = vector(c, "c", x.rows), .ridge = ridge};
    Fresh<double> w = copy_of(vector(std::get<0>(start), "w", x.columns), x.columns);
    Fresh<double> anchor = copy_of(vector(std::get<1>(start), "anchor", x.rows), x.rows);
    Fresh<double> u({x.rows});
    MultipliersState state{w.get(), u.get(), anchor.get(), std::get<2>(start)};
    MultipliersDone done{};
    run([&] { done = follow_multipliers(in, goal_of(goal), state); });
    return nb::make_tuple(w.give(), u.give(), anchor.give(), state.bend, done.gap, done.rounds, done.is_over);
}

Doubles taken(const Array& X, const Array& index, const MaybeArray& scale, const MaybeArray& shift) {
    const Matrix x = matrix(X, "X");
    const Index* columns = indices_of(index, "index");
    const Index count = static_cast<Index>(index.shape(0));
    require(std::all_of(columns, columns + count, [&](Index j) { return j >= 0 && j < x.columns; }),
            "index must name columns of X");
    const double* factors = vector(scale, "scale", x.rows);
    const Centred centred{x, vector(shift, "shift", x.columns)};
    Fresh<double> out({x.rows, count}, true);
    run([&] { take_columns(centred, columns, count, factors, out.get()); });
    return out.give();
}

nb::tuple sums_of(const Array& X, const Array& U, const MaybeArray& s, const MaybeArray& shift) {
    const Matrix x = matrix(X, "X");
    const Matrix u = matrix(U, "U");
    require(x.rows == u.rows && u.columns <= kFewColumns, "U must have a row for each row of X, and few columns");
    const double* weights = vector(s, "s", x.rows);
    const Centred centred{x, vector(shift, "shift", x.columns)};
    Fresh<double> cross({x.columns, u.columns});
    Fresh<double> squares({x.columns});
    run([&] { column_sums(centred, u, weights, {cross.get(), squares.get()}); });
    return nb::make_tuple(cross.give(), squares.give());
}

}  // namespace

void bind_coordinate(nb::module_& module) {
    nb::class_<FaceFactor>(
        module, "FaceFactor",
        R"doc(What a descent keeps for the next one on the same Gram matrix: a factor for the coefficients that are not zero.)doc")
        .def(nb::init<>());
    module.def(
        "descend_gram", &gram_of, arg("quadratic"), arg("penalty"), arg("goal"), arg("w"),
        nb::sig("def descend_gram(quadratic: Quadratic, penalty: Kinks, goal: Goal, w: Vector) -> tuple[Vector, "
                "Vector, int, float]"),
        R"doc(Minimise quadratic plus penalty from w on: coefficients, gradient Qw − q, sweeps, gap (not rigorous: it rounds).)doc");
    module.def("descend_grams", &grams_of, arg("problems"),
               nb::sig("def descend_grams(problems: list[tuple[Quadratic, Kinks, Goal, tuple[Vector, Vector | None], "
                       "FaceFactor]]) -> list[tuple[Vector, Vector, int, float]]"),
               R"doc(Do `descend_gram` from face to face for several problems, in threads; each has a factor of its own.

A start is coefficients, and their gradient where it is known.)doc");
    module.def("descend_targets", &targets_of, arg("quadratic"), arg("penalty"), arg("goal"), arg("w"),
               nb::sig("def descend_targets(quadratic: Quadratic, penalty: Kinks, goal: Goal, w: Vector) -> "
                       "tuple[Vector, Vector, int, float]"),
               R"doc(Do the same for w of shape (k, m), every entry penalised by itself.)doc");
    module.def(
        "descend_rows", &row_lengths_of, arg("quadratic"), arg("penalty"), arg("goal"), arg("w"),
        nb::sig("def descend_rows(quadratic: Quadratic, penalty: tuple[Vector, float], goal: Goal, w: Vector) -> "
                "tuple[Vector, Vector, int, float]"),
        R"doc(Do the same with a penalty of ``strength`` (k,) times the lengths of the rows of w, plus a ridge.)doc");
    module.def(
        "descend_columns", &dense_of, arg("A"), arg("penalty"), arg("goal"), arg("w"), arg("residual"),
        nb::sig("def descend_columns(A: Vector, penalty: Kinks, goal: Goal, w: Vector, residual: Vector) -> "
                "tuple[Vector, Vector, Vector, int, float]"),
        R"doc(Minimise ½ |residual + A (w − start)|² plus penalty: coefficients, residual, gradient Aᵀ residual, sweeps, gap.

A is (n, k) in Fortran order.)doc");
    module.def(
        "descend_sparse_columns", &sparse_of, arg("A"), arg("centring"), arg("penalty"), arg("goal"), arg("w"),
        arg("residual"),
        nb::sig(
            "def descend_sparse_columns(A: tuple[Indices, Indices, Vector], centring: tuple[Vector, Vector], penalty: "
            "Kinks, goal: Goal, w: Vector, residual: Vector) -> tuple[Vector, Vector, Vector, int, float]"),
        R"doc(Do the same for compressed columns less ``root`` (n,) times their ``centre`` (k,); ``centring`` is (centre, root).)doc");
    module.def(
        "descend_curved", &curved_of, arg("loss"), arg("rows"), arg("A"), arg("penalty"), arg("has_intercept"),
        arg("goal"), arg("start"), arg("pace"),
        nb::sig("def descend_curved(loss: str, rows: tuple[Vector, Vector], A: tuple[Indices, Indices, Vector], "
                "penalty: Kinks, has_intercept: bool, goal: tuple[float, int, float], start: tuple[Vector, float], "
                "pace: Vector) -> tuple[Vector, float, Vector, Vector, Vector, Vector | None, float, int, bool]"),
        R"doc(Minimise a loss of one score a row plus a penalty with kinks, for compressed columns with sorted entries.

``rows`` are targets and weights, ``goal`` is a gap, a number of rounds and about how many visits of entries to make at
most, ``start`` are coefficients and intercept, ``pace`` are six numbers, zeros at first, that are written to for the
next call. Returns coefficients and intercept, scores, slopes, gradient, a dual point or None, the gap,
the rounds made, and whether no step is possible any more.)doc");
    module.def(
        "descend_narrow", &narrow_of, arg("loss"), arg("rows"), arg("c"), arg("X"), arg("shift").none(), arg("penalty"),
        arg("has_intercept"), arg("goal"), arg("start"),
        nb::sig("def descend_narrow(loss: str, rows: Vector | tuple[Vector, Vector, Vector, float, float], c: Vector, "
                "X: Matrix, shift: Vector | None, penalty: Kinks, has_intercept: bool, goal: Goal, start: "
                "tuple[Vector, float]) -> tuple[Vector, float, Vector, Vector, Vector, float, float, int, bool]"),
        R"doc(Minimise a loss of one score a row plus a penalty with kinks by Newton's method, for a table of few columns.

``rows`` are the targets of a loss by name, or kinks, low ends and high ends of conjugates, their bend and their width;
``goal`` is a gap and a number of rounds, ``start`` are coefficients and intercept. Returns both, scores, slopes,
gradient, mean loss, the gap, the rounds made, and whether no step is possible any more.)doc");
    module.def(
        "follow_multipliers", &multipliers_of, arg("pieces"), arg("c"), arg("X"), arg("ridge"), arg("goal"),
        arg("start"),
        nb::sig("def follow_multipliers(pieces: tuple[Vector, Vector, Vector, float, float], c: Vector, X: Matrix, "
                "ridge: float, goal: Goal, start: tuple[Vector, Vector, float]) -> tuple[Vector, Vector, Vector, "
                "float, float, int, bool]"),
        R"doc(Minimise a loss made of straight pieces plus a ridge by the method of multipliers, for a table of few columns.

``pieces`` are kinks, low ends and high ends of conjugates, a bend that is zero, and their width; ``goal`` is a gap and a
number of steps, ``start`` are coefficients, anchors of the dual variables, and how much losses are rounded off (0 to have
it chosen). Returns coefficients, dual variables, the anchors and the rounding that a further call starts from, the gap,
the steps made, and whether no step is possible any more.)doc");
    module.def(
        "take_columns", &taken, arg("X"), arg("index"), arg("scale").none(), arg("shift").none(),
        nb::sig("def take_columns(X: Matrix, index: Indices, scale: Vector | None, shift: Vector | None) -> Vector"),
        R"doc(Columns of diag(scale) (X − shift), (n, k), in Fortran order. ``index`` is int64.)doc");
    module.def(
        "column_sums", &sums_of, arg("X"), arg("U"), arg("s").none(), arg("shift").none(),
        nb::sig(
            "def column_sums(X: Matrix, U: Matrix, s: Vector | None, shift: Vector | None) -> tuple[Vector, Vector]"),
        R"doc((X − shift)ᵀ U, (p, m), for m <= 8, and Σ s (x − shift)² of each column, (p,), in one pass.)doc");
}

}  // namespace qed::bindings
