#include <algorithm>
#include <vector>

#include "check.hpp"
#include "qed/neighbors.hpp"

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
