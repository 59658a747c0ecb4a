"""Intervals cover as often as they say, agree with what is known, and refuse in words where they are not valid."""

import numpy as np
import pytest
from scipy import stats

from qed import metrics
from qed.core import InvalidData, InvalidParameter
from qed.metrics import Score, Tally, score_interval

LEVEL = 0.9


def least_hits(runs, level):
    """So many covers that fewer would be seen with a probability below 1e-9 if each covered with `level`."""
    return int(stats.binom.ppf(1e-9, runs, level)) - 1


def covers(draw, truth, runs, level=LEVEL, **how):
    random = np.random.default_rng(20260101)
    return sum(truth in score_interval(*draw(random), level=level, **how) for _ in range(runs))


def coin(random, n=40, p=0.85):
    y = random.integers(0, 2, n)
    return "accuracy_score", y, np.where(random.random(n) < p, y, 1 - y)


@pytest.mark.parametrize("method", ["clopper-pearson", "wilson"])
def test_shares_cover(method):
    hits = covers(coin, 0.85, 400, method=method)
    assert hits >= least_hits(400, LEVEL if method == "clopper-pearson" else 0.86)  # Wilson covers on average


def test_clopper_pearson_is_exact_for_every_count():
    n, level = 12, 0.9
    p = np.linspace(0.01, 0.99, 99)
    ends = []
    for k in range(n + 1):
        score = score_interval("accuracy_score", np.ones(n, int), np.arange(n) < k, level=level)
        assert score.method == "clopper-pearson"
        assert score.n == n
        ends.append((score.lower, score.upper))
    chance = stats.binom.pmf(np.arange(n + 1)[:, None], n, p)
    inside = np.array([(low <= p) & (p <= high) for low, high in ends])
    assert ((chance * inside).sum(axis=0) >= level - 1e-9).all()
    want = stats.binomtest(9, 12).proportion_ci(0.9, "exact")
    assert ends[9] == pytest.approx((want.low, want.high), rel=1e-9)


def test_wilson_agrees():
    score = score_interval("accuracy_score", np.ones(20, int), np.arange(20) < 17, method="wilson")
    want = stats.binomtest(17, 20).proportion_ci(0.95, "wilson")
    assert (score.lower, score.upper) == pytest.approx((want.low, want.high), rel=1e-9)


def test_mean_errors_cover_and_are_student():
    def draw(random):
        y = random.normal(size=60)
        return "mean_squared_error", y, y + random.normal(size=60)

    assert covers(draw, 1.0, 400) >= least_hits(400, 0.85)  # squares are skewed: a little below the level at n = 60
    y, t = np.arange(10.0), np.arange(10.0) + np.linspace(-1, 1, 10)
    score = score_interval("mean_absolute_error", y, t)
    losses = np.abs(y - t)
    want = stats.t.interval(0.95, 9, losses.mean(), stats.sem(losses))
    assert (score.lower, score.upper) == pytest.approx(want, rel=1e-9)
    root = score_interval("root_mean_squared_error", y, t)
    square = score_interval("mean_squared_error", y, t)
    assert (root.lower**2, root.upper**2) == pytest.approx((max(square.lower, 0), square.upper), rel=1e-9)


