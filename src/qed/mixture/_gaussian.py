"""Gaussian mixtures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from qed.certificates import AscentCertificate
from qed.core import (
    KW_ONLY,
    Array,
    Estimator,
    InvalidData,
    Matrix,
    NonNegative,
    NonNegativeInt,
    NonNegativeVector,
    Positive,
    PositiveInt,
    Seed,
    Vector,
    fitted,
    generator,
    param,
)
from qed.core._events import Progress
from qed.core._shared_params import VERBOSE
from qed.core._targets import weights as read_weights
from qed.core._validation import is_source
from qed.data import ArraySource
from qed.data._kernels import UNIT
from qed.designs._range import fingerprint, require_range
from qed.mixture._ascent import Ascent, climb
from qed.mixture._gaussians import CovariancePrior, GaussianExpectation, GaussianFamily, Gaussians
from qed.mixture._kernels import gaussian_densities
from qed.mixture._starts import begin, with_given

if TYPE_CHECKING:
    from numpy.random import Generator


def _has_its_structure(model: Any, stored: Array) -> str:
    k, p = model.means_.shape
    shape = {"full": (k, p, p), "tied": (p, p), "diag": (k, p), "spherical": (k,)}[model.covariance_type]
    return "" if stored.shape == shape else f"should have shape {shape}, and has {stored.shape}"


def _add_up_to_one(model: Any, shares: Array) -> str:  # noqa: ARG001  the form of a check
    return "" if abs(shares.sum() - 1) < 1e-6 else f"should add up to 1, and add up to {shares.sum():.6g}"


class GaussianMixture(Estimator, role="density_estimator", chunks=True):
    r"""A density that is a weighted sum of Gaussians, fitted by expectation-maximisation.

    Objective
    ---------
    .. math:: \max_{w, \mu, \Sigma} \frac{1}{\sum_i s_i} \sum_i s_i \log \sum_k w_k \, N(x_i \mid \mu_k, \Sigma_k) \,
              e^{-\frac{v}{2} \operatorname{tr} \Sigma_k^{-1}}

    with v = ``reg_covar``: the expected log-likelihood of rows that are blurred by a variance of v. It keeps a component from
    collapsing onto a row, where the likelihood itself has no maximum. With ``covariance_prior`` the logarithm of an inverse-Wishart
    density of every covariance is added.

    Certificate
    -----------
    AscentCertificate: the objective after each step, none of which lowered it, and what one more step would add.

    Cost
    ----
    O(n k p^2) a step, O(n k p) for "diag" and "spherical"; a step is one pass over X, by blocks of rows. Memory beyond X: 64 k p^2
    bytes a thread, 256 k p^2 bytes for all, and 8 n k while starting.

    Notes
    -----
    The objective has many maxima; ``n_init`` starts find better ones. A component with one row, or with rows in a hyperplane, has
    variances near ``reg_covar``: ``degenerate_components_`` lists those.

    Parameters have scikit-learn's names. Three things differ. The blur by ``reg_covar`` enters the responsibilities too, so that
    the objective never falls. "k-means++" and "random_from_data" begin with rows as means and with the covariance of all rows.
    ``sample_weight`` says how often a row counts.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.mixture import GaussianMixture
    >>> X = np.array([[-2.1], [-2.0], [-1.9], [1.9], [2.0], [2.1]])
    >>> model = GaussianMixture(2, random_state=0).fit(X)
    >>> sorted(model.means_[:, 0].round(6).tolist())
    [-2.0, 2.0]
    >>> model.certificate_.reached
    True
    """

    n_components: PositiveInt = param(1, "Number of components.")
    _: KW_ONLY
    covariance_type: Literal["full", "tied", "diag", "spherical"] = param(
        "full",
        "A covariance for each component, one for all, variances of columns, or one variance for each component.",
    )
    tol: NonNegative = param(1e-3, "Gain of the objective, per unit of weight, at which the ascent stops.")
    reg_covar: NonNegative = param(1e-6, "Variance that every row is blurred by; no variance falls below it.")
    max_iter: PositiveInt = param(100, "Most steps of one start.")
    n_init: PositiveInt = param(1, "How many starts, of which the best is kept.")
    init_params: Literal["kmeans", "k-means++", "random", "random_from_data"] = param(
        "kmeans", "Where to begin: clusters of k-means, rows far from each other, random responsibilities, or any rows."
    )
    weights_init: NonNegativeVector | None = param(None, "First weights, shape (k,), with sum one.")
    means_init: Matrix | None = param(None, "First means, shape (k, p).")
    precisions_init: Vector | Matrix | Any = param(
        None, "First inverses of covariances, in the shape that ``covariance_type`` gives them."
    )
    random_state: Seed = param(None, "Seed of the starts and of ``sample``.")
    warm_start: bool = param(False, "Whether to begin where the last fit ended.")
    verbose: NonNegativeInt = VERBOSE
    verbose_interval: PositiveInt = param(
        10, "Steps between lines of scikit-learn's; here a bar or a line a second.", kind="hint"
    )
    algorithm: Literal["soft", "hard"] = param(
        "soft", "Whether a row belongs to every component in part (EM), or to the most probable one alone (hard EM)."
    )
    covariance_prior: Positive | Vector | None = param(
        None, "Scale of an inverse-Wishart prior of the covariances: a number or the diagonal; None for no prior."
    )
    degrees_of_freedom_prior: Positive | None = param(None, "Its degrees of freedom, at least p; None means p.")

    weights_: Array = fitted(
        "Weights of the components, shape (k,).",
        shape="(c,)",
        low=0,
        high=1,
        length="n_components",
        check=_add_up_to_one,
    )
    means_: Array = fitted("Means, shape (k, p).", shape="(c, p)")
    covariances_: Array = fitted(
        "Covariances, in the shape of their structure.",
        shape="(c, p, p) or (p, p) or (c, p) or (c,)",
        check=_has_its_structure,
    )
    precisions_: Array = fitted(
        "Their inverses.", shape="(c, p, p) or (p, p) or (c, p) or (c,)", check=_has_its_structure
    )
    precisions_cholesky_: Array = fitted(
        "Upper triangular U with precision U U'; inverse standard deviations of structures without correlations.",
        shape="(c, p, p) or (p, p) or (c, p) or (c,)",
        check=_has_its_structure,
    )
    converged_: bool = fitted("Whether the ascent came to rest.", answers=False)
    n_iter_: int = fitted("Steps of the best start.", low=0, answers=False)
    lower_bound_: float = fitted("The objective per unit of weight.", answers=False)
    lower_bounds_: list[float] = fitted("The objective at the start and after each step.", answers=False)
    degenerate_components_: list[int] = fitted(
        "Components with a variance near ``reg_covar``, or no rows.", low=0, answers=False
    )
    certificate_: AscentCertificate = fitted("What is proven about the fit.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Find weights, means and covariances.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows, at least as many as components.
        y : None
            Not looked at; here because every ``fit`` takes it.
        sample_weight : array-like of shape (n,), optional
            How often each row counts.

        Returns
        -------
        self
            Fitted.
        """
        data = self._fit_data(X, None, sample_weight)
        if is_source(X):
            return self._fit_source(X, warm=bool(self.warm_start) and hasattr(self, "means_"))
        used = data.n_rows if data.weight is None else int(np.count_nonzero(data.weight))
        if used < self.n_components:
            raise InvalidData(
                f"Expected n_samples >= n_components but got n_components = {self.n_components}, n_samples = {used}. Ask for fewer"
                " components."
            )
        seen = fingerprint(data.X, np.empty((data.n_rows, 0)), data.weight)
        require_range(ArraySource(data.X, None, data.weight), seen)
        prior = self._prior(data.X.shape[1])
        family = GaussianFamily(
            data.X, data.weight, seen.mean, self.covariance_type, float(self.reg_covar), prior, self.algorithm
        )
        best = self._climbed(family, warm=data.warm)
        self._store(family, best, seen)
        if best.outcome == "interrupted":
            raise KeyboardInterrupt
        return self

    def _fit_source(self, source: Any, *, warm: bool) -> Self:
        """Find components of rows that come in chunks: a pass for each step, from a start on a sample."""
        from qed.cluster._passes import FoldedScatter, sampled  # noqa: PLC0415  (most rows are in memory)
        from qed.mixture._chunked import SourceFamily  # noqa: PLC0415

        scatter = FoldedScatter(source, type(self).__name__)
        if scatter.rows < self.n_components:
            raise InvalidData(
                f"Expected n_samples >= n_components but got n_components = {self.n_components}, n_samples = {scatter.rows}."
                " Ask for fewer components."
            )
        mean = scatter.seen.mean
        rows, places = sampled(source, mean, generator(self.random_state))
        options = (self.covariance_type, float(self.reg_covar), self._prior(len(mean)), self.algorithm)
        family = SourceFamily(rows, places.s, mean, *options, source=source, total_weight=scatter.seen.weight)
        best = self._climbed(family, warm=warm)
        self._store(family, best, scatter.seen)
        if best.outcome == "interrupted":
            raise KeyboardInterrupt
        return self

    def _climbed(self, family: GaussianFamily, *, warm: bool) -> Ascent[Gaussians, GaussianExpectation]:
        """Climb from every start, and return the best ascent."""
        rng = generator(self.random_state)
        starts = 1 if warm else self.n_init
        best: Ascent[Gaussians, GaussianExpectation] | None = None
        with Progress(type(self).__name__, verbose=self.verbose) as progress:
            for _ in range(starts):
                start = self._fitted() if warm else self._start(family, rng)
                run = climb(family, start, tol=self.tol, most=self.max_iter, progress=progress)
                if best is None or run.expected.objective > best.expected.objective:
                    best = run
                if run.outcome in ("stopped", "interrupted"):
                    break
        assert best is not None  # noqa: S101  (at least one start)
        return best

    def _prior(self, p: int) -> CovariancePrior | None:
        if self.covariance_prior is None:
            if self.degrees_of_freedom_prior is not None:
                raise InvalidData("degrees_of_freedom_prior belongs to a prior: set covariance_prior too.")
            return None
        scale = np.array(self.covariance_prior, dtype=np.float64)
        if scale.shape not in ((), (p,)) or not np.all(scale > 0):
            raise InvalidData(
                f"covariance_prior must be a positive number or {p} of them, the diagonal of a matrix; got shape {scale.shape}."
            )
        degrees = float(p if self.degrees_of_freedom_prior is None else self.degrees_of_freedom_prior)
        if degrees < p:
            raise InvalidData(f"degrees_of_freedom_prior must be at least the number of columns, {p}; got {degrees:g}.")
        return CovariancePrior(np.broadcast_to(scale, (p,)).copy(), degrees)

    def _start(self, family: GaussianFamily, rng: Generator) -> Gaussians:
        k, p = self.n_components, family.X.shape[1]
        weights, means, covariances = self.weights_init, self.means_init, self.precisions_init
        if weights is not None:
            weights = np.array(weights, dtype=np.float64)
            if weights.shape != (k,) or not abs(float(weights.sum()) - 1.0) <= 1e-8:
                raise InvalidData(f"weights_init must be {k} numbers that sum to one, got shape {weights.shape}.")
        if means is not None:
            means = np.array(means, dtype=np.float64)
            if means.shape != (k, p):
                raise InvalidData(f"means_init must have shape ({k}, {p}), got {means.shape}.")
        if covariances is not None:
            covariances = _inverted(covariances, self.covariance_type, k, p)
        if weights is not None and means is not None and covariances is not None:
            return Gaussians(weights, means, covariances, self.covariance_type)
        return with_given(begin(family, k, self.init_params, rng), weights, means, covariances)

    def _store(self, family: GaussianFamily, run: Ascent[Gaussians, GaussianExpectation], seen: Any) -> None:
        found = run.parameters
        self.weights_, self.means_, self.covariances_ = found.weights, found.means, np.array(found.covariances)
        whiten = found.whiten
        if self.covariance_type in ("diag", "spherical"):
            roots = whiten if self.covariance_type == "diag" else whiten[:, 0].copy()
            self.precisions_cholesky_, self.precisions_ = roots, roots**2
        else:
            self.precisions_cholesky_ = np.ascontiguousarray(np.swapaxes(whiten, -1, -2))
            self.precisions_ = np.swapaxes(whiten, -1, -2) @ whiten
        self.n_iter_, self.lower_bounds_ = run.steps, run.trace.tolist()
        self.lower_bound_ = float(run.expected.objective)
        self.degenerate_components_ = _degenerate(found, float(self.reg_covar), run.expected.sums.weights)
        p = family.X.shape[1]
        size = 1.0 + p + float(np.max(np.abs(run.trace))) + p * abs(float(np.log(np.max(np.abs(whiten)))))
        rounding = 64 * (p + 8) * UNIT * found.condition * size
        self.certificate_ = AscentCertificate(
            what="log-likelihood" if self.algorithm == "soft" else "log-likelihood of the most probable components",
            objective=float(run.expected.objective),
            rounding=rounding,
            trace=run.trace,
            gain=run.gain if abs(run.gain) > 16 * rounding else 0.0,
            displacement=run.displacement,
            tol=float(self.tol),
            outcome=run.outcome,
            fingerprint=seen,
        )
        self.converged_ = self.certificate_.reached

    def _fitted(self) -> Gaussians:
        return Gaussians(self.weights_, self.means_, self.covariances_, self.covariance_type)

    def _densities(self, X: Any, *, shares: bool) -> tuple[Array, Array | None]:
        X = self._new_data(X)
        return gaussian_densities(X, self.weights_ @ self.means_, self._fitted().components(), shares=shares)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Fit, and return the most probable component of each row.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows.
        y : None
            Not looked at.
        sample_weight : array-like of shape (n,), optional
            How often each row counts.

        Returns
        -------
        ndarray of int of shape (n,)
            Numbers of components.
        """
        return self.fit(X, y, sample_weight).predict(X)

    def score_samples(self, X: Any) -> Array:
        """Return the logarithm of the density at each row.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows.

        Returns
        -------
        ndarray of shape (n,)
            Log-densities.
        """
        return self._densities(X, shares=False)[0]

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:  # noqa: ARG002
        """Return the mean of the log-densities of rows.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows.
        y : None
            Not looked at.
        sample_weight : array-like of shape (n,), optional
            How often each row counts.

        Returns
        -------
        float
            Larger is better.
        """
        logs = self.score_samples(X)
        return float(np.average(logs, weights=read_weights(sample_weight, len(logs))))

    def predict_proba(self, X: Any) -> Array:
        """Return how probable each component is for each row: the responsibilities.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows.

        Returns
        -------
        ndarray of shape (n, k)
            Probabilities; rows sum to one.
        """
        shares = self._densities(X, shares=True)[1]
        assert shares is not None  # noqa: S101  (they were asked for)
        return shares

    def predict(self, X: Any) -> Array:
        """Return the most probable component of each row.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows.

        Returns
        -------
        ndarray of int of shape (n,)
            Numbers of components.
        """
        return np.asarray(np.argmax(self.predict_proba(X), axis=1))

    def sample(self, n_samples: int = 1) -> tuple[Array, Array]:
        """Draw new rows: first a component, then a row from it.

        Parameters
        ----------
        n_samples : int
            How many rows, at least one.

        Returns
        -------
        X : ndarray of shape (n_samples, p)
            Rows, component by component.
        y : ndarray of int of shape (n_samples,)
            Their components.
        """
        self._check_is_fitted()
        if n_samples < 1:
            raise InvalidData(
                f"Invalid value for 'n_samples': {n_samples} . The sampling requires at least one sample."
            )
        rng = generator(self.random_state)
        counts = rng.multinomial(n_samples, self.weights_ / self.weights_.sum())
        found, (k, p) = self._fitted(), self.means_.shape
        labels = np.repeat(np.arange(k), counts)
        z = rng.standard_normal((n_samples, p))
        if self.covariance_type in ("diag", "spherical"):
            return self.means_[labels] + z / found.whiten[labels], labels
        try:
            factors = np.broadcast_to(np.linalg.cholesky(self.covariances_), (k, p, p))
        except np.linalg.LinAlgError as error:
            raise InvalidData(
                f"covariances_ of this {type(self).__name__} holds a matrix that is not positive definite, so nothing can be drawn"
                " from it. Fit again, or load the model from its file."
            ) from error
        starts = np.concatenate([[0], np.cumsum(counts)])
        rows = [z[starts[j] : starts[j + 1]] @ factors[j].T + self.means_[j] for j in range(k)]
        return np.vstack(rows), labels

    def _n_parameters(self) -> int:
        k, p = self.means_.shape
        of_covariances: dict[str, int] = {
            "full": k * p * (p + 1) // 2,
            "tied": p * (p + 1) // 2,
            "diag": k * p,
            "spherical": k,
        }
        return int(of_covariances[self.covariance_type] + k * p + k - 1)

    def bic(self, X: Any) -> float:
        """Return the Bayesian information criterion on rows.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows.

        Returns
        -------
        float
            Lower is better.
        """
        logs = self.score_samples(X)
        return float(-2 * logs.sum() + self._n_parameters() * np.log(len(logs)))

    def aic(self, X: Any) -> float:
        """Return Akaike's information criterion on rows.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows.

        Returns
        -------
        float
            Lower is better.
        """
        return float(-2 * self.score_samples(X).sum() + 2 * self._n_parameters())


def _inverted(precisions: Any, structure: str, k: int, p: int) -> Array:
    """Return the covariances of given precisions."""
    given = np.array(precisions, dtype=np.float64)
    shape = {"full": (k, p, p), "tied": (p, p), "diag": (k, p), "spherical": (k,)}[structure]
    if given.shape != shape:
        raise InvalidData(
            f"precisions_init must have shape {shape} for covariance_type={structure!r}, got {given.shape}."
        )
    wrong = InvalidData("precisions_init must hold positive numbers, or symmetric positive-definite matrices.")
    if structure in ("diag", "spherical"):
        if not np.all(given > 0):
            raise wrong
        return 1 / given
    try:
        np.linalg.cholesky(given)
    except np.linalg.LinAlgError:
        raise wrong from None
    if not np.allclose(given, np.swapaxes(given, -1, -2)):
        raise wrong
    return np.linalg.inv(given)


def _degenerate(found: Gaussians, floor: float, weights: Array) -> list[int]:
    """Return components that hold no rows, or that are flat in some direction but for the floor."""
    if found.structure == "tied":
        flat = np.broadcast_to(np.linalg.eigvalsh(found.covariances).min() <= 2 * floor, len(weights))
    elif found.structure == "full":
        flat = np.linalg.eigvalsh(found.covariances).min(axis=-1) <= 2 * floor
    else:
        flat = found.covariances.reshape(len(weights), -1).min(axis=1) <= 2 * floor
    return np.flatnonzero(flat | (weights <= 0)).tolist()
