#include "qed/clusters/mean_shift.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "qed/machine/parallel.hpp"
#include "qed/neighbors/measure_rows.hpp"

namespace qed {
namespace {

constexpr Index kBlock = 16;  // points of a block of work

/// What each child of each node holds: sums of its rows, column after column, then how many they are.
class Totals {
  public:
    explicit Totals(const NeighborIndex& index)
        : index_(index), values_(static_cast<std::size_t>(index.node_count * (index.columns + 1) * kOctet), 0.0) {
        if (index.node_count != 0) {
            fill(0);
        }
    }
    [[nodiscard]] const double* of(Index node, Index child) const noexcept {
        return values_.data() + node * (index_.columns + 1) * kOctet + child;
    }

  private:
    void fill(Index node) {
        const Index columns = index_.columns;
        double* own = values_.data() + node * (columns + 1) * kOctet;
        for (Index c = 0; c < kOctet; ++c) {
            const Index child = index_.children[node * kOctet + c];
            if (child >= 0) {
                fill(child);
                for (Index j = 0; j <= columns; ++j) {
                    for (Index inner = 0; inner < kOctet; ++inner) {
                        own[j * kOctet + c] += of(child, inner)[j * kOctet];
                    }
                }
            } else if (child != kNoChild) {
                for (Index r = 0; r < kOctet; ++r) {
                    if (index_.ids[~child * kOctet + r] < 0) {
                        continue;
                    }
                    for (Index j = 0; j < columns; ++j) {
                        own[j * kOctet + c] += index_.octets[(~child * columns + j) * kOctet + r];
                    }
                    own[columns * kOctet + c] += 1.0;
                }
            }
        }
    }

    const NeighborIndex& index_;
    std::vector<double> values_;
};

/// The sum of the rows within a ball.
class Ball {
  public:
    Ball(const NeighborIndex& index, const Totals& totals, double radius)
        : index_(index), totals_(totals), radius_(radius), limit_(a_little_more(radius * radius)),
          sum_(static_cast<std::size_t>(index.columns)) {}

    void gather(const double* point) {
        point_ = point;
        std::fill(sum_.begin(), sum_.end(), 0.0);
        count_ = 0.0;
        if (index_.node_count != 0) {
            visit(0);
            return;
        }
        for (Index o = 0; o < index_.octet_count; ++o) {
            meet(o);
        }
    }
    void write(double* mean, Index* count) const noexcept {
        *count = static_cast<Index>(count_);
        for (Index j = 0; j < index_.columns; ++j) {
            mean[j] = count_ > 0 ? sum_[static_cast<std::size_t>(j)] / count_ : point_[j];
        }
    }

  private:
    void visit(Index node) {
        const Index columns = index_.columns;
        const double* low = index_.boxes + node * 2 * columns * kOctet;
        const double* high = low + columns * kOctet;
        Vector<double> near[kOctetVectors]{};
        Vector<double> far[kOctetVectors]{};
        for (Index j = 0; j < columns; ++j) {
            const Vector<double> value = splat(point_[j]);
            for (int v = 0; v < kOctetVectors; ++v) {
                const Vector<double> below = load(low + j * kOctet + v * kLanes<double>) - value;
                const Vector<double> above = value - load(high + j * kOctet + v * kLanes<double>);
                near[v] = Euclidean::add(near[v], maximum(maximum(below, above), Vector<double>{}), 2.0);
                far[v] = Euclidean::add(far[v], maximum(-below, -above), 2.0);
            }
        }
        const unsigned inside = at_most(far, radius_ * radius_);
        for (unsigned bits = at_most(near, limit_); bits != 0; bits &= bits - 1) {
            const int c = __builtin_ctz(bits);
            const Index child = index_.children[node * kOctet + c];
            if (child == kNoChild) {
                continue;
            }
            if ((inside >> c & 1U) != 0) {
                const double* total = totals_.of(node, c);
                for (Index j = 0; j < columns; ++j) {
                    sum_[static_cast<std::size_t>(j)] += total[j * kOctet];
                }
                count_ += total[columns * kOctet];
            } else if (child >= 0) {
                visit(child);
            } else {
                meet(~child);
            }
        }
    }

    void meet(Index octet) {
        const Index columns = index_.columns;
        const double* rows = index_.octets + octet * columns * kOctet;
        Vector<double> sums[1][kOctetVectors];
        octet_sums<Euclidean, 1>(rows, point_, columns, {2.0}, sums, {limit_});
        for (unsigned bits = at_most(sums[0], limit_); bits != 0; bits &= bits - 1) {
            const int r = __builtin_ctz(bits);
            if (index_.ids[octet * kOctet + r] < 0 ||
                std::sqrt(sums[0][r / kLanes<double>][r % kLanes<double>]) > radius_) {
                continue;
            }
            for (Index j = 0; j < columns; ++j) {
                sum_[static_cast<std::size_t>(j)] += rows[j * kOctet + r];
            }
            count_ += 1.0;
        }
    }

    const NeighborIndex& index_;
    const Totals& totals_;
    double radius_;
    double limit_;
    const double* point_ = nullptr;
    std::vector<double> sum_;
    double count_ = 0.0;
};

}  // namespace

void shift_means(const NeighborIndex& index, const double* points, Index count, double radius, double* mean,
                 Index* counts) {
    const Totals totals(index);
    const double looked = index.node_count != 0 ? 4000.0 : static_cast<double>(index.rows * index.columns);
    const Effort effort(static_cast<double>(count) * looked);
    parallel_for(blocks_of(count, kBlock), [&](Index block) {
        Ball ball(index, totals, radius);
        for (Index q = block * kBlock; q < std::min(count, (block + 1) * kBlock); ++q) {
            ball.gather(points + q * index.columns);
            ball.write(mean + q * index.columns, counts + q);
        }
    });
}

void kth_distances(const NeighborIndex& index, const double* queries, Index count, Index k, double* out) {
    const Effort effort(static_cast<double>(count) * static_cast<double>(index.rows * (index.columns + 8)));
    parallel_for(blocks_of(count, kBlock), [&](Index block) {
        std::vector<double> away(static_cast<std::size_t>(index.octet_count * kOctet));
        for (Index q = block * kBlock; q < std::min(count, (block + 1) * kBlock); ++q) {
            measure_row<Euclidean>(index, queries + q * index.columns, {2.0}, away.data());
            std::nth_element(away.begin(), away.begin() + (k - 1), away.begin() + index.rows);
            out[q] = away[static_cast<std::size_t>(k - 1)];
        }
    });
}

}  // namespace qed