def area_of(random, n=80):
    y = np.repeat([0, 1], n // 2)
    return "roc_auc_score", y, random.normal(size=n) + y


def test_roc_area_covers():
    truth = stats.norm.cdf(1 / np.sqrt(2))
    assert covers(area_of, truth, 400) >= least_hits(400, 0.88)


def test_delong_is_the_variance_of_placements():
    _, y, score = area_of(np.random.default_rng(4))
    score = np.round(score, 1)
    wins = np.subtract.outer(score[y == 1], score[y == 0])
    wins = (wins > 0) + 0.5 * (wins == 0)
    variance = wins.mean(axis=1).var(ddof=1) / 40 + wins.mean(axis=0).var(ddof=1) / 40
    got = score_interval("roc_auc_score", y, score)
    a = wins.mean()
    half = stats.norm.ppf(0.975) * np.sqrt(variance) / (a * (1 - a))
    logit = np.log(a / (1 - a))
    assert (got.lower, got.upper) == pytest.approx((1 / (1 + np.exp(half - logit)), 1 / (1 + np.exp(-half - logit))))
    assert 0 < got.lower < got.value < got.upper < 1


def test_a_perfect_order_is_not_a_proof():
    score = score_interval("roc_auc_score", [0] * 20 + [1] * 10, np.arange(30))
    assert (score.value, score.upper) == (1.0, 1.0)
    assert score.lower == pytest.approx(0.025 ** (1 / 10))


def test_medians_cover_whatever_the_distribution():
    def draw(random):
        return "median_absolute_error", np.zeros(31), random.standard_cauchy(31)

    assert covers(draw, 1.0, 400) >= least_hits(400, LEVEL)  # the median of |Cauchy| is 1


@pytest.mark.parametrize("name", ["f1_score", "balanced_accuracy_score", "matthews_corrcoef"])
def test_bootstraps_of_counts_cover(name):
    y, t = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    share = np.array([0.4, 0.1, 0.15, 0.35])
    truth = getattr(metrics, name)(y, t, sample_weight=share)

    def draw(random):
        rows = random.choice(4, 150, p=share)
        return name, y[rows], t[rows]

    assert covers(draw, truth, 60, n_resamples=99) >= least_hits(60, 0.84)


def test_bootstraps_of_rows_cover():
    def draw(random):
        y = random.normal(size=80)
        return "r2_score", y, 0.8 * y + 0.1 * random.normal(size=80)

    truth = 1 - (0.2**2 + 0.1**2)
    assert covers(draw, truth, 50, n_resamples=99) >= least_hits(50, 0.82)


def test_drawing_counts_is_drawing_rows():
    """The bootstrap of the table has the distribution of the bootstrap of the rows: compared in two moments."""
    random = np.random.default_rng(0)
    y = random.integers(0, 3, 200)
    t = np.where(random.random(200) < 0.7, y, random.integers(0, 3, 200))
    of_counts = Tally.of("f1_score", y, t, average="macro").interval(method="bootstrap", n_resamples=1500)
    of_rows = score_interval(
        lambda a, b: metrics.f1_score(a, b, average="macro"), y, t, n_resamples=1500, random_state=1
    )
    assert of_counts.lower == pytest.approx(of_rows.lower, abs=0.012)
    assert of_counts.upper == pytest.approx(of_rows.upper, abs=0.012)


def test_seeds_repeat():
    y, t = np.array([0, 1] * 20), np.array([0, 1, 1, 1] * 10)
    first, again = (score_interval("f1_score", y, t) for _ in range(2))
    assert first == again
    assert first != score_interval("f1_score", y, t, random_state=1)
    assert first.method == "bootstrap"


def test_whole_weights_are_counts_and_fractions_are_resampled():
    y, t = np.array([1, 1, 0, 0]), np.array([1, 0, 0, 0])
    counted = score_interval("accuracy_score", y, t, sample_weight=[2, 1, 3, 1])
    times = [2, 1, 3, 1]
    assert counted == score_interval("accuracy_score", np.repeat(y, times), np.repeat(t, times))
    y, t = np.tile(y, 20), np.tile(t, 20)
    fractions = np.linspace(0.1, 1.3, 80)
    assert score_interval("accuracy_score", y, t, sample_weight=fractions).method == "bootstrap"
    with pytest.raises(InvalidData, match="not whole numbers"):
        Tally.of("accuracy_score", y, t, fractions).interval()
    with pytest.raises(InvalidData, match="cannot be computed from sums"):
        Tally.of("mean_squared_error", y, t, fractions).interval()
    with pytest.raises(InvalidData, match="not whole numbers"):
        Tally.of("roc_auc_score", y, t + 0.1, fractions).interval()


def test_precision_rests_on_predicted_and_recall_on_real_positives():
    y = np.array([1] * 8 + [0] * 2 + [1] * 4 + [0] * 86)
    t = np.array([1] * 10 + [0] * 90)
    precision, recall = (score_interval(name, y, t) for name in ("precision_score", "recall_score"))
    assert (precision.n, precision.value) == (10, 0.8)
    assert (recall.n, recall.value) == (12, 8 / 12)
    assert (precision.lower, precision.upper) == pytest.approx(tuple(stats.binomtest(8, 10).proportion_ci()), rel=1e-9)
    error = score_interval("zero_one_loss", y, t)
    right = score_interval("accuracy_score", y, t)
    assert (error.lower, error.upper) == pytest.approx((1 - right.upper, 1 - right.lower), rel=1e-9)


def test_refusals():
    with pytest.raises(InvalidData, match="how much larger the next can be"):
        score_interval("max_error", [1.0, 2.0], [1.0, 1.0])
    with pytest.raises(InvalidData, match="how much larger the next can be"):
        Tally.of("max_error", [1.0, 2.0], [1.0, 1.0]).interval()
    with pytest.raises(InvalidData, match="Pass the rows themselves"):
        Tally.of("r2_score", [1.0, 2.0], [1.0, 1.0]).interval()
    with pytest.raises(InvalidData, match="at least two rows"):
        score_interval("mean_squared_error", [1.0], [1.0])
    with pytest.raises(InvalidData, match="2 numbers"):
        score_interval("recall_score", [0, 1], [0, 1], average=None, method="wilson")
    with pytest.raises(InvalidParameter, match="level"):
        score_interval("accuracy_score", [0, 1], [0, 1], level=95)
    with pytest.raises(InvalidParameter, match="method must be one of"):
        score_interval("accuracy_score", [0, 1], [0, 1], method="exact")
    with pytest.raises(InvalidParameter, match="is for shares of rows"):
        score_interval("mean_squared_error", [0.0, 1.0], [0.0, 2.0], method="wilson")
    with pytest.raises(InvalidParameter, match="knows its rows"):
        score_interval(Tally.of("accuracy_score", [0], [0]), [0], [0])
    with pytest.raises(InvalidData, match="too few"):
        score_interval("median_absolute_error", [0.0, 1.0], [0.0, 2.0], method="auto", level=0.99)


def test_a_score_reads_as_a_sentence_and_as_a_number():
    score = score_interval(metrics.accuracy_score, [0, 1] * 50, [0, 1] * 45 + [1, 0] * 5)
    assert str(score) == "0.9 (95 % interval 0.824 to 0.951, clopper-pearson, n = 100)"
    assert float(score) == 0.9
    assert 0.85 in score
    assert 0.5 not in score
    with pytest.raises(Exception, match="impossible"):
        Score(0.5, 0.6, 0.4, 0.95, 10, "student").check()
