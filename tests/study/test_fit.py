"""From a table to a model: the whole way on real and drawn tables, within a budget, interrupted, saved, checked."""

import time

import numpy as np
import pandas as pd
import pytest

import qed
from qed import study
from qed.cli._demo import _tamper
from qed.core import CertificateError, InvalidData, InvalidParameter, ModelFileError
from qed.datasets import load_penguins
from qed.linear_model import Ridge
from qed.study import _compare, _fit, _model, _stage
from qed.study._clock import Clock, seconds_of
from qed.study._recipes import candidates


def penguins(n=333):
    loaded = load_penguins()
    X, y = loaded.data[:n], loaded.target[:n]
    return pd.DataFrame(
        {
            "row": np.arange(len(y)) + 100,
            "bill (mm)": X[:, 0],
            "flipper_length_mm": np.where(np.arange(len(y)) % 20 == 3, np.nan, X[:, 2]),
            "sex": np.where(X[:, 3] > 0, "male", "female"),
            "species": np.where(X[:, 4] > 0, "Chinstrap", np.where(X[:, 5] > 0, "Gentoo", "Adelie")),
            "planet": "Earth",
            "mass": np.where(np.arange(len(y)) == 7, np.nan, y),
        }
    )


@pytest.fixture(scope="module")
def weighed():
    return study.fit(penguins(), "mass", budget=20)


def test_regression_on_penguins(weighed):
    schema = weighed.schema
    assert schema.target.task == "regression"
    kinds = {one.name: one.kind for one in schema.columns}
    assert kinds["row"] == "identifier"
    assert kinds["planet"] == "constant"
    assert kinds["species"] == "category"
    assert schema.fit_record.rows_used == schema.fit_record.rows_fitted == 332
    assert "1 row without 'mass' left out." in schema.fit_record.notes
    assert weighed.held_out.scores["R²"].value > 0.7
    assert weighed.held_out.scores["mean absolute error"].upper < weighed.held_out.baseline["mean absolute error"].lower
    assert weighed.held_out.importances[0].name in ("species", "flipper_length_mm", "sex")
    assert weighed.checked.is_accepted
    assert weighed.winner == weighed.comparison.chosen()
    assert not weighed.winner.behind > weighed.winner.behind_error  # an average of models has to gain more than that


def test_the_model_predicts_rows_in_any_order_and_dress(weighed):
    frame = penguins()
    straight = weighed.model.predict(frame)
    assert np.corrcoef(straight, frame["mass"].fillna(4000))[0, 1] > 0.85
    shuffled = frame[frame.columns[::-1]].drop(columns=["row", "mass"])
    np.testing.assert_allclose(weighed.model.predict(shuffled), straight)
    assert weighed.model.notices == []
    odd = frame.head(3).assign(species=["Emperor", "Adelie", None])
    odd["bill (mm)"] = ["40", "x", "41"]
    assert np.isfinite(weighed.model.predict(odd.drop(columns="sex"))).all()
    words = " ".join(weighed.model.notices)
    assert "'Emperor' (row 1) is unknown" in words
    assert "'x' (row 2) is no number" in words
    assert "Column 'sex' is not there" in words
    with pytest.raises(InvalidData, match="None of the 4 columns"):
        weighed.model.predict({"other": [1, 2]})


def test_saved_loaded_verified_and_tampered_with(weighed, tmp_path):
    path = tmp_path / "model.qed"
    weighed.model.save(path)
    model = study.load(path)
    frame = penguins()
    np.testing.assert_array_equal(model.predict(frame), weighed.model.predict(frame))
    assert model.schema == weighed.schema
    assert model.verify(frame).holds
    assert model.verify(frame.sample(frac=1, random_state=0)).holds  # the order of rows does not matter
    with pytest.raises(CertificateError):
        model.verify(frame.head(300))
    with pytest.raises(CertificateError):
        model.verify(frame.assign(mass=frame["mass"] * 1.001))
    _tamper(model.pipeline.steps_[-1][1])  # of an average, its first member
    model.save(tmp_path / "tampered.qed")
    with pytest.raises(CertificateError):
        study.load(tmp_path / "tampered.qed").verify(frame)
    with pytest.raises(InvalidData, match="no classes"):
        model.predict_proba(frame)
    Ridge().fit([[1.0], [2.0]], [1.0, 2.0]).save(tmp_path / "ridge.qed")
    with pytest.raises(ModelFileError, match="nothing about a table"):
        study.load(tmp_path / "ridge.qed")


