"""Writes the skeleton of an estimator: a regressor that predicts the mean, with everything that an estimator needs.

``make new NAME=ToyRegressor FAMILY=linear_model`` writes

* ``src/qed/<family>/_toy_regressor.py``, and the line of ``__init__.pyi`` that exports it;
* ``src/qed/verify/_toy_regressor.py``, its check and its answers, and their lines in the tables of ``verify/_registry.py`` and
  ``verify/_answers/_table.py``;
* ``tests/<family>/test_toy_regressor.py``;
* a section on the family's page of ``docs/guide``;
* ``benchmarks/problems/toy_regressor.py``, a benchmark row;

and then what is generated: pages of the reference, the table of certificates and a golden file. All tests pass as it stands. A
family that does not exist yet must be among the layers of ``pyproject.toml``, in parentheses; its package and page are written too.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from bisect import bisect
from pathlib import Path
from string import Template

ROOT = Path(__file__).resolve().parents[1]
SKELETON = Path(__file__).with_name("skeleton")
GENERATORS = (
    ("tools/api_check.py", "--write"),
    ("tools/certificate_table.py", "--write"),
    ("tests/golden/create.py", "missing"),
)


def main() -> int:
    """Write the files, or say what stands in the way."""
    parser = argparse.ArgumentParser(description="Write the skeleton of an estimator.")
    parser.add_argument("name", help="the class, as ToyRegressor")
    parser.add_argument("family", help="the package, as linear_model")
    options = parser.parse_args()
    name, family = options.name, options.family
    if not re.fullmatch(r"([A-Z]+[a-z0-9]*)+", name) or not re.fullmatch(r"[a-z]+(_[a-z]+)*", family):
        parser.error(
            f"NAME is a class as ToyRegressor and FAMILY a package as linear_model, got {name!r} and {family!r}."
        )
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
    words = {"Name": name, "family": family, "snake": snake, "kebab": snake.replace("_", "-")}
    files = {
        ROOT / "src" / "qed" / family / f"_{snake}.py": "estimator.py.txt",
        ROOT / "src" / "qed" / "verify" / f"_{snake}.py": "check.py.txt",
        ROOT / "tests" / family / f"test_{snake}.py": "test.py.txt",
        ROOT / "benchmarks" / "problems" / f"{snake}.py": "benchmark.py.txt",
    }
    taken = [str(file.relative_to(ROOT)) for file in files if file.exists()]
    if taken:
        parser.error(f"{', '.join(taken)} exists already. Choose another name.")
    if not (ROOT / "src" / "qed" / family).exists():
        begin_family(family)
    page = guide_page(family)
    for file, template in files.items():
        file.parent.mkdir(exist_ok=True)
        file.write_text(filled(template, words), encoding="utf-8")
    export(family, snake, name)
    register(family, snake, name)
    page.write_text(page.read_text(encoding="utf-8") + filled("guide.md.txt", words), encoding="utf-8")
    subprocess.run([sys.executable, "-m", "ruff", "format", "-q", *files], cwd=ROOT, check=True)
    for script, argument in GENERATORS:
        subprocess.run([sys.executable, script, argument], cwd=ROOT, check=True)
    print(
        f"{name} is written. Its method is a placeholder: replace it, its check and its words, beginning with",
        *files,
        sep="\n  ",
    )
    return 0


def filled(template: str, words: dict[str, str]) -> str:
    """Return the text of a template with the names of this estimator."""
    return Template((SKELETON / template).read_text(encoding="utf-8")).substitute(words)


def begin_family(family: str) -> None:
    """Write an empty package and its page, and give it its layer."""
    project = ROOT / "pyproject.toml"
    text = project.read_text(encoding="utf-8")
    if f"({family})" not in text:
        raise SystemExit(f"Give {family} a place among the layers of pyproject.toml first, in parentheses: ({family}).")
    project.write_text(text.replace(f"({family})", family), encoding="utf-8")
    package = ROOT / "src" / "qed" / family
    package.mkdir()
    title = family.replace("_", " ").capitalize()
    (package / "__init__.pyi").write_text("", encoding="utf-8")
    (package / "__init__.py").write_text(
        f'"""{title}."""\n\nfrom __future__ import annotations\n\nfrom qed.core._exports import exports\n\n'
        "__getattr__, __dir__, __all__ = exports(__name__, __file__)\n",
        encoding="utf-8",
    )
    (ROOT / "docs" / "guide" / f"{family}.md").write_text(f"# {title}\n", encoding="utf-8")
    index = ROOT / "docs" / "index.md"
    pages = index.read_text(encoding="utf-8")
    index.write_text(pages.replace("guide/notation\n", f"guide/{family}\nguide/notation\n"), encoding="utf-8")


def guide_page(family: str) -> Path:
    """Return the page of the guide that treats most of a family's names, or the page called like it."""
    own = ROOT / "docs" / "guide" / f"{family}.md"
    if own.exists():
        return own
    names = re.findall(r" as ([A-Z]\w+)", (ROOT / "src" / "qed" / family / "__init__.pyi").read_text(encoding="utf-8"))
    pages = sorted((ROOT / "docs" / "guide").glob("*.md"))
    return max(pages, key=lambda page: sum(page.read_text(encoding="utf-8").count(name) for name in names))


