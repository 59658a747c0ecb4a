"""Answers of models with a density for each class or component: logarithms of shares and densities, added up."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.verify._answers._compare import Labels, Numbers, defined, softmax
from qed.verify._independent_mixtures import Parameters, joint_logarithms, log_factorial, tables_of
from qed.verify._rows import EXTENDED
from qed.verify._variational import expected_logarithms

if TYPE_CHECKING:
    from collections.abc import Callable

    from qed.verify._answers._compare import Rule

    Definition = Callable[[Any, "Array"], Numbers]  # sums of logarithms, one for each class or component

Array = np.ndarray[Any, Any]
CIRCLE = EXTENDED(math.log(2 * math.pi))


def _log(shares: Any) -> Array:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.asarray(shares).astype(EXTENDED)))


def _times(counts: Array, logs: Array) -> Array:
    """Multiply; what does not occur costs nothing, however improbable it is."""
    with np.errstate(invalid="ignore"):
        return np.where(counts == 0, 0, counts * logs)


def normal(model: Any, X: Array) -> Numbers:
    """Add up densities of columns that are normal and independent within a class."""
    mean, variance = (np.asarray(one).astype(EXTENDED) for one in (model.theta_, model.var_))
    level = _log(model.class_prior_) - (np.log(variance) + CIRCLE).sum(axis=1) / 2
    x = X.astype(EXTENDED)[:, None, :]
    apart = ((x - mean) ** 2 / variance).sum(axis=2)
    size = ((np.abs(x) + np.abs(mean)) ** 2 / variance).sum(axis=2)
    return Numbers(level - apart / 2, size + np.where(np.isfinite(level), np.abs(level), 0))


def counts(model: Any, X: Array) -> Numbers:
    """Add up logarithms of shares of words, as often as each occurs."""
    logs = np.asarray(model.feature_log_prob_).astype(EXTENDED)
    level = np.asarray(model.class_log_prior_).astype(EXTENDED)
    if "norm" in type(model)._fields and len(level) > 1:  # weights from outside of a class know no share of it
        level = np.zeros(len(level), EXTENDED)
    terms = _times(X[:, None, :], logs)
    return _added(terms, level)


def events(model: Any, X: Array) -> Numbers:
    """Add up logarithms of the probabilities of counts, factorials left out."""
    logs = np.asarray(model.feature_log_prob_).astype(EXTENDED)
    terms = np.stack([_times(X[:, None, :], logs), np.broadcast_to(-np.exp(logs), (len(X), *logs.shape))], axis=3)
    flat = terms.reshape(len(X), len(logs), -1)
    return _added(flat, np.asarray(model.class_log_prior_).astype(EXTENDED))


def columns_of_kinds(model: Any, X: Array) -> Numbers:
    """Add up logarithms of densities of columns, each of its own kind; what is missing adds nothing."""
    terms = []
    for kind, stored, column in zip(model.kinds_, model.parameters_, X.T, strict=True):
        table, there = np.asarray(stored).astype(EXTENDED), ~np.isnan(column)
        x = np.where(there, column, 0).astype(EXTENDED)[:, None]
        if kind == "gaussian":
            own = [-((x - table[:, 0]) ** 2) / table[:, 1] / 2, -(np.log(table[:, 1]) + CIRCLE) / 2 + 0 * x]
        elif kind == "poisson":
            own = [x * np.log(table[:, 0]), -table[:, 0] + 0 * x, -log_factorial(x).astype(EXTENDED) + 0 * table[:, 0]]
        else:
            value = (x[:, 0] > 0).astype(np.intp) if kind == "bernoulli" else x[:, 0].astype(np.intp)
            size = table.shape[1]
            own = [np.where(value < size, np.log(table)[:, np.minimum(value, size - 1)], 0).T]
        terms += [np.where(there[:, None], one, 0) for one in own]
    return _added(np.stack(terms, axis=2), _log(model.class_prior_))


def presence(model: Any, X: Array) -> Numbers:
    """Add up logarithms of shares of rows with, and without, each property."""
    met = (0 if model.binarize is None else model.binarize) < X
    logs, absent = (np.asarray(one).astype(EXTENDED) for one in (model.feature_log_prob_, model.feature_log_absence_))
    terms = np.where(met[:, None, :], logs, absent)
    # absent columns are added up for all rows at once, and taken away again
    extra = np.where(np.isfinite(absent), np.abs(absent), 0).sum(axis=1)
    found = _added(terms, np.asarray(model.class_log_prior_).astype(EXTENDED))
    return Numbers(found.values, found.size + 2 * extra)


def categories(model: Any, X: Array) -> Numbers:
    """Add up logarithms of shares of the values of columns."""
    terms = []
    for j, table in enumerate(model.feature_log_prob_):
        logs, value = np.asarray(table).astype(EXTENDED), X[:, j].astype(np.intp)
        # a value that no row of the fit had speaks for no class
        terms.append(np.where(value < logs.shape[1], logs[:, np.minimum(value, logs.shape[1] - 1)], 0).T)
    return _added(np.stack(terms, axis=2), np.asarray(model.class_log_prior_).astype(EXTENDED))


def _added(terms: Array, level: Array) -> Numbers:
    size = np.where(np.isfinite(terms), np.abs(terms), 0).sum(axis=2)
    return Numbers(terms.sum(axis=2) + level, size + np.where(np.isfinite(level), np.abs(level), 0))


def ellipses(model: Any, X: Array) -> Numbers:
    """Add up densities of classes that are normal, each with a covariance of its own."""
    x, values, sizes = X.astype(EXTENDED), [], []
    for mean, turn, variance in zip(model.means_, model.rotations_, model.scalings_, strict=True):
        m, axes, s = (np.asarray(one).astype(EXTENDED) for one in (mean, turn, variance))
        values.append(-((((x - m) @ axes) ** 2 / s).sum(axis=1) + (np.log(s) + CIRCLE).sum()) / 2)
        sizes.append((((np.abs(x) + np.abs(m)) @ np.abs(axes)) ** 2 / s).sum(axis=1) + np.abs(np.log(s)).sum())
    level = _log(model.priors_)
    return Numbers(
        np.stack(values, axis=1) + level, np.stack(sizes, axis=1) + np.where(np.isfinite(level), np.abs(level), 1)
    )


def _settled(found: Numbers, level: Array) -> Numbers:
    """Put the shares of classes where no class can have a row."""
    lost: Array = np.asarray(~np.isfinite(found.values).any(axis=1))
    if not lost.any():
        return found
    values = found.values.copy()
    values[lost] = level
    return Numbers(values, np.where(lost[:, None], 1, found.size))


def _levels(model: Any) -> Array:
    held = vars(model)
    if "class_log_prior_" in held:
        return np.asarray(held["class_log_prior_"]).astype(EXTENDED)
    if "component_classes_" in held:
        shares = np.bincount(held["component_classes_"], held["weights_"], len(held["classes_"]))
        return _log(shares)
    return _log(held["class_prior_"] if "class_prior_" in held else held["priors_"])


def chances(joint: Any) -> Any:
    """Turn sums of logarithms into shares."""

    def define(model: Any, X: Array) -> Numbers:
        found = _settled(joint(model, X), _levels(model))
        return Numbers(softmax(found.values), 1 + found.size.max(axis=1, keepdims=True))

    return define


def label(joint: Any) -> Any:
    """Predict the label with the largest sum."""

    def define(model: Any, X: Array) -> Labels:
        found = _settled(joint(model, X), _levels(model))
        return Labels(found.values, found.size.max(axis=1, keepdims=True), model.classes_)

    return define


def decision(joint: Any, *, beside: float = 0.0) -> Any:
    """Return sums of logarithms, of two classes how far the second is ahead; ``beside`` columns' constants are left out."""

    def define(model: Any, X: Array) -> Numbers:
        found = _settled(joint(model, X), _levels(model))
        size = found.size.max(axis=1, keepdims=True)
        if found.values.shape[1] == 2:
            with np.errstate(invalid="ignore"):
                return Numbers(found.values[:, 1] - found.values[:, 0], 2 * size[:, 0])
        return Numbers(found.values + beside * CIRCLE * X.shape[1] / 2, size)

    return define


