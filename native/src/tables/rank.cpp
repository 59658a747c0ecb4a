#include "qed/tables/rank.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>
#include <vector>

#include "qed/machine/parallel.hpp"
#include "qed/machine/scratch.hpp"

namespace qed {
namespace {

constexpr Index kBlock = Index{1} << 16;
constexpr int kMostBucketBits = 10;
constexpr Index kSmall = 192;  // below it, insertion into sorted order beats counting digits

template <class T>
struct KeyOf;
template <>
struct KeyOf<float> {
    using Type = std::uint32_t;
};
template <>
struct KeyOf<double> {
    using Type = std::uint64_t;
};
template <class T>
using Key = typename KeyOf<T>::Type;

/// An integer that is smaller where the score is higher. Adding zero makes one zero of the two.
template <class T>
Key<T> key_of(T score) noexcept {
    constexpr Key<T> top = Key<T>{1} << (8 * sizeof(T) - 1);
    const auto bits = std::bit_cast<Key<T>>(score + T{0});
    return (bits & top) != 0 ? bits : static_cast<Key<T>>(~bits & ~top);
}
template <class T>
T score_of(Key<T> key) noexcept {
    constexpr Key<T> top = Key<T>{1} << (8 * sizeof(T) - 1);
    return std::bit_cast<T>((key & top) != 0 ? key : static_cast<Key<T>>(~key & ~top));
}

template <class K>
struct Plain {
    K key;
    [[nodiscard]] static constexpr double weight() noexcept { return 1.0; }
};
template <class K>
struct Weighted {
    K key;
    double weight_;
    [[nodiscard]] double weight() const noexcept { return weight_; }
};

template <class T>
struct Range {
    Key<T> least = std::numeric_limits<Key<T>>::max();
    Key<T> most = 0;
};

/// Sorts by key, stably; `spare` is as large as the items. Only the lowest `bits` of key - low differ.
template <class Item, class K>
void sort_items(Item* items, Item* spare, Index count, K low, int bits) noexcept {
    if (count <= kSmall) {
        for (Index i = 1; i < count; ++i) {
            const Item item = items[i];
            Index j = i;
            for (; j > 0 && items[j - 1].key > item.key; --j) {
                items[j] = items[j - 1];
            }
            items[j] = item;
        }
        return;
    }
    Item* from = items;
    Item* to = spare;
    for (int shift = 0; shift < bits; shift += 8) {
        std::uint32_t starts[256] = {};
        for (Index i = 0; i < count; ++i) {
            ++starts[((from[i].key - low) >> shift) & 255U];
        }
        if (starts[((from[0].key - low) >> shift) & 255U] == static_cast<std::uint32_t>(count)) {
            continue;
        }
        std::uint32_t total = 0;
        for (std::uint32_t& start : starts) {
            total += std::exchange(start, total);
        }
        for (Index i = 0; i < count; ++i) {
            to[starts[((from[i].key - low) >> shift) & 255U]++] = from[i];
        }
        std::swap(from, to);
    }
    if (from != items) {
        std::copy_n(from, count, items);
    }
}

/// Walks two sorted runs together and writes one entry for each distinct key; returns how many.
template <class T, class Item>
Index write_distinct(const Item* positive, Index positives, const Item* negative, Index negatives, T* scores,
                     double* positive_weight, double* negative_weight) noexcept {
    Index count = 0;
    Index i = 0;
    Index j = 0;
    while (i < positives || j < negatives) {
        const Key<T> key =
            j == negatives || (i < positives && positive[i].key < negative[j].key) ? positive[i].key : negative[j].key;
        double more = 0.0;
        double less = 0.0;
        for (; i < positives && positive[i].key == key; ++i) {
            more += positive[i].weight();
        }
        for (; j < negatives && negative[j].key == key; ++j) {
            less += negative[j].weight();
        }
        scores[count] = score_of<T>(key);
        positive_weight[count] = more;
        negative_weight[count] = less;
        ++count;
    }
    return count;
}

template <class T>
Range<T> range_of(const Matrix& scores) {
    const Index blocks = blocks_of(scores.rows, kBlock);
    std::vector<Range<T>> ranges(static_cast<std::size_t>(blocks));
    parallel_for(blocks, [&](Index block) {
        Range<T> range;
        const Index stop = std::min(scores.rows, (block + 1) * kBlock);
        for (Index i = block * kBlock; i < stop; ++i) {
            const Key<T> key = key_of(*scores.at<T>(i, 0));
            range.least = std::min(range.least, key);
            range.most = std::max(range.most, key);
        }
        ranges[static_cast<std::size_t>(block)] = range;
    });
    Range<T> all;
    for (const Range<T>& range : ranges) {
        all.least = std::min(all.least, range.least);
        all.most = std::max(all.most, range.most);
    }
    return all;
}

template <class T, class Item>
Index rank_as(const Matrix& scores, const std::uint8_t* positive, const double* weights, const Ranked& out) {
    const Index n = scores.rows;
    const Range<T> range = range_of<T>(scores);
    constexpr T infinity = std::numeric_limits<T>::infinity();
    if (range.least <= key_of(infinity) || range.most >= key_of(-infinity)) {
        return -1;
    }
    // Buckets cut the range of keys evenly. About a thousand rows each: small enough for the nearest cache.
    int bucket_bits = 0;
    while (bucket_bits < kMostBucketBits && (n >> (bucket_bits + 10)) != 0) {
        ++bucket_bits;
    }
    const int range_bits = static_cast<int>(std::bit_width(static_cast<Key<T>>(range.most - range.least)));
    const int shift = std::clamp(range_bits - bucket_bits, 0, static_cast<int>(8 * sizeof(T)) - 1);
    const Index buckets = static_cast<Index>((range.most - range.least) >> shift) + 1;

    // Places are ordered by class, bucket, block: rows stay in order within a bucket.
    const Index blocks = blocks_of(n, kBlock);
    const auto place = [&](Index block, bool is_positive) {
        return static_cast<std::size_t>((block * 2 + (is_positive ? 1 : 0)) * buckets);
    };
    std::vector<Index> starts(static_cast<std::size_t>(blocks * 2 * buckets));
    const auto bucket_of = [&](Key<T> key) { return static_cast<std::size_t>((key - range.least) >> shift); };
    parallel_for(blocks, [&](Index block) {
        Index* counts[2] = {starts.data() + place(block, false), starts.data() + place(block, true)};
        const Index stop = std::min(n, (block + 1) * kBlock);
        for (Index i = block * kBlock; i < stop; ++i) {
            ++counts[positive[i] != 0 ? 1 : 0][bucket_of(key_of(*scores.at<T>(i, 0)))];
        }
    });
    std::vector<Index> edges[2];
    Index total = 0;
    for (int is_positive = 0; is_positive < 2; ++is_positive) {
        edges[is_positive].reserve(static_cast<std::size_t>(buckets) + 1);
        for (Index bucket = 0; bucket < buckets; ++bucket) {
            edges[is_positive].push_back(total);
            for (Index block = 0; block < blocks; ++block) {
                Index& start = starts[place(block, is_positive != 0) + static_cast<std::size_t>(bucket)];
                total += std::exchange(start, total);
            }
        }
        edges[is_positive].push_back(total);
    }

    const ScratchArray<Item> items(std::max<Index>(n, 1));
    const ScratchArray<Item> spare(std::max<Index>(n, 1));
    parallel_for(blocks, [&](Index block) {
        Index* next[2] = {starts.data() + place(block, false), starts.data() + place(block, true)};
        const Index stop = std::min(n, (block + 1) * kBlock);
        for (Index i = block * kBlock; i < stop; ++i) {
            const Key<T> key = key_of(*scores.at<T>(i, 0));
            Item& to = items[next[positive[i] != 0 ? 1 : 0][bucket_of(key)]++];
            to.key = key;
            if constexpr (sizeof(Item) > sizeof(Key<T>)) {
                to.weight_ = weights[i];
            }
        }
    });

    T* written = static_cast<T*>(out.scores);
    std::vector<Index> distinct(static_cast<std::size_t>(buckets));
    const auto first_of = [&](Index bucket) {  // entries of a bucket cannot outnumber its rows and those before it
        const auto b = static_cast<std::size_t>(bucket);
        return edges[0][b] + edges[1][b] - edges[1][0];
    };
    parallel_for(buckets, [&](Index bucket) {
        const auto b = static_cast<std::size_t>(bucket);
        const Key<T> low = range.least + static_cast<Key<T>>(static_cast<Key<T>>(bucket) << shift);
        Item* run[2];
        Index length[2];
        for (int is_positive = 0; is_positive < 2; ++is_positive) {
            const Index start = edges[is_positive][b];
            length[is_positive] = edges[is_positive][b + 1] - start;
            run[is_positive] = items.get() + start;
            sort_items(run[is_positive], spare.get() + start, length[is_positive], low, shift);
        }
        const Index at = first_of(bucket);
        distinct[b] =
            write_distinct<T>(run[1], length[1], run[0], length[0], written + at, out.positive + at, out.negative + at);
    });

    Index count = 0;
    for (Index bucket = 0; bucket < buckets; ++bucket) {
        const Index at = first_of(bucket);
        const Index now = distinct[static_cast<std::size_t>(bucket)];
        if (at != count) {  // only ties leave gaps, and what moves, moves forward
            std::copy_n(written + at, now, written + count);
            std::copy_n(out.positive + at, now, out.positive + count);
            std::copy_n(out.negative + at, now, out.negative + count);
        }
        count += now;
    }
    return count;
}

}  // namespace

Index rank_scores(const Matrix& scores, const std::uint8_t* positive, const double* weights, const Ranked& out) {
    if (scores.rows == 0) {
        return 0;
    }
    const Effort effort(16.0 * static_cast<double>(scores.rows));
    Index count = 0;
    with_type(scores.kind, [&](auto type) {
        using T = std::remove_cv_t<std::remove_pointer_t<decltype(type)>>;
        count = weights == nullptr ? rank_as<T, Plain<Key<T>>>(scores, positive, weights, out)
                                   : rank_as<T, Weighted<Key<T>>>(scores, positive, weights, out);
    });
    return count;
}

}  // namespace qed
