"""Metadata routing: who of the parts of a model gets what was passed to its ``fit`` or ``score`` beside the data.

A part says what it wants by ``set_fit_request(sample_weight=True)``: True passes it, False does not, a name passes what goes by
that name outside, and nothing said is an error once it is passed. A model of models of qed names its parts in
``_routed_parts(method)``, pairs of a part and the method of it that is called; it takes whatever one of them takes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qed.core._errors import InvalidParameter
from qed.core._sklearn import setting

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


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


def _consumed(part: Any, method: str, names: Iterable[str]) -> set[str]:
    """Return which of some names, as they are called outside, a part takes or has not decided about."""
    parts = getattr(part, "_routed_parts", None)
    if parts is not None:
        return {name for one, own in parts(method) for name in _consumed(one, own, names)}
    asked = _requests(part, method)
    if asked is None:
        return set(part.get_metadata_routing().consumes(method, list(names)))
    return {one if isinstance(one, str) else name for name, one in asked.items() if one is not False} & set(names)


def routed(owner: Any, part: Any, method: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a part's method; raise for one that it has not decided about."""
    inside = getattr(part, "_routed_parts", None)
    for one, own in () if inside is None else inside(method):
        routed(part, one, own, metadata)  # raises now what would otherwise be found fold by fold
    asked = None if inside is not None else _requests(part, method)
    if asked is None:
        return {name: metadata[name] for name in sorted(_consumed(part, method, metadata))}
    undecided = sorted(name for name, one in asked.items() if one is None and name in metadata)
    if undecided:
        kind = type(part).__name__
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
