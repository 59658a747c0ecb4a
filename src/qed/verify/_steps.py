"""Greedy steps, checked: every set of columns that a step could have taken is fitted and scored again, one by one."""

from __future__ import annotations

from typing import Any

import numpy as np

from qed.core import CertificateError, clone
from qed.verify._names import called

__all__ = ["check_steps"]

TIE = 1e-9  # scores nearer than this share of their size are the same, rounded differently
Array = np.ndarray[Any, Any]


def check_steps(model: Any, X: Any, y: Any, sample_weight: Any) -> float:
    """Check that each step took the best column, and that the kept columns are those of the steps."""
    rows = model._new_data(X)  # noqa: SLF001
    targets, p = None if y is None else np.asarray(y), rows.shape[1]
    weight = None if sample_weight is None else np.asarray(sample_weight)
    folds, scorer = model._folds(rows, targets), model._scorer()  # noqa: SLF001
    order, scores = model.order_.tolist(), model.scores_.tolist()
    grows = model.direction == "forward"
    kept = set(order) if grows else set(range(p)) - set(order)
    if (
        kept != set(np.flatnonzero(model.support_).tolist())
        or len(order) != len(set(order))
        or len(scores) != len(order)
    ):
        _refuse(model, "keeps other columns than its steps lead to")
    wish = model.n_features_to_select
    if not isinstance(wish, str) or model.tol is None:
        half = p // 2 if grows else p - p // 2
        count = half if isinstance(wish, str) else int(p * wish) if isinstance(wish, float) else int(wish)
        if len(kept) != count:
            _refuse(model, f"keeps {len(kept)} columns, and {count} were asked for")

    def score(columns: list[int]) -> float:
        found = []
        for train, test in folds:
            one = clone(model.estimator)
            extra = {} if weight is None else {"sample_weight": weight[train]}
            part, held = rows[train][:, columns], rows[test][:, columns]
            if targets is None:
                found.append(scorer(one.fit(part, **extra), held))
            else:
                found.append(scorer(one.fit(part, targets[train], **extra), held, targets[test]))
        return float(np.mean(found))

    off, touched = 0.0, set[int]()
    for column, stated in zip(order, scores, strict=True):
        trials = {}
        for other in sorted(set(range(p)) - touched):
            changed = touched | {other}
            trials[other] = score(sorted(changed if grows else set(range(p)) - changed))
        slack = TIE * (1 + max(abs(value) for value in trials.values()))
        best = max(trials, key=lambda other: trials[other])
        if not abs(trials[column] - stated) <= slack:
            _refuse(
                model, f"states a score of {stated:.10g} with {called(model, column)}, and it is {trials[column]:.10g}"
            )
        if trials[best] > trials[column] + slack:
            _refuse(
                model,
                f"took {called(model, column)}, which scores {trials[column]:.10g}, and {called(model, best)} scores"
                f" {trials[best]:.10g}",
            )
        off = max(off, abs(trials[column] - stated))
        touched.add(column)
    return off


def _refuse(model: Any, words: str) -> None:
    raise CertificateError(
        f"{type(model).__name__} {words}. The model was changed, the data are others, or the folds are cut at random without a"
        " seed."
    )
