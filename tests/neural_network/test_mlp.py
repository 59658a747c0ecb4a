"""Both networks, as their users meet them: parameters, data of all kinds, streams, files, interrupts, threads."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import qed
from qed.linear_model import LogisticRegression
from qed.neural_network import MLPClassifier, MLPRegressor, _gradients

RNG = np.random.default_rng(3)
X = RNG.standard_normal((90, 3))
NUMBERS = np.sin(2 * X[:, 0]) + X[:, 1] ** 2
TWO = np.where(X[:, 0] * X[:, 1] > 0, "like", "unlike")
THREE = np.digitize(NUMBERS, [0.0, 1.0])
MANY = np.column_stack([X[:, 0] > 0, X[:, 1] > 0, X[:, 2] > 0]).astype(int)
S = RNG.integers(0, 4, 90).astype(float)
SMALL: dict[str, Any] = {"hidden_layer_sizes": (6,), "random_state": 0, "max_iter": 20}
QUICK = {**SMALL, "solver": "lbfgs", "activation": "tanh", "alpha": 0.1}


def flat(model: Any) -> np.ndarray:
    return np.concatenate([part.ravel() for part in (*model.coefs_, *model.intercepts_)])


@pytest.mark.parametrize("solver", ["adam", "sgd", "lbfgs"])
@pytest.mark.parametrize("activation", ["relu", "tanh", "logistic", "identity"])
def test_every_solver_lowers_the_objective(solver: str, activation: str) -> None:
    settings = {**SMALL, "solver": solver, "activation": activation, "learning_rate_init": 0.02, "max_iter": 60}
    for kind, y in ((MLPClassifier, THREE), (MLPClassifier, X[:, 0] > 0), (MLPRegressor, NUMBERS)):
        model = kind(**settings).fit(X, y)
        proof = model.certificate_
        assert proof.confirmed
        assert proof.objective < proof.null_objective
        assert model.loss_curve_[-1] < model.loss_curve_[0]
        assert qed.verify(model, X, y).holds


@pytest.mark.parametrize("sizes", [(), 5, [4, 3], np.array([2])])
def test_layers_are_those_that_were_asked_for(sizes: Any) -> None:
    model = MLPClassifier(sizes, max_iter=2, random_state=0).fit(X, THREE)
    hidden = [sizes] if isinstance(sizes, int) else list(sizes)
    assert [len(part) for part in model.intercepts_] == [*hidden, 3]
    assert model.n_layers_ == len(hidden) + 2
    assert (model.n_outputs_, model.out_activation_) == (3, "softmax")
    for bad in ((0,), (3, -1), "five", (1.5,), None):
        with pytest.raises(qed.InvalidParameter, match="hidden_layer_sizes must be"):
            MLPClassifier(bad).fit(X, THREE)


def test_probabilities() -> None:
    for y, columns in ((TWO, 2), (THREE, 3)):
        model = MLPClassifier(**QUICK).fit(X, y)
        p = model.predict_proba(X)
        assert p.shape == (90, columns)
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
        np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), p, rtol=1e-12)
    far = model.predict_log_proba(1e6 * X)
    assert np.isfinite(far).all()


@pytest.mark.covers("MUL-18")
def test_several_labels_are_told_by_the_signs_of_their_outputs() -> None:
    model = MLPClassifier(**{**QUICK, "max_iter": 200, "alpha": 0.01}).fit(X, MANY)
    assert (model.n_outputs_, model.out_activation_) == (3, "logistic")
    assert model.score(X, MANY) > 0.9
    hidden = np.tanh(X @ model.coefs_[0] + model.intercepts_[0])
    np.testing.assert_array_equal(model.predict(X), hidden @ model.coefs_[1] + model.intercepts_[1] > 0)
    assert model.predict_proba(X).shape == MANY.shape
    assert qed.verify(model, X, MANY).holds
    with pytest.raises(qed.InvalidData, match="zeros and ones"):
        MLPClassifier().fit(X, 2 * MANY)


@pytest.mark.covers("MUL-18", "NEU-32")
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_without_hidden_layers_it_is_logistic_regression(y: Any) -> None:
    """Softmax with cross-entropy, no layer between: the same objective has the same minimum."""
    C = 0.7
    network = MLPClassifier((), solver="lbfgs", alpha=1 / C, tol=1e-9, max_iter=2000, random_state=0).fit(X, y)
    line = LogisticRegression(C=C, tol=1e-12).fit(X, y)
    assert network.certificate_.reached
    assert network.certificate_.objective == pytest.approx(line.certificate_.objective / (C * len(X)), rel=1e-9)
    np.testing.assert_allclose(network.predict_proba(X), line.predict_proba(X), atol=2e-6)


def test_poisson_rates() -> None:
    counts = RNG.poisson(np.exp(0.5 * X[:, 0]))
    model = MLPRegressor("poisson", **QUICK).fit(X, counts)
    assert model.out_activation_ == "exp"
    assert (model.predict(X) > 0).all()
    assert qed.verify(model, X, counts).holds
    with pytest.raises(qed.InvalidData, match="y >= 0"):
        model.fit(X, NUMBERS)


def test_several_targets() -> None:
    both = np.column_stack([NUMBERS, -X[:, 2]])
    model = MLPRegressor(**{**QUICK, "max_iter": 200}).fit(X, both)
    assert model.predict(X).shape == both.shape
    assert model.score(X, both) > 0.8
    assert MLPRegressor(**QUICK).fit(X, NUMBERS[:, None]).predict(X).shape == (90,)


@pytest.mark.parametrize("kind", ["float32", "strided", "readonly", "frame", "csr", "csc", "list"])
def test_containers(kind: str) -> None:
    made = {
        "float32": lambda: X.astype(np.float32),
        "strided": lambda: np.asfortranarray(np.repeat(X, 2, axis=0))[::2],
        "readonly": lambda: _read_only(X),
        "frame": lambda: pd.DataFrame(X, columns=["a", "b", "c"]),
        "csr": lambda: sparse.csr_array(X),
        "csc": lambda: sparse.csc_array(X),
        "list": X.tolist,
    }[kind]()
    model, plain = MLPRegressor(**QUICK).fit(made, NUMBERS), MLPRegressor(**QUICK).fit(X, NUMBERS)
    if kind == "float32":
        assert {part.dtype for part in model.coefs_} == {np.dtype(np.float32)}
        assert model.predict(made).dtype == np.float32
        assert qed.verify(model, made, NUMBERS).holds
    else:
        np.testing.assert_array_equal(flat(model), flat(plain))
        np.testing.assert_allclose(model.predict(made), plain.predict(X), rtol=1e-12)


def _read_only(array: np.ndarray) -> np.ndarray:
    copy = array.copy()
    copy.flags.writeable = False
    return copy


@pytest.mark.parametrize("solver", ["adam", "lbfgs"])
def test_large_sparse_tables_are_not_written_out(solver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = sparse.csr_array(np.where(np.abs(X) > 0.5, X, 0.0))
    settings = {**QUICK, "solver": solver, "max_iter": 10, "batch_size": 32 if solver == "adam" else "auto"}
    monkeypatch.setattr(_gradients, "DENSE", 0)
    thin = MLPClassifier(**settings).fit(table, THREE, S)
    dense = MLPClassifier(**settings).fit(table.toarray(), THREE, S)
    np.testing.assert_allclose(flat(thin), flat(dense), rtol=1e-9, atol=1e-12)


def test_weights_are_repetitions() -> None:
    """Exactly with all rows at once; up to rounding, which lengthy paths amplify."""
    twice = np.repeat(np.arange(90), S.astype(int))
    for settings in ({**QUICK, "max_iter": 5}, {**SMALL, "batch_size": "auto", "solver": "adam"}):
        weighted = MLPRegressor(**settings).fit(X, NUMBERS, S)
        repeated = MLPRegressor(**settings).fit(X[twice], NUMBERS[twice])
        np.testing.assert_allclose(flat(weighted), flat(repeated), rtol=1e-6, atol=1e-8)
        np.testing.assert_array_equal(
            flat(weighted), flat(MLPRegressor(**settings).fit(X[S > 0], NUMBERS[S > 0], S[S > 0]))
        )
        assert qed.verify(weighted, X, NUMBERS, S).holds


def test_what_cannot_be_learnt_is_refused() -> None:
    with pytest.raises(qed.InvalidData, match="only one class"):
        MLPClassifier().fit(X, np.zeros(90))
    with pytest.raises(qed.InvalidData, match="NaN"):
        MLPRegressor().fit(np.where(X > 2, np.nan, X), NUMBERS)
    for model in (MLPRegressor(**SMALL), MLPRegressor(**QUICK)):
        with pytest.raises(qed.InvalidData, match="non-finite parameter weights"):
            model.fit(1e300 * X, NUMBERS)
    with pytest.raises(qed.InvalidData, match="partial_fit"):
        MLPRegressor().fit(_Source(), None)
    with pytest.raises(qed.InvalidParameter, match="validation set is too small"):
        MLPRegressor(early_stopping=True, validation_fraction=0.01).fit(X, NUMBERS)


class _Source:
    """Enough of a source of chunks to be taken for one."""

    schema = None
    n_rows = None

    def chunks(self) -> Any:
        raise AssertionError


def test_one_row_and_constant_columns() -> None:
    model = MLPRegressor(**QUICK).fit(np.ones((1, 3)), [2.0])
    assert model.predict(np.ones((1, 3)))[0] == pytest.approx(2.0, abs=0.2)
    table = np.column_stack([np.full(90, 5.0), X])
    assert qed.verify(MLPClassifier(**QUICK).fit(table, TWO), table, TWO).holds


@pytest.mark.parametrize("solver", ["adam", "sgd"])
def test_a_stream_goes_on_where_it_was(solver: str, tmp_path: Any) -> None:
    """Passes one by one are the passes of a fit, also through a file; rows in one batch have no order."""
    settings = {**SMALL, "solver": solver, "tol": 0.0, "n_iter_no_change": np.inf, "max_iter": 4}
    whole = MLPClassifier(**settings).fit(X, THREE)
    stream = MLPClassifier(**settings)
    for _ in range(2):
        stream.partial_fit(X, THREE, classes=[0, 1, 2])
    stream.save(tmp_path / "stream.qed")
    stream = qed.load(tmp_path / "stream.qed")
    for _ in range(2):
        stream.partial_fit(X, THREE)
    np.testing.assert_array_equal(flat(stream), flat(whole))
    assert stream.t_ == whole.t_ == 360
    assert stream.loss_curve_ == whole.loss_curve_
    assert stream.certificate_.outcome == "partial_fit"
    assert qed.verify(stream, X, THREE).holds
    stream.partial_fit(X[:7], np.zeros(7, dtype=int))
    assert qed.verify(stream, X[:7], np.zeros(7, dtype=int)).holds
    with pytest.raises(qed.InvalidData, match="not among"):
        stream.partial_fit(X, THREE + 1)


def test_streams_are_refused_where_they_make_no_sense() -> None:
    assert not hasattr(MLPClassifier(solver="lbfgs"), "partial_fit")
    assert hasattr(MLPRegressor(), "partial_fit")
    with pytest.raises(ValueError, match="classes must be passed"):
        MLPClassifier().partial_fit(X, TWO)
    with pytest.raises(ValueError, match="early_stopping"):
        MLPRegressor(early_stopping=True).partial_fit(X, NUMBERS)


def test_warm_starts() -> None:
    model = MLPRegressor(**QUICK, warm_start=True).fit(X, NUMBERS)
    before = model.certificate_.objective
    assert model.fit(X, NUMBERS).certificate_.objective < before
    with pytest.raises(ValueError, match="cannot go on from layers"):
        model.set_params(hidden_layer_sizes=(7,)).fit(X, NUMBERS)
    labels = MLPClassifier(**SMALL, warm_start=True).fit(X, THREE)
    curve = list(labels.loss_curve_)
    assert labels.fit(X, THREE).loss_curve_[: len(curve)] == curve
    with pytest.raises(ValueError, match="same classes"):
        labels.fit(X, TWO)


@pytest.mark.parametrize(("kind", "y"), [(MLPClassifier, TWO), (MLPRegressor, NUMBERS)])
def test_early_stopping_keeps_the_best(kind: Any, y: Any) -> None:
    settings = {**SMALL, "learning_rate_init": 0.05, "n_iter_no_change": 3, "max_iter": 100, "batch_size": 20}
    model = kind(**settings, early_stopping=True, validation_fraction=0.3).fit(X, y, np.ones(90))
    scores = model.validation_scores_
    assert len(scores) == model.n_iter_ < 100
    assert model.best_validation_score_ == max(scores)
    assert model.best_loss_ is None
    assert model.certificate_.outcome == "stalled"
    last = kind(**{**settings, "max_iter": int(np.argmax(scores)) + 1}, early_stopping=True, validation_fraction=0.3)
    np.testing.assert_array_equal(flat(model), flat(last.fit(X, y, np.ones(90))))
    assert qed.verify(model, X, y).holds


def test_schedules() -> None:
    settings = {
        **SMALL,
        "solver": "sgd",
        "learning_rate_init": 0.1,
        "max_iter": 300,
        "n_iter_no_change": 1,
        "tol": 1e-2,
    }
    plain = MLPRegressor(**settings).fit(X, NUMBERS)
    slower = MLPRegressor(**settings, learning_rate="adaptive").fit(X, NUMBERS)
    assert plain.certificate_.outcome == slower.certificate_.outcome == "stalled"
    assert slower.n_iter_ > plain.n_iter_
    assert slower.memory_.rate < 1e-6
    fading = MLPRegressor(**{**settings, "max_iter": 3}, learning_rate="invscaling", power_t=0.25).fit(X, NUMBERS)
    assert fading.memory_.rate == pytest.approx(0.1 / (3 * 90 + 1) ** 0.25)


def test_batches() -> None:
    with pytest.warns(UserWarning, match="clipped"):
        MLPRegressor(**SMALL, batch_size=1000).fit(X, NUMBERS)
    whole = MLPRegressor(**SMALL, batch_size=40, shuffle=False).fit(X, NUMBERS)
    again = MLPRegressor(**SMALL, batch_size=40, shuffle=False).fit(X, NUMBERS)
    np.testing.assert_array_equal(flat(whole), flat(again))
    assert not np.array_equal(flat(whole), flat(MLPRegressor(**SMALL, batch_size=40).fit(X, NUMBERS)))


def test_a_loss_does_not_depend_on_how_rows_are_split() -> None:
    """Steps too short to move anything: the loss of a pass is that of all rows, however they are divided."""
    still = {**SMALL, "learning_rate_init": 1e-30, "max_iter": 1, "alpha": 0.0}
    for y, kind in ((THREE, MLPClassifier), (NUMBERS, MLPRegressor)):
        for weight in (None, S):
            losses = [kind(**still, batch_size=b).fit(X, y, weight).loss_ for b in (1, 7, 32, 60)]
            np.testing.assert_allclose(losses, losses[0], rtol=1e-12)


def test_bits_do_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks depend on shapes; PyTorch's own threads and ours may be any number, and are what they were afterwards."""
    import torch  # noqa: PLC0415

    monkeypatch.setattr(_gradients, "MOST_ROWS", 64)
    rows = np.tile(X, (5, 1)) + 0.01 * RNG.standard_normal((450, 3))
    y = np.tile(NUMBERS, 5)
    found = {}
    ours, theirs = qed.get_num_threads(), torch.get_num_threads()
    try:
        for threads in (1, 2, 3):
            qed.set_num_threads(threads)
            torch.set_num_threads(threads)
            for solver, batch in (("lbfgs", "auto"), ("adam", 200)):
                model = MLPRegressor(**{**SMALL, "solver": solver, "batch_size": batch, "max_iter": 5}).fit(rows, y)
                found.setdefault(solver, []).append((flat(model), model.certificate_, model.predict(rows)))
                assert torch.get_num_threads() == threads
    finally:
        qed.set_num_threads(ours)
        torch.set_num_threads(theirs)
    for first, *others in found.values():
        for other in others:
            np.testing.assert_array_equal(first[0], other[0])
            np.testing.assert_array_equal(first[2], other[2])
            assert first[1] == other[1]


