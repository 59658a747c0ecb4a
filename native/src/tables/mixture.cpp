#include "qed/tables/mixture.hpp"

#include <algorithm>
#include <vector>

#include "qed/dense/numbers.hpp"
#include "qed/machine/elementary.hpp"
#include "qed/machine/parallel.hpp"
#include "qed/machine/scratch.hpp"

namespace qed {
namespace {

constexpr Index kLane = kLanes<double>;
constexpr Index kBlock = 128;      // rows of a block: forty columns of them fill 40 KiB
constexpr Index kMostChunks = 32;  // sums of so many are kept until all are added
constexpr Index kTile = 4;         // rows of a matrix that are worked on together
#if defined(__AVX512F__)
constexpr Index kWide = 4;  // vectors beside them: kTile × kWide sums stay in registers
#else
constexpr Index kWide = 2;
#endif
static_assert(kBlock % (kLane * kWide) == 0);

using Lanes = Vector<double>;

/// Works on one chunk of rows.
class ChunkPass {
  public:
    ChunkPass(const MixtureRows& rows, const GaussianComponents& parts, Responsibilities kind)
        : rows_(rows),
          parts_(parts),
          kind_(kind),
          p_(rows.x.columns),
          padded_(round_up(rows.x.columns, kTile)),
          x_(padded_ * kBlock),
          away_(padded_ * kBlock),
          scaled_(padded_ * kBlock),
          logs_(parts.count * kBlock),
          s_(kBlock),
          top_(kBlock) {
        std::fill_n(x_.get(), padded_ * kBlock, 0.0);
    }

    /// Factors with rows and columns padded by zeros to whole tiles.
    static std::vector<double> padded_factors(const GaussianComponents& parts, Index p) {
        const Index padded = round_up(p, kTile);
        const Index distinct = parts.whiten_step == 0 ? 1 : parts.count;
        std::vector<double> out(at(distinct * padded * padded), 0.0);
        for (Index k = 0; k < distinct; ++k) {
            for (Index i = 0; i < p; ++i) {
                std::copy_n(parts.whiten + k * p * p + i * p, i + 1, out.data() + (k * padded + i) * padded);
            }
        }
        return out;
    }

    void run(Index first, Index last, const double* factors, double* density, double* shares, MixtureSums* sums) {
        const Index of_squares = parts_.is_diagonal ? p_ : padded_ * padded_;
        ScratchArray<double> lanes(sums != nullptr ? parts_.count * of_squares * kLane : 1);
        if (sums != nullptr) {
            std::fill_n(lanes.get(), parts_.count * of_squares * kLane, 0.0);
            std::fill_n(sums->weights, parts_.count, 0.0);
            std::fill_n(sums->firsts, parts_.count * p_, 0.0);
        }
        for (Index start = first; start < last; start += kBlock) {
            const Index count = std::min(kBlock, last - start);
            read(start, count);
            if (kind_ == Responsibilities::given) {
                take_shares(shares + start * parts_.count, count);
            } else {
                for (Index k = 0; k < parts_.count; ++k) {
                    parts_.is_diagonal ? measure_diagonal(k) : measure(k, factors);
                }
                share_out(start, count, density, sums);
                if (shares != nullptr) {
                    give_shares(shares + start * parts_.count, count);
                }
            }
            if (sums != nullptr) {
                weigh();
                for (Index k = 0; k < parts_.count; ++k) {
                    add(k, *sums, lanes.get() + k * of_squares * kLane);
                }
            }
        }
        if (sums != nullptr) {
            write_squares(lanes.get(), sums->squares);
        }
    }

  private:
    void read(Index start, Index count) {
        with_type(rows_.x.kind, [&](auto* type) {
            using T = std::remove_const_t<std::remove_pointer_t<decltype(type)>>;
            for (Index i = 0; i < count; ++i) {
                const T* const row = rows_.x.at<T>(start + i, 0);
                for (Index j = 0; j < p_; ++j) {
                    x_[j * kBlock + i] = static_cast<double>(row[j * rows_.x.column_stride]) - rows_.shift[j];
                }
            }
        });
        for (Index i = 0; i < kBlock; ++i) {
            s_[i] = i >= count ? 0.0 : (rows_.weights != nullptr ? rows_.weights[start + i] : 1.0);
        }
        for (Index j = 0; j < p_ && count < kBlock; ++j) {
            std::fill(x_.get() + j * kBlock + count, x_.get() + (j + 1) * kBlock, 0.0);
        }
    }

    void subtract_mean(Index k) {
        for (Index j = 0; j < padded_; ++j) {
            const double mean = j < p_ ? parts_.means[k * p_ + j] : 0.0;
            for (Index i = 0; i < kBlock; i += kLane) {
                store(away_.get() + j * kBlock + i, load(x_.get() + j * kBlock + i) - mean);
            }
        }
    }

