#include "qed/neighbors/nearest.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "qed/dense/fold.hpp"
#include "qed/dense/packed_rows.hpp"
#include "qed/sparse/csr.hpp"

namespace qed {
namespace {

constexpr Index kChunk = kTile<double>;  ///< rows whose products with all centres are found together
constexpr double kInfinity = std::numeric_limits<double>::infinity();

double squared_distance(const double* a, const double* b, Index count) noexcept {
    constexpr Index lanes = kLanes<double>;
    Vector<double> total{};
    Index i = 0;
    for (; i + lanes <= count; i += lanes) {
        const Vector<double> step = load(a + i) - load(b + i);
        total += step * step;
    }
    double rest = 0.0;
    for (; i < count; ++i) {
        rest += (a[i] - b[i]) * (a[i] - b[i]);
    }
    return sum_lanes(total) + rest;
}

/// Centres in the layout that products want: packed strips for dense rows, transposed for compressed ones.
class Prepared {
  public:
    Prepared(const Places& x, const CentresIn& centres) : x_(x), centres_(centres) {
        const Index p = x.columns();
        const Matrix turned = row_major(centres.c, centres.k, p, p).transposed();
        if (x.is_sparse) {
            by_column_.resize(static_cast<std::size_t>(p * centres.k));
            load_rows(turned, 0, p, 0, centres.k, by_column_.data(), centres.k);
        } else {
            packed_.emplace(plain(turned), p);
            packed_->fill(0);
        }
    }

    [[nodiscard]] Index k() const noexcept { return centres_.k; }
    [[nodiscard]] Index scratch() const noexcept {
        return x_.is_sparse ? centres_.k : kChunk * (x_.columns() + kDepth);
    }

    /// out[j * kChunk + r] = product of the r-th of `count` rows with centre j.
    void multiply(const Index* rows, Index count, double* scratch, double* out) const {
        if (x_.is_sparse) {
            with_csr(x_.sparse, [&](const auto& csr) { multiply_sparse(csr, rows, count, scratch, out); });
            return;
        }
        const Index p = x_.columns();
        std::fill_n(out, padded<double>(centres_.k) * kChunk, 0.0);
        double* gathered = scratch + kChunk * kDepth;
        Factor factor;
        if (is_run(rows, count)) {
            Matrix part = x_.dense;
            part.rows = count;
            with_type(part.kind, [&](auto type) {
                using T = std::remove_cv_t<std::remove_pointer_t<decltype(type)>>;
                part.data = x_.dense.at<T>(rows[0], 0);
            });
            factor = plain(part.transposed());
            factor.row_shift = x_.shift;
        } else {
            for (Index r = 0; r < count; ++r) {
                fetch(rows[std::min(r + kAhead, count - 1)]);
                read(rows[r], gathered + r * p);
            }
            factor = plain(row_major(gathered, count, p, p).transposed());
        }
        for (Index number = 0; number < packed_->panels(); ++number) {
            const Panel<double> right{scratch, packed_->depth(number), count};
            pack_strips(factor, number * kDepth, right.depth, 0, right.strips(), scratch);
            multiply_panels<double, false>(packed_->panel(number), right, out, kChunk);
        }
    }

    /// A dense row, less the shift; nothing for a compressed one.
    void read(Index row, double* __restrict to) const noexcept {
        if (x_.is_sparse) {
            return;
        }
        const Index p = x_.columns();
        with_type(x_.dense.kind, [&](auto type) {
            using T = std::remove_cv_t<std::remove_pointer_t<decltype(type)>>;
            const T* from = x_.dense.at<T>(row, 0);
            const Index stride = x_.dense.column_stride;
            const double* __restrict shift = x_.shift;
            if (stride == 1 && shift != nullptr) {
                for (Index j = 0; j < p; ++j) {
                    to[j] = static_cast<double>(from[j]) - shift[j];
                }
                return;
            }
            for (Index j = 0; j < p; ++j) {
                to[j] = static_cast<double>(from[j * stride]) - (shift == nullptr ? 0.0 : shift[j]);
            }
        });
    }

