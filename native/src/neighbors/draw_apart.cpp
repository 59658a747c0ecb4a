#include <algorithm>
#include <cmath>
#include <vector>

#include "qed/neighbors/nearest.hpp"
#include "qed/neighbors/prepared_centres.hpp"

namespace qed {
namespace {

/// Draws rows with probability in proportion to their chance; found by blocks, so that little is summed twice.
class Urn {
  public:
    template <class Chance>
    Urn(Index rows, const Chance& chance) : rows_(rows), ends_(static_cast<std::size_t>(blocks_of(rows, kBlock))) {
        parallel_for(static_cast<Index>(ends_.size()), [&](Index block) {
            double sum = 0.0;
            for (Index i = block * kBlock; i < std::min(rows, (block + 1) * kBlock); ++i) {
                sum += chance(i);
            }
            ends_[static_cast<std::size_t>(block)] = sum;
        });
        for (std::size_t block = 1; block < ends_.size(); ++block) {
            ends_[block] += ends_[block - 1];
        }
    }

    template <class Chance>
    [[nodiscard]] Index draw(double uniform, const Chance& chance) const noexcept {
        const double mark = uniform * ends_.back();
        const auto last = static_cast<Index>(ends_.size()) - 1;
        const Index block =
            std::min(last, static_cast<Index>(std::upper_bound(ends_.begin(), ends_.end(), mark) - ends_.begin()));
        double sum = block == 0 ? 0.0 : ends_[static_cast<std::size_t>(block - 1)];
        Index found = 0;
        for (Index i = block * kBlock; i < std::min(rows_, (block + 1) * kBlock); ++i) {
            const double own = chance(i);
            sum += own;
            found = own > 0.0 ? i : found;  // the last possible one where rounding leaves the mark beyond all
            if (sum > mark && own > 0.0) {
                break;
            }
        }
        return found;
    }

  private:
    static constexpr Index kBlock = 4096;
    Index rows_;
    std::vector<double> ends_;
};

}  // namespace

void draw_apart(const SeedingIn& in, Index* found) {
    const Index n = in.x.rows();
    const Index p = in.x.columns();
    const PreparedCentres reader(in.x, CentresIn{nullptr, nullptr, 0});
    const auto weight = [&](Index i) { return in.s == nullptr ? 1.0 : in.s[i]; };
    const Urn by_weight(n, weight);
    std::vector<double> candidates(static_cast<std::size_t>(in.trials * p));
    std::vector<double> half(static_cast<std::size_t>(in.trials));
    std::vector<double> totals(static_cast<std::size_t>(in.trials));
    std::vector<Index> tried(static_cast<std::size_t>(in.trials));
    const ScratchArray<double> closest(n);
    const ScratchArray<double> near(in.trials * n);
    const double* uniform = in.uniforms;
    const auto look = [&](Index count, const double* before) {
        std::fill(candidates.begin(), candidates.end(), 0.0);
        for (Index l = 0; l < count; ++l) {
            reader.copy(tried[static_cast<std::size_t>(l)], candidates.data() + l * p);
        }
        halve_squares(candidates.data(), count, p, half.data());
        approach(in.x, in.squares, in.s, {candidates.data(), half.data(), count}, before, near.get(), totals.data());
        const auto best = std::min_element(totals.begin(), totals.begin() + count) - totals.begin();
        std::copy_n(near.get() + best * n, n, closest.get());
        return best;
    };
    tried[0] = found[0] = by_weight.draw(*uniform++, weight);
    double left = in.k > 1 ? totals[static_cast<std::size_t>(look(1, nullptr))] : 0.0;
    for (Index j = 1; j < in.k; ++j, uniform += in.trials) {
        if (!(left > 0.0)) {  // fewer distinct rows than are wanted: all are taken already
            found[j] = by_weight.draw(*uniform, weight);
            continue;
        }
        const auto chance = [&](Index i) {
            return (in.power == 2.0 ? closest[i] : std::pow(closest[i], 0.5 * in.power)) * weight(i);
        };
        const Urn urn(n, chance);
        for (Index l = 0; l < in.trials; ++l) {
            tried[static_cast<std::size_t>(l)] = urn.draw(uniform[l], chance);
        }
        const auto best = static_cast<std::size_t>(look(in.trials, closest.get()));
        found[j] = tried[best];
        left = totals[best];
    }
}

}  // namespace qed
