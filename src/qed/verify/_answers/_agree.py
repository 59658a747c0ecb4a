"""The one place where a model is asked anything: its answers are compared with the definition of its class."""

from __future__ import annotations

from copy import copy
from functools import partial
from typing import Any

import numpy as np

from qed.core import CertificateError
from qed.core._records import public_name
from qed.core._validation import is_source
from qed.verify._families import entry_named


def answers_known(name: str) -> frozenset[str]:
    """Return the methods of a class, by its public name, whose answers are defined here."""
    entry = entry_named(name)
    return frozenset() if entry is None else frozenset(entry.answers)


def agreed(model: Any, method: str, X: Any) -> Any:
    """Return what a model answers, once that is what its class defines.

    Parameters
    ----------
    model : Estimator
        A model that has been verified.
    method : str
        ``predict``, ``predict_proba``, ``decision_function``, ``transform`` or ``inverse_transform``.
    X : object
        Rows.

    Returns
    -------
    object
        The answers of the model.
    """
    name = public_name(type(model))
    entry = entry_named(name)
    rule = None if entry is None else entry.answers.get(method)
    if rule is None:
        raise CertificateError(
            f"The checker does not know what {method} of {name} should answer, so that it cannot follow what comes after it. Verify"
            " the models of qed one by one, each with the rows that reached it."
        )
    if is_source(X):
        return _agreed_by_chunks(model, method, X)
    told = getattr(model, method)(X)
    with np.errstate(all="ignore"):
        rule(model, X, told)
    return told


def _agreed_by_chunks(model: Any, method: str, source: Any) -> Any:
    """Compare the answers for each chunk of a source; return those for all of it."""
    bare = copy(model)
    vars(bare).pop("feature_names_in_", None)  # chunks are arrays, and the caller has compared the names
    for _ in source.each(partial(_compared, bare, method)):
        pass
    return getattr(model, method)(source)


def _compared(model: Any, method: str, chunk: Any) -> None:
    if chunk.n_rows:
        agreed(model, method, chunk.table)
