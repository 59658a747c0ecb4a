"""Checks that everything public is documented, and everything documented public.

Seven rules:

1. every name in the `__all__` of `qed` and of a public package stands in docs/reference/<package>.md, and the other
way round;
2. every name in an `__all__` exists;
3. every public estimator's docstring has the sections Objective, Certificate and Cost;
4. every public estimator is treated on a page of docs/guide;
5. every public value that is no class and no function has a comment ``#: …`` before its definition: its class's
docstring says nothing about it;
6. src/qed/core/record_names.txt, by which model files find records, lists every record of the sources;
7. docs/index.md lists every page of docs/guide.

``python tools/api_check.py --write`` writes the pages of docs/reference and the list of records anew, and puts pages of the guide
that are listed nowhere behind those of supervised learning; move them if they belong elsewhere.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "docs" / "reference"
SOURCES = ROOT / "src"
RECORDS = SOURCES / "qed" / "core" / "record_names.txt"
INDEX = ROOT / "docs" / "index.md"
SECTIONS = ("Objective", "Certificate", "Cost")


def public_packages() -> list[ModuleType]:
    """`qed` itself, then its public packages: those whose `__init__` has an `__all__`."""
    import qed

    names = [info.name for info in pkgutil.iter_modules(qed.__path__) if not info.name.startswith("_")]
    packages = [importlib.import_module(f"qed.{name}") for name in sorted(names)]
    return [qed, *packages]


def documented(page: Path) -> set[str]:
    """Names listed in the autosummary blocks of a reference page."""
    names: set[str] = set()
    inside = False
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith(".. autosummary::"):
            inside = True
        elif line and not line.startswith(" "):
            inside = False
        elif inside and (found := re.fullmatch(r"\s+(\w+)\s*", line)):
            names.add(found[1])
    return names


def reference_faults(package: ModuleType) -> list[str]:
    """Faults of one package against its page."""
    name = package.__name__
    if not hasattr(package, "__all__"):
        return [f"{name} has no __all__. Add one, or give the package a leading underscore."]
    page = REFERENCE / f"{name.removeprefix('qed.')}.md"
    public = names_of(package)
    faults = [
        f"{name}.__all__ names {missing!r}, which does not exist."
        for missing in sorted(public)
        if not _has(package, missing)
    ]
    if not page.exists():
        return [*faults, f"{name} is public and has no page. Write {page.relative_to(ROOT)}."]
    listed = documented(page)
    faults += [
        f"{name}.{missing} is public and not on {page.relative_to(ROOT)}." for missing in sorted(public - listed)
    ]
    faults += [
        f"{page.relative_to(ROOT)} lists {extra!r}, which is not in {name}.__all__."
        for extra in sorted(listed - public)
    ]
    return faults


def _has(package: ModuleType, name: str) -> bool:
    try:
        getattr(package, name)
    except AttributeError:
        return False
    return True


def write_pages() -> None:
    """Write a reference page for every public package, from its `__all__` and the first sentence of its docstring."""
    packages = public_packages()
    for package in packages:
        name = package.__name__
        first = (package.__doc__ or "").strip().splitlines()[0]
        names = "\n".join(f"   {public}" for public in sorted(names_of(package), key=lambda one: (one.casefold(), one)))
        page = f"# {name}\n\n{first}\n\n```{{eval-rst}}\n.. currentmodule:: {name}\n"
        page += ".. autosummary::\n   :toctree: generated/\n"
        (REFERENCE / f"{name.removeprefix('qed.')}.md").write_text(f"{page}\n{names}\n```\n", encoding="utf-8")
    order = "\n".join([*(package.__name__.removeprefix("qed.") for package in packages), "certificate_table"])
    index = "# Reference\n\nEvery public name, package by package.\n\n"
    index += f"```{{toctree}}\n:maxdepth: 1\n\n{order}\n```\n"
    (REFERENCE / "index.md").write_text(index, encoding="utf-8")


def names_of(package: ModuleType) -> set[str]:
    """Public names that stand on a package's page: a name that `qed` itself exports stands on its page alone."""
    import qed

    above = set() if package is qed else set(qed.__all__)
    return {name for name in package.__all__ if not name.startswith("_") and name not in above}


