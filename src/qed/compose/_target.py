"""A regressor that learns a transformed target and predicts in the units of the original."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from qed.certificates import CompositeCertificate
from qed.certificates._composite import composite_certificate
from qed.core import KW_ONLY, InvalidData, InvalidParameter, Regressor, Traits, clone, fitted, param
from qed.core._arrays import require_kind
from qed.core._parts import accepts_weight, copy_columns, models_with, traits_of
from qed.core._routing import RoutesToOne
from qed.core._targets import as_target


def _can_be_undone(model: Any, transformer: Any) -> str:
    return "" if transformer is None else models_with("transform", "inverse_transform")(model, transformer)


class TransformedTargetRegressor(Regressor, RoutesToOne):
    """Regression on a transformed target: fit on ``func(y)``, predict with ``inverse_func``.

    Objective
    ---------
    That of the regressor, on the transformed target.

    Certificate
    -----------
    CompositeCertificate: the regressor and the transformer of the target keep their own; ``qed.verify`` checks both.

    Cost
    ----
    That of the regressor.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.compose import TransformedTargetRegressor
    >>> from qed.linear_model import LinearRegression
    >>> model = TransformedTargetRegressor(LinearRegression(), func=np.log, inverse_func=np.exp)
    >>> model.fit([[1.0], [2.0], [3.0]], np.exp([1.0, 2.0, 3.0])).predict([[4.0]]).round(3)
    array([54.598])
    """

    _inside = "regressor"

    regressor: Any = param(None, "The regressor.")
    _: KW_ONLY
    transformer: Any = param(None, "A transformer of the target; not together with func and inverse_func.")
    func: Any = param(None, "Function of the target.")
    inverse_func: Any = param(None, "Its inverse.")
    check_inverse: bool = param(True, "Whether to check on a few rows that the inverse is one.")

    regressor_: Any = fitted("The fitted regressor.", check=models_with("predict"))
    transformer_: Any = fitted("The fitted transformer of the target; None for plain functions.", check=_can_be_undone)
    certificate_: CompositeCertificate = fitted("The certificates of regressor and transformer.")
    flat_: bool = fitted("Whether the target came as one column without a second dimension.")

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Fit the regressor on the transformed target.

        Parameters
        ----------
        X : table of n rows
            Rows.
        y : array-like of shape (n,) or (n, m)
            Targets.
        sample_weight : array-like of shape (n,), optional
            How often each row counts, for a regressor and a transformer whose ``fit`` takes weights.
        **fit_params : object
            Passed to ``fit`` of the regressor.
        """
        self._validate_params()
        if y is None:
            raise InvalidParameter("TransformedTargetRegressor requires y to be passed, but the target y is None.")
        target = as_target(y, "y")
        require_kind(target, "y")
        if target.dtype.kind not in "f":
            target = target.astype(np.float64)
        if not len(target):
            raise InvalidData(
                "Found array with 0 sample(s): y has no rows. TransformedTargetRegressor needs at least 1."
            )
        self.flat_ = target.ndim == 1
        table = target.reshape(len(target), -1)
        model = clone(self._regressor())
        extra = self._options_inside({**fit_params, "sample_weight": sample_weight}, counts=accepts_weight(model))
        self._learn_transformer(table, extra.get("sample_weight", sample_weight))
        changed = self._forward(table)
        if self.check_inverse:
            self._require_inverse(table, changed)
        model.fit(X, changed[:, 0] if changed.ndim == 2 and changed.shape[1] == 1 else changed, **extra)
        self.regressor_ = model
        copy_columns(self, model)
        self.certificate_ = composite_certificate([("transformer", self.transformer_), ("regressor", model)])
        return self

    def predict(self, X: Any) -> Any:
        """Predict in the units of the original target.

        Parameters
        ----------
        X : table of n rows
            Rows.
        """
        self._check_is_fitted()
        said = np.asarray(self.regressor_.predict(X))
        table = said[:, np.newaxis] if said.ndim == 1 else said
        back = np.asarray(self._backward(table))
        return back[:, 0] if self.flat_ and back.ndim == 2 and back.shape[1] == 1 else back

    def _regressor(self) -> Any:
        if self.regressor is None or not hasattr(self.regressor, "fit"):
            raise InvalidParameter(f"TransformedTargetRegressor.regressor must be a regressor, got {self.regressor!r}.")
        return self.regressor

    def _learn_transformer(self, table: Any, sample_weight: Any) -> None:
        if self.transformer is not None and (self.func is not None or self.inverse_func is not None):
            raise InvalidParameter("'transformer' and functions 'func'/'inverse_func' cannot both be set.")
        if self.transformer is not None and not (
            hasattr(self.transformer, "fit") and hasattr(self.transformer, "transform")
        ):
            raise InvalidParameter(
                f"TransformedTargetRegressor.transformer must have fit and transform, got {self.transformer!r:.200}."
            )
        if (self.func is None) != (self.inverse_func is None):
            lacking = "inverse_func" if self.inverse_func is None else "func"
            raise InvalidParameter(
                f"When one of func and inverse_func is provided, the other must be too; {lacking} is missing."
            )
        self.transformer_ = None if self.transformer is None else clone(self.transformer)
        if self.transformer_ is not None:
            counts = sample_weight is not None and accepts_weight(self.transformer_)
            self.transformer_.fit(table, **({"sample_weight": sample_weight} if counts else {}))

    def _forward(self, table: Any) -> Any:
        if self.transformer_ is not None:
            return np.asarray(self.transformer_.transform(table))
        return table if self.func is None else np.asarray(self.func(table))

    def _backward(self, table: Any) -> Any:
        if self.transformer_ is not None:
            return self.transformer_.inverse_transform(table)
        return table if self.inverse_func is None else self.inverse_func(table)

    def _require_inverse(self, table: Any, changed: Any) -> None:
        import warnings  # noqa: PLC0415

        some = slice(None, None, max(1, len(table) // 10))
        back = np.asarray(self._backward(changed[some]))
        if not np.allclose(table[some], back.reshape(table[some].shape), equal_nan=True):
            warnings.warn(
                "The provided functions or transformer are not strictly inverse of each other. If you are sure you want to proceed"
                " regardless, set 'check_inverse=False'.",
                UserWarning,
                stacklevel=3,
            )

    def _traits(self) -> Traits:
        return super()._traits() if self.regressor is None else traits_of(self.regressor)._replace(poor_score=True)
