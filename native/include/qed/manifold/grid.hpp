/// How all points of t-SNE push each other away, through the nodes of a grid.
///
/// With q(r) = 1 / (1 + r^2), all points push one with the sum over j of q^2 (y_i - y_j). The kernels q and q^2 (y_i - y_j) are
/// interpolated by cubic splines in both points: points give their splines' weights to the nodes about them, charges of nodes
/// are convolved with the kernel on a grid of twice the width (so that nothing comes back round the edge), and points take
/// from the nodes about them. What turns values at nodes into coefficients of splines is a division in the transform.
///
/// Layout: points are n x d, d of one or two, row after row. Determinism: rows of nodes are filled in the order of points,
/// and sums are merged block after block.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "qed/dense/fourier.hpp"
#include "qed/machine/matrix.hpp"

namespace qed {

class GridRepulsion {
  public:
    GridRepulsion(Index n, Index d) : n_(n), d_(d) {}

    /// Takes points. False, and nothing is taken, if their grid costs more than boxes do.
    bool arrange(const double* y);

    /// Writes to `force` the sum over j of q^2 (y_i - y_j) for every point taken, and returns the sum of q over all pairs.
    double run(double* force);

  private:
    struct Place {
        std::array<float, 4> along;   // weights of four rows of nodes
        std::array<float, 4> across;  // and of four columns
        std::int32_t row, column;     // the first of them
    };

    void resize();
    void prepare_kernels();
    void spread();
    void transform_rows(const float* grid, Index rows, Index columns, Index stride);
    double convolve();
    void restore_rows();
    void collect(double* force) const;

    [[nodiscard]] Index half() const noexcept { return (across_->length() / 2 + kWaveLanes) / kWaveLanes * kWaveLanes; }

    Index n_;
    Index d_;
    double spacing_ = 0.0;         // of nodes
    double kernel_spacing_ = 0.0;  // of those that the kernels were sampled at
    Index rows_ = 0;               // nodes that points are near
    Index columns_ = 0;
    Index stride_ = 0;
    std::optional<Fourier> along_;
    std::optional<Fourier> across_;
    std::vector<Place> places_;
    std::vector<std::int32_t> order_;
    std::vector<Index> starts_;                   // points by their first row of nodes
    std::vector<float> charges_;
    std::array<std::vector<float>, 2> spectrum_;  // real and imaginary parts of rows, half of each
    std::array<std::vector<float>, 3> kernels_;   // of q (real), and of the two forces (imaginary)
    std::array<std::vector<float>, 4> pushes_;    // spectra of the two forces
    std::vector<float> field_;                    // the two forces at every node
};

}  // namespace qed
