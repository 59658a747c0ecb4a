#include "qed/svm/planes.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "qed/svm/class_planes.hpp"
#include "sparse_arrays.hpp"

namespace qed::bindings {
namespace {

using nb::arg;
using Arrays = std::tuple<Array, Array, Array>;

PlaneLoss plane_loss(const std::string& name) {
    if (name == "hinge") {
        return PlaneLoss::hinge;
    }
    if (name == "squared_hinge") {
        return PlaneLoss::squared_hinge;
    }
    if (name == "epsilon_insensitive") {
        return PlaneLoss::tube;
    }
    require(name == "squared_epsilon_insensitive", "no such loss: " + name);
    return PlaneLoss::squared_tube;
}

/// What is asked for on a table of `rows` rows.
PlanesIn planes_in(const std::string& loss, double width, bool has_kinks, const Array& y, const Array& c, Index rows,
                   const std::tuple<double, Index>& goal) {
    const Matrix targets = matrix(y, "y");
    require(targets.kind == Kind::float64 && targets.columns == rows && (rows <= 1 || targets.column_stride == 1) &&
                (targets.rows <= 1 || targets.row_stride == rows),
            "y must be contiguous float64, a row of targets for each plane");
    const PlaneLoss kind = plane_loss(loss);
    require(!has_kinks || kind == PlaneLoss::squared_hinge || kind == PlaneLoss::squared_tube,
            "absolute values are penalised with squared losses only");
    require(width >= 0.0 && (width == 0.0 || kind == PlaneLoss::tube || kind == PlaneLoss::squared_tube),
            "only tubes have a width");
    return {.y = static_cast<const double*>(targets.data),
            .c = vector(c, "c", rows),
            .planes = targets.rows,
            .loss = kind,
            .width = width,
            .has_kinks = has_kinks,
            .tol = std::get<0>(goal),
            .most = std::get<1>(goal)};
}

double* write(const PlaneDone& one, double* out) {
    const double own[] = {one.objective, one.gap, one.rounding, one.null, static_cast<double>(one.steps)};
    return std::copy(std::begin(own), std::end(own), out);
}

template <class Table>
nb::tuple found_on(const Table& x, Index rows, Index columns, const PlanesIn& in) {
    Fresh<double> w({in.planes, columns});
    Fresh<double> u({in.planes, rows});
    std::vector<PlaneDone> found(static_cast<std::size_t>(in.planes));
    run([&] { find_planes(x, in, w.get(), u.get(), found.data()); });
    Fresh<double> numbers({in.planes, 5});
    double* out = numbers.get();
    for (const PlaneDone& one : found) {
        out = write(one, out);
    }
    return nb::make_tuple(w.give(), u.give(), numbers.give());
}

nb::tuple found_planes(const std::string& loss, double width, bool has_kinks, const Array& X, const Array& y,
                       const Array& c, const std::tuple<double, Index>& goal) {
    const Matrix x = matrix(X, "X");
    require(x.kind == Kind::float64 && (x.columns <= 1 || x.column_stride == 1),
            "X must be float64 with contiguous rows");
    return found_on(x, x.rows, x.columns, planes_in(loss, width, has_kinks, y, c, x.rows, goal));
}

nb::tuple csr_found_planes(const std::string& loss, double width, bool has_kinks, const Arrays& X, const Shape& shape,
                           double constant, const Array& y, const Array& c, const std::tuple<double, Index>& goal) {
    const EndedRows x{sparse_rows(std::get<0>(X), std::get<1>(X), std::get<2>(X), shape), constant};
    return found_on(x, x.x.rows, x.columns(), planes_in(loss, width, has_kinks, y, c, x.x.rows, goal));
}

template <class Table>
nb::tuple found_classes(const Table& x, const Array& label, const Array& c, Index classes,
                        const std::tuple<double, Index>& goal) {
    require(classes > 1, "there must be two classes or more");
    const double* labels = vector(label, "label", x.rows);
    require(std::all_of(labels, labels + x.rows,
                        [&](double one) { return one >= 0.0 && one < static_cast<double>(classes); }),
            "labels must be numbers of classes");
    const ClassPlanesIn in{.label = labels,
                           .c = vector(c, "c", x.rows),
                           .classes = classes,
                           .tol = std::get<0>(goal),
                           .most = std::get<1>(goal)};
    Fresh<double> w({classes, x.columns});
    Fresh<double> u({x.rows, classes});
    PlaneDone found{};
    run([&] { found = find_class_planes(x, in, w.get(), u.get()); });
    Fresh<double> numbers({1, 5});
    write(found, numbers.get());
    return nb::make_tuple(w.give(), u.give(), numbers.give());
}

nb::tuple dense_classes(const Array& X, const Array& label, const Array& c, Index classes,
                        const std::tuple<double, Index>& goal) {
    const Matrix x = matrix(X, "X");
    require(x.columns <= 1 || x.column_stride == 1, "X must have contiguous rows");
    return found_classes(x, label, c, classes, goal);
}

nb::tuple csr_classes(const Arrays& X, const Shape& shape, const Array& label, const Array& c, Index classes,
                      const std::tuple<double, Index>& goal) {
    return found_classes(sparse_rows(std::get<0>(X), std::get<1>(X), std::get<2>(X), shape), label, c, classes, goal);
}

}  // namespace

void bind_planes(nb::module_& module) {
    module.def("find_planes", &found_planes, arg("loss"), arg("width"), arg("has_kinks"), arg("X"), arg("y"), arg("c"),
               arg("goal"),
               nb::sig("def find_planes(loss: str, width: float, has_kinks: bool, X: Matrix, y: Matrix, c: Vector, "
                       "goal: Goal) -> tuple[Vector, Vector, Vector]"),
               R"doc(Find support vector planes, one for each row of ``y``, on a table of few columns.

``has_kinks`` says whether absolute values are penalised in place of squares. ``c`` are weights of the losses (twice that of
a square), ``goal`` a gap relative to the objective without coefficients and
a number of steps. Returns coefficients and dual variables, a row for each plane, and objective, gap (rounding included),
rounding, objective without coefficients and steps of each.)doc");
    module.def(
        "csr_find_planes", &csr_found_planes, arg("loss"), arg("width"), arg("has_kinks"), arg("X"), arg("shape"),
        arg("constant"), arg("y"), arg("c"), arg("goal"),
        nb::sig("def csr_find_planes(loss: str, width: float, has_kinks: bool, X: tuple[Indices, Indices, "
                "NDArray[np.float32] | NDArray[np.float64]], shape: tuple[int, int], constant: float, y: Matrix, c: "
                "Vector, goal: Goal) -> tuple[Vector, Vector, Vector]"),
        R"doc(Find the same on compressed rows, with one more column all of whose entries are ``constant``; zero for none.

Gives up, with the gap that there is then, where it would take long.)doc");
    module.def("find_class_planes", &dense_classes, arg("X"), arg("label"), arg("c"), arg("classes"), arg("goal"),
               nb::sig("def find_class_planes(X: Matrix, label: Vector, c: Vector, classes: int, goal: Goal) -> "
                       "tuple[Vector, Vector, Vector]"),
               R"doc(Find the planes of several classes in one objective.

Returns coefficients, a row for each class, dual variables, a row for each row of X, and one row of the numbers that
``find_planes`` returns. Gives up, with the gap that there is then, where it would take long.)doc");
    module.def(
        "csr_find_class_planes", &csr_classes, arg("X"), arg("shape"), arg("label"), arg("c"), arg("classes"),
        arg("goal"),
        nb::sig(
            "def csr_find_class_planes(X: tuple[Indices, Indices, NDArray[np.float32] | NDArray[np.float64]], shape: "
            "tuple[int, int], label: Vector, c: Vector, classes: int, goal: Goal) -> tuple[Vector, Vector, Vector]"),
        R"doc(Find the same on compressed rows.)doc");
}

}  // namespace qed::bindings
