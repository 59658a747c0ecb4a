"""Targets as numbers, columns of zeros and ones, or sets."""

from __future__ import annotations

from itertools import chain
from typing import Any, Self

import numpy as np

from qed.certificates import ExactCertificate
from qed.core import KW_ONLY, Array, Estimator, InvalidData, InvalidParameter, fitted, param
from qed.core._mixed import Column
from qed.core._tables import csr, is_sparse
from qed.core._targets import as_target
from qed.preprocessing._categories import Numbered, numbered, places


def _labels(y: Any, owner: str) -> Any:
    """Read labels as an array of one dimension."""
    array = as_target(y, "y")
    if array.dtype.kind == "U" and not hasattr(y, "dtype"):
        array = np.asarray(y, dtype=object) if _is_mixed(y) else array
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InvalidData(
            f"y should be a 1d array, got an array of shape {array.shape} instead; {owner} takes one label a row."
        )
    return array


def _is_mixed(y: Any) -> bool:
    return len({isinstance(one, str) for one in y}) > 1


class LabelEncoder(Estimator, role="transformer", transforms=True, table=False, labels_only=True):
    r"""Labels as the numbers 0, 1, 2 …, in their order.

    Objective
    ---------
    .. math:: z_i = \#\{c \in C : c < y_i\}

    Certificate
    -----------
    ExactCertificate: the classes are exactly the labels that occur.

    Cost
    ----
    One pass over the labels, hashed.

    Examples
    --------
    >>> from qed.preprocessing import LabelEncoder
    >>> encoder = LabelEncoder().fit(["no", "yes", "no"])
    >>> encoder.transform(["yes", "no"])
    array([1, 0])
    >>> encoder.inverse_transform([1]).tolist()
    ['yes']
    """

    classes_: Array = fitted("The labels, in order.", dtype="label", shape="(k,)", finite=False, nan=True)
    certificate_: ExactCertificate = fitted("What is proven about the fit.")

    def fit(self, y: Any) -> Self:
        """Learn the labels.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels.
        """
        self._learn(y)
        return self

    def fit_transform(self, y: Any) -> Array:
        """Learn the labels and return their numbers.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels.

        Returns
        -------
        ndarray of int of shape (n,)
            Numbers.
        """
        return self._learn(y).codes

    def _learn(self, y: Any) -> Numbered:
        self._validate_params()
        found = numbered(Column(_labels(y, "LabelEncoder")))
        self.classes_ = found.values
        self.certificate_ = ExactCertificate("labels", len(found.codes), 0.0)
        return found

    def transform(self, y: Any) -> Array:
        """Return the numbers of labels.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels that the fit has seen.

        Returns
        -------
        ndarray of int of shape (n,)
            Numbers.
        """
        self._check_is_fitted()
        array = _labels(y, "LabelEncoder")
        if len(array) == 0:
            return np.array([])
        codes, unknown = places(Column(array), self.classes_)
        if unknown:
            raise InvalidData(f"y contains previously unseen labels: {unknown}. Fit on all labels that can occur.")
        return codes

    def inverse_transform(self, y: Any) -> Array:
        """Return the labels of numbers.

        Parameters
        ----------
        y : array-like of int of shape (n,)
            Numbers.

        Returns
        -------
        ndarray of shape (n,)
            Labels.
        """
        self._check_is_fitted()
        codes = _labels(y, "LabelEncoder")
        if len(codes) == 0:
            return np.array([])
        strange = np.setdiff1d(codes, np.arange(len(self.classes_)))
        if len(strange):
            raise InvalidData(
                f"y contains previously unseen labels: {strange}. There are {len(self.classes_)} classes."
            )
        found: Array = self.classes_[codes.astype(np.intp)]
        return found


