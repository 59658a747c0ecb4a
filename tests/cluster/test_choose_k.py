"""How many clusters there are, by rules that each say why."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest

from qed.cluster import KMeans, choose_k, elbow, penalised_k
from qed.core import InvalidData, InvalidParameter
from qed.core._events import STOP, listen
from qed.mixture import GaussianMixture

mpl.use("Agg")
rng = np.random.default_rng(8)
HOMES = np.array([[0.0, 0.0], [12.0, 0.0], [0.0, 12.0]])
X = np.repeat(HOMES, 40, axis=0) + rng.standard_normal((120, 2))


@pytest.mark.covers("CLU-24")
def test_the_elbow_is_at_the_kink():
    for kink in (2, 3, 5):
        costs = np.where(
            np.arange(1, 10) <= kink, 100 - 20 * np.arange(1, 10), 100 - 20 * kink - (np.arange(1, 10) - kink)
        )
        assert elbow(costs) == kink
    assert elbow([9.0, 3.0, 2.0], [2, 4, 6]) == 4
    with pytest.raises(InvalidParameter, match="two or more"):
        elbow([1.0])


@pytest.mark.covers("CLU-26")
def test_a_penalty_chooses_between_all_rows_and_one_cluster():
    costs = [KMeans(k, n_init=5, random_state=0).fit(X[::10]).inertia_ for k in range(1, 13)]
    assert penalised_k(costs, 0.0) == 12
    assert penalised_k(costs, 1e9) == 1
    assert penalised_k(costs, 20.0) == 3
    with pytest.raises(InvalidParameter, match="penalty"):
        penalised_k(costs, -1.0)


@pytest.mark.covers("CLU-27")
def test_gap_statistic_and_stability_find_the_planted_number():
    found = choose_k(X, range(1, 7), random_state=0)
    assert found.votes == {"elbow": 3, "silhouette": 3, "gap": 3, "stability": 3}
    assert found.best == 3
    assert found.stability[2] == pytest.approx(1.0)
    assert found.stability[4] < 0.9
    assert len(found.reasons) == 4
    assert all("k = 3" in reason for reason in found.reasons)
    axes = found.plot()
    assert len(axes) == 4
    assert axes[0].figure.get_size_inches().min() > 5  # four figures with room for their labels
    one = choose_k(rng.uniform(size=(100, 2)), range(1, 5), n_halves=3, random_state=0)
    assert one.votes["gap"] == 1
    with pytest.raises(InvalidParameter, match="at most half"):
        choose_k(X, [1, 100])
    with pytest.raises(InvalidData, match="finite"):
        choose_k([[np.nan]] * 9)


@pytest.mark.parametrize("steps", [2, 6, 9, 13, 400])
def test_a_comparison_ends_when_it_is_asked_to(steps):
    """Six numbers, then two tables of six, then two pairs of halves: rules without one whole round do not vote."""
    seen = []

    def stop(event):
        seen.append(event)
        return STOP if event.source == "choose_k" and event.step >= steps else None

    with listen(stop):
        found = choose_k(X, range(1, 7), n_references=2, n_halves=2, random_state=0)
    assert len(found.ks) == len(found.inertia) == min(steps, 6)
    assert ("gap" in found.votes) == (steps >= 12)
    assert np.isfinite(found.gap).all() == (steps >= 12)
    assert ("stability" in found.votes) == (steps >= 18)
    assert max(event.step for event in seen if event.source == "choose_k") == min(steps, 30)
    assert found.best in found.ks
    found.plot()


@pytest.mark.covers("CLU-38")
def test_the_evidence_of_mixtures_peaks_at_the_planted_number_and_moves_down_with_fewer_rows():
    def posterior(rows):
        bic = np.array(
            [GaussianMixture(k, n_init=3, random_state=0, reg_covar=1e-3).fit(rows).bic(rows) for k in range(1, 6)]
        )
        share = np.exp(-0.5 * (bic - bic.min()))
        return share / share.sum()

    whole = posterior(X)
    assert whole.sum() == pytest.approx(1.0)
    assert int(np.argmax(whole)) + 1 == 3
    near = np.repeat([[0.0], [3.0], [6.0]], 60, axis=0) + rng.standard_normal((180, 1))
    mean = lambda share: float(share @ np.arange(1, 6))  # noqa: E731
    assert mean(posterior(near[::12])) < mean(posterior(near))
