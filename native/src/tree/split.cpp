#include "qed/tree/split.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "qed/dense/numbers.hpp"
#include "qed/tree/node.hpp"

namespace qed {
namespace {

double xlogx(double x) noexcept {
    return x > 0.0 ? x * std::log(x) : 0.0;
}

template <bool kWeighted>
double weight_of(const SplitView& node, std::uint32_t place) noexcept {
    if constexpr (kWeighted) {
        return node.weights[place];
    } else {
        return 1.0;
    }
}

/// Sums of one number a row: squares of numbers, and two classes by their Gini impurity.
template <bool kWeighted>
struct Sum {
    const SplitView& node;
    double total, sum = 0.0, left = 0.0;

    explicit Sum(const SplitView& view) : node(view), total(view.totals[0]) {}
    void add(std::uint32_t place) noexcept {
        sum += node.pulls[place];
        left += weight_of<kWeighted>(node, place);
    }
    void add_bin(const double* sums) noexcept {
        sum += sums[0];
        left += sums[1];
    }
    [[nodiscard]] double apart() const noexcept { return sum * node.weight - total * left; }
    [[nodiscard]] bool beats(double bar) const noexcept {
        return apart() * apart() >
               bar * left * (node.weight - left) * node.weight;  // without a division, most of the time
    }
    [[nodiscard]] SideValues values() const noexcept {
        return {node.origin + sum / left, node.origin + (total - sum) / (node.weight - left)};
    }
    [[nodiscard]] double gain() const noexcept {
        return apart() * apart() / (left * (node.weight - left) * node.weight);
    }
};

/// Sums of several numbers a row.
struct Sums {
    const SplitView& node;
    double left = 0.0;
    std::vector<double> sums;

    explicit Sums(const SplitView& view) : node(view), sums(at(view.width), 0.0) {}
    void add(std::uint32_t place) noexcept {
        const double* own = node.pulls + static_cast<Index>(place) * node.width;
        for (Index k = 0; k < node.width; ++k) {
            sums[at(k)] += own[k];
        }
        left += node.weights != nullptr ? node.weights[place] : 1.0;
    }
    void add_bin(const double* own) noexcept {
        for (Index k = 0; k < node.width; ++k) {
            sums[at(k)] += own[k];
        }
        left += own[node.width];
    }
    [[nodiscard]] double gain() const noexcept {
        double squares = 0.0;
        for (Index k = 0; k < node.width; ++k) {
            const double apart = sums[at(k)] * node.weight - node.totals[k] * left;
            squares += apart * apart;
        }
        return squares / (left * (node.weight - left) * node.weight);
    }
    [[nodiscard]] bool beats(double bar) const noexcept { return gain() > bar; }
};

/// Weights of classes on both sides. Moving a row changes one term of each sum of squares.
template <bool kWeighted>
struct Shares {
    const SplitView& node;
    double left = 0.0, left_squares = 0.0, right_squares = 0.0, all_squares = 0.0;
    std::vector<double> sides;  // left, then right

    explicit Shares(const SplitView& view) : node(view), sides(at(2 * view.width), 0.0) {
        for (Index k = 0; k < view.width; ++k) {
            sides[at(view.width + k)] = view.totals[k];
            all_squares += view.totals[k] * view.totals[k];
        }
        right_squares = all_squares;
    }
    void add(std::uint32_t place) noexcept {
        move(static_cast<Index>(node.codes[place]), weight_of<kWeighted>(node, place));
    }
    void add_bin(const double* weights) noexcept {
        for (Index k = 0; k < node.width; ++k) {
            move(k, weights[k]);
        }
    }
    void move(Index k, double w) noexcept {
        double& here = sides[at(k)];
        double& there = sides[at(node.width + k)];
        left_squares += w * (2.0 * here + w);
        right_squares -= w * (2.0 * there - w);
        here += w;
        there -= w;
        left += w;
    }
    [[nodiscard]] bool beats(double bar) const noexcept {
        const double right = node.weight - left;
        return left_squares * right + right_squares * left > (bar + all_squares / node.weight) * left * right;
    }
    [[nodiscard]] SideValues values() const noexcept {
        return {sides[1] / left, sides[at(node.width + 1)] / (node.weight - left)};
    }
    [[nodiscard]] double gain() const noexcept {
        return left_squares / left + right_squares / (node.weight - left) - all_squares / node.weight;
    }
};

/// The same of k log k, whose values for whole numbers are looked up; other weights are taken as shares of the node, or
/// their logarithms would add digits that cancel.
template <bool kWeighted, bool kWhole>
struct Logarithms {
    const SplitView& node;
    double left = 0.0, left_terms = 0.0, right_terms = 0.0, all_terms = 0.0;
    std::vector<double> sides;

