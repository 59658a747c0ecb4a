#include "qed/neighbors/nearest.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "qed/neighbors/prepared_centres.hpp"

namespace qed {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Index block_rows(Index rows) noexcept {
    return fold_rows(rows, kDepth);
}

/// The two least scores of each group for a vector of rows, and where the least one is.
struct Least {
    double* first;
    double* second;
    double* place;
};

/// Scores are half the squared length of a centre less the product: the least is that of the nearest centre.
void least_of_groups(const double* products, const NearestIn& in, Index count, const Least& out) noexcept {
    constexpr Index lanes = kLanes<double>;
    for (Index r = 0; r < count; r += lanes) {
        for (Index g = 0; g < in.groups; ++g) {
            Vector<double> first = splat(kInfinity);
            Vector<double> second = first;
            Vector<double> place{};
            for (Index j = in.starts[g]; j < in.starts[g + 1]; ++j) {
                const Vector<double> score = in.centres.half[j] - load(products + j * kRowsTogether + r);
                const auto less = score < first;
                const Vector<double> beaten = less ? first : score;
                second = beaten < second ? beaten : second;
                first = less ? score : first;
                place = less ? splat(static_cast<double>(j)) : place;
            }
            store(out.first + g * kRowsTogether + r, first);
            store(out.second + g * kRowsTogether + r, second);
            store(out.place + g * kRowsTogether + r, place);
        }
    }
}

/// One block of rows: which of them must be looked at, and then those.
class Block {
  public:
    Block(const NearestIn& in, const NearestState& state, const PreparedCentres& centres, double* part, bool sums)
        : in_(in),
          state_(state),
          centres_(centres),
          sums_(sums ? part : nullptr),
          weights_(sums ? part + centres.k() * in.x.columns() : nullptr),
          counts_(sums ? weights_ + centres.k() : part),
          scratch_(centres.scratch() + in.x.columns()),
          products_(padded<double>(centres.k()) * kRowsTogether),
          least_(3 * in.groups * kRowsTogether) {}

    void run(Index begin, Index end) {
        Index waiting[2 * kRowsTogether];
        Index count = 0;
        for (Index first = begin; first < end; first += kRowsTogether) {
            count += open(first, std::min(end, first + kRowsTogether), waiting + count);
            if (count >= kRowsTogether) {
                look(waiting, kRowsTogether);
                count -= kRowsTogether;
                std::copy_n(waiting + kRowsTogether, count, waiting);
            }
        }
        if (count > 0) {
            look(waiting, count);
        }
    }

  private:
    /// Lists the rows of [begin, end) whose centre is not known; returns how many they are.
    Index open(Index begin, Index end, Index* to) noexcept {
        Index count = 0;
        if (in_.is_first) {
            for (Index row = begin; row < end; ++row) {
                to[count++] = row;
            }
        } else if (in_.groups ==
                   1) {  // few centres: all of them cost little more than one, and a branch more than both
            for (Index row = begin; row < end; ++row) {
                const Index label = state_.labels[row];
                const double low = state_.lower[row] -= in_.group_moved[0];
                const double upper = state_.upper[row] += in_.moved[label];
                to[count] = row;
                count += static_cast<Index>(!(upper <= std::max(low, in_.reach[label])));
            }
        } else {
            for (Index row = begin; row < end; ++row) {
                if (!is_settled(row)) {
                    to[count++] = row;
                }
            }
        }
        return count;
    }

    bool is_settled(Index row) noexcept {
        const Index label = state_.labels[row];
        double* lower = state_.lower + row * in_.groups;
        double low = kInfinity;
        for (Index g = 0; g < in_.groups; ++g) {
            lower[g] -= in_.group_moved[g];
            low = std::min(low, lower[g]);
        }
        low = std::max(low, in_.reach[label]);
        double& upper = state_.upper[row];
        upper += in_.moved[label];
        if (upper <= low) {
            return true;
        }
        centres_.read(row, own_row());
        upper = std::sqrt(centres_.distance(row, own_row(), label, in_.squares[row]) + in_.slack);
        counts_[1] += 1.0;
        return upper <= low;
    }

