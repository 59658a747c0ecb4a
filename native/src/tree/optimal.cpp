#include "qed/tree/optimal.hpp"

#include <algorithm>
#include <chrono>
#include <queue>
#include <unordered_map>

#include "qed/dense/numbers.hpp"
#include "qed/machine/parallel.hpp"
#include "qed/tree/columns.hpp"
#include "qed/tree/optimal_search.hpp"
#include "qed/tree/rows.hpp"
#include "qed/tree/weighted_impurity.hpp"

namespace qed {
namespace {

using namespace optimal;

constexpr double kTied = 0x1p-40;             // of what the root leaves: smaller differences are rounding
constexpr std::size_t kRemembered = 1 << 18;  // subproblems whose answers are kept: 16 MB
constexpr Index kTables = 8;  // a power of two: sums that an item is added to in turn
constexpr Index kTogether = Index{1} << 16;   // values of a pass above which threads share it

class Search {
  public:
    Search(const OptimalItems& items, const OptimalLimits& limits)
        : items_(items), limits_(limits), side_(at(items.count), 0), position_(at(items.count), 0), start_(std::chrono::steady_clock::now()) {}

    OptimalTree run() {
        ItemSet all = whole();
        tied_ = kTied * mass(all.sums.data());
        Found found{all.floor, mass(all.sums.data()), kLeaf};
        if (limits_.depth > 1) {
            for (const Criterion guide : guides()) {  // a good tree to begin with
                const Found greedy = descend_greedily(all, limits_.depth, guide);
                found = greedy.upper < found.upper ? greedy : found;
            }
        }
        const Found best = solve(all, limits_.depth, found.upper);
        OptimalTree tree;
        tree.lower = std::min(best.lower, found.upper);
        found = best.upper < found.upper ? best : found;
        tree.objective = found.upper;
        tree.visits = visits_;
        write(found.node, tree);
        return tree;
    }

  private:
    struct Key {
        std::uint64_t first, second;
        Index depth;
        bool operator==(const Key& other) const noexcept {
            return first == other.first && second == other.second && depth == other.depth;
        }
    };
    struct Hash {
        std::size_t operator()(const Key& key) const noexcept {
            return key.first ^ (static_cast<std::uint64_t>(key.depth) << 60);
        }
    };

    [[nodiscard]] double mass(const double* sums) const noexcept {
        return with_criterion(items_.criterion, items_.width, [&]<Criterion kCriterion, Index kWidth>() {
            return mass_of<kCriterion, kWidth>(sums, items_.width);
        });
    }
    [[nodiscard]] const double* sums_of(std::uint32_t item) const noexcept {
        return items_.sums + static_cast<Index>(item) * items_.width;
    }
    [[nodiscard]] double weight_of(std::uint32_t item) const noexcept {
        const double* const own = sums_of(item);
        if (items_.criterion == Criterion::squared) {
            return own[0];
        }
        double weight = 0.0;
        for (Index k = 0; k < items_.width; ++k) {
            weight += own[k];
        }
        return weight;
    }
    [[nodiscard]] std::vector<Criterion> guides() const {
        if (items_.criterion == Criterion::squared || items_.criterion == Criterion::gini) {
            return {items_.criterion};
        }
        return {items_.criterion, Criterion::gini};  // errors alone often see no gain in a first split
    }
    [[nodiscard]] bool is_exhausted() const noexcept {
        if (visits_ >= limits_.visits) {
            return true;
        }
        return limits_.seconds < kInfinite &&
               std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count() >= limits_.seconds;
    }
    void add_item(ItemSet& set, std::uint32_t item) const {
        for (Index k = 0; k < items_.width; ++k) {
            set.sums[at(k)] += sums_of(item)[k];
        }
        ++set.count;
        set.floor += items_.floors[item];
        set.key[0] += mixed_bits(2 * static_cast<std::uint64_t>(item));
        set.key[1] += mixed_bits(2 * static_cast<std::uint64_t>(item) + 1);
    }

