"""Sparse inverse covariances whose penalty is chosen by held-out likelihood."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from qed.core import KW_ONLY, Array, NonNegative, NonNegativeInt, NonNegativeVector, PositiveInt, fitted, param
from qed.core._events import Progress
from qed.core._shared_params import VERBOSE
from qed.core._threads import one_blas_thread
from qed.covariance._covariance import ASSUME_CENTERED, log_likelihood, read_moments
from qed.covariance._graphical_lasso import ENET_TOL, EPS, MAX_ITER, MODE, TOL, Mode, SparsePrecision
from qed.covariance._newton import solve
from qed.model_selection import check_cv


class GraphicalLassoCV(SparsePrecision):
    r"""Graphical lasso with the penalty chosen by cross-validation.

    Objective
    ---------
    That of `GraphicalLasso`, at the strength with the largest mean log-likelihood of the rows of each fold, about their own mean,
    under the precision of the others.

    Certificate
    -----------
    DualityGapCertificate: no precision matrix lowers the objective at the chosen strength by more than this.

    Cost
    ----
    A path of strengths for each fold and refinement, every solution the start of the next.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.covariance import GraphicalLassoCV
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> GraphicalLassoCV(cv=3).fit(X).alpha_ > 0
    True
    """

    _: KW_ONLY
    alphas: PositiveInt | NonNegativeVector = param(
        4, "How many strengths to try in a refinement, or the strengths to try."
    )
    n_refinements: PositiveInt = param(4, "How often to look again around the best strength.")
    cv: Any = param(None, "Number of folds, or a splitter; None means 5.")
    tol: NonNegative = TOL
    enet_tol: NonNegative = ENET_TOL
    max_iter: NonNegativeInt = MAX_ITER
    mode: Mode = MODE
    verbose: NonNegativeInt = VERBOSE
    eps: NonNegative = EPS
    assume_centered: bool = ASSUME_CENTERED
    n_jobs: Any = param(None, "Number of jobs of scikit-learn; folds run one after the other.", kind="hint")

    alpha_: float = fitted("The chosen strength.", low=0)
    cv_results_: dict[str, Array] = fitted("Strengths, and held-out log-likelihoods of each fold.", answers=False)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose the strength, and find the covariance of all rows.

        Parameters
        ----------
        y : None
            Only passed on to the splitter.
        """
        moments, location, data = read_moments(self, X, None, centered=self.assume_centered)
        rows = np.asarray(data.X, dtype=np.float64)
        S = moments.XX / moments.weight
        folds = [(rows[a], rows[b]) for a, b in check_cv(self.cv).split(rows, y)]
        with Progress(type(self).__name__, verbose=self.verbose) as progress, one_blas_thread(S.size):
            scores = self._search(S, folds)
            alphas = np.array(sorted(scores, reverse=True))
            table = np.array([scores[alpha] for alpha in alphas])
            self.alpha_ = float(alphas[int(np.argmax(table.mean(axis=1)))])
            found = solve(S, self.alpha_, tol=self.tol, most=self.max_iter, start=None, progress=progress)
        self.cv_results_ = {
            "alphas": alphas,
            **{f"split{i}_test_score": table[:, i].copy() for i in range(table.shape[1])},
            "mean_test_score": table.mean(axis=1),
            "std_test_score": table.std(axis=1),
        }
        self._keep(found, location, moments)
        return self

    def _search(self, S: Array, folds: list[tuple[Array, Array]]) -> dict[float, list[float]]:
        """Return the scores of every strength that was tried."""
        scores: dict[float, list[float]] = {}
        if isinstance(self.alphas, int):
            largest = float(np.max(np.abs(S[~np.eye(len(S), dtype=bool)]), initial=0.0)) or 1.0
            ends = (largest, 1e-2 * largest)
            for _ in range(self.n_refinements):
                tried = np.geomspace(*ends, self.alphas)
                self._score([a for a in tried.tolist() if a not in scores], folds, scores)
                known = sorted(scores, reverse=True)
                best = int(np.argmax([np.mean(scores[a]) for a in known]))
                ends = (known[max(best - 1, 0)], known[min(best + 1, len(known) - 1)])
                if best == len(known) - 1:  # the smallest: look further down
                    ends = (ends[0], 0.1 * known[best])
        else:
            self._score(np.asarray(self.alphas, dtype=np.float64).tolist(), folds, scores)
        return scores

    def _score(self, alphas: list[float], folds: list[tuple[Array, Array]], scores: dict[float, list[float]]) -> None:
        for train, test in folds:
            S, held = (self._covariance_of(part) for part in (train, test))
            start = None
            for alpha in sorted(alphas, reverse=True):
                found = solve(S, alpha, tol=max(self.tol, 1e-4), most=self.max_iter, start=start, progress=None)
                start = found.precision
                scores.setdefault(alpha, []).append(log_likelihood(held, found.precision))

    def _covariance_of(self, rows: Array) -> Array:
        """Return the covariance of some rows, about their own mean: covariances are compared, not locations."""
        apart = rows if self.assume_centered else rows - rows.mean(axis=0)
        return np.asarray(apart.T @ apart / len(rows))
