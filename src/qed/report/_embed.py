"""The page of an embedding: the rows as points, how far the figure can be trusted, what the axes mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.report._format_numbers import percent, said
from qed.report._group_figures import bars, scatter, shaded_scatter
from qed.report._parts import Figure, Section, Table
from qed.report._unsupervised import entry, page_of, proof_section, short_source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qed.report._report import Report
    from qed.study import TableEmbedding

MOST_DOTS = 1500
MOST_COLOURS = 8
MOST_LOADINGS = 8
FAITHFUL, FAIR = 0.95, 0.85  # mean of trustworthiness and continuity


def embed_report(found: TableEmbedding, *, model_file: str = "model.qed", title: str = "") -> Report:
    """Write the report of an embedding.

    Parameters
    ----------
    found : TableEmbedding
        What `qed.study.embed` gave.
    model_file : str
        Name of the model file, for the commands on the page.
    title : str
        Heading; made from the table unless given.

    Returns
    -------
    Report
        Ready to be saved as one HTML file.
    """
    schema = found.model.schema
    used, method = len(schema.used), schema.output.method
    lead = (
        f"{method if method == 't-SNE' else method[0].upper() + method[1:]} of {len(found.points):,} rows of"
        f" {short_source(schema.fit_record.source)}, from {used}"
        f" columns: points that are near each other are rows that are alike. {_trust(found)}"
    )
    sections = (
        _answer(found),
        _map(found),
        _axes(found),
        _methods(found),
        proof_section(found.model, found.checked, explanation=_explanation(method)),
    )
    return page_of(
        found.model, title=title or f"The rows of {short_source(schema.fit_record.source)} in two dimensions", lead=lead,
        sections=sections, model_file=model_file, function="embed",
    )  # fmt: skip


def _trust(found: TableEmbedding) -> str:
    both = 0.5 * (found.trustworthiness + found.continuity)
    if both >= FAITHFUL:
        return "Neighbourhoods are kept well."
    if both >= FAIR:
        return "Neighbourhoods are kept in the main; some points that look near are not."
    return "Two coordinates are too few for these rows: many points that look near are not."


def _answer(found: TableEmbedding) -> Section:
    facts = (
        ("rows", f"{len(found.points):,}"),
        ("trustworthiness, 1 is the best", f"{found.trustworthiness:.3f}"),
        ("continuity, 1 is the best", f"{found.continuity:.3f}"),
    )
    return Section("", facts=facts)


def _map(found: TableEmbedding) -> Section:
    rows = found.embedded[:MOST_DOTS]
    points = found.points[:MOST_DOTS]
    labels = ("first component", "second component") if _is_linear(found) else ("first coordinate", "second coordinate")
    svg = _drawn(found, points, rows, labels, f"{len(points)} rows as points in the plane")
    meaning = (
        f"Trustworthiness {found.trustworthiness:.3f}: points that are near each other here stand for rows that are near each"
        f" other in the table. Continuity {found.continuity:.3f}: rows that are near each other in the table are so here. Both are"
        " 1 where all neighbourhoods are kept, and about 0.5 for points at random."
    )
    no_axes = (
        "The axes have no meaning of their own. Distances between separate groups of points, and how large groups look, mean"
        " little: only who is near whom does."
    )
    words = [meaning, "The axes are combinations of columns, below." if _is_linear(found) else no_axes]
    if len(found.points) > len(points):
        words.append(f"{len(points):,} of {len(found.points):,} rows are drawn.")
    caption = (
        f"Coloured by {found.colours.name}, which the embedding does not see." if found.colours is not None else ""
    )
    return Section("The rows in two dimensions", figures=(Figure(svg, caption),), words=tuple(words))


def _is_linear(found: TableEmbedding) -> bool:
    return found.model.schema.output.method == "principal components"


def _drawn(found: TableEmbedding, points: Any, rows: Any, labels: tuple[str, str], description: str) -> str:
    """Draw points, coloured by the categories or by the size of a column."""
    column = found.colours
    hovers = [f"row {row + 1:,}" for row in rows]
    if column is None:
        return scatter(points, None, (), labels=labels, description=description, hovers=hovers)
    entries = [entry(found.data.rows, column.name, int(row)) for row in rows]
    hovers = [f"{hover}, {column.name} {one}" for hover, one in zip(hovers, entries, strict=True)]
    if column.values is not None and column.kind in ("number", "moment") and column.tally()[0] > MOST_COLOURS:
        return shaded_scatter(
            points, column.values[rows], labels=labels, name=column.name, description=description, hovers=hovers
        )
    codes, words = column.as_words()
    groups, names = _few(codes[rows], words)
    return scatter(points, groups, names, labels=labels, description=description, hovers=hovers)


def _few(codes: Any, words: Sequence[str]) -> tuple[Any, list[str]]:
    """Keep the most frequent categories; others and gaps are taken together."""
    counts = np.bincount(codes[codes >= 0], minlength=len(words))
    order = np.argsort(-counts, kind="stable")
    kept = order[: MOST_COLOURS if len(words) <= MOST_COLOURS and (codes >= 0).all() else MOST_COLOURS - 1]
    kept = kept[counts[kept] > 0]
    place = np.full(len(words) + 1, len(kept), np.int64)  # the last place answers for gaps
    place[kept] = np.arange(len(kept))
    groups = place[codes]
    names = [words[at] for at in kept]
    return groups, [*names, "others"] if np.any(groups == len(kept)) else names


def _axes(found: TableEmbedding) -> Section | None:
    """Show which columns make the principal axes."""
    if not _is_linear(found):
        return None
    model = found.model.pipeline.steps_[-1][1]
    names = list(found.model.pipeline.steps_[0][1].get_feature_names_out())
    named = _plain_names(names, found)
    figures = []
    for at, title in enumerate(("First component", "Second component")):
        weights = model.components_[at]
        top = np.argsort(-np.abs(weights), kind="stable")[:MOST_LOADINGS]
        rows = [(named[j], abs(float(weights[j])), said(float(weights[j])), 0 if weights[j] > 0 else 1) for j in top]
        share = float(model.explained_variance_ratio_[at])
        figures.append(Figure(bars(rows, description=f"Weights of the {title.lower()}"),
                              f"{percent(share)} of the variance. Blue adds, orange takes away.", title=title))  # fmt: skip
    return Section("What do the axes mean?", figures=tuple(figures))


def _plain_names(names: list[str], found: TableEmbedding) -> list[str]:
    """Put the names of columns for the places that a preparation knows, and categories for their codes."""
    from qed.study._encode import feature_names  # noqa: PLC0415

    columns = found.model.schema.columns
    plain = feature_names(columns)
    by_name = {column.name: column for column in columns}
    out = []
    for name in names:
        part = name.rsplit("__", 1)[-1]
        place, _, rest = part.removeprefix("x").partition("_")
        if not place.isdigit() or int(place) >= len(plain):
            out.append(part)
            continue
        column = plain[int(place)]
        words = by_name[column].words if column in by_name else ()
        code = rest.removesuffix(".0")
        if code.isdigit() and int(code) < len(words):
            out.append(f"{column} = {words[int(code)]}")
        else:
            out.append(column if not rest or rest == "days_since" else f"{column} = {rest.removesuffix('_sklearn')}")
    return out


def _methods(found: TableEmbedding) -> Section:
    """Show the methods side by side, on the same rows."""
    figures = [
        Figure(
            _drawn(found, one.points, found.compared, ("", ""), f"{len(one.points)} rows by {one.title}"),
            f"Trustworthiness {one.trustworthiness:.3f}, continuity {one.continuity:.3f}.",
            title="t-SNE" if one.name == "tsne" else one.title[0].upper() + one.title[1:],
        )
        for one in found.methods
        if len(one.points)
    ]
    table = Table(
        ("method", "trustworthiness", "continuity", "new rows"),
        tuple(
            (one.title, f"{one.trustworthiness:.3f}", f"{one.continuity:.3f}", "no" if one.name == "tsne" else "yes")
            if len(one.points)
            else (one.title, "", "", f"not tried: {one.reason}")
            for one in found.methods
        ),
    )
    return Section("Which method, and why?", figures=tuple(figures), words=(found.reason,), table=table)


def _explanation(method: str) -> str:
    if method == "principal components":
        return "Which plane keeps most of the variance is a question with one best answer:"
    return (
        "Where the points go is found step by step from a start, and better places may exist. What is proven is the value of the"
        " objective, and how far neighbourhoods are kept:"
    )
