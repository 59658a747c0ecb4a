#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "qed/dense/numbers.hpp"
#include "qed/tree/boost_part.hpp"
#include "tree_arrays.hpp"

namespace qed::bindings {
namespace {

using nb::arg;
template <class T>
using Writable = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ScaleTuple = std::tuple<double, double, int, bool, bool>;

/// Bins by column and by row, columns, slopes and curvatures of all classes, which class, weights, counts, words,
/// order.
using PartTuple = std::tuple<Array, Array, Index, Array, Array, std::pair<Index, Index>, MaybeArray, nb::object,
                             Writable<std::int64_t>, Writable<std::uint32_t>>;

ScaleTuple told(const BoostScale& scale) {
    return {scale.units.slope, scale.units.curvature, scale.units.count_bits, scale.is_coarse, scale.is_packed};
}

BoostScale scale_from(const ScaleTuple& told) {
    const auto& [slope, curvature, bits, is_coarse, is_packed] = told;
    return {Units{slope, curvature, bits}, is_coarse, is_packed};
}

BoostRows rows_from(const Array& slopes, const Array& curvatures, std::pair<Index, Index> which, const MaybeArray& s,
                    const nb::object& counts) {
    const auto [number, classes] = which;
    require(classes >= 1 && number >= 0 && number < classes, "no such class");
    const auto count = static_cast<Index>(slopes.shape(0)) / classes;
    BoostRows rows{vector(slopes, "slopes", count * classes) + number,
                   vector(curvatures, "curvatures", count * classes) + number,
                   classes,
                   vector(s, "s", count),
                   nullptr,
                   count};
    if (!counts.is_none()) {
        rows.counts = numbers_of<std::uint32_t>(nb::cast<Array>(counts), "counts", count);  // Python keeps the array
    }
    return rows;
}

BoostArrays arrays_from(const PartTuple& part) {
    const auto& [by_column, by_row, columns, slopes, curvatures, which, s, counts, words, order] = part;
    BoostArrays arrays{};
    arrays.given = rows_from(slopes, curvatures, which, s, counts);
    const Index rows = arrays.given.count;
    arrays.bins = {nullptr, nullptr, rows, columns};
    arrays.bins.by_column = numbers_of<std::uint8_t>(by_column, "bins by column", rows * columns);
    arrays.bins.by_row = numbers_of<std::uint8_t>(by_row, "bins by row", rows * arrays.bins.row_step());
    require(static_cast<Index>(words.shape(0)) == 2 * rows && static_cast<Index>(order.shape(0)) == 2 * rows,
            "words and order have two entries for each row");
    require(reinterpret_cast<std::uintptr_t>(words.data()) % 16 == 0, "words must lie on a multiple of 16 bytes");
    arrays.words = words.data();
    arrays.order[0] = order.data();
    arrays.order[1] = order.data() + rows;
    return arrays;
}

nb::ndarray<nb::numpy, double> extent(const Array& slopes, const Array& curvatures, std::pair<Index, Index> which,
                                      const MaybeArray& s, const nb::object& counts) {
    const BoostRows rows = rows_from(slopes, curvatures, which, s, counts);
    BoostExtent found;
    run([&] { found = extent_of(rows); });
    Fresh<double> fresh({6});
    const double numbers[6] = {found.slopes,  found.squares,  found.curvatures,
                               found.largest, found.steepest, static_cast<double>(found.count)};
    std::copy_n(numbers, 6, fresh.get());
    return fresh.give();
}

ScaleTuple scale(const std::tuple<double, double, double, double, double, double>& extent, bool has_counts, bool fine) {
    const auto& [slopes, squares, curvatures, largest, steepest, count] = extent;
    return told(
        scale_of({slopes, squares, curvatures, largest, steepest, static_cast<Index>(count)}, has_counts, fine));
}

nb::tuple start(BoostPart& part, const PartTuple& given, const ScaleTuple& scale) {
    const BoostArrays arrays = arrays_from(given);
    Fresh<std::int64_t> histogram({2 * arrays.bins.places()});
    Sums total;
    run([&] {
        total = part.start(arrays, scale_from(scale));
        const BoostSums own = part.sums(arrays);
        const BoostSums* const classes[] = {&own};
        Sums* const to[] = {reinterpret_cast<Sums*>(histogram.get())};
        BoostSums::fill(classes, nullptr, arrays.given.count, to);
    });
    return nb::make_tuple(nb::make_tuple(total.slope, total.rest), histogram.give());
}

/// Divisions: node, left, right, filled, feature of each, and where bins go.
nb::ndarray<nb::numpy, std::int64_t> divide(BoostPart& part, const PartTuple& given, const Array& divisions,
                                            const Array& right_of) {
    const BoostArrays arrays = arrays_from(given);
    const auto many = static_cast<Index>(divisions.shape(0)) / 5;
    const Index* const numbers = numbers_of<Index>(divisions, "divisions", 5 * many);
    const std::uint8_t* const sides = numbers_of<std::uint8_t>(right_of, "right_of", kPlaces * many);
    Index wanted = 0;
    for (Index k = 0; k < many; ++k) {
        require(numbers[5 * k + 4] >= 0 && numbers[5 * k + 4] < arrays.bins.columns, "no such column");
        wanted += numbers[5 * k + 3] >= 0 ? 1 : 0;
    }
    Fresh<std::int64_t> histograms({wanted, 2 * arrays.bins.places()});
    run([&] {
        auto* to = reinterpret_cast<Sums*>(histograms.get());
        for (Index k = 0; k < many; ++k) {
            const Index* const own = numbers + 5 * k;
            Division division{own[0], own[1], own[2], own[3], own[4], {}};
            std::copy_n(sides + kPlaces * k, kPlaces, division.right_of);
            part.divide(arrays, division, to);
            to += own[3] >= 0 ? arrays.bins.places() : 0;
        }
    });
    return histograms.give();
}

Doubles leaf_sums(const BoostPart& part, const PartTuple& given, const std::vector<Index>& nodes) {
    const BoostArrays arrays = arrays_from(given);
    const auto many = static_cast<Index>(nodes.size());
    Fresh<double> sums({2, many});
    run([&] { part.leaf_sums(arrays, nodes, sums.get(), sums.get() + many); });
    return sums.give();
}

void add(const BoostPart& part, const PartTuple& given, const std::vector<Index>& nodes, const Array& values,
         const Writable<double>& scores) {
    const BoostArrays arrays = arrays_from(given);
    const Index number = std::get<5>(given).first;
    const double* const worth = vector(values, "values", static_cast<Index>(nodes.size()));
    require(static_cast<Index>(scores.shape(0)) == arrays.given.count * arrays.given.stride, "a score for each class");
    run([&] { part.add(arrays, nodes, worth, scores.data() + number, arrays.given.stride); });
}

nb::ndarray<nb::numpy, std::int32_t> mark(const BoostPart& part, const PartTuple& given,
                                          const std::vector<Index>& nodes) {
    const BoostArrays arrays = arrays_from(given);
    Fresh<std::int32_t> leaf({arrays.given.count});
    run([&] { part.mark(arrays, nodes, leaf.get()); });
    return leaf.give();
}

/// Rows elsewhere: a Python object is asked, and takes the GIL for it.
class RowsElsewhere final : public BoostSource {
  public:
    RowsElsewhere(nb::object source, Index columns)
        : source_(std::move(source)), places_(BinsView{nullptr, nullptr, 0, columns}.places()) {}

