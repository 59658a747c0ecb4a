"""From a table to a certified detector of anomalies: method chosen with reasons, threshold by a chosen false-alarm rate."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidParameter, QedError
from qed.core._events import Progress
from qed.metrics import roc_auc_score
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
    prepared_pipeline,
    require_different,
    table_rows,
)
from qed.study._unsupervised_model import (
    FOLDS,
    NEIGHBORS,
    anomaly_scores,
    order_place,
    order_statistic,
    out_of_fold_scores,
    p_values,
    stored_scores,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from qed.study._checked import Checked
    from qed.study._clock import Clock
    from qed.study._unsupervised_model import UnsupervisedModel

Array = np.ndarray[Any, Any]

METHODS = ("forest", "neighbors", "mixture", "envelope")
TITLES = {
    "forest": "isolation forest",
    "neighbors": "nearest neighbours",
    "mixture": "Gaussian mixture density",
    "envelope": "elliptic envelope",
}
DEFAULT_RATE = 0.01
SPLITS = 5  # of the rows that methods are compared on
CHOICE_ROWS = 2000
MOST_COMPONENTS = 5  # of a mixture: more and smaller ones would give single anomalies a density of their own
ROWS_A_COLUMN = 5  # for each prepared column, below which a covariance is mostly noise
MOST_FITTED = 50_000  # rows: a density is known well from fewer, and every row is scored by a model without it
EXPLAINED = 25  # anomalous rows that are explained
TYPICAL = 24  # other rows whose entries stand in for a row's own
REACH = (3.0, 6.0)  # standard deviations by which artificial entries lie beyond a real one
BLOCK_ROWS = 20_000  # that are scored between two looks at the clock
KEPT = 0.2  # of the time, for explanations, the check and the page


@dataclass(frozen=True)
class Detector:
    """A method, and how well it tells held-out rows from artificial ones.

    Attributes
    ----------
    name, title : str
        The method.
    area, error : float
        Area under the ROC curve, mean over both kinds of artificial rows and over splits, and its standard error; NaN where it was
        not tried.
    combinations, extremes : float
        The areas for rows with unusual combinations of usual entries, and for rows with an entry far out.
    reason : str
        Why it was not tried, if so.
    """

    name: str
    title: str
    area: float
    error: float
    combinations: float
    extremes: float
    reason: str = ""


@dataclass(frozen=True)
class Reason:
    """Why a row is anomalous: one of its entries.

    Attributes
    ----------
    column : str
        The column.
    place : int
        Its place among the columns of the table.
    part : float
        By how much the score falls when the entry is replaced by those of other rows, as a share of all such falls.
    """

    column: str
    place: int
    part: float


@dataclass(frozen=True)
class Anomaly:
    """An anomalous row.

    Attributes
    ----------
    row : int
        Its place in the table, from zero.
    score, p_value : float
        Its score by a model that has not seen it, and the share of rows that score as high.
    reasons : list of Reason
        The entries that make it so, strongest first.
    """

    row: int
    score: float
    p_value: float
    reasons: list[Reason]


@dataclass(frozen=True, repr=False)
class Detection:
    """Anomalies of a table, and all that was found on the way.

    Attributes
    ----------
    model : UnsupervisedModel
        Scores new rows.
    anomalies : list of Anomaly
        The most anomalous rows, first the highest score.
    n_anomalous : int
        How many rows lie above the threshold.
    scored, scores : ndarray
        Rows of the table that were scored, and their scores, each by a model that has not seen the row.
    bound : float
        The share of new rows like these that lie above the threshold is at most this, with confidence 95 %.
    methods : list of Detector
        What was compared.
    checked : Checked or None
        The independent check.
    data : TableRows
        The rows.
    """

    model: UnsupervisedModel
    anomalies: list[Anomaly]
    n_anomalous: int
    scored: Array
    scores: Array
    bound: float
    methods: list[Detector]
    checked: Checked | None
    data: TableRows

    @property
    def table(self) -> dict[str, Array]:
        """What was found for each scored row, in the order of the table: ``row``, ``anomaly``, ``score`` and ``p_value``."""
        order = np.argsort(self.scored)
        scores, n = self.scores[order], len(self.scores)
        return {
            "row": self.scored[order] + 1,
            "anomaly": scores > self.model.schema.output.threshold,
            "score": scores,
            "p_value": p_values(scores, np.sort(scores)) - 1 / (n + 1),  # the row is among the scores
        }

    def __repr__(self) -> str:
        return f"<qed anomalies: {self.model.schema.output.method}; {self.n_anomalous:,} of {len(self.scores):,} rows>"


def detect(
    table: Any,
    *,
    rate: float | None = None,
    method: str | None = None,
    budget: float | str = 60.0,
    types: Mapping[str, str] | None = None,
    drop: Sequence[str] = (),
    seed: int = 0,
    command: str = "",
    clock: Clock | None = None,
) -> Detection:
    """Find the anomalous rows of a table, and fit a certified model that scores new rows.

    Parameters
    ----------
    table : frame, dict of columns, path, query, or what `read_table` gave
        The rows.
    rate : float, optional
        The false-alarm rate: the share of rows like these that is called anomalous; 0.01 by default, more for few rows.
    method : {"forest", "neighbors", "mixture", "envelope"}, optional
        The method; unless said the one that tells held-out rows best from artificial anomalies.
    budget, types, drop, seed, command, clock
        As for `cluster`.

    Returns
    -------
    Detection
        The model, the anomalous rows and why they are so.

    Examples
    --------
    >>> from qed.study import detect
    >>> table = {"a": [float(i % 7) for i in range(140)], "b": [float(i % 7) + 0.1 for i in range(140)]}
    >>> table["b"][70] = 99.0
    >>> detect(table, budget="20s").anomalies[0].row
    70
    """
    if method is not None and method not in METHODS:
        raise InvalidParameter(f"--method {method}: choose one of {', '.join(METHODS)}.")
    if rate is not None and not 0 < rate < 0.5:
        raise InvalidParameter(f"--rate {rate:g}: a false-alarm rate lies between 0 and 0.5, such as 0.01.")
    data = table_rows(table, types=types, drop=drop, seed=seed, budget=budget, command=command, clock=clock)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        return _Search(data, rate, method).done()


@dataclass(frozen=True)
class _Scores:
    """Scores of rows in random order, each by a model that has not seen the row.

    The first rows are those of the final fit, scored in folds; the others are scored by the final model itself.
    """

    own: Array
    scores: Array
    model_of: Array
    models: list[Any]
    threshold: float
    bound: float


class _Search:
    """One detection on its way."""

    def __init__(self, data: TableRows, rate: float | None, method: str | None) -> None:
        self.data, self.method = data, method
        n = min(data.n_rows, MOST_FITTED)
        self.least = 1 / (n + 1)
        if rate is not None and rate < self.least:
            raise InvalidParameter(
                f"--rate {rate:g}: with {n:,} rows no false-alarm rate below {self.least:.2g} can be told. Say a larger rate."
            )
        self.rate = max(DEFAULT_RATE, 2 * self.least) if rate is None else rate
        self.sample = data.sample(CHOICE_ROWS)
        self.Z = prepare(data, self.sample)
        require_different(self.Z)
        self.blocks = _blocks(data)

    def done(self) -> Detection:
        methods = self._compare()
        tried = [one for one in methods if not math.isnan(one.area)]
        if not tried:
            raise InvalidParameter(f"--method {self.method}: {methods[0].reason}.")
        best = max(tried, key=lambda one: one.area)
        best = next(one for one in tried if one.area >= best.area - best.error)
        rows = affordable_rows(self.data, FOLDS * self._seconds(best.name), len(self.Z), MOST_FITTED)
        own, folds, models = self._out_of_fold(best.name, self.data.order[:rows])
        threshold, bound = _threshold(own, self.rate)
        pipeline = fit_final(self.data, self._model(best.name), rows, title=best.title)
        rest = self._unseen_scores(pipeline, rows)
        found = _Scores(
            own,
            np.concatenate([own, rest]),
            np.concatenate([folds, np.full(len(rest), FOLDS)]),
            [*models, pipeline],
            threshold,
            bound,
        )
        return self._told(pipeline, best, methods, found)

    def _unseen_scores(self, pipeline: Any, rows: int) -> Array:
        """Score the rows that the final model has not seen, while there is time."""
        found = []
        for at in range(rows, self.data.n_rows, BLOCK_ROWS):
            if self.data.clock.left < KEPT * self.data.clock.budget:
                break
            found.append(anomaly_scores(pipeline, self.data.X[self.data.order[at : at + BLOCK_ROWS]]))
        return np.concatenate(found) if found else np.zeros(0)

    def _explained(self, found: _Scores) -> list[Anomaly]:
        """Say of the most anomalous rows which entries make them so."""
        rows, scores = self.data.order, found.scores
        ranked = np.argsort(-scores, kind="stable")
        ascending, n = np.sort(scores), len(scores)
        above = int(np.sum(scores > found.threshold))
        typical = rows[ranked[n // 2 :]]
        with Progress("explaining") as progress:
            progress.step(message=f"{above:,} rows above the threshold")
            return [
                Anomaly(
                    int(rows[at]),
                    float(scores[at]),
                    float(p_values(scores[at : at + 1], ascending)[0]) - 1 / (n + 1),  # the row is among the scores
                    self._reasons(found.models[found.model_of[at]], int(rows[at]), typical),
                )
                for at in ranked[: max(1, min(EXPLAINED, above))]
            ]

    def _compare(self) -> list[Detector]:
        with Progress("comparing") as progress:
            found = []
            for name in METHODS if self.method is None else (self.method,):
                one = self._judged(name)
                found.append(one)
                if not math.isnan(one.area):
                    progress.step(message=f"{one.title}: ROC area {one.area:.3f} against artificial rows")
        return found

    def _judged(self, name: str) -> Detector:
        title, nan = TITLES[name], float("nan")
        reason = self._unsuited(name)
        if reason and self.method is None:
            return Detector(name, title, nan, nan, nan, nan, reason)
        areas = []
        rng = np.random.default_rng(self.data.seed)  # the same splits and artificial rows for every method
        try:
            for _ in range(SPLITS):
                order = rng.permutation(len(self.sample))
                test, train = self.sample[order[: len(order) // 3]], self.sample[order[len(order) // 3 :]]
                pipeline = self._fitted(name, train)
                own = anomaly_scores(pipeline, test)
                areas.append(
                    [_area(own, anomaly_scores(pipeline, fake)) for fake in self._artificial(test, train, rng)]
                )
        except QedError as refusal:
            if self.method is not None:
                raise
            return Detector(name, title, nan, nan, nan, nan, f"could not be fitted: {refusal}")
        means = np.array(areas)
        error = float(means.mean(axis=1).std(ddof=1) / math.sqrt(SPLITS))
        combinations, extremes = means.mean(axis=0).tolist()
        return Detector(name, title, float(means.mean()), error, combinations, extremes)

    def _unsuited(self, name: str) -> str:
        if name in ("forest", "neighbors"):
            return ""
        if not has_only_numbers(self.data):
            return "categories and texts have no Gaussian density"
        n, p = self.Z.shape
        if n < ROWS_A_COLUMN * p:
            return f"{n} rows are too few for a covariance of {p} columns"
        return ""

    def _artificial(self, test: Array, train: Array, rng: Any) -> tuple[Array, Array]:
        """Return rows with unusual combinations of usual entries, and rows with one entry far out."""
        combined, extreme = test.copy(), test.copy()
        for block in self.blocks:
            combined[:, block] = train[rng.integers(len(train), size=len(test))][:, block]
        numbers = [at for at, column in self._numbers() if column.kind in ("number", "date")]
        if not numbers:
            return combined, combined
        spread = np.nanstd(train, axis=0)
        for row in range(len(test)):
            at = numbers[rng.integers(len(numbers))]
            base = extreme[row, at] if not np.isnan(extreme[row, at]) else np.nanmedian(train[:, at])
            extreme[row, at] = base + rng.choice([-1.0, 1.0]) * rng.uniform(*REACH) * spread[at]
        return (combined if len(self.blocks) > 1 else extreme), extreme

    def _numbers(self) -> list[tuple[int, Any]]:
        return [(block.start, column) for block, column in zip(self.blocks, self.data.used, strict=True)]

    def _fitted(self, name: str, X: Array) -> Any:
        return quietly(lambda: prepared_pipeline(self.data, self._model(name)).fit(X))

    def _model(self, name: str) -> Any:
        return MAKERS[name](self.data.seed, self.Z)

    def _seconds(self, name: str) -> float:
        begin = self.data.clock.now()
        anomaly_scores(self._fitted(name, self.sample), self.sample)
        return self.data.clock.now() - begin

    def _out_of_fold(self, name: str, chosen: Array) -> tuple[Array, Array, list[Any]]:
        """Score each row by a model that has not seen it; return the fold of each row and the models too."""
        with Progress("judging") as progress:
            found = out_of_fold_scores(lambda rows: self._fitted(name, rows), self.data.X[chosen])
            progress.step(message=f"{len(chosen):,} rows, each by a model that has not seen it")
        return found

    def _reasons(self, pipeline: Any, row: int, typical: Array) -> list[Reason]:
        """Replace the entries of a row, one at a time, by those of typical rows, and see how far its score falls."""
        rng = np.random.default_rng(self.data.seed)
        others = self.data.X[typical[rng.integers(len(typical), size=TYPICAL)]]
        own = self.data.X[row]
        tried = np.repeat(own[None], TYPICAL * len(self.blocks), axis=0)
        for at, block in enumerate(self.blocks):
            tried[at * TYPICAL : (at + 1) * TYPICAL, block] = others[:, block]
        scores = anomaly_scores(pipeline, np.vstack([own[None], tried]))
        falls = np.maximum(0.0, scores[0] - scores[1:].reshape(len(self.blocks), TYPICAL).mean(axis=1))
        parts = falls / falls.sum() if falls.sum() > 0 else falls
        used, names = self.data.used, [column.name for column in self.data.columns]
        return [
            Reason(used[at].name, names.index(used[at].name), float(parts[at]))
            for at in np.argsort(-parts, kind="stable")
            if parts[at] > 0
        ]

    def _told(self, pipeline: Any, best: Detector, methods: list[Detector], found: _Scores) -> Detection:
        data, notes, rows, n = self.data, [], len(found.own), len(found.scores)
        anomalies = self._explained(found)
        if data.n_rows > len(self.sample):
            notes.append(f"The method was chosen on {len(self.sample):,} rows, drawn at random.")
        if n < data.n_rows:
            notes.append(f"Anomalies were looked for among {n:,} rows, drawn at random. For the others: qed predict.")
        output = output_of(
            "anomalies", best.title, scores=stored_scores(found.own), rate=self.rate, threshold=found.threshold
        )
        checked = check(data, pipeline, rows, of_trees=best.name == "forest")
        told = {"ROC area against artificial rows": best.area}
        model = finished_model(data, pipeline, output, rows=rows, scores=told, notes=notes)
        above = int(np.sum(found.scores > found.threshold))
        return Detection(model, anomalies, above, data.order[:n], found.scores, found.bound, methods, checked, data)


def _blocks(data: TableRows) -> list[slice]:
    """Return the places of each column in the matrix: a text has several."""
    ends = np.cumsum([0, *[column.width for column in data.used]])
    return [slice(int(low), int(high)) for low, high in itertools.pairwise(ends)]


def _area(own: Array, fake: Array) -> float:
    truth = np.repeat([0, 1], [len(own), len(fake)])
    return float(roc_auc_score(truth, np.concatenate([own, fake])))


def _threshold(scores: Array, rate: float) -> tuple[float, float]:
    """Return the score that a new row exceeds with at most this probability, and a 95 % bound on the share that does.

    With n scores of exchangeable rows, a new one exceeds the i-th smallest with probability (n + 1 - i) / (n + 1); over draws of
    the n rows that share has a beta distribution. Models that have not seen a row have seen fewer rows than the final one, and
    find rows rather more anomalous: the share is overstated, if anything.
    """
    from scipy.special import betaincinv  # noqa: PLC0415

    place = order_place(len(scores), rate)
    bound = float(betaincinv(len(scores) + 1 - place, place, 0.95))
    return order_statistic(scores, rate), bound


def _forest(seed: int, _: Array) -> Any:
    from qed.ensemble import IsolationForest  # noqa: PLC0415

    return IsolationForest(random_state=seed)


def _neighbors(_: int, Z: Array) -> Any:
    from qed.neighbors import NearestNeighbors  # noqa: PLC0415

    return NearestNeighbors(n_neighbors=min(NEIGHBORS, len(Z) // 4))


def _mixture(seed: int, Z: Array) -> Any:
    from qed.mixture import GaussianMixture  # noqa: PLC0415

    def bic(k: int) -> float:
        return float(GaussianMixture(k, random_state=seed).fit(Z).bic(Z))

    most = max(1, min(MOST_COMPONENTS, len(Z) // (ROWS_A_COLUMN * Z.shape[1])))
    k = 1 + int(np.argmin(quietly(lambda: [bic(k) for k in range(1, most + 1)])))
    return GaussianMixture(k, random_state=seed)


def _envelope(seed: int, _: Array) -> Any:
    from qed.covariance import EllipticEnvelope  # noqa: PLC0415

    return EllipticEnvelope(random_state=seed)


MAKERS: dict[str, Callable[[int, Array], Any]] = {
    "forest": _forest,
    "neighbors": _neighbors,
    "mixture": _mixture,
    "envelope": _envelope,
}
