"""Principal components: what the course says about them, what scikit-learn finds, and what is proved."""

from __future__ import annotations

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.sparse
from sklearn import decomposition as theirs

import qed
from qed.cluster import KMeans
from qed.core._persistence import dumps, loads
from qed.data import ArraySource
from qed.decomposition import PCA
from qed.inspection import ScreeDisplay
from qed.linear_model import LogisticRegression

rng = np.random.default_rng(5)
X = rng.standard_normal((120, 6)) @ rng.standard_normal((6, 6)) + [3.0, -1.0, 0.0, 10.0, 2.0, 5.0]
WIDE = rng.standard_normal((25, 140)) * np.linspace(3, 0.2, 140) + 1.0
LARGE = rng.standard_normal((620, 560)) * np.linspace(4, 0.1, 560) ** 2


def left_out(table, V):
    """Return the variance that directions leave out, by definition."""
    centred = table - table.mean(axis=0)
    return float(np.sum((centred - centred @ V.T @ V) ** 2)) / (len(table) - 1)


@pytest.mark.covers("DIM-01", "DIM-02")
@pytest.mark.parametrize("table", [X, WIDE], ids=["tall", "wide"])
def test_no_other_directions_leave_out_less(table):
    model = PCA(3).fit(table)
    V, total = model.components_, table.var(axis=0, ddof=1).sum()
    assert model.certificate_.objective == pytest.approx(left_out(table, V))
    assert model.explained_variance_.sum() + left_out(table, V) == pytest.approx(total)
    for seed in range(50):
        start = np.random.default_rng(seed).standard_normal(V.T.shape)
        other = np.linalg.qr(start if seed % 2 else V.T + 0.01 * start)[0].T  # anywhere, and close by
        assert left_out(table, other) >= left_out(table, V) - model.certificate_.gap


@pytest.mark.covers("DIM-03", "DIM-04", "DIM-05")
def test_variances_are_the_largest_eigenvalues_and_scores_are_uncorrelated():
    model = PCA().fit(X)
    S = np.cov(X.T)
    v = np.ones(6)
    for _ in range(3000):
        v = S @ v / np.linalg.norm(S @ v)
    assert abs(v @ model.components_[0]) == pytest.approx(1)
    assert v @ S @ v == pytest.approx(model.explained_variance_[0])
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(6), atol=1e-13)
    np.testing.assert_allclose(np.cov(model.transform(X).T), np.diag(model.explained_variance_), atol=1e-11)
    centred = X - X.mean(axis=0)
    likeliest = centred.T @ centred / len(X)  # divisor n
    np.testing.assert_allclose(model.eigenvalues_, np.linalg.eigvalsh(likeliest)[::-1], rtol=1e-10)
    np.testing.assert_allclose(
        likeliest @ model.components_.T, model.components_.T * model.eigenvalues_, atol=1e-11 * model.eigenvalues_[0]
    )
    np.testing.assert_allclose(model.transform(X).var(axis=0), model.eigenvalues_, rtol=1e-10)
    for k in range(7):
        some = PCA(k).fit(X)
        assert left_out(X, some.components_) == pytest.approx(model.explained_variance_[k:].sum(), abs=1e-10)
        assert model.explained_variance_[:k].sum() == pytest.approx(np.trace(S) - some.certificate_.objective)


@pytest.mark.covers("DIM-06", "DIM-07", "DIM-08", "DIM-11")
def test_codes_are_projections_about_the_mean():
    model = PCA(2).fit(X)
    W, z = model.components_.T, model.transform(X)
    np.testing.assert_allclose(z, np.linalg.lstsq(W, (X - X.mean(axis=0)).T, rcond=None)[0].T, atol=1e-12)
    P = W @ W.T
    np.testing.assert_allclose(P @ P, P, atol=1e-14)
    assert np.linalg.matrix_rank(P) == 2
    np.testing.assert_allclose(model.inverse_transform(z), (X - X.mean(axis=0)) @ P + X.mean(axis=0))
    about_zero = np.linalg.svd(X)[2][0]  # of the second moments about the origin: it looks at the mean
    assert abs(about_zero @ model.components_[0]) < 0.9
    errors = []
    for k in range(7):
        some = PCA(k).fit(X)
        errors.append(np.sum((some.inverse_transform(some.transform(X)) - X) ** 2))
    assert np.all(np.diff(errors) < 0)
    assert errors[-1] == pytest.approx(0, abs=1e-18)


