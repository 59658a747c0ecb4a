#include "qed/tree/boost.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <queue>
#include <utility>

#include "qed/dense/numbers.hpp"
#include "qed/machine/parallel.hpp"
#include "qed/tree/boost_part.hpp"
#include "qed/tree/boost_sums.hpp"
#include "qed/tree/rows.hpp"

namespace qed {
namespace {

constexpr double kLeastCurvature = 1e-3;        // of a leaf, as scikit-learn has it
constexpr Index kAny = std::numeric_limits<Index>::max();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Minus infinity for none. In lanes: a single chain of comparisons would take longer than what is compared.
double largest_of(const double* numbers, Index count) noexcept {
    constexpr Index kLanes = 8;
    double lanes[kLanes];
    std::fill_n(lanes, kLanes, -kInfinity);
    Index k = 0;
    for (; k + kLanes <= count; k += kLanes) {
        for (Index c = 0; c < kLanes; ++c) {
            lanes[c] = std::max(lanes[c], numbers[k + c]);
        }
    }
    for (; k < count; ++k) {
        lanes[k % kLanes] = std::max(lanes[k % kLanes], numbers[k]);
    }
    return *std::max_element(lanes, lanes + kLanes);
}

struct Split {
    double gain = 0.0;
    double most = 0.0;  ///< gained by any cut so far
    Index feature = -1;
    Index bin = -1;  ///< last bin that goes left, of numbers
    bool missing_left = false;
    Sums lefts;                      ///< of the left child
    double left = 0.0, right = 0.0;  ///< values of the children
    std::uint32_t set[8] = {};       ///< bins that go left, of categories
};

struct Leaf {
    Index depth = 0;
    Index left = -1, right = -1;
    bool is_inner = false;            ///< otherwise a leaf, even if it has been divided
    Sums sums;
    double low = -kInfinity, high = kInfinity;
    std::uint64_t seed = 0;
    std::vector<std::uint8_t> meets;  ///< by group of columns: whether it holds all columns above
    std::unique_ptr<ScratchArray<Sums>> histogram;
    Split split;
    std::uint32_t known[8] = {};      ///< categories of the split that the node has met, by bin
};

class BoostGrower {
  public:
    BoostGrower(BoostSource& source, const std::vector<RankedColumn>& info, const BoostRules& rules, std::uint64_t seed)
        : source_(source),
          info_(info),
          rules_(rules),
          seed_(seed),
          columns_(static_cast<Index>(info.size())),
          groups_(blocks_of(columns_, kGrouped)) {}

    BoostTree grow() {
        Leaf root;
        root.seed = mixed_bits(seed_);
        root.meets.assign(rules_.groups.size(), 1);
        root.histogram = fresh();
        // limits of values are stated from the sums
        units_ = source_.start(rules_.monotone != nullptr, root.sums, root.histogram->get()).units;
        leaves_.push_back(std::move(root));
        choose({&leaves_[0]});
        offer(0);
        for (Index count = 1; !open_.empty() && (rules_.leaves == 0 || count < rules_.leaves); ++count) {
            const Index number = open_.top().second;
            if (leaves_[at(number)].left < 0) {
                divide(next_ones(rules_.leaves == 0 ? kAny : rules_.leaves - count), rules_.leaves == 0 || count + 1 < rules_.leaves);
            }
            open_.pop();
            leaves_[at(number)].is_inner = true;
            offer(leaves_[at(number)].left);
            offer(leaves_[at(number)].right);
        }
        return written();
    }

  private:
    using Ranked = std::pair<double, Index>;
    struct After {
        bool operator()(const Ranked& a, const Ranked& b) const noexcept {
            return a.first != b.first ? a.first < b.first : a.second > b.second;
        }
    };

    void offer(Index number) {
        if (leaves_[at(number)].split.feature >= 0) {
            open_.emplace(leaves_[at(number)].split.gain, number);
        }
    }

    /// The next node to divide; with all others that may be among the next `most`, where the source is asked for many.
    [[nodiscard]] std::vector<Index> next_ones(Index most) const {
        if (!source_.asks_together()) {
            return {open_.top().second};
        }
        std::vector<Index> numbers;
        for (auto rest = open_; !rest.empty() && static_cast<Index>(numbers.size()) < most; rest.pop()) {
            if (leaves_[at(rest.top().second)].left < 0) {
                numbers.push_back(rest.top().second);
            }
        }
        return numbers;
    }

