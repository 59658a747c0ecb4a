"""A function as a transformer."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np

from qed.certificates import Uncertified
from qed.core import KW_ONLY, InvalidDataType, InvalidParameter, Transformer, fitted, param
from qed.core._params import AnyFunction  # noqa: TC001  (what parameters may hold)
from qed.core._tables import is_sparse


def _why_no_function(value: Any) -> str:
    return "" if value is None or isinstance(value, np.ufunc) else "should be a function of numbers of NumPy"


def _why_no_way_to_name(value: Any) -> str:
    return "" if value is None or isinstance(value, str) else "should be 'one-to-one' or None"


def _why_no_arguments(value: Any) -> str:
    return "should be None: files hold functions of one number" if value else ""


class FunctionTransformer(Transformer, sparse=True, allow_nan=True, requires_fit=False):
    r"""Transformer that applies a function.

    Objective
    ---------
    .. math:: z = f(x)

    Certificate
    -----------
    Uncertified: the function is the user's, and nothing is known about it.

    Cost
    ----
    That of the function.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.preprocessing import FunctionTransformer
    >>> FunctionTransformer(np.log1p).fit_transform(np.array([[0.0, 1.0]])).round(3)
    array([[0.   , 0.693]])
    """

    func: AnyFunction | None = param(
        None, "The function of a table; None for the table itself.", in_files=_why_no_function
    )
    inverse_func: AnyFunction | None = param(None, "Its inverse.", in_files=_why_no_function)
    _: KW_ONLY
    validate: bool = param(False, "Whether the table is read as numbers first.")
    accept_sparse: bool = param(False, "Whether sparse tables are let in when the table is read.")
    check_inverse: bool = param(True, "Whether to check on some rows that the inverse is one.")
    feature_names_out: Any = param(
        None,
        "Names of the columns that come out: 'one-to-one', or a function of model and names.",
        in_files=_why_no_way_to_name,
    )
    kw_args: dict[str, Any] | None = param(None, "Further arguments of the function.", in_files=_why_no_arguments)
    inv_kw_args: dict[str, Any] | None = param(None, "Further arguments of the inverse.", in_files=_why_no_arguments)

    certificate_: Uncertified = fitted("Nothing is claimed, and why.")

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Look at the columns; nothing is learnt.

        Parameters
        ----------
        X : table of n rows
            Rows, as the function takes them.
        """
        self._validate_params()
        X = self._let_in(X, first=True)
        if self.check_inverse and self.func is not None and self.inverse_func is not None:
            self._check(X)
        self.certificate_ = Uncertified("the function is the user's, and nothing is known about it")
        return self

    def _traits(self) -> Any:
        sparse = not self.validate or self.accept_sparse
        return super()._traits()._replace(sparse=sparse, validates=self.validate, allow_nan=not self.validate)

    def _let_in(self, X: Any, *, first: bool) -> Any:
        if self.validate:
            return self._fit_data(X).X if first else self._new_data(X)
        if first:
            shape = getattr(X, "shape", None)
            table = np.asarray(X) if shape is None else X
            if len(table.shape) == 2:
                self.n_features_in_ = int(table.shape[1])
                columns = getattr(X, "columns", None)
                self.__dict__.pop("feature_names_in_", None)
                if columns is not None and all(isinstance(name, str) for name in columns):
                    self.feature_names_in_ = np.asarray(list(columns), dtype=object)
        return X

    def _check(self, X: Any) -> None:
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        some = slice(None, None, max(1, n // 100))
        part = X.iloc[some] if hasattr(X, "iloc") else X[some]
        try:
            back = self._applied(self.inverse_func, self._applied(self.func, part, self.kw_args), self.inv_kw_args)
            before, after = (one.toarray() if is_sparse(one) else np.asarray(one) for one in (part, back))
            if np.allclose(before.astype(float), after.astype(float), rtol=1e-7, atol=0, equal_nan=True):
                return
        except (TypeError, ValueError) as error:
            raise InvalidParameter(
                f"'check_inverse' is only supported when all the elements in `X` is numerical: {error}"
            ) from error
        warnings.warn(
            "The provided functions are not strictly inverse of each other. If you are sure you want to proceed regardless, set"
            " 'check_inverse=False'.",
            stacklevel=4,
        )

    @staticmethod
    def _applied(function: Any, X: Any, options: Any) -> Any:
        if function is None:
            return X
        try:
            return function(X, **(options or {}))
        except TypeError as error:
            if not isinstance(function, np.ufunc):
                raise  # what the user's own function says
            raise InvalidDataType(f"numpy.{function.__name__} does not take a {type(X).__name__}: {error}") from error

    def transform(self, X: Any) -> Any:
        """Apply the function.

        Parameters
        ----------
        X : table of n rows
            Rows.

        Returns
        -------
        object
            What the function returns.
        """
        return self._applied(self.func, self._let_in(X, first=False), self.kw_args)

    def inverse_transform(self, X: Any) -> Any:
        """Apply the inverse.

        Parameters
        ----------
        X : table of n rows
            Transformed rows.

        Returns
        -------
        object
            What the inverse returns.
        """
        if self.validate:
            X = self._fit_data(X, reset=False).X if "n_features_in_" in self.__dict__ else X
        return self._applied(self.inverse_func, X, self.inv_kw_args)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Name the columns that come out, if ``feature_names_out`` says how."""
        how = self.feature_names_out
        if how is None:
            if self.func is None:
                return super().get_feature_names_out(input_features)
            raise AttributeError(
                "This FunctionTransformer does not name its columns: say feature_names_out='one-to-one'."
            )
        if isinstance(how, str) and how == "one-to-one":
            return super().get_feature_names_out(input_features)
        if not callable(how):
            raise InvalidParameter(
                f'feature_names_out={how!r} is invalid. It must either be "one-to-one" or a callable.'
            )
        inside = super().get_feature_names_out(input_features)
        return np.asarray(list(how(self, inside)), dtype=object)
