"""Networks of dense layers: a number of passes, and a share of mistakes that both must stay below."""

from __future__ import annotations

import warnings
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.problems._problem import Data, Problem, model_of
from benchmarks.problems.likelihood import labels

if TYPE_CHECKING:
    from collections.abc import Callable


def clusters(rng: np.random.Generator, n: int, p: int, classes: int) -> Data:
    """Draw classes about centres of their own, two for each, so that planes alone do not tell them apart."""
    centres = 2.0 * rng.standard_normal((2 * classes, p)) / np.sqrt(p)
    which = rng.integers(2 * classes, size=n)
    return Data(centres[which] + 0.5 * rng.standard_normal((n, p)) / np.sqrt(p) * 2, which % classes)


def trained(library: str, params: dict[str, Any]) -> Callable[[Any, Any], float] | None:
    """Mistakes above the share that counts as learnt."""
    if library == "qed" and find_spec("torch") is None:
        return None
    network = model_of(library, "neural_network", "MLPClassifier")

    def mistaken(X: Any, y: Any) -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that passes have come to their number
            return max(0.0, 1.0 - network(**params["network"]).fit(X, y).score(X, y) - params["learnt"])

    return mistaken


def row(name: str, title: str, shape: tuple[int, int], make: object, learnt: float, **network: object) -> Problem:
    params = {"learnt": learnt, "network": {"random_state": 0, **network}}
    scales = (shape[0] > 5_000, False)
    return Problem(
        name,
        title,
        shape,
        make,  # type: ignore[arg-type]
        "MLPClassifier",
        params,
        "workflow",
        scales=scales,
        run=trained,
        expected=lambda _data, _params: [0.0],
    )


THREE, TEN = partial(clusters, classes=3), partial(clusters, classes=10)
PROBLEMS = (
    row("network-tiny", "MLPClassifier 100×5", (100, 5), labels, 0.5),
    row("network-iris", "MLPClassifier 150×4, 3 classes", (150, 4), THREE, 0.6),
    row("network-small", "MLPClassifier 1000×20", (1_000, 20), labels, 0.3),
    row("network-digits", "MLPClassifier 1797×64, 10 classes", (1_797, 64), TEN, 0.4),
    row("network-tall", "MLPClassifier 20000×50, 10 passes", (20_000, 50), labels, 0.3, max_iter=10),
    row(
        "network-all-rows",
        "MLPClassifier 20000×50, lbfgs, 20 steps",
        (20_000, 50),
        labels,
        0.3,
        max_iter=20,
        solver="lbfgs",
    ),
)
