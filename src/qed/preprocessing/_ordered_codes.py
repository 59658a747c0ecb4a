"""Codes that keep more than equality: thermometers keep order, factors keep what values are made of."""

from __future__ import annotations

import re
from typing import Any, Literal, Self

import numpy as np

from qed.certificates import ExactCertificate
from qed.core import KW_ONLY, Array, InvalidData, InvalidParameter, Transformer, fitted, param
from qed.core._mixed import Column, MixedTable, fit_table, new_table
from qed.core._params import DType  # noqa: TC001  (what parameters may hold)
from qed.core._roles import _input_names
from qed.preprocessing._categories import CountedTable, numbered, places, refuse_unknown
from qed.preprocessing._one_hot import learnt_categories
from qed.preprocessing._patterns import why_not_simple_ones


class ThermometerEncoder(Transformer, allow_nan=False, categorical=True, keeps_dtype=False):
    r"""Thermometer (unary) encoding of ordered values: the j-th of m levels has its first j columns on.

    Objective
    ---------
    .. math:: z_{i, (j, l)} = 1 \text{ if } x_{ij} \ge l \text{ else } 0

    Certificate
    -----------
    ExactCertificate: the levels are exactly the values that occur.

    Cost
    ----
    One pass over the entries, hashed; m numbers for each entry.

    Notes
    -----
    The number of columns in which two codes differ is the number of levels between the values, so a linear model can give every
    step its own height.

    Examples
    --------
    >>> from qed.preprocessing import ThermometerEncoder
    >>> ThermometerEncoder(levels=[["low", "middle", "high"]]).fit_transform([["middle"], ["high"]])
    array([[1., 1., 0.],
           [1., 1., 1.]])
    """

    _: KW_ONLY
    levels: Any = param(
        "auto", "Levels of each column, from low to high; 'auto' for the values that occur, in their order."
    )
    handle_unknown: Literal["error", "ignore"] = param(
        "error", "Whether values that are no level raise, or turn nothing on."
    )
    dtype: DType = param(np.float64, "Type of the result.")

    categories_: list[Array] = fitted(
        "Levels of each column, from low to high.", length="p", dtype="label", shape="(*,)", finite=False, nan=True
    )
    certificate_: ExactCertificate = fitted("What is proven about the fit.")

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn the levels of each column.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows of words or numbers.
        """
        table = fit_table(self, X)
        plain = table if isinstance(self.levels, str) else _as_objects(table)
        self.categories_, _, _ = learnt_categories(
            CountedTable(plain), self.levels, refuse=self.handle_unknown == "error"
        )
        self.certificate_ = ExactCertificate(f"levels of {len(self.categories_)} columns", table.n_rows, 0.0)
        return self

    def transform(self, X: Any) -> Any:
        """Encode rows.

        Returns
        -------
        ndarray or frame
            Zeros and ones.
        """
        table = new_table(self, X)
        blocks = []
        for j, column in enumerate(table.columns):
            place, unknown = places(column, self.categories_[j])
            if self.handle_unknown == "error":
                refuse_unknown(unknown, j, "transform")
            blocks.append(np.arange(len(self.categories_[j])) <= place[:, np.newaxis])
        return np.hstack(blocks).astype(self.dtype)

    def inverse_transform(self, X: Any) -> Any:
        """Give the levels back; None where nothing is on.

        Parameters
        ----------
        X : array-like of shape (n, columns)
            Encoded rows.

        Returns
        -------
        ndarray of shape (n, p)
            Levels.
        """
        self._check_is_fitted()
        X, ends = np.asarray(X), np.cumsum([len(one) for one in self.categories_])
        if X.ndim != 2 or X.shape[1] != ends[-1]:
            raise InvalidData(
                f"Shape of the passed X data is not correct. Expected {ends[-1]} columns, got {X.shape[-1]}."
            )
        blocks = []
        for known, end in zip(self.categories_, ends, strict=True):
            on = X[:, end - len(known) : end] > 0.5
            if (on[:, 1:] & ~on[:, :-1]).any():
                raise InvalidData("This is no thermometer code: a level is on whose predecessor is off.")
            count = on.sum(axis=1)
            found = known[np.maximum(count - 1, 0)]
            if (count == 0).any():
                found = found.astype(object)
                found[count == 0] = None
            blocks.append(found)
        out = np.empty((len(X), len(blocks)), np.result_type(*[block.dtype for block in blocks]))
        for j, block in enumerate(blocks):
            out[:, j] = block
        return out

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Name the columns that come out: name of the column, ``>=``, level."""
        self._check_is_fitted()
        inside = _input_names(self, input_features)
        pairs = zip(inside, self.categories_, strict=True)
        return np.asarray([f"{name}>={level}" for name, known in pairs for level in known.tolist()], dtype=object)


def _as_objects(table: MixedTable) -> MixedTable:
    """See columns as objects, so that levels may be listed in any order."""
    return table._replace(columns=[Column(column.dense.astype(object)) for column in table.columns], whole=None)


