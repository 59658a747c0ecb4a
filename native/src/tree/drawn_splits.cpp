#include "qed/tree/drawn_splits.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "qed/dense/numbers.hpp"
#include "qed/machine/simd.hpp"
#include "qed/tree/categories.hpp"

namespace qed {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Index kParts = kDrawnTogether / kLanes<double>;  // vectors that hold all lanes
static_assert(kParts * kLanes<double> == kDrawnTogether);
using Bits = decltype(Vector<double>{} <= Vector<double>{});

Vector<double> within(Vector<double> own, Bits mask) noexcept {
    return reinterpret_cast<Vector<double>>(reinterpret_cast<Bits>(own) & mask);
}

/// A number for each lane.
struct Lanes {
    Vector<double> parts[kParts];

    explicit Lanes(double all) noexcept {
        for (Vector<double>& part : parts) {
            part = splat(all);
        }
    }
    explicit Lanes(const double* own) noexcept {
        for (Index k = 0; k < kParts; ++k) {
            parts[k] = load(own + k * kLanes<double>);
        }
    }
    void write(double* to) const noexcept {
        for (Index k = 0; k < kParts; ++k) {
            store(to + k * kLanes<double>, parts[k]);
        }
    }
};

template <class T, int kMany>
void gather_rows(const T* values, Index step, const std::uint32_t* rows, Index count, const Index* columns,
                 double* to) noexcept {
    Index own[kMany];
    std::copy_n(columns, kMany, own);
    for (Index i = 0; i < count; ++i) {
        const T* const row = values + static_cast<Index>(rows[i]) * step;
#pragma GCC unroll 8
        for (int c = 0; c < kMany; ++c) {
            to[i * kMany + c] = static_cast<double>(row[own[c]]);
        }
    }
}

template <class T>
using Gather = void (*)(const T*, Index, const std::uint32_t*, Index, const Index*, double*) noexcept;
template <class T, std::size_t... kNumbers>
constexpr std::array<Gather<T>, kDrawnTogether> gatherers(std::index_sequence<kNumbers...>) {
    return {&gather_rows<T, static_cast<int>(kNumbers) + 1>...};
}
template <class T>
constexpr auto kGather = gatherers<T>(std::make_index_sequence<kDrawnTogether>{});

}  // namespace

DrawnSplits::DrawnSplits(const RankedTable& x, Index columns)
    : x_(x),
      values_(x.rows() * std::min(columns, kDrawnTogether) + kDrawnTogether),
      entries_(columns > 0 ? x.rows() : 1),
      lefts_(columns > 0 ? x.rows() + 1 : 1) {}

void DrawnSplits::gather(const RowValues& values, const std::uint32_t* rows, Index count, const Index* columns,
                         Index many) {
    count_ = count;
    many_ = many;
    has_missing_ = false;
    for (Index lane = 0; lane < many; ++lane) {
        lanes_[lane].column = columns[lane];
        has_missing_ = has_missing_ || x_.column(columns[lane]).has_missing;
    }
    if (values.singles != nullptr) {
        kGather<float>[at(many - 1)](values.singles, values.step, rows, count, columns, values_.get());
    } else {
        kGather<double>[at(many - 1)](values.doubles, values.step, rows, count, columns, values_.get());
    }
    std::fill_n(values_.get() + count * many, kDrawnTogether, 0.0);
}

void DrawnSplits::draw(std::uint64_t seed) {
    std::uint64_t streams[kDrawnTogether];
    double shares[kDrawnTogether];
    for (Index c = 0; c < many_; ++c) {  // what was just written is still on its way to where a whole vector can be read
        streams[c] = column_stream(seed, lanes_[c].column);
        shares[c] = uniform_of(streams[c]);
    }
    Lanes low(kInfinity), high(-kInfinity), missing(0.0);
    for (Index i = 0; i < count_; ++i) {
        const Lanes own(values_.get() + i * many_);
        for (Index k = 0; k < kParts; ++k) {  // no comparison lets a missing value in
            low.parts[k] = own.parts[k] < low.parts[k] ? own.parts[k] : low.parts[k];
            high.parts[k] = own.parts[k] > high.parts[k] ? own.parts[k] : high.parts[k];
        }
    }
    for (Index i = 0; i < count_ && has_missing_; ++i) {
        const Lanes own(values_.get() + i * many_);
        for (Index k = 0; k < kParts; ++k) {
            missing.parts[k] += within(splat(1.0), own.parts[k] != own.parts[k]);
        }
    }
    double lows[kDrawnTogether], highs[kDrawnTogether], lacks[kDrawnTogether];
    low.write(lows);
    high.write(highs);
    missing.write(lacks);
    for (Index c = 0; c < many_; ++c) {
        Lane& lane = lanes_[c];
        const double least = lows[c];
        const double most = highs[c];
        lane.is_varied = least < most || (least == most && lacks[c] > 0.0);
        const double drawn = least * (1.0 - shares[c]) + most * shares[c];
        lane.threshold = drawn >= least && drawn < most ? drawn : least;
        lane.missing_left = least < most && lacks[c] > 0.0 && (mixed_bits(streams[c]) & 1U) != 0;
        if (least == most) {  // only missing values differ
            lane.threshold = kInfinity;
        }
    }
}

