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
    """Show columns, certificate, and how the model was made."""
    from qed.study._model import load  # noqa: PLC0415

    model = load(options.model)
    schema, proof = model.schema, model.proof
    fit_record = schema.fit_record
    title, given = _given(schema)
    screen.say(f"{options.model}: {fit_record.candidate}{title}", "bold")
    screen.heading("Columns")
    rows = [
        (one.name, one.kind if one.is_used else f"{one.kind} (left out)", one.unit, one.shown, one.reason)
        for one in schema.columns
    ]
    screen.table(
        ("column", "type", "unit", "entries", "why"), rows, ["" if one.is_used else "dim" for one in schema.columns]
    )
    _show_given(schema, screen)
    screen.heading("Proven")
    screen.say(f"  {proof.statement}")
    screen.table(("", ""), list(proof.numbers().items()))
    screen.heading("How it was made")
    facts = [
        ("data", fit_record.source),
        ("SHA-256", fit_record.digest or "none: the data were no single file"),
        ("rows", f"{fit_record.rows_fitted:,} fitted of {fit_record.rows_used:,} used, {fit_record.rows_read:,} read"),
        ("time", f"{fit_record.seconds:.1f} s of {fit_record.budget:g} s"),
        ("seed", str(fit_record.seed)),
        ("versions", ", ".join(f"{name} {version}" for name, version in fit_record.versions.items())),
        ("command", fit_record.command or "from Python"),
        *[
            (name, f"{value:.4g}" + (f" on {fit_record.held_out:,} held-out rows" if fit_record.held_out else ""))
            for name, value in fit_record.scores.items()
        ],
    ]
    screen.table(("", ""), facts)
    for note in fit_record.notes:
        screen.warn(note)
    screen.answer(
        {
            **given,
            "columns": [
                {"name": one.name, "type": one.kind, "why": one.reason, "unit": one.unit, "missing": one.missing,
                 "categories": list(one.words) if one.kind in ("category", "code", "yes/no") else None}
                for one in schema.columns
            ],
            "certificate": {"statement": proof.statement, "numbers": proof.numbers(), "reached": proof.reached},
            "fit_record": {name: getattr(fit_record, name) for name in fit_record.__dataclass_fields__},
        }
    )  # fmt: skip
    return 0


def _given(schema: TableSchema | UnsupervisedSchema) -> tuple[str, dict[str, Any]]:
    """Return what the model is for, at the end of a sentence and as plain values."""
    from qed.study._schema import UnsupervisedSchema  # noqa: PLC0415

    if isinstance(schema, UnsupervisedSchema):
        output = schema.output
        values = {"task": output.task, "method": output.method, "labels": list(output.labels),
                  "rate": output.rate, "threshold": output.threshold}  # fmt: skip
        return "", {"output": values}
    target = schema.target
    return f" for {target.name}", {
        "target": {"name": target.name, "task": target.task, "labels": list(target.labels), "unit": target.unit}
    }


def _show_given(schema: TableSchema | UnsupervisedSchema, screen: Screen) -> None:
    """Print what the model is for."""
    from qed.study._schema import UnsupervisedSchema  # noqa: PLC0415

    if isinstance(schema, UnsupervisedSchema):
        output = schema.output
        screen.heading("Output")
        names = f"   {', '.join(sorted(output.labels[:12]))}" if len(output.labels) else ""
        limit = f"   anomalous: score above {output.threshold:.6g}" if output.task == "anomalies" else ""
        screen.say(f"  {output.task}: {output.method}{names}{limit}")
        return
    target = schema.target
    screen.heading("Target")
    labels = f"   classes: {', '.join(target.labels[:12])}" if len(target.labels) else ""
    screen.say(f"  {target.name}: {target.task}, {target.reason}{labels}")
