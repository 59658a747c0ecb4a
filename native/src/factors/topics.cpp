#include "qed/factors/topics.hpp"

#include <algorithm>
#include <cmath>

#include "qed/machine/elementary.hpp"
#include "qed/machine/parallel.hpp"
#include "qed/machine/scratch.hpp"

namespace qed {
namespace {

using Lanes = Vector<double>;
constexpr Index kWide = kLanes<double>;
constexpr Index kBlock = 32;          // documents of a block: a few milliseconds for hundreds of words
constexpr Index kNumbers = 1 << 14;   // of a block that exp_digamma shares out
constexpr double kLeast = 1e-300;     // of phi: a word that no topic gives any weight

/// exp(digamma(x)) for x > 0: eight steps of the recurrence, then y exp(-1/2y - 1/12y² + ...) with y = x + 8.
[[gnu::always_inline]] inline Lanes exp_digamma(Lanes x) noexcept {
    Lanes below = (2.0 * x + 1.0) / (x * (x + 1.0));
    below += (2.0 * x + 5.0) / ((x + 2.0) * (x + 3.0));
    below += (2.0 * x + 9.0) / ((x + 4.0) * (x + 5.0));
    below += (2.0 * x + 13.0) / ((x + 6.0) * (x + 7.0));
    const Lanes y = x + 8.0;
    const Lanes inverse = 1.0 / y;
    const Lanes square = inverse * inverse;
    Lanes series = 1.0 / 12.0 - square * 3617.0 / 8160.0;
    series = -691.0 / 32760.0 + square * series;
    series = 1.0 / 132.0 + square * series;
    series = -1.0 / 240.0 + square * series;
    series = 1.0 / 252.0 + square * series;
    series = -1.0 / 120.0 + square * series;
    series = 1.0 / 12.0 + square * series;
    return y * exponential(-(below + 0.5 * inverse + square * series));
}

double exp_digamma_of(double x) noexcept {
    return exp_digamma(splat(x))[0];
}

Index whole_lanes(Index width) noexcept {
    return (width + kWide - 1) / kWide * kWide;
}

[[gnu::always_inline]] inline double dot(const double* a, const double* b, Index padded) noexcept {
    Lanes sum{};
    for (Index l = 0; l < padded; l += kWide) {
        sum += load(a + l) * load(b + l);
    }
    return sum_lanes(sum);
}

/// One document at a time, with all its vectors padded to whole lanes by zeros.
class Document {
  public:
    Document(const double* topics, Index width, double prior)
        : topics_(topics),
          width_(width),
          padded_(whole_lanes(width)),
          prior_(prior),
          gamma_(padded_),
          theta_(padded_),
          sums_(padded_) {}

    void begin(const double* gamma) noexcept {
        std::fill_n(gamma_.get(), padded_, 1.0);
        std::copy_n(gamma, width_, gamma_.get());
        expect();
    }

    /// Sum of counts * log(phi).
    [[nodiscard]] double likelihood(const Index* words, const double* counts, Index length) const noexcept {
        double sum = 0.0;
        for (Index e = 0; e < length; ++e) {
            sum += counts[e] * std::log(phi(words[e]));
        }
        return sum;
    }

    /// One update of gamma; returns how far its entries moved, on average.
    double update(const Index* words, const double* counts, Index length) noexcept {
        std::fill_n(sums_.get(), padded_, 0.0);
        for (Index e = 0; e < length; ++e) {
            const double* topic = topics_ + words[e] * padded_;
            const double ratio = counts[e] / phi(words[e]);
            for (Index l = 0; l < padded_; l += kWide) {
                store(sums_.get() + l, load(sums_.get() + l) + ratio * load(topic + l));
            }
        }
        double moved = 0.0;
        for (Index l = 0; l < width_; ++l) {
            const double after = prior_ + theta_.get()[l] * sums_.get()[l];
            moved += std::abs(after - gamma_.get()[l]);
            gamma_.get()[l] = after;
        }
        expect();
        return moved / static_cast<double>(width_);
    }

    void finish(const Index* words, const double* counts, Index length, double* gamma, double* theta,
                double* ratios) const noexcept {
        std::copy_n(gamma_.get(), width_, gamma);
        std::copy_n(theta_.get(), width_, theta);
        for (Index e = 0; e < length; ++e) {
            ratios[e] = counts[e] / phi(words[e]);
        }
    }

  private:
    [[nodiscard]] double phi(Index word) const noexcept {
        return std::max(dot(theta_.get(), topics_ + word * padded_, padded_), kLeast);
    }

    void expect() noexcept {
        double total = 0.0;
        for (Index l = 0; l < width_; ++l) {
            total += gamma_.get()[l];
        }
        const double scale = 1.0 / exp_digamma_of(total);
        for (Index l = 0; l < padded_; l += kWide) {
            store(theta_.get() + l, exp_digamma(load(gamma_.get() + l)) * scale);
        }
        std::fill(theta_.get() + width_, theta_.get() + padded_, 0.0);
    }

    const double* topics_;
    Index width_;
    Index padded_;
    double prior_;
    ScratchArray<double> gamma_;
    ScratchArray<double> theta_;
    ScratchArray<double> sums_;
};

}  // namespace

void exp_digamma(double* x, Index count) {
    const Effort effort(60.0 * static_cast<double>(count));
    parallel_for((count + kNumbers - 1) / kNumbers, [&](Index block) {
        const Index end = std::min(count, (block + 1) * kNumbers);
        for (Index i = block * kNumbers; i < end; i += kWide) {
            alignas(64) double part[kWide];
            const Index some = std::min(kWide, end - i);
            std::fill_n(part, kWide, 1.0);
            std::copy_n(x + i, some, part);
            store(part, exp_digamma(load(part)));
            std::copy_n(part, some, x + i);
        }
    });
}

void topics_of_rows(const WordCounts& x, const double* topics, Index width, double prior, double tol, Index sweeps,
                    double* gamma, double* theta, double* ratios, double* likelihood) {
    const Index padded = whole_lanes(width);
    ScratchArray<double> own(x.columns * padded);
    for (Index w = 0; w < x.columns; ++w) {
        std::copy_n(topics + w * width, width, own.get() + w * padded);
        std::fill(own.get() + w * padded + width, own.get() + (w + 1) * padded, 0.0);
    }
    const double entries = static_cast<double>(x.starts[x.rows] - x.starts[0]);
    const Effort effort(entries * static_cast<double>(width) * 8.0);
    parallel_for((x.rows + kBlock - 1) / kBlock, [&](Index block) {
        Document document(own.get(), width, prior);
        const Index end = std::min(x.rows, (block + 1) * kBlock);
        for (Index i = block * kBlock; i < end; ++i) {
            const Index first = x.starts[i];
            const Index length = x.starts[i + 1] - first;
            const Index* words = x.words + first;
            const double* counts = x.counts + first;
            document.begin(gamma + i * width);
            likelihood[i] = document.likelihood(words, counts, length);
            for (Index sweep = 0; sweep < sweeps; ++sweep) {
                if (document.update(words, counts, length) < tol) {
                    break;
                }
            }
            document.finish(words, counts, length, gamma + i * width, theta + i * width, ratios + first);
        }
    });
}

}  // namespace qed
