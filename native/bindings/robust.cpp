#include <nanobind/stl/pair.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "arrays.hpp"
#include "qed/convex/central_path.hpp"
#include "qed/convex/dual_ascent.hpp"
#include "qed/convex/scale.hpp"
#include "sparse_arrays.hpp"

namespace qed::bindings {
namespace {

using nb::arg;
using Changed = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Changed2 = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Order = nb::ndarray<std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

nb::tuple spread_of(const Array& r, const Array& c, double knee, double guess) {
    const Index n = static_cast<Index>(r.shape(0));
    const double* residuals = vector(r, "r", n);
    const double* weights = vector(c, "c", n);
    ScaledSpread found{};
    run([&] { found = scaled_spread(n, residuals, weights, knee, guess); });
    return nb::make_tuple(found.scale, found.spread);
}

/// `numbers` holds drift, along, base, sum, threshold, largest and gap, in this order, and is written to.
struct Ascent {
    DualLosses losses;
    DualRows rows;
    DualState state;
    double* numbers;

    Ascent(Index n, Index p, bool logistic, const nb::tuple& loss, const nb::tuple& row, Changed& u, Changed& w,
           Order& order, Index active, Changed& kept, std::uint64_t seed)
        : losses{}, rows{}, state{}, numbers(kept.data()) {
        require(u.shape(0) == static_cast<std::size_t>(n) && order.shape(0) == static_cast<std::size_t>(n),
                "u and order must have one entry for each row");
        require(w.shape(0) == static_cast<std::size_t>(p), "w must have one entry for each column");
        require(kept.shape(0) == 7, "numbers must have seven entries");
        require(active >= 0 && active <= n, "active must be a number of rows");
        const std::int64_t* places = order.data();
        for (Index i = 0; i < n; ++i) {
            require(places[i] >= 0 && places[i] < n, "order must hold numbers of rows");
        }
        losses.kind = logistic ? DualLoss::logistic : DualLoss::pieces;
        losses.kink = vector(nb::cast<Array>(loss[0]), "kink", n);
        losses.low = vector(nb::cast<Array>(loss[1]), "low", n);
        losses.high = vector(nb::cast<Array>(loss[2]), "high", n);
        losses.bend = nb::cast<double>(loss[3]);
        losses.width = nb::cast<double>(loss[4]);
        rows.weight = vector(nb::cast<Array>(row[0]), "weight", n);
        rows.squares = vector(nb::cast<Array>(row[1]), "squares", n);
        rows.along = vector(nb::cast<Array>(row[2]), "along", n);
        rows.centre_square = nb::cast<double>(row[3]);
        rows.alpha = nb::cast<double>(row[4]);
        rows.give = nb::cast<double>(row[5]);
        state = {.u = u.data(),
                 .w = w.data(),
                 .order = order.data(),
                 .active = active,
                 .drift = numbers[0],
                 .along = numbers[1],
                 .base = numbers[2],
                 .sum = numbers[3],
                 .threshold = numbers[4],
                 .largest = numbers[5],
                 .gap = numbers[6],
                 .seed = seed};
    }

    nb::tuple finish() {
        const double after[] = {state.drift,     state.along,   state.base, state.sum,
                                state.threshold, state.largest, state.gap};
        std::copy(std::begin(after), std::end(after), numbers);
        return nb::make_tuple(state.active, state.seed);
    }
};

nb::tuple ascend_dense(const Array& X, bool logistic, const nb::tuple& loss, const nb::tuple& rows, Changed u,
                       Changed w, Order order, Index active, Changed numbers, std::uint64_t seed, int passes) {
    const Matrix x = matrix(X, "X");
    require(x.column_stride == 1 || x.columns <= 1, "X must have contiguous rows");
    Ascent ascent(x.rows, x.columns, logistic, loss, rows, u, w, order, active, numbers, seed);
    run([&] { dual_ascent(x, ascent.losses, ascent.rows, ascent.state, passes); });
    return ascent.finish();
}

nb::tuple ascend_sparse(const nb::tuple& X, const Shape& shape, bool logistic, const nb::tuple& loss,
                        const nb::tuple& rows, Changed u, Changed w, Order order, Index active, Changed numbers,
                        std::uint64_t seed, int passes) {
    const SparseRows x = sparse_rows(nb::cast<Array>(X[0]), nb::cast<Array>(X[1]), nb::cast<Array>(X[2]), shape);
    Ascent ascent(x.rows, x.columns, logistic, loss, rows, u, w, order, active, numbers, seed);
    run([&] { dual_ascent(x, ascent.losses, ascent.rows, ascent.state, passes); });
    return ascent.finish();
}

/// `numbers` holds threshold, largest and gap, in this order, and is written to.
struct ClassAscent {
    ClassRows rows;
    ClassState state;
    double* numbers;