    explicit Logarithms(const SplitView& view) : node(view), sides(at(2 * view.width), 0.0) {
        for (Index k = 0; k < view.width; ++k) {
            sides[at(view.width + k)] = view.totals[k];
            all_terms += term(view.totals[k]);
        }
        right_terms = all_terms;
    }
    [[nodiscard]] double term(double x) const noexcept {
        if constexpr (kWhole) {
            return node.xlogx[static_cast<Index>(x)];
        } else {
            return node.weight * xlogx(x / node.weight);
        }
    }
    void add(std::uint32_t place) noexcept {
        move(static_cast<Index>(node.codes[place]), weight_of<kWeighted>(node, place));
    }
    void add_bin(const double* weights) noexcept {
        for (Index k = 0; k < node.width; ++k) {
            move(k, weights[k]);
        }
    }
    void move(Index k, double w) noexcept {
        double& here = sides[at(k)];
        double& there = sides[at(node.width + k)];
        left_terms += term(here + w) - term(here);
        right_terms += term(there - w) - term(there);
        here += w;
        there -= w;
        left += w;
    }
    [[nodiscard]] SideValues values() const noexcept {
        return {sides[1] / left, sides[at(node.width + 1)] / (node.weight - left)};
    }
    [[nodiscard]] double gain() const noexcept {
        const double parts = (left_terms - term(left)) + (right_terms - term(node.weight - left));
        return parts - (all_terms - term(node.weight));
    }
    [[nodiscard]] bool beats(double bar) const noexcept { return gain() > bar; }
};

/// Weights that are not of the heaviest class of their side.
template <bool kWeighted>
struct Errors {
    const SplitView& node;
    double left = 0.0, all_top = 0.0;
    std::vector<double> sides;  // left, then right

    explicit Errors(const SplitView& view) : node(view), sides(at(2 * view.width), 0.0) {
        for (Index k = 0; k < view.width; ++k) {
            sides[at(view.width + k)] = view.totals[k];
            all_top = std::max(all_top, view.totals[k]);
        }
    }
    void add(std::uint32_t place) noexcept {
        move(static_cast<Index>(node.codes[place]), weight_of<kWeighted>(node, place));
    }
    void add_bin(const double* weights) noexcept {
        for (Index k = 0; k < node.width; ++k) {
            move(k, weights[k]);
        }
    }
    void move(Index k, double w) noexcept {
        sides[at(k)] += w;
        sides[at(node.width + k)] -= w;
        left += w;
    }
    [[nodiscard]] SideValues values() const noexcept {
        return {sides[1] / left, sides[at(node.width + 1)] / (node.weight - left)};
    }
    [[nodiscard]] double gain() const noexcept {
        const auto middle = sides.begin() + node.width;
        return *std::max_element(sides.begin(), middle) + *std::max_element(middle, sides.end()) - all_top;
    }
    [[nodiscard]] bool beats(double bar) const noexcept { return gain() > bar; }
};

/// Half the Poisson deviance of the means of both sides from that of the node; a side without events deviates fully.
struct Deviance {
    const SplitView& node;
    double sum = 0.0, left = 0.0;

    explicit Deviance(const SplitView& view) : node(view) {}
    void add(std::uint32_t place) noexcept {
        sum += node.pulls[place];
        left += node.weights != nullptr ? node.weights[place] : 1.0;
    }
    void add_bin(const double* sums) noexcept {
        sum += sums[0];
        left += sums[1];
    }
    [[nodiscard]] SideValues values() const noexcept {
        return {node.origin + sum / left, node.origin + (node.totals[0] - sum) / (node.weight - left)};
    }
    [[nodiscard]] double gain() const noexcept {
        const double right = node.weight - left;
        const double here = sum / (left * node.mean);
        const double there = (node.totals[0] - sum) / (right * node.mean);
        return node.mean * (left * deviance_of(here) + right * deviance_of(there));
    }
    [[nodiscard]] bool beats(double bar) const noexcept { return gain() > bar; }
};

/// Absolute errors about the median of the rows that were added, from sums over ranks of targets.
class Median {
  public:
    explicit Median(const SplitView& node) : node_(node), sums_(at(2 * (node.count + 1)), 0.0) {
        while (2 * top_ <= node.count) {
            top_ *= 2;
        }
    }
    void add(std::uint32_t place) noexcept {
        const double w = node_.weights != nullptr ? node_.weights[place] : 1.0;
        const auto rank = static_cast<Index>(node_.order[place]);
        weight_ += w;
        sum_ += w * node_.targets[rank];
        for (Index k = rank + 1; k <= node_.count; k += k & -k) {
            sums_[at(2 * k)] += w;
            sums_[at(2 * k + 1)] += w * node_.targets[rank];
        }
    }
    [[nodiscard]] double weight() const noexcept { return weight_; }
    [[nodiscard]] double error() const noexcept {
        Index rank = 0;
        double below = 0.0;
        double sum = 0.0;
        for (Index step = top_; step > 0; step /= 2) {
            if (rank + step <= node_.count && 2.0 * (below + sums_[at(2 * (rank + step))]) < weight_) {
                rank += step;
                below += sums_[at(2 * rank)];
                sum += sums_[at(2 * rank + 1)];
            }
        }
        const double median = node_.targets[std::min(rank, node_.count - 1)];
        return std::max((sum_ - sum) - median * (weight_ - below) + median * below - sum, 0.0);
    }

