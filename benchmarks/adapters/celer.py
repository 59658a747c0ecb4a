"""celer. Set QED_BENCH_CELER to a Python that has it when this one does not."""

from __future__ import annotations

from typing import Any

import numpy as np

NAME = "celer"


def versions() -> dict[str, str]:
    from importlib.metadata import version

    return {"celer": version("celer")}


def estimator(task: str, *, sparse: bool = False, **params: Any) -> Any:
    import celer

    del sparse  # it takes both kinds of designs
    if task == "GroupLasso":
        return _Grouped(params)
    # its LassoCV and ElasticNetCV pass scikit-learn a parameter that is no longer there
    kind = getattr(celer, task, None) if task in ("Lasso", "ElasticNet") else None
    return None if kind is None else kind(**params)


class _Grouped:
    """Its group lasso with our weights, which it wants to know before it has seen the columns."""

    def __init__(self, params: dict[str, Any]) -> None:
        self.params = params

    def fit(self, X: Any, y: Any) -> Any:
        import celer

        size = self.params["groups"]
        weights = np.full(X.shape[1] // size, np.sqrt(size))
        return self._told(celer.GroupLasso(weights=weights, **self.params).fit(X, y))

    def _told(self, model: Any) -> Any:
        self.coef_, self.intercept_ = model.coef_, model.intercept_
        return self


def score(_: str) -> Any:
    return None  # it has no scores
