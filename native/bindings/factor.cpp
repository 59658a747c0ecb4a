#include "arrays.hpp"
#include "qed/dense/reflect.hpp"
#include "qed/dense/triangular.hpp"

namespace qed::bindings {
namespace {

using nb::arg;

nb::tuple cholesky_of(const Array& A) {
    const Matrix a = matrix(A, "A");
    require(a.rows == a.columns, "A must be square");
    Fresh<double> lower({a.rows, a.rows}, true);
    Index bad = -1;
    run([&] { bad = cholesky(a, lower.get()); });
    return nb::make_tuple(lower.give(), bad);
}

using Solve = void (*)(const Matrix&, const Matrix&, double*);

template <Solve solve>
Doubles solution_of(const Array& L, const Array& B) {
    const Matrix l = matrix(L, "L");
    const Matrix b = matrix(B, "B");
    require(l.rows == l.columns, "L must be square");
    require(l.rows == b.rows, "B must have as many rows as L");
    Fresh<double> x({b.rows, b.columns});
    run([&] { solve(l, b, x.get()); });
    return x.give();
}

Doubles triangle_of(const Array& X, const Array& Y, const MaybeArray& s, const MaybeArray& shift,
                    const MaybeArray& scale, bool ones) {
    const Matrix x = matrix(X, "X");
    const Matrix y = matrix(Y, "Y");
    require(x.rows == y.rows, "X and Y must have equally many rows");
    const Index q = x.columns + y.columns;
    const TriangleOptions options{.s = vector(s, "s", x.rows),
                                  .shift = vector(shift, "shift", q),
                                  .scale = vector(scale, "scale", q),
                                  .ones = ones};
    Fresh<double> r({q + ones, q + ones});
    run([&] { triangle(x, y, options, r.get()); });
    return r.give();
}

}  // namespace

void bind_factor(nb::module_& module) {
    module.def("cholesky", &cholesky_of, arg("A"), nb::sig("def cholesky(A: Matrix) -> tuple[Vector, int]"),
               R"doc(Lower factor L with A = L Lᵀ (Fortran order, zeros above the diagonal), and −1.

A must be symmetric: one triangle of it is read. If a pivot is not a positive number, its index is returned instead
of −1 and L is unfinished.)doc");
    module.def(
        "triangle", &triangle_of, arg("X"), arg("Y"), arg("s").none(), arg("shift").none(), arg("scale").none(),
        arg("ones"),
        nb::sig("def triangle(X: Matrix, Y: Matrix, s: Vector | None, shift: Vector | None, scale: Vector | None, "
                "ones: bool) -> Vector"),
        R"doc(Upper factor R (q, q) with RᵀR = ZᵀSZ for Z = ([X | Y] − shift) scale, by reflections; rows of Z are never squared.

shift and scale have an entry for each column of [X | Y]. With ``ones`` a column of ones stands first and R has one
row and one column more. Signs on the diagonal are whatever the reflections leave. What remains of a column must
have a square that float64 holds: below 1e-290 it counts as zero.)doc");
    module.def("solve_lower", &solution_of<solve_lower>, arg("L"), arg("B"),
               nb::sig("def solve_lower(L: Matrix, B: Matrix) -> Vector"),
               R"doc(L⁻¹ B, (n, m). What L holds above its diagonal is not read.)doc");
    module.def("solve_lower_t", &solution_of<solve_lower_transposed>, arg("L"), arg("B"),
               nb::sig("def solve_lower_t(L: Matrix, B: Matrix) -> Vector"), R"doc(L⁻ᵀ B, (n, m).)doc");
}

}  // namespace qed::bindings
