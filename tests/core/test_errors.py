"""The tree of errors, with scikit-learn loaded and without."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings

import pytest
import sklearn.exceptions
from sklearn.utils._param_validation import InvalidParameterError

from qed.core import _errors
from qed.core._errors import (
    DataConversionWarning,
    InvalidData,
    InvalidParameter,
    NotFitted,
    QedError,
    UndefinedMetricWarning,
)


def test_tree() -> None:
    made = {name: kind for name, kind in vars(_errors).items() if getattr(kind, "__module__", "") == _errors.__name__}
    public = {name: kind for name, kind in made.items() if isinstance(kind, type) and not name.startswith("_")}
    kinds = [kind for kind in public.values() if not issubclass(kind, Warning)]
    assert all(issubclass(kind, QedError) for kind in kinds)
    expected = {
        "InvalidParameter": (ValueError, TypeError),
        "InvalidData": (ValueError,),
        "InvalidDataType": (ValueError, TypeError),
        "NotFitted": (ValueError, AttributeError),
        "ModelFileError": (ValueError,),
        "MemoryLimit": (MemoryError,),
        "ForgetError": (ValueError,),
        "NotSupported": (NotImplementedError,),
    }
    for name, builtin in expected.items():
        assert issubclass(getattr(_errors, name), builtin), name
    assert _errors.__doc__ is not None
    assert len(public) >= len(expected)
    for name in public:
        assert name in _errors.__doc__, f"{name} is not drawn in the tree"


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (NotFitted, sklearn.exceptions.NotFittedError),
        (InvalidParameter, InvalidParameterError),
        (DataConversionWarning, sklearn.exceptions.DataConversionWarning),
        (UndefinedMetricWarning, sklearn.exceptions.UndefinedMetricWarning),
    ],
)
def test_twins_are_caught_under_both_names(ours: type[Exception], theirs: type[Exception]) -> None:
    made = ours("words")
    assert isinstance(made, ours)
    assert isinstance(made, theirs)
    assert type(made).__name__ == ours.__name__
    assert type(made) is type(ours("other")), "one class, made once"
    again = pickle.loads(pickle.dumps(made))
    assert type(again) is type(made)
    assert str(again) == "words"


def test_others_stay_themselves() -> None:
    assert type(InvalidData("x")) is InvalidData


class Interrupted(InvalidData):
    def __init__(self, message: str, *, sofar: int = 0) -> None:
        super().__init__(message)
        self.sofar = sofar


def test_an_error_may_carry_more() -> None:
    again = pickle.loads(pickle.dumps(Interrupted("words", sofar=3)))
    assert str(again) == "words"
    assert again.sofar == 3


def test_warning_can_be_filtered_by_either_class() -> None:
    for category in (DataConversionWarning, sklearn.exceptions.DataConversionWarning):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", category)
            warnings.warn(DataConversionWarning("words"), stacklevel=1)


def test_without_scikit_learn_they_are_plain_and_pickles_cross_over() -> None:
    frozen = pickle.dumps(NotFitted("words"))
    code = (
        "import pickle, sys; from qed.core import NotFitted;"
        f"error = pickle.loads({frozen!r}); assert type(error) is NotFitted, type(error);"
        "assert type(NotFitted('x')) is NotFitted; assert 'sklearn' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603


def test_half_loaded_scikit_learn_is_not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.exceptions", None)
    assert type(NotFitted("x")) is NotFitted
