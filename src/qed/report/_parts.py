"""What a report is made of: figures, tables, verdicts, sections."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """A drawing and the sentence under it.

    Parameters
    ----------
    svg : str
        The drawing, as one ``<svg>`` element that takes its colours from the page.
    caption : str
        What there is to see.
    title : str
        A name above the drawing, where one is needed.
    """

    svg: str
    caption: str
    title: str = ""


@dataclass(frozen=True)
class Table:
    """Rows of text under a head; the first column names the row.

    Parameters
    ----------
    head : tuple of str
        Names of the columns.
    rows : tuple of tuple of str
        One tuple per row, as long as the head.
    minor : tuple of int
        Columns that a narrow screen does without.
    """

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    minor: tuple[int, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """What an independent check said.

    Parameters
    ----------
    is_accepted : bool
        Whether the check found the claim true.
    title : str
        What was checked.
    words : str
        What the check said.
    """

    is_accepted: bool
    title: str
    words: str


@dataclass(frozen=True)
class Section:
    """One part of a report: figures first, then words, then numbers.

    Parameters
    ----------
    title : str
        Its heading.
    words : tuple of str
        One paragraph each.
    figures : tuple of Figure
        Drawings, shown before the words.
    verdicts : tuple of Verdict
        Outcomes of checks, shown as cards.
    facts : tuple of (str, str)
        Numbers with their names.
    table : Table or None
        A table, shown last.
    """

    title: str
    words: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    table: Table | None = None
