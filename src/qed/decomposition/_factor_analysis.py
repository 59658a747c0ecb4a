"""Factor analysis."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from qed.certificates import AscentCertificate
from qed.core import (
    KW_ONLY,
    Array,
    InvalidData,
    InvalidParameter,
    NonNegative,
    NonNegativeInt,
    Numbers,
    PositiveInt,
    Seed,
    fitted,
    param,
)
from qed.core._events import STOP, Progress
from qed.core._shared_params import COPY_X
from qed.core._threads import one_blas_thread
from qed.data._kernels import UNIT
from qed.decomposition._latent import LEAST_NOISE, LatentNormal, Spread

MOST_TURNS = 2000  # of a rotation; a few dozen are enough
AT_REST = 1e-13  # relative growth of the criterion of a rotation that is rounding


class FactorAnalysis(LatentNormal):
    r"""Factor analysis: a few latent factors, and noise with a variance of its own for each column.

    Objective
    ---------
    .. math:: \max_{L, \psi} \frac{1}{n} \sum_i \log N\!\left( x_i \mid \mu, L^\top L + \mathrm{diag}(\psi) \right)

    the log-likelihood of a row, :math:`\mu` being the mean. Unlike principal components, loadings explain what columns share and
    leave to the noise what is their own: they do not depend on the units of columns.

    Certificate
    -----------
    AscentCertificate: the log-likelihood never fell from step to step, and what one more step adds. The loadings are the best
    ones for the stored noise; other noise far away may be better.

    Cost
    ----
    O(np min(n, p)) once, then O(min(n, p)^3) a step; O(min(n, p)^2) memory beyond a centred copy of X.

    Notes
    -----
    A step takes the best loadings for the noise in closed form, and then the noise that expectation-maximisation gives them. The
    rows are looked at once where there are more of them than columns. Noise is kept above 1e-8 of the variance of its column: where
    a loading explains a column wholly (a Heywood case) the likelihood grows without noise.

    Loadings L are determined up to a rotation. Those stored have :math:`L \Psi^{-1} L^\top` diagonal, largest first, and the
    largest entry of each row of :math:`L \Psi^{-1/2}` is positive; ``rotation`` turns them further.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.decomposition import FactorAnalysis
    >>> rng = np.random.default_rng(0)
    >>> hidden = rng.normal(size=(500, 1))
    >>> X = hidden @ [[1.0, 1.0, 0.0]] + rng.normal(size=(500, 3)) * [0.5, 0.5, 2.0]
    >>> FactorAnalysis(1).fit(X).noise_variance_.round(1)
    array([0.3, 0.3, 3.6])
    """

    n_components: NonNegativeInt | None = param(None, "How many factors; None for as many as columns.")
    _: KW_ONLY
    tol: NonNegative = param(1e-2, "Gain of a step in the log-likelihood of all rows together at which to stop.")
    copy: bool = COPY_X
    max_iter: PositiveInt = param(1000, "Most steps.")
    noise_variance_init: Numbers | None = param(
        None, "Variance of the noise of each column to begin with; None for one, in units of each column's variance."
    )
    svd_method: Literal["lapack", "randomized"] = param(
        "randomized", "How scikit-learn finds loadings for given noise; here always exactly.", kind="hint"
    )
    iterated_power: NonNegativeInt = param(3, "Power iterations of scikit-learn's randomised method.", kind="hint")
    rotation: Literal["varimax", "quartimax"] | None = param(
        None, "How loadings are turned so that few of them are large: 'varimax' or 'quartimax', None for not at all."
    )
    random_state: Seed = param(0, "Seed of scikit-learn's randomised method.", kind="hint")

    noise_variance_: Array = fitted("Variance of the noise of each column, shape (p,).", shape="(p,)", above=0)
    loglike_: list[float] = fitted("Log-likelihood of all rows at the start and after each step.", answers=False)
    n_iter_: int = fitted("Steps taken.", low=0, answers=False)
    certificate_: AscentCertificate = fitted("What is proven about the fit.")

    def _noise(self) -> Array:
        return self.noise_variance_

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Find loadings and noise."""
        spread = Spread.of(self._fit_data(X).X)
        p, n = len(spread.variance), spread.seen.rows
        k = p if self.n_components is None else int(self.n_components)
        if k > p:
            raise InvalidParameter(f"n_components={k} must be at most the number of columns, {p}.")
        least = LEAST_NOISE * spread.size
        noise = np.maximum(self._first_noise(spread), least)
        loadings, value = spread.most_likely(noise, k)
        trace, outcome = [value], "max_iter"
        try:
            with Progress(type(self).__name__, total=self.max_iter) as progress:
                for _ in range(self.max_iter):
                    after = _following(spread, loadings, least)
                    noise, (loadings, value) = after, spread.most_likely(after, k)
                    trace.append(value)
                    if n * (trace[-1] - trace[-2]) < self.tol:
                        outcome = "solved"
                        break
                    if progress.step(-value) is STOP:
                        outcome = "stopped"
                        break
        except KeyboardInterrupt:
            outcome = "interrupted"
        self._store(spread, loadings, noise, trace, outcome)
        if outcome == "interrupted":
            raise KeyboardInterrupt
        return self

    def _first_noise(self, spread: Spread) -> Array:
        if self.noise_variance_init is None:
            return spread.size
        given: Any = self.noise_variance_init
        noise = np.array(given, dtype=np.float64)
        if noise.shape != spread.variance.shape:
            raise InvalidData(
                "noise_variance_init dimension does not with number of features : "
                f"got shape {noise.shape}, and X has {len(spread.variance)} columns."
            )
        if not (np.isfinite(noise) & (noise > 0)).all():
            raise InvalidData("noise_variance_init must hold positive numbers.")
        return noise

    def _store(self, spread: Spread, loadings: Array, noise: Array, trace: list[float], outcome: str) -> None:
        k, p = loadings.shape
        after = _following(spread, loadings, LEAST_NOISE * spread.size)
        gain = spread.most_likely(after, k)[1] - trace[-1]
        size = 1 + abs(trace[-1]) + float(np.sum(spread.variance / noise))
        rounding = 64 * (p + 8) * UNIT * size
        displacement = float(np.max(np.abs(after - noise) / spread.size))
        self.mean_ = spread.seen.mean.copy()
        self.components_ = loadings
        if self.rotation is not None:
            self.components_ = np.sqrt(noise) * with_signs(rotated(loadings, self.rotation) / np.sqrt(noise))
        self.noise_variance_ = noise
        self.loglike_ = [spread.seen.rows * value for value in trace]
        self.n_iter_ = len(trace) - 1
        self.certificate_ = AscentCertificate(
            what="log-likelihood",
            objective=trace[-1],
            rounding=rounding,
            trace=np.array(trace),
            gain=gain if abs(gain) > 16 * rounding else 0.0,
            displacement=displacement,
            tol=float(self.tol),
            outcome=outcome,
            fingerprint=spread.seen,
        )


