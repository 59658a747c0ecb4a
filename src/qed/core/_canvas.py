"""Where displays draw: matplotlib, loaded when something is drawn, and the colours of qed."""

from __future__ import annotations

from typing import Any

from qed.core._method_docs import Described, complete

BLUE, GREY = "#2f6db3", "#6b7280"
CURVES = (BLUE, "#c9641b", "#2e8b57", "#8e5bb5", "#b23a48", "#5f7a8a")


class Display:
    """A figure: its numbers are computed first, and ``plot`` draws them.

    Methods that draw need not say what ``ax`` is, nor that they return the display.
    """

    def __init_subclass__(cls) -> None:
        """Complete the docstrings of the methods that draw."""
        super().__init_subclass__()
        for name, value in cls.__dict__.items():
            method = getattr(value, "__func__", value)
            code = getattr(method, "__code__", None)
            names = () if code is None else code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
            # a docstring that sends the reader elsewhere for all of its arguments stays as it is
            described = "ax" in names and (names == ("ax",) or " Parameters\n" in (method.__doc__ or ""))
            if described and not name.startswith("_"):
                drawn = Described(cls.__name__.lstrip("_"), "With what was drawn.")
                method.__doc__ = complete(method.__doc__, names, {"ax": AX}, drawn)


AX = Described("ax : matplotlib Axes, optional", "Where to draw; a new figure when left out.")


def axes(ax: Any, *, size: tuple[float, float] = (5.2, 5.0)) -> tuple[Any, Any]:
    """Return the axes to draw on, new ones unless given, and their figure."""
    try:
        import matplotlib.pyplot as plt  # noqa: PLC0415  drawing alone needs it
    except ImportError as error:
        raise ImportError("Displays draw with matplotlib, which is not installed. Install qed[figures].") from error
    if ax is None:
        _, ax = plt.subplots(figsize=size, layout="constrained")
    return ax, ax.figure


def next_colour(ax: Any) -> str:
    """Return a colour that the curves already on the axes have not."""
    taken = sum(line.get_linestyle() == "-" for line in ax.get_lines())
    return CURVES[taken % len(CURVES)]


def style(defaults: dict[str, Any], given: dict[str, Any] | None) -> dict[str, Any]:
    """Join what a user asks for with the defaults; "c" and "color" are one thing, "ls" and "linestyle" too."""
    short = {"c": "color", "ls": "linestyle", "lw": "linewidth"}
    return {**defaults, **{short.get(name, name): value for name, value in (given or {}).items()}}


def unit_square(ax: Any, x: str, y: str, *, despine: bool) -> None:
    """Frame a curve of two rates: equal sides, a little air, quiet lines."""
    ax.set(xlabel=x, ylabel=y, xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
    ax.grid(visible=True, color="#e5e7eb", linewidth=0.8)
    ax.set_axisbelow(True)
    if despine:
        bare(ax)


def bare(ax: Any) -> None:
    """Take away the frame above and to the right."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def legend(ax: Any, place: str) -> None:
    """Write a legend when there is something to name."""
    if ax.get_legend_handles_labels()[1]:
        ax.legend(loc=place, frameon=True, framealpha=0.9, edgecolor="none")


def positive_words(pos_label: Any) -> str:
    """Name the positive label on an axis."""
    return "" if pos_label is None else f" (Positive label: {pos_label})"


def panels(count: int, columns: int, *, size: tuple[float, float]) -> tuple[list[Any], Any]:
    """Return axes side by side, at most ``columns`` in a line, and their figure."""
    first, figure = axes(None, size=size)
    first.remove()
    lines = -(-count // columns)
    made = figure.subplots(lines, columns, squeeze=False).ravel().tolist()
    for spare in made[count:]:
        spare.remove()
    return made[:count], figure
