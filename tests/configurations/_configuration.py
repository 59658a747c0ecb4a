"""A model to fit, and the rows to fit it on."""

from __future__ import annotations

import inspect
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp

from qed import (
    feature_selection,
)
from qed.data import ArraySource

if TYPE_CHECKING:
    from collections.abc import Callable

LAYOUTS = ("array", "fortran", "float32", "csr", "csc", "pandas", "polars")
WORDS = ("ant", "bee", "cat", "dog", "emu")


class Data(NamedTuple):
    """Rows of a fit, and further rows of the same kind."""

    X: Any
    y: Any
    weight: Any
    fresh: Any


@dataclass(frozen=True)
class Configuration:
    """An unfitted model, and what it is fitted on.

    Attributes
    ----------
    make : callable
        Makes the unfitted model.
    rows : str
        What X holds: numbers, counts, gaps, words, dates, texts, labels, sets, dicts, pairs, column (of numbers, alone);
        empty for what the traits of the model ask for.
    target : str
        What y holds: number, several, positive, two, three, integers, indicator, columns (of labels); empty for what the traits
        ask for.
    layout : str
        One of ``LAYOUTS``, or source: rows in chunks, which bring targets (numbers of labels) and weights.
    weight : str
        Weights of the rows: empty for none, counts, wide (over 14 orders of magnitude).
    options : dict
        Further arguments of ``fit``, by name; each is called with the weights.
    """

    make: Callable[[], Any]
    rows: str = ""
    target: str = ""
    layout: str = "array"
    weight: str = ""
    options: dict[str, Callable[[Any], Any]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The model, and what differs from plain rows of numbers."""
        told = " ".join(filter(None, (self.rows, self.target, self.layout.replace("array", ""), self.weight)))
        shown = " ".join(repr(self.make()).split())
        return f"{shown:.150} [{told}]" if told else f"{shown:.150}"

    @property
    def kind(self) -> str:
        """The name of the class."""
        return type(self.make()).__name__

    def data(self, seed: int, n: int = 40, *, scale: float = 1.0) -> Data:
        """Return rows of a seed; ``scale`` is the spread of columns and offsets in orders of magnitude."""
        rng = np.random.default_rng(seed)
        model = self.make()
        traits = model._traits()
        rows = self.rows or asked_rows(traits)
        if rows in ("texts", "labels", "sets", "dicts", "pairs"):
            return Data(_loose(rng, n, rows), None, None, _loose(rng, n, rows))
        X, score = _table(rng, 2 * n, rows, scale)
        y = _target(rng, score, self.target or _asked_target(model, traits))
        X = laid_out(X, self.layout)
        weight = _weights(rng, n, self.weight)
        if self.layout == "source":
            return Data(_source(X[:n], None if y is None else y[:n], weight), None, None, X[n:])
        return Data(cut(X, slice(0, n)), None if y is None else y[:n], weight, cut(X, slice(n, 2 * n)))

    def fitted(self, data: Data) -> Any:
        """Return a model fitted on rows; what a fit warns about is no matter here."""
        model = self.make()
        options = {name: given(data.weight) for name, given in self.options.items()}
        if data.weight is not None and not options:
            options["sample_weight"] = data.weight
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if data.y is None:
                return model.fit(data.X, **options)
            return model.fit(data.X, data.y, **options)


def asked_rows(traits: Any) -> str:
    if not traits.table and traits.target:
        return "column"
    if not traits.table:
        if traits.mappings:
            return "dicts"
        return "labels" if traits.labels_only else "texts" if traits.strings else "sets"
    return "words" if traits.categorical and traits.transforms else "counts" if traits.positive_only else "numbers"


def _asked_target(model: Any, traits: Any) -> str:
    if not traits.single_output:
        return "several" if traits.target == "number" else "indicator"
    if traits.target == "number" or isinstance(model, feature_selection.SequentialFeatureSelector):
        return "positive" if traits.positive_target else "number"
    looks = traits.target or hasattr(model, "score_func")
    return "two" if looks else ""


def _loose(rng: Any, n: int, rows: str) -> Any:
    words = np.array(WORDS)
    if rows == "texts":
        return [" ".join(rng.choice(words, int(rng.integers(1, 7)))) for _ in range(n - 1)] + [" ".join(WORDS)]
    if rows == "labels":
        return [*WORDS[:4], *rng.choice(words[:4], n - 4).tolist()]
    if rows in ("dicts", "pairs"):
        made = [_mapping(rng, words) for _ in range(n - 1)] + [dict.fromkeys(WORDS, 1.0) | {"legs": "ant"}]
        return made if rows == "dicts" else [[(name, 1.5) for name in row] for row in made]
    return [set(rng.choice(words, int(rng.integers(1, 4))).tolist()) for _ in range(n - 1)] + [set(WORDS)]


def _mapping(rng: Any, words: Any) -> dict[str, Any]:
    """Return names with numbers, and one with a word."""
    names = rng.choice(words, int(rng.integers(1, 4)), replace=False).tolist()
    return {**{name: float(rng.normal()) for name in names}, "legs": str(rng.choice(words))}


def _table(rng: Any, n: int, rows: str, scale: float) -> tuple[Any, Any]:
    """Return a table, and a number of each row that its target depends on."""
    base = rng.normal(size=(n, 4))
    score = base @ np.array([1.0, -1.5, 0.7, 0.3]) + 0.6 * rng.normal(size=n)
    if rows == "words":
        codes = np.clip(np.floor(base[:, :3] * 1.3 + 2), 0, 4).astype(int)
        codes[:5], codes[n // 2 : n // 2 + 5] = np.arange(5)[:, None], np.arange(5)[:, None]
        return np.array(WORDS, dtype=object)[codes], score
    if rows == "dates":
        days = np.datetime64("2020-01-01") + np.floor(base[:, :2] * 300).astype("timedelta64[D]")
        return days.astype(str).astype(object), score
    if rows == "counts":
        X = np.floor(2 * np.abs(base))
        X[0] = X[n // 2] = X.max(axis=0)  # every category occurs in both halves
        return X, score
    X = base * 10.0 ** rng.uniform(-scale, scale, 4) + rng.normal(size=4) * 10.0 ** rng.uniform(-scale, scale, 4)
    if rows == "gaps":
        X = np.where(rng.random(X.shape) < 0.15, np.nan, X)
        X[:, 3] = np.where(np.isnan(X[:, 3]), 0.5, X[:, 3])  # one column without gaps
    elif rows == "rounded":
        X = np.round(base)
    elif rows == "positive":
        X = np.exp(base / 2)
    elif rows == "column":
        X = X[:, :1]
    return X, score


def _target(rng: Any, score: Any, kind: str) -> Any:  # noqa: PLR0911  one line for each kind
    if kind == "number":
        return score
    if kind == "several":
        return np.column_stack([score, rng.normal(size=len(score)) - score])
    if kind == "positive":
        return np.floor(np.exp(score / 2))
    if kind == "integers":
        return np.digitize(score, [-1.0, 1.0]) * 2
    if kind == "two":
        return np.where(score > 0, "yes", "no")
    if kind == "three":
        return np.array(["low", "middle", "top"])[np.digitize(score, [-1.0, 1.0])]
    if kind == "columns":
        return np.column_stack([_target(rng, score, "three"), _target(rng, score + rng.normal(size=len(score)), "two")])
    if kind == "indicator":
        return np.column_stack([score > 0, score + rng.normal(size=len(score)) > 0.3]).astype(int)
    return None


def _weights(rng: Any, n: int, kind: str) -> Any:
    if not kind:
        return None
    return rng.integers(0, 4, n).astype(float) if kind == "counts" else 10.0 ** rng.uniform(-7, 7, n)


def laid_out(X: Any, layout: str) -> Any:
    """Return a table in another container."""
    names = [f"c{j}" for j in range(X.shape[1])]
    if layout == "pandas":
        return pd.DataFrame(X, columns=names)
    if layout == "polars":
        return pl.DataFrame({name: X[:, j].tolist() for j, name in enumerate(names)})
    if layout in ("csr", "csc"):
        X = np.where(np.abs(X - np.nanmean(X, axis=0)) < 0.5 * np.nanstd(X, axis=0), 0.0, X)
        return sp.csr_array(X) if layout == "csr" else sp.csc_matrix(X)
    if layout == "float32":
        return X.astype(np.float32)
    return np.asfortranarray(X) if layout == "fortran" else X


def cut(X: Any, rows: slice) -> Any:
    """Return some rows of any container."""
    if isinstance(X, pd.DataFrame):
        return X.iloc[rows].reset_index(drop=True)
    return X.tocsr()[rows] if sp.issparse(X) and X.format != "csr" else X[rows]


def _source(X: Any, y: Any, weight: Any) -> ArraySource:
    if y is not None and y.dtype.kind == "U":
        y = np.unique(y, return_inverse=True)[1].astype(float)
    return ArraySource(X, y, weight, chunk_rows=9)


def takes_weights(model: Any) -> bool:
    """Tell whether a model can be fitted with weights."""
    return "sample_weight" in inspect.signature(model.fit).parameters
