/// The nearest of a few centres, for many rows: what k-means does again and again.
///
/// Layout: centres are row-major doubles, k × p, in coordinates from which `shift` was taken; centres of one group
/// stand side by side. `squares` holds the squared lengths of the rows in these coordinates. Determinism: rows are cut
/// into blocks by their number alone, a block writes to places of its own, sums of blocks are merged in order
/// (fold.hpp).
///
/// Bounds: a row keeps an upper bound on the distance to its own centre and, for each group, a lower one on the
/// distance to all other centres of the group. Centres move, bounds move with them, and a row whose bounds still tell
/// its centre is not read at all. `slack` bounds the rounding of a squared distance, so that no row is passed over by
/// rounding.
#pragma once

#include "qed/dense/pack.hpp"
#include "qed/sparse/sparse.hpp"

namespace qed {

/// Rows, dense or compressed; `shift` is null for compressed ones.
struct Places {
    Matrix dense;
    SparseRows sparse;
    bool is_sparse = false;
    const double* shift = nullptr;

    [[nodiscard]] Index rows() const noexcept { return is_sparse ? sparse.rows : dense.rows; }
    [[nodiscard]] Index columns() const noexcept { return is_sparse ? sparse.columns : dense.columns; }
};

/// out[i] = squared length of row i, less the shift.
void row_squares(const Places& x, double* out);

struct CentresIn {
    const double* c;     ///< k × p
    const double* half;  ///< half the squared lengths of centres
    Index k;
};

struct NearestIn {
    Places x;
    const double* squares;  ///< null for dense rows that are looked at once: then upper is the distance itself
    const double* s;        ///< weights, or null
    CentresIn centres;
    const Index* starts;  ///< first centre of each group, and k; a single group without squares
    Index groups;
    const double* moved;        ///< how far each centre moved since the bounds were made
    const double* group_moved;  ///< the largest of each group
    const double* reach;        ///< half the distance of a centre to its nearest other one
    double slack;
    bool is_first;   ///< nothing is known yet: labels and bounds are written for all rows
    RowList list{};  ///< of a first pass: which rows are looked at, any of them several times; the state has their order

    [[nodiscard]] Index rows() const noexcept { return list.rows == nullptr ? x.rows() : list.count; }
};

/// What is known of each row; `lower` is rows × groups.
struct NearestState {
    std::int32_t* labels;
    double* upper;
    double* lower;
};

/// Changes of the sums and weights of clusters (null if not wanted), the weighted sum of squared distances (of a first
/// pass), rows that changed, distances that were computed.
struct NearestOut {
    double* sums;
    double* weights;
    double inertia;
    Index changed;
    Index evaluated;
};
void assign_nearest(const NearestIn& in, const NearestState& state, NearestOut& out);

/// Centres of a run and what they stand on: all are read and written.
struct LloydState {
    double* centres;  ///< k × p
    double* sums;     ///< k × p, of the rows of each cluster
    double* weights;
    double* moved;
    double* group_moved;
};

struct LloydIn {
    NearestIn rows;   ///< centres, motion and slack are those of the run; `is_first` as for its first pass
    double total;     ///< Σ s times the squared lengths
    double weight;    ///< Σ s
    double longest;   ///< of the rows
    double tol;       ///< sum of squared moves of centres at which to stop
    Index most;       ///< passes at most
    bool is_pending;  ///< rows were assigned already, and centres have to move
};

enum class LloydEnd : std::uint8_t { out_of_passes, at_rest, empty_cluster };

/// Rows to their nearest centres, centres to the means of their rows, until no row changes or centres hardly move; or
/// until a cluster is empty, before centres move. trace[i] is the inertia after the i-th move.
struct LloydOut {
    double* trace;
    Index moves;
    Index passes;
    Index evaluated;
};
LloydEnd run_lloyd(const LloydIn& in, const NearestState& state, const LloydState& run, LloydOut& out);

/// Batches of rows, one after the other, each of which moves centres towards the rows nearest to them.
struct BatchesIn {
    NearestIn rows;        ///< rows, their squares and weights, and k; the rest is not read
    const Index* batches;  ///< steps × size: numbers of rows
    Index steps;
    Index size;
    double ratio;     ///< of the largest count: centres that have seen less are poor; 0 for never
    double every;     ///< rows after which poor centres are looked for
    double rate;      ///< of the averages that tell when to stop
    double tol;       ///< averaged squared move of all centres that is small enough; 0 for never
    double patience;  ///< steps without a lower average after which to stop
};

/// What is counted along the way.
struct BatchesSeen {
    double steps;
    double waited;     ///< rows since poor centres were looked for
    double evaluated;  ///< distances computed
    double value;      ///< mean squared distance of the last batch, before it moved centres
    double average;    ///< of that
    double move;       ///< average of the squared move
    double least;      ///< average so far
    double without;    ///< steps since
};

/// What is known after some batches; all are read and written, and hold after an interrupt too.
struct BatchesState {
    double* centres;  ///< k × p
    double* counts;   ///< weight of the rows that each centre has seen
    BatchesSeen* seen;
};

enum class BatchesEnd : std::uint8_t { out_of_batches, at_rest, poor_centres };

/// Takes batches until centres are at rest, until one has seen too few rows, or to the last; returns how it ended and, in
/// `taken`, after how many.
BatchesEnd run_batches(const BatchesIn& in, const BatchesState& state, Index& taken);

/// near[l * rows + i] = the smaller of closest[i] and the squared distance of row i to candidate l; total[l] = Σ s
/// near. `closest` may be null.
void approach(const Places& x, const double* squares, const double* s, const CentresIn& candidates,
              const double* closest, double* near, double* total);

/// Rows far from each other, drawn one after the other.
struct SeedingIn {
    Places x;
    const double* squares;
    const double* s;          ///< weights, or null
    const double* uniforms;   ///< numbers in [0, 1): one, then `trials` for each row to draw after the first
    Index k;                  ///< how many rows
    Index trials;             ///< rows drawn each time, of which the one is taken that leaves the least sum of squares
    double power;             ///< of the distance from those before, which the probability of a row is in proportion to
};

/// found[j] = the j-th row drawn. Where all rows have distance zero from those before, rows are drawn by weight.
void draw_apart(const SeedingIn& in, Index* found);

}  // namespace qed
