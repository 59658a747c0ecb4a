/// How all points of t-SNE push each other away: points in a box far away push as one (Barnes-Hut).
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "qed/machine/parallel.hpp"
#include "qed/manifold/student.hpp"

namespace qed {

inline constexpr Index kChunk = 64;   // sources that are added up in single precision before doubles take over
inline constexpr Index kLeaf = 16;    // points in the smallest boxes

/// What pushes points apart.
template <class Real>
class Repulsion {
  public:
    Repulsion(Index n, Index d)
        : n_(n), d_(d), tail_(d), order_(static_cast<std::size_t>(n)), keys_(order_.size()),
          points_(static_cast<std::size_t>(d * round_up(n, kGroup))) {}

    /// Sorts points so that near ones follow each other (Morton's curve), and puts boxes around them.
    void arrange(const double* y, double angle) {
        for (Index i = 0; i < n_; ++i) {
            order_[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i);
        }
        if (angle > 0.0) {
            sort_by_place(y);
        }
        const Index padded = round_up(n_, kGroup);
        for (Index c = 0; c < d_; ++c) {
            Real* to = column(c);
            for (Index i = 0; i < padded; ++i) {
                const Index from = order_[static_cast<std::size_t>(std::min(i, n_ - 1))];
                to[i] = static_cast<Real>(y[from * d_ + c]);
            }
        }
        boxes_.clear();
        if (angle > 0.0) {
            enclose(0, n_, static_cast<int>(d_) * kDigits);
        } else {
            boxes_.push_back(leaf(0, n_));
        }
    }

    /// Adds up, for every point, inverse * power * (y_i - y_j) over all j, and returns the sum of powers over all pairs. The
    /// points are those that were arranged last, for this angle.
    double run(double angle, double* force) const {
        const Index groups = blocks_of(n_, kGroup);
        std::vector<double> sums(static_cast<std::size_t>(groups));
        constexpr Index kGroupsTogether = 16;
        parallel_for(blocks_of(groups, kGroupsTogether), [&](Index block) {
            Group group(*this);
            for (Index g = block * kGroupsTogether; g < std::min(groups, (block + 1) * kGroupsTogether); ++g) {
                sums[static_cast<std::size_t>(g)] = group.run(g, static_cast<Real>(angle * angle), force);
            }
        });
        double total = -static_cast<double>(n_);  // a point does not push itself
        for (const double sum : sums) {
            total += sum;
        }
        return total;
    }

  private:
    static constexpr Index kGroup = LanesOf<Real>::kCount;  // points that are pushed together
    using V = Lanes<Real>;

    /// A box is followed by those inside it, and knows where what is outside goes on.
    struct Box {
        std::array<Real, 3> centre;
        Real width_square;  // of its diagonal
        Real count;
        std::int32_t begin, end;  // its points
        std::int32_t after;       // the next box outside of it
        bool is_leaf;
    };

    [[nodiscard]] const Real* column(Index c) const noexcept { return points_.data() + c * round_up(n_, kGroup); }
    [[nodiscard]] Real* column(Index c) noexcept { return points_.data() + c * round_up(n_, kGroup); }

    static constexpr int kDigits = 16;  // binary digits of a coordinate within the whole

    void sort_by_place(const double* y) {
        std::array<double, 3> low{};
        double width = 0.0;
        for (Index c = 0; c < d_; ++c) {
            double least = std::numeric_limits<double>::infinity();
            double most = -least;
            for (Index i = 0; i < n_; ++i) {
                least = std::min(least, y[i * d_ + c]);
                most = std::max(most, y[i * d_ + c]);
            }
            low[static_cast<std::size_t>(c)] = least;
            width = std::max(width, most - least);
        }
        const double scale = width > 0.0 ? 65535.0 / width : 0.0;
        for (Index i = 0; i < n_; ++i) {
            std::uint64_t key = 0;
            for (Index c = 0; c < d_; ++c) {
                const double place = (y[i * d_ + c] - low[static_cast<std::size_t>(c)]) * scale;
                key |= spread(static_cast<std::uint64_t>(place > 0.0 ? place : 0.0)) << c;
            }
            keys_[static_cast<std::size_t>(i)] = key;
        }
        radix_sort();
    }

    /// The binary digits of a coordinate, d_ apart.
    [[nodiscard]] std::uint64_t spread(std::uint64_t v) const noexcept {
        if (d_ == 1) {
            return v;
        }
        if (d_ == 2) {
            v = (v | (v << 8)) & 0x00ff00ffU;
            v = (v | (v << 4)) & 0x0f0f0f0fU;
            v = (v | (v << 2)) & 0x33333333U;
            return (v | (v << 1)) & 0x55555555U;
        }
        v = (v | (v << 32)) & 0x1f00000000ffffULL;
        v = (v | (v << 16)) & 0x1f0000ff0000ffULL;
        v = (v | (v << 8)) & 0x100f00f00f00f00fULL;
        v = (v | (v << 4)) & 0x10c30c30c30c30c3ULL;
        return (v | (v << 2)) & 0x1249249249249249ULL;
    }