    std::unique_ptr<ScratchArray<Sums>> fresh() {
        if (!spare_.empty()) {
            auto one = std::move(spare_.back());
            spare_.pop_back();
            return one;
        }
        return std::make_unique<ScratchArray<Sums>>(groups_ * kGrouped * kPlaces);
    }

    [[nodiscard]] double value_of(const Sums& sums, double low, double high) const noexcept {
        const double total = units_.curvature_of(sums) + rules_.ridge;
        return std::clamp(-units_.slope_of(sums) / total, low, high);
    }
    /// What a leaf of that value takes off twice the second-order model.
    [[nodiscard]] double score_of(const Sums& sums, double value) const noexcept {
        return -(2.0 * units_.slope_of(sums) + (units_.curvature_of(sums) + rules_.ridge) * value) * value;
    }

    [[nodiscard]] bool may_look(const Leaf& leaf, Index column) const {
        if (rules_.groups.empty()) {
            return true;
        }
        for (std::size_t g = 0; g < rules_.groups.size(); ++g) {
            const auto& group = rules_.groups[g];
            if (leaf.meets[g] != 0 && std::find(group.begin(), group.end(), column) != group.end()) {
                return true;
            }
        }
        return false;
    }

    [[nodiscard]] bool may_split(const Leaf& leaf) const noexcept {
        return leaf.depth < rules_.depth && units_.count_of(leaf.sums) >= 2 * rules_.leaf_rows;
    }

    /// Columns that a node looks at: drawn ones, and of those the ones that may meet all above.
    [[nodiscard]] std::vector<std::uint8_t> looks_of(const Leaf& leaf) const {
        std::vector<std::uint8_t> looks(at(columns_), rules_.features < columns_ ? 0 : 1);
        if (rules_.features < columns_) {
            std::vector<Index> drawn(at(columns_));
            std::iota(drawn.begin(), drawn.end(), Index{0});
            for (Index j = 0; j < rules_.features; ++j) {
                const double share = uniform_of(leaf.seed + static_cast<std::uint64_t>(j));
                const auto other = static_cast<Index>(share * static_cast<double>(columns_ - j));
                std::swap(drawn[at(j)], drawn[at(j + std::min(other, columns_ - j - 1))]);
                looks[at(drawn[at(j)])] = 1;
            }
        }
        for (Index j = 0; j < columns_ && !rules_.groups.empty(); ++j) {
            looks[at(j)] = looks[at(j)] != 0 && may_look(leaf, j) ? 1 : 0;
        }
        return looks;
    }

    /// Finds the splits of nodes. The sums of the first of two are taken off those of the second, which held both.
    void choose(const std::vector<Leaf*>& nodes) {
        std::vector<std::vector<std::uint8_t>> looks;
        for (const Leaf* node : nodes) {
            looks.push_back(may_split(*node) ? looks_of(*node) : std::vector<std::uint8_t>(at(columns_), 0));
        }
        std::vector<Split> best(at(groups_) * nodes.size());
        const Effort effort(16.0 * static_cast<double>(columns_ * kPlaces) * static_cast<double>(nodes.size()));
        parallel_for(groups_, [&](Index g) {
            if (nodes.size() == 2) {
                const Sums* const part = nodes[0]->histogram->get();
                Sums* const whole = nodes[1]->histogram->get();
                for (Index k = g * kGrouped * kPlaces; k < (g + 1) * kGrouped * kPlaces; ++k) {
                    whole[k] = whole[k] - part[k];
                }
            }
            for (std::size_t k = 0; k < nodes.size(); ++k) {
                Split& own = best[k * at(groups_) + at(g)];
                for (Index j = g * kGrouped; j < std::min(columns_, (g + 1) * kGrouped); ++j) {
                    if (looks[k][at(j)] != 0) {
                        is_by_set(j) ? search_sets(*nodes[k], j, own) : search(*nodes[k], j, own);
                    }
                }
            }
        });
        for (std::size_t k = 0; k < best.size(); ++k) {
            Split& split = nodes[k / at(groups_)]->split;
            if (best[k].feature >= 0 && best[k].gain > split.gain) {
                split = best[k];
            }
        }
    }