class LabelBinarizer(Estimator, role="transformer", transforms=True, table=False, labels_only=True):
    r"""One-hot encoding of labels: one column for each class, or a single one for two classes.

    Objective
    ---------
    .. math:: z_{ic} = \text{pos\_label if } y_i = c \text{ else neg\_label}

    Certificate
    -----------
    ExactCertificate: the classes are exactly the labels that occur.

    Cost
    ----
    One pass over the labels, hashed.

    Examples
    --------
    >>> from qed.preprocessing import LabelBinarizer
    >>> LabelBinarizer().fit_transform([1, 3, 2])
    array([[1, 0, 0],
           [0, 0, 1],
           [0, 1, 0]])
    >>> LabelBinarizer().fit_transform(["no", "yes"]).ravel()
    array([0, 1])
    """

    _: KW_ONLY
    neg_label: int = param(0, "Number for classes that a row does not have.")
    pos_label: int = param(1, "Number for the class that a row has.")
    sparse_output: bool = param(False, "Whether the result is a SciPy CSR container.")

    classes_: Array = fitted(
        "The labels, in order.", dtype="label", shape="(k,)", length="at least 1", finite=False, nan=True
    )
    y_type_: str = fitted(
        "'binary', 'multiclass' or 'multilabel-indicator'.", one_of=("binary", "multiclass", "multilabel-indicator")
    )
    sparse_input_: bool = fitted("Whether the labels came as a sparse table of zeros and ones.")
    certificate_: ExactCertificate = fitted("What is proven about the fit.")

    def fit(self, y: Any) -> Self:
        """Learn the labels.

        Parameters
        ----------
        y : array-like of shape (n,), or table of zeros and ones of shape (n, k)
            Labels.
        """
        self._validate_params()
        self._require_labels()
        self.sparse_input_ = is_sparse(y)
        table = _indicator(y)
        if table is not None:
            self.classes_, self.y_type_ = np.arange(table.shape[1]), "multilabel-indicator"
            n_rows = table.shape[0]
        else:
            labels = _labels(y, "LabelBinarizer")
            if len(labels) == 0:
                raise InvalidData(f"y has 0 samples: {y!r}. Pass at least one label.")
            _refuse_continuous(labels)
            self.classes_, n_rows = numbered(Column(labels)).values, len(labels)
            self.y_type_ = "multiclass" if len(self.classes_) > 2 else "binary"
        self.certificate_ = ExactCertificate("labels", n_rows, 0.0)
        return self

    def _require_labels(self) -> None:
        if self.neg_label >= self.pos_label:
            raise InvalidParameter(f"neg_label={self.neg_label} must be strictly less than pos_label={self.pos_label}.")
        if self.sparse_output and (self.pos_label == 0 or self.neg_label != 0):
            raise InvalidParameter(
                "Sparse binarization is only supported with non zero pos_label and zero neg_label, got pos_label="
                f"{self.pos_label} and neg_label={self.neg_label}"
            )

    def fit_transform(self, y: Any) -> Any:
        """Learn the labels and return their columns.

        Parameters
        ----------
        y : array-like of shape (n,), or table of zeros and ones of shape (n, k)
            Labels.

        Returns
        -------
        ndarray or CSR container of shape (n, k) or (n, 1)
            Columns.
        """
        return self.fit(y).transform(y)

    def transform(self, y: Any) -> Any:
        """Return the columns of labels; labels that the fit has not seen have none.

        Parameters
        ----------
        y : array-like of shape (n,), or table of zeros and ones of shape (n, k)
            Labels.

        Returns
        -------
        ndarray or CSR container of shape (n, k) or (n, 1)
            Columns.
        """
        self._check_is_fitted()
        table = _indicator(y)
        if table is not None and self.y_type_ != "multilabel-indicator":
            raise InvalidData("The object was not fitted with multilabel input.")
        if table is None:
            codes, _ = places(Column(_labels(y, "LabelBinarizer")), self.classes_)
            if self.y_type_ == "binary":
                table = ((codes == 1) & (len(self.classes_) == 2)).astype(np.int64)[:, np.newaxis]
            elif self.sparse_output:
                known = codes >= 0
                ends = np.concatenate([[0], np.cumsum(known)])
                table = csr(
                    np.ones(ends[-1], np.int64), codes[known], ends, (len(codes), len(self.classes_)), is_sorted=True
                )
            else:
                shape = (len(codes), len(self.classes_))
                filled = np.full(shape, self.neg_label) if self.neg_label else np.zeros(shape, np.int64)
                there = np.flatnonzero(codes >= 0)
                filled[there, codes[there]] = self.pos_label
                return filled
        return self._coloured(table)

    def _coloured(self, table: Any) -> Any:
        if self.sparse_output:
            from scipy import sparse  # noqa: PLC0415

            made = sparse.csr_matrix(table)
            made.data = np.full_like(made.data, self.pos_label)
            return made
        dense = table.toarray() if is_sparse(table) else table
        return np.where(dense != 0, self.pos_label, self.neg_label)

    def inverse_transform(self, Y: Any, threshold: float | None = None) -> Any:
        """Return the labels of columns.

        Parameters
        ----------
        Y : ndarray or sparse container of shape (n, k) or (n, 1)
            Columns, or scores: for several classes the largest wins.
        threshold : float, optional
            For one column, above which the second class is meant; the middle of the two labels by default.

        Returns
        -------
        ndarray of shape (n,), or a table of zeros and ones
            Labels.
        """
        self._check_is_fitted()
        if threshold is None:
            threshold = (self.pos_label + self.neg_label) / 2.0
        scores = Y.toarray() if is_sparse(Y) else np.asarray(Y)
        if self.y_type_ == "multilabel-indicator":
            decided = (scores > threshold).astype(np.int64)
            if self.sparse_input_:
                from scipy import sparse  # noqa: PLC0415

                return sparse.csr_matrix(decided)
            return decided
        if self.y_type_ == "multiclass":
            return self.classes_[np.argmax(scores, axis=1)]
        if scores.ndim == 2 and scores.shape[1] > 2:
            raise InvalidData(f"output_type='binary', but y.shape = {scores.shape}")
        flat = scores[:, -1] if scores.ndim == 2 else scores
        if len(self.classes_) == 1:
            return np.repeat(self.classes_[0], len(flat))
        return self.classes_[(flat > threshold).astype(np.intp)]