    /// logs: level - |W (x - m)|² / 2, four rows of W at a time.
    void measure(Index k, const double* factors) {
        subtract_mean(k);
        const double* const w = factors + (parts_.whiten_step == 0 ? 0 : k * padded_ * padded_);
        for (Index v = 0; v < kBlock; v += kWide * kLane) {
            Lanes total[kWide] = {};
            for (Index i = 0; i < padded_; i += kTile) {
                Lanes z[kTile][kWide] = {};
                for (Index j = 0; j < i + kTile; ++j) {
                    Lanes d[kWide];
#pragma GCC unroll 4
                    for (Index c = 0; c < kWide; ++c) {
                        d[c] = load(away_.get() + j * kBlock + v + c * kLane);
                    }
#pragma GCC unroll 4
                    for (Index r = 0; r < kTile; ++r) {
#pragma GCC unroll 4
                        for (Index c = 0; c < kWide; ++c) {
                            z[r][c] += d[c] * w[(i + r) * padded_ + j];
                        }
                    }
                }
#pragma GCC unroll 4
                for (Index r = 0; r < kTile; ++r) {
#pragma GCC unroll 4
                    for (Index c = 0; c < kWide; ++c) {
                        total[c] += z[r][c] * z[r][c];
                    }
                }
            }
            for (Index c = 0; c < kWide; ++c) {
                store(logs_.get() + k * kBlock + v + c * kLane, parts_.levels[k] - 0.5 * total[c]);
            }
        }
    }

    void measure_diagonal(Index k) {
        const double* const w = parts_.whiten + k * parts_.whiten_step;
        for (Index v = 0; v < kBlock; v += kLane) {
            Lanes total = {};
            for (Index j = 0; j < p_; ++j) {
                const Lanes z = (load(x_.get() + j * kBlock + v) - parts_.means[k * p_ + j]) * w[j];
                total += z * z;
            }
            store(logs_.get() + k * kBlock + v, parts_.levels[k] - 0.5 * total);
        }
    }

    /// Turns logarithms into responsibilities, and adds up those of densities.
    void share_out(Index start, Index count, double* density, MixtureSums* sums) {
        double* const logs = logs_.get();
        for (Index v = 0; v < kBlock; v += kLane) {
            Lanes top = load(logs + v);
            for (Index k = 1; k < parts_.count; ++k) {
                top = maximum(load(logs + k * kBlock + v), top);
            }
            Lanes total = {};
            Lanes taken = {};  // hard: whether a component before has the row
            for (Index k = 0; k < parts_.count; ++k) {
                const Lanes own = load(logs + k * kBlock + v);
                Lanes share;
                if (kind_ == Responsibilities::hard) {
                    share = own == top ? 1.0 - taken : Lanes{};
                    taken += share;
                } else {
                    share = exponential(own - top);
                    total += share;
                }
                store(logs + k * kBlock + v, share);
            }
            if (kind_ != Responsibilities::hard) {
                for (Index k = 0; k < parts_.count; ++k) {
                    store(logs + k * kBlock + v, load(logs + k * kBlock + v) / total);
                }
                top += logarithm(total);
            }
            store(top_.get() + v, top);
        }
        for (Index i = 0; i < count; ++i) {
            if (sums != nullptr) {
                sums->likelihood += s_[i] * top_[i];
            }
            if (density != nullptr) {
                density[start + i] = top_[i];
            }
        }
    }

    void give_shares(double* shares, Index count) const {
        for (Index i = 0; i < count; ++i) {
            for (Index k = 0; k < parts_.count; ++k) {
                shares[i * parts_.count + k] = logs_[k * kBlock + i];
            }
        }
    }
    void take_shares(const double* shares, Index count) {
        std::fill_n(logs_.get(), parts_.count * kBlock, 0.0);
        for (Index i = 0; i < count; ++i) {
            for (Index k = 0; k < parts_.count; ++k) {
                logs_[k * kBlock + i] = shares[i * parts_.count + k];
            }
        }
    }

    void weigh() {
        for (Index k = 0; k < parts_.count; ++k) {
            for (Index i = 0; i < kBlock; i += kLane) {
                double* const share = logs_.get() + k * kBlock + i;
                store(share, load(share) * load(s_.get() + i));
            }
        }
    }

    /// Adds the rows of a block to the moments of a component.
    void add(Index k, MixtureSums& sums, double* lanes) {
        const double* const share = logs_.get() + k * kBlock;
        Lanes weight = {};
        for (Index i = 0; i < kBlock; i += kLane) {
            weight += load(share + i);
        }
        const double total = sum_lanes(weight);
        if (!(total > 0.0)) {
            return;
        }
        sums.weights[k] += total;
        subtract_mean(k);
        for (Index j = 0; j < padded_; ++j) {
            Lanes first = {};
            for (Index i = 0; i < kBlock; i += kLane) {
                const Lanes d = load(away_.get() + j * kBlock + i) * load(share + i);
                store(scaled_.get() + j * kBlock + i, d);
                first += d;
            }
            if (j < p_) {
                sums.firsts[k * p_ + j] += sum_lanes(first);
            }
        }
        parts_.is_diagonal ? add_diagonal(lanes) : add_products(lanes);
    }

