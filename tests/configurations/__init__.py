"""Models in many configurations, each with rows to fit it on: what the batteries of the checker go through.

Every public class is in by itself, with its default instance and with every layout, target and weight that its traits allow;
the modules beside this one add parameters that lead through other code, and models of models.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tests.configurations._composites import composites, studies
from tests.configurations._configuration import LAYOUTS, Configuration, Data, asked_rows, takes_weights
from tests.configurations._on_sources import on_sources
from tests.configurations._predictors import linear, others
from tests.configurations._preprocessing import encoders, scalers, selectors, texts
from tests.configurations._unsupervised import clusters, embeddings, factors, mixtures, pairs, sparse_factors
from tests.instances import instance, lacks

import qed

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Configuration", "Data", "configurations", "varied"]


def _given() -> dict[str, list[Configuration]]:
    """Return further configurations by class: parameters that lead through other code, and models of models."""
    rows: dict[str, list[Configuration]] = {}

    def add(make: Callable[[], Any], **how: Any) -> None:
        one = Configuration(make, **how)
        rows.setdefault(one.kind, []).append(one)

    scalers(add)
    encoders(add)
    texts(add)
    linear(add)
    others(add)
    clusters(add)
    mixtures(add)
    embeddings(add)
    factors(add)
    pairs(add)
    sparse_factors(add)
    selectors(add)
    composites(add)
    on_sources(add)
    studies(add)
    return rows


def configurations() -> list[Configuration]:
    """Return all configurations: every public class with its default instance, and those given above."""
    given, found = _given(), []
    for name, kind in qed.all_estimators():
        if lacks(kind.__module__) is None:
            found.append(Configuration(lambda kind=kind: instance(kind)))
        found += given.pop(name, [])
    if given:
        raise AssertionError(f"configurations of classes that qed does not have: {sorted(given)}")
    return found


def varied(one: Configuration, rng: Any) -> Configuration:
    """Return a configuration in another layout, with other weights or another target, as its traits allow."""
    model = one.make()
    traits = model._traits()
    if one.options or one.layout == "source":
        return one
    layout, weight, target = one.layout, one.weight, one.target
    rows = one.rows or asked_rows(traits)
    if layout == "array" and rows in ("numbers", "rounded", "positive", "column"):
        allowed = [one for one in LAYOUTS if one[:2] != "cs" or traits.sparse]
        layout = str(rng.choice(allowed))
    if takes_weights(model) and (traits.table or traits.target):
        weight = str(rng.choice(["", "counts", "wide"]))
    if (
        traits.target == "label"
        and traits.multi_class
        and target in ("", "two", "three", "integers")
        and traits.single_output
    ):
        target = str(rng.choice(["two", "three", "integers"]))
    return replace(one, layout=layout, weight=weight, target=target)
