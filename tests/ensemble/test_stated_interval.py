"""The interval of a forest is the one that follows from its error: a wider one would be true, and is no longer what was proved."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import qed
from qed.ensemble import ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor

X = np.random.default_rng(0).normal(size=(60, 3))
z = X[:, 0] + np.random.default_rng(1).normal(size=60) / 3


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (ExtraTreesRegressor(5, random_state=0), z),
        (RandomForestRegressor(5, random_state=0), z),
        (RandomForestClassifier(5, random_state=0), z > 0),
    ],
)
@pytest.mark.parametrize("end", ["low", "high"])
def test_another_interval_is_rejected(model, y, end):
    model.fit(X, y)
    assert qed.verify(model, X, y).holds
    stated = model.certificate_
    for moved in (-1e-3, 1e-3):
        model.certificate_ = replace(stated, **{end: max(getattr(stated, end) + moved, 0.0)})
        if model.certificate_ != stated:
            with pytest.raises(qed.CertificateError, match=r"interval|no fit produces|error"):
                qed.verify(model, X, y)
