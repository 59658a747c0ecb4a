"""Compares the stub of the compiled kernels with what nanobind's stubgen reads from the compiled module.

``src/qed/_native/__init__.pyi`` says what each kernel means and what its arrays are, which compiled code does not know. Names,
parameters, defaults and types of single numbers are facts of the bindings: stubgen reads them, and both must agree. ``mypy``
then holds every ``_kernels.py`` to the stub. A kernel that is missing is printed as stubgen writes it, to be given its meaning.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

STUB = Path(__file__).resolve().parents[1] / "src" / "qed" / "_native" / "__init__.pyi"
OWN = {"available_levels", "load_level", "when_loaded"}  # of the package itself, in Python
PLAIN = {"int", "bool", "str"}  # types that both write alike


def generated() -> str:
    """Return the stub of the module in use, by stubgen."""
    from nanobind.stubgen import StubGen  # the build installs it

    from qed import _native

    module = _native.load_level(_native.level)
    generator = StubGen(module)
    generator.put(module)
    text: str = generator.get()
    return text


def functions(text: str) -> dict[str, ast.FunctionDef]:
    """Return the functions of a stub, those of classes under their full name."""
    found: dict[str, ast.FunctionDef] = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = node
        elif isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{one.name}": one for one in node.body if isinstance(one, ast.FunctionDef)}
    return found


def faults(ours: str, theirs: str) -> list[str]:
    """Return what the stub says otherwise than the bindings."""
    written, compiled = functions(ours), functions(theirs)
    found = [
        f"{name} is compiled and not in the stub:\n    {ast.unparse(compiled[name])}"
        for name in sorted(compiled.keys() - written.keys())
        if not name.endswith(".__init__")
    ]
    extra = written.keys() - compiled.keys() - OWN
    found += [f"{name} is in the stub and not compiled." for name in sorted(extra) if not name.endswith(".__init__")]
    for name in sorted(written.keys() & compiled.keys()):
        ours_, theirs_ = (_signature(functions_[name]) for functions_ in (written, compiled))
        if not _agree(ours_, theirs_):
            found.append(f"{name} takes {_words(theirs_)} in the bindings, and {_words(ours_)} in the stub.")
    return found


def _signature(node: ast.FunctionDef) -> list[tuple[str, str, str]]:
    """Return name, default and type of each parameter; types only where both stubs write them alike."""
    arguments = [*node.args.posonlyargs, *node.args.args]
    plain = [ast.unparse(one.annotation) if one.annotation else "" for one in arguments]
    defaults = [""] * (len(arguments) - len(node.args.defaults)) + [ast.unparse(one) for one in node.args.defaults]
    return [(one.arg, default, kind) for one, default, kind in zip(arguments, defaults, plain, strict=True)]


def _agree(ours: list[tuple[str, str, str]], theirs: list[tuple[str, str, str]]) -> bool:
    if [(name, default) for name, default, _ in ours] != [(name, default) for name, default, _ in theirs]:
        return False
    pairs = [(mine[2], other[2]) for mine, other in zip(ours, theirs, strict=True)]
    return all(mine == other for mine, other in pairs if other in PLAIN)


def _words(signature: list[tuple[str, str, str]]) -> str:
    parts = [
        f"{name}{f': {kind}' if kind in PLAIN else ''}{f' = {default}' if default else ''}"
        for name, default, kind in signature
    ]
    return f"({', '.join(parts)})"


def main() -> int:
    """Print every difference; return 1 when there is one."""
    found = faults(STUB.read_text(encoding="utf-8"), generated())
    for fault in found:
        print(fault)
    if not found:
        print("The stub of the kernels is what the bindings say.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
