"""The five roles. Each is short: what the role scores, and the method that its name promises."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from qed.core import _on_sources, _sklearn, _tables, _targets, _validation
from qed.core._errors import InvalidData, InvalidParameter, NotFitted
from qed.core._estimator import Estimator

if TYPE_CHECKING:
    from collections.abc import Callable

    from qed.certificates import HeldOutCertificate
    from qed.core._params import Array


MOST_NAMES = 2**22  # a second's work, and 300 MB


class Regressor(Estimator, role="regressor", target="number"):
    """Predicts numbers."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R², averaged over the targets with equal weight.

        Parameters
        ----------
        y : array-like of shape (n,) or (n, m)
            The truth; left out beside a source, which brings its own, and weights.

        Returns
        -------
        float
            One is perfect; zero is what the mean of ``y`` achieves.
        """
        predicted = _numbers(self, X)
        n_rows = len(predicted)
        truth = _targets.read_numbers(y, n_rows, self._traits(), type(self).__name__).astype(np.float64)
        weight = _targets.weights(sample_weight, n_rows)
        return _r_squared(truth.reshape(n_rows, -1), predicted.reshape(n_rows, -1), weight)

    def certify(self, X_held: Any, y_held: Any, delta: float = 0.05, *, coverage: float = 0.9) -> HeldOutCertificate:
        """Bound the errors on new rows by rows that the fit has not seen.

        Parameters
        ----------
        X_held : array-like of shape (n, p)
            Rows drawn like the new ones and kept out of ``fit``.
        y_held : array-like of shape (n,) or (n, m)
            Their truth; with several targets a row's error is its largest.
        delta : float
            Probability that the bound is wrong.
        coverage : float
            Share of new rows that the bound speaks of.

        Returns
        -------
        HeldOutCertificate
            Also kept as ``held_out_``. An infinite bound says that the rows were too few.
        """
        predicted = _numbers(self, X_held)
        n_rows = len(predicted)
        truth = _targets.read_numbers(y_held, n_rows, self._traits(), type(self).__name__)
        _require_targets(truth.reshape(n_rows, -1), predicted.reshape(n_rows, -1))
        errors = np.abs(truth.reshape(n_rows, -1) - predicted.reshape(n_rows, -1)).max(axis=1)
        from qed.certificates import error_quantile  # noqa: PLC0415  (above this package)

        self.held_out_ = error_quantile(errors, delta, coverage)
        return self.held_out_


def _numbers(model: Any, X: Any) -> Array:
    predicted = np.asarray(model.predict(X))
    if predicted.dtype.kind not in "biuf":
        raise InvalidData(
            f"This {type(model).__name__} predicts {predicted.dtype}, and errors are differences of numbers."
        )
    return predicted.astype(np.float64)


def _require_targets(truth: Array, predicted: Array) -> None:
    if truth.shape != predicted.shape:
        raise InvalidData(f"y has {truth.shape[1]} targets, and the model predicts {predicted.shape[1]}.")


def _r_squared(truth: Array, predicted: Array, weight: Array | None) -> float:
    _require_targets(truth, predicted)
    if len(truth) < 2:
        return float("nan")  # one row has no variance to explain
    s = np.ones(len(truth)) if weight is None else weight
    # without BLAS, whose threads cost more than these sums
    residual = np.einsum("i,ij->j", s, (truth - predicted) ** 2)
    total = np.einsum("i,ij->j", s, (truth - np.average(truth, axis=0, weights=s)) ** 2)
    # A constant target is explained perfectly or not at all.
    constant = np.where(residual == 0, 1.0, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = np.where(total == 0, constant, 1 - residual / total)
    return float(scores.mean())


class Classifier(Estimator, role="classifier", target="label"):
    """Predicts one of a finite set of labels."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of rows, by weight, whose label is predicted.

        Parameters
        ----------
        y : array-like of shape (n,)
            The truth; left out beside a source, which brings its own, and weights.

        Returns
        -------
        float
            Between 0 and 1.
        """
        predicted = np.asarray(self.predict(X))  # type: ignore[attr-defined]
        truth = _targets.labels(y, len(predicted), self._traits())
        if truth.shape != predicted.shape:
            raise InvalidData(f"y has shape {truth.shape}, and the model predicts labels of shape {predicted.shape}.")
        right = predicted == truth
        if right.ndim == 2:  # several labels per row: all of them must be right
            right = right.all(axis=1)
        return float(np.average(right, weights=_targets.weights(sample_weight, len(predicted))))

    def certify(self, X_held: Any, y_held: Any, delta: float = 0.05) -> HeldOutCertificate:
        """Bound the error rate on new rows by rows that the fit has not seen.

        Parameters
        ----------
        X_held : array-like of shape (n, p)
            Rows drawn like the new ones and kept out of ``fit``.
        y_held : array-like of shape (n,)
            Their labels.
        delta : float
            Probability that the bound is wrong.

        Returns
        -------
        HeldOutCertificate
            Also kept as ``held_out_``.
        """
        predicted = np.asarray(self.predict(X_held))  # type: ignore[attr-defined]
        truth = _targets.labels(y_held, len(predicted), self._traits())
        if truth.shape != predicted.shape:
            raise InvalidData(
                f"y_held has shape {truth.shape}, and the model predicts labels of shape {predicted.shape}."
            )
        wrong = predicted != truth
        from qed.certificates import error_rate  # noqa: PLC0415  (above this package)

        self.held_out_ = error_rate(wrong if wrong.ndim == 1 else wrong.any(axis=1), delta)
        return self.held_out_


class Clusterer(Estimator, role="clusterer"):
    """Puts rows into groups; ``labels_`` holds the group of each row of the fit."""

    def fit_predict(self, X: Any, y: Any = None, **fit_params: Any) -> Array:
        """Fit, and return the group of each row.

        Parameters
        ----------
        **fit_params : dict
            Passed to ``fit``.

        Returns
        -------
        ndarray of int of shape (n,)
            ``labels_``.
        """
        labels: Array = self.fit(X, y, **fit_params).labels_  # type: ignore[attr-defined]
        return labels


class OutlierDetector(Estimator, role="outlier_detector"):
    """Tells rows that are like the rest (1) from rows that are not (-1)."""

    def fit_predict(self, X: Any, y: Any = None, **fit_params: Any) -> Array:
        """Fit, and return 1 for inliers and -1 for outliers among the rows.

        Parameters
        ----------
        **fit_params : dict
            Passed to ``fit``.

        Returns
        -------
        ndarray of int of shape (n,)
            1 or -1.
        """
        verdict: Array = self.fit(X, y, **fit_params).predict(X)  # type: ignore[attr-defined]
        return verdict


class Transformer(Estimator, role="transformer", transforms=True):
    """Turns rows into other rows, one for one."""

    def __init_subclass__(cls, **traits: Any) -> None:
        """Let ``set_output`` decide the container of what the class itself transforms."""
        for method in ("transform", "fit_transform"):
            if method in cls.__dict__:
                setattr(cls, method, _in_chosen_container(cls.__dict__[method]))
        super().__init_subclass__(**traits)

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit, and return the transformed rows.

        Parameters
        ----------
        y : array-like, optional
            The target, for transformers that look at one.
        **fit_params : dict
            Passed to ``fit``.

        Returns
        -------
        ndarray, sparse container or frame
            As ``transform`` returns.
        """
        return self.fit(X, y, **fit_params).transform(X)  # type: ignore[attr-defined]

    def _transform_source(self, source: Any, *, fits: bool) -> Any:
        """Return the source of transformed rows, which are computed as they are read."""
        return _on_sources.transformed(self.fit(source) if fits else self, source)  # type: ignore[attr-defined]

    def _n_features_out(self) -> int | None:
        """Return the number of columns that come out; None when they are the columns that went in."""
        return None

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Name the columns that come out.

        Returns
        -------
        ndarray of str
            The same names, or ``<class name><number>`` when the columns are new.
        """
        self._check_is_fitted()
        names = _input_names(self, input_features)
        n_out = self._n_features_out()
        if n_out is None:
            return names
        prefix = type(self).__name__.lower()
        require_few_names(n_out, type(self).__name__)
        return np.asarray([f"{prefix}{i}" for i in range(n_out)], dtype=object)

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose the container of ``transform`` and ``fit_transform``.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, optional
            The container. None leaves the choice as it is.

        Returns
        -------
        self
            The model.
        """
        if transform is not None:
            self._output = _container(transform)
        return self


