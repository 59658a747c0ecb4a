"""The base class and mixins of scikit-learn's protocol, for estimators that users write: ``from qed.base import BaseEstimator``.

An estimator written for scikit-learn works with these and needs no scikit-learn. qed's own models declare their parameters instead
(`qed.core.Estimator`) and carry certificates.
"""

from __future__ import annotations

import inspect
from typing import Any, Self

import numpy as np

from qed.core import _sklearn
from qed.core._errors import InvalidData, InvalidParameter
from qed.core._estimator import Estimator
from qed.core._roles import Classifier, Regressor, Transformer, _in_chosen_container, _input_names
from qed.core._tables import is_sparse
from qed.core._traits import Traits


class BaseEstimator:
    """An estimator whose parameters are the arguments of its constructor.

    Examples
    --------
    >>> from qed.base import BaseEstimator, RegressorMixin, clone
    >>> class Mean(RegressorMixin, BaseEstimator):
    ...     def __init__(self, shift=0.0):
    ...         self.shift = shift
    ...
    ...     def fit(self, X, y):
    ...         self.mean_ = sum(y) / len(y) + self.shift
    ...         return self
    ...
    ...     def predict(self, X):
    ...         return [self.mean_] * len(X)
    >>> clone(Mean(shift=1.0)).fit([[0], [1]], [1.0, 3.0]).predict([[5]])
    [3.0]
    """

    _role: str | None = None
    _takes_columns = False

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """Return the names of the constructor's arguments, sorted."""
        if cls.__init__ is object.__init__:
            return []
        found = list(inspect.signature(cls.__init__).parameters.values())[1:]
        if any(one.kind == one.VAR_POSITIONAL for one in found):
            raise RuntimeError(
                f"{cls.__name__}.__init__ takes *args: the parameters of an estimator must be named. Write them out."
            )
        return sorted(one.name for one in found if one.kind != one.VAR_KEYWORD)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool
            Whether to include the parameters of estimators that are parameters, as ``outer__inner``.

        Returns
        -------
        dict
            Names and values.
        """
        params: dict[str, Any] = {}
        for name in self._get_param_names():
            value = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                params.update((f"{name}__{key}", one) for key, one in value.get_params().items())
            params[name] = value
        return params

    def set_params(self, **params: Any) -> Self:
        """Change parameters by name; ``outer__inner`` reaches into an estimator that is a parameter.

        Returns
        -------
        self
            The estimator.
        """
        known = self._get_param_names()
        inside: dict[str, dict[str, Any]] = {}
        for name, value in params.items():
            outer, reaches_in, inner = name.partition("__")
            if outer not in known:
                raise InvalidParameter(
                    f"Invalid parameter {outer!r} for estimator {self}. Valid parameters are: {known!r}."
                )
            if reaches_in:
                inside.setdefault(outer, {})[inner] = value
            else:
                setattr(self, name, value)
        for outer, values in inside.items():
            getattr(self, outer).set_params(**values)
        return self

    def __repr__(self) -> str:
        arguments = inspect.signature(type(self).__init__).parameters
        changed = [
            f"{name}={getattr(self, name)!r}"
            for name in arguments
            if name in self._get_param_names() and _differs(getattr(self, name), arguments[name].default)
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    def _traits(self) -> Traits:
        """Return what the mixins say, in the words of qed's models of models."""
        targets: Any = {"classifier": "label", "regressor": "number"}
        return Traits(
            role=self._role,
            target=targets.get(self._role, ""),
            transforms=hasattr(self, "transform"),
            sparse=True,
            multi_output=self._takes_columns,
        )

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags, where it is loaded."""
        return _sklearn.tags(self._traits())


def _differs(value: Any, default: Any) -> bool:
    try:
        return value is not default and bool(value != default)
    except (TypeError, ValueError):
        return True


class ClassifierMixin:
    """Gives a classifier its ``score``: the share of rows whose label is predicted."""

    _role = "classifier"
    _estimator_type = "classifier"

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of ``predict(X)``."""
        return Classifier.score(_as_role(self, "label"), X, y, sample_weight)


