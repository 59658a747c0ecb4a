# ruff: noqa: A002, D200, PYI021 - laid out by stubgen; compiled functions have no other place where a reader finds what they mean
# Written by `make generate`: types from native/bindings/stub.pyi.in, functions from the bindings (nb::sig).
"""Types and meaning of the compiled kernels.

Arrays
------
``Matrix`` arguments are float32 or float64 with one or two dimensions and any strides that are multiples of the item
size (C, Fortran, sliced, reversed), aligned, in native byte order; one dimension is read as one column. Nothing is
copied as a whole. ``Vector`` arguments are contiguous float64 of the stated length. Results are fresh, float64 and
C-ordered unless said otherwise. Shapes are checked (ValueError), types too (TypeError); values are not: NaN and
infinity spread as arithmetic has it. Sizes of zero are legal everywhere.

Promises
--------
The GIL is released. The same input gives the same bits on any number of threads (one build, one level). Sums run in
float64. Ctrl-C raises KeyboardInterrupt, and what the kernel was computing is lost.
"""

from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Vector: TypeAlias = NDArray[np.float64]
Matrix: TypeAlias = NDArray[np.float32] | NDArray[np.float64]
Matrix64: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.int32] | NDArray[np.int64]

Rows: TypeAlias = (
    Matrix | tuple[Indices, Indices, Matrix, tuple[int, int]]
)  # compressed: starts, indices, values, shape

level: str
"""The level in use: ``"v2"``, ``"v3"``, ``"v4"`` or ``"portable"``."""

product_terms: int
"""With unit roundoff ``u = 2**-53``, every entry of ``moments`` is off by at most ``product_terms * u`` times the sum
of the absolute values it adds up, for any number of rows."""

vector_bytes: int
"""Bytes in a vector of the level in use."""

def available_levels() -> list[str]:
    """Levels that this processor can run and that were built, from narrow to wide."""

def load_level(name: str) -> ModuleType:
    """Load the module of one level, beside the chosen one; tests compare levels with it."""

def when_loaded(watcher: Callable[[ModuleType], None]) -> None:
    """Call ``watcher(module)`` as soon as the kernels are loaded, or now if they are."""

SweptGroups: TypeAlias = tuple[NDArray[np.int64], Vector, Vector, float]
"""Starts of groups of coefficients with their end, bounds on the curvature along each, strengths, and a ridge."""

Quadratic: TypeAlias = tuple[Vector, Vector, float]
"""Q (k, k) with contiguous rows, q (k,) or (k, m), and a constant, of ½ wᵀQw − qᵀw + constant >= 0."""

Kinks: TypeAlias = tuple[Vector, Vector, float]
"""Slopes low <= 0 <= high of a penalty on both sides of zero, (k,) each, and a ridge: plus ridge / 2 w²."""

Goal: TypeAlias = tuple[float, int]
"""A duality gap to stop at, and the most sweeps."""

Table: TypeAlias = Matrix | tuple[NDArray[np.integer], NDArray[np.integer], NDArray[np.floating], tuple[int, int]]
"""A matrix; or compressed columns (indptr, indices, data, (columns, rows)), the rows of the transposed table, indices sorted."""

_BoostScale: TypeAlias = tuple[float, float, int, bool, bool]
_BoostArrays: TypeAlias = tuple[
    Any, ...
]  # bins by column and by row, columns, slopes, curvatures, class and classes, s, counts, words, order
_BoostedTree: TypeAlias = tuple[
    NDArray[np.int32],
    Vector,
    NDArray[np.uint8],
    Vector,
    Vector,
    NDArray[np.int64],
    NDArray[np.uint32],
    Vector,
    Vector,
    NDArray[np.int32],
]

Edges: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]
"""A graph in compressed rows: where the edges of each node begin, where they lead, and a number for each."""

class BoostPart:
    """
    Some rows of a boosted fit, dealt out to the nodes of the tree that grows; arrays of rows are given to each call.
    """

    def __init__(self) -> None: ...
    def start(self, arrays: _BoostArrays, scale: _BoostScale) -> tuple[tuple[int, int], NDArray[np.int64]]:
        """
        Round slopes and curvatures, put all rows into node 0; return their sum and the histogram.
        """

    def divide(
        self, arrays: _BoostArrays, divisions: NDArray[np.int64], right_of: NDArray[np.uint8]
    ) -> NDArray[np.int64]:
        """
        Divide nodes (node, left, right, child whose histogram is wanted or -1, feature); return histograms.
        """

    def leaf_sums(self, arrays: _BoostArrays, nodes: list[int]) -> Matrix:
        """
        Return sums of slopes and of curvatures over the rows of nodes, (2, nodes).
        """

    def add(self, arrays: _BoostArrays, nodes: list[int], values: Vector, scores: Vector) -> None:
        """Add values of nodes to the scores of their rows."""

    def mark(self, arrays: _BoostArrays, nodes: list[int]) -> NDArray[np.int32]:
        """Return, for each row, the place of its node in the list."""

class FaceFactor:
    """
    What a descent keeps for the next one on the same Gram matrix: a factor for the coefficients that are not zero.
    """

    def __init__(self) -> None: ...

class PackedForest:
    """Nodes of many trees laid out for being followed."""

    def sums(
        self, X: Table, values: Vector, groups: int, bags: NDArray[np.uint8] | None, bag_bytes: int
    ) -> NDArray[np.float64]:
        """
        Add up values by leaf over trees, tree t into group t % groups; rows whose bit is set in the bag of a tree pass it.
        """

    def leaves(self, X: Table) -> NDArray[np.int32]:
        """Return the leaf of each row in each tree, numbered over all trees."""

class PackedTree:
    """Nodes laid out for being followed."""

    def leaves(self, X: Table) -> NDArray[np.int64]:
        """
        Return the number of the leaf of each row; sparse rows come as (indptr, indices, data, (rows, columns)).
        """

class RankedTable:
    """Columns of a table as bins, with ranks where asked for; or as values."""

    def cuts(self) -> list[Vector]:
        """
        Return, for each column, midway points between its bins, one fewer than there are bins.
        """

class SortedTable: ...

def add_outer(
    a: Vector,
    a_low: Vector | None,
    b: Vector | None,
    b_low: Vector | None,
    step: Vector,
    step_low: Vector,
    factor: float,
    factor_low: float,
) -> tuple[Vector, Vector]:
    """
    Sum a + b + factor · step stepᵀ in double-double, (q, q), as high and low parts; None stands for zeros.
    """

def all_finite(X: Matrix) -> bool:
    """Tell whether no entry is NaN or infinite; stops at the first that is."""

def approach(
    X: Rows,
    shift: Vector | None,
    squares: Vector,
    s: Vector | None,
    candidates: tuple[Vector, Vector],
    closest: Vector | None,
) -> tuple[Vector, Vector]:
    """
    Return squared distances to what is nearer, a candidate or what was closest, a row for each candidate; and sums.
    """

def arrange_rows(X: Matrix, tree: bool) -> tuple[Matrix, NDArray[np.int64], Matrix, NDArray[np.int64], int]:
    """
    Rows in groups of eight, which row is where, boxes around near groups and what is in them, and the number of rows.

    Without ``tree`` rows keep their order, and there are no boxes.
    """

def assign_nearest(
    X: Rows,
    shift: Vector | None,
    squares: Vector | None,
    s: Vector | None,
    centres: tuple[Vector, Vector],
    starts: NDArray[np.int64],
    motion: tuple[Vector, Vector, Vector, float],
    labels: NDArray[np.int32],
    upper: Vector,
    lower: Vector,
    is_first: bool,
    sums: bool,
) -> tuple[Vector, Vector, float, int, int]:
    """
    Find the nearest of some centres for each row whose bounds do not tell it, and write labels and bounds.

    ``centres`` come with half their squared lengths, in groups that begin at ``starts``; ``motion`` is how far centres and
    groups moved, half the distance of each to the nearest other one, and the rounding of a squared distance. Returns changes
    of the sums and weights of clusters, the inertia (of a first pass), rows that changed, and distances that were computed.
    Without squares no later pass follows: the upper bounds are the distances, and there are no lower ones.
    """

def bin_chunk(
    X: Matrix,
    cuts: Vector,
    ends: NDArray[np.int64],
    by_column: NDArray[np.uint8],
    by_row: NDArray[np.uint8],
    first: int,
    low: Vector,
    high: Vector,
) -> None:
    """
    Write the bins of rows from row ``first`` on, by column and by row; widen the lowest and highest values of bins.
    """

