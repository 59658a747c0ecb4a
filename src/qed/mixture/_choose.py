"""How many components: compared by held-out likelihood and by criteria that charge for parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData, InvalidParameter
from qed.model_selection import cross_val_score

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ComponentChoice:
    """Comparison of mixtures with different numbers of components.

    Attributes
    ----------
    ks : ndarray of shape (m,)
        The numbers.
    held_out, held_out_error : ndarray of shape (m,)
        Mean log-density of rows that were held out, and the standard error of that mean over folds.
    train : ndarray of shape (m,)
        Mean log-density of the rows that were learnt from; it tends to rise with k and chooses nothing.
    bic, aic : ndarray of shape (m,)
        Information criteria of the fits to all rows; lower is better.
    models : list
        Those fits.
    """

    ks: NDArray[np.int64]
    held_out: Array
    held_out_error: Array
    train: Array
    bic: Array
    aic: Array
    models: list[Any]

    @property
    def votes(self) -> dict[str, int]:
        """What each criterion chooses; of equals the smallest number."""
        return {
            "held_out": int(self.ks[np.argmax(self.held_out)]),
            "bic": int(self.ks[np.argmin(self.bic)]),
            "aic": int(self.ks[np.argmin(self.aic)]),
        }

    @property
    def best(self) -> int:
        """The number with the highest held-out likelihood."""
        return self.votes["held_out"]

    @property
    def best_model(self) -> Any:
        """The fit of that number of components to all rows."""
        return self.models[int(np.argmax(self.held_out))]


def choose_components(model: Any, X: Any, ks: Sequence[int] = range(1, 7), *, cv: Any = 5) -> ComponentChoice:
    """Compare numbers of components of a mixture by held-out likelihood, BIC and AIC.

    Held-out likelihood is an estimate of what a mixture is for, a density of new rows, and needs one fit for each fold. BIC needs
    one fit, and tends to the true number as rows grow; AIC tends to more.

    Parameters
    ----------
    model : GaussianMixture, BernoulliMixture, CategoricalMixture or PoissonMixture
        Unfitted; its ``n_components`` is replaced. Several starts (``n_init``) make the comparison steadier.
    X : array-like of shape (n, p)
        Rows.
    ks : sequence of int
        Numbers to compare, rising.
    cv : int or splitter
        Folds of held-out rows.

    Returns
    -------
    ComponentChoice
        Likelihoods, criteria, what each chooses, and the fits.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.mixture import GaussianMixture, choose_components
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]], 40, axis=0) + rng.normal(size=(120, 2))
    >>> choose_components(GaussianMixture(n_init=3, random_state=0), rng.permutation(X), range(1, 5)).votes
    {'held_out': 3, 'bic': 3, 'aic': 3}
    """
    if not hasattr(model, "bic"):
        raise InvalidParameter(
            f"choose_components compares mixtures fitted by maximum likelihood, and {type(model).__name__} has no bic."
        )
    numbers = np.array(list(ks), dtype=np.int64)
    if not len(numbers) or numbers[0] < 1 or np.any(np.diff(numbers) <= 0):
        raise InvalidParameter(f"ks must rise from 1 or more, got {numbers.tolist()}.")
    if np.ndim(X) != 2 and not hasattr(X, "shape"):
        raise InvalidData("choose_components needs a table of rows.")
    folds = [cross_val_score(_with(model, k), X, cv=cv) for k in numbers]
    fits = [_with(model, k).fit(X) for k in numbers]
    return ComponentChoice(
        ks=numbers,
        held_out=np.array([one.mean() for one in folds]),
        held_out_error=np.array([one.std(ddof=1) / np.sqrt(len(one)) if len(one) > 1 else np.nan for one in folds]),
        train=np.array([one.score(X) for one in fits]),
        bic=np.array([one.bic(X) for one in fits]),
        aic=np.array([one.aic(X) for one in fits]),
        models=fits,
    )


def _with(model: Any, k: int) -> Any:
    return model.__sklearn_clone__().set_params(n_components=int(k))
