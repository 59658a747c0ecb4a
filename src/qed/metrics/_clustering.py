"""How alike two partitions of the same rows are: by pairs of rows, or by information."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from qed.core._errors import InvalidData, InvalidParameter

if TYPE_CHECKING:
    from qed.core._params import Array


def contingency_matrix(
    labels_true: Any, labels_pred: Any, *, eps: float | None = None, sparse: bool = False, dtype: Any = np.int64
) -> Any:
    """Return how many rows each two groups share.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n,)
        Groups of the rows, in two partitions.
    eps : float, optional
        Added to every entry.
    sparse : bool
        Whether to return a compressed sparse matrix.
    dtype : type
        Type of the entries, without ``eps``.

    Returns
    -------
    ndarray or csr_matrix of shape (k, l)
        Counts; groups in the order of their labels.

    Examples
    --------
    >>> from qed.metrics import contingency_matrix
    >>> contingency_matrix([0, 0, 1, 1], ["a", "b", "b", "b"]).tolist()
    [[1, 1], [0, 2]]
    """
    a, b = _labels(labels_true, "labels_true"), _labels(labels_pred, "labels_pred")
    if len(a) != len(b):
        raise InvalidData(f"Found input variables with inconsistent numbers of samples: [{len(a)}, {len(b)}].")
    first, i = np.unique(a, return_inverse=True)
    second, j = np.unique(b, return_inverse=True)
    if sparse:
        if eps is not None:
            raise InvalidParameter("eps must be None with sparse=True: it would fill the matrix.")
        from scipy.sparse import coo_matrix  # noqa: PLC0415

        shape = (len(first), len(second))
        table = coo_matrix((np.ones(len(a), dtype), (i.ravel(), j.ravel())), shape=shape, dtype=dtype).tocsr()
        table.sum_duplicates()
        return table
    counts = np.bincount(i.ravel() * len(second) + j.ravel(), minlength=len(first) * len(second))
    counts = counts.reshape(len(first), len(second)).astype(dtype)
    return counts if eps is None else counts + eps


def _labels(labels: Any, name: str) -> Array:
    found = np.asarray(labels)
    if found.ndim != 1:
        raise InvalidData(f"{name} must be 1D: shape is {found.shape!r}.")
    return found


def pair_confusion_matrix(labels_true: Any, labels_pred: Any) -> Array:
    """Return ordered pairs of rows: together or apart in the first partition (rows) and in the second (columns).

    Examples
    --------
    >>> from qed.metrics import pair_confusion_matrix
    >>> pair_confusion_matrix([0, 0, 1], [0, 1, 1]).tolist()
    [[2, 2], [2, 0]]
    """
    table = contingency_matrix(labels_true, labels_pred)
    n = int(table.sum())
    both = int(np.sum(table.astype(np.float64) ** 2)) if table.size else 0
    first, second = int(np.sum(table.sum(axis=1) ** 2)), int(np.sum(table.sum(axis=0) ** 2))
    return np.array([[n * n - first - second + both, second - both], [first - both, both - n]])


def rand_score(labels_true: Any, labels_pred: Any) -> float:
    """Return the share of pairs of rows that are together in both partitions, or apart in both.

    Examples
    --------
    >>> from qed.metrics import rand_score
    >>> rand_score([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    """
    pairs = pair_confusion_matrix(labels_true, labels_pred)
    total = int(pairs.sum())
    return 1.0 if total == 0 else float(np.trace(pairs)) / total


def adjusted_rand_score(labels_true: Any, labels_pred: Any) -> float:
    """Return the Rand score, 0 where it is that of random labels and 1 for equal partitions.

    Examples
    --------
    >>> from qed.metrics import adjusted_rand_score
    >>> adjusted_rand_score([0, 0, 1, 2], [0, 0, 1, 1]).__round__(4)
    0.5714
    """
    (tn, fp), (fn, tp) = (tuple(map(int, row)) for row in pair_confusion_matrix(labels_true, labels_pred))
    if fn == 0 and fp == 0:
        return 1.0
    return 2.0 * (tp * tn - fn * fp) / ((tp + fn) * (fn + tn) + (tp + fp) * (fp + tn))


def fowlkes_mallows_score(labels_true: Any, labels_pred: Any, *, sparse: Any = "deprecated") -> float:
    """Return the geometric mean of precision and recall of pairs that are together.

    Examples
    --------
    >>> from qed.metrics import fowlkes_mallows_score
    >>> fowlkes_mallows_score([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    """
    del sparse
    (_, fp), (fn, tp) = (tuple(map(int, row)) for row in pair_confusion_matrix(labels_true, labels_pred))
    return float(np.sqrt(tp / (tp + fp)) * np.sqrt(tp / (tp + fn))) if tp else 0.0


def _entropy(counts: Array) -> float:
    share = counts[counts > 0] / counts.sum()
    return float(-np.sum(share * np.log(share)))


def mutual_info_score(labels_true: Any = None, labels_pred: Any = None, *, contingency: Any = None) -> float:
    """Return what one partition tells of the other, in nats.

    Examples
    --------
    >>> from qed.metrics import mutual_info_score
    >>> round(mutual_info_score([0, 0, 1, 1], [0, 0, 1, 1]), 4)
    0.6931
    """
    table = contingency_matrix(labels_true, labels_pred) if contingency is None else contingency
    table = np.asarray(table.toarray() if hasattr(table, "toarray") else table, dtype=np.float64)
    n = table.sum()
    if n == 0:
        return 0.0
    expected = np.multiply.outer(table.sum(axis=1), table.sum(axis=0)) / n
    used = table > 0
    return max(float(np.sum(table[used] / n * np.log(table[used] / expected[used]))), 0.0)


def _expected_information(a: Array, b: Array) -> float:
    """Return the mean mutual information of random partitions with these sizes."""
    from scipy.special import gammaln  # noqa: PLC0415

    n = int(a.sum())
    total = 0.0
    first, repeats = np.unique(a, return_counts=True)
    second, times = np.unique(b, return_counts=True)
    log = gammaln(np.arange(n + 2))  # log of factorials: log[m + 1] is that of m!
    for x, count in zip(first.tolist(), repeats.tolist(), strict=True):
        for y, other in zip(second.tolist(), times.tolist(), strict=True):
            m = np.arange(max(1, x + y - n), min(x, y) + 1)
            logs = (
                log[x + 1] + log[y + 1] + log[n - x + 1] + log[n - y + 1] - log[n + 1]
                - log[m + 1] - log[x - m + 1] - log[y - m + 1] - log[n - x - y + m + 1]
            )  # fmt: skip
            total += count * other * float(np.sum(m / n * np.log(n * m / (x * y)) * np.exp(logs)))
    return total


Average = Literal["min", "geometric", "arithmetic", "max"]


def _mean(a: float, b: float, how: str) -> float:
    means = {"min": min(a, b), "geometric": float(np.sqrt(a * b)), "arithmetic": (a + b) / 2, "max": max(a, b)}
    if how not in means:
        raise InvalidParameter(f"average_method must be one of {sorted(means)}, got {how!r}.")
    return means[how]


def adjusted_mutual_info_score(labels_true: Any, labels_pred: Any, *, average_method: Average = "arithmetic") -> float:
    """Return the mutual information, 0 where it is that of random labels and 1 for equal partitions.

    Examples
    --------
    >>> from qed.metrics import adjusted_mutual_info_score
    >>> adjusted_mutual_info_score([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    """
    table = contingency_matrix(labels_true, labels_pred)
    a, b = table.sum(axis=1), table.sum(axis=0)
    if len(a) == len(b) == 1 or not len(a):
        return 1.0
    information, chance = mutual_info_score(contingency=table), _expected_information(a, b)
    whole = _mean(_entropy(a), _entropy(b), average_method) - chance
    tiny = float(np.finfo(np.float64).eps)
    return (information - chance) / (min(whole, -tiny) if whole < 0 else max(whole, tiny))


def normalized_mutual_info_score(
    labels_true: Any, labels_pred: Any, *, average_method: Average = "arithmetic"
) -> float:
    """Return the mutual information as a share of the mean entropy.

    Examples
    --------
    >>> from qed.metrics import normalized_mutual_info_score
    >>> normalized_mutual_info_score([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    """
    table = contingency_matrix(labels_true, labels_pred)
    a, b = table.sum(axis=1), table.sum(axis=0)
    if len(a) == len(b) == 1 or not len(a):
        return 1.0
    information = mutual_info_score(contingency=table)
    if information <= np.finfo(np.float64).eps:
        return 0.0
    return information / _mean(_entropy(a), _entropy(b), average_method)


def homogeneity_completeness_v_measure(
    labels_true: Any, labels_pred: Any, *, beta: float = 1.0
) -> tuple[float, float, float]:
    """Return how pure groups are, how whole classes stay, and the weighted harmonic mean of both.

    Examples
    --------
    >>> from qed.metrics import homogeneity_completeness_v_measure
    >>> tuple(round(one, 3) for one in homogeneity_completeness_v_measure([0, 0, 1, 1], [0, 1, 2, 2]))
    (1.0, 0.667, 0.8)
    """
    table = contingency_matrix(labels_true, labels_pred)
    if not table.size:
        return 1.0, 1.0, 1.0
    first, second = _entropy(table.sum(axis=1)), _entropy(table.sum(axis=0))
    information = mutual_info_score(contingency=table)
    pure, whole = information / first if first else 1.0, information / second if second else 1.0
    both = (1 + beta) * pure * whole / (beta * pure + whole) if pure + whole else 0.0
    return pure, whole, both


def homogeneity_score(labels_true: Any, labels_pred: Any) -> float:
    """Return how pure groups are: 1 where each holds rows of one class."""
    return homogeneity_completeness_v_measure(labels_true, labels_pred)[0]


def completeness_score(labels_true: Any, labels_pred: Any) -> float:
    """Return how whole classes stay: 1 where the rows of each class are in one group."""
    return homogeneity_completeness_v_measure(labels_true, labels_pred)[1]


def v_measure_score(labels_true: Any, labels_pred: Any, *, beta: float = 1.0) -> float:
    """Return the weighted harmonic mean of homogeneity and completeness."""
    return homogeneity_completeness_v_measure(labels_true, labels_pred, beta=beta)[2]


def consensus_score(a: Any, b: Any, *, similarity: Any = "jaccard") -> float:
    """Return how alike two sets of biclusters are, 1 for equal ones: pairs of the best matching, divided by the larger number.

    Parameters
    ----------
    a, b : tuple of (rows, columns)
        Boolean tables, one row for each bicluster.
    similarity : "jaccard" or callable
        Of two biclusters, each given as its rows and its columns.

    Returns
    -------
    float
        The similarity.
    """
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415  a linear program

    measure = _jaccard if similarity == "jaccard" else similarity
    first, second = (list(zip(np.asarray(one[0], bool), np.asarray(one[1], bool), strict=True)) for one in (a, b))
    table = np.array([[measure(*x, *y) for y in second] for x in first])
    rows, columns = linear_sum_assignment(1.0 - table)
    return float(table[rows, columns].sum()) / max(len(first), len(second))


def _jaccard(a_rows: Array, a_columns: Array, b_rows: Array, b_columns: Array) -> float:
    both = float((a_rows & b_rows).sum() * (a_columns & b_columns).sum())
    either = float(a_rows.sum() * a_columns.sum() + b_rows.sum() * b_columns.sum()) - both
    return both / either
