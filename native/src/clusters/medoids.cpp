#include "qed/clusters/medoids.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "qed/machine/parallel.hpp"

namespace qed {
namespace {

constexpr Index kCandidates = 64;  // candidates of a block of work
constexpr double kFar = std::numeric_limits<double>::infinity();

/// One row that enters, one medoid that leaves, or both; and what that changes the cost by.
struct Exchange {
    double change = 0.0;
    Index medoid = -1;
    Index row = -1;
};

class Medoids {
  public:
    Medoids(const MedoidsIn& in, const Index* medoids)
        : in_(in), farthest_(*std::max_element(in.distances, in.distances + in.rows * in.rows)),
          medoids_(medoids, medoids + in.count), place_(size(in.rows), -1), near_(size(in.rows)), second_(size(in.rows)),
          near_far_(size(in.rows)), second_far_(size(in.rows)) {
        for (Index m = 0; m < in.count; ++m) {
            place_[size(medoids[m])] = m;
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
        for (const Index row : medoids_) {
            total += fee(row);
        }
        return total;
    }
    [[nodiscard]] Index label(Index i) const noexcept { return near_[size(i)]; }
    [[nodiscard]] const std::vector<Index>& medoids() const noexcept { return medoids_; }

    /// What each medoid costs when it goes: its rows move on to their second.
    [[nodiscard]] std::vector<double> losses() const {
        std::vector<double> loss(medoids_.size());
        std::transform(medoids_.begin(), medoids_.end(), loss.begin(), [&](Index row) { return -fee(row); });
        for (Index i = 0; i < in_.rows; ++i) {
            loss[size(near_[size(i)])] += weight(i) * (second_far_[size(i)] - near_far_[size(i)]);
        }
        return loss;
    }

    /// The best exchange that a row takes part in.
    [[nodiscard]] Exchange judge(Index row, const std::vector<double>& losses) const {
        const bool is_free = in_.fee != nullptr;
        if (const Index own = place_[size(row)]; own >= 0) {
            return is_free && losses.size() > 1 ? Exchange{losses[size(own)], own, -1} : Exchange{};
        }
        std::vector<double> change = losses;
        double gain = fee(row);
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
        if (is_free && *best >= 0.0) {  // nobody should leave for it
            return {gain, -1, row};
        }
        return {*best + gain, static_cast<Index>(best - change.begin()), row};
    }

    void take(Exchange exchange) {
        if (exchange.row < 0) {
            leave(exchange.medoid);
            return;
        }
        if (exchange.medoid < 0) {
            exchange.medoid = static_cast<Index>(medoids_.size());
            medoids_.push_back(exchange.row);
        } else {
            place_[size(medoids_[size(exchange.medoid)])] = -1;
            medoids_[size(exchange.medoid)] = exchange.row;
        }
        place_[size(exchange.row)] = exchange.medoid;
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
    [[nodiscard]] double fee(Index i) const noexcept { return in_.fee == nullptr ? 0.0 : in_.fee[i]; }

    /// Takes a medoid away; the last one gets its number.
    void leave(Index medoid) {
        const auto last = static_cast<Index>(medoids_.size()) - 1;
        place_[size(medoids_[size(medoid)])] = -1;
        if (medoid < last) {
            medoids_[size(medoid)] = medoids_[size(last)];
            place_[size(medoids_[size(medoid)])] = medoid;
        }
        medoids_.pop_back();
        for (Index i = 0; i < in_.rows; ++i) {
            if (near_[size(i)] == medoid || second_[size(i)] == medoid) {
                look(i);
                continue;
            }
            near_[size(i)] = near_[size(i)] == last ? medoid : near_[size(i)];
            second_[size(i)] = second_[size(i)] == last ? medoid : second_[size(i)];
        }
    }

    /// Finds the two nearest medoids of a row; of equal ones the first. The second of a single medoid is the farthest that
    /// any row can be.
    void look(Index i) noexcept {
        double first = kFar;
        double next = kFar;
        Index near = 0;
        Index second = -1;
        for (std::size_t m = 0; m < medoids_.size(); ++m) {
            const double d = in_.distances[medoids_[m] * in_.rows + i];
            if (d < first) {
                next = first;
                second = near;
                first = d;
                near = static_cast<Index>(m);
            } else if (d < next) {
                next = d;
                second = static_cast<Index>(m);
            }
        }
        near_[size(i)] = near;
        near_far_[size(i)] = first;
        second_[size(i)] = medoids_.size() > 1 ? second : -1;
        second_far_[size(i)] = medoids_.size() > 1 ? next : farthest_;
    }

    const MedoidsIn& in_;
    double farthest_;
    std::vector<Index> medoids_;
    std::vector<Index> place_;  // of a row among the medoids, or -1
    std::vector<Index> near_;
    std::vector<Index> second_;
    std::vector<double> near_far_;
    std::vector<double> second_far_;
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
            best = one.change < best.change ? one : best;
        }
        if (best.change < -1e-13 * out.cost[taken]) {  // less is rounding
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
    std::copy(state.medoids().begin(), state.medoids().end(), out.medoids);
    out.count = static_cast<Index>(state.medoids().size());
    return taken;
}

}  // namespace qed