    BoostScale start(bool fine, Sums& total, Sums* histogram) override {
        const nb::gil_scoped_acquire acquired;
        const auto [scale, sums, found] =
            nb::cast<std::tuple<ScaleTuple, std::pair<Index, Index>, Array>>(source_.attr("start")(fine));
        total = {sums.first, sums.second};
        std::copy_n(sums_at(numbers_of<std::int64_t>(found, "histogram", 2 * places_)), places_, histogram);
        return scale_from(scale);
    }
    void divide(const std::vector<Division>& divisions, const std::vector<Sums*>& histograms) override {
        const nb::gil_scoped_acquire acquired;
        const auto many = static_cast<Index>(divisions.size());
        Fresh<std::int64_t> numbers({5 * many});
        Fresh<std::uint8_t> sides({kPlaces * many});
        for (Index k = 0; k < many; ++k) {
            const Division& one = divisions[at(k)];
            const Index own[5] = {one.node, one.left, one.right, one.filled, one.feature};
            std::copy_n(own, 5, numbers.get() + 5 * k);
            std::copy_n(one.right_of, kPlaces, sides.get() + kPlaces * k);
        }
        const auto found = nb::cast<Array>(source_.attr("divide")(numbers.give(), sides.give()));
        const auto wanted = static_cast<Index>(
            std::count_if(histograms.begin(), histograms.end(), [](const Sums* one) { return one != nullptr; }));
        const std::int64_t* from = numbers_of<std::int64_t>(found, "histograms", wanted * 2 * places_);
        for (Sums* const to : histograms) {
            if (to != nullptr) {
                std::copy_n(sums_at(from), places_, to);
                from += 2 * places_;
            }
        }
    }
    void leaf_sums(const std::vector<Index>& nodes, double* slopes, double* curvatures) override {
        const nb::gil_scoped_acquire acquired;
        const auto found = nb::cast<std::pair<Array, Array>>(source_.attr("leaf_sums")(nodes));
        const auto many = static_cast<Index>(nodes.size());
        std::copy_n(vector(found.first, "slopes", many), many, slopes);
        std::copy_n(vector(found.second, "curvatures", many), many, curvatures);
    }
    void finish(const std::vector<Index>& leaves, const std::vector<double>& values) override {
        const nb::gil_scoped_acquire acquired;
        source_.attr("finish")(leaves, values);
    }
    [[nodiscard]] bool asks_together() const noexcept override { return true; }

