"""Columns as given functions, bumps and pieces: a linear model in them is a curve in the columns."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from qed.certificates import ExactCertificate, Uncertified
from qed.core import KW_ONLY, Array, InvalidParameter, Positive, PositiveInt, Transformer, fitted, param
from qed.core._roles import _input_names

_KNOWN: dict[str, Any] = {
    "1": np.ones_like,
    "x": np.positive,
    "x^2": np.square,
    "x^3": lambda x: x * x * x,
    "sin": np.sin,
    "cos": np.cos,
    "exp": np.exp,
    "log": np.log,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "sign": np.sign,
    "relu": lambda x: np.maximum(x, 0),
}


class BasisFunctions(Transformer):
    r"""Basis expansion: given functions of each column, side by side.

    Objective
    ---------
    .. math:: \phi(x_j) = (f_1(x_j), \ldots, f_k(x_j))

    Certificate
    -----------
    Uncertified: nothing is learnt, and the functions are the user's.

    Cost
    ----
    That of the functions.

    Notes
    -----
    A function is a word of a short list (``"1"``, ``"x"``, ``"x^2"``, ``"x^3"``, ``"sin"``, ``"cos"``, ``"exp"``, ``"log"``,
    ``"log1p"``, ``"sqrt"``, ``"abs"``, ``"sign"``, ``"relu"``) or anything that can be called with an array. Models with words
    alone can be saved.

    Examples
    --------
    >>> from qed.preprocessing import BasisFunctions
    >>> basis = BasisFunctions(["1", "x", "x^2"]).fit([[2.0], [3.0]])
    >>> basis.transform([[2.0], [3.0]])
    array([[1., 2., 4.],
           [1., 3., 9.]])
    >>> basis.get_feature_names_out(["t"]).tolist()
    ['1(t)', 'x(t)', 'x^2(t)']
    """

    functions: Any = param(("x", "x^2"), "Words, functions, or a dict of names and either.")

    certificate_: Uncertified = fitted("Nothing is claimed, and why.")

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Look at the columns; nothing is learnt."""
        self._validate_params()
        self._named()
        self._fit_data(X)
        self.certificate_ = Uncertified("nothing is learnt, and the functions are the user's")
        return self

    def _named(self) -> list[tuple[str, Any]]:
        given = self.functions
        if isinstance(given, dict):
            pairs = list(given.items())
        elif isinstance(given, list | tuple):
            pairs = [
                (one if isinstance(one, str) else getattr(one, "__name__", f"f{k}"), one) for k, one in enumerate(given)
            ]
        else:
            raise InvalidParameter(f"BasisFunctions.functions must be a list or a dict, got {given!r}.")
        strange = [one for _, one in pairs if not (callable(one) or (isinstance(one, str) and one in _KNOWN))]
        if strange or not pairs:
            raise InvalidParameter(
                f"BasisFunctions.functions must be functions or words of {', '.join(_KNOWN)}; got {strange!r}."
            )
        return [(str(name), _KNOWN[one] if isinstance(one, str) else one) for name, one in pairs]

    def transform(self, X: Any) -> Any:
        """Apply every function to every column.

        Returns
        -------
        ndarray or frame of shape (n, p k)
            The functions of the first column, then of the second, and so on.
        """
        X = self._new_data(X)
        named = self._named()
        out = np.empty((len(X), X.shape[1] * len(named)), X.dtype)
        for j in range(X.shape[1]):
            for k, (_, function) in enumerate(named):
                out[:, j * len(named) + k] = function(X[:, j])
        return out

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Name the columns that come out: ``function(column)``."""
        self._check_is_fitted()
        named = [name for name, _ in self._named()]
        inside = _input_names(self, input_features)
        return np.asarray([f"{name}({column})" for column in inside for name in named], dtype=object)


def _goes_with_centers(model: Any, width: Any) -> str:
    return (
        ""
        if (model.centers is None) == isinstance(width, np.ndarray)
        else "should be one for each column without centers"
    )


class RadialBasis(Transformer):
    r"""Radial basis functions: Gaussian features around centres.

    Objective
    ---------
    .. math:: \phi_k(x) = \exp\left(-\|x - c_k\|^2 / (2 w^2)\right)

    Certificate
    -----------
    ExactCertificate: centres and width are a function of the rows, or given.

    Cost
    ----
    O(n p k).

    Notes
    -----
    Without ``centers`` every column gets ``n_centers`` bumps of its own, at equal distances from its least to its largest entry,
    and a width of one distance.

    Examples
    --------
    >>> from qed.preprocessing import RadialBasis
    >>> RadialBasis(centers=[[0.0], [1.0]], width=1.0).fit_transform([[0.0]]).round(3)
    array([[1.   , 0.607]])
    """

    n_centers: PositiveInt = param(5, "Bumps for each column, if no centres are given.")
    _: KW_ONLY
    centers: Any = param(None, "Centres, an array of shape (k, p): one bump for each row, in all columns together.")
    width: Positive | None = param(
        None, "Width of the bumps; the distance of neighbours by default (1 for given centres)."
    )

    centers_: Array = fitted(
        "The centres: (k, p), or without ``centers`` those of each column, (n_centers, p).",
        shape="(c, p)",
        length="at least 1",
    )
    width_: float | Array = fitted(
        "The width, or without ``centers`` that of each column.", shape="(p,)", above=0, check=_goes_with_centers
    )
    certificate_: ExactCertificate = fitted("What is proven about the fit.")

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Place the bumps."""
        data = self._fit_data(X)
        if self.centers is None:
            low, high = data.X.min(axis=0).astype(np.float64), data.X.max(axis=0).astype(np.float64)
            self.centers_ = np.linspace(low, high, self.n_centers)
            step = (high - low) / max(self.n_centers - 1, 1)
            self.width_ = np.where(step > 0, step, 1.0) if self.width is None else np.full(len(low), float(self.width))
        else:
            self.centers_ = np.asarray(self.centers, dtype=np.float64)
            if self.centers_.ndim != 2 or self.centers_.shape[1] != data.X.shape[1]:
                raise InvalidParameter(
                    f"RadialBasis.centers must have a column for each of the {data.X.shape[1]} columns of X, got shape"
                    f" {self.centers_.shape}."
                )
            self.width_ = 1.0 if self.width is None else float(self.width)
        self.certificate_ = ExactCertificate(f"centres for {data.X.shape[1]} columns", data.n_rows, 8 * 2.0**-53)
        return self

    def transform(self, X: Any) -> Any:
        """Evaluate the bumps.

        Returns
        -------
        ndarray or frame
            One column for each bump.
        """
        X = self._new_data(X)
        if self.centers is None:
            distance = (X[:, :, np.newaxis] - self.centers_.T) / np.asarray(self.width_)[:, np.newaxis]
            return np.exp(-0.5 * distance * distance).reshape(len(X), -1).astype(X.dtype, copy=False)
        out = np.empty((len(X), len(self.centers_)), X.dtype)
        for k, centre in enumerate(self.centers_):
            step = (X - centre) / self.width_
            out[:, k] = np.exp(-0.5 * np.einsum("ij,ij->i", step, step))
        return out

    def _n_features_out(self) -> int:
        return int(self.centers_.size if self.centers is None else len(self.centers_))


