#include "check.hpp"
#include "qed/dense/pack.hpp"
#include "qed/machine/scratch.hpp"

using namespace qed;

namespace {

/// Entry (k, c) of a factor, straight from its definition.
double entry(const Factor& from, Index k, Index c) {
    const Matrix& part = c < from.parts[0].columns ? from.parts[0] : from.parts[1];
    const Index column = c < from.parts[0].columns ? c : c - from.parts[0].columns;
    const Index row = from.list.rows == nullptr ? k : from.list.rows[k];
    double value =
        part.kind == Kind::float64 ? *part.at<double>(row, column) : static_cast<double>(*part.at<float>(row, column));
    value -= from.column_shift == nullptr ? 0.0 : from.column_shift[c];
    value -= from.row_shift == nullptr ? 0.0 : from.row_shift[k];
    return value * (from.row_scale == nullptr ? 1.0 : from.row_scale[k]);
}

template <class T>
void check_strips(const Factor& from, Index row, Index depth) {
    const ScratchArray<T> packed(strips_of<T>(from.columns()) * kStrip<T> * depth);
    pack_strips<T>(from, row, depth, 0, strips_of<T>(from.columns()), packed.get());
    for (Index strip = 0; strip < strips_of<T>(from.columns()); ++strip) {
        const Index width = strip_width<T>(from.columns(), strip);
        for (Index k = 0; k < depth; ++k) {
            for (Index i = 0; i < width; ++i) {
                const Index c = strip * kStrip<T> + i;
                const T want = c < from.columns() ? static_cast<T>(entry(from, row + k, c)) : T{0};
                CHECK(packed[strip * kStrip<T> * depth + k * width + i] == want);
            }
        }
    }
}

}  // namespace

TEST(strips_hold_what_any_layout_holds) {
    const auto data = check::numbers(4000);
    std::vector<float> single(data.begin(), data.end());
    const auto shift = check::numbers(60, 2);
    const auto scale = check::numbers(60, 3);
    const Matrix layouts[] = {
        {data.data(), Kind::float64, 30, 53, 53, 1},
        {data.data(), Kind::float64, 30, 53, 1, 30},
        {data.data(), Kind::float64, 20, 30, 100, 3},
        {data.data() + 3999, Kind::float64, 30, 53, -53, -1},
        {single.data(), Kind::float32, 30, 53, 53, 1},
        {single.data(), Kind::float32, 30, 53, 1, 30},
        {single.data() + 3999, Kind::float32, 30, 53, -1, -30},
    };
    for (const Matrix& x : layouts) {
        for (int change = 0; change < 8; ++change) {
            Factor from = plain(x);
            from.parts[1] = {data.data(), Kind::float64, x.rows, 2, 2, 1};
            from.column_shift = (change & 1) != 0 ? shift.data() : nullptr;
            from.row_scale = (change & 2) != 0 ? scale.data() : nullptr;
            from.row_shift = (change & 4) != 0 && from.column_shift == nullptr ? shift.data() : nullptr;
            check_strips<double>(from, 3, 11);
            check_strips<float>(from, 0, 16);
            const std::vector<Index> listed = {7, 2, 19, 2, 0, 11, 5, 5, 18, 3, 1, 16};  // in any order, and more than once
            from.list = {listed.data(), static_cast<Index>(listed.size())};
            CHECK(from.depth() == 12);
            check_strips<double>(from, 1, 11);
            check_strips<float>(from, 0, 12);
        }
    }
}

TEST(rows_are_loaded_from_any_layout) {
    const auto data = check::numbers(400);
    for (const Matrix& x : {Matrix{data.data(), Kind::float64, 20, 20, 20, 1},
                            Matrix{data.data() + 399, Kind::float64, 20, 20, -1, -20}}) {
        double to[7 * 9];
        load_rows(x, 2, 7, 3, 8, to, 9);
        for (Index i = 0; i < 7; ++i) {
            for (Index j = 0; j < 8; ++j) {
                CHECK(to[i * 9 + j] == *x.at<double>(2 + i, 3 + j));
            }
        }
    }
}
