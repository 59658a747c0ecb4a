"""k-means: what the course says about it, what scikit-learn finds from the same start, and what is proved."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import scipy.sparse
from sklearn import cluster as theirs

import qed
from qed.cluster import KMeans, _kernels
from qed.core._persistence import dumps, loads
from qed.data import ArraySource
from qed.decomposition import PCA
from qed.preprocessing import StandardScaler

rng = np.random.default_rng(3)
HOMES = 4 * rng.standard_normal((5, 6))
X = HOMES[rng.integers(0, 5, 400)] + rng.standard_normal((400, 6)) + 20.0
START = X[:5].copy()


def inertia(table, centres):
    """Return the sum of squared distances to the nearest centre, by definition."""
    return float(((table[:, None] - centres) ** 2).sum(axis=2).min(axis=1).sum())


@pytest.mark.covers("CLU-01", "CLU-04")
def test_the_inertia_is_that_of_the_nearest_centres():
    line = np.array([[0.0], [1.0], [10.0], [11.0]])
    model = KMeans(2, init=[[0.5], [10.5]]).fit(line)
    assert model.inertia_ == 1.0
    assert model.labels_.tolist() == [0, 0, 1, 1]
    one, every = KMeans(1).fit(X), KMeans(400, random_state=0).fit(X)
    np.testing.assert_allclose(one.cluster_centers_[0], X.mean(axis=0))
    assert one.inertia_ == pytest.approx(np.sum((X - X.mean(axis=0)) ** 2))
    assert every.inertia_ == pytest.approx(0, abs=1e-20)
    five = KMeans(5, init=START).fit(X)
    assert five.inertia_ == pytest.approx(inertia(X, five.cluster_centers_), rel=1e-13)
    assert five.score(X) == pytest.approx(-five.inertia_)


@pytest.mark.covers("CLU-02", "CLU-03", "CLU-37")
def test_steps_are_those_of_lloyd_and_never_raise_the_inertia():
    centres, want, labels = START.copy(), [], None
    for step in range(1, 100):
        before, labels = labels, ((X[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
        if before is not None and np.array_equal(before, labels):
            break
        centres = np.stack([X[labels == j].mean(axis=0) for j in range(5)])
        want.append(np.sum((X - centres[labels]) ** 2))
        part = KMeans(5, init=START, max_iter=step, tol=0).fit(X)
        np.testing.assert_allclose(part.cluster_centers_, centres, rtol=1e-12)
        assert part.n_iter_ == step
        assert part.certificate_.outcome == "max_iter"
        assert not part.certificate_.reached
    model = KMeans(5, init=START, tol=0).fit(X)
    np.testing.assert_allclose(model.certificate_.trace, want, rtol=1e-12)
    assert np.all(np.diff(want) < 0)
    assert model.n_iter_ == step
    assert model.certificate_.reached
    # the gradient of the inertia vanishes at the means
    np.testing.assert_allclose(
        [(X[model.labels_ == j] - model.cluster_centers_[j]).sum(axis=0) for j in range(5)], 0, atol=1e-10
    )
    assert 400 * 5 < model.certificate_.evaluations <= 400 * 5 * (model.n_iter_ + 1)
    # a fixed point that is no minimum even nearby
    stuck = KMeans(2, init=[[1.0], [3.0]]).fit([[0.0], [2.0], [3.0]])
    assert (stuck.inertia_, stuck.cluster_centers_.ravel().tolist()) == (2.0, [1.0, 3.0])
    assert inertia(np.array([[0.0], [2.0], [3.0]]), np.array([[1.0], [2.9]])) == pytest.approx(1.82)
    assert KMeans(2, random_state=0).fit([[0.0], [2.0], [3.0]]).inertia_ == 0.5


@pytest.mark.covers("CLU-05")
def test_no_enumerated_partition_is_below_the_bound_and_a_fixed_point_can_be_far_above():
    for seed in range(4):
        few = np.random.default_rng(seed).standard_normal((7, 4))
        best = np.inf
        for labels in product(range(3), repeat=6):
            own = np.array([0, *labels])
            if len(set(own)) == 3:
                best = min(best, sum(np.sum((few[own == j] - few[own == j].mean(axis=0)) ** 2) for j in range(3)))
        model = KMeans(3, n_init=5, random_state=seed).fit(few)
        certificate = model.certificate_
        assert 0 < certificate.bound <= best * (1 + 1e-12)
        assert best <= model.inertia_ * (1 + 1e-12)
        assert model.inertia_ <= certificate.ratio * best
        assert model.inertia_ - best <= certificate.gap
    for r in (2.0, 50.0):
        corners = np.array([[0.0, 0.0], [0.0, 1.0], [r, 0.0], [r, 1.0]])
        fixed = KMeans(2, init=[[r / 2, 0.0], [r / 2, 1.0]]).fit(corners)
        assert fixed.inertia_ == pytest.approx(r * r)
        assert KMeans(2, n_init=10, random_state=0).fit(corners).inertia_ == pytest.approx(1.0)
        assert fixed.certificate_.ratio >= r * r


@pytest.mark.covers("CLU-12")
def test_an_empty_cluster_is_given_the_farthest_row():
    three = np.array([[0.0], [1.0], [10.0]])
    model = KMeans(3, init=[[0.5], [10.0], [100.0]]).fit(three)
    assert sorted(model.cluster_centers_.ravel().tolist()) == [0.0, 1.0, 10.0]
    assert model.inertia_ == 0.0
    many = KMeans(5, init=np.vstack([START[:3], START[:2] + 1e4])).fit(X)
    assert len(np.unique(many.labels_)) == 5
    assert np.all(np.diff(many.certificate_.trace) <= 0)
    assert qed.verify(many, X).holds
    same = KMeans(3, random_state=0).fit(np.ones((6, 2)))  # fewer distinct rows than clusters
    assert same.inertia_ == 0
    assert np.isfinite(same.cluster_centers_).all()


@pytest.mark.covers("CLU-13")
def test_units_matter_unless_columns_are_standardised():
    table = np.column_stack([np.r_[np.zeros(50), np.ones(50)], rng.uniform(0, 0.5, 100)])

    def partition(rows):
        labels = KMeans(2, n_init=5, random_state=0).fit_predict(rows)
        return labels == labels[0]

    large = table * [1.0, 100.0]
    assert not np.array_equal(partition(table), partition(large))
    scale = StandardScaler().fit_transform
    assert np.array_equal(partition(scale(table)), partition(scale(large)))


@pytest.mark.covers("CLU-14", "CLU-33")
def test_cells_are_convex_and_rows_far_from_all_centres_stand_out():
    model = KMeans(5, init=START).fit(X)
    away = np.sqrt(((X[:, None] - model.cluster_centers_) ** 2).sum(axis=2))
    np.testing.assert_allclose(model.transform(X), away, rtol=1e-10)
    np.testing.assert_array_equal(model.predict(X), away.argmin(axis=1))
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    a, b = X[rng.integers(0, 400, 500)], X[rng.integers(0, 400, 500)]
    same = model.predict(a) == model.predict(b)
    t = rng.random((500, 1))
    np.testing.assert_array_equal(model.predict(t * a + (1 - t) * b)[same], model.predict(a)[same])
    odd = np.vstack([X, np.full((1, 6), 60.0)])
    assert model.transform(odd).min(axis=1).argmax() == 400


@pytest.mark.covers("CLU-28")
def test_held_out_inertia_falls_beyond_the_true_number_of_clusters():
    new = HOMES[rng.integers(0, 5, 4000)] + rng.standard_normal((4000, 6)) + 20.0
    more = HOMES[rng.integers(0, 5, 4000)] + rng.standard_normal((4000, 6)) + 20.0
    scores = [KMeans(k, n_init=3, random_state=0).fit(new).score(more) for k in (5, 10, 20)]
    assert scores[0] < scores[1] < scores[2]


@pytest.mark.covers("CLU-34")
def test_centres_and_unit_codes_factorise_the_table():
    model = KMeans(5, init=START).fit(X)
    codes = np.eye(5)[model.labels_]
    assert np.sum((X - codes @ model.cluster_centers_) ** 2) == pytest.approx(model.inertia_)
    for k in (2, 4):
        left_out = PCA(k).fit(X).certificate_.objective * (len(X) - 1)
        assert left_out <= KMeans(k, random_state=0).fit(X).inertia_
    bound = PCA(4).fit(X).certificate_.objective * (len(X) - 1)  # of k - 1 directions
    assert model.certificate_.bound == pytest.approx(bound)


@pytest.mark.parametrize("k", [5, 40])
@pytest.mark.parametrize(
    "form", [np.asarray, np.asfortranarray, np.float32, scipy.sparse.csr_array, scipy.sparse.csc_matrix]
)
def test_scikit_learn_finds_the_same_from_the_same_start(form, k):
    table, start = form(np.where(X > 17, X, 0.0)), np.where(X[:k] > 17, X[:k], 0.0)
    weight = rng.integers(0, 4, 400).astype(float) if k == 5 else None
    for algorithm in ("lloyd", "elkan"):
        ours = KMeans(k, init=start, algorithm=algorithm).fit(table, sample_weight=weight)
        other = theirs.KMeans(k, init=start, n_init=1, algorithm=algorithm).fit(table, sample_weight=weight)
        assert ours.inertia_ == pytest.approx(other.inertia_, rel=1e-4)
        assert np.mean(ours.labels_ == other.labels_) > 0.99
        np.testing.assert_array_equal(ours.predict(table), ours.labels_)
        assert ours.transform(table).dtype == table.dtype
        assert ours.score(table, sample_weight=weight) == pytest.approx(-ours.inertia_, rel=1e-6)
        assert qed.verify(ours, table, sample_weight=weight).holds


def test_starts():
    seen = []

    def first_rows(table, k, random_state):
        seen.append(random_state.randint(10**6))
        return table[:k]

    assert KMeans(5, init=first_rows, random_state=0).fit(X).inertia_ == KMeans(5, init=START).fit(X).inertia_
    assert len(set(seen)) == 10
    best = KMeans(5, n_init=10, random_state=0).fit(X).inertia_
    assert best <= min(KMeans(5, init="random", n_init=1, random_state=seed).fit(X).inertia_ for seed in range(5)) * (
        1 + 1e-9
    )
    ours = [KMeans(5, random_state=seed).fit(X).inertia_ for seed in range(12)]
    other = [theirs.KMeans(5, random_state=seed).fit(X).inertia_ for seed in range(12)]
    assert np.mean(ours) <= 1.1 * np.mean(other)
    assert (
        KMeans(5, random_state=7).fit(X).cluster_centers_.tobytes()
        == KMeans(5, random_state=7).fit(X).cluster_centers_.tobytes()
    )
    with pytest.raises(qed.InvalidData, match="shape"):
        KMeans(5, init=START[:4]).fit(X)
    with pytest.raises(qed.InvalidParameter, match="init"):
        KMeans(5, init=START * np.nan).fit(X)


def test_a_weight_is_a_repetition():
    few = rng.standard_normal((12, 2))
    s = np.array([0, 1, 2, 3, 1, 1, 4, 1, 0, 2, 1, 1])
    one = KMeans(3, init=few[1:4]).fit(few, sample_weight=s)
    two = KMeans(3, init=few[1:4]).fit(np.repeat(few, s, axis=0))
    np.testing.assert_allclose(one.cluster_centers_, two.cluster_centers_, rtol=1e-12)
    assert one.inertia_ == pytest.approx(two.inertia_)
    assert one.certificate_.bound == pytest.approx(two.certificate_.bound)
    found = [  # random starts: the same distribution
        [KMeans(3, random_state=seed).fit(*data).inertia_ for seed in range(300)]
        for data in ((few, None, s), (np.repeat(few, s, axis=0),))
    ]
    assert abs(np.mean(found[0]) - np.mean(found[1])) <= 4 * np.std(found[0]) * np.sqrt(2 / 300)


CHANGES = {
    "cluster_centers_": lambda a: a + 1e-6,
    "labels_": lambda a: np.roll(a, 1),
    "inertia_": lambda a: a * (1 + 1e-6),
}


@pytest.mark.parametrize("table", [X, X[:, :2], np.hstack([X] * 80)[:60]], ids=["tall", "narrow", "wide"])
def test_changed_models_are_refused(table):
    model = KMeans(3, random_state=0).fit(table)
    assert qed.verify(model, table).holds
    for name, change in CHANGES.items():
        other = loads(dumps(model))
        setattr(other, name, change(getattr(other, name)))
        with pytest.raises(qed.CertificateError):
            qed.verify(other, table)
    state = model.certificate_
    for change in (
        {"bound": state.bound * 1.001 + 1.0},
        {"objective": state.objective * 0.999},
        {"trace": state.trace[::-1].copy()},
    ):
        if "trace" in change and len(state.trace) < 2:
            continue
        other = loads(dumps(model))
        other.certificate_ = type(state)(**{name: getattr(state, name) for name in state.__dataclass_fields__} | change)
        with pytest.raises(qed.CertificateError):
            qed.verify(other, table)
    with pytest.raises(qed.CertificateError, match="not the data"):
        qed.verify(model, table[:-1])


def test_hostile_tables():
    for bad in (np.nan, np.inf):
        table = X.copy()
        table[3, 2] = bad
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            KMeans(2).fit(table)
    with pytest.raises(qed.InvalidData, match="overflow"):
        KMeans(2).fit(X * 1e300)
    with pytest.raises(qed.InvalidData, match="n_samples=3 should be >= n_clusters=8"):
        KMeans().fit(X[:3])
    assert KMeans(1).fit(X[:1]).inertia_ == 0
    for scale in (1e-80, 1e80):
        scaled = KMeans(5, init=START * scale).fit(X * scale)
        np.testing.assert_array_equal(scaled.labels_, KMeans(5, init=START).fit(X).labels_)
    far = KMeans(5, init=START + 1e7).fit(X + 1e7)  # centred first: the offset costs digits of X, and no more
    np.testing.assert_array_equal(far.labels_, KMeans(5, init=START).fit(X).labels_)
    frozen = X.copy()
    frozen.flags.writeable = False
    for table in (frozen, np.repeat(X, 2, axis=0)[::2], np.column_stack([X, np.ones(400)])[:, :6]):
        assert KMeans(5, init=START).fit(table).inertia_ == pytest.approx(KMeans(5, init=START).fit(X).inertia_)


@pytest.mark.parametrize("k", [4, 40])
def test_the_same_bits_on_any_number_of_threads(k):
    table = np.vstack([X + rng.standard_normal(X.shape) for _ in range(50)])
    before, found = qed.get_num_threads(), []
    try:
        for threads in (1, 2, 5):
            qed.set_num_threads(threads)
            model = KMeans(k, random_state=1).fit(table)
            found.append(model.cluster_centers_.tobytes() + model.labels_.tobytes() + repr(model.inertia_).encode())
    finally:
        qed.set_num_threads(before)
    assert found[0] == found[1] == found[2]


def test_a_stopped_fit_keeps_the_centres_so_far():
    values = []

    def stop(event):
        if event.kind == "step":
            values.append(event.value)
            return qed.STOP if len(values) == 3 else None
        return None

    with qed.listen(stop):
        model = KMeans(20, init=X[:20]).fit(X)
    assert model.certificate_.outcome == "stopped"
    assert model.n_iter_ == 3
    np.testing.assert_allclose(values, model.certificate_.trace)
    assert qed.verify(model, X).holds

    def interrupt(event):
        if event.kind == "step":
            raise KeyboardInterrupt

    other = KMeans(5, init=START)
    with qed.listen(interrupt), pytest.raises(KeyboardInterrupt):
        other.fit(X)
    assert other.certificate_.outcome == "interrupted"
    assert qed.verify(other, X).holds


def test_names_and_files():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcdef"), index=np.arange(400) + 7)
    model = KMeans(3, random_state=0).set_output(transform="pandas").fit(frame)
    away = model.transform(frame)
    assert list(away.columns) == ["kmeans0", "kmeans1", "kmeans2"]
    assert away.index.equals(frame.index)
    again = loads(dumps(model))
    np.testing.assert_array_equal(again.predict(frame), model.labels_)
    again.labels_ = again.labels_ + 1
    with pytest.raises(qed.ModelFileError, match="labels_"):
        loads(dumps(again))


def test_sparse_rows_of_a_source_are_clustered_as_in_memory():
    rng = np.random.default_rng(4)
    dense = np.where(rng.random((600, 5)) < 0.4, rng.normal(size=(600, 5)), 0.0)
    dense[::3, 0] += 3.0
    table = scipy.sparse.csr_array(dense)
    rows = ArraySource(table, chunk_rows=130)
    model, whole = (KMeans(3, random_state=1).fit(X) for X in (rows, table))
    np.testing.assert_allclose(model.cluster_centers_, whole.cluster_centers_, atol=1e-10)
    np.testing.assert_array_equal(model.labels_, whole.labels_)
    assert qed.verify(model, rows).holds


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_assigned_once_are_assigned_as_with_bounds(dtype):
    rng = np.random.default_rng(5)
    for n, p, k in [(1, 1, 1), (700, 50, 8), (145, 3, 20)]:
        X, centres, origin = rng.normal(size=(n, p)).astype(dtype), rng.normal(size=(k, p)), rng.normal(size=p)
        bounds = _kernels.Bounds.empty(n, np.array([0, k]))
        step = _kernels.Places.of(X, origin, None).step(centres, bounds)
        for table in (X, np.asfortranarray(X)):
            once, found = _kernels.assign_once(table, origin, None, centres)
            np.testing.assert_array_equal(found.labels, bounds.labels)
            np.testing.assert_array_equal(once.sums, step.sums)
            assert once.inertia == step.inertia
            exact = np.linalg.norm(X.astype(np.float64) - origin - centres[found.labels], axis=1)
            np.testing.assert_allclose(found.upper, exact, rtol=1e-12)
