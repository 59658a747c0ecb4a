"""``qed fit``: a table in, a model file and a page out."""

from __future__ import annotations

import math
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qed.cli._files import write_whole
from qed.cli._parser import add_source
from qed.cli._table_words import (
    add_columns,
    add_files,
    names,
    pairs,
    read,
    require_places,
    show_check,
    show_columns,
    show_files,
    typed,
    write_page,
)
from qed.core import InvalidParameter

if TYPE_CHECKING:
    import argparse

    from qed.cli._screen import Screen
    from qed.study import Study

LISTED = 8  # candidates that a terminal shows


def arguments(made: argparse.ArgumentParser) -> None:
    """Declare the words of the command."""
    add_source(made)
    made.add_argument(
        "--target", "-t", metavar="COLUMN", help="the column to predict; without it the columns are listed"
    )
    made.add_argument(
        "--task", choices=("regression", "counts", "binary", "multiclass"), help="what to predict, if not as inferred"
    )
    add_columns(made)
    prefer = made.add_mutually_exclusive_group()
    prefer.add_argument(
        "--simple", action="store_true", help="take the simplest model within one standard error of the best"
    )
    prefer.add_argument("--best", action="store_true", help="take the least error, whatever it is made of")
    made.add_argument(
        "--cost", default="", metavar="fp=1,fn=20",
        help="what a false alarm and a missed case cost, of two classes: predictions use the threshold that asks for",
    )  # fmt: skip
    made.add_argument(
        "--cluster", metavar="HOST:PORT",
        help="address of a Dask scheduler, whose workers fit the candidates; they must have this version of qed",
    )  # fmt: skip
    add_files(made)


def run(options: argparse.Namespace, screen: Screen) -> int:
    """Fit, write, tell."""
    from qed import executor, listen  # noqa: PLC0415
    from qed.study import fit  # noqa: PLC0415
    from qed.study._clock import Clock, seconds_of  # noqa: PLC0415
    from qed.study._source import without_password  # noqa: PLC0415

    if options.target is None:
        table = read(options, Clock(seconds_of(options.budget)))
        listed = ", ".join(table.names[:30]) + (" …" if len(table.names) > 30 else "")
        raise InvalidParameter(f"Say which column is to be predicted: --target COLUMN. {options.data} has {listed}.")
    require_places(options)
    types, drop, costs = pairs(options.types), names(options.drop), _costs(options.cost)
    clock = Clock(seconds_of(options.budget))
    screen.budget = clock.budget
    screen.say(f"qed fit {without_password(options.data)}, target {options.target}", "bold")
    with nullcontext() if options.cluster is None else executor(_address(options.cluster)), listen(screen.follow):
        study = fit(
            read(options, clock),
            options.target,
            task=options.task,
            types=types,
            drop=drop,
            seed=options.seed,
            prefer="simple" if options.simple else "best" if options.best else "",
            costs=costs,
            command=typed(),
            clock=clock,
        )
    screen.stop()
    write_whole(options.out, study.model.save, replace=options.force)
    if costs is not None and study.schema.target.task != "binary":
        screen.warn("--cost is for a target of two classes, and means nothing here.")
    report = None if options.no_report else _reported(study, options, costs)
    show(study, screen)
    show_files(options, screen, report, clock.spent)
    screen.answer({**facts(study), "model": options.out, "report": report, "seconds": clock.spent})
    return 130 if study.is_interrupted or (report is None and not options.no_report) else 0


def _address(text: str) -> str:
    """Return the address of a scheduler as `qed.executor` takes it, whatever it was written with."""
    return f"dask://{text.removeprefix('dask://').removeprefix('tcp://')}"


def _costs(text: str) -> tuple[float, float] | None:
    """Read what a false alarm and a missed case cost."""
    if not text:
        return None
    found = {name.strip(): value for name, _, value in (part.partition("=") for part in text.split(","))}
    try:
        costs = float(found.pop("fp")), float(found.pop("fn"))
    except (KeyError, ValueError):
        costs = (-1.0, -1.0)
    if found or not all(0 <= one < math.inf for one in costs) or not sum(costs):
        raise InvalidParameter(
            f"--cost {text}: write what a false alarm and a missed case cost, such as --cost fp=1,fn=20."
        )
    return costs


def _reported(study: Study, options: argparse.Namespace, costs: tuple[float, float] | None) -> str | None:
    """Write the page, whole or, when Ctrl-C comes, not at all; the model is there by then."""
    from qed.report import study_report  # noqa: PLC0415

    try:
        page = study_report(study, model_file=Path(options.out).name, costs=costs)
    except KeyboardInterrupt:
        return None
    return write_page(page, options.report, replace=options.force)


