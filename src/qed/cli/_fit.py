"""``qed fit``: a table in, a model file and a page out."""

from __future__ import annotations

import math
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qed.cli._files import require_free, write_whole
from qed.cli._parser import add_source
from qed.core import InvalidParameter

if TYPE_CHECKING:
    import argparse

    from qed.cli._screen import Screen
    from qed.study import Study
    from qed.study._clock import Clock


def _require_apart(options: argparse.Namespace) -> None:
    """Refuse one name for two things, also with --force."""
    places = {"--out": options.out, **({} if options.no_report else {"--report": options.report})}
    seen = {Path(options.data).resolve(): "the table"} if Path(options.data).exists() else {}
    for flag, path in places.items():
        other = seen.setdefault(Path(path).resolve(), flag)
        if other != flag:
            raise InvalidParameter(f"{flag} {path}: that is also {other}. Choose another name.")


def arguments(made: argparse.ArgumentParser) -> None:
    """Declare the words of the command."""
    add_source(made)
    made.add_argument(
        "--target", "-t", metavar="COLUMN", help="the column to predict; without it the columns are listed"
    )
    made.add_argument(
        "--task", choices=("regression", "counts", "binary", "multiclass"), help="what to predict, if not as inferred"
    )
    made.add_argument(
        "--types", default="", metavar="COL=TYPE,…",
        help="what columns are: number, code, category, yes/no, date, text, identifier; or how they are written: day-first,"
        " month-first, decimal-comma, decimal-point",
    )  # fmt: skip
    made.add_argument("--drop", default="", metavar="COL,…", help="columns to leave out")
    made.add_argument("--budget", default="60s", metavar="TIME", help="time to spend: 60s, 5m, 1h (60s)")
    lean = made.add_mutually_exclusive_group()
    lean.add_argument(
        "--simple", action="store_true", help="take the simplest model within one standard error of the best"
    )
    lean.add_argument("--best", action="store_true", help="take the least error, whatever it is made of")
    made.add_argument(
        "--cost", default="", metavar="fp=1,fn=20",
        help="what a false alarm and a missed case cost, of two classes: predictions use the threshold that asks for",
    )  # fmt: skip
    made.add_argument("--out", "-o", default="model.qed", metavar="FILE", help="the model file (model.qed)")
    made.add_argument("--report", default="report.html", metavar="FILE", help="the page to show (report.html)")
    made.add_argument("--no-report", action="store_true", help="write no page")
    made.add_argument("--seed", type=int, default=0, help="what every random choice follows from (0)")
    made.add_argument("--force", "-f", action="store_true", help="replace files that are there")


def run(options: argparse.Namespace, screen: Screen) -> int:
    """Fit, write, tell."""
    from qed import listen  # noqa: PLC0415
    from qed.study import fit, read_table  # noqa: PLC0415
    from qed.study._clock import Clock, seconds_of  # noqa: PLC0415
    from qed.study._source import without_password  # noqa: PLC0415

    if options.target is None:
        table = _read(options, read_table, Clock(seconds_of(options.budget)))
        listed = ", ".join(table.names[:30]) + (" …" if len(table.names) > 30 else "")
        raise InvalidParameter(f"Say which column is to be predicted: --target COLUMN. {options.data} has {listed}.")
    require_free(options.out, force=options.force, flag="--out")
    if not options.no_report:
        require_free(options.report, force=options.force, flag="--report")
    _require_apart(options)
    types, drop, costs = _pairs(options.types), _names(options.drop), _costs(options.cost)
    clock = Clock(seconds_of(options.budget))
    screen.budget = clock.budget
    screen.say(f"qed fit {without_password(options.data)}, target {options.target}", "bold")
    with listen(screen.follow):
        study = fit(
            _read(options, read_table, clock),
            options.target,
            task=options.task,
            types=types,
            drop=drop,
            seed=options.seed,
            lean="simple" if options.simple else "best" if options.best else "",
            costs=costs,
            command=_typed(),
            clock=clock,
        )
    screen.stop()
    write_whole(options.out, study.model.save, replace=options.force)
    if costs is not None and study.sheet.target.task != "binary":
        screen.warn("--cost is for a target of two classes, and means nothing here.")
    report = None if options.no_report else _reported(study, options, costs)
    show(study, screen)
    _show_files(options, screen, report, clock.spent)
    screen.answer({**facts(study), "model": options.out, "report": report, "seconds": clock.spent})
    return 130 if study.is_interrupted or (report is None and not options.no_report) else 0


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
        page = study_report(study, model_file=Path(options.out).name, costs=costs).html()
        write_whole(options.report, lambda path: _write(path, page), replace=options.force)
    except KeyboardInterrupt:
        return None
    return str(options.report)


def _read(options: argparse.Namespace, read_table: Any, clock: Clock) -> Any:
    from dataclasses import replace  # noqa: PLC0415

    from qed.core._events import Progress  # noqa: PLC0415
    from qed.study._source import digest_of  # noqa: PLC0415

    with Progress("reading"):
        table = read_table(
            options.data, table=options.table, query=options.query, encoding=options.encoding, clock=clock
        )
        return replace(table, digest=digest_of(options.data))


