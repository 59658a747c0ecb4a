#include "arrays.hpp"
#include "qed/factors/codes.hpp"

namespace qed::bindings {
namespace {

using nb::arg;
using Changed2 = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Fixed2 = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

CodeProblem problem_of(const Fixed2& gram, const Fixed2& right, const Changed2& w, double lasso, double ridge,
                       bool positive) {
    const std::size_t k = gram.shape(0);
    require(gram.shape(1) == k, "G must be square");
    require(right.shape(1) == k && w.shape(1) == k && w.shape(0) == right.shape(0),
            "P and W must have a row for each row, as long as G");
    return {.gram = gram.data(),
            .right = right.data(),
            .rows = static_cast<Index>(w.shape(0)),
            .width = static_cast<Index>(k),
            .lasso = lasso,
            .ridge = ridge,
            .positive = positive};
}

Index code(const Fixed2& gram, const Fixed2& right, Changed2& w, const Array& enough, double lasso, double ridge,
           bool positive, Index sweeps) {
    const CodeProblem problem = problem_of(gram, right, w, lasso, ridge, positive);
    const double* small = vector(enough, "enough", problem.rows);
    Index left = 0;
    run([&] { left = code_rows(problem, small, sweeps, w.data()); });
    return left;
}

Doubles pursue(const Fixed2& gram, const Fixed2& right, const Array& squares, Index most, double tolerance) {
    const Index k = static_cast<Index>(gram.shape(0));
    const Index n = static_cast<Index>(right.shape(0));
    require(gram.shape(1) == gram.shape(0) && right.shape(1) == gram.shape(0), "G must be square, with rows like those of P");
    require(most >= 0 && most <= k, "most must be a number of entries");
    const double* sizes = vector(squares, "squares", n);
    Fresh<double> out({n, k});
    const CodeProblem problem{.gram = gram.data(),
                              .right = right.data(),
                              .rows = n,
                              .width = k,
                              .lasso = 0.0,
                              .ridge = 0.0,
                              .positive = false};
    run([&] { pursue_rows(problem, sizes, most, tolerance, out.get()); });
    return out.give();
}

}  // namespace

void bind_factors(nb::module_& module) {
    module.def("code_rows", &code, arg("G"), arg("P"), arg("W"), arg("enough"), arg("lasso"), arg("ridge"), arg("positive"),
               arg("sweeps"));
    module.def("pursue_rows", &pursue, arg("G"), arg("P"), arg("squares"), arg("most"), arg("tolerance"));
}

}  // namespace qed::bindings