def test_mutated_model_files_never_crash(weighed, tmp_path):
    path = tmp_path / "model.qed"
    weighed.model.save(path)
    content = path.read_bytes()
    rng = np.random.default_rng(1)
    frame = penguins(40)
    loaded = 0
    for _ in range(150):
        changed = bytearray(content)
        for at in rng.integers(0, min(len(content), 12_000), rng.integers(1, 4)):
            changed[at] = rng.integers(256)
        path.write_bytes(bytes(changed))
        try:
            study.load(path).predict(frame)
            loaded += 1
        except qed.QedError:
            pass
    assert loaded < 150


@pytest.mark.parametrize(("target", "task", "least"), [("sex", "binary", 0.8), ("species", "multiclass", 0.9)])
def test_classes(target, task, least, tmp_path):
    frame = penguins()
    found = study.fit(frame.drop(columns="row"), target, budget=20)
    assert found.schema.target.task == task
    assert found.held_out.scores["accuracy"].value > least
    assert found.checked.is_accepted
    shares = found.model.predict_proba(frame)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert (found.model.predict(frame) == found.model.classes_[shares.argmax(axis=1)]).all()
    found.model.save(tmp_path / "m.qed")
    assert study.load(tmp_path / "m.qed").verify(frame).holds


def test_counts_dates_texts_codes_and_gaps_in_one_table():
    rng = np.random.default_rng(3)
    n = 300
    when = np.datetime64("2023-01-01") + rng.integers(0, 700, n)
    texts = np.array(
        [
            "please refund this at once my friends",
            "many thanks for all of the good work",
            "where is my parcel now I ask you",
        ]
    )
    said = rng.integers(0, 3, n)
    rate = np.exp(0.3 + 0.8 * (said == 0) + 0.002 * (when - np.datetime64("2023-01-01")).astype(int))
    frame = pd.DataFrame(
        {
            "when": when,
            "letter": [f"{texts[at]} {i}" for i, at in enumerate(said)],
            "zip": [f"0{rng.integers(9)}00" for _ in range(n)],
            "spent": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            "calls": rng.poisson(rate),
        }
    )
    found = study.fit(frame, "calls", budget=20)
    assert {one.name: one.kind for one in found.schema.columns} == {
        "when": "date",
        "letter": "text",
        "zip": "code",
        "spent": "number",
    }
    assert found.schema.target.counts
    assert any("Poisson" in entry.title for entry in found.comparison.entries)
    assert found.held_out.scores["R²"].value > 0.1
    assert found.checked.is_accepted
    assert np.isfinite(found.model.predict(frame.assign(letter=None, when=pd.NaT))).all()


def test_a_copy_of_the_target_is_left_out_with_words():
    frame = penguins().assign(kilograms=lambda t: t["mass"])
    found = study.fit(frame, "mass", budget=10, drop=["species"])
    kinds = {one.name: one.kind for one in found.schema.columns}
    assert kinds["kilograms"] == "copy"
    assert kinds["species"] == "dropped"
    assert any("'kilograms' says the same as the target" in note for note in found.schema.fit_record.notes)


def test_what_says_nothing_is_said_to():
    rng = np.random.default_rng(0)
    found = study.fit({"a": rng.normal(size=60), "b": rng.normal(size=60), "y": rng.normal(size=60)}, "y", budget=10)
    assert found.held_out.scores["R²"].lower < 0.1


def test_the_same_seed_gives_the_same_model(weighed):
    again = study.fit(penguins(), "mass", budget=20)
    assert again.schema.fit_record.candidate == weighed.schema.fit_record.candidate
    np.testing.assert_array_equal(again.model.predict(penguins()), weighed.model.predict(penguins()))


def large(n=60_000):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 8))
    return {
        **{f"x{j}": X[:, j] for j in range(8)},
        "y": X[:, 0] - 2 * X[:, 1] + np.sin(2 * X[:, 2]) + rng.normal(size=n),
    }


