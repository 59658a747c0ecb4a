#include "qed/columns.hpp"

#include <vector>

#include "arrays.hpp"

namespace qed::bindings {
namespace {

using nb::arg;
using Writable = nb::ndarray<nb::device::cpu>;

nb::tuple look(const Array& X, const MaybeArray& s) {
    const Matrix x = matrix(X, "X");
    const double* weights = vector(s, "s", x.rows);
    Fresh<double> out({kLookRows, x.columns});
    Index terms = 0;
    run([&] { terms = look_columns(x, weights, out.get()); });
    return nb::make_tuple(out.give(), terms);
}

Target target(Writable& out, const Matrix& x) {
    const bool is_float32 = out.dtype() == nb::dtype<float>();
    require(is_float32 || out.dtype() == nb::dtype<double>(), "out must be float32 or float64");
    require((is_float32 ? Kind::float32 : Kind::float64) == x.kind, "out must have the type of X");
    const bool fits = out.ndim() == 2 && static_cast<Index>(out.shape(0)) == x.rows &&
                      static_cast<Index>(out.shape(1)) == x.columns;
    require(fits, "out must have the shape of X");
    return {out.data(), out.stride(0), out.stride(1)};
}

void move(const Array& X, Writable out, const Array& first, const Array& second, bool divides,
          std::optional<std::pair<double, double>> clip) {
    const Matrix x = matrix(X, "X");
    const Target to = target(out, x);
    Move how{vector(first, "first", x.columns), vector(second, "second", x.columns), divides, clip.has_value()};
    if (clip) {
        how.low = clip->first;
        how.high = clip->second;
    }
    run([&] { move_columns(x, how, to); });
}

template <class T>
Numbers monomials_as(const Matrix& x, const std::vector<Run>& runs, Index first, Index columns) {
    Fresh<T> out({x.rows, columns});
    run([&] { monomials(x, runs.data(), static_cast<Index>(runs.size()), first, out.get(), columns); });
    return out.template give<Numbers>();
}

Numbers monomials_of(const Array& X, const Array& runs, Index first, Index columns) {
    const Matrix x = matrix(X, "X");
    if (runs.dtype() != nb::dtype<std::int64_t>()) {
        throw nb::type_error("runs must be int64");
    }
    require(runs.ndim() == 2 && runs.shape(1) == 4, "runs must have four columns");
    const Index count = static_cast<Index>(runs.shape(0));
    require(count == 0 || (runs.stride(0) == 4 && runs.stride(1) == 1), "runs must be in C order");
    require(first >= 0 && first + x.columns <= columns, "there must be room for the columns of X");
    const auto* numbers = static_cast<const std::int64_t*>(runs.data());
    std::vector<Run> list(static_cast<std::size_t>(count));
    for (Index i = 0; i < count; ++i) {
        const std::int64_t* at = numbers + 4 * i;
        list[static_cast<std::size_t>(i)] = {at[0], at[1], at[2], at[3]};
        const bool inside = at[0] >= 0 && at[1] >= 0 && at[2] >= 0 && at[0] + at[2] <= columns &&
                            at[1] + at[2] <= columns && at[3] >= 0 && at[3] < x.columns;
        require(inside, "a run leaves the columns");
    }
    return x.kind == Kind::float32 ? monomials_as<float>(x, list, first, columns)
                                   : monomials_as<double>(x, list, first, columns);
}

nb::tuple words(const Array& bytes) {
    if (bytes.dtype() != nb::dtype<std::uint8_t>()) {
        throw nb::type_error("words must be uint8");
    }
    require(bytes.ndim() == 2 && bytes.shape(0) < (std::size_t{1} << 31), "words must be a table of fewer than 2^31 rows");
    require(bytes.shape(1) <= 1 || bytes.stride(1) == 1, "the bytes of a word must follow each other");
    const Index n = static_cast<Index>(bytes.shape(0));
    Fresh<std::int32_t> codes({n});
    std::vector<Index> firsts(static_cast<std::size_t>(n > 0 ? n : 1));
    Index known = 0;
    run([&] {
        known = number_words(static_cast<const std::uint8_t*>(bytes.data()), n, static_cast<Index>(bytes.shape(1)),
                             bytes.stride(0), codes.get(), firsts.data());
    });
    Fresh<std::int64_t> found({known});
    for (Index i = 0; i < known; ++i) {
        found.get()[i] = firsts[static_cast<std::size_t>(i)];
    }
    return nb::make_tuple(codes.give(), found.give());
}

}  // namespace

void bind_columns(nb::module_& module) {
    module.def("look", &look, arg("X"), arg("s").none());
    module.def("move", &move, arg("X"), arg("out"), arg("first"), arg("second"), arg("divides"), arg("clip").none());
    module.def("monomials", &monomials_of, arg("X"), arg("runs"), arg("first"), arg("columns"));
    module.def("number_words", &words, arg("words"));
}

}  // namespace qed::bindings
