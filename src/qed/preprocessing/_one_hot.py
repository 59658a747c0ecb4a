"""One column for each category."""

from __future__ import annotations

import warnings
from typing import Any, Literal, Self

import numpy as np

from qed.certificates import ExactCertificate
from qed.core import KW_ONLY, Array, Fraction, InvalidData, InvalidParameter, PositiveInt, Transformer, fitted, param
from qed.core._mixed import new_table
from qed.core._params import DType  # noqa: TC001  (what parameters may hold)
from qed.core._roles import _input_names
from qed.preprocessing._categories import (
    CountedTable,
    Numbered,
    counted_table,
    given_categories,
    is_nan,
    numbered,
    places,
    refuse_unknown,
)
from qed.preprocessing._rare import grouping, rare_ones
from qed.preprocessing._sparse import compressed_ones


def learnt_categories(seen: CountedTable, given: Any, *, refuse: bool) -> tuple[list[Any], list[Array], list[Array]]:
    """Return the categories of each column, the place of each entry (-1: none of them), and how often each occurs."""
    table = seen.table
    if not (isinstance(given, str) and given == "auto"):
        if not isinstance(given, list | tuple):
            raise InvalidParameter(f"categories must be 'auto' or a list of one list for each column, got {given!r}.")
        if len(given) != len(table.columns):
            raise InvalidParameter("Shape mismatch: if categories is an array, it has to be of shape (n_features,).")
    categories, codes, counts = [], [], []
    for j, column in enumerate(table.columns):
        if isinstance(given, str):
            found: Numbered = numbered(column)
            categories.append(found.values)
            codes.append(found.codes)
        else:
            known = given_categories(given[j], column, j)
            place, unknown = places(column, known)
            if refuse:
                refuse_unknown(unknown, j, "fit")
            categories.append(known)
            codes.append(place)
        counts.append(seen.counts(j, codes[-1], len(categories[-1])))
    return categories, codes, counts


def are_places(model: Any, listed: Any) -> str:
    """Say what is wrong with places in ``categories_``: of one category a column, or of several; None for none."""
    for known, given in zip(model.categories_, () if listed is None else listed, strict=listed is not None):
        own = np.atleast_1d(np.asarray([] if given is None else given))
        whole = own.dtype.kind == "i" or not own.size
        if not whole or len(np.unique(own)) != len(own) or (own.size and not 0 <= own.min() <= own.max() < len(known)):
            return f"should name different ones of {len(known)} categories"
        if given is not None and not own.size:
            return "should name a category or be None"
    return ""


def _why_no_combiner(value: Any) -> str:
    return "" if isinstance(value, str) else "should be 'concat': files hold no functions of names"


