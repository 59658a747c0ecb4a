#include <algorithm>
#include <cmath>
#include <map>

#include "check.hpp"
#include "qed/tables/rank.hpp"

using namespace qed;

TEST(ranking_counts_both_classes_at_each_score) {
    const auto raw = check::numbers(100000);
    std::vector<double> scores;
    for (const double value : raw) {
        scores.push_back(std::round(value * 50.0) / 50.0);
    }
    const auto n = static_cast<Index>(scores.size());
    std::vector<std::uint8_t> positive;
    for (Index i = 0; i < n; ++i) {
        positive.push_back(i % 3 == 0 ? 1 : 0);
    }
    std::map<double, std::pair<double, double>, std::greater<>> want;
    for (std::size_t i = 0; i < scores.size(); ++i) {
        auto& [more, less] = want[scores[i] + 0.0];
        (positive[i] != 0 ? more : less) += 1.0;
    }
    std::vector<double> distinct(scores.size());
    std::vector<double> more(scores.size());
    std::vector<double> less(scores.size());
    const Matrix column{scores.data(), Kind::float64, n, 1, 1, 1};
    const Index count = rank_scores(column, positive.data(), nullptr, {distinct.data(), more.data(), less.data()});
    CHECK(count == static_cast<Index>(want.size()));
    std::size_t i = 0;
    for (const auto& [score, weights] : want) {
        CHECK(distinct[i] == score && more[i] == weights.first && less[i] == weights.second);
        ++i;
    }
}

TEST(ranking_notices_what_is_not_finite) {
    const double scores[] = {1.0, std::nan(""), 2.0};
    const std::uint8_t positive[] = {1, 0, 1};
    double room[3][3];
    const Matrix column{scores, Kind::float64, 3, 1, 1, 1};
    CHECK(rank_scores(column, positive, nullptr, {room[0], room[1], room[2]}) == -1);
}
