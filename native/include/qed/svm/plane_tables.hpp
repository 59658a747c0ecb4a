/// The tables that planes are found on, each with its way to the optimum.
///
/// A table tells its shape, multiplies coefficients (`scores`) and rows (`combine`), and improves a plane (`improve`) until it
/// thinks that the gap asked for is reached. `gives_duals` says whether it leaves dual variables in `u`, or whether slopes of
/// the losses do as well.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "qed/convex/coordinate.hpp"
#include "qed/convex/face_pace.hpp"
#include "qed/dense/numbers.hpp"
#include "qed/svm/plane_losses.hpp"
#include "qed/svm/planes.hpp"

namespace qed {

/// How far `improve` went.
struct Improved {
    Index steps;
    bool is_over;  ///< whether more of it would not help
};

/// A dense table of few columns: Newton's method on products of columns, or multipliers.
class NarrowTable {
  public:
    NarrowTable(const Matrix& x, const PlanesIn& in);

    [[nodiscard]] Index rows() const noexcept { return x_.rows; }
    [[nodiscard]] Index columns() const noexcept { return x_.columns; }
    [[nodiscard]] Index longest_row() const noexcept { return x_.columns; }
    /// What is asked of `improve` for a gap.
    [[nodiscard]] double cautious(double target) const noexcept;
    [[nodiscard]] bool gives_duals() const noexcept { return !is_squared_; }
    [[nodiscard]] double length(Index row) const noexcept { return lengths_[at(row)]; }
    void scores(const double* w, double* t) const;
    void combine(const double* factors, double* z) const;

    void begin() noexcept;
    Improved improve(const PlaneLosses& losses, const Goal& goal, double* w, double* u);

  private:
    Improved follow(const PlaneLosses& losses, const Goal& goal, double* w, double* u);
    Improved descend(const PlaneLosses& losses, const Goal& goal, double* w, double* u);

    Matrix x_;
    bool is_squared_;
    bool has_kinks_;
    double bend_ = 0.0;
    Numbers lengths_, anchor_, t_, gradient_, low_, high_;
};

/// A sparse table: ascent by rows; conjugate gradients where all rows stay on the move; by columns with absolute values.
class LooseTable {
  public:
    LooseTable(const EndedRows& x, const PlanesIn& in);

    [[nodiscard]] Index rows() const noexcept { return x_.x.rows; }
    [[nodiscard]] Index columns() const noexcept { return x_.columns(); }
    [[nodiscard]] Index longest_row() const noexcept { return longest_; }
    /// What is asked of `improve` for a gap.
    [[nodiscard]] double cautious(double target) const noexcept;
    [[nodiscard]] bool gives_duals() const noexcept { return gives_duals_; }
    [[nodiscard]] double length(Index row) const noexcept { return std::sqrt(squares_[at(row)] + x_.constant * x_.constant); }
    void scores(const double* w, double* t) const;
    void combine(const double* factors, double* z) const;

    void begin() noexcept;
    Improved improve(const PlaneLosses& losses, const Goal& goal, double* w, double* u);

  private:
    Improved ascend(const PlaneLosses& losses, const Goal& goal, double* w, double* u);
    template <class Rows>
    void settle(const Rows& visited, const PlaneLosses& losses, double target, DualState& state);
    Improved follow_gradients(const PlaneLosses& losses, const Goal& goal, double* w);
    Improved descend(const PlaneLosses& losses, const Goal& goal, double* w, double* u);
    template <class Rows>
    Index solve_for_step(const Rows& rows, const PlaneLosses& losses, double enough, const Numbers& gradient, Numbers& step);
    double pull(const PlaneLosses& losses);
    void turn();

    EndedRows x_;
    PlaneLoss kind_;
    bool has_kinks_;
    bool gives_duals_ = false;
    Index longest_ = 0;
    double entries_ = 0.0;
    double work_ = 0.0;  ///< visits of entries for one plane
    Numbers squares_;    ///< of the lengths of rows
    std::vector<Index> order_;
    std::uint64_t seed_ = 0;
    std::vector<Index> moving_;  ///< rows whose dual variable is between its ends
    Numbers bend_;
    FacePace pace_;
    // by columns
    TakenColumns by_columns_;
    Numbers curved_pace_, low_, high_, t_, slope_, gradient_;
};

}  // namespace qed
