"""How the prediction moves with a column: the section of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qed.report._parts import Figure, Section
from qed.report._study_classes import class_groups
from qed.report._study_figures import effect_curves, effect_dots

if TYPE_CHECKING:
    from qed.study import Study


MOST_EFFECTS = 6  # figures
DATE_PARTS = {"time": "date", "weekday": "day of the week", "hour": "hour of the day"}


def effects_section(study: Study) -> Section | None:
    """Draw how the prediction moves with the leading columns, all on one scale."""
    found = study.held_out.effects
    if not found:
        return None
    target = study.schema.target
    low = min(float(one.answers.min()) for one in found)
    high = max(float(one.answers.max()) for one in found)
    room = 0.08 * (high - low) or 1.0
    span = (low - room, high + room)
    unit = f", {target.unit}" if target.unit else ""
    title = f"prediction{unit}" if target.task == "regression" else "probability"
    if target.task == "binary":
        title += f" of “{target.labels[1]}”"
    units = {column.name: column.unit for column in study.schema.columns}
    figures = []
    for one in found[:MOST_EFFECTS]:
        classes, groups = [str(target.labels[at]) for at in one.classes], class_groups(study, one.classes)
        heading = one.name if one.part in ("", "time") else f"{one.name}: {DATE_PARTS[one.part]}"
        words = f"{title} for each {heading}"
        if one.labels:
            svg = effect_dots(
                one.labels, one.answers, span, names=classes, groups=groups, title=title, description=words
            )
        else:
            name = one.name.removesuffix(f"_{units[one.name]}") + (f", {units[one.name]}" if units[one.name] else "")
            svg = effect_curves(
                one.places, one.answers, span,
                names=classes, groups=groups, label=DATE_PARTS.get(one.part, name), title=title, description=words,
                dates=one.part == "time",
            )  # fmt: skip
        figures.append(Figure(svg, "", title=heading))
    caution = (
        "What the model would say on average if everything else stayed as it is and only this column changed, all on one scale."
        " This is how the model reasons, and not what would happen if somebody changed the column in the world."
    )
    words_below = [caution]
    if any(one.part == "time" for one in found):
        words_below.append("Dates are moved by whole weeks, so that days of the week and hours stay as they are.")
    if found[0].classes and len(found[0].classes) < len(target.labels):
        words_below.append(
            f"Of {len(target.labels)} classes the {len(found[0].classes)} that are predicted most are drawn."
        )
    return Section("How does the prediction move?", figures=tuple(figures), words=tuple(words_below))
