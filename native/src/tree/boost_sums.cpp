#include "qed/tree/boost_sums.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "qed/dense/numbers.hpp"
#include "qed/machine/parallel.hpp"
#include "qed/machine/scratch.hpp"

namespace qed {
namespace {

using Word = std::int64_t;
constexpr Index kRowsOfScale = Index{1} << 14;  // rows rounded at a time
constexpr Index kRowsAhead = 64;                // rows that are fetched while others are added
constexpr Index kRowsOfBlock = Index{1} << 7;   // rows whose bins stay in the cache from one group of columns to the next
constexpr Index kRowsOfWord = Index{1} << 12;   // rows whose sums fit a packed word
constexpr Index kRowsOfPart = Index{1} << 15;   // rows that pay for merging a histogram
// a packed word: slope (27 bits), curvature (24), count (13); those of a block of rows do not overflow
constexpr int kSlopeBits = 14, kCurvatureBits = 12;
constexpr int kCountField = 13, kCurvatureField = 24;
constexpr int kRestField = kCountField + kCurvatureField;
constexpr double kTypicalSlope = 32.0;     // units: rounding then adds less than 1e-4 of the variance of slopes
constexpr double kTypicalCurvature = 16.0;
constexpr Index kMostCounted = Index{1} << 25;  // so that the sum of curvatures and the count fit a word

int exponent_of(double number) noexcept {
    int exponent = 0;
    std::frexp(number > 0.0 ? number : 1.0, &exponent);
    return exponent;
}

template <class Work>
void for_rows(const BoostRows& given, const Work& work) {
    parallel_for(blocks_of(given.count, kRowsOfScale), [&](Index block) {
        const Index stop = std::min(given.count, (block + 1) * kRowsOfScale);
        for (Index i = block * kRowsOfScale; i < stop; ++i) {
            work(block, i, given.counts != nullptr ? static_cast<Index>(given.counts[i]) : 1);
        }
    });
}

/// Adds words to the bins of the first columns of a group. `bins` points to the group in the first row.
template <int kColumns>
void add_words(const std::uint8_t* bins, Index step, const std::uint32_t* rows, Index count, const Word* words,
               Word* sums) noexcept {
    for (Index i = 0; i < count; ++i) {
        std::uint64_t own = 0;
        std::memcpy(&own, bins + (rows != nullptr ? static_cast<Index>(rows[i]) : i) * step, sizeof own);
        const Word word = words[i];
#pragma GCC unroll 8
        for (int c = 0; c < kColumns; ++c) {
            sums[c * kPlaces + static_cast<Index>((own >> (8 * c)) & 255)] += word;
        }
    }
}

template <int kColumns>
void add_pairs(const std::uint8_t* bins, Index step, const std::uint32_t* rows, Index count, const Word* words,
               Word* sums) noexcept {
    using Pair [[gnu::vector_size(16), gnu::may_alias]] = Word;
    const auto* const from = reinterpret_cast<const Pair*>(words);
    auto* const to = reinterpret_cast<Pair*>(sums);
    for (Index i = 0; i < count; ++i) {
        std::uint64_t own = 0;
        std::memcpy(&own, bins + (rows != nullptr ? static_cast<Index>(rows[i]) : i) * step, sizeof own);
        const Pair pair = from[i];
#pragma GCC unroll 8
        for (int c = 0; c < kColumns; ++c) {
            to[c * kPlaces + static_cast<Index>((own >> (8 * c)) & 255)] += pair;
        }
    }
}

using Add = void (*)(const std::uint8_t*, Index, const std::uint32_t*, Index, const Word*, Word*) noexcept;
template <std::size_t... kNumbers>
constexpr std::array<Add, kGrouped> words_adders(std::index_sequence<kNumbers...>) {
    return {&add_words<static_cast<int>(kNumbers) + 1>...};
}
template <std::size_t... kNumbers>
constexpr std::array<Add, kGrouped> pairs_adders(std::index_sequence<kNumbers...>) {
    return {&add_pairs<static_cast<int>(kNumbers) + 1>...};
}
constexpr auto kAddWords = words_adders(std::make_index_sequence<kGrouped>{});
constexpr auto kAddPairs = pairs_adders(std::make_index_sequence<kGrouped>{});

}  // namespace

void BoostExtent::add(const BoostExtent& other) noexcept {
    slopes += other.slopes;
    squares += other.squares;
    curvatures += other.curvatures;
    largest = std::max(largest, other.largest);
    steepest = std::max(steepest, other.steepest);
    count += other.count;
}

BoostExtent extent_of(const BoostRows& given) {
    std::vector<BoostExtent> parts(at(blocks_of(given.count, kRowsOfScale)));
    for_rows(given, [&](Index block, Index row, Index times) {
        BoostExtent& own = parts[at(block)];
        const auto many = static_cast<double>(times);
        const double slope = std::abs(given.slope(row));
        const double curvature = given.curvature(row);
        own.slopes += slope;
        own.squares += slope * slope / many;  // of so many rows, that share it
        own.curvatures += curvature;
        own.largest = std::max(own.largest, slope / many);
        own.steepest = std::max(own.steepest, curvature / many);
        own.count += times;
    });
    BoostExtent all;
    for (const BoostExtent& own : parts) {
        all.add(own);
    }
    return all;
}

BoostScale scale_of(const BoostExtent& all, bool has_counts, bool fine) {
    const int up = kSlopeBits - exponent_of(all.largest);
    const int up_curvature = kCurvatureBits - exponent_of(all.steepest);
    const auto count = static_cast<double>(all.count);
    const double typical = std::ldexp(std::sqrt(all.squares / count), up);
    const double typical_curvature = std::ldexp(all.curvatures / count, up_curvature);
    BoostScale scale;
    scale.is_coarse = !fine && all.count <= kMostCounted && typical >= kTypicalSlope &&
                      typical_curvature >= kTypicalCurvature;
    scale.is_packed = scale.is_coarse && !has_counts;
    scale.units.count_bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(all.count)));
    scale.units.slope = std::ldexp(1.0, scale.is_coarse ? -up : exponent_of(all.slopes) - 61);
    scale.units.curvature =
        std::ldexp(1.0, scale.is_coarse ? -up_curvature : exponent_of(all.curvatures) + scale.units.count_bits - 61);
    return scale;
}

