"""What a linear model weighs: its coefficients under names that people know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.study._encode import feature_names

if TYPE_CHECKING:
    from qed.study._model import TableModel


Weight = tuple[str, tuple[float, ...]]

_PARTS = {"days_since": "days", "month_sin": "month (sine)", "month_cos": "month (cosine)", "weekday_sin": "weekday (sine)",
          "weekday_cos": "weekday (cosine)", "hour_sin": "hour (sine)", "hour_cos": "hour (cosine)"}  # fmt: skip


def weights(model: TableModel) -> list[Weight]:
    """Return the coefficients of every prepared column, one for each class beyond two, the largest first.

    Parameters
    ----------
    model : TableModel
        A fitted model.

    Returns
    -------
    list of (str, tuple of float)
        Empty where there are none, and where numbers became splines, whose single coefficients mean nothing to anybody.
    """
    steps = dict(model.pipeline.steps_)
    if "columns" not in steps or not hasattr(
        steps["model"], "coef_"
    ):  # an average of models, trees, a transformed target
        return []
    coefficients = np.atleast_2d(np.asarray(steps["model"].coef_, np.float64))
    parts = steps["columns"].transformers_
    if any(name == "curves" for name, _, _ in parts):
        return []
    names = feature_names(model.schema.columns)
    words = [column.words for column in model.schema.columns if column.is_used for _ in range(column.width)]
    labels, found = model.schema.target.labels, list[str]()
    for name, part, places in parts:
        if isinstance(part, str):
            continue
        inside = [names[at] for at in places]
        known = {names[at]: words[at] for at in places}
        # stand-ins without separators, so that what a part appends can be told apart
        outside = part.get_feature_names_out([f"\x00{at}\x00" for at in range(len(inside))])
        found += [_told(str(one), inside, known, name, labels) for one in outside]
    if len(found) != coefficients.shape[1]:
        return []
    order = np.argsort(-np.abs(coefficients).max(axis=0), kind="stable")
    return [(found[at], tuple(float(one) for one in coefficients[:, at])) for at in order]


def _told(one: str, inside: list[str], known: dict[str, Any], part: str, labels: Any) -> str:
    before, place, after = one.split("\x00", 2)
    name, rest = inside[int(place)], after.removeprefix("_")
    if "missingindicator" in before or (part == "categories" and rest == "nan"):
        return f"{name} is missing"
    if part == "categories":
        if "infrequent" in rest:
            return f"{name} = any other"
        return f"{name} = {known[name][int(float(rest))]}"
    if part == "dates":
        return f"{name}: {_PARTS.get(rest, rest)}"
    if part == "means":
        return f"{name}: target mean" if not rest else f"{name}: share of {labels[int(float(rest))]}"
    return name