def boost_extent(
    slopes: Vector, curvatures: Vector, which: tuple[int, int], s: Vector | None, counts: NDArray[np.uint32] | None
) -> Vector:
    """
    Return what the scale of one class of several depends on: sums of slopes, squares, curvatures; largest of both; rows.
    """

def boost_scale(extent: tuple[float, float, float, float, float, float], has_counts: bool, fine: bool) -> _BoostScale:
    """
    Return how slopes and curvatures of that extent become whole numbers; ``fine``: of 61 bits in any case.
    """

def centre_moments(
    weight: float, shift: Vector | None, sums: Vector, products: Vector
) -> tuple[Vector, Vector, Vector, Vector]:
    """
    Mean (q,) and scatter (q, q) in double-double, each as high and low part, from what `moments` gives.
    """

def cholesky(A: Matrix) -> tuple[Vector, int]:
    """
    Lower factor L with A = L Lᵀ (Fortran order, zeros above the diagonal), and −1.

    A must be symmetric: one triangle of it is read. If a pivot is not a positive number, its index is returned instead
    of −1 and L is unfinished.
    """

def class_ascent(
    X: Matrix,
    rows: tuple[Vector, Vector, Vector, float],
    u: NDArray[np.float64],
    w: NDArray[np.float64],
    order: NDArray[np.int64],
    active: int,
    numbers: Vector,
    seed: int,
    passes: int,
) -> tuple[int, int]:
    """
    Make passes of dual ascent for the hinge of several classes; return how many rows stay active, and the seed.

    rows is (labels, weights, squared lengths, alpha). u is (n, k), w is (k, p), numbers are threshold, largest shortfall and
    gap; all of them and order are written to.
    """

def class_distances(X: Matrix, centre: Vector, scale: Vector) -> Vector:
    """
    Σ ((x − centre) scale)² over the columns, (n, k), for a centre and a scale of each class, (k, p) each.
    """

def class_sums(
    X: Matrix, codes: Vector, classes: int, s: Vector | None, shift: Vector | None, squares: bool
) -> tuple[Vector, int]:
    """
    Σ s (x − shift) of each column over the rows of each class, (k, p), below them Σ s (x − shift)² if ``squares``.

    codes (n,) are class numbers from 0, shift is (k, p), None for zeros. With the longest chain of additions behind a sum.
    """

def code_rows(
    G: Vector, P: Vector, W: Vector, enough: Vector, lasso: float, ridge: float, positive: bool, sweeps: int
) -> tuple[int, float, float]:
    """
    Minimise w'(G + ridge)w / 2 − p'w + lasso |w| for each row p of P (n, k), over w >= 0 if ``positive``, by coordinates.

    Rows of W (n, k), where each begins, are written over. A row ends when a sweep lowers its objective by at most ``enough`` (n,)
    of it, or after ``sweeps``. Returns how many rows ended so, the objective, and what entries of W could gain at the start, each
    alone, summed over rows. All three tables are in C order.
    """

def coded_planes(
    X: Matrix,
    starts: NDArray[np.int64],
    book: NDArray[np.int8],
    model: tuple[str, float, float, bool],
    shift: Vector,
    begin: tuple[Matrix, Vector],
    target: Vector,
    most: int,
) -> tuple[Matrix, Vector, Matrix]:
    """
    Planes of a book for rows sorted by class; see ``native/include/qed/svm/coded.hpp``.
    """

def column_spreads(X: Matrix, Y: Matrix, s: Vector | None, total: float) -> tuple[Vector, Vector, Vector]:
    """
    Means and Σ s (z − mean)² of the columns of [X | Y], and the first row, about which they were summed; (q,) each.

    ``total`` is the sum of the weights.
    """

def column_squares(X: Matrix, s: Vector | None, shift: Vector | None) -> Vector:
    """Σ s (x − shift)² of each column, (p,)."""

def column_sums(X: Matrix, U: Matrix, s: Vector | None, shift: Vector | None) -> tuple[Vector, Vector]:
    """
    (X − shift)ᵀ U, (p, m), for m <= 8, and Σ s (x − shift)² of each column, (p,), in one pass.
    """

def condense(
    first: NDArray[np.int64], second: NDArray[np.int64], density: Vector, least: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], Vector, NDArray[np.int64]]:
    """
    Clusters that rows and clusters of at least so many rows leave, which, at which density, and of how many rows.
    """

def contradictions(X: Table, criterion: str, width: int, y: NDArray[np.int64] | Vector, s: Vector | None) -> float:
    """
    Return the mean impurity within groups of rows that agree in all columns.
    """

def contrast_pass(Z: Vector, W: Vector, contrast: str, a: float) -> tuple[Vector, Vector, Vector]:
    """
    Return sums over rows z of Z (n, k), with sources y = W z: of g(y_i) z_j (m, k), of g'(y_i) (m,), of G(y_i) (m,).

    ``contrast`` is "logcosh" (with its factor ``a``), "exp" or "cube".
    """

def count_levels(X: Matrix, out: Matrix, levels: Vector, starts: NDArray[np.int64]) -> None:
    """
    Write how many levels of its column each entry reaches into ``out``, of the type of X; NaN stays.

    The levels of column j rise from ``starts[j]`` on and end before ``starts[j + 1]``.
    """

def csr_class_ascent(
    X: tuple[Indices, Indices, Matrix],
    shape: tuple[int, int],
    rows: tuple[Vector, Vector, Vector, float],
    u: NDArray[np.float64],
    w: NDArray[np.float64],
    order: NDArray[np.int64],
    active: int,
    numbers: Vector,
    seed: int,
    passes: int,
) -> tuple[int, int]:
    """Do the same for compressed rows."""

def csr_curvature_product(
    indptr: Indices, indices: Indices, data: Matrix, shape: tuple[int, int], weight: Vector, shift: Vector, v: Vector
) -> Vector:
    """[Z | 1]ᵀ diag(weight) [Z | 1] v for compressed rows."""

def csr_dual_ascent(
    X: tuple[Indices, Indices, Matrix],
    shape: tuple[int, int],
    logistic: bool,
    loss: tuple[Vector, Vector, Vector, float, float],
    rows: tuple[Vector, Vector, Vector, float, float, float],
    u: Vector,
    w: Vector,
    order: NDArray[np.int64],
    active: int,
    numbers: Vector,
    seed: int,
    passes: int,
) -> tuple[int, int]:
    """Do the same for compressed rows: indptr, indices and data."""

def csr_find_class_planes(
    X: tuple[Indices, Indices, NDArray[np.float32] | NDArray[np.float64]],
    shape: tuple[int, int],
    label: Vector,
    c: Vector,
    classes: int,
    goal: Goal,
) -> tuple[Vector, Vector, Vector]:
    """Find the same on compressed rows."""

def csr_find_planes(
    loss: str,
    width: float,
    has_kinks: bool,
    X: tuple[Indices, Indices, NDArray[np.float32] | NDArray[np.float64]],
    shape: tuple[int, int],
    constant: float,
    y: Matrix,
    c: Vector,
    goal: Goal,
) -> tuple[Vector, Vector, Vector]:
    """
    Find the same on compressed rows, with one more column all of whose entries are ``constant``; zero for none.

    Gives up, with the gap that there is then, where it would take long.
    """

def csr_glm_pass(
    loss: str,
    indptr: Indices,
    indices: Indices,
    data: Matrix,
    shape: tuple[int, int],
    y: Vector,
    c: Vector,
    w: Vector,
    b: float,
    shift: Vector,
    rows: Vector,
    bend: bool = False,
) -> tuple[Vector, Vector, Vector, Vector | None, None]:
    """
    One read of compressed rows, without a hessian; the shift is taken out of the results.
    """

def csr_gram_matmul(
    X: tuple[Indices, Indices, Matrix],
    shape: tuple[int, int],
    V: Matrix,
    offset: Vector | None,
    s: Vector | None,
    parts: int,
) -> tuple[Vector, Vector]:
    """
    Xᵀ s (X V − offset), (p, m), and the sums of s (X V − offset), (m,), in one pass over compressed rows.

    X is (indptr, indices, data). The rows are cut into ``parts``, each with a result of its own: results depend on how many, not
    on threads.
    """

