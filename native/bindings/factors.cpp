#include <nanobind/stl/string.h>

#include <algorithm>

#include "arrays.hpp"
#include "qed/factors/codes.hpp"
#include "qed/factors/contrast.hpp"
#include "qed/factors/topics.hpp"

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

std::tuple<Index, double, double> code(const Fixed2& gram, const Fixed2& right, Changed2& w, const Array& enough,
                                       double lasso, double ridge, bool positive, Index sweeps) {
    const CodeProblem problem = problem_of(gram, right, w, lasso, ridge, positive);
    const double* small = vector(enough, "enough", problem.rows);
    CodeTally found{};
    run([&] { found = code_rows(problem, small, sweeps, w.data()); });
    return {found.unfinished, found.value, found.gain};
}

std::tuple<double, double> sweep(const Fixed2& gram, const Fixed2& right, Changed2& w, double lasso, double ridge,
                                 Index sweeps) {
    const CodeProblem problem = problem_of(gram, right, w, lasso, ridge, true);
    CodeTally found{};
    run([&] { found = sweep_rows(problem, sweeps, w.data()); });
    return {found.value, found.gain};
}

Doubles pursue(const Fixed2& gram, const Fixed2& right, const Array& squares, Index most, double tolerance) {
    const Index k = static_cast<Index>(gram.shape(0));
    const Index n = static_cast<Index>(right.shape(0));
    require(gram.shape(1) == gram.shape(0) && right.shape(1) == gram.shape(0),
            "G must be square, with rows like those of P");
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

std::tuple<Doubles, Doubles, Doubles> contrast(const Fixed2& z, const Fixed2& w, const std::string& name, double a) {
    require(w.shape(1) == z.shape(1) && w.shape(0) > 0 && w.shape(1) > 0, "W must have rows as long as those of Z");
    require(name == "logcosh" || name == "exp" || name == "cube", "contrasts are logcosh, exp and cube");
    const Contrast kind = name == "logcosh" ? Contrast::log_cosh : name == "exp" ? Contrast::bell : Contrast::quartic;
    const auto n = static_cast<Index>(z.shape(0));
    const auto k = static_cast<Index>(z.shape(1));
    const auto m = static_cast<Index>(w.shape(0));
    Fresh<double> slopes({m, k});
    Fresh<double> curvatures({m});
    Fresh<double> values({m});
    run([&] { contrast_pass(z.data(), n, k, w.data(), m, kind, a, slopes.get(), curvatures.get(), values.get()); });
    return {slopes.give(), curvatures.give(), values.give()};
}

using Indices = nb::ndarray<const Index, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

Doubles exp_digamma_of(const Fixed2& x) {
    const auto n = static_cast<Index>(x.shape(0));
    const auto k = static_cast<Index>(x.shape(1));
    Fresh<double> out({n, k});
    std::copy_n(x.data(), n * k, out.get());
    run([&] { exp_digamma(out.get(), n * k); });
    return out.give();
}

std::tuple<Doubles, Doubles, Doubles> topics(const Indices& starts, const Indices& words, const Array& counts,
                                             const Fixed2& beta, Changed2& gamma, double prior, double tol,
                                             Index sweeps) {
    const auto n = static_cast<Index>(gamma.shape(0));
    const auto k = static_cast<Index>(gamma.shape(1));
    const auto columns = static_cast<Index>(beta.shape(0));
    require(static_cast<Index>(starts.shape(0)) == n + 1, "starts must have one entry more than gamma has rows");
    require(k > 0 && static_cast<Index>(beta.shape(1)) == k, "topics and gamma must be of the same width");
    const auto entries = static_cast<Index>(words.shape(0));
    const double* known = vector(counts, "counts", entries);
    require(
        starts.data()[0] == 0 && starts.data()[n] == entries && std::is_sorted(starts.data(), starts.data() + n + 1),
        "starts must begin at zero, not fall, and end at the last entry");
    require(std::all_of(words.data(), words.data() + entries, [&](Index w) { return w >= 0 && w < columns; }),
            "a word is beyond the topics");
    const WordCounts x{.starts = starts.data(), .words = words.data(), .counts = known, .rows = n, .columns = columns};
    Fresh<double> theta({n, k});
    Fresh<double> ratios({entries});
    Fresh<double> likelihood({n});
    run([&] {
        topics_of_rows(x, beta.data(), k, prior, tol, sweeps, gamma.data(), theta.get(), ratios.get(),
                       likelihood.get());
    });
    return {theta.give(), ratios.give(), likelihood.give()};
}

}  // namespace

