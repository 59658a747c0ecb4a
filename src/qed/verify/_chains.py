"""Chains of models, checked: each model with the rows and the targets that came before its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import CertificateError, _tables
from qed.core._targets import as_target
from qed.verify._part import Part, weight_for
from qed.verify._refusals import refuse_changed
from qed.verify._rows import OtherData

if TYPE_CHECKING:
    from collections.abc import Iterator


def chain(model: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[Part]:
    """Yield the models in the order of the chain, each with the true targets before its own beside the rows."""
    if model.cv is not None:
        raise CertificateError(
            f"This {type(model).__name__} told its models predictions by folds, which are not stored. Fit with cv=None to verify,"
            " or verify its models one by one."
        )
    rows, _ = _tables.read(X, "X", model._traits(), type(model).__name__)  # noqa: SLF001
    target, parts = as_target(y, "y"), vars(model)["estimators_"]
    if target.ndim != 2 or len(target) != rows.shape[0] or len(parts) != target.shape[1]:
        raise OtherData(f"This {type(model).__name__} does not hold one model for each of these targets.")
    order = model.order_.tolist()
    count = target.shape[1]
    if isinstance(model.order, str):
        good = sorted(order) == list(range(count))
    else:
        good = order == (list(range(count)) if model.order is None else [int(one) for one in model.order])
    if not good:
        refuse_changed(model, f"goes through its targets in the order {order!r:.60}, and its parameters name another")
    if "chain_method_" in vars(model):
        listed = [model.chain_method] if isinstance(model.chain_method, str) else list(model.chain_method)
        usable = [one for one in listed if hasattr(model.estimator, one)]
        if not usable or model.chain_method_ != usable[0]:
            refuse_changed(
                model, f"tells later models the answers of {model.chain_method_!r}, and its parameters say another"
            )
    for place, (column, part) in enumerate(zip(order, parts, strict=True)):
        told = [_numbers(target[:, one]) for one in order[:place]]
        seen = _beside(rows, np.column_stack(told)) if place else rows
        yield Part(f"target {column}", part, model.estimator, seen, target[:, column], weight_for(part, sample_weight))
        if "classes_" in vars(model) and not np.array_equal(model.classes_[column], part.classes_):
            refuse_changed(model, "has other labels than its parts")


def _numbers(labels: Any) -> Any:
    """Return a target as later models see it: as it is, or of words their places in order."""
    if labels.dtype.kind in "biuf":
        return labels.astype(np.float64)
    known = sorted(set(labels.tolist()))
    return np.array([float(known.index(one)) for one in labels.tolist()])


def _beside(X: Any, columns: Any) -> Any:
    if hasattr(X, "tocsr"):
        from scipy import sparse  # noqa: PLC0415

        return sparse.hstack([X, columns]).tocsr()
    return np.hstack([X, columns])
