"""Of settings that predict about equally well, the simplest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ROUNDING = 8 * np.finfo(np.float64).eps  # means of equal scores differ by no more, whatever the order of the folds


@dataclass(frozen=True)
class Simplest:
    """A choice for ``GridSearchCV(refit=...)``: the simplest setting whose mean score is close enough to the best one.

    Parameters
    ----------
    complexity : callable
        Takes a setting, a dict of parameters, and returns a number: the smaller, the simpler.
    standard_errors : float
        How far below the best mean score a setting may lie, in standard errors of the best one over the folds. With 0, the
        default, only ties are broken; 1 is the one-standard-error rule.
    score : str
        Name of the score that counts where there are several.

    Notes
    -----
    Of settings that are equally simple the better one is taken, and of equally good ones the first.

    Examples
    --------
    >>> from qed.datasets import make_regression
    >>> from qed.linear_model import Ridge
    >>> from qed.model_selection import GridSearchCV, Simplest
    >>> X, y = make_regression(n_samples=50, n_features=3, noise=20.0, random_state=0)
    >>> rule = Simplest(lambda setting: -setting["alpha"], standard_errors=1.0)
    >>> search = GridSearchCV(Ridge(), {"alpha": [0.01, 0.1, 1.0, 10.0, 100.0]}, refit=rule).fit(X, y)
    >>> search.best_params_["alpha"] >= search.cv_results_["params"][search.cv_results_["rank_test_score"].argmin()]["alpha"]
    True
    """

    complexity: Callable[[dict[str, Any]], float]
    standard_errors: float = 0.0
    score: str = "score"

    def __post_init__(self) -> None:
        """Refuse what is not a rule."""
        if not callable(self.complexity):
            raise InvalidParameter(
                f"Simplest.complexity must be a function of a setting, got {self.complexity!r:.100}. For example:"
                " lambda setting: setting['degree']."
            )
        if not (np.isreal(self.standard_errors) and 0 <= self.standard_errors < np.inf):
            raise InvalidParameter(
                f"Simplest.standard_errors must be a finite real number >= 0, got {self.standard_errors!r}."
            )

    def __call__(self, results: Mapping[str, Any]) -> int:
        """Return the row of ``cv_results_`` to keep."""
        if f"mean_test_{self.score}" not in results:
            known = sorted(name[10:] for name in results if name.startswith("mean_test_"))
            raise InvalidParameter(f"Simplest.score is {self.score!r}, and the search has {', '.join(known)}.")
        mean = np.asarray(results[f"mean_test_{self.score}"], dtype=np.float64)
        if np.isnan(mean).all():
            return 0
        best = int(np.nanargmax(mean))
        folds = sum(name.startswith("split") and name.endswith(f"_test_{self.score}") for name in results)
        spread = float(results[f"std_test_{self.score}"][best])  # with divisor n, as in scikit-learn
        error = spread / np.sqrt(folds - 1) if folds > 1 else 0.0
        least = mean[best] - self.standard_errors * error - ROUNDING * abs(mean[best])
        good = np.flatnonzero(mean >= least)
        return int(min(good, key=lambda k: (self.complexity(results["params"][k]), -mean[k], k)))
