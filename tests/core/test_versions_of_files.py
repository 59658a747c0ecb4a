"""Fields that records gained: files of earlier formats may lack them, files of the present one and models in memory may not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import qed
from qed.core._codec import Encoder
from qed.core._container import FORMAT, pieces
from qed.core._persistence import dumps, loads
from qed.core._records import UNSTATED
from qed.mixture import BernoulliMixture, GaussianMixture

GOLDEN = Path(__file__).parents[1] / "golden"
X = np.random.default_rng(4).normal(size=(60, 2))


def form(data: bytes) -> int:
    return int.from_bytes(data[8:12], "little")


def written(model: object, version: int) -> bytes:
    """Write a model in a format version, whatever it lacks."""
    encoder = Encoder()
    header = {"model": encoder.node(model, "model"), "qed": qed.__version__}
    return b"".join(pieces(header, encoder.arrays, version))


@pytest.mark.parametrize(
    "name", ["GaussianMixture", "BernoulliMixture", "BayesianGaussianMixture", "GaussianMixtureClassifier"]
)
def test_a_file_of_the_first_format_stays_one(name):
    data = (GOLDEN / f"0.1.0-{name}.qed").read_bytes()
    assert form(data) == 1 < FORMAT
    again = dumps(loads(data))
    assert form(again) == 1
    assert dumps(loads(again)) == again


@pytest.mark.parametrize("model", [GaussianMixture(2, random_state=0), BernoulliMixture(2, random_state=0)])
def test_only_the_first_format_may_lack_the_decomposition(model):
    rows = X if isinstance(model, GaussianMixture) else (X > 0).astype(float)
    model.fit(rows)
    assert form(dumps(model)) == FORMAT
    stated = model.certificate_
    model.certificate_ = replace(stated, decomposition=None)
    for one in (model, loads(dumps(model)), loads(written(model, 1))):
        with pytest.raises(qed.CertificateError, match="take the log-likelihood apart"):
            qed.verify(one, rows)
    model.certificate_ = replace(stated, decomposition=UNSTATED)
    assert form(dumps(model)) == 1
    for one in (model, loads(dumps(model))):  # format 1 cannot hold the decomposition: fit again
        with pytest.raises(qed.CertificateError, match="format 1"):
            qed.verify(one, rows)
    with pytest.raises(qed.ModelFileError, match="lacks the field 'decomposition'"):
        loads(written(model, FORMAT))
