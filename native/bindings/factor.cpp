#include "arrays.hpp"
#include "qed/triangular.hpp"

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

}  // namespace

void bind_factor(nb::module_& module) {
    module.def("cholesky", &cholesky_of, arg("A"));
    module.def("solve_lower", &solution_of<solve_lower>, arg("L"), arg("B"));
    module.def("solve_lower_t", &solution_of<solve_lower_transposed>, arg("L"), arg("B"));
}

}  // namespace qed::bindings
