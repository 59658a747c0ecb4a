"""What the user should know of a judgement: too few rows, too good a score, copies."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.study._judge import TOP

if TYPE_CHECKING:
    from qed.study._judge import HeldOut


Array = np.ndarray[Any, Any]

FEW_HELD = 30
NEARLY_PERFECT = 0.01  # of the error of a constant that is left
ALONE = 0.9  # of what all columns add to the loss when they are shuffled


def of_few(held_out: HeldOut, labels: Array, share: float) -> list[str]:
    """Warn where scores rest on few rows, or where one class is rare.

    Parameters
    ----------
    held_out : HeldOut
        The judgement.
    labels : ndarray of str
        The classes.
    share : float
        Of two classes, the share of rows of the second.
    """
    words = []
    if len(held_out.actual) < FEW_HELD:
        words.append(
            f"Only {len(held_out.actual)} rows could be kept aside, so that the scores are rough. The comparison by"
            " cross-validation rests on more rows."
        )
    if TOP in held_out.scores:
        rare, often = (labels[1], labels[0]) if share < 0.5 else (labels[0], labels[1])
        small = 100 * min(share, 1 - share)
        words.append(
            f"Only {small:.2g} % of rows are {rare!r}, so that accuracy says little: always {often!r} is right in"
            f" {100 - small:.4g} %. Rank rows by their probability instead: {TOP!r} says how many of {rare!r} are among the"
            " tenth of rows with the highest."
        )
    return words


def of_leaks(held_out: HeldOut) -> list[str]:
    """Question a nearly perfect score, and name the column that alone nearly decides the target."""
    scores, base = held_out.scores, held_out.baseline
    name = "R²" if "R²" in scores else "log loss"
    if name not in scores or name not in base:
        return []
    left = 1 - scores["R²"].value if name == "R²" else scores[name].value / max(base[name].value, 1e-300)
    # classes may be told apart without a mistake by probabilities that a penalty keeps away from 0 and 1
    mistakes = 1.0
    if name == "log loss":
        mistakes = (1 - scores["accuracy"].value) / max(1 - base["accuracy"].value, 1e-300)
        mistakes = min(mistakes, 2 * (1 - scores["ROC area"].value)) if "ROC area" in scores else mistakes
    if min(left, mistakes) > NEARLY_PERFECT:
        return []
    constant = float(np.var(held_out.actual)) if name == "R²" else base[name].value
    rises = sum(max(one.rise, 0.0) for one in held_out.importances)
    alone = [one.name for one in held_out.importances if one.rise > min(0.5 * constant, ALONE * rises)]
    if len(alone) != 1:
        return (
            []
            if left > NEARLY_PERFECT
            else [
                "The score is nearly perfect. Is one of the columns known only after the target? Then leave it out with --drop."
            ]
        )
    words = (
        f"The score is nearly perfect, and one column alone, {alone[0]!r}, nearly decides the target: is it known beforehand?"
        f" If not, leave it out with --drop {shlex.quote(alone[0])}."
    )
    return [words]


def of_copies(copies: int, *, are_together: bool) -> str:
    """Say how many rows are copies of others, and on which side of the splits they stand."""
    verb = "rows are copies" if copies > 1 else "row is a copy"
    head = f"{copies:,} {verb} of other rows, in every column used and in the target. "
    if not are_together:
        return (
            head + "They stand on both sides of the splits, so that the scores look better than they are. Remove them."
        )
    return head + (
        "Copies stay on one side of every split, so that no row is judged by a model that has seen its twin. If they are"
        " there by mistake, remove them: they count twice in the model."
    )
