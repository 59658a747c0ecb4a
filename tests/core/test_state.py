"""Fitted attributes are what their declarations say, and `check_state` finds every one that is not."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest
from instances import every_model, fit_arguments, skip_if_it_lacks

from qed.compose import make_pipeline
from qed.core import Array, ModelFileError, Regressor, fitted, param
from qed.core._persistence import dumps, loads
from qed.core._state import check_state
from qed.linear_model import LogisticRegression, Ridge
from qed.preprocessing import StandardScaler


class Shapes(Regressor):
    """One attribute of every form."""

    degree: int = param(2, "A parameter that sizes speak of.")

    classes_: Array = fitted("Labels.", dtype="label", shape="(k,)", order="strictly rising", length="at least 2")
    coef_: Array = fitted("Coefficients.", shape="(k or 1, p)")
    path_: Array = fitted("Either form.", shape="(n,) or (n, degree)", finite=False)
    ends_: Array = fitted("Between rows.", dtype="int", shape="(n + 1,)", low=0, high="degree", order="rising")
    codes_: Array = fitted("Of labels.", dtype="int64 or int32", shape="(*,)", low=0, below="k")
    sizes_: Array = fitted("Of tables.", dtype="int", shape="(p,)", above=0)
    tables_: list[Array] = fitted("One for each column.", length="p", shape="(k, sizes_[j])", nan=True)
    order_: dict[str, int] = fitted("Words.", permutation=True)
    kind_: str = fitted("A word.", one_of=("a", "b"))
    signs_: Array = fitted("Signs.", dtype="int8", one_of=(-1, 0, 1))
    scale_: float | None = fitted("A number.", above=0)
    extra_: Any = fitted(
        "Another.", optional=True, check=lambda model, value: "" if value == model.degree else "is not the degree"
    )


def honest() -> Shapes:
    model = Shapes()
    vars(model).update(
        n_features_in_=3,
        classes_=np.array(["no", "yes"]),
        coef_=np.ones((1, 3)),
        path_=np.ones((5, 2)),
        ends_=np.array([0, 0, 1, 1, 2, 2]),
        codes_=np.array([0, 1]),
        sizes_=np.array([1, 2, 3]),
        tables_=[np.ones((2, 1)), np.full((2, 2), np.nan), np.ones((2, 3))],
        order_={"b": 1, "a": 0},
        kind_="a",
        signs_=np.array([1, 0, -1], np.int8),
        scale_=None,
    )
    return model


def test_what_is_declared_is_accepted() -> None:
    check_state(honest())
    check_state(Shapes())
    model = honest()
    model.path_, model.scale_, model.extra_ = np.full(5, np.inf), np.float64(2.0), 2
    model.classes_, model.coef_ = np.array([1, 2, 3]), np.ones((3, 3))
    model.tables_ = [np.ones((3, size)) for size in model.sizes_]
    check_state(model)


WRONG: list[tuple[str, Any, str]] = [
    ("classes_", np.array(["yes", "no"]), "should be strictly rising"),
    ("classes_", np.array([["no", "yes"]]), r"should have shape \(k,\)|entries"),
    ("classes_", np.array(["no"]), "should have at least 2 entries, and has 1"),
    ("classes_", np.array([b"no", b"yes"]), "should hold values of type label, and holds"),
    ("classes_", np.array([{}, {}], object), "should hold values of type label"),
    ("coef_", np.ones((2, 3)), r"should have shape \(k or 1, p\) = \(1, 3\), and has \(2, 3\)"),
    ("coef_", np.ones((1, 3), np.float32), "should hold values of type float64, and holds float32"),
    ("coef_", np.array([[1.0, np.inf, 0.0]]), "holds infinity"),
    ("coef_", [[1.0, 2.0, 3.0]], "should be Array, and is a value of type list"),
    ("path_", np.ones((5, 3)), "should have shape"),
    ("path_", np.array([np.nan] * 5), "holds NaN"),
    ("ends_", np.arange(5) // 3, r"should have shape \(n \+ 1,\) = \(6\)"),
    ("ends_", np.array([0, 0, 1, 1, 2, 3]), "should be at most degree, and holds 3"),
    ("ends_", np.array([0, 1, 0, 1, 2, 2]), "should be rising"),
    ("codes_", np.array([0, 2]), "should be below k, and holds 2"),
    ("codes_", np.array([0, -1]), "should be at least 0, and holds -1"),
    ("codes_", np.array([0, 1], np.uint8), "int64 or int32, and holds uint8"),
    ("sizes_", np.array([1, 2, 0]), "should be above 0"),
    (
        "tables_",
        [np.ones((2, 1)), np.ones((2, 2)), np.ones((2, 4))],
        r"should have shape \(k, sizes_\[j\]\) = \(2, 3\)",
    ),
    ("tables_", [np.ones((2, 1)), np.ones((2, 2))], "should have p entries, and has 2"),
    ("tables_", [np.ones((2, 1)), "x", np.ones((2, 3))], r"should be list\[Array\]"),
    ("order_", {"a": 0, "b": 2}, "should hold each of 0 to 1 once"),
    ("order_", {"a": 0, "b": 0}, "should hold each of 0 to 1 once"),
    ("order_", {"a": 0, 1: 1}, r"should be dict\[str, int\]"),
    ("order_", {"a": 0, "b": True}, r"should be dict\[str, int\]"),
    ("kind_", "c", "should be one of 'a', 'b', and is 'c'"),
    ("kind_", None, "should be str, and is None"),
    ("signs_", np.array([2], np.int8), "should hold only -1, 0, 1"),
    ("scale_", 0.0, "should be above 0"),
    ("scale_", True, r"should be float \| None, and is True"),
    ("scale_", 10**400, "should be float"),
    ("extra_", 3, "extra_ is not the degree"),
    ("extra_", np.zeros(2), "makes no sense|extra_"),
    ("n_features_in_", 10**30, "should be a positive integer"),
    ("n_features_in_", 2, "should"),
    ("unheard_of_", 1, "is held, and Shapes declares no such attribute"),
    ("_output", "numpy", "_output is 'numpy'"),
    ("held_out_", 3, "held_out_ should be a record"),
]


@pytest.mark.parametrize(("name", "value", "message"), WRONG, ids=lambda one: one if isinstance(one, str) else "")
def test_what_is_not_declared_is_refused(name: str, value: Any, message: str) -> None:
    model = honest()
    vars(model)[name] = value
    with pytest.raises(ModelFileError, match=message):
        check_state(model)


def test_a_missing_attribute_is_refused() -> None:
    model = honest()
    del model.codes_
    with pytest.raises(ModelFileError, match=r"Shapes\.codes_ is missing \(Array\)"):
        check_state(model)


class Hostile:
    """A value that fails whatever it is asked."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("==")

    def __len__(self) -> int:
        raise RuntimeError("len")

    __hash__ = None  # type: ignore[assignment]


