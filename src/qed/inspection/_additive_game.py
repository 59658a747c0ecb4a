"""Models that are sums over columns: linear ones, and naive Bayes in log-odds."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]
ROUNDING = 1e-6  # relative: linear predictions in single precision agree with coefficients to this


class AdditiveGame(NamedTuple):
    """A constant and a term for each column.

    Attributes
    ----------
    terms : ndarray of shape (n, p, k)
        What each column adds to each output.
    constant : ndarray of shape (k,)
        What is added to them.
    method : str
        The method of the model that returns the sum.
    kind : str
        "linear" or "naive Bayes".
    """

    terms: Array
    constant: Array
    method: str
    kind: str


def linear_method(model: Any, X: Array) -> str | None:
    """Return the method of a model whose results are ``X @ coef_ + intercept_``; None if there is none."""
    coef = getattr(model, "coef_", None)
    if (
        coef is None
        or np.size(coef) == 0
        or np.ndim(coef) > 2
        or np.shape(coef)[-1] != X.shape[1]
        or X.dtype.kind not in "fiu"
    ):
        return None
    found = linear_terms(model, X[:64])
    sums = found.terms.sum(axis=1) + found.constant
    methods = ("decision_function",) if hasattr(model, "decision_function") else ("predict",)
    for method in methods:
        said = np.asarray(getattr(model, method)(X[:64]), dtype=np.float64).reshape(len(sums), -1)
        if said.shape == sums.shape and _agree(said, sums):
            return method
        if method == "predict" and said.shape == sums.shape and (said > 0).all() and _agree(np.log(said), sums):
            return "log of predict"
    return None


def _agree(said: Array, sums: Array) -> bool:
    return bool(np.abs(said - sums).max(initial=0.0) <= ROUNDING * max(1.0, float(np.abs(sums).max(initial=0.0))))


def linear_terms(model: Any, X: Array, method: str = "") -> AdditiveGame:
    """Return the terms of a linear model."""
    coef = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
    intercept = np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64).reshape(-1), (len(coef),))
    terms = np.asarray(X, dtype=np.float64)[:, :, None] * coef.T[None]
    return AdditiveGame(terms, np.array(intercept), method, "linear")


def naive_bayes_terms(model: Any, X: Array) -> AdditiveGame | None:
    """Return the log-odds of classes, column by column: of the second class of two, of more against the mean of all.

    The constant is that of the prior, so that contributions add up to log-odds minus prior log-odds.
    """
    from qed.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB  # noqa: PLC0415

    if isinstance(model, GaussianNB):
        centre, spread = np.asarray(model.theta_), np.asarray(model.var_)
        away = X[:, None, :] - centre
        logs = -0.5 * (np.log(2 * np.pi * spread) + away**2 / spread)
        prior = np.log(model.class_prior_)
    elif isinstance(model, BernoulliNB):
        met = np.asarray(model._prepared(X), dtype=np.float64)[:, None, :]  # noqa: SLF001
        logs = np.where(met > 0, model.feature_log_prob_, model.feature_log_absence_)
        prior = model.class_log_prior_
    elif isinstance(model, MultinomialNB | ComplementNB):
        weights, prior = model._weights()  # noqa: SLF001
        logs = np.where(X[:, None, :] == 0, 0.0, X[:, None, :] * weights)
    elif isinstance(model, CategoricalNB):
        columns = [table[:, X[:, j].astype(np.intp)].T for j, table in enumerate(model.feature_log_prob_)]
        logs = np.stack(columns, axis=2)
        prior = model.class_log_prior_
    else:
        return None
    return AdditiveGame(
        log_odds(np.asarray(logs).transpose(0, 2, 1)), log_odds(np.asarray(prior)), "log-odds", "naive Bayes"
    )


def log_odds(logs: Array) -> Array:
    """Return the logarithm of the second class minus that of the first; of more classes, of each minus the mean."""
    if logs.shape[-1] == 2:
        return np.asarray(logs[..., 1:] - logs[..., :1])
    return np.asarray(logs - logs.mean(axis=-1, keepdims=True))
