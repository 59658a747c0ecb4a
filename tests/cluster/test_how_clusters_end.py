"""Whether a fit of clusters came to its end: by numbers that the checker computes, or held to the rounds that were made."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

import qed
from qed.cluster import AffinityPropagation, KMeans

X = np.random.default_rng(2).normal(size=(80, 3))


def ended_early(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X)


def test_centres_that_are_not_at_rest_have_not_reached_whatever_the_outcome_says():
    model = ended_early(KMeans(5, n_init=1, max_iter=1, random_state=0))
    model.certificate_ = replace(model.certificate_, outcome="solved")
    assert not model.certificate_.reached
    model.certificate_ = replace(model.certificate_, drift=0.0)
    with pytest.raises(qed.CertificateError):  # the checker computes the drift again
        qed.verify(model, X)


def test_a_rounding_that_no_sum_has_is_not_believed():
    model = KMeans(5, n_init=1, random_state=0).fit(X)
    model.certificate_ = replace(model.certificate_, rounding=1.0)
    with pytest.raises(qed.CertificateError, match="rounding"):
        qed.verify(model, X)


def test_centres_at_rest_have_reached():
    certificate = KMeans(5, n_init=1, random_state=0).fit(X).certificate_
    assert certificate.reached
    assert certificate.drift**2 <= certificate.tol * certificate.null_objective


@pytest.mark.parametrize("rounds", [1, 30])
def test_messages_that_ran_out_of_rounds_did_not_settle(rounds):
    model = ended_early(AffinityPropagation(max_iter=rounds, random_state=0))
    assert model.certificate_.outcome == "max_iter"
    assert qed.verify(model, X).holds
    model.certificate_ = replace(model.certificate_, outcome="solved")
    with pytest.raises(qed.CertificateError, match="rounds"):
        qed.verify(model, X)


def test_messages_that_settle_in_the_last_round_are_told_as_not_settled():
    model = AffinityPropagation(random_state=0).fit(X)
    assert model.certificate_.outcome == "solved"
    last = ended_early(AffinityPropagation(max_iter=model.n_iter_, random_state=0))
    assert last.certificate_.outcome == "max_iter"
    assert qed.verify(last, X).holds


@pytest.mark.parametrize(("outcome", "rounds"), [("nonsense", None), ("solved", 1)])
def test_an_end_that_no_fit_has_is_rejected(outcome, rounds):
    X = np.random.default_rng(1).normal(size=(40, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = AffinityPropagation(max_iter=30).fit(X)
    model.certificate_ = replace(model.certificate_, outcome=outcome)
    model.n_iter_ = model.n_iter_ if rounds is None else rounds
    with pytest.raises(qed.CertificateError, match="rounds"):
        qed.verify(model, X)