  private:
    const SplitView& node_;
    std::vector<double> sums_;  // weights and weighted targets, each over the ranks that its number's last bit spans
    double weight_ = 0.0, sum_ = 0.0;
    Index top_ = 1;
};

/// The place of the row that a walk from left to right meets as number i.
std::uint32_t place_of(const TreeEntry* entries, Index known, Index count, bool missing_left, Index i) noexcept {
    const Index missing = count - known;
    return entries[missing_left ? (i < missing ? known + i : i - missing) : i].place;
}

/// Sums of weights that differ by orders of magnitude, of each side from its own end: a light side found by subtracting
/// a heavy one from the whole would be the rounding of that one.
struct Uneven {
    const SplitView& node;
    Index width;
    std::vector<double> sums;  // of the left side
    std::vector<double> rest;  // width sums and the weight of what lies right of each row
    Index added = 0;
    double left = 0.0;

    explicit Uneven(const SplitView& view) : node(view), width(view.width), sums(at(view.width), 0.0) {}
    void look_back(const TreeEntry* entries, Index known, bool missing_left) {
        rest.assign(at((node.count + 1) * (width + 1)), 0.0);
        for (Index i = node.count; i-- > 0;) {
            double* const own = rest.data() + i * (width + 1);
            std::copy_n(own + width + 1, width + 1, own);
            own[width] += put(place_of(entries, known, node.count, missing_left, i), own);
        }
    }
    void add(std::uint32_t place) noexcept {
        left += put(place, sums.data());
        ++added;
    }
    [[nodiscard]] SideValues values() const noexcept {
        const double* const others = rest.data() + added * (width + 1);
        return {node.origin + sums[0] / left, node.origin + others[0] / others[width]};
    }
    [[nodiscard]] double gain() const noexcept {
        const double* const others = rest.data() + added * (width + 1);
        const double right = others[width];
        if (node.criterion == Criterion::poisson) {
            return node.mean * (left * deviance_of(sums[0] / (left * node.mean)) +
                                right * deviance_of(others[0] / (right * node.mean)));
        }
        double squares = 0.0;
        for (Index k = 0; k < width; ++k) {
            const double apart = sums[at(k)] * (right / node.weight) - others[k] * (left / node.weight);
            squares += apart * apart;
        }
        return squares * (node.weight / left) / right;
    }
    [[nodiscard]] bool beats(double bar) const noexcept { return gain() > bar; }

  private:
    /// Adds a row to the sums of a side; returns its weight.
    double put(std::uint32_t place, double* side) const noexcept {
        const double weight = node.weights[place];
        if (node.criterion == Criterion::gini) {
            side[node.codes[place]] += weight;
        } else {
            const double* const own = node.pulls + static_cast<Index>(place) * width;
            for (Index k = 0; k < width; ++k) {
                side[k] += own[k];
            }
        }
        return weight;
    }
};

/// Errors of the right sides come from a walk backwards, made before.
struct Absolute {
    const SplitView& node;
    Median side;
    std::vector<double> rest;
    Index added = 0;
    double left = 0.0;