  private:
    static const Sums* sums_at(const std::int64_t* words) noexcept { return reinterpret_cast<const Sums*>(words); }

    nb::object source_;
    Index places_;
};

nb::tuple grow(const nb::object& source, const std::vector<std::pair<Array, Array>>& bins,
               const std::tuple<Index, Index, Index, double, double, Index, std::uint64_t>& rule,
               const nb::object& monotone, const nb::object& by_category,
               const std::vector<std::vector<Index>>& groups) {
    const auto columns = static_cast<Index>(bins.size());
    std::vector<RankedColumn> info(bins.size());
    for (std::size_t j = 0; j < bins.size(); ++j) {
        const auto& [values, last] = bins[j];
        const auto many = static_cast<Index>(values.shape(0));
        const auto count = static_cast<Index>(last.shape(0));
        const double* const own = vector(values, "values of bins", many);
        const std::uint32_t* const ends = numbers_of<std::uint32_t>(last, "ends of bins", count);
        require(count <= kBins && std::all_of(ends, ends + count, [&](std::uint32_t end) { return end < many; }),
                "ends of bins are places of values");
        info[j].values.assign(own, own + many);
        info[j].last.assign(ends, ends + count);
    }
    Array kept[2];
    const auto [leaves, depth, leaf_rows, ridge, rate, features, seed] = rule;
    BoostRules rules{leaves, depth, leaf_rows, ridge, rate, features, seed, nullptr, nullptr, groups};
    if (!monotone.is_none()) {
        kept[0] = nb::cast<Array>(monotone);
        rules.monotone = numbers_of<std::int8_t>(kept[0], "monotone", columns);
    }
    if (!by_category.is_none()) {
        kept[1] = nb::cast<Array>(by_category);
        rules.by_category = numbers_of<std::uint8_t>(kept[1], "by_category", columns);
    }
    RowsElsewhere elsewhere(source, columns);
    BoostTree tree;
    run([&] { tree = grow_tree(elsewhere, info, rules, seed); });
    return nb::make_tuple(given(tree.nodes.feature), given(tree.nodes.threshold), given(tree.nodes.missing_left),
                          given(tree.nodes.values), given(tree.nodes.weight), given(tree.by_set), given(tree.sets),
                          given(tree.low), given(tree.high), given(tree.leaf));
}

void bin_chunk(const Array& X, const Array& cuts, const Array& ends, const Writable<std::uint8_t>& by_column,
               const Writable<std::uint8_t>& by_row, Index first, const Writable<double>& low,
               const Writable<double>& high) {
    const Matrix x = matrix(X, "X");
    const Index columns = x.columns;
    const Index* const stops = numbers_of<Index>(ends, "ends", columns);
    require(std::is_sorted(stops, stops + columns) && (columns == 0 || stops[0] >= 0), "ends must rise");
    const double* const edges = vector(cuts, "cuts", columns == 0 ? 0 : stops[columns - 1]);
    const auto rows = columns == 0 ? Index{0} : static_cast<Index>(by_column.shape(0)) / columns;
    const BinsView view{by_column.data(), by_row.data(), rows, columns};
    require(static_cast<Index>(by_column.shape(0)) == rows * columns &&
                static_cast<Index>(by_row.shape(0)) == rows * view.row_step() && first >= 0 && first + x.rows <= rows,
            "bins have a place for each row and column");
    require(static_cast<Index>(low.shape(0)) == columns * kPlaces && low.shape(0) == high.shape(0),
            "extremes have a place for each column and bin");
    for (Index j = 0; j < columns; ++j) {
        require(stops[j] - (j == 0 ? 0 : stops[j - 1]) < kBins, "at most 255 bins");
    }
    run([&] { bin_rows(x, edges, stops, first, rows, {by_column.data(), by_row.data(), low.data(), high.data()}); });
}

}  // namespace

void bind_boost_parts(nb::module_& module) {
    nb::class_<BoostPart>(
        module, "BoostPart",
        R"doc(Some rows of a boosted fit, dealt out to the nodes of the tree that grows; arrays of rows are given to each call.)doc")
        .def(nb::init<>())
        .def("start", &start, arg("arrays"), arg("scale"),
             nb::sig("def start(self, arrays: _BoostArrays, scale: _BoostScale) -> tuple[tuple[int, int], "
                     "NDArray[np.int64]]"),
             R"doc(Round slopes and curvatures, put all rows into node 0; return their sum and the histogram.)doc")
        .def(
            "divide", &divide, arg("arrays"), arg("divisions"), arg("right_of"),
            nb::sig("def divide(self, arrays: _BoostArrays, divisions: NDArray[np.int64], right_of: NDArray[np.uint8]) "
                    "-> NDArray[np.int64]"),
            R"doc(Divide nodes (node, left, right, child whose histogram is wanted or -1, feature); return histograms.)doc")
        .def("leaf_sums", &leaf_sums, arg("arrays"), arg("nodes"),
             nb::sig("def leaf_sums(self, arrays: _BoostArrays, nodes: list[int]) -> Matrix"),
             R"doc(Return sums of slopes and of curvatures over the rows of nodes, (2, nodes).)doc")
        .def("add", &add, arg("arrays"), arg("nodes"), arg("values"), arg("scores"),
             nb::sig("def add(self, arrays: _BoostArrays, nodes: list[int], values: Vector, scores: Vector) -> None"),
             R"doc(Add values of nodes to the scores of their rows.)doc")
        .def("mark", &mark, arg("arrays"), arg("nodes"),
             nb::sig("def mark(self, arrays: _BoostArrays, nodes: list[int]) -> NDArray[np.int32]"),
             R"doc(Return, for each row, the place of its node in the list.)doc");
    module.def(
        "boost_extent", &extent, arg("slopes"), arg("curvatures"), arg("which"), arg("s").none(), arg("counts").none(),
        nb::sig("def boost_extent(slopes: Vector, curvatures: Vector, which: tuple[int, int], s: Vector | None, "
                "counts: NDArray[np.uint32] | None) -> Vector"),
        R"doc(Return what the scale of one class of several depends on: sums of slopes, squares, curvatures; largest of both; rows.)doc");
    module.def(
        "boost_scale", &scale, arg("extent"), arg("has_counts"), arg("fine"),
        nb::sig("def boost_scale(extent: tuple[float, float, float, float, float, float], has_counts: bool, fine: "
                "bool) -> _BoostScale"),
        R"doc(Return how slopes and curvatures of that extent become whole numbers; ``fine``: of 61 bits in any case.)doc");
    module.def("grow_from", &grow, arg("source"), arg("bins"), arg("rule"), arg("monotone").none(),
               arg("by_category").none(), arg("groups"),
               nb::sig("def grow_from(source: Any, bins: list[tuple[Vector, NDArray[np.uint32]]], rule: tuple[int, "
                       "int, int, float, float, int, int], monotone: NDArray[np.int8] | None, by_category: "
                       "NDArray[np.uint8] | None, groups: list[list[int]]) -> _BoostedTree"),
               R"doc(Grow a tree from histograms that ``source`` is asked for: start, divide, leaf_sums, finish.)doc");
    module.def(
        "bin_chunk", &bin_chunk, arg("X"), arg("cuts"), arg("ends"), arg("by_column"), arg("by_row"), arg("first"),
        arg("low"), arg("high"),
        nb::sig("def bin_chunk(X: Matrix, cuts: Vector, ends: NDArray[np.int64], by_column: NDArray[np.uint8], by_row: "
                "NDArray[np.uint8], first: int, low: Vector, high: Vector) -> None"),
        R"doc(Write the bins of rows from row ``first`` on, by column and by row; widen the lowest and highest values of bins.)doc");
}

}  // namespace qed::bindings
