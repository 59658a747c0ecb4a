"""The page of anomalies: which rows, why, how often by chance, which method, what is proven."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from qed.report._format_numbers import percent, said
from qed.report._group_figures import scatter, score_histogram
from qed.report._parts import Figure, Section, Table
from qed.report._study_figures import Whisker, whiskers
from qed.report._svg import NARROW_WIDTH
from qed.report._unsupervised import entry, page_of, proof_section, short_source
from qed.study._raw import text_of

if TYPE_CHECKING:
    from qed.report._report import Report
    from qed.study import Detection
    from qed.study._detect import Anomaly

MOST_FIGURES = 6
MOST_REASONS, MOST_WORDS = 5, 3
LEAST_PART = 0.1  # of an anomaly, below which an entry is not worth a word
MAP_ROWS = 800

PROOFS = {
    "isolation forest": "Trees are drawn at random: nothing is optimal about them. What is proven is that every path length is what"
    " the trees give for these rows:",
    "nearest neighbours": "The score is the mean distance to the nearest rows. What is proven is that they are the nearest:",
    "Gaussian mixture density": "A mixture is fitted step by step, and better ones may exist. What is proven is that no step"
    " lowered the likelihood:",
    "elliptic envelope": "The covariance that ignores outlying rows is searched for step by step. What is proven is that no further"
    " step helps:",
}  # fmt: skip


def detect_report(found: Detection, *, model_file: str = "model.qed", title: str = "") -> Report:
    """Write the report of a detection of anomalies.

    Parameters
    ----------
    found : Detection
        What `qed.study.detect` gave.
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
    first = found.anomalies[0]
    lead = (
        f"{method[0].upper() + method[1:]}, from {used} column{'s' if used != 1 else ''} and {len(found.scores):,} rows of"
        f" {short_source(schema.fit_record.source)}. {found.n_anomalous:,} rows lie above the threshold of the chosen"
        f" false-alarm rate, {percent(schema.output.rate)}. The most anomalous is row {first.row + 1:,}."
    )
    sections = (
        _answer(found),
        *_which(found),
        _why(found),
        _map(found),
        _method(found),
        proof_section(found.model, found.checked, explanation=PROOFS[method]),
    )
    return page_of(
        found.model, title=title or f"Anomalies of {short_source(schema.fit_record.source)}", lead=lead, sections=sections,
        model_file=model_file, function="detect",
    )  # fmt: skip


def why_words(found: Detection, anomaly: Anomaly) -> str:
    """Say which entries make a row anomalous, against what is typical; nothing stands out where each alone changes little."""
    words = [
        f"{one.column} {entry(found.data.rows, one.column, anomaly.row)} ({_typical(found, one.column, anomaly.row)})"
        for one in anomaly.reasons[:MOST_WORDS]
        if one.part >= LEAST_PART
    ]
    return "; ".join(words) or "no single entry"


def _typical(found: Detection, name: str, row: int) -> str:
    """Say what is usual in a column: where the middle nine tenths of numbers lie, or the most frequent category."""
    column = found.data.rows.column(name)
    kind = next(one.kind for one in found.data.columns if one.name == name)
    if kind in ("number", "date") and column.values is not None:
        low, high = np.nanquantile(column.values, [0.05, 0.95])
        words = [text_of(float(one), column.kind)[:10] if kind == "date" else said(float(one)) for one in (low, high)]
        return f"mostly {words[0]} to {words[1]}"
    if kind == "text":
        return "unlike other texts"
    codes, words = column.as_words()
    counts = np.bincount(codes[codes >= 0], minlength=len(words))
    most = int(np.argmax(counts))
    share = percent(float(counts[most] / max(1, counts.sum())))
    return f"as {share} of rows" if codes[row] == most else f"most often {words[most][:30]}, {share}"


def _answer(found: Detection) -> Section:
    output = found.model.schema.output
    area = found.model.schema.fit_record.scores["ROC area against artificial rows"]
    facts = (
        ("anomalous rows", f"{found.n_anomalous:,}"),
        ("chosen false-alarm rate", percent(output.rate)),
        ("of new rows like these lie above the threshold, with confidence 95\u202f%", f"≤ {percent(found.bound)}"),
        ("ROC area against artificial anomalies", f"{area:.3f}"),
    )
    return Section("", facts=facts)


