"""The linear support vector classifier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from qed.certificates import DualityGapCertificate  # noqa: TC001  (read from the annotation)
from qed.convex import L1, L2, CrammerSinger, Hinge, SquaredHinge
from qed.convex.solvers import (
    ClassAscent,
    ClassMultipliers,
    CoordinateDescent,
    DualAscent,
    InteriorPoint,
    Multipliers,
    NarrowNewton,
    Newton,
    NewtonCG,
    NewtonTargets,
    ProximalGradient,
    ProximalNewton,
)
from qed.core import (
    KW_ONLY,
    InvalidParameter,
    NonNegative,
    NonNegativeInt,
    Positive,
    PositiveInt,
    PositiveOrInfinite,
    Seed,
    fitted,
    param,
)
from qed.core._class_weights import class_factors
from qed.core._shared_params import FIT_INTERCEPT, STRICT, VERBOSE
from qed.core._validation import is_source
from qed.designs import Chunked
from qed.linear_model._classes import LinearClassifier, require_classes
from qed.linear_model._coded import CodedLoss, fit_coded
from qed.linear_model._learn_convex import FitOptions, ObjectiveSpec, TrainingData
from qed.linear_model._penalised_intercept import with_constant
from qed.svm._hard_margin import fit_hard_margin
from qed.svm._planes import BinaryProblem, solve_binary_problems, store_planes
from qed.svm._small_tables import fit_small, fit_small_classes

if TYPE_CHECKING:
    from qed.convex._loss import Vector
    from qed.core import FitData
    from qed.svm._kernels import CompiledPlanes


TOGETHER = NewtonTargets()
ASCENT = (TOGETHER, DualAscent())
SMALL, SMOOTH = NarrowNewton(), (Newton(), NewtonCG(), DualAscent())
STRAIGHT = Multipliers()
KINKS = (STRAIGHT, DualAscent(), InteriorPoint())
SPARSE, WEAK = (CoordinateDescent(), ProximalGradient()), (ProximalNewton(),)
SIDES = np.array([-1.0, 1.0])


class LinearSVC(LinearClassifier, chunks=True):
    r"""Linear support vector classification (SVM), with hinge or squared hinge loss.

    Objective
    ---------
    .. math:: \Omega(w) + C \sum_i s_i \, \ell(y_i (x_i^\top w + b))

    with :math:`y_i = \pm 1`, :math:`\ell(m) = \max(1 - m, 0)` (``"hinge"``) or its square (``"squared_hinge"``), and
    :math:`\Omega(w) = \tfrac12 \|w\|^2` or :math:`\|w\|_1`. The intercept is ``intercept_scaling`` times the coefficient of a
    constant column, which :math:`\Omega` penalises like the others. With more than two classes the sum of such objectives,
    each class against all others; or, with ``multi_class="crammer_singer"``, one objective for all,
    :math:`\tfrac12 \sum_k \|w_k\|^2 + C \sum_i s_i \max_k (x_i^\top w_k + [k \ne y_i] - x_i^\top w_{y_i})`.

    An infinite C is the hard margin: :math:`\tfrac12 \|w\|^2` is least while every row has a margin of at least one, and the
    intercept is free. Classes that no hyperplane separates raise an error, with the weights that prove it.

    Certificate
    -----------
    DualityGapCertificate: no hyperplanes lower the objective by more than ``gap``. With the hinge, and where ascent in the dual has
    found the hyperplanes, it keeps dual variables for each row. With a hard margin the gap is that between the margin and the
    distance of the hulls of the classes, which bounds every margin, and it is relative to the objective itself, because a
    hyperplane without coefficients is not allowed.

    Cost
    ----
    Squared hinge: a few passes of O(n p^2), shared by conjugate gradients of O(nnz) where p is large, or passes of O(nnz) over
    rows near the margin where n is small. Hinge: such passes too, or some tens of steps of O(n p + m p^2) with m rows on the
    margin. Absolute values: O(nnz) a pass, or steps of O(n p + n^3) where the table is wide and the penalty weak.
    All of it once for each class. O(n + p^2) memory, and a copy of X with the constant column.

    See Also
    --------
    LogisticRegression : Scores that are log-odds.

    Notes
    -----
    A weight counts as repetition. The penalty depends on the units of the columns: standardise first if they differ. With more
    than two classes, ``class_weight`` multiplies the rows of a class where it stands against the others, as liblinear has it.

    Examples
    --------
    >>> from qed.svm import LinearSVC
    >>> model = LinearSVC().fit([[-2.0], [-1.0], [1.0], [2.0]], ["no", "no", "yes", "yes"])
    >>> model.predict([[-3.0], [3.0]]).tolist()
    ['no', 'yes']
    >>> LinearSVC(C=float("inf")).fit([[-2.0], [-1.0], [3.0]], [0, 0, 1]).coef_
    array([[0.5]])
    """

    penalty: Literal["l1", "l2"] = param(
        "l2", "What is penalised: squares, or absolute values, which leave few columns."
    )
    loss: Literal["hinge", "squared_hinge"] = param(
        "squared_hinge", "What a row costs that falls short of its margin; 'crammer_singer' has a hinge of its own."
    )
    _: KW_ONLY
    dual: bool | Literal["auto"] = param(
        "auto", "Whether liblinear would solve the dual; the optimum is the same.", kind="hint"
    )
    tol: NonNegative = param(1e-6, "Largest accepted gap, relative to the objective without coefficients.")
    C: PositiveOrInfinite = param(1.0, "Weight of the losses beside the penalty; infinity means a hard margin.")
    multi_class: Literal["ovr", "crammer_singer"] = param(
        "ovr", "Each class against all others, or all classes in one objective."
    )
    fit_intercept: bool = FIT_INTERCEPT
    intercept_scaling: Positive = param(1.0, "Value of the constant column, whose coefficient is penalised.")
    class_weight: dict[Any, Any] | Literal["balanced"] | None = param(
        None, "What weights are multiplied by: by label, or 'balanced' for equal sums of weights; None for one."
    )
    verbose: NonNegativeInt = VERBOSE
    random_state: Seed = param(None, "Seed of liblinear's order of rows. Nothing here is random.", kind="hint")
    max_iter: PositiveInt = param(1000, "Most steps of the solver, for each binary problem.")
    strict: bool = STRICT

    n_iter_: int = fitted("Most steps that a binary problem took.", low=0, answers=False)
    solver_used_: str = fitted("How the coefficients were found.", answers=False)
    certificate_: DualityGapCertificate = fitted("What is proved about the hyperplanes.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the hyperplanes."""
        data = self._fit_data(X, y, sample_weight, finite=False)
        rows = TrainingData.of(data, centred=self.fit_intercept)
        require_classes("LinearSVC", data.classes, rows.y)
        options = FitOptions(False, self.tol, self.max_iter, self.strict, self.verbose)
        self.classes_ = data.classes
        if not np.isfinite(self.C):
            if is_source(X):
                raise InvalidParameter(
                    "LinearSVC finds a hard margin, C=inf, of rows in memory, and got a source. Pass a finite C."
                )
            fit_hard_margin(self, rows, options)
            return self
        weights = self._weights_of_classes(rows)
        constant = float(self.intercept_scaling) if self.fit_intercept else None
        small = None if weights is not None else self._fit_small(rows, len(data.classes), options)
        if small is not None:
            self.coef_ = small.w if constant is None else np.ascontiguousarray(small.w[:, :-1])
            self.intercept_ = np.zeros(len(small.w)) if constant is None else constant * small.w[:, -1]
            return self
        wider = rows if constant is None else with_constant(rows, constant, by_columns=self.penalty == "l1")
        planes = self._planes(rows, len(data.classes), weights)
        found = solve_binary_problems(self, wider, planes, self._solvers(wider, len(data.classes)), options)
        w = np.concatenate([np.atleast_2d(one.solution.w.T) for one in found])
        self.coef_ = np.ascontiguousarray(w if constant is None else w[:, :-1])
        self.intercept_ = np.zeros(len(w)) if constant is None else constant * w[:, -1]
        store_planes(self, found, options, rows.seen)
        return self

    def _fit_small(self, rows: TrainingData, n_classes: int, options: FitOptions) -> CompiledPlanes | None:
        """Find all planes in one compiled call, or None to have them found one by one."""
        if self.multi_class == "ovr":
            return fit_small(self, rows, _sides(rows.y, n_classes), options)
        is_joint = n_classes > 2 and self.penalty == "l2"
        return fit_small_classes(self, rows, n_classes, options) if is_joint else None

    def _fit_coded(self, data: FitData, book: Any) -> list[Any] | None:
        """Fit a copy for each column of a book of codes, or None to have them fitted one by one."""
        plain = self.penalty == "l2" and self.loss == "squared_hinge" and self.multi_class == "ovr"
        if not plain or not np.isfinite(self.C) or self.class_weight is not None or self.verbose:
            return None
        constant = float(self.intercept_scaling) if self.fit_intercept else None
        return fit_coded(self, data, book, CodedLoss(SquaredHinge(SIDES), 2.0 * self.C, constant))

    def _weights_of_classes(self, rows: TrainingData) -> Vector | None:
        """Return what the weight of each row is multiplied by where it stands for its own class."""
        return class_factors("LinearSVC", self.class_weight, self.classes_, rows.y, rows.weight * rows.share)

    def _planes(self, rows: TrainingData, n_classes: int, factor: Vector | None) -> list[BinaryProblem]:
        """Declare one problem for each plane, or one for all."""
        codes = rows.y
        joint = self.multi_class == "crammer_singer"
        if joint and self.penalty == "l1":
            raise InvalidParameter(
                "LinearSVC.penalty must be 'l2' with multi_class='crammer_singer', whose objective has no other, got 'l1'."
            )
        if joint and n_classes > 2:
            return [BinaryProblem(factor, lambda rows: self._declared(rows, CrammerSinger(codes, n_classes)))]
        smooth = self.penalty == "l2" and self.loss == "squared_hinge" and not joint
        if smooth and factor is None and n_classes > 2 and self._is_small(rows, n_classes):
            signs = np.where(codes[:, np.newaxis] == np.arange(float(n_classes)), 1.0, -1.0)
            return [BinaryProblem(factor, lambda rows: self._declared(rows, SquaredHinge(signs)))]
        if n_classes == 2:
            sign = 2.0 * codes - 1.0
            return [
                BinaryProblem(factor, lambda rows: self._declared(rows, self._loss(sign, joint=joint), joint=joint))
            ]
        planes = []
        for label in range(n_classes):
            mine = codes == label
            sign = np.where(mine, 1.0, -1.0)
            weight = None if factor is None else np.where(mine, factor, 1.0)
            planes.append(BinaryProblem(weight, lambda rows, sign=sign: self._declared(rows, self._loss(sign))))  # type: ignore[misc]
        return planes

    def _solvers(self, rows: TrainingData, n_classes: int) -> Any:
        """Return the solvers that can take the declared problems; one alone where the table is small."""
        if self.multi_class == "crammer_singer" and n_classes > 2:
            return (ClassAscent(), ClassMultipliers())
        n, p = rows.X.shape
        is_table = isinstance(rows.X, np.ndarray)
        if self.loss == "hinge" or self.multi_class == "crammer_singer":
            is_small = is_table and self.penalty == "l2" and STRAIGHT.takes(n, p)
            return (STRAIGHT,) if is_small else KINKS
        if self.penalty == "l1":
            pull = 2.0 * self.C * rows.weight * float(rows.length.max())  # at most, of the losses on a coefficient
            return WEAK if is_table and WEAK[0].takes(n, p, pull) else SPARSE
        if n_classes == 2 and is_table and SMALL.takes(n, p):
            return (SMALL,)
        # few rows beside columns: most of them come to rest, and passes over the others are short
        is_sparse = not isinstance(rows.X, np.ndarray | Chunked)
        return ASCENT if is_sparse and n <= 2 * p else (TOGETHER, *SMOOTH)

    def _is_small(self, rows: TrainingData, n_classes: int) -> bool:
        """Say whether all planes are best found at once."""
        return not isinstance(rows.X, Chunked) and TOGETHER.takes(rows.X.shape[0], rows.X.shape[1] + 1, n_classes)

    def _loss(self, sign: Vector, *, joint: bool = False) -> Any:
        return Hinge(sign) if joint or self.loss == "hinge" else SquaredHinge(sign)

    def _declared(self, rows: TrainingData, loss: Any, *, joint: bool = False) -> ObjectiveSpec:
        # two classes of the joint objective are opposite planes, whose difference is penalised half as much
        squares = loss.traits.has_curvature
        unit = (2.0 if squares else 1.0) * self.C * rows.weight
        alpha = (0.5 if joint else 1.0) / unit
        return ObjectiveSpec(loss, L1(alpha) if self.penalty == "l1" else L2(alpha), unit)


def _sides(codes: Vector, n_classes: int) -> Vector:
    """Return sides of -1 and 1, a row for each plane: each class against all others, of two the second."""
    if n_classes == 2:
        return (2.0 * codes - 1.0)[np.newaxis]
    return np.where(codes == np.arange(float(n_classes))[:, np.newaxis], 1.0, -1.0)
