"""What a verdict says: columns by their names, and no objective where there is none."""

import numpy as np
import pandas as pd
import pytest

import qed
from qed.core import CertificateError
from qed.linear_model import Lasso, Perceptron
from qed.preprocessing import StandardScaler

rng = np.random.default_rng(0)
FRAME = pd.DataFrame(rng.normal(size=(40, 3)), columns=["age", "height", "weight"])
Y = FRAME["age"].to_numpy() - FRAME["weight"].to_numpy()


def test_other_rows_are_told_by_the_name_of_the_column():
    model = Lasso(0.1).fit(FRAME, Y)
    with pytest.raises(CertificateError, match="They differ in column 'height'"):
        qed.verify(model, FRAME.assign(height=FRAME["height"] + 1), Y)
    scaler = StandardScaler().fit(FRAME)
    scaler.mean_ = scaler.mean_ + np.array([0.0, 0.0, 1.0])
    with pytest.raises(CertificateError, match="for column 'weight', and the rows give"):
        qed.verify(scaler, FRAME)
    plain = Lasso(0.1).fit(FRAME.to_numpy(), Y)
    with pytest.raises(CertificateError, match="They differ in column 1"):
        qed.verify(plain, FRAME.to_numpy() + np.array([0.0, 1.0, 0.0]), Y)


def test_verdicts_speak_of_what_was_measured():
    assert "objective" in str(qed.verify(Lasso(0.1).fit(FRAME, Y), FRAME, Y))
    labels = Y > 0
    mistakes = str(qed.verify(Perceptron(random_state=0).fit(FRAME, labels), FRAME, labels))
    assert "mistakes" in mistakes
    assert "objective" not in mistakes
    assert "objective" not in str(qed.verify(StandardScaler().fit(FRAME), FRAME))
