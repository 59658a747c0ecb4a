#include <algorithm>
#include <vector>

#include "qed/factors/codes.hpp"
#include "qed/machine/parallel.hpp"
#include "qed/machine/scratch.hpp"
#include "qed/machine/simd.hpp"

namespace qed {
namespace {

using V = Vector<double>;
constexpr Index kWide = kLanes<double>;
constexpr Index kBlock = 64;  // rows: a fraction of a millisecond for dozens of entries, and shared evenly

V above_zero(V value) noexcept {
    return value > 0.0 ? value : V{};
}

/// As many rows as a vector has lanes, turned: entry j of all of them is one vector, and a step along it one operation.
class RowsInLanes {
  public:
    explicit RowsInLanes(const CodeProblem& problem)
        : problem_(problem),
          right_(problem.width * kWide),
          w_(problem.width * kWide),
          slope_(problem.width * kWide),
          inverse_(problem.width) {
        for (Index j = 0; j < problem.width; ++j) {
            const double a = problem.gram[j * problem.width + j] + problem.ridge;
            inverse_[j] = a > 0.0 ? 1.0 / a : 0.0;
        }
    }

    /// Takes rows from w (count, k) on, and what they begin with. Lanes beyond them hold zeros and stay there.
    void take_rows(Index first, Index count, const double* w) noexcept {
        const Index k = problem_.width;
        std::fill_n(right_.get(), k * kWide, 0.0);
        std::fill_n(w_.get(), k * kWide, 0.0);
        for (Index lane = 0; lane < count; ++lane) {
            const Index row = (first + lane) * k;
            for (Index j = 0; j < k; ++j) {
                right_[j * kWide + lane] = problem_.right[row + j];
                w_[j * kWide + lane] = w[row + j];
            }
        }
        for (Index j = 0; j < k; ++j) {
            store(slope_.get() + j * kWide, -at(right_, j));
        }
        for (Index j = 0; j < k; ++j) {
            add_column(j, at(w_, j));
        }
    }

    void put_rows(Index first, Index count, double* w) const noexcept {
        const Index k = problem_.width;
        for (Index lane = 0; lane < count; ++lane) {
            for (Index j = 0; j < k; ++j) {
                w[(first + lane) * k + j] = w_[j * kWide + lane];
            }
        }
    }

    void sweep() noexcept {
        for (Index j = 0; j < problem_.width; ++j) {
            const V before = at(w_, j);
            const V after = best(j, before);
            store(w_.get() + j * kWide, after);
            add_column(j, after - before);
        }
    }

    /// What entries gain when each alone goes to its best place.
    [[nodiscard]] double single_steps() const noexcept {
        V gain{};
        for (Index j = 0; j < problem_.width; ++j) {
            if (inverse_[j] > 0.0) {
                const V before = at(w_, j);
                const V step = before - best(j, before);
                gain += above_zero((gradient(j, before) - (0.5 / inverse_[j]) * step) * step);
            }
        }
        return sum_lanes(gain);
    }

    [[nodiscard]] double value() const noexcept {
        V value{};
        for (Index j = 0; j < problem_.width; ++j) {
            const V w = at(w_, j);
            value += w * (0.5 * (at(slope_, j) - at(right_, j) + problem_.ridge * w) + problem_.lasso);
        }
        return sum_lanes(value);
    }

  private:
    static V at(const ScratchArray<double>& from, Index j) noexcept { return load(from.get() + j * kWide); }

    [[nodiscard]] V gradient(Index j, V w) const noexcept {
        return at(slope_, j) + problem_.lasso + problem_.ridge * w;
    }

    /// Where the objective is least along an entry; zero where nothing depends on it.
    [[nodiscard]] V best(Index j, V w) const noexcept {
        return inverse_[j] > 0.0 ? above_zero(w - gradient(j, w) * inverse_[j]) : V{};
    }

    void add_column(Index j, V step) noexcept {
        const double* column = problem_.gram + j * problem_.width;
        double* slope = slope_.get();
        for (Index l = 0; l < problem_.width; ++l) {
            store(slope + l * kWide, load(slope + l * kWide) + step * column[l]);
        }
    }

    const CodeProblem& problem_;
    ScratchArray<double> right_;
    ScratchArray<double> w_;
    ScratchArray<double> slope_;
    ScratchArray<double> inverse_;
};

}  // namespace

CodeTally sweep_rows(const CodeProblem& problem, Index sweeps, double* w) {
    const Index blocks = (problem.rows + kBlock - 1) / kBlock;
    const double steps = static_cast<double>(problem.rows) * static_cast<double>(problem.width);
    const Effort effort((static_cast<double>(sweeps) + 1.0) * steps * static_cast<double>(problem.width));
    std::vector<CodeTally> parts(static_cast<std::size_t>(blocks), CodeTally{0, 0.0, 0.0});
    parallel_for(blocks, [&](Index block) {
        RowsInLanes lanes(problem);
        CodeTally& part = parts[static_cast<std::size_t>(block)];
        const Index end = std::min(problem.rows, (block + 1) * kBlock);
        for (Index first = block * kBlock; first < end; first += kWide) {
            const Index count = std::min(kWide, end - first);
            lanes.take_rows(first, count, w);
            part.gain += lanes.single_steps();
            for (Index round = 0; round < sweeps; ++round) {
                lanes.sweep();
            }
            part.value += lanes.value();
            lanes.put_rows(first, count, w);
        }
    });
    CodeTally all{problem.rows, 0.0, 0.0};
    for (const CodeTally& part : parts) {
        all.value += part.value;
        all.gain += part.gain;
    }
    return all;
}

}  // namespace qed
