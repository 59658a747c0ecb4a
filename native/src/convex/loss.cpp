#include "qed/convex/loss.hpp"

#include <algorithm>

#include "qed/convex/loss_lanes.hpp"
#include "qed/dense/fold.hpp"
#include "qed/machine/parallel.hpp"
#include "qed/machine/scratch.hpp"

namespace qed {
namespace {

constexpr Index kLane = kLanes<double>;
constexpr Index kRowsAtOnce = 4096;

/// Up to kLane numbers from a vector, the rest repeating the first so that nothing out of range is computed.
Vector<double> load_some(const double* from, Index count) noexcept {
    if (count >= kLane) {
        return load(from);
    }
    Vector<double> out{};
    for (Index lane = 0; lane < kLane; ++lane) {
        out[lane] = from[lane < count ? lane : 0];
    }
    return out;
}

/// The same with nothing in place of what is missing.
Vector<double> load_weights(const double* from, Index count) noexcept {
    if (count >= kLane) {
        return load(from);
    }
    Vector<double> out{};
    for (Index lane = 0; lane < count; ++lane) {
        out[lane] = from[lane];
    }
    return out;
}

/// Dual variables that are given, none where rows are missing.
template <class Loss>
Vector<double> given_some(const Given& given, const double* y, Index row, Index count) noexcept {
    Vector<double> out{};
    for (Index lane = 0; lane < std::min(count, kLane); ++lane) {
        out[lane] = given.times * static_cast<double>(given.numbers[row + lane]);
    }
    return Loss::project(load_some(y + row, count), out);
}

void store_some(double* to, Vector<double> value, Index count) noexcept {
    if (to == nullptr) {
        return;
    }
    if (count >= kLane) {
        store(to, value);
        return;
    }
    for (Index lane = 0; lane < count; ++lane) {
        to[lane] = value[lane];
    }
}

double* moved(double* pointer, Index by) noexcept {
    return pointer == nullptr ? nullptr : pointer + by;
}

template <class Loss>
void one_score(const LossRows& in, const LossOut& out, Index first, Index last) noexcept {
    for (Index i = first; i < last; i += kLane) {
        const Index count = last - i;
        const Lanes lanes = Loss::at(load_some(in.t + i, count), load_some(in.y + i, count));
        store_some(moved(out.value, i), lanes.value, count);
        store_some(moved(out.slope, i), lanes.slope, count);
        store_some(moved(out.bend, i), lanes.bend, count);
    }
}

template <class Loss>
void one_excess(const LossRows& in, const double* u, double* out, Index first, Index last) noexcept {
    for (Index i = first; i < last; i += kLane) {
        const Index count = last - i;
        store_some(out + i,
                   Loss::excess(load_some(in.t + i, count), load_some(in.y + i, count), load_some(u + i, count)), count);
    }
}

/// kLane rows of k scores turned on their side: entry c holds score c of each row.
class Turned {
  public:
    explicit Turned(Index k) : k_(k), data_(k * kLane) {}
    void load_rows(const double* from, Index count) noexcept {
        for (Index lane = 0; lane < kLane; ++lane) {
            const double* row = from + (lane < count ? lane : 0) * k_;
            for (Index c = 0; c < k_; ++c) {
                data_[c * kLane + lane] = row[c];
            }
        }
    }
    void store_rows(double* to, Index count) const noexcept {
        for (Index lane = 0; lane < std::min(count, kLane); ++lane) {
            for (Index c = 0; c < k_; ++c) {
                to[lane * k_ + c] = data_[c * kLane + lane];
            }
        }
    }
    [[nodiscard]] Vector<double> get(Index c) const noexcept { return load(data_.get() + c * kLane); }
    void set(Index c, Vector<double> value) const noexcept { store(data_.get() + c * kLane, value); }

