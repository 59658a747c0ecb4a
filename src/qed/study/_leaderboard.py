"""How candidates did, what their fits cost, and which one is chosen."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qed.core import InvalidData

if TYPE_CHECKING:
    from qed.model_selection._candidate import Candidate

CHANCE = 2.0  # standard errors of a gain that the best of many candidates may have by luck
AVERAGE = 1.0  # standard errors that an average of models has to gain over the best single one
ORDER = ("linear", "splines", "interactions", "trees", "trees and means")  # from simple to complex
# One without and one with the rows kept aside, a quarter more, each somewhat slower than a guess from few rows.
FINAL_FITS = 2.6
FIXED = 0.02  # seconds of a fit that do not grow with its rows


@dataclass(frozen=True)
class Entry:
    """How one candidate did.

    Attributes
    ----------
    title : str
        Its name.
    candidate : Candidate or None
        None for a constant.
    loss, error : float
        Mean loss on unseen rows, and its standard error.
    n_rows, n_folds : int
        Rows that took part, and folds that were finished.
    seconds : float
        How long the fastest fold took.
    gain, gain_error : float
        How much less it loses than a constant on the same rows, and the standard error of that over the rows.
    behind, behind_error : float
        How much more it loses than the best on the same rows, and the standard error of that over the rows; NaN where they differ.
    is_by_chance : bool
        Whether it is a tuned setting whose gain over the untuned ones of its family is no more than the best of so many settings
        has by chance.
    """

    title: str
    candidate: Candidate | None
    loss: float
    error: float
    n_rows: int
    n_folds: int
    seconds: float
    gain: float = math.nan
    gain_error: float = math.nan
    behind: float = math.nan
    behind_error: float = math.nan
    is_by_chance: bool = False

    @property
    def family(self) -> str:
        """The kind of model, whatever its settings."""
        return self.candidate.family if self.candidate else self.title

    @property
    def is_no_better_than_a_constant(self) -> bool:
        """Whether its gain over a constant is less than what chance gives and takes."""
        return self.gain <= CHANCE * self.gain_error


@dataclass
class Comparison:
    """What the comparison has found so far; it is filled in place, so that a stop finds all of it."""

    entries: list[Entry]
    baselines: list[Entry]
    notes: list[str]
    n_rows: int = 0
    is_interrupted: bool = False

    @property
    def latest(self) -> list[Entry]:
        """For every candidate its last entry, best first among those that took part in the largest stage."""
        last = {entry.title: entry for entry in self.entries}
        return sorted(last.values(), key=lambda entry: (-entry.n_rows, -entry.n_folds, entry.loss))

    @property
    def best(self) -> Entry:
        """The candidate with the least loss among those on the most rows, tuned settings that gain by chance left out."""
        found = self.latest
        if not found:
            raise InvalidData("No candidate could be fitted: see the notes.")
        return next((one for one in found if not one.is_by_chance), found[0])

    def listed(self, winner: Entry, most: int) -> list[Entry]:
        """Return so many of the latest entries, best first: the winner, the best of every family, then the best of the others.

        A setting that leads its family by chance alone does not stand for it.
        """
        found = self.latest
        kin: dict[str, Entry] = {}
        for entry in sorted(found, key=lambda one: one.is_by_chance):
            kin.setdefault(entry.family, entry)
        best = [one for one in found if one in kin.values() and one.family != winner.family]
        rest = [one for one in found if one not in best and one.title != winner.title]
        kept = {one.title for one in [winner, *best, *rest][:most]}
        return [one for one in found if one.title in kept]

    def rows_judged(self, entry: Entry) -> int:
        """Return how many rows an entry was judged on: fewer of one that was given up before the last fold."""
        folds = max((one.n_folds for one in self.entries if one.n_rows == entry.n_rows), default=0)
        return round(entry.n_rows * entry.n_folds / folds) if entry.candidate and folds else entry.n_rows

    def chosen(self, prefer: str = "") -> Entry:
        """Return the winner: what was chosen after a look at the same rows has to gain more than chance gives.

        Parameters
        ----------
        prefer : {"", "simple", "best"}
            Usually the least loss, but tuned settings and an average of models only where they gain more than chance gives.
            "simple": the simplest within one standard error of that. "best": the least loss, whatever it is made of.
        """
        best = self.best
        if prefer == "best":
            return self.latest[0]
        level = [
            one
            for one in self.latest
            if (one.n_rows, one.n_folds) == (best.n_rows, best.n_folds) and not one.is_by_chance
        ]
        if prefer == "simple":
            return min((one for one in level if not one.behind > one.behind_error), key=_complexity, default=best)
        if best.candidate is None or not best.candidate.parts:
            return best
        single = next((one for one in level if one.candidate is not None and not one.candidate.parts), best)
        return single if single.behind <= AVERAGE * single.behind_error else best


def gain_by_chance(n_settings: int) -> float:
    """Return the standard errors that the best of so many settings gains where none of them is better, roughly at most.

    The largest of m normal numbers grows like ``sqrt(2 log m)``; one more keeps a single one from being taken as it is.
    """
    return math.sqrt(2 * math.log(1 + n_settings))


def _complexity(entry: Entry) -> tuple[int, int, float]:
    """Order candidates from simple to complex: lines, splines, interactions, trees, averages."""
    candidate = entry.candidate
    if candidate is None or candidate.is_constant:
        return 0, 0, entry.loss
    return 1 + len(candidate.parts), ORDER.index(candidate.preparation), entry.loss


def cost_of_a_row(entry: Entry) -> float:
    """Guess the seconds that each further row adds to a fit."""
    return max(entry.seconds - FIXED, 0.2 * entry.seconds) / entry.n_rows


def final_cost(best: Entry, n_all: int, reserve: float, room: float) -> float:
    """Guess the seconds from the end of the comparison to the end of all: two fits of the winner, and the rest.

    It is at most half of the time that there was for all this: the right model on fewer rows is better than a poor one on all.
    """
    return min(FINAL_FITS * cost_of_a_row(best) * n_all, 0.5 * room) + reserve