    void add_diagonal(double* lanes) const {
        for (Index j = 0; j < p_; ++j) {
            Lanes total = load(lanes + j * kLane);
            for (Index i = 0; i < kBlock; i += kLane) {
                total += load(scaled_.get() + j * kBlock + i) * load(away_.get() + j * kBlock + i);
            }
            store(lanes + j * kLane, total);
        }
    }

    /// Lower triangle, tile by tile; a sum of each lane is kept until the chunk ends.
    void add_products(double* lanes) const {
        for (Index i = 0; i < padded_; i += kTile) {
            for (Index j = 0; j < i + kTile; j += kWide) {
                Lanes total[kTile][kWide];
#pragma GCC unroll 4
                for (Index r = 0; r < kTile; ++r) {
#pragma GCC unroll 4
                    for (Index c = 0; c < kWide; ++c) {
                        total[r][c] = load(lanes + ((i + r) * padded_ + j + c) * kLane);
                    }
                }
                for (Index v = 0; v < kBlock; v += kLane) {
                    Lanes right[kWide];
#pragma GCC unroll 4
                    for (Index c = 0; c < kWide; ++c) {
                        right[c] = load(away_.get() + (j + c) * kBlock + v);
                    }
#pragma GCC unroll 4
                    for (Index r = 0; r < kTile; ++r) {
                        const Lanes left = load(scaled_.get() + (i + r) * kBlock + v);
#pragma GCC unroll 4
                        for (Index c = 0; c < kWide; ++c) {
                            total[r][c] += left * right[c];
                        }
                    }
                }
#pragma GCC unroll 4
                for (Index r = 0; r < kTile; ++r) {
#pragma GCC unroll 4
                    for (Index c = 0; c < kWide; ++c) {
                        store(lanes + ((i + r) * padded_ + j + c) * kLane, total[r][c]);
                    }
                }
            }
        }
    }

    void write_squares(const double* lanes, double* squares) const {
        for (Index k = 0; k < parts_.count; ++k) {
            if (parts_.is_diagonal) {
                for (Index j = 0; j < p_; ++j) {
                    squares[k * p_ + j] = sum_lanes(load(lanes + (k * p_ + j) * kLane));
                }
                continue;
            }
            for (Index i = 0; i < p_; ++i) {
                for (Index j = 0; j <= i; ++j) {
                    const double sum = sum_lanes(load(lanes + ((k * padded_ + i) * padded_ + j) * kLane));
                    squares[(k * p_ + i) * p_ + j] = squares[(k * p_ + j) * p_ + i] = sum;
                }
            }
        }
    }

    const MixtureRows& rows_;
    const GaussianComponents& parts_;
    Responsibilities kind_;
    Index p_, padded_;
    ScratchArray<double> x_, away_, scaled_, logs_, s_, top_;
};

}  // namespace

void mixture_pass(const MixtureRows& rows, const GaussianComponents& components, Responsibilities kind, double* density,
                  double* shares, MixtureSums* sums) {
    const Index n = rows.x.rows;
    const Index p = rows.x.columns;
    const Index size = std::max(8 * kBlock, round_up(blocks_of(n, kMostChunks), kBlock));
    const Index chunks = blocks_of(n, size);
    const Index of_squares = components.count * (components.is_diagonal ? p : p * p);
    const std::vector<double> factors =
        components.is_diagonal ? std::vector<double>{} : ChunkPass::padded_factors(components, p);
    struct Part {
        double likelihood = 0.0;
        std::vector<double> weights, firsts, squares;
    };
    std::vector<Part> parts(sums != nullptr ? at(chunks) : 0);
    const Effort effort(static_cast<double>(n) * static_cast<double>(of_squares + 16 * components.count));
    parallel_for(chunks, [&](Index chunk) {
        ChunkPass pass(rows, components, kind);
        const Index first = chunk * size;
        const Index last = std::min(n, first + size);
        if (sums == nullptr) {
            pass.run(first, last, factors.data(), density, shares, nullptr);
            return;
        }
        Part& part = parts[at(chunk)];
        part.weights.resize(at(components.count));
        part.firsts.resize(at(components.count * p));
        part.squares.resize(at(of_squares));
        MixtureSums own{0.0, part.weights.data(), part.firsts.data(), part.squares.data()};
        pass.run(first, last, factors.data(), density, shares, &own);
        part.likelihood = own.likelihood;
    });
    if (sums == nullptr) {
        return;
    }
    sums->likelihood = 0.0;
    std::fill_n(sums->weights, components.count, 0.0);
    std::fill_n(sums->firsts, components.count * p, 0.0);
    std::fill_n(sums->squares, of_squares, 0.0);
    for (const Part& part : parts) {
        sums->likelihood += part.likelihood;
        add_scaled(part.weights.data(), 1.0, sums->weights, components.count);
        add_scaled(part.firsts.data(), 1.0, sums->firsts, components.count * p);
        add_scaled(part.squares.data(), 1.0, sums->squares, of_squares);
    }
}

}  // namespace qed
