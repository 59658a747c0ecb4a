"""Rows that models are attacked with, and what tells that one was rejected."""

from __future__ import annotations

import numpy as np
import pytest

import qed
from qed.compose import Pipeline
from qed.linear_model import Ridge
from qed.preprocessing import StandardScaler

rng = np.random.default_rng(1)
X = rng.normal(size=(60, 4))
number = X @ rng.normal(size=4) + 0.5 * rng.normal(size=60)
coin = np.where(number > 0, "yes", "no")
three = np.digitize(number, np.quantile(number, [1 / 3, 2 / 3]))
weight = rng.random(60) + 0.1
words = rng.choice(list("abc"), size=(60, 2)).astype(object)


def through_file(model, tmp_path):
    model.save(tmp_path / "model.qed")
    return qed.load(tmp_path / "model.qed")


def refused(model, *data, match=None):
    with pytest.raises(qed.CertificateError, match=match):
        qed.verify(model, *data)


def pipe():
    return Pipeline([("s", StandardScaler()), ("r", Ridge())]).fit(X, number)
