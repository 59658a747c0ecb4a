"""Laws of every score that can be tallied: merging is adding rows, weights are repetitions, order does not matter."""

import pickle
from functools import reduce

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.metrics.rows import outcome, weights

import qed
from qed import metrics
from qed.core import InvalidData, InvalidParameter
from qed.metrics import Confusion, Largest, Ranking, Sample, Tally
from qed.metrics._recipes import RECIPES

LABELS = {"labels": [0, 1, 2]}


def labels_of(random, n):
    return random.integers(0, 3, n), random.integers(0, 3, n)


def two_labels_of(random, n):
    return random.integers(0, 2, n), random.integers(0, 2, n)


def numbers_of(random, n):
    y = random.normal(size=n)
    return y, np.round(y + random.normal(size=n), 1)


def positive_of(random, n):
    return random.gamma(2.0, size=n) + 0.1, random.gamma(2.0, size=n) + 0.1


def probabilities_of(random, n):
    p = random.random((n, 3)) + 0.05
    return random.integers(0, 3, n), p / p.sum(axis=1, keepdims=True)


def decisions_of(random, n):
    return random.integers(0, 3, n), random.normal(size=(n, 3))


def scores_of(random, n):
    y = random.integers(0, 2, n)
    return y, np.round(random.normal(size=n) + y, 1)


# How rows of each score are made, with options that are not the defaults where those would refuse.
MAKERS = {
    **dict.fromkeys(["accuracy_score", "zero_one_loss", "hamming_loss", "balanced_accuracy_score"], (labels_of, {})),
    **dict.fromkeys(["matthews_corrcoef", "cohen_kappa_score"], (labels_of, {})),
    **dict.fromkeys(["precision_score", "recall_score"], (labels_of, {"average": "macro", "zero_division": 0})),
    **dict.fromkeys(["f1_score"], (two_labels_of, {"zero_division": 0})),
    "fbeta_score": (labels_of, {"beta": 2, "average": "weighted", "zero_division": 0}),
    "jaccard_score": (labels_of, {"average": "macro", "zero_division": 0}),
    **dict.fromkeys(["log_loss", "d2_log_loss_score", "brier_score_loss"], (probabilities_of, LABELS)),
    "d2_brier_score": (probabilities_of, LABELS),
    "hinge_loss": (decisions_of, LABELS),
    "top_k_accuracy_score": (decisions_of, {**LABELS, "k": 2}),
    **dict.fromkeys(["roc_auc_score", "average_precision_score"], (scores_of, {})),
    **dict.fromkeys(["mean_poisson_deviance", "mean_gamma_deviance"], (positive_of, {})),
    **dict.fromkeys(["mean_tweedie_deviance", "d2_tweedie_score"], (positive_of, {"power": 1.5})),
    **dict.fromkeys(["mean_squared_log_error", "root_mean_squared_log_error"], (positive_of, {})),
    "mean_absolute_percentage_error": (positive_of, {}),
}
UNWEIGHTED = {"max_error"}
every_score = pytest.mark.parametrize("name", sorted(RECIPES))


def made(name, random, n):
    maker, options = MAKERS.get(name, (numbers_of, {}))
    return (*maker(random, n), options)


def value_of(name, y, t, s, options):
    """What the public function says of rows, quietly."""
    given_weights = {} if name in UNWEIGHTED else {"sample_weight": s}
    return outcome(getattr(metrics, name), y, t, **given_weights, **options)[0]


def agree(a, b):
    if a is None or b is None:
        assert a is None
        assert b is None
    else:
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


def tallied(tally):
    return outcome(lambda: tally.value)[0]


@st.composite
def cases(draw, name, least=3, kinds=(None, "whole", "fraction")):
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(least, 30))
    y, t, options = made(name, random, n)
    kind = None if name in UNWEIGHTED else draw(st.sampled_from(kinds))
    return random, y, t, weights(random, n, kind), options


def some(s, rows):
    return None if s is None else s[rows]


def chunk(name, y, t, s, rows, options):
    """The tally of a few rows; of none, or of rows that weigh nothing, the empty one."""
    if not len(y[rows]) or (s is not None and not s[rows].any()):
        return Tally.empty(name, **options)
    return Tally.of(name, y[rows], t[rows], some(s, rows), **options)


@every_score
@settings(max_examples=12)
@given(data=st.data())
def test_chunks_merge_to_the_whole(name, data):
    _, y, t, s, options = data.draw(cases(name))
    whole = Tally.of(name, y, t, s, **options)
    agree(tallied(whole), value_of(name, y, t, s, options))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(y)), min_size=2, max_size=3)))
    parts = [chunk(name, y, t, s, slice(a, b), options) for a, b in zip([0, *cuts], [*cuts, len(y)], strict=True)]
    agree(tallied(reduce(Tally.merge, parts)), tallied(whole))
    agree(tallied(reduce(Tally.merge, parts[::-1])), tallied(whole))  # commutative
    agree(tallied(parts[0].merge(parts[1].merge(parts[2]))), tallied(parts[0].merge(parts[1]).merge(parts[2])))