  private:
    Index k_;
    ScratchArray<double> data_;
};

/// Replaces scores by probabilities; returns the largest score of each row, and the logarithm of the sum above it.
void to_probabilities(const Turned& t, Index k, Vector<double>& top, Vector<double>& log_total) noexcept {
    top = t.get(0);
    for (Index c = 1; c < k; ++c) {
        top = maximum(top, t.get(c));
    }
    Vector<double> total{};
    for (Index c = 0; c < k; ++c) {
        const Vector<double> e = exponential(t.get(c) - top);
        t.set(c, e);
        total += e;
    }
    log_total = logarithm(total);
    const Vector<double> inverse = 1.0 / total;
    for (Index c = 0; c < k; ++c) {
        t.set(c, t.get(c) * inverse);
    }
}

void softmax_rows(const LossRows& in, const LossOut& out, Index first, Index last) {
    const Index k = in.classes;
    Turned p(k);
    Turned work(out.bend == nullptr ? 0 : k);
    for (Index i = first; i < last; i += kLane) {
        const Index count = last - i;
        const Vector<double> label = load_some(in.y + i, count);
        p.load_rows(in.t + i * k, count);
        Vector<double> own{};
        for (Index c = 0; c < k; ++c) {
            own = label == splat(static_cast<double>(c)) ? p.get(c) : own;
        }
        Vector<double> top;
        Vector<double> log_total;
        to_probabilities(p, k, top, log_total);
        store_some(moved(out.value, i), log_total + (top - own), count);
        if (out.bend != nullptr) {
            // what is left of one is added up: of a probability near one the difference would be rounding
            Vector<double> before{};
            Vector<double> behind{};
            for (Index c = 0; c < k; ++c) {
                work.set(c, before);
                before += p.get(c);
            }
            for (Index c = k - 1; c >= 0; --c) {
                work.set(c, p.get(c) * (work.get(c) + behind));
                behind += p.get(c);
            }
            work.store_rows(out.bend + i * k, count);
        }
        if (out.slope != nullptr) {
            Vector<double> others{};
            for (Index c = 0; c < k; ++c) {
                others += label == splat(static_cast<double>(c)) ? Vector<double>{} : p.get(c);
            }
            for (Index c = 0; c < k; ++c) {
                p.set(c, label == splat(static_cast<double>(c)) ? -others : p.get(c));
            }
            p.store_rows(out.slope + i * k, count);
        }
    }
}

void softmax_excess(const LossRows& in, const double* u, double* out, Index first, Index last) {
    const Index k = in.classes;
    Turned p(k);
    Turned score(k);
    Turned dual(k);
    for (Index i = first; i < last; i += kLane) {
        const Index count = last - i;
        const Vector<double> label = load_some(in.y + i, count);
        p.load_rows(in.t + i * k, count);
        score.load_rows(in.t + i * k, count);
        dual.load_rows(u + i * k, count);
        Vector<double> top;
        Vector<double> log_total;
        to_probabilities(p, k, top, log_total);
        Vector<double> total{};
        for (Index c = 0; c < k; ++c) {
            const Vector<double> own = label == splat(static_cast<double>(c)) ? splat(1.0) : Vector<double>{};
            const Vector<double> v = maximum(dual.get(c) + own, Vector<double>{});
            total += divergence(v, p.get(c), (score.get(c) - top) - log_total);
        }
        store_some(out + i, total, count);
    }
}

/// Sums of `size` numbers over rows, kDepth of them at a time: work(first, last, part) adds its own.
template <class Work>
void fold_chunks(Index rows, Index size, double* total, Work&& work) {
    static_assert(kRowsAtOnce / kDepth + kDepth / kLane + 8 <= kSideTerms);
    fold_blocks(blocks_of(rows, kRowsAtOnce), size, total, [&](Index block, double* part) {
        const Index end = std::min(rows, (block + 1) * kRowsAtOnce);
        for (Index first = block * kRowsAtOnce; first < end; first += kDepth) {
            work(first, std::min(end, first + kDepth), part);
        }
    });
}

/// Calls work(first, last) for blocks of rows.
template <class Work>
void over_rows(const LossRows& in, Work&& work) {
    const Effort effort(40.0 * static_cast<double>(in.rows) * static_cast<double>(in.classes));
    const Index step = std::max<Index>(kLane, kRowsAtOnce / in.classes / kLane * kLane);
    parallel_for(blocks_of(in.rows, step),
                 [&](Index block) { work(block * step, std::min(in.rows, (block + 1) * step)); });
}

}  // namespace

void loss_rows(const LossRows& in, const LossOut& out) {
    if (in.kind == LossKind::softmax) {
        over_rows(in, [&](Index first, Index last) { softmax_rows(in, out, first, last); });
        return;
    }
    with_loss(in.kind, [&]<class Loss>(Loss) {
        over_rows(in, [&](Index first, Index last) { one_score<Loss>(in, out, first, last); });
    });
}

void loss_excess(const LossRows& in, const double* u, double* out) {
    if (in.kind == LossKind::softmax) {
        over_rows(in, [&](Index first, Index last) { softmax_excess(in, u, out, first, last); });
        return;
    }
    with_loss(in.kind, [&]<class Loss>(Loss) {
        over_rows(in, [&](Index first, Index last) { one_excess<Loss>(in, u, out, first, last); });
    });
}

double loss_mean(const LossRows& in, const double* c, bool is_constant) {
    const Effort effort(40.0 * static_cast<double>(in.rows));
    double total = 0.0;
    with_loss(in.kind, [&]<class Loss>(Loss) {
        fold_chunks(in.rows, 1, &total, [&](Index first, Index last, double* part) {
            Vector<double> sum{};
            for (Index i = first; i < last; i += kLane) {
                const Index count = last - i;
                const Vector<double> t = is_constant ? splat(*in.t) : load_some(in.t + i, count);
                sum += load_weights(c + i, count) * Loss::at(t, load_some(in.y + i, count)).value;
            }
            part[0] += sum_lanes(sum);
        });
    });
    return total;
}

void scale_sides(const LossRows& in, const Sides& sides, double* u, double* sums) {
    const Effort effort(100.0 * static_cast<double>(in.rows));
    with_loss(in.kind, [&]<class Loss>(Loss) {
        fold_chunks(in.rows, kSideSums, sums, [&](Index first, Index last, double* part) {
            Vector<double> total[kSideSums] = {};
            const Vector<double> zero{};
            for (Index i = first; i < last; i += kLane) {
                const Index count = last - i;
                const Vector<double> slope = load_some(sides.slope + i, count);
                const Vector<double> c = load_weights(sides.c + i, count);
                Vector<double> dual = (slope > zero ? splat(sides.up) : splat(sides.down)) * slope;
                if (sides.given.numbers != nullptr) {
                    const Vector<double> own = given_some<Loss>(sides.given, in.y, i, count);
                    dual += (own > zero ? splat(sides.given_up) : splat(sides.given_down)) * own;
                }
                const Vector<double> away = slope - dual;
                const Vector<double> mass = c * dual;
                total[0] += maximum(mass, zero);
                total[1] += maximum(-mass, zero);
                total[2] += mass * dual;
                total[3] += c * Loss::excess(load_some(in.t + i, count), load_some(in.y + i, count), dual);
                total[4] += c * away * away;
                store_some(u + i, dual, count);
            }
            for (Index i = 0; i < kSideSums; ++i) {
                part[i] += sum_lanes(total[i]);
            }
        });
    });
}

}  // namespace qed
