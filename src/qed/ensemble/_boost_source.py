"""Histogram boosting on rows that come in parts: every histogram is a fold, and what grows the trees does not know.

The rows of a part are binned once, into a file beside whoever reads the part; with them are scores, slopes, and the rows of each
node of the tree that grows. Whole numbers are summed, so the histograms of all parts added are those of the same rows in memory,
bit for bit. Cuts between bins are those of a sample of rows: of all rows where they fit into `SAMPLE_BYTES`, and then the cuts are
those of the rows in memory as well. Thresholds lie midway between neighbouring values of all rows in either case.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from qed.core import InvalidData
from qed.data._finite import raise_not_finite
from qed.data._parts import paired_parts
from qed.data._resident import ArrayFile, Residents
from qed.data._selected import gathered
from qed.ensemble import _kernels

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from qed.data._chunk import Chunk
    from qed.data._parts import Part
    from qed.data._sources import Source
    from qed.ensemble._boost_losses import BoostLoss
    from qed.ensemble._boosting import BoostData
    from qed.ensemble._tree_ensemble import TreeEnsemble

Array = np.ndarray[Any, Any]

PLACES = 256  # bins of a column in a histogram, that of missing values included
SAMPLE_BYTES = 1 << 28  # of rows in memory that cuts between bins are chosen from
SAMPLE_ROWS = 1 << 14  # at least, however many columns there are: sixty for each bin


# -- messages ------------------------------------------------------------------------------------------------------


class Begin(NamedTuple):
    """Put all scores at the constant; the answer are the extremes of the bins."""

    baseline: Array


class Look(NamedTuple):
    """Derive the loss at the scores."""


class Start(NamedTuple):
    """Begin the tree of a class."""

    c: int
    scale: _kernels.BoostScale


class Divide(NamedTuple):
    """Divide nodes of the tree; the answer are the histograms that are wanted."""

    c: int
    divisions: Array
    right_of: Array


class SumLeaves(NamedTuple):
    """Add up slopes and curvatures of leaves."""

    c: int
    nodes: list[int]


class AddLeaves(NamedTuple):
    """Add the values of leaves to the scores of their rows."""

    c: int
    nodes: list[int]
    values: Array


class ListLeaves(NamedTuple):
    """Tell the leaf of each row, and what is left of its target."""

    nodes: list[int]


class AddTrees(NamedTuple):
    """Add whole trees, one for each class, to the scores."""

    trees: list[TreeEnsemble]


class AddEarlier(NamedTuple):
    """Add the trees of an earlier fit from this one on, one for each class, to the scores."""

    first: int


# -- answers -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Extremes:
    """The lowest and the highest value of each bin, (p, 256)."""

    low: Array
    high: Array

    def merge(self, other: Self) -> Self:
        """Return those of both parts."""
        return type(self)(np.minimum(self.low, other.low), np.maximum(self.high, other.high))


@dataclass(frozen=True, eq=False)
class LossSummary:
    """The sums of losses and weights, and for each class what the scale of its slopes follows from."""

    loss: float
    weight: float
    extents: Array

    def merge(self, other: Self) -> Self:
        """Return those of both parts."""
        extents = self.extents + other.extents
        largest = slice(3, 5)
        extents[:, largest] = np.maximum(self.extents[:, largest], other.extents[:, largest])
        return type(self)(self.loss + other.loss, self.weight + other.weight, extents)


@dataclass(frozen=True, eq=False)
class Added:
    """Arrays of numbers that add up."""

    arrays: tuple[Array, ...]

    def merge(self, other: Self) -> Self:
        """Return the sums of both parts."""
        return type(self)(tuple(a + b for a, b in zip(self.arrays, other.arrays, strict=True)))


# -- parts ---------------------------------------------------------------------------------------------------------


class Binning(NamedTuple):
    """How columns are binned: cuts of all columns one after the other, where those of each end, and which are categories."""

    cuts: Array
    ends: Array
    by_category: Array | None
    most: int


class Targets(NamedTuple):
    """What comes beside the rows: the loss, its number of scores, whether there are weights and counts, and earlier trees."""

    loss: BoostLoss
    k: int
    weighted: bool
    counted: bool
    earlier: TreeEnsemble | None = None  # of the fit that this one goes on from

    @property
    def n_earlier(self) -> int:
        """How many earlier trees there are."""
        return 0 if self.earlier is None else len(self.earlier)

    def note_leaves(self, X: Array, leaves: Array) -> None:
        """Write the leaves of earlier trees that rows are in, while their values are at hand."""
        if self.earlier is not None and len(X):
            leaves[:] = _kernels.leaves_of(self.earlier.packed, X)

    def add_earlier(self, first: int, held: dict[str, Array]) -> None:
        """Add the earlier trees from ``first`` on, one for each class, to the scores."""
        assert self.earlier is not None  # noqa: S101  (else nobody asks)
        leaves = held["leaves"].reshape(-1, self.n_earlier)[:, first : first + self.k]
        held["scores"].reshape(-1, self.k)[:] += self.earlier.numbers[leaves, 0]


class PairedRows:
    """A source whose chunks have targets and counts side by side as targets, and weights; cut where the source cuts."""

    def __init__(self, data: BoostData, targets: Targets) -> None:
        columns = [data.y] if data.counts is None else [data.y, data.counts.astype(np.float64)]
        self._source: Source = data.X
        self._u, self._s = np.column_stack(columns), data.s if targets.weighted else None
        self.in_memory = data.X.in_memory

    def parts(self) -> Sequence[Part]:
        """Cut where the source cuts."""
        return paired_parts(self._source.parts(), self._u, self._s)


def _dense(chunk: Chunk) -> Array:
    table = chunk.X if isinstance(chunk.X, np.ndarray) else chunk.X.toarray()
    if np.isinf(table).any():
        raise_not_finite(chunk, gaps=True)
    return np.asarray(table)


class BinnedPart:
    """The rows of a part that trees learn from."""

    def __init__(self, part: Part, folder: Path, binning: Binning, targets: Targets) -> None:
        n, p, k = part.n_rows, len(binning.ends), targets.k
        self.targets, self.p, self.node_rows = targets, p, _kernels.BoostPart()
        arrays: dict[str, tuple[tuple[int, ...], Any]] = {
            "by_column": ((p * n,), np.uint8),
            "by_row": ((n * -(-p // 8) * 8,), np.uint8),
            "words": ((2 * n,), np.int64),
            "order": ((2 * n,), np.uint32),
            **dict.fromkeys(("scores", "slope", "curvature"), ((n * k,), np.float64)),
            "y": ((n,), np.float64),
            "leaves": ((n * targets.n_earlier,), np.uint32),
        }
        arrays.update({"s": ((n,), np.float64)} if targets.weighted else {})
        arrays.update({"counts": ((n,), np.uint32)} if targets.counted else {})
        self.file = ArrayFile(folder, arrays)
        self.extremes = Extremes(np.full(p * PLACES, np.inf), np.full(p * PLACES, -np.inf))
        with self.file.mapped() as held:
            first = 0
            for chunk in part.chunks():
                X = _dense(chunk)
                _require_categories(chunk, X, binning)
                bins = (held["by_column"], held["by_row"])
                _kernels.bin_chunk(X, binning.cuts, binning.ends, bins, first, (self.extremes.low, self.extremes.high))
                rows = slice(first, first + chunk.n_rows)
                targets.note_leaves(X, held["leaves"].reshape(n, targets.n_earlier)[rows])
                y: Any = chunk.y
                held["y"][rows] = y[:, 0]
                if targets.counted:
                    held["counts"][rows] = y[:, 1]
                if targets.weighted:
                    held["s"][rows] = chunk.s
                first = rows.stop

    def apply(self, message: Sequence[Any], *, wanted: bool) -> Any:
        """Follow commands; answer the last one."""
        answer = None
        with self.file.mapped() as held:
            for command in message:
                answer = self._follow(command, held, wanted=wanted and command is message[-1])
        return answer

    def _follow(self, command: Any, held: dict[str, Array], *, wanted: bool) -> Any:
        if isinstance(command, Begin):
            held["scores"].reshape(-1, self.targets.k)[:] = command.baseline
            return self.extremes
        if isinstance(command, AddEarlier):
            return self.targets.add_earlier(command.first, held)
        if isinstance(command, Look):
            return self._loss_summary(held)
        if isinstance(command, ListLeaves):
            return self.node_rows.mark(self._arrays(held, 0), command.nodes), held["y"] - held["scores"]
        return self._grow(command, held, wanted=wanted)

    def _grow(self, command: Any, held: dict[str, Array], *, wanted: bool) -> Any:
        arrays = self._arrays(held, command.c)
        if isinstance(command, Start):
            total, histogram = self.node_rows.start(arrays, command.scale)
            return Added((np.array(total), histogram))
        if isinstance(command, Divide):
            divisions = command.divisions
            if not wanted:  # rows are dealt out, and no histogram is filled
                divisions = divisions.copy()
                divisions[3::5] = -1
            return Added((self.node_rows.divide(arrays, divisions, command.right_of),))
        if isinstance(command, SumLeaves):
            return Added((self.node_rows.leaf_sums(arrays, command.nodes),)) if wanted else None
        return self.node_rows.add(arrays, command.nodes, command.values, held["scores"])

    def _loss_summary(self, held: dict[str, Array]) -> LossSummary:
        k, s, counts = self.targets.k, held.get("s"), held.get("counts")
        value, slope, curvature = self.targets.loss.curve(held["scores"].reshape(-1, k), held["y"])
        held["slope"][:], held["curvature"][:] = slope.reshape(-1), curvature.reshape(-1)
        extents = [_kernels.boost_extent(held["slope"], held["curvature"], (c, k), s, counts) for c in range(k)]
        if s is None:
            return LossSummary(float(value.sum()), float(len(value)), np.array(extents))
        return LossSummary(float((s * value).sum()), float(s.sum()), np.array(extents))

    def _arrays(self, held: dict[str, Array], c: int) -> tuple[Any, ...]:
        bins = (held["by_column"], held["by_row"], self.p)
        rows = (held["slope"], held["curvature"], (c, self.targets.k), held.get("s"), held.get("counts"))
        return (*bins, *rows, held["words"], held["order"])


def _require_categories(chunk: Chunk, X: Array, binning: Binning) -> None:
    if binning.by_category is None:
        return
    for j in np.flatnonzero(binning.by_category).tolist():
        known = X[:, j][~np.isnan(X[:, j])]
        wrong = known[(known < 0) | (known >= binning.most) | (known != np.rint(known))]
        if len(wrong):
            name = repr(chunk.origin.names[j]) if chunk.origin is not None and chunk.origin.names else str(j)
            raise InvalidData(
                f"Categorical column {name} holds {wrong[0]:.6g}. From chunks, categories are words, or whole numbers from 0 to"
                f" {binning.most - 1}: encode the column first (OrdinalEncoder), or raise max_bins."
            )


class HeldPart:
    """The rows of a part that early stopping looks at, as they are."""

    def __init__(self, part: Part, folder: Path, p: int, targets: Targets) -> None:
        n, k = part.n_rows, targets.k
        shapes = {"X": (n, p), "y": (n,), "s": (n,), "scores": (n, k)}
        arrays: dict[str, tuple[tuple[int, ...], Any]] = {name: (shape, np.float64) for name, shape in shapes.items()}
        self.targets = targets
        self.file = ArrayFile(folder, {**arrays, "leaves": ((n, targets.n_earlier), np.uint32)})
        with self.file.mapped() as held:
            first = 0
            for chunk in part.chunks():
                rows = slice(first, first + chunk.n_rows)
                y: Any = chunk.y
                held["X"][rows], held["y"][rows] = _dense(chunk), y[:, 0]
                targets.note_leaves(held["X"][rows], held["leaves"][rows])
                held["s"][rows] = 1.0 if chunk.s is None else chunk.s
                first = rows.stop

    def apply(self, message: Sequence[Any], *, wanted: bool) -> Any:
        """Follow commands; answer the last one."""
        answer = None
        with self.file.mapped() as held:
            for command in message:
                if isinstance(command, Begin):
                    held["scores"][:] = command.baseline
                elif isinstance(command, AddEarlier):
                    self.targets.add_earlier(command.first, held)
                elif isinstance(command, AddTrees):
                    for c, tree in enumerate(command.trees if len(held["X"]) else ()):
                        held["scores"][:, c] += tree.add_up(held["X"], tree.numbers)[:, 0]
                elif wanted:
                    value = self.targets.loss.curve(held["scores"], held["y"])[0]
                    answer = LossSummary(float(held["s"] @ value), float(held["s"].sum()), np.zeros((1, 6)))
        return answer


# -- what the rounds see -------------------------------------------------------------------------------------------


def cuts_between(data: BoostData, max_bins: int, by_category: Array | None, seed: int) -> Binning:
    """Choose where columns are cut into bins, from a sample of the rows, or from all if they are few."""
    n, p = len(data.y), data.X.schema.n_features
    many = min(n, max(SAMPLE_ROWS, SAMPLE_BYTES // (8 * p)))
    index = np.arange(n) if many == n else np.sort(np.argpartition(_kernels.mix(seed, n), many)[:many])
    s = None if (data.s == 1).all() else data.s[index]
    cuts = _kernels.rank_table(gathered(data.X, index)[0], s, max_bins, keeps="bins").cuts()
    for j in np.flatnonzero([] if by_category is None else by_category).tolist():
        cuts[j] = np.arange(max_bins - 1) + 0.5
    ends = np.cumsum([len(own) for own in cuts]).astype(np.int64)
    return Binning(np.concatenate(cuts) if cuts else np.zeros(0), ends, by_category, max_bins)


class SourceScores:
    """Rows of a source that trees learn from, each part with its scores; the source of histograms for what grows a tree."""

    def __init__(
        self, data: BoostData, loss: BoostLoss, k: int, binning: Binning, earlier: TreeEnsemble | None
    ) -> None:
        self.n_rows, self.s, self.loss, self.binning = len(data.y), data.s, loss, binning
        self._counted, self._n_targets = data.counts is not None, k
        targets = Targets(loss, k, not bool((data.s == 1).all()), self._counted, earlier)
        build = partial(BinnedPart, binning=binning, targets=targets)
        self._parts: Residents[Any] = Residents(PairedRows(data, targets), build)  # type: ignore[arg-type]
        self._waiting: list[Any] = []  # commands that go along with the next one that wants an answer
        self._c = 0

    def begin(self, baseline: Array) -> None:
        """Read and bin the rows, and put the scores at the constant."""
        found = self._ask(Begin(baseline))
        self.columns = _columns_of(found, self.binning)

    def mean_loss(self) -> float:
        """Return the mean loss, and note slopes and curvatures."""
        found = self._ask(Look())
        self._extents = found.extents
        return float(found.loss / found.weight)

    def add(self, trees: list[TreeEnsemble]) -> None:
        """Add nothing: trees that grew on these rows have been added, leaf by leaf."""

    def go_through(self, trees: TreeEnsemble) -> Iterator[None]:
        """Add the trees of earlier rounds, round after round; parts know the leaves of their rows since these were binned."""
        for first in range(0, len(trees), self._n_targets):
            self._waiting.append(AddEarlier(first))
            yield

    def grow(self, c: int, rule: _kernels.BoostRule, limits: _kernels.BoostLimits) -> _kernels.BoostedTree:
        """Grow the tree of a class; its leaves have their values by then, but no row has been told."""
        self._c = c
        return _kernels.grow_from(self, self.columns, rule, limits)

    def add_leaves(self, values: Array) -> None:
        """Add the values of the leaves of the last tree to the scores."""
        self._waiting.append(AddLeaves(self._c, self._leaves, values))

    def listed_leaves(self) -> tuple[Array, Array]:
        """Return the leaf of each row in the last tree, and what is left of its target."""
        found = self._parts.answers((*self._taken(), ListLeaves(self._leaves)))
        leaf, left = (np.concatenate(one) for one in zip(*found, strict=True))
        return leaf, left

    # -- what is asked by the grower

    def start(self, fine: bool) -> tuple[_kernels.BoostScale, tuple[int, int], Array]:
        """Return scale, total and histogram of all rows."""
        scale = _kernels.boost_scale(self._extents[self._c], self._counted, fine)
        total, histogram = self._ask(Start(self._c, scale)).arrays
        return scale, (int(total[0]), int(total[1])), histogram

    def divide(self, divisions: Array, right_of: Array) -> Array:
        """Divide nodes, and return the histograms of children that are wanted, one after the other."""
        (histograms,) = self._ask(Divide(self._c, divisions, right_of)).arrays
        return np.ascontiguousarray(histograms).reshape(-1)

    def leaf_sums(self, nodes: list[int]) -> tuple[Array, Array]:
        """Return sums of slopes and of curvatures over the rows of nodes."""
        (sums,) = self._ask(SumLeaves(self._c, nodes)).arrays
        return np.ascontiguousarray(sums[0]), np.ascontiguousarray(sums[1])

    def finish(self, leaves: list[int], values: list[float]) -> None:  # noqa: ARG002
        """Note the leaves; `add_leaves` adds what they are worth."""
        self._leaves = leaves

    def _taken(self) -> list[Any]:
        waiting, self._waiting = self._waiting, []
        return waiting

    def _ask(self, command: Any) -> Any:
        return self._parts.fold((*self._taken(), command))

    def close(self) -> None:
        """Delete what parts keep."""
        self._parts.close()


def _columns_of(found: Extremes, binning: Binning) -> list[tuple[Array, Array]]:
    """Return, for each column, values at the ends of its bins, and where among them each bin ends."""
    low, high = found.low.reshape(-1, PLACES), found.high.reshape(-1, PLACES)
    columns = []
    for j, (first, last) in enumerate(zip([0, *binning.ends[:-1]], binning.ends, strict=True)):
        many = int(last - first) + 1
        if binning.by_category is not None and binning.by_category[j]:
            columns.append((np.arange(many, dtype=np.float64), np.arange(many, dtype=np.uint32)))
            continue
        many = many if np.isfinite(low[j, 0]) else 0  # nothing but missing values
        pairs = np.column_stack([low[j, :many], high[j, :many]]).reshape(-1)[1:]
        columns.append((np.ascontiguousarray(pairs), np.arange(0, 2 * many, 2, dtype=np.uint32)))
    return columns


class HeldScores:
    """Rows of a source that early stopping looks at."""

    def __init__(self, data: BoostData, loss: BoostLoss, k: int, earlier: TreeEnsemble | None) -> None:
        self.n_rows, self._n_targets = len(data.y), k
        targets = Targets(loss, k, not bool((data.s == 1).all()), counted=False, earlier=earlier)
        build = partial(HeldPart, p=data.X.schema.n_features, targets=targets)
        rows = PairedRows(data._replace(counts=None), targets)
        self._parts: Residents[Any] = Residents(rows, build)  # type: ignore[arg-type]
        self._waiting: list[Any] = []

    def begin(self, baseline: Array) -> None:
        """Put the scores at the constant."""
        self._waiting = [Begin(baseline)]

    def mean_loss(self) -> float:
        """Return the mean loss."""
        waiting, self._waiting = self._waiting, []
        found = self._parts.fold((*waiting, Look()))
        return float(found.loss / found.weight)

    def add(self, trees: list[TreeEnsemble]) -> None:
        """Add the trees of a round."""
        self._waiting.append(AddTrees(trees))

    def go_through(self, trees: TreeEnsemble) -> Iterator[None]:
        """Add the trees of earlier rounds, round after round."""
        for first in range(0, len(trees), self._n_targets):
            self._waiting.append(AddEarlier(first))
            yield

    def close(self) -> None:
        """Delete what parts keep."""
        self._parts.close()