template <bool kMissing>
void DrawnSplits::add_lanes(const SplitView& view, Index first) {
    double thresholds[kDrawnTogether] = {};
    double to_left[kDrawnTogether] = {};
    for (Index c = 0; c < many_; ++c) {
        thresholds[c] = lanes_[c].threshold;
        to_left[c] = lanes_[c].missing_left ? 1.0 : 0.0;
    }
    const Lanes threshold(thresholds), left(to_left);
    Lanes sums(0.0), counts(0.0), weights(0.0);
    const double* const pulls = view.pulls + first;
    const double* const own_weights = view.weights != nullptr ? view.weights + first : nullptr;
    for (Index i = 0; i < count_; ++i) {
        const Lanes own(values_.get() + i * many_);
        const Vector<double> pull = splat(pulls[i]);
        for (Index k = 0; k < kParts; ++k) {
            Bits mask = own.parts[k] <= threshold.parts[k];
            if constexpr (kMissing) {
                mask |= (own.parts[k] != own.parts[k]) & (left.parts[k] > 0.5);
            }
            sums.parts[k] += within(pull, mask);
            counts.parts[k] += within(splat(1.0), mask);
            if (own_weights != nullptr) {
                weights.parts[k] += within(splat(own_weights[i]), mask);
            }
        }
    }
    double own_sums[kDrawnTogether], own_counts[kDrawnTogether], lefts[kDrawnTogether];
    sums.write(own_sums);
    counts.write(own_counts);
    (own_weights != nullptr ? weights : counts).write(lefts);
    for (Index c = 0; c < many_; ++c) {
        lanes_[c].sum = own_sums[c];
        lanes_[c].left = lefts[c];
        lanes_[c].count = static_cast<Index>(own_counts[c]);
    }
}

void DrawnSplits::add(const SplitView& view, Index first) {
    has_missing_ ? add_lanes<true>(view, first) : add_lanes<false>(view, first);
}

ColumnSplit DrawnSplits::evaluate(const SplitView& view, const SplitRule& rule, Index first, Index number, bool by_sums,
                                  bool by_rows) {
    const Lane& lane = lanes_[number];
    ColumnSplit found{.column = lane.column, .threshold = lane.threshold};
    if (by_sums) {
        found.cut = by_left_sum(view, rule, lane.count, lane.left, lane.sum);
        found.cut.missing_left = lane.missing_left;
        return found;
    }
    const double* const values = values_.get() + number;
    if (!by_rows) {
        Index lefts = 0;
        for (Index i = 0; i < count_; ++i) {
            lefts_[lefts] = static_cast<std::uint32_t>(first + i);
            lefts += goes_left(lane, values[i * many_]) ? 1 : 0;
        }
        found.cut = one_side(view, rule, lefts_.get(), lefts);
        found.cut.missing_left = lane.missing_left;
        return found;
    }
    Index place = 0;
    Index known = 0;
    for (int part = 0; part < 3; ++part) {  // those that go left, those that go right, missing ones
        for (Index i = 0; i < count_; ++i) {
            const double value = values[i * many_];
            const bool is_missing = value != value;
            if ((is_missing ? 2 : (value <= lane.threshold ? 0 : 1)) == part) {
                entries_[place++] = {is_missing ? kMissingRank : static_cast<std::uint32_t>(part),
                                     static_cast<std::uint32_t>(first + i)};
            }
        }
        known = part == 0 ? place : known;
    }
    found.cut = one_cut(view, rule, entries_.get(), known, lane.missing_left);
    return found;
}

Index DrawnSplits::lane_of(Index column) const noexcept {
    for (Index lane = 0; lane < many_; ++lane) {
        if (lanes_[lane].column == column) {
            return lane;
        }
    }
    return -1;
}

SideCounts DrawnSplits::part(Index lane, double threshold, bool missing_left, std::uint32_t* sides) const {
    const double* const values = values_.get() + lane;
    const std::uint32_t lets_missing = missing_left ? 1U : 0U;
    SideCounts found;
    for (Index i = 0; i < count_; ++i) {  // without branches: half of them would be guessed wrong
        const double value = values[i * many_];
        const std::uint32_t is_missing = value != value ? 1U : 0U;
        const std::uint32_t is_left = (value <= threshold ? 1U : 0U) | (is_missing & lets_missing);
        sides[i] = 1U - is_left;
        found.lefts += is_left;
        found.missing += is_missing;
    }
    return found;
}

void DrawnSplits::read_categories(Index lane, std::uint8_t* codes) const {
    for (Index i = 0; i < count_; ++i) {
        codes[i] = category_of(values_[i * many_ + lane]);
    }
}

}  // namespace qed