def by_bayes(joint: Definition, *, linear: bool = False) -> dict[str, Rule]:
    """Return rules for a classifier with a density for each class; a linear one has a decision function too."""
    rules = defined(predict=label(joint), predict_proba=chances(joint))
    return {**rules, **defined(decision_function=decision(joint))} if linear else rules


def _precision(model: Any, k: int, p: int) -> Array:
    """Return the inverse covariance of a component as a matrix."""
    stored, kind = np.asarray(model.precisions_).astype(EXTENDED), model.covariance_type
    if kind in ("full", "tied"):
        return np.asarray(stored[k] if kind == "full" else stored)
    return np.asarray(np.diag(stored[k]) if kind == "diag" else np.eye(p, dtype=EXTENDED) * stored[k])


def components(model: Any, X: Array) -> Numbers:
    """Add up densities of the components of a mixture."""
    x, p = X.astype(EXTENDED), X.shape[1]
    values, sizes = [], []
    for k, mean in enumerate(np.asarray(model.means_).astype(EXTENDED)):
        matrix = _precision(model, k, p)
        away, far = x - mean, np.abs(x) + np.abs(mean)
        level = EXTENDED(np.linalg.slogdet(matrix.astype(np.float64))[1])
        values.append((level - p * CIRCLE - ((away @ matrix) * away).sum(axis=1)) / 2)
        sizes.append(((far @ np.abs(matrix)) * far).sum(axis=1) + np.abs(level) + p * 2.0**10)
    return Numbers(np.stack(values, axis=1) + _log(model.weights_), np.stack(sizes, axis=1) + 1)