@pytest.mark.covers("DIM-09", "DIM-10", "DIM-34")
@pytest.mark.parametrize("solver", ["auto", "covariance_eigh"])
@pytest.mark.parametrize("table", [X, WIDE], ids=["tall", "wide"])
def test_columns_rows_and_singular_values_lead_to_the_same(table, solver):
    model = PCA(4, svd_solver=solver).fit(table)
    U, s, Vh = np.linalg.svd(table - table.mean(axis=0))
    n, d = table.shape
    assert (U.shape, Vh.shape) == ((n, n), (d, d))
    np.testing.assert_allclose(model.eigenvalues_, s[:4] ** 2 / n, rtol=1e-9)
    np.testing.assert_allclose(model.singular_values_, s[:4], rtol=1e-9)
    np.testing.assert_allclose(model.explained_variance_, s[:4] ** 2 / (len(table) - 1))
    np.testing.assert_allclose(model.components_.T @ model.components_, Vh[:4].T @ Vh[:4], atol=1e-8)
    np.testing.assert_allclose(
        np.abs(model.transform(table)), np.abs((table - table.mean(axis=0)) @ Vh[:4].T), atol=1e-8
    )
    long = {"auto": "columns", "full": "full", "covariance_eigh": "columns"}[solver]
    assert model.solver_used_ == (long if table is X or solver == "covariance_eigh" else "full")
    if solver == "auto":  # and where rows are too few for columns and too many for singular values
        assert PCA(4).fit(np.tile(WIDE, (1, 4))).solver_used_ == "rows"


@pytest.mark.covers("DIM-12")
def test_a_share_of_the_variance_takes_the_fewest_components():
    every = PCA().fit(X).explained_variance_ratio_.cumsum()
    for share in (0.3, 0.9, 0.99):
        k = PCA(share).fit(X).n_components_
        assert every[k - 1] >= share > (every[k - 2] if k > 1 else 0)
    assert np.all(np.diff(np.diff(np.r_[0, every])) <= 1e-15)


@pytest.mark.covers("DIM-13")
def test_rotated_rows_have_rotated_components_and_one_sign():
    turn = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    plain, turned = PCA().fit(X), PCA().fit(X @ turn)
    np.testing.assert_allclose(np.abs(turned.components_ @ turn.T @ plain.components_.T), np.eye(6), atol=1e-10)
    for model in (plain, turned, PCA(3).fit(-X)):
        V = model.components_
        assert np.all(V[np.arange(len(V)), np.abs(V).argmax(axis=1)] > 0)


@pytest.mark.covers("DIM-14")
def test_rows_on_a_line_have_one_component():
    t = rng.standard_normal((40, 1))
    model = PCA().fit(t * [2.0, 1.0] + [5.0, 1.0])
    assert model.explained_variance_[1] == pytest.approx(0, abs=1e-15)
    line = PCA(1).fit(t * [2.0, 1.0])
    np.testing.assert_allclose(line.inverse_transform(line.transform(t * [2.0, 1.0])), t * [2.0, 1.0], atol=1e-14)


