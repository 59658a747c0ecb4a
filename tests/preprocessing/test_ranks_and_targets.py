"""Ranks in place of values, mean targets in place of categories: agreement with scikit-learn, laws, files."""

from contextlib import nullcontext

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn.model_selection
import sklearn.preprocessing as theirs

import qed
from qed import preprocessing as ours
from qed.core import InvalidData, InvalidParameter
from qed.linear_model import Ridge
from qed.model_selection import KFold, ShuffleSplit
from qed.preprocessing import QuantileTransformer, TargetEncoder

RNG = np.random.default_rng(4)
X = np.column_stack([RNG.normal(size=200), RNG.lognormal(size=200), RNG.integers(0, 4, 200), np.zeros(200)])
GAPS = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
NEW = X * 1.7 - 0.3
WORDS = np.array(["ant", "bee", "cat", "dog", "emu"], object)[RNG.integers(0, 5, (300, 2))]
NUMBERS = RNG.normal(size=300) + (WORDS[:, 0] == "cat")
TARGETS = [
    NUMBERS,
    NUMBERS > 0,
    RNG.integers(0, 2, 300),
    np.array(["u", "v", "w"])[RNG.integers(0, 3, 300)],
]


@pytest.mark.parametrize("distribution", ["uniform", "normal"])
@pytest.mark.parametrize("table", [X, GAPS, X.astype(np.float32)])
@pytest.mark.parametrize("n_quantiles", [1, 7, 200])
def test_ranks_are_scikit_learns(distribution, table, n_quantiles):
    options = {"output_distribution": distribution, "n_quantiles": n_quantiles}
    a, b = QuantileTransformer(**options).fit(table), theirs.QuantileTransformer(**options).fit(table)
    np.testing.assert_allclose(
        a.quantiles_, b.quantiles_, rtol=1e-6 if table.dtype == np.float32 else 1e-13, atol=1e-15
    )
    new = NEW.astype(table.dtype)
    left, right = a.transform(new), b.transform(new)
    assert left.dtype == table.dtype
    np.testing.assert_allclose(left, right, atol=1e-5 if table.dtype == np.float32 else 1e-10)
    np.testing.assert_allclose(a.inverse_transform(left), b.inverse_transform(right), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("ignore", [False, True])
@pytest.mark.parametrize("layout", [sp.csr_array, sp.csc_matrix])
def test_ranks_of_sparse_tables(ignore, layout):
    sparse = layout(np.where(X > 0.5, X, 0.0))
    options = {"n_quantiles": 20, "ignore_implicit_zeros": ignore}
    a, b = QuantileTransformer(**options), theirs.QuantileTransformer(**options)
    np.testing.assert_allclose(a.fit_transform(sparse).toarray(), b.fit_transform(sparse).toarray(), atol=1e-12)
    with pytest.raises(InvalidData, match="non-negative sparse"):
        QuantileTransformer(n_quantiles=5).fit(layout(X))


def test_a_draw_is_near_the_whole_and_fixed_by_its_seed():
    many = RNG.normal(size=(5000, 1))
    drawn, again = (QuantileTransformer(subsample=2000, random_state=1).fit(many) for _ in range(2))
    np.testing.assert_array_equal(drawn.quantiles_, again.quantiles_)
    whole = QuantileTransformer(subsample=None).fit(many)
    assert np.abs(drawn.transform(many) - whole.transform(many)).max() < 0.05
    assert qed.verify(drawn, many).holds
    uniform = whole.transform(many)
    assert np.abs(np.sort(uniform[:, 0]) - np.linspace(0, 1, 5000)).max() < 1e-3


def test_functions_frames_and_words():
    options = {"n_quantiles": 10}
    np.testing.assert_allclose(
        ours.quantile_transform(X, **options), theirs.quantile_transform(X, **options), atol=1e-12
    )
    rows = RNG.normal(size=(20, 6))
    left, right = (module.quantile_transform(rows, axis=1, n_quantiles=6) for module in (ours, theirs))
    np.testing.assert_allclose(left, right, atol=1e-12)
    out = (
        QuantileTransformer(**options)
        .set_output(transform="polars")
        .fit_transform(pl.DataFrame(X, schema=list("abcd")))
    )
    assert out.columns == list("abcd")
    with pytest.warns(UserWarning, match="is greater than the total number"):
        assert QuantileTransformer().fit(X).n_quantiles_ == 200
    with pytest.raises(InvalidParameter, match="cannot be greater than the number of samples used"):
        QuantileTransformer(subsample=10).fit(X)
    with pytest.warns(UserWarning, match="only with sparse"):
        QuantileTransformer(n_quantiles=5, ignore_implicit_zeros=True).fit(X)
    with pytest.raises(InvalidParameter, match="axis"):
        ours.quantile_transform(X, axis=2)


@pytest.mark.parametrize("smooth", ["auto", 0.0, 3.0])
@pytest.mark.parametrize("y", TARGETS, ids=["numbers", "truth", "digits", "words"])
def test_codes_are_scikit_learns(smooth, y):
    for a, b in (
        (TargetEncoder(smooth=smooth, random_state=2), theirs.TargetEncoder(smooth=smooth, random_state=2)),
        (
            TargetEncoder(smooth=smooth, cv=KFold(4)),
            theirs.TargetEncoder(smooth=smooth, cv=sklearn.model_selection.KFold(4)),
        ),
    ):
        left = a.fit_transform(WORDS, y)
        with pytest.warns(FutureWarning) if b.random_state == 2 else nullcontext():
            right = b.fit_transform(WORDS, y)
        np.testing.assert_allclose(left, right, atol=1e-12)
        new = np.array([["cat", "yak"], ["yak", "ant"], [None, "bee"]], object)
        np.testing.assert_allclose(a.transform(new), b.transform(new), atol=1e-12)
        np.testing.assert_allclose(a.target_mean_, b.target_mean_)
        assert list(a.get_feature_names_out()) == list(b.get_feature_names_out())


def test_a_row_is_coded_without_its_own_target():
    y = NUMBERS.copy()
    before = TargetEncoder(cv=KFold(5)).fit_transform(WORDS, y)
    y[7] += 100.0
    after = TargetEncoder(cv=KFold(5)).fit_transform(WORDS, y)
    same_fold = slice(0, 60)
    np.testing.assert_allclose(before[same_fold], after[same_fold], atol=1e-12)
    assert np.abs(before[60:] - after[60:]).max() > 0.1
    listed = TargetEncoder(categories=[["ant", "bee"], ["ant", "bee"]], cv=KFold(5))
    left = listed.fit_transform(WORDS, y)
    y[7] -= 100.0
    np.testing.assert_allclose(left[same_fold], listed.fit_transform(WORDS, y)[same_fold], atol=1e-12)


def test_random_categories_tellnullcontext():
    noise, y = RNG.integers(0, 150, (300, 1)), RNG.normal(size=300)
    coded = TargetEncoder(smooth=0.0, random_state=0).fit_transform(noise, y)
    plain = TargetEncoder(smooth=0.0).fit(noise, y).transform(noise)
    assert Ridge().fit(plain, y).score(plain, y) > 0.4  # every row has seen its own target
    assert abs(np.corrcoef(coded[:, 0], y)[0, 1]) < 0.2


def test_frames_files_and_words(tmp_path):
    frame = pd.DataFrame(WORDS, columns=["a", "b"]).astype("category")
    model = TargetEncoder(random_state=0).fit(frame, NUMBERS)
    out = model.set_output(transform="pandas").transform(frame)
    assert list(out.columns) == ["a", "b"]
    model.save(tmp_path / "codes.qed")
    again = qed.load(tmp_path / "codes.qed")
    np.testing.assert_array_equal(again.transform(frame), out)
    np.testing.assert_allclose(
        TargetEncoder().fit(pl.from_pandas(frame), NUMBERS).transform(pl.from_pandas(frame)), out
    )
    assert qed.verify(again, frame, NUMBERS).holds
    ranks = QuantileTransformer(n_quantiles=9).fit(GAPS)
    ranks.save(tmp_path / "ranks.qed")
    np.testing.assert_array_equal(qed.load(tmp_path / "ranks.qed").transform(GAPS), ranks.transform(GAPS))
    with pytest.raises(InvalidParameter, match="exactly once"):
        TargetEncoder(cv=ShuffleSplit(3, random_state=0)).fit_transform(WORDS, NUMBERS)
    with pytest.raises(InvalidData, match="requires y"):
        TargetEncoder().fit(WORDS, None)
    with pytest.raises(InvalidData, match="of the same rows"):
        TargetEncoder().fit(WORDS, NUMBERS[:5])
    with pytest.raises(InvalidData, match="needs numbers"):
        TargetEncoder(target_type="continuous").fit(WORDS, TARGETS[3])
    with pytest.raises(InvalidParameter, match="3 classes"):
        TargetEncoder(target_type="binary").fit(WORDS, TARGETS[3])
    with pytest.raises(InvalidData, match="Unknown label type"):
        TargetEncoder().fit(WORDS, np.column_stack([NUMBERS, NUMBERS]))
