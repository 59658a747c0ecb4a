"""Ctrl-C and callbacks during a fit on arrays in memory: what was seen is a model, with a true certificate."""

import numpy as np
import pytest

import qed
from qed.linear_model import LinearRegression, OrdinalRegressor, Ridge, VotedPerceptron, _learn, _triangle

rng = np.random.default_rng(33)
X = rng.normal(size=(5000, 6)) + 2
y = X @ rng.normal(size=6) + rng.normal(size=5000)
s = rng.integers(0, 3, 5000).astype(float)


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(_learn, "PART_ROWS", 1000)
    monkeypatch.setattr(_learn, "PART_WORK", 1.0)


def interrupt_after(rows):
    def interrupt(event):
        if event.kind == "step" and event.step >= rows:
            raise KeyboardInterrupt

    return interrupt


@pytest.mark.parametrize("model", [LinearRegression(), Ridge(2.0, fit_intercept=False)], ids=repr)
@pytest.mark.parametrize("weight", [None, s])
def test_ctrl_c_leaves_the_model_of_the_parts_seen(small_parts, model, weight):
    with qed.listen(interrupt_after(3000)), pytest.raises(KeyboardInterrupt):
        model.fit(X, y, weight)
    certificate = model.certificate_
    assert certificate.outcome == "interrupted"
    rows = next(
        k for k in (2000, 3000) if certificate.fingerprint.rows == np.count_nonzero(s[:k] if weight is s else X[:k, 0])
    )
    part = None if weight is None else weight[:rows]
    assert qed.verify(model, X[:rows], y[:rows], part).holds
    np.testing.assert_allclose(model.coef_, qed.clone(model).fit(X[:rows], y[:rows], part).coef_, rtol=1e-9)
    with pytest.raises(qed.CertificateError, match="not the data"):
        qed.verify(model, X, y, weight)


def test_a_callback_stops_a_fit_in_memory(small_parts):
    with qed.listen(lambda event: qed.STOP if event.kind == "step" and event.step >= 2000 else None):
        model = LinearRegression().fit(X, y)
    assert (model.certificate_.outcome, model.certificate_.fingerprint.rows) == ("stopped", 2000)
    assert qed.verify(model, X[:2000], y[:2000]).holds


def test_ctrl_c_in_a_later_pass_leaves_the_model_of_the_statistic(monkeypatch):
    close = X.copy()
    close[:, 5] = close[:, 4] + 1e-8 * close[:, 5]

    def interrupted(self, chunk):
        raise KeyboardInterrupt

    monkeypatch.setattr(_triangle.TriangleOf, "__call__", interrupted)
    model = LinearRegression()
    with pytest.raises(KeyboardInterrupt):
        model.fit(close, y)
    assert (model.certificate_.outcome, model.solver_used_) == ("interrupted", "eigen")
    assert model.certificate_.fingerprint.rows == 5000
    assert qed.verify(model, close, y).holds


def test_parts_depend_on_the_shape_alone(small_parts):
    before = qed.get_num_threads()
    try:
        found = []
        for threads in (1, 2, 5):
            qed.set_num_threads(threads)
            found.append([LinearRegression().fit(rows, y, s).coef_ for rows in (X, np.asfortranarray(X))])
    finally:
        qed.set_num_threads(before)
    for others in found[1:]:
        np.testing.assert_array_equal(others, found[0])
    np.testing.assert_allclose(found[0][0], found[0][1], rtol=1e-11)


def test_only_tables_that_take_long_are_cut():
    def parts(n, p):
        table = np.broadcast_to(np.float64(0), (n, p))  # shape is all that is looked at
        cut = _learn._parts(table, np.broadcast_to(np.float64(0), (n, 1)), None)
        return 1 if cut is None else sum(1 for _ in cut.chunks())

    assert parts(1_000_000, 10) == 1
    assert parts(100_000, 1000) == 1  # merging products of a thousand columns would cost more than a per cent
    assert parts(400_000, 400) == 3
    assert parts(4_000_000, 100) == 2
    assert parts(300_000, 1000) == 2


@pytest.mark.parametrize(
    ("model", "labels"), [(VotedPerceptron(), y > 0), (OrdinalRegressor(), np.digitize(y, [0, 1]))]
)
def test_passes_of_classifiers_are_told_and_can_be_ended(model, labels):
    told = []
    with qed.listen(told.append):
        whole = qed.clone(model).fit(X[:200], labels[:200])
    assert sum(event.kind == "step" for event in told) >= 2
    with qed.listen(lambda event: qed.STOP if event.kind == "step" else None):
        stopped = qed.clone(model).fit(X[:200], labels[:200])
    assert stopped.n_iter_ == 1 < whole.n_iter_
    with qed.listen(interrupt_after(1)), pytest.raises(KeyboardInterrupt):
        model.fit(X[:200], labels[:200])
    np.testing.assert_array_equal(model.coef_, stopped.coef_)
    for one in (stopped, model):
        assert qed.verify(one, X[:200], labels[:200]).holds


def test_planes_that_vote_show_their_progress(capsys):
    VotedPerceptron(max_iter=2, verbose=1).fit(X[:200], y[:200] > 0)
    assert "VotedPerceptron" in capsys.readouterr().err
