"""``qed demo``: real data, a model, a page, and a tampered copy that is rejected."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.cli._files import write_whole
from qed.cli._fit import facts, show
from qed.cli._table_words import write_text
from qed.core import CertificateError, InvalidParameter

if TYPE_CHECKING:
    import argparse

    from qed.cli._screen import Screen


TAMPER = 1.01
OTHERS = ("diabetes", "weather")  # lines fit the first, trees the second
TREES = ("boosting", "forest", "trees")
# What can be shown: the target, what the rows are, and the heading of the page.
DEMOS = {
    "penguins": (
        "body_mass_g",
        "344 penguins of Palmer Station, Antarctica. How heavy is one, given its bill, flipper, sex, species and island?",
        "How heavy is a penguin?",
    ),
    "weather": ("weather", "Four years of days in Seattle. What kind of day was it, given date, rain, temperatures and wind?",
                "What kind of day is it?"),
    "iris": ("species", "150 iris flowers. Which of three species is it, given its sepals and petals?", "Which iris is it?"),
    "wine": ("cultivar", "178 wines. Which of three cultivars is it, given its chemistry?", "Which wine is it?"),
    "breast_cancer": ("diagnosis", "569 tumours. Benign or malignant, given measures of cell nuclei?", "Is it malignant?"),
    "diabetes": ("progression", "442 patients. How far does the disease go in a year, given ten measures?",
                 "How far does it go?"),
}  # fmt: skip


def arguments(made: argparse.ArgumentParser) -> None:
    """Declare the words of the command."""
    made.add_argument("folder", nargs="?", default="demo", metavar="FOLDER", help="where to write (demo)")
    made.add_argument(
        "--data", default="penguins", choices=("penguins", "weather", "iris", "wine", "breast_cancer", "diabetes"),
        help="which of the bundled tables (penguins)",
    )  # fmt: skip
    made.add_argument("--budget", default="20s", metavar="TIME", help="time to spend on the fit (20s)")


def run(options: argparse.Namespace, screen: Screen) -> int:
    """Run the demonstration."""
    import qed  # noqa: PLC0415
    from qed.report import study_report  # noqa: PLC0415
    from qed.study import fit, load  # noqa: PLC0415

    folder = _folder(options.folder)
    screen.say(f"qed {qed.__version__}: machine learning that shows its proof.", "bold")
    target, words, title = DEMOS[options.data]
    screen.say(words)
    data = folder / f"{options.data}.csv"
    write_whole(str(data), lambda path: _copy_table(options.data, path), replace=True)
    command = f"qed fit {data} --target {target} --out {folder / 'model.qed'} --report {folder / 'report.html'}"
    screen.say(f"\n$ {command}", "cyan")
    with qed.listen(screen.follow):
        study = fit(str(data), target, budget=options.budget, command=command)
    screen.stop()
    model_file, page = folder / "model.qed", folder / "report.html"
    study.model.save(model_file)
    show(study, screen)
    text = study_report(study, model_file="model.qed", title=title).html()
    write_whole(str(page), lambda path: write_text(path, text), replace=True)

    screen.say(f"\n$ qed verify {model_file} {data}", "cyan")
    load(model_file).verify(data)
    screen.say("✓ accepted", "bold green")
    tampered = folder / "tampered.qed"
    changed = load(model_file)
    what = _tamper(changed.pipeline.steps_[-1][1])
    screen.say(f"\nNow somebody changes one {what} by 1 %, and saves the model as {tampered}.")
    changed.save(tampered)
    screen.say(f"$ qed verify {tampered} {data}", "cyan")
    refused = ""
    try:
        load(tampered).verify(data)
    except CertificateError as error:
        refused = str(error)
        screen.say("✗ rejected", "bold red")
        screen.say(f"  {error}")
    _show_others(options, screen, folder)
    screen.heading("A page to show")
    screen.say(f"  {page.resolve()}")
    screen.say("  One file, no network needed. Open it in a browser.", "dim")
    screen.say("\nYour turn: qed fit your-table.csv --target your-column")
    screen.answer({**facts(study), "model": str(model_file), "report": str(page), "tampered_refused": bool(refused)})
    return 0 if refused else 1


def _show_others(options: argparse.Namespace, screen: Screen, folder: Path) -> None:
    """Fit two more tables: one that a linear model suits, one that trees suit."""
    from qed.study import fit  # noqa: PLC0415

    screen.heading("Which kind of model wins depends on the table")
    for name in (one for one in OTHERS if one != options.data):
        data = folder / f"{name}.csv"
        write_whole(str(data), partial(_copy_table, name), replace=True)
        entries = fit(str(data), DEMOS[name][0], budget=options.budget).comparison.latest
        single = [one for one in entries if "average" not in one.title]
        trees = [one for one in single if any(word in one.title for word in TREES)]
        lines = [one for one in single if one not in trees]
        best = [found[0] for found in (trees, lines) if found]
        for one in sorted(best, key=lambda entry: entry.loss):
            title = one.title if len(one.title) <= 60 else f"{one.title[:59]}…"
            screen.say(f"  {name:10s} {title:60s} loss {one.loss:.4g}")


def _tamper(model: Any) -> str:
    """Change the largest coefficient of a linear model or threshold of trees, or of its first part, and say which."""
    while not (hasattr(model, "coef_") or hasattr(model, "trees_")):
        model = model.estimators_[0] if hasattr(model, "estimators_") else model.steps_[-1][1]
    what, numbers = ("coefficient", model.coef_) if hasattr(model, "coef_") else ("threshold", model.trees_.threshold)
    flat = numbers.reshape(-1)  # the same numbers, one after the other
    flat[np.argmax(np.where(np.isfinite(flat), np.abs(flat), 0.0))] *= TAMPER
    return what


def _copy_table(name: str, path: Path) -> None:
    """Write a bundled table as it stands in the package."""
    from qed.datasets._bundled import table_bytes  # noqa: PLC0415

    path.write_bytes(table_bytes(name))


def _folder(name: str) -> Path:
    folder = Path(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidParameter(f"{name}: {error.strerror or error}. Name a folder that can be written to.") from error
    return folder
