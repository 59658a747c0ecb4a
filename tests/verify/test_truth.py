"""No certificate of a public estimator is false: a few seeds of each family, compared with exact or brute-force truth."""

from __future__ import annotations

import pytest
from tests.truth import FAMILIES

SEEDS = {"convex": 60, "clusters": 40}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numbers at the ends of float64
@pytest.mark.parametrize("family", FAMILIES)
def test_no_certificate_is_false(family):
    judged = [one for seed in range(SEEDS.get(family, 80)) for one in FAMILIES[family](seed)]
    assert len(judged) > 60
    assert not [one for one in judged if one.is_false]


def test_covariances_over_the_range_of_float64_are_judged():
    judged = list(FAMILIES["densities"](985841799018))
    assert judged
    assert not [one for one in judged if one.is_false]