def csr_matmul(
    indptr: Indices,
    indices: Indices,
    data: Matrix,
    shape: tuple[int, int],
    W: Matrix,
    b: Vector | None,
    absolute: bool = False,
    squared: bool = False,
) -> Matrix:
    """
    X W + b for compressed rows X, in the type of data. Columns need not be sorted; repeated ones add up.

    ``absolute`` reads |x| for each stored value, ``squared`` x². The indices are trusted: the caller has checked that
    they lie inside ``shape``. This holds for all three kernels.
    """

def csr_mixed_pass(
    loss: str,
    indptr: Indices,
    indices: Indices,
    data: Matrix,
    shape: tuple[int, int],
    y: Vector,
    c: Vector,
    given: NDArray[np.float32],
    times: float,
    w: Vector,
    b: float,
    shift: Vector,
    rows: Vector,
) -> tuple[Vector, Matrix]:
    """One read of compressed rows; the shift is taken out of the results."""

def csr_moments(
    indptr: Indices, indices: Indices, data: Matrix, shape: tuple[int, int], Y: Matrix, s: Vector | None
) -> tuple[float, Vector, Vector]:
    """
    Weight, sums and scatter of the rows [x | y] about zero, as ``moments`` with a shift of zero.
    """

def csr_online_margins(
    X: tuple[Indices, Indices, NDArray[np.float32] | NDArray[np.float64]],
    shape: tuple[int, int],
    problems: int,
    y: Vector,
    w: Vector,
    b: Vector,
) -> tuple[Vector, float]:
    """``online_margins`` for compressed rows (indptr, indices, data)."""

def csr_online_passes(
    X: tuple[Indices, Indices, NDArray[np.float32] | NDArray[np.float64]],
    shape: tuple[int, int],
    problems: int,
    y: Vector,
    weight: Vector | None,
    favour: Vector | None,
    rule: tuple[int, float, int, float, float, float, float, float, float, bool, bool, float, int],
    arrays: tuple[
        Vector,
        Vector,
        Vector,
        Vector | None,
        Vector,
        Vector,
        Vector | None,
        NDArray[np.uint32],
        NDArray[np.int64] | None,
        NDArray[np.float32] | None,
    ],
    numbers: Vector,
    visits: tuple[bool, bool],
    seed: int,
    stop: tuple[int, bool, float, int, bool, bool, Vector, NDArray[np.int64]],
    sums_losses: bool,
) -> tuple[list[float], list[int], int]:
    """``online_passes`` for compressed rows (indptr, indices, data)."""

def csr_rmatmul(
    indptr: Indices,
    indices: Indices,
    data: Matrix,
    shape: tuple[int, int],
    U: Matrix,
    absolute: bool = False,
    squared: bool = False,
) -> Vector:
    """
    Xᵀ U, (p, m). For compressed columns exchange the two: their X W is this kernel on the transposed matrix.
    """

def csr_take_columns(
    X: tuple[Indices, Indices, Matrix], shape: tuple[int, int], by_columns: bool, index: Indices, scale: Vector | None
) -> tuple[Indices, Indices, Vector]:
    """
    Columns of compressed rows (or, ``by_columns``, of compressed columns), each row times ``scale``.

    The result holds starts (k + 1,), rows and values of the columns in ``index`` (int64), one after the other.
    """

def curvature_product(X: Matrix, weight: Vector, shift: Vector, v: Vector) -> Vector:
    """
    [Z | 1]ᵀ diag(weight) [Z | 1] v, (p + 1,), for Z = X − shift, in one read of X.
    """

