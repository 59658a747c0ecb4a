#include "qed/tables/mixture.hpp"

#include <nanobind/stl/string.h>

#include "arrays.hpp"

namespace qed::bindings {
namespace {

using nb::arg;
using MaybeNumbers = std::optional<nb::ndarray<nb::device::cpu, nb::c_contig>>;

Responsibilities kind_of(const std::string& name) {
    require(name == "soft" || name == "hard" || name == "given", "responsibilities are soft, hard or given");
    return name == "soft" ? Responsibilities::soft : name == "hard" ? Responsibilities::hard : Responsibilities::given;
}

double* written(const MaybeNumbers& array, const char* name, Index length) {
    if (!array) {
        return nullptr;
    }
    require(array->dtype() == nb::dtype<double>() && static_cast<Index>(array->size()) == length,
            std::string(name) + " must be contiguous float64 of the size of the table");
    return static_cast<double*>(array->data());
}

using Sums = std::tuple<double, Doubles, Doubles, Doubles>;

std::optional<Sums> pass(const Array& X, const Array& shift, const MaybeArray& s,
                         const std::tuple<Array, Array, Array>& components, bool is_diagonal, bool is_shared,
                         const std::string& responsibilities, const MaybeNumbers& density, const MaybeNumbers& shares,
                         bool adds) {
    const Matrix x = matrix(X, "X");
    const auto& [means, whiten, levels] = components;
    const auto k = static_cast<Index>(levels.ndim() == 1 ? levels.shape(0) : 0);
    require(k > 0, "there must be a component");
    const auto doubles = [](const Array& array, Index size, const char* name) {
        require(array.dtype() == nb::dtype<double>() && static_cast<Index>(array.size()) == size,
                std::string(name) + " must be float64 of the size of the components");
        Index step = 1;
        for (std::size_t d = array.ndim(); d-- > 0;) {
            require(array.shape(d) <= 1 || array.stride(d) == step, std::string(name) + " must be contiguous");
            step *= static_cast<Index>(array.shape(d));
        }
        return static_cast<const double*>(array.data());
    };
    const Index of_one = is_diagonal ? x.columns : x.columns * x.columns;
    const GaussianComponents parts{k,
                                   doubles(means, k * x.columns, "means"),
                                   doubles(whiten, (is_shared ? 1 : k) * of_one, "whiten"),
                                   is_shared ? 0 : of_one,
                                   doubles(levels, k, "levels"),
                                   is_diagonal};
    const MixtureRows rows{x, vector(shift, "shift", x.columns), vector(s, "s", x.rows)};
    const Responsibilities kind = kind_of(responsibilities);
    double* const to = written(density, "density", x.rows);
    double* const of_rows = written(shares, "shares", x.rows * k);
    require(kind != Responsibilities::given || (of_rows != nullptr && adds), "given responsibilities must be there");
    if (!adds) {
        run([&] { mixture_pass(rows, parts, kind, to, of_rows, nullptr); });
        return std::nullopt;
    }
    Fresh<double> weights({k});
    Fresh<double> firsts({k, x.columns});
    Fresh<double> squares({k, of_one});
    MixtureSums sums{0.0, weights.get(), firsts.get(), squares.get()};
    run([&] { mixture_pass(rows, parts, kind, to, of_rows, &sums); });
    return Sums{sums.likelihood, weights.give(), firsts.give(), squares.give()};
}

}  // namespace

void bind_mixture(nb::module_& module) {
    module.def(
        "mixture_pass", &pass, arg("X"), arg("shift"), arg("s").none(), arg("components"), arg("is_diagonal"),
        arg("is_shared"), arg("responsibilities"), arg("density").none().noconvert(), arg("shares").none().noconvert(),
        arg("adds"),
        nb::sig("def mixture_pass(X: Matrix, shift: Vector, s: Vector | None, components: tuple[Vector, Vector, "
                "Vector], is_diagonal: bool, is_shared: bool, responsibilities: str, density: Vector | None, shares: "
                "Vector | None, adds: bool) -> tuple[float, Vector, Vector, Vector] | None"),
        R"doc(Find log-densities and responsibilities of rows under a mixture of Gaussians, and sum moments by them.

``components`` are means less the shift, whitening factors (inverse standard deviations, or lower triangular matrices, one for
each component or one for all) and levels. Where they are arrays, ``density`` and ``shares`` are written; responsibilities that
are "given" are read from ``shares``. Returns likelihood, weights, sums of differences from the means, and of their products.)doc");
}

}  // namespace qed::bindings
