"""What each column of the table contributes to a prediction: Shapley values of the winner, whatever its kind, within a time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import InvalidData, InvalidParameter
from qed.study._raw import text_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qed.inspection import Explanation
    from qed.study._clock import Clock
    from qed.study._schema import ColumnSchema, TargetSchema


Array = np.ndarray[Any, Any]

ROWS = 200  # a swarm of more dots shows no more
FEWEST_ROWS = 10  # a mean of fewer says little
MANY_ROWS = 30  # rather these with a larger standard error than fewer with a smaller one
BACKGROUND = 50  # rows that an average prediction is taken of
PAIRS = 16  # permutations and their reverses, of models that can only be asked for predictions
EFFORTS = ((50, 16), (20, 8), (10, 4))  # rows of the background and pairs of permutations, as time allows
ALL_COALITIONS = 256  # eight columns: all coalitions cost no more than permutations do
GROWTH = 5  # times as many rows at each step, until time is up: all steps before the last cost a quarter of it
SHARE = 0.05  # of the budget


@dataclass(frozen=True)
class Contributions:
    """Shapley values of some rows, in the columns of the table; or why there are none.

    Attributes
    ----------
    explanation : Explanation or None
        Contributions by row and column, with their certificate.
    words : str
        Why there are none.
    share : float
        The share of the budget that they may take.
    """

    explanation: Explanation | None
    words: str = ""
    share: float = SHARE


def contributions(
    model: Any,
    X: Array,
    background: Array,
    columns: Sequence[ColumnSchema],
    target: TargetSchema,
    *,
    clock: Clock,
    seed: int,
) -> Contributions:
    """Explain as many rows as time allows.

    Parameters
    ----------
    model : Pipeline
        A fitted pipeline.
    X : ndarray
        Rows to choose from.
    background : ndarray
        Rows that columns which are not known yet take their values from; some of them are drawn.
    columns, target : schemas
        What they are.
    clock : Clock
        Time for it.
    seed : int
        For the choice of rows, and for models that are sampled.
    """
    short = Contributions(None, "the time that is kept for it is too short for this model")
    if clock.left <= 0:
        return short
    random = np.random.default_rng(seed)
    rows = X[random.permutation(len(X))[:ROWS]]
    others = background[random.permutation(len(background))[:BACKGROUND]]
    begin = clock.now()
    try:
        # few permutations of one row tell what all of them cost; models whose form is known are solved at once
        quick = explained(model, rows[:1], others, columns, target, seed=seed, pairs=2)
        spent = clock.now() - begin
        pairs = PAIRS
        if quick.certificate.method in ("permutations", "enumeration"):
            one = spent / (2 * len(others))  # of one row, by pairs and rows of the background
            costs = [one * k * min(b, len(others)) for b, k in EFFORTS]
            if FEWEST_ROWS * costs[-1] > clock.budget - spent:
                return short
            level = next(
                (at for at, cost in enumerate(costs) if MANY_ROWS * cost < clock.budget - spent), len(costs) - 1
            )
            others, pairs = others[: EFFORTS[level][0]], EFFORTS[level][1]
        elif 2 * spent > clock.budget:
            return short
        count = 2
        while True:
            start = clock.now()
            found = explained(model, rows[:count], others, columns, target, seed=seed, pairs=pairs)
            took = clock.now() - start
            # so many rows cost at most in proportion, since part of the cost is the same for any number
            afford = count * (clock.budget - (clock.now() - begin)) / max(took, 1e-9)
            more = int(min(len(rows), GROWTH * count, afford))
            if more < min(len(rows), 1.5 * count) or len(found) == len(rows):
                break
            count = more
        return Contributions(found) if len(found) >= min(FEWEST_ROWS, len(rows)) else short
    except (InvalidData, InvalidParameter) as error:
        return Contributions(None, f"the model cannot be explained ({str(error)[:200].rstrip('.')})")


def explained(
    model: Any,
    X: Array,
    background: Array,
    columns: Sequence[ColumnSchema],
    target: TargetSchema,
    *,
    seed: int,
    pairs: int = PAIRS,
) -> Explanation:
    """Return the contributions of the table's columns to the predictions of rows.

    Parameters
    ----------
    model : Pipeline
        A fitted pipeline.
    X, background : ndarray
        Rows to explain, and rows that they are compared with.
    columns, target : schemas
        What they are.
    seed : int
        For models that are sampled.
    pairs : int
        Permutations and their reverses, of models that are sampled.
    """
    from qed.inspection import explain  # noqa: PLC0415  (only where something is explained)

    used = [column for column in columns if column.is_used]
    players = np.repeat(np.arange(len(used)), [column.width for column in used])
    evaluations = max(2 * (len(used) - 1) * pairs, ALL_COALITIONS if pairs >= PAIRS else 2)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        found = explain(
            model, X, background=background, players=players, feature_names=[column.name for column in used],
            max_evals=evaluations, random_state=seed,
        )  # fmt: skip
    return replace(found, output_names=_labels(found, target))


def _labels(found: Explanation, target: TargetSchema) -> tuple[str, ...]:
    """Name the outputs as the table names the classes: the pipeline knows their numbers alone."""
    if not len(target.labels):
        return (target.name,)
    return tuple(str(target.labels[int(float(name))]) for name in found.output_names)


def entry_of(column: ColumnSchema, value: float) -> str:
    """Write an encoded entry the way the table has it, with few digits; of a text only numbers are left, and nothing is said."""
    if column.kind == "text":
        return ""
    if np.isnan(value):
        return "missing"
    if column.kind == "number":
        return text_of(float(f"{value:.5g}"))
    if column.kind == "date":
        return text_of(float(value), "moment")[:16]
    return str(column.words[int(value)]) if 0 <= value < len(column.words) else "unknown"
