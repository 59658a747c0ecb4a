"""Changed models are refused: some changes of every class. ``tools/fuzz_tamper.py`` goes on for as long as it is told."""

from __future__ import annotations

import zlib
from dataclasses import replace

import numpy as np
import pytest
from tests.configurations import Configuration, configurations
from tests.verify.tampering import Change, Subject, changes, judged

import qed
from qed.certificates import ExactCertificate
from qed.linear_model import Ridge

ALL = [
    one for one in configurations() if one.kind not in ("BasisFunctions", "FunctionTransformer")
]  # these claim nothing
KINDS = sorted({one.kind for one in ALL})
SLOW = ("MLPClassifier", "MLPRegressor", "SequentialFeatureSelector")


@pytest.mark.parametrize("kind", KINDS)
def test_changed_models_are_refused(kind):
    own = [one for one in ALL if one.kind == kind]
    rng = np.random.default_rng(zlib.crc32(kind.encode()))
    found = []
    for k in rng.permutation(len(own))[: 1 if kind in SLOW else 2]:
        subject = Subject.of(own[int(k)], 3)
        listed = list(changes(subject, rng))
        for at, number in enumerate(rng.permutation(len(listed))[:12]):
            wrong = judged(subject, listed[number], through_a_file=at % 4 == 0)
            if wrong is not None:
                found.append(f"{own[int(k)].name}: {listed[number].words}: {wrong}")
    assert found == []


def test_the_battery_notices_what_is_accepted(monkeypatch):
    """A checker that accepts everything is found out, and what is declared not to matter is let pass."""
    subject = Subject.of(Configuration(Ridge), 3)
    monkeypatch.setattr(qed, "verify", lambda *_: None)
    place = (("attribute", "coef_"),)
    assert "answers otherwise" in str(
        judged(subject, Change(place, "flipped", -subject.model.coef_), through_a_file=False)
    )
    assert judged(subject, Change(place, "the same", subject.model.coef_.copy()), through_a_file=False) is None
    claim = (("attribute", "certificate_"), ("attribute", "objective"))
    assert "accepted" in str(judged(subject, Change(claim, "one more", 1e9), through_a_file=False))
    assert judged(subject, Change((("attribute", "n_iter_"),), "one more", 7), through_a_file=False) is None


def test_certificates_of_another_fit_are_compared_number_by_number(monkeypatch):
    """A whole certificate may be swapped: it is let pass where each number that differs is a weaker statement."""
    subject = Subject.of(Configuration(Ridge), 3)
    monkeypatch.setattr(qed, "verify", lambda *_: None)
    place, own = (("attribute", "certificate_"),), subject.model.certificate_
    assert judged(subject, Change(place, "weaker", replace(own, gap=2 * own.gap)), through_a_file=False) is None
    for other in (subject.donor.certificate_, ExactCertificate("anything", 40, 0.0)):
        assert "accepted" in str(judged(subject, Change(place, "another", other), through_a_file=False))
    assert qed.verify(subject.model) is None
    monkeypatch.undo()
    assert qed.verify.__module__ == "qed.verify"
