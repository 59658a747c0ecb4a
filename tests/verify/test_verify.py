"""The checker: it accepts what is true, whatever the order of the rows, and refuses everything else with the reason."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import qed
from qed.certificates import Uncertified
from qed.data import ArraySource
from qed.linear_model import LinearRegression, Ridge, RidgeCV

rng = np.random.default_rng(77)
X = rng.normal(size=(200, 4)) + 3
y = X @ [1.0, 2.0, 0.0, -1.0] + rng.normal(size=200)
s = rng.integers(1, 4, 200).astype(float)


@pytest.fixture(
    params=[LinearRegression(), Ridge(2.0), Ridge(0.5, prior=[1.0, 2.0, 0.0, 0.0]), RidgeCV([0.1, 10.0])], ids=repr
)
def model(request):
    return qed.clone(request.param).fit(X, y, s)


def test_it_accepts_rows_in_any_order_and_container(model):
    order = rng.permutation(200)
    assert qed.verify(model, X[order], y[order], s[order]).holds
    assert qed.verify(model, X.tolist(), y.tolist(), s).holds
    assert qed.verify(model, sp.csc_array(X), y, s).holds
    assert qed.verify(model, ArraySource(X, y[:, None], s, chunk_rows=17)).holds
    verdict = qed.verify.verify(model, np.asfortranarray(X), y, s)
    assert verdict.distance <= 2 * model.certificate_.gap + verdict.rounding
    assert "Verified" in str(verdict)


def test_it_refuses_changed_coefficients(model):
    for j in range(4):
        changed = qed.clone(model).fit(X, y, s)
        changed.coef_[j] += 1e-6
        with pytest.raises(qed.CertificateError, match="is false"):
            qed.verify(changed, X, y, s)


def test_large_tables_are_judged_alike(model, monkeypatch):
    monkeypatch.setattr("qed.verify._rows.LARGE", 0)
    monkeypatch.setattr("qed.verify._rows.BLOCK_ROWS", 32)
    verdict = qed.verify(model, X, y, s)
    assert verdict.rounding < 1e-18 * model.certificate_.null_objective
    model.coef_[1] += 1e-6
    with pytest.raises(qed.CertificateError, match="is false"):
        qed.verify(model, X, y, s)


def test_it_refuses_a_changed_intercept(model):
    model.intercept_ += 1e-6
    with pytest.raises(qed.CertificateError, match="is false"):
        qed.verify(model, X, y, s)


def test_it_refuses_other_parameters():
    model = Ridge(2.0).fit(X, y)
    model.alpha = 2.001
    with pytest.raises(qed.CertificateError):
        qed.verify(model, X, y)


@pytest.mark.parametrize(
    "other",
    [
        (X + 1e-6, y, s),
        (X, y + 1e-6, s),
        (X, np.where(np.arange(200) == 5, y + 1e-4, y), s),
        (X, y, None),
        (X[:-1], y[:-1], s[:-1]),
        (X * [1, 1, 1, 1.0001], y, s),
    ],
    ids=["shifted columns", "shifted target", "one target", "no weights", "a row missing", "a column scaled"],
)
def test_it_recognises_other_data(model, other):
    with pytest.raises(qed.CertificateError, match="not the data of the certificate"):
        qed.verify(model, *other)


def test_it_refuses_a_certificate_that_claims_too_much():
    model = LinearRegression().fit(X, y)
    model.coef_ = model.coef_ + 0.01
    model.certificate_ = replace(model.certificate_, gap=0.0, rounding=0.0)
    with pytest.raises(qed.CertificateError, match="is false"):
        qed.verify(model, X, y)


def test_it_refuses_a_certificate_that_states_another_objective():
    model = LinearRegression().fit(X, y)
    model.certificate_ = replace(model.certificate_, objective=0.99 * model.certificate_.objective)
    with pytest.raises(qed.CertificateError, match="states an objective"):
        qed.verify(model, X, y)


def test_it_refuses_coefficients_that_are_not_numbers():
    model = LinearRegression().fit(X, y)
    model.coef_[0] = np.nan
    with pytest.raises(qed.CertificateError, match=r"finite|NaN"):
        qed.verify(model, X, y)


def test_nothing_claimed_is_nothing_verified():
    model = LinearRegression().fit(X, y)
    model.certificate_ = Uncertified("for a test")
    with pytest.raises(qed.CertificateError, match="claims nothing"):
        qed.verify(model, X, y)
    assert "nothing is claimed" in str(model.certificate_)
    with pytest.raises(qed.NotFitted):
        qed.verify(LinearRegression(), X, y)


def test_a_claim_within_a_radius_is_judged_within_it():
    """Found by fuzzing: the checker, seeing the rows, knew of a better point far outside the radius of the claim."""
    noise = np.random.default_rng(3)
    twins = np.repeat(noise.normal(size=(20, 1)), 2, axis=1)
    for closeness in 10.0 ** -np.arange(4.0, 15.0):
        columns = twins.copy()
        columns[:, 1] *= 1 + closeness * noise.normal(size=20)
        target = noise.normal(size=20)
        streamed = LinearRegression().partial_fit(columns, target)
        assert qed.verify(streamed, columns, target).holds


def test_columns_of_a_frame_must_be_those_of_the_fit():
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = LinearRegression().fit(frame, y)
    assert qed.verify(model, frame, y).holds
    with pytest.raises(qed.InvalidData, match="feature names"):
        qed.verify(model, frame[["b", "a", "c", "d"]], y)


@pytest.mark.parametrize("seed", range(40))
def test_what_forgetting_leaves_is_recognised_down_to_one_row(seed):
    """The mean of one row out of many carries the rounding of all of them, and the fingerprint says how much."""
    noise = np.random.default_rng(seed)
    n, left = int(noise.choice([3, 30, 3000])), int(noise.choice([1, 1, 2]))
    rows = noise.normal(size=(n, 3)) * 10.0 ** noise.integers(-3, 4, 3) + noise.choice([0.0, 1e4], 3)
    rows[:, 0] = noise.integers(0, 2, n)
    rows[0] *= seed % 4 > 0  # a row of zeros is the hardest to tell from rounding
    target = rows @ noise.normal(size=3) + noise.normal(size=n)
    weight = noise.integers(1, 4, n).astype(float) if seed % 3 else noise.random(n) + 0.1
    table = sp.csr_array(rows) if seed % 5 == 0 else rows
    model = [LinearRegression(), Ridge(0.5)][seed % 2].partial_fit(table, target, weight)
    # refused: columns that became constant, or one row whose numbers the rounding of all the others hides
    words = None if left > 1 else "would be known to within"
    try:
        model.forget(table[left:], target[left:], weight[left:])
    except qed.ForgetError:
        again = [LinearRegression(), Ridge(0.5)][seed % 2].partial_fit(table, target, weight)
        with pytest.raises(qed.ForgetError, match=words):
            again.forget(table[left:], target[left:], weight[left:])
        return
    assert qed.verify(model, table[:left], target[:left], weight[:left]).holds
    others = (
        rows[:left] * [1, 1, 1 + 1e-5],
        target[:left] + 1e-5 * np.abs(target[:left]) + 1e-5,
        weight[:left] * (1 + 1e-5),
    )
    for k, other in enumerate(others):
        data = [rows[:left], target[:left], weight[:left]]
        data[k] = other
        if np.array_equal(other, [rows, target, weight][k][:left]):
            continue
        with pytest.raises(qed.CertificateError, match="not the data"):
            qed.verify(model, *data)


def test_a_fingerprint_that_claims_unbounded_rounding_is_believed_up_to_a_millionth(model):
    certificate = model.certificate_
    boundless = np.full(5, 1e300)
    forged = replace(certificate.fingerprint, weight_rounding=1e300, mean_rounding=boundless, spread_rounding=boundless)
    model.certificate_ = replace(certificate, fingerprint=forged)
    assert qed.verify(model, X, y, s).holds
    for other in ((X + 1e-4, y, s), (X, y * 1.00001, s), (X, y, s * 1.00001), (X[::-1], y, s)):
        with pytest.raises(qed.CertificateError):
            qed.verify(model, *other)
    with pytest.raises(qed.CertificateError, match="not the data"):
        qed.verify(model, X * 1.00001, y, s)


def test_means_are_told_apart_to_their_last_digits():
    far = X + 1e6
    for table, shift in ((far, 1e-8), (sp.csr_array(far), 1e-7)):  # sparse columns are summed about zero, and round
        fit = LinearRegression().fit(table, y)
        assert qed.verify(fit, table, y).holds
        with pytest.raises(qed.CertificateError, match="not the data"):
            qed.verify(fit, far + shift, y)


@pytest.mark.parametrize("shape", [(30, 400), (800, 150), (150, 800)])
@pytest.mark.parametrize("intercept", [True, False])
def test_sparse_and_wide_fits_are_recognised(shape, intercept):
    noise = np.random.default_rng(3)
    table = sp.random_array(shape, density=0.05, format="csr", rng=noise)
    target = noise.normal(size=shape[0]) + 1e5
    for data in (table, table.toarray()):
        fit = Ridge(fit_intercept=intercept).fit(data, target)
        assert np.all(
            fit.certificate_.fingerprint.mean_rounding < 1e-10 * (1 + np.abs(fit.certificate_.fingerprint.mean))
        )
        assert qed.verify(fit, data, target).holds
        with pytest.raises(qed.CertificateError, match="differ in target 0"):
            qed.verify(fit, data, target + 1e-7)


def test_a_fingerprint_of_an_old_file_is_compared_as_it_was(model):
    known = model.certificate_.fingerprint
    old = type(known)(known.rows, known.weight, known.mean, known.spread)
    model.certificate_ = replace(model.certificate_, fingerprint=old)
    assert old.mean_rounding is None
    assert qed.verify(model, X, y, s).holds
    with pytest.raises(qed.CertificateError, match="not the data"):
        qed.verify(model, X + 1e-6, y, s)


@pytest.mark.parametrize(
    "wrong",
    [
        {"mean_rounding": np.zeros(4)},
        {"spread_rounding": np.full(5, -1.0)},
        {"mean_rounding": np.full(5, np.nan)},
        {"weight_rounding": -1.0},
    ],
    ids=repr,
)
def test_a_rounding_that_makes_no_sense_is_refused_by_the_loader(wrong):
    fit = LinearRegression().fit(X, y)
    with pytest.raises(qed.core.ModelFileError, match="fingerprint is malformed"):
        replace(fit.certificate_.fingerprint, **wrong).check()


def test_a_source_is_compared_like_a_table(model):
    with pytest.raises(qed.InvalidData, match="brings its own target"):
        qed.verify(model, ArraySource(X, y, s), y)
    with pytest.raises(qed.InvalidData, match="brings its own target"):
        qed.verify(model, ArraySource(X))
    with pytest.raises(qed.InvalidData, match="expecting 4 features"):
        qed.verify(model, ArraySource(X[:, :3], y, s))
    named = LinearRegression().fit(ArraySource(X, y, s, names=list("abcd")))
    assert qed.verify(named, ArraySource(X, y, s, names=list("abcd"))).holds
    with pytest.raises(qed.InvalidData, match="same order"):
        qed.verify(named, ArraySource(X, y, s, names=list("bacd")))


def test_help_shows_one_function():
    code = """
import pydoc, pickle, qed
import qed.verify
from qed.verify import Verdict, verify
assert qed.verify is verify is qed.verify.verify
assert qed.verify.Verdict is Verdict
assert "function verify in module qed.verify" in pydoc.render_doc(qed.verify)
assert pickle.loads(pickle.dumps(verify)) is verify
"""
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603  our own interpreter and code