    /// Finds the centres of the rows at so many places.
    void look(const Index* places, Index count) {
        Index numbers[kRowsTogether];
        double squares[kRowsTogether];
        double upper[kRowsTogether];
        for (Index r = 0; r < count; ++r) {
            numbers[r] = in_.list.rows == nullptr ? places[r] : in_.list.rows[places[r]];
            squares[r] = in_.squares == nullptr ? 0.0 : in_.squares[numbers[r]];
        }
        centres_.multiply(numbers, count, scratch_.get(), products_.get());
        const Least least{least_.get(), least_.get() + in_.groups * kRowsTogether,
                          least_.get() + 2 * in_.groups * kRowsTogether};
        least_of_groups(products_.get(), in_, count, least);
        counts_[1] += static_cast<double>(count * centres_.k());
        if (in_.squares == nullptr) {
            for (Index r = 0; r < count; ++r) {
                settle(places[r], numbers[r], static_cast<std::int32_t>(least.place[r]), 0.0);
            }
            return;
        }
        std::copy_n(least.first, count, upper);
        for (Index g = 1; g < in_.groups; ++g) {
            for (Index r = 0; r < count; ++r) {
                upper[r] = std::min(upper[r], least.first[g * kRowsTogether + r]);
            }
        }
        distances(upper, squares, in_.slack, count, upper);
        Index own[kRowsTogether] = {};
        for (Index r = 0; r < count; ++r) {
            for (Index g = 1; g < in_.groups; ++g) {
                own[r] = least.first[g * kRowsTogether + r] < least.first[own[r] * kRowsTogether + r] ? g : own[r];
            }
            least.first[own[r] * kRowsTogether + r] =
                least.second[own[r] * kRowsTogether + r];  // to the others of the own group
        }
        for (Index g = 0; g < in_.groups; ++g) {
            distances(least.first + g * kRowsTogether, squares, -in_.slack, count, least.first + g * kRowsTogether);
        }
        for (Index r = 0; r < count; ++r) {
            const Index at = places[r];
            state_.upper[at] = upper[r];
            for (Index g = 0; g < in_.groups; ++g) {
                state_.lower[at * in_.groups + g] = least.first[g * kRowsTogether + r];
            }
            settle(at, numbers[r], static_cast<std::int32_t>(least.place[own[r] * kRowsTogether + r]), squares[r]);
        }
    }

    /// From scores and squared lengths to distances, some rounding added or taken off.
    static void distances(const double* score, const double* squares, double slack, Index count, double* out) noexcept {
        for (Index r = 0; r < count; ++r) {
            out[r] = std::sqrt(std::max(squares[r] + 2.0 * score[r] + slack, 0.0));
        }
    }

    void settle(Index at, Index row, std::int32_t label, double square) noexcept {
        const std::int32_t before = in_.is_first ? -1 : state_.labels[at];
        if (label == before) {
            return;
        }
        state_.labels[at] = label;
        counts_[0] += 1.0;
        const double weight = in_.s == nullptr ? 1.0 : in_.s[row];
        centres_.read(row, own_row());
        if (in_.is_first) {  // by differences, which do not cancel
            const double away = centres_.distance(row, own_row(), label, square);
            counts_[2] += weight * away;
            if (in_.squares == nullptr) {
                state_.upper[at] = std::sqrt(away);
            }
        }
        if (sums_ != nullptr) {
            const Index p = in_.x.columns();
            centres_.add(row, own_row(), weight, sums_ + label * p);
            weights_[label] += weight;
            if (before >= 0) {
                centres_.add(row, own_row(), -weight, sums_ + before * p);
                weights_[before] -= weight;
            }
        }
    }

    [[nodiscard]] double* own_row() const noexcept { return scratch_.get() + centres_.scratch(); }