def value_comment(package: ModuleType, name: str) -> list[str] | None:
    """Return the lines ``#: …`` before the definition of a public value; None for a class or a function."""
    value = getattr(package, name)
    if inspect.isclass(value) or inspect.isroutine(value):
        return None
    defined = re.compile(rf"((?:^ *#: .*\n)+) *(?:{name}\b[^=\n]*=|from .* import (?:.* as )?{name}$)", re.MULTILINE)
    folder = SOURCES / "qed" if package.__name__ == "qed" else Path(package.__file__ or "").parent
    for file in sorted(folder.glob("**/*.py")):
        if found := defined.search(file.read_text(encoding="utf-8")):
            return [line.strip().removeprefix("#: ") for line in found[1].splitlines()]
    return []


def value_faults(package: ModuleType) -> list[str]:
    """Public values of a package without a comment of their own."""
    public = [name for name in sorted(names_of(package)) if _has(package, name)]
    return [
        f"{package.__name__}.{name} is a value without a comment. Write '#: what it is' before its definition."
        for name in public
        if value_comment(package, name) == []
    ]


def estimator_faults() -> list[str]:
    """Faults of estimators: a missing section, or no page in the guide."""
    import qed

    guide = "\n".join(page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs" / "guide").rglob("*.md")))
    faults = []
    for name, estimator in qed.all_estimators():
        text = estimator.__doc__ or ""
        for section in SECTIONS:
            if not re.search(rf"^\s*{section}\n\s*-{{{len(section)}}}\s*$", text, flags=re.MULTILINE):
                faults.append(f"{estimator.__module__}.{name}: the docstring has no section {section!r}.")
        if not re.search(rf"\b{name}\b", guide):
            faults.append(f"{name} is on no page of docs/guide.")
    return faults


def listed_records() -> str:
    """Return the name of each record, as it stands in its decorator, and its module."""
    found = {}
    for file in sorted(SOURCES.glob("qed/**/*.py")):
        text = file.read_text(encoding="utf-8")
        for cls in ast.parse(text).body if "@record(" in text else ():
            for mark in cls.decorator_list if isinstance(cls, ast.ClassDef) else ():
                if isinstance(mark, ast.Call) and isinstance(mark.func, ast.Name) and mark.func.id == "record":
                    found[ast.literal_eval(mark.args[0])] = ".".join(file.relative_to(SOURCES).with_suffix("").parts)
    return "".join(f"{name} {module}\n" for name, module in sorted(found.items()))


def unlisted_pages() -> list[str]:
    """Return the pages of docs/guide that docs/index.md does not list."""
    listed = set(INDEX.read_text(encoding="utf-8").splitlines())
    pages = [f"guide/{page.stem}" for page in sorted((ROOT / "docs" / "guide").glob("*.md"))]
    return [page for page in pages if page not in listed]


def list_pages() -> None:
    """Add pages of the guide that docs/index.md does not list to the section of supervised learning."""
    text = INDEX.read_text(encoding="utf-8")
    at = text.index("```\n", text.index(":caption: Supervised learning"))
    INDEX.write_text(text[:at] + "".join(f"{page}\n" for page in unlisted_pages()) + text[at:], encoding="utf-8")


def main() -> int:
    """Print every fault; return 1 when there is one."""
    if sys.argv[1:] == ["--write"]:
        RECORDS.write_text(listed_records(), encoding="utf-8")
        write_pages()
        list_pages()
    packages = public_packages()
    faults = [fault for package in packages for fault in reference_faults(package) + value_faults(package)]
    faults += estimator_faults()
    known = {f"{package.__name__.removeprefix('qed.')}.md" for package in packages} | {
        "index.md",
        "certificate_table.md",
        "what_exists.md",  # written when the site is built
    }
    faults += [
        f"docs/reference/{page.name} documents no package."
        for page in sorted(REFERENCE.glob("*.md"))
        if page.name not in known
    ]
    if RECORDS.read_text(encoding="utf-8") != listed_records():
        faults.append(f"{RECORDS.name} is not what the sources say. Run: python tools/api_check.py --write")
    faults += [f"docs/index.md does not list {page}." for page in unlisted_pages()]
    for fault in faults:
        print(fault)
    names = sum(len(names_of(package)) for package in packages)
    if not faults:
        print(f"{names} public names in {len(packages)} packages, all documented.")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
