"""The stub of the kernels is what stubgen reads from the bindings, and the bindings agree with themselves."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import native_stub  # noqa: E402

DEFINED = (
    'm.def("f", [](int n) { return g("a", n); }, arg("n"), arg("s").none(), arg("fast") = false, {}R"doc(A (b)doc");'
)


def test_the_stub_is_what_the_bindings_say() -> None:
    head = native_stub.HEAD.read_text(encoding="utf-8")
    assert native_stub.generated(head, native_stub.compiled()) == native_stub.STUB.read_text(encoding="utf-8")


def test_every_binding_agrees_with_itself_and_says_what_it_means() -> None:
    sources = [file.read_text(encoding="utf-8") for file in native_stub.BINDINGS.glob("*.cpp")]
    assert [fault for source in sources for fault in native_stub.faults(source)] == []
    found = [name for source in sources for name, _, _ in native_stub.definitions(source)]
    stub = ast.parse(native_stub.STUB.read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(stub) if isinstance(node, ast.FunctionDef)]
    own = {"available_levels", "load_level", "when_loaded", "__init__"}
    assert sorted(found) == sorted(node.name for node in functions if node.name not in own)
    assert all(ast.get_docstring(node) for node in functions if node.name not in {*own, "__init__"})


@pytest.mark.parametrize(
    ("signature", "message"),
    [
        ("", "f has no signature"),
        ('nb::sig("def f(n: int, s: Vector | None, fast: bool = False) -> Vector"), ', None),
        ('nb::sig("def f(n: int, s: Vector | None, "\n "fast: bool = False) -> Vector"), ', None),
        ('nb::sig("def f(n: int, fast: bool = False) -> Vector"), ', "its signature says"),
        ('nb::sig("def f(s: int, n: Vector | None, fast: bool = False) -> Vector"), ', "its signature says"),
        ('nb::sig("def f(n: int, s: Vector | None, fast: bool) -> Vector"), ', "its signature says"),
        ('nb::sig("def g(n: int, s: Vector | None, fast: bool = False) -> Vector"), ', "its signature says"),
    ],
)
def test_differences_are_noticed(signature: str, message: str | None) -> None:
    found = native_stub.faults(DEFINED.replace("{}R", signature + "R"))
    assert [message in fault for fault in found] == ([] if message is None else [True])