    const NearestIn& in_;
    const NearestState& state_;
    const PreparedCentres& centres_;
    double* sums_;
    double* weights_;
    double* counts_;
    ScratchArray<double> scratch_;
    ScratchArray<double> products_;
    ScratchArray<double> least_;
};

}  // namespace

void row_squares(const Places& x, double* out) {
    const Index step = block_rows(x.rows());
    const Effort effort(static_cast<double>(x.rows() * x.columns()));
    const CentresIn none{nullptr, nullptr, 0};
    const PreparedCentres reader(x, none);
    parallel_for(blocks_of(x.rows(), step), [&](Index block) {
        const ScratchArray<double> row(x.columns());
        for (Index i = block * step; i < std::min(x.rows(), (block + 1) * step); ++i) {
            double total = 0.0;
            if (x.is_sparse) {
                with_csr(x.sparse, [&](const auto& csr) {
                    for (Index e = csr.starts[i]; e < Index{csr.starts[i + 1]}; ++e) {
                        total += static_cast<double>(csr.values[e]) * static_cast<double>(csr.values[e]);
                    }
                });
            } else {
                reader.read(i, row.get());
                double lanes[4] = {};
                Index j = 0;
                for (; j + 4 <= x.columns(); j += 4) {
                    for (int lane = 0; lane < 4; ++lane) {
                        lanes[lane] += row[j + lane] * row[j + lane];
                    }
                }
                for (; j < x.columns(); ++j) {
                    lanes[0] += row[j] * row[j];
                }
                total = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
            }
            out[i] = total;
        }
    });
}

void assign_nearest(const NearestIn& in, const NearestState& state, NearestOut& out) {
    const Index n = in.rows();
    const Index p = in.x.columns();
    const Index k = in.centres.k;
    const Effort effort(static_cast<double>(n) * static_cast<double>(p * (k + 8)));
    const PreparedCentres centres(in.x, in.centres);
    const Index size = (out.sums == nullptr ? 0 : k * (p + 1)) + 3;
    const Index step = block_rows(n);
    const ScratchArray<double> total(size);
    fold_blocks(blocks_of(n, step), size, total.get(), [&](Index block, double* part) {
        Block(in, state, centres, part, out.sums != nullptr).run(block * step, std::min(n, (block + 1) * step));
    });
    if (out.sums != nullptr) {
        std::copy_n(total.get(), k * p, out.sums);
        std::copy_n(total.get() + k * p, k, out.weights);
    }
    out.changed = static_cast<Index>(total[size - 3]);
    out.evaluated = static_cast<Index>(total[size - 2]);
    out.inertia = total[size - 1];
}

void approach(const Places& x, const double* squares, const double* s, const CentresIn& candidates,
              const double* closest, double* near, double* total) {
    const Index n = x.rows();
    const Index count = candidates.k;
    const Effort effort(static_cast<double>(n) * static_cast<double>(x.columns() * (count + 8)));
    const PreparedCentres centres(x, candidates);
    const Index step = block_rows(n);
    fold_blocks(blocks_of(n, step), count, total, [&](Index block, double* part) {
        const ScratchArray<double> scratch(centres.scratch());
        const ScratchArray<double> products(padded<double>(count) * kRowsTogether);
        const Index end = std::min(n, (block + 1) * step);
        Index rows[kRowsTogether];
        for (Index first = block * step; first < end; first += kRowsTogether) {
            const Index now = std::min(kRowsTogether, end - first);
            for (Index r = 0; r < now; ++r) {
                rows[r] = first + r;
            }
            centres.multiply(rows, now, scratch.get(), products.get());
            for (Index l = 0; l < count; ++l) {
                double sum = 0.0;
                for (Index r = 0; r < now; ++r) {
                    const Index i = first + r;
                    const double away =
                        std::max(squares[i] + 2.0 * (candidates.half[l] - products[l * kRowsTogether + r]), 0.0);
                    const double least = closest == nullptr ? away : std::min(closest[i], away);
                    near[l * n + i] = least;
                    sum += s == nullptr ? least : s[i] * least;
                }
                part[l] += sum;
            }
        }
    });
}

}  // namespace qed
