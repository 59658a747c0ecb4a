"""Models of models, checked: every part on the rows, columns and targets that reached it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import CertificateError
from qed.core._certificates import Certificate, Uncertified
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from qed.core._certificates import PartsCertificate

__all__ = ["check"]


def check(
    verify: Callable[[Any, Any, Any, Any], Verdict],
    model: Any,
    certificate: PartsCertificate,
    X: Any,
    y: Any,
    sample_weight: Any,
) -> Verdict:
    """Verify each part that claims something; the distances and roundings of the verdict are the largest."""
    if sample_weight is not None and np.ndim(sample_weight) == 0:  # one number for all rows
        sample_weight = np.full(y.shape[0] if hasattr(y, "shape") else len(y), sample_weight)
    verdicts = []
    for name, part, rows, target, used in _reached(model, X, y, sample_weight):
        own = getattr(part, "certificate_", None)
        claimed = certificate.parts.get(name)
        if not isinstance(own, Certificate) or isinstance(own, Uncertified):
            continue
        if claimed is None or type(claimed) is not type(own) or claimed != own:
            msg = f"{type(model).__name__} states another certificate for {name!r} than the part itself. One of them was changed."
            raise CertificateError(msg)
        weight = sample_weight if _counts(part) else None
        weight = _of_classes(model, y, weight) if "ridge_" in model.__dict__ else weight
        weight = np.asarray(weight)[used] if weight is not None and used is not None else weight
        verdicts.append(verify(part, rows, target, weight))
    if not verdicts:
        msg = f"{type(model).__name__} has no part that claims anything which could be verified."
        raise CertificateError(msg)
    worst = max(verdicts, key=lambda one: one.distance)
    return Verdict(certificate.statement, worst.objective, worst.distance, worst.rounding, worst.claimed, worst.measure)


def _counts(part: Any) -> bool:
    import inspect  # noqa: PLC0415

    return "sample_weight" in inspect.signature(part.fit).parameters


def _is_model(part: Any) -> bool:
    return part is not None and not isinstance(part, str)


def _reached(model: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[tuple[str, Any, Any, Any, Any]]:
    """Yield name, part, rows and targets of every part, and which rows those are: None for all."""
    if "ridge_" in model.__dict__:
        yield _of_signs(model, _unnamed(model, X), y)
        return
    if "t_" in model.__dict__:
        yield from _of_each_class(model, X, y, sample_weight)
        return
    if "code_book_" in model.__dict__:
        yield from _of_codes(model, _unnamed(model, X), y)
        return
    for found in _with_all_rows(model, X, y, sample_weight):
        yield *found, None


def _unnamed(model: Any, X: Any) -> Any:
    """Return rows as parts saw them that learnt from numbers alone: a frame as its numbers, its columns compared first."""
    return model._new_data(X) if "feature_names_in_" in model.__dict__ else X  # noqa: SLF001


def _of_signs(model: Any, X: Any, y: Any) -> tuple[str, Any, Any, Any, Any]:
    """Return the least-squares fit inside a classifier, with the signs of its labels."""
    part, labels = model.ridge_, np.asarray(y)
    same = np.array_equal(np.atleast_2d(part.coef_), model.coef_) and len(model.intercept_) == len(model.coef_)
    same = same and bool(np.all(part.intercept_ == model.intercept_))
    same = same and model.__dict__.get("alpha_", part.alpha) == part.alpha
    if not same:
        raise CertificateError("The coefficients are not those of the fit inside: they were changed after the fit.")
    positive = model.classes_[1:] if len(model.classes_) == 2 else model.classes_
    return "ridge", part, X, np.where(labels[:, None] == positive, 1.0, -1.0), None


def _of_each_class(model: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[tuple[str, Any, Any, Any, Any]]:
    """Yield each class against the others, as a classifier of two classes with its plane and its proof."""
    labels = np.asarray(y)
    factor = _class_factors(model, labels, np.ones(len(labels)) if sample_weight is None else np.asarray(sample_weight))
    for number, label in enumerate(model.classes_.tolist()):
        part = type(model)(**model.get_params())
        part.__dict__.update(model.__dict__)
        part.classes_ = np.array([False, True])
        part.coef_, part.intercept_ = model.coef_[number : number + 1], model.intercept_[number : number + 1]
        part.certificate_ = model.certificate_.parts[str(model.classes_[number])]
        part.class_weight = None if model.class_weight is None else {True: factor[label], False: 1.0}
        yield str(model.classes_[number]), part, X, labels == label, None


def _of_classes(model: Any, y: Any, sample_weight: Any) -> Any:
    """Multiply weights by those of the classes."""
    if model.class_weight is None:
        return sample_weight
    labels = np.asarray(y)
    weight = np.ones(len(labels)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    factor = _class_factors(model, labels, weight)
    return weight * np.array([factor[label] for label in labels.tolist()])


def _class_factors(model: Any, labels: Any, weight: Any) -> dict[Any, float]:
    """Return what the weights of each class are multiplied by."""
    known = model.classes_.tolist()
    if isinstance(model.class_weight, str):  # "balanced"
        sums = {label: weight[labels == label].sum() for label in known}
        return {label: weight.sum() / (len(sums) * total) for label, total in sums.items()}
    return {label: (model.class_weight or {}).get(label, 1.0) for label in known}


def _of_codes(model: Any, X: Any, y: Any) -> Iterator[tuple[str, Any, Any, Any, Any]]:
    """Yield classifiers of two classes, with the rows of the classes that their code names."""
    labels = np.asarray(y.toarray() if hasattr(y, "toarray") else y)
    if model.__dict__.get("multilabel_", False):
        if labels.shape[1:] != model.classes_.shape:
            raise CertificateError(f"These are not the data of the certificate: y has the shape {labels.shape}.")
        for number, part in enumerate(model.estimators_):
            yield f"code {number}", part, X, labels[:, number], None
        return
    unknown = ~np.isin(labels, model.classes_)
    if unknown.any():
        raise CertificateError(
            f"These are not the data of the certificate: {labels[unknown][0]!r} is no class of the fit."
        )
    book = model.code_book_[np.searchsorted(model.classes_, labels)]
    for number, part in enumerate(model.estimators_):
        used = np.flatnonzero(book[:, number])
        rows = X if len(used) == len(labels) else _rows_of(X, used)
        yield f"code {number}", part, rows, (book[used, number] > 0).astype(int), used


def _rows_of(X: Any, used: Any) -> Any:
    if hasattr(X, "tocsr"):
        return X.tocsr()[used]
    return np.asarray(X)[used]


def _with_all_rows(model: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[tuple[str, Any, Any, Any]]:
    """Yield name, part, rows and targets of every part, by what the model of models stores."""
    stored = model.__dict__
    if "steps_" in stored:
        for name, step in stored["steps_"]:
            if _is_model(step):
                yield name, step, X, y
                X = step.transform(X) if hasattr(step, "transform") else X
    elif "transformers_" in stored:
        for name, part, *columns in stored["transformers_"]:
            if _is_model(part):
                yield name, part, _picked(X, columns[0]) if columns else X, y
    elif "regressor_" in stored:
        yield from _of_target(model, X, y)
    elif "estimators_" in stored:
        yield from _of_members(model, X, y, sample_weight)


def _picked(X: Any, columns: list[Any]) -> Any:
    if columns and isinstance(columns[0], str):
        return X.select(columns) if hasattr(X, "select") else X[columns]
    if hasattr(X, "iloc"):
        return X.iloc[:, columns]
    return (X if hasattr(X, "tocsr") else np.asarray(X))[:, columns]


def _of_target(model: Any, X: Any, y: Any) -> Iterator[tuple[str, Any, Any, Any]]:
    table = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
    changed = table
    if model.transformer_ is not None:
        yield "transformer", model.transformer_, table, None
        changed = np.asarray(model.transformer_.transform(table))
    elif model.func is not None:
        changed = np.asarray(model.func(table))
    changed = changed.reshape(len(table), -1)
    yield "regressor", model.regressor_, X, changed[:, 0] if changed.shape[1] == 1 else changed


def _of_members(model: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[tuple[str, Any, Any, Any]]:
    target = np.asarray(y)
    if "estimators" not in model.get_params(deep=False):  # one model for each target
        for number, part in enumerate(model.estimators_):
            yield f"target {number}", part, X, target[:, number]
        return
    if "classes_" in model.__dict__:
        target = np.searchsorted(model.classes_, target)
    names = [name for name, member in model.estimators if not isinstance(member, str)]
    for name, part in zip(names, model.estimators_, strict=True):
        yield name, part, X, target
    if "final_estimator_" in model.__dict__:
        # Answers for unseen rows are given once more, by members fitted on the other folds. Whether they are those that the final
        # model learnt from, its own certificate tells; folds cut at random without a seed are others each time.
        yield "final_estimator", model.final_estimator_, model._unseen_answers(X, target, sample_weight), target  # noqa: SLF001