    [[nodiscard]] const Sums* histogram_of(const Leaf& leaf, Index column) const noexcept {
        return leaf.histogram->get() + column * kPlaces;
    }

    /// What is gained by cutting behind each of `count` places of a walk from left to right; minus infinity where the
    /// rules forbid it.
    void judge(const Leaf& leaf, Index column, const Sums* lefts, Index count, double* gains) const {
        const double base = score_of(leaf.sums, value_of(leaf.sums, leaf.low, leaf.high));
        const double direction = rules_.monotone == nullptr ? 0.0 : static_cast<double>(rules_.monotone[column]);
        const Units units = units_;
        const Sums all = leaf.sums;
        const double low = leaf.low, high = leaf.high, ridge = rules_.ridge;
        for (Index k = 0; k < count; ++k) {
            const Sums right = all - lefts[k];
            const double g = units.slope_of(lefts[k]), h = units.curvature_of(lefts[k]);
            const double other_g = units.slope_of(right), other_h = units.curvature_of(right);
            const double here = std::min(std::max(-g / (h + ridge), low), high);
            const double there = std::min(std::max(-other_g / (other_h + ridge), low), high);
            const double gain = -(2.0 * g + (h + ridge) * here) * here -
                                (2.0 * other_g + (other_h + ridge) * there) * there - base;
            const bool holds = (h >= kLeastCurvature) & (other_h >= kLeastCurvature) & (direction * (there - here) >= 0.0);
            gains[k] = holds ? gain : -kInfinity;
        }
    }

    /// The first of the cuts that gain most, if it gains more than the best of other columns; -1 otherwise.
    Index settle(const Leaf& leaf, Index column, const Sums* lefts, Index count, Split& best) const {
        // rows on the left only grow: cuts that leave enough on both sides lie side by side
        const auto behind = [&](Index rows) {
            return std::partition_point(lefts, lefts + count, [&](const Sums& left) { return units_.count_of(left) < rows; }) -
                   lefts;
        };
        const Index first = behind(rules_.leaf_rows);
        const Index many = std::max<Index>(behind(units_.count_of(leaf.sums) - rules_.leaf_rows + 1) - first, 0);
        double gains[kPlaces];
        judge(leaf, column, lefts + first, many, gains);
        const double most = largest_of(gains, many);
        // Sums of equal rows in other columns are equal, whole numbers; but what is made of them rounds. A column must gain
        // more than all before it by more than that, and the first of its own best cuts still does: of equal cuts the first
        // of all is taken.
        const double near = 0x1p-40 * std::abs(score_of(leaf.sums, value_of(leaf.sums, leaf.low, leaf.high))) +
                            std::numeric_limits<double>::min();
        const bool is_better = most > best.most + near;
        best.most = std::max(best.most, most);
        if (!is_better) {
            return -1;
        }
        const Index found =
            std::find_if(gains, gains + many, [&](double gain) { return gain >= most - 0.5 * near; }) - gains;
        best.gain = gains[found];
        best.feature = column;
        best.lefts = lefts[first + found];
        best.left = value_of(best.lefts, leaf.low, leaf.high);
        best.right = value_of(leaf.sums - best.lefts, leaf.low, leaf.high);
        return first + found;
    }

    void search(const Leaf& leaf, Index column, Split& best) const {
        const Sums* const bins = histogram_of(leaf, column);
        const bool has_missing = units_.count_of(bins[kMissingBin]) > 0;
        const Index known = info_[at(column)].bins();
        Sums lefts[kPlaces];
        for (int side = 0; side < (has_missing ? 2 : 1); ++side) {
            Sums left = side == 1 ? bins[kMissingBin] : Sums{};
            for (Index bin = 0; bin < known; ++bin) {
                left += bins[bin];
                lefts[bin] = left;
            }
            const Index found = settle(leaf, column, lefts, known, best);
            if (found >= 0) {
                best.bin = found;
                best.missing_left = side == 1;
            }
        }
    }