def _following(spread: Spread, loadings: Array, least: Array) -> Array:
    """Return the noise after one step: what the loadings leave of the variance of each column."""
    return np.asarray(np.maximum(spread.variance - np.sum(loadings**2, axis=0), least))


def with_signs(loadings: Array) -> Array:
    """Turn loadings (k, p) so that the largest entry of each row is positive."""
    largest = np.argmax(np.abs(loadings), axis=1)
    return np.where(loadings[np.arange(len(loadings)), largest] < 0, -1.0, 1.0)[:, None] * loadings


def rotated(loadings: Array, rule: str) -> Array:
    """Turn loadings (k, p) so that their squares vary most within each row (varimax), or altogether (quartimax)."""
    k = len(loadings)
    if k < 2:
        return loadings
    A = loadings.T
    turn, before = np.eye(k), 0.0
    with one_blas_thread(A.size):
        for _ in range(MOST_TURNS):
            B = A @ turn
            slope = B**3 - (B * np.mean(B**2, axis=0) if rule == "varimax" else 0.0)
            U, sizes, Vt = np.linalg.svd(A.T @ slope)
            turn = U @ Vt
            if float(np.sum(sizes)) <= before * (1 + AT_REST):
                break
            before = float(np.sum(sizes))
        return np.ascontiguousarray((A @ turn).T)
