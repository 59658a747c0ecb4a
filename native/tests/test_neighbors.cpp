#include <algorithm>
#include <cmath>
#include <vector>

#include "check.hpp"
#include "qed/tables/density.hpp"

using namespace qed;

TEST(boxes_and_scans_name_the_same_rows) {
    const Index rows = 2003;
    const Index columns = 3;
    const auto raw = check::numbers(rows * columns);
    const std::vector<double> x(raw.begin(), raw.end());
    const Index count = blocks_of(rows, kOctet);
    std::vector<double> octets(static_cast<std::size_t>(count * columns * kOctet));
    std::vector<Index> ids(static_cast<std::size_t>(count * kOctet));
    std::vector<Index> answers[2];
    const Index k = 7;
    const Index queries = 40;
    for (int tree = 0; tree < 2; ++tree) {
        Boxes boxes;
        arrange(x.data(), rows, columns, octets.data(), ids.data(), tree == 1 ? &boxes : nullptr);
        const NeighborIndex index{octets.data(),       ids.data(),
                                  rows,                columns,
                                  count,               boxes.ends.data(),
                                  boxes.children.data(), static_cast<Index>(boxes.children.size()) / kOctet};
        std::vector<double> distance(static_cast<std::size_t>(queries * k));
        answers[tree].resize(distance.size());
        const Index seen =
            nearest(index, x.data(), queries, k, {Metric::euclidean, 2.0}, true, distance.data(), answers[tree].data());
        CHECK(tree == 0 ? seen == queries * count : seen < queries * count);
        CHECK(std::is_sorted(distance.begin(), distance.begin() + k));
        for (Index q = 0; q < queries; ++q) {
            CHECK(std::count(answers[tree].begin() + q * k, answers[tree].begin() + (q + 1) * k, q) == 0);
        }
    }
    CHECK(answers[0] == answers[1]);
}

TEST(windows_are_summed_from_boxes_as_from_all_rows) {
    const Index rows = 3001;
    const Index columns = 2;
    const auto x = check::numbers(rows * columns);
    const auto raw = check::numbers(rows, 2);
    std::vector<double> s;
    for (const double value : raw) {
        s.push_back(value + 1.0);
    }
    const Index count = blocks_of(rows, kOctet);
    std::vector<double> octets(static_cast<std::size_t>(count * columns * kOctet));
    std::vector<Index> ids(static_cast<std::size_t>(count * kOctet));
    for (int tree = 0; tree < 2; ++tree) {
        Boxes boxes;
        arrange(x.data(), rows, columns, octets.data(), ids.data(), tree == 1 ? &boxes : nullptr);
        const NeighborIndex index{octets.data(),         ids.data(),
                                  rows,                  columns,
                                  count,                 boxes.ends.data(),
                                  boxes.children.data(), static_cast<Index>(boxes.children.size()) / kOctet};
        for (const double bandwidth : {0.005, 0.5}) {
            std::vector<double> out(5);
            log_densities(index, x.data(), 5, s.data(), {Window::gaussian, bandwidth}, {Metric::euclidean, 2.0}, out.data());
            for (std::size_t q = 0; q < out.size(); ++q) {
                double total = 0.0;
                for (std::size_t i = 0; i < s.size(); ++i) {
                    const double a = x[2 * i] - x[2 * q];
                    const double b = x[2 * i + 1] - x[2 * q + 1];
                    total += s[i] * std::exp(-(a * a + b * b) / (2 * bandwidth * bandwidth));
                }
                CHECK(std::abs(out[q] - std::log(total)) < 1e-12);
            }
        }
    }
}