class PiecewiseBasis(Transformer):
    r"""Piecewise constant or piecewise linear basis functions between knots.

    Objective
    ---------
    .. math:: \phi(x) = (1[x < k_1], 1[k_1 \le x < k_2], \ldots) \quad\text{or}\quad (x, (x - k_1)_+, (x - k_2)_+, \ldots)

    Certificate
    -----------
    ExactCertificate: the knots are a function of the rows, or given.

    Cost
    ----
    O(n p k).

    Examples
    --------
    >>> from qed.preprocessing import PiecewiseBasis
    >>> PiecewiseBasis(knots=[[1.0]], degree=1).fit_transform([[0.0], [3.0]])
    array([[0., 0.],
           [3., 2.]])
    """

    n_knots: PositiveInt = param(3, "Inner knots for each column, at quantiles, if no knots are given.")
    _: KW_ONLY
    knots: Any = param(None, "Knots of each column: one list for every column.")
    degree: Literal[0, 1] = param(0, "0 for steps, 1 for hinges.")

    knots_: list[Array] = fitted("Knots of each column, in order.", length="p", shape="(*,)", order="rising")
    certificate_: ExactCertificate = fitted("What is proven about the fit.")

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Place the knots."""
        data = self._fit_data(X)
        p = data.X.shape[1]
        if self.knots is None:
            levels = np.linspace(0, 1, self.n_knots + 2)[1:-1]
            self.knots_ = [np.unique(np.quantile(data.X[:, j].astype(np.float64), levels)) for j in range(p)]
        else:
            if len(self.knots) != p:
                raise InvalidParameter(
                    f"PiecewiseBasis.knots must list knots for each of {p} columns, got {len(self.knots)} lists."
                )
            self.knots_ = [np.unique(np.asarray(one, dtype=np.float64)) for one in self.knots]
        self.certificate_ = ExactCertificate(f"knots of {p} columns", data.n_rows, 8 * 2.0**-53)
        return self

    def transform(self, X: Any) -> Any:
        """Evaluate the pieces.

        Returns
        -------
        ndarray or frame
            The pieces of each column, column after column.
        """
        X = self._new_data(X)
        blocks = []
        for j, knots in enumerate(self.knots_):
            column = X[:, j]
            if self.degree == 0:
                place = np.searchsorted(knots, column, side="right")
                blocks.append(np.arange(len(knots) + 1) == place[:, np.newaxis])
            else:
                blocks.append(np.column_stack([column, np.maximum(column[:, np.newaxis] - knots, 0)]))
        return np.hstack(blocks).astype(X.dtype, copy=False)

    def _n_features_out(self) -> int:
        return int(sum(len(knots) + 1 for knots in self.knots_))
