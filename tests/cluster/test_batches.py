"""Compiled seeding and batches of k-means, against the same written out row by row."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array

import qed
from qed.cluster import AffinityPropagation, BisectingKMeans, MiniBatchKMeans
from qed.cluster._kernels import OUT_OF_BATCHES, POOR, RESTED, BatchRule, Messages, Places

RNG = np.random.default_rng(11)
ROWS = RNG.standard_normal((400, 7)) + 3.0
WEIGHTS = RNG.integers(0, 4, 400).astype(float)
LAYOUTS = ["dense", "float32", "columns", "sparse"]


def laid_out(X, layout):
    kinds = {
        "float32": lambda: X.astype(np.float32),
        "columns": lambda: np.asfortranarray(X),
        "sparse": lambda: csr_array(X),
    }
    return kinds.get(layout, lambda: X)()


def places_of(layout, s):
    given = laid_out(ROWS, layout)
    places = Places.of(given, np.zeros(7) if layout == "sparse" else ROWS.mean(axis=0), s)
    return places, np.stack([places.row(i) for i in range(len(ROWS))])


def slow_step(rows, s, batch, centres, counts):
    """One batch, row by row."""
    near = np.argmin(((rows[batch][:, None] - centres) ** 2).sum(axis=2), axis=1)
    value = np.sum(s[batch] * ((rows[batch] - centres[near]) ** 2).sum(axis=1)) / s[batch].sum()
    shift = 0.0
    for j in range(len(centres)):
        own = batch[near == j]
        if s[own].sum() > 0:
            counts[j] += s[own].sum()
            step = (s[own] @ rows[own] - s[own].sum() * centres[j]) / counts[j]
            centres[j] += step
            shift += float(step @ step)
    return value, shift


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("weighted", [False, True])
def test_batches_are_those_written_out_with_rows_that_come_twice(layout, weighted):
    places, rows = places_of(layout, WEIGHTS if weighted else None)
    s = WEIGHTS if weighted else np.ones(len(rows))
    batches = np.sort(np.random.default_rng(0).integers(0, 400, (6, 150)), axis=1)
    batches[0, :4] = [5, 5, 7, 8]  # as far apart as if it were four rows in order
    centres, counts = rows[::80].copy(), np.zeros(5)
    slow, slow_counts = centres.copy(), counts.copy()
    seen = np.array([0, 0, 0, 0, np.inf, np.inf, np.inf, 0])
    end, taken = places.learn(batches, BatchRule(0.0, 50.0, 0.3), centres, counts, seen)
    average, move = np.inf, np.inf
    for at, batch in enumerate(batches):
        value, shift = slow_step(rows, s, batch, slow, slow_counts)
        if at:
            average = value if at == 1 else average + 0.3 * (value - average)
            move = shift if at == 1 else move + 0.3 * (shift - move)
    assert (end, taken) == (OUT_OF_BATCHES, 6)
    np.testing.assert_allclose(centres, slow, rtol=0, atol=1e-12)
    np.testing.assert_allclose(counts, slow_counts, rtol=1e-14)
    np.testing.assert_allclose(seen[[0, 3, 4, 5]], [6, value, average, move], rtol=1e-10)


def test_batches_end_where_centres_rest_or_one_is_poor():
    places, rows = places_of("dense", None)
    batches = np.sort(np.random.default_rng(2).integers(0, 400, (200, 40)), axis=1)
    seen = np.array([0, 0, 0, 0, np.inf, np.inf, np.inf, 0])
    end, taken = places.learn(batches, BatchRule(0.0, 1.0, 1.0, 0.0, 3), rows[:3].copy(), np.zeros(3), seen)
    assert end == RESTED
    assert taken == seen[0]
    assert seen[7] == 3
    far = np.vstack([rows[:2], np.full((1, 7), 99.0)])
    end, taken = places.learn(batches, BatchRule(0.01, 1.0), far, np.zeros(3), np.zeros(8))
    assert (end, taken) == (POOR, 1)
    np.testing.assert_array_equal(far[2], 99.0)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("power", [1.0, 2.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_are_drawn_by_powers_of_the_distance_from_those_before(layout, power, weighted):
    places, rows = places_of(layout, WEIGHTS if weighted else None)
    s = WEIGHTS if weighted else np.ones(len(rows))
    k, trials = 6, 3
    uniforms = np.random.default_rng(1).random(1 + (k - 1) * trials)

    def drawn(chance, uniform):
        return int(np.searchsorted(np.cumsum(chance), uniform * chance.sum(), side="right"))

    wanted = [drawn(s, uniforms[0])]
    closest = ((rows - rows[wanted[0]]) ** 2).sum(axis=1)
    for j in range(1, k):
        some = uniforms[1 + (j - 1) * trials : 1 + j * trials]
        tried = [drawn(closest ** (power / 2) * s, one) for one in some]
        near = np.minimum(closest, ((rows[tried][:, None] - rows) ** 2).sum(axis=2))
        best = int(np.argmin(near @ s))
        wanted.append(tried[best])
        closest = near[best]
    np.testing.assert_array_equal(places.draw_apart(uniforms, k, trials, power), wanted)


def test_rows_without_weight_are_not_drawn_and_equal_rows_are_drawn_by_weight():
    equal = Places.of(np.ones((6, 2)), np.zeros(2), np.array([0.0, 1, 0, 3, 0, 0]))
    found = equal.draw_apart(np.random.default_rng(0).random(1 + 99 * 2), 100, 2, 2.0)
    assert set(found.tolist()) == {1, 3}
    assert 60 <= np.sum(found == 3) <= 90


@pytest.mark.parametrize("kind", [MiniBatchKMeans, BisectingKMeans])
def test_same_bits_at_any_number_of_threads(kind):
    X = np.random.default_rng(3).standard_normal((30_000, 12))
    before, found = qed.get_num_threads(), []
    try:
        for threads in (1, 2, 3, 8, 64):
            qed.set_num_threads(threads)
            model = kind(40, random_state=0).fit(X)
            found.append(model.cluster_centers_.tobytes() + model.labels_.tobytes())
    finally:
        qed.set_num_threads(before)
    assert len(set(found)) == 1


def test_messages_that_do_not_settle_leave_the_best_exemplars_seen():
    homes = 12.0 * RNG.standard_normal((20, 5))
    X = homes[RNG.integers(0, 20, 200)] + RNG.standard_normal((200, 5))
    S = -((X[:, None] - X) ** 2).sum(axis=2)
    preference = np.median(S)

    def net_similarity(exemplars):
        served = np.setdiff1d(np.arange(200), exemplars)
        return S[np.ix_(served, exemplars)].max(axis=1).sum() + preference * len(exemplars)

    off = S.copy()
    np.fill_diagonal(off, -np.inf)
    messages = Messages(off, np.full(200, preference), 0.5)
    rounds = [np.flatnonzero(messages.step()) for _ in range(60)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = AffinityPropagation(max_iter=60, convergence_iter=500, random_state=0).fit(X)
    assert model.certificate_.outcome == "max_iter"
    best = max(net_similarity(one) for one in rounds if len(one))
    assert best > net_similarity(rounds[-1]) + 1  # otherwise this shows nothing
    assert net_similarity(model.cluster_centers_indices_) >= best - 1e-6 * abs(best)