void bind_factors(nb::module_& module) {
    module.def(
        "code_rows", &code, arg("G"), arg("P"), arg("W"), arg("enough"), arg("lasso"), arg("ridge"), arg("positive"),
        arg("sweeps"),
        nb::sig("def code_rows(G: Vector, P: Vector, W: Vector, enough: Vector, lasso: float, ridge: float, positive: "
                "bool, sweeps: int) -> tuple[int, float, float]"),
        R"doc(Minimise w'(G + ridge)w / 2 − p'w + lasso |w| for each row p of P (n, k), over w >= 0 if ``positive``, by coordinates.

Rows of W (n, k), where each begins, are written over. A row ends when a sweep lowers its objective by at most ``enough`` (n,)
of it, or after ``sweeps``. Returns how many rows ended so, the objective, and what entries of W could gain at the start, each
alone, summed over rows. All three tables are in C order.)doc");
    module.def(
        "sweep_rows", &sweep, arg("G"), arg("P"), arg("W"), arg("lasso"), arg("ridge"), arg("sweeps"),
        nb::sig("def sweep_rows(G: Vector, P: Vector, W: Vector, lasso: float, ridge: float, sweeps: int) -> "
                "tuple[float, float]"),
        R"doc(Lower w'(G + ridge)w / 2 − p'w + lasso sum(w) for each row p of P (n, k), over w >= 0, by so many sweeps.

Rows of W (n, k), where each begins, are written over. Returns the objective, and what entries of W could gain at the start,
each alone, summed over rows. All three tables are in C order.)doc");
    module.def("pursue_rows", &pursue, arg("G"), arg("P"), arg("squares"), arg("most"), arg("tolerance"),
               nb::sig("def pursue_rows(G: Vector, P: Vector, squares: Vector, most: int, tolerance: float) -> Vector"),
               R"doc(Codes (n, k) of rows by orthogonal matching pursuit from products G (k, k) and P (n, k).

Ends with ``most`` entries, or when the squared rest, which is ``squares`` (n,) without entries, is at most ``tolerance``.)doc");
    module.def("exp_digamma", &exp_digamma_of, arg("x"), nb::sig("def exp_digamma(x: Matrix) -> Vector"),
               R"doc(exp(digamma(x)) of positive numbers, to a few units in the last place.)doc");
    module.def(
        "topics_of_rows", &topics, arg("starts"), arg("words"), arg("counts"), arg("topics"), arg("gamma"),
        arg("prior"), arg("tol"), arg("sweeps"),
        nb::sig("def topics_of_rows(starts: Vector, words: Vector, counts: Vector, topics: Matrix, gamma: Matrix, "
                "prior: float, tol: float, sweeps: int) -> tuple[Vector, Vector, Vector]"),
        R"doc(Variational parameters gamma (n, k) of documents, in place, for topics (words, k): at most so many updates of each.

Documents are compressed rows, starts (n + 1,), words and counts, with indices of 64 bits. Returns theta = exp(digamma(gamma) -
digamma(sum gamma)) (n, k) and the ratios of counts to theta' topics[w] at the end, and the sums of counts times the logarithms
of theta' topics[w] at the start (n,).)doc");
    module.def(
        "contrast_pass", &contrast, arg("Z"), arg("W"), arg("contrast"), arg("a"),
        nb::sig("def contrast_pass(Z: Vector, W: Vector, contrast: str, a: float) -> tuple[Vector, Vector, Vector]"),
        R"doc(Return sums over rows z of Z (n, k), with sources y = W z: of g(y_i) z_j (m, k), of g'(y_i) (m,), of G(y_i) (m,).

``contrast`` is "logcosh" (with its factor ``a``), "exp" or "cube".)doc");
}

}  // namespace qed::bindings
