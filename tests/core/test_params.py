"""Declared parameters: constructor, validation in words, kinds, documentation."""

from __future__ import annotations

import inspect
import math
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import pytest
import toys

from qed.core import (
    Array,
    Estimator,
    Fraction,
    InvalidParameter,
    Matrix,
    NonNegative,
    NonNegativeVector,
    NotSupported,
    Number,
    Numbers,
    OneOf,
    Positive,
    PositiveInt,
    Probability,
    Regressor,
    Seed,
    Vector,
    fitted,
    param,
)
from qed.core._rules import rule_for

if TYPE_CHECKING:
    from collections.abc import Callable

NAN, INF = float("nan"), float("inf")

ACCEPTED: list[tuple[Any, list[Any], list[Any]]] = [
    (NonNegative, [0, 1.5, np.float32(2), np.int64(3)], [-1e-9, NAN, INF, True, "1", None, [1.0], 1j]),
    (Positive, [1e-300], [0, -1]),
    (Probability, [0, 1, 0.5], [-0.1, 1.1]),
    (Fraction, [0.5], [0, 1]),
    (PositiveInt, [1, np.int32(4)], [0, 1.0, True]),
    (OneOf["auto", "svd"], ["auto", np.str_("svd")], ["cholesky", None, 1]),
    (Literal["auto", 1], ["auto", 1], [True, 1.0, "1"]),
    (Seed, [None, 0, 2**32 - 1, np.int64(3)], [-1, 2**32, 1.5, "seed", True]),
    (bool, [True, np.False_], [0, 1, "yes", None]),
    (int | None, [None, 3, -3], [1.5, "3"]),
    (Vector, [[1.0, 2.0], np.arange(3), ()], [[[1.0]], 1.0, "ab", [NAN], ["a"], {1: 2}, None, [[1], [2, 3]]]),
    (NonNegativeVector, [[0.0]], [[-1.0], [True]]),
    (Matrix, [[[1.0]]], [[1.0]]),
    (Array | None, [None, [1.0], [[1.0]]], [1.0, "a", [NAN]]),
    (Annotated[Any, Numbers(1, Number(low=1, whole=True))], [[1, 2]], [[1.0], [0]]),
    (NonNegative | Vector, [1.0, [2.0]], [-1.0, "a"]),
    (str, ["a"], [1]),
    (dict[str, float], [{}], [[]]),
    (Any, [...], []),
    ("Callable[[int], int]", [len], [3]),
]


def _rule(annotation: Any) -> Any:
    from collections.abc import Callable  # noqa: F401, PLC0415

    return rule_for(eval(annotation) if isinstance(annotation, str) else annotation)  # noqa: S307


@pytest.mark.parametrize(("annotation", "good", "bad"), ACCEPTED, ids=lambda case: str(case)[:40])
def test_rules(annotation: Any, good: list[Any], bad: list[Any]) -> None:
    rule = _rule(annotation)
    assert [value for value in good if not rule.accepts(value)] == []
    assert [value for value in bad if rule.accepts(value)] == []
    assert rule.words


def test_seed_accepts_generators() -> None:
    assert rule_for(Seed).accepts(np.random.default_rng(0))
    assert rule_for(Seed).accepts(np.random.RandomState(0))
    assert not rule_for(Seed).accepts(np.random)


def test_words_of_numbers() -> None:
    assert Number(low=0).words == "a real number >= 0"
    assert Number(0, 1, open_low=True, open_high=True).words == "a real number > 0 and < 1"
    assert Number(low=1, whole=True).words == "an integer >= 1"
    assert Numbers(1, Number(low=0)).words == "a 1-dimensional array of real numbers >= 0"
    assert rule_for(NonNegative | None).words == "a real number >= 0 or None"


def test_an_annotation_that_says_nothing_is_refused() -> None:
    with pytest.raises(TypeError, match="says nothing"):
        rule_for(3)


X, Y = np.arange(12.0).reshape(4, 3), np.arange(4.0)


def test_message_says_what_came_what_is_accepted_and_what_it_is() -> None:
    with pytest.raises(InvalidParameter) as caught:
        toys.MeanRegressor(alpha=-0.5).fit(X, Y)
    assert str(caught.value) == (
        "MeanRegressor.alpha must be a real number >= 0 or a 1-dimensional array of real numbers, got -0.5."
        " It is the strength of the pull towards zero."
    )
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, TypeError)


def test_the_sentence_fits_the_text() -> None:
    class Model(Estimator):
        a: bool = param(True, "Whether to centre. And more.")
        b: int = param(1, "The number of rounds.")
        c: int = param(1, "Number of rounds.")

    assert [field.sentence for field in Model._fields.values()] == [
        "It says whether to centre.",
        "It is the number of rounds.",
        "It is the number of rounds.",
    ]


def test_refused_parameters_raise_in_words() -> None:
    toys.MeanRegressor(positive=False).fit(X, Y)
    with pytest.raises(
        NotSupported, match=r"MeanRegressor.positive=True is not in qed. Use sklearn.linear_model.Ridge."
    ):
        toys.MeanRegressor(positive=True).fit(X, Y)
    with pytest.raises(TypeError, match="instead"):
        param(1, "Nothing.", kind="refused")