def hostile_values() -> list[Any]:
    endless: list[Any] = []
    endless.append(endless)
    strange = np.empty(1, dtype=object)
    strange[0] = Hostile()
    return [
        Hostile(),
        endless,
        strange,
        {"a": endless},
        object,
        lambda: 0,
        10**5000,
        np.ma.masked,
        float("nan"),
        b"",
        {1},
        ...,
    ]


@pytest.mark.parametrize("model", every_model(), ids=lambda model: type(model).__name__)
def test_whatever_an_attribute_holds_one_error_is_raised(model: Any) -> None:
    skip_if_it_lacks(type(model).__module__)
    model.fit(*fit_arguments(model))
    check_state(model)
    for name in model._results:
        before = vars(model).get(name)
        for value in hostile_values():
            vars(model)[name] = value
            with contextlib.suppress(ModelFileError):  # an attribute of type Any may accept it
                check_state(model)
        if before is None:
            vars(model).pop(name)
        else:
            vars(model)[name] = before
    vars(model)["unheard_of"] = 1
    with pytest.raises(ModelFileError, match="declares no such attribute"):
        check_state(model)


@pytest.mark.parametrize("model", every_model(), ids=lambda model: type(model).__name__)
def test_every_array_declares_its_shape(model: Any) -> None:
    for name, rule in model._results.items():
        if "Array" in rule.written and name not in ("n_iter_", "cv_results_"):
            assert rule.shape or rule.check is not None, f"{type(model).__name__}.{name}"


@pytest.mark.parametrize("model", every_model(), ids=lambda model: type(model).__name__)
def test_every_model_comes_back_from_its_file(model: Any) -> None:
    skip_if_it_lacks(type(model).__module__)
    arguments = fit_arguments(model)
    model.fit(*arguments)
    back = loads(dumps(model))
    assert dumps(back) == dumps(model)
    method = next((one for one in ("predict", "transform", "score_samples") if hasattr(model, one)), None)
    if method is not None:
        before, after = (getattr(one, method)(arguments[0]) for one in (model, back))
        before, after = (one.toarray() if hasattr(one, "toarray") else np.asarray(one) for one in (before, after))
        assert before.dtype == after.dtype
        assert before.tobytes() == after.tobytes()


def test_models_inside_are_checked_too() -> None:
    X = np.random.default_rng(0).normal(size=(9, 2))
    pipe = make_pipeline(StandardScaler(), Ridge()).fit(X, X[:, 0])
    pipe.steps_[1][1].coef_ = np.ones(3)
    with pytest.raises(ModelFileError, match=r"Ridge\.coef_ should have shape \(p,\) or \(m, p\)"):
        check_state(pipe)


def test_a_message_says_what_is_declared_and_what_was_found() -> None:
    model = LogisticRegression().fit([[0.0], [1.0], [2.0]], ["a", "b", "b"])
    model.intercept_ = np.zeros(3)
    with pytest.raises(ModelFileError) as caught:
        check_state(model)
    assert str(caught.value) == "LogisticRegression.intercept_ should have shape (k or 1,) = (1), and has (3,)"
