/// Discrete Fourier transforms, sixteen sequences at a time.
///
/// Layout: element k of a sequence is one lane of the vector k, real and imaginary parts apart, so that a transform needs no
/// shuffles. Determinism: each lane sees the same operations in the same order.
#pragma once

#include <vector>

#include "qed/machine/matrix.hpp"

namespace qed {

inline constexpr Index kWaveLanes = 16;
using WaveLanes [[gnu::vector_size(64), gnu::may_alias]] = float;

/// One element of sixteen complex sequences.
struct Wave {
    WaveLanes re;
    WaveLanes im;
};

/// Sixteen vectors of sixteen numbers.
struct WaveBlock {
    WaveLanes rows[kWaveLanes];
    WaveLanes& operator[](Index i) noexcept { return rows[i]; }
};
void transpose(WaveBlock& block) noexcept;

/// The transform of sequences of one length, a product of powers of 2, 3 and 5.
class Fourier {
  public:
    explicit Fourier(Index length);

    [[nodiscard]] Index length() const noexcept { return length_; }

    /// out[k] = sum over j of x[j] exp(-2 pi i j k / length). The result is in `x` or in `scratch`, of one length; returns
    /// where. With real and imaginary parts exchanged before and after it is the inverse, times the length.
    Wave* run(Wave* x, Wave* scratch) const noexcept;

    /// The least even length of at least `count` that can be transformed.
    static Index fitting(Index count) noexcept;

  private:
    struct Pass {
        Index radix;
        Index rest;      // length of the sequences that the pass leaves
        Index twiddles;  // where the factors of this pass begin
    };
    Index length_;
    std::vector<Pass> passes_;
    std::vector<float> twiddles_;  // cosine, sine
};

}  // namespace qed