def test_a_budget_is_kept_and_a_subsample_is_said():
    begin = time.process_time()
    found = study.fit(large(), "y", clock=Clock(4, time.process_time))
    assert time.process_time() - begin < 4 + 2
    assert found.comparison.entries
    if found.comparison.n_rows < 48_000:
        assert any("rows" in note for note in found.schema.fit_record.notes)
    assert found.held_out.scores["R²"].value > 0.7


def test_ctrl_c_leaves_the_best_model_so_far():
    steps = 0

    def interrupt(event):
        nonlocal steps
        if event.source == "comparing" and event.kind == "step":
            steps += 1
            if steps == 3:
                raise KeyboardInterrupt

    with qed.listen(interrupt):
        found = study.fit(penguins(), "mass", budget=30)
    assert found.is_interrupted
    assert found.schema.fit_record.candidate in {entry.title for entry in found.comparison.entries}
    assert np.isfinite(found.model.predict(penguins())).all()
    assert found.model.verify(penguins()).holds


def test_tables_that_exceed_memory_are_fitted_in_part(monkeypatch):
    monkeypatch.setattr(_compare, "MEMORY", 8 * 9_000 * 30)
    found = study.fit(large(30_000), "y", budget=10)
    assert found.schema.fit_record.rows_fitted < 30_000
    assert any("memory allows no more" in note or "time allows" in note for note in found.schema.fit_record.notes)
    assert found.model.verify(large(30_000)).holds


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"target": "mas"}, InvalidParameter, "Did you mean 'mass'"),
        ({"drop": ["colour"]}, InvalidParameter, "no column 'colour'"),
        ({"types": {"mass": "number"}}, InvalidParameter, "is the target"),
        ({"budget": "soon"}, InvalidParameter, "60s, 5m or 1h"),
        ({"budget": 0.1}, InvalidParameter, "between one second"),
        ({"seed": -1}, InvalidParameter, "seed"),
        ({"task": "clustering"}, InvalidParameter, "the task is one of"),
        ({"table": penguins(12)}, InvalidData, "at least 20"),
        ({"drop": ["bill (mm)", "flipper_length_mm", "sex", "species"]}, InvalidData, "No column is left"),
    ],
)
def test_mistakes_get_a_sentence(change, error, words):
    options = {"table": penguins(60), "target": "mass", "budget": 5, **change}
    with pytest.raises(error, match=words):
        study.fit(options.pop("table"), options.pop("target"), **options)


def test_budgets_are_read():
    assert [seconds_of(one) for one in (3, "90", "90s", "1.5m", "2 h")] == [3, 90, 90, 90, 7200]


def test_every_candidate_is_certified_and_verified(weighed):
    columns, target = weighed.schema.columns, weighed.schema.target
    titles = [one.title for one in candidates(target, columns)]
    assert len(titles) == len(set(titles))
    tried = {entry.title for entry in weighed.comparison.entries if not entry.candidate.parts}
    assert tried == set(titles)
    assert weighed.model.certificate_.reached


def test_two_models_are_compared_row_by_row(weighed):
    frame = penguins()
    poor = study.fit(frame[["bill (mm)", "mass"]], "mass", budget=10)
    found = study.versus(weighed.model, poor.model, frame)
    assert found.better == 1
    assert found.upper < 0
    assert found.difference == pytest.approx(found.first - found.second)
    assert study.versus(poor.model, weighed.model, frame).better == 2
    assert study.versus(poor.model, poor.model, frame).better == 0
    sexed = study.fit(frame, "sex", budget=10)
    with pytest.raises(InvalidData, match="nothing to compare"):
        study.versus(weighed.model, sexed.model, frame)


def test_held_out_rows_come_from_every_class():
    from qed.study._raw import RawColumn  # noqa: PLC0415
    from qed.study._task import describe_target  # noqa: PLC0415

    y = np.array([0.0] * 500 + [1.0] * 4)
    held = _fit._held(y, describe_target(RawColumn("y", "number", y)))
    assert held[y == 1].sum() == 1
    assert held[y == 0].sum() == 100


def test_a_copy_that_the_user_wants_is_used_with_a_warning():
    frame = penguins().assign(kilograms=lambda t: t["mass"])
    found = study.fit(frame, "mass", budget=10, types={"kilograms": "number"})
    assert {one.name: one.kind for one in found.schema.columns}["kilograms"] == "number"
    assert any("is used because you said so" in note for note in found.schema.fit_record.notes)
    assert found.held_out.scores["R²"].value > 0.999