/// Whole numbers of at most the sizes of the scale; a row that counts several times is rounded as one of them.
Sums BoostSums::round(const BoostRows& given) const {
    const double slope = scale_.is_coarse ? (1 << kSlopeBits) - 1 : 0x1p61;
    const double curvature = scale_.is_coarse ? (1 << kCurvatureBits) - 1 : 0x1p61;
    const double times = 1.0 / scale_.units.slope;
    const double times_curvature = 1.0 / scale_.units.curvature;
    const int bits = scale_.units.count_bits;
    std::vector<Sums> parts(at(blocks_of(given.count, kRowsOfScale)));
    for_rows(given, [&](Index block, Index row, Index many) {
        const Index share = scale_.is_coarse ? many : 1;
        const double own = given.slope(row) / static_cast<double>(share) * times;
        const double bend = given.curvature(row) / static_cast<double>(share) * times_curvature;
        const Word rounded = share * static_cast<Word>(std::nearbyint(std::clamp(own, -slope, slope)));
        const Word curved = share * static_cast<Word>(std::nearbyint(std::min(bend, curvature)));
        if (scale_.is_packed) {
            words_[row] = (rounded << kRestField) + (curved << kCountField) + 1;
        } else {
            words_[2 * row] = rounded;
            words_[2 * row + 1] = (curved << bits) + many;
        }
        parts[at(block)] += Sums{rounded, (curved << bits) + many};
    });
    Sums total;
    for (const Sums& own : parts) {
        total += own;
    }
    return total;
}

