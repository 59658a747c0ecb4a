"""Classes as words of bits: one classifier for each bit, and the nearest word wins."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from qed.compose._codes import CodedClassifier
from qed.core import KW_ONLY, Array, InvalidParameter, Positive, Seed, param
from qed.core._random import generator

DRAWS = 1000
MAX_BITS = 100_000  # bits of a word


def binary_codes(n_classes: int) -> Array:
    """Return the numbers of the classes in binary: the shortest words that differ.

    Parameters
    ----------
    n_classes : int
        How many classes there are, at least two.

    Returns
    -------
    ndarray of int8 of shape (n_classes, ceil(log2(n_classes)))
        +1 for a bit that is set, -1 for one that is not; the first column is the most significant.

    Examples
    --------
    >>> from qed.compose import binary_codes
    >>> binary_codes(3).tolist()
    [[-1, -1], [-1, 1], [1, -1]]
    """
    if n_classes < 2:
        raise InvalidParameter(f"binary_codes.n_classes must be at least 2, got {n_classes!r}.")
    bits = (int(n_classes) - 1).bit_length()
    numbers = np.arange(n_classes)[:, np.newaxis] >> np.arange(bits)[::-1]
    return np.where(numbers & 1, 1, -1).astype(np.int8)


class OutputCodeClassifier(CodedClassifier):
    """Multiclass classification by error-correcting output codes.

    Objective
    ---------
    That of the classifier, bit by bit: classes whose word has the bit against the others (a 0 leaves a class out).

    Certificate
    -----------
    CompositeCertificate: the classifier of each bit keeps its own; ``qed.verify`` checks them one by one.

    Cost
    ----
    That of the classifier, once for each bit.

    Notes
    -----
    Words at a Hamming distance of at least D correct (D - 1) // 2 wrong bits. Of equally near words the first wins.

    Examples
    --------
    >>> from qed.compose import OutputCodeClassifier
    >>> from qed.svm import LinearSVC
    >>> X, y = [[0.0, 0.0], [0.0, 4.0], [4.0, 0.0], [4.0, 4.0]] * 2, list("abcd") * 2
    >>> model = OutputCodeClassifier(LinearSVC(C=10.0), code_book="binary").fit(X, y)
    >>> model.predict([[0.5, 3.5], [3.5, 0.5]]).tolist(), len(model.estimators_)
    (['b', 'c'], 2)
    """

    estimator: Any = param(None, "The classifier of two classes.")
    _: KW_ONLY
    code_size: Positive = param(1.5, "Bits of a random code for each class: above one it can correct errors.")
    random_state: Seed = param(None, "Seed of random codes.")
    n_jobs: Any = param(None, "Bits at the same time, in threads; -1 for as many as there are processors.")
    code_book: Any = param(
        None,
        "Words of the classes, (classes, bits) of +1, -1 and 0; 'binary' for their numbers; None for a random code.",
    )
    decoding: Literal["euclidean", "hamming", "hinge", "exponential"] = param(
        "euclidean",
        "What is least for the winner: the distance of scores and word, the wrong bits, or the hinge or exponential loss of"
        " scores as margins.",
    )

    def predict(self, X: Any) -> Array:
        """Return the label whose word is nearest to the answers."""
        said, book = self._answers(X), self.code_book_.astype(np.float64)
        if self.decoding == "euclidean":  # what all words share is left out: beside it large answers would look alike
            far = np.sum(book**2, axis=1) - 2.0 * said @ book.T
        elif self.decoding == "exponential":  # the same order, without powers that overflow
            far = np.logaddexp.reduce(np.where(book != 0, -said[:, np.newaxis, :] * book, -np.inf), axis=2)
        else:
            far = self._distances(said, book)
        return np.asarray(self.classes_[far.argmin(axis=1)])

    def distances(self, X: Any) -> Array:
        """Return how far the answers are from the word of each class, as ``decoding`` measures it.

        Parameters
        ----------
        X : array-like or sparse of shape (n, p)
            Rows with the columns of the fit.

        Returns
        -------
        ndarray of shape (n, k)
            Not negative.
        """
        return self._distances(self._answers(X), self.code_book_.astype(np.float64))

    def _distances(self, said: Array, book: Array) -> Array:
        if self.decoding == "hamming":
            signs = np.where(said > 0, 1.0, -1.0)
            return np.asarray(0.5 * (np.abs(book).sum(axis=1) - signs @ book.T))
        if self.decoding == "euclidean":
            size = np.maximum(np.max(np.abs(said), axis=1, initial=1.0), 1.0)[:, np.newaxis]  # no square overflows
            apart = said[:, np.newaxis, :] / size[..., np.newaxis] - book / size[..., np.newaxis]
            return np.asarray(size * np.sqrt(np.sum(apart**2, axis=2)))
        margins = said[:, np.newaxis, :] * book
        loss = np.maximum(1.0 - margins, 0.0) if self.decoding == "hinge" else np.exp(np.minimum(-margins, 700.0))
        return np.asarray(np.sum(np.where(book != 0, loss, 0.0), axis=2))

    def _book(self, n_classes: int) -> Array:
        if isinstance(self.code_book, str):
            if self.code_book != "binary":
                raise InvalidParameter(
                    f"OutputCodeClassifier.code_book must be 'binary', a table of words or None, got {self.code_book!r}."
                )
            return binary_codes(n_classes)
        if self.code_book is None:
            return self._drawn(n_classes)
        book = np.asarray(self.code_book)
        if book.shape[:1] != (n_classes,) or book.ndim != 2 or not np.isin(book, (-1, 0, 1)).all():
            raise InvalidParameter(
                f"OutputCodeClassifier.code_book must have a row of +1, -1 and 0 for each of the {n_classes} classes, got a"
                f" table of shape {book.shape}."
            )
        missing = [k for k in range(book.shape[1]) if not {-1, 1} <= set(book[:, k].tolist())]
        if missing or len(np.unique(book, axis=0)) < n_classes:
            raise InvalidParameter(
                "OutputCodeClassifier.code_book must give every class another code word, and every bit needs both signs; bits"
                f" {missing} have one sign only, and {n_classes - len(np.unique(book, axis=0))} words are repeated."
            )
        return book.astype(np.int8)

    def _drawn(self, n_classes: int) -> Array:
        """Draw bits until each has both sides, and words until no two are the same, if there are enough of them."""
        if not n_classes * self.code_size < MAX_BITS:
            raise InvalidParameter(
                f"OutputCodeClassifier.code_size={self.code_size:g} gives a classifier for each of {n_classes * self.code_size:.3g}"
                f" bits, more than {MAX_BITS}. Pass a smaller one: a few times the number of classes correct many wrong answers."
            )
        bits = max(1, int(n_classes * self.code_size))
        stream = generator(self.random_state)
        for _ in range(DRAWS):
            book = np.where(stream.random((n_classes, bits)) > 0.5, 1, -1).astype(np.int8)
            flat = np.abs(book.sum(axis=0)) == n_classes
            book[stream.integers(n_classes), flat] *= -1  # a bit that all classes share would tell nothing
            if len(np.unique(book, axis=0)) == n_classes:
                return book
        raise InvalidParameter(
            f"OutputCodeClassifier.code_size={self.code_size:g} gives {bits} bits for {n_classes} classes, and no draw gave"
            " different code words. Pass a larger code_size, or code_book='binary'."
        )
