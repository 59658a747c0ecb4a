"""From a table to points in two dimensions: by principal components, UMAP or t-SNE, with a measure of what survives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidParameter, QedError
from qed.core._events import Progress
from qed.study._stage import quietly
from qed.study._unsupervised import (
    TableRows,
    affordable_rows,
    check,
    finished_model,
    fit_final,
    output_of,
    prepare,
    require_different,
    table_rows,
)
from qed.study._unsupervised_model import AXES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from qed.study._checked import Checked
    from qed.study._clock import Clock
    from qed.study._unsupervised_model import UnsupervisedModel

Array = np.ndarray[Any, Any]

METHODS = ("pca", "umap", "tsne")
TITLES = {"pca": "principal components", "umap": "UMAP", "tsne": "t-SNE"}
CHOICE_ROWS = 1000  # rows that methods are compared on
MOST_UMAP_ROWS, MOST_TSNE_ROWS = 50_000, 20_000
NEIGHBORS = 15
PERPLEXITY = 30
SIMPLER = 0.02  # of faithfulness that principal components may lack and still be taken: their axes mean something


@dataclass(frozen=True)
class Embedding:
    """A method, the points it gives to rows of a sample, and how well neighbourhoods survive.

    Attributes
    ----------
    name, title : str
        The method.
    points : ndarray of shape (m, 2)
        Coordinates.
    trustworthiness, continuity : float
        How far neighbours among the points are neighbours among the rows, and the other way round; 1 is the best.
    reason : str
        Why it was not tried, if so.
    """

    name: str
    title: str
    points: Array
    trustworthiness: float
    continuity: float
    reason: str = ""

    @property
    def faithfulness(self) -> float:
        """The mean of trustworthiness and continuity."""
        return 0.5 * (self.trustworthiness + self.continuity)


@dataclass(frozen=True, repr=False)
class TableEmbedding:
    """Points in two dimensions for the rows of a table.

    Attributes
    ----------
    model : UnsupervisedModel
        Embeds new rows, unless it is t-SNE.
    points : ndarray of shape (m, 2)
        Coordinates of the rows that were embedded.
    embedded : ndarray of int of shape (m,)
        Where these rows stand in the table.
    methods : list of Embedding
        What was compared, on some rows.
    compared : ndarray of int
        Where the rows of the comparison stand in the table.
    trustworthiness, continuity : float
        Of the points.
    colours : RawColumn or None
        The column that colours the points, which the model does not see.
    reason : str
        Why this method.
    checked : Checked or None
        The independent check.
    data : TableRows
        The rows.
    """

    model: UnsupervisedModel
    points: Array
    embedded: Array
    methods: list[Embedding]
    compared: Array
    trustworthiness: float
    continuity: float
    colours: Any
    reason: str
    checked: Checked | None
    data: TableRows

    @property
    def table(self) -> dict[str, Array]:
        """The coordinates of each row, in the order of the table: ``row``, ``x`` and ``y``."""
        order = np.argsort(self.embedded)
        places = self.points[order]
        return {"row": self.embedded[order] + 1, AXES[0]: places[:, 0], AXES[1]: places[:, 1]}

    def __repr__(self) -> str:
        method = self.model.schema.output.method
        return f"<qed embedding: {method}; {len(self.points):,} rows, trustworthiness {self.trustworthiness:.3f}>"


def embed(
    table: Any,
    *,
    method: str | None = None,
    colour: str | None = None,
    budget: float | str = 60.0,
    types: Mapping[str, str] | None = None,
    drop: Sequence[str] = (),
    seed: int = 0,
    command: str = "",
    clock: Clock | None = None,
) -> TableEmbedding:
    """Draw the rows of a table as points in two dimensions, near each other where the rows are alike.

    Parameters
    ----------
    table : frame, dict of columns, path, query, or what `read_table` gave
        The rows.
    method : {"pca", "umap", "tsne"}, optional
        The method. Unless said, UMAP where it keeps neighbourhoods clearly better than principal components, and those otherwise;
        t-SNE embeds no new rows and is taken only if said.
    colour : str, optional
        A column that colours the points. It is left out of the embedding, so that what is seen was not put in.
    budget, types, drop, seed, command, clock
        As for `cluster`.

    Returns
    -------
    TableEmbedding
        The points, the model and how faithful they are.

    Examples
    --------
    >>> from qed.study import embed
    >>> table = {"a": [i * 7 % 13 / 2 for i in range(40)], "b": [i * 5 % 11 / 2 for i in range(40)]}
    >>> found = embed(table, method="pca", budget="20s")
    >>> found.points.shape, found.trustworthiness > 0.99
    ((40, 2), True)
    """
    if method is not None and method not in METHODS:
        raise InvalidParameter(f"--method {method}: choose one of {', '.join(METHODS)}.")
    if colour is not None:
        if types and colour in types:
            raise InvalidParameter(
                f"--colour {colour}: the column is left out of the embedding, so --types says nothing of it."
            )
        drop = [*drop, *([] if colour in drop else [colour])]
    data = table_rows(table, types=types, drop=drop, seed=seed, budget=budget, command=command, clock=clock)
    told = (replace(one, reason="colours the points") if one.name == colour else one for one in data.columns)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        return _Search(replace(data, columns=tuple(told)), method, colour).done()


class _Search:
    """One embedding on its way."""

    def __init__(self, data: TableRows, method: str | None, colour: str | None) -> None:
        self.data, self.method = data, method
        self.colours = None if colour is None else data.rows.column(colour)
        self.sample = data.order[:CHOICE_ROWS]
        self.Z = prepare(data, data.X[self.sample])
        require_different(self.Z)
        if self.Z.shape[1] < 2:
            raise InvalidParameter(
                f"Only {data.used[0].name!r} is left to embed: two dimensions need at least two columns. Keep more columns."
            )

    def done(self) -> TableEmbedding:
        methods = self._compare()
        best, reason = self._chosen(methods)
        most = {"pca": self.data.n_rows, "umap": MOST_UMAP_ROWS, "tsne": MOST_TSNE_ROWS}[best.name]
        rows = affordable_rows(self.data, self.seconds[best.name], len(self.Z), most)
        pipeline = fit_final(self.data, self._model(best.name, rows), rows, title=best.title)
        embedded = self.data.order[:rows]
        last = pipeline.steps_[-1][1]
        points = np.asarray(
            pipeline.transform(self.data.X[embedded]) if best.name == "pca" else last.embedding_, np.float64
        )
        trust, kept = self._faithfulness(pipeline, points, embedded)
        output = output_of("embedding", best.title, AXES)
        checked = check(self.data, pipeline, rows)
        scores = {"trustworthiness": trust, "continuity": kept}
        model = finished_model(self.data, pipeline, output, rows=rows, scores=scores)
        return TableEmbedding(
            model, points, embedded, methods, self.sample, trust, kept, self.colours, reason, checked, self.data
        )

    def _compare(self) -> list[Embedding]:
        from qed.manifold import continuity, trustworthiness  # noqa: PLC0415

        found: list[Embedding] = []
        self.seconds: dict[str, float] = {}
        with Progress("comparing") as progress:
            for name in METHODS:
                begin = self.data.clock.now()
                try:
                    points = self._points(name)
                except QedError as refusal:
                    if name == self.method:
                        raise
                    found.append(Embedding(name, TITLES[name], np.zeros((0, 2)), np.nan, np.nan, str(refusal)))
                    continue
                self.seconds[name] = self.data.clock.now() - begin
                near = min(5, len(self.Z) // 4)
                trust = trustworthiness(self.Z, points, n_neighbors=near)
                found.append(Embedding(name, TITLES[name], points, trust, continuity(self.Z, points, n_neighbors=near)))
                progress.step(message=f"{TITLES[name]}: trustworthiness {trust:.3f}")
        return found

    def _points(self, name: str) -> Array:
        """Return the points that a method gives to the rows of the comparison."""
        return np.asarray(quietly(lambda: self._model(name, len(self.Z)).fit_transform(self.Z)), np.float64)

    def _chosen(self, methods: list[Embedding]) -> tuple[Embedding, str]:
        by_name = {one.name: one for one in methods if not np.isnan(one.trustworthiness)}
        if self.method is not None:
            return by_name[self.method], "You said so."
        linear, best = by_name["pca"], by_name.get("umap", by_name["pca"])
        if best.faithfulness <= linear.faithfulness + SIMPLER:
            return linear, (
                f"Principal components keep neighbourhoods about as well as UMAP ({linear.faithfulness:.3f} against"
                f" {best.faithfulness:.3f}, mean of trustworthiness and continuity), and their axes mean something."
            )
        return best, (
            f"UMAP keeps neighbourhoods better than principal components ({best.faithfulness:.3f} against"
            f" {linear.faithfulness:.3f}, mean of trustworthiness and continuity). t-SNE embeds no new rows, and is taken only if"
            " you say so."
        )

    def _model(self, name: str, rows: int) -> Any:
        return MAKERS[name](self.data.seed, rows)

    def _faithfulness(self, pipeline: Any, points: Array, embedded: Array) -> tuple[float, float]:
        """Compare neighbourhoods of some of the rows."""
        from qed.manifold import continuity, trustworthiness  # noqa: PLC0415

        Z = np.asarray(pipeline.steps_[0][1].transform(self.data.X[embedded[:CHOICE_ROWS]]))
        near = min(5, len(Z) // 4)
        own = points[:CHOICE_ROWS]
        return trustworthiness(Z, own, n_neighbors=near), continuity(Z, own, n_neighbors=near)


def _pca(_: int, rows: int) -> Any:  # noqa: ARG001  the number of rows matters to the others
    from qed.decomposition import PCA  # noqa: PLC0415

    return PCA(2)


def _umap(seed: int, rows: int) -> Any:
    from qed.manifold import UMAP  # noqa: PLC0415

    return UMAP(n_neighbors=min(NEIGHBORS, rows - 1), random_state=seed)


def _tsne(seed: int, rows: int) -> Any:
    from qed.manifold import TSNE  # noqa: PLC0415

    return TSNE(perplexity=min(PERPLEXITY, (rows - 1) / 3), random_state=seed)


MAKERS: dict[str, Callable[[int, int], Any]] = {"pca": _pca, "umap": _umap, "tsne": _tsne}