class OneHotEncoder(Transformer, chunks=True, allow_nan=True, categorical=True, keeps_dtype=False):
    r"""One-hot encoding: one column of zeros and ones for each category.

    Objective
    ---------
    .. math:: z_{i, (j, c)} = 1 \text{ if } x_{ij} = c \text{ else } 0

    Certificate
    -----------
    ExactCertificate: the categories are exactly the values that occur.

    Cost
    ----
    One pass over the entries, hashed; a sparse result holds one number for each entry. ``fit_transform`` reads once.

    Notes
    -----
    Columns may hold words or numbers, and gaps: None and NaN are categories like others. Frames of pandas, polars and Arrow are
    read as they are, and what they already keep as categories is not looked up again.

    Examples
    --------
    >>> from qed.preprocessing import OneHotEncoder
    >>> encoder = OneHotEncoder(sparse_output=False, handle_unknown="ignore").fit([["red"], ["blue"]])
    >>> encoder.transform([["blue"], ["green"]])
    array([[1., 0.],
           [0., 0.]])
    >>> encoder.get_feature_names_out(["colour"])
    array(['colour_blue', 'colour_red'], dtype=object)
    """

    _: KW_ONLY
    categories: Any = param("auto", "Categories of each column, in order; 'auto' for those that occur.")
    drop: Any = param(None, "Category without a column: 'first', 'if_binary', or one for each column of X.")
    sparse_output: bool = param(True, "Whether the result is a SciPy CSR container.")
    dtype: DType = param(np.float64, "Type of the result.")
    handle_unknown: Literal["error", "ignore", "infrequent_if_exist", "warn"] = param(
        "error", "What becomes of values that the fit has not seen."
    )
    min_frequency: PositiveInt | Fraction | None = param(
        None, "Rows, or share of rows, below which a category is rare."
    )
    max_categories: PositiveInt | None = param(None, "Most categories of a column, all rare ones together being one.")
    feature_name_combiner: Any = param(
        "concat", "How a name is made: 'concat', or a function of column and category.", in_files=_why_no_combiner
    )

    categories_: list[Array] = fitted(
        "Categories of each column, in order.", length="p", dtype="label", shape="(*,)", finite=False, nan=True
    )
    drop_idx_: Array | None = fitted(
        "Place of the category without a column, for each column of X; None without ``drop``.",
        dtype="object",
        shape="(p,)",
        check=are_places,
    )
    rare_: list[Array | None] = fitted(
        "Places of the rare categories of each column; None where no one is rare.",
        length="p",
        dtype="int",
        shape="(*,)",
        check=are_places,
    )
    certificate_: ExactCertificate = fitted("What is proven about the fit.")

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn the categories of each column.

        Parameters
        ----------
        X : array-like or frame of shape (n, p), or a source from ``qed.scan``
            Rows of words, numbers or gaps.
        """
        self._learn(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:  # type: ignore[override]  # noqa: ARG002
        """Learn the categories and encode the same rows, in one pass.

        Returns
        -------
        CSR container, ndarray or frame
            Zeros and ones.
        """
        self._refuse_sparse_frames()
        codes = self._learn(X)
        return self._encoded(codes, len(codes[0]))

    def _learn(self, X: Any) -> list[Array]:
        seen = counted_table(self, X)
        categories, codes, counts = learnt_categories(seen, self.categories, refuse=self.handle_unknown == "error")
        self.categories_ = categories
        self.rare_ = [None] * len(categories)
        if self._groups:
            self.rare_ = [
                rare_ones(count, seen.table.n_rows, self.min_frequency, self.max_categories) for count in counts
            ]
        self.drop_idx_ = self._dropped()
        self.certificate_ = ExactCertificate(f"categories of {len(categories)} columns", seen.table.n_rows, 0.0)
        return codes

    @property
    def _groups(self) -> bool:
        return self.min_frequency is not None or self.max_categories is not None

    @property
    def infrequent_categories_(self) -> list[Any]:
        """The rare categories of each column; None where no one is rare."""
        if not self._groups:
            raise AttributeError("infrequent_categories_ is there with min_frequency or max_categories.")
        self._check_is_fitted()
        pairs = zip(self.categories_, self.rare_, strict=True)
        return [None if rare is None else known[rare] for known, rare in pairs]

    # -- which columns come out --------------------------------------------------------------------------

    def _dropped(self) -> Any:
        if self.drop is None:
            return None
        groups = [grouping(len(known), rare) for known, rare in zip(self.categories_, self.rare_, strict=True)]
        if isinstance(self.drop, str):
            if self.drop not in ("first", "if_binary"):
                raise InvalidParameter(
                    f"OneHotEncoder.drop must be 'first', 'if_binary' or an array, got {self.drop!r}."
                )
            always = self.drop == "first"
            chosen = [0 if always or group.max() == 1 else None for group in groups]
            chosen = [
                place if place is None else int(np.flatnonzero(g == 0)[0])
                for place, g in zip(chosen, groups, strict=True)
            ]
        else:
            chosen = self._dropped_values()
        found = np.empty(len(chosen), object)
        found[:] = chosen
        return found

    def _dropped_values(self) -> list[int | None]:
        wanted = np.asarray(self.drop, dtype=object)
        if wanted.ndim != 1 or len(wanted) != len(self.categories_):
            raise InvalidParameter(
                f"`drop` should have length equal to the number of features ({len(self.categories_)}), got {wanted.size}"
            )
        chosen: list[int | None] = []
        lacking = []
        for j, value in enumerate(wanted):
            known = self.categories_[j]
            at = [i for i, one in enumerate(known.tolist()) if one == value or (is_nan(one) and is_nan(value))]
            if not at:
                lacking.append(f"Category: {j}, Feature: {value}")
                continue
            rare = self.rare_[j]
            if rare is not None and at[0] in rare:
                raise InvalidParameter(f"Unable to drop category {value!r} from feature {j} because it is infrequent")
            chosen.append(int(at[0]))
        if lacking:
            raise InvalidParameter(
                "The following categories were supposed to be dropped, but were not found in the training data.\n"
                + "\n".join(lacking)
            )
        return chosen

    def _columns_of(self, j: int) -> tuple[Array, int]:
        """Return the column of each category of column j (-1: none), the place of unknown values last, and how many."""
        group = grouping(len(self.categories_[j]), self.rare_[j])
        width = int(group.max()) + 1 if len(group) else 0
        unknown = -1
        rare = self.rare_[j]
        if rare is not None and self.handle_unknown in ("infrequent_if_exist", "warn"):
            unknown = int(group[rare[0]])
        table = np.append(group, unknown)
        if self.drop_idx_ is not None and self.drop_idx_[j] is not None:
            gone = group[self.drop_idx_[j]]
            table = np.where(table == gone, -1, table - (table > gone))
            width -= 1
        return table, width

    # -- encoding ----------------------------------------------------------------------------------------

    def transform(self, X: Any) -> Any:
        """Encode rows.

        Returns
        -------
        CSR container, ndarray or frame
            Zeros and ones.
        """
        self._check_is_fitted()
        self._refuse_sparse_frames()
        table = new_table(self, X)
        codes, strange = [], []
        for j, column in enumerate(table.columns):
            place, unknown = places(column, self.categories_[j])
            if unknown:
                if self.handle_unknown == "error":
                    refuse_unknown(unknown, j, "transform")
                strange.append(j)
            codes.append(place)
        if strange and (self.handle_unknown == "warn" or self.drop is not None):
            how = "the infrequent category." if self.handle_unknown != "ignore" else "all zeros"
            warnings.warn(
                f"Found unknown categories in columns {strange} during transform. These unknown categories will be encoded"
                f" as {how}",
                stacklevel=2,
            )
        return self._encoded(codes, table.n_rows)

    def _encoded(self, codes: list[Array], n_rows: int) -> Any:
        tables, widths = zip(*[self._columns_of(j) for j in range(len(codes))], strict=True)
        return compressed_ones(
            codes, list(tables), list(widths), n_rows, np.dtype(self.dtype), sparse=self.sparse_output
        )

    def _refuse_sparse_frames(self) -> None:
        from qed.core import _sklearn  # noqa: PLC0415

        kind = self.__dict__.get("_output") or _sklearn.setting("transform_output", "default")
        if self.sparse_output and kind in ("pandas", "polars"):
            raise InvalidData(
                f"{kind.capitalize()} output does not support sparse data. Set sparse_output=False to output {kind}"
                f' dataframes or disable {kind.capitalize()} output via ` ohe.set_output(transform="default").'
            )

    def inverse_transform(self, X: Any) -> Any:
        """Give the categories back; None where a row has no one.

        Parameters
        ----------
        X : array-like or sparse container of shape (n, columns)
            Encoded rows.

        Returns
        -------
        ndarray of shape (n, p)
            Categories; ``"infrequent_sklearn"`` for the rare ones together.
        """
        self._check_is_fitted()
        X = X.tocsc() if hasattr(X, "tocsc") else np.asarray(X)
        widths = [self._columns_of(j)[1] for j in range(len(self.categories_))]
        if X.ndim != 2 or X.shape[1] != sum(widths):
            raise InvalidData(
                f"Shape of the passed X data is not correct. Expected {sum(widths)} columns, got {X.shape[-1]}."
            )
        blocks, at = [], 0
        for j, width in enumerate(widths):
            blocks.append(self._decoded(X[:, at : at + width], j))
            at += width
        out = np.empty((X.shape[0], len(blocks)), np.result_type(*[block.dtype for block in blocks]))
        for j, block in enumerate(blocks):
            out[:, j] = block
        return out

    def _decoded(self, block: Any, j: int) -> Array:
        known: Array = self.categories_[j]
        table, _ = self._columns_of(j)
        kept = self._named(j)
        n_rows, dropped = block.shape[0], None if self.drop_idx_ is None else self.drop_idx_[j]
        if len(kept) == 0:
            return np.full(n_rows, known[dropped], dtype=known.dtype)
        which = np.asarray(block.argmax(axis=1)).ravel()
        found: Array = kept[which]
        empty = np.asarray(block.sum(axis=1)).ravel() == 0
        if not empty.any():
            return found
        if dropped is not None:
            rare = self.rare_[j]
            is_rare = rare is not None and dropped in rare
            found = found.astype(object) if is_rare else found
            found[empty] = "infrequent_sklearn" if is_rare else known[dropped]
            return found
        if self.handle_unknown == "error" or table[-1] >= 0:
            raise InvalidData(
                f"Samples {np.flatnonzero(empty)} can not be inverted when drop=None and handle_unknown='error' because they"
                " contain all zeros"
            )
        found = found.astype(object)
        found[empty] = None
        return found

    def _named(self, j: int) -> Array:
        """Return what the columns that come out of column j stand for."""
        known: Array = self.categories_[j]
        rare = self.rare_[j]
        group = grouping(len(known), rare)
        gone = None if self.drop_idx_ is None or self.drop_idx_[j] is None else int(group[self.drop_idx_[j]])
        if rare is not None:
            kept = np.delete(np.arange(len(known)), rare)
            known = np.append(known[kept].astype(object), np.array(["infrequent_sklearn"], dtype=object))
        return known if gone is None else np.delete(known, gone)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Name the columns that come out: name of the column, underscore, category."""
        self._check_is_fitted()
        inside = _input_names(self, input_features)
        combine = self.feature_name_combiner
        if not callable(combine):
            if not isinstance(combine, str) or combine != "concat":
                raise InvalidParameter(f"feature_name_combiner must be 'concat' or a function, got {combine!r}.")
            combine = _joined
        names = [combine(name, one) for j, name in enumerate(inside) for one in self._named(j).tolist()]
        if any(not isinstance(name, str) for name in names):
            raise InvalidParameter("When `feature_name_combiner` is a callable, it should return a Python string.")
        return np.asarray(names, dtype=object)


def _joined(name: str, category: Any) -> str:
    return f"{name}_{category}"
