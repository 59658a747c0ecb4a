#include "qed/convex/groups.hpp"

#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "arrays.hpp"

namespace qed::bindings {
namespace {

using nb::arg;
using Coefficients = nb::ndarray<nb::ro, double, nb::c_contig, nb::device::cpu>;
using Members = std::optional<nb::ndarray<nb::ro, std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>>;

const double* like(const Coefficients& array, const char* name, const Groups& groups) {
    if (static_cast<Index>(array.size()) != groups.rows * groups.columns) {
        require(false, std::string(name) + " must have the shape of the coefficients");
    }
    return array.data();
}

Groups groups_of(const Coefficients& w, const Members& number, const Array& strength, double ridge) {
    require(w.ndim() == 1 || w.ndim() == 2, "coefficients must be a vector or a matrix");
    Groups out{.rows = static_cast<Index>(w.shape(0)), .columns = w.ndim() == 2 ? static_cast<Index>(w.shape(1)) : 1};
    out.count = out.rows;
    if (number) {
        require(static_cast<Index>(number->shape(0)) == out.rows, "number must name a group for each row");
        out.number = number->data();
        const auto [least, most] = std::minmax_element(out.number, out.number + out.rows);
        require(out.rows == 0 || *least >= 0, "number must not be negative");
        out.count = out.rows == 0 ? 0 : *most + 1;
    }
    const Index strengths = static_cast<Index>(strength.shape(0));
    require(strengths == 1 || strengths == out.count, "strength must be one number for all groups or one for each");
    out.strength = vector(strength, "strength", strengths);
    out.stride = strengths == 1 ? 0 : 1;
    out.ridge = ridge;
    return out;
}

double value_of(const Coefficients& w, const Members& number, const Array& strength, double ridge) {
    const Groups groups = groups_of(w, number, strength, ridge);
    double out = 0.0;
    run([&] { out = group_value(groups, w.data()); });
    return out;
}

double shrink_of(const Coefficients& z, const Coefficients& rounding_error, const Members& number,
                 const Array& strength) {
    const Groups groups = groups_of(z, number, strength, 0.0);
    const double* off = like(rounding_error, "rounding_error", groups);
    double out = 0.0;
    run([&] { out = group_shrink(groups, z.data(), off); });
    return out;
}

nb::tuple excess_of(const Coefficients& w, const Coefficients& z, const Coefficients& rounding_error,
                    const Members& number, const Array& strength, double ridge) {
    const Groups groups = groups_of(w, number, strength, ridge);
    const double* pull = like(z, "z", groups);
    const double* off = like(rounding_error, "rounding_error", groups);
    GroupExcess out{};
    run([&] { out = group_excess(groups, w.data(), pull, off); });
    return nb::make_tuple(out.value, out.rounding_error);
}

using Order = nb::ndarray<nb::ro, std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Table = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Block = nb::ndarray<nb::ro, double, nb::ndim<2>, nb::f_contig, nb::device::cpu>;

/// `groups` are starts with the end behind them, bends, strengths and a ridge.
struct Swept {
    Order starts;
    SweptGroups groups;

