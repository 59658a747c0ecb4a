"""Names that scikit-learn's scripts import before they use an experimental model; here they change nothing.

::

    from qed.experimental import enable_halving_search_cv  # as in scikit-learn, and not needed
    from qed.model_selection import HalvingGridSearchCV
"""

from __future__ import annotations

__all__ = ["enable_halving_search_cv", "enable_hist_gradient_boosting", "enable_iterative_imputer"]

#: Does nothing: `HalvingGridSearchCV` and `HalvingRandomSearchCV` need no permission.
enable_halving_search_cv = "qed.model_selection.HalvingGridSearchCV and HalvingRandomSearchCV are always there"
#: Does nothing: `HistGradientBoostingClassifier` and `HistGradientBoostingRegressor` need no permission.
enable_hist_gradient_boosting = "qed.ensemble.HistGradientBoostingClassifier and its regressor are always there"
#: Does nothing: `IterativeImputer` needs no permission.
enable_iterative_imputer = "qed.impute.IterativeImputer is always there"