def dense_groups(
    index: tuple[Matrix, NDArray[np.int64], Matrix, NDArray[np.int64], int],
    X: Matrix,
    metric: tuple[int, float, Vector | None],
    radius: float,
    least: float,
    weight: Vector | None,
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """
    Return the group of each row, -1 for none, and whether rows within the radius of it weigh at least ``least``.
    """

def descend_columns(
    A: Vector, penalty: Kinks, goal: Goal, w: Vector, residual: Vector
) -> tuple[Vector, Vector, Vector, int, float]:
    """
    Minimise ½ |residual + A (w − start)|² plus penalty: coefficients, residual, gradient Aᵀ residual, sweeps, gap.

    A is (n, k) in Fortran order.
    """

def descend_curved(
    loss: str,
    rows: tuple[Vector, Vector],
    A: tuple[Indices, Indices, Vector],
    penalty: Kinks,
    has_intercept: bool,
    goal: tuple[float, int, float],
    start: tuple[Vector, float],
    pace: Vector,
) -> tuple[Vector, float, Vector, Vector, Vector, Vector | None, float, int, bool]:
    """
    Minimise a loss of one score a row plus a penalty with kinks, for compressed columns with sorted entries.

    ``rows`` are targets and weights, ``goal`` is a gap, a number of rounds and about how many visits of entries to make at
    most, ``start`` are coefficients and intercept, ``pace`` are six numbers, zeros at first, that are written to for the
    next call. Returns coefficients and intercept, scores, slopes, gradient, a dual point or None, the gap,
    the rounds made, and whether no step is possible any more.
    """

def descend_gram(quadratic: Quadratic, penalty: Kinks, goal: Goal, w: Vector) -> tuple[Vector, Vector, int, float]:
    """
    Minimise quadratic plus penalty from w on: coefficients, gradient Qw − q, sweeps, gap (not rigorous: it rounds).
    """

def descend_grams(
    problems: list[tuple[Quadratic, Kinks, Goal, tuple[Vector, Vector | None], FaceFactor]],
) -> list[tuple[Vector, Vector, int, float]]:
    """
    Do `descend_gram` from face to face for several problems, in threads; each has a factor of its own.

    A start is coefficients, and their gradient where it is known.
    """

def descend_narrow(
    loss: str,
    rows: Vector | tuple[Vector, Vector, Vector, float, float],
    c: Vector,
    X: Matrix,
    shift: Vector | None,
    penalty: Kinks,
    has_intercept: bool,
    goal: Goal,
    start: tuple[Vector, float],
) -> tuple[Vector, float, Vector, Vector, Vector, float, float, int, bool]:
    """
    Minimise a loss of one score a row plus a penalty with kinks by Newton's method, for a table of few columns.

    ``rows`` are the targets of a loss by name, or kinks, low ends and high ends of conjugates, their bend and their width;
    ``goal`` is a gap and a number of rounds, ``start`` are coefficients and intercept. Returns both, scores, slopes,
    gradient, mean loss, the gap, the rounds made, and whether no step is possible any more.
    """

def descend_rows(
    quadratic: Quadratic, penalty: tuple[Vector, float], goal: Goal, w: Vector
) -> tuple[Vector, Vector, int, float]:
    """
    Do the same with a penalty of ``strength`` (k,) times the lengths of the rows of w, plus a ridge.
    """

def descend_sparse_columns(
    A: tuple[Indices, Indices, Vector],
    centring: tuple[Vector, Vector],
    penalty: Kinks,
    goal: Goal,
    w: Vector,
    residual: Vector,
) -> tuple[Vector, Vector, Vector, int, float]:
    """
    Do the same for compressed columns less ``root`` (n,) times their ``centre`` (k,); ``centring`` is (centre, root).
    """

def descend_targets(quadratic: Quadratic, penalty: Kinks, goal: Goal, w: Vector) -> tuple[Vector, Vector, int, float]:
    """Do the same for w of shape (k, m), every entry penalised by itself."""

def draw_apart(
    X: Rows,
    shift: Vector | None,
    squares: Vector,
    s: Vector | None,
    uniforms: Vector,
    k: int,
    trials: int,
    power: float,
) -> NDArray[np.int64]:
    """
    Draw rows with probability in proportion to a power of the distance from those before, the best of some each time.
    """

def draw_rows(seed: int, tree: int, draws: int, count: int, cumulated: Vector | None) -> NDArray[np.uint32]:
    """
    Return how often each row is drawn for a tree; ``cumulated`` weights, or None for equal ones.
    """

def dual_ascent(
    X: Matrix,
    logistic: bool,
    loss: tuple[Vector, Vector, Vector, float, float],
    rows: tuple[Vector, Vector, Vector, float, float, float],
    u: Vector,
    w: Vector,
    order: NDArray[np.int64],
    active: int,
    numbers: Vector,
    seed: int,
    passes: int,
) -> tuple[int, int]:
    """
    Make passes of dual ascent over the first ``active`` rows of ``order``; return how many stay active, and the seed.

    X has contiguous rows. loss is (kink, low, high, bend, width): conjugates bend u²/2 + kink u + width |u| from low to high;
    a logistic loss has its labels as kink. rows is (weights, squared lengths, products with the centre, squared length of
    the centre, alpha, give). u, w, order and numbers (drift, along, base, sum, threshold, largest, gap) are written to. One
    thread; Ctrl-C is noticed after the last pass.
    """

def exp_digamma(x: Matrix) -> Vector:
    """exp(digamma(x)) of positive numbers, to a few units in the last place."""

def extend_products(folds: list[tuple[Vector, Vector, Vector]]) -> None:
    """
    Write weighted products of fresh columns with all columns into rooms, in threads.

    A fold is columns (n, k) of which the last m are fresh, these times their weights (rows that count, m), and the room.
    """

def find_class_planes(X: Matrix, label: Vector, c: Vector, classes: int, goal: Goal) -> tuple[Vector, Vector, Vector]:
    """
    Find the planes of several classes in one objective.

    Returns coefficients, a row for each class, dual variables, a row for each row of X, and one row of the numbers that
    ``find_planes`` returns. Gives up, with the gap that there is then, where it would take long.
    """

def find_planes(
    loss: str, width: float, has_kinks: bool, X: Matrix, y: Matrix, c: Vector, goal: Goal
) -> tuple[Vector, Vector, Vector]:
    """
    Find support vector planes, one for each row of ``y``, on a table of few columns.

    ``has_kinks`` says whether absolute values are penalised in place of squares. ``c`` are weights of the losses (twice that of
    a square), ``goal`` a gap relative to the objective without coefficients and
    a number of steps. Returns coefficients and dual variables, a row for each plane, and objective, gap (rounding included),
    rounding, objective without coefficients and steps of each.
    """

def fold_residuals(folds: list[tuple[Vector, Vector, Vector, NDArray[np.int64], int]], out: Vector) -> None:
    """
    Write targets less columns times coefficients into columns of a table, in threads.

    A fold is columns (n, k), coefficients, targets, the row of the table that each row goes to, and the column.
    """

def follow_levels(X: Matrix, out: Matrix, levels: Matrix, values: Vector) -> None:
    """
    Write the curve through (levels, values) at each entry into ``out``, of the type of X; NaN stays.

    Linear between levels, flat outside; at a level that is listed several times the mean of its first and last value. Row j of
    ``levels`` belongs to column j of X.
    """

def follow_multipliers(
    pieces: tuple[Vector, Vector, Vector, float, float],
    c: Vector,
    X: Matrix,
    ridge: float,
    goal: Goal,
    start: tuple[Vector, Vector, float],
) -> tuple[Vector, Vector, Vector, float, float, int, bool]:
    """
    Minimise a loss made of straight pieces plus a ridge by the method of multipliers, for a table of few columns.

    ``pieces`` are kinks, low ends and high ends of conjugates, a bend that is zero, and their width; ``goal`` is a gap and a
    number of steps, ``start`` are coefficients, anchors of the dual variables, and how much losses are rounded off (0 to have
    it chosen). Returns coefficients, dual variables, the anchors and the rounding that a further call starts from, the gap,
    the steps made, and whether no step is possible any more.
    """

def follow_path(
    table: Matrix,
    copies: int,
    kinked: NDArray[np.int64],
    lists: tuple[Vector, Vector, Vector, Vector],
    columns: tuple[Vector, Vector, Vector],
    has_intercept: bool,
    spread: float,
    goal: tuple[float, int],
    state: tuple[Vector, Vector, Vector, Vector],
) -> tuple[float, int, bool]:
    """
    Go along the central path of a problem with kinks until the distance from the optimum is within ``goal``.

    ``lists`` are weights, kinks, low and high ends; ``columns`` are curvatures, pull and sizes; ``state`` is written to:
    coefficients with the intercept last, distances above and below kinks, dual variables. Returns the distance, the steps
    made, and whether no further step is possible.
    """

def get_num_threads() -> int:
    """Threads that a kernel may use, the calling one included."""

def glm_pass(
    loss: str,
    X: Matrix,
    y: Vector,
    c: Vector,
    w: Vector,
    b: float,
    shift: Vector,
    rows: Vector,
    bend: bool = False,
    hessian: bool = False,
) -> tuple[Vector, Vector, Vector, Vector | None, Vector | None]:
    """
    One read of X for the scores t = Z w + b with Z = X − shift: sums, rise, fall, bend, hessian.

    Sums (6,) are Σ c ℓ, Σ c ℓ′ over positive slopes, the same over negative ones, Σ c ℓ″, Σ c t²,
    Σ c ℓ′²; rise and fall (p,) are Zᵀ of c times the slopes of either sign; bend (n,), if wanted, c ℓ″; hessian
    (p + 1, p + 1), if wanted, [Z | 1]ᵀ diag(c ℓ″) [Z | 1].
    Scores t and slopes ℓ′ are written to the two rows of ``rows``, (2, n) in C order, the one array that a kernel changes;
    a table of one row takes scores alone.
    """

def gram(X: Matrix, s: Vector | None, shift: Vector | None, transpose: bool, fast: bool = False) -> Vector:
    """
    (X − shift)ᵀ S (X − shift), (p, p); or, transposed, (X − shift) S (X − shift)ᵀ, (n, n).

    shift is (p,) in both cases; s is nonnegative and belongs to the terms of the sum: (n,), or (p,) when transposed.
    ``fast`` (float32 only) multiplies in float32, sums up to 128 products there and the rest in float64.
    """

def group_excess(
    w: Matrix, z: Matrix, rounding_error: Matrix, number: Indices | None, strength: Vector, ridge: float
) -> tuple[float, float]:
    """
    Tell what separates w and z from equality in the inequality of Fenchel and Young, and what its rounding may add.
    """

def group_shrink(z: Matrix, rounding_error: Matrix, number: Indices | None, strength: Vector) -> float:
    """
    Find the largest factor <= 1 by which every group of z, longer by that of rounding_error, is within its strength.
    """

def group_value(w: Matrix, number: Indices | None, strength: Vector, ridge: float) -> float:
    """
    Σ strength |w_g| + ridge / 2 |w|² over groups g of rows of w, (p,) or (p, k).

    ``number`` is int64, the group of each row, or None: every row is one. ``strength`` is one for all, or one each.
    """

def grow_boosted(
    x: RankedTable,
    classes: int,
    rows: tuple[Vector, Vector, Vector | None, NDArray[np.uint32] | None],
    scores: Vector | None,
    rule: tuple[int, int, int, float, float, int, int],
    monotone: NDArray[np.int8] | None,
    by_category: NDArray[np.uint8] | None,
    groups: list[list[int]],
) -> tuple[
    list[
        tuple[
            NDArray[np.int32],
            Vector,
            NDArray[np.uint8],
            Vector,
            Vector,
            NDArray[np.int64],
            NDArray[np.uint32],
            Vector,
            Vector,
            NDArray[np.int32],
        ]
    ],
    Vector,
]:
    """
    Grow the trees of a round of boosting, one for each class, over bins that lie by row.

    Rows: slopes and curvatures (rows × classes), weights that multiply them, whole counts. Rule: most leaves (0: any number), most
    depth, fewest rows of a leaf, ridge, learning rate, columns a split, seed.

    Returns for each tree column, threshold, side of missing values, value and count by node, inner node or leaf as ``grow_forest``
    does; inner nodes that look at categories and their sets, sixteen words each; between what constraints hold the value of each
    leaf; and, where no scores are given, the leaf of each row. Then the scores with what the trees add to them.
    """

def grow_cf_tree(
    X: Matrix,
    tree: tuple[Matrix, Vector, Vector, NDArray[np.int64], NDArray[np.int64]] | None,
    threshold: float,
    branching: int,
) -> tuple[Matrix, Vector, Vector, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """
    Put rows into a tree of clustering features.

    Means, weights and squares of subclusters, where the entries of nodes begin, the entries, and the subcluster of each row.
    """

def grow_forest(
    x: RankedTable,
    criterion: str,
    width: int,
    y: NDArray[np.int64] | Vector,
    s: Vector | None,
    share: Vector | None,
    limits: tuple[int, int, int, float, float, int, int],
    rules: tuple[bool, int, int, int, bool, int],
    monotone: NDArray[np.int8] | None,
    by_category: NDArray[np.uint8] | None,
) -> tuple[
    NDArray[np.int64],
    NDArray[np.int32],
    Vector,
    NDArray[np.uint8],
    Vector,
    Vector,
    Vector,
    NDArray[np.int64],
    NDArray[np.uint32],
    NDArray[np.int32],
]:
    """
    Grow trees on rows drawn for each; criteria and limits as in ``grow_tree``, the weight of a leaf as a share of its tree.

    ``share`` is the weight of a row in the drawing, ``s`` multiplies how often it was drawn. Rules: whether thresholds are drawn
    (values must be kept; otherwise ranks), number of the first tree, how many, rows drawn with replacement (0: all once), whether
    classes are balanced within each tree, and the seed.

    Returns nodes of each tree; by node the column (-1 for leaves); by inner node thresholds and whether missing values go left; by
    leaf ``width`` values and the weight; by tree the decrease of the impurity of each column; the inner nodes that ask about sets
    of categories, and their sets as in ``grow_tree``. Nodes are in the order of a walk that goes left first.
    """

def grow_from(
    source: Any,
    bins: list[tuple[Vector, NDArray[np.uint32]]],
    rule: tuple[int, int, int, float, float, int, int],
    monotone: NDArray[np.int8] | None,
    by_category: NDArray[np.uint8] | None,
    groups: list[list[int]],
) -> _BoostedTree:
    """
    Grow a tree from histograms that ``source`` is asked for: start, divide, leaf_sums, finish.
    """

def grow_sorted(
    X: SortedTable,
    criterion: str,
    width: int,
    y: NDArray[np.int64] | Vector,
    s: Vector | None,
    limits: tuple[int, int, int, float, float, int, int],
    random: tuple[bool, int],
) -> tuple[
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.int64],
    Vector,
    NDArray[np.uint8],
    Vector,
    NDArray[np.int64],
    Vector,
    Vector,
    NDArray[np.int64],
    NDArray[np.uint32],
    bool,
]:
    """``grow_tree`` on sorted columns."""

def grow_tree(
    X: Table,
    criterion: str,
    width: int,
    y: NDArray[np.int64] | Vector,
    s: Vector | None,
    limits: tuple[int, int, int, float, float, int, int],
    random: tuple[bool, int],
    monotone: NDArray[np.int8] | None,
    by_category: NDArray[np.uint8] | None,
) -> tuple[
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.int64],
    Vector,
    NDArray[np.uint8],
    Vector,
    NDArray[np.int64],
    Vector,
    Vector,
    NDArray[np.int64],
    NDArray[np.uint32],
    bool,
]:
    """
    Grow a decision tree.

    ``criterion`` is ``"gini"``, ``"entropy"`` or ``"misclassification"`` (``y``: numbers of classes, ``width`` of them),
    ``"squared_error"`` (``width`` numbers a row), ``"absolute_error"`` or ``"poisson"``. NaN in X is missing; rows of weight zero
    are not seen. Limits: most depth, fewest rows to split and of a leaf, least weight of a leaf, least decrease, most leaves (0:
    any number, depth first), columns a split. Random: whether thresholds are drawn, and a seed. Monotone: 1, -1 or 0 by column,
    whether values (of the second class of two) rise, fall or are free. By category: whether each column holds categories, whole
    numbers from 0 to 254: some of them go left.

    Returns for each node, in the order of a walk that goes left first: left and right child (-1), column (-2), threshold (-2),
    whether missing values go left, impurity, rows, weight, ``width`` values; the nodes that ask about sets of categories, sixteen
    words of bits for each (those that go left, those that were met); and whether some column tells all rows apart.
    """

