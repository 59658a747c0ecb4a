#include "qed/tree/boost_sums.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <type_traits>
#include <utility>

#include "qed/dense/numbers.hpp"
#include "qed/machine/parallel.hpp"

namespace qed {
namespace {

using Word = std::int64_t;
constexpr Index kRowsOfScale = Index{1} << 12;  // rows rounded at a time
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

/// Calls work(part, row, count of the row) for all rows; returns the parts, one for each block. Without counts they are
/// ones that the compiler sees.
template <class Part, class Work>
std::vector<Part> for_rows(const BoostRows& given, const Work& work) {
    std::vector<Part> parts(at(blocks_of(given.count, kRowsOfScale)));
    parallel_for(static_cast<Index>(parts.size()), [&](Index block) {
        Part own;
        const Index stop = std::min(given.count, (block + 1) * kRowsOfScale);
        for (Index i = block * kRowsOfScale; i < stop; ++i) {
            if (given.counts != nullptr) {
                work(own, i, static_cast<Index>(given.counts[i]));
            } else {
                work(own, i, std::integral_constant<Index, 1>{});
            }
        }
        parts[at(block)] = own;
    });
    return parts;
}

/// Words of a row, side by side.
template <int kSlots>
struct LineOf {
    using Type [[gnu::vector_size(kSlots * 8), gnu::may_alias]] = Word;
};
template <>
struct LineOf<1> {
    using Type = Word;
};

/// Adds the words of rows to the bins of the first columns of a group. `bins` points to the group in the first row.
template <int kSlots, int kColumns>
void add_words(const std::uint8_t* bins, Index step, const std::uint32_t* rows, Index count, const Word* words,
               Word* sums) noexcept {
    using Line = typename LineOf<kSlots>::Type;
    const auto* const from = reinterpret_cast<const Line*>(words);
    auto* const to = reinterpret_cast<Line*>(sums);
    for (Index i = 0; i < count; ++i) {
        std::uint64_t own = 0;
        std::memcpy(&own, bins + (rows != nullptr ? static_cast<Index>(rows[i]) : i) * step, sizeof own);
        const Line line = from[i];
#pragma GCC unroll 8
        for (int c = 0; c < kColumns; ++c) {
            to[c * kPlaces + static_cast<Index>((own >> (8 * c)) & 255)] += line;
        }
    }
}

using Add = void (*)(const std::uint8_t*, Index, const std::uint32_t*, Index, const Word*, Word*) noexcept;
template <int kSlots, std::size_t... kNumbers>
constexpr std::array<Add, kGrouped> adders(std::index_sequence<kNumbers...>) {
    return {&add_words<kSlots, static_cast<int>(kNumbers) + 1>...};
}
constexpr auto kColumnNumbers = std::make_index_sequence<kGrouped>{};
constexpr std::array<std::array<Add, kGrouped>, 4> kAdders = {adders<1>(kColumnNumbers), adders<2>(kColumnNumbers),
                                                              adders<4>(kColumnNumbers), adders<8>(kColumnNumbers)};

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
    const auto parts = for_rows<BoostExtent>(given, [&](BoostExtent& own, Index row, auto times) {
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
    const auto parts = for_rows<Sums>(given, [&](Sums& sum, Index row, auto many) {
        const Index share = scale_.is_coarse ? Index{many} : Index{1};
        const double own = given.slope(row) / static_cast<double>(share) * times;
        const double scaled = given.curvature(row) / static_cast<double>(share) * times_curvature;
        const Word rounded = share * static_cast<Word>(std::nearbyint(std::clamp(own, -slope, slope)));
        const Word curved = share * static_cast<Word>(std::nearbyint(std::min(scaled, curvature)));
        if (scale_.is_packed) {
            words_[row] = (rounded << kRestField) + (curved << kCountField) + 1;
        } else {
            words_[2 * row] = rounded;
            words_[2 * row + 1] = (curved << bits) + many;
        }
        sum += Sums{rounded, (curved << bits) + many};
    });
    Sums total;
    for (const Sums& own : parts) {
        total += own;
    }
    return total;
}

/// Classes whose words are added together, at the same bins.
struct BoostSums::Together {
    std::span<const BoostSums* const> classes;
    Index width = 0;         ///< words a row
    int slots_log = 0;       ///< binary logarithm of the places that they take: a power of two
    bool is_packed = false;  ///< whether one of the classes is

    [[nodiscard]] Index slots() const noexcept { return Index{1} << slots_log; }
    /// Whether what is added up is the histogram itself.
    [[nodiscard]] bool is_direct() const noexcept { return classes.size() == 1 && !is_packed; }
};

void BoostSums::fill(std::span<const BoostSums* const> classes, const std::uint32_t* rows, Index count,
                     Sums* const* histograms) {
    while (!classes.empty()) {
        Together own;
        std::size_t many = 0;
        while (many < classes.size() && own.width + classes[many]->width() <= kWordsTogether) {
            own.width += classes[many]->width();
            own.is_packed = own.is_packed || classes[many]->scale_.is_packed;
            ++many;
        }
        own.classes = classes.first(many);
        own.slots_log = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(own.width - 1)));
        fill(own, rows, count, histograms);
        classes = classes.subspan(many);
        histograms += many;
    }
}

void BoostSums::fill(const Together& own, const std::uint32_t* rows, Index count, Sums* const* histograms) {
    const BoostSums& first = *own.classes[0];
    const Index groups = first.groups_;
    const Index size = first.x_.places();
    const auto classes = static_cast<Index>(own.classes.size());
    const Effort effort(static_cast<double>(count) * static_cast<double>(first.x_.columns * classes));
    const Index parts = std::min<Index>(thread_count(), count / kRowsOfPart);
    if (parts < 2) {
        const Index shares = std::min<Index>(thread_count(), groups);
        parallel_for(shares, [&](Index k) {
            add_rows(own, rows, 0, count, k * groups / shares, (k + 1) * groups / shares, histograms);
        });
        return;
    }
    const ScratchArray<Sums> others((parts - 1) * classes * size);
    parallel_for(parts, [&](Index k) {
        Sums* to[kWordsTogether];
        for (Index c = 0; c < classes; ++c) {
            to[c] = k == 0 ? histograms[c] : others.get() + ((k - 1) * classes + c) * size;
        }
        add_rows(own, rows, k * count / parts, (k + 1) * count / parts, 0, groups, to);
    });
    parallel_for(groups, [&](Index g) {
        const Index start = g * kGrouped * kPlaces;
        for (Index k = 0; k < (parts - 1) * classes; ++k) {
            const Sums* const from = others.get() + k * size;
            Sums* const to = histograms[k % classes];
            for (Index place = start; place < start + kGrouped * kPlaces; ++place) {
                to[place] += from[place];
            }
        }
    });
}

/// Puts the words of some rows of all classes side by side.
void BoostSums::gather(const Together& own, const std::uint32_t* rows, Index from, Index count, Word* to) {
    const Index slots = own.slots();
    Index slot = 0;
    for (const BoostSums* const one : own.classes) {
        const Index width = one->width();
        const Word* const words = one->words_;
        for (Index i = 0; i < count; ++i) {
            const Index row = rows != nullptr ? static_cast<Index>(rows[from + i]) : from + i;
            for (Index k = 0; k < width; ++k) {
                to[i * slots + slot + k] = words[row * width + k];
            }
        }
        slot += width;
    }
    for (; slot < slots; ++slot) {
        for (Index i = 0; i < count; ++i) {
            to[i * slots + slot] = 0;
        }
    }
}

/// Clears the histograms of some groups of columns, and adds the rows at [first, last) a block at a time, so that what a
/// block needs is fetched once for all groups.
void BoostSums::add_rows(const Together& own, const std::uint32_t* rows, Index first, Index last, Index group,
                         Index end, Sums* const* histograms) {
    const BinsView& x = own.classes[0]->x_;
    const Index step = x.row_step();
    const Index slots = own.slots();
    const Index places = (end - group) * kGrouped * kPlaces;
    const Index start = group * kGrouped * kPlaces;
    const ScratchArray<Word> gathered(slots * kRowsOfBlock);
    const ScratchArray<Word> added(own.is_direct() ? 1 : places * slots);
    Word* const to = own.is_direct() ? &histograms[0][start].slope : added.get();
    for (std::size_t c = 0; c < own.classes.size(); ++c) {
        std::fill_n(histograms[c] + start, places, Sums{});
    }
    std::fill_n(added.get(), own.is_direct() ? 0 : places * slots, Word{0});
    Index held = 0;
    for (Index from = first; from < last; from += kRowsOfBlock) {
        const Index count = std::min(last - from, kRowsOfBlock);
        for (Index i = from + kRowsAhead; rows != nullptr && i < std::min(last, from + count + kRowsAhead); ++i) {
            __builtin_prefetch(x.by_row + static_cast<Index>(rows[i]) * step);
            for (const BoostSums* const one : own.classes) {
                __builtin_prefetch(one->words_ + static_cast<Index>(rows[i]) * one->width());
            }
        }
        const Word* words = own.classes[0]->words_ + own.width * from;
        if (rows != nullptr || own.classes.size() > 1) {
            gather(own, rows, from, count, gathered.get());
            words = gathered.get();
        }
        const std::uint8_t* const bins = x.by_row + (rows != nullptr ? 0 : from * step);
        for (Index g = group; g < end; ++g) {
            const auto columns = static_cast<std::size_t>(std::min(kGrouped, x.columns - g * kGrouped));
            kAdders[at(own.slots_log)][columns - 1](bins + g * kGrouped, step, rows != nullptr ? rows + from : nullptr,
                                                    count, words, to + (g - group) * kGrouped * kPlaces * slots);
        }
        held += count;
        const bool is_full = own.is_packed && held + kRowsOfBlock > kRowsOfWord;
        if (!own.is_direct() && (is_full || from + count == last)) {
            Index slot = 0;
            for (std::size_t c = 0; c < own.classes.size(); ++c) {
                own.classes[c]->take(added.get() + slot, slots, places, histograms[c] + start);
                slot += own.classes[c]->width();
            }
            std::fill_n(added.get(), places * slots, Word{0});
            held = 0;
        }
    }
}

/// Adds sums of the words of rows, `slots` apart, to a histogram.
void BoostSums::take(const Word* added, Index slots, Index count, Sums* histogram) const noexcept {
    if (!scale_.is_packed) {
        for (Index place = 0; place < count; ++place) {
            histogram[place] += Sums{added[place * slots], added[place * slots + 1]};
        }
        return;
    }
    for (Index place = 0; place < count; ++place) {
        const Word word = added[place * slots];
        histogram[place].slope += word >> kRestField;
        histogram[place].rest += (((word >> kCountField) & ((Word{1} << kCurvatureField) - 1)) << scale_.units.count_bits) +
                                 (word & ((Word{1} << kCountField) - 1));
    }
}

}  // namespace qed
