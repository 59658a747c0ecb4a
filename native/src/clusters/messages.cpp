#include "qed/clusters/messages.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "qed/machine/elementary.hpp"
#include "qed/machine/parallel.hpp"

namespace qed {
namespace {

constexpr Index kBlock = 32;  // rows of a block of work
constexpr double kNever = -std::numeric_limits<double>::infinity();

/// The two largest of what is offered.
struct Two {
    double first = kNever;
    double second = kNever;
    void take(double value) noexcept {
        second = std::max(second, std::min(first, value));
        first = std::max(first, value);
    }
};

/// Availabilities of the last round, and the two largest sums of availability and similarity.
Two refresh(const Messages& m, Index i, bool is_first, double* a, const double* r, const double* s) noexcept {
    const double keep = m.damping;
    const double fresh = 1.0 - m.damping;
    constexpr Index lanes = kLanes<double>;
    Vector<double> first = splat(kNever);
    Vector<double> second = splat(kNever);
    Index k = 0;
    for (; k + lanes <= m.rows; k += lanes) {
        Vector<double> own = load(a + k);
        if (!is_first) {
            const Vector<double> left = load(m.support + k) - maximum(load(r + k), Vector<double>{});
            own = keep * own + fresh * minimum(left, Vector<double>{});
            store(a + k, own);
        }
        const Vector<double> sum = own + load(s + k);
        second = maximum(second, minimum(first, sum));
        first = maximum(first, sum);
    }
    Two two;
    for (int lane = 0; lane < lanes; ++lane) {
        two.take(second[lane]);
        two.take(first[lane]);
    }
    for (; k < m.rows; ++k) {
        if (!is_first) {
            a[k] = keep * a[k] + fresh * std::min(m.support[k] - std::max(r[k], 0.0), 0.0);
        }
        two.take(a[k] + s[k]);
    }
    two.take(m.own_availability[i] + m.preference[i]);
    return two;
}

/// Responsibilities of a row, and its part of the support of each column.
void respond(const Messages& m, Index i, const Two& two, const double* a, double* r, const double* s,
             double* support) noexcept {
    const double keep = m.damping;
    const double fresh = 1.0 - m.damping;
    constexpr Index lanes = kLanes<double>;
    const Vector<double> first = splat(two.first);
    const Vector<double> second = splat(two.second);
    Index k = 0;
    for (; k + lanes <= m.rows; k += lanes) {
        const Vector<double> similarity = load(s + k);
        const Vector<double> best = load(a + k) + similarity == first ? second : first;
        const Vector<double> now = keep * load(r + k) + fresh * (similarity - best);
        store(r + k, now);
        store(support + k, load(support + k) + maximum(now, Vector<double>{}));
    }
    for (; k < m.rows; ++k) {
        r[k] = keep * r[k] + fresh * (s[k] - (a[k] + s[k] == two.first ? two.second : two.first));
        support[k] += std::max(r[k], 0.0);
    }
    const double own = m.own_availability[i] + m.preference[i];
    double& mine = m.own_responsibility[i];
    mine = keep * mine + fresh * (m.preference[i] - (own == two.first ? two.second : two.first));
    support[i] += mine;
}

}  // namespace

void pass_messages(const Messages& m, bool is_first, bool* is_exemplar) {
    const Index n = m.rows;
    const Index blocks = blocks_of(n, kBlock);
    std::vector<double> parts(static_cast<std::size_t>(blocks * n), 0.0);
    const Effort effort(static_cast<double>(n) * static_cast<double>(n) * 4.0);
    parallel_for(blocks, [&](Index block) {
        double* support = parts.data() + block * n;
        for (Index i = block * kBlock; i < std::min(n, (block + 1) * kBlock); ++i) {
            double* a = m.availability + i * n;
            double* r = m.responsibility + i * n;
            const double* s = m.similarity + i * n;
            respond(m, i, refresh(m, i, is_first, a, r, s), a, r, s, support);
        }
    });
    std::fill(m.support, m.support + n, 0.0);
    for (Index block = 0; block < blocks; ++block) {
        const double* part = parts.data() + block * n;
        for (Index k = 0; k < n; ++k) {
            m.support[k] += part[k];
        }
    }
    for (Index k = 0; k < n; ++k) {
        double& own = m.own_availability[k];
        own = m.damping * own + (1.0 - m.damping) * (m.support[k] - m.own_responsibility[k]);
        is_exemplar[k] = own + m.own_responsibility[k] > 0.0;
    }
}

void raise_prices(const double* similarity, const double* best, const double* fee, Index n, Index rounds,
                  double* price) {
    constexpr Index lanes = kLanes<double>;
    std::vector<double> room(fee, fee + n);
    double* left = room.data();
    std::fill(price, price + n, 0.0);
    std::vector<Index> rising(static_cast<std::size_t>(n));
    std::iota(rising.begin(), rising.end(), Index{0});
    const double top = *std::max_element(fee, fee + n);
    for (Index round = 1; round <= rounds; ++round) {
        const double cap = top * static_cast<double>(round) / static_cast<double>(rounds);
        parallel_for(1, [&](Index /*block*/) {
            std::erase_if(rising, [&](Index i) {
                const double* s = similarity + i * n;
                const double here = price[i];
                double most = here + left[i];
                Vector<double> least = splat(most);
                Index k = 0;
                for (; k + lanes <= n; k += lanes) {
                    least = minimum(least, maximum(best[i] - load(s + k), splat(here)) + load(left + k));
                }
                for (int lane = 0; lane < lanes; ++lane) {
                    most = std::min(most, least[lane]);
                }
                for (; k < n; ++k) {
                    most = std::min(most, std::max(best[i] - s[k], here) + left[k]);
                }
                const bool is_held = most < cap;  // what is left of fees never grows
                most = std::min(most, cap);
                for (k = 0; k < n; ++k) {
                    left[k] -= std::max(most - std::max(best[i] - s[k], here), 0.0);
                }
                left[i] -= std::max(most - here, 0.0);
                price[i] = std::max(most, here);
                return is_held;
            });
        });
    }
}

}  // namespace qed
