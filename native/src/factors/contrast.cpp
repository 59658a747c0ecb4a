#include "qed/factors/contrast.hpp"

#include <algorithm>
#include <vector>

#include "qed/dense/panel.hpp"
#include "qed/machine/elementary.hpp"
#include "qed/machine/parallel.hpp"
#include "qed/machine/scratch.hpp"

namespace qed {
namespace {

constexpr Index kMostChunks = 64;  // sums of so many are kept until all are added
constexpr double kLog2 = 0.6931471805599453;

using Lanes = Vector<double>;

/// Replaces sources by g of them and adds g' and G.
template <Contrast K>
[[gnu::always_inline]] inline Lanes differentiate(Lanes y, double a, Lanes& curvature, Lanes& value) noexcept {
    if constexpr (K == Contrast::log_cosh) {
        const Lanes t = absolute(y * a);
        const Lanes e = exponential(-2.0 * t);
        const Lanes size = (1.0 - e) / (1.0 + e);
        curvature += a * (1.0 - size * size);
        value += (t + log_one_plus(e) - kLog2) / a;
        return y < Lanes{} ? -size : size;
    } else if constexpr (K == Contrast::bell) {
        const Lanes e = exponential(-0.5 * y * y);
        curvature += (1.0 - y * y) * e;
        value -= e;
        return y * e;
    } else {
        curvature += 3.0 * y * y;
        value += 0.25 * y * y * y * y;
        return y * y * y;
    }
}

/// Sums of one chunk of rows, in panels of kDepth.
class ChunkSums {
  public:
    ChunkSums(Index width, Index sources)
        : width_(width),
          sources_(sources),
          across_(padded<double>(sources)),
          along_(padded<double>(width)),
          slopes(static_cast<std::size_t>(across_ * along_)),
          curvatures(static_cast<std::size_t>(across_)),
          values(static_cast<std::size_t>(across_)) {}

    template <Contrast K>
    void run(const double* z, Index rows, const double* packed_w, double a) {
        ScratchArray<double> turned(strips_of<double>(kDepth) * kStrip<double> * width_);
        ScratchArray<double> sources(round_up(kDepth, kGranule<double>) * across_);
        ScratchArray<double> left(strips_of<double>(sources_) * kStrip<double> * kDepth);
        ScratchArray<double> right(strips_of<double>(width_) * kStrip<double> * kDepth);
        for (Index first = 0; first < rows; first += kDepth) {
            const Index count = std::min(kDepth, rows - first);
            const Matrix block = row_major(z + first * width_, count, width_, width_);
            const Factor by_rows = plain(block.transposed());
            pack_strips(by_rows, 0, width_, 0, strips_of<double>(count), turned.get());
            std::fill_n(sources.get(), padded<double>(count) * across_, 0.0);
            multiply_panels<double, false>({turned.get(), width_, count}, {packed_w, width_, sources_}, sources.get(),
                                           across_);
            differentiate_all<K>(sources.get(), count, a);
            pack_strips(plain(row_major(sources.get(), count, sources_, across_)), 0, count, 0,
                        strips_of<double>(sources_), left.get());
            pack_strips(plain(block), 0, count, 0, strips_of<double>(width_), right.get());
            multiply_panels<double, false>({left.get(), count, sources_}, {right.get(), count, width_}, slopes.data(),
                                           along_);
        }
    }

  private:
    template <Contrast K>
    void differentiate_all(double* y, Index count, double a) {
        constexpr Index kLane = kLanes<double>;
        for (Index j = 0; j < across_; j += kLane) {
            Lanes curvature = {};
            Lanes value = {};
            for (Index i = 0; i < count; ++i) {
                double* const at = y + i * across_ + j;
                store(at, differentiate<K>(load(at), a, curvature, value));
            }
            store(curvatures.data() + j, load(curvatures.data() + j) + curvature);
            store(values.data() + j, load(values.data() + j) + value);
        }
    }

    Index width_, sources_, across_, along_;

  public:
    std::vector<double> slopes;  ///< padded(sources) × padded(width)
    std::vector<double> curvatures, values;
};

template <Contrast K>
void pass(const double* z, Index rows, Index width, const double* packed_w, Index sources, double a, double* slopes,
          double* curvatures, double* values) {
    const Index size = std::max(8 * kDepth, round_up(blocks_of(rows, kMostChunks), kDepth));
    const Index chunks = blocks_of(rows, size);
    std::vector<ChunkSums> parts(static_cast<std::size_t>(chunks), ChunkSums(width, sources));
    const Effort effort(static_cast<double>(rows) * static_cast<double>(sources) * static_cast<double>(2 * width + 32));
    parallel_for(chunks, [&](Index chunk) {
        const Index first = chunk * size;
        parts[static_cast<std::size_t>(chunk)].template run<K>(z + first * width, std::min(size, rows - first), packed_w,
                                                               a);
    });
    const Index along = padded<double>(width);
    std::fill_n(slopes, sources * width, 0.0);
    std::fill_n(curvatures, sources, 0.0);
    std::fill_n(values, sources, 0.0);
    for (const ChunkSums& part : parts) {
        for (Index i = 0; i < sources; ++i) {
            const auto at = static_cast<std::size_t>(i);
            curvatures[i] += part.curvatures[at];
            values[i] += part.values[at];
            for (Index j = 0; j < width; ++j) {
                slopes[i * width + j] += part.slopes[static_cast<std::size_t>(i * along + j)];
            }
        }
    }
}

}  // namespace

void contrast_pass(const double* z, Index rows, Index width, const double* w, Index sources, Contrast kind, double a,
                   double* slopes, double* curvatures, double* values) {
    ScratchArray<double> packed(strips_of<double>(sources) * kStrip<double> * width);
    const Matrix turned = row_major(w, sources, width, width).transposed();
    pack_strips(plain(turned), 0, width, 0, strips_of<double>(sources), packed.get());
    if (kind == Contrast::log_cosh) {
        pass<Contrast::log_cosh>(z, rows, width, packed.get(), sources, a, slopes, curvatures, values);
    } else if (kind == Contrast::bell) {
        pass<Contrast::bell>(z, rows, width, packed.get(), sources, a, slopes, curvatures, values);
    } else {
        pass<Contrast::quartic>(z, rows, width, packed.get(), sources, a, slopes, curvatures, values);
    }
}

}  // namespace qed