    /// Categories in the order of their best values: some first part of them is the best set. Missing is one of them.
    void search_sets(const Leaf& leaf, Index column, Split& best) const {
        const Sums* const bins = histogram_of(leaf, column);
        std::vector<std::pair<double, Index>> order;
        for (Index bin = 0; bin < kPlaces; ++bin) {
            if (bins[bin].rest != 0) {
                order.emplace_back(units_.slope_of(bins[bin]) / (units_.curvature_of(bins[bin]) + rules_.ridge + 1e-12),
                                   bin);
            }
        }
        std::sort(order.begin(), order.end());
        Sums lefts[kPlaces];
        Sums left;
        for (std::size_t k = 0; k + 1 < order.size(); ++k) {
            left += bins[order[k].second];
            lefts[k] = left;
        }
        const Index found = settle(leaf, column, lefts, static_cast<Index>(order.size()) - 1, best);
        if (found < 0) {
            return;
        }
        std::fill_n(best.set, 8, 0U);
        for (Index k = 0; k <= found; ++k) {
            const Index bin = order[at(k)].second;
            best.set[bin / 32] |= 1U << (bin % 32);
        }
        best.missing_left = ((best.set[7] >> 31) & 1U) != 0;
        best.bin = -1;
    }

    [[nodiscard]] bool is_by_set(Index column) const noexcept {
        return rules_.by_category != nullptr && rules_.by_category[column] != 0;
    }

    /// What is known of the children of a node before its rows are dealt out.
    void prepare(const Leaf& parent, Leaf* children) const {
        const Sums& left = parent.split.lefts;
        for (int side = 0; side < 2; ++side) {
            Leaf& child = children[side];
            child.depth = parent.depth + 1;
            child.seed = mixed_bits(2 * parent.seed + static_cast<std::uint64_t>(side));
            child.sums = side == 0 ? left : parent.sums - left;
            child.low = parent.low;
            child.high = parent.high;
            child.meets = parent.meets;
            for (std::size_t g = 0; g < rules_.groups.size(); ++g) {
                const auto& group = rules_.groups[g];
                if (std::find(group.begin(), group.end(), parent.split.feature) == group.end()) {
                    child.meets[g] = 0;
                }
            }
        }
        const int direction = rules_.monotone == nullptr ? 0 : rules_.monotone[parent.split.feature];
        if (direction != 0) {
            const double between = (parent.split.left + parent.split.right) / 2.0;
            (direction > 0 ? children[0].high : children[0].low) = between;
            (direction > 0 ? children[1].low : children[1].high) = between;
        }
    }

    /// Has the rows of nodes dealt out, in their order, and searches the children.
    void divide(const std::vector<Index>& numbers, bool goes_on) {
        std::vector<Division> divisions(numbers.size());
        std::vector<Sums*> histograms(numbers.size(), nullptr);
        for (std::size_t k = 0; k < numbers.size(); ++k) {
            Leaf children[2];
            prepare(leaves_[at(numbers[k])], children);
            const Index counts[2] = {units_.count_of(children[0].sums), units_.count_of(children[1].sums)};
            const bool searches = goes_on && children[0].depth < rules_.depth &&
                                  std::max(counts[0], counts[1]) >= 2 * rules_.leaf_rows;
            Leaf& parent = leaves_[at(numbers[k])];
            Division& division = divisions[k];
            parent.left = division.left = static_cast<Index>(leaves_.size());
            parent.right = division.right = parent.left + 1;
            division.node = numbers[k];
            division.feature = parent.split.feature;
            meet(parent, division.right_of);
            division.filled = searches ? (counts[0] <= counts[1] ? division.left : division.right) : -1;
            if (searches) {
                Leaf& small = children[counts[0] <= counts[1] ? 0 : 1];
                Leaf& large = children[&small == &children[0] ? 1 : 0];
                small.histogram = fresh();
                histograms[k] = small.histogram->get();
                large.histogram = std::move(parent.histogram);
            } else {
                spare_.push_back(std::move(parent.histogram));
            }
            leaves_.push_back(std::move(children[0]));
            leaves_.push_back(std::move(children[1]));
        }
        source_.divide(divisions, histograms);
        for (const Division& division : divisions) {
            if (division.filled < 0) {
                continue;
            }
            Leaf& small = leaves_[at(division.filled)];
            Leaf& large = leaves_[at(division.left + division.right - division.filled)];
            choose({&small, &large});
            for (Leaf* child : {&small, &large}) {
                if (child->split.feature < 0) {
                    spare_.push_back(std::move(child->histogram));
                }
            }
        }
    }

