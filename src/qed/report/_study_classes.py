"""What a page says about classes: which threshold to choose for what costs, and how each of several classes fares."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from qed.report._format_numbers import percent, said
from qed.report._parts import Figure, Section, Table
from qed.report._study_figures import effect_curves

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qed.study import Study

MOST_CLASSES = 20  # lines of a table that people read
APART = 0.9  # of the area in common: a column whose curves overlap more shows nothing


def threshold_choice(study: Study, costs: tuple[float, float] | None) -> Section | None:
    """Show what thresholds on the probability of the second of two classes find and cost on the rows kept aside."""
    held, target = study.held_out, study.schema.target
    if held.shares is None or target.task != "binary" or not 0 < np.mean(held.actual) < 1:
        return None
    alarm, missed = costs or (1.0, 1.0)
    truth, share = held.actual.astype(bool), held.shares[:, 1]
    best = _cheapest(truth, share, alarm, missed)
    fair = alarm / (alarm + missed)  # for probabilities that are honest, the threshold of least expected cost
    # rounded, a threshold may part other rows: what looks alike stands once, and counts as it is
    marks = sorted({said(mark): mark for mark in (0.1, 0.2, 0.3, 0.5, 0.7, best, fair)}.values())
    rows = tuple(_line(truth, share, mark, alarm, missed) for mark in marks)
    positive = str(target.labels[1])
    first = (
        f"A row is called “{positive}” when its probability reaches a threshold; predictions use"
        f" {said(target.threshold)}. If a false alarm costs {said(alarm)} and a missed “{positive}” {said(missed)}, honest"
        f" probabilities ask for {said(fair)}, and on the {len(truth):,} rows kept aside {said(best)} was cheapest."
    )
    words = [first]
    if costs is None:
        words.append(
            "Say what mistakes cost when you fit, --cost fp=1,fn=20, and predictions use the threshold that asks for; or choose one"
            " when you predict: qed predict … --threshold 0.2."
        )
    score = _average_precision(truth, share)
    words.append(
        f"Average precision is {score:.3f}; of a ranking by chance it is {np.mean(truth):.3f}, the share of “{positive}”."
    )
    head = ("threshold", "precision", "recall", "false alarms", "missed", "cost a row")
    return Section("Which threshold?", words=tuple(words), table=Table(head, rows))


def _cheapest(truth: np.ndarray, share: np.ndarray, alarm: float, missed: float) -> float:
    """Return the threshold of least cost among those that rows have."""
    order = np.argsort(-share, kind="stable")
    hits = np.concatenate([[0], np.cumsum(truth[order])])
    called = np.arange(len(truth) + 1)
    costs = alarm * (called - hits) + missed * (hits[-1] - hits)
    ends = np.concatenate([[True], np.diff(share[order]) < 0, [True]])  # rows of one probability are called together
    at = int(np.argmin(np.where(ends, costs, math.inf)))
    return 1.0 if at == 0 else float(share[order[at - 1]])


def _line(truth: np.ndarray, share: np.ndarray, mark: float, alarm: float, missed: float) -> tuple[str, ...]:
    called = share >= mark
    hits, wrong, lost = int(np.sum(called & truth)), int(np.sum(called & ~truth)), int(np.sum(~called & truth))
    precision = percent(hits / (hits + wrong)) if hits + wrong else "none called"
    cost = (alarm * wrong + missed * lost) / len(truth)
    return said(mark), precision, percent(hits / max(1, hits + lost)), f"{wrong:,}", f"{lost:,}", said(cost)


def _average_precision(truth: np.ndarray, share: np.ndarray) -> float:
    from qed.metrics import average_precision_score  # noqa: PLC0415

    return float(average_precision_score(truth.astype(int), share))


def class_by_class(study: Study) -> Section | None:
    """List precision and recall of each of several classes, those that are missed most first."""
    held, target = study.held_out, study.schema.target
    if held.shares is None or target.task != "multiclass":
        return None
    rows = []
    for at, label in enumerate(target.labels):
        truth, called = held.actual == at, held.predicted == at
        hits = int(np.sum(truth & called))
        if not truth.any():
            continue
        wrong = held.predicted[truth & ~called].astype(int)
        taken = str(target.labels[np.bincount(wrong).argmax()]) if len(wrong) else ""
        precision = percent(hits / called.sum()) if called.any() else "never said"
        rows.append(
            (hits / truth.sum(), (str(label), f"{int(truth.sum()):,}", percent(hits / truth.sum()), precision, taken))
        )
    rows.sort(key=lambda one: one[0])
    more = f" The {MOST_CLASSES} hardest of {len(rows)} are shown." if len(rows) > MOST_CLASSES else ""
    words = (
        f"Recall: of the rows of a class, how many are found. Precision: of the rows called so, how many are.{more}",
    )
    head = ("class", "rows", "recall", "precision", "most often taken for")
    return Section("Class by class", words=words, table=Table(head, tuple(line for _, line in rows[:MOST_CLASSES])))


def class_groups(study: Study, classes: Sequence[int]) -> list[int]:
    """Return the groups that give classes their colours: in every figure of a page the same."""
    drawn = [one.classes for one in study.held_out.effects] + [one.classes for one in study.held_out.densities]
    order = sorted(set().union(*drawn))
    return [order.index(label) for label in classes]


def class_densities(study: Study) -> Section | None:
    """Draw how the columns that matter most are spread in each class, where that shows a difference."""
    labels = [str(label) for label in study.schema.target.labels]
    units = {column.name: column.unit for column in study.schema.columns}
    figures = []
    for one in study.held_out.densities:
        if one.overlap > APART:
            continue
        svg = effect_curves(
            one.places, one.curves, (0.0, 1.08 * float(one.curves.max())),
            names=[labels[at] for at in one.classes], groups=class_groups(study, one.classes),
            label=one.name.removesuffix(f"_{units[one.name]}") + (f", {units[one.name]}" if units[one.name] else ""),
            title="density", description=f"Density of {one.name} in each class", dates=False,
        )  # fmt: skip
        words = f"The curves have {percent(one.overlap)} of their area in common."
        figures.append(Figure(svg, words, title=one.name))
    if not figures:
        return None
    told = (
        "How the values of a column are spread in each class, on the rows kept aside: the less the curves overlap, the better that"
        " column tells the classes apart by itself. Each curve has area one, whatever the size of its class."
    )
    return Section("How do the classes differ?", figures=tuple(figures), words=(told,))