def _indicator(y: Any) -> Any:
    """Return a table of zeros and ones with several columns as it is; None for anything else."""
    if is_sparse(y):
        return y
    if isinstance(y, list | tuple) and y and isinstance(y[0], list | tuple | np.ndarray):
        y = np.asarray(y)
    if isinstance(y, np.ndarray) and y.ndim == 2 and y.shape[1] > 1:
        if y.dtype.kind not in "biuf" or not np.isin(y, (0, 1)).all():
            raise InvalidData("Multioutput target data is not supported with label binarization")
        return y
    return None


def _refuse_continuous(labels: Any) -> None:
    if labels.dtype.kind == "f" and (labels != np.floor(labels)).any():
        raise InvalidData("Unknown label type: continuous. Labels are words or whole numbers.")


def label_binarize(y: Any, *, classes: Any, neg_label: int = 0, pos_label: int = 1, sparse_output: bool = False) -> Any:
    """Turn labels into columns, for classes given in advance.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels.
    classes : array-like of shape (k,)
        The classes, in the order of the columns.
    neg_label, pos_label : int
        Numbers for classes that a row does not have, and for the one that it has.
    sparse_output : bool
        Whether the result is a SciPy CSR container.

    Returns
    -------
    ndarray or CSR container of shape (n, k), or (n, 1) for two classes
        Columns.
    """
    model = LabelBinarizer(neg_label=neg_label, pos_label=pos_label, sparse_output=sparse_output)
    model.fit(classes)
    listed = np.asarray(classes)
    table = model.transform(y)
    if model.y_type_ != "multiclass":
        return table
    order = [int(np.flatnonzero(model.classes_ == one)[0]) for one in listed]
    return table[:, order]


