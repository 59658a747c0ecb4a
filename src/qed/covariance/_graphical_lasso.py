"""Sparse inverse covariances."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from qed.certificates import DualityGapCertificate
from qed.core import KW_ONLY, Array, InvalidData, NonNegative, NonNegativeInt, fitted, param
from qed.core._errors import tell_unreached
from qed.core._events import Progress
from qed.core._shared_params import VERBOSE
from qed.core._threads import one_blas_thread
from qed.covariance._covariance import ASSUME_CENTERED, CovarianceEstimator, read_moments
from qed.covariance._newton import Solved, solve
from qed.designs._range import fingerprint_of

TOL = param(1e-4, "Duality gap to reach, relative to the objective of the diagonal precision.")
ENET_TOL = param(1e-4, "Tolerance of scikit-learn's inner solver; here it follows from tol.", kind="hint")
MAX_ITER = param(100, "Most steps.")
MODE = param("cd", "Inner solver of scikit-learn; the optimum is the same.", kind="hint")
EPS = param(2.0**-52, "Precision of scikit-learn's inner solver.", kind="hint")
Mode = Literal["cd", "lars"]


class SparsePrecision(CovarianceEstimator, min_samples=2):
    """A covariance whose inverse has many zeros."""

    if TYPE_CHECKING:  # declared by each class, in the order of scikit-learn
        tol: float

    costs_: list[tuple[float, float]] = fitted(
        "Objective and duality gap at the start and after each step.", answers=False
    )
    n_iter_: int = fitted("Steps.", low=0, answers=False)
    certificate_: DualityGapCertificate = fitted("What is proven about the fit.")

    def _keep(self, found: Solved, location: Array, moments: Any) -> None:
        """Store a solution and its certificate."""
        self.location_, self.covariance_, self.precision_ = location, found.covariance, found.precision
        self.costs_, self.n_iter_ = found.costs, len(found.costs) - 1
        self.certificate_ = DualityGapCertificate(
            gap=found.gap,
            rounding=found.rounding,
            objective=found.objective,
            null_objective=found.null_objective,
            tol=float(self.tol),
            radius=float("inf"),
            outcome=found.outcome,
            fingerprint=fingerprint_of(moments),
        )
        if found.outcome == "interrupted":
            raise KeyboardInterrupt
        if found.outcome == "max_iter":
            tell_unreached(
                f"{type(self).__name__} stopped after {self.n_iter_} steps with a gap of {found.gap:.3g}. Increase max_iter",
                strict=False,
            )


class GraphicalLasso(SparsePrecision):
    r"""Graphical lasso: a covariance with a sparse inverse; columns without an edge are conditionally independent.

    Objective
    ---------
    .. math:: \min_{\Theta \succ 0} \operatorname{tr}(S \Theta) - \log\det\Theta + \alpha \sum_{i \ne j} |\Theta_{ij}|

    with S the covariance of the rows, less a constant that depends on S and alpha alone and makes the minimum nonnegative: the dual
    value of S with its entries off the diagonal multiplied by one minus alpha over the largest of them.

    Certificate
    -----------
    DualityGapCertificate: no precision matrix lowers the objective by more than this.

    Cost
    ----
    One pass, O(n p^2); a step is some sweeps of O(p) for each entry that is not zero, and O(p^3). Memory beyond X: 100 p^2 bytes.

    Notes
    -----
    Parameters have scikit-learn's names; ``tol`` is relative to the objective of the diagonal precision.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.covariance import GraphicalLasso
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> X[:, 1] += X[:, 0]
    >>> model = GraphicalLasso(0.2).fit(X)
    >>> (np.abs(model.precision_) > 0).astype(int).tolist()
    [[1, 1, 0], [1, 1, 0], [0, 0, 1]]
    """

    alpha: NonNegative = param(0.01, "Strength of the penalty: the larger, the more zeros.")
    _: KW_ONLY
    covariance: Literal["precomputed"] | None = param(
        None, "'precomputed' if ``fit`` is given a covariance instead of rows; its location is zero."
    )
    tol: NonNegative = TOL
    enet_tol: NonNegative = ENET_TOL
    max_iter: NonNegativeInt = MAX_ITER
    mode: Mode = MODE
    verbose: NonNegativeInt = VERBOSE
    eps: NonNegative = EPS
    assume_centered: bool = ASSUME_CENTERED

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Find the covariance and its inverse.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows; or their covariance, shape (p, p).
        """
        is_given = self.covariance == "precomputed"
        moments, location, data = read_moments(self, X, sample_weight, centered=self.assume_centered or is_given)
        S = moments.XX / moments.weight
        if is_given:
            S, location = as_covariance(data.X), np.zeros(data.X.shape[1])
        with Progress(type(self).__name__, self.max_iter, verbose=self.verbose) as progress, one_blas_thread(S.size):
            found = solve(S, float(self.alpha), tol=self.tol, most=self.max_iter, start=None, progress=progress)
        self._keep(found, location, moments)
        return self


def as_covariance(given: Any) -> Array:
    """Read a covariance that was given in place of rows."""
    S = np.array(given, dtype=np.float64)
    if S.ndim != 2 or S.shape[0] != S.shape[1] or not np.allclose(S, S.T, rtol=1e-8, atol=1e-12):
        raise InvalidData(f"A covariance is a symmetric matrix, got one of shape {S.shape}.")
    return np.asarray((S + S.T) / 2)


def graphical_lasso(
    emp_cov: Any,
    alpha: float,
    *,
    mode: Literal["cd", "lars"] = "cd",
    tol: float = 1e-4,
    enet_tol: float = 1e-4,
    max_iter: int = 100,
    verbose: bool = False,
    return_costs: bool = False,
    eps: float = 2.0**-52,
    return_n_iter: bool = False,
) -> Any:
    """Return the covariance, and the sparse precision, that are best for an empirical covariance.

    Parameters
    ----------
    emp_cov : array-like of shape (p, p)
        Covariance of rows.
    alpha : float
        Strength of the penalty.
    mode, enet_tol, eps : object
        Of scikit-learn's inner solver; the optimum is the same.
    tol : float
        Duality gap to reach, relative to the objective of the diagonal precision.
    max_iter : int
        Most steps.
    verbose : bool
        Whether to show progress.
    return_costs : bool
        Whether to return objectives and gaps too.
    return_n_iter : bool
        Whether to return the number of steps too.

    Returns
    -------
    covariance, precision : ndarray of shape (p, p)
        The two matrices, then costs and steps where they are asked for.
    """
    model = GraphicalLasso(
        alpha,
        covariance="precomputed",
        mode=mode,
        tol=tol,
        enet_tol=enet_tol,
        max_iter=max_iter,
        verbose=int(verbose),
        eps=eps,
    ).fit(emp_cov)
    told: list[Any] = [model.covariance_, model.precision_]
    return tuple(told + [model.costs_] * return_costs + [model.n_iter_] * return_n_iter)