def export(family: str, snake: str, name: str) -> None:
    """Add the line that makes the name public."""
    stub = ROOT / "src" / "qed" / family / "__init__.pyi"
    lines = [*stub.read_text(encoding="utf-8").splitlines(), f"from qed.{family}._{snake} import {name} as {name}"]
    stub.write_text("\n".join(sorted(lines)) + "\n", encoding="utf-8")


def register(family: str, snake: str, name: str) -> None:
    """Add the import of the check and the line of the class to the tables of the checker, each in its place."""
    table = ROOT / "src" / "qed" / "verify" / "_registry.py"
    lines = with_entry(table, "TABLE", f"qed.{family}.{name}", f"_by(ExactCertificate, _{snake}.check)")
    begin = next(i for i, line in enumerate(lines) if line.startswith("from qed.verify import ("))
    end = next(i for i in range(begin, len(lines)) if lines[i].startswith(")"))
    lines[begin + 1 : end] = sorted([*lines[begin + 1 : end], f"    _{snake},\n"])
    table.write_text("".join(lines), encoding="utf-8")
    answers = ROOT / "src" / "qed" / "verify" / "_answers" / "_table.py"
    lines = with_entry(answers, "RULES", f"qed.{family}.{name}", f"_defined(predict=_{snake}.predicted)")
    begin = next(i for i, line in enumerate(lines) if line.startswith("from qed.verify._answers import ("))
    lines.insert(begin, f"from qed.verify import _{snake}\n")
    answers.write_text("".join(lines), encoding="utf-8")


def with_entry(table: Path, first: str, key: str, value: str) -> list[str]:
    """Return the lines of a module with one more entry in the dictionary that begins with a name, in its place."""
    lines = table.read_text(encoding="utf-8").splitlines(keepends=True)
    entries = {i: found[1] for i, line in enumerate(lines) if (found := re.match(r' {4}"(qed\.\w+\.\w+)": ', line))}
    table_begins = next(i for i, line in enumerate(lines) if line.startswith(first))
    rows = [(place, key) for place, key in entries.items() if place > table_begins]
    rows = rows[
        : next((i for i in range(1, len(rows)) if rows[i][1] < rows[i - 1][1]), len(rows))
    ]  # of this table alone
    at = bisect([one for _, one in rows], key)
    place = rows[at][0] if at < len(rows) else rows[-1][0] + 1
    lines.insert(place, f'    "{key}": {value},\n')
    return lines


if __name__ == "__main__":
    sys.exit(main())
