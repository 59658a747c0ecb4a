#include "qed/manifold/grid.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "qed/machine/parallel.hpp"
#include "qed/machine/scratch.hpp"

namespace qed {
namespace {

using V = WaveLanes;
constexpr Index kWide = kWaveLanes;

/// Largest distance of nodes. q varies over a length of one: at 0.4 forces are off by a percent at most, like those of boxes
/// with the angle 0.5. Where that makes few nodes the distance is halved until there are more, which costs next to nothing.
constexpr double kSpacing = 0.4;
constexpr Index kFewNodes = 40 * 40;
constexpr int kHalvings = 20;
/// Nodes that cost as much as a point does in boxes (Zen 4).
constexpr Index kNodesPerPoint = 12;
/// Nodes beyond twice the width, across which the coefficients of splines die away.
constexpr Index kMargin = 16;
constexpr Index kRowsTogether = 16;
constexpr Index kPointsTogether = 512;

V load(const float* from) noexcept {
    V value;
    __builtin_memcpy(&value, from, sizeof(value));
    return value;
}
void store(float* to, V value) noexcept {
    __builtin_memcpy(to, &value, sizeof(value));
}

std::array<float, 4> spline(double at) noexcept {
    const double left = 1.0 - at;
    const double first = left * left * left / 6.0;
    const double last = at * at * at / 6.0;
    const double second = 2.0 / 3.0 - 0.5 * at * at * (2.0 - at);
    return {static_cast<float>(first), static_cast<float>(second), static_cast<float>(1.0 - first - second - last),
            static_cast<float>(last)};
}

/// Lanes are rows, `kWide` of them `stride` apart; elements are columns first … first + kWide - 1.
void load_columns(const float* rows, Index stride, WaveBlock& block) noexcept {
    for (Index r = 0; r < kWide; ++r) {
        block[r] = load(rows + r * stride);
    }
    transpose(block);
}
void store_columns(float* rows, Index stride, WaveBlock& block) noexcept {
    transpose(block);
    for (Index r = 0; r < kWide; ++r) {
        store(rows + r * stride, block[r]);
    }
}

}  // namespace

bool GridRepulsion::arrange(const double* y) {
    std::array<double, 2> low{};
    std::array<double, 2> width{};
    bool is_number = true;
    for (Index c = 0; c < d_; ++c) {
        double least = std::numeric_limits<double>::infinity();
        double most = -least;
        for (Index i = 0; i < n_; ++i) {
            least = std::min(least, y[i * d_ + c]);
            most = std::max(most, y[i * d_ + c]);
            is_number = is_number && !std::isnan(y[i * d_ + c]);
        }
        low[static_cast<std::size_t>(c)] = least;
        width[static_cast<std::size_t>(c)] = most - least;
    }
    double spacing = kSpacing;
    if (!is_number || !(std::max(width[0], width[1]) < 1e6)) {
        return false;
    }
    const auto nodes_along = [&](std::size_t axis) { return static_cast<Index>(width[axis] / spacing) + 4; };
    for (int halved = 0; halved < kHalvings && nodes_along(0) * nodes_along(1) < kFewNodes; ++halved) {
        spacing /= 2.0;
    }
    const std::array<Index, 2> nodes{nodes_along(0), nodes_along(1)};
    if (nodes[0] * nodes[1] > std::max(4 * kFewNodes, kNodesPerPoint * n_)) {
        return false;
    }
    spacing_ = spacing;
    rows_ = nodes[0];
    columns_ = nodes[1];
    places_.resize(static_cast<std::size_t>(n_));
    order_.resize(places_.size());
    starts_.assign(static_cast<std::size_t>(rows_) + 1, 0);
    for (Index i = 0; i < n_; ++i) {
        std::array<double, 2> at{};
        std::array<Index, 2> first{};
        for (Index c = 0; c < d_; ++c) {
            const auto axis = static_cast<std::size_t>(c);
            at[axis] = (y[i * d_ + c] - low[axis]) / spacing;
            first[axis] = std::min(static_cast<Index>(at[axis]), nodes[axis] - 4);
            at[axis] -= static_cast<double>(first[axis]);
        }
        places_[static_cast<std::size_t>(i)] = {spline(at[0]), spline(at[1]), static_cast<std::int32_t>(first[0]),
                                                static_cast<std::int32_t>(first[1])};
        ++starts_[static_cast<std::size_t>(first[0]) + 1];
    }
    for (std::size_t r = 0; r < static_cast<std::size_t>(rows_); ++r) {
        starts_[r + 1] += starts_[r];
    }
    std::vector<Index> next(starts_.begin(), starts_.end() - 1);
    for (Index i = 0; i < n_; ++i) {
        const auto row = static_cast<std::size_t>(places_[static_cast<std::size_t>(i)].row);
        order_[static_cast<std::size_t>(next[row]++)] = static_cast<std::int32_t>(i);
    }
    return true;
}

double GridRepulsion::run(double* force) {
    resize();
    spread();
    transform_rows(charges_.data(), rows_, columns_, stride_);
    const double sum = convolve();
    restore_rows();
    collect(force);
    return sum - static_cast<double>(n_);  // a point does not push itself
}

void GridRepulsion::resize() {
    const Index along = Fourier::fitting(std::max(2 * rows_ + kMargin, 2 * kWide));
    const Index across = Fourier::fitting(std::max(2 * columns_ + kMargin, 2 * kWide));
    if (!along_ || along_->length() != along || across_->length() != across || kernel_spacing_ != spacing_) {
        along_.emplace(along);
        across_.emplace(across);
        kernel_spacing_ = spacing_;
        prepare_kernels();
    }
    stride_ = round_up(columns_, kWide);
    charges_.resize(static_cast<std::size_t>(round_up(rows_, 2 * kWide) * stride_));
    const auto spectrum = static_cast<std::size_t>(round_up(rows_, 2 * kWide) * half());
    for (std::vector<float>& part : spectrum_) {
        part.resize(spectrum);
    }
    for (std::vector<float>& part : pushes_) {
        part.resize(spectrum);
    }
    field_.resize(static_cast<std::size_t>(2 * round_up(rows_, kWide) * stride_));
}

/// The transforms of the three kernels on the doubled grid, made coefficients of splines in both points and divided by the size
/// of the grid.
void GridRepulsion::prepare_kernels() {
    const Index p = along_->length();
    const Index q = across_->length();
    const Index width = half();
    const Index padded = round_up(p, 2 * kWide);
    const Index stride = round_up(q, kWide);
    for (std::vector<float>& part : spectrum_) {
        part.resize(static_cast<std::size_t>(padded * width));
    }
    std::vector<float> sampled(static_cast<std::size_t>(padded * stride));
    const auto away = [&](Index i, Index length) { return static_cast<double>(2 * i <= length ? i : i - length) * spacing_; };
    const auto filter = [](Index k, Index length) {
        return (2.0 + std::cos(2.0 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(length))) / 3.0;
    };
    for (std::size_t which = 0; which < 3; ++which) {
        parallel_for(blocks_of(p, kRowsTogether), [&](Index block) {
            for (Index i = block * kRowsTogether; i < std::min(p, (block + 1) * kRowsTogether); ++i) {
                for (Index j = 0; j < q; ++j) {
                    const double x = away(i, p);
                    const double z = away(j, q);
                    const double value = 1.0 / (1.0 + x * x + z * z);
                    const bool is_middle = (which == 1 && 2 * i == p) || (which == 2 && 2 * j == q);  // neither side
                    const double factor = which == 0 ? 1.0 : value * (which == 1 ? x : z);
                    sampled[static_cast<std::size_t>(i * stride + j)] = static_cast<float>(is_middle ? 0.0 : value * factor);
                }
            }
        });
        transform_rows(sampled.data(), p, q, stride);
        std::vector<float>& kernel = kernels_[which];
        kernel.resize(static_cast<std::size_t>(p * width));
        parallel_for(width / kWide, [&](Index block) {
            const ScratchArray<Wave> room(2 * p);
            Wave* x = room.get();
            for (Index i = 0; i < p; ++i) {
                x[i] = {load(spectrum_[0].data() + i * width + block * kWide),
                        load(spectrum_[1].data() + i * width + block * kWide)};
            }
            const Wave* found = along_->run(x, x + p);
            V across;
            for (Index lane = 0; lane < kWide; ++lane) {
                const double f = filter(block * kWide + lane, q);
                across[lane] = static_cast<float>(1.0 / (f * f));
            }
            for (Index i = 0; i < p; ++i) {
                const double f = filter(i, p);
                const V scale = across * static_cast<float>(1.0 / (f * f * static_cast<double>(p * q)));
                store(kernel.data() + i * width + block * kWide, (which == 0 ? found[i].re : found[i].im) * scale);
            }
        });
    }
}

void GridRepulsion::spread() {
    const Index padded = round_up(rows_, 2 * kWide);
    parallel_for(blocks_of(padded, kRowsTogether), [&](Index block) {
        const Index begin = block * kRowsTogether;
        const Index end = std::min(padded, begin + kRowsTogether);
        std::fill_n(charges_.data() + begin * stride_, (end - begin) * stride_, 0.0F);
        const Index from = starts_[static_cast<std::size_t>(std::min(std::max<Index>(begin - 3, 0), rows_))];
        const Index until = starts_[static_cast<std::size_t>(std::min(end, rows_))];
        for (Index at = from; at < until; ++at) {
            const Place& place = places_[static_cast<std::size_t>(order_[static_cast<std::size_t>(at)])];
            for (Index a = std::max<Index>(begin - place.row, 0); a < std::min<Index>(end - place.row, 4); ++a) {
                float* to = charges_.data() + (place.row + a) * stride_ + place.column;
                for (std::size_t b = 0; b < 4; ++b) {
                    to[b] += place.along[static_cast<std::size_t>(a)] * place.across[b];
                }
            }
        }
    });
}

/// Transforms rows of real numbers: two at a time, as the parts of a complex one. Rows up to a multiple of 2 kWide are read.
void GridRepulsion::transform_rows(const float* grid, Index rows, Index columns, Index stride) {
    const Index q = across_->length();
    const Index width = half();
    parallel_for(blocks_of(rows, 2 * kWide), [&](Index block) {
        const ScratchArray<Wave> room(2 * q);
        Wave* x = room.get();
        const Index first = block * 2 * kWide;
        WaveBlock re;
        WaveBlock im;
        for (Index j = 0; j < q; j += kWide) {
            if (j < columns) {
                load_columns(grid + first * stride + j, stride, re);
                load_columns(grid + (first + kWide) * stride + j, stride, im);
            }
            for (Index t = 0; t < std::min(kWide, q - j); ++t) {
                const bool is_used = j + t < columns;
                x[j + t] = is_used ? Wave{re[t], im[t]} : Wave{};
            }
        }
        const Wave* z = across_->run(x, x + q);
        WaveBlock parts[4];  // real and imaginary, of the first rows and of the others
        for (Index k = 0; k < width; k += kWide) {
            for (Index t = 0; t < kWide; ++t) {
                const bool is_used = k + t <= q / 2;
                const Wave a = is_used ? z[k + t] : Wave{};
                const Wave b = is_used ? z[k + t == 0 ? 0 : q - k - t] : Wave{};
                parts[0][t] = 0.5F * (a.re + b.re);
                parts[1][t] = 0.5F * (a.im - b.im);
                parts[2][t] = 0.5F * (a.im + b.im);
                parts[3][t] = 0.5F * (b.re - a.re);
            }
            for (Index which = 0; which < 4; ++which) {
                float* to = spectrum_[static_cast<std::size_t>(which % 2)].data() + (first + which / 2 * kWide) * width + k;
                store_columns(to, width, parts[which]);
            }
        }
    });
}

/// Transforms columns, multiplies with the kernels, and transforms back. Returns the sum of q over all pairs of points, each with
/// itself too: that of charge times potential, by Parseval's identity.
double GridRepulsion::convolve() {
    using Doubles [[gnu::vector_size(128)]] = double;
    const Index p = along_->length();
    const Index middle = across_->length() / 2;
    const Index width = half();
    std::vector<double> sums(static_cast<std::size_t>(width / kWide));
    parallel_for(width / kWide, [&](Index block) {
        const ScratchArray<Wave> room(4 * p);
        Wave* x = room.get();
        const Index first = block * kWide;
        for (Index i = 0; i < p; ++i) {
            const Index at = i * width + first;
            x[i] = i < rows_ ? Wave{load(spectrum_[0].data() + at), load(spectrum_[1].data() + at)} : Wave{};
        }
        const Wave* charge = along_->run(x, x + p);
        Doubles sum{};
        for (Index i = 0; i < p; ++i) {
            const V power = (charge[i].re * charge[i].re + charge[i].im * charge[i].im) *
                            load(kernels_[0].data() + i * width + first);
            sum += __builtin_convertvector(power, Doubles);
        }
        double total = 0.0;
        for (Index lane = 0; lane < kWide; ++lane) {  // a column stands for its mirror image as well
            const Index k = first + lane;
            total += k > middle ? 0.0 : (k == 0 || k == middle ? sum[lane] : 2.0 * sum[lane]);
        }
        sums[static_cast<std::size_t>(block)] = total;
        for (std::size_t axis = 0; axis < 2; ++axis) {
            Wave* to = x + 2 * p;
            for (Index i = 0; i < p; ++i) {  // times i and the kernel; parts exchanged, for the inverse
                const V kernel = load(kernels_[axis + 1].data() + i * width + first);
                to[i] = {charge[i].re * kernel, -charge[i].im * kernel};
            }
            const Wave* found = along_->run(to, to + p);
            for (Index i = 0; i < rows_; ++i) {
                store(pushes_[2 * axis].data() + i * width + first, found[i].im);
                store(pushes_[2 * axis + 1].data() + i * width + first, found[i].re);
            }
        }
    });
    double total = 0.0;
    for (const double sum : sums) {
        total += sum;
    }
    return total;
}

/// Transforms rows back: both forces at once, as the parts of one complex number.
void GridRepulsion::restore_rows() {
    const Index q = across_->length();
    const Index width = half();
    parallel_for(blocks_of(rows_, kWide), [&](Index block) {
        const ScratchArray<Wave> room(2 * q);
        Wave* x = room.get();
        const Index first = block * kWide;
        WaveBlock parts[4];
        for (Index k = 0; k <= q / 2; k += kWide) {
            for (std::size_t which = 0; which < 4; ++which) {
                load_columns(pushes_[which].data() + first * width + k, width, parts[which]);
            }
            for (Index t = 0; t < kWide && k + t <= q / 2; ++t) {
                // parts exchanged, for the inverse
                x[k + t] = {parts[1][t] + parts[2][t], parts[0][t] - parts[3][t]};
                if (k + t > 0 && 2 * (k + t) < q) {
                    x[q - k - t] = {parts[2][t] - parts[1][t], parts[0][t] + parts[3][t]};
                }
            }
        }
        const Wave* found = across_->run(x, x + q);
        WaveBlock re;
        WaveBlock im;
        for (Index j = 0; j < stride_; j += kWide) {
            for (Index t = 0; t < kWide; ++t) {
                re[t] = found[j + t].im;
                im[t] = found[j + t].re;
            }
            transpose(re);
            transpose(im);
            for (Index r = 0; r < kWide; ++r) {
                float* to = field_.data() + 2 * ((first + r) * stride_ + j);
                for (Index t = 0; t < kWide; ++t) {
                    to[2 * t] = re[r][t];
                    to[2 * t + 1] = im[r][t];
                }
            }
        }
    });
}

void GridRepulsion::collect(double* force) const {
    parallel_for(blocks_of(n_, kPointsTogether), [&](Index block) {
        for (Index i = block * kPointsTogether; i < std::min(n_, (block + 1) * kPointsTogether); ++i) {
            const Place& place = places_[static_cast<std::size_t>(i)];
            std::array<float, 8> sums{};
            for (std::size_t a = 0; a < 4; ++a) {
                const float* from = field_.data() + 2 * ((place.row + static_cast<Index>(a)) * stride_ + place.column);
                for (std::size_t b = 0; b < 8; ++b) {
                    sums[b] += place.along[a] * place.across[b / 2] * from[b];
                }
            }
            for (Index c = 0; c < d_; ++c) {
                const auto axis = static_cast<std::size_t>(c);
                force[i * d_ + c] = static_cast<double>(sums[axis] + sums[axis + 2] + (sums[axis + 4] + sums[axis + 6]));
            }
        }
    });
}

}  // namespace qed
