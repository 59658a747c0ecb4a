"""What a course says about networks, checked on the models that people use.

A step of plain gradient descent on all rows at once moves the weights by minus the gradient: gradients are read from it.
"""

from __future__ import annotations

from itertools import pairwise, permutations, product
from typing import Any

import numpy as np
import pytest

import qed
from qed.decomposition import PCA
from qed.model_selection import GridSearchCV
from qed.neural_network import MLPClassifier, MLPRegressor

RNG = np.random.default_rng(5)
X = RNG.standard_normal((12, 3))
Y = RNG.standard_normal((12, 2))
CORNERS = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
RATE = 1e-3
PLAIN: dict[str, Any] = {
    "solver": "sgd",
    "momentum": 0.0,
    "nesterovs_momentum": False,
    "learning_rate_init": RATE,
    "alpha": 0.0,
    "random_state": 0,
}


def with_layers(model: Any, coefs: Any, intercepts: Any) -> Any:
    """Put weights of our own into a network that has been made."""
    model.coefs_ = [np.array(part, dtype=float) for part in coefs]
    model.intercepts_ = [np.array(part, dtype=float) for part in intercepts]
    return model


def made(sizes: tuple[int, ...], activation: str, **settings: Any) -> Any:
    """Return a regressor with these layers, after one step that went nowhere."""
    model = MLPRegressor(
        hidden_layer_sizes=sizes[1:-1], activation=activation, **{**PLAIN, "learning_rate_init": 1e-300, **settings}
    )
    model.partial_fit(np.zeros((2, sizes[0])), np.zeros((2, sizes[-1])))
    return model.set_params(learning_rate_init=RATE)


def parameters(model: Any) -> list[np.ndarray]:
    return [part.copy() for part in (*model.coefs_, *model.intercepts_)]


def gradients(model: Any, table: Any, y: Any) -> list[np.ndarray]:
    """Return the gradients of a step, in the order of coefs_ and intercepts_; the model moves."""
    before = parameters(model)
    model.memory_ = None
    model.partial_fit(table, y)
    return [(old - new) / RATE for old, new in zip(before, parameters(model), strict=True)]


@pytest.mark.covers("NEU-02")
def test_unit_form_and_matrix_form() -> None:
    model = MLPRegressor(hidden_layer_sizes=(4, 3), activation="tanh", **PLAIN, max_iter=1).fit(X, Y)
    (U, V, W), (b, c, d) = model.coefs_, model.intercepts_
    np.testing.assert_allclose(model.predict(X), np.tanh(np.tanh(X @ U + b) @ V + c) @ W + d, rtol=1e-12)
    for row, told in zip(X, model.predict(X), strict=True):
        first = [np.tanh(sum(row[i] * U[i, j] for i in range(3)) + b[j]) for j in range(4)]
        second = [np.tanh(sum(first[i] * V[i, j] for i in range(4)) + c[j]) for j in range(3)]
        np.testing.assert_allclose(told, [sum(second[i] * W[i, j] for i in range(3)) + d[j] for j in range(2)])


@pytest.mark.covers("NEU-06")
def test_the_softmax_head() -> None:
    """Its Jacobian is diag(p) - pp', and large scores do not overflow."""
    model = MLPClassifier((), solver="lbfgs", max_iter=3, random_state=0).fit(X, np.arange(12) % 3)
    model.coefs_[0][...], scores = 0.0, np.array([0.3, -1.0, 0.8])

    def p(shift: np.ndarray) -> np.ndarray:
        model.intercepts_[0] = scores + shift
        return model.predict_proba(X[:1])[0]

    here, h = p(np.zeros(3)), 1e-6
    jacobian = np.array([(p(h * way) - p(-h * way)) / (2 * h) for way in np.eye(3)])
    np.testing.assert_allclose(jacobian, np.diag(here) - np.outer(here, here), atol=1e-9)
    np.testing.assert_array_equal(p(np.array([1e5, 0.0, 0.0])), [1.0, 0.0, 0.0])
    assert np.isfinite(model.predict_log_proba(X[:1])).all()


