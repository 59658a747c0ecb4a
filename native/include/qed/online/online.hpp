/// Learning one row at a time: a row is scored, then the coefficients move against the slope of its loss.
///
/// With k problems that share the rows (one for each class, against the others) every row is read once for all of them.
/// Coefficients are kept as scale times w, so that shrinking all of them costs one multiplication, and a running mean of all
/// coefficients there have been costs nothing where they stay: with `mass` the sum of all scales so far, Σ scale w is
/// mass w - lag, and lag moves only when w does.
///
/// Determinism: problems do not depend on one another, and each visits the rows in an order drawn from the seed alone.
#pragma once

#include <cstdint>

#include "qed/machine/matrix.hpp"
#include "qed/sparse/sparse.hpp"

namespace qed {

enum class OnlineLoss : std::uint8_t {
    perceptron,
    hinge,
    squared_hinge,
    modified_huber,
    logistic,
    squared,
    huber,
    insensitive,
    squared_insensitive,
};

enum class StepRule : std::uint8_t {
    constant,   ///< eta
    optimal,    ///< 1 / (alpha (offset + t))
    power,      ///< eta / t^power
    passive,    ///< as far as the loss asks, at most eta
    softened,   ///< as far as the loss asks, softened by 1 / (2 eta)
};

/// What a step is.
struct OnlineRule {
    OnlineLoss loss;
    double width;  ///< of the insensitive losses, and where Huber's turns straight
    StepRule steps;
    double eta;
    double power;
    double alpha;
    double offset;
    double ridge;      ///< strength of half the sum of squares
    double lasso;      ///< strength of the sum of absolute values
    bool intercept;
    bool competes;     ///< classes compete: the best wrong one loses what the right one gains
    double margin;     ///< by which the right class must win, when they compete
    Index batch;       ///< rows scored before the coefficients move by their mean step
};

/// Targets: numbers, or ±1, for one problem; the number of the class for several.
struct OnlineTargets {
    Index problems;
    const double* y;
    const double* weight;  ///< one for each row; null for ones
    const double* favour;  ///< weights of the negative and positive rows of each problem, in pairs; null for ones
};

struct OnlineState {
    double* w;  ///< problems x columns, as are lag and paid
    double* b;
    double* scale;
    double* lag;    ///< null without a running mean
    double* b_sum;
    double* mass;
    double* paid;   ///< null without absolute values in the penalty
    double owed;    ///< Σ of the steps of the penalty
    double steps;   ///< steps taken so far
    double averaged;      ///< steps in the running mean
    double average_from;  ///< steps before it begins
    std::uint32_t* order;
    bool shuffles;        ///< a new order for every pass
    bool replaces;        ///< rows drawn with replacement instead
    std::uint64_t seed;
    std::int64_t* log;    ///< null, or room for the places in the pass at which one problem moved
    Index logged;
    const double* squares = nullptr;  ///< |x|² of the rows, where passes keep them
    float* slopes;    ///< problems x rows, sums of the slopes that each row had when it was met; null for none
    Index passes;     ///< passes of this course so far
    Index recorded;   ///< passes whose slopes are in the sums: these begin anew whenever `passes` is a power of two
};

/// What a pass found, each row as it was before the step: weighted losses plus penalties, and rows on the wrong side.
struct OnlinePass {
    double loss;
    Index mistakes;
};

/// When a problem ends: after `patience` passes in a row whose sum was not below the best by `least`, or after a pass without
/// mistakes; then mistakes take the place of losses. The course ends with the last problem, or after `most` passes.
struct OnlineStop {
    Index most;
    bool by_loss;
    double least;
    Index patience;
    bool when_clean;
    bool together;       ///< no problem ends before the others
    double* best;        ///< of each problem
    std::int64_t* idle;  ///< of each problem, passes without progress; -1 after a pass without mistakes that ended it
};

/// Passes over all rows; `found` has room for `most` of them, with the sums of all problems. Returns how many there were. Losses
/// are summed only when the stop asks for them or `sums_losses` does.
Index online_passes(const Matrix& x, const OnlineTargets& targets, const OnlineRule& rule, OnlineState& state,
                    OnlineStop& stop, bool sums_losses, OnlinePass* found);
Index online_passes(const SparseRows& x, const OnlineTargets& targets, const OnlineRule& rule, OnlineState& state,
                    OnlineStop& stop, bool sums_losses, OnlinePass* found);

/// For each problem the least y (x w + b), and the largest |x|² of all rows.
void online_margins(const Matrix& x, const OnlineTargets& targets, const double* w, const double* b, double* least,
                    double* longest);
void online_margins(const SparseRows& x, const OnlineTargets& targets, const double* w, const double* b, double* least,
                    double* longest);

}  // namespace qed
