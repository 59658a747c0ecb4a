"""The race: a judge that notices worse answers, a page that prints losses, and the harness run at a tiny size."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

import readme  # noqa: E402

from benchmarks import _expected, _judge, _memory, _record  # noqa: E402
from benchmarks._race import race  # noqa: E402
from benchmarks._tables import error  # noqa: E402
from benchmarks.adapters import package  # noqa: E402
from benchmarks.problems import PROBLEMS, chosen  # noqa: E402
from benchmarks.problems._problem import Data, Problem, no_surprise  # noqa: E402


def measure(seconds, excess=0.0):
    return _record.Measure(cold=2 * seconds, warm=seconds, extra_bytes=1_000_000, excess=excess)


def row(**measures):
    return _record.Row("r", "a row", "2026-01-01", "abc", 1.0, "Some CPU", measures)


def test_names_are_unique_and_only_filters():
    names = [problem.name for problem in PROBLEMS]
    assert len(set(names)) == len(names)
    assert {problem.name for problem in chosen("wide-r,small-ridge")} == {"wide-ridge", "small-ridge"}
    with pytest.raises(SystemExit, match="tall-ols"):
        chosen("no such row")


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
def test_data_are_seeded_and_travel(problem, tmp_path):
    first, again = problem.data(0.002), problem.data(0.002)
    np.testing.assert_array_equal(first.y, again.y)
    first.save(tmp_path)
    loaded = Data.load(tmp_path)
    assert loaded.X.shape == first.X.shape
    assert loaded.X.dtype == first.X.dtype
    if loaded.X.dtype.kind == "U":
        np.testing.assert_array_equal(loaded.X, first.X)
    else:
        difference = abs(loaded.X - first.X)
        assert np.nanmax(difference.toarray() if hasattr(difference, "toarray") else difference) == 0


def test_the_judge_prefers_the_optimum_and_sees_a_small_error():
    problem = chosen("tall-ridge")[0]
    data = problem.data(0.001)
    centred = data.X - data.X.mean(axis=0)
    w = np.linalg.solve(centred.T @ centred + np.eye(50), centred.T @ (data.y - data.y.mean()))
    b = data.y.mean() - data.X.mean(axis=0) @ w
    best = _judge.objective(problem, data, w, b)
    worse = {"us": best, "them": _judge.objective(problem, data, 1.01 * w, b)}
    assert _judge.excesses(worse, _judge.null_objective(data))["them"] > _judge.TOLERANCE


def test_the_judge_chooses_the_strength_by_true_leave_one_out():
    rng = np.random.default_rng(0)
    data = Data(rng.standard_normal((30, 5)), rng.standard_normal(30))
    alphas = [0.1, 10.0, 1000.0]
    errors = []
    for alpha in alphas:
        total = 0.0
        for left in range(30):
            kept = np.arange(30) != left
            X, y = data.X[kept], data.y[kept]
            mean = X.mean(axis=0)
            w = np.linalg.solve((X - mean).T @ (X - mean) + alpha * np.eye(5), (X - mean).T @ (y - y.mean()))
            total += (data.y[left] - y.mean() - (data.X[left] - mean) @ w) ** 2
        errors.append(total)
    assert _judge.best_strength(data.X, data.y[:, None], alphas) == alphas[int(np.argmin(errors))]


def test_losses_are_printed_as_plainly_as_wins():
    lost = _record.summary([row(ours=measure(0.2), scikit_learn=measure(0.1))])[-1]
    won = _record.summary([row(ours=measure(0.1), scikit_learn=measure(0.2))])[-1]
    assert "**0.50× slower**" in lost
    assert "2.0×" in won
    assert "slower" not in won


def test_a_fast_wrong_answer_is_no_peer():
    rival = row(ours=measure(0.2), scikit_learn=measure(0.3), intelex=measure(0.01, excess=1e-3))
    assert _record.best_peer(rival).seconds == 0.3
    assert "objective worse by 1e-03" in "\n".join(_record.details([rival]))
    ours = row(ours=measure(0.1, excess=1e-3), scikit_learn=measure(0.2))
    assert "worse answer" in _record.summary([ours])[-1]
    page = _record.render({"machines": {}, "versions": {}, "rows": {"r": _record.asdict(ours)}})
    assert "1 rows, of which qed loses 1" in page


def test_rows_survive_a_second_run(tmp_path, monkeypatch):
    monkeypatch.setattr(_record, "STORE", tmp_path / "results.json")
    monkeypatch.setattr(_record, "PAGE", tmp_path / "RESULTS.md")
    cpu, host = _record.machine(2)
    stored = _record.load() | {"machines": {cpu: host}, "versions": {"qed": "0.1.0"}}
    _record.save(stored, [row(ours=measure(0.1), scikit_learn=measure(0.2))])
    again = _record.load()
    assert _record.rows_of(again)[0].measures["ours"] == measure(0.1)
    assert "1 rows, of which qed loses 0" in (tmp_path / "RESULTS.md").read_text(encoding="utf-8")


def test_rows_of_two_machines_name_theirs():
    hosts = {cpu: {"threads": 2, "system": "Linux", "python": "3.11"} for cpu in ("One CPU", "Some CPU", "Unused CPU")}
    mine = row(ours=measure(0.1))
    other = replace(mine, name="s", cpu="One CPU")
    page = _record.render(
        {"machines": hosts, "versions": {}, "rows": {r.name: _record.asdict(r) for r in (mine, other)}}
    )
    assert "1 rows on One CPU, 2 threads, Linux, Python 3.11; 1 rows on Some CPU" in page
    assert "Unused" not in page
    assert _record.details([other])[-1].endswith("2026-01-01, abc, One CPU |")


def test_what_the_scale_script_printed_is_shown():
    stored = {"machines": {}, "versions": {}, "rows": {}}
    rows = {"r": _record.asdict(row(ours=measure(0.1)))}
    page = _record.render(stored | {"rows": rows, "larger_than_memory": {"stamp": "today", "text": "20 GB in 9 s\n"}})
    assert "## Larger than memory" in page
    assert "20 GB in 9 s" in page


def test_the_pages_show_what_was_measured():
    assert _record.PAGE.read_text(encoding="utf-8") == _record.render(_record.load())
    text = readme.README.read_text(encoding="utf-8")
    assert readme.filled(text) == text, "run: python tools/readme.py"


def test_memory_sees_a_large_array():
    if not _memory.reset_peak():
        pytest.skip("this kernel does not let a process reset its peak")
    # in a process of its own: the kernel may take idle pages of this one away meanwhile
    code = (
        "import numpy as np; from benchmarks import _memory; _memory.reset_peak(); before = _memory.resident();"
        " block = np.ones(5_000_000); assert _memory.peak() - before > 0.9 * block.nbytes"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=_record.PAGE.parents[1])  # noqa: S603  (our own code)


@pytest.mark.parametrize("name", ["score-auc-f32", "score-kappa", "score-r2", "score-accuracy"])
def test_scores_race_and_are_judged_by_their_definition(name):
    measures = race(
        chosen(name)[0], {"ours": sys.executable, "scikit_learn": sys.executable}, colds=1, warms=1, scale=1e-4
    )
    assert set(measures) == {"ours", "scikit_learn"}
    assert all(measured.excess < _judge.TOLERANCE for measured in measures.values())
    problem = chosen(name)[0]
    assert _judge.score_error(problem, problem.data(1e-4), 7.0) > 1


def test_a_tiny_race():
    measures = race(
        chosen("tall-ols-f32")[0],
        {"ours": sys.executable, "numpy_lstsq": sys.executable},
        colds=1,
        warms=2,
        scale=0.001,
    )
    assert set(measures) == {"ours", "numpy_lstsq"}
    for measured in measures.values():
        assert measured.warm > 0
        assert measured.cold > 0
        assert measured.excess < _judge.TOLERANCE


def test_what_is_expected_is_worked_out_once_for_each_table(tmp_path, monkeypatch):
    monkeypatch.setattr(_expected, "KEPT", tmp_path)
    asked = []

    def mean(data, params):
        asked.append(params["power"])
        return [np.mean(data.X ** params["power"])]

    def problem(power):
        return Problem(
            "r", "a row", (8, 2), lambda rng, n, p: None, "mean", {"power": power}, "workflow", expected=mean
        )

    one, other = Data(np.ones((8, 2)), np.zeros(8)), Data(np.full((8, 2), 3.0), np.zeros(8))
    assert [_expected.expected(problem(2), data)[0] for data in (one, other, one, other)] == [1, 9, 1, 9]
    assert _expected.expected(problem(3), other)[0] == 27
    assert asked == [2, 2, 3]


def test_rivals_race_in_rows_that_know_them():
    linked, numbers = chosen("hdbscan-small")[0], chosen("tsne-small")[0]
    assert [package(rival, linked) for rival in ("ours", "scikit_learn", "hdbscan", "lightgbm", "intelex")] == [
        "qed", "sklearn", "hdbscan", None, None,
    ]  # fmt: skip
    assert package("intelex", numbers) == "sklearnex"


def test_a_row_by_chance_is_judged_by_other_seeds_of_its_reference(tmp_path, monkeypatch):
    monkeypatch.setattr(_expected, "KEPT", tmp_path)
    pythons = {"ours": sys.executable, "scikit_learn": sys.executable}
    problem = chosen("mini-batch-small")[0]
    measures = race(problem, pythons, colds=1, warms=1, scale=0.3)
    assert all(measured.excess == 0 for measured in measures.values())
    want = np.load(next(tmp_path.glob("mini-batch-small-*.npy")))
    assert error(problem, want, 1.01 * want) > 0
    assert no_surprise([1.0, 2.0, 3.0])[0] > 3
