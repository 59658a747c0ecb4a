#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "check.hpp"
#include "qed/tree/boost_part.hpp"

using namespace qed;

namespace {

constexpr Index kColumns = 3;

std::size_t size(Index count) { return static_cast<std::size_t>(count); }

/// Rows of a part with room of their own; cuts at -0.25, 0 and 0.25 in every column.
struct Rows {
    Rows(const std::vector<double>& table, const std::vector<double>& slopes, Index first, Index count)
        : by_column(size(count * kColumns)), by_row(size(count * 8)), low(size(kColumns * kPlaces), 1e9),
          high(size(kColumns * kPlaces), -1e9), curvatures(size(count), 1.0), words(size(2 * count)),
          order(size(2 * count)) {
        const double cuts[] = {-0.25, 0.0, 0.25, -0.25, 0.0, 0.25, -0.25, 0.0, 0.25};
        const Index ends[] = {3, 6, 9};
        const Matrix x{table.data() + first * kColumns, Kind::float64, count, kColumns, kColumns, 1};
        bin_rows(x, cuts, ends, 0, count, {by_column.data(), by_row.data(), low.data(), high.data()});
        arrays = {{by_column.data(), by_row.data(), count, kColumns},
                  {slopes.data() + first, curvatures.data(), 1, nullptr, nullptr, count},
                  words.data(),
                  {order.data(), order.data() + count}};
    }
    std::vector<std::uint8_t> by_column, by_row;
    std::vector<double> low, high, curvatures;
    std::vector<std::int64_t> words;
    std::vector<std::uint32_t> order;
    BoostArrays arrays;
    BoostPart part;
};

bool same(const std::vector<Sums>& a, const std::vector<Sums>& b) {
    return std::equal(a.begin(), a.end(), b.begin(),
                      [](const Sums& one, const Sums& other) { return one.slope == other.slope && one.rest == other.rest; });
}

}  // namespace

TEST(rows_are_binned_by_their_cuts) {
    const double missing = std::numeric_limits<double>::quiet_NaN();
    const std::vector<double> table = {-0.5, 0.0, 0.3, -0.25, 0.1, missing};
    const std::vector<double> slopes(2, 0.0);
    const Rows rows(table, slopes, 0, 2);
    const std::uint8_t want[] = {0, 0, 1, 2, 3, kMissingBin};  // column by column
    CHECK(std::equal(want, want + 6, rows.by_column.begin()));
    CHECK(rows.by_row[0] == 0 && rows.by_row[1] == 1 && rows.by_row[2] == 3 && rows.by_row[8 + 2] == kMissingBin);
    CHECK(rows.low[0] == -0.5 && rows.high[0] == -0.25 && rows.high[2 * kPlaces + 3] == 0.3);
}

TEST(histograms_of_parts_add_up_to_those_of_all_rows) {
    const Index count = 5000, cut = 1234;
    const auto table = check::numbers(count * kColumns);
    const auto slopes = check::numbers(count, 7);
    Rows whole(table, slopes, 0, count), one(table, slopes, 0, cut), other(table, slopes, cut, count - cut);
    BoostExtent extent = extent_of(one.arrays.given);
    extent.add(extent_of(other.arrays.given));
    const BoostScale scale = scale_of(extent, false, false);
    const Index places = whole.arrays.bins.places();
    Division division{0, 1, 2, 1, 1, {}};
    std::fill(division.right_of + 2, division.right_of + 4, std::uint8_t{1});
    std::vector<Sums> found[3][2];
    Sums totals[3];
    Rows* const all[] = {&whole, &one, &other};
    for (int k = 0; k < 3; ++k) {
        for (auto& histogram : found[k]) {
            histogram.resize(size(places));
        }
        totals[k] = all[k]->part.start(all[k]->arrays, scale);
        const BoostSums own = all[k]->part.sums(all[k]->arrays);
        const BoostSums* const classes[] = {&own};
        Sums* const to[] = {found[k][0].data()};
        BoostSums::fill(classes, nullptr, all[k]->arrays.given.count, to);
        all[k]->part.divide(all[k]->arrays, division, found[k][1].data());
    }
    CHECK(totals[0].slope == totals[1].slope + totals[2].slope && totals[0].rest == totals[1].rest + totals[2].rest);
    for (int which = 0; which < 2; ++which) {
        std::vector<Sums> sum = found[1][which];
        for (std::size_t place = 0; place < sum.size(); ++place) {
            sum[place] += found[2][which][place];
        }
        CHECK(same(sum, found[0][which]));
    }
    CHECK(scale.units.count_of(totals[0]) == count);
    const std::vector<Index> leaves = {1, 2};
    double sums[2][2];
    whole.part.leaf_sums(whole.arrays, leaves, sums[0], sums[1]);
    double want = 0.0;
    for (Index i = 0; i < count; ++i) {
        want += table[size(i * kColumns + 1)] <= 0.0 ? slopes[size(i)] : 0.0;
    }
    CHECK(check::near(sums[0][0], want, 100.0) && sums[1][0] + sums[1][1] == static_cast<double>(count));
    std::vector<std::int32_t> leaf(size(count));
    whole.part.mark(whole.arrays, leaves, leaf.data());
    std::vector<double> scores(size(count), 1.0);
    const double values[] = {0.5, -0.5};
    whole.part.add(whole.arrays, leaves, values, scores.data(), 1);
    bool holds = true;
    for (Index i = 0; i < count; ++i) {
        const bool is_left = table[size(i * kColumns + 1)] <= 0.0;
        holds = holds && leaf[size(i)] == (is_left ? 0 : 1) && scores[size(i)] == (is_left ? 1.5 : 0.5);
    }
    CHECK(holds);
}
