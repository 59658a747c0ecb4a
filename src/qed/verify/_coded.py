"""Classifiers of several classes by models of two, part by part: codes, each class against the others, and signs of labels."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import Estimator
from qed.core._records import public_name
from qed.core._targets import as_target
from qed.verify._blocks import rows_of
from qed.verify._declared import declares
from qed.verify._part import Part, certificate_of, require_names, same_parameters
from qed.verify._refusals import refuse_changed
from qed.verify._rows import OtherData, read_data

if TYPE_CHECKING:
    from collections.abc import Iterator


Array = np.ndarray[Any, Any]


def one_vs_rest(model: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[Part]:
    """Yield a classifier for each class, or for each column of a table of zeros and ones."""
    table = y.toarray() if hasattr(y, "toarray") else as_target(y, "y")
    several = (
        table.ndim == 2 and table.shape[1] > 1 and table.dtype.kind in "biuf" and bool(np.isin(table, (0, 1)).all())
    )
    if model.multilabel_ is not several:
        raise OtherData("This OneVsRestClassifier was fitted to labels of another form than these.")
    k = len(model.classes_)
    book = np.array([[-1], [1]]) if k == 2 and not several else 2 * np.eye(k, dtype=int) - 1
    if not several:
        yield from _coded(model, book, X, y, sample_weight)
        return
    if not np.array_equal(model.classes_, np.arange(table.shape[1])):
        raise OtherData(f"This OneVsRestClassifier was fitted to {k} labels, and y has {table.shape[1]} columns.")
    _require_book(model, book)
    rows, labels = read_data(model, X, table[:, 0], sample_weight, finite=False).X, table.astype(np.intp)
    for number, part in enumerate(_coded_parts(model, k)):
        yield Part(f"code {number}", part, model.estimator, rows, labels[:, number], sample_weight)


def one_vs_one(model: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[Part]:
    """Yield a classifier for each pair of classes, with their rows."""
    k = len(model.classes_)
    pairs = [(a, b) for a in range(k) for b in range(a + 1, k)]
    book = np.zeros((k, len(pairs)), dtype=int)
    for number, (first, second) in enumerate(pairs):
        book[first, number], book[second, number] = -1, 1
    yield from _coded(model, book, X, y, sample_weight)


def output_code(model: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[Part]:
    """Yield a classifier for each column of the code matrix: that of the parameters, or one that a draw can have given."""
    k, stored = len(model.classes_), np.asarray(model.code_book_)
    if isinstance(model.code_book, str):
        bits = (k - 1).bit_length()
        book = np.array([[1 if (number >> bit) & 1 else -1 for bit in reversed(range(bits))] for number in range(k)])
    elif model.code_book is not None:
        book = np.asarray(model.code_book)
    else:
        book = stored
        sides = stored.ndim == 2 and all({-1, 1} == set(column) for column in stored.T.tolist())
        wide = stored.shape == (k, max(1, int(k * model.code_size)))
        if not sides or not wide or len(np.unique(stored, axis=0)) != k:
            refuse_changed(model, "has a code matrix that no draw gives")
    yield from _coded(model, book, X, y, sample_weight)


def _require_book(model: Any, book: Array) -> None:
    stored = np.asarray(model.code_book_)
    if stored.dtype != np.int8 or not np.array_equal(stored, book):
        refuse_changed(model, "has another code matrix than its parameters and classes give")


def _coded_parts(model: Any, count: int) -> list[Any]:
    parts = vars(model)["estimators_"]
    if not isinstance(parts, list | tuple) or len(parts) != count:
        refuse_changed(model, f"does not hold {count} classifiers of two classes")
    return list(parts)


def _coded(model: Any, book: Array, X: Any, y: Any, sample_weight: Any) -> Iterator[Part]:
    """Yield classifiers of two classes, with the rows of the classes that their column names."""
    _require_book(model, book)
    data = read_data(model, X, y, sample_weight, finite=False)
    place = np.searchsorted(model.classes_, data.classes)
    sides = book[place[data.y.astype(np.intp)]]
    for number, part in enumerate(_coded_parts(model, book.shape[1])):
        used = np.flatnonzero(sides[:, number])
        if not len(used) and isinstance(part, Estimator) and not _has_learnt(part):
            continue  # a stream has not brought it a row yet
        every = len(used) == data.n_rows
        weight = None if data.weight is None else data.weight if every else data.weight[used]
        rows = data.X if every else rows_of(data.X, used)
        yield Part(f"code {number}", part, model.estimator, rows, (sides[used, number] > 0).astype(np.intp), weight)


def _has_learnt(part: Any) -> bool:
    return any(name.endswith("_") and not name.startswith("_") for name in vars(part))


def ridge_classifier(model: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[Part]:
    """Yield the least-squares fit inside a classifier, with the signs of its labels."""
    part: Any = vars(model)["ridge_"]
    if public_name(type(part)) != "qed.linear_model.Ridge":
        refuse_changed(model, "holds no least-squares fit")
    alpha = model.alpha_ if declares(model, "alpha_") else model.alpha
    same = np.array_equal(np.atleast_2d(part.coef_), model.coef_) and model.intercept_.shape == model.coef_.shape[:1]
    same = same and bool(np.all(np.asarray(part.intercept_) == model.intercept_))
    same = same and same_parameters(float(part.alpha), float(alpha)) and part.fit_intercept is model.fit_intercept
    if not same or part.prior is not None:
        refuse_changed(model, "has coefficients or parameters that are not those of the fit inside")
    if declares(model, "alphas") and alpha not in np.atleast_1d(np.asarray(model.alphas, dtype=np.float64)):
        refuse_changed(model, f"has chosen the strength {alpha:g}, which was not offered")
    data = read_data(model, X, y, sample_weight)
    labels = np.asarray(data.classes)[data.y.astype(np.intp)]
    positive = model.classes_[1:] if len(model.classes_) == 2 else model.classes_
    signs = np.where(labels[:, None] == positive, 1.0, -1.0)
    yield Part("ridge", part, None, data.X, signs, _with_class_weights(model, labels, data.weight))


def each_class(model: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[Part]:
    """Yield each class against the others, as a classifier of two classes with its coefficients and its proof."""
    labels = as_target(y, "y").reshape(-1)
    classes, names = model.classes_.tolist(), [str(label) for label in model.classes_]
    k = len(classes)
    if k < 3 or model.coef_.shape[:1] != (k,) or model.intercept_.shape != (k,):
        refuse_changed(model, f"does not have coefficients for each of its {k} classes")
    weight = np.ones(len(labels)) if sample_weight is None else np.asarray(sample_weight)
    factor = _class_factors(model, labels, weight)
    claims = certificate_of(model).parts
    require_names(model, list(claims), names)
    for number, (name, label) in enumerate(zip(names, classes, strict=True)):
        part = type(model)(**model.get_params(deep=False))
        part.__dict__.update(vars(model))
        part.classes_ = np.array([False, True])
        part.coef_, part.intercept_ = model.coef_[number : number + 1], model.intercept_[number : number + 1]
        own = {f.name: getattr(model.memory_, f.name) for f in fields(model.memory_)}
        part.memory_ = replace(
            model.memory_, **{key: one[number : number + 1] for key, one in own.items() if np.shape(one)[:1] == (k,)}
        )
        part.certificate_ = claims[name]
        part.class_weight = None if model.class_weight is None else {True: factor[label], False: 1.0}
        yield Part(name, part, None, X, labels == label, sample_weight)


def _with_class_weights(model: Any, labels: Array, weight: Array | None) -> Array | None:
    """Multiply weights by those of the classes."""
    if model.class_weight is None:
        return weight
    weight = np.ones(len(labels)) if weight is None else weight
    factor = _class_factors(model, labels, weight)
    return np.asarray(weight * np.array([factor[label] for label in labels.tolist()]))


def _class_factors(model: Any, labels: Array, weight: Array) -> dict[Any, float]:
    """Return what the weights of each class are multiplied by."""
    known = model.classes_.tolist()
    if isinstance(model.class_weight, str):  # "balanced"
        sums = {label: weight[labels == label].sum() for label in known}
        return {label: weight.sum() / (len(sums) * total) for label, total in sums.items()}
    return {label: (model.class_weight or {}).get(label, 1.0) for label in known}
