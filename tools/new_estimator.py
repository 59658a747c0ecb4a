"""Writes the skeleton of an estimator: a regressor that predicts the mean, with everything that an estimator needs.

``make new NAME=ToyRegressor FAMILY=linear_model`` writes

* ``src/qed/<family>/_toy_regressor.py``, and the line of ``__init__.pyi`` that exports it;
* ``src/qed/verify/_toy_regressor.py``, its check and its answers, and its entry in ``verify/_families/_<family>.py``;
* ``tests/<family>/test_toy_regressor.py``;
* a section on the family's page of ``docs/guide``;
* ``benchmarks/problems/toy_regressor.py``, a benchmark row;

and then what is generated (``tools/generate.py``): pages of the reference, the table of certificates and a golden file. All
tests pass as it stands. A family that does not exist yet must be among the layers of ``pyproject.toml``, in parentheses; its
package and page are written too.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path
from string import Template

ROOT = Path(__file__).resolve().parents[1]
SKELETON = Path(__file__).with_name("skeleton")


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
    subprocess.run([sys.executable, "tools/generate.py"], cwd=ROOT, check=True)
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
    """Add the import of the check and the entry of the class to the checker's table of the family, each in its place."""
    table = ROOT / "src" / "qed" / "verify" / "_families" / f"_{family}.py"
    if not table.exists():
        table.write_text(filled("entries.py.txt", {"title": family.replace("_", " ").capitalize()}), encoding="utf-8")
    lines = table.read_text(encoding="utf-8").splitlines(keepends=True)
    begin = next(i for i, line in enumerate(lines) if line.startswith("ENTRIES"))
    names = {i: found[1] for i, line in enumerate(lines) if i > begin and (found := re.match(r' {4}"(\w+)": ', line))}
    end = next(i for i in range(begin, len(lines)) if lines[i].startswith("}"))
    place = next((i for i, other in names.items() if other > name), end)
    lines.insert(place, f'    "{name}": by(ExactCertificate, _{snake}.check, defined(predict=_{snake}.predicted)),\n')
    wanted = (
        f"from qed.verify import _{snake}\n",
        "from qed.certificates import ExactCertificate\n",
        "from qed.verify._answers._compare import defined\n",
        "from qed.verify._families._entry import by\n",
    )
    first = next(i for i, line in enumerate(lines) if line.startswith("from __future__")) + 1
    lines[first:first] = ["\n", *wanted]
    table.write_text("".join(lines), encoding="utf-8")
    tidy = ("check", "-q", "--fix", "--select", "I,F811"), ("format", "-q")
    for words in tidy:
        subprocess.run([sys.executable, "-m", "ruff", *words, table], cwd=ROOT, check=True)


if __name__ == "__main__":
    sys.exit(main())