def _are_of_its_columns(model: Any, parts: list[list[Array]]) -> str:
    p = model.n_features_in_ if model.factors is None else 0
    words = all(isinstance(one, str) for column in parts for place in column for one in place.tolist())
    return "" if words and len(parts) == p else f"should be words for each of {p} columns"


class FactoredEncoder(Transformer, categorical=True, keeps_dtype=False):
    r"""Encoding of structured values part by part, each part in columns of its own.

    Objective
    ---------
    .. math:: z_i = (\phi_1(x_i), \phi_2(x_i), \ldots)

    Certificate
    -----------
    ExactCertificate: the parts are exactly those that occur.

    Cost
    ----
    One look at every distinct value.

    Notes
    -----
    With ``factors`` each name stands for a bit: whether its pattern is found in the value. Without, values are split at
    ``separator``, and each place has one column for every part that occurs there.

    Examples
    --------
    >>> from qed.preprocessing import FactoredEncoder
    >>> blood = FactoredEncoder(factors={"A": "A", "B": "B", "rhesus": r"\+"})
    >>> blood.fit_transform([["AB+"], ["O-"], ["B+"]])
    array([[1., 1., 1.],
           [0., 0., 0.],
           [0., 1., 1.]])
    """

    _: KW_ONLY
    factors: Any = param(
        None, "Regular expression for each name: the bit is on where it is found.", in_files=why_not_simple_ones
    )
    separator: str = param("|", "Where values are split when there are no factors.")
    handle_unknown: Literal["error", "ignore"] = param(
        "error", "Whether parts that the fit has not seen raise, or turn nothing on."
    )
    dtype: DType = param(np.float64, "Type of the result.")

    categories_: list[list[Array]] = fitted(
        "Without factors: for each column, the parts that occur at each place.",
        dtype="object",
        shape="(*,)",
        check=_are_of_its_columns,
    )
    certificate_: ExactCertificate = fitted("What is proven about the fit.")

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn the parts of the values of each column.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Rows of structured values.
        """
        self._validate_params()
        self._require_factors()
        table = fit_table(self, X)
        self.categories_ = []
        if self.factors is None:
            self.categories_ = [self._parts_of(column) for column in table.columns]
        self.certificate_ = ExactCertificate(f"parts of {len(table.columns)} columns", table.n_rows, 0.0)
        return self

    def _require_factors(self) -> None:
        if self.factors is None:
            if not isinstance(self.separator, str) or not self.separator:
                raise InvalidParameter(f"FactoredEncoder.separator must be a word, got {self.separator!r}.")
            return
        if not isinstance(self.factors, dict) or not self.factors:
            raise InvalidParameter(
                f"FactoredEncoder.factors must be a dict of names and patterns, got {self.factors!r}."
            )
        for name, pattern in self.factors.items():
            try:
                re.compile(pattern)
            except (re.error, TypeError) as error:
                raise InvalidParameter(
                    f"Factor {name!r} has the pattern {pattern!r}, which cannot be read: {error}."
                ) from error

    def _parts_of(self, column: Column) -> list[Any]:
        split = [str(one).split(self.separator) for one in numbered(column).values.tolist()]
        most = max(map(len, split))
        return [
            np.array(sorted({parts[place] for parts in split if len(parts) > place}), dtype=object)
            for place in range(most)
        ]

    def transform(self, X: Any) -> Any:
        """Encode rows.

        Returns
        -------
        ndarray or frame
            Zeros and ones.
        """
        self._require_factors()
        table = new_table(self, X)
        return np.hstack([self._coded(column, j) for j, column in enumerate(table.columns)])

    def _coded(self, column: Column, j: int) -> Array:
        found = numbered(column)
        words = [str(one) for one in found.values.tolist()]
        if self.factors is not None:
            patterns = [re.compile(pattern) for pattern in self.factors.values()]
            bits = [[pattern.search(word) is not None for pattern in patterns] for word in words]
            return np.array(bits, dtype=self.dtype)[found.codes]
        places_known = self.categories_[j]
        starts = np.concatenate([[0], np.cumsum([len(known) for known in places_known])]).astype(int)
        code = np.zeros((len(words), starts[-1]), self.dtype)
        for at, word in enumerate(words):
            for place, part in enumerate(word.split(self.separator)):
                known = places_known[place].tolist() if place < len(places_known) else []
                if part in known:
                    code[at, starts[place] + known.index(part)] = 1
                elif self.handle_unknown == "error":
                    refuse_unknown([part], j, "transform")
        return code[found.codes]

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Name the columns that come out: name of the column, underscore, factor or part."""
        self._check_is_fitted()
        names = []
        for j, name in enumerate(_input_names(self, input_features)):
            if self.factors is not None:
                names += [f"{name}_{factor}" for factor in self.factors]
            else:
                names += [f"{name}_{place}_{part}" for place, known in enumerate(self.categories_[j]) for part in known]
        return np.asarray(names, dtype=object)