def guttman_step(D: Matrix64, columns: Matrix64) -> tuple[Matrix64, float, float]:
    """
    Points (k, n) after one step of majorisation towards the distances D, and the stress and squared distances before it.
    """

def hash_words(bytes: NDArray[np.uint8], ends: NDArray[np.int64]) -> NDArray[np.int32]:
    """
    MurmurHash3 (32 bits, seed zero) of words that follow each other in memory and end where ``ends`` says.
    """

def indices_within(indices: Indices, bound: int) -> bool:
    """Tell whether all indices lie in [0, bound)."""

def join_edges(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    """
    Clusters that the edges of a tree join, one edge after the other, (edges, 2): rows first, then edges by number.
    """

def kth_distances(
    index: tuple[Matrix, NDArray[np.int64], Matrix, NDArray[np.int64], int], queries: Matrix, k: int
) -> Vector:
    """
    Distances of queries to their k-th nearest rows, of an index without boxes.
    """

def least_impurity(
    X: Table, criterion: str, width: int, y: NDArray[np.int64] | Vector, s: Vector | None, depth: int, most: int
) -> float:
    """
    Return the least mean impurity of trees of depth one or two; NaN if the search would take more than ``most`` steps.
    """

def link_centroids(
    X: Matrix, linkage: int, nearest: tuple[NDArray[np.int64], Vector]
) -> tuple[NDArray[np.int64], NDArray[np.int64], Vector, NDArray[np.int64]]:
    """
    Merge by ward (4), centroid (5) or median (6) linkage: ids of both clusters, heights, rows they hold together.

    ``nearest`` is the nearest other row of each row, and its distance.
    """

def link_matrix(
    distances: Matrix, linkage: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], Vector, NDArray[np.int64]]:
    """
    Merge by single (0), complete, average or weighted linkage of given distances, which are written over.
    """

def link_rows(
    index: tuple[Matrix, NDArray[np.int64], Matrix, NDArray[np.int64], int],
    X: Matrix,
    metric: tuple[int, float, Vector | None],
    linkage: int,
    nearest: tuple[NDArray[np.int64], Vector],
) -> tuple[NDArray[np.int64], NDArray[np.int64], Vector, NDArray[np.int64]]:
    """
    Merge by complete (1), average (2) or weighted (3) linkage of rows with a metric; the index has no boxes.
    """

def log_densities(
    index: tuple[Matrix, NDArray[np.int64], Matrix, NDArray[np.int64], int],
    queries: Matrix,
    weights: Vector | None,
    kernel: tuple[int, float],
    metric: tuple[int, float, Vector | None],
) -> Vector:
    """
    Logarithms of sums of windows of a bandwidth around the rows, each with a positive weight or all with one.
    """

def longest_square(X: Matrix, shift: Vector, scale: Vector) -> float:
    """
    Largest sum over the columns of ((x − shift) · scale)² of a row, in one read of X; zero without rows.
    """

def look(X: Matrix, s: Vector | None) -> tuple[Vector, int]:
    """
    Entries that are not NaN, their weight, mean, scatter, least and largest, (6, p), and the longest chain of roundings.

    A block of rows is read twice while it is in cache, so that its scatter is about its own mean; blocks merge in order.
    """

def loss_curve(loss: str, t: Vector, y: Vector, classes: int) -> tuple[Vector, Vector, Vector]:
    """
    Return value, slope and curvature of a loss at the scores of rows; the curvature of a softmax is the diagonal.
    """

def loss_excess(loss: str, t: Vector, y: Vector, u: Vector) -> Vector:
    """
    Loss plus conjugate at u minus t u for each row, (n,), in a form that does not cancel.
    """

def loss_mean(loss: str, t: Vector, y: Vector, c: Vector) -> float:
    """
    Σ c ℓ for a loss of one score a row; t of length one is the score of every row.
    """

def loss_slope(loss: str, t: Vector, y: Vector) -> Vector:
    """ℓ′ of each row, of the shape of t."""

def loss_value(loss: str, t: Vector, y: Vector) -> Vector:
    """
    Loss of each row, (n,), for contiguous scores t, (n,) or for ``"softmax"`` (n, k).

    Losses are ``"logistic"`` (y of −1 and +1), ``"poisson"`` (half the deviance), ``"squared"`` and ``"softmax"`` (y the
    numbers of the classes, as floats).
    """

def loss_value_and_slope(loss: str, t: Vector, y: Vector) -> tuple[Vector, Vector]:
    """Both of the above."""

def matmul(X: Matrix, W: Matrix, b: Vector | None, shift: Vector | None = None, wide: bool = False) -> Matrix:
    """
    (X − shift) W + b, (n, m), summed in float64 and rounded to the type of X, or with ``wide`` not at all.
    """