def expected_components(model: Any, X: Array) -> Numbers:
    """Add up expected logarithms of weights and densities of a mixture whose parameters have a posterior."""
    found = components(model, X)
    p, counted = X.shape[1], np.asarray(model.mean_precision_).astype(EXTENDED)
    weights, shifts = expected_logarithms(model)
    return Numbers(found.values - _log(model.weights_) + weights + (shifts - p / counted) / 2, found.size)


def class_mixtures(model: Any, X: Array) -> Numbers:
    """Add up densities of the components of each class."""
    found, owner = components(model, X), np.asarray(model.component_classes_)
    values, sizes = [], []
    for label in range(len(model.classes_)):
        own = found.values[:, owner == label]
        top = own.max(axis=1)
        values.append(top + np.log(np.exp(own - top[:, None]).sum(axis=1)))
        sizes.append(found.size[:, owner == label].max(axis=1))
    return Numbers(np.stack(values, axis=1), np.stack(sizes, axis=1))


def independent_components(model: Any, X: Array) -> Numbers:
    """Add up logarithms of the probabilities of entries under the components of a mixture."""
    at = Parameters(np.asarray(model.weights_).astype(EXTENDED), tables_of(model))
    values, size = joint_logarithms(model, X, at)
    return Numbers(values, size + 1)


def of_components(joint: Definition) -> dict[str, Rule]:
    """Return rules for a mixture: how far each component answers for a row, and the number of the one that most does."""

    def define_shares(model: Any, X: Array) -> Numbers:
        found = joint(model, X)
        return Numbers(softmax(found.values), 1 + found.size.max(axis=1, keepdims=True))

    def define_number(model: Any, X: Array) -> Labels:
        found = joint(model, X)
        return Labels(found.values, found.size.max(axis=1, keepdims=True), np.arange(found.values.shape[1]))

    return defined(predict=define_number, predict_proba=define_shares)
