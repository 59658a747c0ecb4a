"""The tree of merges: cut, measured and drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import Array, InvalidParameter
from qed.core._memory import require_memory

if TYPE_CHECKING:
    from collections.abc import Sequence


def why_no_merges(children: Array, n: int) -> str:
    """Say what is wrong with merges of n rows: each cluster is joined once, after it was made."""
    made = n + np.arange(len(children))
    good = (
        len(children) == n - 1
        and np.all(children >= 0)
        and np.all(children < made[:, None])
        and np.all(children[:, 0] < children[:, 1])
        and len(np.unique(children)) == children.size
    )
    return "" if good else "should join each cluster once, after it was made"


@dataclass(frozen=True, eq=False)
class Dendrogram:
    """A dendrogram: the merges of a hierarchical clustering, from n rows to one cluster.

    Attributes
    ----------
    children : ndarray of int of shape (n - 1, 2)
        The clusters that each merge joins. Numbers below n are rows, n + t is the cluster of merge t.
    heights : ndarray of shape (n - 1,)
        The distance of the two clusters of each merge.

    Examples
    --------
    >>> from qed.cluster import AgglomerativeClustering
    >>> tree = AgglomerativeClustering(linkage="single").fit([[0.0], [1.0], [3.0], [7.0]]).dendrogram_
    >>> tree.heights.tolist()
    [1.0, 2.0, 4.0]
    >>> tree.cut(2).tolist()
    [0, 0, 0, 1]
    """

    children: Array
    heights: Array

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.children) + 1

    @property
    def inversions(self) -> Array:
        """Merges that are lower than one of the two they join: centroid and median linkage have such."""
        return np.flatnonzero(self.heights < self._below())

    def _below(self) -> Array:
        """Return the highest merge directly below each merge; minus infinity where both children are rows."""
        n, own = self.n_rows, np.concatenate([np.full(self.n_rows, -np.inf), self.heights])
        return np.maximum(own[self.children[:, 0]], own[self.children[:, 1]]) if n > 1 else np.zeros(0)

    def _summit(self) -> Array:
        """Return the highest merge in the tree below each merge, itself included."""
        n = self.n_rows
        top = np.concatenate([np.full(n, -np.inf), self.heights])
        for t, (a, b) in enumerate(self.children):
            top[n + t] = max(top[n + t], top[a], top[b])
        return np.asarray(top[n:])

    def cut(self, n_clusters: int | None = None, *, height: float | None = None) -> Array:
        """Return the cluster of each row, numbered by their first rows.

        Parameters
        ----------
        n_clusters : int, optional
            How many clusters: the first n - k merges are made. By default, where no height is given, as many as the largest gap
            between heights tells.
        height : float, optional
            Merges below this height are made, where all merges inside them are below it too.

        Returns
        -------
        ndarray of int of shape (n,)
            Labels.
        """
        n = self.n_rows
        if height is not None:
            if n_clusters is not None:
                raise InvalidParameter("cut takes n_clusters or height, not both.")
            made = self._summit() < height
        else:
            k = self.largest_gap() if n_clusters is None else n_clusters
            if not 1 <= k <= n:
                raise InvalidParameter(f"n_clusters must be between 1 and the {n} rows, got {k!r}.")
            made = np.arange(n - 1) < n - k
        root = np.arange(2 * n - 1)
        for t in np.flatnonzero(made)[::-1]:  # from the top: a cluster hands its root on
            root[self.children[t]] = root[n + t]
        return numbered(root[:n])

    def largest_gap(self) -> int:
        """Return the number of clusters between the two successive heights that differ most.

        Returns
        -------
        int
            At least 2 if there are three rows or more; of equal gaps the one with fewer clusters.
        """
        n = self.n_rows
        if n < 3:
            return 1
        gaps = np.diff(np.maximum.accumulate(self.heights))
        last = len(gaps) - 1 - int(np.argmax(gaps[::-1]))
        return n - 1 - last

    def leaves(self) -> Array:
        """Return the rows in the order in which branches do not cross."""
        n = self.n_rows
        order: list[int] = []
        waiting = [2 * n - 2]
        while waiting:
            node = waiting.pop()
            if node < n:
                order.append(int(node))
            else:
                a, b = self.children[node - n]
                waiting += [int(b), int(a)]
        return np.array(order)

    def cophenetic(self) -> Array:
        """Return the height at which each two rows first meet, (n, n)."""
        n = self.n_rows
        require_memory(8 * n * n, f"the {n} x {n} heights at which rows meet", "Take a sample of the rows.")
        found = np.zeros((n, n))
        members: dict[int, Array] = {i: np.array([i]) for i in range(n)}
        for t, (a, b) in enumerate(self.children):
            left, right = members.pop(int(a)), members.pop(int(b))
            found[np.ix_(left, right)] = found[np.ix_(right, left)] = self.heights[t]
            members[n + t] = np.concatenate([left, right])
        return found

    def cophenetic_correlation(self, distances: Any) -> float:
        """Return the correlation between distances of rows and the heights at which they meet.

        Parameters
        ----------
        distances : array-like of shape (n, n)
            Distances between rows, as ``pairwise_distances`` returns them.

        Returns
        -------
        float
            At most 1, where the tree tells all distances.
        """
        pairs = np.triu_indices(self.n_rows, 1)
        given = np.asarray(distances, dtype=np.float64)
        if given.shape != (self.n_rows, self.n_rows):
            raise InvalidParameter(f"distances must have shape ({self.n_rows}, {self.n_rows}), got {given.shape}.")
        a, b = given[pairs], self.cophenetic()[pairs]
        a, b = a - a.mean(), b - b.mean()
        size = float(np.sqrt(np.sum(a * a) * np.sum(b * b)))
        return float(np.sum(a * b)) / size if size > 0 else float("nan")

    def coordinates(self) -> tuple[Array, Array]:
        """Return the corners of the bracket of each merge: places along the leaves, and heights, both (n - 1, 4).

        Returns
        -------
        places : ndarray of shape (n - 1, 4)
            Left leg, left and right end of the bar, right leg; leaves stand at 0, 1, ...
        heights : ndarray of shape (n - 1, 4)
            From the height of the left child up to that of the merge and down to that of the right child.
        """
        n = self.n_rows
        place, level = np.empty(2 * n - 1), np.zeros(2 * n - 1)
        place[self.leaves()] = np.arange(n)
        places, heights = np.empty((n - 1, 4)), np.empty((n - 1, 4))
        for t, (a, b) in enumerate(self.children):
            left, right = (a, b) if place[a] <= place[b] else (b, a)
            h = self.heights[t]
            places[t] = place[left], place[left], place[right], place[right]
            heights[t] = level[left], h, h, level[right]
            place[n + t], level[n + t] = 0.5 * (place[a] + place[b]), h
        return places, heights

    def plot(self, ax: Any = None, *, labels: Sequence[str] | None = None, n_clusters: int | None = None) -> Any:
        """Draw the tree; clusters of a cut in colours, inversions in red.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        labels : list of str, optional
            Names of the rows, written below their leaves.
        n_clusters : int, optional
            Colour the branches of so many clusters.

        Returns
        -------
        matplotlib Axes
            With the drawing.
        """
        from qed.core._canvas import axes, bare  # noqa: PLC0415  matplotlib is loaded by a drawing

        ax, _ = axes(ax, size=(7.0, 4.2))
        bare(ax)
        places, heights = self.coordinates()
        colours, n = self._colours(n_clusters), self.n_rows
        odd = set(self.inversions.tolist())
        for t in range(n - 1):
            ax.plot(places[t], heights[t], color="tab:red" if t in odd else colours[t], linewidth=1.2)
        ax.set_ylabel("height")
        ax.set_xlim(-0.5, n - 0.5)
        ax.set_ylim(bottom=0)
        if labels is None:
            ax.set_xticks([])
            ax.set_xlabel(f"{n} rows")
        else:
            ax.set_xticks(range(n), [labels[i] for i in self.leaves()], rotation=90)
        return ax

    def _colours(self, k: int | None) -> list[str]:
        from qed.core._canvas import CURVES  # noqa: PLC0415

        n = self.n_rows
        if k is None:
            return ["#444444"] * (n - 1)
        colours, labels = [], self.cut(k)
        first = np.arange(2 * n - 1)
        for t, (a, _) in enumerate(self.children):
            first[n + t] = first[a]
            colours.append(CURVES[labels[first[n + t]] % len(CURVES)] if t < n - k else "#999999")
        return colours


def numbered(groups: Array) -> Array:
    """Return numbers of groups from zero, in the order of their first rows."""
    _, first, inverse = np.unique(groups, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse.ravel()]