def _typed() -> str:
    from qed.study._source import without_password  # noqa: PLC0415

    words = ["qed", *map(without_password, sys.argv[1:])]
    return shlex.join(words)[:2000]


def _write(path: Path, page: str) -> None:
    path.write_text(page, encoding="utf-8")


def _pairs(text: str) -> dict[str, str]:
    found = {}
    for part in _names(text):
        name, is_pair, kind = part.rpartition("=")
        if not is_pair or not name or not kind:
            raise InvalidParameter(f"--types {part}: write column=type, such as --types age=number,zip=category.")
        found[name.strip()] = kind.strip()
    return found


def _names(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def show(study: Study, screen: Screen) -> None:
    """Print what was understood, tried and found."""
    from qed.model_selection._candidate import members_of  # noqa: PLC0415

    sheet = study.sheet
    story, target = sheet.story, sheet.target
    unit = f" {target.unit}" if target.unit else ""
    screen.heading(f"{story.rows_used:,} rows · {target.task} · {target.reason}")
    rows = [
        (one.name, one.kind if one.is_used else f"{one.kind} (left out)", _gaps(one.missing), one.reason)
        for one in sheet.columns
    ]
    styles = ["" if one.is_used else "dim" for one in sheet.columns]
    screen.table(("column", "type", "missing", "why"), rows[:40], styles[:40], right="2")
    if len(rows) > 40:
        screen.say(f"  … and {len(rows) - 40} more columns")
    for note in story.notes:
        screen.warn(note)
    screen.heading("Compared by cross-validation, on rows each model had not seen")
    measure = "error" if target.task == "regression" else "log loss"
    screen.table(("", measure, "±", "rows", ""), _ranking(study, 16 if screen.width >= 100 else 10), right="123")
    if len({entry.n_rows for entry in study.comparison.latest[:8]}) > 1:
        screen.say("  fewer rows: fell behind early, on rows that were easier or harder", "dim")
    screen.heading(f"Winner: {story.candidate}")
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
    screen.say(f"  measured on {story.held_out:,} rows kept aside; in brackets 95 % intervals", "dim")
    screen.heading("Proven")
    screen.say(f"  {study.model.proof.statement}")
    if study.checked is None:
        screen.say("  Have it checked by independent code: qed verify MODEL DATA", "dim")
    elif study.checked.is_accepted:
        screen.say("  ✓ accepted by an independent checker", "green")
    else:
        screen.say(f"  ✗ rejected by the independent checker: {study.checked.words}", "bold red")
    if study.is_interrupted:
        screen.say()
        screen.warn("Interrupted: this is the best model so far, and not the best that the time would have given.")


def _gaps(share: float) -> str:
    return "" if share == 0 else "<1 %" if share < 0.01 else f"{100 * share:.0f} %"


def _ranking(study: Study, longest: int) -> list[tuple[str, str, str, str, str]]:
    """Return the best candidates and the constant, each with a bar that is as long as its error."""
    is_number = study.sheet.target.task == "regression"
    entries = [*study.comparison.latest[:8], *study.comparison.baselines]
    values = [math.sqrt(entry.loss) if is_number else entry.loss for entry in entries]
    rows = []
    for entry, value in zip(entries, values, strict=True):
        half = 1.96 * entry.error / (2 * value) if is_number and value else 1.96 * entry.error
        bar = "━" * max(1, round(longest * value / max(values))) if max(values) > 0 else ""
        rows.append((entry.title, f"{value:.4g}", f"{half:.2g}", f"{entry.n_rows:,}", bar))
    return rows


def _show_files(options: argparse.Namespace, screen: Screen, report: str | None, seconds: float) -> None:
    screen.say()
    screen.say(f"  model   {options.out}")
    if not options.no_report:
        screen.say(f"  report  {report or 'not written: interrupted'}")
    screen.say(f"  next    qed predict {shlex.quote(options.out)} NEW-ROWS", "dim")
    screen.say(f"  {seconds:.1f} s", "dim")


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
    sheet = study.sheet
    scores, baseline = (
        {
            name: {"value": score.value, "lower": score.lower, "upper": score.upper, "level": score.level}
            for name, score in found.items()
        }
        for found in (study.held_out.scores, study.held_out.baseline)
    )
    proof = study.model.proof
    return {
        "target": sheet.target.name,
        "task": sheet.target.task,
        "rows": sheet.story.rows_used,
        "rows_fitted": sheet.story.rows_fitted,
        "held_out": sheet.story.held_out,
        "columns": [
            {"name": one.name, "type": one.kind, "why": one.reason, "missing": one.missing, "form": one.form}
            for one in sheet.columns
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
        "winner": sheet.story.candidate,
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
        "notes": list(sheet.story.notes),
        "interrupted": study.is_interrupted,
    }
