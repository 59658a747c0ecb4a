#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "qed/neighbors/nearest.hpp"
#include "qed/neighbors/prepared_centres.hpp"

namespace qed {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

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

}  // namespace qed