def measure_rows(
    index: tuple[Matrix, NDArray[np.int64], Matrix, NDArray[np.int64], int],
    queries: Matrix,
    metric: tuple[int, float, Vector | None],
) -> Matrix:
    """
    Distances of queries to all rows of an index without boxes, in the order of the rows.
    """

def membership_similarities(distances: Matrix64, wanted: float, connected: float) -> tuple[Matrix64, Vector, Vector]:
    """
    Memberships of neighbours that add up to ``wanted``, the distance they begin at, and their spread.
    """

def mix_sides(
    loss: str,
    t: Vector,
    y: Vector,
    c: Vector,
    slope: Vector,
    given: NDArray[np.float32],
    times: float,
    factors: tuple[float, ...],
) -> tuple[Vector, Vector]:
    """
    u, a mixture of slopes and of times given, moved into the domain, and the sums that `scale_sides` has.

    Factors multiply positive slopes, negative slopes, positive and negative given variables.
    """

def mixed_pass(
    loss: str,
    X: Matrix,
    y: Vector,
    c: Vector,
    given: NDArray[np.float32],
    times: float,
    w: Vector,
    b: float,
    shift: Vector,
    rows: Vector,
) -> tuple[Vector, Matrix]:
    """
    One read of X for the scores t = Z w + b with Z = X − shift, and for dual variables, times given: sums and products.

    With v the positive slopes, the negative ones, the positive given variables and the negative ones: sums (20,) are those of
    `glm_pass`, Σ c v of the given two, Σ c y v of all four, Σ c v² of all four, and Σ c of a slope times a given variable with
    the signs ++, +−, −+, −−; products (4, p) are Zᵀ of c v. Scores and slopes are written to the two rows of ``rows``.
    """

def mixture_pass(
    X: Matrix,
    shift: Vector,
    s: Vector | None,
    components: tuple[Vector, Vector, Vector],
    is_diagonal: bool,
    is_shared: bool,
    responsibilities: str,
    density: Vector | None,
    shares: Vector | None,
    adds: bool,
) -> tuple[float, Vector, Vector, Vector] | None:
    """
    Find log-densities and responsibilities of rows under a mixture of Gaussians, and sum moments by them.

    ``components`` are means less the shift, whitening factors (inverse standard deviations, or lower triangular matrices, one for
    each component or one for all) and levels. Where they are arrays, ``density`` and ``shares`` are written; responsibilities that
    are "given" are read from ``shares``. Returns likelihood, weights, sums of differences from the means, and of their products.
    """

def moment_rounding(mean: Vector, spread: Vector, about: Vector, total: float, terms: int) -> tuple[Vector, Vector]:
    """
    Bounds on the rounding of means and of spreads, (q,) each, summed about a row with at most so many additions.
    """

def moments(
    X: Matrix, Y: Matrix, s: Vector | None, shift: Vector, rows: Vector | None = None
) -> tuple[float, Vector, Vector]:
    """
    Weight Σ s, sums Σ s z (q,) and scatter Σ s z zᵀ (q, q, both triangles) of the rows z = [x | y] − shift.

    X is (n, p), Y is (n, m), shift is (q,) with q = p + m; ``rows`` are the int64 numbers of the rows that are summed, None for
    all; s has a nonnegative weight for each of them, or is None for ones. One pass.
    """

def monomials(X: Matrix, out: Matrix, runs: NDArray[np.int64], first: int) -> None:
    """
    Write products of columns into ``out``, row-major and of the type of X.

    Ones stand before ``first``, then X, then for each run (target, source, length, factor) the columns from source on times
    column ``factor`` of X, from target on.
    """

def move(
    X: Matrix, out: Matrix, first: Vector, second: Vector, divides: bool, clip: tuple[float, float] | None
) -> None:
    """
    Write (X − first) / second, or X · second + first, cut off at ``clip``, into ``out``, which may be X itself.
    """

def nearest_rows(
    index: tuple[Matrix, NDArray[np.int64], Matrix, NDArray[np.int64], int],
    queries: Matrix,
    k: int,
    metric: tuple[int, float, Vector | None],
    others: bool,
) -> tuple[Matrix, NDArray[np.int64], int]:
    """
    Distances and numbers of the k nearest rows, nearest first, equal ones by number; and the groups of eight looked at.

    With ``others`` query i is row i, and is left out.
    """