@every_score
def test_empty_is_the_identity(name):
    y, t, options = made(name, np.random.default_rng(0), 20)
    tally, nothing = Tally.of(name, y, t, **options), Tally.empty(name, **options)
    assert tally.merge(nothing) == tally
    assert nothing.merge(tally) == tally
    assert nothing.merge(nothing) == nothing
    with pytest.raises(InvalidData, match="holds no rows"):
        nothing.value  # noqa: B018
    tally.statistic.check()


@every_score
@settings(max_examples=8)
@given(data=st.data())
def test_order_of_rows_does_not_matter(name, data):
    random, y, t, s, options = data.draw(cases(name))
    shuffled = random.permutation(len(y))
    agree(value_of(name, y[shuffled], t[shuffled], some(s, shuffled), options), value_of(name, y, t, s, options))


@pytest.mark.parametrize("name", sorted(set(RECIPES) - UNWEIGHTED))
@settings(max_examples=8)
@given(data=st.data())
def test_a_weight_is_a_repetition(name, data):
    _, y, t, s, options = data.draw(cases(name, kinds=("whole",)))
    times = s.astype(int)
    assume(times.sum() > 1)
    repeated = value_of(name, np.repeat(y, times), np.repeat(t, times, axis=0), None, options)
    agree(repeated, value_of(name, y[times > 0], t[times > 0], s[times > 0], options))


BETWEEN_0_AND_1 = {
    "accuracy_score", "balanced_accuracy_score", "zero_one_loss", "hamming_loss", "precision_score", "recall_score",
    "f1_score", "fbeta_score", "jaccard_score", "top_k_accuracy_score", "roc_auc_score", "average_precision_score",
}  # fmt: skip
AT_MOST_1 = {"r2_score", "explained_variance_score", "matthews_corrcoef", "cohen_kappa_score"}


@every_score
@settings(max_examples=8)
@given(data=st.data())
def test_bounds(name, data):
    _, y, t, s, options = data.draw(cases(name))
    value = value_of(name, y, t, s, options)
    assume(value is not None and not np.isnan(value))
    rounding = 1e-12
    if name in AT_MOST_1 or name.startswith("d2_"):
        assert value <= 1 + rounding
    else:
        assert value >= -rounding
    if name in BETWEEN_0_AND_1:
        assert value <= 1 + rounding


@every_score
def test_tallies_survive_pickling_and_files(name, tmp_path):
    y, t, options = made(name, np.random.default_rng(1), 25)
    tally = Tally.of(name, y, t, **options)
    assert pickle.loads(pickle.dumps(tally)) == tally


def test_statistics_can_be_kept_in_files():
    from qed.core._records import find_record  # noqa: PLC0415

    for name, kind in {
        "confusion": Confusion,
        "ranking": Ranking,
        "error-sample": Sample,
        "largest-error": Largest,
    }.items():
        assert find_record(name) is kind
        kind.empty().check()


def test_labels_may_differ_between_chunks():
    parts = [(["a", "b"], ["a", "a"]), (["c", "c"], ["c", "b"]), (["longer name"], ["a"])]
    tally = reduce(Tally.merge, (Tally.of("accuracy_score", *part) for part in parts))
    whole = [[label for part in parts for label in part[i]] for i in (0, 1)]
    assert tally.value == metrics.accuracy_score(*whole)
    np.testing.assert_array_equal(tally.statistic.table(), metrics.confusion_matrix(*whole))
    assert list(tally.statistic.labels) == ["a", "b", "c", "longer name"]


def test_what_does_not_merge_says_so():
    tally = Tally.of("accuracy_score", [0, 1], [0, 1])
    with pytest.raises(InvalidData, match="same score merge"):
        tally.merge(Tally.of("recall_score", [0, 1], [0, 1]))
    with pytest.raises(InvalidData, match="same score merge"):
        Tally.empty("fbeta_score", beta=1).merge(Tally.empty("fbeta_score", beta=2))
    with pytest.raises(InvalidData, match="labels of one kind"):
        tally.merge(Tally.of("accuracy_score", ["a"], ["b"]))
    with pytest.raises(InvalidParameter, match="is not a score that can be tallied"):
        Tally.of("accuracy", [0], [0])
    with pytest.raises(InvalidParameter, match="has no option beta"):
        Tally.of("f1_score", [0], [0], beta=2)
    with pytest.raises(InvalidParameter, match="needs the option beta"):
        Tally.of("fbeta_score", [0], [0])


def test_a_file_is_scored_chunk_by_chunk():
    """A tally is folded over a source like any statistic."""
    random = np.random.default_rng(3)
    X, y = random.normal(size=(1000, 3)), random.normal(size=1000)
    source = qed.data.ArraySource(X, y, chunk_rows=128)
    tally = qed.data.fold(source, lambda rows: Tally.of("mean_squared_error", rows.y[:, 0], rows.X[:, 0]))
    assert tally.value == pytest.approx(metrics.mean_squared_error(y, X[:, 0]), rel=1e-13)
