#include "check.hpp"
#include "qed/dense/triangular.hpp"
#include "qed/machine/parallel.hpp"

using namespace qed;

TEST(factors_and_solves) {
    set_thread_count(2);
    for (const Index n : {1, 5, 128, 131, 300}) {
        const auto data = check::numbers(n * n);
        std::vector<double> a(static_cast<std::size_t>(n * n));
        for (Index i = 0; i < n; ++i) {
            for (Index j = 0; j < n; ++j) {
                for (Index k = 0; k < n; ++k) {
                    a[static_cast<std::size_t>(i * n + j)] +=
                        data[static_cast<std::size_t>(i * n + k)] * data[static_cast<std::size_t>(j * n + k)];
                }
            }
            a[static_cast<std::size_t>(i * n + i)] += 1.0;
        }
        std::vector<double> u(static_cast<std::size_t>(n * n));
        CHECK(cholesky(row_major(a.data(), n, n, n), u.data()) == -1);
        const Matrix lower{u.data(), Kind::float64, n, n, 1, n};
        const auto b = check::numbers(n * 3, 9);
        std::vector<double> half(b.size());
        std::vector<double> x(b.size());
        solve_lower(lower, row_major(b.data(), n, 3, 3), half.data());
        solve_lower_transposed(lower, row_major(half.data(), n, 3, 3), x.data());
        for (Index i = 0; i < n; ++i) {
            for (Index j = 0; j < 3; ++j) {
                double total = 0.0;
                for (Index k = 0; k < n; ++k) {
                    total += a[static_cast<std::size_t>(i * n + k)] * x[static_cast<std::size_t>(k * 3 + j)];
                }
                CHECK(check::near(total, b[static_cast<std::size_t>(i * 3 + j)], 100.0));
            }
        }
    }
}

TEST(a_bad_pivot_is_named) {
    std::vector<double> a(200 * 200);
    for (std::size_t i = 0; i < 200; ++i) {
        a[i * 201] = i == 150 ? -1.0 : 1.0;
    }
    std::vector<double> u(a.size());
    CHECK(cholesky(row_major(a.data(), 200, 200, 200), u.data()) == 150);
}
