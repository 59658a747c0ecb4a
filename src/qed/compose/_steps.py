"""Named parts: how a model of models lists them, reaches into them and asks them."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from qed.core import DataConversionWarning, Estimator, InvalidData, InvalidParameter, fitted
from qed.core._arrays import require_kind
from qed.core._events import Progress
from qed.core._params import unknown_parameter
from qed.core._parts import accepts_weight, models_with
from qed.core._routing import is_enabled, require_taken, routed
from qed.core._targets import as_target

if TYPE_CHECKING:
    from collections.abc import Iterable

    from qed.core import Array


def models_of_codes(model: Any, parts: Any, limit: int) -> str:
    """Say what is wrong with parts fitted on numbers of labels: those that know labels know numbers below ``limit``."""
    for part in parts:
        labels = getattr(part, "classes_", None)
        if labels is None and hasattr(part, "predict_proba"):
            return f"should be classifiers, and {type(part).__name__} knows no labels"
        if labels is not None:
            known = np.asarray(labels)
            if known.dtype.kind not in "biu" or not known.size or not 0 <= known.min() <= known.max() < limit:
                return f"should predict numbers below {limit}, and {type(part).__name__} predicts other labels"
    return models_with("predict")(model, parts)


def named_transformers(model: Any, parts: Any) -> str:
    """Say what is wrong with named transformers: the names differ, and each transforms or is a word for one."""
    if len({part[0] for part in parts}) != len(parts):
        return "should have different names"
    listed = [part[1] for part in parts if not is_word(part[1])]
    return models_with("transform")(model, listed) if listed else ""


def is_word(part: Any) -> bool:
    """Tell whether a part is one that does nothing, or goes."""
    return part is None or (isinstance(part, str) and part in ("drop", "passthrough"))


def stacked(said: list[Any]) -> Array:
    """Put the answers of parts side by side, along a new second axis."""
    arrays = [np.asarray(one) for one in said]
    if len({one.shape for one in arrays}) > 1:
        shapes = ", ".join(str(one.shape) for one in arrays)
        raise InvalidData(
            f"The parts of this model answer in different shapes: {shapes}. Fit them on the same targets."
        )
    return np.stack(arrays, axis=1)


def conditional(function: Any) -> Any:
    """Let a model of models have a method only while its parts can do what the method needs."""
    return _Conditional(function)


class _Conditional:
    def __init__(self, function: Any) -> None:
        self.function = function
        self.__doc__, self.__name__ = function.__doc__, function.__name__
        self.__wrapped__ = function

    def __get__(self, outer: Any, owner: type | None = None) -> Any:
        """Return the method, bound; AttributeError if some part lacks what it needs."""
        if outer is None:
            return self.function
        outer._require_ability(self.__name__)  # noqa: SLF001
        return self.function.__get__(outer, owner)


def one_column(owner: Estimator, y: Any) -> Any:
    """See a target as an array; a single column loses its second dimension, and its user is told."""
    if y is None:
        raise InvalidData(
            f"This {type(owner).__name__} estimator requires y to be passed, but the target y is None. Pass y after X."
        )
    array = as_target(y, "y")
    if array.dtype.kind == "c":
        require_kind(array, "y")
    if array.ndim == 2 and array.shape[1] == 1:
        message = (
            "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples, ), for"
            " example using ravel()."
        )
        warnings.warn(DataConversionWarning(message), stacklevel=3)
        return array[:, 0]
    if array.ndim != 1:
        raise InvalidData(
            f"y should be a 1d array, got an array of shape {array.shape} instead. {type(owner).__name__} takes one target for"
            " each row."
        )
    return array


def require_instances(owner: Estimator, parts: Iterable[tuple[Any, Any]]) -> None:
    """Refuse a class where a model is meant."""
    for name, part in parts:
        if isinstance(part, type):
            raise InvalidParameter(
                f"{type(owner).__name__}: {name!r} is the class {part.__name__}, and a model is wanted. Write"
                f" {part.__name__}() instead of {part.__name__}."
            )


def require_names(owner: Estimator, names: list[Any]) -> None:
    """Refuse names of parts that could not be told apart from each other or from parameters."""
    title = type(owner).__name__
    if any(not isinstance(name, str) for name in names):
        raise InvalidParameter(f"{title}: names of parts must be words, got {names!r}.")
    if len(set(names)) != len(names):
        raise InvalidParameter(f"{title}: names provided are not unique: {names!r}. Rename one of them.")
    taken = set(names) & set(owner.get_params(deep=False))
    if taken:
        raise InvalidParameter(f"{title}: names conflict with constructor arguments: {sorted(taken)!r}. Rename them.")
    if any("__" in name for name in names):
        raise InvalidParameter(f"{title}: names must not contain __: got {[n for n in names if '__' in n]!r}.")


class NamedParts(Estimator):
    """A model made of a list of models with names: their parameters are its own too, as ``name__parameter``."""

    _list: ClassVar[str]  # the parameter that holds the list

    weighted_: list[str] = fitted("The names of the parts that were fitted with weights.", answers=False, optional=True)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool
            Whether to include the parts and their parameters, as ``part__name``.
        """
        params = super().get_params(deep=deep)
        for name, part in self._named() if deep else ():
            if not isinstance(name, str):
                continue  # fit says so in words
            params[name] = part
            if hasattr(part, "get_params") and not isinstance(part, type):
                params.update((f"{name}__{key}", value) for key, value in part.get_params(deep=True).items())
        return params

    def set_params(self, **params: Any) -> Self:
        """Change parameters, then whole parts, then parameters of parts.

        Parameters
        ----------
        **params : dict
            Names and their new values.

        Returns
        -------
        self
            The model.
        """
        own = {name: value for name, value in params.items() if name.partition("__")[0] in self._fields}
        super().set_params(**own)
        rest = {name: value for name, value in params.items() if name not in own}
        names = [name for name, _ in self._named()]
        for name in [name for name in rest if name in names]:
            parts = list(getattr(self, self._list))
            at = names.index(name)
            parts[at] = (name, rest.pop(name), *parts[at][2:])
            setattr(self, self._list, parts)
        for name, value in rest.items():
            outer, _, inner = name.partition("__")
            if outer not in names or not inner:
                raise unknown_parameter(self, outer, sorted([*self._fields, *names]))
            self._named()[names.index(outer)][1].set_params(**{inner: value})
        return self

    def _routed_parts(self, method: str) -> list[tuple[Any, str]]:
        """Return the parts that may ask for metadata, each with the method that is called."""
        return [(part, method) for _, part in self._named() if not is_word(part)]

    def _metadata_of_fit(self, sample_weight: Any, given: dict[str, Any]) -> dict[str, Any] | None:
        """Return what is passed beside the data, if parts get it by request; None where weights go to all that can count."""
        if not is_enabled():
            if given:
                raise InvalidParameter(
                    f"{type(self).__name__}.fit does not accept {sorted(given)}. After"
                    " qed.set_config(enable_metadata_routing=True), parts get what they ask for by set_fit_request."
                )
            return None
        metadata = given if sample_weight is None else {**given, "sample_weight": sample_weight}
        require_taken(self, "fit", metadata, self._routed_parts("fit"))
        return metadata

    def _fit_options(self, part: Any, sample_weight: Any, metadata: dict[str, Any] | None) -> dict[str, Any]:
        """Return what ``fit`` of a part is given beside the data."""
        if metadata is not None:
            return routed(self, part, "fit", metadata)
        return {"sample_weight": sample_weight} if sample_weight is not None and accepts_weight(part) else {}

    def _named(self) -> list[tuple[str, Any]]:
        """Return names and models; nothing if the list is none yet, which ``fit`` will say."""
        try:
            return [(part[0], part[1]) for part in getattr(self, self._list)]
        except (TypeError, LookupError):
            return []


def announced(owner: Estimator, name: str, *, verbose: int | bool) -> Progress:
    """Return the voice of one part: its beginning and its end, with the seconds between."""
    return Progress(f"{type(owner).__name__}: {name}", verbose=verbose)