class RegressorMixin:
    """Gives a regressor its ``score``: R²."""

    _role = "regressor"
    _estimator_type = "regressor"

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R² of ``predict(X)``."""
        return Regressor.score(_as_role(self, "number"), X, y, sample_weight)


class _AsRole:
    """A user's estimator, seen by the score of a role."""

    def __init__(self, model: Any, target: Any) -> None:
        self.predict = model.predict
        self._target = target

    def _traits(self) -> Traits:
        return Traits(target=self._target, multi_output=True, multi_label=True)


def _as_role(model: Any, target: str) -> Any:
    return _AsRole(model, target)


class TransformerMixin:
    """Gives a transformer ``fit_transform`` and ``set_output``."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Let ``set_output`` decide the container of what the class transforms."""
        super().__init_subclass__(**options)
        for method in ("transform", "fit_transform"):
            if method in cls.__dict__ and hasattr(cls, "get_feature_names_out"):
                setattr(cls, method, _in_chosen_container(cls.__dict__[method]))

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit, and return the transformed rows."""
        model: Any = self
        return (model.fit(X, **fit_params) if y is None else model.fit(X, y, **fit_params)).transform(X)

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose the container of what is transformed: "default", "pandas" or "polars"."""
        model: Any = self
        Transformer.set_output(model, transform=transform)
        return self


