"""Runs every script of the gallery and writes a page for each: words, figure, output, code.

A script is a module with a docstring (its first line is the title) and ``main()``, which prints and returns a figure.
"""

from __future__ import annotations

import ast
import contextlib
import io
import runpy
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

import matplotlib as mpl

HERE = Path(__file__).resolve().parent
OUTPUT = HERE / "_output"


CARD = """:::{{figure}} _output/{stem}.svg
:alt: {title}
:target: _output/{stem}.html

[{title}](_output/{stem}.md)
:::
"""


def described(script: Path) -> tuple[str, str]:
    """Return the title and the words of a script."""
    code = script.read_text(encoding="utf-8")
    title, _, words = (ast.get_docstring(ast.parse(code)) or script.stem).partition("\n")
    return title.rstrip("."), words.strip()


def run(script: Path) -> str:
    """Run one script; save its figure; return its page."""
    code = script.read_text(encoding="utf-8")
    title, words = described(script)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = runpy.run_path(str(script))["main"]()
    figure.savefig(OUTPUT / f"{script.stem}.svg", bbox_inches="tight")
    parts = [f"# {title}", words, f"![{title}]({script.stem}.svg)"]
    if printed.getvalue():
        parts.append(f"```text\n{printed.getvalue().rstrip()}\n```")
    parts.append(f"```python\n{code.rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Run them all."""
    mpl.use("svg")
    mpl.rcParams |= {"svg.hashsalt": "qed", "figure.constrained_layout.use": True, "axes.spines.top": False}
    mpl.rcParams |= {"axes.spines.right": False, "font.size": 11}
    OUTPUT.mkdir(exist_ok=True)
    cards = []
    for script in sorted(HERE.glob("plot_*.py")):
        if "qed.neural_network" in script.read_text(encoding="utf-8") and find_spec("torch") is None:
            sys.stderr.write(f"· gallery: {script.name} is left out, PyTorch is not installed\n")
            continue
        sys.stderr.write(f"· gallery: {script.name}\n")
        (OUTPUT / f"{script.stem}.md").write_text(run(script), encoding="utf-8")
        cards.append(CARD.format(stem=script.stem, title=described(script)[0]))
    # thumbnails, which the index includes
    (OUTPUT / "cards.txt").write_text("::::{container} gallery\n" + "\n".join(cards) + "::::\n", encoding="utf-8")


if __name__ == "__main__":
    main()
