"""Powers: agreement with scikit-learn, a convex objective, an enclosed optimum, and proofs that notice changes."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn.preprocessing as theirs
from hypothesis import given, settings
from hypothesis import strategies as st

import qed
from qed import preprocessing as ours
from qed.core import CertificateError, InvalidData
from qed.preprocessing import PowerTransformer
from qed.preprocessing._power_likelihood import best_power, box_cox, yeo_johnson

RNG = np.random.default_rng(5)
X = np.column_stack(
    [
        RNG.lognormal(size=120),
        RNG.normal(size=120),
        -RNG.exponential(size=120),
        RNG.poisson(3.0, 120),
        RNG.normal(30, 4, 120),
    ]
)
WEIGHT = RNG.integers(0, 3, 120).astype(float)
POSITIVE = np.abs(X) + 0.1


def objective(x, power, method):
    """Minus the log-likelihood a row, from its definition."""
    if method == "box-cox":
        powered = np.log(x) if power == 0 else (x**power - 1) / power
        return 0.5 * np.log(np.var(powered)) - power * np.mean(np.log(x))
    sizes = 1 + np.abs(x)
    powered = np.where(x >= 0, (sizes**power - 1) / power, -(sizes ** (2 - power) - 1) / (2 - power))
    return 0.5 * np.log(np.var(powered)) - power * np.mean(np.sign(x) * np.log(sizes))


@pytest.mark.parametrize("method", ["yeo-johnson", "box-cox"])
@pytest.mark.parametrize("standardize", [True, False])
def test_powers_are_scikit_learns_and_no_worse(method, standardize):
    table = POSITIVE if method == "box-cox" else X
    a = PowerTransformer(method, standardize=standardize).fit(table)
    b = theirs.PowerTransformer(method=method, standardize=standardize).fit(table)
    np.testing.assert_allclose(a.lambdas_, b.lambdas_, atol=1e-5, rtol=1e-5)
    for j in range(table.shape[1]):
        assert objective(table[:, j], a.lambdas_[j], method) <= objective(table[:, j], b.lambdas_[j], method) + 1e-13
    b.lambdas_ = a.lambdas_.copy()
    if not standardize:
        np.testing.assert_allclose(a.transform(table), b.transform(table), rtol=1e-9, atol=1e-12)
    new = table * 1.5
    np.testing.assert_allclose(a.inverse_transform(a.transform(new)), new, rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(a.fit_transform(table), a.fit(table).transform(table))
    np.testing.assert_array_equal(ours.power_transform(table, method, standardize=standardize), a.fit_transform(table))


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10_000),
    st.floats(-3, 3),
    st.sampled_from(["normal", "exponential", "integers", "lognormal"]),
    st.floats(-5, 5),
)
def test_the_objective_is_convex_and_the_optimum_enclosed(seed, shift, kind, scale):
    rng = np.random.default_rng(seed)
    x = {
        "normal": rng.normal(size=30),
        "exponential": rng.exponential(size=30),
        "integers": rng.integers(0, 3, 30).astype(float) + rng.normal(size=30) * 1e-3,
        "lognormal": rng.lognormal(size=30),
    }[kind] * 10.0**scale + shift
    share = rng.dirichlet(np.ones(30))
    for column in (yeo_johnson(x, share, 340.0), box_cox(np.abs(x) + 1e-9, share, 340.0)):
        middle = min(max(1.0, column.least), column.largest)
        grid = np.clip(middle + np.linspace(-4, 4, 17) * column.unit, column.least, column.largest)
        slopes = np.array([column.slope(one) for one in grid])
        assert (np.diff(slopes) >= -1e-6 / column.unit).all()
        found = best_power(column)
        assert found.low <= found.power <= found.high
        assert found.gap <= 1e-12
        inner = 2 - found.power if column.mirrored else found.power
        for end, outward in ((column.least, 1), (column.largest, -1)):
            if inner == end:
                assert outward * column.slope(end) >= 0


def test_digits_of_numbers_far_from_one_are_kept():
    x = RNG.gamma(3.0, size=500)
    for offset in (1e3, 1e6):
        far = PowerTransformer(standardize=False).fit((offset + x)[:, np.newaxis])
        powered = far.transform((offset + x)[:, np.newaxis])[:, 0]
        assert len(np.unique(powered)) > 400  # scikit-learn's power leaves them all equal
        order = np.argsort(x)
        assert (np.diff(powered[order]) >= 0).all()


def test_weight_two_is_a_row_twice():
    twice = PowerTransformer().fit(np.repeat(X, WEIGHT.astype(int), axis=0))
    weighted = PowerTransformer().fit(X, sample_weight=WEIGHT)
    np.testing.assert_allclose(twice.lambdas_, weighted.lambdas_, atol=1e-9)
    np.testing.assert_allclose(twice.transform(X), weighted.transform(X), atol=1e-8)
    assert qed.verify(weighted, X, sample_weight=WEIGHT).holds


def test_gaps_constants_frames_and_types():
    gaps = np.where(RNG.random(X.shape) < 0.2, np.nan, X)
    a, b = PowerTransformer().fit(gaps), theirs.PowerTransformer().fit(gaps)
    np.testing.assert_allclose(a.transform(gaps), b.transform(gaps), atol=1e-5)
    assert qed.verify(a, gaps).holds
    still = np.column_stack([X[:, 0], np.full(120, 3.0), np.full(120, np.nan)])
    model = PowerTransformer().fit(still)
    assert model.lambdas_[1:].tolist() == [1.0, 1.0]
    assert (model.transform(still)[:, 1] == 0).all()
    assert qed.verify(model, still).holds
    single = PowerTransformer().fit_transform(X.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, PowerTransformer().fit_transform(X), atol=2e-3)
    for frame in (pd.DataFrame(X, columns=list("abcde")), pl.DataFrame(X, schema=list("abcde"))):
        library = "pandas" if isinstance(frame, pd.DataFrame) else "polars"
        out = PowerTransformer().set_output(transform=library).fit_transform(frame)
        assert list(out.columns) == list("abcde")
        np.testing.assert_allclose(out.to_numpy(), PowerTransformer().fit_transform(X), rtol=1e-12)
    given = X.copy()
    PowerTransformer().fit_transform(given)
    np.testing.assert_array_equal(given, X)


def test_what_has_no_power_is_said():
    with pytest.raises(InvalidData, match="strictly positive"):
        PowerTransformer("box-cox").fit(X)
    with pytest.raises(InvalidData, match="must not be constant"):
        PowerTransformer("box-cox").fit(np.ones((4, 1)))
    with pytest.raises(InvalidData, match="all nan"):
        PowerTransformer("box-cox").fit(np.full((4, 1), np.nan))
    model = PowerTransformer(standardize=False).fit(X[:, :1])
    with pytest.warns(UserWarning, match="no number has that image"):
        assert np.isnan(model.inverse_transform([[100.0]])).all()


@pytest.mark.parametrize("method", ["yeo-johnson", "box-cox"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_verify_confirms_and_rejects(method, dtype, tmp_path):
    table = (POSITIVE if method == "box-cox" else X).astype(dtype)
    model = PowerTransformer(method).fit(table)
    assert qed.verify(model, table[::-1]).holds
    model.save(tmp_path / "powers.qed")
    again = qed.load(tmp_path / "powers.qed")
    np.testing.assert_array_equal(again.transform(table), model.transform(table))
    assert qed.verify(again, table).holds
    for change in (1e-3, -1e-3):
        again.lambdas_ = model.lambdas_ + change
        with pytest.raises(CertificateError, match="encloses"):
            qed.verify(again, table)
    again.lambdas_ = model.lambdas_ + 2e-5 / np.maximum(
        1, np.abs(model.lambdas_)
    )  # inside the interval, but no optimum
    with pytest.raises(CertificateError):
        qed.verify(again, table)
    again.lambdas_ = model.lambdas_
    again.scaler_.mean_ = model.scaler_.mean_ + 1e-2
    with pytest.raises(CertificateError, match="the mean"):
        qed.verify(again, table)
    with pytest.raises(CertificateError, match="not the data"):
        qed.verify(model, table[:50])
    with pytest.raises(CertificateError):
        qed.verify(model, table * 2 + 0.5)
