"""Metadata routing: who of the parts of a model gets what was passed to its ``fit`` or ``score`` beside the data.

A part says what it wants by ``set_fit_request(sample_weight=True)``: True passes it, False does not, a name passes what goes by
that name outside, and nothing said is an error once it is passed. A model of models of qed names its parts in
``_routed_parts(method)``, pairs of a part and the method of it that is called; it takes whatever one of them takes. None means
that it takes the metadata of that method itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qed.core._errors import InvalidParameter
from qed.core._sklearn import setting

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class OwnRequest:
    """What a model of models takes itself, as one more of its parts: the metadata of ``fit`` that it has asked for."""

    def __init__(self, model: Any, *names: str) -> None:
        self.owner = type(model).__name__
        self._asked, self._names = vars(model).get("_metadata_requests", {}), names

    def _requests(self, method: str) -> dict[str, Any]:
        own = self._asked.get(method, {})
        return {name: own.get(name) for name in self._names}


def is_enabled() -> bool:
    """Say whether metadata are routed by request."""
    return bool(setting("enable_metadata_routing", False))


def _requests(part: Any, method: str) -> Mapping[str, Any] | None:
    """Return what a part asks for, by the name of its argument; None for one that passes metadata on to its own parts."""
    told = getattr(part, "_requests", None)  # of a scorer, which is no estimator
    if told is not None:
        return dict(told(method))
    names = getattr(type(part), "_metadata", None)
    if isinstance(names, dict):
        own = vars(part).get("_metadata_requests", {}).get(method, {})
        return {name: own.get(name) for name in (*names.get(method, ()), *own)}
    ask = getattr(part, "get_metadata_routing", None)
    if ask is None:
        return {}
    found = getattr(ask(), method, None)  # of scikit-learn's own; its models of models have no methods here
    return None if found is None else dict(found.requests)


def _parts_of(part: Any, method: str) -> list[tuple[Any, str]] | None:
    """Return who gets the metadata of a method of a model of models; None for a model that takes them itself."""
    parts = getattr(part, "_routed_parts", None)
    return None if parts is None else parts(method)


def _consumed(part: Any, method: str, names: Iterable[str]) -> set[str]:
    """Return which of some names, as they are called outside, a part takes or has not decided about."""
    inside = _parts_of(part, method)
    if inside is not None:
        return {name for one, own in inside for name in _consumed(one, own, names)}
    asked = _requests(part, method)
    if asked is None:
        return set(part.get_metadata_routing().consumes(method, list(names)))
    return {one if isinstance(one, str) else name for name, one in asked.items() if one is not False} & set(names)


def routed(owner: Any, part: Any, method: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a part's method; raise for one that it has not decided about."""
    inside = _parts_of(part, method)
    for one, own in inside or ():
        routed(part, one, own, metadata)  # raises now what would otherwise be found fold by fold
    asked = None if inside is not None else _requests(part, method)
    if asked is None:
        return {name: metadata[name] for name in sorted(_consumed(part, method, metadata))}
    undecided = sorted(name for name, one in asked.items() if one is None and name in metadata)
    if undecided:
        kind = part.owner if isinstance(part, OwnRequest) else type(part).__name__
        raise InvalidParameter(
            f"[{', '.join(undecided)}] are passed but are not explicitly set as requested or not requested for {kind}.{method},"
            f" which is used within {type(owner).__name__}. Call {kind}.set_{method}_request({undecided[0]}=True), or False."
        )
    given = {name: one if isinstance(one, str) else name for name, one in asked.items() if one not in (None, False)}
    return {name: metadata[outside] for name, outside in given.items() if outside in metadata}


def require_taken(owner: Any, method: str, metadata: Mapping[str, Any], parts: Iterable[tuple[Any, str]]) -> None:
    """Refuse metadata that no part asks for."""
    known = {name for part, own in parts for name in _consumed(part, own, metadata)}
    others = sorted(set(metadata) - known)
    if others:
        title = owner if isinstance(owner, str) else f"{type(owner).__name__}.{method}"
        raise TypeError(
            f"{title} got unexpected argument(s) {others}, which are not routed to any object: no part requested them. Call"
            f" set_{method}_request({others[0]}=True) on the part that they are for."
        )


class RoutesToOne:
    """Gives the metadata of ``fit`` to the one model inside: what it asks for where they are routed, else all."""

    _inside = "estimator"  # name of the parameter that holds it

    def _routed_parts(self, method: str) -> list[tuple[Any, str]] | None:
        return [(getattr(self, self._inside), method)] if method == "fit" else None

    def _options_inside(self, metadata: Mapping[str, Any], *, counts: bool = True) -> dict[str, Any]:
        """Return what ``fit`` of the model inside is given beside the data; weights that are not routed only if it `counts`."""
        given = {name: value for name, value in metadata.items() if value is not None}
        if not is_enabled():
            return given if counts else {name: value for name, value in given.items() if name != "sample_weight"}
        require_taken(self, "fit", given, self._routed_parts("fit") or ())
        return routed(self, getattr(self, self._inside), "fit", given)
