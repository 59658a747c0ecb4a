"""The bridge: the only file that knows scikit-learn, and it never imports it.

Everything here looks into ``sys.modules``: if somebody else has loaded scikit-learn, its tags, routing
requests, settings and error classes are built on demand; if nobody has, the hooks that only scikit-learn
calls raise ``AttributeError``, as for any name that does not exist. Models keep plain data of their own, so
a pickle holds nothing of scikit-learn.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from qed.core import _settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from qed.core._params import Field
    from qed.core._traits import Traits


# The methods that scikit-learn routes metadata to. Its composite ones (fit_transform, ...) follow from these.
ROUTED = (
    "fit",
    "partial_fit",
    "predict",
    "predict_proba",
    "predict_log_proba",
    "decision_function",
    "score",
    "transform",
    "inverse_transform",
)
_DATA = frozenset({"self", "X", "y", "Y", "Xt", "yt"})
_UNCHANGED = "$UNCHANGED$"  # scikit-learn's own marker for "this request is left as it is"


def loaded(module: str, name: str) -> Any:
    """Look up a name in a module that somebody else has loaded; None when it is not there (yet)."""
    # While a module is being imported it is listed but incomplete, and an entry may even be None.
    return getattr(sys.modules.get(module), name, None)


def _needed(module: str, name: str, what: str) -> Any:
    found = loaded(module, name)
    if found is None:
        raise AttributeError(f"{what} is there for scikit-learn, which is not loaded")
    return found


def setting(name: str, default: Any) -> Any:
    """Read a setting: our own if it was chosen, else scikit-learn's if it is loaded, else the default."""
    own = _settings.chosen()
    if name in own:
        return own[name]
    get_config = loaded("sklearn", "get_config")
    return default if get_config is None else get_config().get(name, default)


def tags(traits: Traits) -> Any:
    """Write traits as scikit-learn's ``Tags``."""

    def make(name: str, **values: Any) -> Any:
        return _needed("sklearn.utils", name, "__sklearn_tags__")(**values)

    kept = {True: ["float64", "float32"], False: ["float64"], None: []}[traits.keeps_dtype]
    classifies, regresses = traits.role == "classifier", traits.role == "regressor"
    return make(
        "Tags",
        estimator_type=traits.role,
        target_tags=make(
            "TargetTags",
            required=bool(traits.target),
            positive_only=traits.positive_target,
            multi_output=traits.multi_output,
            single_output=traits.single_output,
            one_d_labels=traits.labels_only,
        ),
        transformer_tags=make("TransformerTags", preserves_dtype=kept) if traits.transforms else None,
        classifier_tags=make(
            "ClassifierTags",
            poor_score=traits.poor_score,
            multi_class=traits.multi_class,
            multi_label=traits.multi_label,
        )
        if classifies
        else None,
        regressor_tags=make("RegressorTags", poor_score=traits.poor_score) if regresses else None,
        non_deterministic=not traits.deterministic,
        requires_fit=traits.requires_fit,
        input_tags=make(
            "InputTags",
            sparse=traits.sparse,
            positive_only=traits.positive_only,
            allow_nan=traits.allow_nan,
            pairwise=traits.pairwise,
            two_d_array=traits.table,
            string=traits.strings,
            dict=traits.mappings,
            categorical=traits.categorical,
        ),
        no_validation=not traits.validates,
    )


def metadata_of(function: object) -> tuple[str, ...]:
    """Name the arguments of a method that are neither data nor ``*args``/``**kwargs``."""
    code = getattr(getattr(function, "__wrapped__", function), "__code__", None)
    if code is None:  # a property or another descriptor, which says nothing about its arguments
        return ()
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return tuple(sorted(name for name in names if name not in _DATA))


def routing(model: Any, accepted: Mapping[str, tuple[str, ...]], chosen: Mapping[str, Mapping[str, Any]]) -> Any:
    """Build the ``MetadataRequest`` of a model from what its methods accept and what its user chose."""
    request = _needed("sklearn.utils.metadata_routing", "MetadataRequest", "get_metadata_routing")(owner=model)
    for method, names in accepted.items():
        for name in names:
            alias = chosen.get(method, {}).get(name)
            getattr(request, method).add_request(param=name, alias=alias)
    return request


class RequestSetter:
    """The method ``set_<method>_request`` of a class, present while scikit-learn is loaded."""

    def __init__(self, method: str, names: tuple[str, ...]) -> None:
        self.method = method
        self.names = names

    def __get__(self, model: Any, owner: type) -> Callable[..., Any]:
        """Return the setter, bound when looked up on an instance."""
        name = f"set_{self.method}_request"
        if loaded("sklearn", "get_config") is None and not setting("enable_metadata_routing", False):
            raise AttributeError(
                f"{owner.__name__}.{name} is there once qed.set_config(enable_metadata_routing=True) was called, or for"
                " scikit-learn, which is not loaded"
            )

        def bound(**choices: Any) -> Any:
            return self._record(model, choices)

        def unbound(model: Any, **choices: Any) -> Any:
            return self._record(model, choices)

        setter: Any = unbound if model is None else bound
        setter.__name__ = name
        setter.__doc__ = self._doc()
        setter.__signature__ = self._signature(bound=model is not None)
        made: Callable[..., Any] = setter
        return made

    def _record(self, model: Any, choices: dict[str, Any]) -> Any:
        if not setting("enable_metadata_routing", False):
            raise RuntimeError(
                "This method is only available when metadata routing is enabled. You can enable it using"
                " sklearn.set_config(enable_metadata_routing=True), or qed.set_config(enable_metadata_routing=True)."
            )
        unexpected = set(choices) - set(self.names)
        if unexpected:
            raise TypeError(
                f"Unexpected args: {unexpected} in {self.method}. Accepted arguments are: {set(self.names)}"
            )
        kept = {name: value for name, value in choices.items() if value != _UNCHANGED}
        requests = {method: dict(names) for method, names in vars(model).get("_metadata_requests", {}).items()}
        requests.setdefault(self.method, {}).update(kept)
        for name, value in kept.items():
            if (
                value is not None
                and not isinstance(value, bool)
                and not (isinstance(value, str) and value.isidentifier())
            ):
                raise ValueError(
                    f"The alias you're setting for `{name}` should be either a valid identifier or one of None, True, or False,"
                    f" but given value is: `{value!r:.60}`"
                )
        model._metadata_requests = requests  # noqa: SLF001  (the model's own record of its user's choices)
        return model

    def _signature(self, *, bound: bool) -> Any:
        from inspect import Parameter, Signature  # noqa: PLC0415  (needed by people who ask for help, not by fits)

        first = [] if bound else [Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)]
        rest = [Parameter(name, Parameter.KEYWORD_ONLY, default=_UNCHANGED) for name in self.names]
        return Signature(first + rest)

    def _doc(self) -> str:
        lines = "\n".join(
            f"{name} : bool, None or str\n    Pass it (True), do not (False), refuse it (None), or its name outside."
            for name in self.names
        )
        return (
            f"Say which metadata a router of scikit-learn passes to ``{self.method}``.\n\n"
            f"Parameters\n----------\n{lines}\n\nReturns\n-------\nself\n    The model.\n"
        )


def constraints(fields: Mapping[str, Field]) -> dict[str, Any]:
    """Write declared parameters as scikit-learn's ``_parameter_constraints``."""

    def make(name: str, *values: Any, **options: Any) -> Any:
        return _needed("sklearn.utils._param_validation", name, "_parameter_constraints")(*values, **options)

    return {name: field.rule.constraints(make) for name, field in fields.items()}