def _container(kind: Any) -> str:
    if kind not in ("default", "pandas", "polars"):
        raise InvalidParameter(f"output config must be in ['default', 'pandas', 'polars'], got {kind!r}")
    return str(kind)


def require_few_names(number: int, owner: str) -> None:
    """Refuse to write more names than anybody reads: a model file of a few bytes can ask for any number of them."""
    if number > MOST_NAMES:
        raise InvalidData(
            f"{owner} has {number:,} columns, and names are written for at most {MOST_NAMES:,}. Use their numbers instead."
        )


def _input_names(model: Any, given: Any) -> Array:
    known, n_columns = model.__dict__.get("feature_names_in_"), getattr(model, "n_features_in_", None)
    if n_columns is None:  # a model that needs no fit to transform still needs one to know its columns
        raise NotFitted(
            f"This {type(model).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments before using this"
            " estimator."
        )
    if given is None:
        if known is not None:
            return np.asarray(known, dtype=object)
        require_few_names(n_columns, type(model).__name__)
        return np.asarray([f"x{i}" for i in range(n_columns)], dtype=object)
    names = np.asarray(given, dtype=object)
    if known is not None and not np.array_equal(known, names):
        raise InvalidData("input_features is not equal to feature_names_in_")
    if len(names) != n_columns:
        raise InvalidData(
            f"input_features should have length equal to number of features ({n_columns}), got {len(names)}"
        )
    return names


def _in_chosen_container(method: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a method so that its result comes in the container that its user chose."""

    @wraps(method)
    def wrapped(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if type(X) is not np.ndarray and _validation.is_source(X):
            return self._transform_source(X, fits=method.__name__ == "fit_transform")
        result = method(self, X, *args, **kwargs)
        kind = self.__dict__.get("_output") or _container(_sklearn.setting("transform_output", "default"))
        if kind == "default" or not (isinstance(result, np.ndarray | tuple) or _tables.is_sparse(result)):
            return result
        if _tables.is_sparse(result):
            raise InvalidData(
                "The transformer outputs a scipy sparse matrix. Try to set the transformer output to a dense array or"
                f" disable {kind.capitalize()} output with set_output(transform='default')."
            )
        from qed.core import _frames  # noqa: PLC0415  (loads narwhals)

        first = result[0] if isinstance(result, tuple) else result
        framed = _frames.in_container(first, self.get_feature_names_out(), X, kind)
        return (framed, *result[1:]) if isinstance(result, tuple) else framed

    return wrapped
