#include <cmath>

#include "check.hpp"
#include "qed/factors/codes.hpp"
#include "qed/factors/contrast.hpp"
#include "qed/factors/topics.hpp"
#include "qed/machine/parallel.hpp"

using namespace qed;

TEST(exponential_of_digamma) {
    // digamma at 1, 1/2, 10 and 100
    double x[4] = {1.0, 0.5, 10.0, 100.0};
    exp_digamma(x, 4);
    CHECK(check::near(x[0], std::exp(-0.57721566490153286061)));
    CHECK(check::near(x[1], std::exp(-1.96351002602142347944)));
    CHECK(check::near(x[2], std::exp(2.25175258906672110764), 10.0));
    CHECK(check::near(x[3], std::exp(4.60016185273808740020), 100.0));
}

TEST(topics_of_a_document_are_a_fixed_point) {
    set_thread_count(2);
    const std::vector<Index> starts{0, 2, 3};
    const std::vector<Index> words{0, 2, 1};
    const std::vector<double> counts{3.0, 1.0, 2.0};
    const std::vector<double> topics{0.7, 0.1, 0.2, 0.5, 0.1, 0.4};  // (words, topics)
    std::vector<double> gamma(4, 1.0);
    std::vector<double> theta(4);
    std::vector<double> ratios(3);
    std::vector<double> likelihood(2);
    topics_of_rows({starts.data(), words.data(), counts.data(), 2, 3}, topics.data(), 2, 0.5, 1e-14, 500, gamma.data(),
                   theta.data(), ratios.data(), likelihood.data());
    for (std::size_t row = 0; row < 2; ++row) {
        std::vector<double> g(gamma.begin() + static_cast<std::ptrdiff_t>(2 * row),
                              gamma.begin() + static_cast<std::ptrdiff_t>(2 * row + 2));
        const double total = g[0] + g[1];
        double parts[3] = {g[0], g[1], total};
        exp_digamma(parts, 3);
        double next[2] = {0.5, 0.5};
        for (auto e = static_cast<std::size_t>(starts[row]); e < static_cast<std::size_t>(starts[row + 1]); ++e) {
            const auto word = 2 * static_cast<std::size_t>(words[e]);
            const double a = parts[0] / parts[2] * topics[word];
            const double b = parts[1] / parts[2] * topics[word + 1];
            next[0] += counts[e] * a / (a + b);
            next[1] += counts[e] * b / (a + b);
            CHECK(std::abs(ratios[e] - counts[e] / (a + b)) < 1e-9);
        }
        CHECK(std::abs(next[0] - g[0]) < 1e-9 && std::abs(next[1] - g[1]) < 1e-9);
    }
    CHECK(std::abs(gamma[0] + gamma[1] - 5.0) < 1e-9);  // prior and counts
}

TEST(codes_of_independent_atoms_are_shrunk_products) {
    const std::vector<double> G{1, 0, 0, 1};
    const std::vector<double> P{3.0, -0.5, -2.0, 1.5};
    const std::vector<double> enough(2, 0.0);
    std::vector<double> w(4, 0.0);
    const CodeTally found = code_rows({G.data(), P.data(), 2, 2, 1.0, 0.0, false}, enough.data(), 50, w.data());
    CHECK((w == std::vector<double>{2.0, 0.0, -1.0, 0.5}));
    CHECK(found.unfinished == 0 && found.value == -2.625 && found.gain == 2.625);  // from zero, and nothing else gains
    w.assign(4, 0.0);
    code_rows({G.data(), P.data(), 2, 2, 1.0, 1.0, true}, enough.data(), 50, w.data());
    CHECK((w == std::vector<double>{1.0, 0.0, 0.0, 0.25}));
    w.assign(4, 0.0);
    const std::vector<double> squares{9.25, 6.25};
    pursue_rows({G.data(), P.data(), 2, 2, 0.0, 0.0, false}, squares.data(), 1, 0.0, w.data());
    CHECK((w == std::vector<double>{3.0, 0.0, -2.0, 0.0}));
}

TEST(sweeps_of_several_rows_are_those_of_single_ones) {
    constexpr Index n = 70;
    constexpr Index k = 5;
    const std::vector<double> A = check::numbers(k * k);
    std::vector<double> G(k * k, 0.0);
    for (std::size_t i = 0; i < k; ++i) {
        for (std::size_t j = 0; j < k; ++j) {
            for (std::size_t l = 0; l < k; ++l) {
                G[i * k + j] += A[i * k + l] * A[j * k + l];
            }
        }
    }
    const std::vector<double> P = check::numbers(n * k);
    const std::vector<double> enough(n, 0.0);
    std::vector<double> one_by_one(n * k, 0.5);
    std::vector<double> together(n * k, 0.5);
    const CodeProblem problem{G.data(), P.data(), n, k, 0.01, 0.02, true};
    const CodeTally slow = code_rows(problem, enough.data(), 3, one_by_one.data());
    const CodeTally quick = sweep_rows(problem, 3, together.data());
    for (std::size_t i = 0; i < n * k; ++i) {
        CHECK(std::abs(one_by_one[i] - together[i]) < 1e-12);
    }
    CHECK(std::abs(slow.value - quick.value) < 1e-10 && std::abs(slow.gain - quick.gain) < 1e-10);
}

TEST(contrasts_are_sums_over_rows) {
    set_thread_count(2);
    constexpr Index n = 1000;
    const std::vector<double> z = check::numbers(n * 2);
    const std::vector<double> w{0.6, 0.8};
    for (const Contrast kind : {Contrast::log_cosh, Contrast::bell, Contrast::quartic}) {
        double slopes[2];
        double curvature = 0.0;
        double value = 0.0;
        contrast_pass(z.data(), n, 2, w.data(), 1, kind, 1.0, slopes, &curvature, &value);
        double wanted[4] = {};
        for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
            const double y = 0.6 * z[2 * i] + 0.8 * z[2 * i + 1];
            double g = std::tanh(y);
            double bend = 1.0 - g * g;
            double G = std::log(std::cosh(y));
            if (kind == Contrast::bell) {
                const double e = std::exp(-y * y / 2);
                g = y * e;
                bend = (1 - y * y) * e;
                G = -e;
            } else if (kind == Contrast::quartic) {
                g = y * y * y;
                bend = 3 * y * y;
                G = y * y * y * y / 4;
            }
            wanted[0] += g * z[2 * i];
            wanted[1] += g * z[2 * i + 1];
            wanted[2] += bend;
            wanted[3] += G;
        }
        CHECK(check::near(slopes[0], wanted[0], 100.0) && check::near(slopes[1], wanted[1], 100.0));
        CHECK(check::near(curvature, wanted[2], 1000.0) && check::near(value, wanted[3], 1000.0));
    }
}
