#include "qed/tables/levels.hpp"

#include "arrays.hpp"
#include "targets.hpp"

namespace qed::bindings {
namespace {

using nb::arg;

void count(const Array& X, Writable out, const Array& levels, const Array& starts) {
    const Matrix x = matrix(X, "X");
    const Target to = target(out, x);
    const bool fits = starts.dtype() == nb::dtype<std::int64_t>() && starts.ndim() == 1 &&
                      static_cast<Index>(starts.shape(0)) == x.columns + 1 && starts.stride(0) == 1;
    require(fits, "starts must be int64, with an end for each column");
    const auto* ends = static_cast<const Index*>(starts.data());
    require(ends[0] >= 0, "starts must rise from 0");
    for (Index j = 0; j < x.columns; ++j) {
        require(ends[j] <= ends[j + 1], "starts must rise from 0");
    }
    const double* numbers = vector(levels, "levels", static_cast<Index>(levels.shape(0)));
    require(ends[x.columns] <= static_cast<Index>(levels.shape(0)), "starts must end within the levels");
    run([&] { count_levels(x, numbers, ends, to); });
}

void follow(const Array& X, Writable out, const Array& levels, const Array& values) {
    const Matrix x = matrix(X, "X");
    const Target to = target(out, x);
    const Matrix table = matrix(levels, "levels");
    const Index many = table.columns;
    const bool fits = table.kind == Kind::float64 && table.rows == x.columns && many > 0 &&
                      (table.rows <= 1 || table.row_stride == many) && (many <= 1 || table.column_stride == 1);
    require(fits, "levels must be float64 in C order, a row for each column of X");
    const double* at = vector(values, "values", many);
    run([&] { follow_levels(x, static_cast<const double*>(table.data), at, many, to); });
}

}  // namespace

void bind_levels(nb::module_& module) {
    module.def("count_levels", &count, arg("X"), arg("out"), arg("levels"), arg("starts"),
               nb::sig("def count_levels(X: Matrix, out: Matrix, levels: Vector, starts: NDArray[np.int64]) -> None"),
               R"doc(Write how many levels of its column each entry reaches into ``out``, of the type of X; NaN stays.

The levels of column j rise from ``starts[j]`` on and end before ``starts[j + 1]``.)doc");
    module.def("follow_levels", &follow, arg("X"), arg("out"), arg("levels"), arg("values"),
               nb::sig("def follow_levels(X: Matrix, out: Matrix, levels: Matrix, values: Vector) -> None"),
               R"doc(Write the curve through (levels, values) at each entry into ``out``, of the type of X; NaN stays.

Linear between levels, flat outside; at a level that is listed several times the mean of its first and last value. Row j of
``levels`` belongs to column j of X.)doc");
}

}  // namespace qed::bindings