    /// Notes where bins go, missing values with more rows where the node met none; and which categories it has met.
    void meet(Leaf& leaf, std::uint8_t* right_of) const {
        const Sums* const bins = histogram_of(leaf, leaf.split.feature);
        if (is_by_set(leaf.split.feature)) {
            for (Index bin = 0; bin < kPlaces; ++bin) {
                right_of[bin] = ((leaf.split.set[bin / 32] >> (bin % 32)) & 1U) != 0 ? 0 : 1;
                leaf.known[bin / 32] |= bins[bin].rest != 0 ? 1U << (bin % 32) : 0U;
            }
        } else {
            std::fill_n(right_of, leaf.split.bin + 1, std::uint8_t{0});
            std::fill(right_of + leaf.split.bin + 1, right_of + kPlaces, std::uint8_t{1});
            right_of[kMissingBin] = leaf.split.missing_left ? 0 : 1;
        }
        if (units_.count_of(bins[kMissingBin]) == 0) {
            leaf.split.missing_left = 2 * units_.count_of(leaf.split.lefts) > units_.count_of(leaf.sums);
        }
    }

    BoostTree written() {
        BoostTree tree;
        std::vector<Index> order{0};
        std::vector<Index> ends;
        while (!order.empty()) {
            const Index number = order.back();
            order.pop_back();
            const Leaf& leaf = leaves_[at(number)];
            if (!leaf.is_inner) {
                tree.nodes.feature.push_back(-1);
                tree.nodes.weight.push_back(static_cast<double>(units_.count_of(leaf.sums)));
                tree.low.push_back(leaf.low);
                tree.high.push_back(leaf.high);
                ends.push_back(number);
                continue;
            }
            order.push_back(leaf.right);
            order.push_back(leaf.left);
            const Split& split = leaf.split;
            const RankedColumn& column = info_[at(split.feature)];
            tree.nodes.feature.push_back(static_cast<std::int32_t>(split.feature));
            tree.nodes.missing_left.push_back(split.missing_left ? 1 : 0);
            if (is_by_set(split.feature)) {
                tree.by_set.push_back(static_cast<Index>(tree.nodes.threshold.size()));
                std::uint32_t words[16] = {};
                for (Index bin = 0; bin < column.bins(); ++bin) {
                    const auto category = static_cast<std::uint32_t>(column.values[at(bin)]);
                    const auto bit = [bin](const std::uint32_t* set) { return (set[bin / 32] >> (bin % 32)) & 1U; };
                    words[category / 32] |= bit(split.set) << (category % 32);
                    words[8 + category / 32] |= bit(leaf.known) << (category % 32);
                }
                tree.sets.insert(tree.sets.end(), words, words + 16);
                tree.nodes.threshold.push_back(0.0);
                continue;
            }
            const std::uint32_t last = column.last[at(split.bin)];
            const bool is_end = split.bin + 1 == column.bins();
            tree.nodes.threshold.push_back(is_end ? kInfinity
                                                  : RankedColumn::between(column.values[last], column.values[last + 1]));
        }
        tree.nodes.values.resize(ends.size());
        std::vector<double> slopes(ends.size()), curvatures(ends.size());
        source_.leaf_sums(ends, slopes.data(), curvatures.data());
        for (std::size_t k = 0; k < ends.size(); ++k) {
            const Leaf& leaf = leaves_[at(ends[k])];
            const double total = curvatures[k] + rules_.ridge;
            tree.nodes.values[k] = rules_.rate * (total > 0.0 ? std::clamp(-slopes[k] / total, leaf.low, leaf.high) : 0.0);
        }
        source_.finish(ends, tree.nodes.values);
        return tree;
    }

