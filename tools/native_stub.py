"""Writes the stub of the compiled kernels: stubgen reads the signatures and docstrings that stand with the bindings.

``native/bindings/stub.pyi.in`` names the types of arrays, which C++ does not know. Every ``def("name", …)`` in ``native/bindings``
says with ``nb::sig`` what it takes and returns, in those types, and what it means. nanobind believes what ``nb::sig`` says, so
that the names and defaults in it are compared with the arguments of the same ``def``. Without ``--write`` differences are printed.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BINDINGS = ROOT / "native" / "bindings"
HEAD = BINDINGS / "stub.pyi.in"
STUB = ROOT / "src" / "qed" / "_native" / "__init__.pyi"
STRINGS = re.compile(r'R"doc\(.*?\)doc"|"(?:[^"\\]|\\.)*"', re.DOTALL)


def compiled() -> str:
    """Return the stub of the module in use as stubgen writes it."""
    from nanobind.stubgen import StubGen  # the build installs it

    from qed import _native

    module = _native.load_level(_native.level)
    for one in vars(
        module
    ).values():  # where a class has been copied, copyreg keeps a list in it, which no binding defines
        if isinstance(one, type) and "__slotnames__" in vars(one):
            del one.__slotnames__
    generator = StubGen(module)
    generator.put(module)
    text: str = generator.get()
    return text


def generated(head: str, stub: str) -> str:
    """Return the whole stub: the names of types, and what is compiled in the order of its names."""
    lines = stub.splitlines()
    parts = [node for node in ast.parse(stub).body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    texts = ["\n".join(lines[node.lineno - 1 : node.end_lineno]) for node in sorted(parts, key=lambda node: node.name)]
    command = [sys.executable, "-m", "ruff", "format", "-q", "--stdin-filename", str(STUB), "-"]
    text = "\n\n".join([head.rstrip(), *texts]).replace("\n    pass", "\n    ...") + "\n"
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True, cwd=ROOT).stdout


def definitions(source: str) -> list[tuple[str, str, list[str]]]:
    """Return name, signature and arguments of each function that a binding defines; an argument with a default ends in =."""
    found = []
    for start in re.finditer(r'\bdef\(\s*"(\w+)"', source):
        body = source[start.start() : _end(source, start.start())]
        sig = re.search(r'nb::sig\(((?:\s*"(?:[^"\\]|\\.)*")+)\s*\)', body)
        pieces = re.findall(r'"((?:[^"\\]|\\.)*)"', sig[1]) if sig else []
        plain = body.replace(sig[0], "") if sig else body
        arguments = [
            name + ("=" if default else "")
            for name, default in re.findall(r'\barg\("(\w+)"\)(?:\.none\(\))?(\s*=)?', plain)
        ]
        found.append((start[1], "".join(pieces).replace('\\"', '"'), arguments))
    return found


def _end(source: str, start: int) -> int:
    """Return where the call that begins at ``start`` ends; brackets in strings do not count."""
    blank = STRINGS.sub(lambda match: "_" * len(match[0]), source)
    depth, at = 0, blank.index("(", start)
    while True:
        depth += (blank[at] == "(") - (blank[at] == ")")
        at += 1
        if not depth:
            return at


def faults(source: str) -> list[str]:
    """Return what the signatures of a file of bindings say otherwise than its arguments."""
    found = []
    for name, signature, arguments in definitions(source):
        if not signature:
            found.append(f'{name} has no signature: add nb::sig("def {name}(…) -> …") and a docstring to its def.')
            continue
        (node,) = (one for one in ast.parse(f"{signature}: ...").body if isinstance(one, ast.FunctionDef))
        stated = [one.arg for one in node.args.args if one.arg != "self"]
        bare = len(stated) - len(node.args.defaults)
        stated = [word + ("=" if place >= bare else "") for place, word in enumerate(stated)]
        if node.name != name or (arguments and stated != arguments) or (stated and not arguments):
            found.append(
                f"{name} takes ({', '.join(arguments)}), and its signature says {node.name}({', '.join(stated)})."
            )
    return found


def main(words: list[str]) -> int:
    """Write the stub, or print how it differs; return 1 when something does."""
    found = [fault for file in sorted(BINDINGS.glob("*.cpp")) for fault in faults(file.read_text(encoding="utf-8"))]
    text = generated(HEAD.read_text(encoding="utf-8"), compiled())
    if "--write" in words:
        STUB.write_text(text, encoding="utf-8")
    elif text != STUB.read_text(encoding="utf-8"):
        found.append("src/qed/_native/__init__.pyi is not what the bindings say: run make native, then make generate.")
    print("\n".join(found) or "The stub of the kernels is what the bindings say.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
