"""Does an installed qed work at all? Run in an environment that holds the wheel and its dependencies, nothing else."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import qed
from qed.datasets import load_penguins
from qed.linear_model import LinearRegression


def main() -> None:
    """Fit, verify, save, load, tamper."""
    where = Path(qed.__file__)
    if "site-packages" not in where.parts:
        raise SystemExit(f"qed came from {where}, not from the installed wheel.")
    X, y = load_penguins(return_X_y=True)
    model = LinearRegression().fit(X, y)
    qed.verify(model, X, y)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.qed"
        model.save(path)
        again = qed.load(path)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    again.coef_ = 1.01 * again.coef_
    try:
        qed.verify(again, X, y)
    except qed.CertificateError as refusal:
        print(f"tampered model rejected: {refusal}")
    else:
        raise SystemExit("qed.verify accepted a tampered model.")
    qed.show_versions()


if __name__ == "__main__":
    main()