def number_objects(addresses: NDArray[np.uint64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """
    Give equal Python objects, named by their addresses, one number, as ``number_words`` does words.

    The caller holds the objects. The GIL is kept.
    """

def number_words(words: NDArray[np.uint8]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """
    Give equal rows of bytes one number, in the order of their first appearance; return numbers, and where each began.
    """

def online_margins(X: Matrix, problems: int, y: Vector, w: Vector, b: Vector) -> tuple[Vector, float]:
    """
    Return for each problem the least ``y (x w + b)``, and the largest squared length of a row.
    """

def online_passes(
    X: Matrix,
    problems: int,
    y: Vector,
    weight: Vector | None,
    favour: Vector | None,
    rule: tuple[int, float, int, float, float, float, float, float, float, bool, bool, float, int],
    arrays: tuple[
        Vector,
        Vector,
        Vector,
        Vector | None,
        Vector,
        Vector,
        Vector | None,
        NDArray[np.uint32],
        NDArray[np.int64] | None,
        NDArray[np.float32] | None,
    ],
    numbers: Vector,
    visits: tuple[bool, bool],
    seed: int,
    stop: tuple[int, bool, float, int, bool, bool, Vector, NDArray[np.int64]],
    sums_losses: bool,
) -> tuple[list[float], list[int], int]:
    """
    Learn one row at a time; see ``native/include/qed/online/online.hpp`` for rules and state.

    ``X`` has contiguous rows. ``rule`` holds loss, width, steps, eta, power, alpha, offset, ridge, lasso, intercept, competes,
    margin and batch; ``arrays`` holds w, b, scale, lag, b_sum, mass, paid, order and log, flat, and slopes, changed in place, as is
    ``numbers`` (owed, steps, averaged, average_from, logged, passes, recorded); ``stop`` holds most, by_loss, least,
    patience, when_clean, together, best and idle, the last two changed in place. Returns losses and mistakes of each pass and
    the next seed. One thread for one problem.
    """

def online_proofs(
    X: Matrix,
    problems: int,
    y: Vector,
    weight: Vector | None,
    favour: Vector | None,
    model: tuple[int, float, float, float, bool, float],
    shift: Vector | None,
    spans: Vector,
    w: Vector,
    b: Vector,
) -> tuple[Matrix, list[tuple[float, float, float, float, float, bool]]]:
    """
    Return dual points, (problems, n), and how far planes are from the best ones; see ``native/include/qed/online/proof.hpp``.

    ``X`` is float64 with contiguous rows; ``model`` holds loss, width, ridge, lasso, intercept and effort. Each plane has
    objective, gap, rounding, null objective, radius, and whether the proof is as good as any.
    """

def optimal_tree(
    criterion: str,
    count: int,
    orders: int,
    width: int,
    ranks: NDArray[np.uint32],
    sums: Vector,
    floors: Vector,
    reach: float,
    limits: tuple[int, float, float],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], float, float, float]:
    """
    Search the tree of a depth that leaves least.

    Items have a rank in each order (``ranks``: orders × count, flat) and sums (count × ``width``, flat): weights of classes; or for
    ``"squared_error"`` weight, weighted numbers and the weighted sum of their squares. ``floors``: what an item leaves by itself;
    ``reach``: most that a unit of weight adds to what a leaf leaves. Limits: depth, values visited, seconds.

    Returns for each node, in the order of a walk that goes left first: left and right child (-1), order (-1) and rank, up to which
    items go left; then what the tree leaves, what all trees leave at least, and the values visited.
    """

def pack_forest(
    columns: int,
    width: int,
    sizes: NDArray[np.int64],
    feature: NDArray[np.int32],
    threshold: Vector,
    missing_left: NDArray[np.uint8],
    by_set: NDArray[np.int64],
    sets: NDArray[np.uint32],
) -> PackedForest:
    """
    Lay nodes out; ValueError if they are not those of trees over these columns.
    """

def pack_tree(
    columns: int,
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    feature: NDArray[np.int64],
    threshold: Vector,
    missing_left: NDArray[np.uint8],
) -> PackedTree:
    """
    Lay nodes out; ValueError if the children are not those of one tree, or a column is none of X.
    """

def pair_distances(columns: Matrix64) -> Vector:
    """
    Distances of all pairs i < j of points that are given as columns, (k, n).
    """

def pass_messages(
    similarity: Matrix,
    preference: Vector,
    responsibility: Matrix,
    availability: Matrix,
    vectors: tuple[Vector, Vector, Vector],
    damping: float,
    is_first: bool,
) -> NDArray[np.bool_]:
    """
    Pass one round of messages of affinity propagation; return which rows elect themselves.

    Diagonals stand in ``preference`` and the first two ``vectors``; that of ``similarity`` is minus infinity. The third vector is
    the support of each row. Availabilities are written at the beginning of the next round.
    """

def perplexity_similarities(distances: Matrix64, perplexity: float) -> tuple[Matrix64, Vector]:
    """
    Shares of neighbours whose entropy is log(perplexity), (n, k), and the precision of each row.
    """

def places_beyond(reference: Matrix64, other: Matrix64, own: NDArray[np.int64], k: int) -> int:
    """
    Sum over rows and their k nearest columns in `other` of how far beyond place k these stand in `reference`.
    """

def pool_adjacent_violators(x: Vector, y: Vector, s: Vector | None) -> Vector:
    """
    Best rising values by weighted least squares, of rows sorted by x; equal x share one value. Weights are positive.
    """

def precision_descent(S: Matrix, T: Matrix, W: Matrix, alpha: float, sweeps: int) -> Matrix:
    """
    Newton direction from a precision matrix T, of inverse W, for a covariance S with an l1 penalty off the diagonal.
    """

def projected_squares(X: Matrix, shift: Vector, V: Matrix, D: Matrix, B: Matrix) -> tuple[Vector, Vector]:
    """
    Z² D (n, k) and Z B (n, j) for Z = (X − shift) V, (n, r), which is never stored; Z² squares each entry.
    """

def pursue_rows(G: Vector, P: Vector, squares: Vector, most: int, tolerance: float) -> Vector:
    """
    Codes (n, k) of rows by orthogonal matching pursuit from products G (k, k) and P (n, k).

    Ends with ``most`` entries, or when the squared rest, which is ``squares`` (n,) without entries, is at most ``tolerance``.
    """

def raise_prices(similarity: Matrix, best: Vector, fee: Vector, rounds: int) -> Vector:
    """
    Prices of rows that rise together until fees hold them back: a dual solution of the choice of exemplars.
    """

def rank_table(X: Table, s: Vector | None, most: int, keeps: str) -> RankedTable:
    """
    Bin columns into runs of values of about equal weight, at most ``most`` (up to 255) and one for missing values.

    ``together`` columns, 1 or 8, lie side by side. ``keeps`` is ``"bins"``, ``"ranks"`` (bins and ranks) or ``"values"`` alone.
    """

def ranked(
    scores: Matrix, positive: NDArray[np.uint8], s: Vector | None
) -> tuple[int, NDArray[np.floating], Vector, Vector] | None:
    """
    Count, then distinct scores from high to low (in their own type) and the weights of positive and other rows there.

    The three arrays are as long as there are rows; only the first ``count`` entries are written. None: a score is NaN or
    infinite. ``positive`` is contiguous; equal scores are added up in the order of the rows.
    """

def residual(
    X: Matrix, Y: Matrix, W: Matrix, b: Vector, s: Vector | None, shift: Vector | None = None
) -> tuple[Vector, Vector, Vector]:
    """
    Gradient Zᵀ S r (p, m), sums Σ s r (m,) and squares Σ s r² (m,) of r = Y − Z W − b, for Z = X − shift. One pass.
    """

def rmatmul(X: Matrix, U: Matrix, shift: Vector | None = None) -> Vector:
    """(X − shift)ᵀ U, (p, m)."""

def room(rows: int, columns: int) -> Vector:
    """
    Return a matrix that is not filled; its pages become memory when they are first written to.
    """

def row_squares(X: Rows, shift: Vector | None) -> Vector:
    """
    Return the squared lengths of rows, less a shift; compressed rows are not shifted.
    """

def rows_within(
    index: tuple[Matrix, NDArray[np.int64], Matrix, NDArray[np.int64], int],
    queries: Matrix,
    radius: float,
    metric: tuple[int, float, Vector | None],
    others: bool,
) -> tuple[NDArray[np.int64], Vector, NDArray[np.int64]]:
    """
    Where the list of each query begins, then distances and numbers of all rows within the radius, nearest first.
    """

def run_batches(
    X: Rows,
    shift: Vector | None,
    squares: Vector,
    s: Vector | None,
    batches: NDArray[np.int64],
    rule: tuple[float, float, float, float, float],
    centres: Matrix,
    counts: Vector,
    seen: Vector,
) -> tuple[int, int]:
    """
    Move centres by batches of rows until they rest (1), one has seen too few rows (2), or batches are used up (0).

    ``rule`` is the share of the largest count that is too little, rows after which to look, the rate of averages, the averaged
    squared move that is small enough, and steps without a lower average to wait. ``centres``, ``counts`` and ``seen`` are
    written; the last holds steps, rows since counts were looked at, distances computed, the mean squared distance of the last
    batch, its average and that of the squared move, the least average, and steps since. Returns how it ended, after how many
    batches.
    """

def run_lloyd(
    X: Rows,
    shift: Vector | None,
    squares: Vector,
    s: Vector | None,
    starts: NDArray[np.int64],
    goal: tuple[float, float, float, float, int],
    labels: NDArray[np.int32],
    upper: Vector,
    lower: Vector,
    state: tuple[Vector, Vector, Vector, Vector, Vector],
    is_first: bool,
    is_pending: bool,
) -> tuple[int, Vector, int, int, int]:
    """
    Run Lloyd's algorithm until nothing moves (1), a cluster is empty (2), or passes are used up (0).

    ``goal`` is the total of squares, the weight, the longest row, squared moves that are small enough, and passes; ``state``,
    which is written, centres, sums, weights, moves of centres and of groups. Returns how it ended, the inertia after each move
    of the centres (the first so many numbers), moves, passes, and distances that were computed.
    """

def scale_sides(
    loss: str, t: Vector, y: Vector, c: Vector, slope: Vector, up: float, down: float
) -> tuple[Vector, Vector]:
    """
    u, the slope times up where it is positive and times down elsewhere, and sums of one read of the rows.

    Sums (5,) are Σ c max(u, 0), Σ c max(−u, 0), Σ c u², Σ c excess(t, u), Σ c (slope − u)².
    """

def scaled_spread(r: Vector, c: Vector, knee: float, guess: float) -> tuple[float, float]:
    """
    Return the largest σ with σ² = Σ c min(r², knee² σ²), and σ/2 + Σ c σ h(r/σ) there, h the squared loss with a knee.

    guess is where to start looking; zero means nowhere in particular. knee may be infinite. One thread.
    """

def set_num_threads(n: int) -> None:
    """Let kernels use ``n >= 1`` threads. Results do not depend on it."""

def shapley_values(
    nodes: tuple[NDArray[Any], ...], sizes: tuple[int, int, int], X: Matrix, background: Matrix | None
) -> Matrix:
    """
    Return the Shapley values of the rows of X, (rows, players × outputs): path-dependent, or against a background.

    Nodes: sizes of the trees; by node the column (-1 for leaves); by inner node thresholds and whether missing values go left;
    numbers of the inner nodes that ask for sets, and their words; by leaf weights and values; by column the player. Sizes: groups,
    numbers a leaf, players; tree number t adds to group ``t % groups``.
    """

def shift_means(
    index: tuple[Matrix, NDArray[np.int64], Matrix, NDArray[np.int64], int], points: Matrix, radius: float
) -> tuple[Matrix, NDArray[np.int64]]:
    """
    Means of the rows within a radius of each point, the point itself where there is none, and how many they are.
    """

def shortest_paths(edges: Edges, sources: NDArray[np.int64]) -> Matrix64:
    """
    Lengths of shortest paths from each source to all nodes, (sources, nodes); infinity where there is none.
    """

def side_sums(c: Vector, u: Matrix) -> Vector:
    """
    Sum c u over the rows of u, (n,) or (n, k), as (3, k): positive products, negative ones without sign, all.

    The last is off by a rounding of itself and (n 2⁻⁵³)² of the others: products are exact, sums compensated.
    """

def softmax_curvature(X: Matrix, p: Matrix, c: Vector, shift: Vector, v: Matrix) -> Matrix:
    """
    Second derivatives of that loss times v, (p + 1, k) with the intercepts last, at probabilities p (n, k).
    """

def softmax_hessian(X: Matrix, p: Matrix, c: Vector) -> Matrix:
    """
    Second derivatives of that loss by coefficients of the columns of X, (k q, k q), class after class.
    """

def softmax_pass(
    X: Matrix, y: Vector, c: Vector, w: Matrix, b: Vector, shift: Vector, scores: Matrix
) -> tuple[Vector, Matrix]:
    """
    One read of X for the scores T = Z w + b of k classes, with Z = X − shift: sums and gradient.

    Sums (3,) are Σ c ℓ and the weighted sums of squares of scores and slopes; the gradient (p + 1, k) is Zᵀ of c times the
    slopes, their sums last. Scores are written to ``scores``, (n, k) in C order.
    """

def solve_lower(L: Matrix, B: Matrix) -> Vector:
    """L⁻¹ B, (n, m). What L holds above its diagonal is not read."""

def solve_lower_t(L: Matrix, B: Matrix) -> Vector:
    """L⁻ᵀ B, (n, m)."""

def sort_table(X: Table) -> SortedTable:
    """
    Sort the columns of a table once, for many trees that are grown on it; it keeps X alive.
    """

def span_rows(
    index: tuple[Matrix, NDArray[np.int64], Matrix, NDArray[np.int64], int],
    X: Matrix,
    metric: tuple[int, float, Vector | None],
    source: Vector | None,
    target: Vector | None,
    limit: float,
) -> tuple[NDArray[np.int64], NDArray[np.int64], Vector]:
    """
    Rows in the order of Prim's algorithm, the row from which each is reached (-1 for none), and how far it is.

    The distance of row i, reached, to row j is the largest of their distance, ``source[i]`` and ``target[j]``.
    """

def spanning_edges(
    index: tuple[Matrix, NDArray[np.int64], Matrix, NDArray[np.int64], int],
    X: Matrix,
    metric: tuple[int, float, Vector | None],
    core: Vector | None,
) -> tuple[NDArray[np.int64], NDArray[np.int64], Vector]:
    """
    Find the ends and lengths of the edges of a minimum spanning tree, by an index with boxes.

    The distance of two rows is the largest of their distance and of ``core`` of both.
    """

def sparse_monomials(
    starts: NDArray[np.int64],
    columns: NDArray[np.int64],
    data: Matrix,
    width: int,
    offsets: NDArray[np.int64],
    degrees: tuple[int, int],
    distinct: bool,
    ones: bool,
    out_starts: NDArray[np.int64],
    out_columns: NDArray[np.int32],
    out_data: Matrix,
) -> None:
    """
    Write the products of the entries of compressed rows, of all degrees in a range, columns rising within a row.

    Column j times the product at place r of the degree below stands at ``offsets[(degree - 2) * width + j] + r``.
    """

def squared_product(D: Matrix64, v: Matrix64) -> Matrix64:
    """Squares of D (m, n) times v (n, c); the squares are never stored."""

def started_threads() -> int:
    """
    Threads that this process has started so far; none before a kernel first wanted two.
    """

def student_sum(y: Matrix64, rows: NDArray[np.int64]) -> float:
    """Sum of the similarities of some points with all others."""

def swap_medoids(
    distances: Matrix, weight: Vector | None, fee: Vector | None, start: NDArray[np.int64], most: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], Vector, int, bool]:
    """
    Medoids after exchanges, the medoid of each row, the cost before and after each, their number, and whether none is left.

    With a fee for each row medoids also come and go alone.
    """

def sweep_columns(
    blocks: list[Vector], groups: SweptGroups, visits: NDArray[np.int64], points: Matrix, states: Matrix
) -> None:
    """
    Do the same for ½ |Aw − y|² with the columns of each group in Fortran order; states are residuals Aw − y.
    """

def sweep_products(Q: Vector, groups: SweptGroups, visits: NDArray[np.int64], points: Matrix, states: Matrix) -> None:
    """
    Make sweeps of proximal steps along the groups of ½ wᵀQw − qᵀw plus Σ strength |w_g| + ridge / 2 |w|².

    ``points`` and ``states``, the gradients Qw − q, have a row for each sweep after the first, which is given; the others are
    written to.
    """

def sweep_rows(G: Vector, P: Vector, W: Vector, lasso: float, ridge: float, sweeps: int) -> tuple[float, float]:
    """
    Lower w'(G + ridge)w / 2 − p'w + lasso sum(w) for each row p of P (n, k), over w >= 0, by so many sweeps.

    Rows of W (n, k), where each begins, are written over. Returns the objective, and what entries of W could gain at the start,
    each alone, summed over rows. All three tables are in C order.
    """

def take_columns(X: Matrix, index: Indices, scale: Vector | None, shift: Vector | None) -> Vector:
    """
    Columns of diag(scale) (X − shift), (n, k), in Fortran order. ``index`` is int64.
    """

def targets_pass(
    X: Matrix, y: Matrix, c: Vector, w: Matrix, b: Vector, shift: Vector, scores: Matrix
) -> tuple[Vector, Matrix]:
    """
    Do the same for half the squared distances of the scores from targets y, (n, k) in C order.
    """

def topics_of_rows(
    starts: Vector, words: Vector, counts: Vector, topics: Matrix, gamma: Matrix, prior: float, tol: float, sweeps: int
) -> tuple[Vector, Vector, Vector]:
    """
    Variational parameters gamma (n, k) of documents, in place, for topics (words, k): at most so many updates of each.

    Documents are compressed rows, starts (n + 1,), words and counts, with indices of 64 bits. Returns theta = exp(digamma(gamma) -
    digamma(sum gamma)) (n, k) and the ratios of counts to theta' topics[w] at the end, and the sums of counts times the logarithms
    of theta' topics[w] at the start (n,).
    """

def triangle(X: Matrix, Y: Matrix, s: Vector | None, shift: Vector | None, scale: Vector | None, ones: bool) -> Vector:
    """
    Upper factor R (q, q) with RᵀR = ZᵀSZ for Z = ([X | Y] − shift) scale, by reflections; rows of Z are never squared.

    shift and scale have an entry for each column of [X | Y]. With ``ones`` a column of ones stands first and R has one
    row and one column more. Signs on the diagonal are whatever the reflections leave. What remains of a column must
    have a square that float64 holds: below 1e-290 it counts as zero.
    """

def tsne_gradient(p: Edges, y: Matrix64, angle: float, by_grid: bool) -> tuple[float, Matrix64]:
    """Divergence at points, and its gradient."""

def tsne_steps(
    p: Edges,
    y: Matrix64,
    velocity: Matrix64,
    gains: Matrix64,
    exaggeration: float,
    momentum: float,
    learning_rate: float,
    angle: float,
    by_grid: bool,
    steps: int,
) -> tuple[float, float]:
    """
    Move points by so many steps, in place; returns the divergence and the norm of the gradient before the last.

    With ``angle`` 0 all pairs push each other in double precision; else boxes of points do, in single precision (up to three
    columns), or points through a grid where ``by_grid`` and where that costs less (up to two columns).
    """

def typical_row(X: Matrix, Y: Matrix, s: Vector | None, step: int) -> Vector:
    """
    Find a row near the mean of [X | Y], (q,), from every step-th row; constant columns are hit exactly.
    """

def umap_cross_entropy(
    edges: Edges, y: Matrix64, curve: tuple[float, float], repulsion: float, rows: NDArray[np.int64]
) -> float:
    """Return what the layout lowers, summed over some rows."""

def umap_epochs(
    edges: Edges,
    y: Matrix64,
    fixed: Matrix64 | None,
    curve: tuple[float, float],
    sampling: tuple[float, int, float, int, int],
    first: int,
    last: int,
) -> None:
    """
    Move points through epochs ``first`` to ``last - 1``, in place; among ``fixed`` points where those are given.

    ``curve`` is a and b; ``sampling`` is the strength of repulsion, points that push for each that pulls, rate, epochs in all,
    seed.
    """