@pytest.mark.parametrize("is_class", [False, True])
def test_where_nothing_can_be_learnt_the_constant_wins(is_class, tmp_path):
    rng = np.random.default_rng(0)
    n = 200
    y = np.where(rng.random(n) < 0.3, "yes", "no") if is_class else rng.normal(size=n)
    frame = pd.DataFrame({"a": rng.normal(size=n), "b": rng.choice(list("uvw"), n), "y": y})
    found = study.fit(frame, "y", budget=5)
    assert found.winner.candidate.is_constant
    assert found.schema.fit_record.candidate == ("majority class" if is_class else "always the mean")
    assert any("The model is that constant" in note for note in found.schema.fit_record.notes)
    assert found.checked.is_accepted
    found.model.save(tmp_path / "m.qed")
    model = qed.load(tmp_path / "m.qed")
    assert len(set(model.predict(frame))) == 1
    if is_class:
        np.testing.assert_allclose(model.predict_proba(frame)[0], [np.mean(y == "no"), np.mean(y == "yes")])
    else:
        np.testing.assert_allclose(model.predict(frame), y.mean())
    assert found.schema.fit_record.candidate in qed.report.study_report(found).html()


def test_what_lies_outside_the_fit_is_counted(weighed):
    new = penguins().head(4).copy()
    new["bill (mm)"] = [40, 900, 41, -5]
    new["species"] = ["Adelie", "Emperor", "Adelie", "Adelie"]
    weighed.model.predict(new)
    assert weighed.model.strange == {1: ["bill (mm)", "species"], 3: ["bill (mm)"]}
    words = " ".join(weighed.model.notices)
    assert "2 entries lie far outside 32.1 to 59.6, the range of the fit, such as 900 in row 2" in words
    assert "2 of 4 rows hold something that the fit has not seen" in words
    weighed.model.predict(new.rename(columns={"bill (mm)": "Bill_mm"}))
    assert "Did you mean 'Bill_mm'? Then rename it to 'bill (mm)'" in " ".join(weighed.model.notices)


@pytest.mark.parametrize("moment", ["_judged", "_fitted", "_checked"])
def test_ctrl_c_after_the_comparison_leaves_a_model_too(moment, monkeypatch):
    inner = getattr(_fit._Work, moment)
    calls = []

    def pressed(self, *rest):
        calls.append(moment)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return inner(self, *rest)

    monkeypatch.setattr(_fit._Work, moment, pressed)
    found = study.fit(penguins(), "mass", budget=5)
    assert found.is_interrupted
    assert found.model.verify(penguins()).holds


def test_candidates_are_ranked_by_the_folds_that_all_have_met(monkeypatch):
    inner = _stage.Stage._fold
    calls = []

    def late(self, group, *rest):
        calls.append(group)
        if len(calls) == 4:  # those with curves have met one fold, those without two
            return False
        return inner(self, group, *rest)

    monkeypatch.setattr(_stage.Stage, "_fold", late)
    found = study.fit(penguins(), "mass", budget=5)
    assert {entry.n_folds for entry in found.comparison.latest} == {1}
    assert found.winner.loss == min(entry.loss for entry in found.comparison.latest)


def test_a_rare_class_is_ranked_and_said():
    rng = np.random.default_rng(3)
    n = 1500
    a = rng.normal(size=n)
    frame = pd.DataFrame(
        {"a": a, "b": rng.normal(size=n), "hit": np.where(a + 0.5 * rng.normal(size=n) > 2.2, "not ok", "ok")}
    )
    found = study.fit(frame, "hit", budget=5)
    assert found.schema.target.labels.tolist() == ["not ok", "ok"]  # what denies comes first
    assert found.held_out.scores["found in the top tenth"].value > 0.5
    assert any("accuracy says little" in note for note in found.schema.fit_record.notes)
    page = qed.report.study_report(found).html()
    assert "in the tenth with the highest probability" in page


def test_many_rows_are_predicted_block_by_block(weighed, monkeypatch):
    whole = weighed.model.predict(penguins())
    monkeypatch.setattr(_model, "BLOCK_ROWS", 50)
    np.testing.assert_allclose(weighed.model.predict(penguins()), whole, rtol=1e-12)
