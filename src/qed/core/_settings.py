"""Settings of the library: those of scikit-learn that mean something here, under the same names.

What is chosen here comes first, then what scikit-learn was told if it is loaded, then the default.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

DEFAULTS: dict[str, Any] = {"display": "diagram", "enable_metadata_routing": False, "transform_output": "default"}
_ACCEPTED: dict[str, tuple[Any, ...]] = {
    "display": ("diagram", "text"),
    "enable_metadata_routing": (False, True),
    "transform_output": ("default", "pandas", "polars"),
}
_everywhere: dict[str, Any] = {}
_here: ContextVar[dict[str, Any] | None] = ContextVar("qed_settings", default=None)


def chosen() -> dict[str, Any]:
    """Return what was chosen, by name; what nobody chose is not in it."""
    return {**_everywhere, **(_here.get() or {})}


def _checked(settings: dict[str, Any]) -> dict[str, Any]:
    from qed.core._errors import InvalidParameter  # noqa: PLC0415  (errors look up their twins by a module that reads this one)

    for name, value in settings.items():
        if name not in _ACCEPTED:
            raise InvalidParameter(
                f"The setting {name} is not in qed, use sklearn.set_config. qed has {', '.join(sorted(_ACCEPTED))}."
            )
        if value is not None and value not in _ACCEPTED[name]:
            raise InvalidParameter(f"The setting {name} must be one of {list(_ACCEPTED[name])}, got {value!r:.60}.")
    return {name: value for name, value in settings.items() if value is not None}


def set_config(**settings: Any) -> None:
    """Change settings, as in scikit-learn.

    Parameters
    ----------
    **settings : object
        ``display`` ("diagram" or "text": what notebooks show of a model), ``enable_metadata_routing`` (whether models of models
        pass metadata to the parts that asked for it), ``transform_output`` ("default", "pandas" or "polars": what
        ``transform`` returns). None leaves a setting as it is.
    """
    _everywhere.update(_checked(settings))


def get_config() -> dict[str, Any]:
    """Return the settings by name.

    Returns
    -------
    dict
        ``display``, ``enable_metadata_routing`` and ``transform_output``.
    """
    from qed.core._sklearn import setting  # noqa: PLC0415  (which reads this module)

    return {name: setting(name, value) for name, value in DEFAULTS.items()}


@contextmanager
def config_context(**settings: Any) -> Iterator[None]:
    """Change settings inside a ``with`` block, in this thread and in tasks started from it.

    Parameters
    ----------
    **settings : object
        As for `set_config`.
    """
    token = _here.set({**(_here.get() or {}), **_checked(settings)})
    try:
        yield
    finally:
        _here.reset(token)
