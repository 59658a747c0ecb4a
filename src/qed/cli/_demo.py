"""``qed demo``: real data, a model, a page, and a tampered copy that is refused."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from qed.cli._files import write_whole
from qed.cli._fit import _write, facts, show
from qed.core import CertificateError, InvalidParameter

if TYPE_CHECKING:
    import argparse

    from qed.cli._screen import Screen

__all__ = ["run"]

TARGET = "body_mass_g"
TAMPER = 1.01


def run(options: argparse.Namespace, screen: Screen) -> int:
    """Tell the story."""
    import qed  # noqa: PLC0415
    from qed.report import study_report  # noqa: PLC0415
    from qed.study import fit, load  # noqa: PLC0415

    folder = _folder(options.folder)
    screen.say(f"qed {qed.__version__}: machine learning that shows its proof.", "bold")
    screen.say(
        "344 penguins of Palmer Station, Antarctica. How heavy is one, given its bill, flipper, sex, species and island?"
    )
    data = folder / "penguins.csv"
    write_whole(str(data), _copy_table)
    command = f"qed fit {data} --target {TARGET} --out {folder / 'model.qed'} --report {folder / 'report.html'}"
    screen.say(f"\n$ {command}", "cyan")
    with qed.listen(screen.follow):
        study = fit(str(data), TARGET, budget=options.budget, command=command)
    screen.stop()
    model_file, page = folder / "model.qed", folder / "report.html"
    study.model.save(model_file)
    show(study, screen)
    text = study_report(study, model_file="model.qed", title="How heavy is a penguin?").html()
    write_whole(str(page), lambda path: _write(path, text))

    screen.say(f"\n$ qed verify {model_file} {data}", "cyan")
    load(model_file).verify(data)
    screen.say("✓ accepted", "bold green")
    tampered = folder / "tampered.qed"
    screen.say(f"\nNow somebody changes one coefficient by 1 %, and saves the model as {tampered}.")
    changed = load(model_file)
    coefficients = changed.pipeline.steps_[-1][1].coef_
    coefficients[np.argmax(np.abs(coefficients))] *= TAMPER
    changed.save(tampered)
    screen.say(f"$ qed verify {tampered} {data}", "cyan")
    refused = ""
    try:
        load(tampered).verify(data)
    except CertificateError as error:
        refused = str(error)
        screen.say("✗ refused", "bold red")
        screen.say(f"  {error}")
    screen.heading("A page to show")
    screen.say(f"  {page.resolve()}")
    screen.say("  One file, no network needed. Open it in a browser.", "dim")
    screen.say("\nYour turn: qed fit your-table.csv --target your-column")
    screen.answer({**facts(study), "model": str(model_file), "report": str(page), "tampered_refused": bool(refused)})
    return 0 if refused else 1


def _copy_table(path: Path) -> None:
    path.write_bytes(files("qed.datasets").joinpath("_tables/penguins.csv").read_bytes())


def _folder(name: str) -> Path:
    folder = Path(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidParameter(f"{name}: {error.strerror or error}. Name a folder that can be written to.") from error
    return folder
