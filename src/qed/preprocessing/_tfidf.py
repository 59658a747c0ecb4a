"""Counts of words, weighted by how rare they are; and words without a vocabulary."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from qed.certificates import ExactCertificate
from qed.core import KW_ONLY, PositiveInt, Transformer, fitted, param
from qed.core._params import DType  # noqa: TC001  (what parameters may hold)
from qed.core._tables import csr, is_sparse
from qed.preprocessing import _kernels
from qed.preprocessing._rows import _normalized
from qed.preprocessing._text import CountVectorizer, TextReader, Vocabulary

Array = np.ndarray[Any, Any]


class TfidfTransformer(Transformer, sparse=True):
    r"""TF-IDF weighting of word counts.

    Objective
    ---------
    .. math:: z_{iw} = t_{iw} \left(1 + \ln \frac{1 + n}{1 + n_w}\right) \text{, then rows of length one}

    Certificate
    -----------
    ExactCertificate: the numbers of texts with each word are exact; logarithms are rounded.

    Cost
    ----
    One pass over the counts.

    Examples
    --------
    >>> from qed.preprocessing import TfidfTransformer
    >>> TfidfTransformer(norm=None).fit_transform([[1.0, 0.0], [1.0, 1.0]]).toarray().round(3)
    array([[1.   , 0.   ],
           [1.   , 1.405]])
    """

    _: KW_ONLY
    norm: Literal["l1", "l2"] | None = param("l2", "Which length of a row becomes one; None for none.")
    use_idf: bool = param(True, "Whether rare words count more.")
    smooth_idf: bool = param(True, "Whether one text with every word is added, so that nothing is divided by zero.")
    sublinear_tf: bool = param(False, "Whether counts become one plus their logarithm.")

    idf_: Array = fitted("Weight of each word; ones without ``use_idf``.", dtype="float", shape="(p,)", finite=False)
    certificate_: ExactCertificate = fitted("What is proven about the fit.")

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Count in how many texts each word is.

        Parameters
        ----------
        X : sparse container or array-like of shape (n, words)
            Counts.
        """
        data = self._fit_data(X)
        n, p = data.X.shape
        if is_sparse(data.X):
            rows = data.X.tocsr()
            in_texts = np.bincount(rows.indices[rows.data != 0], minlength=p)
        else:
            in_texts = np.count_nonzero(data.X, axis=0)
        smooth = int(self.smooth_idf)
        weights = np.ones(p)
        if self.use_idf:
            with np.errstate(divide="ignore"):
                weights = np.log((n + smooth) / (in_texts + smooth)) + 1.0
        self.idf_ = weights.astype(data.X.dtype)
        self.certificate_ = ExactCertificate(f"numbers of texts with each of {p} words", n, 4 * 2.0**-53)
        return self

    def transform(self, X: Any, copy: bool = True) -> Any:
        """Weigh counts.

        Parameters
        ----------
        X : sparse container or array-like of shape (n, words)
            Counts.
        copy : bool
            Whether to leave a given container as it is.

        Returns
        -------
        CSR container of shape (n, words)
            Weighted counts.
        """
        from scipy import sparse  # noqa: PLC0415

        X = self._new_data(X)
        rows = X.tocsr(copy=copy) if is_sparse(X) else sparse.csr_matrix(X)
        return _weighed(rows, self.idf_ if self.use_idf else None, self.norm, sublinear=self.sublinear_tf)


def _weighed(rows: Any, idf: Array | None, norm: str | None, *, sublinear: bool) -> Any:
    if sublinear:
        np.log(rows.data, rows.data)
        rows.data += 1.0
    if idf is not None:
        rows.data *= idf[rows.indices]
    return rows if norm is None else _normalized(rows, norm, copy=False)[0]


def _are_of_its_words(model: Any, weights: TfidfTransformer) -> str:
    own, words = len(weights.idf_), len(model.vocabulary_)
    return "" if own == words else f"should be of {words} words, and are of {own}"