    ClassAscent(Index n, Index p, const nb::tuple& row, Changed2& u, Changed2& w, Order& order, Index active,
                Changed& kept, std::uint64_t seed)
        : rows{}, state{}, numbers(kept.data()) {
        const std::size_t classes = u.shape(1);
        require(u.shape(0) == static_cast<std::size_t>(n) && order.shape(0) == static_cast<std::size_t>(n),
                "u and order must have one entry for each row");
        require(w.shape(0) == classes && w.shape(1) == static_cast<std::size_t>(p),
                "w must have a row for each class and an entry for each column");
        require(kept.shape(0) == 3, "numbers must have three entries");
        require(active >= 0 && active <= n, "active must be a number of rows");
        rows.label = vector(nb::cast<Array>(row[0]), "label", n);
        rows.weight = vector(nb::cast<Array>(row[1]), "weight", n);
        rows.squares = vector(nb::cast<Array>(row[2]), "squares", n);
        rows.alpha = nb::cast<double>(row[3]);
        rows.classes = static_cast<Index>(classes);
        const std::int64_t* places = order.data();
        for (Index i = 0; i < n; ++i) {
            require(places[i] >= 0 && places[i] < n, "order must hold numbers of rows");
            require(rows.label[i] >= 0.0 && rows.label[i] < static_cast<double>(classes),
                    "labels must be numbers of classes");
        }
        state = {.u = u.data(),
                 .w = w.data(),
                 .order = order.data(),
                 .active = active,
                 .threshold = numbers[0],
                 .largest = numbers[1],
                 .gap = numbers[2],
                 .seed = seed};
    }