    /// A row as dense numbers, less the shift; `to` holds zeros.
    void copy(Index row, double* to) const noexcept {
        read(row, to);
        if (x_.is_sparse) {
            add(row, nullptr, 1.0, to);
        }
    }

    /// to += weight times a row, whose values were read if it is dense.
    void add(Index row, const double* __restrict values, double weight, double* __restrict to) const noexcept {
        if (x_.is_sparse) {
            with_csr(x_.sparse, [&](const auto& csr) {
                for (Index e = csr.starts[row]; e < Index{csr.starts[row + 1]}; ++e) {
                    to[csr.indices[e]] += weight * static_cast<double>(csr.values[e]);
                }
            });
            return;
        }
        const Index p = x_.columns();
        for (Index j = 0; j < p; ++j) {
            to[j] += weight * values[j];
        }
    }

    /// Squared distance of a row, whose values were read if it is dense, to one centre.
    [[nodiscard]] double distance(Index row, const double* values, Index j, double square) const noexcept {
        const Index p = x_.columns();
        const double* c = centres_.c + j * p;
        if (x_.is_sparse) {
            double product = 0.0;
            with_csr(x_.sparse, [&](const auto& csr) {
                for (Index e = csr.starts[row]; e < Index{csr.starts[row + 1]}; ++e) {
                    product += static_cast<double>(csr.values[e]) * c[csr.indices[e]];
                }
            });
            return std::max(square + 2.0 * (centres_.half[j] - product), 0.0);
        }
        return squared_distance(values, c, p);
    }

  private:
    static constexpr Index kAhead = 8;  ///< rows: far enough for memory to answer, few enough to be on their way at once

    static bool is_run(const Index* rows, Index count) noexcept {
        for (Index r = 1; r < count; ++r) {
            if (rows[r] != rows[r - 1] + 1) {
                return false;
            }
        }
        return true;
    }

    /// Asks for a row whose place no pattern foretells.
    void fetch(Index row) const noexcept {
        with_type(x_.dense.kind, [&](auto type) {
            using T = std::remove_cv_t<std::remove_pointer_t<decltype(type)>>;
            const T* from = x_.dense.at<T>(row, 0);
            constexpr auto line = static_cast<Index>(kCacheLine / sizeof(T));
            if (x_.dense.column_stride == 1) {
                for (Index j = 0; j < x_.columns() + line - 1; j += line) {
                    __builtin_prefetch(from + std::min(j, x_.columns() - 1));
                }
            }
        });
    }

    template <class Rows>
    void multiply_sparse(const Rows& csr, const Index* rows, Index count, double* sums, double* out) const noexcept {
        const Index k = centres_.k;
        for (Index r = 0; r < count; ++r) {
            std::fill_n(sums, k, 0.0);
            for (Index e = csr.starts[rows[r]]; e < Index{csr.starts[rows[r] + 1]}; ++e) {
                const auto value = static_cast<double>(csr.values[e]);
                const double* column = by_column_.data() + csr.indices[e] * k;
                for (Index j = 0; j < k; ++j) {
                    sums[j] += value * column[j];
                }
            }
            for (Index j = 0; j < k; ++j) {
                out[j * kChunk + r] = sums[j];
            }
        }
    }

    const Places& x_;
    CentresIn centres_;
    std::optional<PackedRows<double>> packed_;
    std::vector<double> by_column_;
};

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
                const Vector<double> score = in.centres.half[j] - load(products + j * kChunk + r);
                const auto less = score < first;
                const Vector<double> beaten = less ? first : score;
                second = beaten < second ? beaten : second;
                first = less ? score : first;
                place = less ? splat(static_cast<double>(j)) : place;
            }
            store(out.first + g * kChunk + r, first);
            store(out.second + g * kChunk + r, second);
            store(out.place + g * kChunk + r, place);
        }
    }
}

