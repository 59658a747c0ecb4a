"""Compiled kernels, chosen once for the processor at hand.

The rule: this package knows instruction sets and nothing else. It is imported by a package's ``_kernels.py`` only.

The same sources are compiled once per x86-64 level (``_v2``, ``_v3``, ``_v4``; elsewhere one ``_portable``), each
into a module of its own. Wheels hold all of them, a build in place the one of its machine. The tiny ``_cpu`` module
says which levels the processor has; the widest one that is there is loaded on first use of a kernel. Set ``QED_ISA``
to ``v2``, ``v3`` or ``v4`` to insist on a level, for tests and comparisons.

Every kernel is an attribute of this package; ``__init__.pyi`` lists them with their meaning.
"""

import importlib
import importlib.util
import os
from collections.abc import Callable
from types import ModuleType

_chosen: ModuleType | None = None
_watchers: list[Callable[[ModuleType], None]] = []


def available_levels() -> list[str]:
    """Levels that this processor can run and that were built, from narrow to wide."""
    cpu = importlib.import_module("qed._native._cpu")
    return [name for name in cpu.levels() if importlib.util.find_spec(f"qed._native._{name}")]


def load_level(name: str) -> ModuleType:
    """Load the module of one level, beside the chosen one; tests compare levels with it."""
    available = available_levels()
    if name not in available:
        message = (
            f"QED_ISA must be one of {', '.join(available)}, which this processor runs and this build holds; "
            f"got {name!r}. Unset QED_ISA to use the widest level."
        )
        raise ImportError(message)
    return importlib.import_module(f"qed._native._{name}")


def when_loaded(watcher: Callable[[ModuleType], None]) -> None:
    """Call ``watcher(module)`` as soon as the kernels are loaded, or now if they are."""
    _watchers.append(watcher)
    if _chosen is not None:
        watcher(_chosen)


def _load() -> ModuleType:
    global _chosen  # noqa: PLW0603 - the choice is made once per process
    if _chosen is None:
        available = available_levels()
        if not available:
            message = (
                "No compiled module of qed runs on this processor. Wheels need the x86-64-v2 instructions "
                "(SSE4.2, about 2009); a build in place holds the level of the machine it was made on: run make native."
            )
            raise ImportError(message)
        _chosen = load_level(os.environ.get("QED_ISA") or available[-1])
        for watcher in _watchers:
            watcher(_chosen)
    return _chosen


def __getattr__(name: str) -> object:
    if name.startswith("_"):
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    module = _load()
    if name == "level":
        return module.__name__.rpartition("_")[2]
    value = getattr(module, name)
    globals()[name] = value  # the next access costs nothing
    return value
