#include "qed/groups.hpp"

#include <algorithm>
#include <cstdint>

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

double shrink_of(const Coefficients& z, const Coefficients& doubt, const Members& number, const Array& strength) {
    const Groups groups = groups_of(z, number, strength, 0.0);
    const double* off = like(doubt, "doubt", groups);
    double out = 0.0;
    run([&] { out = group_shrink(groups, z.data(), off); });
    return out;
}

nb::tuple excess_of(const Coefficients& w, const Coefficients& z, const Coefficients& doubt, const Members& number,
                    const Array& strength, double ridge) {
    const Groups groups = groups_of(w, number, strength, ridge);
    const double* pull = like(z, "z", groups);
    const double* off = like(doubt, "doubt", groups);
    GroupExcess out{};
    run([&] { out = group_excess(groups, w.data(), pull, off); });
    return nb::make_tuple(out.value, out.doubt);
}

}  // namespace

void bind_groups(nb::module_& module) {
    module.def("group_value", &value_of, arg("w"), arg("number").none(), arg("strength"), arg("ridge"));
    module.def("group_shrink", &shrink_of, arg("z"), arg("doubt"), arg("number").none(), arg("strength"));
    module.def("group_excess", &excess_of, arg("w"), arg("z"), arg("doubt"), arg("number").none(), arg("strength"),
               arg("ridge"));
}

}  // namespace qed::bindings
