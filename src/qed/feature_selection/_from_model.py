"""Columns that a fitted model makes much of."""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np

from qed.certificates import CompositeCertificate  # noqa: TC001  (names the type of an attribute)
from qed.certificates._composite import composite_certificate
from qed.core import KW_ONLY, Array, InvalidData, InvalidParameter, NotFitted, Traits, clone, fitted, param
from qed.core._parts import copies_with, copy_columns, traits_of
from qed.core._routing import RoutesToOne
from qed.feature_selection._importances import importances, require_model
from qed.feature_selection._selector import Selector

ABOVE_ZERO = 1e-5  # coefficients that an l1 penalty left at zero, up to what a solver leaves there


class SelectFromModel(Selector, RoutesToOne):
    """Keep the columns whose coefficients or importances in a model are large.

    Objective
    ---------
    Importances of at least the threshold, and of these at most ``max_features``, the largest ones.

    Certificate
    -----------
    CompositeCertificate: the model keeps its own, and which columns are kept is a function of the fitted model and the parameters.

    Cost
    ----
    One fit of the model.

    See Also
    --------
    l1_selection : The columns of a lasso whose number is chosen by cross-validation.

    Examples
    --------
    >>> from qed.datasets import make_regression
    >>> from qed.feature_selection import SelectFromModel
    >>> from qed.linear_model import Lasso
    >>> X, y = make_regression(100, 6, n_informative=2, noise=1.0, shuffle=False, random_state=0)
    >>> SelectFromModel(Lasso(alpha=1.0)).fit(X, y).get_support(indices=True).tolist()
    [0, 1]
    """

    estimator: Any = param(None, "The model; a copy of it is fitted.")
    _: KW_ONLY
    threshold: Any = param(
        None,
        "The least importance that is kept: a number, 'mean', 'median' or a multiple such as '1.25*mean'. None is 1e-5 for models"
        " with an l1 penalty and the mean for others.",
    )
    prefit: bool = param(False, "Whether the model is fitted already.")
    norm_order: Any = param(1, "Which norm of the coefficients of several targets or classes.")
    max_features: Any = param(None, "How many columns are kept at most: a number, or a function of X.")
    importance_getter: Any = param(
        "auto",
        "Where importances are: 'auto' for coef_ or feature_importances_, the path of an attribute, or a function of the model.",
    )

    estimator_: Any = fitted("The fitted model.", check=copies_with())
    max_features_: int | None = fitted("How many columns are kept at most; None for any number.", low=0, optional=True)
    certificate_: CompositeCertificate = fitted("The certificate of the model.")

    def fit(self, X: Any, y: Any = None, **fit_params: Any) -> Self:
        """Fit the model.

        Parameters
        ----------
        y : array-like of shape (n,) or (n, m), optional
            Targets, for models that need them.
        **fit_params : object
            Passed to ``fit`` of the model.
        """
        self._begin(X)
        if not self.prefit:
            self.estimator_ = clone(self.estimator)
            self.estimator_.fit(X, y, **self._options_inside(fit_params))
        return self._end()

    @property
    def partial_fit(self) -> Any:
        """Learn from more rows, ``partial_fit(X, y=None, **params)``, where the model can."""
        if not hasattr(self.estimator, "partial_fit"):
            raise AttributeError(f"{type(self.estimator).__name__} in this SelectFromModel has no partial_fit.")
        return self._learn_more

    def _learn_more(self, X: Any, y: Any = None, **params: Any) -> Self:
        if "estimator_" not in self.__dict__:
            self._begin(X)
            if not self.prefit:
                self.estimator_ = clone(self.estimator)
        if not self.prefit:
            self.estimator_.partial_fit(X, y, **params)
        return self._end()

    def _begin(self, X: Any) -> None:
        self._validate_params()
        require_model("SelectFromModel", self.estimator)
        wish = self.max_features(X) if callable(self.max_features) else self.max_features
        if wish is not None and (isinstance(wish, bool) or not isinstance(wish, int | np.integer) or wish < 0):
            raise InvalidParameter(
                f"SelectFromModel.max_features must be an integer >= 0, a function of X or None, got {wish!r}."
            )
        if isinstance(self.norm_order, bool) or not (
            isinstance(self.norm_order, int | float) and (abs(self.norm_order) >= 1)
        ):
            raise InvalidParameter(
                f"SelectFromModel.norm_order must be a number of size >= 1 or infinite, got {self.norm_order!r}."
            )
        self.max_features_ = None if wish is None else int(wish)
        if self.prefit:
            _require_fitted(self.estimator)
            self.estimator_ = copy.deepcopy(self.estimator)

    def _end(self) -> Self:
        copy_columns(self, self.estimator_)
        self.certificate_ = composite_certificate([("estimator", self.estimator_)])
        self._kept()  # a threshold or a getter that makes no sense is told here
        return self

    @property
    def threshold_(self) -> float:
        """The least importance that is kept."""
        self._check_is_fitted()
        return _threshold(self.estimator_, self._importances(), self.threshold)

    def _importances(self) -> Array:
        return importances(self.estimator_, self.importance_getter, self.norm_order)

    def _kept(self) -> Array:
        if "estimator_" not in self.__dict__:
            raise NotFitted("This SelectFromModel instance is not fitted yet. Call 'fit' first.")
        sizes = self._importances()
        columns = self.__dict__.get("n_features_in_", len(sizes))  # a model of another library may not say
        if sizes.shape != (columns,):
            raise InvalidData(
                f"The model of this SelectFromModel counts {sizes.shape} columns, and the rows of its fit have {columns}. Fit"
                " again, or load the model from its file."
            )
        kept = np.ones(len(sizes), dtype=bool)
        if self.max_features_ is not None:
            kept[np.argsort(-sizes, kind="stable")[self.max_features_ :]] = False
        return np.asarray(kept & ~(sizes < self.threshold_))

    def _traits(self) -> Traits:
        own: Traits = super()._traits()
        if self.estimator is None or isinstance(self.estimator, type):
            return own
        inner = traits_of(self.estimator)
        return own._replace(
            target=inner.target, sparse=inner.sparse, allow_nan=inner.allow_nan, positive_only=inner.positive_only
        )


