"""What a transformer learnt, held against what its rows give: columns, comparisons and refusals that all checks share."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from typing import Any, NamedTuple, NoReturn

import numpy as np

from qed.core import CertificateError
from qed.core._mixed import MixedTable
from qed.core._mixed import read as read_columns
from qed.core._tables import is_sparse
from qed.core._validation import is_source
from qed.verify._names import called
from qed.verify._refusals import refuse_changed
from qed.verify._streamed import order_statistics, times_of
from qed.verify._summaries import Summary, of_column, of_source

EXTENDED = np.longdouble
DOUBLE = 2.0**-53
Array = np.ndarray[Any, Any]


class Column(NamedTuple):
    """The entries of a column that are there: those that are stored, their weights, and zeros that a sparse table leaves out."""

    x: Array
    s: Array
    zeros: int
    weight_of_zeros: Any

    @property
    def entries(self) -> int:
        """How many entries are there."""
        return len(self.x) + self.zeros

    @property
    def size(self) -> float:
        """The largest size of an entry."""
        return float(np.max(np.abs(self.x), initial=0))

    def sorted(self, *, weighted: bool = False) -> tuple[Array, Array]:
        """Return all entries in order, zeros included, and their weights; with ``weighted`` those of positive weight."""
        x, s = self.x, self.s
        if self.zeros:
            x = np.concatenate([x, np.zeros(self.zeros, EXTENDED)])
            s = np.concatenate([s, np.full(self.zeros, self.weight_of_zeros / self.zeros)])
        if weighted:
            x, s = x[s > 0], s[s > 0]
        order = np.argsort(x, kind="stable")
        return x[order], s[order]


@dataclass
class Learnt:
    """A transformer, its certificate, and the rows that it learnt from."""

    model: Any
    certificate: Any
    X: Any
    y: Any = None
    sample_weight: Any = None

    # -- the rows --------------------------------------------------------------------------------------

    @cached_property
    def n(self) -> int:
        """The number of rows."""
        if is_source(self.X) and self.X.schema.words:
            return int(sum(self.X.each(_rows_of)))
        if is_source(self.X):
            return self._of_source[0]
        return int(self.X.shape[0]) if hasattr(self.X, "shape") else len(self.X)

    @cached_property
    def table(self) -> MixedTable:
        """The columns of a table that is not sparse, of whatever type."""
        return read_columns(self.X, type(self.model).__name__)

    @cached_property
    def p(self) -> int:
        """The number of columns."""
        if is_source(self.X):
            return int(self.X.schema.n_features)
        return int(self.X.shape[1]) if is_sparse(self.X) else len(self.table.columns)

    @cached_property
    def s(self) -> Array:
        """The weights, one each where none are given."""
        if self.sample_weight is None:
            return np.ones(self.n, EXTENDED)
        s = np.asarray(self.sample_weight, dtype=EXTENDED)
        s = np.full(self.n, s) if s.ndim == 0 else s
        if s.shape != (self.n,) or not (np.isfinite(s) & (s >= 0)).all():
            raise CertificateError(
                f"sample_weight must hold {self.n} nonnegative numbers, got an array of shape {s.shape}."
            )
        return s

    @cached_property
    def is_single(self) -> bool:
        """Whether the rows are of float32, which sums and results are then rounded to."""
        if is_sparse(self.X):
            return bool(self.X.dtype == np.float32)
        return all(column.dense.dtype == np.float32 for column in self.table.columns)

    @cached_property
    def is_weighted(self) -> bool:
        """Whether the model learnt from rows with weights."""
        if is_source(self.X):
            return bool(self.X.schema.weighted) and "sample_weight" in signature(type(self.model).fit).parameters
        return self.sample_weight is not None

    @cached_property
    def summaries(self) -> list[Summary]:
        """Count, weight, moments and ends of each column; of a source, in two passes."""
        return self._of_source[1] if is_source(self.X) else [of_column(column) for column in self.columns]

    @cached_property
    def _of_source(self) -> tuple[int, list[Summary]]:
        return of_source(self.X, weighted=self.is_weighted)

    def times(self, j: int) -> Counter[Any]:
        """Return how often each entry of a column occurs, by its key."""
        return self._times[j]

    @cached_property
    def _times(self) -> list[Counter[Any]]:
        if is_source(self.X):
            return times_of(self.X)
        return [Counter(key(one) for one in column.dense.tolist()) for column in self.table.columns]

    def quantiles(self, shares: list[Any]) -> list[tuple[int, float, list[Any]]]:
        """Return for each column its entries, their largest size, and quantiles that are linear between neighbours."""
        if not is_source(self.X):
            return [_quantiles(column.sorted()[0], shares) for column in self.columns]

        def neighbours(n: int) -> list[int]:
            below = [min(int(np.floor(EXTENDED(share) * (n - 1))), n - 1) for share in shares]
            return [*below, *(min(place + 1, n - 1) for place in below)]

        found = []
        for n, values, summary in zip(*order_statistics(self.X, neighbours), self.summaries, strict=True):
            pairs = zip(values[: len(shares)].astype(EXTENDED), values[len(shares) :].astype(EXTENDED), strict=True)
            parts = [EXTENDED(share) * (n - 1) for share in shares]
            own = (
                [a + (part - np.floor(part)) * (b - a) for (a, b), part in zip(pairs, parts, strict=True)] if n else []
            )
            found.append((n, float(summary.size) if n else 0.0, own))
        return found

    @cached_property
    def columns(self) -> list[Column]:
        """The columns as numbers, in extended precision, without gaps; of a sparse table what it stores."""
        if is_sparse(self.X):
            return self._of_sparse()
        found = []
        for column in self.table.columns:
            x = np.asarray(column.dense).astype(np.float64).astype(EXTENDED)  # models learn from doubles
            here = ~np.isnan(x)
            found.append(Column(x[here], self.s[here], 0, EXTENDED(0)))
        return found

    def _of_sparse(self) -> list[Column]:
        table = self.X.tocsc(copy=True)
        table.sum_duplicates()
        whole, found = self.s.sum(), []
        for j in range(self.p):
            part = slice(table.indptr[j], table.indptr[j + 1])
            x, s = table.data[part].astype(EXTENDED), self.s[table.indices[part]]
            here = ~np.isnan(x)
            zeros = self.n - len(x)
            weight = whole - s.sum() if self.sample_weight is not None else EXTENDED(zeros)
            found.append(Column(x[here], s[here], zeros, weight if weight > 0 else EXTENDED(0)))
        return found

    # -- the model -------------------------------------------------------------------------------------

    def refuse(self, words: str) -> NoReturn:
        """Raise: the model and the rows say different things."""
        refuse_changed(self.model, words)

    def require(self, is_so: Any, words: str) -> None:
        """Refuse unless something is so."""
        if not bool(is_so):
            self.refuse(words)

    def require_columns(self) -> None:
        """Refuse a model that stores another number of columns than the rows have, or other names."""
        stored, names = self.model.__dict__.get("n_features_in_"), self.model.__dict__.get("feature_names_in_")
        self.require(
            type(stored) is int and stored == self.p,
            f"learnt from {stored!r:.40} columns, and these rows have {self.p}",
        )
        own = self.X.schema.names if is_source(self.X) else None if is_sparse(self.X) else self.table.names
        listed = None if own is None else [str(name) for name in own]
        known = (
            None if names is None else [str(name) for name in np.atleast_1d(np.asarray(names, dtype=object)).tolist()]
        )
        self.require(known == listed, f"stores the names {known!s:.80}, and the columns are named {listed!s:.80}")

    def require_claim(self, what: str, rows: int, rounding: float) -> None:
        """Refuse a certificate that speaks of something else, or allows more rounding than the computation has."""
        claim = self.certificate
        self.require(claim.what == what, f"claims {claim.what!r:.60}, and what it learnt are {what}")
        if not (isinstance(claim.rows, int) and claim.rows == rows):
            raise CertificateError(
                f"These are not the data of the certificate: {type(self.model).__name__} learnt from {claim.rows} rows, these are"
                f" {rows}. Pass the rows of the fit."
            )
        allowed = isinstance(claim.rounding, int | float) and 0 <= claim.rounding <= rounding
        self.require(allowed, f"states a rounding of {claim.rounding!s:.40}; at most {rounding:.3g} is possible")

    def numbers(self, name: str, shape: tuple[int, ...] | None = None, *, owner: Any = None) -> Array:
        """Return numbers that the model stores, of a stated shape."""
        stored: Any = getattr(self.model if owner is None else owner, name, None)
        is_array = isinstance(stored, np.ndarray) and stored.dtype.kind in "fiu"
        if not is_array or (shape is not None and stored.shape != shape):
            found = f"an array of shape {stored.shape}" if is_array else f"{stored!r:.40}"
            self.refuse(f"stores {found} as {name}, which should hold numbers of shape {shape}")
        return np.asarray(stored.astype(EXTENDED))

    def whole_number(self, name: str, true: int) -> None:
        """Compare a count."""
        stored = getattr(self.model, name, None)
        good = isinstance(stored, int | np.integer) and not isinstance(stored, bool) and stored == true
        self.require(good, f"stores {stored!r:.40} as {name}, and it is {true}")

    def nothing(self, *names: str) -> None:
        """Refuse attributes that the parameters say are None."""
        for name in names:
            stored = getattr(self.model, name, None)
            self.require(stored is None, f"stores {name}, which its parameters switch off")

    def compare(self, what: str, stored: Any, true: Any, slack: Any, j: int | None = None) -> float:
        """Compare numbers, each within its slack, NaN with NaN; return the largest distance.

        Parameters
        ----------
        what : str
            What the numbers are, for the message.
        stored, true : array-like
            Numbers of the model, one for each column or all of column j, and what the rows give.
        slack : array-like
            What rounding may have done.
        j : int, optional
            The column that all numbers are of.
        """
        stored, true = np.atleast_1d(np.asarray(stored, EXTENDED)), np.atleast_1d(np.asarray(true, EXTENDED))
        if stored.shape != true.shape:
            self.refuse(f"stores {what} of shape {stored.shape}, and the rows give {true.shape}")
        with np.errstate(invalid="ignore"):
            off = np.abs(stored - true)
            same = (stored == true) | (np.isnan(stored) & np.isnan(true))
            bound = np.asarray(slack, EXTENDED)
            wrong = np.flatnonzero(~(same | ((off <= bound) & np.isfinite(bound))))
        if len(wrong):
            at = int(wrong[0])
            column = called(self.model, at if j is None else j)
            self.refuse(
                f"stores {what} {float(stored.flat[at]):.10g} for {column}, and the rows give {float(true.flat[at]):.10g}"
            )
        return float(np.max(np.where(same, 0, off), initial=0))


def quantile(x: Array, share: Any) -> Any:
    """Return a quantile of sorted numbers, linear between neighbours."""
    place = EXTENDED(share) * (len(x) - 1)
    below = min(int(np.floor(place)), len(x) - 1)
    return x[below] + (place - below) * (x[min(below + 1, len(x) - 1)] - x[below])


def _rows_of(chunk: Any) -> int:
    return int(chunk.n_rows)


def key(value: Any) -> Any:
    """Return what an entry is compared by: all NaN are one."""
    return ("NaN",) if isinstance(value, float | np.floating) and value != value else value  # noqa: PLR0124


def same_entries(stored: Any, true: list[Any]) -> bool:
    """Tell whether an array of one dimension holds exactly these entries, in this order."""
    if not isinstance(stored, np.ndarray) or stored.shape != (len(true),):
        return False
    return all(
        _is_word(one) == _is_word(other) and key(one) == key(other)
        for one, other in zip(stored.tolist(), true, strict=True)
    )


def _is_word(value: Any) -> bool:
    return isinstance(value, str | bytes)


def _quantiles(x: Array, shares: list[Any]) -> tuple[int, float, list[Any]]:
    """Return of one column, whose entries rise, what `Learnt.quantiles` returns; one column at a time is written out."""
    return len(x), float(np.max(np.abs(x), initial=0)), [quantile(x, share) for share in shares] if len(x) else []
