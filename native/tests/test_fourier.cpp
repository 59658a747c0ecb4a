#include <array>
#include <complex>
#include <numbers>

#include "check.hpp"
#include "qed/dense/fourier.hpp"
#include "qed/machine/scratch.hpp"

using namespace qed;

TEST(transform_of_every_radix_is_the_sum_it_stands_for) {
    for (const Index n : {2, 3, 4, 5, 12, 30, 32, 50, 180}) {
        const std::vector<double> given = check::numbers(n * 2 * kWaveLanes, static_cast<unsigned>(n));
        const ScratchArray<Wave> x(n);
        const ScratchArray<Wave> room(n);
        for (Index k = 0; k < n; ++k) {
            for (Index lane = 0; lane < kWaveLanes; ++lane) {
                const auto at = static_cast<std::size_t>(2 * (k * kWaveLanes + lane));
                x[k].re[lane] = static_cast<float>(given[at]);
                x[k].im[lane] = static_cast<float>(given[at + 1]);
            }
        }
        const Wave* out = Fourier(n).run(x.get(), room.get());
        for (const Index lane : {Index{0}, Index{11}}) {
            for (Index k = 0; k < n; ++k) {
                std::complex<double> sum = 0.0;
                for (Index j = 0; j < n; ++j) {
                    const auto at = static_cast<std::size_t>(2 * (j * kWaveLanes + lane));
                    const double angle = -2.0 * std::numbers::pi * static_cast<double>(j * k) / static_cast<double>(n);
                    sum += std::complex<double>(static_cast<float>(given[at]), static_cast<float>(given[at + 1])) *
                           std::polar(1.0, angle);
                }
                const double off = std::abs(sum - std::complex<double>(out[k].re[lane], out[k].im[lane]));
                CHECK(off < 1e-6 * static_cast<double>(n));
            }
        }
    }
}

TEST(lengths_that_can_be_transformed) {
    CHECK(Fourier::fitting(1) == 2 && Fourier::fitting(7) == 8 && Fourier::fitting(13) == 16 && Fourier::fitting(31) == 32);
    CHECK(Fourier::fitting(97) == 100 && Fourier::fitting(1001) == 1024);
}

TEST(sixteen_rows_turned) {
    WaveBlock block;
    for (Index i = 0; i < kWaveLanes; ++i) {
        for (Index j = 0; j < kWaveLanes; ++j) {
            block[i][j] = static_cast<float>(100 * i + j);
        }
    }
    transpose(block);
    bool is_turned = true;
    for (Index i = 0; i < kWaveLanes; ++i) {
        for (Index j = 0; j < kWaveLanes; ++j) {
            is_turned = is_turned && block[i][j] == static_cast<float>(100 * j + i);
        }
    }
    CHECK(is_turned);
}