class OneToOneFeatureMixin:
    """Names the columns of a transformer that gives one column for each that goes in."""

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the columns that go in."""
        return _input_names(self, input_features)


class ClassNamePrefixFeaturesOutMixin:
    """Names new columns after the class: ``pca0``, ``pca1``; ``_n_features_out`` says how many."""

    def get_feature_names_out(self, input_features: Any = None) -> Any:  # noqa: ARG002
        """Return the class name with a number for each column."""
        owner: Any = self
        prefix = type(self).__name__.lower()
        return np.asarray([f"{prefix}{k}" for k in range(owner._n_features_out)], dtype=object)  # noqa: SLF001


class ClusterMixin:
    """Gives a clusterer ``fit_predict``."""

    _role = "clusterer"
    _estimator_type = "clusterer"

    def fit_predict(self, X: Any, y: Any = None, **fit_params: Any) -> Any:  # noqa: ARG002
        """Fit, and return ``labels_``."""
        model: Any = self
        return model.fit(X, **fit_params).labels_


class OutlierMixin:
    """Gives an outlier detector ``fit_predict``."""

    _role = "outlier_detector"
    _estimator_type = "outlier_detector"

    def fit_predict(self, X: Any, y: Any = None, **fit_params: Any) -> Any:  # noqa: ARG002
        """Fit, and return 1 for inliers and -1 for outliers."""
        model: Any = self
        return model.fit(X, **fit_params).predict(X)


class BiclusterMixin:
    """Gives a model of groups of rows and columns, ``rows_`` and ``columns_``, the parts that they cover."""

    rows_: Any
    columns_: Any

    @property
    def biclusters_(self) -> tuple[Any, Any]:
        """Indicators of rows and of columns."""
        return self.rows_, self.columns_

    def get_indices(self, i: int) -> tuple[Any, Any]:
        """Return the rows and the columns of a bicluster.

        Parameters
        ----------
        i : int
            Its number.

        Returns
        -------
        rows, columns : ndarray of int
            Their numbers.
        """
        check_is_fitted(self)
        if not isinstance(i, int | np.integer) or not -len(self.rows_) <= i < len(self.rows_):
            raise InvalidParameter(f"i must be the number of a bicluster, below {len(self.rows_)}, got {i!r}.")
        return np.flatnonzero(self.rows_[i]), np.flatnonzero(self.columns_[i])

    def get_shape(self, i: int) -> tuple[int, int]:
        """Return how many rows and columns a bicluster has.

        Parameters
        ----------
        i : int
            Its number.

        Returns
        -------
        rows, columns : int
            How many.
        """
        rows, columns = self.get_indices(i)
        return len(rows), len(columns)

    def get_submatrix(self, i: int, data: Any) -> Any:
        """Return the part of a table that a bicluster covers.

        Parameters
        ----------
        i : int
            Its number.
        data : array-like or sparse container of shape (n, p)
            The table.

        Returns
        -------
        ndarray or sparse container
            The part.
        """
        rows, columns = self.get_indices(i)
        table = data.tocsr() if is_sparse(data) else np.asarray(data)
        wanted = (self.rows_.shape[1], self.columns_.shape[1])
        if table.shape != wanted:
            raise InvalidData(f"The data must have the shape {wanted} of the table of fit, got {table.shape}.")
        return table[rows[:, None], columns]


class MultiOutputMixin:
    """Marks an estimator whose target may have several columns."""

    _takes_columns = True


class DensityMixin:
    """Marks a density estimator."""

    _role = "density_estimator"
    _estimator_type = "density_estimator"

    def score(self, X: Any, y: Any = None) -> float:
        """Return the total log-likelihood; an estimator overrides this."""
        raise NotImplementedError(f"{type(self).__name__} defines no score.")


class MetaEstimatorMixin:
    """Marks an estimator of estimators."""


def role_of(estimator: Any) -> str | None:
    """Return what an estimator, of qed or another library, is: "classifier", "regressor", ...; None if it is neither."""
    own = getattr(estimator, "_traits", None)
    if own is not None:
        role: str | None = own().role
        return role
    tags = getattr(estimator, "__sklearn_tags__", None)
    if tags is not None:
        kind: str | None = tags().estimator_type
        return kind
    return getattr(estimator, "_estimator_type", None)


def is_classifier(estimator: Any) -> bool:
    """Tell whether an estimator predicts labels."""
    return role_of(estimator) == "classifier"


def is_regressor(estimator: Any) -> bool:
    """Tell whether an estimator predicts numbers."""
    return role_of(estimator) == "regressor"


def is_clusterer(estimator: Any) -> bool:
    """Tell whether an estimator puts rows into groups."""
    return role_of(estimator) == "clusterer"


def is_outlier_detector(estimator: Any) -> bool:
    """Tell whether an estimator tells outliers from the rest."""
    return role_of(estimator) == "outlier_detector"


def check_is_fitted(estimator: Any, attributes: Any = None, *, msg: str | None = None, all_or_any: Any = all) -> None:
    """Raise NotFitted unless an estimator has been fitted.

    Parameters
    ----------
    estimator : object
        An estimator, of qed or written for scikit-learn.
    attributes : str or list of str, optional
        Attributes that a fit sets; by default any that ends in an underscore.
    msg : str, optional
        The message; ``%(name)s`` stands for the class.
    all_or_any : callable
        Whether all of the attributes must be there, or any.
    """
    from qed.core._errors import NotFitted  # noqa: PLC0415

    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise TypeError(f"{estimator!r:.80} is not an estimator instance.")
    if attributes is not None:
        listed = [attributes] if isinstance(attributes, str) else attributes
        fitted = all_or_any([hasattr(estimator, name) for name in listed])
    elif hasattr(estimator, "__sklearn_is_fitted__"):
        fitted = estimator.__sklearn_is_fitted__()
    else:
        fitted = any(name.endswith("_") and not name.startswith("__") for name in vars(estimator))
    if isinstance(estimator, Estimator) and not estimator._traits().requires_fit:  # noqa: SLF001
        fitted = True
    if not fitted:
        words = msg or (
            "This %(name)s instance is not fitted yet. Call 'fit' with appropriate arguments before using this estimator."
        )
        raise NotFitted(words % {"name": type(estimator).__name__})


def check_n_features(estimator: Any, X: Any, *, reset: bool) -> None:
    """Remember the number of columns of a fit, or compare new rows with it."""
    if reset:
        estimator.n_features_in_ = int(X.shape[1])
    elif X.shape[1] != getattr(estimator, "n_features_in_", X.shape[1]):
        raise InvalidData(
            f"X has {X.shape[1]} features, but {type(estimator).__name__} is expecting {estimator.n_features_in_} features as"
            " input."
        )
