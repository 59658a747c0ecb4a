"""The covariance of the rows that lie closest together, and outliers by their distance from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Self

import numpy as np

from qed.certificates import StationaryCertificate
from qed.core import KW_ONLY, Array, InvalidData, Number, OutlierDetector, Seed, fitted, generator, param
from qed.core._threads import one_blas_thread
from qed.covariance._covariance import StoredPrecision, distances, inverted, read_moments
from qed.designs._range import fingerprint_of

if TYPE_CHECKING:
    from numpy.random import Generator

HalfOrLess = Annotated[float, Number(0, 0.5, open_low=True)]
Fraction = Annotated[float, Number(0, 1, open_low=True)]
FEW_ROWS = 500  # Rousseeuw and Van Driessen: larger tables begin with parts of about 300 rows
PART_ROWS, STARTS, KEPT, MERGED = 300, 500, 10, 1500


class Support(NamedTuple):
    """Rows, their location, covariance, and the logarithm of its determinant."""

    rows: Array
    location: Array
    covariance: Array
    log_det: float


def described(X: Array, rows: Array, *, centered: bool) -> Support:
    """Return location and covariance of some rows."""
    chosen = X[rows]
    location = np.zeros(X.shape[1]) if centered else chosen.mean(axis=0)
    apart = chosen - location
    covariance = apart.T @ apart / len(chosen)
    sign, log_det = np.linalg.slogdet(covariance)
    return Support(rows, location, covariance, float(log_det) if sign > 0 else -np.inf)


def concentrate(X: Array, at: Support, h: int, *, most: int, centered: bool) -> Support:
    """Take the h rows closest to the estimates until that no longer lowers the determinant."""
    for _ in range(most):
        if at.log_det == -np.inf:
            break  # the rows lie in a hyperplane: no determinant is smaller
        far = distances(X, at.location, inverted_quickly(at.covariance))
        after = described(X, np.argpartition(far, h - 1)[:h], centered=centered)
        if not after.log_det < at.log_det:
            break
        at = after
    return at


def inverted_quickly(covariance: Array) -> Array:
    """Return the inverse of a covariance by its Cholesky factor; of a singular one the pseudo-inverse."""
    unit = np.sqrt(np.diagonal(covariance))
    try:
        inverse = np.linalg.inv(np.linalg.cholesky(covariance / np.outer(unit, unit))) / unit
    except np.linalg.LinAlgError:
        return inverted(covariance)
    return np.asarray(inverse.T @ inverse)


def best_starts(X: Array, h: int, starts: list[Support], keep: int, *, most: int, centered: bool) -> list[Support]:
    """Concentrate from every start, and return the best few."""
    found = [concentrate(X, start, h, most=most, centered=centered) for start in starts]
    return sorted(found, key=lambda one: one.log_det)[:keep]


def elsewhere(found: list[Support]) -> list[Support]:
    """Return estimates as starts on other rows, where their determinants say nothing."""
    return [one._replace(log_det=np.inf) for one in found]


def random_starts(X: Array, h: int, count: int, rng: Generator, *, centered: bool) -> list[Support]:
    """Return random sets of h rows."""
    return [described(X, rng.permutation(len(X))[:h], centered=centered) for _ in range(count)]


def search(X: Array, h: int, rng: Generator, *, centered: bool) -> Support:
    """Look for the h rows whose covariance has the smallest determinant (FAST-MCD)."""
    n = len(X)
    if n <= FEW_ROWS:
        starts = best_starts(X, h, random_starts(X, h, 30, rng, centered=centered), KEPT, most=2, centered=centered)
        return best_starts(X, h, starts, 1, most=30 * n, centered=centered)[0]
    parts = n // PART_ROWS
    order, own = rng.permutation(n), n // parts
    share = h / n
    found: list[Support] = []
    for part in range(parts):
        rows = order[part * own : (part + 1) * own]
        few = max(int(np.ceil(own * share)), 1)
        starts = random_starts(X[rows], few, max(10, STARTS // parts), rng, centered=centered)
        found += best_starts(X[rows], few, starts, KEPT, most=2, centered=centered)
    merged = order[: min(MERGED, n)] if parts > 1 else order
    within = max(int(np.ceil(len(merged) * share)), 1)
    found = best_starts(X[merged], within, elsewhere(found), KEPT, most=2, centered=centered)
    whole = best_starts(X, h, elsewhere(found), KEPT if n <= MERGED else 1, most=30, centered=centered)
    return concentrate(X, whole[0], h, most=30 * n, centered=centered)


def support_size(n: int, p: int, fraction: float | None) -> int:
    """Return how many rows the raw estimate is of."""
    return int(np.ceil(0.5 * (n + p + 1))) if fraction is None else int(fraction * n)


def fast_mcd(
    X: Any, support_fraction: float | None = None, cov_computation_method: Any = None, random_state: Any = None
) -> tuple[Array, Array, Array, Array]:
    """Return the raw estimates of the minimum covariance determinant.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Rows.
    support_fraction : float or None
        Share of the rows; None means about a half.
    cov_computation_method : None
        Covariances are those of maximum likelihood; scikit-learn takes a function here.
    random_state : None, int, Generator or RandomState
        Seed.

    Returns
    -------
    location : ndarray of shape (p,)
        Mean of the support.
    covariance : ndarray of shape (p, p)
        Its covariance.
    support : ndarray of bool of shape (n,)
        The rows.
    distances : ndarray of shape (n,)
        Squared Mahalanobis distances of all rows.
    """
    if cov_computation_method is not None:
        raise InvalidData("fast_mcd computes maximum likelihood covariances; cov_computation_method must be None.")
    rows = np.asarray(X, dtype=np.float64)
    if rows.ndim != 2 or not np.isfinite(rows).all():
        raise InvalidData(f"fast_mcd takes a table of finite numbers, got shape {rows.shape}.")
    h = support_size(rows.shape[0], rows.shape[1], support_fraction)
    found = search(rows, h, generator(random_state), centered=False)
    support = np.zeros(len(rows), dtype=bool)
    support[found.rows] = True
    return found.location, found.covariance, support, distances(rows, found.location, inverted(found.covariance))


class RobustCovariance(StoredPrecision):
    """Location and covariance of the rows that lie closest together."""

    _: KW_ONLY
    support_fraction: Fraction | None = param(None, "Share of the rows in the raw estimate; None means about a half.")
    random_state: Seed = param(None, "Seed of the starts.")

    raw_location_: Array = fitted("Mean of the raw support, shape (p,).", shape="(p,)", answers=False)
    raw_covariance_: Array = fitted("Its covariance, shape (p, p).", shape="(p, p)", answers=False)
    raw_support_: Array = fitted("Rows of the raw estimate, shape (n,).", dtype="bool", shape="(n,)", answers=False)
    support_: Array = fitted("Rows of the final estimate, shape (n,).", dtype="bool", shape="(n,)", answers=False)
    dist_: Array = fitted("Squared distances of the rows of the fit, shape (n,).", shape="(n,)", low=0, answers=False)
    certificate_: StationaryCertificate = fitted("What is proven about the fit.")

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Find location and covariance.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows, at least two.
        """
        moments, _, data = read_moments(self, X, None, centered=self.assume_centered)
        rows = np.asarray(data.X, dtype=np.float64)
        h = support_size(rows.shape[0], rows.shape[1], self.support_fraction)
        if h < 1:
            raise InvalidData(
                f"support_fraction = {self.support_fraction} leaves none of {len(rows)} rows. Increase it."
            )
        with one_blas_thread(rows.size):
            raw = search(rows, h, generator(self.random_state), centered=self.assume_centered)
            self._reweight(rows, raw)
            self._certify(rows, raw, moments, h)
        return self

    def _reweight(self, rows: Array, raw: Support) -> None:
        """Make the raw covariance consistent for Gaussian rows, and estimate again without the rows that are far from it."""
        from scipy.special import chdtri  # noqa: PLC0415  (SciPy costs a fifth of a second)

        p = rows.shape[1]
        far = distances(rows, raw.location, inverted(raw.covariance))
        correction = float(np.median(far)) / float(chdtri(p, 0.5))
        self.raw_location_, self.raw_covariance_ = raw.location, raw.covariance
        self.raw_support_ = np.zeros(len(rows), dtype=bool)
        self.raw_support_[raw.rows] = True
        near = far <= 0 if correction <= 0 else far / correction < float(chdtri(p, 0.025))
        final = described(rows, np.flatnonzero(near), centered=self.assume_centered)
        self.support_ = near
        self._store(final.location, final.covariance)
        self.dist_ = np.maximum(distances(rows, final.location, self.get_precision()), 0.0)

    def _certify(self, rows: Array, raw: Support, moments: Any, h: int) -> None:
        """State the determinant of the raw covariance, per column, and what one more step lowers it by."""
        p = rows.shape[1]
        after = concentrate(rows, raw, h, most=1, centered=self.assume_centered)
        whole = described(rows, np.arange(len(rows)), centered=self.assume_centered)
        size = [float(np.exp(one.log_det / p)) for one in (raw, after, whole)]
        condition = float(np.sqrt(np.linalg.cond(raw.covariance))) if np.isfinite(raw.log_det) else 1.0
        rounding = min(64 * (p + 8) * 2.0**-53 * condition, 0.5) * size[0]
        self.certificate_ = StationaryCertificate(
            gap=max(size[0] - size[1], 0.0) + rounding,
            rounding=rounding,
            radius=0.0,
            objective=size[0],
            null_objective=max(size[2], size[0]),
            curvature=0.0,
            tol=1e-4,
            outcome="solved",
            fingerprint=fingerprint_of(moments),
            step="concentration step",
        )


