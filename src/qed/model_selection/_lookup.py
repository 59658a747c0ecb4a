"""The learner that only remembers: what every model must beat on new rows."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from qed.certificates import ExactCertificate
from qed.core import KW_ONLY, Array, Classifier, InvalidParameter, fitted, param


class LookupClassifier(Classifier, poor_score=True):
    r"""Lookup table: memorises the training rows, and predicts one label for all others.

    Objective
    ---------
    .. math:: \min_f \sum_i s_i 1[y_i \ne f(x_i)]

    over all functions f: the most frequent label of each row that occurs. No other model has a smaller training error, and
    where inputs hardly ever come back none of it is learnt.

    Certificate
    -----------
    ExactCertificate: no function of the rows makes fewer mistakes on them, by weight.

    Cost
    ----
    One sort of the rows; a binary search for each row to predict. The rows are kept.

    Notes
    -----
    Of equally frequent labels the first in sorted order is taken.

    Examples
    --------
    >>> from qed.model_selection import LookupClassifier
    >>> model = LookupClassifier(default="?").fit([[1.0], [2.0]], ["a", "?"])
    >>> model.predict([[1.0], [3.0]]).tolist()
    ['a', '?']
    """

    _: KW_ONLY
    default: int | str | bool | None = param(
        None, "Label of rows that were not seen; None for the most frequent one of all."
    )

    classes_: Array = fitted("Labels, sorted.", dtype="label", shape="(k,)", order="strictly rising")
    rows_: Array = fitted("The different rows, sorted.", shape="(n, p)")
    row_labels_: Array = fitted(
        "Index in ``classes_`` of the label of each of them.", dtype="int", shape="(n,)", low=0, below="k"
    )
    default_: int = fitted("Index in ``classes_`` of the label of all others.", low=0, below="k")
    mistakes_: float = fitted("Weight of the rows whose label is not the one remembered.", low=0)
    certificate_: ExactCertificate = fitted("What is proved about the table.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Remember the rows."""
        data = self._fit_data(X, y, sample_weight)
        s = np.ones(data.n_rows) if data.weight is None else data.weight
        here = s > 0
        rows, codes, s = data.X[here].astype(np.float64) + 0.0, data.y[here], s[here]  # -0 becomes 0
        self.classes_ = data.classes
        self.rows_, place = np.unique(rows, axis=0, return_inverse=True)
        counts = np.zeros((len(self.rows_), len(data.classes)))
        np.add.at(counts, (place.reshape(-1), codes), s)
        self.row_labels_ = counts.argmax(axis=1)
        self.default_ = self._default(counts.sum(axis=0))
        self.mistakes_ = float((counts.sum(axis=1) - counts.max(axis=1)).sum())
        self.certificate_ = ExactCertificate("The fewest mistakes of any function", data.n_rows, 2.0**-52 * data.n_rows)
        return self

    def _default(self, totals: Array) -> int:
        if self.default is None:
            return int(totals.argmax())
        labels = self.classes_.tolist()
        if self.default not in labels:
            raise InvalidParameter(
                f"LookupClassifier.default must be one of the labels {labels!r:.200}, got {self.default!r}."
            )
        return int(labels.index(self.default))

    def predict(self, X: Any) -> Array:
        """Return the remembered label, or the default."""
        rows = np.ascontiguousarray(self._new_data(X), dtype=np.float64) + 0.0
        known = {row.tobytes(): label for row, label in zip(self.rows_, self.row_labels_.tolist(), strict=True)}
        indices = np.array([known.get(row.tobytes(), self.default_) for row in rows], dtype=np.intp)
        return np.asarray(self.classes_[indices])
