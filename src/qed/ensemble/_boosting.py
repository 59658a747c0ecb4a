"""Trees that correct one another: each lowers the loss of the sum of those before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from qed.certificates import StagedCertificate
from qed.core import Array, Estimator, FitData, InvalidData, InvalidParameter, fitted, generator
from qed.core._events import Progress, guard
from qed.core._validation import is_source
from qed.data._selected import selected
from qed.ensemble import _kernels
from qed.ensemble._boost_losses import BoostLoss, weighted_mean
from qed.ensemble._one_tree import trees_of
from qed.ensemble._tree_ensemble import TreeEnsemble, joined

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RISE = 1e-12  # relative: what rounding may add to a mean


class BoostData(NamedTuple):
    """Rows of positive weight, numbers that losses take, and weights."""

    X: Any
    y: Array
    s: Array
    counts: Array | None
    strata: Array | None  # classes, of which validation rows are drawn alike

    def rows(self, at: Array) -> BoostData:
        """Return some of the rows, whose numbers rise."""
        X = selected(self.X, at) if is_source(self.X) else self.X[at]
        counts = None if self.counts is None else self.counts[at]
        return BoostData(X, self.y[at], self.s[at], counts, None if self.strata is None else self.strata[at])


class Scored(Protocol):
    """Rows and their scores after the rounds so far, wherever they are."""

    n_rows: int

    def begin(self, baseline: Array) -> None:
        """Put the scores at the constant."""
        ...

    def mean_loss(self) -> float:
        """Return the mean loss at the scores, and note what the next round starts from."""
        ...

    def add(self, trees: list[TreeEnsemble]) -> None:
        """Add the trees of a round to the scores, one for each class."""
        ...

    def go_through(self, trees: TreeEnsemble) -> Iterator[None]:
        """Add the trees of earlier rounds, round after round."""
        ...


class RowScores:
    """Rows in memory, with scores, and with values, slopes and curvatures of the loss there."""

    def __init__(self, data: BoostData, loss: BoostLoss, start: Callable[[Any, Array], Array]) -> None:
        self.X, self.y, self.s, self.loss = data.X, np.ascontiguousarray(data.y), data.s, loss
        self.is_plain = bool((self.s == 1).all())
        self.n_rows, self._start = len(self.y), start

    def begin(self, baseline: Array) -> None:
        """Put the scores at the constant."""
        self.scores = np.array(self._start(self.X, baseline))

    def mean_loss(self) -> float:
        """Return the mean loss, and note values, slopes and curvatures."""
        self.value, self.slope, self.curvature = self.loss.curve(self.scores, self.y)
        return float(self.value.sum() / self.n_rows) if self.is_plain else weighted_mean(self.value, self.s)

    def add(self, trees: list[TreeEnsemble]) -> None:
        """Add the trees of a round, one for each class."""
        for c, tree in enumerate(trees):
            self.scores[:, c] += tree.add_up(self.X, tree.numbers)[:, 0]

    def go_through(self, trees: TreeEnsemble) -> Iterator[None]:
        """Add the trees of earlier rounds, round after round."""
        k, leaves = self.scores.shape[1], _kernels.leaves_of(trees.packed, self.X)
        for first in range(0, len(trees), k):
            self.scores = self.scores + trees.numbers[leaves[:, first : first + k], 0]
            yield


def _fits_the_model(model: Any, trees: TreeEnsemble) -> str:
    if trees.n_features != model.n_features_in_:
        return f"should be over {model.n_features_in_} columns, and are over {trees.n_features}"
    if trees.value.shape[1] != 1 or not len(trees.weight):
        return "should hold one value and one weight for each leaf"
    wanted = model.n_iter_ * model.n_trees_per_iteration_
    return "" if len(trees) == wanted else f"should be {wanted}, and are {len(trees)}"


def _trees_a_round(model: Any, trees: int) -> str:
    labels = len(model.__dict__.get("classes_", ()))
    wanted = labels if labels > 2 else 1
    return "" if trees == wanted else f"should be {wanted}, and is {trees}"


class BoostedSum(Estimator, allow_nan=True):
    """A model that is a constant plus a sum of trees."""

    n_iter_: int = fitted("Number of rounds.", low=1)
    n_trees_per_iteration_: int = fitted("Trees of a round.", low=1, check=_trees_a_round)
    trees_: TreeEnsemble = fitted(
        "The nodes of all trees, as arrays; those of a round one after the other.", check=_fits_the_model
    )
    baseline_: Array = fitted(
        "The constant that the trees are added to, by class where there are several.", shape="(n_trees_per_iteration_,)"
    )
    seed_: int = fitted("What everything that was drawn follows from.", low=0, answers=False)
    loss_level_: float = fitted("Quantile of the quantile loss, threshold of Huber's.", low=0)
    validation_score_: Array = fitted(
        "Minus the mean loss of the rows that early stopping looks at; empty without. Of `X_val` it is not verified.",
        shape="(0,) or (n_iter_ + 1,)",
        answers=False,
    )
    certificate_: StagedCertificate = fitted("What is proved about the rounds.")

    @property
    def do_early_stopping_(self) -> bool:
        """Whether rows of the fit were kept from the trees, to stop by."""
        self._check_is_fitted()
        return len(self.validation_score_) > 0

    @property
    def estimators_(self) -> Array:
        """The trees one by one, a row for each round, to be drawn or looked at: ``plot_tree(model.estimators_[0, 0])``."""
        trees = trees_of(self)
        found = np.empty(len(trees), dtype=object)
        found[:] = trees
        return found.reshape(self.n_iter_, self.n_trees_per_iteration_)

    # -- fitting ---------------------------------------------------------------------------------------

    def _start(
        self, data: BoostData, k: int, held: BoostData | None, *, warm: bool, stops: bool
    ) -> tuple[BoostData, BoostData | None, bool]:
        """Draw the seed, unless an earlier fit goes on; part rows that trees learn from and rows that stop them."""
        warm = warm and bool(self.warm_start) and "trees_" in self.__dict__ and self.n_trees_per_iteration_ == k  # type: ignore[attr-defined]
        if not warm:
            self.seed_ = int(generator(self.random_state).integers(2**63))  # type: ignore[attr-defined]
            self.__dict__.pop("trees_", None)
        size = self.validation_fraction  # type: ignore[attr-defined]
        if not stops or held is not None or size is None:
            return data, held if stops else None, warm
        train, kept = validation_rows(self.seed_, len(data.y), size, data.strata)
        return data.rows(train), data.rows(kept), warm

    # -- asking ----------------------------------------------------------------------------------------

    def _scores(self, rows: Any) -> Array:
        """Return the scores of rows, (n, k)."""
        k = self.n_trees_per_iteration_
        return np.asarray(self.trees_.add_up(rows, self.trees_.numbers, k) + self._start_scores(rows, self.baseline_))

    def _start_scores(self, rows: Any, baseline: Array) -> Array:
        """Return what the trees are added to, (n, k): a constant, here."""
        return np.broadcast_to(baseline, (rows.shape[0], len(baseline)))

    def _staged_scores(self, rows: Any) -> Any:
        """Yield the scores of rows after each round."""
        k, trees = self.n_trees_per_iteration_, self.trees_
        leaves = _kernels.leaves_of(trees.packed, rows)
        scores = self._start_scores(rows, self.baseline_)
        for first in range(0, len(trees), k):
            scores = scores + trees.numbers[leaves[:, first : first + k], 0]
            yield scores

    def _boost_rows(self, data: FitData, y: Array, factor: Array | None, strata: Array | None) -> BoostData:
        """Drop rows without weight."""
        s = np.ones(data.n_rows) if data.weight is None else data.weight
        is_whole = data.weight is not None and bool((s == np.rint(s)).all()) and s.sum() < 2**31
        counts = s.astype(np.uint32) if is_whole else None
        s = s if factor is None else s * factor
        if not (np.isfinite(s.sum()) and s.sum() > 0):
            raise InvalidData("No row has a positive weight, or weights overflow. Give some rows a weight.")
        rows = BoostData(data.X, y, s, counts, strata)
        return rows if (s > 0).all() else rows.rows(np.flatnonzero(s > 0))


class Rounds:
    """The state of a fit between two rounds; ``grow`` adds the trees of the next one to the scores, and returns them."""

    def __init__(
        self,
        model: BoostedSum,
        loss: BoostLoss,
        rows: Any,
        baseline: Array,
        judge: Scored | None,
        grow: Callable[[Rounds], list[TreeEnsemble]],
    ) -> None:
        self.model, self.loss, self.k, self.grow = model, loss, len(baseline), grow
        self.rows, self.judge, self.baseline = rows, judge, baseline
        self.parts: list[TreeEnsemble] = []
        self._begin()

    def _begin(self) -> None:
        self.count = 0
        self.losses: list[float] = []
        self.judged: list[float] = []
        for one in (self.rows, self.judge):
            if one is not None:
                one.begin(self.baseline)
        self._note_losses()

    def resume(self, trees: TreeEnsemble, baseline: Array, most: int, name: str) -> None:
        """Go on from the trees of an earlier fit."""
        if len(trees) // self.k > most:
            raise InvalidParameter(
                f"{name}={most} must be larger than or equal to n_iter_={len(trees) // self.k} when"
                " warm_start=True. Ask for more rounds, or set warm_start=False."
            )
        self.parts, self.baseline = [trees], baseline
        self._begin()
        held = None if self.judge is None else self.judge.go_through(trees)
        for _ in self.rows.go_through(trees):
            if held is not None:
                next(held)
            self.count += 1
            self._note_losses()

    def _note_losses(self) -> None:
        """Note the losses, and what the next round starts from."""
        self.losses.append(self.rows.mean_loss())
        if not np.isfinite(self.losses[-1]):
            raise InvalidData(
                f"The loss of {type(self.model).__name__} is no longer finite after {self.count} rounds: the targets are too large,"
                " or learning_rate is. Divide the targets by a constant, or lower learning_rate."
            )
        if self.judge is not None:
            self.judged.append(self.judge.mean_loss())

    def run(self, limit: int, is_done: Callable[[], bool]) -> None:
        """Add rounds up to a number of them, until one says that it was the last; keep them if Ctrl-C comes."""
        name = type(self.model).__name__
        with Progress(name, total=limit, verbose=self.model.verbose) as progress, guard(self.store):  # type: ignore[attr-defined]
            while self.count < limit and not is_done():
                self.one_more()
                if progress.step(value=self.losses[-1]) is not None:
                    break
        self.store()

    def one_more(self) -> None:
        """Add the trees of a round, all from the same scores."""
        trees = self.grow(self)
        if self.judge is not None:
            self.judge.add(trees)
        self.parts.extend(trees)
        self.count += 1
        self._note_losses()

    def store(self) -> None:
        """Put the rounds so far and their certificate in place."""
        model = self.model
        if not self.parts:
            return
        model.trees_ = joined(self.parts)
        self.parts = [model.trees_]
        model.baseline_, model.n_iter_, model.n_trees_per_iteration_ = self.baseline, self.count, self.k
        model.loss_level_ = self.loss.level
        losses = np.array(self.losses[: self.count + 1])
        model.validation_score_ = -np.array(self.judged[: self.count + 1])
        rises = int(np.count_nonzero(np.diff(losses) > RISE * np.abs(losses[:-1])))
        model.certificate_ = StagedCertificate(losses, self.rows.n_rows, model.trees_.n_leaves, rises)


def validation_rows(seed: int, n_rows: int, size: float, strata: Array | None) -> tuple[Array, Array]:
    """Split rows into those that trees learn from and those that early stopping looks at, class by class."""
    keys = _kernels.mix(seed, n_rows)
    groups = [np.arange(n_rows)] if strata is None else [np.flatnonzero(strata == one) for one in np.unique(strata)]
    share = size / n_rows if isinstance(size, int | np.integer) else float(size)
    kept = np.zeros(n_rows, dtype=bool)
    for group in groups:
        many = min(round(share * len(group)), len(group) - 1)
        kept[group[np.argsort(keys[group], kind="stable")[:many]]] = True
    if not kept.any() or kept.all():
        raise InvalidData(
            f"validation_fraction={size!r} of {n_rows} rows leaves none to judge by, or none to learn from. Pass more rows, or"
            " early_stopping=False."
        )
    return np.flatnonzero(~kept), np.flatnonzero(kept)
