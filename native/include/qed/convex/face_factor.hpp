/// The Cholesky factor of the Gram matrix of a face, kept while coordinates come and go.
///
/// Layout: u is upper triangular, row-major with a stride; row and column a belong to coordinate index()[a]. Ownership:
/// it owns its rows. Coordinates join at the end for one triangular solve, and leave by rotations of the rows below
/// them; both cost O(size²) a coordinate where a fresh factor costs O(size³). Determinism: one thread, in the order of
/// the calls.
#pragma once

#include <vector>

#include "qed/convex/coordinate.hpp"
#include "qed/dense/numbers.hpp"

namespace qed {

class FaceFactor {
  public:
    /// Brings the factor to the coordinates that are not zero. The quadratic may have grown since, at its end; one that
    /// is another must be met with a factor of its own. False if columns depend on each other, as for join().
    bool follow(const Quadratic& quadratic, double ridge, const double* w);

    [[nodiscard]] Index size() const noexcept { return static_cast<Index>(index_.size()); }
    /// The coordinates, in the order of the rows.
    [[nodiscard]] const std::vector<Index>& index() const noexcept { return index_; }

    /// Coordinates join, at the end. False if one depends on those before it, as far as rounding tells.
    bool join(const Quadratic& quadratic, const std::vector<Index>& fresh);
    /// The coordinates of some rows, given in ascending order, leave; those after them move up.
    void leave(const std::vector<Index>& gone);

    /// d = (uᵀ u)⁻¹ pull.
    [[nodiscard]] Numbers solved(const Numbers& pull) const;

  private:
    [[nodiscard]] double* row(Index a) noexcept { return u_.data() + a * stride_; }
    [[nodiscard]] const double* row(Index a) const noexcept { return u_.data() + a * stride_; }
    void reserve(Index size);
    void close_columns(const std::vector<Index>& gone) noexcept;
    void rotate_rows(Index j, Index last) noexcept;

    double ridge_ = 0.0;
    std::vector<Index> index_;
    std::vector<char> inside_;  ///< for each coordinate of the quadratic, whether it has a row
    Index stride_ = 0;
    Numbers u_;
};

}  // namespace qed