    nb::tuple finish() {
        numbers[0] = state.threshold;
        numbers[1] = state.largest;
        numbers[2] = state.gap;
        return nb::make_tuple(state.active, state.seed);
    }
};

nb::tuple class_dense(const Array& X, const nb::tuple& rows, Changed2 u, Changed2 w, Order order, Index active,
                      Changed numbers, std::uint64_t seed, int passes) {
    const Matrix x = matrix(X, "X");
    require(x.column_stride == 1 || x.columns <= 1, "X must have contiguous rows");
    ClassAscent ascent(x.rows, x.columns, rows, u, w, order, active, numbers, seed);
    run([&] { class_ascent(x, ascent.rows, ascent.state, passes); });
    return ascent.finish();
}

nb::tuple class_sparse(const nb::tuple& X, const Shape& shape, const nb::tuple& rows, Changed2 u, Changed2 w,
                       Order order, Index active, Changed numbers, std::uint64_t seed, int passes) {
    const SparseRows x = sparse_rows(nb::cast<Array>(X[0]), nb::cast<Array>(X[1]), nb::cast<Array>(X[2]), shape);
    ClassAscent ascent(x.rows, x.columns, rows, u, w, order, active, numbers, seed);
    run([&] { class_ascent(x, ascent.rows, ascent.state, passes); });
    return ascent.finish();
}

/// `lists` are weights, kinks, low ends and high ends; `columns` are curvatures, pull and sizes; `state` is written to:
/// coefficients, distances above and below, dual variables.
nb::tuple path_of(const Array& table, Index copies, const Order& kinked,
                  const std::tuple<Array, Array, Array, Array>& lists, const std::tuple<Array, Array, Array>& columns,
                  bool has_intercept, double spread, const std::pair<double, Index>& goal,
                  std::tuple<Changed, Changed, Changed, Changed> state) {
    const Matrix view = matrix(table, "table");
    require(view.kind == Kind::float64 && (view.columns <= 1 || view.column_stride == 1) &&
                (view.rows <= 1 || view.row_stride == view.columns),
            "table must be float64, row after row");
    const Index kinks = static_cast<Index>(kinked.shape(0));
    const Index length = view.rows * copies + kinks;
    require(copies >= 1 && std::all_of(kinked.data(), kinked.data() + kinks,
                                       [&](Index j) { return j >= 0 && j + 1 < view.columns; }),
            "kinked must name columns before the last");
    auto& [w, above, below, u] = state;
    require(w.shape(0) == static_cast<std::size_t>(view.columns), "w must have a number for each column");
    for (const Changed* one : {&above, &below, &u}) {
        require(one->shape(0) == static_cast<std::size_t>(length), "above, below and u must be as long as the list");
    }
    const PathIn in{.table = static_cast<const double*>(view.data),
                    .rows = view.rows,
                    .columns = view.columns,
                    .copies = copies,
                    .kinked = kinked.data(),
                    .kinks = kinks,
                    .weight = vector(std::get<0>(lists), "weight", length),
                    .kink = vector(std::get<1>(lists), "kink", length),
                    .low = vector(std::get<2>(lists), "low", length),
                    .high = vector(std::get<3>(lists), "high", length),
                    .curvature = vector(std::get<0>(columns), "curvature", view.columns),
                    .pull = vector(std::get<1>(columns), "pull", view.columns),
                    .size = vector(std::get<2>(columns), "size", view.columns),
                    .has_intercept = has_intercept,
                    .spread = spread};
    PathState at{w.data(), above.data(), below.data(), u.data()};
    PathDone done{};
    run([&] { done = follow_path(in, goal.first, goal.second, at); });
    return nb::make_tuple(done.distance, done.steps, done.is_over);
}

}  // namespace

void bind_robust(nb::module_& module) {
    module.def(
        "follow_path", &path_of, arg("table"), arg("copies"), arg("kinked"), arg("lists"), arg("columns"),
        arg("has_intercept"), arg("spread"), arg("goal"), arg("state"),
        nb::sig("def follow_path(table: Matrix, copies: int, kinked: NDArray[np.int64], lists: tuple[Vector, Vector, "
                "Vector, Vector], columns: tuple[Vector, Vector, Vector], has_intercept: bool, spread: float, goal: "
                "tuple[float, int], state: tuple[Vector, Vector, Vector, Vector]) -> tuple[float, int, bool]"),
        R"doc(Go along the central path of a problem with kinks until the distance from the optimum is within ``goal``.

``lists`` are weights, kinks, low and high ends; ``columns`` are curvatures, pull and sizes; ``state`` is written to:
coefficients with the intercept last, distances above and below kinks, dual variables. Returns the distance, the steps
made, and whether no further step is possible.)doc");
    module.def(
        "scaled_spread", &spread_of, arg("r"), arg("c"), arg("knee"), arg("guess"),
        nb::sig("def scaled_spread(r: Vector, c: Vector, knee: float, guess: float) -> tuple[float, float]"),
        R"doc(Return the largest σ with σ² = Σ c min(r², knee² σ²), and σ/2 + Σ c σ h(r/σ) there, h the squared loss with a knee.

guess is where to start looking; zero means nowhere in particular. knee may be infinite. One thread.)doc");
    module.def(
        "dual_ascent", &ascend_dense, arg("X"), arg("logistic"), arg("loss"), arg("rows"), arg("u"), arg("w"),
        arg("order"), arg("active"), arg("numbers"), arg("seed"), arg("passes"),
        nb::sig("def dual_ascent(X: Matrix, logistic: bool, loss: tuple[Vector, Vector, Vector, float, float], rows: "
                "tuple[Vector, Vector, Vector, float, float, float], u: Vector, w: Vector, order: NDArray[np.int64], "
                "active: int, numbers: Vector, seed: int, passes: int) -> tuple[int, int]"),
        R"doc(Make passes of dual ascent over the first ``active`` rows of ``order``; return how many stay active, and the seed.

X has contiguous rows. loss is (kink, low, high, bend, width): conjugates bend u²/2 + kink u + width |u| from low to high;
a logistic loss has its labels as kink. rows is (weights, squared lengths, products with the centre, squared length of
the centre, alpha, give). u, w, order and numbers (drift, along, base, sum, threshold, largest, gap) are written to. One
thread; Ctrl-C is noticed after the last pass.)doc");
    module.def("csr_dual_ascent", &ascend_sparse, arg("X"), arg("shape"), arg("logistic"), arg("loss"), arg("rows"),
               arg("u"), arg("w"), arg("order"), arg("active"), arg("numbers"), arg("seed"), arg("passes"),
               nb::sig("def csr_dual_ascent(X: tuple[Indices, Indices, Matrix], shape: tuple[int, int], logistic: "
                       "bool, loss: tuple[Vector, Vector, Vector, float, float], rows: tuple[Vector, Vector, Vector, "
                       "float, float, float], u: Vector, w: Vector, order: NDArray[np.int64], active: int, numbers: "
                       "Vector, seed: int, passes: int) -> tuple[int, int]"),
               R"doc(Do the same for compressed rows: indptr, indices and data.)doc");
    module.def(
        "class_ascent", &class_dense, arg("X"), arg("rows"), arg("u"), arg("w"), arg("order"), arg("active"),
        arg("numbers"), arg("seed"), arg("passes"),
        nb::sig("def class_ascent(X: Matrix, rows: tuple[Vector, Vector, Vector, float], u: NDArray[np.float64], w: "
                "NDArray[np.float64], order: NDArray[np.int64], active: int, numbers: Vector, seed: int, passes: int) "
                "-> tuple[int, int]"),
        R"doc(Make passes of dual ascent for the hinge of several classes; return how many rows stay active, and the seed.

rows is (labels, weights, squared lengths, alpha). u is (n, k), w is (k, p), numbers are threshold, largest shortfall and
gap; all of them and order are written to.)doc");
    module.def("csr_class_ascent", &class_sparse, arg("X"), arg("shape"), arg("rows"), arg("u"), arg("w"), arg("order"),
               arg("active"), arg("numbers"), arg("seed"), arg("passes"),
               nb::sig("def csr_class_ascent(X: tuple[Indices, Indices, Matrix], shape: tuple[int, int], rows: "
                       "tuple[Vector, Vector, Vector, float], u: NDArray[np.float64], w: NDArray[np.float64], order: "
                       "NDArray[np.int64], active: int, numbers: Vector, seed: int, passes: int) -> tuple[int, int]"),
               R"doc(Do the same for compressed rows.)doc");
}

}  // namespace qed::bindings