    Swept(const std::tuple<Order, Array, Array, double>& given, const Order& visits)
        : starts(std::get<0>(given)), groups{} {
        require(starts.shape(0) >= 1 && starts.data()[0] == 0, "starts must begin with zero");
        groups.starts = starts.data();
        groups.count = static_cast<Index>(starts.shape(0)) - 1;
        require(std::is_sorted(groups.starts, groups.starts + groups.count + 1), "starts must not fall");
        groups.bend = vector(std::get<1>(given), "bend", groups.count);
        groups.strength = vector(std::get<2>(given), "strength", groups.count);
        groups.ridge = std::get<3>(given);
        groups.visits = visits.data();
        groups.visited = static_cast<Index>(visits.shape(0));
        const bool are_groups = std::all_of(groups.visits, groups.visits + groups.visited,
                                            [this](Index g) { return g >= 0 && g < groups.count; });
        require(are_groups, "visits must name groups");
    }
    [[nodiscard]] Index size() const noexcept { return groups.starts[groups.count]; }
    [[nodiscard]] Sweeps along(const Table& points, const Table& states, Index state_size) const {
        require(points.shape(0) >= 1 && points.shape(0) == states.shape(0),
                "points and states must have equally many rows");
        require(static_cast<Index>(points.shape(1)) == size(), "points must have an entry for each coefficient");
        require(static_cast<Index>(states.shape(1)) == state_size, "states must have the length of a state");
        return {points.data(), states.data(), static_cast<Index>(points.shape(0)) - 1};
    }
};

void sweep_products_of(const Array& Q, const std::tuple<Order, Array, Array, double>& groups, const Order& visits,
                       const Table& points, const Table& states) {
    const Swept swept(groups, visits);
    const Matrix gram = matrix(Q, "Q");
    const Index size = swept.size();
    require(gram.kind == Kind::float64 && gram.rows == size && gram.columns == size &&
                (size <= 1 || (gram.column_stride == 1 && gram.row_stride == size)),
            "Q must be a float64 matrix in C order, a row and a column for each coefficient");
    const Sweeps on = swept.along(points, states, size);
    run([&] { sweep_products(static_cast<const double*>(gram.data), swept.groups, on); });
}

void sweep_columns_of(const std::vector<Block>& blocks, const std::tuple<Order, Array, Array, double>& groups,
                      const Order& visits, const Table& points, const Table& states) {
    const Swept swept(groups, visits);
    const Index rows = static_cast<Index>(states.shape(1));
    require(static_cast<Index>(blocks.size()) == swept.groups.count, "blocks must be one for each group");
    std::vector<const double*> columns;
    for (Index g = 0; g < swept.groups.count; ++g) {
        const Block& block = blocks[static_cast<std::size_t>(g)];
        require(static_cast<Index>(block.shape(0)) == rows &&
                    static_cast<Index>(block.shape(1)) == swept.groups.starts[g + 1] - swept.groups.starts[g],
                "blocks must have a row for each entry of a state, and the columns of their group");
        columns.push_back(block.data());
    }
    const Sweeps on = swept.along(points, states, rows);
    run([&] { sweep_columns(columns.data(), rows, swept.groups, on); });
}

}  // namespace

void bind_groups(nb::module_& module) {
    module.def("group_value", &value_of, arg("w"), arg("number").none(), arg("strength"), arg("ridge"),
               nb::sig("def group_value(w: Matrix, number: Indices | None, strength: Vector, ridge: float) -> float"),
               R"doc(Σ strength |w_g| + ridge / 2 |w|² over groups g of rows of w, (p,) or (p, k).

``number`` is int64, the group of each row, or None: every row is one. ``strength`` is one for all, or one each.)doc");
    module.def(
        "group_shrink", &shrink_of, arg("z"), arg("rounding_error"), arg("number").none(), arg("strength"),
        nb::sig(
            "def group_shrink(z: Matrix, rounding_error: Matrix, number: Indices | None, strength: Vector) -> float"),
        R"doc(Find the largest factor <= 1 by which every group of z, longer by that of rounding_error, is within its strength.)doc");
    module.def(
        "sweep_products", &sweep_products_of, arg("Q"), arg("groups"), arg("visits"), arg("points"), arg("states"),
        nb::sig("def sweep_products(Q: Vector, groups: SweptGroups, visits: NDArray[np.int64], points: Matrix, states: "
                "Matrix) -> None"),
        R"doc(Make sweeps of proximal steps along the groups of ½ wᵀQw − qᵀw plus Σ strength |w_g| + ridge / 2 |w|².

``points`` and ``states``, the gradients Qw − q, have a row for each sweep after the first, which is given; the others are
written to.)doc");
    module.def(
        "sweep_columns", &sweep_columns_of, arg("blocks"), arg("groups"), arg("visits"), arg("points"), arg("states"),
        nb::sig("def sweep_columns(blocks: list[Vector], groups: SweptGroups, visits: NDArray[np.int64], points: "
                "Matrix, states: Matrix) -> None"),
        R"doc(Do the same for ½ |Aw − y|² with the columns of each group in Fortran order; states are residuals Aw − y.)doc");
    module.def(
        "group_excess", &excess_of, arg("w"), arg("z"), arg("rounding_error"), arg("number").none(), arg("strength"),
        arg("ridge"),
        nb::sig("def group_excess(w: Matrix, z: Matrix, rounding_error: Matrix, number: Indices | None, strength: "
                "Vector, ridge: float) -> tuple[float, float]"),
        R"doc(Tell what separates w and z from equality in the inequality of Fenchel and Young, and what its rounding may add.)doc");
}

}  // namespace qed::bindings
