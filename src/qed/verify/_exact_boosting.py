"""Boosting by exact splits, checked: rows of a round are drawn again, and every step of every leaf is derived again.

Thresholds must lie midway between neighbouring values of the rows of their node; leaves must hold the weight of their rows and
take the step of scikit-learn: a quantile of what is left, Huber's step, or a Newton step. Where all columns are looked at, the
split of every root must gain what the best split gains, and the largest leaves must gain nothing by a split that limits allow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.verify._answers._trees import start_scores
from qed.verify._boosting import (
    LOSSES,
    TrainingData,
    Tree,
    check_held,
    check_quantile,
    check_rounds,
    curve,
    parted_rows,
    read_rows,
    trees_of,
)
from qed.verify._forest_nodes import number_of_rows
from qed.verify._names import called
from qed.verify._part import Part
from qed.verify._quantiles import TIE_TOLERANCE, huber_levels, quantiles
from qed.verify._refusals import refuse
from qed.verify._seeds import mixed
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qed.certificates import StagedCertificate


Array = np.ndarray[Any, Any]
RELATIVE = 1e-9  # of steps: sums in double precision
ROOTS = 20_000_000  # values looked at, over all trees, to see that roots take the best splits
LEAVES = 4  # of a tree that are looked at to see that they could not be split, the largest
ZERO_RESIDUAL = 1e-50  # residuals below this are taken for zero


def check(model: Any, certificate: StagedCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:
    """Go through all rounds again; raise CertificateError when they are not as stated."""
    read = read_rows(model, X, y, sample_weight)
    rows, held = parted_rows(model, read)
    trees = model.trees_
    k, rounds = rows.k, len(trees.sizes) // rows.k
    if (len(trees.sizes), model.n_iter_, model.n_trees_per_iteration_) != (rounds * k, rounds, k):
        refuse(model, "its trees are not whole rounds")
    if certificate.rows != len(rows.X) or certificate.leaves != len(trees.value):
        refuse(model, f"it states {certificate.leaves} leaves over {certificate.rows} rows")
    fewer = check_rounds(model, rounds, model.n_estimators)
    level, base = _level(model, read[0]), np.asarray(model.baseline_, dtype=np.float64)
    _check_constant(model, rows, base)
    taken, order = trees_of(model, trees), np.argsort(rows.X, axis=0, kind="stable")
    scores = start_scores(model, rows.X)
    trace = _Trace(model, rows, curve(rows.loss, level, scores, rows.y)[0])
    for first in range(rounds):
        used = _drawn(model, first, len(rows.X))
        own = level
        if rows.loss == "huber":
            errors = np.abs(rows.y - scores[:, 0])
            own = float(quantiles(errors, rows.s, float(model.alpha), TIE_TOLERANCE, middle=False)[0])
        _, slope, curvature = curve(rows.loss, own, scores, rows.y)
        steps = np.empty_like(scores)
        for c in range(k):
            where = f"tree {c} of round {first}" if k > 1 else f"the tree of round {first}"
            look = _Look(model, where, taken[first * k + c], rows, used)
            leaf = look.descended()
            look.check_gains(-slope[:, c], order, model.tree_importances_[first * k + c])
            look.check_steps(slope[:, c], curvature[:, c], rows.y - scores[:, 0], leaf, own)
            steps[:, c] = look.tree.value[leaf]
        before, scores = scores, scores + steps
        shown = own if own > 0 else level
        value, after, start = (
            curve(rows.loss, one, at, rows.y)[0] for one, at in ((level, scores), (shown, scores), (shown, before))
        )
        trace.add(value, after, start, used)
    check_held(model, held, lambda X: start_scores(model, X), taken, level)
    return trace.verdict(certificate, fewer)


def initial(model: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[Part]:
    """Yield the estimator that trees are added to, with the rows that they learnt from."""
    if "init_" in model.__dict__:
        rows, _ = parted_rows(model, read_rows(model, X, y, sample_weight))
        target = rows.y
        if "classes_" in model.__dict__:
            target = (rows.y > 0).astype(np.int64) if rows.k == 1 else rows.y.astype(np.int64)
        yield Part("init", model.init_, model.init, rows.X, target, None if (rows.s == 1).all() else rows.s)


class _Trace:
    """Losses after each round, of all rows, of those that it looked at and of the others."""

    def __init__(self, model: Any, rows: TrainingData, value: Array) -> None:
        self.model, self.rows = model, rows
        self.losses = [self._mean(np.ones(len(value), bool), value)]
        self.train: list[float] = []
        self.out: list[float] = []
        self.first = np.nan

    def _mean(self, own: Array, value: Array) -> float:
        s = self.rows.s[own]
        return float(s @ value[own] / s.sum())

    def add(self, value: Array, shown: Array, before: Array, used: Array) -> None:
        """Note a round: losses at the level of the fit, and those after and before it at the level of the round."""
        factor = 2.0 if self.rows.loss in ("squared_error", "log_loss") else 1.0
        if not self.train and not used.all():
            self.first = factor * self._mean(~used, before)
        self.losses.append(self._mean(np.ones(len(value), bool), value))
        self.train.append(factor * self._mean(used, shown))
        if not used.all():
            self.out.append(factor * self._mean(~used, shown))

    def verdict(self, certificate: StagedCertificate, fewer: str) -> Verdict:
        model, found = self.model, np.array(self.losses)
        size = LOSSES * np.maximum(np.abs(found), abs(found[0]))
        gains = -np.diff([self.first, *self.out]) if self.out else np.zeros(0)
        stated = np.asarray(certificate.losses)
        for what, given, own in (
            ("training loss", stated, found),
            ("train_score_", model.train_score_, np.array(self.train)),
            ("oob_scores_", model.oob_scores_, np.array(self.out)),
            ("oob_improvement_", model.oob_improvement_, gains),
        ):
            near = 2 * LOSSES * max(abs(found[0]), float(np.abs(own).max(initial=0)))
            if np.shape(given) != own.shape or not (np.abs(given - own) <= near).all():
                refuse(model, f"its {what} is not that of its rounds")
        rises = int(np.count_nonzero(np.diff(found) > 1e-12 * np.abs(found[:-1]) + size[1:]))
        shown = int(np.count_nonzero(np.diff(stated) > 1e-12 * np.abs(stated[:-1])))
        if certificate.rises < rises or certificate.rises != shown:
            refuse(model, f"its training loss rises {max(rises, shown)} times, and {certificate.rises} are stated")
        off = abs(float(found[-1] - stated[-1]))
        words = certificate.statement + fewer
        return Verdict(words, float(found[-1]), off, float(size[-1]), float(size[-1]), "training loss")


def _level(model: Any, rows: TrainingData) -> float:
    found = float(model.alpha) if rows.loss == "quantile" else 0.5
    if rows.loss == "huber":
        # the threshold at which losses are shown is that of all rows of the fit, those that stop it included
        found = float(model.loss_level_)
        if not (found > 0 and np.isfinite(found)):
            refuse(model, "the threshold of its loss is not positive")
        levels = huber_levels(rows.y, rows.s, float(model.alpha))
        wanted = float(levels[np.argmin(np.abs(levels - found))])
        if not abs(found - wanted) <= 1e-12 * wanted:
            refuse(model, f"the level of its loss is {wanted:.10g}, and {found:.10g} is stated")
    elif model.loss_level_ != found:
        refuse(model, f"the level of its loss is {found:.10g}, and {model.loss_level_:.10g} is stated")
    return found


def _check_constant(model: Any, rows: TrainingData, base: Array) -> None:
    if base.shape != (rows.k,):
        refuse(model, "it has no constant for each class")
    if (model.init is None or isinstance(model.init, str)) != ("init_" not in model.__dict__):
        refuse(model, "it starts from an estimator, and its parameters name none, or the other way round")
    if model.init is not None:
        if base.any():
            refuse(model, "it starts from zero or from an estimator, and its constant is another")
        return
    if rows.loss in ("absolute_error", "quantile", "huber"):
        level = float(model.alpha) if rows.loss == "quantile" else 0.5
        check_quantile(model, rows, float(base[0]), level)
        return
    _, slope, _ = curve(rows.loss, 0.5, np.tile(base, (len(rows.X), 1)), rows.y)
    if not (np.abs(rows.s @ slope) <= 1e-8 * (rows.s @ np.abs(slope)) + 1e-13 * (rows.s @ np.abs(rows.y))).all():
        refuse(model, "its constant is not the best one")
    if rows.k > 1 and not abs(base.sum()) <= 1e-8 * np.abs(base).sum() + 1e-12:
        refuse(model, "its constants do not sum to zero")


def _drawn(model: Any, number: int, n: int) -> Array:
    """Draw the rows of a round again: those whose mixed numbers are least."""
    used = np.ones(n, dtype=bool)
    many = n if model.subsample == 1 else max(1, int(model.subsample * n))
    if many < n:
        with np.errstate(over="ignore"):
            seed = np.uint64(int(mixed(np.uint64((int(model.seed_) + number) % 2**64))) % 2**63)
            keys = mixed(np.arange(n, dtype=np.uint64) + seed)
        used[np.argsort(keys, kind="stable")[many:]] = False
    return used


class _Look:
    """One tree, the rows that it was grown on, and what they sum up to in each node."""

    def __init__(self, model: Any, where: str, tree: Tree, rows: TrainingData, used: Array) -> None:
        self.model, self.where, self.tree, self.rows, self.used = model, where, tree, rows, used
        self.count = np.zeros(len(tree.feature))
        self.levels: list[tuple[Array, Array]] = []
        if (tree.feature >= rows.X.shape[1]).any() or tree.sets:
            refuse(model, f"{where} asks about columns that are not there")

    def descended(self) -> Array:
        """Send rows down, and check the questions and the limits; return the leaf of each row."""
        tree, rows, n = self.tree, self.rows, len(self.rows.X)
        leaf, here, at = np.zeros(n, dtype=np.int64), np.arange(n), np.zeros(n, dtype=np.int64)
        while len(here):
            own = self.used[here]
            self.levels.append((here[own], at[own]))
            self.count += np.bincount(at[own], minlength=len(tree.feature))
            inner = tree.feature[at] >= 0
            leaf[here[~inner]] = at[~inner]
            here, at = here[inner], at[inner]
            if len(here):
                value = rows.X[here, tree.feature[at]]
                is_left = np.where(np.isnan(value), tree.missing_left[at], value <= tree.threshold[at])
                self._check_questions(at[self.used[here]], value[self.used[here]], is_left[self.used[here]])
                at = np.where(is_left, at + 1, tree.right[at])
        ends = tree.feature < 0
        if not (self.count > 0).all():
            refuse(self.model, f"a node of {self.where} is reached by no row")
        weight = np.bincount(leaf[self.used], rows.s[self.used], minlength=len(ends))
        if not (np.abs(tree.weight[ends] - weight[ends]) <= RELATIVE * weight[ends]).all():
            refuse(self.model, f"a leaf of {self.where} holds other rows than it states")
        self._check_limits(ends)
        return leaf

    def _check_questions(self, at: Array, value: Array, is_left: Array) -> None:
        order = np.argsort(at, kind="stable")
        nodes, starts = np.unique(at[order], return_index=True)
        for node, own in zip(nodes.tolist(), np.split(order, starts[1:]), strict=True):
            mine, left = value[own], is_left[own]
            what = f"node {node} of {self.where} in {called(self.model, int(self.tree.feature[node]))}"
            known, threshold = ~np.isnan(mine), self.tree.threshold[node]
            low, high = mine[known & left], mine[known & ~left]
            if np.isinf(threshold) and threshold > 0 and known.any() and not known.all():
                pass  # known values are parted from missing ones
            elif not len(low) or not len(high):
                refuse(self.model, f"{what} parts no values")
            else:
                a, b = float(low.max()), float(high.min())
                middle = a / 2 + b / 2
                if threshold != (middle if a <= middle < b else a):
                    refuse(self.model, f"the threshold {threshold:.12g} of {what} is not midway between two values")
            if known.all() and bool(self.tree.missing_left[node]) != bool(2 * left.sum() > len(left)):
                refuse(self.model, f"{what} sends missing values to the side of fewer rows")

    def _check_limits(self, ends: Array) -> None:
        model, n = self.model, len(self.rows.X)
        least = number_of_rows(model.min_samples_leaf, n)
        split = max(number_of_rows(model.min_samples_split, n), 2 * least, 2)
        lightest = model.min_weight_fraction_leaf * self.rows.s[self.used].sum() * (1 - RELATIVE)
        bad = {
            "is deeper": model.max_depth is not None and len(self.levels) - 1 > model.max_depth,
            "has more leaves": model.max_leaf_nodes is not None and ends.sum() > model.max_leaf_nodes,
            "has smaller leaves": ends.sum() > 1 and (self.count[ends] < least).any(),
            "splits smaller nodes": (self.count[~ends] < split).any(),
            "has lighter leaves": ends.sum() > 1 and (self.tree.weight[ends] < lightest).any(),
        }
        for what, holds in bad.items():
            if holds:
                refuse(model, f"{self.where} {what} than its parameters allow")

    def check_gains(self, residual: Array, order: Array, stated: Array) -> None:
        """See what splits take off the squared error, column by column, and that the root takes the best one."""
        tree, s = self.tree, self.rows.s
        W, R = np.zeros(len(tree.feature)), np.zeros(len(tree.feature))
        if np.abs(residual).max(initial=0) < ZERO_RESIDUAL:
            residual = np.zeros(len(residual))
        total = float(s[self.used].sum())
        centred = residual - float(s[self.used] @ residual[self.used]) / total
        for here, at in self.levels:
            W += np.bincount(at, s[here], minlength=len(W))
            R += np.bincount(at, s[here] * centred[here], minlength=len(W))
        inner = np.flatnonzero(tree.feature >= 0)
        mass = R**2 / W
        gain = mass[inner + 1] + mass[tree.right[inner]] - mass[inner]
        found = np.bincount(tree.feature[inner], np.maximum(gain, 0), minlength=self.rows.X.shape[1]) / total
        spread = float(s[self.used] @ centred[self.used] ** 2) / total
        if not (np.abs(found - stated) <= RELATIVE * max(spread, float(np.abs(residual).max(initial=0)) ** 2)).all():
            refuse(self.model, f"the splits of {self.where} lower the error by other amounts than it states")
        model, size = self.model, order.size * len(model_trees(self.model))
        if not (gain >= model.min_impurity_decrease * total * (1 - 1e-7) - RELATIVE * total * spread).all():
            refuse(model, f"a split of {self.where} gains less than min_impurity_decrease")
        is_free = model.max_features is None and model.min_weight_fraction_leaf == model.ccp_alpha == 0
        if not is_free or size > ROOTS or np.isnan(self.rows.X).any():
            return
        if len(inner):
            best = self._best_cut(centred, order, self.used)
            if not gain[0] >= best * (1 - 1e-7) - RELATIVE * total * spread:
                refuse(
                    model, f"the root of {self.where} takes {gain[0]:.10g} off the error, and another takes {best:.10g}"
                )
        for node in self._open_leaves():
            own = np.zeros(len(centred), dtype=bool)
            for here, at in self.levels:
                own[here[at == node]] = True
            best = self._best_cut(centred, order, own)
            least = model.min_impurity_decrease * total * (1 + 1e-7) + 1e-7 * total * spread
            if not best <= least:
                refuse(model, f"leaf {node} of {self.where} could be split, which takes {best:.10g} off the error")

    def _open_leaves(self) -> list[int]:
        """Return the largest leaves that the limits allow to be split, as many as are few beside the rows of the tree."""
        model, n, ends = self.model, len(self.rows.X), np.flatnonzero(self.tree.feature < 0)
        if model.max_leaf_nodes is not None and len(ends) >= model.max_leaf_nodes:
            return []
        least = number_of_rows(model.min_samples_leaf, n)
        depth = np.zeros(len(self.tree.feature), dtype=np.int64)
        for level, (_, at) in enumerate(self.levels):
            depth[at] = level
        may = self.count[ends] >= max(number_of_rows(model.min_samples_split, n), 2 * least, 2)
        if model.max_depth is not None:
            may &= depth[ends] < model.max_depth
        ends = ends[may]
        return [int(node) for node in ends[np.argsort(-self.count[ends], kind="stable")][:LEAVES]]

    def _best_cut(self, centred: Array, order: Array, inside: Array) -> float:
        """Return the most that a cut of some rows takes off their squared error."""
        rows, best = self.rows, 0.0
        least = number_of_rows(self.model.min_samples_leaf, len(rows.X))
        apart = centred - float(rows.s[inside] @ centred[inside]) / float(rows.s[inside].sum())
        for j in range(rows.X.shape[1]):
            own = order[:, j][inside[order[:, j]]]
            value, s = rows.X[own, j], rows.s[own]
            places = np.flatnonzero(value[1:] > value[:-1])
            places = places[(places + 1 >= least) & (len(own) - places - 1 >= least)]
            if len(places):
                # sides are added up on their own: a light one would be the rounding of a heavy one
                left, right = np.cumsum(s)[places], np.cumsum(s[::-1])[::-1][places + 1]
                pull = s * apart[own]
                below, above = np.cumsum(pull)[places], np.cumsum(pull[::-1])[::-1][places + 1]
                best = max(best, float((below**2 / left + above**2 / right - pull.sum() ** 2 / s.sum()).max()))
        return best

    def check_steps(self, slope: Array, curvature: Array, left: Array, leaf: Array, level: float) -> None:
        """Derive the step of every leaf."""
        model, tree, rows, rate = self.model, self.tree, self.rows, float(self.model.learning_rate)
        ends = np.flatnonzero(tree.feature < 0)
        s = np.where(self.used, rows.s, 0.0)
        if rows.loss in ("absolute_error", "quantile", "huber"):
            share = 0.5 if rows.loss != "quantile" else float(model.alpha)
            step = np.empty(len(ends))
            for place, node in enumerate(ends):
                own = self.used & (leaf == node)
                found = quantiles(left[own], s[own], share, TIE_TOLERANCE, middle=False)
                if rows.loss == "huber":
                    apart = np.clip(left[own] - found[:, np.newaxis], -level, level)
                    found = found + apart @ s[own] / s[own].sum()
                step[place] = found[np.argmin(np.abs(rate * found - tree.value[node]))]
            size, rounding = np.abs(left).max(initial=0.0) * np.ones(len(ends)), np.zeros(len(ends))
        else:
            G, H, A, W = (
                np.bincount(leaf, s * one, minlength=len(tree.feature))[ends]
                for one in (slope, curvature, np.abs(slope), np.ones(len(slope)))
            )
            steep = 1e-150 * W < H
            factor = (rows.k - 1) / rows.k if rows.k > 1 else 1.0
            step, size = (np.where(steep, factor * one / np.where(steep, H, 1.0), 0.0) for one in (-G, A))
            # probabilities of several labels round as one does, however near to it they are
            unit = 8 * np.finfo(np.float64).eps if rows.k > 1 else 0.0
            rounding = np.where(steep, unit * W * (1 + np.abs(step)) / np.where(steep, H, 1.0), 0.0)
        off = ~(np.abs(tree.value[ends] - rate * step) <= rate * (RELATIVE * size + rounding) + 1e-300)
        if off.any():
            worst = int(ends[np.flatnonzero(off)[0]])
            refuse(
                model,
                f"leaf {worst} of {self.where} should add {rate * step[off][0]:.12g}, and adds {tree.value[worst]:.12g}",
            )


def model_trees(model: Any) -> Array:
    """Return the sizes of the trees of a model."""
    return np.asarray(model.trees_.sizes)
