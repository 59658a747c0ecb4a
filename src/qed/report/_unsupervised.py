"""What the pages of clusters, embeddings and anomalies share: entries in words, the proof, the end of the page."""

from __future__ import annotations

import datetime as dt
import math
from typing import TYPE_CHECKING, Any

from qed.report._format_numbers import percent, said
from qed.report._parts import Section, Verdict
from qed.report._report import Report
from qed.report._study_details import list_columns, origin
from qed.study._raw import text_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qed.study import UnsupervisedModel
    from qed.study._checked import Checked
    from qed.study._group_traits import Trait
    from qed.study._raw import RawTable

PREPARATION = (
    "Columns count alike, whatever their unit: numbers and dates are divided by their standard deviation, skewed numbers after a"
    " power transform (Yeo and Johnson); categories become indicators, texts weighted words. Gaps are filled with the median."
)


def entry(table: RawTable, name: str, row: int) -> str:
    """Write an entry of the table as people do."""
    column = table.columns[table.names.index(name)]
    if column.gaps[row]:
        return "–"
    if column.values is None:
        codes, words = column.as_words()
        return words[int(codes[row])][:60]
    value = float(column.values[row])
    is_whole = column.kind != "number" or value == math.floor(value)
    return text_of(value, column.kind) if is_whole else f"{value:.5g}".replace("-", "\u2212")


def value_of(trait_kind: str, value: float) -> str:
    """Write the mean of a number or date, or the share of a category."""
    if trait_kind == "number":
        return said(value)
    if trait_kind == "date":
        return text_of(round(value), "moment")[:10] if math.isfinite(value) else "–"
    return percent(value)


def trait_words(trait: Trait) -> str:
    """Say in a few words what sets a group apart."""
    return f"{trait.name} {value_of(trait.kind, trait.inside)} (other rows {value_of(trait.kind, trait.outside)})"


def short_source(source: str) -> str:
    """Return the name of a file without its folders."""
    return source.replace("\\", "/").rsplit("/", 1)[-1]


def proof_section(model: UnsupervisedModel, checked: Checked | None, *, explanation: str) -> Section:
    """Say what is proven about the model, and what the independent checker said."""
    words = [explanation, model.proof.statement]
    verdicts: tuple[Verdict, ...] = ()
    if checked is not None:
        title = "Checked by independent code" if checked.is_accepted else "Rejected by independent code"
        verdicts = (Verdict(checked.is_accepted, title, checked.words),)
    else:
        words.append("Checking it takes longer than was left of the time. Run: qed verify.")
    words.append("This is about the fit to these rows, and does not prove that new rows will be like them.")
    return Section("What is proven?", words=tuple(words), verdicts=verdicts, facts=tuple(model.proof.numbers().items()))


def page_of(
    model: UnsupervisedModel,
    *,
    title: str,
    lead: str,
    sections: Sequence[Section | None],
    model_file: str,
    function: str,
) -> Report:
    """Put the page together: its own sections, then notes, columns and origin, as on the page of `qed fit`."""
    fit_record = model.schema.fit_record
    own: tuple[Any, ...] = (("rows", f"{fit_record.rows_read:,} read, {fit_record.rows_fitted:,} fitted"),)
    notes = Section("What was noticed", words=fit_record.notes) if fit_record.notes else None
    every = (
        *sections,
        notes,
        list_columns(model.schema.columns, (PREPARATION,)),
        origin(fit_record, model_file, own, function),
    )
    made = dt.datetime.now(dt.UTC).date().isoformat()
    footer = f"Written by qed {fit_record.versions.get('qed', '')} on {made}. One file, no scripts, nothing fetched."
    return Report(title, lead, tuple(one for one in every if one is not None), footer)