    [[nodiscard]] ItemSet whole() const {
        ItemSet set;
        set.sums.assign(at(items_.width), 0.0);
        for (Index i = 0; i < items_.count; ++i) {
            add_item(set, static_cast<std::uint32_t>(i));
        }
        set.entries.resize(at(items_.orders * items_.count));
        for (Index j = 0; j < items_.orders; ++j) {
            TreeEntry* const own = set.entries.data() + j * items_.count;
            for (Index i = 0; i < items_.count; ++i) {
                own[i] = {items_.ranks[j * items_.count + i], static_cast<std::uint32_t>(i)};
            }
            std::sort(own, own + items_.count, [](const TreeEntry& a, const TreeEntry& b) {
                return a.rank != b.rank ? a.rank < b.rank : a.place < b.place;
            });
        }
        return set;
    }

    /// Marks the items before a position of an order as left, the others as right.
    void mark(const ItemSet& set, Index order, Index position) {
        const TreeEntry* const own = set.entries.data() + order * set.count;
        for (Index i = 0; i < set.count; ++i) {
            side_[own[i].place] = i < position ? 0 : 1;
        }
    }

    /// The items of one side, in every order.
    [[nodiscard]] ItemSet part(const ItemSet& set, std::uint8_t side) const {
        ItemSet own;
        own.sums.assign(at(items_.width), 0.0);
        for (Index i = 0; i < set.count; ++i) {
            if (side_[set.entries[at(i)].place] == side) {
                add_item(own, set.entries[at(i)].place);
            }
        }
        own.entries.resize(at(items_.orders * own.count));
        TreeEntry* to = own.entries.data();
        for (const TreeEntry& entry : set.entries) {
            if (side_[entry.place] == side) {
                *to++ = entry;
            }
        }
        return own;
    }

    /// The best cut through one order of each side that was marked, both in one pass.
    template <Criterion kCriterion, Index kWidth>
    void cut_order(const ItemSet& set, const double* totals, Index order, OneCut* best) const {
        const Index width = kWidth > 0 ? kWidth : items_.width;
        double few[9] = {};
        std::vector<double> many(kWidth > 0 ? 0 : at(3 * width), 0.0);
        double* const sums = kWidth > 0 ? few : many.data();
        double* const right = sums + 2 * width;
        bool holds[2] = {false, false};
        std::uint32_t last[2] = {0, 0};
        const TreeEntry* const own = set.entries.data() + order * set.count;
        for (Index i = 0; i < set.count; ++i) {
            const std::uint8_t side = side_[own[i].place];
            double* const left = sums + side * width;
            if (holds[side] && own[i].rank != last[side]) {
                for (Index k = 0; k < width; ++k) {
                    const double rest = totals[side * width + k] - left[k];
                    right[k] = kCriterion == Criterion::squared ? rest : std::max(rest, 0.0);
                }
                const double found = mass_of<kCriterion, kWidth>(left, width) + mass_of<kCriterion, kWidth>(right, width);
                if (found < best[side].mass - tied_) {
                    best[side] = {found, order, last[side]};
                }
            }
            const double* const item = sums_of(own[i].place);
            for (Index k = 0; k < width; ++k) {
                left[k] += item[k];
            }
            holds[side] = true;
            last[side] = own[i].rank;
        }
    }

    /// The best cut of each side that was marked, through any order.
    void cut_both(const ItemSet& set, const double* totals, Criterion criterion, OneCut* best) {
        visits_ += static_cast<double>(items_.orders * set.count);
        by_order_.assign(at(2 * items_.orders), OneCut{});
        const auto search = [&](Index j) {
            with_criterion(criterion, items_.width, [&]<Criterion kCriterion, Index kWidth>() {
                cut_order<kCriterion, kWidth>(set, totals, j, by_order_.data() + 2 * j);
            });
        };
        if (items_.orders * set.count > kTogether) {
            parallel_for(items_.orders, search);
        } else {
            for (Index j = 0; j < items_.orders; ++j) {
                search(j);
            }
            if (++passes_ % 64 == 0) {
                parallel_for(1, [](Index) {});  // where an interrupt is noticed
            }
        }
        for (Index j = 0; j < items_.orders; ++j) {
            for (int side = 0; side < 2; ++side) {
                const OneCut& cut = by_order_[at(2 * j + side)];
                if (cut.mass < best[side].mass - tied_) {
                    best[side] = cut;
                }
            }
        }
    }

