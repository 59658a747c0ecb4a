r"""Random projections: few random directions that keep all distances, up to a factor near one.

By the lemma of Johnson and Lindenstrauss :math:`4 \log n / (\epsilon^2 / 2 - \epsilon^3 / 3)` directions keep all squared
distances between n rows within :math:`1 \pm \epsilon`, whatever the number of columns.
"""

from __future__ import annotations

import functools
import math
from typing import Annotated, Any, Literal, NamedTuple, Self

import numpy as np

from qed.certificates import ExactCertificate
from qed.core import (
    KW_ONLY,
    Array,
    InvalidData,
    InvalidParameter,
    Number,
    Positive,
    PositiveInt,
    Seed,
    Transformer,
    fitted,
    generator,
    param,
)
from qed.core._memory import require_memory
from qed.core._tables import is_sparse
from qed.core._threads import one_blas_thread
from qed.decomposition import _kernels

BLOCK_ENTRIES = 1 << 20  # entries that are transformed at a time
MOST_PAIRS = 20_000  # that distortion looks at by default


def johnson_lindenstrauss_min_dim(n_samples: Any, *, eps: Any = 0.1) -> Any:
    """Return how many random directions keep all squared distances between rows within ``1 ± eps``.

    Parameters
    ----------
    n_samples : int or array-like of int
        Numbers of rows.
    eps : float or array-like of float
        Distortions, above 0 and below 1.

    Returns
    -------
    int or ndarray of int
        Numbers of directions.

    Examples
    --------
    >>> from qed.random_projection import johnson_lindenstrauss_min_dim
    >>> int(johnson_lindenstrauss_min_dim(1000, eps=0.5))
    331
    """
    share, rows = np.asarray(eps, dtype=np.float64), np.asarray(n_samples, dtype=np.float64)
    if not np.all((share > 0) & (share < 1)):
        raise InvalidParameter(f"The JL bound is defined for eps in ]0, 1[, got {eps!r}.")
    if not np.all(rows > 0):
        raise InvalidParameter(f"The JL bound is defined for n_samples greater than zero, got {n_samples!r}.")
    return (4 * np.log(rows) / (share**2 / 2 - share**3 / 3)).astype(np.int64)


class Distortion(NamedTuple):
    """Smallest and largest factor by which squared distances changed, and how many pairs were compared."""

    lowest: float
    highest: float
    pairs: int


def distortion(X: Any, projected: Any, *, n_pairs: int = MOST_PAIRS, random_state: Any = 0) -> Distortion:
    """Measure by what factors squared distances between rows changed.

    Parameters
    ----------
    X : array-like or sparse container of shape (n, p)
        Rows.
    projected : array-like or sparse container of shape (n, k)
        The same rows, projected.
    n_pairs : int
        Pairs that are looked at: all if there are no more, else so many at random.
    random_state : None, int, Generator or RandomState
        Seed of these.

    Returns
    -------
    Distortion
        The least and the largest factor, and the number of pairs. Rows that are equal are left out.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.random_projection import distortion
    >>> X = np.eye(4)
    >>> distortion(X, 2 * X).highest
    4.0
    """
    before, after = (
        table.tocsr() if is_sparse(table) else np.asarray(table, dtype=np.float64) for table in (X, projected)
    )
    n = before.shape[0]
    if after.shape[0] != n or n < 2:
        raise InvalidData(f"distortion needs the same rows twice, at least two, got {n} and {after.shape[0]}.")
    if n * (n - 1) // 2 <= n_pairs:
        i, j = np.triu_indices(n, 1)
    else:
        rng = generator(random_state)
        i = rng.integers(0, n, n_pairs)
        j = (i + rng.integers(1, n, n_pairs)) % n
    old, new = _squared_distances(before, i, j), _squared_distances(after, i, j)
    apart = old > 0
    if not apart.any():
        raise InvalidData("All rows are equal: there is no distance that could change.")
    factor = new[apart] / old[apart]
    return Distortion(float(factor.min()), float(factor.max()), int(apart.sum()))


