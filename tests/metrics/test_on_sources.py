"""Scorers on sources: the score of the rows together, from tallies of chunks that are merged."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from clusters import two_workers
from hypothesis import given, settings
from hypothesis import strategies as st

import qed
from qed.core._errors import InvalidData
from qed.linear_model import LogisticRegression, PoissonRegressor
from qed.metrics import get_scorer, get_scorer_names
from qed.metrics._on_sources import merges
from qed.model_selection import cross_validate

N, NAMES = 400, list("abc")
RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(RNG.normal(size=(N, 3)), columns=NAMES)
TABLE["three"] = np.sort(RNG.integers(0, 3, N))  # most chunks lack a label
TABLE["two"] = (TABLE.a + RNG.normal(size=N) > 0).astype(int)
TABLE["count"] = np.exp(TABLE.a + 0.1 * RNG.normal(size=N))
TABLE["weight"] = RNG.random(N)
MODELS = {
    target: (PoissonRegressor(alpha=0.1) if target == "count" else LogisticRegression()).fit(
        TABLE[NAMES], TABLE[target]
    )
    for target in ("three", "two", "count")
}


def source(target, weight=None, cuts=(1, 150)):
    edges = [0, *sorted(cuts), N]
    parts = [TABLE[a:b] for a, b in pairwise(edges)]
    return qed.scan(parts, target=target, features=NAMES, weight=weight)


def of_rows(scorer, target, weight):
    """Return the score of all rows together; None where it has none for such a target, or takes no weights."""
    given_weight = {} if weight is None else {"sample_weight": TABLE[weight]}
    try:
        return scorer(MODELS[target], TABLE[NAMES], TABLE[target], **given_weight)
    except (ValueError, TypeError, AttributeError):
        return None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize("target", MODELS)
@pytest.mark.parametrize("name", get_scorer_names())
def test_every_scorer_gives_the_score_of_all_rows(name, target, weight):
    scorer = get_scorer(name)
    is_extreme = name == "neg_max_error"  # of which weights change nothing, unless they are zero
    wanted = of_rows(scorer, target, None if is_extreme else weight)
    if wanted is None:
        with pytest.raises((ValueError, TypeError, AttributeError)):
            scorer(MODELS[target], source(target, weight), None)
        return
    np.testing.assert_allclose(scorer(MODELS[target], source(target, weight), None), wanted, rtol=1e-10, atol=1e-12)


@settings(max_examples=20, deadline=None)
@given(
    cuts=st.lists(st.integers(0, N), max_size=6), name=st.sampled_from(["neg_log_loss", "roc_auc", "r2", "f1_macro"])
)
def test_cuts_do_not_matter(cuts, name):
    found = get_scorer(name)(MODELS["two"], source("two", "weight", cuts), None)
    np.testing.assert_allclose(found, of_rows(get_scorer(name), "two", "weight"), rtol=1e-10)


def test_tallies_are_merged_on_a_cluster():
    rows = source("two", "weight", range(20, N, 20))
    for name in ("accuracy", "neg_log_loss", "roc_auc"):
        here = get_scorer(name)(MODELS["two"], rows, None)
        with qed.executor(two_workers()):
            assert get_scorer(name)(MODELS["two"], rows, None) == here


def test_cross_validation_of_a_source_uses_them():
    found = cross_validate(LogisticRegression(), source("two"), cv=3, scoring=["neg_log_loss", "roc_auc"])
    wanted = cross_validate(LogisticRegression(), TABLE[NAMES], TABLE["two"], cv=3, scoring=["neg_log_loss", "roc_auc"])
    for name in ("test_neg_log_loss", "test_roc_auc"):
        np.testing.assert_allclose(found[name], wanted[name], rtol=1e-4)  # each fit is within its own gap
    scorer = get_scorer("roc_auc")
    assert merges(scorer.score, MODELS["two"], scorer.options)
    assert not merges(scorer.score, MODELS["three"], scorer.options)


def test_a_source_without_a_target_has_no_score():
    with pytest.raises(InvalidData, match=r"needs a target"):
        get_scorer("accuracy")(MODELS["two"], qed.scan(TABLE, features=NAMES), None)
