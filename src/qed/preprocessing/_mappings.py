"""Rows that are dicts of names and values, as columns: one for each name, or one that a hash of the name decides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from numbers import Number as AnyNumber
from typing import Annotated, Any, Literal, NamedTuple, Self

import numpy as np

from qed.certificates import ExactCertificate, Uncertified
from qed.core import KW_ONLY, InvalidData, InvalidDataType, Transformer, fitted, param
from qed.core._params import DType  # noqa: TC001  (what parameters may hold)
from qed.core._rules import Number
from qed.core._tables import csr, is_sparse
from qed.preprocessing import _kernels
from qed.preprocessing._text import Vocabulary

Array = np.ndarray[Any, Any]

MOST_COLUMNS = 2**31 - 1  # hashes have 32 bits


class Entries(NamedTuple):
    """What rows hold: entry k is ``values[k]`` in column ``columns[places[k]]``; row i ends before entry ``ends[i + 1]``."""

    columns: list[Any]
    places: Array
    values: Array
    ends: Array


def _rows(X: Any, owner: str) -> list[Any]:
    """Return the rows; one dict is one row."""
    if isinstance(X, Mapping):
        return [X]
    if isinstance(X, str | bytes) or not isinstance(X, Iterable):
        raise InvalidDataType(
            f"{owner} takes an iterable of rows, and got {X!r:.60} of type {type(X).__name__}. Of a pandas frame, pass"
            " frame.to_dict('records')."
        )
    rows = list(X)
    if not rows:
        raise InvalidData(f"The sequence of rows is empty, and {owner} needs at least one row.")
    return rows


def _pairs_of_dicts(rows: list[Any], owner: str) -> tuple[list[Any], list[Any], Array]:
    """Return names, values, and how many there are in each row."""
    is_other = set(map(type, rows)) != {dict}
    for row in rows if is_other else ():
        if not isinstance(row, Mapping):
            raise InvalidDataType(
                f"A row of {owner} is a dict of names and values, and {row!r:.60} is of type {type(row).__name__}. Of a pandas"
                " frame, pass frame.to_dict('records')."
            )
    names, lengths = list(chain.from_iterable(rows)), np.fromiter(map(len, rows), np.int64, len(rows))
    return names, list(chain.from_iterable(map(Mapping.values if is_other else dict.values, rows))), lengths


def _entries(names: list[Any], values: list[Any], lengths: Array, separator: str, dtype: Any) -> Entries:
    """Give columns numbers in the order of their first entries; a name with a word is written once, however often it occurs."""
    ends = np.concatenate([[0], np.cumsum(lengths)])
    columns, places = _numbered(names)
    words = {kind for kind in set(map(type, values)) if issubclass(kind, str)}
    if not words:
        return Entries(columns, places, _numbers(values, dtype), ends)
    is_word = np.fromiter([type(value) in words for value in values], bool, len(values))
    told, word_of = _numbered([value if type(value) in words else None for value in values])
    pairs, first, inverse = np.unique(places * len(told) + word_of, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    found = [(columns[pair // len(told)], told[pair % len(told)]) for pair in pairs[order].tolist()]
    written = [name if word is None else f"{name}{separator}{word}" for name, word in found]
    ones = np.ones(len(values), dtype)
    if not is_word.all():
        numbers = np.flatnonzero(~is_word)
        ones[numbers] = _numbers([values[k] for k in numbers.tolist()], dtype)
    return Entries(written, rank[inverse], ones, ends)


def _numbered(listed: list[Any]) -> tuple[list[Any], Array]:
    """Return what is different, in the order of its first place, and the number of each."""
    found: Any = Vocabulary()
    numbers = np.fromiter(map(found.__getitem__, listed), np.int64, len(listed))
    return list(found), numbers


def _numbers(values: list[Any], dtype: Any) -> Array:
    try:
        made = np.array(values, dtype=dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidData(f"A value is no number that {np.dtype(dtype)} can hold: {error}.") from error
    if made.ndim != 1:
        raise InvalidData(f"A value is no number that {np.dtype(dtype)} can hold: it has several parts.")
    return made


def _require_names(names: list[Any], accepted: tuple[type, ...], owner: str) -> None:
    strange = tuple(kind for kind in set(map(type, names)) if not issubclass(kind, accepted))
    if strange:
        name = next(name for name in names if isinstance(name, strange))
        raise InvalidDataType(
            f"feature names must be strings: in the rows of {owner}, {name!r:.60} is of type {type(name).__name__}. Pass"
            " str(name)."
        )


class DictVectorizer(Transformer, table=False, mappings=True, keeps_dtype=False):
    r"""Feature vectors from dicts: one column for each numeric name, one-hot columns for strings.

    Objective
    ---------
    .. math:: z_{ij} = \text{the value of name } j \text{ in row } i \text{; a word } w \text{ of } f \text{ is a one of } f{=}w

    Certificate
    -----------
    ExactCertificate: the columns are exactly the names that occur.

    Cost
    ----
    One pass over the rows; a sparse result.

    Examples
    --------
    >>> from qed.preprocessing import DictVectorizer
    >>> rows = [{"city": "Oslo", "degrees": 4.0}, {"city": "Rome", "degrees": 15.0}]
    >>> model = DictVectorizer(sparse=False)
    >>> model.fit_transform(rows)
    array([[ 1.,  0.,  4.],
           [ 0.,  1., 15.]])
    >>> model.get_feature_names_out().tolist()
    ['city=Oslo', 'city=Rome', 'degrees']
    """

    _: KW_ONLY
    dtype: DType = param(np.float64, "Type of the result.")
    separator: str = param("=", "What stands between a name and its word in the name of a column.")
    sparse: bool = param(True, "Whether the result is a SciPy CSR container.")
    sort: bool = param(True, "Whether columns are in the order of their names; else as they first occur.")

    vocabulary_: dict[str, int] = fitted("Names of the columns and their numbers.", permutation=True)
    certificate_: ExactCertificate | Uncertified = fitted("What is proven about the fit.")

    @property
    def feature_names_(self) -> list[str]:
        """Names of the columns, in order."""
        self._check_is_fitted()
        return sorted(self.vocabulary_, key=self.vocabulary_.__getitem__)

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn the names.

        Parameters
        ----------
        X : iterable of dict
            Rows: names, and for each a number, None (which becomes NaN), a word or several words.
        y : None
            Not looked at.
        """
        self._learn(X)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:  # noqa: ARG002
        """Learn the names and return the rows, in one pass.

        Parameters
        ----------
        X : iterable of dict
            Rows.
        y : None
            Not looked at.
        **fit_params : dict
            None are known.

        Returns
        -------
        CSR container or ndarray of shape (n, names)
            Values.
        """
        if fit_params:
            raise TypeError(f"DictVectorizer.fit takes no {', '.join(fit_params)}.")
        return self._made(self._learn(X))

    def _learn(self, X: Any) -> Entries:
        self._validate_params()
        entries = self._read(X)
        found = dict.fromkeys(entries.columns)
        self.vocabulary_ = {name: number for number, name in enumerate(sorted(found) if self.sort else found)}
        self.certificate_ = ExactCertificate(f"{len(found)} names", len(entries.ends) - 1, 0.0)
        return entries

    def _read(self, X: Any) -> Entries:
        names, values, lengths = _pairs_of_dicts(_rows(X, "DictVectorizer"), "DictVectorizer")
        _require_names(names, (str,), "DictVectorizer")
        single = (str, type(None), AnyNumber, np.bool_)
        if any(not issubclass(kind, single) for kind in set(map(type, values))):
            listed = [
                [value] if isinstance(value, single) else _words(name, value)
                for name, value in zip(names, values, strict=True)
            ]
            counts = np.fromiter(map(len, listed), np.int64, len(listed))
            lengths = np.bincount(np.repeat(np.arange(len(lengths)), lengths), counts, len(lengths)).astype(np.int64)
            names = [name for name, own in zip(names, listed, strict=True) for _ in own]
            values = list(chain.from_iterable(listed))
        return _entries(names, values, lengths, self.separator, self.dtype)

    def _made(self, entries: Entries) -> Any:
        """Return the table of entries; those whose column the fit did not see are left out."""
        number = np.array([self.vocabulary_.get(name, -1) for name in entries.columns], dtype=np.int32)
        places = number[entries.places]
        values, ends = entries.values, entries.ends
        known = places >= 0
        if not known.all():
            ends = np.concatenate([[0], np.cumsum(known)])[ends]
            places, values = places[known], values[known]
        made = csr(values, places, ends, (len(ends) - 1, len(self.vocabulary_)))
        made.sum_duplicates()
        return made if self.sparse else made.toarray()

    def transform(self, X: Any) -> Any:
        """Return the values of the names of the fit; other names are left out.

        Parameters
        ----------
        X : iterable of dict
            Rows.

        Returns
        -------
        CSR container or ndarray of shape (n, names)
            Values.
        """
        self._check_is_fitted()
        return self._made(self._read(X))

    def inverse_transform(self, X: Any, dict_type: type = dict) -> list[Any]:
        """Return the dicts of rows; of words the name of their column, and one.

        Parameters
        ----------
        X : array-like or sparse container of shape (n, names)
            Values.
        dict_type : type
            What to make for each row.

        Returns
        -------
        list of dict_type
            Names and values that are not zero.
        """
        from scipy import sparse  # noqa: PLC0415

        names = self.feature_names_
        rows = X.tocsr(copy=True) if is_sparse(X) else sparse.csr_matrix(np.asarray(X))
        if rows.shape[1] != len(names):
            raise InvalidData(f"X has {rows.shape[1]} columns, and this DictVectorizer has {len(names)} names.")
        rows.sum_duplicates()
        rows.eliminate_zeros()
        out = []
        for start, end in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
            own = dict_type()
            own.update(zip([names[j] for j in rows.indices[start:end]], rows.data[start:end], strict=True))
            out.append(own)
        return out

    def restrict(self, support: Any, indices: bool = False) -> Self:
        """Keep some of the columns, in place; what is left is then no longer certified.

        Parameters
        ----------
        support : array-like
            True for columns that stay, or their numbers.
        indices : bool
            Whether ``support`` holds numbers.

        Returns
        -------
        self
            With fewer columns.
        """
        names = self.feature_names_
        chosen = np.asarray(support) if indices else np.flatnonzero(support)
        if not indices and np.shape(support) != (len(names),):
            raise InvalidData(f"support should be {len(names)} times True or False, got shape {np.shape(support)}.")
        if chosen.size and not (chosen.min() >= 0 and chosen.max() < len(names)):
            raise InvalidData(f"support names columns outside of 0 to {len(names) - 1}.")
        kept = dict.fromkeys(names[j] for j in chosen.tolist())
        self.vocabulary_ = {name: number for number, name in enumerate(kept)}
        self.certificate_ = Uncertified("columns were chosen after the fit")
        return self

    def get_feature_names_out(self, input_features: Any = None) -> Array:  # noqa: ARG002
        """Name the columns.

        Parameters
        ----------
        input_features : None
            Not looked at; dicts have no columns.
        """
        return np.array(self.feature_names_, dtype=object)


