"""Numbers in bins."""

from __future__ import annotations

import warnings
from typing import Any, Literal, Self

import numpy as np

from qed.certificates import ExactCertificate
from qed.core import (
    KW_ONLY,
    Array,
    InvalidData,
    InvalidParameter,
    PositiveInt,
    Seed,
    Transformer,
    fitted,
    generator,
    param,
)
from qed.core._params import DType  # noqa: TC001  (what parameters may hold)
from qed.core._roles import _input_names
from qed.core._validation import is_source
from qed.data._selected import count_rows, gathered
from qed.preprocessing import _kernels
from qed.preprocessing._columns import finite_rows, require_rows
from qed.preprocessing._quantiles import percentile, weighted_percentile
from qed.preprocessing._sparse import compressed_ones


class KBinsDiscretizer(Transformer, chunks=True, keeps_dtype=True):
    r"""Discretisation of columns into bins.

    Objective
    ---------
    .. math:: z_{ij} = \#\{k : e_{jk} \le x_{ij}\}, \quad e_{j1} < e_{j2} < \ldots

    Certificate
    -----------
    ExactCertificate: the edges are a function of the rows; with ``subsample`` of those that were drawn.

    Cost
    ----
    O(n) a column for uniform bins, a partition for quantiles, a sort for k-means; one search for each entry.

    Examples
    --------
    >>> from qed.preprocessing import KBinsDiscretizer
    >>> KBinsDiscretizer(2, encode="ordinal", strategy="uniform").fit_transform([[0.0], [4.0], [10.0]])
    array([[0.],
           [0.],
           [1.]])
    """

    n_bins: Any = param(5, "Number of bins, at least two; or one for each column.")
    _: KW_ONLY
    encode: Literal["onehot", "onehot-dense", "ordinal"] = param("onehot", "How bins are written.")
    strategy: Literal["uniform", "quantile", "kmeans"] = param(
        "quantile", "What bins have in common: width, number of rows, centre."
    )
    quantile_method: Any = param("averaged_inverted_cdf", "Method of ``numpy.percentile`` for quantiles.")
    dtype: DType | None = param(None, "Type of the result; that of X by default.")
    subsample: PositiveInt | None = param(200_000, "Rows to draw, with replacement, if there are more; None for all.")
    random_state: Seed = param(None, "Where the drawn rows come from.")

    bin_edges_: list[Array] = fitted(
        "Edges of the bins of each column, an array of arrays.",
        length="p",
        dtype="float",
        shape="(n_bins_[j] + 1,)",
        finite=False,
        order="rising",
    )
    n_bins_: Array = fitted("Number of bins of each column.", dtype="int", shape="(p,)", low=1)
    certificate_: ExactCertificate = fitted("What is proven about the fit.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Find the edges of the bins.

        Parameters
        ----------
        X : array-like or frame of shape (n, p), or a source from ``qed.scan``
            Rows. Of a source the rows that ``subsample`` draws are gathered, by its weights where it has some.
        """
        data = self._fit_data(X, None, sample_weight)
        table, weight = data.X, data.weight
        if self.dtype not in (None, np.float32, np.float64):
            raise InvalidParameter(
                f"KBinsDiscretizer.dtype must be None, np.float32 or np.float64, got {self.dtype!r}."
            )
        if is_source(table):
            table, weight = self._drawn(table)
        elif self.subsample is not None and len(table) > self.subsample:
            share = None if weight is None else weight / weight.sum()
            drawn = generator(self.random_state).choice(len(table), self.subsample, replace=True, p=share)
            table, weight = table[drawn], None
        if self.strategy == "quantile" and weight is not None and not self.quantile_method.endswith("inverted_cdf"):
            raise InvalidParameter(
                "When fitting with strategy='quantile' and sample weights, quantile_method should either be set to"
                f" 'averaged_inverted_cdf' or 'inverted_cdf', got quantile_method='{self.quantile_method}' instead."
            )
        bins = self._bins(table.shape[1])
        edges = np.empty(table.shape[1], object)
        for j in range(table.shape[1]):
            edges[j] = self._edges(table[:, j], weight, int(bins[j]), j)
            bins[j] = len(edges[j]) - 1
        self.bin_edges_ = list(edges)
        self.n_bins_ = bins
        self.certificate_ = ExactCertificate(f"edges of {len(bins)} columns", len(table), 8 * 2.0**-53)
        return self

    def _drawn(self, source: Any) -> tuple[Array, Array | None]:
        """Gather the rows of a source that edges are made of, those that would be drawn in memory, and weights if all are."""
        n = count_rows(source)
        require_rows(n, type(self).__name__)
        if self.subsample is None:
            raise InvalidParameter("KBinsDiscretizer draws rows of a source: give subsample, the number of them.")
        if n <= self.subsample:
            table, weight = gathered(source, np.arange(n))
            return finite_rows(self, table), weight
        share = None
        if source.schema.weighted:
            weight = np.concatenate([s for _, s in source.targets()])
            share = weight / weight.sum()
        drawn = generator(self.random_state).choice(n, self.subsample, replace=True, p=share)
        return finite_rows(self, gathered(source, drawn)[0]), None

    def _bins(self, p: int) -> Array:
        given = self.n_bins
        if isinstance(given, int | np.integer) and not isinstance(given, bool):
            if given < 2:
                raise InvalidParameter(f"KBinsDiscretizer.n_bins must be an integer of at least 2, got {given}.")
            return np.full(p, given, dtype=np.int64)
        bins = np.asarray(given)
        if bins.ndim != 1 or len(bins) != p:
            raise InvalidParameter("n_bins must be a scalar or array of shape (n_features,).")
        wrong = np.flatnonzero((bins < 2) | (bins != np.floor(bins)))
        if len(wrong):
            raise InvalidParameter(
                "KBinsDiscretizer received an invalid number of bins at indices"
                f" {', '.join(map(str, wrong))}. Number of bins must be at least 2, and must be an int."
            )
        return bins.astype(np.int64)

    def _edges(self, column: Array, weight: Array | None, n_bins: int, j: int) -> Array:
        counted = column if weight is None or self.strategy == "quantile" else column[weight > 0]
        low, high = float(counted.min()), float(counted.max())
        if low == high:
            warnings.warn(f"Feature {j} is constant and will be replaced with 0.", stacklevel=4)
            return np.array([-np.inf, np.inf])
        if self.strategy == "uniform":
            return np.linspace(low, high, n_bins + 1)
        if self.strategy == "quantile":
            levels = np.linspace(0, 100, n_bins + 1)
            if weight is None:
                edges = percentile(column, levels, self.quantile_method)
            else:
                average = self.quantile_method == "averaged_inverted_cdf"
                edges = weighted_percentile(column, weight, levels, average=average)
        else:
            centres = _centres(column.astype(np.float64), weight, n_bins)
            edges = np.concatenate([[low], (centres[1:] + centres[:-1]) / 2, [high]])
        kept = edges[np.ediff1d(edges, to_begin=np.inf) > 1e-8]
        if len(kept) != len(edges):
            warnings.warn(
                f"Bins whose width are too small (i.e., <= 1e-8) in feature {j} are removed. Consider decreasing the number of"
                " bins.",
                stacklevel=4,
            )
        return kept

    def transform(self, X: Any) -> Any:
        """Put numbers into bins.

        Returns
        -------
        CSR container, ndarray or frame
            Bins, as ``encode`` says.
        """
        X = self._new_data(X)
        dtype = X.dtype if self.dtype is None else np.dtype(self.dtype)
        found = _kernels.counted(X, [edges[1:-1] for edges in self.bin_edges_])
        if self.encode == "ordinal":
            return found.astype(dtype, copy=False)
        places = [found[:, j].astype(np.intp) for j in range(found.shape[1])]
        widths = self.n_bins_.tolist()
        tables = [np.append(np.arange(width), -1) for width in widths]
        return compressed_ones(places, tables, widths, len(X), dtype, sparse=self.encode == "onehot")

    def inverse_transform(self, X: Any) -> Any:
        """Give the middles of the bins.

        Parameters
        ----------
        X : array-like or sparse container
            Bins, as ``transform`` writes them.

        Returns
        -------
        ndarray of shape (n, p)
            Numbers.
        """
        self._check_is_fitted()
        table = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
        width = len(self.n_bins_) if self.encode == "ordinal" else int(self.n_bins_.sum())
        if table.ndim != 2 or table.shape[1] != width:
            raise InvalidData(f"X has shape {table.shape}, and transform gives {width} columns. Pass what it gave.")
        if self.encode != "ordinal":
            ends = np.cumsum(self.n_bins_)
            table = np.stack(
                [table[:, end - n : end].argmax(axis=1) for end, n in zip(ends, self.n_bins_, strict=True)], axis=1
            )
        out = np.empty(table.shape)
        for j, edges in enumerate(self.bin_edges_):
            with np.errstate(invalid="ignore"):
                middles = (edges[1:] + edges[:-1]) / 2
            out[:, j] = middles[table[:, j].astype(np.int64)]
        return out

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Name the columns that come out: those that went in, or with one-hot codes ``<name>_<bin>``."""
        self._check_is_fitted()
        inside = _input_names(self, input_features)
        if self.encode == "ordinal":
            return inside
        pairs = zip(inside, self.n_bins_, strict=True)
        return np.asarray([f"{name}_{float(k)}" for name, n in pairs for k in range(n)], dtype=object)


def _centres(column: Array, weight: Array | None, n_bins: int) -> Array:
    """Run Lloyd's iteration on a line, from centres at equal distances; a centre without rows moves to the farthest row."""
    x, place = np.unique(column, return_inverse=True)
    s = np.bincount(place, weight, len(x))  # equal rows move together, so that a weight is a repetition
    x, s = x[s > 0], s[s > 0]
    moments = s * (x - x[0])
    edges = np.linspace(x[0], x[-1], n_bins + 1)
    centres = (edges[1:] + edges[:-1]) / 2
    whole = s.sum()
    tolerance, before = 1e-4 * float(s @ (x - x[0] - moments.sum() / whole) ** 2 / whole), None
    for _ in range(300):
        cuts = np.concatenate([[0], np.searchsorted(x, (centres[1:] + centres[:-1]) / 2, side="right"), [len(x)]])
        own = np.repeat(np.arange(n_bins), np.diff(cuts))
        # sums of each bin alone: differences of running sums lose the light rows beside heavy ones
        mass, moment = np.bincount(own, s, n_bins), np.bincount(own, moments, n_bins)
        filled = bool((mass > 0).all())
        if not filled:
            _fill_empty(x, s, own, centres, mass, moment)
        moved = np.where(mass > 0, x[0] + moment / np.where(mass > 0, mass, 1), centres)
        step, centres = float(np.sum((moved - centres) ** 2)), np.sort(moved)
        if (filled and before is not None and np.array_equal(cuts, before)) or step <= tolerance:
            break
        before = cuts
    return centres


def _fill_empty(x: Array, s: Array, own: Array, centres: Array, mass: Array, moment: Array) -> None:
    """Give each cluster without rows one of the rows that are farthest from their centre; `mass` and `moment` are changed."""
    far = np.argsort(-((x - centres[own]) ** 2), kind="stable")
    for empty, row in zip(np.flatnonzero(~(mass > 0)), far, strict=False):
        gained = s[row], s[row] * (x[row] - x[0])
        mass[empty], moment[empty] = gained
        mass[own[row]] -= gained[0]
        moment[own[row]] -= gained[1]
