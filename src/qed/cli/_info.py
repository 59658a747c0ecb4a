"""``qed info``: what a model file holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

    from qed.cli._screen import Screen
    from qed.study._schema import TableSchema, UnsupervisedSchema


def arguments(made: argparse.ArgumentParser) -> None:
    """Declare the words of the command."""
    made.add_argument("model", metavar="MODEL", help="a model file")


def run(options: argparse.Namespace, screen: Screen) -> int:
    """Show columns, certificate and story."""
    from qed.study._model import load  # noqa: PLC0415

    model = load(options.model)
    sheet, proof = model.sheet, model.proof
    story = sheet.story
    title, given = _given(sheet)
    screen.say(f"{options.model}: {story.candidate}{title}", "bold")
    screen.heading("Columns")
    rows = [
        (one.name, one.kind if one.is_used else f"{one.kind} (left out)", one.unit, one.shown, one.reason)
        for one in sheet.columns
    ]
    screen.table(
        ("column", "type", "unit", "entries", "why"), rows, ["" if one.is_used else "dim" for one in sheet.columns]
    )
    _show_given(sheet, screen)
    screen.heading("Proven")
    screen.say(f"  {proof.statement}")
    screen.table(("", ""), list(proof.numbers().items()))
    screen.heading("How it was made")
    facts = [
        ("data", story.source),
        ("SHA-256", story.digest or "none: the data were no single file"),
        ("rows", f"{story.rows_fitted:,} fitted of {story.rows_used:,} used, {story.rows_read:,} read"),
        ("time", f"{story.seconds:.1f} s of {story.budget:g} s"),
        ("seed", str(story.seed)),
        ("versions", ", ".join(f"{name} {version}" for name, version in story.versions.items())),
        ("command", story.command or "from Python"),
        *[
            (name, f"{value:.4g}" + (f" on {story.held_out:,} held-out rows" if story.held_out else ""))
            for name, value in story.scores.items()
        ],
    ]
    screen.table(("", ""), facts)
    for note in story.notes:
        screen.warn(note)
    screen.answer(
        {
            **given,
            "columns": [
                {"name": one.name, "type": one.kind, "why": one.reason, "unit": one.unit, "missing": one.missing,
                 "categories": list(one.words) if one.kind in ("category", "code", "yes/no") else None}
                for one in sheet.columns
            ],
            "certificate": {"statement": proof.statement, "numbers": proof.numbers(), "reached": proof.reached},
            "story": {name: getattr(story, name) for name in story.__dataclass_fields__},
        }
    )  # fmt: skip
    return 0


def _given(sheet: TableSchema | UnsupervisedSchema) -> tuple[str, dict[str, Any]]:
    """Return what the model is for, at the end of a sentence and as plain values."""
    from qed.study._schema import UnsupervisedSchema  # noqa: PLC0415

    if isinstance(sheet, UnsupervisedSchema):
        output = sheet.output
        values = {"task": output.task, "method": output.method, "labels": list(output.labels),
                  "rate": output.rate, "threshold": output.threshold}  # fmt: skip
        return "", {"output": values}
    target = sheet.target
    return f" for {target.name}", {
        "target": {"name": target.name, "task": target.task, "labels": list(target.labels), "unit": target.unit}
    }


def _show_given(sheet: TableSchema | UnsupervisedSchema, screen: Screen) -> None:
    """Print what the model is for."""
    from qed.study._schema import UnsupervisedSchema  # noqa: PLC0415

    if isinstance(sheet, UnsupervisedSchema):
        output = sheet.output
        screen.heading("Output")
        names = f"   {', '.join(sorted(output.labels[:12]))}" if len(output.labels) else ""
        limit = f"   anomalous: score above {output.threshold:.6g}" if output.task == "anomalies" else ""
        screen.say(f"  {output.task}: {output.method}{names}{limit}")
        return
    target = sheet.target
    screen.heading("Target")
    labels = f"   classes: {', '.join(target.labels[:12])}" if len(target.labels) else ""
    screen.say(f"  {target.name}: {target.task}, {target.reason}{labels}")