def _words(name: Any, value: Any) -> list[str]:
    """Return the words of a value that is a list or set of them."""
    if isinstance(value, Mapping) or not isinstance(value, Iterable):
        raise InvalidDataType(
            f"Unsupported value type {type(value)} for {name!r}: a value is a number, None, a word or several words."
        )
    listed = list(value)
    strange = [one for one in listed if not isinstance(one, str)]
    if strange:
        raise InvalidDataType(
            f"Unsupported type {type(strange[0])} in iterable value of {name!r}. Only iterables of string are supported."
        )
    return listed


class FeatureHasher(Transformer, table=False, mappings=True, requires_fit=False, keeps_dtype=False):
    r"""Feature hashing: names and values in columns chosen by a hash function, without a vocabulary.

    Objective
    ---------
    .. math:: z_{ic} = \sum_{f \in \text{row } i :\; h(f) = c} \pm x_{if}

    Certificate
    -----------
    ExactCertificate: nothing is learnt, so nothing can be wrong.

    Cost
    ----
    One pass over the rows; every distinct name is hashed once (MurmurHash3, 32 bits, as everywhere).

    Examples
    --------
    >>> from qed.preprocessing import FeatureHasher
    >>> rows = [{"dog": 1, "cat": 2, "elephant": 4}, {"dog": 2, "run": 5}]
    >>> FeatureHasher(n_features=10).transform(rows).toarray()
    array([[ 0.,  0., -4., -1.,  0.,  0.,  0.,  0.,  0.,  2.],
           [ 0.,  0.,  0., -2., -5.,  0.,  0.,  0.,  0.,  0.]])
    """

    n_features: Annotated[int, Number(low=1, high=MOST_COLUMNS, whole=True)] = param(2**20, "Number of columns.")
    _: KW_ONLY
    input_type: Literal["dict", "pair", "string"] = param(
        "dict", "Whether a row is a dict of names and values, pairs of them, or names alone, each of which counts one."
    )
    dtype: DType = param(np.float64, "Type of the result.")
    alternate_sign: bool = param(True, "Whether half of the names count negatively, so that collisions cancel.")

    certificate_: ExactCertificate = fitted("What is proven about the fit.")

    def _traits(self) -> Any:
        kind = self.input_type
        return super()._traits()._replace(mappings=kind == "dict", strings=kind == "string")

    def fit(self, X: Any = None, y: Any = None) -> Self:  # noqa: ARG002
        """Validate the parameters; nothing is learnt.

        Parameters
        ----------
        X : iterable
            Rows, not looked at.
        y : None
            Not looked at.
        """
        self._validate_params()
        self.certificate_ = ExactCertificate("nothing is learnt", 0, 0.0)
        return self

    def _pairs(self, rows: list[Any]) -> tuple[list[Any], list[Any], Array]:
        """Return names, values, and how many there are in each row."""
        if self.input_type == "dict":
            return _pairs_of_dicts(rows, "FeatureHasher")
        what = "names" if self.input_type == "string" else "pairs of a name and a value"
        for row in rows:
            if isinstance(row, str | bytes) or not isinstance(row, Iterable):
                raise InvalidData(
                    f"Samples can not be a single string: with input_type={self.input_type!r} a row is an iterable of {what}, and"
                    f" {row!r:.60} is of type {type(row).__name__}."
                )
        listed = [list(row) for row in rows]
        lengths = np.fromiter(map(len, listed), np.int64, len(listed))
        items = list(chain.from_iterable(listed))
        if self.input_type == "string":
            return items, [1] * len(items), lengths
        if not all(isinstance(item, tuple | list) and len(item) == 2 for item in items):
            raise InvalidData(f"With input_type='pair' a row is an iterable of {what}, and one of them is no pair.")
        return [name for name, _ in items], [value for _, value in items], lengths

    def transform(self, raw_X: Any) -> Any:
        """Add up values in the columns of their names.

        Parameters
        ----------
        raw_X : iterable
            Rows, as ``input_type`` says.

        Returns
        -------
        CSR container of shape (n, n_features)
            Sums.
        """
        self._validate_params()
        names, values, lengths = self._pairs(_rows(raw_X, "FeatureHasher"))
        _require_names(names, (str, bytes), "FeatureHasher")
        entries = _entries(names, values, lengths, "=", self.dtype)
        found, ends = entries.values, entries.ends
        if found.dtype.kind == "f" and not np.isfinite(found).all():
            raise InvalidData(
                "FeatureHasher adds up finite numbers, and a value is none. Leave such names out of the row."
            )
        hashes = _kernels.hashed(entries.columns).astype(np.int64)
        columns = (np.abs(hashes) % self.n_features).astype(np.int32)[entries.places]
        if self.alternate_sign:
            found = np.where((hashes >= 0)[entries.places], found, -found)
        there = found != 0
        if not there.all():
            ends = np.concatenate([[0], np.cumsum(there)])[ends]
            columns, found = columns[there], found[there]
        made = csr(found, columns, ends, (len(ends) - 1, self.n_features))
        made.sum_duplicates()
        return made