def show(study: Study, screen: Screen) -> None:
    """Print what was understood, tried and found."""
    from qed.model_selection._candidate import members_of  # noqa: PLC0415

    schema = study.schema
    fit_record, target = schema.fit_record, schema.target
    unit = f" {target.unit}" if target.unit else ""
    screen.heading(f"{fit_record.rows_used:,} rows · {target.task} · {target.reason}")
    show_columns(schema.columns, screen)
    for note in fit_record.notes:
        screen.warn(note)
    screen.heading("Compared by cross-validation, on rows each model had not seen")
    measure = "error" if target.task == "regression" else "log loss"
    screen.table(("", measure, "±", "rows", ""), _ranking(study, 16 if screen.width >= 100 else 10), right="123")
    listed = study.comparison.listed(study.winner, LISTED)
    if len({study.comparison.rows_judged(entry) for entry in listed}) > 1:
        screen.say("  fewer rows: fell behind early, on rows that were easier or harder", "dim")
    if reason := why_not_first(study):
        screen.say(f"  {reason}", "dim")
    screen.heading(f"Winner: {fit_record.candidate}")
    if study.winner.candidate is not None and study.winner.candidate.parts:
        screen.say(f"  {members_of(study.winner.candidate)}")
    for name, score in study.held_out.scores.items():
        base = study.held_out.baseline.get(name)
        own_unit = unit if name.endswith("error") else ""
        against = (
            f"   a constant: {base.value:.4g}{own_unit}" if base is not None and name not in ("ROC area", "R²") else ""
        )
        against = "   by chance: 0.1" if name == "found in the top tenth" else against
        screen.say(f"  {name:24} {score.value:.4g}{own_unit}  ({score.lower:.4g} to {score.upper:.4g}){against}")
    screen.say(f"  measured on {fit_record.held_out:,} rows kept aside; in brackets 95 % intervals", "dim")
    screen.heading("Proven")
    screen.say(f"  {study.model.proof.statement}")
    show_check(study.checked, screen)
    if study.is_interrupted:
        screen.say()
        screen.warn("Interrupted: this is the best model so far, and not the best that the time would have given.")


def why_not_first(study: Study) -> str:
    """Say why the winner is not the one with the least error, where it is not."""
    first, winner = study.comparison.latest[:1], study.winner
    if winner.candidate is None or winner.candidate.is_constant or not first or first[0].title == winner.title:
        return ""
    if study.comparison.chosen().title != winner.title:
        return "the winner is the simplest within one standard error of the best"
    if first[0].is_by_chance:
        return "the first was tuned on these rows, and gains no more than the best of many settings by chance"
    return "the average gains less over the best single model than one standard error, so that the single one wins"


def _ranking(study: Study, longest: int) -> list[tuple[str, str, str, str, str]]:
    """Return the best candidates and the constant, each with a bar that is as long as its error."""
    is_number = study.schema.target.task == "regression"
    entries = [*study.comparison.listed(study.winner, LISTED), *study.comparison.baselines]
    values = [math.sqrt(entry.loss) if is_number else entry.loss for entry in entries]
    rows = []
    for entry, value in zip(entries, values, strict=True):
        half = 1.96 * entry.error / (2 * value) if is_number and value else 1.96 * entry.error
        bar = "━" * max(1, round(longest * value / max(values))) if max(values) > 0 else ""
        rows.append((entry.title, f"{value:.4g}", f"{half:.2g}", f"{study.comparison.rows_judged(entry):,}", bar))
    return rows


def _contributed(study: Study) -> list[dict[str, Any]] | None:
    """Return the mean absolute Shapley value of each column, over classes too; None where there was no time for them."""
    shared = study.held_out.contributions
    if shared is None or shared.explanation is None:
        return None
    found = shared.explanation
    sizes = found.importance().reshape(len(found.feature_names), -1).mean(axis=1)
    return [{"column": name, "mean": size} for name, size in zip(found.feature_names, sizes.tolist(), strict=True)]


def facts(study: Study) -> dict[str, Any]:
    """Return the study as plain values."""
    schema = study.schema
    scores, baseline = (
        {
            name: {"value": score.value, "lower": score.lower, "upper": score.upper, "level": score.level}
            for name, score in found.items()
        }
        for found in (study.held_out.scores, study.held_out.baseline)
    )
    proof = study.model.proof
    return {
        "target": schema.target.name,
        "task": schema.target.task,
        "rows": schema.fit_record.rows_used,
        "rows_fitted": schema.fit_record.rows_fitted,
        "held_out": schema.fit_record.held_out,
        "columns": [
            {"name": one.name, "type": one.kind, "why": one.reason, "missing": one.missing, "form": one.form}
            for one in schema.columns
        ],
        "candidates": [
            {
                "title": entry.title,
                "loss": entry.loss,
                "error": entry.error,
                "rows": entry.n_rows,
                "folds": entry.n_folds,
                "gain": entry.gain,
            }
            for entry in [*study.comparison.latest, *study.comparison.baselines]
        ],
        "winner": schema.fit_record.candidate,
        "constant": study.winner.candidate is not None and study.winner.candidate.is_constant,
        "scores": scores,
        "baseline": baseline,
        "importance": [
            {"column": one.name, "rise": one.rise, "lower": one.lower, "upper": one.upper}
            for one in study.held_out.importances
        ],
        "contributions": _contributed(study),
        "certificate": {"statement": proof.statement, "numbers": proof.numbers(), "reached": proof.reached},
        "checked": None if study.checked is None else study.checked.is_accepted,
        "notes": list(schema.fit_record.notes),
        "interrupted": study.is_interrupted,
    }
