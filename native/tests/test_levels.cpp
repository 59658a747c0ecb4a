#include <cmath>
#include <limits>

#include "check.hpp"
#include "qed/machine/parallel.hpp"
#include "qed/tables/levels.hpp"

using namespace qed;

namespace {

double counted(const double* levels, Index count, double x) {
    double reached = 0.0;
    for (Index k = 0; k < count; ++k) {
        reached += levels[k] <= x ? 1.0 : 0.0;
    }
    return reached;
}

/// The curve by its definition: the last level below, the first above, and the mean over equal ones.
double followed(const double* levels, const double* values, Index count, double x) {
    Index first = -1;
    Index last = -1;
    for (Index k = 0; k < count; ++k) {
        if (levels[k] == x) {
            first = first < 0 ? k : first;
            last = k;
        }
    }
    if (first >= 0) {
        return (values[first] + values[last]) / 2;
    }
    if (x < levels[0]) {
        return values[0];
    }
    for (Index k = 1; k < count; ++k) {
        if (levels[k - 1] < x && x < levels[k]) {
            return values[k - 1] + (x - levels[k - 1]) * (values[k] - values[k - 1]) / (levels[k] - levels[k - 1]);
        }
    }
    return values[count - 1];
}

std::vector<double> rising(Index count, unsigned seed) {
    auto levels = check::numbers(count, seed);
    double at = -0.5;
    for (double& level : levels) {
        at += level > 0.25 ? 0.0 : 0.7 * (level + 0.5) / static_cast<double>(count);  // a quarter of them are equal
        level = at;
    }
    return levels;
}

}  // namespace

TEST(levels_are_counted_few_or_many) {
    auto x = check::numbers(3 * 9001);
    x[17] = std::numeric_limits<double>::quiet_NaN();
    std::vector<double> out(x.size());
    for (const Index many : {0, 1, 7, 48, 49, 500}) {
        const auto levels = rising(2 * many + 3, 5);
        const Index starts[] = {0, many, many + 3, 2 * many + 3};
        const Matrix from{x.data(), Kind::float64, 9001, 3, 3, 1};
        for (const int threads : {1, 3}) {
            set_thread_count(threads);
            count_levels(from, levels.data(), starts, {out.data(), 3, 1});
            for (Index i = 0; i < 9001; ++i) {
                for (Index j = 0; j < 3; ++j) {
                    const double want = counted(levels.data() + starts[j], starts[j + 1] - starts[j], x[i * 3 + j]);
                    const double got = out[static_cast<std::size_t>(i * 3 + j)];
                    CHECK(i * 3 + j == 17 ? std::isnan(got) : got == want);
                }
            }
        }
    }
    set_thread_count(1);
}

TEST(curves_are_followed) {
    auto x = check::numbers(2 * 5000, 3);
    for (const Index many : {1, 2, 10, 257}) {
        const auto levels = rising(2 * many, 9);
        std::vector<double> values(static_cast<std::size_t>(many));
        for (Index k = 0; k < many; ++k) {
            values[static_cast<std::size_t>(k)] = static_cast<double>(k * k);
        }
        for (Index k = 0; k < many; ++k) {
            x[static_cast<std::size_t>(2 * k)] = levels[static_cast<std::size_t>(k)];  // hits, equal levels among them
        }
        std::vector<double> out(x.size());
        follow_levels({x.data(), Kind::float64, 5000, 2, 2, 1}, levels.data(), values.data(), many,
                      {out.data(), 1, 5000});
        for (Index i = 0; i < 5000; ++i) {
            for (Index j = 0; j < 2; ++j) {
                const double want =
                    followed(levels.data() + j * many, values.data(), many, x[static_cast<std::size_t>(2 * i + j)]);
                CHECK(check::near(out[static_cast<std::size_t>(j * 5000 + i)], want, 1.0 + std::abs(want)));
            }
        }
    }
}