    Found leaf_or_cut(double own, const OneCut& cut) {
        if (!(cut.mass < own - tied_)) {
            return {std::min(own, cut.mass), own, kLeaf};
        }
        splits_.push_back({cut.order, cut.rank, kLeaf, kLeaf});
        return {cut.mass, cut.mass, static_cast<Index>(splits_.size()) - 1};
    }

    /// The best cut of a whole set.
    OneCut cut_one(const ItemSet& set, Criterion criterion) {
        mark(set, 0, set.count);
        std::vector<double> totals(at(2 * items_.width), 0.0);
        std::copy(set.sums.begin(), set.sums.end(), totals.begin());
        OneCut best[2];
        cut_both(set, totals.data(), criterion, best);
        return best[0];
    }

    Found descend_greedily(const ItemSet& set, Index depth, Criterion guide) {
        const double own = mass(set.sums.data());
        if (depth == 0 || own <= set.floor + tied_ || set.count < 2) {
            return {0.0, own, kLeaf};
        }
        const OneCut cut = cut_one(set, guide);
        if (cut.order < 0) {
            return {0.0, own, kLeaf};
        }
        const TreeEntry* const first = set.entries.data() + cut.order * set.count;
        const Index position =
            std::partition_point(first, first + set.count, [&](const TreeEntry& e) { return e.rank <= cut.rank; }) - first;
        mark(set, cut.order, position);
        const ItemSet sides[2] = {part(set, 0), part(set, 1)};
        const Found left = descend_greedily(sides[0], depth - 1, guide);
        const Found right = descend_greedily(sides[1], depth - 1, guide);
        if (!(left.upper + right.upper < own - tied_)) {
            return {0.0, own, kLeaf};
        }
        splits_.push_back({cut.order, cut.rank, left.node, right.node});
        return {0.0, left.upper + right.upper, static_cast<Index>(splits_.size()) - 1};
    }

    /// Searches trees that leave less than a bar: `lower` of the answer bounds all trees, or reaches the bar.
    Found solve(const ItemSet& set, Index depth, double bar) {
        const double own = mass(set.sums.data());
        Found found{set.floor, own, kLeaf};
        if (depth == 0 || set.count < 2) {
            return {own, own, kLeaf};
        }
        if (own <= set.floor + tied_ || set.floor >= bar || is_exhausted()) {
            return found;
        }
        if (depth == 1) {
            return leaf_or_cut(own, cut_one(set, items_.criterion));
        }
        const Key key{set.key[0], set.key[1], depth};
        const auto known = remembered_.find(key);
        if (known != remembered_.end()) {
            found = known->second;
            if (found.lower >= bar || found.lower >= found.upper - tied_) {
                return found;
            }
        }
        found = depth == 2 && has_few_values(set) ? solve_pairs(set, found) : branch(set, depth, bar, found);
        if (remembered_.size() < kRemembered || known != remembered_.end()) {
            remembered_[key] = found;
        }
        return found;
    }

    /// Numbers the values of each order that the items of a set have, in the order of the items.
    struct Values {
        std::vector<Index> starts;                 // of the values of each order among all
        std::vector<std::uint32_t> rank;           // of each value
        std::vector<std::uint32_t> place;          // orders × items of the set: number of the value
    };
    [[nodiscard]] Values values_of(const ItemSet& set) {
        Values values;
        values.place.resize(at(items_.orders * set.count));
        for (Index i = 0; i < set.count; ++i) {
            position_[set.entries[at(i)].place] = static_cast<std::uint32_t>(i);
        }
        for (Index j = 0; j < items_.orders; ++j) {
            values.starts.push_back(static_cast<Index>(values.rank.size()));
            const TreeEntry* const own = set.entries.data() + j * set.count;
            for (Index i = 0; i < set.count; ++i) {
                if (i == 0 || own[i].rank != own[i - 1].rank) {
                    values.rank.push_back(own[i].rank);
                }
                const Index number = static_cast<Index>(values.rank.size()) - 1 - values.starts.back();
                values.place[at(j * set.count + position_[own[i].place])] = static_cast<std::uint32_t>(number);
            }
        }
        values.starts.push_back(static_cast<Index>(values.rank.size()));
        return values;
    }

