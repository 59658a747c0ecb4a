#include "qed/svm/coded.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <tuple>
#include <vector>

#include "arrays.hpp"
#include "loss_names.hpp"

namespace qed::bindings {
namespace {

using nb::arg;
using Starts = nb::ndarray<nb::ro, std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Book = nb::ndarray<nb::ro, std::int8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

/// `model` is the name of a loss, the largest curvature of a row, what losses are multiplied by, and whether b is free.
nb::tuple planes_of(const Array& X, const Starts& starts, const Book& book,
                    const std::tuple<std::string, double, double, bool>& model, const Array& shift,
                    const std::pair<Array, Array>& begin, const Array& target, Index most) {
    const Matrix x = matrix(X, "X");
    require(x.kind == Kind::float64 && x.column_stride == 1 && x.row_stride == x.columns,
            "X must be contiguous float64");
    const auto classes = static_cast<Index>(starts.shape(0)) - 1;
    require(classes >= 1 && book.shape(1) == static_cast<std::size_t>(classes),
            "the book must have one column for each class");
    const std::int64_t* at = starts.data();
    require(at[0] == 0 && at[classes] == x.rows && std::is_sorted(at, at + classes + 1), "starts must cut the rows");
    const auto problems = static_cast<Index>(book.shape(0));
    const Matrix coefficients = matrix(begin.first, "w");
    require(coefficients.kind == Kind::float64 && coefficients.rows == problems && coefficients.columns == x.columns &&
                coefficients.column_stride == 1 && coefficients.row_stride == x.columns,
            "w must be contiguous float64, a row for each problem");
    const double* wanted = vector(target, "target", problems);
    const CodedRows rows{static_cast<const double*>(x.data), x.columns, at, classes};
    const auto& [name, bend, strength, has_intercept] = model;
    const CodedModel declared{loss_kind(name), bend, strength, vector(shift, "shift", x.columns), has_intercept};
    Fresh<double> w({problems, x.columns});
    Fresh<double> level({problems});
    std::copy_n(static_cast<const double*>(coefficients.data), problems * x.columns, w.get());
    std::copy_n(vector(begin.second, "b", problems), problems, level.get());
    std::vector<CodedPlane> found(static_cast<std::size_t>(problems));
    run([&] { coded_planes(rows, declared, problems, book.data(), wanted, most, w.get(), level.get(), found.data()); });
    Fresh<double> numbers({problems, 4});
    double* out = numbers.get();
    for (const CodedPlane& one : found) {
        const double own[] = {one.objective, one.gap, one.rounding, static_cast<double>(one.steps)};
        out = std::copy(std::begin(own), std::end(own), out);
    }
    return nb::make_tuple(w.give(), level.give(), numbers.give());
}

}  // namespace

void bind_coded(nb::module_& module) {
    module.def("coded_planes", &planes_of, arg("X"), arg("starts"), arg("book"), arg("model"), arg("shift"),
               arg("begin"), arg("target"), arg("most"),
               nb::sig("def coded_planes(X: Matrix, starts: NDArray[np.int64], book: NDArray[np.int8], model: "
                       "tuple[str, float, float, bool], shift: Vector, begin: tuple[Matrix, Vector], target: Vector, "
                       "most: int) -> tuple[Matrix, Vector, Matrix]"),
               R"doc(Planes of a book for rows sorted by class; see ``native/include/qed/svm/coded.hpp``.)doc");
}

}  // namespace qed::bindings