@pytest.mark.covers("NEU-07")
def test_exclusive_or_with_given_weights() -> None:
    model = with_layers(made((2, 2, 1), "relu"), [np.ones((2, 2)), [[2.0], [-4.0]]], [[0.0, -1.0], [-1.0]])
    np.testing.assert_array_equal(model.predict(CORNERS), [-1.0, 1.0, 1.0, -1.0])


@pytest.mark.covers("NEU-08", "NEU-36")
def test_exclusive_or_is_learnt_the_better_the_wider_the_layer() -> None:
    labels = [0, 1, 1, 0]

    def share(width: int, starts: int) -> float:
        settings: Any = {"solver": "lbfgs", "alpha": 1e-4, "max_iter": 20}
        fits = [MLPClassifier((width,), random_state=seed, **settings).fit(CORNERS, labels) for seed in range(starts)]
        return float(np.mean([model.score(CORNERS, labels) == 1.0 for model in fits]))

    shares = [share(width, 50) for width in (2, 4, 8, 16)]
    assert shares == sorted(shares)
    assert shares[0] > 0
    assert shares[-1] >= 0.95
    flat = MLPClassifier((), solver="lbfgs", max_iter=200, random_state=0).fit(CORNERS, labels)
    assert flat.score(CORNERS, labels) <= 0.75


@pytest.mark.covers("NEU-09")
def test_linear_units_collapse() -> None:
    model = MLPRegressor(hidden_layer_sizes=(5, 4), activation="identity", **PLAIN, max_iter=2).fit(X, Y)
    (U, V, W), (b, c, d) = model.coefs_, model.intercepts_
    np.testing.assert_allclose(model.predict(X), X @ (U @ V @ W) + ((b @ V + c) @ W + d), rtol=1e-10)


@pytest.mark.covers("NEU-12", "NEU-14")
def test_gradients_in_closed_form() -> None:
    """One hidden layer, squared error: by hand, for one row and two outputs that share the hidden units."""
    x, y = X[:1], Y[:1]
    for activation, slope in (("tanh", lambda h: 1 - h**2), ("logistic", lambda h: h * (1 - h))):
        model = made((3, 4, 2), activation)
        (W, U), (b, c) = model.coefs_, model.intercepts_
        z = x @ W + b
        h = np.tanh(z) if activation == "tanh" else 1 / (1 + np.exp(-z))
        error = h @ U + c - y
        back = slope(h) * (error @ U.T)  # of unit j: φ'(z_j) Σ_i δ_i w_ij
        found = gradients(model, x, y)
        for one, by_hand in zip(found, (x.T @ back, h.T @ error, back[0], error[0]), strict=True):
            assert one.shape == by_hand.shape
            np.testing.assert_allclose(one, by_hand, atol=1e-10)


@pytest.mark.covers("NEU-13")
@pytest.mark.parametrize("activation", ["tanh", "logistic", "identity", "relu"])
@pytest.mark.parametrize("kind", ["numbers", "counts", "two", "three", "several"])
def test_backpropagation_is_what_differences_say(kind: str, activation: str) -> None:
    """Every coordinate of the gradient, against central differences of an objective made of predictions alone."""
    counts, codes = np.round(np.exp(Y)), np.arange(12)
    truth: Any = {"numbers": Y, "counts": counts, "two": codes % 2, "three": codes % 3, "several": (Y > 0).astype(int)}[
        kind
    ]
    settings = {**PLAIN, "hidden_layer_sizes": (4, 3), "activation": activation, "alpha": 0.3}
    model: Any = MLPClassifier(**settings)
    if kind in ("numbers", "counts"):
        model = MLPRegressor("poisson" if kind == "counts" else "squared_error", **settings)
    model.set_params(max_iter=2).fit(X, truth)

    def objective() -> float:
        told = model.predict(X) if kind in ("numbers", "counts") else model.predict_log_proba(X)
        if kind == "numbers":
            losses = 0.5 * np.sum((told - truth) ** 2, axis=1)
        elif kind == "counts":
            ratio = np.where(truth > 0, truth, 1.0) / told
            losses = np.sum(truth * np.log(np.where(truth > 0, ratio, 1.0)) - truth + told, axis=1)
        elif kind == "several":
            losses = -np.sum(np.where(truth == 1, told, np.log1p(-np.exp(told))), axis=1)
        else:
            losses = -told[np.arange(12), truth]
        return float(losses.mean() + 0.5 * 0.3 / 12 * sum(np.sum(W**2) for W in model.coefs_))

    by_differences, h = [], 1e-6
    for part in (*model.coefs_, *model.intercepts_):
        for at in np.ndindex(part.shape):
            kept = part[at]
            part[at] = kept + h
            up = objective()
            part[at] = kept - h
            by_differences.append((up - objective()) / (2 * h))
            part[at] = kept
    assert objective() == pytest.approx(model.certificate_.objective, rel=1e-12)
    assert np.linalg.norm(by_differences) == pytest.approx(model.certificate_.gradient, rel=1e-6)
    assert np.max(np.abs(by_differences)) == pytest.approx(model.certificate_.largest, rel=1e-6)
    assert model.certificate_.confirmed
    by_steps = gradients(model, X, truth)
    np.testing.assert_allclose(np.concatenate([part.ravel() for part in by_steps]), by_differences, atol=1e-7)


