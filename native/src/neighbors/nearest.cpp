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
        if (rows[count - 1] - rows[0] == count - 1) {
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

    /// A dense row, less the shift.
    void read(Index row, double* to) const noexcept {
        const Index p = x_.columns();
        with_type(x_.dense.kind, [&](auto type) {
            using T = std::remove_cv_t<std::remove_pointer_t<decltype(type)>>;
            const T* from = x_.dense.at<T>(row, 0);
            const Index stride = x_.dense.column_stride;
            for (Index j = 0; j < p; ++j) {
                to[j] = static_cast<double>(from[j * stride]) - (x_.shift == nullptr ? 0.0 : x_.shift[j]);
            }
        });
    }

    /// to += weight times a row.
    void add(Index row, double weight, double* to, double* scratch) const noexcept {
        if (x_.is_sparse) {
            with_csr(x_.sparse, [&](const auto& csr) {
                for (Index e = csr.starts[row]; e < Index{csr.starts[row + 1]}; ++e) {
                    to[csr.indices[e]] += weight * static_cast<double>(csr.values[e]);
                }
            });
            return;
        }
        read(row, scratch);
        const Index p = x_.columns();
        for (Index j = 0; j < p; ++j) {
            to[j] += weight * scratch[j];
        }
    }

    /// Squared distance of a row to one centre.
    [[nodiscard]] double distance(Index row, Index j, double square, double* scratch) const noexcept {
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
        read(row, scratch);
        return squared_distance(scratch, c, p);
    }

  private:
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
        Index waiting[kChunk];
        Index count = 0;
        for (Index row = begin; row < end; ++row) {
            if (!in_.is_first && is_settled(row)) {
                continue;
            }
            waiting[count++] = row;
            if (count == kChunk) {
                look(waiting, count);
                count = 0;
            }
        }
        if (count > 0) {
            look(waiting, count);
        }
    }

  private:
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
        if (in_.groups == 1) {
            return false;  // few centres: all of them cost little more than one
        }
        upper = std::sqrt(centres_.distance(row, label, in_.squares[row], own_row()) + in_.slack);
        counts_[1] += 1.0;
        return upper <= low;
    }

    void look(const Index* rows, Index count) {
        centres_.multiply(rows, count, scratch_.get(), products_.get());
        const Least least{least_.get(), least_.get() + in_.groups * kChunk, least_.get() + 2 * in_.groups * kChunk};
        least_of_groups(products_.get(), in_, count, least);
        counts_[1] += static_cast<double>(count * centres_.k());
        for (Index r = 0; r < count; ++r) {
            settle(rows[r], r, least);
        }
    }

    void settle(Index row, Index r, const Least& least) noexcept {
        Index own = 0;
        for (Index g = 1; g < in_.groups; ++g) {
            own = least.first[g * kChunk + r] < least.first[own * kChunk + r] ? g : own;
        }
        const double square = in_.squares[row];
        const auto distance = [&](double score, double slack) {
            return std::sqrt(std::max(square + 2.0 * score + slack, 0.0));
        };
        const auto label = static_cast<std::int32_t>(least.place[own * kChunk + r]);
        state_.upper[row] = distance(least.first[own * kChunk + r], in_.slack);
        double* lower = state_.lower + row * in_.groups;
        for (Index g = 0; g < in_.groups; ++g) {
            lower[g] = distance((g == own ? least.second : least.first)[g * kChunk + r], -in_.slack);
        }
        const std::int32_t before = in_.is_first ? -1 : state_.labels[row];
        if (label == before) {
            return;
        }
        state_.labels[row] = label;
        counts_[0] += 1.0;
        if (in_.is_first) {  // by differences, which do not cancel
            const double weight = in_.s == nullptr ? 1.0 : in_.s[row];
            counts_[2] += weight * centres_.distance(row, label, square, own_row());
        }
        if (sums_ != nullptr) {
            const Index p = in_.x.columns();
            const double weight = in_.s == nullptr ? 1.0 : in_.s[row];
            centres_.add(row, weight, sums_ + label * p, own_row());
            weights_[label] += weight;
            if (before >= 0) {
                centres_.add(row, -weight, sums_ + before * p, own_row());
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
    const Index n = in.x.rows();
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
            double longest = 0.0;
            for (Index j = 0; j < k; ++j) {
                half[static_cast<std::size_t>(j)] = 0.0;
                for (Index i = 0; i < p; ++i) {
                    half[static_cast<std::size_t>(j)] += 0.5 * run.centres[j * p + i] * run.centres[j * p + i];
                }
                longest = std::max(longest, std::sqrt(2.0 * half[static_cast<std::size_t>(j)]));
            }
            const double far = longest + in.longest;
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

}  // namespace qed
