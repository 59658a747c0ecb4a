"""What stands at the end of the page of a study: candidates, columns, and how it was made."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from qed.model_selection._candidate import members_of
from qed.report._format_numbers import said
from qed.report._parts import Section, Table

if TYPE_CHECKING:
    from qed.study import Study
    from qed.study._leaderboard import Entry
    from qed.study._schema import ColumnSchema, FitRecord


MOST_LISTED = 20  # lines that people read


def tried(study: Study) -> Section:
    """List every candidate with its error."""
    is_number = study.schema.target.task == "regression"
    rows = []
    latest = study.comparison.latest
    for entry in [*study.comparison.listed(study.winner, MOST_LISTED), *study.comparison.baselines]:
        value = math.sqrt(entry.loss) if is_number else entry.loss
        half = 1.96 * entry.error / (2 * value) if is_number and value else 1.96 * entry.error
        time = f"{1e3 * entry.seconds:,.0f} ms" if entry.candidate else ""
        behind = "" if math.isnan(entry.behind) else _behind(entry)
        rows.append(
            (entry.title, said(value), f"± {said(half)}", behind, f"{entry.n_rows:,}", str(entry.n_folds or ""), time)
        )
    head = ("candidate", "error" if is_number else "log loss", "95 %", "behind the best", "rows", "folds", "a fit")
    rule = (
        "A candidate is given up when its loss, row by row, is clearly above the best one's: by more than three standard errors"
        " among the same rows, by two before it is given more rows. The winner has the least loss, with two conditions. A setting"
        " that was tuned on these rows has to gain over the best untuned one of its family more than the best of m settings gains"
        " by chance: \u221a(2 log(1 + m)) standard errors of the difference. A weighted average of models has to gain one standard"
        " error over the best single one. With --simple the simplest model within one standard error wins, with --best the least"
        " loss without conditions. Behind the best: in standard errors of the difference."
    )
    others = (
        "Not tried: neural networks, kernel machines, products of three columns and more, and what is not in the table."
    )
    words = [rule, others]
    if len(latest) > MOST_LISTED:
        words.append(
            f"Of {len(latest)} candidates {MOST_LISTED} are listed: the best of every kind, then the best of the others."
        )
    average = next((one.candidate for one in latest if one.candidate is not None and one.candidate.parts), None)
    if average is not None:
        words.append(f"The {average.title}: {members_of(average)}.")

    return Section("What was tried", words=tuple(words), table=Table(head, tuple(rows), minor=(5, 6)))


def _behind(entry: Entry) -> str:
    if entry.is_by_chance:
        return "by chance"
    if entry.behind <= 0 or not entry.behind_error:
        return "best" if entry.behind <= 0 else ""
    return f"{entry.behind / entry.behind_error:.1f}"


def columns(study: Study) -> Section:
    """List every column with what it is taken for, and why; the target besides."""
    target = study.schema.target
    words = (f"{target.name} is the target: {target.task}, because it holds {target.reason}."
             if target.reason != "you said so" else f"{target.name} is the target: {target.task}, as you said.",)  # fmt: skip
    return list_columns(study.schema.columns, words)


def list_columns(found: tuple[ColumnSchema, ...], words: tuple[str, ...] = ()) -> Section:
    """List columns with what each is taken for, and why."""
    rows = []
    for one in found:
        kind = one.kind if one.is_used else f"{one.kind}, left out"
        gaps = f"{100 * one.missing:.3g} %" if one.missing else ""
        rows.append((one.name, kind, one.unit, one.shown, gaps, one.reason))
    head = ("column", "type", "unit", "entries", "missing", "why")
    return Section("The columns", words=words, table=Table(head, tuple(rows)))


def making(study: Study, model_file: str) -> Section:
    """Say where the model comes from, and how to make, check and use it."""
    fit_record = study.schema.fit_record
    own = (
        ("rows", f"{fit_record.rows_read:,} read, {fit_record.rows_used:,} with a target, {fit_record.rows_fitted:,} fitted"),
        ("kept aside", (f"{fit_record.held_out:,} rows, unseen by comparison and by the model of the figures above; the saved one"
                       " has then learnt from them as well")),
    )  # fmt: skip
    return origin(fit_record, model_file, own, "fit")


def origin(fit_record: FitRecord, model_file: str, own: tuple[tuple[str, str], ...], function: str) -> Section:
    """Say where a model comes from: its data, what the command has to say itself, versions, and what to type next."""
    versions = ", ".join(f"{name} {version}" for name, version in fit_record.versions.items())
    facts = (
        ("data", fit_record.source),
        ("SHA-256 of the data", fit_record.digest or "no single file"),
        *own,
        ("time", f"{fit_record.seconds:.1f} s of {fit_record.budget:g} s"),
        ("seed", str(fit_record.seed)),
        ("versions", versions),
        ("made by", fit_record.command or f"qed.study.{function}, from Python"),
        ("check it", f"qed verify {model_file} {fit_record.source}"),
        ("use it", f"qed predict {model_file} new-rows.csv"),
    )
    return Section("How it was made, and how to make it again", facts=facts)
