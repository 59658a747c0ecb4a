"""How many clusters: by an elbow of the cost, silhouettes, the gap statistic, a penalty, stability, or evidence."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.cluster._kmeans import KMeans
from qed.core import Array, InvalidData, InvalidParameter, generator
from qed.core._events import STOP, Progress
from qed.metrics import adjusted_rand_score, silhouette_score

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qed.core._params import SeedLike

SILHOUETTE_ROWS = 5000  # rows of a sample whose silhouettes are computed: their cost is its square


def elbow(costs: Any, ks: Any = None) -> int:
    """Return the number of clusters at the elbow of a curve of costs.

    Parameters
    ----------
    costs : array-like of shape (m,)
        The cost for each number of clusters, falling.
    ks : array-like of shape (m,), optional
        The numbers; 1, 2, ... by default.

    Returns
    -------
    int
        Where the curve lies farthest below the straight line from its first point to its last, both axes scaled to one.

    Examples
    --------
    >>> from qed.cluster import elbow
    >>> elbow([100, 70, 40, 10, 9, 8, 7])
    4
    """
    cost = np.asarray(costs, dtype=np.float64)
    k = np.arange(1, len(cost) + 1) if ks is None else np.asarray(ks)
    if cost.ndim != 1 or len(cost) != len(k) or len(cost) < 2 or not np.isfinite(cost).all():
        raise InvalidParameter(f"elbow needs two or more finite costs, one for each k, got {costs!r:.80}.")
    x = (k - k[0]) / (k[-1] - k[0])
    drop = cost[0] - cost[-1]
    y = (cost - cost[-1]) / (drop if drop != 0 else 1.0)
    return int(k[int(np.argmax(1.0 - x - y))])


def penalised_k(costs: Any, penalty: float, ks: Any = None) -> int:
    """Return the number of clusters of the least cost plus penalty times k.

    Parameters
    ----------
    costs : array-like of shape (m,)
        The cost for each number of clusters.
    penalty : float
        What a cluster costs: 0 takes the most clusters, a large one a single cluster.
    ks : array-like of shape (m,), optional
        The numbers; 1, 2, ... by default.

    Returns
    -------
    int
        The number; of equal ones the smallest, unless the penalty is 0.

    Examples
    --------
    >>> from qed.cluster import penalised_k
    >>> penalised_k([10.0, 4.0, 3.0, 2.9], penalty=1.5)
    2
    """
    cost = np.asarray(costs, dtype=np.float64)
    k = np.arange(1, len(cost) + 1) if ks is None else np.asarray(ks)
    if not penalty >= 0:
        raise InvalidParameter(f"penalty must be a real number >= 0, got {penalty!r}.")
    total = cost + penalty * k
    best = np.flatnonzero(total == total.min())
    return int(k[best[-1] if penalty == 0 else best[0]])


@dataclass(frozen=True, eq=False)
class KChoice:
    """The criteria for each number of clusters, and the number that each of them chooses.

    Attributes
    ----------
    ks : ndarray of int of shape (m,)
        Numbers of clusters.
    inertia : ndarray of shape (m,)
        Least inertia found.
    silhouette : ndarray of shape (m,)
        Mean silhouette; NaN for one cluster.
    gap, gap_error : ndarray of shape (m,)
        The mean logarithm of the inertia of uniform rows less that of these rows, and its standard error.
    stability : ndarray of shape (m,)
        Mean agreement (adjusted Rand score) of partitions learnt from two random halves of the rows; 1 for one cluster.
    votes : dict of str to int
        The choice of each rule.
    """

    ks: Array
    inertia: Array
    silhouette: Array
    gap: Array
    gap_error: Array
    stability: Array
    votes: dict[str, int] = field(default_factory=dict)

    @property
    def best(self) -> int:
        """The number that most rules choose; of equal ones that of the larger silhouette."""
        counts = {k: sum(vote == k for vote in self.votes.values()) for k in set(self.votes.values())}
        score = dict(zip(self.ks.tolist(), np.nan_to_num(self.silhouette, nan=-1.0).tolist(), strict=True))
        return max(counts, key=lambda k: (counts[k], score[k], -k))

    @property
    def reasons(self) -> list[str]:
        """One sentence for each rule."""
        at = {int(k): i for i, k in enumerate(self.ks)}
        words = {
            "elbow": lambda k: f"the elbow of the inertia is at k = {k}",
            "silhouette": lambda k: f"silhouettes are largest at k = {k} (mean {self.silhouette[at[k]]:.3f})",
            "gap": lambda k: f"k = {k} is the first whose gap to uniform rows is within one standard error of the next",
            "stability": lambda k: (
                f"k = {k} is the largest number that halves of the rows agree on ({self.stability[at[k]]:.3f})"
            ),
            "penalised cost": lambda k: f"cost plus a penalty for each cluster is least at k = {k}",
        }
        return [words[rule](k) for rule, k in self.votes.items()]

    def plot(self, axes: Any = None) -> Any:
        """Draw inertia, silhouettes, gap and stability against k, the choice of each rule marked.

        Parameters
        ----------
        axes : list of four matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        list of matplotlib Axes
            With the drawings.
        """
        from qed.core import _canvas  # noqa: PLC0415  matplotlib is loaded by a drawing

        if axes is None:
            axes, _ = _canvas.panels(4, 2, size=(6.4, 5.2))
        for ax, (rule, name) in zip(
            axes,
            {"elbow": "inertia", "silhouette": "silhouette", "gap": "gap", "stability": "stability"}.items(),
            strict=False,
        ):
            ax.plot(self.ks, getattr(self, name), "o-", color=_canvas.BLUE, markersize=4)
            if name == "gap":
                ax.errorbar(self.ks, self.gap, self.gap_error, fmt="none", ecolor=_canvas.GREY)
            if rule in self.votes:
                ax.axvline(self.votes[rule], color=_canvas.GREY, linestyle=":")
            ax.set(xlabel="number of clusters", ylabel=name)
            _canvas.bare(ax)
        return axes


def choose_k(
    X: Any,
    ks: Sequence[int] = range(1, 11),
    *,
    n_init: int = 5,
    n_references: int = 10,
    n_halves: int = 10,
    agreement: float = 0.9,
    random_state: SeedLike = None,
) -> KChoice:
    """Choose the number of clusters of k-means: elbow, silhouette, gap statistic and stability.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Rows.
    ks : sequence of int
        Numbers to compare, rising, from 1 or 2 on.
    n_init : int
        Starts of each k-means.
    n_references : int
        Tables of uniform rows, in the box of X, for the gap statistic (Tibshirani, Walther and Hastie 2001).
    n_halves : int
        Pairs of random halves for stability.
    agreement : float
        Stability that is enough: the largest k that reaches it is chosen.
    random_state : int, Generator or None
        Seed.

    Returns
    -------
    KChoice
        Curves, votes, reasons and a figure.

    Notes
    -----
    Each k-means is a step of ``"choose_k"``. A callback that asks to stop (`qed.listen`) ends the comparison: numbers that were not
    reached are left out, and a rule without one whole round does not vote.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.cluster import choose_k
    >>> X = np.repeat([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]], 20, axis=0) + np.random.default_rng(0).normal(size=(60, 2))
    >>> choose_k(X, range(1, 6), random_state=0).best
    3
    """
    rows = np.asarray(X, dtype=np.float64)
    numbers = np.array(list(ks), dtype=np.int64)
    if rows.ndim != 2 or not np.isfinite(rows).all():
        raise InvalidData("choose_k needs a table of finite numbers.")
    if not len(numbers) or numbers[0] < 1 or np.any(np.diff(numbers) <= 0) or 2 * numbers[-1] > len(rows):
        raise InvalidParameter(
            f"ks must rise from 1 or more to at most half the {len(rows)} rows, got {numbers.tolist()}."
        )
    rng = generator(random_state)
    with Progress("choose_k", total=len(numbers) * (1 + n_references + n_halves)) as progress:
        fits = []
        for k in numbers:
            fits.append(KMeans(int(k), n_init=n_init, random_state=rng).fit(rows))
            if progress.step() is STOP:
                break
        numbers = numbers[: len(fits)]
        inertia = np.array([model.inertia_ for model in fits])
        sample = rng.permutation(len(rows))[:SILHOUETTE_ROWS]
        silhouette = np.array(
            [
                _silhouette(rows[sample], model.labels_[sample]) if k > 1 else np.nan
                for k, model in zip(numbers, fits, strict=True)
            ]
        )
        gap, error = _gaps(rows, numbers, inertia, n_references, rng, progress)
        stability = _stabilities(rows, numbers, n_halves, rng, progress)
    votes = {"elbow": elbow(inertia, numbers)} if len(numbers) > 1 else {}
    if np.isfinite(silhouette).any():
        votes["silhouette"] = int(numbers[np.nanargmax(silhouette)])
    if np.isfinite(gap).all():
        enough = np.flatnonzero(gap[:-1] >= gap[1:] - error[1:])
        votes["gap"] = int(numbers[enough[0] if len(enough) else -1])
    if np.isfinite(stability).all():
        votes["stability"] = int(numbers[np.flatnonzero(stability >= min(agreement, stability.max()))[-1]])
    return KChoice(numbers, inertia, silhouette, gap, error, stability, votes or {"elbow": int(numbers[0])})


def _silhouette(rows: Array, labels: Array) -> float:
    return silhouette_score(rows, labels) if 1 < len(np.unique(labels)) < len(rows) else float("nan")


def _gaps(rows: Array, ks: Array, inertia: Array, references: int, rng: Any, progress: Progress) -> tuple[Array, Array]:
    """Return the gap statistic of each k, and its standard error; NaN if there was no time for one table."""
    low, high = rows.min(axis=0), rows.max(axis=0)
    tiny = np.finfo(np.float64).tiny

    def one_table() -> list[float] | None:
        table = rng.uniform(low, high, rows.shape)
        logs = []
        for k in ks:
            if progress.is_stopped:
                return None
            logs.append(float(np.log(max(KMeans(int(k), random_state=rng).fit(table).inertia_, tiny))))
            progress.step()
        return logs

    found = [logs for _ in range(references) if (logs := one_table()) is not None]
    if not found:
        return np.full(len(ks), np.nan), np.full(len(ks), np.nan)
    table = np.array(found)
    gap = table.mean(axis=0) - np.log(np.maximum(inertia, tiny))
    return gap, table.std(axis=0) * np.sqrt(1 + 1 / len(table))


def _stabilities(rows: Array, ks: Array, halves: int, rng: Any, progress: Progress) -> Array:
    """Return how well the centres of two halves agree on all rows, for each k; NaN if there was no time for one pair of halves."""

    def one_pair() -> list[float] | None:
        order = rng.permutation(len(rows))
        parts = order[: len(rows) // 2], order[len(rows) // 2 :]
        scores = []
        for k in ks:
            if progress.is_stopped:
                return None
            labels = (KMeans(int(k), n_init=3, random_state=rng).fit(rows[part]).predict(rows) for part in parts)
            scores.append(adjusted_rand_score(*labels) if k > 1 else 1.0)
            progress.step()
        return scores

    found = [scores for _ in range(halves) if (scores := one_pair()) is not None]
    return np.mean(found, axis=0) if found else np.full(len(ks), np.nan)