def test_fits_at_the_same_time_leave_each_other_alone() -> None:
    import torch  # noqa: PLC0415

    alone = flat(MLPRegressor(**SMALL).fit(X, NUMBERS))
    before, found = torch.get_num_threads(), []

    def work() -> None:
        found.append((flat(MLPRegressor(**SMALL).fit(X, NUMBERS)), torch.get_num_threads()))

    workers = [threading.Thread(target=work) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert torch.get_num_threads() == before
    for parameters, threads in found:
        np.testing.assert_array_equal(parameters, alone)
        assert threads == before


@pytest.mark.parametrize("solver", ["adam", "lbfgs"])
def test_interrupts_keep_the_model_so_far(solver: str) -> None:
    def interrupt(event: Any) -> None:
        if event.kind == "step" and event.step == 3:
            raise KeyboardInterrupt

    model = MLPClassifier(**{**SMALL, "solver": solver})
    with pytest.raises(KeyboardInterrupt), qed.listen(interrupt):
        model.fit(X, THREE)
    assert model.certificate_.outcome == "interrupted"
    assert qed.verify(model, X, THREE).holds
    with qed.listen(lambda event: qed.STOP if event.step == 3 else None):
        model.fit(X, THREE)
    assert model.certificate_.outcome == "stopped"
    assert model.n_iter_ == 3


def test_files_are_checked(tmp_path: Any) -> None:
    model = MLPClassifier(**SMALL).fit(X, THREE)
    model.save(tmp_path / "model.qed")
    loaded = qed.load(tmp_path / "model.qed")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.certificate_ == model.certificate_

    def changed(**state: Any) -> Any:
        copy = qed.load(tmp_path / "model.qed")
        copy.__dict__.update(state)
        copy.save(tmp_path / "changed.qed")
        return tmp_path / "changed.qed"

    for state in (
        {"coefs_": model.coefs_[:1]},
        {"coefs_": [part.T.copy() for part in model.coefs_]},
        {"coefs_": [part * np.nan for part in model.coefs_]},
        {"intercepts_": "none"},
        {"out_activation_": "exp"},
        {"n_outputs_": 2},
        {"classes_": model.classes_[:2]},
        {"memory_": MLPClassifier(3, max_iter=1).fit(X, THREE).memory_},
    ):
        with pytest.raises(qed.ModelFileError):
            qed.load(changed(**state))


def test_memory_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QED_MEMORY_LIMIT", "1000")
    with pytest.raises(qed.MemoryLimit, match="smaller hidden_layer_sizes"):
        MLPRegressor().fit(X, NUMBERS)
