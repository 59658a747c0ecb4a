from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Annotated, Any, Literal

import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray

from qed.core._errors import ModelFileError
from qed.core._records import (
    conforms,
    expect_array,
    field_hints,
    find_estimator,
    find_record,
    is_record,
    public_name,
    record,
    register_estimator,
    registered_records,
)


@record("test-point")
class Point:
    x: float
    where: NDArray[np.float64]
    tags: tuple[str, ...] = ()


def test_a_record_is_frozen_and_found_by_name() -> None:
    point = Point(1.0, np.zeros(2))
    assert find_record("test-point") is Point
    assert registered_records()["test-point"] is Point
    assert is_record(point)
    assert not is_record(1)
    with pytest.raises(AttributeError):
        point.x = 2.0  # type: ignore[misc]
    with pytest.raises(ModelFileError, match=r"'nobody'.*test-point"):
        find_record("nobody")


def test_copies_are_equal_also_with_nan() -> None:
    point = Point(float("nan"), np.array([np.nan, 1.0]), ("a",))
    assert point == copy.deepcopy(point)
    assert point == pickle.loads(pickle.dumps(point))


@pytest.mark.parametrize(
    "other",
    [
        Point(2.0, np.ones(2)),
        Point(1.0, np.ones(3)),
        Point(1.0, np.ones(2, np.float32)),
        Point(1.0, np.array([1.0, np.nan])),
        Point(1.0, np.ones(2), ("b",)),
        Point(1.0, 1),  # type: ignore[arg-type]
        "something else",
    ],
)
def test_different_records_differ(other: object) -> None:
    assert Point(1.0, np.ones(2)) != other


def test_records_compare_what_they_hold() -> None:
    @record("test-box")
    class Box:
        content: Any

    for make in (
        lambda: [1, (np.ones(2), "a")],
        lambda: {"a": np.ones(2)},
        lambda: scipy.sparse.csr_array(np.eye(3)),
        lambda: Point(1.0, np.ones(1)),
        lambda: np.array(["a", "b"], object),
    ):
        assert Box(make()) == Box(make())
    assert Box(scipy.sparse.csr_array(np.eye(3))) != Box(scipy.sparse.csr_array(2 * np.eye(3)))
    assert Box({"a": 1}) != Box({"b": 1})
    assert Box([1]) != Box([1, 2])


def test_records_are_not_hashable() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(Point(1.0, np.ones(1)))


@pytest.mark.parametrize("name", ["", "Upper", "with space", "a--b", "1st", "ümlaut"])
def test_names_follow_one_form(name: str) -> None:
    with pytest.raises(ValueError, match="lower case words"):
        record(name)


def test_a_name_belongs_to_one_class() -> None:
    class Other:
        x: int

    with pytest.raises(ValueError, match="belongs to"):
        record("test-point")(Other)


def test_fields_outside_the_constructor_are_refused() -> None:
    class Hidden:
        x: int = dataclasses.field(init=False, default=1)

    with pytest.raises(TypeError, match="constructor does not take: x"):
        record("test-hidden")(Hidden)


@pytest.mark.parametrize(
    ("value", "hint", "fits"),
    [
        (1, float, True),
        (True, float, False),
        (True, int, False),
        (np.int64(1), int, True),
        (1.0, int, False),
        ("a", str, True),
        (None, str | None, True),
        (1, str | None, False),
        (None, None, True),
        (np.ones(2), NDArray[np.float64], True),
        (np.ones(2, np.float32), NDArray[np.float64], False),
        (np.ones(2, np.float32), NDArray[np.floating[Any]], True),
        (np.ones(2, np.float32), NDArray[np.float32 | np.float64], True),
        (np.ones(2, int), NDArray[np.float32 | np.float64], False),
        (np.ones(2), NDArray[Any], True),
        ([1.0], NDArray[Any], False),
        ((1, 2), tuple[int, ...], True),
        ((1, "a"), tuple[int, ...], False),
        ((1, "a"), tuple[int, str], True),
        ((1,), tuple[int, str], False),
        ([1], list[int], True),
        (["a"], list[int], False),
        ({"a": 1}, dict[str, int], True),
        ({"a": "b"}, dict[str, int], False),
        ("on", Literal["on", "off"], True),
        ("in", Literal["on", "off"], False),
        (True, Literal[1], False),
        (1.0, Annotated[float, "words"], True),
        ("x", Annotated[float, "words"], False),
        (object(), Any, True),
    ],
)
def test_annotations_are_held_to(value: object, hint: object, fits: bool) -> None:
    assert conforms(value, hint) is fits


def test_hints_that_cannot_be_read_say_what_to_do() -> None:
    @record("test-obscure")
    class Obscure:
        x: Nowhere  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(TypeError, match=r"Nowhere.*outside 'if TYPE_CHECKING'"):
        field_hints(Obscure)


@pytest.mark.parametrize(
    ("value", "arguments", "words"),
    [
        ([1.0], {}, "should be an array, and is list"),
        (np.ones(2, int), {}, "kind 'f'"),
        (np.ones((2, 2)), {"shape": (None,)}, "shape"),
        (np.ones((2, 2)), {"shape": (2, 3)}, "shape"),
        (np.array([np.inf]), {"finite": True}, "NaN or infinity"),
    ],
)
def test_expect_array_says_what_is_wrong(value: object, arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ModelFileError, match=words):
        expect_array(value, "coef_", **arguments)


def test_expect_array_accepts_what_fits() -> None:
    expect_array(np.ones((2, 3)), "coef_", shape=(None, 3), finite=True)
    expect_array(np.array([np.nan]), "coef_")
    expect_array(np.arange(3), "labels", kinds="iu", finite=True)


def test_estimators_are_known_by_the_path_users_type() -> None:
    class Ridge:
        __module__ = "qed.linear_model._ridge"
        __qualname__ = "TestOnly"

    assert public_name(Ridge) == "qed.linear_model.TestOnly"
    assert find_estimator("qed.linear_model.TestOnly") is None
    assert register_estimator(Ridge) == "qed.linear_model.TestOnly"
    assert find_estimator("qed.linear_model.TestOnly") is Ridge
