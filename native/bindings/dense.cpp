#include <string>
#include <type_traits>

#include "arrays.hpp"
#include "qed/dense/moments.hpp"
#include "qed/dense/rows.hpp"
#include "qed/machine/finite.hpp"
#include "qed/machine/pair.hpp"

namespace qed::bindings {
namespace {

using nb::arg;

using RowNumbers = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

RowList row_list(const std::optional<RowNumbers>& rows, Index most) {
    if (!rows) {
        return {};
    }
    const RowList list{rows->data(), static_cast<Index>(rows->size())};
    for (Index i = 0; i < list.count; ++i) {
        require(list.rows[i] >= 0 && list.rows[i] < most, "rows must be numbers of rows of X");
    }
    return list;
}

nb::tuple moments_of(const Array& X, const Array& Y, const MaybeArray& s, const Array& shift,
                     const std::optional<RowNumbers>& rows) {
    const Matrix x = matrix(X, "X");
    const Matrix y = matrix(Y, "Y");
    require(x.rows == y.rows, "X and Y must have equally many rows");
    const Index q = x.columns + y.columns;
    const RowList list = row_list(rows, x.rows);
    const double* weights = vector(s, "s", rows ? list.count : x.rows);
    const double* offset = vector(shift, "shift", q);
    double weight = 0.0;
    Fresh<double> sums({q});
    Fresh<double> scatter({q, q});
    run([&] { moments(x, y, list, weights, offset, {&weight, sums.get(), scatter.get()}); });
    return nb::make_tuple(weight, sums.give(), scatter.give());
}

Doubles typical_row_of(const Array& X, const Array& Y, const MaybeArray& s, Index step) {
    const Matrix x = matrix(X, "X");
    const Matrix y = matrix(Y, "Y");
    require(x.rows == y.rows && x.rows > 0, "X and Y must have equally many rows, and one at least");
    require(step > 0, "step must be positive");
    const double* weights = vector(s, "s", x.rows);
    Fresh<double> out({x.columns + y.columns});
    run([&] { typical_row(x, y, weights, step, out.get()); });
    return out.give();
}

nb::tuple spreads_of(const Array& X, const Array& Y, const MaybeArray& s, double total) {
    const Matrix x = matrix(X, "X");
    const Matrix y = matrix(Y, "Y");
    require(x.rows == y.rows && x.rows > 0, "X and Y must have equally many rows, and one at least");
    const Index q = x.columns + y.columns;
    const double* weights = vector(s, "s", x.rows);
    Fresh<double> mean({q});
    Fresh<double> spread({q});
    Fresh<double> origin({q});
    run([&] { column_spreads(x, y, weights, total, {mean.get(), spread.get(), origin.get()}); });
    return nb::make_tuple(mean.give(), spread.give(), origin.give());
}

nb::tuple moment_rounding_of(const Array& mean, const Array& spread, const Array& about, double total, Index terms) {
    const Index q = static_cast<Index>(mean.shape(0));
    const double* of = vector(mean, "mean", q);
    const double* squares = vector(spread, "spread", q);
    const double* row = vector(about, "about", q);
    Fresh<double> mean_rounding({q});
    Fresh<double> spread_rounding({q});
    run([&] { moment_rounding(of, squares, row, q, total, terms, {mean_rounding.get(), spread_rounding.get()}); });
    return nb::make_tuple(mean_rounding.give(), spread_rounding.give());
}

Doubles gram_of(const Array& X, const MaybeArray& s, const MaybeArray& shift, bool transpose, bool fast) {
    const Matrix x = matrix(X, "X");
    const Index q = transpose ? x.rows : x.columns;
    const GramOptions options{.s = vector(s, "s", transpose ? x.columns : x.rows),
                              .shift = vector(shift, "shift", x.columns),
                              .transpose = transpose,
                              .fast = fast};
    require(!fast || x.kind == Kind::float32, "fast=True needs a float32 X");
    Fresh<double> out({q, q});
    run([&] { gram(x, options, out.get()); });
    return out.give();
}

bool all_finite_in(const Array& X) {
    const Matrix x = matrix(X, "X");
    bool answer = false;
    run([&] { answer = all_finite(x); });
    return answer;
}

template <class T>
Numbers product_as(const Centred& x, const Matrix& w, const double* b) {
    Fresh<T> out({x.matrix.rows, w.columns});
    const Kind kind = std::is_same_v<T, float> ? Kind::float32 : Kind::float64;
    run([&] { multiply(x, w, b, kind, out.get()); });
    return out.template give<Numbers>();
}

Numbers product_of(const Array& X, const Array& W, const MaybeArray& b, const MaybeArray& shift, bool wide) {
    const Matrix x = matrix(X, "X");
    const Matrix w = matrix(W, "W");
    require(x.columns == w.rows, "W must have as many rows as X has columns");
    const double* offset = vector(b, "b", w.columns);
    const Centred centred{x, vector(shift, "shift", x.columns)};
    return x.kind == Kind::float32 && !wide ? product_as<float>(centred, w, offset)
                                            : product_as<double>(centred, w, offset);
}

Doubles transposed_product_of(const Array& X, const Array& U, const MaybeArray& shift) {
    const Matrix x = matrix(X, "X");
    const Matrix u = matrix(U, "U");
    require(x.rows == u.rows, "X and U must have equally many rows");
    Fresh<double> out({x.columns, u.columns});
    const Centred centred{x, vector(shift, "shift", x.columns)};
    run([&] { multiply_transposed(centred, u, out.get()); });
    return out.give();
}

Doubles column_squares_of(const Array& X, const MaybeArray& s, const MaybeArray& shift) {
    const Matrix x = matrix(X, "X");
    const double* weights = vector(s, "s", x.rows);
    const Centred centred{x, vector(shift, "shift", x.columns)};
    Fresh<double> out({x.columns});
    run([&] { column_squares(centred, weights, out.get()); });
    return out.give();
}

/// A square matrix of doubles, contiguous by rows.
const double* square(const Array& array, const char* name, Index q) {
    const Matrix view = matrix(array, name);
    require(view.kind == Kind::float64 && view.rows == q && view.columns == q && view.column_stride == 1 &&
                view.row_stride == q,
            std::string(name) + " must be a float64 matrix of " + std::to_string(q) + " rows and columns, in C order");
    return static_cast<const double*>(view.data);
}

nb::tuple add_outer_of(const Array& a, const MaybeArray& a_low, const MaybeArray& b, const MaybeArray& b_low,
                       const Array& step, const Array& step_low, double factor, double factor_low) {
    const Index q = static_cast<Index>(step.shape(0));
    const PairsView left{square(a, "a", q), a_low ? square(*a_low, "a_low", q) : nullptr};
    const PairsView right{b ? square(*b, "b", q) : nullptr, b_low ? square(*b_low, "b_low", q) : nullptr};
    const PairsView steps{vector(step, "step", q), vector(step_low, "step_low", q)};
    Fresh<double> high({q, q});
    Fresh<double> low({q, q});
    run([&] { add_outer(left, right, q, steps, {factor, factor_low}, high.get(), low.get()); });
    return nb::make_tuple(high.give(), low.give());
}

nb::tuple centre_moments_of(double weight, const MaybeArray& shift, const Array& sums, const Array& products) {
    const Index q = static_cast<Index>(sums.shape(0));
    const double* about = vector(shift, "shift", q);
    const double* first = vector(sums, "sums", q);
    const double* second = square(products, "products", q);
    Fresh<double> mean({q});
    Fresh<double> mean_low({q});
    Fresh<double> scatter({q, q});
    Fresh<double> scatter_low({q, q});
    const CentredOut out{mean.get(), mean_low.get(), scatter.get(), scatter_low.get()};
    run([&] { centre_moments(weight, about, first, second, q, out); });
    return nb::make_tuple(mean.give(), mean_low.give(), scatter.give(), scatter_low.give());
}

nb::tuple residual_of(const Array& X, const Array& Y, const Array& W, const Array& b, const MaybeArray& s,
                      const MaybeArray& shift) {
    const Matrix x = matrix(X, "X");
    const Matrix y = matrix(Y, "Y");
    const Matrix w = matrix(W, "W");
    require(x.rows == y.rows, "X and Y must have equally many rows");
    require(w.rows == x.columns && w.columns == y.columns, "W must be columns of X by columns of Y");
    const double* offset = vector(b, "b", y.columns);
    const double* weights = vector(s, "s", x.rows);
    Fresh<double> gradient({x.columns, y.columns});
    Fresh<double> sums({y.columns});
    Fresh<double> squares({y.columns});
    const Centred centred{x, vector(shift, "shift", x.columns)};
    run([&] { residual(centred, y, w, offset, weights, {gradient.get(), sums.get(), squares.get()}); });
    return nb::make_tuple(gradient.give(), sums.give(), squares.give());
}

nb::tuple projection_of(const Array& X, const Array& shift, const Array& V, const Array& D, const Array& B) {
    const Matrix x = matrix(X, "X");
    const Matrix v = matrix(V, "V");
    const Matrix d = matrix(D, "D");
    const Matrix b = matrix(B, "B");
    require(v.rows == x.columns, "V must have as many rows as X has columns");
    require(d.rows == v.columns && b.rows == v.columns, "D and B must have as many rows as V has columns");
    const double* offset = vector(shift, "shift", x.columns);
    Fresh<double> squares({x.rows, d.columns});
    Fresh<double> fitted({x.rows, b.columns});
    run([&] { project(x, offset, v, d, b, {squares.get(), fitted.get()}); });
    return nb::make_tuple(squares.give(), fitted.give());
}

}  // namespace

void bind_dense(nb::module_& module) {
    module.def(
        "moments", &moments_of, arg("X"), arg("Y"), arg("s").none(), arg("shift"), arg("rows").none() = nb::none(),
        nb::sig("def moments(X: Matrix, Y: Matrix, s: Vector | None, shift: Vector, rows: Vector | None=None) -> "
                "tuple[float, Vector, Vector]"),
        R"doc(Weight Σ s, sums Σ s z (q,) and scatter Σ s z zᵀ (q, q, both triangles) of the rows z = [x | y] − shift.

X is (n, p), Y is (n, m), shift is (q,) with q = p + m; ``rows`` are the int64 numbers of the rows that are summed, None for
all; s has a nonnegative weight for each of them, or is None for ones. One pass.)doc");
    module.def(
        "typical_row", &typical_row_of, arg("X"), arg("Y"), arg("s").none(), arg("step"),
        nb::sig("def typical_row(X: Matrix, Y: Matrix, s: Vector | None, step: int) -> Vector"),
        R"doc(Find a row near the mean of [X | Y], (q,), from every step-th row; constant columns are hit exactly.)doc");
    module.def(
        "column_spreads", &spreads_of, arg("X"), arg("Y"), arg("s").none(), arg("total"),
        nb::sig("def column_spreads(X: Matrix, Y: Matrix, s: Vector | None, total: float) -> tuple[Vector, Vector, "
                "Vector]"),
        R"doc(Means and Σ s (z − mean)² of the columns of [X | Y], and the first row, about which they were summed; (q,) each.

``total`` is the sum of the weights.)doc");
    module.def(
        "moment_rounding", &moment_rounding_of, arg("mean"), arg("spread"), arg("about"), arg("total"), arg("terms"),
        nb::sig("def moment_rounding(mean: Vector, spread: Vector, about: Vector, total: float, terms: int) -> "
                "tuple[Vector, Vector]"),
        R"doc(Bounds on the rounding of means and of spreads, (q,) each, summed about a row with at most so many additions.)doc");
    module.def(
        "gram", &gram_of, arg("X"), arg("s").none(), arg("shift").none(), arg("transpose"), arg("fast") = false,
        nb::sig(
            "def gram(X: Matrix, s: Vector | None, shift: Vector | None, transpose: bool, fast: bool=False) -> Vector"),
        R"doc((X − shift)ᵀ S (X − shift), (p, p); or, transposed, (X − shift) S (X − shift)ᵀ, (n, n).

shift is (p,) in both cases; s is nonnegative and belongs to the terms of the sum: (n,), or (p,) when transposed.
``fast`` (float32 only) multiplies in float32, sums up to 128 products there and the rest in float64.)doc");
    module.def("all_finite", &all_finite_in, arg("X"), nb::sig("def all_finite(X: Matrix) -> bool"),
               R"doc(Tell whether no entry is NaN or infinite; stops at the first that is.)doc");
    module.def(
        "matmul", &product_of, arg("X"), arg("W"), arg("b").none(), arg("shift").none() = nb::none(),
        arg("wide") = false,
        nb::sig("def matmul(X: Matrix, W: Matrix, b: Vector | None, shift: Vector | None=None, wide: bool=False) -> "
                "Matrix"),
        R"doc((X − shift) W + b, (n, m), summed in float64 and rounded to the type of X, or with ``wide`` not at all.)doc");
    module.def("rmatmul", &transposed_product_of, arg("X"), arg("U"), arg("shift").none() = nb::none(),
               nb::sig("def rmatmul(X: Matrix, U: Matrix, shift: Vector | None=None) -> Vector"),
               R"doc((X − shift)ᵀ U, (p, m).)doc");
    module.def("column_squares", &column_squares_of, arg("X"), arg("s").none(), arg("shift").none(),
               nb::sig("def column_squares(X: Matrix, s: Vector | None, shift: Vector | None) -> Vector"),
               R"doc(Σ s (x − shift)² of each column, (p,).)doc");
    module.def(
        "add_outer", &add_outer_of, arg("a"), arg("a_low").none(), arg("b").none(), arg("b_low").none(), arg("step"),
        arg("step_low"), arg("factor"), arg("factor_low"),
        nb::sig("def add_outer(a: Vector, a_low: Vector | None, b: Vector | None, b_low: Vector | None, step: Vector, "
                "step_low: Vector, factor: float, factor_low: float) -> tuple[Vector, Vector]"),
        R"doc(Sum a + b + factor · step stepᵀ in double-double, (q, q), as high and low parts; None stands for zeros.)doc");
    module.def(
        "centre_moments", &centre_moments_of, arg("weight"), arg("shift").none(), arg("sums"), arg("products"),
        nb::sig("def centre_moments(weight: float, shift: Vector | None, sums: Vector, products: Vector) -> "
                "tuple[Vector, Vector, Vector, Vector]"),
        R"doc(Mean (q,) and scatter (q, q) in double-double, each as high and low part, from what `moments` gives.)doc");
    module.def(
        "residual", &residual_of, arg("X"), arg("Y"), arg("W"), arg("b"), arg("s").none(),
        arg("shift").none() = nb::none(),
        nb::sig("def residual(X: Matrix, Y: Matrix, W: Matrix, b: Vector, s: Vector | None, shift: Vector | None=None) "
                "-> tuple[Vector, Vector, Vector]"),
        R"doc(Gradient Zᵀ S r (p, m), sums Σ s r (m,) and squares Σ s r² (m,) of r = Y − Z W − b, for Z = X − shift. One pass.)doc");
    module.def(
        "projected_squares", &projection_of, arg("X"), arg("shift"), arg("V"), arg("D"), arg("B"),
        nb::sig("def projected_squares(X: Matrix, shift: Vector, V: Matrix, D: Matrix, B: Matrix) -> tuple[Vector, "
                "Vector]"),
        R"doc(Z² D (n, k) and Z B (n, j) for Z = (X − shift) V, (n, r), which is never stored; Z² squares each entry.)doc");
}

}  // namespace qed::bindings
