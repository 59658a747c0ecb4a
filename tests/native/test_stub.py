"""The stub of the kernels against the bindings: both are compared by stubgen, and a difference is noticed."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import native_stub  # noqa: E402

COMPILED = "def f(n: int, X: NDArray, fast: bool = False) -> tuple: ..."


def test_the_stub_is_what_the_bindings_say() -> None:
    assert native_stub.faults(native_stub.STUB.read_text(encoding="utf-8"), native_stub.generated()) == []


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("", "f is compiled and not in the stub"),
        (f"{COMPILED}\ndef g() -> int: ...", "g is in the stub and not compiled"),
        ("def f(m: int, X: Matrix, fast: bool = False) -> Vector: ...", "f takes"),
        ("def f(n: int, X: Matrix) -> Vector: ...", "f takes"),
        ("def f(n: int, X: Matrix, fast: bool = True) -> Vector: ...", "f takes"),
        ("def f(n: bool, X: Matrix, fast: bool = False) -> Vector: ...", "f takes"),
    ],
)
def test_differences_are_noticed(written: str, message: str) -> None:
    (fault,) = native_stub.faults(written, COMPILED)
    assert message in fault


def test_types_of_arrays_are_the_stubs_own() -> None:
    assert native_stub.faults("def f(n: int, X: Matrix, fast: bool = False) -> Vector: ...", COMPILED) == []