    /// The best cut of both sides of every cut of one order by the values of another, from sums over pairs of values.
    template <Criterion kCriterion, Index kWidth>
    void cut_pairs(const double* pairs, Index roots, Index below, Index root_step, Index below_step, Index order,
                   const std::uint32_t* ranks, OneCut* best) const {
        const Index width = kWidth > 0 ? kWidth : items_.width;
        std::vector<double> sides(at(2 * below * width), 0.0);  // by value of the order below: left, then right
        double* const left = sides.data();
        double* const right = left + below * width;
        for (Index a = 0; a < roots; ++a) {
            for (Index b = 0; b < below; ++b) {
                add_scaled(pairs + (a * root_step + b * below_step) * width, 1.0, right + b * width, width);
            }
        }
        std::vector<double> sums(at(3 * width));
        for (Index a = 0; a + 1 < roots; ++a) {
            for (Index b = 0; b < below; ++b) {
                const double* const own = pairs + (a * root_step + b * below_step) * width;
                add_scaled(own, 1.0, left + b * width, width);
                add_scaled(own, -1.0, right + b * width, width);
            }
            for (int side = 0; side < 2; ++side) {
                const double* const by_value = side == 0 ? left : right;
                std::fill(sums.begin(), sums.end(), 0.0);
                for (Index b = 0; b < below; ++b) {
                    add_scaled(by_value + b * width, 1.0, sums.data(), width);
                }
                for (Index b = 0; b + 1 < below; ++b) {
                    for (Index k = 0; k < width; ++k) {
                        sums[at(width + k)] += by_value[b * width + k];
                        const double rest = sums[at(k)] - sums[at(width + k)];
                        sums[at(2 * width + k)] = kCriterion == Criterion::squared ? rest : std::max(rest, 0.0);
                    }
                    const double found = mass_of<kCriterion, kWidth>(sums.data() + width, width) +
                                         mass_of<kCriterion, kWidth>(sums.data() + 2 * width, width);
                    OneCut& cut = best[2 * a + side];
                    if (found < cut.mass - tied_) {
                        cut = {found, order, ranks[b]};
                    }
                }
            }
        }
    }

    /// All trees of depth two at once: where columns have few values, sums over pairs of values of two columns are
    /// cheaper than a pass for each cut: half the time for columns of two values, less for more.
    Found solve_pairs(const ItemSet& set, Found found) {
        const Values values = values_of(set);
        const Index width = items_.width;
        const Index total = values.starts.back();
        std::vector<OneCut> best(at(2 * total));
        std::vector<double> pairs, sums(at(set.count * width));  // sums side by side, in the order of `place`
        for (Index i = 0; i < set.count; ++i) {
            std::copy_n(sums_of(set.entries[at(i)].place), width, sums.data() + i * width);
        }
        for (Index j = 0; j < items_.orders; ++j) {
            const Index many = values.starts[at(j + 1)] - values.starts[at(j)];
            for (Index k = j; k < items_.orders && many > 1; ++k) {
                const Index others = values.starts[at(k + 1)] - values.starts[at(k)];
                if (others < 2) {
                    continue;
                }
                visits_ += static_cast<double>(set.count);
                // several tables take turns, so that an item need not wait for the one before it
                const Index table = many * others * width;
                const Index tables = kTables * table <= set.count ? kTables : 1;
                pairs.assign(at(tables * table), 0.0);
                const std::uint32_t* const first = values.place.data() + j * set.count;
                const std::uint32_t* const second = values.place.data() + k * set.count;
                with_criterion(items_.criterion, width, [&]<Criterion kCriterion, Index kWidth>() {
                    const Index each = kWidth > 0 ? kWidth : width;
                    for (Index i = 0; i < set.count; ++i) {
                        double* const cell = pairs.data() + (i & (tables - 1)) * table +
                                             (static_cast<Index>(first[i]) * others + second[i]) * each;
                        for (Index d = 0; d < each; ++d) {
                            cell[d] += sums[at(i * each + d)];
                        }
                    }
                    for (Index t = 1; t < tables; ++t) {
                        add_scaled(pairs.data() + t * table, 1.0, pairs.data(), table);
                    }
                    cut_pairs<kCriterion, kWidth>(pairs.data(), many, others, others, 1, k,
                                                  values.rank.data() + values.starts[at(k)],
                                                  best.data() + 2 * values.starts[at(j)]);
                    if (k != j) {
                        cut_pairs<kCriterion, kWidth>(pairs.data(), others, many, 1, others, j,
                                                      values.rank.data() + values.starts[at(j)],
                                                      best.data() + 2 * values.starts[at(k)]);
                    }
                });
            }
            if (++passes_ % 64 == 0) {
                parallel_for(1, [](Index) {});  // where an interrupt is noticed
            }
        }
        double lower = found.upper;
        for (Index j = 0; j < items_.orders; ++j) {
            std::vector<double> sides(at(2 * width), 0.0);
            std::copy(set.sums.begin(), set.sums.end(), sides.begin() + width);
            const TreeEntry* const own = set.entries.data() + j * set.count;
            Index i = 0;
            for (Index v = values.starts[at(j)]; v + 1 < values.starts[at(j + 1)]; ++v) {
                for (; i < set.count && own[i].rank == values.rank[at(v)]; ++i) {
                    add_scaled(sums_of(own[i].place), 1.0, sides.data(), width);
                    add_scaled(sums_of(own[i].place), -1.0, sides.data() + width, width);
                }
                const double masses[2] = {mass(sides.data()), mass(sides.data() + width)};
                const double here = std::min(masses[0], best[at(2 * v)].mass) + std::min(masses[1], best[at(2 * v + 1)].mass);
                lower = std::min(lower, here);
                if (here < found.upper - tied_) {
                    const Found left = leaf_or_cut(masses[0], best[at(2 * v)]);
                    const Found right = leaf_or_cut(masses[1], best[at(2 * v + 1)]);
                    if (left.upper + right.upper < found.upper - tied_) {
                        splits_.push_back({j, values.rank[at(v)], left.node, right.node});
                        found.upper = left.upper + right.upper;
                        found.node = static_cast<Index>(splits_.size()) - 1;
                    }
                }
            }
        }
        found.lower = std::max(found.lower, std::min(lower, found.upper));
        return found;
    }