def _squared_distances(table: Any, i: Array, j: Array) -> Array:
    found = np.empty(len(i))
    step = max(1, BLOCK_ENTRIES // table.shape[1])
    for first in range(0, len(i), step):
        some = slice(first, first + step)
        away = table[i[some]] - table[j[some]]
        squares = away.multiply(away).sum(axis=1) if is_sparse(away) else np.sum(away * away, axis=1)
        found[some] = np.asarray(squares, dtype=np.float64).ravel()
    return found


# The directions of the last model are kept: making them anew costs as much as transforming a row for each of them.
@functools.lru_cache(maxsize=1)
def _normal_directions(seed: int, k: int, p: int) -> Array:
    require_memory(16 * k * p, f"{k} directions of {p} columns", "Ask for fewer directions.")
    drawn = np.random.default_rng(seed).standard_normal((k, p)) / math.sqrt(k)
    drawn.flags.writeable = False
    return np.asarray(drawn)


@functools.lru_cache(maxsize=1)
def _sparse_directions(seed: int, k: int, p: int, share: float) -> Any:
    import scipy.sparse  # noqa: PLC0415  (for those who project)

    require_memory(int(16 * (p + k * (1 + share * p))), f"{k} directions of {p} columns", "Ask for fewer directions.")
    rng, size = np.random.default_rng(seed), math.sqrt(1 / (share * k))
    index, value, starts = [], [], [0]
    for _ in range(k):
        place = np.flatnonzero(rng.random(p) < share)
        index.append(place)
        value.append(np.where(rng.random(len(place)) < 0.5, -size, size))
        starts.append(starts[-1] + len(place))
    return scipy.sparse.csr_array((np.concatenate(value), np.concatenate(index), np.array(starts)), shape=(k, p))


class RandomProjection(Transformer, sparse=True):
    """What random projections share: how many directions, the seed, and the certificate."""

    n_components_: int = fitted("Number of directions.", low=1)
    seed_: int = fitted("Seed of the directions: they are made from it, and not stored.", low=0)
    certificate_: ExactCertificate = fitted("What is proven about the fit.")

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Choose the directions: from the seed and the shape of X alone."""
        n, p = self._fit_data(X).X.shape
        model: Any = self
        k = model.n_components
        if k == "auto":
            k = int(johnson_lindenstrauss_min_dim(n, eps=model.eps))
            if k < 1:
                raise InvalidData(
                    f"eps={model.eps} and n_samples={n} lead to a target dimension of {k}. Give n_components."
                )
            if k > p:
                raise InvalidData(
                    f"eps={model.eps} and n_samples={n} lead to a target dimension of {k} which is larger than the original space"
                    f" with n_features={p}. Give n_components, or a larger eps."
                )
        self.n_components_ = int(k)
        self.seed_ = int(generator(model.random_state).integers(2**62))
        self.certificate_ = ExactCertificate(
            f"{type(self).__name__} of {p} columns, {k} directions of seed {self.seed_}", n, 0.0
        )
        return self

    def _n_features_out(self) -> int:
        return self.n_components_

    @property
    def inverse_components_(self) -> Array:
        """Pseudo-inverse of the directions, shape (p, k)."""
        self._check_is_fitted()
        own: Any = self.components_  # type: ignore[attr-defined]
        with one_blas_thread():
            return np.linalg.pinv(own.toarray() if is_sparse(own) else own)

    def inverse_transform(self, X: Any) -> Array:
        """Return the shortest rows with these coordinates.

        Parameters
        ----------
        X : array-like of shape (n, k)
            Coordinates.

        Returns
        -------
        ndarray of shape (n, p)
            Rows.
        """
        self._check_is_fitted()
        given = np.asarray(X.toarray() if is_sparse(X) else X)
        given = given if given.dtype in (np.float32, np.float64) else given.astype(np.float64)
        if given.ndim != 2 or given.shape[1] != self.n_components_:
            raise InvalidData(f"{type(self).__name__} has {self.n_components_} directions, got shape {given.shape}.")
        return _kernels.mapped(given, np.ascontiguousarray(self.inverse_components_.T))


class GaussianRandomProjection(RandomProjection):
    r"""Gaussian random projection: random directions with normal entries of variance 1/k.

    Objective
    ---------
    None: nothing is fitted to the rows. Squared lengths are unbiased, and by the lemma of Johnson and Lindenstrauss all squared
    distances between n rows stay within :math:`1 \pm \epsilon` with probability near one for :math:`k \ge 4 \log n /
    (\epsilon^2 / 2 - \epsilon^3 / 3)`.

    Certificate
    -----------
    ExactCertificate: the directions are those of the seed, and nothing else.

    Cost
    ----
    O(npk) to transform; memory for k p numbers while it does, none in the model.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.random_projection import GaussianRandomProjection, distortion
    >>> X = np.random.default_rng(0).normal(size=(50, 1000))
    >>> model = GaussianRandomProjection(400, random_state=0)
    >>> bool(distortion(X, model.fit_transform(X)).highest < 1.35)
    True
    """

    n_components: PositiveInt | Literal["auto"] = param(
        "auto", "How many directions; 'auto' takes as many as the lemma asks for."
    )
    _: KW_ONLY
    eps: Positive = param(0.1, "Distortion of squared distances that 'auto' allows.")
    compute_inverse_components: bool = param(
        False, "Whether ``fit`` computes ``inverse_components_`` already; they are there in any case.", kind="hint"
    )
    random_state: Seed = param(None, "Seed of the directions.")

    @property
    def components_(self) -> Array:
        """Directions, shape (k, p)."""
        self._check_is_fitted()
        own: Any = self
        return _normal_directions(self.seed_, self.n_components_, own.n_features_in_)

    def transform(self, X: Any) -> Any:
        """Return the coordinates of rows.

        Returns
        -------
        ndarray of shape (n, k)
            In the type of X.
        """
        X = self._new_data(X)
        return _kernels.mapped(X, np.ascontiguousarray(self.components_.T))


class SparseRandomProjection(RandomProjection):
    r"""Sparse random projection: random directions with few nonzero entries, of one size and random sign.

    Objective
    ---------
    None: nothing is fitted to the rows. An entry is :math:`\pm \sqrt{1 / (d k)}` with probability d/2 each and zero else; squared
    lengths are unbiased, and the lemma of Johnson and Lindenstrauss holds as for normal entries (Achlioptas; Li, Hastie and
    Church).

    Certificate
    -----------
    ExactCertificate: the directions are those of the seed, and nothing else.

    Cost
    ----
    O(n p k d) to transform with density d; nothing but the seed is in the model.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.random_projection import SparseRandomProjection
    >>> SparseRandomProjection(10, random_state=0).fit_transform(np.ones((3, 100))).shape
    (3, 10)
    """

    n_components: PositiveInt | Literal["auto"] = param(
        "auto", "How many directions; 'auto' takes as many as the lemma asks for."
    )
    _: KW_ONLY
    density: Annotated[float, Number(0, 1, open_low=True)] | Literal["auto"] = param(
        "auto", "Share of entries that are not zero; 'auto' means one over the square root of the columns."
    )
    eps: Positive = param(0.1, "Distortion of squared distances that 'auto' allows.")
    dense_output: bool = param(False, "Whether coordinates of sparse rows are dense; with False they stay sparse.")
    compute_inverse_components: bool = param(
        False, "Whether ``fit`` computes ``inverse_components_`` already; they are there in any case.", kind="hint"
    )
    random_state: Seed = param(None, "Seed of the directions.")

    @property
    def density_(self) -> float:
        """Share of entries that are not zero."""
        self._check_is_fitted()
        own: Any = self
        return 1 / math.sqrt(own.n_features_in_) if self.density == "auto" else float(self.density)

    @property
    def components_(self) -> Any:
        """Directions, compressed rows of shape (k, p)."""
        own: Any = self
        return _sparse_directions(self.seed_, self.n_components_, own.n_features_in_, self.density_)

    def transform(self, X: Any) -> Any:
        """Return the coordinates of rows.

        Returns
        -------
        ndarray or sparse container of shape (n, k)
            In the type of X.
        """
        X = self._new_data(X)
        if is_sparse(X):
            found = (X @ self.components_.T).astype(X.dtype)
            return found.toarray() if self.dense_output else found.tocsr()
        return np.ascontiguousarray((self.components_ @ X.T).T).astype(X.dtype, copy=False)


class HadamardProjection(RandomProjection):
    r"""Random projection by a subsampled Hadamard transform with random signs: p log p operations for each row.

    Objective
    ---------
    None: nothing is fitted to the rows. With random signs D, the orthogonal Hadamard matrix H of the next power of two q and k
    of its coordinates, drawn without replacement, coordinates are :math:`\sqrt{q / k} \, (H D x)_S`: squared lengths are unbiased,
    and k of the order of :math:`\epsilon^{-2} \log n \log q` keep all distances (Ailon and Chazelle; Tropp).

    Certificate
    -----------
    ExactCertificate: signs and coordinates are those of the seed, and nothing else.

    Cost
    ----
    O(p log p) a row, whatever the number of directions; nothing but the seed is in the model.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.random_projection import HadamardProjection
    >>> whole = HadamardProjection(8, random_state=0).fit_transform(np.eye(8))
    >>> bool(np.allclose(whole @ whole.T, np.eye(8)))
    True
    """

    n_components: PositiveInt | Literal["auto"] = param(
        "auto", "How many directions; 'auto' takes as many as the lemma asks for."
    )
    _: KW_ONLY
    eps: Positive = param(0.1, "Distortion of squared distances that 'auto' allows.")
    random_state: Seed = param(None, "Seed of the signs and of the choice.")

    def _length(self) -> int:
        """Return the length of the transform, a power of two."""
        own: Any = self
        return 1 << max(int(own.n_features_in_) - 1, self.n_components_ - 1, 0).bit_length()

    def _draw(self) -> tuple[int, Array, Array]:
        """Return the length of the transform, the signs, and which coordinates are kept."""
        own: Any = self
        q = self._length()
        require_memory(16 * q, f"a transform of length {q}", "Ask for fewer directions.")
        rng = np.random.default_rng(self.seed_)
        signs = np.where(rng.random(own.n_features_in_) < 0.5, -1.0, 1.0)
        return q, signs, np.sort(rng.permutation(q)[: self.n_components_])

    @property
    def components_(self) -> Array:
        """Directions, shape (k, p)."""
        self._check_is_fitted()
        own: Any = self
        p, q = own.n_features_in_, self._length()
        require_memory(8 * p * (p + 2 * q), f"the transform of {p} columns", "Use transform instead.")
        return np.ascontiguousarray(self._project(np.eye(p)).T)

    def _project(self, x: Array) -> Array:
        q, signs, kept = self._draw()
        found = np.zeros((len(x), q))
        found[:, : x.shape[1]] = x * signs
        half = 1
        while half < q:  # butterflies: sums and differences of ever larger halves
            pairs = found.reshape(len(x), -1, 2, half)
            pairs[:, :, 0], pairs[:, :, 1] = pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]
            half *= 2
        return np.asarray(found[:, kept] / math.sqrt(self.n_components_))

    def transform(self, X: Any) -> Any:
        """Return the coordinates of rows.

        Returns
        -------
        ndarray of shape (n, k)
            In the type of X.
        """
        X = self._new_data(X)
        X = X.tocsr() if is_sparse(X) else X
        whole = X.shape[0] * self.n_components_ * X.dtype.itemsize
        require_memory(
            whole, f"{self.n_components_} coordinates of {X.shape[0]} rows", "Transform fewer rows at a time."
        )
        found = np.empty((X.shape[0], self.n_components_), dtype=X.dtype)
        step = max(1, BLOCK_ENTRIES // X.shape[1])
        for first in range(0, X.shape[0], step):
            rows = slice(first, first + step)
            x = X[rows]
            found[rows] = self._project(np.asarray(x.toarray() if is_sparse(x) else x, dtype=np.float64))
        return found
