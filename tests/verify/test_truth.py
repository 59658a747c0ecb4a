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


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("family", "seed"),
    [
        ("trees", 913977020254),  # equal targets: a mean of forty digits made them differ
        ("trees", 913977028424),
        ("clusters", 396744263028),  # rows about a mean that was rounded: their variance is larger
        ("likelihoods", 396744271101),  # an axis that varies less than the stated rounding is left out
        ("likelihoods", 396744277253),  # products with weights below the normal numbers
    ],
)
def test_what_fuzzing_found_false_is_not(family, seed):
    judged = list(FAMILIES[family](seed))
    assert judged
    assert not [one for one in judged if one.is_false]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_covariances_beyond_float64_are_refused_in_words():
    assert not list(FAMILIES["likelihoods"](197548565070))  # no fit, and no error of NumPy