@pytest.mark.covers("NEU-16")
def test_a_step_on_all_rows_is_the_mean_of_steps_on_single_ones() -> None:
    def moved(rows: slice) -> list[np.ndarray]:
        return gradients(made((3, 4, 2), "tanh"), X[rows], Y[rows])

    singles = [moved(slice(i, i + 1)) for i in range(12)]
    for whole, *parts in zip(moved(slice(None)), *singles, strict=True):
        np.testing.assert_allclose(whole, np.mean(parts, axis=0), atol=1e-10)


def test_weights_begin_with_the_spread_that_keeps_signals_alive() -> None:
    for activation, factor in (("tanh", 2.0), ("relu", 2.0), ("logistic", 2.0 / 3.0)):
        settings = {**PLAIN, "hidden_layer_sizes": (300, 200), "activation": activation, "learning_rate_init": 1e-300}
        model = MLPRegressor(**settings).partial_fit(X, Y)
        for weights, (below, above) in zip(model.coefs_, pairwise((3, 300, 200, 2)), strict=True):
            assert weights.std() == pytest.approx(np.sqrt(factor / (below + above)), rel=0.15)
            assert np.abs(weights).max() <= np.sqrt(3 * factor / (below + above))


def test_equal_units_stay_equal() -> None:
    model = made((3, 4, 2), "tanh")
    with_layers(model, [np.zeros((3, 4)), np.zeros((4, 2))], [np.zeros(4), np.zeros(2)])
    for _ in range(5):
        model.partial_fit(X, Y)
    assert np.ptp(model.coefs_[0], axis=1).max() == 0
    assert np.ptp(model.coefs_[1], axis=0).max() == 0


@pytest.mark.covers("NEU-19")
@pytest.mark.parametrize("nesterov", [False, True])
def test_momentum(nesterov: bool) -> None:
    """``a = m a + η g, w = w - a``, by hand over some steps; without momentum plain descent; Nesterov's looks ahead."""
    m = 0.8
    table, y = X[:, :1], Y[:, 0]
    model = MLPRegressor(
        hidden_layer_sizes=(), **{**PLAIN, "momentum": m, "nesterovs_momentum": nesterov, "learning_rate_init": 0.1}
    )
    model.partial_fit(table, y)
    plain = MLPRegressor(hidden_layer_sizes=(), **{**PLAIN, "learning_rate_init": 1e-300}).partial_fit(table, y)
    w, b = plain.coefs_[0][0, 0], plain.intercepts_[0][0]
    speed = np.zeros(2)
    for step in range(4):
        error = table[:, 0] * w + b - y
        g = np.array([np.mean(error * table[:, 0]), np.mean(error)])
        speed = m * speed + 0.1 * g
        move = m * speed + 0.1 * g if nesterov else speed
        w, b = w - move[0], b - move[1]
        np.testing.assert_allclose([model.coefs_[0][0, 0], model.intercepts_[0][0]], [w, b], rtol=1e-10)
        if step < 3:
            model.partial_fit(table, y)