    void radix_sort() {
        std::vector<std::uint64_t> keys(keys_.size());
        std::vector<std::int32_t> order(order_.size());
        for (int shift = 0; shift < static_cast<int>(d_) * kDigits; shift += 8) {
            std::array<std::size_t, 257> starts{};
            for (const std::uint64_t key : keys_) {
                ++starts[((key >> shift) & 255U) + 1];
            }
            for (std::size_t digit = 0; digit < 256; ++digit) {
                starts[digit + 1] += starts[digit];
            }
            for (std::size_t i = 0; i < keys_.size(); ++i) {
                const std::size_t to = starts[(keys_[i] >> shift) & 255U]++;
                keys[to] = keys_[i];
                order[to] = order_[i];
            }
            keys_.swap(keys);
            order_.swap(order);
        }
    }

    [[nodiscard]] Box leaf(Index begin, Index end) const {
        Box box{};
        box.begin = static_cast<std::int32_t>(begin);
        box.end = static_cast<std::int32_t>(end);
        box.count = static_cast<Real>(end - begin);
        box.is_leaf = true;
        box.after = static_cast<std::int32_t>(boxes_.size()) + 1;
        return box;
    }

    /// What is known of points: their sums, and the ends of their coordinates.
    struct Extent {
        std::array<double, 3> sum{};
        std::array<Real, 3> low;
        std::array<Real, 3> high;
        Extent() {
            low.fill(std::numeric_limits<Real>::infinity());
            high.fill(-std::numeric_limits<Real>::infinity());
        }
        void merge(const Extent& other) noexcept {
            for (std::size_t c = 0; c < 3; ++c) {
                sum[c] += other.sum[c];
                low[c] = std::min(low[c], other.low[c]);
                high[c] = std::max(high[c], other.high[c]);
            }
        }
    };

    [[nodiscard]] Extent extent(Index begin, Index end) const {
        Extent all;
        for (Index c = 0; c < d_; ++c) {
            const Real* at = column(c);
            const auto place = static_cast<std::size_t>(c);
            for (Index i = begin; i < end; ++i) {
                all.low[place] = std::min(all.low[place], at[i]);
                all.high[place] = std::max(all.high[place], at[i]);
                all.sum[place] += static_cast<double>(at[i]);
            }
        }
        return all;
    }

    void measure(Box& box, const Extent& all) const {
        for (Index c = 0; c < d_; ++c) {
            const auto place = static_cast<std::size_t>(c);
            box.centre[place] = static_cast<Real>(all.sum[place] / static_cast<double>(box.end - box.begin));
            box.width_square += (all.high[place] - all.low[place]) * (all.high[place] - all.low[place]);
        }
    }

    Extent enclose(Index begin, Index end, int digits) {
        if (end - begin <= kLeaf || digits == 0) {
            Box box = leaf(begin, end);
            const Extent all = extent(begin, end);
            measure(box, all);
            boxes_.push_back(box);
            return all;
        }
        const int below = digits - static_cast<int>(d_);
        std::array<Index, 9> cuts{};
        const std::uint64_t parts = std::uint64_t{1} << d_;
        cuts[0] = begin;
        const auto first = keys_.begin();
        for (std::uint64_t part = 1; part <= parts; ++part) {
            const auto until = std::partition_point(first + cuts[part - 1], first + end, [&](std::uint64_t key) {
                return ((key >> below) & (parts - 1)) < part;
            });
            cuts[part] = until - first;
        }
        for (std::uint64_t part = 0; part < parts; ++part) {
            if (cuts[part] == begin && cuts[part + 1] == end) {  // all in one part: no box of its own
                return enclose(begin, end, below);
            }
        }
        const std::size_t at = boxes_.size();
        Box box = leaf(begin, end);
        box.is_leaf = false;
        boxes_.push_back(box);
        Extent all;
        for (std::uint64_t part = 0; part < parts; ++part) {
            if (cuts[part] < cuts[part + 1]) {
                all.merge(enclose(cuts[part], cuts[part + 1], below));
            }
        }
        measure(boxes_[at], all);
        boxes_[at].after = static_cast<std::int32_t>(boxes_.size());
        return all;
    }

    /// Points that are next to each other on the curve, and what pushes them.
    class Group {
      public:
        explicit Group(const Repulsion& all)
            : all_(all), targets_(static_cast<std::size_t>(all.d_)), pushed_(targets_.size()),
              sources_(static_cast<std::size_t>(all.d_ * kChunk)), totals_(static_cast<std::size_t>(all.d_ * kGroup)) {}

