#include <limits>

#include "check.hpp"
#include "qed/dense/fold.hpp"
#include "qed/dense/moments.hpp"
#include "qed/dense/rows.hpp"

using namespace qed;

namespace {

double dot(const Matrix& a, Index i, const Matrix& b, Index j) {
    double total = 0.0;
    for (Index k = 0; k < a.rows; ++k) {
        total += *a.at<double>(k, i) * *b.at<double>(k, j);
    }
    return total;
}

}  // namespace

TEST(products_agree_with_three_loops) {
    set_thread_count(2);
    for (const Index n : {0, 1, 129, 700}) {
        for (const Index p : {1, 13, 390}) {
            const auto data = check::numbers(n * p);
            const Matrix x = row_major(data.data(), n, p, p);
            std::vector<double> out(static_cast<std::size_t>(p * p));
            gram(x, {}, out.data());
            std::vector<double> cross(static_cast<std::size_t>(p * p));
            multiply_transposed({x}, x, cross.data());
            for (Index i = 0; i < p; i += 7) {
                for (Index j = 0; j < p; j += 5) {
                    const double want = dot(x, i, x, j);
                    CHECK(check::near(out[static_cast<std::size_t>(i * p + j)], want, 100.0));
                    CHECK(check::near(cross[static_cast<std::size_t>(i * p + j)], want, 100.0));
                }
            }
        }
    }
}

TEST(bits_do_not_depend_on_threads) {
    const auto data = check::numbers(3000 * 50);
    const Matrix x = row_major(data.data(), 3000, 50, 50);
    std::vector<std::vector<double>> results;
    for (const int threads : {1, 2, 3, 8}) {
        set_thread_count(threads);
        std::vector<double> out(2500);
        gram(x, {}, out.data());
        results.push_back(out);
    }
    for (const auto& result : results) {
        CHECK(result == results[0]);
    }
}

TEST(compensated_sums_keep_what_is_small) {
    double total = 0.0;
    double low = 0.0;
    for (const double value : {1e16, 1.0, 1.0, -1e16}) {
        add_compensated(total, low, value);
    }
    CHECK(joined(total, low) == 2.0);
    const double infinity = std::numeric_limits<double>::infinity();
    total = low = 0.0;
    for (const double value : {1e308, 1e308, 1.0}) {
        add_compensated(total, low, value);
    }
    CHECK(joined(total, low) == infinity);
}

TEST(products_of_rows) {
    set_thread_count(2);
    const auto data = check::numbers(333 * 21);
    const auto weights = check::numbers(21 * 9, 4);
    const Matrix x = row_major(data.data(), 333, 21, 21);
    for (const Index m : {1, 4, 9}) {
        const Matrix w = row_major(weights.data(), 21, m, 9);
        std::vector<double> out(static_cast<std::size_t>(333 * m));
        multiply({x}, w, nullptr, Kind::float64, out.data());
        for (Index i = 0; i < 333; ++i) {
            for (Index j = 0; j < m; ++j) {
                CHECK(check::near(out[static_cast<std::size_t>(i * m + j)], dot(x.transposed(), i, w, j), 10.0));
            }
        }
    }
}
