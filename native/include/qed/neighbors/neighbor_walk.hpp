/// The way down a tree of boxes, and what is kept on it.
///
/// A keeper says up to which sum it is interested (`limit`), whether it looks at rows at all (`kLooks`), and takes what
/// is within (`offer`). It may have children passed by (`skips`).
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "qed/neighbors/neighbors.hpp"

namespace qed {

inline constexpr double kFar = std::numeric_limits<double>::infinity();
inline constexpr Index kNobody = std::numeric_limits<Index>::max();

/// A metric with its numbers.
template <class M>
struct Ruler {
    double power;
    Index columns;
    [[nodiscard]] double distance(double sum) const noexcept { return M::distance(sum, power, columns); }
    [[nodiscard]] double reach(double distance) const noexcept { return M::reach(distance, power, columns); }
};

inline bool nearer(const Near& a, const Near& b) noexcept {
    return a.distance < b.distance || (a.distance == b.distance && a.id < b.id);
}

/// The k best of what is offered: few in order, many as they come, thinned out when twice as many are there.
template <class M>
class Best {
  public:
    static constexpr bool kLooks = true;
    Best(Index k, Ruler<M> ruler) : k_(k), ruler_(ruler), kept_(static_cast<std::size_t>(k <= kFew ? k : 2 * k)) {
        clear();
    }
    void clear() noexcept {
        std::fill(kept_.begin(), kept_.end(), Near{kFar, kNobody});
        count_ = 0;
        limit_ = kFar;
    }
    /// No sum beyond this can be among the best.
    [[nodiscard]] double limit() const noexcept { return limit_; }
    void offer(double sum, Index id) noexcept { put({ruler_.distance(sum), id}); }
    void put(const Near& one) noexcept {
        if (k_ > kFew) {
            kept_[static_cast<std::size_t>(count_++)] = one;
            if (count_ == 2 * k_) {
                thin();
            }
            return;
        }
        Near* place = kept_.data();
        if (!nearer(one, place[k_ - 1])) {
            return;
        }
        Index at = k_ - 1;
        for (; at > 0 && nearer(one, place[at - 1]); --at) {
            place[at] = place[at - 1];
        }
        place[at] = one;
        limit_ = ruler_.reach(place[k_ - 1].distance);
    }
    /// The best in order; k of them, as long as so many were offered.
    const Near* finish() noexcept {
        if (k_ > kFew) {
            if (count_ > k_) {
                thin();
            }
            std::sort(kept_.begin(), kept_.begin() + k_, nearer);
        }
        return kept_.data();
    }

  private:
    static constexpr Index kFew = 32;
    void thin() noexcept {
        std::nth_element(kept_.begin(), kept_.begin() + (k_ - 1), kept_.begin() + count_, nearer);
        std::fill(kept_.begin() + k_, kept_.end(), Near{kFar, kNobody});
        limit_ = ruler_.reach(kept_[static_cast<std::size_t>(k_ - 1)].distance);
        count_ = k_;
    }

    Index k_;
    Ruler<M> ruler_;
    std::vector<Near> kept_;
    Index count_ = 0;
    double limit_ = kFar;
};

/// Nothing: the octets within reach are counted, and not looked at.
class Count {
  public:
    static constexpr bool kLooks = false;
    explicit Count(double limit) noexcept : limit_(limit) {}
    [[nodiscard]] double limit() const noexcept { return limit_; }
    void offer(double /*sum*/, Index /*id*/) noexcept {}

  private:
    double limit_;
};

/// Everything within a radius.
template <class M>
class All {
  public:
    static constexpr bool kLooks = true;
    All(std::vector<Near>& place, double radius, Ruler<M> ruler) noexcept
        : place_(&place), radius_(radius), ruler_(ruler), limit_(ruler.reach(radius)) {}
    [[nodiscard]] double limit() const noexcept { return limit_; }
    void offer(double sum, Index id) {
        if (const double distance = ruler_.distance(sum); distance <= radius_) {
            place_->push_back({distance, id});
        }
    }

  private:
    std::vector<Near>* place_;
    double radius_;
    Ruler<M> ruler_;
    double limit_;
};

/// Offers those rows of an octet that are near enough; `own` is the row that does not count.
template <class Keep>
[[gnu::always_inline]] inline void offer_octet(const NeighborIndex& index, Index octet,
                                               const Vector<double> (&sums)[kOctetVectors], Index own, Keep& keep) {
    unsigned bits = at_most(sums, keep.limit());
    while (bits != 0) {
        const int row = __builtin_ctz(bits);
        bits &= bits - 1;
        const Index id = index.ids[octet * kOctet + row];
        if (id >= 0 && id != own) {
            keep.offer(sums[row / kLanes<double>][row % kLanes<double>], id);
        }
    }
}

/// One query down the tree, the nearest box first. Boxes beyond what is kept already are passed by.
template <class M, class Keep>
class Walk {
  public:
    /// `most` is how many octets are looked at before the walk is given up.
    Walk(const NeighborIndex& index, const double* query, Exponent power, Index own, Keep& keep,
         Index most = kNobody) noexcept
        : index_(index), query_(query), power_(power), own_(own), keep_(keep), most_(most) {}

    [[nodiscard]] Index seen() const noexcept { return seen_; }
    [[nodiscard]] bool gave_up() const noexcept { return seen_ > most_; }

    void visit(Index node = 0) {
        const Index size = index_.columns * kOctet;
        Vector<double> sums[kOctetVectors];
        box_sums<M>(index_.boxes + node * 2 * size, index_.boxes + node * 2 * size + size, query_, index_.columns,
                    power_, sums, keep_.limit());
        double bound[kOctet];
        int order[kOctet];
        int count = 0;
        for (unsigned bits = at_most(sums, keep_.limit()); bits != 0; bits &= bits - 1) {
            const int c = __builtin_ctz(bits);
            const Index child = index_.children[node * kOctet + c];
            if (child == kNoChild) {
                continue;
            }
            if constexpr (requires { keep_.skips(child); }) {
                if (keep_.skips(child)) {
                    continue;
                }
            }
            const double value = sums[c / kLanes<double>][c % kLanes<double>];
            int at = count++;
            for (; at > 0 && value < bound[at - 1]; --at) {
                bound[at] = bound[at - 1];
                order[at] = order[at - 1];
            }
            bound[at] = value;
            order[at] = c;
        }
        for (int at = 0; at < count && bound[at] <= keep_.limit() && !gave_up(); ++at) {
            const Index child = index_.children[node * kOctet + order[at]];
            if (child >= 0) {
                visit(child);
            } else {
                meet(~child);
            }
        }
    }

  private:
    void meet(Index octet) {
        ++seen_;
        if constexpr (!Keep::kLooks) {
            return;
        }
        Vector<double> sums[1][kOctetVectors];
        octet_sums<M, 1>(index_.octets + octet * index_.columns * kOctet, query_, index_.columns, power_, sums,
                         {keep_.limit()});
        offer_octet(index_, octet, sums[0], own_, keep_);
    }

    const NeighborIndex& index_;
    const double* query_;
    Exponent power_;
    Index own_;
    Keep& keep_;
    Index most_;
    Index seen_ = 0;
};

}  // namespace qed
