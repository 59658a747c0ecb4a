#include "qed/planes.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <string>
#include <vector>

#include "arrays.hpp"

namespace qed::bindings {
namespace {

using nb::arg;

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

nb::tuple found_planes(const std::string& loss, double width, bool is_sparse, const Array& X, const Array& y, const Array& c,
                       const std::tuple<double, Index>& goal) {
    const Matrix x = matrix(X, "X");
    require(x.kind == Kind::float64 && (x.columns <= 1 || x.column_stride == 1), "X must be float64 with contiguous rows");
    const Matrix targets = matrix(y, "y");
    require(targets.kind == Kind::float64 && targets.columns == x.rows && (x.rows <= 1 || targets.column_stride == 1) &&
                (targets.rows <= 1 || targets.row_stride == x.rows),
            "y must be contiguous float64, a row of targets for each plane");
    const PlaneLoss kind = plane_loss(loss);
    require(!is_sparse || kind == PlaneLoss::squared_hinge || kind == PlaneLoss::squared_tube,
            "absolute values are penalised with squared losses only");
    require(width >= 0.0 && (width == 0.0 || kind == PlaneLoss::tube || kind == PlaneLoss::squared_tube),
            "only tubes have a width");
    const PlanesIn in{.x = x,
                      .y = static_cast<const double*>(targets.data),
                      .c = vector(c, "c", x.rows),
                      .planes = targets.rows,
                      .loss = kind,
                      .width = width,
                      .is_sparse = is_sparse,
                      .tol = std::get<0>(goal),
                      .most = std::get<1>(goal)};
    Fresh<double> w({in.planes, x.columns});
    Fresh<double> u({in.planes, x.rows});
    std::vector<PlaneDone> found(static_cast<std::size_t>(in.planes));
    run([&] { find_planes(in, w.get(), u.get(), found.data()); });
    Fresh<double> numbers({in.planes, 5});
    double* out = numbers.get();
    for (const PlaneDone& one : found) {
        const double own[] = {one.objective, one.gap, one.rounding, one.null, static_cast<double>(one.steps)};
        out = std::copy(std::begin(own), std::end(own), out);
    }
    return nb::make_tuple(w.give(), u.give(), numbers.give());
}

}  // namespace

void bind_planes(nb::module_& module) {
    module.def("find_planes", &found_planes, arg("loss"), arg("width"), arg("is_sparse"), arg("X"), arg("y"), arg("c"),
               arg("goal"));
}

}  // namespace qed::bindings