@pytest.mark.parametrize(
    ("table", "settings"),
    [
        (X, {}),
        (X, {"n_components": 2, "whiten": True}),
        (X, {"n_components": "mle"}),
        (X, {"n_components": 0.8, "svd_solver": "full"}),
        (WIDE, {"n_components": 5}),
        (X[:, :3].astype(np.float32), {"n_components": 2}),
        (X, {"n_components": 3, "svd_solver": "arpack"}),
        (LARGE, {"n_components": 3, "svd_solver": "arpack"}),
    ],
    ids=lambda one: "table" if isinstance(one, np.ndarray) else str(one),
)
def test_scikit_learn_finds_the_same(table, settings):
    ours, other = PCA(**settings).fit(table), theirs.PCA(**settings).fit(table)
    tolerance = 1e-4 if table.dtype == np.float32 else 1e-8
    for name in ("components_", "explained_variance_", "explained_variance_ratio_", "singular_values_", "mean_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(other, name), atol=tolerance, rtol=tolerance)
    assert (ours.n_components_, ours.n_samples_) == (other.n_components_, other.n_samples_)
    assert ours.noise_variance_ == pytest.approx(other.noise_variance_, rel=1e-4)
    z = ours.transform(table)
    assert z.dtype == table.dtype
    np.testing.assert_allclose(z, other.transform(table), atol=10 * tolerance, rtol=10 * tolerance)
    np.testing.assert_allclose(ours.inverse_transform(z), other.inverse_transform(z), atol=1e-4)
    if settings.get("whiten"):  # which changes coordinates and no density
        np.testing.assert_allclose(ours.get_covariance(), PCA(2).fit(table).get_covariance())
        assert ours.score(table) == pytest.approx(PCA(2).fit(table).score(table))
    elif table.shape[0] > table.shape[1] and table.dtype == np.float64:
        np.testing.assert_allclose(ours.score_samples(table), other.score_samples(table), rtol=1e-7)
        np.testing.assert_allclose(ours.get_precision(), other.get_precision(), rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(ours.get_covariance(), other.get_covariance(), atol=1e-8)


def test_few_components_of_a_large_table_explain_no_less_than_scikit_learn_and_the_bound_is_true():
    ours = PCA(3, random_state=0).fit(LARGE)
    other = theirs.PCA(3, random_state=0).fit(LARGE)
    assert ours.solver_used_ == "krylov"
    assert left_out(LARGE, ours.components_) <= left_out(LARGE, other.components_)
    best = np.linalg.svd(LARGE - LARGE.mean(axis=0), compute_uv=False)[:3] ** 2 / (len(LARGE) - 1)
    certificate = ours.certificate_
    assert best.sum() - ours.explained_variance_.sum() <= certificate.gap
    assert np.all(np.abs(best - ours.explained_variance_) <= certificate.variance_error)
    assert certificate.confidence == 1 - 1e-6
    short = PCA(3, svd_solver="randomized", random_state=0, iterated_power=0).fit(LARGE)
    assert short.certificate_.gap > 2 * certificate.gap
    tall = np.vstack([LARGE] * 3)[:1500, :450]
    few = PCA(3, svd_solver="covariance_eigh").fit(tall)  # leading pairs, and a factor that proves them to be so
    assert few.certificate_.confidence == 1
    assert few.certificate_.relative_gap < 1e-9
    assert qed.verify(few, tall).holds


def test_chunks_one_by_one_files_and_all_rows_give_the_same_model():
    whole = PCA(3).fit(X)
    parts = PCA(3)
    for first in range(0, 120, 40):
        parts.partial_fit(X[first : first + 40])
    source = PCA(3).fit(ArraySource(X, X[:, 0], chunk_rows=50))  # a target that a source names is not looked at
    for model in (parts, source):
        np.testing.assert_allclose(model.components_, whole.components_, atol=1e-13)
        np.testing.assert_allclose(model.explained_variance_, whole.explained_variance_, rtol=1e-13)
        assert qed.verify(model, X).holds
    assert qed.verify(source, ArraySource(X, chunk_rows=70)).holds
    parts.forget(X[:40])
    np.testing.assert_allclose(parts.components_, PCA(3).fit(X[40:]).components_, atol=1e-12)
    with pytest.raises(qed.InvalidData, match="neither added nor taken out"):
        PCA(2).fit(np.tile(WIDE, (1, 4))).partial_fit(np.tile(WIDE, (1, 4)))
    with pytest.raises(qed.ForgetError):
        PCA(1).fit(X).forget(X)


@pytest.mark.parametrize("table", [X, WIDE], ids=["tall", "wide"])
def test_a_weight_is_a_repetition(table):
    s = rng.integers(0, 4, len(table))
    ours, repeated = PCA(3).fit(table, sample_weight=s), PCA(3).fit(np.repeat(table, s, axis=0))
    np.testing.assert_allclose(ours.components_, repeated.components_, atol=1e-11)
    assert ours.noise_variance_ == pytest.approx(repeated.noise_variance_)
    assert ours.n_samples_ == repeated.n_samples_ == s.sum()
    assert qed.verify(ours, table, sample_weight=s).holds
    with pytest.raises(qed.InvalidData, match="add up to"):
        PCA(1).fit(table, sample_weight=np.full(len(table), 1e-3))


@pytest.mark.parametrize("layout", ["csr", "csc"])
def test_sparse_tables_are_not_filled(layout):
    small = scipy.sparse.random(200, 30, 0.2, layout, random_state=1)
    large = scipy.sparse.random(300, 2500, 0.01, layout, random_state=1)
    for table in (small, large):
        ours, dense = PCA(4).fit(table), PCA(4, svd_solver="full").fit(table.toarray())
        np.testing.assert_allclose(ours.components_, dense.components_, atol=1e-9)
        np.testing.assert_allclose(ours.transform(table), dense.transform(table.toarray()), atol=1e-9)
        assert qed.verify(ours, table).holds
    assert PCA(4).fit(large).solver_used_ == "krylov"
    assert PCA(svd_solver="auto").fit(small).n_components_ == theirs.PCA().fit(small).n_components_
    with pytest.raises(TypeError):
        PCA(2, svd_solver="full").fit(small)


CHANGES = {
    "components_": lambda a: a + 1e-6 * np.arange(a.size).reshape(a.shape),
    "explained_variance_": lambda a: a * (1 + 1e-6),
    "explained_variance_ratio_": lambda a: a * 1.001,
    "singular_values_": lambda a: a * 1.001,
    "mean_": lambda a: a + 1e-5,
    "noise_variance_": lambda a: a * 1.001,
    "n_components_": lambda a: a - 1,
}


@pytest.mark.parametrize("table", [X, WIDE], ids=["tall", "wide"])
def test_changed_models_are_refused(table):
    model = PCA(3).fit(table)
    verdict = qed.verify(model, table)
    assert verdict.distance <= model.certificate_.gap + verdict.rounding
    for name, change in CHANGES.items():
        other = loads(dumps(model))
        setattr(other, name, change(getattr(other, name)))
        with pytest.raises(qed.CertificateError):
            qed.verify(other, table)
    turned = loads(dumps(model))  # the same subspace, and no longer its principal directions
    turned.components_ = np.linalg.qr(rng.standard_normal((3, 3)))[0] @ turned.components_
    worse = loads(dumps(model))  # eigenvectors, and not the leading ones
    worse.components_ = PCA().fit(table).components_[1:4]
    for other in (turned, worse):
        with pytest.raises(qed.CertificateError):
            qed.verify(other, table)
    with pytest.raises(qed.CertificateError, match="not the data"):
        qed.verify(model, table[:-1])


def test_hostile_tables():
    for bad, words in ((np.nan, "NaN"), (np.inf, "infinity")):
        for table in (X.copy(), WIDE.copy()):
            table[3, 2] = bad
            with pytest.raises(ValueError, match=words):
                PCA(1).fit(table)
    with pytest.raises(qed.InvalidData, match="overflow"):
        PCA(1).fit(X * 1e300)
    with pytest.raises(qed.InvalidData, match="minimum of 2"):
        PCA(1).fit(X[:1])
    for scale in (1e-100, 1e100):
        np.testing.assert_allclose(PCA(2).fit(X * scale).components_, PCA(2).fit(X).components_, atol=1e-12)
        np.testing.assert_allclose(PCA(2).fit(WIDE * scale).components_, PCA(2).fit(WIDE).components_, atol=1e-12)
    still = PCA(2).fit(np.ones((5, 3)))
    assert not still.explained_variance_.any()
    assert not still.explained_variance_ratio_.any()
    assert qed.verify(still, np.ones((5, 3))).holds
    with pytest.raises(qed.InvalidData, match="no inverse"):
        still.score(np.ones((5, 3)))
    frozen = X.copy()
    frozen.flags.writeable = False
    plain = PCA(2).fit(X).components_
    for table in (frozen, np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2], X[::-1][::-1]):
        np.testing.assert_allclose(PCA(2).fit(table).components_, plain, atol=1e-13)
    for wrong in (7, 6.0, -1, 1.5):
        with pytest.raises(ValueError, match="n_components"):
            PCA(wrong).fit(X)
    with pytest.raises(qed.InvalidParameter, match="strictly less"):
        PCA(6, svd_solver="arpack").fit(X)
    with pytest.raises(qed.InvalidData, match="mle"):
        PCA("mle").fit(WIDE)


@pytest.mark.parametrize(
    "table", [np.tile(X, (300, 1)), np.tile(WIDE, (1, 30)), LARGE], ids=["columns", "rows", "krylov"]
)
def test_the_same_bits_on_any_number_of_threads(table):
    before, found = qed.get_num_threads(), []
    try:
        for threads in (1, 2, 5):
            qed.set_num_threads(threads)
            model = PCA(3, random_state=1).fit(table)
            found.append(
                model.components_.tobytes() + model.transform(table).tobytes() + repr(model.certificate_.gap).encode()
            )
    finally:
        qed.set_num_threads(before)
    assert found[0] == found[1] == found[2]


def test_a_stopped_fit_keeps_the_model_of_the_rows_seen():
    table = np.tile(X, (2500, 1))

    def stop(event):
        return qed.STOP if event.kind == "step" else None

    with qed.listen(stop):
        model = PCA(2).fit(table)
    assert model.certificate_.outcome == "stopped"
    seen = model.certificate_.fingerprint.rows
    assert 0 < seen < len(table)
    assert qed.verify(model, table[:seen]).holds


def test_names_and_files():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcdef"), index=np.arange(120) + 7)
    model = PCA(2).set_output(transform="pandas").fit(frame)
    scores = model.transform(frame)
    assert list(scores.columns) == ["pca0", "pca1"]
    assert scores.index.equals(frame.index)
    again = loads(dumps(model))
    np.testing.assert_array_equal(again.transform(frame), scores)
    assert qed.verify(again, frame).holds
    again.components_ = again.components_[:, :-1]
    with pytest.raises(qed.ModelFileError, match="components_"):
        loads(dumps(again))


@pytest.mark.covers("DIM-33")
def test_the_drawn_variances_are_the_eigenvalues():
    drawn = ScreeDisplay.from_estimator(PCA(4).fit(X))
    want = np.linalg.eigvalsh(np.cov(X.T))[::-1]
    np.testing.assert_allclose([bar.get_height() for bar in drawn.bars_], want[:4])
    np.testing.assert_allclose(drawn.line_.get_ydata(), want[:4].cumsum() / want.sum())
    with pytest.raises(qed.InvalidData, match="largest first"):
        ScreeDisplay(variances=[1.0, 2.0], total=3.0)
    plt.close("all")


@pytest.mark.covers("DIM-31")
def test_pca_and_kmeans_are_factorisations_with_other_constraints():
    """Rows are codes times components: free codes and orthonormal components, or codes with a single one and free components."""
    centred = X - X.mean(axis=0)
    groups = KMeans(3, n_init=5, random_state=0).fit(centred)
    one_hot = np.eye(3)[groups.labels_]
    error = np.sum((centred - one_hot @ groups.cluster_centers_) ** 2)
    assert error == pytest.approx(groups.inertia_)
    np.testing.assert_allclose(  # for fixed codes, components are least squares in both
        groups.cluster_centers_, np.linalg.lstsq(one_hot, centred, rcond=None)[0], atol=1e-10
    )
    free = PCA(2).fit(centred)
    codes = free.transform(centred)
    np.testing.assert_allclose(free.components_, np.linalg.lstsq(codes, centred, rcond=None)[0], atol=1e-10)
    assert np.sum((centred - codes @ free.components_) ** 2) <= error  # two free directions beat three centred groups


@pytest.mark.covers("DIM-32")
def test_directions_of_all_rows_serve_a_classifier_of_few_labels():
    rng = np.random.default_rng(1)
    label = rng.integers(0, 2, 400)
    far = rng.standard_normal(80)
    rows = (
        0.9 * rng.standard_normal((400, 80)) + np.where(label == 1, 1.0, -1.0)[:, None] * far / np.linalg.norm(far) * 4
    )
    few = np.arange(10)
    reducer = PCA(1).fit(rows)  # no label is looked at
    reduced = LogisticRegression().fit(reducer.transform(rows[few]), label[few])
    assert reduced.score(reducer.transform(rows[10:]), label[10:]) > 0.98
    alone = PCA(1).fit(rows[few])
    assert abs(reducer.components_[0] @ far) > abs(alone.components_[0] @ far)


@pytest.mark.parametrize("solver", ["auto", "covariance_eigh"])
@pytest.mark.parametrize("shape", [(200, 30), (12, 40), (40, 2100)])
def test_a_share_of_the_variance_of_sparse_tables(shape, solver):
    table = scipy.sparse.random(*shape, 0.1, "csr", random_state=1)
    model, dense = PCA(0.7, svd_solver=solver).fit(table), PCA(0.7, svd_solver="full").fit(table.toarray())
    np.testing.assert_allclose(model.explained_variance_, dense.explained_variance_, rtol=1e-9)
    assert qed.verify(model, table).holds
