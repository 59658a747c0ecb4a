"""Neighbours themselves."""

from __future__ import annotations

import math
from typing import Any, Literal, Self

import numpy as np

from qed.core import Array, InvalidParameter, NonNegative, param
from qed.neighbors._model import NeighborModel, graph, require_mode


class NearestNeighbors(NeighborModel):
    r"""Nearest neighbour search, exact, by trees or brute force.

    Objective
    ---------
    .. math:: \min_{|N| = k} \max_{i \in N} d(x_i, q)

    over sets N of rows, for each query q: the k nearest rows. Nearest first; equal distances in the order of the rows.

    Certificate
    -----------
    SearchCertificate: no row nearer than those named is left out, and distances are sums of differences, exact up to the
    rounding stated.

    Cost
    ----
    O(n p log n) to fit rows of at most twelve columns, O(n p) otherwise; O(n p) a query at most, O(p log n) where boxes around
    rows that lie close together can be passed by. The rows are kept twice: 16 n p bytes, and a third more for the boxes in few
    columns.

    Notes
    -----
    Whether boxes or all rows are looked at is tried out on some of the queries; answers are the same, to the bit.

    Examples
    --------
    >>> from qed.neighbors import NearestNeighbors
    >>> model = NearestNeighbors(n_neighbors=2).fit([[0.0], [1.0], [3.0]])
    >>> distances, rows = model.kneighbors([[0.9]])
    >>> rows.tolist()
    [[1, 0]]
    """

    radius: NonNegative = param(1.0, "How far neighbours of `radius_neighbors` may be.")

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Keep the rows."""
        self._keep(self._fit_data(X, finite=False))
        return self

    def radius_neighbors(
        self, X: Any = None, radius: float | None = None, return_distance: bool = True, sort_results: bool = False
    ) -> Any:
        """Find all rows of the fit within a radius.

        Parameters
        ----------
        X : array-like or frame of shape (m, p), optional
            Rows to find neighbours of. None asks for the neighbours of each row of the fit among the others.
        radius : float, optional
            The radius, itself included; the parameter of the model by default.
        return_distance : bool
            Whether to return distances too.
        sort_results : bool
            Whether the nearest must come first; they always do.

        Returns
        -------
        distances : ndarray of shape (m,) of ndarrays
            Nearest first; only with ``return_distance``.
        indices : ndarray of shape (m,) of ndarrays of int
            Rows of the fit.
        """
        if sort_results and not return_distance:
            raise InvalidParameter("return_distance must be True if sort_results is True.")
        found = self._within(X, radius)
        ids = _lists(found.ids, found.starts)
        return (_lists(found.distances, found.starts), ids) if return_distance else ids

    def radius_neighbors_graph(
        self,
        X: Any = None,
        radius: float | None = None,
        mode: Literal["connectivity", "distance"] = "connectivity",
        sort_results: bool = False,  # noqa: ARG002  they always are
    ) -> Any:
        """Return the graph of rows within a radius as a sparse matrix.

        Parameters
        ----------
        X : array-like or frame of shape (m, p), optional
            Rows to find neighbours of; None as in `radius_neighbors`.
        radius : float, optional
            The radius; the parameter of the model by default.
        mode : {"connectivity", "distance"}
            Whether entries are ones or distances.
        sort_results : bool
            Whether the nearest must come first in each row; they always do.

        Returns
        -------
        csr_matrix of shape (m, n_samples_fit)
            An entry for each neighbour.
        """
        require_mode(mode)
        found = self._within(X, radius)
        values = found.distances if mode == "distance" else np.ones(len(found.ids))
        return graph(values, found.ids, found.starts, self.n_samples_fit_)

    def _within(self, X: Any, radius: float | None) -> Any:
        self._check_is_fitted()
        others = X is None
        queries = self.rows_ if others else np.asarray(self._new_data(X), dtype=np.float64)
        reach = float(self.radius if radius is None else radius)
        if not 0 <= reach < math.inf:
            raise InvalidParameter(f"radius must be a finite number >= 0, got {radius!r}.")
        return self._index.within(queries, reach, others=others)


def _lists(values: Array, starts: Array) -> Array:
    lists = np.empty(len(starts) - 1, dtype=object)
    for i in range(len(lists)):
        lists[i] = values[starts[i] : starts[i + 1]]
    return lists
