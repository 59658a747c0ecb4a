#include <nanobind/stl/vector.h>

#include <vector>

#include "arrays.hpp"
#include "qed/convex/fold_columns.hpp"

namespace qed::bindings {
namespace {

using nb::arg;
using Whole = nb::ndarray<nb::numpy, nb::ro, std::int64_t, nb::ndim<1>, nb::c_contig>;

/// Columns of doubles, contiguous, one after the other.
Matrix columns_of(const Array& array, const char* name) {
    const Matrix view = matrix(array, name);
    require(view.kind == Kind::float64 && (view.rows <= 1 || view.row_stride == 1) &&
                (view.columns <= 1 || view.column_stride >= view.rows),
            std::string(name) + " must be float64 with contiguous columns");
    return view;
}

/// Memory that the system provides page by page, as it is written to.
auto room_of(Index rows, Index columns) {
    require(rows >= 0 && columns >= 0, "a room must have a size");
    return Fresh<double>({rows, columns}).give();
}

void extend(const std::vector<std::tuple<Array, Array, Doubles>>& folds) {
    std::vector<FreshColumns> tasks;
    for (const auto& [columns, weighted, products] : folds) {
        const Matrix all = columns_of(columns, "columns");
        const Matrix fresh = columns_of(weighted, "weighted");
        const auto room = static_cast<Index>(products.ndim() == 2 ? products.shape(0) : 0);
        require(fresh.columns <= all.columns && fresh.rows <= all.rows, "more is weighted than there is");
        require(fresh.columns <= 1 || fresh.column_stride == fresh.rows, "weighted columns must be contiguous");
        require(room >= all.columns && static_cast<Index>(products.shape(1)) >= all.columns && products.stride(1) == 1,
                "products must have a row and a column for each column");
        tasks.push_back({.columns = static_cast<const double*>(all.data),
                         .rows = all.columns > 1 ? all.column_stride : all.rows,
                         .counted = fresh.rows,
                         .old = all.columns - fresh.columns,
                         .count = all.columns,
                         .weighted = static_cast<const double*>(fresh.data),
                         .products = products.data(),
                         .stride = static_cast<Index>(products.stride(0))});
    }
    run([&] { extend_products(tasks.data(), static_cast<Index>(tasks.size())); });
}

void residuals(const std::vector<std::tuple<Array, Array, Array, Whole, Index>>& folds, const Doubles& out) {
    require(out.ndim() == 2, "residuals are a table");
    const auto rows = static_cast<Index>(out.shape(0));
    std::vector<FoldResidual> tasks;
    for (const auto& [columns, w, target, order, place] : folds) {
        const Matrix all = columns_of(columns, "columns");
        require(all.rows == rows && static_cast<Index>(order.shape(0)) == rows, "a row for each residual");
        require(all.columns <= 1 || all.column_stride == rows, "columns must follow each other");
        require(place >= 0 && place < static_cast<Index>(out.shape(1)) && out.stride(1) == 1, "no such place");
        bool points_inside = true;
        for (Index i = 0; i < rows; ++i) {
            points_inside = points_inside && order.data()[i] >= 0 && order.data()[i] < rows;
        }
        require(points_inside, "no such row");
        tasks.push_back({.columns = static_cast<const double*>(all.data),
                         .rows = rows,
                         .count = all.columns,
                         .w = vector(w, "w", all.columns),
                         .target = vector(target, "target", rows),
                         .order = order.data(),
                         .residual = out.data() + place,
                         .step = static_cast<Index>(out.stride(0))});
    }
    run([&] { make_residuals(tasks.data(), static_cast<Index>(tasks.size())); });
}

}  // namespace

void bind_folds(nb::module_& module) {
    module.def("room", &room_of, arg("rows"), arg("columns"), nb::sig("def room(rows: int, columns: int) -> Vector"),
               R"doc(Return a matrix that is not filled; its pages become memory when they are first written to.)doc");
    module.def("extend_products", &extend, arg("folds"),
               nb::sig("def extend_products(folds: list[tuple[Vector, Vector, Vector]]) -> None"),
               R"doc(Write weighted products of fresh columns with all columns into rooms, in threads.

A fold is columns (n, k) of which the last m are fresh, these times their weights (rows that count, m), and the room.)doc");
    module.def("fold_residuals", &residuals, arg("folds"), arg("out"),
               nb::sig("def fold_residuals(folds: list[tuple[Vector, Vector, Vector, NDArray[np.int64], int]], out: "
                       "Vector) -> None"),
               R"doc(Write targets less columns times coefficients into columns of a table, in threads.

A fold is columns (n, k), coefficients, targets, the row of the table that each row goes to, and the column.)doc");
}

}  // namespace qed::bindings