    explicit Absolute(const SplitView& view) : node(view), side(view) {}
    void look_back(const TreeEntry* entries, Index known, bool missing_left) {
        rest.assign(at(node.count + 1), 0.0);
        Median back(node);
        for (Index i = node.count; i-- > 0;) {
            back.add(place_of(entries, known, node.count, missing_left, i));
            rest[at(i)] = back.error();
        }
    }
    void add(std::uint32_t place) noexcept {
        side.add(place);
        ++added;
        left = side.weight();
    }
    [[nodiscard]] double gain() const noexcept { return std::max(node.scale - side.error() - rest[at(added)], 0.0); }
    [[nodiscard]] bool beats(double bar) const noexcept { return gain() > bar; }
};

/// Whether a direction allows the cut; absolute errors and several targets have none.
template <class State>
bool is_allowed(const State& state, const SplitRule& rule) noexcept {
    if constexpr (requires { state.values(); }) {
        return rule.direction == 0 || rule.allows(state.values());
    }
    return true;
}

template <class State>
State started(const SplitView& node, const TreeEntry* entries, Index known, bool missing_left) {
    State state(node);
    if constexpr (requires { state.look_back(entries, known, missing_left); }) {
        state.look_back(entries, known, missing_left);
    }
    if (missing_left) {
        for (Index i = known; i < node.count; ++i) {
            state.add(entries[i].place);
        }
    }
    return state;
}

template <class State>
TreeCut search(const SplitView& node, const SplitRule& rule, const TreeEntry* entries) {
    const Index missing = count_missing(entries, node.count);
    const Index known = node.count - missing;
    TreeCut best;
    double bar = -std::numeric_limits<double>::infinity();
    for (int side = 0; side < (missing > 0 ? 2 : 1); ++side) {
        const bool missing_left = side == 1;
        const Index before = missing_left ? missing : 0;
        State state = started<State>(node, entries, known, missing_left);
        // a cut behind the last known value parts it from the missing ones
        const Index last = std::min(missing > 0 && !missing_left ? known : known - 1, node.count - rule.leaf - before);
        for (Index i = 0; i < last; ++i) {
            state.add(entries[i].place);
            if (entries[i].rank == entries[i + 1].rank || i + 1 + before < rule.leaf || !state.beats(bar)) {
                continue;
            }
            if (state.left < rule.leaf_weight || std::max(node.weight - state.left, 0.0) < rule.leaf_weight ||
                !is_allowed(state, rule)) {
                continue;
            }
            const double gain = state.gain();
            best = {std::max(gain, 0.0), i + 1, missing_left};
            bar = best.gain + beyond_rounding(best.gain, node.scale);
        }
    }
    return best;
}

template <class State>
TreeCut evaluate(const SplitView& node, const SplitRule& rule, const TreeEntry* entries, Index known,
                 bool missing_left) {
    const Index missing = count_missing(entries, node.count);
    const Index left = known + (missing_left ? missing : 0);
    if (left < rule.leaf || node.count - left < rule.leaf) {
        return {};
    }
    State state = started<State>(node, entries, node.count - missing, missing_left);
    for (Index i = 0; i < known; ++i) {
        state.add(entries[i].place);
    }
    if (state.left < rule.leaf_weight || std::max(node.weight - state.left, 0.0) < rule.leaf_weight ||
        !is_allowed(state, rule)) {
        return {};
    }
    return {std::max(state.gain(), 0.0), known, missing_left};
}

/// What a cut through bins gains; missing values are in the last of kPlaces bins, and go left first.
template <class State>
TreeCut search_bins(const SplitView& node, const SplitRule& rule, const BinSums& bins) {
    const Index missing = bins.counts[bins.missing];
    TreeCut best;
    double bar = -std::numeric_limits<double>::infinity();
    for (int side = 0; side < (missing > 0 ? 2 : 1); ++side) {
        const bool missing_left = side == 1;
        State state(node);
        Index before = 0;
        if (missing_left) {
            state.add_bin(bins.sums + bins.missing * bins.width);
            before = missing;
        }
        for (Index k = 0; k < bins.many; ++k) {
            const auto bin = static_cast<Index>(bins.filled[k]);
            state.add_bin(bins.sums + bin * bins.width);
            before += bins.counts[bin];
            if (before >= node.count || node.count - before < rule.leaf) {
                break;
            }
            if (before < rule.leaf || !state.beats(bar) || state.left < rule.leaf_weight ||
                node.weight - state.left < rule.leaf_weight || !is_allowed(state, rule)) {
                continue;
            }
            const double gain = state.gain();
            best = {std::max(gain, 0.0), bin, missing_left};
            bar = best.gain + beyond_rounding(best.gain, node.scale);
        }
    }
    return best;
}

/// What it gains to send some places to the left.
template <class State>
TreeCut weigh(const SplitView& node, const SplitRule& rule, const std::uint32_t* lefts, Index count) {
    if (count < rule.leaf || node.count - count < rule.leaf) {
        return {};
    }
    State state(node);
    for (Index i = 0; i < count; ++i) {
        state.add(lefts[i]);
    }
    if (state.left < rule.leaf_weight || node.weight - state.left < rule.leaf_weight || !is_allowed(state, rule)) {
        return {};
    }
    return {std::max(state.gain(), 0.0), count, false};
}

/// Calls work with a null pointer of the state of the criterion.
template <class Work>
TreeCut with_state(const SplitView& node, const Work& work) {
    const bool weighted = node.weights != nullptr;
    if (node.is_uneven && divides_by_weights(node.criterion)) {
        return work(static_cast<Uneven*>(nullptr));  // logarithms and absolute errors do not divide by light sides
    }
    switch (node.criterion) {
        case Criterion::entropy:
            if (node.xlogx != nullptr) {
                return weighted ? work(static_cast<Logarithms<true, true>*>(nullptr))
                                : work(static_cast<Logarithms<false, true>*>(nullptr));
            }
            return weighted ? work(static_cast<Logarithms<true, false>*>(nullptr))
                            : work(static_cast<Logarithms<false, false>*>(nullptr));
        case Criterion::misclassification:
            return weighted ? work(static_cast<Errors<true>*>(nullptr)) : work(static_cast<Errors<false>*>(nullptr));
        case Criterion::gini:
            return weighted ? work(static_cast<Shares<true>*>(nullptr)) : work(static_cast<Shares<false>*>(nullptr));
        case Criterion::poisson:
            return work(static_cast<Deviance*>(nullptr));
        case Criterion::absolute:
            return work(static_cast<Absolute*>(nullptr));
        default:
            if (node.width > 1) {
                return work(static_cast<Sums*>(nullptr));
            }
            return weighted ? work(static_cast<Sum<true>*>(nullptr)) : work(static_cast<Sum<false>*>(nullptr));
    }
}

}  // namespace

bool divides_by_weights(Criterion criterion) noexcept {
    return criterion == Criterion::gini || criterion == Criterion::squared || criterion == Criterion::poisson;
}

double beyond_rounding(double gain, double scale) noexcept {
    return 0x1p-38 * std::sqrt(gain * scale);
}

Index count_missing(const TreeEntry* entries, Index count) noexcept {
    if (count == 0 || entries[count - 1].rank != kMissingRank) {
        return 0;
    }
    const auto* const first =
        std::lower_bound(entries, entries + count, kMissingRank,
                         [](const TreeEntry& entry, std::uint32_t rank) { return entry.rank < rank; });
    return count - (first - entries);
}

TreeCut best_cut(const SplitView& node, const SplitRule& rule, const TreeEntry* entries) {
    return with_state(node,
                      [&](auto* state) { return search<std::remove_pointer_t<decltype(state)>>(node, rule, entries); });
}

TreeCut best_bin(const SplitView& node, const SplitRule& rule, const BinSums& bins) {
    return with_state(node, [&](auto* state) {
        using State = std::remove_pointer_t<decltype(state)>;
        if constexpr (requires(State one) { one.add_bin(bins.sums); }) {
            return search_bins<State>(node, rule, bins);
        } else {
            return TreeCut{};  // medians are found from rows, never from bins
        }
    });
}

TreeCut by_left_sum(const SplitView& node, const SplitRule& rule, Index count, double weight, double sum) {
    if (count < rule.leaf || node.count - count < rule.leaf || weight < rule.leaf_weight ||
        node.weight - weight < rule.leaf_weight) {
        return {};
    }
    Sum<true> state(node);
    state.sum = sum;
    state.left = weight;
    if (!is_allowed(state, rule)) {
        return {};
    }
    return {std::max(state.gain(), 0.0), count, false};
}

TreeCut one_side(const SplitView& node, const SplitRule& rule, const std::uint32_t* lefts, Index count) {
    return with_state(node, [&](auto* state) {
        using State = std::remove_pointer_t<decltype(state)>;
        if constexpr (requires(State one) { one.add_bin(node.totals); }) {
            return weigh<State>(node, rule, lefts, count);
        } else {
            return TreeCut{};
        }
    });
}

TreeCut one_cut(const SplitView& node, const SplitRule& rule, const TreeEntry* entries, Index known,
                bool missing_left) {
    return with_state(node, [&](auto* state) {
        return evaluate<std::remove_pointer_t<decltype(state)>>(node, rule, entries, known, missing_left);
    });
}

}  // namespace qed
