"""Coefficients along a path of strengths, as functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from qed.convex import Problem, Squared, solve
from qed.convex.solvers import CoordinateDescent
from qed.core import InvalidData, InvalidParameter
from qed.core._events import Progress
from qed.core._threads import one_blas_thread
from qed.designs import design
from qed.linear_model._cross_validated_path import Choice, penalty_of, strengths
from qed.linear_model._elastic_net import ElasticNet
from qed.linear_model._multi_task import MultiTaskElasticNet


def enet_path(
    X: Any,
    y: Any,
    *,
    l1_ratio: float = 0.5,
    eps: float = 1e-3,
    alphas: Any = 100,
    precompute: Any = "auto",
    Xy: Any = None,
    copy_X: bool = True,
    coef_init: Any = None,
    verbose: bool | int = False,
    return_n_iter: bool = False,
    positive: bool = False,
    check_input: bool = True,
    max_iter: int = 1000,
    tol: float = 1e-4,
    selection: str = "cyclic",
    random_state: Any = None,
) -> tuple[Any, ...]:
    r"""Return the coefficients of the elastic net for many strengths, without an intercept.

    Every point minimises :math:`\frac{1}{2n} \|y - Xw\|^2 + \alpha \rho \|w\|_1 + \frac{\alpha (1 - \rho)}{2} \|w\|^2`; with
    several targets the lengths of the rows take the place of absolute values, as in `MultiTaskElasticNet`.

    Parameters
    ----------
    X : array-like or sparse of shape (n, p)
        Rows; centre them first if the model shall have an intercept.
    y : array-like of shape (n,) or (n, m)
        Targets.
    l1_ratio : float
        Share of the absolute values, in [0, 1].
    eps : float
        The weakest strength over the strongest.
    alphas : int or array-like
        How many strengths, or the strengths.
    precompute, Xy, copy_X, check_input, selection, random_state
        As in scikit-learn; they steer its algorithm, change nothing about the optimum, and are not used here.
    coef_init : array-like of shape (p,) or (m, p), optional
        Where to start.
    verbose : bool or int
        How much progress to show.
    return_n_iter : bool
        Whether to return the working sets of each strength as well.
    positive : bool
        Whether coefficients must be nonnegative; for one target.
    max_iter : int
        Most working sets for a strength.
    tol : float
        Largest accepted gap, relative to the objective without coefficients.

    Returns
    -------
    alphas : ndarray of shape (k,)
        Strengths, from strong to weak.
    coefs : ndarray of shape (p, k) or (m, p, k)
        Coefficients.
    dual_gaps : ndarray of shape (k,)
        What is proved for each: a bound on objective minus optimum.
    n_iters : list of int
        Only with ``return_n_iter``.

    Examples
    --------
    >>> from qed.linear_model import enet_path
    >>> alphas, coefs, gaps = enet_path([[1.0], [2.0]], [1.0, 2.0], l1_ratio=1.0, alphas=[1.0, 0.5], tol=1e-9)
    >>> coefs.round(6)
    array([[0.6, 0.8]])
    """
    del precompute, Xy, copy_X, check_input, selection, random_state  # hints, as the docstring says
    model = (MultiTaskElasticNet if np.ndim(y) == 2 else ElasticNet)(l1_ratio=l1_ratio, tol=tol, max_iter=max_iter)
    data = model._fit_data(X, y)  # noqa: SLF001
    targets = np.asarray(data.y, dtype=np.float64)
    if positive and targets.ndim == 2:
        raise InvalidParameter("enet_path: positive=True is for one target, and y has several columns.")
    choice = Choice(
        owner="enet_path",
        alphas=alphas,
        eps=float(eps),
        l1_ratios=np.array([float(l1_ratio)]),
        intercept=False,
        nonnegative=positive,
        together=targets.ndim == 2,
        cv=None,
        tol=float(tol),
        max_iter=int(max_iter),
        verbose=int(verbose),
    )
    grid = strengths(choice, data.X, targets, None, float(l1_ratio))
    n, p = data.X.shape
    plain = design(data.X)
    share = np.full(n, 1.0 / n)
    lengths = plain.column_norms(share)
    start = _start(coef_init, (p, *targets.shape[1:]))
    coefs, gaps, rounds = [], [], []
    with one_blas_thread(), Progress("enet_path", len(grid), verbose=int(verbose)) as progress:
        for alpha in grid:
            penalty = penalty_of(float(alpha), float(l1_ratio), nonnegative=positive, together=targets.ndim == 2)
            problem = Problem(plain, Squared(targets), penalty, share, free_intercept=False, lengths=lengths)
            with Progress("enet_path", int(max_iter)) as inner:
                found = solve(
                    problem, CoordinateDescent(), tol=float(tol), max_iter=int(max_iter), progress=inner, start=start
                )
            start = (found.w, found.b)
            coefs.append(found.w.T)
            gaps.append(found.gap.value)
            rounds.append(found.n_iter)
            progress.step(found.gap.value)
    result = (grid, np.stack(coefs, axis=-1), np.array(gaps))
    return (*result, rounds) if return_n_iter else result


def lasso_path(
    X: Any,
    y: Any,
    *,
    eps: float = 1e-3,
    alphas: Any = 100,
    precompute: Any = "auto",
    Xy: Any = None,
    copy_X: bool = True,
    coef_init: Any = None,
    verbose: bool | int = False,
    return_n_iter: bool = False,
    positive: bool = False,
    **params: Any,
) -> tuple[Any, ...]:
    r"""Return the coefficients of the lasso for many strengths, without an intercept.

    Every point minimises :math:`\frac{1}{2n} \|y - Xw\|^2 + \alpha \|w\|_1`; with several targets
    :math:`\alpha \sum_j \|W_j\|`.

    Parameters
    ----------
    X : array-like or sparse of shape (n, p)
        Rows; centre them first if the model shall have an intercept.
    y : array-like of shape (n,) or (n, m)
        Targets.
    eps : float
        The weakest strength over the strongest.
    alphas : int or array-like
        How many strengths, or the strengths.
    precompute, Xy, copy_X
        As in scikit-learn; they steer its algorithm, change nothing about the optimum, and are not used here.
    coef_init : array-like of shape (p,) or (m, p), optional
        Where to start.
    verbose : bool or int
        How much progress to show.
    return_n_iter : bool
        Whether to return the working sets of each strength as well.
    positive : bool
        Whether coefficients must be nonnegative; for one target.
    **params
        Of `enet_path`: ``max_iter``, ``tol`` and hints.

    Returns
    -------
    alphas : ndarray of shape (k,)
        Strengths, from strong to weak.
    coefs : ndarray of shape (p, k) or (m, p, k)
        Coefficients.
    dual_gaps : ndarray of shape (k,)
        What is proved for each: a bound on objective minus optimum.
    n_iters : list of int
        Only with ``return_n_iter``.

    Examples
    --------
    >>> from qed.linear_model import lasso_path
    >>> alphas, coefs, gaps = lasso_path([[1.0], [2.0]], [1.0, 2.0], alphas=[2.5, 1.0], tol=1e-9)
    >>> coefs.round(6)
    array([[0. , 0.6]])
    """
    return enet_path(
        X,
        y,
        l1_ratio=1.0,
        eps=eps,
        alphas=alphas,
        precompute=precompute,
        Xy=Xy,
        copy_X=copy_X,
        coef_init=coef_init,
        verbose=verbose,
        return_n_iter=return_n_iter,
        positive=positive,
        **params,
    )


def _start(coef_init: Any, shape: tuple[int, ...]) -> tuple[Any, Any] | None:
    """Return a start in the shape of the coefficients."""
    if coef_init is None:
        return None
    w = np.asarray(coef_init, dtype=np.float64).T
    if w.shape != shape:
        raise InvalidData(f"enet_path: coef_init must have shape {shape[::-1]}, got {w.T.shape}.")
    return w, 0.0 if len(shape) == 1 else np.zeros(shape[1])
