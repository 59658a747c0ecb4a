#include "qed/convex/glm.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <algorithm>

#include "arrays.hpp"
#include "loss_names.hpp"
#include "qed/machine/pair.hpp"
#include "sparse_arrays.hpp"

namespace qed::bindings {

LossKind loss_kind(const std::string& name) {
    if (name == "logistic") {
        return LossKind::logistic;
    }
    if (name == "poisson") {
        return LossKind::poisson;
    }
    if (name == "squared_hinge") {
        return LossKind::squared_hinge;
    }
    if (name == "hinge") {
        return LossKind::hinge;
    }
    if (name == "softmax") {
        return LossKind::softmax;
    }
    require(name == "squared", "no compiled loss is called " + name);
    return LossKind::squared;
}

namespace {

using nb::arg;

/// Contiguous doubles of the shape of rows and classes.
const double* table(const Array& array, const char* name, const LossRows& rows) {
    const Matrix view = matrix(array, name);
    const bool is_plain = view.rows == 0 || ((view.columns <= 1 || view.column_stride == 1) &&
                                             (view.rows <= 1 || view.row_stride == rows.classes));
    const bool fits = is_plain && view.kind == Kind::float64 && view.rows == rows.rows && view.columns == rows.classes;
    require(fits, std::string(name) + " must be contiguous float64 of the shape of t");
    return static_cast<const double*>(view.data);
}

LossRows rows_of(const std::string& name, const Array& t, const Array& y) {
    const Matrix view = matrix(t, "t");
    LossRows rows{.kind = loss_kind(name), .t = nullptr, .y = nullptr, .rows = view.rows, .classes = view.columns};
    rows.t = table(t, "t", rows);
    rows.y = vector(y, "y", view.rows);
    require(rows.kind == LossKind::softmax || view.columns == 1, "this loss has one score a row");
    return rows;
}

template <class Set>
Doubles shaped_like(const LossRows& rows, std::size_t dimensions, Set&& set) {
    const auto compute = [&](Fresh<double> out) {
        run([&] { set(out.get()); });
        return out.give();
    };
    return dimensions == 1 ? compute(Fresh<double>({rows.rows})) : compute(Fresh<double>({rows.rows, rows.classes}));
}

Doubles value_of(const std::string& name, const Array& t, const Array& y) {
    const LossRows rows = rows_of(name, t, y);
    return shaped_like(rows, 1, [&](double* out) { loss_rows(rows, {.value = out}); });
}

Doubles slope_of(const std::string& name, const Array& t, const Array& y) {
    const LossRows rows = rows_of(name, t, y);
    return shaped_like(rows, t.ndim(), [&](double* out) { loss_rows(rows, {.slope = out}); });
}

nb::tuple both_of(const std::string& name, const Array& t, const Array& y) {
    const LossRows rows = rows_of(name, t, y);
    Fresh<double> value({rows.rows});
    Doubles slope =
        shaped_like(rows, t.ndim(), [&](double* out) { loss_rows(rows, {.value = value.get(), .slope = out}); });
    return nb::make_tuple(value.give(), slope);
}

Doubles excess_of(const std::string& name, const Array& t, const Array& y, const Array& u) {
    const LossRows rows = rows_of(name, t, y);
    const double* dual = table(u, "u", rows);
    return shaped_like(rows, 1, [&](double* out) { loss_excess(rows, dual, out); });
}

double mean_of(const std::string& name, const Array& t, const Array& y, const Array& c) {
    const Matrix score = matrix(t, "t");
    const Index n = matrix(y, "y").rows;
    const bool is_constant = score.rows == 1;
    const LossRows rows{.kind = loss_kind(name),
                        .t = vector(t, "t", is_constant ? 1 : n),
                        .y = vector(y, "y", n),
                        .rows = n,
                        .classes = 1};
    require(rows.kind != LossKind::softmax, "this loss has several scores a row");
    const double* weight = vector(c, "c", n);
    double out = 0.0;
    run([&] { out = loss_mean(rows, weight, is_constant); });
    return out;
}

nb::tuple sides_of(const std::string& name, const Array& t, const Array& y, const Array& c, const Array& slope,
                   double up, double down) {
    const LossRows rows = rows_of(name, t, y);
    require(rows.kind != LossKind::softmax, "this loss has several scores a row");
    const Sides sides{vector(c, "c", rows.rows), vector(slope, "slope", rows.rows), up, down};
    Fresh<double> u({rows.rows});
    Fresh<double> sums({kSideSums});
    run([&] { scale_sides(rows, sides, u.get(), sums.get()); });
    return nb::make_tuple(u.give(), sums.give());
}

GlmIn in_of(const std::string& name, Index n, Index p, const Array& y, const Array& c, const Array& w, double b,
            const Array& shift) {
    const LossKind kind = loss_kind(name);
    require(kind != LossKind::softmax, "this pass knows losses of one score a row");
    return {kind, vector(y, "y", n), vector(c, "c", n), vector(w, "w", p), b, vector(shift, "shift", p)};
}

/// Where scores, and slopes if there is a second row, go: doubles that the caller keeps, so that fresh pages are not
/// paid for each time.
using Buffer = nb::ndarray<double, nb::shape<-1, -1>, nb::c_contig, nb::device::cpu>;

template <class Table>
nb::tuple pass_over(const Table& x, const GlmIn& in, const Buffer& rows, bool with_bend, bool with_hessian) {
    const bool with_slopes = rows.shape(0) == 2;
    require((with_slopes || rows.shape(0) == 1) && static_cast<Index>(rows.shape(1)) == x.rows,
            "rows must be a float64 table of one row or two, one column a row of X");
    Fresh<double> sums({kGlmSums});
    Fresh<double> rise({x.columns});
    Fresh<double> fall({x.columns});
    Fresh<double> bend({with_bend ? x.rows : 0});
    const Index side = with_hessian ? x.columns + 1 : 0;
    Fresh<double> hessian({side, side});
    const GlmOut out{.sums = sums.get(),
                     .rise = rise.get(),
                     .fall = fall.get(),
                     .scores = rows.data(),
                     .slopes = with_slopes ? rows.data() + x.rows : nullptr,
                     .bend = with_bend ? bend.get() : nullptr,
                     .hessian = with_hessian ? hessian.get() : nullptr};
    run([&] { glm_pass(x, in, out); });
    return nb::make_tuple(sums.give(), rise.give(), fall.give(), with_bend ? nb::cast(bend.give()) : nb::none(),
                          with_hessian ? nb::cast(hessian.give()) : nb::none());
}

/// Single-precision numbers, one for each row.
using Noted = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

Given given_of(const Noted& numbers, double times, Index rows) {
    require(static_cast<Index>(numbers.shape(0)) == rows, "given must have one number for each row");
    return {numbers.data(), times};
}

nb::tuple mixture_of(const std::string& name, const Array& t, const Array& y, const Array& c, const Array& slope,
                     const Noted& given, double times, std::tuple<double, double, double, double> factors) {
    const LossRows rows = rows_of(name, t, y);
    require(rows.kind != LossKind::softmax, "this loss has several scores a row");
    const auto [up, down, given_up, given_down] = factors;
    const Sides sides{.c = vector(c, "c", rows.rows),
                      .slope = vector(slope, "slope", rows.rows),
                      .up = up,
                      .down = down,
                      .given = given_of(given, times, rows.rows),
                      .given_up = given_up,
                      .given_down = given_down};
    Fresh<double> u({rows.rows});
    Fresh<double> sums({kSideSums});
    run([&] { scale_sides(rows, sides, u.get(), sums.get()); });
    return nb::make_tuple(u.give(), sums.give());
}

/// Sums, and the products of the four parts of a mixture, a row each.
template <class Table>
nb::tuple mixed_over(const Table& x, GlmIn in, const Noted& given, double times, const Buffer& rows) {
    require(rows.shape(0) == 2 && static_cast<Index>(rows.shape(1)) == x.rows,
            "rows must be a float64 table of two rows, one column a row of X");
    in.given = given_of(given, times, x.rows);
    Fresh<double> sums({kGlmSums + kGivenSums});
    Fresh<double> products({4, x.columns});
    const GlmOut out{.sums = sums.get(),
                     .rise = products.get(),
                     .fall = products.get() + x.columns,
                     .scores = rows.data(),
                     .slopes = rows.data() + x.rows,
                     .given_sums = sums.get() + kGlmSums,
                     .given_rise = products.get() + 2 * x.columns,
                     .given_fall = products.get() + 3 * x.columns};
    run([&] { glm_pass(x, in, out); });
    return nb::make_tuple(sums.give(), products.give());
}

nb::tuple dense_mixed(const std::string& loss, const Array& X, const Array& y, const Array& c, const Noted& given,
                      double times, const Array& w, double b, const Array& shift, const Buffer& rows) {
    const Matrix x = matrix(X, "X");
    return mixed_over(x, in_of(loss, x.rows, x.columns, y, c, w, b, shift), given, times, rows);
}

nb::tuple sparse_mixed(const std::string& loss, const Array& indptr, const Array& indices, const Array& data,
                       const Shape& shape, const Array& y, const Array& c, const Noted& given, double times,
                       const Array& w, double b, const Array& shift, const Buffer& rows) {
    const SparseRows x = sparse_rows(indptr, indices, data, shape);
    return mixed_over(x, in_of(loss, x.rows, x.columns, y, c, w, b, shift), given, times, rows);
}

nb::tuple dense_pass(const std::string& loss, const Array& X, const Array& y, const Array& c, const Array& w, double b,
                     const Array& shift, const Buffer& rows, bool bend, bool hessian) {
    const Matrix x = matrix(X, "X");
    return pass_over(x, in_of(loss, x.rows, x.columns, y, c, w, b, shift), rows, bend, hessian);
}

nb::tuple sparse_pass(const std::string& loss, const Array& indptr, const Array& indices, const Array& data,
                      const Shape& shape, const Array& y, const Array& c, const Array& w, double b, const Array& shift,
                      const Buffer& rows, bool bend) {
    const SparseRows x = sparse_rows(indptr, indices, data, shape);
    return pass_over(x, in_of(loss, x.rows, x.columns, y, c, w, b, shift), rows, bend, false);
}

/// Where the scores of classes go, a row of X each.
using Scores = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

using ScoresPass = void (*)(const Matrix&, const ScoresIn&, const ScoresOut&);

nb::tuple scores_over(ScoresPass pass, const Array& X, const double* y, const Array& c, const Array& w, const Array& b,
                      const Array& shift, const Scores& scores) {
    const Matrix x = matrix(X, "X");
    const Index k = matrix(w, "w").columns;
    const LossRows wide{.kind = LossKind::softmax, .t = nullptr, .y = nullptr, .rows = x.columns, .classes = k};
    const ScoresIn in{.y = y,
                      .c = vector(c, "c", x.rows),
                      .w = table(w, "w", wide),
                      .b = vector(b, "b", k),
                      .shift = vector(shift, "shift", x.columns),
                      .classes = k};
    require(static_cast<Index>(scores.shape(0)) == x.rows && static_cast<Index>(scores.shape(1)) == k && k >= 1,
            "scores must be a float64 table of a row for each of X and a column for each of w");
    Fresh<double> sums({kScoresSums});
    Fresh<double> gradient({x.columns + 1, k});
    const ScoresOut out{.sums = sums.get(), .gradient = gradient.get(), .scores = scores.data()};
    run([&] { pass(x, in, out); });
    return nb::make_tuple(sums.give(), gradient.give());
}

nb::tuple softmax_over(const Array& X, const Array& y, const Array& c, const Array& w, const Array& b,
                       const Array& shift, const Scores& scores) {
    const Index n = matrix(X, "X").rows;
    const double k = static_cast<double>(matrix(w, "w").columns);
    const double* labels = vector(y, "y", n);
    require(std::all_of(labels, labels + n, [k](double label) { return label >= 0.0 && label < k; }),
            "y must hold numbers of classes");
    return scores_over(softmax_pass, X, labels, c, w, b, shift, scores);
}

nb::tuple targets_over(const Array& X, const Array& y, const Array& c, const Array& w, const Array& b,
                       const Array& shift, const Scores& scores) {
    const LossRows rows{.kind = LossKind::squared,
                        .t = nullptr,
                        .y = nullptr,
                        .rows = matrix(X, "X").rows,
                        .classes = matrix(w, "w").columns};
    return scores_over(targets_pass, X, table(y, "y", rows), c, w, b, shift, scores);
}

Doubles side_sums_of(const Array& c, const Array& u) {
    const Matrix view = matrix(u, "u");
    const LossRows rows{
        .kind = LossKind::squared, .t = nullptr, .y = nullptr, .rows = view.rows, .classes = view.columns};
    const double* values = table(u, "u", rows);
    const double* shares = vector(c, "c", view.rows);
    Fresh<double> out({3, view.columns});
    run([&] { side_sums(shares, values, view.rows, view.columns, out.get()); });
    return out.give();
}

Doubles softmax_curvature_of(const Array& X, const Array& p, const Array& c, const Array& shift, const Array& v) {
    const Matrix x = matrix(X, "X");
    const Index k = matrix(v, "v").columns;
    const LossRows tall{.kind = LossKind::softmax, .t = nullptr, .y = nullptr, .rows = x.rows, .classes = k};
    const LossRows wide{.kind = LossKind::softmax, .t = nullptr, .y = nullptr, .rows = x.columns + 1, .classes = k};
    const SoftmaxBend in{.p = table(p, "p", tall),
                         .c = vector(c, "c", x.rows),
                         .v = table(v, "v", wide),
                         .shift = vector(shift, "shift", x.columns),
                         .classes = k};
    require(k >= 1, "v must have a column for each class");
    Fresh<double> out({x.columns + 1, k});
    run([&] { softmax_curvature(x, in, out.get()); });
    return out.give();
}

Doubles softmax_hessian_of(const Array& X, const Array& p, const Array& c) {
    const Matrix x = matrix(X, "X");
    const Index k = matrix(p, "p").columns;
    const LossRows rows{.kind = LossKind::softmax, .t = nullptr, .y = nullptr, .rows = x.rows, .classes = k};
    const double* probabilities = table(p, "p", rows);
    const double* shares = vector(c, "c", x.rows);
    Fresh<double> out({k * x.columns, k * x.columns});
    run([&] { softmax_hessian(x, probabilities, shares, k, out.get()); });
    return out.give();
}

double longest_square_of(const Array& X, const Array& shift, const Array& scale) {
    const Matrix x = matrix(X, "X");
    const double* offset = vector(shift, "shift", x.columns);
    const double* factors = vector(scale, "scale", x.columns);
    double out = 0.0;
    run([&] { out = longest_square(x, offset, factors); });
    return out;
}

template <class Table>
Doubles curvature_over(const Table& x, const Array& weight, const Array& shift, const Array& v) {
    const double* weights = vector(weight, "weight", x.rows);
    const double* offset = vector(shift, "shift", x.columns);
    const double* direction = vector(v, "v", x.columns + 1);
    Fresh<double> out({x.columns + 1});
    run([&] { curvature_product(x, weights, offset, direction, out.get()); });
    return out.give();
}

Doubles dense_curvature(const Array& X, const Array& weight, const Array& shift, const Array& v) {
    return curvature_over(matrix(X, "X"), weight, shift, v);
}

Doubles sparse_curvature(const Array& indptr, const Array& indices, const Array& data, const Shape& shape,
                         const Array& weight, const Array& shift, const Array& v) {
    return curvature_over(sparse_rows(indptr, indices, data, shape), weight, shift, v);
}

}  // namespace

void bind_glm(nb::module_& module) {
    module.def("loss_value", &value_of, arg("loss"), arg("t"), arg("y"),
               nb::sig("def loss_value(loss: str, t: Vector, y: Vector) -> Vector"),
               R"doc(Loss of each row, (n,), for contiguous scores t, (n,) or for ``"softmax"`` (n, k).

Losses are ``"logistic"`` (y of −1 and +1), ``"poisson"`` (half the deviance), ``"squared"`` and ``"softmax"`` (y the
numbers of the classes, as floats).)doc");
    module.def("loss_slope", &slope_of, arg("loss"), arg("t"), arg("y"),
               nb::sig("def loss_slope(loss: str, t: Vector, y: Vector) -> Vector"),
               R"doc(ℓ′ of each row, of the shape of t.)doc");
    module.def("loss_value_and_slope", &both_of, arg("loss"), arg("t"), arg("y"),
               nb::sig("def loss_value_and_slope(loss: str, t: Vector, y: Vector) -> tuple[Vector, Vector]"),
               R"doc(Both of the above.)doc");
    module.def("loss_excess", &excess_of, arg("loss"), arg("t"), arg("y"), arg("u"),
               nb::sig("def loss_excess(loss: str, t: Vector, y: Vector, u: Vector) -> Vector"),
               R"doc(Loss plus conjugate at u minus t u for each row, (n,), in a form that does not cancel.)doc");
    module.def("loss_mean", &mean_of, arg("loss"), arg("t"), arg("y"), arg("c"),
               nb::sig("def loss_mean(loss: str, t: Vector, y: Vector, c: Vector) -> float"),
               R"doc(Σ c ℓ for a loss of one score a row; t of length one is the score of every row.)doc");
    module.def(
        "scale_sides", &sides_of, arg("loss"), arg("t"), arg("y"), arg("c"), arg("slope"), arg("up"), arg("down"),
        nb::sig("def scale_sides(loss: str, t: Vector, y: Vector, c: Vector, slope: Vector, up: float, down: float) -> "
                "tuple[Vector, Vector]"),
        R"doc(u, the slope times up where it is positive and times down elsewhere, and sums of one read of the rows.

Sums (5,) are Σ c max(u, 0), Σ c max(−u, 0), Σ c u², Σ c excess(t, u), Σ c (slope − u)².)doc");
    module.def(
        "side_sums", &side_sums_of, arg("c"), arg("u"), nb::sig("def side_sums(c: Vector, u: Matrix) -> Vector"),
        R"doc(Sum c u over the rows of u, (n,) or (n, k), as (3, k): positive products, negative ones without sign, all.

The last is off by a rounding of itself and (n 2⁻⁵³)² of the others: products are exact, sums compensated.)doc");
    module.def("glm_pass", &dense_pass, arg("loss"), arg("X"), arg("y"), arg("c"), arg("w"), arg("b"), arg("shift"),
               arg("rows"), arg("bend") = false, arg("hessian") = false,
               nb::sig("def glm_pass(loss: str, X: Matrix, y: Vector, c: Vector, w: Vector, b: float, shift: Vector, "
                       "rows: Vector, bend: bool=False, hessian: bool=False) -> tuple[Vector, Vector, Vector, Vector | "
                       "None, Vector | None]"),
               R"doc(One read of X for the scores t = Z w + b with Z = X − shift: sums, rise, fall, bend, hessian.

Sums (6,) are Σ c ℓ, Σ c ℓ′ over positive slopes, the same over negative ones, Σ c ℓ″, Σ c t²,
Σ c ℓ′²; rise and fall (p,) are Zᵀ of c times the slopes of either sign; bend (n,), if wanted, c ℓ″; hessian
(p + 1, p + 1), if wanted, [Z | 1]ᵀ diag(c ℓ″) [Z | 1].
Scores t and slopes ℓ′ are written to the two rows of ``rows``, (2, n) in C order, the one array that a kernel changes;
a table of one row takes scores alone.)doc");
    module.def("csr_glm_pass", &sparse_pass, arg("loss"), arg("indptr"), arg("indices"), arg("data"), arg("shape"),
               arg("y"), arg("c"), arg("w"), arg("b"), arg("shift"), arg("rows"), arg("bend") = false,
               nb::sig("def csr_glm_pass(loss: str, indptr: Indices, indices: Indices, data: Matrix, shape: tuple[int, "
                       "int], y: Vector, c: Vector, w: Vector, b: float, shift: Vector, rows: Vector, bend: "
                       "bool=False) -> tuple[Vector, Vector, Vector, Vector | None, None]"),
               R"doc(One read of compressed rows, without a hessian; the shift is taken out of the results.)doc");
    module.def(
        "mixed_pass", &dense_mixed, arg("loss"), arg("X"), arg("y"), arg("c"), arg("given"), arg("times"), arg("w"),
        arg("b"), arg("shift"), arg("rows"),
        nb::sig("def mixed_pass(loss: str, X: Matrix, y: Vector, c: Vector, given: NDArray[np.float32], times: float, "
                "w: Vector, b: float, shift: Vector, rows: Vector) -> tuple[Vector, Matrix]"),
        R"doc(One read of X for the scores t = Z w + b with Z = X − shift, and for dual variables, times given: sums and products.

With v the positive slopes, the negative ones, the positive given variables and the negative ones: sums (20,) are those of
`glm_pass`, Σ c v of the given two, Σ c y v of all four, Σ c v² of all four, and Σ c of a slope times a given variable with
the signs ++, +−, −+, −−; products (4, p) are Zᵀ of c v. Scores and slopes are written to the two rows of ``rows``.)doc");
    module.def("csr_mixed_pass", &sparse_mixed, arg("loss"), arg("indptr"), arg("indices"), arg("data"), arg("shape"),
               arg("y"), arg("c"), arg("given"), arg("times"), arg("w"), arg("b"), arg("shift"), arg("rows"),
               nb::sig("def csr_mixed_pass(loss: str, indptr: Indices, indices: Indices, data: Matrix, shape: "
                       "tuple[int, int], y: Vector, c: Vector, given: NDArray[np.float32], times: float, w: Vector, b: "
                       "float, shift: Vector, rows: Vector) -> tuple[Vector, Matrix]"),
               R"doc(One read of compressed rows; the shift is taken out of the results.)doc");
    module.def(
        "mix_sides", &mixture_of, arg("loss"), arg("t"), arg("y"), arg("c"), arg("slope"), arg("given"), arg("times"),
        arg("factors"),
        nb::sig("def mix_sides(loss: str, t: Vector, y: Vector, c: Vector, slope: Vector, given: NDArray[np.float32], "
                "times: float, factors: tuple[float, ...]) -> tuple[Vector, Vector]"),
        R"doc(u, a mixture of slopes and of times given, moved into the domain, and the sums that `scale_sides` has.

Factors multiply positive slopes, negative slopes, positive and negative given variables.)doc");
    module.def("softmax_pass", &softmax_over, arg("X"), arg("y"), arg("c"), arg("w"), arg("b"), arg("shift"),
               arg("scores"),
               nb::sig("def softmax_pass(X: Matrix, y: Vector, c: Vector, w: Matrix, b: Vector, shift: Vector, scores: "
                       "Matrix) -> tuple[Vector, Matrix]"),
               R"doc(One read of X for the scores T = Z w + b of k classes, with Z = X − shift: sums and gradient.

Sums (3,) are Σ c ℓ and the weighted sums of squares of scores and slopes; the gradient (p + 1, k) is Zᵀ of c times the
slopes, their sums last. Scores are written to ``scores``, (n, k) in C order.)doc");
    module.def("targets_pass", &targets_over, arg("X"), arg("y"), arg("c"), arg("w"), arg("b"), arg("shift"),
               arg("scores"),
               nb::sig("def targets_pass(X: Matrix, y: Matrix, c: Vector, w: Matrix, b: Vector, shift: Vector, scores: "
                       "Matrix) -> tuple[Vector, Matrix]"),
               R"doc(Do the same for half the squared distances of the scores from targets y, (n, k) in C order.)doc");
    module.def(
        "softmax_curvature", &softmax_curvature_of, arg("X"), arg("p"), arg("c"), arg("shift"), arg("v"),
        nb::sig("def softmax_curvature(X: Matrix, p: Matrix, c: Vector, shift: Vector, v: Matrix) -> Matrix"),
        R"doc(Second derivatives of that loss times v, (p + 1, k) with the intercepts last, at probabilities p (n, k).)doc");
    module.def(
        "softmax_hessian", &softmax_hessian_of, arg("X"), arg("p"), arg("c"),
        nb::sig("def softmax_hessian(X: Matrix, p: Matrix, c: Vector) -> Matrix"),
        R"doc(Second derivatives of that loss by coefficients of the columns of X, (k q, k q), class after class.)doc");
    module.def(
        "longest_square", &longest_square_of, arg("X"), arg("shift"), arg("scale"),
        nb::sig("def longest_square(X: Matrix, shift: Vector, scale: Vector) -> float"),
        R"doc(Largest sum over the columns of ((x − shift) · scale)² of a row, in one read of X; zero without rows.)doc");
    module.def("curvature_product", &dense_curvature, arg("X"), arg("weight"), arg("shift"), arg("v"),
               nb::sig("def curvature_product(X: Matrix, weight: Vector, shift: Vector, v: Vector) -> Vector"),
               R"doc([Z | 1]ᵀ diag(weight) [Z | 1] v, (p + 1,), for Z = X − shift, in one read of X.)doc");
    module.def("csr_curvature_product", &sparse_curvature, arg("indptr"), arg("indices"), arg("data"), arg("shape"),
               arg("weight"), arg("shift"), arg("v"),
               nb::sig("def csr_curvature_product(indptr: Indices, indices: Indices, data: Matrix, shape: tuple[int, "
                       "int], weight: Vector, shift: Vector, v: Vector) -> Vector"),
               R"doc([Z | 1]ᵀ diag(weight) [Z | 1] v for compressed rows.)doc");
}

}  // namespace qed::bindings