def _require_fitted(model: Any) -> None:
    is_fitted = getattr(model, "__sklearn_is_fitted__", None)
    learnt = (
        is_fitted() if is_fitted is not None else any(name.endswith("_") and name[0] != "_" for name in vars(model))
    )
    if not learnt:
        raise NotFitted(
            "When `prefit=True`, `estimator` is expected to be a fitted estimator. Fit it first, or use prefit=False."
        )


def has_l1_penalty(model: Any) -> bool:
    """Tell whether a model leaves coefficients at zero: by its penalty, its share of l1, or its name."""
    name = type(model).__name__
    if getattr(model, "penalty", None) == "l1" or "Lasso" in name:
        return True
    share = getattr(model, "l1_ratio_", getattr(model, "l1_ratio", None))
    mixed = name in ("ElasticNet", "ElasticNetCV", "LogisticRegression", "LogisticRegressionCV")
    return mixed and share is not None and bool(np.all(np.isclose(np.asarray(share, dtype=np.float64), 1.0)))


def _threshold(model: Any, sizes: Array, wish: Any) -> float:
    """Return the least importance that is kept."""
    if wish is None:
        wish = ABOVE_ZERO if has_l1_penalty(model) else "mean"
    if not isinstance(wish, str):
        if isinstance(wish, bool) or not isinstance(wish, int | float | np.number):
            raise InvalidParameter(f"SelectFromModel.threshold must be a number, a string or None, got {wish!r}.")
        return float(wish)
    factor, star, reference = wish.rpartition("*")
    if reference.strip() not in ("mean", "median"):
        raise InvalidParameter(
            f"Expected threshold='mean' or threshold='median', or a multiple such as '1.25*mean', got {wish!r}."
        )
    try:
        times = float(factor) if star else 1.0
    except ValueError as error:
        raise InvalidParameter(f"SelectFromModel.threshold is {wish!r}, and {factor!r} is no number.") from error
    return times * float(np.mean(sizes) if reference.strip() == "mean" else np.median(sizes))