class MinCovDet(RobustCovariance):
    r"""Minimum covariance determinant (MCD): a robust covariance, of the subset of rows with the smallest determinant.

    Objective
    ---------
    .. math:: \min_{|H| = h} \det \Sigma_H^{1/p}

    over sets of h rows. The result is made consistent for Gaussian rows, and estimated again from all rows within the 97.5 %
    quantile of the distances.

    Certificate
    -----------
    StationaryCertificate: taking the h rows that are closest to the estimates does not lower the determinant further. No minimum
    is claimed.

    Cost
    ----
    FAST-MCD of Rousseeuw and Van Driessen: some hundred steps on parts of 300 rows, a few on all, O(n p^2) each. Memory beyond X:
    a copy of X in float64 and 100 p^2 bytes.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.covariance import MinCovDet
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> X[:20] += 50.0
    >>> bool(np.all(np.abs(MinCovDet(random_state=0).fit(X).location_) < 0.5))
    True
    """


class EllipticEnvelope(RobustCovariance, OutlierDetector):
    r"""Outlier detection by the Mahalanobis distance from a robust location and covariance.

    Objective
    ---------
    .. math:: \min_{|H| = h} \det \Sigma_H^{1/p}

    as `MinCovDet`. The share ``contamination`` of rows with the largest distances are outliers.

    Certificate
    -----------
    StationaryCertificate: taking the h rows that are closest to the estimates does not lower the determinant further. No minimum
    is claimed.

    Cost
    ----
    That of `MinCovDet`.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.covariance import EllipticEnvelope
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> X[:10] += 50.0
    >>> int((EllipticEnvelope(random_state=0).fit_predict(X)[:10] == -1).sum())
    10
    """

    _: KW_ONLY
    contamination: HalfOrLess = param(0.1, "Share of the rows of the fit that are outliers.")
    offset_: float = fitted("Minus the squared distance beyond which a row is an outlier.")

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find location, covariance and threshold.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows, at least two.
        """
        super().fit(X, y)
        self.offset_ = float(np.percentile(-self.dist_, 100.0 * self.contamination))
        return self

    def score_samples(self, X: Any) -> Array:
        """Return minus the squared Mahalanobis distances of rows.

        Returns
        -------
        ndarray of shape (n,)
            Lower is stranger.
        """
        return -self.mahalanobis(X)

    def decision_function(self, X: Any) -> Array:
        """Return scores shifted so that outliers have negative ones.

        Returns
        -------
        ndarray of shape (n,)
            Negative for outliers.
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> Array:
        """Return 1 for rows that are like the rest, and -1 for outliers.

        Returns
        -------
        ndarray of int of shape (n,)
            1 or -1.
        """
        return np.where(self.decision_function(X) >= 0, 1, -1)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:  # type: ignore[override]
        """Return the share of rows whose verdict is right.

        Parameters
        ----------
        y : array-like of shape (n,)
            1 or -1.

        Returns
        -------
        float
            From 0 to 1.
        """
        right = self.predict(X) == np.asarray(y)
        return float(np.average(right, weights=sample_weight))
