#include <cstring>

#include "check.hpp"
#include "qed/dense/moments.hpp"
#include "qed/dense/reflect.hpp"
#include "qed/machine/parallel.hpp"

using namespace qed;

namespace {

std::vector<double> factor_of(const Matrix& x, const Matrix& y, const TriangleOptions& options) {
    const Index q = x.columns + y.columns + (options.ones ? 1 : 0);
    std::vector<double> r(static_cast<std::size_t>(q * q));
    triangle(x, y, options, r.data());
    return r;
}

}  // namespace

TEST(a_factor_has_the_products_of_its_columns) {
    set_thread_count(2);
    for (const Index n : {0, 1, 127, 128, 2500}) {
        for (const Index p : {1, 12, 25, 140}) {
            const auto data = check::numbers(n * p);
            const Matrix x = row_major(data.data(), n, p, p);
            const auto r = factor_of(x, row_major(data.data(), n, 0, p), {});
            std::vector<double> want(static_cast<std::size_t>(p * p));
            std::vector<double> got(want.size());
            gram(x, {}, want.data());
            gram(row_major(r.data(), p, p, p), {}, got.data());
            for (std::size_t i = 0; i < want.size(); ++i) {
                CHECK(check::near(got[i], want[i], 100.0));
            }
            for (Index i = 1; i < p; ++i) {
                CHECK(r[static_cast<std::size_t>(i * p)] == 0.0);
            }
        }
    }
}

TEST(ones_come_first_and_take_the_means_away) {
    set_thread_count(2);
    const auto data = check::numbers(3000 * 3, 5);
    const Matrix x = row_major(data.data(), 3000, 2, 3);
    const Matrix y = row_major(data.data() + 2, 3000, 1, 3);
    const auto r = factor_of(x, y, {.ones = true});
    CHECK(check::near(std::abs(r[0]), std::sqrt(3000.0), 10.0));
    for (std::size_t j = 0; j < 3; ++j) {
        double mean = 0.0;
        for (std::size_t i = 0; i < 3000; ++i) {
            mean += data[i * 3 + j] / 3000.0;
        }
        CHECK(check::near(r[1 + j] / r[0], mean));
    }
}

TEST(factors_do_not_depend_on_threads) {
    const auto data = check::numbers(9000 * 40);
    const Matrix x = row_major(data.data(), 9000, 40, 40);
    std::vector<double> weights(data.begin(), data.begin() + 9000);
    for (double& weight : weights) {
        weight += 0.5;
    }
    std::vector<std::vector<double>> results;
    for (const int threads : {1, 2, 3, 8}) {
        set_thread_count(threads);
        results.push_back(factor_of(x, row_major(data.data(), 9000, 0, 40), {.s = weights.data(), .ones = true}));
    }
    for (const auto& result : results) {
        CHECK(result.size() == results[0].size());
        for (std::size_t i = 0; i < result.size(); ++i) {
            CHECK(std::memcmp(&result[i], &results[0][i], sizeof(double)) == 0);
        }
    }
}
