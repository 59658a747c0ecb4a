"""The shape of a problem: sizes, seed, task; and how its data travel to the workers."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

SEED = 7
SAMPLED = 50


def sample(n: int) -> np.ndarray:
    """Return the rows that are compared, spread over all."""
    return np.linspace(0, n - 1, SAMPLED).astype(np.intp)


def model_of(library: str, home: str, name: str) -> Any:
    """Return a class of a library that names its packages and classes as scikit-learn does; "sklearn:arpack" finds eigenvectors
    so.
    """
    library, _, solver = library.partition(":")
    kind = getattr(import_module(f"{library}.{home}"), name)
    return partial(kind, **{SOLVER[name]: solver}) if solver else kind


SOLVER = {"PCA": "svd_solver", "TruncatedSVD": "algorithm", "KernelPCA": "eigen_solver"}


@dataclass(frozen=True)
class Data:
    X: Any  # ndarray or scipy CSR array
    y: np.ndarray

    def save(self, folder: Path) -> None:
        parts = {"y": self.y}
        if isinstance(self.X, np.ndarray):
            parts["X"] = self.X
        else:
            parts |= {
                "data": self.X.data,
                "indices": self.X.indices,
                "indptr": self.X.indptr,
                "shape": np.array(self.X.shape),
            }
        for name, part in parts.items():
            np.save(folder / f"{name}.npy", part)

    def touch(self) -> None:
        """Read every number once."""
        for part in (self.X, self.y) if isinstance(self.X, np.ndarray) else (self.X.data, self.X.indices, self.y):
            if part.dtype.kind in "biuf":
                part.max(initial=0)

    @classmethod
    def load(cls, folder: Path) -> Data:
        def part(name: str) -> np.ndarray:
            loaded: np.ndarray = np.load(folder / f"{name}.npy")
            return loaded

        if (folder / "X.npy").exists():
            return cls(part("X"), part("y"))
        from scipy.sparse import csr_array

        return cls(csr_array((part("data"), part("indices"), part("indptr")), shape=tuple(part("shape"))), part("y"))


@dataclass(frozen=True)
class Problem:
    name: str
    title: str
    shape: tuple[int, int]
    make: Callable[[np.random.Generator, int, int], Data]
    task: str  # a model, for "score" a function of the metrics, for "workflow" a transformer or a way to use models
    params: dict[str, Any] = field(default_factory=dict)
    measure: Literal["fit", "predict", "process", "score", "workflow"] = "fit"
    is_sparse: bool = False
    scales: tuple[bool, bool] = (True, False)  # which sides shrink under --scale
    holder: Literal["array", "objects", "polars", "texts", "dicts"] = "array"  # what a workflow gets its table in
    judged_at: float | None = None  # the strength that a model which chooses one should have chosen
    # Of a workflow that libraries offer under the same names: from the name of the library and the parameters, a function of
    # table and target to time (None where it lacks what it needs); and what it should return, by definition.
    run: Callable[[str, dict[str, Any]], Callable[[Any, Any], Any] | None] | None = None
    expected: Callable[[Data, dict[str, Any]], Any] | None = None
    peers: tuple[str, ...] = ()  # rivals, beside those with scikit-learn's names, whose package `run` knows
    is_ceiling: bool = False  # whether a result below the expected one is as good
    reference: str | None = None  # a rival whose results for other seeds say what is expected,
    same_seed: bool = False  # or its result for the same one

    def data(self, scale: float = 1.0) -> Data:
        n, p = (
            max(8, round(side * scale)) if shrinks else side
            for side, shrinks in zip(self.shape, self.scales, strict=True)
        )
        return self.make(np.random.default_rng(SEED), n, p)


STUDENT = 3.747  # of the t distribution with four degrees of freedom, 99 % lie below


def no_surprise(errors: list[float]) -> list[float]:
    """The largest error that one more seed of the same method surpasses once in a hundred times.

    Errors of forests vary with the seed: on 500 rows by about one in a hundred, so that of two equally good libraries one looks
    worse by chance. This is the upper end of the prediction interval for one more draw from the normal distribution that the
    errors of all seeds come from.
    """
    spread = float(np.std(errors, ddof=1))
    return [float(np.mean(errors)) + STUDENT * spread * (1 + 1 / len(errors)) ** 0.5]


def gaussian(rng: np.random.Generator, n: int, p: int, *, targets: int | None = None, dtype: type = np.float64) -> Data:
    """Independent columns, a third of them useful, unit noise, means away from zero."""
    X: Any = rng.standard_normal((n, p), dtype=np.float32).astype(dtype, copy=False)
    X += dtype(1.0)
    w = np.where(np.arange(p)[:, None] % 3 == 0, rng.standard_normal((p, targets or 1)), 0.0)
    y = X @ w.astype(dtype) + rng.standard_normal((n, targets or 1)).astype(dtype)
    return Data(X, y if targets else y[:, 0])
