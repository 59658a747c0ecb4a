"""How time is shared: expensive candidates that are behind wait, averages fit the time, and what is shipped was judged."""

import numpy as np
import pandas as pd
import pytest

from qed import study
from qed.linear_model import Ridge
from qed.model_selection._candidate import LATER, Candidate
from qed.study import _fit, _stage
from qed.study._clock import Clock
from qed.study._compare import compare
from qed.study._encode import encode
from qed.study._leaderboard import Comparison
from qed.study._source import read_table
from qed.study._stage import Rows, Stage
from qed.study._understand import understood


class Bench:
    """A table, a clock that only fits move, and a record of them."""

    def __init__(self, budget):
        self.time, self.log = 0.0, []
        self.clock = Clock(budget, lambda: self.time)
        rng = np.random.default_rng(0)
        frame = pd.DataFrame(rng.normal(size=(400, 3)), columns=["a", "b", "c"])
        frame["y"] = frame["a"] - frame["b"] + 0.3 * rng.normal(size=400)
        raw = read_table(frame)
        schema, rows, y = understood(raw, "y", None, {}, (), 0, "", "", self.clock)
        self.data = Rows(encode(rows, schema.columns), y, schema.columns, schema.target, 25)
        self.found = Comparison([], [], [])

    def candidate(self, family, seconds, alpha, **options):
        def make(n_rows, _):
            if n_rows > 200:  # not while warming up
                self.time += seconds
                self.log.append(family)
            return Ridge(alpha=alpha)

        return Candidate(family, options.pop("detail", ""), make, **options)

    def compare(self, *options):
        compare(self.data, np.arange(400), options, self.clock, reserve=1.0, seed=0, into=self.found)
        return {entry.title: entry for entry in self.found.latest}


@pytest.mark.parametrize(("budget", "folds"), [(200, 5), (40, 1)])
def test_what_is_expensive_and_behind_waits_until_the_others_are_done(budget, folds, monkeypatch):
    monkeypatch.setattr(_stage, "CLEARLY", 100.0)  # nothing is given up
    bench = Bench(budget)
    quick = bench.candidate("quick", 0.5, 1.0)
    slow = bench.candidate("slow", 8.0, 60.0)
    further = bench.candidate("quick", 0.5, 2.0, detail="further", priority=LATER)
    found = bench.compare(quick, slow, further)
    assert bench.log[:2] == ["quick", "slow"]
    assert "slow" not in bench.log[2:11]  # four more folds of the first, five of the third
    assert found["slow"].n_folds == folds  # it is not forgotten where its time does not come
    assert found["quick, further"].n_folds == 5


def test_an_average_leaves_out_what_the_time_does_not_allow():
    kept = {}
    for left in (200.0, 12.0):
        bench = Bench(1000)
        costs = {"quick": 0.5, "other": 0.5, "slow": 10.0}
        options = [bench.candidate(family, seconds, 1.0) for family, seconds in costs.items()]
        stage = Stage(bench.data, options, bench.clock, 1.0, bench.found, 400, 1000.0, 0)
        assert stage.judged()
        rng = np.random.default_rng(1)
        for one in options:  # errors of their own, so that each deserves a weight
            stage.said[one] = [said + 0.5 * rng.normal(size=len(said)) for said in stage.said[one]]
        bench.time = 1000.0 - left
        stage.blend()
        average = next(entry for entry in bench.found.entries if entry.candidate.parts)
        kept[left] = {part.family for part, _ in average.candidate.parts}
        assert average.seconds * 2.6 <= left
    assert "slow" in kept[200.0]
    assert kept[12.0] == {"quick", "other"}


def test_where_time_is_short_the_model_that_was_judged_is_shipped(monkeypatch):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=300)})
    frame["y"] = 2 * frame["a"] + rng.normal(size=300)
    rooms = iter([120, 100])  # rows that the two fits have time for
    monkeypatch.setattr(_fit._Work, "_affordable", lambda *_: next(rooms))
    found = study.fit(frame, "y", budget=5)
    assert found.schema.fit_record.rows_fitted == 120
    assert any("120 of 300 rows: the time allows no more" in note for note in found.schema.fit_record.notes)
    assert not any("judgement is about" in note for note in found.schema.fit_record.notes)


@pytest.mark.parametrize(("gain", "wins"), [(0.02, False), (0.6, True)])
def test_a_tuned_setting_wins_only_where_rows_say_so(gain, wins):
    bench = Bench(1000)
    tuned = bench.candidate("family", 0.5, 1.0, detail="tuned")
    plain = bench.candidate("family", 0.5, 1.0, refine=lambda: [tuned])
    stage = Stage(bench.data, [plain], bench.clock, 1.0, bench.found, 400, 1000.0, 0)
    assert stage.judged()
    own, rng = stage._fold, np.random.default_rng(0)

    def noisy(group, *args):  # the same model, but for noise and, in half of the rows, a gain
        done = own(group, *args)
        for one in group:
            truth = stage.y[stage.folds[len(stage.said[one]) - 1]]
            stage.said[one][-1] = truth + (1.0 - gain) * rng.normal(size=len(truth))
            stage._enter(one, None)
        return done

    stage.said[plain] = [stage.y[fold] + rng.normal(size=len(fold)) for fold in stage.folds]
    stage._enter(plain, None)
    stage._fold = noisy
    stage.refine()
    stage.settle()
    entry = next(one for one in bench.found.entries if one.title == "family, tuned")
    assert entry.candidate.is_tuned
    assert entry.is_by_chance is not wins
    assert bench.found.chosen().title == ("family, tuned" if wins else "family")