    BoostSource& source_;
    const std::vector<RankedColumn>& info_;
    const BoostRules& rules_;
    std::uint64_t seed_;
    Index columns_, groups_;
    Units units_;
    std::vector<std::unique_ptr<ScratchArray<Sums>>> spare_;
    std::vector<Leaf> leaves_;
    std::priority_queue<Ranked, std::vector<Ranked>, After> open_;
};

/// All rows, in memory here.
class RowsHere final : public BoostSource {
  public:
    /// Without scores it numbers the leaves of rows instead. `fine`: whether limits of values are stated from the sums.
    RowsHere(const RankedTable& x, const BoostRows& rows, bool fine, double* scores, std::int32_t* leaf)
        : words_(2 * rows.count), order_(2 * rows.count), root_(x.view().places()), scores_(scores), leaf_(leaf) {
        arrays_ = {x.view(), rows, words_.get(), {order_.get(), order_.get() + rows.count}};
        scale_ = scale_of(extent_of(rows), rows.counts != nullptr, fine);
        total_ = part_.start(arrays_, scale_);
    }
    [[nodiscard]] BoostSums sums() const { return part_.sums(arrays_); }
    /// Room for the histogram of all rows, which is filled by whoever makes this, for several classes together.
    [[nodiscard]] Sums* root() const noexcept { return root_.get(); }

    BoostScale start(bool /*fine*/, Sums& total, Sums* histogram) override {
        total = total_;
        std::copy_n(root_.get(), arrays_.bins.places(), histogram);
        return scale_;
    }
    void divide(const std::vector<Division>& divisions, const std::vector<Sums*>& histograms) override {
        for (std::size_t k = 0; k < divisions.size(); ++k) {
            part_.divide(arrays_, divisions[k], histograms[k]);
        }
    }
    void leaf_sums(const std::vector<Index>& nodes, double* slopes, double* curvatures) override {
        part_.leaf_sums(arrays_, nodes, slopes, curvatures);
    }
    void finish(const std::vector<Index>& leaves, const std::vector<double>& values) override {
        if (scores_ != nullptr) {
            part_.add(arrays_, leaves, values.data(), scores_, arrays_.given.stride);
        } else {
            part_.mark(arrays_, leaves, leaf_);
        }
    }
    [[nodiscard]] bool asks_together() const noexcept override { return false; }

  private:
    ScratchArray<std::int64_t> words_;
    ScratchArray<std::uint32_t> order_;
    ScratchArray<Sums> root_;
    BoostArrays arrays_{};
    BoostPart part_;
    BoostScale scale_;
    Sums total_;
    double* scores_;
    std::int32_t* leaf_;
};

}  // namespace

BoostTree grow_tree(BoostSource& source, const std::vector<RankedColumn>& columns, const BoostRules& rules,
                    std::uint64_t seed) {
    return BoostGrower(source, columns, rules, seed).grow();
}

std::vector<BoostTree> grow_boosted(const RankedTable& x, const BoostRows& rows, const BoostRules& rules,
                                    double* scores) {
    std::vector<BoostTree> trees(at(rows.stride));
    for (Index first = 0; first < rows.stride; first += kWordsTogether) {
        const Index many = std::min(kWordsTogether, rows.stride - first);
        std::vector<std::vector<std::int32_t>> leaves(at(many));
        std::vector<std::unique_ptr<RowsHere>> here;
        std::vector<BoostSums> sums;
        std::vector<const BoostSums*> classes;
        std::vector<Sums*> histograms;
        for (Index k = 0; k < many; ++k) {
            BoostRows own = rows;
            own.slopes += first + k;
            own.curvatures += first + k;
            leaves[at(k)].resize(scores == nullptr ? at(rows.count) : 0);
            here.push_back(std::make_unique<RowsHere>(x, own, rules.monotone != nullptr,
                                                      scores == nullptr ? nullptr : scores + first + k,
                                                      leaves[at(k)].data()));
            sums.push_back(here.back()->sums());
            histograms.push_back(here.back()->root());
        }
        for (const BoostSums& one : sums) {
            classes.push_back(&one);
        }
        BoostSums::fill(classes, nullptr, rows.count, histograms.data());  // at the root all classes have the same rows
        const auto grow = [&](Index k) {
            const Index number = first + k;
            trees[at(number)] =
                grow_tree(*here[at(k)], x.info(), rules, rules.seed + static_cast<std::uint64_t>(number));
            trees[at(number)].leaf = std::move(leaves[at(k)]);
        };
        const Index shared = many - many % thread_count();  // trees that keep all threads busy, one each
        parallel_for(shared, grow);
        for (Index k = shared; k < many; ++k) {
            grow(k);
        }
    }
    return trees;
}

}  // namespace qed
