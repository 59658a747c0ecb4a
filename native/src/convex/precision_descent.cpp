#include "qed/convex/precision_descent.hpp"

#include <cmath>
#include <vector>

#include "qed/dense/numbers.hpp"

namespace qed {

void precision_descent(const double* S, const double* T, const double* W, double alpha, Index p, Index sweeps, double* D) {
    std::vector<Index> free, first;  // columns j >= i of row i that may move
    for (Index i = 0; i < p; ++i) {
        first.push_back(static_cast<Index>(free.size()));
        for (Index j = i; j < p; ++j) {
            const Index at = i * p + j;
            if (i == j || T[at] != 0.0 || std::abs(S[at] - W[at]) > alpha) {
                free.push_back(j);
            }
        }
    }
    first.push_back(static_cast<Index>(free.size()));
    std::vector<double> product(static_cast<std::size_t>(p * p), 0.0), column(static_cast<std::size_t>(p));
    double* U = product.data();  // D W
    double* c = column.data();   // its column i
    for (Index sweep = 0; sweep < sweeps; ++sweep) {
        double moved = 0.0, size = 0.0;
        for (Index i = 0; i < p; ++i) {
            const double* wi = W + i * p;
            double* ui = U + i * p;
            for (Index k = 0; k < p; ++k) {
                c[k] = U[k * p + i];
            }
            for (Index place = first[static_cast<std::size_t>(i)]; place < first[static_cast<std::size_t>(i) + 1]; ++place) {
                const Index j = free[static_cast<std::size_t>(place)];
                const Index at = i * p + j;
                const double* wj = W + j * p;
                const double slope = S[at] - W[at] + dot(c, wj, p);
                double step = -slope / (wi[i] * wi[i]);
                if (i != j) {
                    const double bend = wi[j] * wi[j] + wi[i] * wj[j];
                    const double here = T[at] + D[at], there = here - slope / bend;
                    const double shrunk = std::abs(there) - alpha / bend;
                    step = (shrunk > 0.0 ? std::copysign(shrunk, there) : 0.0) - here;
                }
                if (step != 0.0) {
                    D[at] += step;
                    for (Index k = 0; k < p; ++k) {
                        ui[k] += step * wj[k];
                    }
                    c[i] += step * wj[i];
                    if (i != j) {
                        D[j * p + i] += step;
                        double* uj = U + j * p;
                        for (Index k = 0; k < p; ++k) {
                            uj[k] += step * wi[k];
                        }
                        c[j] += step * wi[i];
                    }
                }
                moved += std::abs(step);
                size += std::abs(D[at]);
            }
        }
        if (moved <= 0.01 * size) {
            break;
        }
    }
}

}  // namespace qed
