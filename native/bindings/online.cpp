#include "qed/online/online.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "arrays.hpp"
#include "qed/online/proof.hpp"
#include "sparse_arrays.hpp"

namespace qed::bindings {
namespace {

using nb::arg;
using Changed = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using MaybeChanged = std::optional<Changed>;
using Order = nb::ndarray<std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Log = nb::ndarray<std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Slopes = nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

double* changed(const MaybeChanged& array, const char* name, Index length) {
    if (!array) {
        return nullptr;
    }
    require(array->shape(0) == static_cast<std::size_t>(length), std::string(name) + " has the wrong length");
    return array->data();
}

/// `rule` holds loss, width, steps, eta, power, alpha, offset, ridge, lasso, intercept, competes, margin, batch.
OnlineRule rule_of(const nb::tuple& rule) {
    const auto number = [&](int k) { return nb::cast<double>(rule[k]); };
    const auto loss = nb::cast<int>(rule[0]);
    const auto steps = nb::cast<int>(rule[2]);
    require(loss >= 0 && loss <= static_cast<int>(OnlineLoss::squared_insensitive), "no such loss");
    require(steps >= 0 && steps <= static_cast<int>(StepRule::softened), "no such rule for steps");
    const OnlineRule out{.loss = static_cast<OnlineLoss>(loss),
                         .width = number(1),
                         .steps = static_cast<StepRule>(steps),
                         .eta = number(3),
                         .power = number(4),
                         .alpha = number(5),
                         .offset = number(6),
                         .ridge = number(7),
                         .lasso = number(8),
                         .intercept = nb::cast<bool>(rule[9]),
                         .competes = nb::cast<bool>(rule[10]),
                         .margin = number(11),
                         .batch = nb::cast<Index>(rule[12])};
    require(out.batch >= 1 && out.batch < (Index{1} << 32), "a batch must have at least one row and fewer than 2^32");
    return out;
}

/// `arrays` holds w, b, scale, lag, b_sum, mass, paid, order, log and slopes; `numbers` holds owed, steps, averaged,
/// average_from, logged, passes and recorded; `stop` holds most, by_loss, least, patience, when_clean, together, best
/// and idle. Arrays and numbers are written to.
template <class Rows>
nb::tuple learn(const Rows& x, Index problems, const Array& y, const MaybeArray& weight, const MaybeArray& favour,
                const nb::tuple& rule, const nb::tuple& arrays, Changed& numbers, std::pair<bool, bool> visits,
                std::uint64_t seed, const nb::tuple& stop, bool sums_losses) {
    require(problems >= 1 && x.rows < (Index{1} << 32), "rows and problems must be countable");
    require(numbers.shape(0) == 7, "numbers must have seven entries");
    const Index size = problems * x.columns;
    const auto array = [&](int k) { return nb::cast<MaybeChanged>(arrays[k]); };
    const OnlineTargets targets{problems, vector(y, "y", x.rows), vector(weight, "weight", x.rows),
                                vector(favour, "favour", 2 * problems)};
    for (Index i = 0; i < x.rows && problems > 1; ++i) {
        require(targets.y[i] >= 0 && targets.y[i] < static_cast<double>(problems), "y must hold numbers of problems");
    }
    Order order = nb::cast<Order>(arrays[7]);
    require(order.shape(0) == static_cast<std::size_t>(x.rows), "order must have one entry for each row");
    std::uint32_t* places = order.data();
    require(std::all_of(places, places + x.rows, [&](std::uint32_t row) { return row < x.rows; }),
            "order must hold numbers of rows");
    const auto log = nb::cast<std::optional<Log>>(arrays[8]);
    OnlineStop when{.most = nb::cast<Index>(stop[0]),
                    .by_loss = nb::cast<bool>(stop[1]),
                    .least = nb::cast<double>(stop[2]),
                    .patience = nb::cast<Index>(stop[3]),
                    .when_clean = nb::cast<bool>(stop[4]),
                    .together = nb::cast<bool>(stop[5]),
                    .best = changed(nb::cast<MaybeChanged>(stop[6]), "best", problems),
                    .idle = nullptr};
    const auto idle = nb::cast<Log>(stop[7]);
    require(when.best != nullptr && idle.shape(0) == static_cast<std::size_t>(problems), "best and idle must be given");
    when.idle = idle.data();
    const auto slopes = nb::cast<std::optional<Slopes>>(arrays[9]);
    require(!slopes || (slopes->shape(0) == static_cast<std::size_t>(problems) &&
                        slopes->shape(1) == static_cast<std::size_t>(x.rows)),
            "slopes must have one row for each problem");
    require(!log || log->shape(0) >= static_cast<std::size_t>(x.rows * when.most), "log must have room for every row");
    double* kept = numbers.data();
    OnlineState state{.w = changed(array(0), "w", size),
                      .b = changed(array(1), "b", problems),
                      .scale = changed(array(2), "scale", problems),
                      .lag = changed(array(3), "lag", size),
                      .b_sum = changed(array(4), "b_sum", problems),
                      .mass = changed(array(5), "mass", problems),
                      .paid = changed(array(6), "paid", size),
                      .owed = kept[0],
                      .steps = kept[1],
                      .averaged = kept[2],
                      .average_from = kept[3],
                      .order = places,
                      .shuffles = visits.first,
                      .replaces = visits.second,
                      .seed = seed,
                      .log = log ? log->data() : nullptr,
                      .logged = 0,
                      .slopes = slopes ? slopes->data() : nullptr,
                      .passes = static_cast<Index>(kept[5]),
                      .recorded = static_cast<Index>(kept[6])};
    require(state.w != nullptr && state.b != nullptr && state.scale != nullptr && state.b_sum != nullptr &&
                state.mass != nullptr,
            "w, b, scale, b_sum and mass must be given");
    std::vector<OnlinePass> found(static_cast<std::size_t>(std::max<Index>(when.most, 1)));
    Index done = 0;
    const OnlineRule steps = rule_of(rule);
    run([&] { done = online_passes(x, targets, steps, state, when, sums_losses, found.data()); });
    const double after[] = {state.owed,
                            state.steps,
                            state.averaged,
                            state.average_from,
                            static_cast<double>(state.logged),
                            static_cast<double>(state.passes),
                            static_cast<double>(state.recorded)};
    std::copy(std::begin(after), std::end(after), kept);
    nb::list losses;
    nb::list mistakes;
    for (Index k = 0; k < done; ++k) {
        losses.append(found[static_cast<std::size_t>(k)].loss);
        mistakes.append(found[static_cast<std::size_t>(k)].mistakes);
    }
    return nb::make_tuple(losses, mistakes, state.seed);
}

template <class Rows>
nb::tuple margins_of(const Rows& x, Index problems, const Array& y, const Array& w, const Array& b) {
    require(problems >= 1, "there must be a problem");
    const OnlineTargets targets{problems, vector(y, "y", x.rows), nullptr, nullptr};
    const double* coefficients = vector(w, "w", problems * x.columns);
    const double* intercepts = vector(b, "b", problems);
    Fresh<double> least({problems});
    double longest = 0.0;
    run([&] { online_margins(x, targets, coefficients, intercepts, least.get(), &longest); });
    return nb::make_tuple(least.give(), longest);
}

/// `model` holds loss, width, ridge, lasso, intercept and effort.
nb::tuple proofs_of(const Array& X, Index problems, const Array& y, const MaybeArray& weight, const MaybeArray& favour,
                    const std::tuple<int, double, double, double, bool, double>& model, const MaybeArray& shift,
                    const Array& spans, const Array& w, const Array& b) {
    const Matrix x = matrix(X, "X");
    require(x.kind == Kind::float64 && (x.columns <= 1 || x.column_stride == 1),
            "X must be float64 with contiguous rows");
    require(problems >= 1 && x.rows >= 1, "there must be a problem, with rows");
    const auto [loss, width, ridge, lasso, intercept, effort] = model;
    require(loss >= 0 && loss <= static_cast<int>(OnlineLoss::squared_insensitive), "no such loss");
    const OnlineProofIn in{.x = x,
                           .targets = {problems, vector(y, "y", x.rows), vector(weight, "weight", x.rows),
                                       vector(favour, "favour", 2 * problems)},
                           .loss = static_cast<OnlineLoss>(loss),
                           .width = width,
                           .ridge = ridge,
                           .lasso = lasso,
                           .intercept = intercept,
                           .shift = vector(shift, "shift", x.columns),
                           .spans = vector(spans, "spans", x.columns),
                           .effort = effort};
    const double* coefficients = vector(w, "w", problems * x.columns);
    const double* intercepts = vector(b, "b", problems);
    Fresh<double> u({problems, x.rows});
    std::vector<OnlineProof> found(static_cast<std::size_t>(problems));
    run([&] { prove_online(in, coefficients, intercepts, u.get(), found.data()); });
    nb::list numbers;
    for (const OnlineProof& one : found) {
        numbers.append(nb::make_tuple(one.objective, one.gap, one.rounding, one.null, one.radius, one.is_tight));
    }
    return nb::make_tuple(u.give(), numbers);
}

}  // namespace

void bind_online(nb::module_& module) {
    module.def(
        "online_proofs", &proofs_of, arg("X"), arg("problems"), arg("y"), arg("weight").none(), arg("favour").none(),
        arg("model"), arg("shift").none(), arg("spans"), arg("w"), arg("b"),
        nb::sig("def online_proofs(X: Matrix, problems: int, y: Vector, weight: Vector | None, favour: Vector | None, "
                "model: tuple[int, float, float, float, bool, float], shift: Vector | None, spans: Vector, w: Vector, "
                "b: Vector) -> tuple[Matrix, list[tuple[float, float, float, float, float, bool]]]"),
        R"doc(Return dual points, (problems, n), and how far planes are from the best ones; see ``native/include/qed/online/proof.hpp``.

``X`` is float64 with contiguous rows; ``model`` holds loss, width, ridge, lasso, intercept and effort. Each plane has
objective, gap, rounding, null objective, radius, and whether the proof is as good as any.)doc");
    module.def(
        "online_margins",
        [](const Array& X, Index problems, const Array& y, const Array& w, const Array& b) {
            const Matrix x = matrix(X, "X");
            require(x.column_stride == 1 || x.columns <= 1, "X must have contiguous rows");
            return margins_of(x, problems, y, w, b);
        },
        arg("X"), arg("problems"), arg("y"), arg("w"), arg("b"),
        nb::sig(
            "def online_margins(X: Matrix, problems: int, y: Vector, w: Vector, b: Vector) -> tuple[Vector, float]"),
        R"doc(Return for each problem the least ``y (x w + b)``, and the largest squared length of a row.)doc");
    module.def(
        "csr_online_margins",
        [](const nb::tuple& X, const Shape& shape, Index problems, const Array& y, const Array& w, const Array& b) {
            return margins_of(sparse_rows(nb::cast<Array>(X[0]), nb::cast<Array>(X[1]), nb::cast<Array>(X[2]), shape),
                              problems, y, w, b);
        },
        arg("X"), arg("shape"), arg("problems"), arg("y"), arg("w"), arg("b"),
        nb::sig("def csr_online_margins(X: tuple[Indices, Indices, NDArray[np.float32] | NDArray[np.float64]], shape: "
                "tuple[int, int], problems: int, y: Vector, w: Vector, b: Vector) -> tuple[Vector, float]"),
        R"doc(``online_margins`` for compressed rows (indptr, indices, data).)doc");
    module.def(
        "online_passes",
        [](const Array& X, Index problems, const Array& y, const MaybeArray& weight, const MaybeArray& favour,
           const nb::tuple& rule, const nb::tuple& arrays, Changed numbers, std::pair<bool, bool> visits,
           std::uint64_t seed, const nb::tuple& stop, bool sums_losses) {
            const Matrix x = matrix(X, "X");
            require(x.column_stride == 1 || x.columns <= 1, "X must have contiguous rows");
            return learn(x, problems, y, weight, favour, rule, arrays, numbers, visits, seed, stop, sums_losses);
        },
        arg("X"), arg("problems"), arg("y"), arg("weight").none(), arg("favour").none(), arg("rule"), arg("arrays"),
        arg("numbers"), arg("visits"), arg("seed"), arg("stop"), arg("sums_losses"),
        nb::sig("def online_passes(X: Matrix, problems: int, y: Vector, weight: Vector | None, favour: Vector | None, "
                "rule: tuple[int, float, int, float, float, float, float, float, float, bool, bool, float, int], "
                "arrays: tuple[Vector, Vector, Vector, Vector | None, Vector, Vector, Vector | None, "
                "NDArray[np.uint32], NDArray[np.int64] | None, NDArray[np.float32] | None], numbers: Vector, visits: "
                "tuple[bool, bool], seed: int, stop: tuple[int, bool, float, int, bool, bool, Vector, "
                "NDArray[np.int64]], sums_losses: bool) -> tuple[list[float], list[int], int]"),
        R"doc(Learn one row at a time; see ``native/include/qed/online/online.hpp`` for rules and state.

``X`` has contiguous rows. ``rule`` holds loss, width, steps, eta, power, alpha, offset, ridge, lasso, intercept, competes,
margin and batch; ``arrays`` holds w, b, scale, lag, b_sum, mass, paid, order and log, flat, and slopes, changed in place, as is
``numbers`` (owed, steps, averaged, average_from, logged, passes, recorded); ``stop`` holds most, by_loss, least,
patience, when_clean, together, best and idle, the last two changed in place. Returns losses and mistakes of each pass and
the next seed. One thread for one problem.)doc");
    module.def(
        "csr_online_passes",
        [](const nb::tuple& X, const Shape& shape, Index problems, const Array& y, const MaybeArray& weight,
           const MaybeArray& favour, const nb::tuple& rule, const nb::tuple& arrays, Changed numbers,
           std::pair<bool, bool> visits, std::uint64_t seed, const nb::tuple& stop, bool sums_losses) {
            const SparseRows x =
                sparse_rows(nb::cast<Array>(X[0]), nb::cast<Array>(X[1]), nb::cast<Array>(X[2]), shape);
            return learn(x, problems, y, weight, favour, rule, arrays, numbers, visits, seed, stop, sums_losses);
        },
        arg("X"), arg("shape"), arg("problems"), arg("y"), arg("weight").none(), arg("favour").none(), arg("rule"),
        arg("arrays"), arg("numbers"), arg("visits"), arg("seed"), arg("stop"), arg("sums_losses"),
        nb::sig("def csr_online_passes(X: tuple[Indices, Indices, NDArray[np.float32] | NDArray[np.float64]], shape: "
                "tuple[int, int], problems: int, y: Vector, weight: Vector | None, favour: Vector | None, rule: "
                "tuple[int, float, int, float, float, float, float, float, float, bool, bool, float, int], arrays: "
                "tuple[Vector, Vector, Vector, Vector | None, Vector, Vector, Vector | None, NDArray[np.uint32], "
                "NDArray[np.int64] | None, NDArray[np.float32] | None], numbers: Vector, visits: tuple[bool, bool], "
                "seed: int, stop: tuple[int, bool, float, int, bool, bool, Vector, NDArray[np.int64]], sums_losses: "
                "bool) -> tuple[list[float], list[int], int]"),
        R"doc(``online_passes`` for compressed rows (indptr, indices, data).)doc");
}

}  // namespace qed::bindings