    /// Whether the values of all orders are so few that tables of pairs of them are smaller than the passes they save.
    [[nodiscard]] bool has_few_values(const ItemSet& set) const noexcept {
        Index values = 0;
        for (Index j = 0; j < items_.orders; ++j) {
            const TreeEntry* const own = set.entries.data() + j * set.count;
            for (Index i = 0; i < set.count; ++i) {
                values += i == 0 || own[i].rank != own[i - 1].rank ? 1 : 0;
            }
        }
        return values * values <= 2 * items_.orders * items_.orders * set.count;
    }

    /// Positions of the cuts of an order, and the weight before each.
    struct Cuts {
        std::vector<Index> positions;
        std::vector<double> weights;
    };
    [[nodiscard]] Cuts cuts_of(const ItemSet& set, Index order) const {
        Cuts cuts;
        const TreeEntry* const own = set.entries.data() + order * set.count;
        double weight = 0.0;
        for (Index i = 1; i < set.count; ++i) {
            weight += weight_of(own[i - 1].place);
            if (own[i].rank != own[i - 1].rank) {
                cuts.positions.push_back(i);
                cuts.weights.push_back(weight);
            }
        }
        return cuts;
    }

    /// Cuts of a column are searched by halves. Sides only grow with the cut, so that what lies between two cuts that
    /// were searched leaves at least what the left side of the lower and the right side of the upper one leave; and cuts
    /// near one that is bad are bad, because few rows change sides.
    Found branch(const ItemSet& set, Index depth, double bar, Found found) {
        std::vector<Cuts> cuts;
        std::priority_queue<Interval> open;
        for (Index j = 0; j < items_.orders; ++j) {
            cuts.push_back(cuts_of(set, j));
            const auto many = static_cast<Index>(cuts.back().positions.size());
            if (many > 0) {
                open.push({found.lower, j, 0, many - 1, 0.0, 0.0});
            }
        }
        double unresolved = kInfinite;  // least bound of a cut whose search was given up
        double least = kInfinite;       // least bound of what is not searched
        while (!open.empty()) {
            const Interval top = open.top();
            const double limit = std::min(found.upper, bar);
            if (top.bound >= limit - tied_ || is_exhausted()) {
                least = top.bound;
                break;
            }
            open.pop();
            const Cuts& own = cuts[at(top.order)];
            const Index middle = top.first + (top.last - top.first) / 2;
            const auto [left, right] = search_cut(set, depth, top, own.positions[at(middle)], limit);
            if (left.upper + right.upper < found.upper - tied_) {
                const TreeEntry* const entries = set.entries.data() + top.order * set.count;
                splits_.push_back({top.order, entries[own.positions[at(middle)] - 1].rank, left.node, right.node});
                found.upper = left.upper + right.upper;
                found.node = static_cast<Index>(splits_.size()) - 1;
            }
            const double now = std::min(found.upper, bar);
            const double here = left.lower + right.lower;
            if (here < now - tied_) {
                unresolved = std::min(unresolved, here);
            }
            const double radius = here > now ? (here - now) / items_.reach : 0.0;
            Index before = middle - 1;
            Index after = middle + 1;
            const double* const weights = own.weights.data();
            while (before >= top.first && weights[middle] - weights[before] <= radius) {
                --before;
            }
            while (after <= top.last && weights[after] - weights[middle] <= radius) {
                ++after;
            }
            const auto offer = [&](Index first, Index last, double at_left, double at_right) {
                if (first <= last) {
                    open.push({std::max(top.bound, at_left + at_right), top.order, first, last, at_left, at_right});
                }
            };
            offer(top.first, before, top.left, std::max(right.lower, top.right));
            offer(after, top.last, std::max(left.lower, top.left), top.right);
        }
        const double proven = std::min({found.upper, bar, unresolved, least});
        found.lower = std::max(found.lower, proven);
        return found;
    }

