"""From a table to certified clusters: method and number of clusters are chosen, with reasons, and groups described."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.cluster import KChoice, choose_k, penalised_k
from qed.core import InvalidParameter, QedError
from qed.core._events import STOP, Event, Progress, listen
from qed.metrics import adjusted_rand_score, silhouette_samples
from qed.study._group_traits import Trait, group_traits
from qed.study._stage import quietly
from qed.study._unsupervised import (
    TableRows,
    affordable_rows,
    check,
    finished_model,
    fit_final,
    has_only_numbers,
    output_of,
    prepare,
    require_different,
    table_rows,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from qed.study._checked import Checked
    from qed.study._clock import Clock
    from qed.study._unsupervised_model import UnsupervisedModel

Array = np.ndarray[Any, Any]

MOST_CLUSTERS = 10  # numbers of clusters that are compared
ROWS_A_CLUSTER = 10  # on average, below which clusters are anecdotes
# Rows, at random, that method and number are chosen on: silhouettes cost the square of their number.
FEWEST_CHOICE_ROWS, MOST_CHOICE_ROWS, ROWS_A_SECOND = 300, 2000, 40
CHOICE_SHARE = 0.4  # of the time, after which no further number of clusters, and no further check of one, begins
SHOWN_ROWS = 1500  # rows of the figures and of the silhouettes
MOST_MEDOID_ROWS = 5000  # k-medoids holds all distances
HALVES = 10  # pairs of random halves that should agree
MOST_STARTS, FEW_STARTS, MANY_ROWS = 10, 3, 100_000
METHODS = ("kmeans", "mixture", "medoids")
TITLES = {"kmeans": "k-means", "mixture": "Gaussian mixture", "medoids": "k-medoids"}
NO_STRUCTURE, WEAK, STRONG = 0.25, 0.5, 0.7  # silhouettes, after Kaufman and Rousseeuw (1990)


@dataclass(frozen=True)
class Method:
    """A method, and how well partitions learnt from random halves of the rows agree.

    Attributes
    ----------
    name, title : str
        The method.
    n_clusters : int
        How many clusters it is given; 0 where it was not tried.
    stability, error : float
        Mean adjusted Rand score of the halves, and its standard error.
    silhouette : float
        Mean silhouette.
    reason : str
        Where its number of clusters comes from, or why it was not tried.
    """

    name: str
    title: str
    n_clusters: int
    stability: float
    error: float
    silhouette: float
    reason: str


@dataclass(frozen=True)
class Group:
    """One cluster, described.

    Attributes
    ----------
    name : str
        Its number; the largest is 1.
    n_rows : int
        Its rows.
    silhouette : float
        Mean silhouette of its rows.
    traits : list of Trait
        What sets it apart from the other rows, strongest first.
    example : int
        The row, from zero, that is nearest to its centre.
    """

    name: str
    n_rows: int
    silhouette: float
    traits: list[Trait]
    example: int


@dataclass(frozen=True, repr=False)
class Clustering:
    """Clusters of a table, and all that was found on the way.

    Attributes
    ----------
    model : UnsupervisedModel
        Assigns new rows.
    groups : list of Group
        The clusters, largest first.
    choice : KChoice or None
        What each number of clusters has to say for itself; None where the user said the number.
    methods : list of Method
        What was compared.
    labels : ndarray of int of shape (n,)
        The cluster of each row, from 0 for the largest.
    shown, prepared, silhouettes : ndarray
        Rows of the figures: where they stand in the table, as comparable numbers, and their silhouettes.
    structure : str
        How clearly the clusters are separated, in a sentence.
    checked : Checked or None
        The independent check; None where the table is too large to do it on the way.
    rows : RawTable
        The rows, for examples.
    """

    model: UnsupervisedModel
    groups: list[Group]
    choice: KChoice | None
    methods: list[Method]
    labels: Array
    shown: Array
    prepared: Array
    silhouettes: Array
    structure: str
    checked: Checked | None
    rows: Any

    @property
    def table(self) -> dict[str, Array]:
        """The cluster of each row: ``row`` and ``cluster``."""
        return {"row": np.arange(1, len(self.labels) + 1), "cluster": self.labels + 1}

    def __repr__(self) -> str:
        sizes = ", ".join(f"{group.n_rows:,}" for group in self.groups)
        return f"<qed clusters: {self.model.schema.output.method}; {sizes} rows>"


def cluster(
    table: Any,
    *,
    k: int | None = None,
    method: str | None = None,
    budget: float | str = 60.0,
    types: Mapping[str, str] | None = None,
    drop: Sequence[str] = (),
    seed: int = 0,
    command: str = "",
    clock: Clock | None = None,
) -> Clustering:
    """Find groups of similar rows in a table, and fit a certified model that assigns new rows to them.

    Parameters
    ----------
    table : frame, dict of columns, path, query, or what `read_table` gave
        The rows.
    k : int, optional
        Number of clusters; chosen by silhouettes, gap statistic, stability, elbow and penalised cost unless said.
    method : {"kmeans", "mixture", "medoids"}, optional
        The method; the most stable one unless said.
    budget : float or str
        Seconds, or ``"60s"``, ``"5m"``, ``"1h"``.
    types : mapping of str to str, optional
        What columns are, by name, where the inference is wrong.
    drop : sequence of str
        Columns to leave out.
    seed : int
        What every random choice follows from.
    command : str
        What was typed, for the record.
    clock : Clock, optional
        A clock that runs already, whose budget is then the one that counts.

    Returns
    -------
    Clustering
        The model, the groups and the reasons.

    Examples
    --------
    >>> from qed.study import cluster
    >>> table = {"size": [1.0, 1.1, 1.2, 9.0, 9.1, 9.2] * 5, "colour": ["red", "red", "red", "blue", "blue", "blue"] * 5}
    >>> found = cluster(table, budget="20s")
    >>> [group.n_rows for group in found.groups]
    [15, 15]
    >>> found.model.predict({"size": [1.0, 9.0], "colour": ["red", "blue"]}).tolist() in ([1, 2], [2, 1])
    True
    """
    if method is not None and method not in METHODS:
        raise InvalidParameter(f"--method {method}: choose one of {', '.join(METHODS)}.")
    if k is not None and k < 2:
        raise InvalidParameter(f"--k {k}: there must be at least two clusters.")
    data = table_rows(table, types=types, drop=drop, seed=seed, budget=budget, command=command, clock=clock)
    if k is not None and 2 * k > data.n_rows:
        raise InvalidParameter(f"--k {k}: the table has {data.n_rows} rows, of which at most half can be clusters.")
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        return _Search(data, k, method).done()


class _Search:
    """One clustering on its way."""

    def __init__(self, data: TableRows, k: int | None, method: str | None) -> None:
        self.data, self.k, self.method = data, k, method
        self.Z = prepare(
            data, data.sample(max(FEWEST_CHOICE_ROWS, min(MOST_CHOICE_ROWS, int(ROWS_A_SECOND * data.clock.budget))))
        )
        require_different(self.Z)
        distinct = len(np.unique(self.Z, axis=0))
        if k is not None and k > distinct:
            raise InvalidParameter(
                f"--k {k}: only {distinct} of {len(self.Z)} rows differ in the columns used. Ask for fewer clusters."
            )
        self.largest = max(2, min(MOST_CLUSTERS, len(self.Z) // ROWS_A_CLUSTER, distinct))
        self.rng = np.random.default_rng(data.seed)

    def done(self) -> Clustering:
        choice = None if self.k is not None else self._choose_k()
        k = self.k if choice is None else choice.best
        assert k is not None  # noqa: S101  (one of the two)
        methods = self._compare(k)
        best = self._chosen(methods)
        model, rows = self._fit(best)
        return self._told(model, rows, best, methods, choice)

    def _choose_k(self) -> KChoice:
        with Progress("comparing") as progress:
            ks = range(1, self.largest + 1)
            with listen(self._stop_choosing):
                found: KChoice = quietly(lambda: choose_k(self.Z, ks, random_state=self.data.seed))
            n, p = self.Z.shape
            # minus twice the log-likelihood of equal spherical Gaussians, each row in its nearest, and BIC's price of a centre
            cost = n * p * np.log(np.maximum(found.inertia, np.finfo(np.float64).tiny))
            votes = {**found.votes, "penalised cost": penalised_k(cost, (p + 1) * np.log(n), found.ks)}
            # the end of the range is no minimum of a cost, and no number that the gap statistic has found
            ends = {1: set(votes), self.largest: {"penalised cost", "gap"} if self.largest > 2 else set()}
            votes = {rule: vote for rule, vote in votes.items() if rule not in ends.get(vote, ())}
            progress.step(message=", ".join(f"{rule}: {vote}" for rule, vote in votes.items()))
        return replace(found, votes=votes)

    def _stop_choosing(self, event: Event) -> object:
        """End the comparison of numbers of clusters when its share of the time is spent; two numbers are compared in any case."""
        is_over = self.data.clock.spent > CHOICE_SHARE * self.data.clock.budget
        return STOP if event.source == "choose_k" and event.step > 1 and is_over else None

    def _compare(self, k: int) -> list[Method]:
        with Progress("comparing") as progress:
            wanted = METHODS if self.method is None else (self.method,)
            found = []
            for name in wanted:
                one = self._judged(name, k)
                found.append(one)
                if one.n_clusters:
                    progress.step(message=f"{one.title}, {one.n_clusters} clusters: halves agree {one.stability:.3f}")
        return found

    def _judged(self, name: str, k: int) -> Method:
        title, reason = TITLES[name], "as many as k-means" if name != "kmeans" else "by the rules above"
        reason = "you said so" if self.k is not None else reason
        if name == "mixture":
            if not has_only_numbers(self.data) and self.method is None:
                return Method(
                    name, title, 0, np.nan, np.nan, np.nan, "not tried: categories and texts have no Gaussian density"
                )
            if self.k is None:
                k, reason = self._by_bic(), "by the Bayesian information criterion (BIC)"
                if k == 1 and self.method is None:
                    return Method(
                        name, title, 0, np.nan, np.nan, np.nan, "not tried: by BIC a single Gaussian is enough"
                    )
                k = max(2, k)
        try:
            agreement, silhouette = self._stability(name, k)
        except QedError as refusal:
            if self.method is not None:
                raise
            return Method(name, title, 0, np.nan, np.nan, np.nan, f"not tried: {refusal}")
        error = float(agreement.std(ddof=1) / np.sqrt(len(agreement)))
        return Method(name, title, k, float(agreement.mean()), error, silhouette, reason)

    def _by_bic(self) -> int:
        from qed.mixture import GaussianMixture  # noqa: PLC0415

        def bic(k: int) -> float:
            return float(GaussianMixture(k, random_state=self.data.seed).fit(self.Z).bic(self.Z))

        scores = quietly(lambda: [bic(k) for k in range(1, self.largest + 1)])
        return 1 + int(np.argmin(scores))

    def _stability(self, name: str, k: int) -> tuple[Array, float]:
        """Return how well halves agree, pair by pair, and the mean silhouette."""
        n, found = len(self.Z), []
        rng = np.random.default_rng(self.data.seed)  # the same halves for every method
        for _ in range(HALVES):
            order = rng.permutation(n)
            one, two = (self._labels(name, k, part) for part in (order[: n // 2], order[n // 2 :]))
            found.append(adjusted_rand_score(one, two))
        labels = self._labels(name, k, np.arange(n))
        return np.array(found), float(np.mean(_silhouettes(self.Z, labels)))

    def _labels(self, name: str, k: int, part: Array) -> Array:
        """Return the clusters of all rows by a model that is fitted on some."""
        return np.asarray(quietly(lambda: self._model(name, k).fit(self.Z[part]).predict(self.Z)))

    def _model(self, name: str, k: int) -> Any:
        return MAKERS[name](k, self.data.seed, self.data.n_rows)

    def _chosen(self, methods: list[Method]) -> Method:
        """Take the most stable method; k-means, the simplest, where it is within a standard error of it."""
        tried = [one for one in methods if one.n_clusters]
        if not tried:
            raise InvalidParameter(f"--method {self.method}: {methods[0].reason}.")
        best = max(tried, key=lambda one: one.stability)
        return next(one for one in tried if one.stability >= best.stability - best.error)

    def _fit(self, best: Method) -> tuple[Any, int]:
        begin = self.data.clock.now()
        quietly(lambda: self._model(best.name, best.n_clusters).fit(self.Z))
        seconds = self.data.clock.now() - begin
        most = MOST_MEDOID_ROWS if best.name == "medoids" else self.data.n_rows
        rows = affordable_rows(self.data, seconds, len(self.Z), most)
        model = self._model(best.name, best.n_clusters)
        return fit_final(self.data, model, rows, title=f"{best.title}, {best.n_clusters} clusters"), rows

    def _told(
        self, pipeline: Any, rows: int, best: Method, methods: list[Method], choice: KChoice | None
    ) -> Clustering:
        data, k = self.data, best.n_clusters
        numbers = np.asarray(pipeline.predict(data.X))
        sizes = np.bincount(numbers, minlength=k)
        rank = np.empty(k, np.int64)
        rank[np.argsort(-sizes, kind="stable")] = np.arange(k)
        labels = rank[numbers]
        shown = data.order[:SHOWN_ROWS]
        prepared = np.asarray(pipeline.steps_[0][1].transform(data.X[shown]))
        silhouettes = _silhouettes(prepared, labels[shown])
        traits = group_traits(data.X, data.columns, labels, k)
        groups = [
            Group(
                str(at + 1),
                int(np.sum(labels == at)),
                float(np.mean(silhouettes[labels[shown] == at])) if np.any(labels[shown] == at) else float("nan"),
                traits[at],
                _example(prepared, shown, labels, at),
            )
            for at in range(k)
            if np.any(labels == at)
        ]
        mean = float(np.mean(silhouettes))
        structure, notes = _structure(mean, best, choice), []
        if data.n_rows > len(self.Z):
            notes.append(f"Method and number of clusters were chosen on {len(self.Z):,} rows, drawn at random.")
        output = output_of("clusters", f"{best.title}, {k} clusters", [str(rank[at] + 1) for at in range(k)])
        scores = {"mean silhouette": mean, "agreement of halves": best.stability}
        checked = check(data, pipeline, rows)
        model = finished_model(data, pipeline, output, rows=rows, scores=scores, notes=notes)
        return Clustering(
            model, groups, choice, methods, labels, shown, prepared, silhouettes, structure, checked, data.rows
        )


def _kmeans(k: int, seed: int, rows: int) -> Any:
    from qed.cluster import KMeans  # noqa: PLC0415

    return KMeans(k, n_init=MOST_STARTS if rows <= MANY_ROWS else FEW_STARTS, random_state=seed)


def _mixture(k: int, seed: int, rows: int) -> Any:
    from qed.mixture import GaussianMixture  # noqa: PLC0415

    return GaussianMixture(k, n_init=FEW_STARTS if rows <= MANY_ROWS else 1, random_state=seed)


def _medoids(k: int, seed: int, _: int) -> Any:
    from qed.cluster import KMedoids  # noqa: PLC0415

    return KMedoids(k, random_state=seed)


MAKERS: dict[str, Callable[[int, int, int], Any]] = {"kmeans": _kmeans, "mixture": _mixture, "medoids": _medoids}


def _silhouettes(Z: Array, labels: Array) -> Array:
    """Return the silhouettes of rows; 0 where all are in one cluster."""
    return np.asarray(silhouette_samples(Z, labels)) if 1 < len(np.unique(labels)) < len(Z) else np.zeros(len(Z))


def _example(prepared: Array, shown: Array, labels: Array, group: int) -> int:
    """Return the row of a group that is nearest to its mean; of a group that no shown row is in, its first row."""
    own = np.flatnonzero(labels[shown] == group)
    if not len(own):
        return int(np.flatnonzero(labels == group)[0])
    distance = np.sum((prepared[own] - prepared[own].mean(axis=0)) ** 2, axis=1)
    return int(shown[own[int(np.argmin(distance))]])


def _structure(silhouette: float, best: Method, choice: KChoice | None) -> str:
    """Say how clearly rows fall into clusters, in the words of Kaufman and Rousseeuw."""
    if silhouette > STRONG:
        words = "The clusters are clearly separated"
    elif silhouette > WEAK:
        words = "The clusters are reasonably separated"
    elif silhouette > NO_STRUCTURE:
        words = "The clusters overlap, and their borders are partly arbitrary"
    else:
        words = "The rows form one cloud rather than separate clusters: these groups divide it, as age groups divide a population"
    words += (
        f" (mean silhouette {silhouette:.2f}; 1 is the best, above {WEAK} reasonable, below {NO_STRUCTURE} hardly any)."
    )
    if choice is not None and len(choice.ks) > 1 and choice.gap[0] >= choice.gap[1] - choice.gap_error[1]:
        words += " The gap statistic sees a single cluster."
    if best.stability < 0.8:
        words += f" Halves of the rows do not agree well on them ({best.stability:.2f} of 1): another sample may give others."
    return words