class MultiLabelBinarizer(Estimator, role="transformer", transforms=True, table=False):
    r"""Encoding of sets of labels (multilabel targets) as columns of zeros and ones.

    Objective
    ---------
    .. math:: z_{ic} = 1 \text{ if } c \in y_i \text{ else } 0

    Certificate
    -----------
    ExactCertificate: the classes are exactly the labels that occur.

    Cost
    ----
    One pass over the labels.

    Examples
    --------
    >>> from qed.preprocessing import MultiLabelBinarizer
    >>> MultiLabelBinarizer().fit_transform([{"a", "b"}, {"b"}])
    array([[1, 1],
           [0, 1]])
    """

    _: KW_ONLY
    classes: Any = param(None, "The labels, in the order of the columns; those that occur by default.")
    sparse_output: bool = param(False, "Whether the result is a SciPy CSR container.")

    classes_: Array = fitted(
        "The labels, in the order of the columns.", dtype="label", shape="(k,)", finite=False, nan=True
    )
    certificate_: ExactCertificate = fitted("What is proven about the fit.")

    def fit(self, y: Any) -> Self:
        """Learn the labels.

        Parameters
        ----------
        y : iterable of iterables
            A set of labels for each row.
        """
        self._validate_params()
        rows = _label_sets(y)
        if self.classes is None:
            try:
                listed = sorted(set(chain.from_iterable(rows)))
            except TypeError:
                raise InvalidData(
                    "Labels of different kinds have no order. Pass numbers only, or texts only."
                ) from None
        elif len(set(self.classes)) < len(self.classes):
            raise InvalidParameter(
                "The classes argument contains duplicate classes. Remove these duplicates before passing them."
            )
        else:
            listed = list(self.classes)
        dtype = int if listed and all(isinstance(one, int) for one in listed) else object
        self.classes_ = np.empty(len(listed), dtype)
        self.classes_[:] = listed
        self.certificate_ = ExactCertificate("labels", len(rows), 0.0)
        return self

    def fit_transform(self, y: Any) -> Any:
        """Learn the labels and return their columns.

        Parameters
        ----------
        y : iterable of iterables
            A set of labels for each row.

        Returns
        -------
        ndarray or CSR container of shape (n, k)
            Zeros and ones.
        """
        rows = _label_sets(y)
        return self.fit(rows).transform(rows)

    def transform(self, y: Any) -> Any:
        """Return the columns of sets of labels.

        Parameters
        ----------
        y : iterable of iterables
            A set of labels for each row.

        Returns
        -------
        ndarray or CSR container of shape (n, k)
            Zeros and ones.
        """
        import warnings  # noqa: PLC0415

        self._check_is_fitted()
        index = {one: place for place, one in enumerate(self.classes_.tolist())}
        indices: list[int] = []
        ends, unknown = [0], set()
        for members in _label_sets(y):
            found = {index[one] for one in members if one in index}
            unknown |= {one for one in members if one not in index}
            indices.extend(sorted(found))
            ends.append(len(indices))
        if unknown:
            warnings.warn(f"unknown class(es) {sorted(unknown, key=str)} will be ignored", stacklevel=2)
        made = csr(
            np.ones(len(indices), np.int64),
            np.array(indices, dtype=np.int32),
            np.array(ends, dtype=np.int32),
            (len(ends) - 1, len(self.classes_)),
            is_sorted=True,
        )
        return made if self.sparse_output else made.toarray()

    def inverse_transform(self, yt: Any) -> list[tuple[Any, ...]]:
        """Return the sets of labels of rows of zeros and ones.

        Parameters
        ----------
        yt : ndarray or sparse container of shape (n, k)
            Zeros and ones.

        Returns
        -------
        list of tuple
            The labels of each row.
        """
        self._check_is_fitted()
        table = yt.toarray() if is_sparse(yt) else np.asarray(yt)
        if table.shape[1] != len(self.classes_):
            raise InvalidData(f"Expected indicator for {len(self.classes_)} classes, but got {table.shape[1]}")
        if not np.isin(table, (0, 1)).all():
            raise InvalidData(f"Expected only 0s and 1s in label indicator. Also got {np.setdiff1d(table, [0, 1])}")
        return [tuple(self.classes_[row.astype(bool)].tolist()) for row in table]


def _label_sets(y: Any) -> list[set[Any]]:
    """Return the set of labels of each row."""
    try:
        return [set(row) for row in y]
    except TypeError:
        raise InvalidData(
            f"MultiLabelBinarizer takes one collection of labels for each row, such as [('a', 'b'), ('b',)], got"
            f" {type(y).__name__}. A single label for each row is a case for LabelBinarizer."
        ) from None
