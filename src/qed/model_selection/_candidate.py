"""What a family offers to those who choose among models: candidates, declared beside the models themselves.

A package with a module ``_candidates`` takes part in the choice: its function ``candidates(task)`` lists what it offers for a
table, and nothing else has to know of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable

LATER = 10  # priority
WEAKEST, STRONGEST = 1e-8, 10.0  # penalties, relative to the rows and the target
RARE = 0.1  # share of a class below which class weights are worth a try
CALIBRATION_FOLDS = 3  # of classifiers whose class weights distort probabilities
Preparation = Literal["linear", "splines", "interactions", "trees", "trees and means"]


@dataclass(frozen=True)
class TableTask:
    """What is known of a table before anything is fitted.

    Attributes
    ----------
    kind : str
        What is predicted: ``"regression"``, ``"binary"`` or ``"multiclass"``.
    counts : bool
        Whether the targets are counts.
    width : int
        Columns after categories, dates and texts have become numbers.
    has_splines : bool
        Whether a column has enough distinct numbers for a spline.
    is_positive : bool
        Whether all targets are positive numbers that differ by factors, so that their logarithm is worth a try.
    n_codes : int
        So many leading columns of the preparation for trees are codes of categories.
    rarest : float
        The share of rows of the rarest class.
    has_identifiers : bool
        Whether whole numbers of a column come back so often that they may be identifiers.
    has_products : bool
        Whether two columns are used, which may be multiplied.
    """

    kind: str
    counts: bool
    width: int
    has_splines: bool
    is_positive: bool = False
    n_codes: int = 0
    rarest: float = 1.0
    has_identifiers: bool = False
    has_products: bool = True


@dataclass(frozen=True)
class Candidate:
    """A model to try.

    Attributes
    ----------
    family : str
        Its name for people.
    detail : str
        What tells it from others of its family.
    make : function of (int, float)
        Returns the estimator for so many rows and a target of this standard deviation.
    preparation : {"linear", "splines", "interactions", "trees", "trees and means"}
        What the columns become before it: numbers scaled and categories one-hot encoded; numbers as splines besides; products of
        the strongest columns besides; or, for trees, numbers as they are with their gaps, and categories as codes in front of them;
        the last adds the mean target of each value of whole numbers that come back, which may be identifiers.
    priority : int
        Candidates of a lower number are tried first; equal ones in the order of their declaration. From `LATER` on they are tried
        when all others are done and time is left.
    is_constant : bool
        Whether it predicts the same for every row.
    parts : tuple of (Candidate, float)
        Of an average of models: its members and their weights.
    refine : function, optional
        Returns variations that are worth a try where this one is among the best and time is left.
    is_tuned : bool
        Whether it is such a variation, tried because another one did well.
    """

    family: str
    detail: str
    make: Callable[[int, float], Any]
    preparation: Preparation = "linear"
    priority: int = 0
    is_constant: bool = False
    parts: tuple[tuple[Candidate, float], ...] = ()
    refine: Callable[[], list[Candidate]] | None = None
    is_tuned: bool = False

    @property
    def is_of_trees(self) -> bool:
        """Whether its columns are prepared for trees."""
        return self.preparation in ("trees", "trees and means")

    @property
    def title(self) -> str:
        """Family and detail."""
        return f"{self.family}, {self.detail}" if self.detail else self.family


def members_of(candidate: Candidate) -> str:
    """List the members of an average with their weights; empty for a single model."""
    return ", ".join(f"{100 * weight:.0f} % {part.title.replace(',', ' with', 1)}" for part, weight in candidate.parts)


def near_strengths(alpha: float) -> list[float]:
    """Return the next weaker and the next stronger penalty on the scale 1, 3, 10, 30 and so on."""
    near = (float(f"{alpha / 3:.0e}"), float(f"{3.4 * alpha:.0e}"))
    return [one for one in near if WEAKEST <= one <= STRONGEST]


def declared_candidates(task: TableTask) -> list[Candidate]:
    """Gather the candidates of all families, most promising first."""
    import qed  # noqa: PLC0415  (its packages are listed when they are asked for)

    found: list[Candidate] = []
    for package in sorted(one.name for one in iter_modules(qed.__path__) if one.ispkg and not one.name.startswith("_")):
        if find_spec(f"qed.{package}._candidates") is not None:
            found += import_module(f"qed.{package}._candidates").candidates(task)
    return sorted(found, key=lambda one: one.priority)
