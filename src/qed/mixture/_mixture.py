"""What all mixtures share: starts that are climbed from, densities, responsibilities, and information criteria."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from qed.certificates import AscentCertificate
from qed.core import (
    KW_ONLY,
    Array,
    Estimator,
    InvalidData,
    NonNegative,
    NonNegativeInt,
    PositiveInt,
    Seed,
    fitted,
    generator,
    param,
)
from qed.core._events import Progress
from qed.core._shared_params import VERBOSE
from qed.core._targets import weights as read_weights
from qed.mixture._ascent import Ascent, Family, beyond_rounding, climb

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator

    from qed.certificates import BoundDecomposition, Fingerprint


def add_up_to_one(model: Any, shares: Array) -> str:  # noqa: ARG001  the form of a check
    """Say what is wrong with weights of components."""
    return "" if abs(shares.sum() - 1) < 1e-6 else f"should add up to 1, and add up to {shares.sum():.6g}"


def require_as_many_rows(rows: int, components: int) -> None:
    """Refuse fewer rows than components."""
    if rows < components:
        raise InvalidData(
            f"Expected n_samples >= n_components but got n_components = {components}, n_samples = {rows}. Ask for fewer"
            " components."
        )


def draw_components(model: Any, n_samples: int, rng: Generator) -> Array:
    """Draw as many numbers of components as rows are wanted, by the weights of the components, and sort them."""
    model._check_is_fitted()  # noqa: SLF001
    if n_samples < 1:
        raise InvalidData(f"Invalid value for 'n_samples': {n_samples} . The sampling requires at least one sample.")
    weights = model.weights_
    return np.repeat(np.arange(len(weights)), rng.multinomial(n_samples, weights / weights.sum()))


def best_ascent(
    family: Family[Any, Any], start: Callable[[Generator], Any], starts: int, model: Any
) -> Ascent[Any, Any]:
    """Climb from every start, and return the ascent that ends highest.

    Parameters
    ----------
    family : Family
        What is fitted, with its rows.
    start : callable
        Returns the parameters to begin with; takes the generator of all starts.
    starts : int
        How many.
    model : Estimator
        With ``random_state``, ``tol``, ``max_iter`` and ``verbose``.
    """
    rng, best = generator(model.random_state), None
    with Progress(type(model).__name__, verbose=model.verbose) as progress:
        for _ in range(starts):
            run = climb(family, start(rng), tol=model.tol, most=model.max_iter, progress=progress)
            if best is None or run.expected.objective > best.expected.objective:
                best = run
            if run.outcome in ("stopped", "interrupted"):
                break
    assert best is not None  # noqa: S101  (at least one start)
    return best


def keep_ascent(
    model: Any,
    run: Ascent[Any, Any],
    what: str,
    rounding: float,
    seen: Fingerprint,
    decomposition: BoundDecomposition | None = None,
) -> None:
    """Store how an ascent went, and its certificate; raise KeyboardInterrupt again where one ended it."""
    model.n_iter_, model.lower_bounds_ = run.steps, run.trace.tolist()
    model.lower_bound_ = float(run.expected.objective)
    model.certificate_ = AscentCertificate(
        what=what,
        objective=float(run.expected.objective),
        rounding=rounding,
        trace=run.trace,
        gain=beyond_rounding(run.gain, rounding),
        displacement=run.displacement,
        tol=float(model.tol),
        outcome=run.outcome,
        fingerprint=seen,
        decomposition=decomposition,
    )
    model.converged_ = model.certificate_.reached
    if run.outcome == "interrupted":
        raise KeyboardInterrupt


class Mixture(Estimator, role="density_estimator"):
    """A density that is a weighted sum of components, found by steps none of which lowers an objective."""

    n_components: PositiveInt = param(1, "Number of components.")
    _: KW_ONLY
    tol: NonNegative = param(1e-3, "Gain of the objective, per unit of weight, at which the ascent stops.")
    max_iter: PositiveInt = param(100, "Most steps of one start.")
    n_init: PositiveInt = param(1, "How many starts, of which the best is kept.")
    random_state: Seed = param(None, "Seed of the starts and of ``sample``.")
    warm_start: bool = param(False, "Whether to begin where the last fit ended.")
    verbose: NonNegativeInt = VERBOSE
    verbose_interval: PositiveInt = param(
        10, "Steps between lines of scikit-learn's; here a bar or a line a second.", kind="hint"
    )

    weights_: Array = fitted(
        "Weights of the components, shape (k,).",
        shape="(c,)",
        low=0,
        high=1,
        length="n_components",
        check=add_up_to_one,
    )
    converged_: bool = fitted("Whether the ascent came to rest.", answers=False)
    n_iter_: int = fitted("Steps of the best start.", low=0, answers=False)
    lower_bound_: float = fitted("The objective per unit of weight.", answers=False)
    lower_bounds_: list[float] = fitted("The objective at the start and after each step.", answers=False)
    certificate_: AscentCertificate = fitted("What is proven about the fit.")

    if TYPE_CHECKING:  # every mixture has its own

        def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self: ...

    def _densities(self, X: Any, *, shares: bool) -> tuple[Array, Array | None]:
        """Return log-densities of rows, and responsibilities where they are wanted."""
        raise NotImplementedError

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Fit, and return the most probable component of each row.

        Returns
        -------
        ndarray of int of shape (n,)
            Numbers of components.
        """
        return self.fit(X, y, sample_weight).predict(X)

    def score_samples(self, X: Any) -> Array:
        """Return the logarithm of the density at each row.

        Returns
        -------
        ndarray of shape (n,)
            Log-densities.
        """
        return self._densities(X, shares=False)[0]

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:  # noqa: ARG002
        """Return the mean of the log-densities of rows.

        Returns
        -------
        float
            Larger is better.
        """
        logs = self.score_samples(X)
        return float(np.average(logs, weights=read_weights(sample_weight, len(logs))))

    def predict_proba(self, X: Any) -> Array:
        """Return how probable each component is for each row: the responsibilities.

        Returns
        -------
        ndarray of shape (n, k)
            Probabilities; rows sum to one.
        """
        shares = self._densities(X, shares=True)[1]
        assert shares is not None  # noqa: S101  (they were asked for)
        return shares

    def sample(self, n_samples: int = 1) -> tuple[Array, Array]:
        """Draw new rows: first a component by its weight, then a row from it. Bayesian mixtures use the expected parameters.

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
        return self._draw(n_samples, generator(self.random_state))

    def _draw(self, n_samples: int, rng: Generator) -> tuple[Array, Array]:
        """Return rows and their components."""
        raise NotImplementedError

    def predict(self, X: Any) -> Array:
        """Return the most probable component of each row.

        Returns
        -------
        ndarray of int of shape (n,)
            Numbers of components.
        """
        return np.asarray(np.argmax(self.predict_proba(X), axis=1))


class LikelihoodMixture(Mixture):
    """A mixture fitted by maximum likelihood: criteria weigh the likelihood against the number of parameters."""

    def _n_parameters(self) -> int:
        raise NotImplementedError

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
