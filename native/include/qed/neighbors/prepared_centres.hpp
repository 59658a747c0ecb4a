/// Centres as products with rows want them. Internal to the files of this folder.
///
/// Ownership: rows and centres belong to whoever calls; what is packed here is a copy.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "qed/dense/fold.hpp"
#include "qed/dense/packed_rows.hpp"
#include "qed/neighbors/nearest.hpp"
#include "qed/sparse/csr.hpp"

namespace qed {

inline constexpr Index kRowsTogether = kTile<double>;  ///< rows whose products with all centres are found together

inline double squared_distance(const double* a, const double* b, Index count) noexcept {
    constexpr Index lanes = kLanes<double>;
    Vector<double> total{};
    Index i = 0;
    for (; i + lanes <= count; i += lanes) {
        const Vector<double> step = load(a + i) - load(b + i);
        total += step * step;
    }
    double rest = 0.0;
    for (; i < count; ++i) {
        rest += (a[i] - b[i]) * (a[i] - b[i]);
    }
    return sum_lanes(total) + rest;
}

/// Centres in the layout that products want: packed strips for dense rows, transposed for compressed ones.
class PreparedCentres {
  public:
    PreparedCentres(const Places& x, const CentresIn& centres) : x_(x), centres_(centres) {
        const Index p = x.columns();
        const Matrix turned = row_major(centres.c, centres.k, p, p).transposed();
        if (x.is_sparse) {
            by_column_.resize(static_cast<std::size_t>(p * centres.k));
            load_rows(turned, 0, p, 0, centres.k, by_column_.data(), centres.k);
        } else {
            packed_.emplace(plain(turned), p);
            packed_->fill(0);
        }
    }

    [[nodiscard]] Index k() const noexcept { return centres_.k; }
    [[nodiscard]] Index scratch() const noexcept {
        return x_.is_sparse ? centres_.k : kRowsTogether * (x_.columns() + kDepth);
    }

    /// out[j * kRowsTogether + r] = product of the r-th of `count` rows with centre j.
    void multiply(const Index* rows, Index count, double* scratch, double* out) const {
        if (x_.is_sparse) {
            with_csr(x_.sparse, [&](const auto& csr) { multiply_sparse(csr, rows, count, scratch, out); });
            return;
        }
        const Index p = x_.columns();
        std::fill_n(out, padded<double>(centres_.k) * kRowsTogether, 0.0);
        double* gathered = scratch + kRowsTogether * kDepth;
        Factor factor;
        if (is_run(rows, count)) {
            fetch_behind(rows[0] + count, count);
            Matrix part = x_.dense;
            part.rows = count;
            with_type(part.kind, [&](auto type) {
                using T = std::remove_cv_t<std::remove_pointer_t<decltype(type)>>;
                part.data = x_.dense.at<T>(rows[0], 0);
            });
            factor = plain(part.transposed());
            factor.row_shift = x_.shift;
        } else {
            for (Index r = 0; r < count; ++r) {
                fetch(rows[std::min(r + kAhead, count - 1)]);
                read(rows[r], gathered + r * p);
            }
            factor = plain(row_major(gathered, count, p, p).transposed());
        }
        for (Index number = 0; number < packed_->panels(); ++number) {
            const Panel<double> right{scratch, packed_->depth(number), count};
            pack_strips(factor, number * kDepth, right.depth, 0, right.strips(), scratch);
            multiply_panels<double, false>(packed_->panel(number), right, out, kRowsTogether);
        }
    }

    /// A dense row, less the shift; nothing for a compressed one.
    void read(Index row, double* __restrict to) const noexcept {
        if (x_.is_sparse) {
            return;
        }
        const Index p = x_.columns();
        with_type(x_.dense.kind, [&](auto type) {
            using T = std::remove_cv_t<std::remove_pointer_t<decltype(type)>>;
            const T* from = x_.dense.at<T>(row, 0);
            const Index stride = x_.dense.column_stride;
            const double* __restrict shift = x_.shift;
            if (stride == 1 && shift != nullptr) {
                for (Index j = 0; j < p; ++j) {
                    to[j] = static_cast<double>(from[j]) - shift[j];
                }
                return;
            }
            for (Index j = 0; j < p; ++j) {
                to[j] = static_cast<double>(from[j * stride]) - (shift == nullptr ? 0.0 : shift[j]);
            }
        });
    }

