"""Precision, recall and F of every label on one page."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from qed.core._errors import InvalidData, InvalidParameter
from qed.core._targets import as_target
from qed.metrics._precision_recall import Scored, precision_recall_fscore
from qed.metrics._read import INDICATOR

HEADERS = ("precision", "recall", "f1-score", "support")


def classification_report(
    y_true: Any,
    y_pred: Any,
    *,
    labels: Any = None,
    target_names: Any = None,
    sample_weight: Any = None,
    digits: int = 2,
    output_dict: bool = False,
    zero_division: Any = "warn",
) -> Any:
    """Write precision, recall and F of every label, and their averages, as text.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,), or indicator of shape (n, k)
        True and predicted labels.
    labels : array-like, optional
        Which labels, in which order.
    target_names : list of str, optional
        What to call the labels.
    sample_weight : array-like of shape (n,), optional
        How often each row counts.
    digits : int
        Digits behind the point.
    output_dict : bool
        Whether to return a dictionary of numbers instead.
    zero_division : {"warn", 0.0, 1.0, nan}
        The value of a quotient by zero.

    Returns
    -------
    str or dict
        One line a label, then accuracy (or the micro average) and the other averages.

    Examples
    --------
    >>> from qed.metrics import classification_report
    >>> print(classification_report(["cat", "dog", "dog"], ["cat", "dog", "cat"]))
                  precision    recall  f1-score   support
    <BLANKLINE>
             cat       0.50      1.00      0.67         1
             dog       1.00      0.50      0.67         2
    <BLANKLINE>
        accuracy                           0.67         3
       macro avg       0.75      0.75      0.67         3
    weighted avg       0.83      0.67      0.67         3
    <BLANKLINE>
    """
    if not isinstance(digits, int | np.integer) or digits < 0:
        raise InvalidParameter(f"digits must be an integer >= 0, got {digits!r}.")
    scored = Scored.of(y_true, y_pred, sample_weight)
    wanted = scored.labels if labels is None else as_target(labels, "labels")
    names = _names(wanted, target_names, given=labels is not None)
    each = precision_recall_fscore(scored, labels=wanted, zero_division=zero_division)
    rows = {name: [part[i] for part in each] for i, name in enumerate(names[: len(wanted)])}
    averages = ["micro", "macro", "weighted", *(["samples"] if scored.kind == INDICATOR else [])]
    is_whole = scored.kind != INDICATOR and set(wanted.tolist()) >= set(scored.labels.tolist())
    means = {}
    for average in averages:
        values = precision_recall_fscore(scored, labels=wanted, average=average, zero_division=zero_division)[:3]
        heading = "accuracy" if average == "micro" and is_whole else f"{average} avg"
        means[heading] = [*values, np.sum(each[3])]
    if output_dict:
        report: dict[str, Any] = {
            name: dict(zip(HEADERS, map(float, row), strict=True)) for name, row in {**rows, **means}.items()
        }
        if "accuracy" in report:
            report["accuracy"] = report["accuracy"]["precision"]
        return report
    return _text(rows, means, digits)


def _names(labels: Any, target_names: Any, *, given: bool) -> list[str]:
    if target_names is None:
        return [f"{label}" for label in labels]
    if len(target_names) != len(labels):
        if not given:
            raise InvalidData(
                f"Number of classes, {len(labels)}, does not match size of target_names, {len(target_names)}. Try"
                " specifying the labels parameter"
            )
        warnings.warn(
            f"labels size, {len(labels)}, does not match size of target_names, {len(target_names)}", stacklevel=3
        )
    return [f"{name}" for name in target_names]


def _text(rows: dict[str, list[Any]], means: dict[str, list[Any]], digits: int) -> str:
    width = max([len(name) for name in rows] + [len("weighted avg"), digits])

    def line(name: str, values: list[Any]) -> str:
        shown = "".join(f" {value:>9.{digits}f}" for value in values[:3])
        return f"{name:>{width}} {shown} {values[3]:>9}\n"

    text = f"{'':>{width}} " + "".join(f" {header:>9}" for header in HEADERS) + "\n\n"
    text += "".join(line(name, values) for name, values in rows.items()) + "\n"
    for name, values in means.items():
        if name == "accuracy":
            text += f"{name:>{width}} {'':>10}{'':>10} {values[2]:>9.{digits}f} {values[3]:>9}\n"
        else:
            text += line(name, values)
    return text
