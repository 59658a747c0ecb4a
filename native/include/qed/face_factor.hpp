/// The Cholesky factor of the Gram matrix of a face, kept while coordinates come and go.
///
/// Layout: l is lower triangular, row-major with a stride; row a belongs to coordinate index()[a]. Ownership: it owns
/// its rows. A coordinate joins at the end for one triangular solve, and leaves by rotations of the rows below it; both
/// cost O(size²) where a fresh factor costs O(size³). Determinism: one thread, in the order of the calls.
#pragma once

#include <vector>

#include "qed/coordinate.hpp"
#include "qed/numbers.hpp"

namespace qed {

class FaceFactor {
  public:
    /// Brings the factor to the coordinates that are not zero. The quadratic may have grown since, at its end; one that
    /// is another must be met with a factor of its own.
    void follow(const Quadratic& quadratic, double ridge, const double* w);

    [[nodiscard]] Index size() const noexcept { return static_cast<Index>(index_.size()); }
    /// The coordinates, in the order of the rows.
    [[nodiscard]] const std::vector<Index>& index() const noexcept { return index_; }

    /// One coordinate joins, at the end.
    void join(const Quadratic& quadratic, Index j) { join(quadratic, std::vector<Index>{j}); }
    /// The coordinate of one row leaves; those after it move up.
    void leave(Index row);

    /// d = (l lᵀ)⁻¹ pull.
    [[nodiscard]] Numbers solved(const Numbers& pull) const;

  private:
    [[nodiscard]] double* row(Index a) noexcept { return l_.data() + a * stride_; }
    [[nodiscard]] const double* row(Index a) const noexcept { return l_.data() + a * stride_; }
    void reserve(Index size);
    void join(const Quadratic& quadratic, const std::vector<Index>& fresh);

    double ridge_ = 0.0;
    std::vector<Index> index_;
    std::vector<char> inside_;  ///< for each coordinate of the quadratic, whether it has a row
    Index stride_ = 0;
    Numbers l_;
};

}  // namespace qed
