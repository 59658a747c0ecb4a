"""Certificates of public estimators against the truth: exact rationals, enumeration, high precision.

Each module has ``cases(seed)``, which fits models on small random problems over the range of floating point and yields what their
certificates state beside what is true. The tests take a few seeds; ``tools/fuzz_truth.py`` takes as many as there is time for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.truth import (
    clusters,
    convex,
    densities,
    embeddings,
    least_squares,
    likelihoods,
    neighbours,
    structured,
    subsets,
    trees,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.truth.judged import Judged

__all__ = ["FAMILIES"]

FAMILIES: dict[str, Callable[[int], Iterator[Judged]]] = {
    module.__name__.rpartition(".")[2].replace("_", " "): module.cases
    for module in (
        least_squares,
        convex,
        structured,
        trees,
        subsets,
        clusters,
        neighbours,
        likelihoods,
        densities,
        embeddings,
    )
}
