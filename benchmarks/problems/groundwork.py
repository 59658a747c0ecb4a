"""Tables described by directions and by groups."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.problems._problem import Data, Problem


def decaying(rng: np.random.Generator, n: int, p: int) -> Data:
    """Columns that a few directions explain well, turned so that no column is one of them."""
    strength = 1.0 / np.arange(1, p + 1)
    turn = np.linalg.qr(rng.standard_normal((p, p)))[0]
    return Data((rng.standard_normal((n, p)) * strength) @ turn + 3.0, np.zeros(n))


def row(name: str, title: str, shape: tuple[int, int], make: Any, task: str, **more: Any) -> Problem:
    return Problem(name, title, shape, make, task, measure="workflow", **more)


PROBLEMS = (
    row("pca-tiny", "PCA 100×5", (100, 5), decaying, "PCA", params={"n_components": 2}),
    row("pca-small", "PCA 1000×20", (1_000, 20), decaying, "PCA", params={"n_components": 5}),
    row("pca-tall", "PCA 1e5×50", (100_000, 50), decaying, "PCA", params={"n_components": 10}),
    row("pca-long", "PCA 1e6×10", (1_000_000, 10), decaying, "PCA", params={"n_components": 3}),
    row("pca-wide", "PCA 300×3000", (300, 3_000), decaying, "PCA", params={"n_components": 10}, scales=(False, False)),
    row("pca-square", "PCA 2000×2000", (2_000, 2_000), decaying, "PCA",
        params={"n_components": 10, "random_state": 0}),
)  # fmt: skip
