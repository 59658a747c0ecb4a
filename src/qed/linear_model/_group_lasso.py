"""The lasso of whole groups of columns, and its path."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from qed.convex import Problem, Squared, solve
from qed.convex.penalties import Group
from qed.convex.solvers import GroupDescent
from qed.core import (
    KW_ONLY,
    Array,
    InvalidParameter,
    NonNegative,
    NonNegativeInt,
    PositiveInt,
    fitted,
    param,
)
from qed.core._events import Progress
from qed.core._shared_params import FIT_INTERCEPT, STRICT, VERBOSE
from qed.core._threads import one_blas_thread
from qed.linear_model._convex_regressor import ConvexRegressor
from qed.linear_model._groups import group_numbers, group_weights
from qed.linear_model._learn_convex import FitOptions, ObjectiveSpec, TrainingData, learn_rows


def _are_all_used(model: Any, groups: Array) -> str:
    used = np.bincount(groups, minlength=len(model.weights_))
    return "" if used.all() else "should give every group a column"


class GroupLasso(ConvexRegressor, chunks=True):
    r"""Group lasso: least squares with a penalty that selects whole groups of columns.

    Objective
    ---------
    .. math:: \frac{1}{2} \sum_i s_i \, (y_i - x_i^\top w - b)^2 \Big/ \sum_i s_i + \alpha \sum_g c_g \|w_g\|_2

    with :math:`w_g` the coefficients of group g and :math:`c_g` its weight, by default the root of its size. The intercept is
    not penalised. Groups of one column give the lasso.

    Certificate
    -----------
    DualityGapCertificate: no (w, b) lowers the objective by more than ``gap``.

    Cost
    ----
    Two passes over X to look at it, and one for each working set of groups, three or four as a rule; O(n k^2) for the products
    of the k columns of the working set, O(k^3) for each of a few Newton steps. Memory beyond X: those columns, their products
    and O(n + p).

    See Also
    --------
    Lasso : Single columns.
    MultiTaskLasso : The coefficients of one column for several targets as a group.
    group_lasso_path : Many strengths.

    Notes
    -----
    All coefficients are zero at and above the strength :math:`\max_g \|X_g^\top (y - \bar y)\| / (n c_g)`. A weight counts as
    repetition. The penalty depends on the units of the columns: standardise first if they differ.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.linear_model import GroupLasso
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> model = GroupLasso(alpha=0.5, groups=[[0, 2], [1, 3]]).fit(X, X[:, 0] + 2 * X[:, 2])
    >>> model.coef_[[1, 3]].tolist(), bool(np.all(model.coef_[[0, 2]] != 0))
    ([0.0, 0.0], True)
    """

    alpha: NonNegative = param(1.0, "Strength of the penalty.")
    _: KW_ONLY
    groups: Any = param(
        None,
        "Which columns belong together: lists of columns, by number or name, that hold each column once; or one label for each"
        " column; or how many neighbours make a group. None for each column by itself.",
    )
    weights: Any = param(
        None,
        "What the length of each group is multiplied by, in the order of the lists, or of the sorted labels; None for the root of"
        " the number of its columns.",
    )
    fit_intercept: bool = FIT_INTERCEPT
    max_iter: PositiveInt | None = param(1000, "Most working sets; None for no limit.")
    tol: NonNegative = param(1e-4, "Largest accepted gap, relative to the objective of the intercept alone.")
    warm_start: bool = param(False, "Whether to start from the coefficients there are.")
    strict: bool = STRICT
    verbose: NonNegativeInt = VERBOSE

    groups_: Array = fitted(
        "The number of the group of each column, from 0 on, shape (p,).",
        dtype="int",
        shape="(p,)",
        low=0,
        below="weights_",
        check=_are_all_used,
    )
    weights_: Array = fitted("What the length of each group was multiplied by.", shape="(g,)", above=0)

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> None:
        start = (self.__dict__.get("coef_"), self.__dict__.get("intercept_"))
        data = self._fit_data(X, y, sample_weight, finite=False)
        rows = TrainingData.of(data, centred=self.fit_intercept)
        number = group_numbers("GroupLasso", self.groups, data.names, len(rows.mean))
        weights = group_weights("GroupLasso", self.weights, number)
        penalty = Group(float(self.alpha) * weights, number)
        self.groups_, self.weights_ = number, weights
        learn_rows(
            self,
            rows,
            declare=lambda rows: ObjectiveSpec(Squared(rows.y), penalty),
            solvers=(GroupDescent(),),
            options=FitOptions(self.fit_intercept, self.tol, self.max_iter or 2**31, self.strict, self.verbose),
            start=start if data.warm else None,
        )


class GroupPath(NamedTuple):
    """Coefficients for many strengths.

    Attributes
    ----------
    alphas : ndarray of shape (k,)
        Strengths, from strong to weak.
    coefs : ndarray of shape (p, k)
        Coefficients.
    dual_gaps : ndarray of shape (k,)
        What is proved for each: a bound on objective minus optimum.
    """

    alphas: Array
    coefs: Array
    dual_gaps: Array


def group_lasso_path(
    X: Any,
    y: Any,
    *,
    groups: Any = None,
    weights: Any = None,
    eps: float = 1e-3,
    alphas: Any = 100,
    fit_intercept: bool = False,
    tol: float = 1e-4,
    max_iter: int = 1000,
) -> GroupPath:
    r"""Return the coefficients of the group lasso for many strengths, each from the one before.

    Parameters
    ----------
    X : array-like or sparse of shape (n, p)
        Rows.
    y : array-like of shape (n,)
        Targets.
    groups, weights : object
        As of `GroupLasso`.
    eps : float
        The weakest strength over the strongest.
    alphas : int or array-like
        How many strengths, or the strengths. The strongest of a number of them is the least that makes all coefficients zero.
    fit_intercept : bool
        Whether each model has an intercept; columns and targets are centred for it, and it is not returned.
    tol : float
        Largest accepted gap, relative to the objective without coefficients.
    max_iter : int
        Most working sets for a strength.

    Returns
    -------
    GroupPath
        Strengths, coefficients and gaps, which unpack as a tuple like those of `lasso_path`.

    Examples
    --------
    >>> from qed.linear_model import group_lasso_path
    >>> alphas, coefs, gaps = group_lasso_path([[1.0], [2.0]], [1.0, 2.0], alphas=[2.5, 1.0], tol=1e-9)
    >>> coefs.round(6)
    array([[0. , 0.6]])
    """
    model = GroupLasso(tol=tol, max_iter=max_iter, fit_intercept=fit_intercept)
    data = model._fit_data(X, y, finite=False)  # noqa: SLF001
    number = group_numbers("group_lasso_path", groups, data.names, data.X.shape[1])
    scale = group_weights("group_lasso_path", weights, number)
    rows = TrainingData.of(data, centred=fit_intercept)
    first = rows.problem(ObjectiveSpec(Squared(rows.y), Group(scale, number)), intercept=fit_intercept)
    grid = _strengths(first, number, scale, alphas, eps)
    start, coefs, gaps = first.null_point, [], []
    with one_blas_thread(rows.share.size * rows.mean.size):
        for alpha in grid:
            penalty = Group(float(alpha) * scale, number)
            problem = Problem(
                first.design, first.loss, penalty, first.share, fit_intercept, first.centre, first.lengths
            )
            with Progress("group_lasso_path", int(max_iter)) as progress:
                found = solve(
                    problem, GroupDescent(), tol=float(tol), max_iter=int(max_iter), progress=progress, start=start
                )
            start = (found.w, found.b)
            coefs.append(found.w)
            gaps.append(found.gap.value)
    return GroupPath(grid, np.stack(coefs, axis=-1), np.array(gaps))


def _strengths(problem: Problem, number: Array, scale: Array, alphas: Any, eps: float) -> Array:
    """Return the strengths to try, from strong to weak."""
    if not isinstance(alphas, int | np.integer):
        given = np.asarray(alphas, dtype=np.float64)
        if given.ndim != 1 or not len(given) or not (np.isfinite(given).all() and (given >= 0).all()):
            raise InvalidParameter(
                f"group_lasso_path.alphas must be a number of penalty strengths, or finite ones >= 0, got {alphas!r:.200}."
            )
        return np.sort(given)[::-1]
    w, b = problem.null_point
    pull = problem.adjoint(problem.loss.slope(problem.scores(w, b)))
    most = float(np.max(np.sqrt(np.bincount(number, pull * pull)) / scale, initial=0.0))
    return np.asarray(np.geomspace(max(most, 1e-15), max(most, 1e-15) * eps, int(alphas)))
