#include "qed/tables/entries.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "targets.hpp"

namespace qed::bindings {
namespace {

using nb::arg;

nb::tuple look(const Array& X, const MaybeArray& s) {
    const Matrix x = matrix(X, "X");
    const double* weights = vector(s, "s", x.rows);
    Fresh<double> out({kLookRows, x.columns});
    Index terms = 0;
    run([&] { terms = look_columns(x, weights, out.get()); });
    return nb::make_tuple(out.give(), terms);
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

void monomials_of(const Array& X, Writable out, const Array& runs, Index first) {
    const Matrix x = matrix(X, "X");
    const Index columns = out.ndim() == 2 ? static_cast<Index>(out.shape(1)) : 0;
    const bool same = out.dtype() == (x.kind == Kind::float32 ? nb::dtype<float>() : nb::dtype<double>());
    require(same && out.ndim() == 2 && static_cast<Index>(out.shape(0)) == x.rows,
            "out must have the type and rows of X");
    require(x.rows <= 1 || (out.stride(0) == columns && out.stride(1) == 1), "out must be in C order");
    if (runs.dtype() != nb::dtype<std::int64_t>()) {
        throw nb::type_error("runs must be int64");
    }
    require(runs.ndim() == 2 && runs.shape(1) == 4, "runs must have four columns");
    const Index count = static_cast<Index>(runs.shape(0));
    require(count == 0 || (runs.stride(0) == 4 && runs.stride(1) == 1), "runs must be in C order");
    require(first >= 0 && first <= columns - x.columns, "there must be room for the columns of X");
    const auto* numbers = static_cast<const std::int64_t*>(runs.data());
    std::vector<Run> list(static_cast<std::size_t>(count));
    for (Index i = 0; i < count; ++i) {
        const std::int64_t* at = numbers + 4 * i;
        list[static_cast<std::size_t>(i)] = {at[0], at[1], at[2], at[3]};
        // compared by differences: a sum of two large numbers could wrap round to a harmless one
        const bool inside = at[2] >= 0 && at[2] <= columns && at[0] >= 0 && at[0] <= columns - at[2] && at[1] >= 0 &&
                            at[1] <= columns - at[2] && at[3] >= 0 && at[3] < x.columns;
        require(inside, "a run leaves the columns");
    }
    run([&] { monomials(x, list.data(), count, first, out.data(), columns); });
}

const Index* indices(const Array& array, const char* name) {
    const bool fits = array.dtype() == nb::dtype<std::int64_t>() && array.ndim() == 1;
    require(fits && (array.shape(0) <= 1 || array.stride(0) == 1), std::string(name) + " must be contiguous int64");
    return static_cast<const Index*>(array.data());
}

/// In how many ways `degree` factors can be picked from `entries`, at most `limit`.
Index choices(Index entries, Index degree, bool distinct, Index limit) {
    Index ways = 1;
    for (Index k = 0; k < degree; ++k) {
        const Index more = distinct ? entries - k : entries + k;
        if (more <= 0) {
            return 0;
        }
        // past 2^63 the quotient by at most 4096 is past every limit, which is a number of entries in memory
        if (__builtin_mul_overflow(ways, more, &ways) || (ways /= k + 1) > limit) {
            return limit;
        }
    }
    return ways;
}

constexpr Index kHighestDegree = 4096;  // products are walked by recursion

/// Rows that native code may walk: ends rise from zero to the number of entries, and columns are there.
void require_rows(const SparseEntries& x, const Array& starts, const Array& columns, Index entries) {
    require(starts.shape(0) >= 1 && static_cast<Index>(columns.shape(0)) == entries && x.columns >= 0,
            "starts, columns and data must describe the same rows");
    require(x.starts[0] == 0 && x.starts[x.rows] == entries, "starts must rise from 0 to the number of entries");
    for (Index i = 0; i < x.rows; ++i) {
        require(x.starts[i] <= x.starts[i + 1], "starts must rise from 0 to the number of entries");
    }
    for (Index i = 0; i < entries; ++i) {
        require(x.indices[i] >= 0 && x.indices[i] < x.columns, "a column lies outside the table");
    }
}

void sparse_monomials_of(const Array& starts, const Array& columns, const Array& data, Index width,
                         const Array& offsets, std::pair<Index, Index> degrees, bool distinct, bool ones,
                         const Array& out_starts, Writable out_columns, Writable out_data) {
    const Matrix values = matrix(data, "data");
    const SparseEntries x{indices(starts, "starts"),
                          indices(columns, "columns"),
                          values.data,
                          values.kind,
                          static_cast<Index>(starts.shape(0)) - 1,
                          width};
    require(values.columns == 1 && (values.rows <= 1 || values.row_stride == 1), "data must be contiguous");
    require_rows(x, starts, columns, values.rows);
    const auto [low, high] = degrees;
    require(1 <= low && low <= high && high <= kHighestDegree, "degrees must rise from 1 to 4096 at most");
    Index needed = 0;
    require(!__builtin_mul_overflow(high - 1, width, &needed) && static_cast<Index>(offsets.shape(0)) >= needed,
            "offsets must have a row for each degree");
    require(static_cast<Index>(out_starts.shape(0)) == x.rows + 1, "out_starts must have an end for each row");
    const Index* ends = indices(out_starts, "out_starts");
    require(out_columns.dtype() == nb::dtype<std::int32_t>() && out_data.dtype() == data.dtype() &&
                out_columns.ndim() == 1 && out_data.ndim() == 1 && ends[0] == 0 &&
                static_cast<Index>(out_columns.shape(0)) == ends[x.rows] &&
                static_cast<Index>(out_data.shape(0)) == ends[x.rows],
            "there must be room for every product");
    for (Index i = 0; i < x.rows; ++i) {  // the number of products is counted here, whatever the caller believes
        const Index room = ends[i + 1] - ends[i];
        Index count = ones ? 1 : 0;
        for (Index degree = low; degree <= high && count <= room; ++degree) {
            count += choices(x.starts[i + 1] - x.starts[i], degree, distinct, ends[x.rows] + 1);
        }
        require(room == count, "there must be room for every product");
    }
    const Products how{indices(offsets, "offsets"), low, high, ones ? 1 : 0, distinct, ones};
    auto* places = static_cast<std::int32_t*>(out_columns.data());
    run([&] { sparse_monomials(x, how, ends, places, out_data.data()); });
}

nb::tuple words(const Array& bytes) {
    if (bytes.dtype() != nb::dtype<std::uint8_t>()) {
        throw nb::type_error("words must be uint8");
    }
    require(bytes.ndim() == 2 && bytes.shape(0) < (std::size_t{1} << 31),
            "words must be a table of fewer than 2^31 rows");
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

/// Numbers equal objects in the order of their first appearance, as a dictionary would, without a Python object a
/// look-up. `addresses` are those of live objects, which the caller holds.
class ObjectTable {
  public:
    std::int32_t number(PyObject* object, Index at) {
        const Py_hash_t hash = PyObject_Hash(object);
        if (hash == -1 && PyErr_Occurred() != nullptr) {
            throw nb::python_error();
        }
        std::size_t place = spread(hash) & mask_;
        while (slots_[place].code >= 0) {
            const Slot slot = slots_[place];
            if (slot.hash == hash && equal(slot.object, object)) {
                return slot.code;
            }
            place = (place + 1) & mask_;
        }
        const auto code = static_cast<std::int32_t>(firsts_.size());
        slots_[place] = {object, hash, code};
        firsts_.push_back(at);
        if (firsts_.size() * 2 > mask_) {
            grow();
        }
        return code;
    }
    [[nodiscard]] const std::vector<Index>& firsts() const noexcept { return firsts_; }

  private:
    struct Slot {
        PyObject* object = nullptr;
        Py_hash_t hash = 0;
        std::int32_t code = -1;
    };
    static std::size_t spread(Py_hash_t hash) noexcept {
        const auto bits = static_cast<std::uint64_t>(hash) * 0x9E3779B97F4A7C15ULL;
        return static_cast<std::size_t>(bits ^ (bits >> 32));
    }
    static bool equal(PyObject* a, PyObject* b) {
        if (a == b) {
            return true;
        }
        const int answer = PyObject_RichCompareBool(a, b, Py_EQ);
        if (answer < 0) {
            throw nb::python_error();
        }
        return answer != 0;
    }
    void grow() {
        std::vector<Slot> larger(slots_.size() * 4);
        mask_ = larger.size() - 1;
        for (const Slot& slot : slots_) {
            if (slot.code >= 0) {
                std::size_t place = spread(slot.hash) & mask_;
                while (larger[place].code >= 0) {
                    place = (place + 1) & mask_;
                }
                larger[place] = slot;
            }
        }
        slots_.swap(larger);
    }
    std::vector<Slot> slots_ = std::vector<Slot>(256);
    std::size_t mask_ = 255;
    std::vector<Index> firsts_;
};

nb::tuple objects(const Array& addresses) {
    const bool fits = addresses.dtype() == nb::dtype<std::uint64_t>() && addresses.ndim() == 1;
    require(fits && addresses.shape(0) < (std::size_t{1} << 31), "addresses must be fewer than 2^31 uint64");
    const Index n = static_cast<Index>(addresses.shape(0));
    const auto* from = static_cast<PyObject* const*>(addresses.data());
    Fresh<std::int32_t> codes({n});
    ObjectTable table;
    for (Index i = 0; i < n; ++i) {
        PyObject* object = from[i * addresses.stride(0)];
        codes.get()[i] = table.number(object == nullptr ? Py_None : object, i);
    }
    Fresh<std::int64_t> found({static_cast<Index>(table.firsts().size())});
    std::copy(table.firsts().begin(), table.firsts().end(), found.get());
    return nb::make_tuple(codes.give(), found.give());
}

nb::ndarray<nb::numpy, std::int32_t> hashes(const Array& bytes, const Array& ends) {
    require(bytes.dtype() == nb::dtype<std::uint8_t>() && bytes.ndim() == 1, "bytes must be uint8");
    const Index* stops = indices(ends, "ends");
    const Index n = static_cast<Index>(ends.shape(0));
    Index before = 0;
    for (Index i = 0; i < n; ++i) {
        require(stops[i] >= before, "ends must rise");
        before = stops[i];
    }
    require(before <= static_cast<Index>(bytes.shape(0)), "ends must lie within the bytes");
    Fresh<std::int32_t> out({n});
    run([&] { hash_words(static_cast<const std::uint8_t*>(bytes.data()), stops, n, out.get()); });
    return out.give();
}

}  // namespace

void bind_entries(nb::module_& module) {
    module.def(
        "look", &look, arg("X"), arg("s").none(),
        nb::sig("def look(X: Matrix, s: Vector | None) -> tuple[Vector, int]"),
        R"doc(Entries that are not NaN, their weight, mean, scatter, least and largest, (6, p), and the longest chain of roundings.

A block of rows is read twice while it is in cache, so that its scatter is about its own mean; blocks merge in order.)doc");
    module.def(
        "move", &move, arg("X"), arg("out"), arg("first"), arg("second"), arg("divides"), arg("clip").none(),
        nb::sig("def move(X: Matrix, out: Matrix, first: Vector, second: Vector, divides: bool, clip: tuple[float, "
                "float] | None) -> None"),
        R"doc(Write (X − first) / second, or X · second + first, cut off at ``clip``, into ``out``, which may be X itself.)doc");
    module.def("monomials", &monomials_of, arg("X"), arg("out"), arg("runs"), arg("first"),
               nb::sig("def monomials(X: Matrix, out: Matrix, runs: NDArray[np.int64], first: int) -> None"),
               R"doc(Write products of columns into ``out``, row-major and of the type of X.

Ones stand before ``first``, then X, then for each run (target, source, length, factor) the columns from source on times
column ``factor`` of X, from target on.)doc");
    module.def(
        "sparse_monomials", &sparse_monomials_of, arg("starts"), arg("columns"), arg("data"), arg("width"),
        arg("offsets"), arg("degrees"), arg("distinct"), arg("ones"), arg("out_starts"), arg("out_columns"),
        arg("out_data"),
        nb::sig("def sparse_monomials(starts: NDArray[np.int64], columns: NDArray[np.int64], data: Matrix, width: int, "
                "offsets: NDArray[np.int64], degrees: tuple[int, int], distinct: bool, ones: bool, out_starts: "
                "NDArray[np.int64], out_columns: NDArray[np.int32], out_data: Matrix) -> None"),
        R"doc(Write the products of the entries of compressed rows, of all degrees in a range, columns rising within a row.

Column j times the product at place r of the degree below stands at ``offsets[(degree - 2) * width + j] + r``.)doc");
    module.def(
        "hash_words", &hashes, arg("bytes"), arg("ends"),
        nb::sig("def hash_words(bytes: NDArray[np.uint8], ends: NDArray[np.int64]) -> NDArray[np.int32]"),
        R"doc(MurmurHash3 (32 bits, seed zero) of words that follow each other in memory and end where ``ends`` says.)doc");
    module.def(
        "number_objects", &objects, arg("addresses"),
        nb::sig("def number_objects(addresses: NDArray[np.uint64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]"),
        R"doc(Give equal Python objects, named by their addresses, one number, as ``number_words`` does words.

The caller holds the objects. The GIL is kept.)doc");
    module.def(
        "number_words", &words, arg("words"),
        nb::sig("def number_words(words: NDArray[np.uint8]) -> tuple[NDArray[np.int32], NDArray[np.int64]]"),
        R"doc(Give equal rows of bytes one number, in the order of their first appearance; return numbers, and where each began.)doc");
}

}  // namespace qed::bindings