    /// A row as dense numbers, less the shift; `to` holds zeros.
    void copy(Index row, double* to) const noexcept {
        read(row, to);
        if (x_.is_sparse) {
            add(row, nullptr, 1.0, to);
        }
    }

    /// to += weight times a row, whose values were read if it is dense.
    void add(Index row, const double* __restrict values, double weight, double* __restrict to) const noexcept {
        if (x_.is_sparse) {
            with_csr(x_.sparse, [&](const auto& csr) {
                for (Index e = csr.starts[row]; e < Index{csr.starts[row + 1]}; ++e) {
                    to[csr.indices[e]] += weight * static_cast<double>(csr.values[e]);
                }
            });
            return;
        }
        const Index p = x_.columns();
        for (Index j = 0; j < p; ++j) {
            to[j] += weight * values[j];
        }
    }

    /// Squared distance of a row, whose values were read if it is dense, to one centre.
    [[nodiscard]] double distance(Index row, const double* values, Index j, double square) const noexcept {
        const Index p = x_.columns();
        const double* c = centres_.c + j * p;
        if (x_.is_sparse) {
            double product = 0.0;
            with_csr(x_.sparse, [&](const auto& csr) {
                for (Index e = csr.starts[row]; e < Index{csr.starts[row + 1]}; ++e) {
                    product += static_cast<double>(csr.values[e]) * c[csr.indices[e]];
                }
            });
            return std::max(square + 2.0 * (centres_.half[j] - product), 0.0);
        }
        return squared_distance(values, c, p);
    }

  private:
    static constexpr Index kAhead =
        8;  ///< rows: far enough for memory to answer, few enough to be on their way at once

    static bool is_run(const Index* rows, Index count) noexcept {
        for (Index r = 1; r < count; ++r) {
            if (rows[r] != rows[r - 1] + 1) {
                return false;
            }
        }
        return true;
    }

    /// Asks for a row whose place no pattern foretells.
    void fetch(Index row) const noexcept {
        with_type(x_.dense.kind, [&](auto type) {
            using T = std::remove_cv_t<std::remove_pointer_t<decltype(type)>>;
            const T* from = x_.dense.at<T>(row, 0);
            constexpr auto line = static_cast<Index>(kCacheLine / sizeof(T));
            if (x_.dense.column_stride == 1) {
                for (Index j = 0; j < x_.columns() + line - 1; j += line) {
                    __builtin_prefetch(from + std::min(j, x_.columns() - 1));
                }
            }
        });
    }

    /// Asks for the rows behind a run of a table by columns: these are more streams than the machine foretells.
    void fetch_behind(Index first, Index count) const noexcept {
        if (x_.dense.row_stride != 1) {
            return;
        }
        with_type(x_.dense.kind, [&](auto type) {
            using T = std::remove_cv_t<std::remove_pointer_t<decltype(type)>>;
            constexpr auto line = static_cast<Index>(kCacheLine / sizeof(T));
            const Index end = std::min(first + count, x_.dense.rows);
            for (Index j = 0; j < x_.columns(); ++j) {
                for (Index i = first; i < end; i += line) {
                    __builtin_prefetch(x_.dense.at<T>(i, j));
                }
            }
        });
    }

    template <class Rows>
    void multiply_sparse(const Rows& csr, const Index* rows, Index count, double* sums, double* out) const noexcept {
        const Index k = centres_.k;
        for (Index r = 0; r < count; ++r) {
            std::fill_n(sums, k, 0.0);
            for (Index e = csr.starts[rows[r]]; e < Index{csr.starts[rows[r] + 1]}; ++e) {
                const auto value = static_cast<double>(csr.values[e]);
                const double* column = by_column_.data() + csr.indices[e] * k;
                for (Index j = 0; j < k; ++j) {
                    sums[j] += value * column[j];
                }
            }
            for (Index j = 0; j < k; ++j) {
                out[j * kRowsTogether + r] = sums[j];
            }
        }
    }

    const Places& x_;
    CentresIn centres_;
    std::optional<PackedRows<double>> packed_;
    std::vector<double> by_column_;
};

/// half[j] = half the squared length of centre j.
inline void halve_squares(const double* centres, Index k, Index p, double* half) noexcept {
    for (Index j = 0; j < k; ++j) {
        half[j] = 0.0;
        for (Index i = 0; i < p; ++i) {
            half[j] += 0.5 * centres[j * p + i] * centres[j * p + i];
        }
    }
}

}  // namespace qed
