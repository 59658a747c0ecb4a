"""numpy.linalg.lstsq on centred data: what a careful person writes by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

NAME = "numpy lstsq"


def versions() -> dict[str, str]:
    return {"numpy": np.__version__}


class Lstsq:
    def fit(self, X: Any, y: Any) -> Lstsq:
        mean_x, mean_y = X.mean(axis=0), y.mean(axis=0)
        w = np.linalg.lstsq(X - mean_x, y - mean_y, rcond=None)[0]
        self.coef_ = w.T
        self.intercept_ = mean_y - mean_x @ w
        return self

    def predict(self, X: Any) -> Any:
        return X @ self.coef_.T + self.intercept_


def estimator(task: str, *, sparse: bool = False, **params: Any) -> Any:
    return Lstsq() if task == "LinearRegression" and not sparse and not params else None


def score(_: str) -> Any:
    return None  # it predicts, and scores nothing
