#include "qed/tables/rank.hpp"

#include "arrays.hpp"

namespace qed::bindings {
namespace {

using nb::arg;

template <class T>
nb::object ranked_as(const Matrix& scores, const std::uint8_t* positive, const double* weights) {
    Fresh<T> distinct({scores.rows});
    Fresh<double> positives({scores.rows});
    Fresh<double> negatives({scores.rows});
    Index count = 0;
    run([&] { count = rank_scores(scores, positive, weights, {distinct.get(), positives.get(), negatives.get()}); });
    if (count < 0) {
        return nb::none();
    }
    return nb::make_tuple(count, distinct.template give<Numbers>(), positives.give(), negatives.give());
}

nb::object ranked(const Array& scores, const Array& positive, const MaybeArray& s) {
    const Matrix x = matrix(scores, "scores");
    require(x.columns == 1, "scores must be one column");
    if (positive.dtype() != nb::dtype<std::uint8_t>()) {
        throw nb::type_error("positive must be uint8");
    }
    const bool fits = positive.ndim() == 1 && static_cast<Index>(positive.shape(0)) == x.rows;
    require(fits && (x.rows <= 1 || positive.stride(0) == 1), "positive must be contiguous, one entry a score");
    const auto* classes = static_cast<const std::uint8_t*>(positive.data());
    const double* weights = vector(s, "s", x.rows);
    return x.kind == Kind::float32 ? ranked_as<float>(x, classes, weights) : ranked_as<double>(x, classes, weights);
}

}  // namespace

void bind_rank(nb::module_& module) {
    module.def(
        "ranked", &ranked, arg("scores"), arg("positive"), arg("s").none(),
        nb::sig("def ranked(scores: Matrix, positive: NDArray[np.uint8], s: Vector | None) -> tuple[int, "
                "NDArray[np.floating], Vector, Vector] | None"),
        R"doc(Count, then distinct scores from high to low (in their own type) and the weights of positive and other rows there.

The three arrays are as long as there are rows; only the first ``count`` entries are written. None: a score is NaN or
infinite. ``positive`` is contiguous; equal scores are added up in the order of the rows.)doc");
}

}  // namespace qed::bindings