@pytest.mark.covers("NEU-20")
def test_settings_of_the_weights_that_are_one_function() -> None:
    """m! orders of the hidden units times 2^m signs: an odd activation takes a sign in and gives it back."""
    model = MLPRegressor(hidden_layer_sizes=(3,), activation="tanh", solver="lbfgs", max_iter=10, random_state=0)
    told = model.fit(X, Y).predict(X)
    (U, W), (b, c) = model.coefs_, model.intercepts_
    seen = set()
    for order in permutations(range(3)):
        for signs in product((1.0, -1.0), repeat=3):
            o, s = list(order), np.array(signs)
            with_layers(model, [U[:, o] * s, W[o] * s[:, None]], [b[o] * s, c])
            np.testing.assert_allclose(model.predict(X), told, rtol=1e-10)
            seen.add(model.coefs_[0].tobytes())
    assert len(seen) == 6 * 8
    assert qed.verify(model, X, Y).holds


@pytest.mark.covers("NEU-23")
def test_weight_decay() -> None:
    """With λ = α / 2B the gradient has 2λW more, and nothing on intercepts; a large λ shrinks all weights to nothing."""
    bare, heavy = made((3, 4, 2), "tanh"), made((3, 4, 2), "tanh").set_params(alpha=2.4)
    weights = parameters(bare)
    extra = [more - less for more, less in zip(gradients(heavy, X, Y), gradients(bare, X, Y), strict=True)]
    for k, one in enumerate(extra):
        np.testing.assert_allclose(one, 2 * (2.4 / (2 * 12)) * weights[k] if k < 2 else 0.0, atol=1e-10)
    shrunk = MLPRegressor(hidden_layer_sizes=(4,), activation="tanh", solver="lbfgs", alpha=1e6, random_state=0).fit(
        X, Y
    )
    assert max(np.abs(W).max() for W in shrunk.coefs_) < 1e-3
    np.testing.assert_allclose(shrunk.predict(X), np.tile(Y.mean(axis=0), (12, 1)), atol=1e-2)


@pytest.mark.covers("NEU-26")
def test_gradients_vanish_through_sigmoids() -> None:
    """Unit weights: each sigmoid leaves at most a quarter; rectifiers leave all of it on the active path."""
    depth = 6
    ones = [np.ones((1, 1))] * (depth + 1)
    for activation in ("logistic", "relu"):
        model = with_layers(made((1,) * (depth + 2), activation), ones, [np.zeros(1)] * (depth + 1))
        slopes = [float(np.abs(g).max()) for g in gradients(model, np.ones((1, 1)), np.array([3.0]))[depth + 1 :]]
        top, told, passed = slopes[-1], 1.0, []
        for _ in range(depth):  # unit weights: a sigmoid passes on a (1 - a) of what arrives from above
            told = 1 / (1 + np.exp(-told))
            passed.append(told * (1 - told))
        for below, slope in enumerate(reversed(slopes)):
            if activation == "logistic":
                assert slope <= 4.0**-below * top * (1 + 1e-6) + 1e-12
                assert slope == pytest.approx(top * np.prod(passed[depth - below :]), rel=1e-6)
            else:
                assert slope == pytest.approx(top)


@pytest.mark.covers("NEU-27")
def test_dead_units_block_the_signal() -> None:
    model = made((3, 4, 2), "relu")
    model.intercepts_[0] = np.full(4, -100.0)
    into_first, into_second, first, second = gradients(model, X, Y)
    assert not into_first.any()
    assert not first.any()
    assert not into_second.any()
    assert second.any()


@pytest.mark.covers("NEU-28")
@pytest.mark.parametrize("pieces", [2, 5, 16])
def test_an_interpolant_is_as_close_as_the_theorem_says(pieces: int) -> None:
    """Rectifiers at equal distances: an L-Lipschitz function on [0, 1] is met within L / 2k."""

    def wave(t: Any) -> Any:
        return np.abs(np.sin(7 * t)) + 0.5 * t  # 7.5-Lipschitz

    knots = np.linspace(0, 1, pieces + 1)
    slopes = np.diff(wave(knots)) * pieces
    changes = np.diff(slopes, prepend=0.0)
    model = made((1, pieces, 1), "relu")
    with_layers(model, [np.ones((1, pieces)), changes[:, None]], [-knots[:-1], [wave(0.0)]])
    t = np.linspace(0, 1, 4001)
    assert np.abs(model.predict(t[:, None]) - wave(t)).max() <= 7.5 / (2 * pieces)


