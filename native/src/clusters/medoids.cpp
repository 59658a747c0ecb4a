#include "qed/clusters/medoids.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "qed/machine/parallel.hpp"

namespace qed {
namespace {

constexpr Index kCandidates = 64;  // candidates of a block of work
constexpr double kFar = std::numeric_limits<double>::infinity();

/// An exchange, and what it changes the cost by.
struct Exchange {
    double change = 0.0;
    Index medoid = -1;
    Index row = -1;
};

class Medoids {
  public:
    Medoids(const MedoidsIn& in, Index* medoids)
        : in_(in), medoids_(medoids), near_(size(in.rows)), second_(size(in.rows)), near_far_(size(in.rows)),
          second_far_(size(in.rows)), is_medoid_(size(in.rows), 0) {
        for (Index m = 0; m < in.count; ++m) {
            is_medoid_[size(medoids[m])] = 1;
        }
        for (Index i = 0; i < in.rows; ++i) {
            look(i);
        }
    }

    [[nodiscard]] double cost() const noexcept {
        double total = 0.0;
        for (Index i = 0; i < in_.rows; ++i) {
            total += weight(i) * near_far_[size(i)];
        }
        return total;
    }
    [[nodiscard]] Index label(Index i) const noexcept { return near_[size(i)]; }

    /// What each medoid costs when it goes: its rows move on to their second.
    [[nodiscard]] std::vector<double> losses() const {
        std::vector<double> loss(size(in_.count), 0.0);
        for (Index i = 0; i < in_.rows; ++i) {
            loss[size(near_[size(i)])] += weight(i) * (second_far_[size(i)] - near_far_[size(i)]);
        }
        return loss;
    }

    [[nodiscard]] Exchange judge(Index row, const std::vector<double>& losses) const {
        if (is_medoid_[size(row)] != 0) {
            return {};
        }
        std::vector<double> change = losses;
        double gain = 0.0;
        const double* distance = in_.distances + row * in_.rows;
        for (Index i = 0; i < in_.rows; ++i) {
            const double d = distance[i];
            if (d >= second_far_[size(i)]) {
                continue;
            }
            const double first = near_far_[size(i)];
            const double s = weight(i);
            if (d < first) {
                gain += s * (d - first);
                change[size(near_[size(i)])] += s * (first - second_far_[size(i)]);
            } else {
                change[size(near_[size(i)])] += s * (d - second_far_[size(i)]);
            }
        }
        const auto best = std::min_element(change.begin(), change.end());
        return {*best + gain, static_cast<Index>(best - change.begin()), row};
    }

    void take(const Exchange& exchange) {
        is_medoid_[size(medoids_[exchange.medoid])] = 0;
        is_medoid_[size(exchange.row)] = 1;
        medoids_[exchange.medoid] = exchange.row;
        const double* fresh = in_.distances + exchange.row * in_.rows;
        for (Index i = 0; i < in_.rows; ++i) {
            if (near_[size(i)] == exchange.medoid || second_[size(i)] == exchange.medoid) {
                look(i);
            } else if (fresh[i] < near_far_[size(i)]) {
                second_[size(i)] = near_[size(i)];
                second_far_[size(i)] = near_far_[size(i)];
                near_[size(i)] = exchange.medoid;
                near_far_[size(i)] = fresh[i];
            } else if (fresh[i] < second_far_[size(i)]) {
                second_[size(i)] = exchange.medoid;
                second_far_[size(i)] = fresh[i];
            }
        }
    }

  private:
    static std::size_t size(Index i) noexcept { return static_cast<std::size_t>(i); }
    [[nodiscard]] double weight(Index i) const noexcept { return in_.weight == nullptr ? 1.0 : in_.weight[i]; }

    /// Finds the two nearest medoids of a row; of equal ones the first. A single medoid has no second: as far as never.
    void look(Index i) noexcept {
        double first = kFar;
        double next = kFar;
        Index near = 0;
        Index second = -1;
        for (Index m = 0; m < in_.count; ++m) {
            const double d = in_.distances[medoids_[m] * in_.rows + i];
            if (d < first) {
                next = first;
                second = near;
                first = d;
                near = m;
            } else if (d < next) {
                next = d;
                second = m;
            }
        }
        near_[size(i)] = near;
        near_far_[size(i)] = first;
        second_[size(i)] = in_.count > 1 ? second : -1;
        second_far_[size(i)] = in_.count > 1 ? next : 1e300;
    }

    const MedoidsIn& in_;
    Index* medoids_;
    std::vector<Index> near_;
    std::vector<Index> second_;
    std::vector<double> near_far_;
    std::vector<double> second_far_;
    std::vector<char> is_medoid_;
};

}  // namespace

Index swap_medoids(const MedoidsIn& in, MedoidsOut& out) {
    Medoids state(in, out.medoids);
    Index taken = 0;
    out.cost[0] = state.cost();
    out.done = false;
    std::vector<double> losses = state.losses();
    std::vector<Exchange> found(static_cast<std::size_t>(kCandidates));
    Index without = 0;
    const Effort effort(static_cast<double>(kCandidates * in.rows) * 4.0);
    for (Index first = 0; taken < in.most; first = first + kCandidates < in.rows ? first + kCandidates : 0) {
        const Index last = std::min(in.rows, first + kCandidates);
        parallel_for(last - first, [&](Index at) {
            found[static_cast<std::size_t>(at)] = state.judge(first + at, losses);
        });
        Exchange best;
        for (Index at = 0; at < last - first; ++at) {
            const Exchange& one = found[static_cast<std::size_t>(at)];
            best = one.medoid >= 0 && one.change < best.change ? one : best;
        }
        if (best.medoid >= 0 && best.change < -1e-13 * out.cost[taken]) {  // less is rounding
            state.take(best);
            losses = state.losses();
            out.cost[++taken] = state.cost();
            without = 0;
        }
        without += last - first;
        if (without >= in.rows + kCandidates) {
            out.done = true;
            break;
        }
    }
    for (Index i = 0; i < in.rows; ++i) {
        out.label[i] = state.label(i);
    }
    return taken;
}

}  // namespace qed
