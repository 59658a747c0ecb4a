"""How large updates are beside the weights they change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from qed.core import InvalidParameter

BAND = (1e-4, 1e-2)  # ratios between which learning neither crawls nor jumps


@dataclass(frozen=True)
class UpdateAdvice:
    """The size of an update, and what it suggests.

    Attributes
    ----------
    ratio : float or None
        ``|after - before| / |before|``; None where the weights are all zero and there is nothing to compare with.
    advice : {"raise", "keep", "lower"}
        What to do with the step size.
    words : str
        The same in a sentence.
    """

    ratio: float | None
    advice: str
    words: str


def monitor_updates(before: Any, after: Any, *, band: tuple[float, float] = BAND) -> dict[str, UpdateAdvice]:
    """Compare the sizes of updates with those of weights, layer by layer.

    Parameters
    ----------
    before, after : dict of str to array, sequence of arrays, or array
        Weights before and after an update. A sequence is numbered from 0; one array is one layer called ``"0"``.
    band : tuple of float
        Ratios that are well: below the first the step may be raised, above the second it should be lowered.

    Returns
    -------
    dict of str to UpdateAdvice
        One for each layer.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.optimize import monitor_updates
    >>> monitor_updates({"first": np.array([3.0, 4.0])}, {"first": np.array([3.0, 4.5])})["first"].ratio
    0.1
    """
    low, high = band
    if not 0 <= low < high:
        raise InvalidParameter(f"band must hold two numbers 0 <= low < high, got {band!r}.")
    old, new = _layers(before), _layers(after)
    if old.keys() != new.keys():
        raise InvalidParameter(f"The layers differ: {', '.join(old)} before, {', '.join(new)} after.")
    return {name: _judge(name, old[name], new[name], low, high) for name in old}


def ratio_of(before: Any, after: Any) -> float | None:
    """Return the length of a change relative to that of the weights; None where those are zero."""
    size = float(np.linalg.norm(before))
    return float(np.linalg.norm(np.asarray(after) - before)) / size if size > 0 else None


def judge(ratio: float | None, low: float, high: float) -> str:
    """Say what a ratio suggests."""
    if ratio is None:
        return "keep"
    return "raise" if ratio < low else "lower" if ratio > high else "keep"


def _judge(name: str, before: Any, after: Any, low: float, high: float) -> UpdateAdvice:
    if np.shape(before) != np.shape(after):
        raise InvalidParameter(f"Layer {name} has shape {np.shape(before)} before and {np.shape(after)} after.")
    ratio = ratio_of(before, after)
    advice = judge(ratio, low, high)
    if ratio is None:
        return UpdateAdvice(None, advice, f"layer {name}: the weights are zero, so no ratio tells anything yet")
    side = {"raise": f"below {low:g}", "keep": f"between {low:g} and {high:g}", "lower": f"above {high:g}"}[advice]
    return UpdateAdvice(
        ratio, advice, f"layer {name}: updates are {ratio:.2g} of the weights, {side}: {advice} the step"
    )


def _layers(given: Any) -> dict[str, Any]:
    if isinstance(given, Mapping):
        return {str(name): np.asarray(layer, dtype=np.float64) for name, layer in given.items()}
    if isinstance(given, list | tuple) and any(np.ndim(layer) for layer in given):
        return {str(i): np.asarray(layer, dtype=np.float64) for i, layer in enumerate(given)}
    return {"0": np.asarray(given, dtype=np.float64)}