@pytest.mark.covers("NEU-29")
@pytest.mark.parametrize("depth", [1, 3, 5])
def test_depth_makes_exponentially_many_pieces(depth: int) -> None:
    """The hat 2t on the left half, 2 - 2t on the right, put into itself: 2^depth pieces with two units a layer."""
    hat = np.array([[2.0], [-4.0]])  # of relu(t) and relu(t - 1/2)
    inner, half = hat @ np.ones((1, 2)), np.array([0.0, -0.5])
    model = made((1, *(2,) * depth, 1), "relu")
    with_layers(model, [np.ones((1, 2)), *[inner] * (depth - 1), hat], [*[half] * depth, [0.0]])
    steps = 2 ** (depth + 3)
    told = model.predict(np.linspace(0, 1, steps + 1)[:, None])
    slopes = np.diff(told) * steps
    assert np.count_nonzero(np.abs(np.diff(slopes)) > 1e-6) + 1 == 2**depth
    np.testing.assert_allclose(np.abs(slopes), 2.0**depth)


@pytest.mark.covers("NEU-33")
def test_counts_and_a_search_over_architectures() -> None:
    d, m, k = 3, 5, 4
    model = MLPClassifier((m,), max_iter=1, random_state=0).fit(X, np.arange(12) % k)
    assert sum(part.size for part in parameters(model)) == (d + 1) * m + (m + 1) * k
    told = model.summary()
    assert told.n_parameters == (d + 1) * m + (m + 1) * k
    assert [(one.inputs, one.units, one.activation) for one in told.layers] == [(d, m, "relu"), (m, k, "softmax")]
    assert [one.n_parameters for one in told.layers] == [(d + 1) * m, (m + 1) * k]
    assert str(told.n_parameters) in str(told)
    deep = MLPClassifier((7, 2), activation="tanh", max_iter=1, random_state=0).fit(X, np.arange(12) % 2).summary()
    assert deep.n_parameters == 4 * 7 + 8 * 2 + 3 * 1
    assert deep.layers[-1].activation == "logistic"
    table = RNG.standard_normal((60, 2))
    search = GridSearchCV(
        MLPClassifier(activation="tanh", solver="lbfgs", alpha=0.1, max_iter=100, random_state=0),
        {"hidden_layer_sizes": [(), (8,)]},
        cv=2,
    ).fit(table, table[:, 0] * table[:, 1] > 0)
    assert search.best_params_ == {"hidden_layer_sizes": (8,)}


@pytest.mark.covers("DIM-30")
@pytest.mark.parametrize("k", [1, 2])
def test_a_linear_autoencoder_learns_the_principal_subspace(k: int) -> None:
    """The projector onto what the decoder spans is that of PCA, and encoder times decoder is that projector."""
    rng = np.random.default_rng(4)
    table = rng.standard_normal((80, 5)) * [3.0, 2.0, 1.0, 0.5, 0.2] @ rng.standard_normal((5, 5))
    table -= table.mean(axis=0)
    table /= np.linalg.norm(table) / np.sqrt(len(table))
    model = MLPRegressor(
        hidden_layer_sizes=(k,),
        activation="identity",
        solver="lbfgs",
        alpha=0.0,
        max_iter=5000,
        tol=1e-14,
        random_state=0,
    ).fit(table, table)
    encoder, decoder = model.coefs_
    V = PCA(k).fit(table).components_.T
    span = np.linalg.qr(decoder.T)[0]
    np.testing.assert_allclose(span @ span.T, V @ V.T, atol=1e-4)
    np.testing.assert_allclose(encoder @ decoder, V @ V.T, atol=1e-4)
    left = np.mean((model.predict(table) - table) ** 2)
    best = np.mean((table - table @ V @ V.T) ** 2)
    assert best - 1e-12 <= left <= best + 1e-7