    std::pair<Found, Found> search_cut(const ItemSet& set, Index depth, const Interval& top, Index position,
                                       double limit) {
        mark(set, top.order, position);
        if (depth == 2) {
            return cut_sides(set, top.order, position);
        }
        const ItemSet sides[2] = {part(set, 0), part(set, 1)};
        const double at_right = std::max(top.right, sides[1].floor);
        Found left = solve(sides[0], depth - 1, limit - at_right);
        left.lower = std::max(left.lower, top.left);
        if (left.lower + at_right >= limit) {
            return {left, {at_right, mass(sides[1].sums.data()), kLeaf}};
        }
        Found right = solve(sides[1], depth - 1, limit - left.lower);
        right.lower = std::max(right.lower, top.right);
        return {left, right};
    }

    std::pair<Found, Found> cut_sides(const ItemSet& set, Index order, Index position) {
        const Index width = items_.width;
        std::vector<double> totals(at(2 * width), 0.0);
        const TreeEntry* const own = set.entries.data() + order * set.count;
        for (Index i = 0; i < set.count; ++i) {
            const int side = i < position ? 0 : 1;
            for (Index k = 0; k < width; ++k) {
                totals[at(side * width + k)] += sums_of(own[i].place)[k];
            }
        }
        OneCut best[2];
        cut_both(set, totals.data(), items_.criterion, best);
        const Found left = leaf_or_cut(mass(totals.data()), best[0]);
        const Found right = leaf_or_cut(mass(totals.data() + width), best[1]);
        return {left, right};
    }

    Index write(Index node, OptimalTree& tree) const {
        const auto here = static_cast<Index>(tree.left.size());
        tree.left.push_back(-1);
        tree.right.push_back(-1);
        tree.order.push_back(node < 0 ? -1 : splits_[at(node)].order);
        tree.rank.push_back(node < 0 ? 0 : static_cast<Index>(splits_[at(node)].rank));
        if (node >= 0) {
            const Index left = write(splits_[at(node)].left, tree);
            const Index right = write(splits_[at(node)].right, tree);
            tree.left[at(here)] = left;
            tree.right[at(here)] = right;
        }
        return here;
    }

    const OptimalItems& items_;
    const OptimalLimits& limits_;
    std::vector<std::uint8_t> side_;
    std::vector<std::uint32_t> position_;
    std::vector<Split> splits_;
    std::unordered_map<Key, Found, Hash> remembered_;
    std::chrono::steady_clock::time_point start_;
    double visits_ = 0.0, tied_ = 0.0;
    std::vector<OneCut> by_order_;
    Index passes_ = 0;
};

}  // namespace

OptimalTree optimal_tree(const OptimalItems& items, const OptimalLimits& limits) {
    return Search(items, limits).run();
}

}  // namespace qed
