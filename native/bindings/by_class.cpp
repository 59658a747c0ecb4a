#include "qed/tables/by_class.hpp"

#include "arrays.hpp"

namespace qed::bindings {
namespace {

using nb::arg;

/// A float64 table in C order, a row for each class and a column for each column of X.
const double* table(const Array& array, const char* name, Index rows, Index columns) {
    const Matrix view = matrix(array, name);
    const bool fits = view.kind == Kind::float64 && array.ndim() == 2 && view.rows == rows && view.columns == columns &&
                      (rows <= 1 || view.row_stride == columns) && (columns <= 1 || view.column_stride == 1);
    require(fits, std::string(name) + " must be float64 in C order, a row for each class");
    return static_cast<const double*>(array.data());
}

nb::tuple sums(const Array& X, const Array& codes, Index classes, const MaybeArray& s, const MaybeArray& shift,
               bool squares) {
    const Matrix x = matrix(X, "X");
    const double* numbers = vector(codes, "codes", x.rows);
    require(classes >= 1, "there must be a class");
    for (Index i = 0; i < x.rows; ++i) {
        if (!(numbers[i] >= 0.0 && numbers[i] < static_cast<double>(classes))) {
            require(false, "codes must be numbers of classes");
        }
    }
    const double* weights = vector(s, "s", x.rows);
    const double* origin = shift ? table(*shift, "shift", classes, x.columns) : nullptr;
    Fresh<double> out({squares ? 2 * classes : classes, x.columns});
    Index terms = 0;
    run([&] { terms = sum_classes(x, {numbers, classes, weights, origin, squares}, out.get()); });
    return nb::make_tuple(out.give(), terms);
}

Doubles distances(const Array& X, const Array& centre, const Array& scale) {
    const Matrix x = matrix(X, "X");
    require(centre.ndim() == 2, "centre must be a table");
    const auto classes = static_cast<Index>(centre.shape(0));
    const double* from = table(centre, "centre", classes, x.columns);
    const double* times = table(scale, "scale", classes, x.columns);
    Fresh<double> out({x.rows, classes});
    run([&] { class_distances(x, classes, from, times, out.get()); });
    return out.give();
}

}  // namespace

void bind_by_class(nb::module_& module) {
    module.def(
        "class_sums", &sums, arg("X"), arg("codes"), arg("classes"), arg("s").none(), arg("shift").none(),
        arg("squares"),
        nb::sig("def class_sums(X: Matrix, codes: Vector, classes: int, s: Vector | None, shift: Vector | None, "
                "squares: bool) -> tuple[Vector, int]"),
        R"doc(Σ s (x − shift) of each column over the rows of each class, (k, p), below them Σ s (x − shift)² if ``squares``.

codes (n,) are class numbers from 0, shift is (k, p), None for zeros. With the longest chain of additions behind a sum.)doc");
    module.def(
        "class_distances", &distances, arg("X"), arg("centre"), arg("scale"),
        nb::sig("def class_distances(X: Matrix, centre: Vector, scale: Vector) -> Vector"),
        R"doc(Σ ((x − centre) scale)² over the columns, (n, k), for a centre and a scale of each class, (k, p) each.)doc");
}

}  // namespace qed::bindings