        double run(Index group, Real angle_square, double* force) {
            const Index begin = group * kGroup;
            const Index size = std::min(kGroup, all_.n_ - begin);
            for (Index c = 0; c < all_.d_; ++c) {
                const Real* at = all_.column(c) + begin;
                for (Index lane = 0; lane < kGroup; ++lane) {
                    targets_[static_cast<std::size_t>(c)][lane] = at[lane];
                }
            }
            std::fill(totals_.begin(), totals_.end(), 0.0);
            sum_.fill(0.0);
            search(begin, size, angle_square);
            push();
            double sum = 0.0;
            for (Index lane = 0; lane < size; ++lane) {
                sum += sum_[static_cast<std::size_t>(lane)];
                double* to = force + all_.order_[static_cast<std::size_t>(begin + lane)] * all_.d_;
                for (Index c = 0; c < all_.d_; ++c) {
                    to[c] = totals_[static_cast<std::size_t>(c * kGroup + lane)];
                }
            }
            return sum;
        }

      private:
        void search(Index begin, Index size, Real angle_square) {
            const auto d = static_cast<std::size_t>(std::min<Index>(all_.d_, 3));
            std::array<Real, 3> low{};
            std::array<Real, 3> high{};
            for (std::size_t c = 0; c < d; ++c) {
                const Real* at = all_.column(static_cast<Index>(c)) + begin;
                low[c] = *std::min_element(at, at + size);
                high[c] = *std::max_element(at, at + size);
            }
            const std::vector<Box>& boxes = all_.boxes_;
            for (std::size_t b = 0; b < boxes.size();) {
                const Box& box = boxes[b];
                Real away = 0;
                for (std::size_t c = 0; c < d; ++c) {
                    const Real beyond = std::max(std::max(low[c] - box.centre[c], box.centre[c] - high[c]), Real{0});
                    away += beyond * beyond;
                }
                if (angle_square > 0 && box.width_square < angle_square * away) {
                    add(box.centre.data(), 1, box.count);
                    b = static_cast<std::size_t>(box.after);
                } else if (box.is_leaf) {
                    for (std::int32_t i = box.begin; i < box.end; ++i) {
                        add(all_.column(0) + i, round_up(all_.n_, kGroup), Real{1});
                    }
                    b = static_cast<std::size_t>(box.after);
                } else {
                    ++b;
                }
            }
        }

        [[gnu::always_inline]] void add(const Real* from, Index stride, Real count) {
            for (Index c = 0; c < all_.d_; ++c) {
                sources_[static_cast<std::size_t>(c * kChunk + filled_)] = from[c * stride];
            }
            counts_[static_cast<std::size_t>(filled_)] = count;
            if (++filled_ == kChunk) {
                push();
            }
        }

        void push() {
            if (all_.d_ == 2) {
                push_in<2>();
            } else {
                push_in<0>();
            }
            filled_ = 0;
        }

        template <int D>
        void push_in() {
            const Index d = D > 0 ? D : all_.d_;
            V sum{};
            for (Index c = 0; c < d; ++c) {
                pushed_[static_cast<std::size_t>(c)] = V{};
            }
            V near[D > 0 ? D : 1];
            V moved[D > 0 ? D : 1] = {};
            if constexpr (D > 0) {
                for (Index c = 0; c < D; ++c) {
                    near[c] = targets_[static_cast<std::size_t>(c)];
                }
            }
            for (Index s = 0; s < filled_; ++s) {
                V square{};
                for (Index c = 0; c < d; ++c) {
                    const V& from = D > 0 ? near[D > 0 ? c : 0] : targets_[static_cast<std::size_t>(c)];
                    const V away = from - sources_[static_cast<std::size_t>(c * kChunk + s)];
                    square += away * away;
                }
                const auto [inverse, power] = all_.tail_.at(square);
                const V counted = power * counts_[static_cast<std::size_t>(s)];
                sum += counted;
                const V factor = counted * inverse;
                for (Index c = 0; c < d; ++c) {
                    const V& from = D > 0 ? near[D > 0 ? c : 0] : targets_[static_cast<std::size_t>(c)];
                    V& to = D > 0 ? moved[D > 0 ? c : 0] : pushed_[static_cast<std::size_t>(c)];
                    to += factor * (from - sources_[static_cast<std::size_t>(c * kChunk + s)]);
                }
            }
            for (Index lane = 0; lane < kGroup; ++lane) {
                sum_[static_cast<std::size_t>(lane)] += static_cast<double>(sum[lane]);
                for (Index c = 0; c < d; ++c) {
                    const V& from = D > 0 ? moved[D > 0 ? c : 0] : pushed_[static_cast<std::size_t>(c)];
                    totals_[static_cast<std::size_t>(c * kGroup + lane)] += static_cast<double>(from[lane]);
                }
            }
        }

        const Repulsion& all_;
        std::vector<V> targets_;
        std::vector<V> pushed_;
        std::vector<Real> sources_;
        std::vector<double> totals_;
        std::array<Real, kChunk> counts_{};
        std::array<double, kGroup> sum_{};
        Index filled_ = 0;
    };

    Index n_;
    Index d_;
    Tail tail_;
    std::vector<std::int32_t> order_;
    std::vector<std::uint64_t> keys_;
    std::vector<Real> points_;
    std::vector<Box> boxes_;
};

}  // namespace qed