class TfidfVectorizer(CountVectorizer):
    r"""TF-IDF features of texts: bag of words, then weighting.

    Objective
    ---------
    .. math:: z_{iw} = t_{iw} \left(1 + \ln \frac{1 + n}{1 + n_w}\right) \text{, then rows of length one}

    Certificate
    -----------
    ExactCertificate: vocabulary and numbers of texts are exact; logarithms are rounded.

    Cost
    ----
    One pass over the texts; a sparse result.

    Examples
    --------
    >>> from qed.preprocessing import TfidfVectorizer
    >>> TfidfVectorizer().fit_transform(["a cat", "cat dog"]).toarray().round(2)
    array([[1.  , 0.  ],
           [0.58, 0.81]])
    """

    dtype: DType = param(np.float64, "Type of the result.")
    norm: Literal["l1", "l2"] | None = param("l2", "Which length of a row becomes one; None for none.")
    use_idf: bool = param(True, "Whether rare words count more.")
    smooth_idf: bool = param(True, "Whether one text with every word is added, so that nothing is divided by zero.")
    sublinear_tf: bool = param(False, "Whether counts become one plus their logarithm.")

    weights_: TfidfTransformer = fitted("The fitted weights.", check=_are_of_its_words)

    @property
    def idf_(self) -> Array:
        """Weight of each word."""
        self._check_is_fitted()
        return self.weights_.idf_

    def fit(self, raw_documents: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn vocabulary and weights.

        Parameters
        ----------
        raw_documents : iterable
            Texts.
        y : None
            Not looked at.
        """
        self._learn(raw_documents)
        return self

    def _learn(self, raw_documents: Any) -> Any:
        counts = CountVectorizer.fit_transform(self, raw_documents)
        counts = counts.astype(self.dtype, copy=False)
        options = {name: getattr(self, name) for name in ("norm", "use_idf", "smooth_idf", "sublinear_tf")}
        self.weights_ = TfidfTransformer(**options).fit(counts)
        return counts

    def fit_transform(self, raw_documents: Any, y: Any = None) -> Any:  # noqa: ARG002
        """Learn vocabulary and weights, and weigh the same texts.

        Parameters
        ----------
        raw_documents : iterable
            Texts.
        y : None
            Not looked at.

        Returns
        -------
        CSR container of shape (n, words)
            Weighted counts.
        """
        counts = self._learn(raw_documents)
        return self.weights_.transform(counts, copy=False)

    def transform(self, raw_documents: Any) -> Any:
        """Weigh the words of further texts.

        Parameters
        ----------
        raw_documents : iterable
            Texts.

        Returns
        -------
        CSR container of shape (n, words)
            Weighted counts.
        """
        self._check_is_fitted()
        counts = CountVectorizer.transform(self, raw_documents).astype(self.dtype, copy=False)
        return self.weights_.transform(counts, copy=False)


class HashingVectorizer(TextReader, requires_fit=False, keeps_dtype=False):
    r"""Bag of words by feature hashing, without a vocabulary.

    Objective
    ---------
    .. math:: z_{ic} = \sum_{w \in \text{text } i :\; h(w) = c} \pm 1

    Certificate
    -----------
    ExactCertificate: nothing is learnt, so nothing can be wrong.

    Cost
    ----
    One pass over the texts; every distinct word is hashed once (MurmurHash3, 32 bits, as everywhere).

    Examples
    --------
    >>> from qed.preprocessing import HashingVectorizer
    >>> HashingVectorizer(n_features=8, norm=None, alternate_sign=False).transform(["word word"]).sum().item()
    2.0
    """

    n_features: PositiveInt = param(2**20, "Number of columns.")
    binary: bool = param(False, "Whether only ones and zeros are counted.")
    norm: Literal["l1", "l2"] | None = param("l2", "Which length of a row becomes one; None for none.")
    alternate_sign: bool = param(True, "Whether half of the words count negatively, so that collisions cancel.")
    dtype: DType = param(np.float64, "Type of the result.")

    certificate_: ExactCertificate = fitted("What is proven about the fit.")

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Validate the parameters; nothing is learnt.

        Parameters
        ----------
        X : iterable
            Texts, not looked at.
        y : None
            Not looked at.
        """
        self._documents(X)
        self._validate_params()
        self._ngrams()
        self.certificate_ = ExactCertificate("nothing is learnt", 0, 0.0)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Do nothing: nothing is learnt.

        Parameters
        ----------
        X : iterable
            Texts, not looked at.
        y : None
            Not looked at.
        """
        return self.fit(X)

    def fit_transform(self, X: Any, y: Any = None) -> Any:  # noqa: ARG002
        """Count words.

        Parameters
        ----------
        X : iterable
            Texts.
        y : None
            Not looked at.

        Returns
        -------
        CSR container of shape (n, n_features)
            Counts.
        """
        return self.fit(X).transform(X)

    def transform(self, X: Any) -> Any:
        """Count words.

        Parameters
        ----------
        X : iterable
            Texts.

        Returns
        -------
        CSR container of shape (n, n_features)
            Counts.
        """
        analysed, ends = self.build_analyzer(), [0]
        places: list[int] = []
        words = Vocabulary()
        for doc in self._documents(X):
            places.extend(map(words.__getitem__, analysed(doc)))
            ends.append(len(places))
        hashes = _kernels.hashed(list(words)).astype(np.int64)[np.array(places, dtype=np.int64)]
        signs = np.where(hashes >= 0, 1, -1) if self.alternate_sign else np.ones(len(hashes))
        columns = (np.abs(hashes) % self.n_features).astype(np.int32)
        made = csr(signs.astype(self.dtype), columns, np.array(ends), (len(ends) - 1, self.n_features))
        made.sum_duplicates()
        if self.binary:
            made.data.fill(1)
        return made if self.norm is None else _normalized(made, self.norm, copy=False)[0]
