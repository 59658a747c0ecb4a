#include "check.hpp"
#include "qed/machine/parallel.hpp"
#include "qed/sparse/sparse.hpp"

using namespace qed;

TEST(compressed_rows) {
    set_thread_count(2);
    // [[2, 0, 5], [0, 0, 0], [16, 8, 0]], out of order, the 5 in two pieces
    const std::vector<std::int32_t> starts{0, 3, 3, 5};
    const std::vector<std::int32_t> columns{2, 0, 2, 1, 0};
    const std::vector<double> values{1.0, 2.0, 4.0, 8.0, 16.0};
    const SparseRows x{3, 3, false, Kind::float64, starts.data(), columns.data(), values.data()};
    const std::vector<double> w{1.0, 10.0, 100.0};
    const Matrix column = row_major(w.data(), 3, 1, 1);
    double out[3];
    sparse_multiply(x, column, nullptr, out);
    CHECK(out[0] == 502.0 && out[1] == 0.0 && out[2] == 96.0);
    sparse_multiply_transposed(x, column, out);
    CHECK(out[0] == 1602.0 && out[1] == 800.0 && out[2] == 5.0);
    double weight = 0.0;
    double sums[4];
    double scatter[16];
    sparse_moments(x, column, nullptr, {&weight, sums, scatter});
    CHECK(weight == 3.0 && sums[0] == 18.0 && sums[2] == 5.0 && sums[3] == 111.0);
    CHECK(scatter[0] == 260.0 && scatter[2] == 10.0 && scatter[8] == 10.0 && scatter[10] == 25.0 &&
          scatter[3] == 1602.0);
}
