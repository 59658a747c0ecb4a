"""A fitted model inside another: what a model of models asks of its parts, and takes over from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qed.core._traits import Traits

if TYPE_CHECKING:
    from collections.abc import Callable


def models_with(*methods: str) -> Callable[[Any, Any], str]:
    """Return what says what is wrong with fitted parts: they are models with these methods, and there is one at least."""

    def check(model: Any, parts: Any) -> str:  # noqa: ARG001
        listed = parts if isinstance(parts, list | tuple) else [parts]
        for one in listed:
            if isinstance(one, type) or not hasattr(one, "get_params"):
                return f"should be models, and hold a value of type {type(one).__name__}"
            lacking = next((method for method in methods if not hasattr(one, method)), None)
            if lacking is not None:
                return f"should have {lacking}, and {type(one).__name__} has not"
        return "" if len(listed) else "should hold a model at least"

    return check


def copies_with(*methods: str) -> Callable[[Any, Any], str]:
    """Return what says what is wrong with fitted copies of the parameter ``estimator``: models of its class with these methods."""
    are_models = models_with(*methods)

    def check(model: Any, parts: Any) -> str:
        wrong, wanted = are_models(model, parts), getattr(model, "estimator", None)
        if wrong or not hasattr(wanted, "get_params"):  # without one the class has a default of its own
            return wrong
        others = [
            one for one in (parts if isinstance(parts, list | tuple) else [parts]) if type(one) is not type(wanted)
        ]
        return f"should be copies of {type(wanted).__name__}, and hold a {type(others[0]).__name__}" if others else ""

    return check


def accepts_weight(model: Any, method: str = "fit") -> bool:
    """Say whether a method of a model takes ``sample_weight``."""
    import inspect  # noqa: PLC0415

    try:
        return "sample_weight" in inspect.signature(getattr(model, method)).parameters
    except (TypeError, ValueError):
        return False


def copy_columns(model: Any, inner: Any) -> None:
    """Take over what an inner model learnt about the columns."""
    for name in ("n_features_in_", "feature_names_in_"):
        model.__dict__.pop(name, None)
        if hasattr(inner, name):
            setattr(model, name, getattr(inner, name))


def traits_of(model: Any) -> Traits:
    """Read the abilities of a model, of qed or of scikit-learn."""
    own = getattr(model, "_traits", None)
    if own is not None:
        traits: Traits = own()
        return traits
    tags = getattr(model, "__sklearn_tags__", None)
    if tags is None:
        return Traits(sparse=True)
    read = tags()
    kind = read.estimator_type
    return Traits(
        role=kind,
        target={"classifier": "label", "regressor": "number"}.get(kind or "", ""),  # type: ignore[arg-type]
        transforms=read.transformer_tags is not None,
        sparse=read.input_tags.sparse,
        allow_nan=read.input_tags.allow_nan,
        positive_only=read.input_tags.positive_only,
        pairwise=read.input_tags.pairwise,
        table=read.input_tags.two_d_array,
        validates=not read.no_validation,
        multi_output=read.target_tags.multi_output,
    )