def test_constructor_only_stores() -> None:
    value = [1.0]
    model = toys.MeanRegressor(value, solver="nonsense")
    assert model.alpha is value
    assert vars(model) == {"alpha": value, "solver": "nonsense", "positive": False, "warm_start": False}
    assert str(inspect.signature(toys.MeanRegressor)).startswith("(alpha: 'NonNegative | Vector' = 0.0, *, solver: ")
    assert next(iter(inspect.signature(toys.MeanRegressor.__init__).parameters)) == "self"


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: toys.MeanRegressor(alhpa=1), "no parameter 'alhpa'. Did you mean 'alpha'"),
        (lambda: toys.MeanRegressor(zzz=1), "Its parameters: alpha, solver"),
        (lambda: toys.MeanRegressor(1, "sum"), r"at most 1 positional arguments \(alpha\), got 2. Name the others"),
        (lambda: toys.MeanRegressor(1, alpha=1), "'alpha' twice"),
    ],
)
def test_constructor_refuses_in_words(build: Callable[[], Any], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        build()


def test_defaults_stay_on_the_class_for_states_from_before_a_parameter_existed() -> None:
    model = toys.MeanRegressor.__new__(toys.MeanRegressor)
    model.__setstate__({"_qed_version": "0.1.0", "alpha": 2.0})
    assert model.get_params() == {"alpha": 2.0, "positive": False, "solver": "auto", "warm_start": False}
    model.fit(X, Y)


def test_subclass_inherits_and_overrides() -> None:
    class Child(toys.MeanRegressor, sparse=False):
        """A child."""

        alpha: NonNegative = param(3.0, "Strength.")
        extra: bool = param(True, "Whether to do more.")

    assert list(Child._fields) == ["alpha", "solver", "positive", "warm_start", "extra"]
    assert Child().alpha == 3.0
    assert not Child._declared_traits.sparse
    assert toys.MeanRegressor._declared_traits.sparse
    assert Child._declared_traits.role == "regressor"
    with pytest.raises(TypeError, match="at most 1"):
        Child(1.0, True)  # what follows KW_ONLY in a base stays keyword-only


def test_unknown_trait_is_refused() -> None:
    with pytest.raises(TypeError, match="spares"):
        type("Typo", (Regressor,), {}, spares=True)


def test_annotations_without_future_import() -> None:
    kind = type("Plain", (Estimator,), {"__annotations__": {"a": NonNegative}, "a": param(1.0, "Size.")})
    assert kind(a=2).get_params() == {"a": 2}
    with pytest.raises(InvalidParameter, match=r"Plain\.a must be a real number >= 0"):
        kind(a=-2)._validate_params()


def test_annotation_out_of_reach() -> None:
    local = NonNegative

    class Model(Estimator):
        a: local = param(1.0, "Size.")  # type: ignore[valid-type]

    with pytest.raises(TypeError, match="'local', cannot be read: name 'local' is not defined"):
        Model()._validate_params()


def test_get_and_set_params_reach_inside() -> None:
    class Outer(Estimator):
        inner: Any = param(None, "Model inside.")
        other: int = param(1, "Another number.")

    outer = Outer(inner=toys.MeanRegressor(alpha=1.0))
    assert outer.get_params()["inner__alpha"] == 1.0
    assert "inner__alpha" not in outer.get_params(deep=False)
    assert outer.set_params(inner__alpha=5.0, other=2) is outer
    assert outer.inner.alpha == 5.0
    assert outer.other == 2
    with pytest.raises(InvalidParameter, match=r"Invalid parameter 'othr' for estimator Outer\(.*Did you mean 'other'"):
        outer.set_params(othr=1)
    with pytest.raises(InvalidParameter, match=r"Outer.inner is None, which has no parameters: \['alpha'\]"):
        Outer().set_params(inner__alpha=1)


def test_docstring_has_parameters_with_kinds_before_examples() -> None:
    doc = toys.MeanRegressor.__doc__
    assert doc is not None
    assert doc is toys.MeanRegressor.__doc__, "written once"
    order = [doc.index(word) for word in ("Objective\n", "Parameters\n", "Attributes\n", "Examples\n")]
    assert order == sorted(order)
    assert "solver : one of 'auto', 'sum', default='auto'" in doc
    assert "A hint: it cannot change the optimum." in doc
    assert "Not supported: other values raise an error. Use sklearn.linear_model.Ridge." in " ".join(doc.split())
    assert "mean_ : Array\n    The predicted value, one per target." in doc
    assert inspect.getdoc(toys.MeanRegressor()) is not None


def test_own_attributes_section_is_kept() -> None:
    class Own(Estimator):
        """Own.

        Attributes
        ----------
        a_ : int
            Mine.
        """

        b_: int = fitted("Not shown.")

    assert Own.__doc__ is not None
    assert Own.__doc__.count("Attributes") == 1
    assert "Not shown" not in Own.__doc__
    assert not hasattr(Own, "b_")


@pytest.mark.parametrize(
    ("model", "text"),
    [
        (toys.MeanRegressor(), "MeanRegressor()"),
        (toys.MeanRegressor(alpha=2.0, solver="sum"), "MeanRegressor(alpha=2.0, solver='sum')"),
        (toys.MeanRegressor(alpha=math.nan), "MeanRegressor(alpha=nan)"),
        (toys.MeanRegressor(alpha=np.array([1.0, 2.0])), "MeanRegressor(alpha=array([1., 2.]))"),
    ],
)
def test_repr_shows_what_was_changed(model: Any, text: str) -> None:
    assert repr(model) == text


def test_repr_of_long_values_stays_short_and_wraps() -> None:
    text = repr(toys.MeanRegressor(alpha=np.arange(1000.0), solver="x" * 90))
    assert len(text) < 700
    assert "\n" in text
