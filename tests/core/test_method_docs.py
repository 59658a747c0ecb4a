"""Docstrings of methods are completed from the traits of the class, and nothing that an author wrote is lost."""

from __future__ import annotations

import inspect

import pytest

import qed
from qed.core import Classifier, Regressor
from qed.core._canvas import Display
from qed.core._method_docs import completed
from qed.core._traits import Traits


def described(doc):
    """Return the names that the section Parameters of a docstring describes."""
    lines = inspect.cleandoc(doc or "").splitlines()
    if "Parameters" not in lines:
        return set()
    begin = lines.index("Parameters") + 2
    end = next((i - 1 for i in range(begin, len(lines)) if lines[i].startswith("----")), len(lines))
    heads = [line.split(" : ")[0] for line in lines[begin:end] if line and not line.startswith(" ")]
    return {name.strip("* ") for head in heads for name in head.split(",")}


@pytest.mark.parametrize("name", [name for name, _ in qed.all_estimators()])
def test_every_argument_of_a_public_method_is_described(name):
    kind = dict(qed.all_estimators())[name]
    missing = []
    for method in dir(kind):
        function = inspect.getattr_static(kind, method)
        if method.startswith("_") or not inspect.isfunction(function):
            continue
        arguments = list(inspect.signature(function).parameters)[1:]
        missing += [f"{method}({one})" for one in arguments if one not in described(function.__doc__)]
    assert missing == []


class Plain(Regressor, sparse=True, min_samples=3):
    def fit(self, X, y, sample_weight=None):
        """Fit."""

    def predict(self, X):
        """Predict."""


class Special(Classifier, allow_nan=True, chunks=True):
    def fit(self, X, y, sample_weight=None, extra=None):
        """Fit.

        With a second thought.

        Parameters
        ----------
        y : array-like of shape (n,)
            Two labels.
        extra : int, optional
            More.

            In two paragraphs.

        Raises
        ------
        InvalidData
            When there are three.
        """

    def predict_proba(self, X):
        """Return shares.

        Returns
        -------
        ndarray of shape (n, 2)
            Shares.
        """


def test_a_summary_alone_is_completed_from_the_traits():
    assert inspect.cleandoc(Plain.fit.__doc__).splitlines() == [
        "Fit.",
        "",
        "Parameters",
        "----------",
        "X : array-like, frame or sparse container of shape (n, p)",
        "    Rows to learn from, at least 3.",
        "y : array-like of shape (n,)",
        "    Targets.",
        "sample_weight : array-like of shape (n,), optional",
        "    How often each row counts.",
        "",
        "Returns",
        "-------",
        "self",
        "    The fitted model.",
    ]
    assert "X : array-like, frame, sparse container or source of shape (n, p)" in Plain.predict.__doc__
    assert "ndarray of shape (n,)\n    Predictions." in Plain.predict.__doc__


def test_what_an_author_wrote_stays_in_its_place():
    assert inspect.cleandoc(Special.fit.__doc__).splitlines() == [
        "Fit.",
        "",
        "With a second thought.",
        "",
        "Parameters",
        "----------",
        "X : array-like, frame or source of shape (n, p)",
        "    Rows to learn from; NaN is a missing value; a source (``qed.scan``) brings its own target and weights.",
        "y : array-like of shape (n,)",
        "    Two labels.",
        "sample_weight : array-like of shape (n,), optional",
        "    How often each row counts.",
        "extra : int, optional",
        "    More.",
        "",
        "    In two paragraphs.",
        "",
        "Returns",
        "-------",
        "self",
        "    The fitted model.",
        "",
        "Raises",
        "------",
        "InvalidData",
        "    When there are three.",
    ]
    assert "Shares." in Special.predict_proba.__doc__
    assert "Probabilities" not in Special.predict_proba.__doc__
    assert Special.predict_proba.__doc__.count("Returns") == 1


def test_completing_twice_changes_nothing():
    once = Special.fit.__doc__
    assert completed(Special.fit, Special._declared_traits) == once


def test_a_method_without_a_docstring_stays_without():
    def fit(self, X): ...

    assert completed(fit, Traits()) is None


def test_methods_of_displays_that_draw_say_where():
    packages = (qed.inspection, qed.metrics, qed.calibration, qed.model_selection, qed.convex)
    displays = {one for package in packages for name in package.__all__ if is_display(one := getattr(package, name))}
    assert len(displays) > 25
    missing = []
    for kind in displays:
        for name in dir(kind):
            method = inspect.getattr_static(kind, name)
            method = getattr(method, "__func__", method)
            if name.startswith("_") or not inspect.isfunction(method) or " as for `" in method.__doc__:
                continue
            if "ax" in inspect.signature(method).parameters and "ax" not in described(method.__doc__):
                missing.append(f"{kind.__name__}.{name}")
    assert missing == []


def is_display(value):
    return inspect.isclass(value) and issubclass(value, Display)
