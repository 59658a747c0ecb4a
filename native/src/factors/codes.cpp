#include "qed/factors/codes.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include "qed/machine/parallel.hpp"

namespace qed {
namespace {

constexpr Index kBlock = 64;  // rows of a block: a fraction of a millisecond for dozens of entries, and shared evenly

Index blocks_of(Index rows) noexcept {
    return (rows + kBlock - 1) / kBlock;
}

/// One coordinate: the minimiser of a w² / 2 - b w + lasso |w|.
double shrunk(double b, double lasso, double a, bool positive) noexcept {
    if (b > lasso) {
        return (b - lasso) / a;
    }
    return positive || b >= -lasso ? 0.0 : (b + lasso) / a;
}

/// Sweeps over one row; true if it came to rest. `slope` (k,) holds G w - p on entry and changes with w.
bool sweep_row(const CodeProblem& problem, double enough, Index sweeps, double* w, double* slope) noexcept {
    const Index k = problem.width;
    for (Index sweep = 0; sweep < sweeps; ++sweep) {
        double gained = 0.0;
        for (Index j = 0; j < k; ++j) {
            const double* column = problem.gram + j * k;
            const double a = column[j] + problem.ridge;
            if (!(a > 0.0)) {
                w[j] = 0.0;  // an entry that nothing depends on
                continue;
            }
            const double before = w[j];
            const double after = shrunk(column[j] * before - slope[j], problem.lasso, a, problem.positive);
            const double step = after - before;
            if (step != 0.0) {
                w[j] = after;
                for (Index l = 0; l < k; ++l) {
                    slope[l] += step * column[l];
                }
                gained += 0.5 * a * step * step;
            }
        }
        if (gained <= enough) {
            return true;
        }
    }
    return false;
}

/// A growing Cholesky factor of the chosen entries, and solutions with it.
class Pursuit {
  public:
    Pursuit(const CodeProblem& problem, Index most)
        : problem_(problem),
          most_(most),
          factor_(static_cast<std::size_t>(most * most)),
          half_(static_cast<std::size_t>(most)),
          value_(static_cast<std::size_t>(most)),
          chosen_(static_cast<std::size_t>(most)),
          slope_(static_cast<std::size_t>(problem.width)) {}

    void run(const double* right, double square, double tolerance, double* w) {
        const Index k = problem_.width;
        std::copy_n(right, k, slope_.data());
        std::fill_n(w, k, 0.0);
        Index count = 0;
        double left = square;
        while (count < most_ && left > tolerance) {
            const Index next = strongest(count);
            if (next < 0 || !grow(next, count, right)) {
                break;
            }
            left = square - squared_half(++count);
            solve(count);
            for (Index l = 0; l < k; ++l) {
                slope_[static_cast<std::size_t>(l)] = right[l];
            }
            for (Index s = 0; s < count; ++s) {
                const double* row = problem_.gram + chosen(s) * k;
                const double by = value_[static_cast<std::size_t>(s)];
                for (Index l = 0; l < k; ++l) {
                    slope_[static_cast<std::size_t>(l)] -= by * row[l];
                }
            }
        }
        for (Index s = 0; s < count; ++s) {
            w[chosen(s)] = value_[static_cast<std::size_t>(s)];
        }
    }

  private:
    [[nodiscard]] Index chosen(Index s) const noexcept { return chosen_[static_cast<std::size_t>(s)]; }
    [[nodiscard]] double& at(Index i, Index j) noexcept { return factor_[static_cast<std::size_t>(i * most_ + j)]; }

    [[nodiscard]] Index strongest(Index count) const noexcept {
        Index best = -1;
        double size = 0.0;
        for (Index l = 0; l < problem_.width; ++l) {
            const double here = std::abs(slope_[static_cast<std::size_t>(l)]);
            if (here > size && std::find(chosen_.begin(), chosen_.begin() + count, l) == chosen_.begin() + count) {
                best = l;
                size = here;
            }
        }
        return best;
    }

    bool grow(Index next, Index count, const double* right) noexcept {
        const double* row = problem_.gram + next * problem_.width;
        double rest = row[next];
        double half = right[next];
        for (Index i = 0; i < count; ++i) {
            double sum = row[chosen(i)];
            for (Index j = 0; j < i; ++j) {
                sum -= at(i, j) * at(count, j);
            }
            at(count, i) = sum / at(i, i);
            rest -= at(count, i) * at(count, i);
            half -= at(count, i) * half_[static_cast<std::size_t>(i)];
        }
        if (!(rest > 1e-14 * row[next])) {
            return false;
        }
        at(count, count) = std::sqrt(rest);
        half_[static_cast<std::size_t>(count)] = half / at(count, count);
        chosen_[static_cast<std::size_t>(count)] = next;
        return true;
    }

    [[nodiscard]] double squared_half(Index count) const noexcept {
        double sum = 0.0;
        for (Index i = 0; i < count; ++i) {
            sum += half_[static_cast<std::size_t>(i)] * half_[static_cast<std::size_t>(i)];
        }
        return sum;
    }

    void solve(Index count) noexcept {
        for (Index i = count - 1; i >= 0; --i) {
            double sum = half_[static_cast<std::size_t>(i)];
            for (Index j = i + 1; j < count; ++j) {
                sum -= at(j, i) * value_[static_cast<std::size_t>(j)];
            }
            value_[static_cast<std::size_t>(i)] = sum / at(i, i);
        }
    }

    const CodeProblem& problem_;
    Index most_;
    std::vector<double> factor_;
    std::vector<double> half_;
    std::vector<double> value_;
    std::vector<Index> chosen_;
    std::vector<double> slope_;
};

}  // namespace

Index code_rows(const CodeProblem& problem, const double* enough, Index sweeps, double* w) {
    const Index k = problem.width;
    const double work = static_cast<double>(problem.rows) * static_cast<double>(k) * static_cast<double>(k);
    const Effort effort(4.0 * work);
    std::atomic<Index> unfinished{0};
    parallel_for(blocks_of(problem.rows), [&](Index block) {
        std::vector<double> slope(static_cast<std::size_t>(k));
        const Index end = std::min(problem.rows, (block + 1) * kBlock);
        for (Index i = block * kBlock; i < end; ++i) {
            double* own = w + i * k;
            const double* right = problem.right + i * k;
            for (Index l = 0; l < k; ++l) {
                slope[static_cast<std::size_t>(l)] = -right[l];
            }
            for (Index j = 0; j < k; ++j) {
                if (own[j] != 0.0) {
                    const double* column = problem.gram + j * k;
                    for (Index l = 0; l < k; ++l) {
                        slope[static_cast<std::size_t>(l)] += own[j] * column[l];
                    }
                }
            }
            if (!sweep_row(problem, enough[i], sweeps, own, slope.data())) {
                unfinished.fetch_add(1, std::memory_order_relaxed);
            }
        }
    });
    return unfinished.load();
}

void pursue_rows(const CodeProblem& problem, const double* squares, Index most, double tolerance, double* w) {
    const Index k = problem.width;
    const Effort effort(4.0 * static_cast<double>(problem.rows) * static_cast<double>(k) * static_cast<double>(most));
    parallel_for(blocks_of(problem.rows), [&](Index block) {
        Pursuit pursuit(problem, most);
        const Index end = std::min(problem.rows, (block + 1) * kBlock);
        for (Index i = block * kBlock; i < end; ++i) {
            pursuit.run(problem.right + i * k, squares[i], tolerance, w + i * k);
        }
    });
}

}  // namespace qed
