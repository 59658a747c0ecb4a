#include "qed/machine/pair.hpp"

#include <algorithm>
#include <cmath>

#include "qed/machine/parallel.hpp"
#include "qed/machine/scratch.hpp"

namespace qed {
namespace {

Pair exact_sum(double a, double b) noexcept {
    const double sum = a + b;
    const double part = sum - a;
    return {sum, (a - (sum - part)) + (b - part)};
}

/// a b = high + low exactly. Where the processor has no fused multiply-add, by splitting each factor in halves.
Pair exact_product(double a, double b) noexcept {
    const double product = a * b;
#if defined(__FMA__) || !defined(__x86_64__)
    return {product, std::fma(a, b, -product)};
#else
    constexpr double kSplit = 134217729.0;  // 2^27 + 1
    const double a_wide = kSplit * a;
    const double b_wide = kSplit * b;
    const double a_high = a_wide - (a_wide - a);
    const double b_high = b_wide - (b_wide - b);
    const double a_low = a - a_high;
    const double b_low = b - b_high;
    return {product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low};
#endif
}

Pair normalised(double high, double low) noexcept {
    const double sum = high + low;
    return {sum, low - (sum - high)};
}

Pair operator+(Pair a, Pair b) noexcept {
    const Pair high = exact_sum(a.high, b.high);
    const Pair low = exact_sum(a.low, b.low);
    const Pair first = normalised(high.high, high.low + low.high);
    return normalised(first.high, first.low + low.low);
}

Pair operator*(Pair a, Pair b) noexcept {
    const Pair product = exact_product(a.high, b.high);
    return normalised(product.high, product.low + (a.high * b.low + a.low * b.high));
}

Pair operator-(Pair a) noexcept {
    return {-a.high, -a.low};
}

/// By long division, three digits of 53 bits each.
Pair operator/(Pair a, double b) noexcept {
    const Pair divisor{b, 0.0};
    const double first = a.high / b;
    Pair rest = a + -(divisor * Pair{first, 0.0});
    const double second = rest.high / b;
    rest = rest + -(divisor * Pair{second, 0.0});
    const Pair head = normalised(first, second);
    return normalised(head.high, head.low + rest.high / b);
}

/// Sums side by side, term after term: independent of each other, so that they share registers. Rounding errors of the high
/// parts are added up in the low ones.
class SumsAbreast {
  public:
    static constexpr Index kCount = 8;

    void add(const double* high, const double* low) noexcept {
        for (Index k = 0; k < kCount; ++k) {
            const Pair sum = exact_sum(high_[k], high[k]);
            high_[k] = sum.high;
            low_[k] += sum.low + low[k];
        }
    }
    [[nodiscard]] double total() const noexcept {
        Pair sum{0.0, 0.0};
        for (Index k = 0; k < kCount; ++k) {
            const Pair next = exact_sum(sum.high, high_[k]);
            sum = {next.high, sum.low + (next.low + low_[k])};
        }
        return sum.high + sum.low;
    }

  private:
    double high_[kCount] = {};
    double low_[kCount] = {};
};

Pair at(PairsView view, Index i) noexcept {
    return {view.high[i], view.low == nullptr ? 0.0 : view.low[i]};
}

}  // namespace

void add_outer(PairsView a, PairsView b, Index q, PairsView step, Pair factor, double* high, double* low) {
    const Effort effort(30.0 * static_cast<double>(q) * static_cast<double>(q));
    const Index rows = std::max<Index>(1, 4096 / std::max<Index>(q, 1));
    parallel_for(blocks_of(q, rows), [&](Index block) {
        for (Index i = block * rows; i < std::min(q, (block + 1) * rows); ++i) {
            for (Index j = 0; j < q; ++j) {
                const Index place = i * q + j;
                Pair total = at(a, place);
                if (b.high != nullptr) {
                    total = total + at(b, place);
                }
                total = total + factor * (at(step, i) * at(step, j));
                high[place] = total.high;
                low[place] = total.low;
            }
        }
    });
}

void side_sums(const double* c, const double* u, Index rows, Index columns, double* out) noexcept {
    for (Index j = 0; j < columns; ++j) {
        SumsAbreast level;
        SumsAbreast over;
        double high[SumsAbreast::kCount];
        double low[SumsAbreast::kCount];
        for (Index row = 0; row < rows; row += SumsAbreast::kCount) {
            const Index count = std::min(SumsAbreast::kCount, rows - row);
            for (Index k = 0; k < count; ++k) {
                const Pair product = exact_product(c[row + k], u[(row + k) * columns + j]);
                high[k] = product.high;
                low[k] = product.low;
            }
            std::fill(high + count, high + SumsAbreast::kCount, 0.0);
            std::fill(low + count, low + SumsAbreast::kCount, 0.0);
            level.add(high, low);
            for (Index k = 0; k < SumsAbreast::kCount; ++k) {
                low[k] = high[k] > 0.0 ? low[k] : 0.0;
                high[k] = high[k] > 0.0 ? high[k] : 0.0;
            }
            over.add(high, low);
        }
        const double difference = level.total();
        out[j] = over.total();
        out[columns + j] = out[j] - difference;
        out[2 * columns + j] = difference;
    }
}

void centre_moments(double weight, const double* shift, const double* sums, const double* products, Index q,
                    const CentredOut& out) {
    ScratchArray<double> off(2 * q);  // what the shift was off, high parts first
    double* off_low = off.get() + q;
    for (Index j = 0; j < q; ++j) {
        const Pair step = Pair{sums[j], 0.0} / weight;
        const Pair mean = Pair{shift == nullptr ? 0.0 : shift[j], 0.0} + step;
        off[j] = step.high;
        off_low[j] = step.low;
        out.mean[j] = mean.high;
        out.mean_low[j] = mean.low;
    }
    add_outer({products, nullptr}, {}, q, {off.get(), off_low}, {-weight, -0.0}, out.scatter, out.scatter_low);
    for (Index place = 0; place < q * q; place += q + 1) {
        if (out.scatter[place] < 0.0) {
            out.scatter[place] = 0.0;
            out.scatter_low[place] = 0.0;
        }
    }
}

}  // namespace qed