void BoostSums::fill(const std::uint32_t* rows, Index count, Sums* histogram) const {
    const Effort effort(static_cast<double>(count) * static_cast<double>(x_.columns));
    const Index parts = std::min<Index>(thread_count(), count / kRowsOfPart);
    if (parts < 2) {
        const Index shares = std::min<Index>(thread_count(), groups_);
        parallel_for(shares, [&](Index k) {
            add_rows(rows, 0, count, k * groups_ / shares, (k + 1) * groups_ / shares, histogram);
        });
        return;
    }
    const ScratchArray<Sums> others((parts - 1) * x_.places());
    parallel_for(parts, [&](Index k) {
        add_rows(rows, k * count / parts, (k + 1) * count / parts, 0, groups_,
                 k == 0 ? histogram : others.get() + (k - 1) * x_.places());
    });
    parallel_for(groups_, [&](Index g) {
        const Index first = g * kGrouped * kPlaces;
        for (Index k = 0; k < parts - 1; ++k) {
            const Sums* const own = others.get() + k * x_.places();
            for (Index place = first; place < first + kGrouped * kPlaces; ++place) {
                histogram[place] += own[place];
            }
        }
    });
}

/// Clears the histograms of some groups, and adds the rows at [first, last) a block at a time, so that the bins of a
/// block are fetched once for all groups.
void BoostSums::add_rows(const std::uint32_t* rows, Index first, Index last, Index group, Index end,
                         Sums* histogram) const {
    const Index step = x_.row_step();
    const Index width = scale_.is_packed ? 1 : 2;
    const ScratchArray<Word> gathered(width * kRowsOfBlock);
    const ScratchArray<Word> packed((end - group) * kGrouped * kPlaces);
    std::fill_n(histogram + group * kGrouped * kPlaces, (end - group) * kGrouped * kPlaces, Sums{});
    std::fill_n(packed.get(), scale_.is_packed ? (end - group) * kGrouped * kPlaces : 0, Word{0});
    Index held = 0;
    for (Index from = first; from < last; from += kRowsOfBlock) {
        const Index count = std::min(last - from, kRowsOfBlock);
        const Word* words = words_ + width * from;
        const std::uint32_t* const own = rows != nullptr ? rows + from : nullptr;
        if (own != nullptr) {
            for (Index i = 0; i < count; ++i) {
                const auto row = static_cast<Index>(own[i]);
                if (from + i + kRowsAhead < last) {
                    const auto later = static_cast<Index>(own[i + kRowsAhead]);
                    __builtin_prefetch(x_.by_row + later * step);
                    __builtin_prefetch(words_ + later * width);
                }
                for (Index k = 0; k < width; ++k) {
                    gathered[width * i + k] = words_[width * row + k];
                }
            }
            words = gathered.get();
        }
        const std::uint8_t* const bins = x_.by_row + (rows != nullptr ? 0 : from * step);
        for (Index g = group; g < end; ++g) {
            const auto columns = static_cast<std::size_t>(std::min(kGrouped, x_.columns - g * kGrouped));
            if (scale_.is_packed) {
                kAddWords[columns - 1](bins + g * kGrouped, step, own, count, words,
                                       packed.get() + (g - group) * kGrouped * kPlaces);
            } else {
                kAddPairs[columns - 1](bins + g * kGrouped, step, own, count, words,
                                       &histogram[g * kGrouped * kPlaces].slope);
            }
        }
        held += count;
        if (scale_.is_packed && (held + kRowsOfBlock > kRowsOfWord || from + count == last)) {
            unpack(packed.get(), (end - group) * kGrouped * kPlaces, histogram + group * kGrouped * kPlaces);
            held = 0;
        }
    }
}

/// Adds what packed sums hold to a histogram, and clears them.
void BoostSums::unpack(Word* packed, Index count, Sums* histogram) const noexcept {
    for (Index place = 0; place < count; ++place) {
        const Word word = std::exchange(packed[place], 0);
        histogram[place].slope += word >> kRestField;
        histogram[place].rest += (((word >> kCountField) & ((Word{1} << kCurvatureField) - 1)) << scale_.units.count_bits) +
                                 (word & ((Word{1} << kCountField) - 1));
    }
}

}  // namespace qed
