"""What models answer is defined a second time: honest answers agree with the definition, changed ones do not."""

from __future__ import annotations

import warnings
import zlib

import numpy as np
import pytest
from tests.configurations import configurations, varied

import qed
from qed.core import CertificateError, QedError
from qed.core._records import public_name
from qed.verify._answers import agreed, answers_known
from qed.verify._families import entry_named

ALL = configurations()
KINDS = sorted({one.kind for one in ALL})
METHODS = ("predict", "predict_proba", "decision_function", "transform")
# of targets, which no step of a pipeline sees
OF_TARGETS = {"LabelBinarizer", "LabelEncoder", "MultiLabelBinarizer"}
OPEN = {"BasisFunctions", "DummyClassifier", "UMAP"}


def test_every_answer_that_can_be_handed_on_is_defined():
    """Rows by transformers, labels and numbers by models of a target: a part without a definition would be refused."""
    lacking = {
        f"{name}.{method}"
        for name, cls in qed.all_estimators()
        for method in METHODS
        if name not in OF_TARGETS and hasattr(cls, method) and (method == "transform" or cls._declared_traits.target)
        if method not in answers_known(public_name(cls))
    }
    assert lacking == set()


def _asked(kind):
    """Fit some configurations of a class; yield models, methods and rows."""
    own = [one for one in ALL if one.kind == kind]
    rng = np.random.default_rng(zlib.crc32(kind.encode()))
    for k in rng.permutation(len(own))[:4]:
        one = varied(own[int(k)], rng) if k % 2 else own[int(k)]
        data = one.data(int(rng.integers(1000)), 20)
        try:
            model = one.fitted(data)
        except QedError:
            continue
        for method in answers_known(public_name(type(model))) & set(METHODS):
            if hasattr(model, method):
                yield model, method, data.fresh if one.layout == "source" else data.X


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in OF_TARGETS])
def test_answers_agree_with_their_definition_and_changed_ones_do_not(kind):
    tried = changed = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model, method, X in _asked(kind):
            try:
                getattr(model, method)(X)
            except QedError:
                continue  # rows or parameters that this method refuses
            told = agreed(model, method, X)
            tried += 1
            rule = entry_named(public_name(type(model))).answers[method]
            for other in _changes(model, told):
                changed += 1
                try:
                    rule(model, X, other)
                except CertificateError:
                    continue
                assert kind in OPEN, f"{model!r:.100}.{method}"
    assert changed or not tried


def _changes(model, told):
    """Yield answers of which one entry, or the number of rows, is another."""
    if isinstance(told, list):
        return
    if hasattr(told, "tocsr"):
        if told.nnz:
            other = told.copy()
            other.data = other.data.astype(np.float64)
            other.data[len(other.data) // 2] += 1e-3 * (1 + abs(other.data[len(other.data) // 2]))
            yield other
        yield told[:-1]
        return
    table = told.to_numpy() if hasattr(told, "to_numpy") else np.asarray(told)
    yield table[:-1]
    # in single precision, sums of large terms round by as much
    if table.dtype == np.float64 and table.size and np.isfinite(table).any():
        at = np.flatnonzero(np.isfinite(table).ravel())[-1]
        other = np.array(table, dtype=np.float64, order="C")
        other.reshape(-1)[at] += 1e-3 * np.nanmax(np.abs(np.where(np.isfinite(other), other, 0.0))) + 1e-3
        yield other
    elif table.dtype.kind in "biuUO" and table.ndim == 1:
        other = table.copy()
        other[0] = "none of them" if table.dtype.kind in "UO" else 977
        yield other