def _which(found: Detection) -> tuple[Section, Section]:
    threshold = found.model.schema.output.threshold
    svg = score_histogram(found.scores, threshold, description="Histogram of anomaly scores, with the threshold")
    words = (
        "Each row was scored by a model that had not seen it, so that no row hides itself. The threshold is the score that"
        f" {percent(found.model.schema.output.rate)} of such rows exceed. About as many new rows will exceed it with nothing wrong"
        f" about them, and no more than {percent(found.bound)} (95\u202f% confidence), as long as they are like these. A row above"
        " it is unusual, and not necessarily an error: look at it."
    )
    caption = "Scores of all rows: larger is more anomalous. Orange rows lie above the dashed threshold."
    table = Table(
        ("", "score", "as high", "why"),
        tuple(
            (
                f"row {one.row + 1:,}",
                f"{one.score:.4g}",
                percent(one.p_value) + " of rows",
                why_words(found, one),
            )
            for one in found.anomalies
        ),
        minor=(2,),
    )  # fmt: skip
    return (
        Section("Which rows are anomalous?", words=(words,), figures=(Figure(svg, caption),)),
        Section("The most anomalous rows", table=table),
    )


def _why(found: Detection) -> Section | None:
    """Draw which entries make the first rows anomalous."""
    figures = []
    for one in found.anomalies[:MOST_FIGURES]:
        top = one.reasons[:MOST_REASONS]
        if not top:
            continue
        rows: list[Whisker] = [
            (f"{why.column}\n{entry(found.data.rows, why.column, one.row)}", 0.0, 100 * why.part, 100 * why.part, 0) for why in top
        ]  # fmt: skip
        svg = whiskers(rows, label="part of the anomaly, %", description=f"What makes row {one.row + 1} anomalous", rule=0.0,
                       span=(-4.0, 104.0), width=NARROW_WIDTH)  # fmt: skip
        figures.append(Figure(svg, "", title=f"Row {one.row + 1:,}"))
    if not figures:
        return None
    words = (
        "By how much the score of a row falls when one entry is replaced by those of typical rows, as a share of all such falls."
        " Under each name stands the entry of the row."
    )
    return Section("Why are they?", figures=tuple(figures), words=(words,))


def _map(found: Detection) -> Section | None:
    """Draw the rows in the plane of the first principal components, anomalous ones marked."""
    from qed.decomposition import PCA  # noqa: PLC0415

    is_above = found.scores > found.model.schema.output.threshold
    shown = np.concatenate([np.flatnonzero(~is_above)[:MAP_ROWS], np.flatnonzero(is_above)[:MAP_ROWS]])
    rows = found.scored[shown]
    Z = np.asarray(found.model.pipeline.steps_[0][1].transform(found.data.X[rows]))
    if Z.shape[1] < 2 or not is_above.any():
        return None
    pca = PCA(2).fit(Z)
    share = float(np.sum(pca.explained_variance_ratio_))
    svg = scatter(
        np.asarray(pca.transform(Z), np.float64), is_above[shown].astype(np.int64), ("usual", "anomalous"),
        labels=("first component", "second component"), description="Rows in the plane, anomalous ones marked",
        hovers=[f"row {row + 1:,}" for row in rows], marked=np.flatnonzero(is_above[shown]).tolist(),
    )  # fmt: skip
    caption = (
        f"The plane that keeps most of the variance: {percent(share)}. An anomaly inside the cloud has an unusual combination of"
        " usual entries, or differs in what this plane does not show."
    )
    return Section("Where do they lie?", figures=(Figure(svg, caption),))


def _method(found: Detection) -> Section:
    words = (
        "There are no labels to judge by. So each method is fitted on two thirds of the rows, and has to tell the other third from"
        " artificial anomalies: rows whose entries were each drawn from another row (unusual combinations), and rows with one"
        " number moved by 3 to 6 standard deviations (extreme values). The largest area under the ROC curve wins; the first in the"
        " list, where it is within a standard error. 1 tells them all, 0.5 is guessing."
    )
    table = Table(
        ("method", "ROC area", "±", "combinations", "extremes", ""),
        tuple(
            (one.title, *([f"{value:.3f}" for value in (one.area, one.error, one.combinations, one.extremes)]), "")
            if not math.isnan(one.area)
            else (one.title, "", "", "", "", f"not tried: {one.reason}")
            for one in found.methods
        ),
        minor=(2,),
    )
    return Section("Which method, and why?", words=(words,), table=table)