/// One block of rows: which of them must be looked at, and then those.
class Block {
  public:
    Block(const NearestIn& in, const NearestState& state, const Prepared& centres, double* part, bool sums)
        : in_(in),
          state_(state),
          centres_(centres),
          sums_(sums ? part : nullptr),
          weights_(sums ? part + centres.k() * in.x.columns() : nullptr),
          counts_(sums ? weights_ + centres.k() : part),
          scratch_(centres.scratch() + in.x.columns()),
          products_(padded<double>(centres.k()) * kChunk),
          least_(3 * in.groups * kChunk) {}

    void run(Index begin, Index end) {
        Index waiting[2 * kChunk];
        Index count = 0;
        for (Index first = begin; first < end; first += kChunk) {
            count += open(first, std::min(end, first + kChunk), waiting + count);
            if (count >= kChunk) {
                look(waiting, kChunk);
                count -= kChunk;
                std::copy_n(waiting + kChunk, count, waiting);
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
        } else if (in_.groups == 1) {  // few centres: all of them cost little more than one, and a branch more than both
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
        Index numbers[kChunk];
        double squares[kChunk];
        double upper[kChunk];
        for (Index r = 0; r < count; ++r) {
            numbers[r] = in_.list.rows == nullptr ? places[r] : in_.list.rows[places[r]];
            squares[r] = in_.squares[numbers[r]];
        }
        centres_.multiply(numbers, count, scratch_.get(), products_.get());
        const Least least{least_.get(), least_.get() + in_.groups * kChunk, least_.get() + 2 * in_.groups * kChunk};
        least_of_groups(products_.get(), in_, count, least);
        counts_[1] += static_cast<double>(count * centres_.k());
        std::copy_n(least.first, count, upper);
        for (Index g = 1; g < in_.groups; ++g) {
            for (Index r = 0; r < count; ++r) {
                upper[r] = std::min(upper[r], least.first[g * kChunk + r]);
            }
        }
        distances(upper, squares, in_.slack, count, upper);
        Index own[kChunk] = {};
        for (Index r = 0; r < count; ++r) {
            for (Index g = 1; g < in_.groups; ++g) {
                own[r] = least.first[g * kChunk + r] < least.first[own[r] * kChunk + r] ? g : own[r];
            }
            least.first[own[r] * kChunk + r] = least.second[own[r] * kChunk + r];  // to the others of the own group
        }
        for (Index g = 0; g < in_.groups; ++g) {
            distances(least.first + g * kChunk, squares, -in_.slack, count, least.first + g * kChunk);
        }
        for (Index r = 0; r < count; ++r) {
            const Index at = places[r];
            state_.upper[at] = upper[r];
            for (Index g = 0; g < in_.groups; ++g) {
                state_.lower[at * in_.groups + g] = least.first[g * kChunk + r];
            }
            settle(at, numbers[r], static_cast<std::int32_t>(least.place[own[r] * kChunk + r]), squares[r]);
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
            counts_[2] += weight * centres_.distance(row, own_row(), label, square);
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
    const Prepared& centres_;
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
    const Prepared reader(x, none);
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
    const Prepared centres(in.x, in.centres);
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

namespace {

/// Half the distance of each centre to the nearest other one, a little less; 0 where finding it would cost too much.
void find_reach(const double* centres, Index k, Index p, Index rows, double* reach) {
    if (k * k > rows || k == 1) {
        std::fill_n(reach, k, k == 1 ? kInfinity : 0.0);
        return;
    }
    parallel_for(blocks_of(k, 16), [&](Index block) {
        for (Index i = block * 16; i < std::min(k, (block + 1) * 16); ++i) {
            double least = kInfinity;
            for (Index j = 0; j < k; ++j) {
                least = j == i ? least : std::min(least, squared_distance(centres + i * p, centres + j * p, p));
            }
            reach[i] = 0.5 * std::sqrt(least) * (1.0 - 1e-12);
        }
    });
}

/// Moves the centres of clusters that are not empty to their means; returns the sum of squared moves.
double move_centres(const LloydIn& in, const LloydState& run, double& inertia) {
    const Index p = in.rows.x.columns();
    double shift = 0.0;
    double held = 0.0;
    std::fill_n(run.group_moved, in.rows.groups, 0.0);
    Index group = 0;
    std::vector<double> mean(static_cast<std::size_t>(p));
    for (Index j = 0; j < in.rows.centres.k; ++j) {
        while (j >= in.rows.starts[group + 1]) {
            ++group;
        }
        double* centre = run.centres + j * p;
        double square = 0.0;
        if (run.weights[j] > 0.0) {
            for (Index i = 0; i < p; ++i) {
                mean[static_cast<std::size_t>(i)] = run.sums[j * p + i] / run.weights[j];
                held += run.sums[j * p + i] * mean[static_cast<std::size_t>(i)];
            }
            square = squared_distance(mean.data(), centre, p);
            std::copy(mean.begin(), mean.end(), centre);
        }
        shift += square;
        run.moved[j] = std::sqrt(square) * (1.0 + 1e-12);
        run.group_moved[group] = std::max(run.group_moved[group], run.moved[j]);
    }
    inertia = std::max(in.total - held, 0.0);
    return shift;
}

/// half[j] = half the squared length of centre j.
void halve_squares(const double* centres, Index k, Index p, double* half) noexcept {
    for (Index j = 0; j < k; ++j) {
        half[j] = 0.0;
        for (Index i = 0; i < p; ++i) {
            half[j] += 0.5 * centres[j * p + i] * centres[j * p + i];
        }
    }
}

}  // namespace

LloydEnd run_lloyd(const LloydIn& in, const NearestState& state, const LloydState& run, LloydOut& out) {
    const Index k = in.rows.centres.k;
    const Index p = in.rows.x.columns();
    NearestIn now = in.rows;
    std::vector<double> half(static_cast<std::size_t>(k));
    std::vector<double> reach(static_cast<std::size_t>(k), 0.0);
    std::vector<double> change(static_cast<std::size_t>(k * (p + 1)));
    now.centres.c = run.centres;
    now.centres.half = half.data();
    now.moved = run.moved;
    now.group_moved = run.group_moved;
    now.reach = reach.data();
    for (bool pending = in.is_pending;; pending = false) {
        if (!pending) {
            if (out.passes == in.most) {
                return LloydEnd::out_of_passes;
            }
            halve_squares(run.centres, k, p, half.data());
            const double far = std::sqrt(2.0 * *std::max_element(half.begin(), half.end())) + in.longest;
            now.slack = 4.0 * static_cast<double>(p + 8) * 0x1p-53 * far * far;
            if (!now.is_first) {
                find_reach(run.centres, k, p, now.x.rows(), reach.data());
            }
            NearestOut found{change.data(), change.data() + k * p, 0.0, 0, 0};
            assign_nearest(now, state, found);
            for (Index i = 0; i < k * p; ++i) {
                run.sums[i] += change[static_cast<std::size_t>(i)];
            }
            bool is_empty = false;
            for (Index j = 0; j < k; ++j) {
                run.weights[j] += change[static_cast<std::size_t>(k * p + j)];
                if (run.weights[j] <= 1e-14 * in.weight) {
                    run.weights[j] = 0.0;
                    is_empty = true;
                }
            }
            ++out.passes;
            out.evaluated += found.evaluated;
            if (found.changed == 0 && !now.is_first) {
                return LloydEnd::at_rest;
            }
            now.is_first = false;
            if (is_empty) {
                return LloydEnd::empty_cluster;
            }
        }
        const double shift = move_centres(in, run, out.trace[out.moves]);
        ++out.moves;
        if (shift <= in.tol) {
            return LloydEnd::at_rest;
        }
    }
}

BatchesEnd run_batches(const BatchesIn& in, const BatchesState& state, Index& taken) {
    const Index k = in.rows.centres.k;
    const Index p = in.rows.x.columns();
    const Index starts[2] = {0, k};
    const ScratchArray<double> half(k);
    const ScratchArray<double> sums(k * (p + 1));
    const ScratchArray<double> bounds(2 * in.size);
    std::vector<std::int32_t> labels(static_cast<std::size_t>(in.size));
    const NearestState found{labels.data(), bounds.get(), bounds.get() + in.size};
    NearestIn now = in.rows;
    now.centres = {state.centres, half.get(), k};
    now.starts = starts;
    now.groups = 1;
    now.slack = 0.0;  // of bounds, which nobody reads
    now.is_first = true;
    auto& [steps, waited, evaluated, value, average, move, least, without] = *state.seen;
    for (taken = 0; taken < in.steps;) {
        now.list = {in.batches + taken * in.size, in.size};
        halve_squares(state.centres, k, p, half.get());
        NearestOut out{sums.get(), sums.get() + k * p, 0.0, 0, 0};
        assign_nearest(now, found, out);
        double weight = 0.0;
        double shift = 0.0;
        for (Index j = 0; j < k; ++j) {
            if (!(out.weights[j] > 0.0)) {
                continue;
            }
            weight += out.weights[j];
            state.counts[j] += out.weights[j];
            for (Index i = 0; i < p; ++i) {
                double& at = state.centres[j * p + i];
                const double step = (out.sums[j * p + i] - out.weights[j] * at) / state.counts[j];
                at += step;
                shift += step * step;
            }
        }
        ++taken;
        steps += 1.0;
        waited += static_cast<double>(in.size);
        evaluated += static_cast<double>(out.evaluated);
        value = weight > 0.0 ? out.inertia / weight : 0.0;
        if (steps > 1.0) {  // the first step tells of the start alone
            const bool is_fresh = !std::isfinite(average);
            average = is_fresh ? value : average + in.rate * (value - average);
            move = is_fresh ? shift : move + in.rate * (shift - move);
            without = average < least ? 0.0 : without + 1.0;
            least = std::min(least, average);
            if ((in.tol > 0.0 && move <= in.tol) || without >= in.patience) {
                return BatchesEnd::at_rest;
            }
        }
        const auto [fewest, most] = std::minmax_element(state.counts, state.counts + k);
        if (in.ratio > 0.0 && (*fewest == 0.0 || waited >= in.every)) {
            waited = 0.0;
            if (*fewest < in.ratio * *most) {
                return BatchesEnd::poor_centres;
            }
        }
    }
    return BatchesEnd::out_of_batches;
}

void approach(const Places& x, const double* squares, const double* s, const CentresIn& candidates,
              const double* closest, double* near, double* total) {
    const Index n = x.rows();
    const Index count = candidates.k;
    const Effort effort(static_cast<double>(n) * static_cast<double>(x.columns() * (count + 8)));
    const Prepared centres(x, candidates);
    const Index step = block_rows(n);
    fold_blocks(blocks_of(n, step), count, total, [&](Index block, double* part) {
        const ScratchArray<double> scratch(centres.scratch());
        const ScratchArray<double> products(padded<double>(count) * kChunk);
        const Index end = std::min(n, (block + 1) * step);
        Index rows[kChunk];
        for (Index first = block * step; first < end; first += kChunk) {
            const Index now = std::min(kChunk, end - first);
            for (Index r = 0; r < now; ++r) {
                rows[r] = first + r;
            }
            centres.multiply(rows, now, scratch.get(), products.get());
            for (Index l = 0; l < count; ++l) {
                double sum = 0.0;
                for (Index r = 0; r < now; ++r) {
                    const Index i = first + r;
                    const double away =
                        std::max(squares[i] + 2.0 * (candidates.half[l] - products[l * kChunk + r]), 0.0);
                    const double least = closest == nullptr ? away : std::min(closest[i], away);
                    near[l * n + i] = least;
                    sum += s == nullptr ? least : s[i] * least;
                }
                part[l] += sum;
            }
        }
    });
}

namespace {

/// Draws rows with probability in proportion to their chance; found by blocks, so that little is summed twice.
class Urn {
  public:
    template <class Chance>
    Urn(Index rows, const Chance& chance) : rows_(rows), ends_(static_cast<std::size_t>(blocks_of(rows, kBlock))) {
        parallel_for(static_cast<Index>(ends_.size()), [&](Index block) {
            double sum = 0.0;
            for (Index i = block * kBlock; i < std::min(rows, (block + 1) * kBlock); ++i) {
                sum += chance(i);
            }
            ends_[static_cast<std::size_t>(block)] = sum;
        });
        for (std::size_t block = 1; block < ends_.size(); ++block) {
            ends_[block] += ends_[block - 1];
        }
    }

    template <class Chance>
    [[nodiscard]] Index draw(double uniform, const Chance& chance) const noexcept {
        const double mark = uniform * ends_.back();
        const auto last = static_cast<Index>(ends_.size()) - 1;
        const Index block = std::min(last, static_cast<Index>(std::upper_bound(ends_.begin(), ends_.end(), mark) - ends_.begin()));
        double sum = block == 0 ? 0.0 : ends_[static_cast<std::size_t>(block - 1)];
        Index found = 0;
        for (Index i = block * kBlock; i < std::min(rows_, (block + 1) * kBlock); ++i) {
            const double own = chance(i);
            sum += own;
            found = own > 0.0 ? i : found;  // the last possible one where rounding leaves the mark beyond all
            if (sum > mark && own > 0.0) {
                break;
            }
        }
        return found;
    }

  private:
    static constexpr Index kBlock = 4096;
    Index rows_;
    std::vector<double> ends_;
};

}  // namespace

void draw_apart(const SeedingIn& in, Index* found) {
    const Index n = in.x.rows();
    const Index p = in.x.columns();
    const Prepared reader(in.x, CentresIn{nullptr, nullptr, 0});
    const auto weight = [&](Index i) { return in.s == nullptr ? 1.0 : in.s[i]; };
    const Urn by_weight(n, weight);
    std::vector<double> candidates(static_cast<std::size_t>(in.trials * p));
    std::vector<double> half(static_cast<std::size_t>(in.trials));
    std::vector<double> totals(static_cast<std::size_t>(in.trials));
    std::vector<Index> tried(static_cast<std::size_t>(in.trials));
    const ScratchArray<double> closest(n);
    const ScratchArray<double> near(in.trials * n);
    const double* uniform = in.uniforms;
    const auto look = [&](Index count, const double* before) {
        std::fill(candidates.begin(), candidates.end(), 0.0);
        for (Index l = 0; l < count; ++l) {
            reader.copy(tried[static_cast<std::size_t>(l)], candidates.data() + l * p);
        }
        halve_squares(candidates.data(), count, p, half.data());
        approach(in.x, in.squares, in.s, {candidates.data(), half.data(), count}, before, near.get(), totals.data());
        const auto best = std::min_element(totals.begin(), totals.begin() + count) - totals.begin();
        std::copy_n(near.get() + best * n, n, closest.get());
        return best;
    };
    tried[0] = found[0] = by_weight.draw(*uniform++, weight);
    double left = in.k > 1 ? totals[static_cast<std::size_t>(look(1, nullptr))] : 0.0;
    for (Index j = 1; j < in.k; ++j, uniform += in.trials) {
        if (!(left > 0.0)) {  // fewer distinct rows than are wanted: all are taken already
            found[j] = by_weight.draw(*uniform, weight);
            continue;
        }
        const auto chance = [&](Index i) {
            return (in.power == 2.0 ? closest[i] : std::pow(closest[i], 0.5 * in.power)) * weight(i);
        };
        const Urn urn(n, chance);
        for (Index l = 0; l < in.trials; ++l) {
            tried[static_cast<std::size_t>(l)] = urn.draw(uniform[l], chance);
        }
        const auto best = static_cast<std::size_t>(look(in.trials, closest.get()));
        found[j] = tried[best];
        left = totals[best];
    }
}

}  // namespace qed
