"""What is tried and chosen: every declared candidate is certified, averages are optimal, and the rule of choice is kept."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from qed import study, verify
from qed.core import InvalidData, InvalidParameter, ModelFileError
from qed.datasets import load_penguins
from qed.ensemble._candidates import candidates as offered_by_trees
from qed.linear_model._candidates import candidates as offered_by_lines
from qed.metrics import Score
from qed.model_selection._candidate import Candidate, TableTask, declared_candidates
from qed.study import _blend, _recipes
from qed.study._encode import encode
from qed.study._judge import HeldOut, Importance
from qed.study._leaderboard import Comparison, Entry, gain_by_chance
from qed.study._model import shuffled
from qed.study._remarks import of_leaks
from qed.study._source import read_table
from qed.study._task import encode_target


def prices(n=240, seed=0):
    """Prices that grow by factors, with names of many sellers, numbers of streets, and gaps."""
    rng = np.random.default_rng(seed)
    seller, street = rng.integers(0, 40, n), rng.integers(1000, 1050, n)
    size = rng.uniform(1, 5, n)
    worth = rng.normal(size=40)[seller] * 0.5 + rng.normal(size=50)[street - 1000] * 0.3
    price = np.exp(1.5 * np.log(size) + worth + 0.1 * rng.normal(size=n))
    size[::9] = np.nan
    names = np.array([f"seller {at}" for at in range(40)])
    return pd.DataFrame({"seller": names[seller], "street": street, "size": size, "price": price})


@pytest.fixture(scope="module")
def priced():
    return study.fit(prices(900), "price", budget=20)


@pytest.mark.parametrize("target", ["price", "kind", "wide"])
def test_every_declared_candidate_is_certified(target, monkeypatch):
    monkeypatch.setattr(_recipes, "declared_candidates", declared_candidates)
    frame = prices(120)
    frame["kind"] = np.where(frame["price"] > frame["price"].median(), "dear", "cheap")
    frame["wide"] = pd.cut(frame["price"], 3, labels=["a", "b", "c"]).astype(str)
    frame.loc[:5, "wide"] = ["a", "a", "b", "b", "c", "c"]
    frame = frame[["seller", "street", "size", target]]
    schema = study.fit(frame, target, budget=1).schema
    raw = read_table(frame)
    X = encode(raw, schema.columns)
    y = encode_target(raw.column(target), schema.target)[0]
    titles = []
    for one in _recipes.candidates(schema.target, schema.columns):
        model = _recipes.pipeline(one, schema.columns, schema.target, y, 25)
        if one.is_of_trees:  # as many rounds as a test needs
            inner = model.steps[-1][1]
            inner = getattr(inner, "regressor", inner)
            inner.set_params(**{"max_iter" if hasattr(inner, "max_iter") else "n_estimators": 3})
        assert verify(model.fit(X, y), X, y).holds, one.title
        titles.append(one.title)
    assert len(set(titles)) == len(titles)
    assert any("boosting" in title for title in titles)
    assert any("logarithm" in title for title in titles) == (target == "price")


def test_many_names_and_whole_numbers_tell_their_mean_target(priced):
    told = {one.name for one in priced.schema.columns if one.repeats}
    assert told == {"seller", "street"}
    assert priced.held_out.scores["R²"].lower > 0.4  # the size alone, whose gaps hide a ninth, tells 0.3
    assert priced.checked.is_accepted


def test_predictions_stay_in_the_possible_range(priced):
    low, high = priced.schema.target.possible
    assert low == 0
    new = prices(50, seed=1)
    new["size"] = [1e6, -1e6] * 25
    assert ((priced.model.predict(new) >= 0) & (priced.model.predict(new) <= high)).all()


def test_splines_stay_level_beyond_the_range_of_the_fit():
    columns = study.fit(prices(), "price", budget=1).schema
    prepare = _recipes.preparation(columns.columns, columns.target, form="splines", most=25)
    frame = prices()
    X = encode(read_table(frame), columns.columns)
    prepare.fit(X, frame["price"].to_numpy())
    edge, far = X[:1].copy(), X[:1].copy()
    edge[0, 2], far[0, 2] = np.nanmax(X[:, 2]), 1e9
    curves = {name: part for name, part, _ in prepare.transformers_}["curves"]
    at = next(places for name, _, places in prepare.transformers_ if name == "curves")
    np.testing.assert_allclose(curves.transform(edge[:, at])[:, -6:], curves.transform(far[:, at])[:, -6:])


def test_the_model_does_not_depend_on_the_order_of_rows(priced, tmp_path):
    frame = prices(900)
    assert priced.model.verify(frame).holds
    assert priced.model.verify(frame.sample(frac=1, random_state=1)).holds
    X = np.array([[1.0, np.nan], [0.0, 2.0], [-0.0, 3.0]])
    y = np.array([1.0, 2.0, 3.0])
    back = [2, 0, 1]
    order, other = shuffled(X, y, 5), shuffled(X[back], y[back], 5)
    np.testing.assert_array_equal(X[order], X[back][other])


def test_weights_of_squares_are_the_best_on_the_simplex():
    rng = np.random.default_rng(0)
    y = rng.normal(size=300)
    answers = y[:, None] + rng.normal(size=(300, 4)) * [0.5, 1.0, 2.0, 0.7] + [0.1, -0.3, 0, 0.2]
    weights = _blend.squares_weights(answers, y)
    assert weights.sum() == pytest.approx(1)
    assert (weights >= 0).all()
    errors = answers - y[:, None]
    slope = errors.T @ (errors @ weights)
    np.testing.assert_array_less(slope[weights > 0], slope.min() * (1 + 1e-6) + 1e-9)  # equal where there is weight


def test_weights_of_a_mixture_are_the_best_on_the_simplex():
    rng = np.random.default_rng(1)
    shares = rng.beta([5, 2, 4], [2, 2, 2], size=(500, 3))
    weights = _blend.mixture_weights(shares)
    slope = (shares / (shares @ weights)[:, None]).mean(
        axis=0
    )  # at the optimum one where there is weight, less elsewhere
    assert weights.sum() == pytest.approx(1)
    assert (slope <= 1 + 1e-3).all()
    np.testing.assert_allclose(slope[weights > 0.01], 1, atol=1e-2)


def test_many_members_that_are_alike_leave_a_few():
    rng = np.random.default_rng(3)
    shares = np.tile(rng.beta(4, 2, size=(300, 1)), 40)
    weights = _blend.weights_of(shares, np.zeros(300), is_number=False)
    assert weights.sum() == pytest.approx(1)
    assert 1 <= np.count_nonzero(weights) <= _blend.MOST_MEMBERS


def test_an_average_is_judged_by_weights_of_other_folds():
    rng = np.random.default_rng(2)
    y = rng.normal(size=60)
    answers = rng.normal(size=(60, 30))  # nothing but noise: weights of the same rows would flatter
    folds = np.array_split(np.arange(60), 5)
    honest = _blend.honest_losses(answers, y, folds, 1e-15, is_number=True).mean()
    flattered = np.mean((answers @ _blend.weights_of(answers, y, is_number=True) - y) ** 2)
    assert honest > 1.2 * flattered


def _entry(title, loss, behind, error, preparation="linear", parts=()):
    candidate = Candidate(title, "", lambda *_: None, preparation, parts=parts)
    return Entry(title, candidate, loss, 0.1, 100, 5, 1.0, 1.0, 0.1, behind, error)


def test_the_rule_of_one_standard_error():
    line = _entry("line", 1.05, 0.05, 0.06)
    trees = _entry("trees", 1.01, 0.01, 0.02, "trees")
    average = _entry("average", 1.0, 0.0, 0.0, "trees", ((trees.candidate, 0.5), (line.candidate, 0.5)))
    found = Comparison([line, trees, average], [], [])
    assert found.chosen() is trees  # the average gains less than one standard error
    assert found.chosen("best") is average
    assert found.chosen("simple") is line
    clear = Comparison([line, _entry("trees", 1.01, 0.01, 0.002, "trees"), average], [], [])
    assert clear.chosen() is average
    with pytest.raises(InvalidParameter, match="prefer"):
        study.fit(prices(), "price", prefer="clever")


def test_a_tuned_setting_that_gains_by_chance_does_not_win():
    line, untuned = _entry("line", 1.02, 0.02, 0.01), _entry("trees", 1.01, 0.01, 0.01, "trees")
    lucky = replace(_entry("tuned", 1.0, 0.0, 0.0, "trees"), is_by_chance=True)
    found = Comparison([line, untuned, lucky], [], [])
    assert found.best is found.chosen() is untuned
    assert found.chosen("best") is lucky
    assert Comparison([lucky], [], []).chosen() is lucky  # it is all there is


def test_what_is_listed_holds_the_winner_and_the_best_of_every_family():
    settings = [_entry("lasso", 1 + at / 100, at / 100, 0.1) for at in range(12)]
    settings = [replace(one, title=f"lasso, strength {at}", is_by_chance=at < 3) for at, one in enumerate(settings)]
    ridge, forest = _entry("ridge", 1.05, 0.05, 0.1), _entry("forest", 1.9, 0.9, 0.1, "trees")
    found = Comparison([*settings, ridge, forest], [], [])
    listed = found.listed(ridge, 4)
    assert [one.title for one in listed] == ["lasso, strength 0", "lasso, strength 3", "ridge", "forest"]
    assert forest not in found.latest[:8]  # a list of the first alone would hold nothing but settings of the lasso
    early = replace(forest, n_folds=2)
    assert Comparison([ridge, early], [], []).rows_judged(early) == 40
    assert found.rows_judged(forest) == 100
    assert [one.title for one in found.listed(settings[1], 3)] == ["lasso, strength 1", "ridge", "forest"]


@pytest.mark.parametrize("count", [1, 3, 10, 40])
def test_the_best_of_many_settings_seldom_gains_so_much_by_chance(count):
    gains = np.random.default_rng(0).normal(size=(20_000, count)).max(axis=1)  # of settings that are no better
    taken = float(np.mean(gains > gain_by_chance(count)))
    assert 0.05 < taken < 0.2  # about one in eight, however many were tried; without the condition 1 - 2**-count
    assert np.mean(gains > 0) == pytest.approx(1 - 0.5**count, abs=0.02)


def test_penguins_prefer_what_is_simple_when_asked():
    loaded = load_penguins()
    frame = pd.DataFrame(loaded.data[:, :3], columns=["a", "b", "c"]).assign(mass=loaded.target)
    found = study.fit(frame, "mass", budget=10, prefer="simple")
    assert found.winner.candidate.preparation in ("linear", "splines", "interactions")


def test_classes_told_apart_by_one_column_are_questioned_whatever_their_probabilities():
    def held(accuracy, area, *rises):
        told = {"accuracy": accuracy, "log loss": 0.1, "ROC area": area}  # a penalty keeps probabilities from 0 and 1
        columns = tuple(Importance(f"c{at}", rise, rise - 0.1, rise + 0.1) for at, rise in enumerate(rises))
        scores = {name: Score(value, value, value, 0.95, 99, "wilson") for name, value in told.items()}
        base = {
            name: Score(value, value, value, 0.95, 99, "wilson")
            for name, value in (("accuracy", 0.7), ("log loss", 0.6))
        }
        empty = np.zeros(0)
        return HeldOut(empty, empty, None, scores, base, columns, (), 0.0, None)

    assert "one column alone, 'c1'" in of_leaks(held(1.0, 1.0, 0.01, 0.5))[0]
    assert "one column alone, 'c0'" in of_leaks(held(0.9, 1.0, 0.2, 0.001))[0]
    assert of_leaks(held(1.0, 1.0, 0.2, 0.2)) == []  # easy, but not by one column
    assert of_leaks(held(0.9, 0.97, 0.5, 0.01)) == []


def test_a_nearly_perfect_score_is_questioned():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"a": rng.normal(size=300), "b": rng.normal(size=300)})
    frame["price"] = np.exp(rng.normal(size=300))
    frame["price_with_tax"] = 1.2 * frame["price"] + 0.001 * rng.normal(size=300)
    found = study.fit(frame, "price", budget=5)
    told = " ".join(found.schema.fit_record.notes)
    assert "one column alone, 'price_with_tax', nearly decides the target" in told
    assert "'price_with_tax' is called after the target" in told


def test_new_rows_that_differ_are_reported(priced):
    new = prices(400, seed=5)
    priced.model.predict(new)
    assert not any("shifted" in one for one in priced.model.notices)
    new["size"] = new["size"] / 10 + 1
    priced.model.predict(new)
    assert any("Column 'size' has shifted" in one and "below" in one for one in priced.model.notices)
    assert "study of 'price'" in repr(priced)
    html = priced._repr_html_()
    assert priced.winner.title in html
    assert "rows kept aside until the final fit" in html
    assert all(one.title in html for one in priced.comparison.latest[:3])


def test_more_than_fifty_classes():
    rng = np.random.default_rng(6)
    place = np.repeat(np.arange(60), 6)
    frame = pd.DataFrame({"x": place + 0.1 * rng.normal(size=360), "place": [f"p{at}" for at in place]})

    def few(task):
        return [one for one in declared_candidates(task) if one.title == "multinomial regression, strength 0.001"]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_recipes, "declared_candidates", few)
        found = study.fit(frame, "place", budget=5)
    assert found.winner.title.startswith("multinomial regression")
    assert len(found.schema.target.labels) == 60
    assert found.held_out.scores["accuracy"].value > 0.02


def test_effects_of_dates_have_dates():
    rng = np.random.default_rng(7)
    days = pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 700, 300), unit="D")
    trend = (days - days.min()).days.to_numpy()
    frame = pd.DataFrame(
        {"day": days.astype(str), "noise": rng.normal(size=300), "sold": 3.0 * trend + rng.normal(size=300)}
    )
    found = study.fit(frame, "sold", budget=5)
    effect = next(one for one in found.held_out.effects if one.name == "day")
    assert effect.part == "time"
    assert np.datetime64("2020-01-01") <= np.datetime64(int(effect.places[0]), "D") <= np.datetime64("2020-01-31")
    assert effect.answers[-1, 0] > effect.answers[0, 0] + 1000


def test_classes_that_are_numbers_come_back_as_numbers_and_are_checked():
    frame = pd.DataFrame({"a": np.arange(90.0) ** 1.5, "grade": np.repeat([1, 2, 3], 30)})
    found = study.fit(frame, "grade", budget=3)
    assert found.model.predict(frame).dtype == np.int64
    with pytest.raises(ModelFileError, match="no number"):
        replace(found.schema.target, labels=np.array(["a", "2", "3"], object)).check()


def texts(n=400, seed=0):
    """Reviews whose words tell what was thought, among words that tell nothing."""
    rng = np.random.default_rng(seed)
    liked = rng.random(n) < 0.5
    telling = np.where(liked, rng.choice(["lovely", "superb", "great"], n), rng.choice(["awful", "broken", "poor"], n))
    plain = rng.choice(
        [f"{a}{b}" for a in ("lamp", "chair", "door", "stone") for b in ("", "s", "like", "less")], (n, 6)
    )
    words = [" ".join(rng.permutation([one, *some])) for one, some in zip(telling, plain, strict=True)]
    return pd.DataFrame({"review": words, "stars": rng.integers(1, 9, n), "liked": np.where(liked, "yes", "no")})


def test_words_of_texts_are_weighed_by_how_rare_they_are():
    found = study.fit(texts(), "liked", budget=3)
    column = next(one for one in found.schema.columns if one.name == "review")
    assert column.kind == "text"
    assert {"lovely", "awful", "lamp"} <= set(column.words)
    assert found.held_out.scores["accuracy"].lower > 0.9
    prepare = _recipes.preparation(found.schema.columns, found.schema.target, form="linear", most=25)
    X = encode(read_table(texts(50, seed=1)), found.schema.columns)
    weighed = prepare.fit(X, np.arange(50) % 2).transformers_[-1]
    assert weighed[0] == "words"
    made = weighed[1].transform(X[:, weighed[2]])
    np.testing.assert_allclose(np.sqrt(made.multiply(made).sum(axis=1)), 1)
    told = found.model.predict({"review": ["a superb lamp and door, very lovely", None], "stars": [3, 4]})
    assert told[0] == "yes"


def test_trees_look_at_the_words_that_tell_most(monkeypatch):
    monkeypatch.setattr(_recipes, "MOST_TREE_WORDS", 6)
    found = study.fit(texts(), "liked", budget=1)
    X = encode(read_table(texts()), found.schema.columns)
    y = (texts()["liked"] == "yes").to_numpy(float)
    prepare = _recipes.preparation(found.schema.columns, found.schema.target, form="trees", most=25).fit(X, y)
    _, chooser, places = next(part for part in prepare.transformers_ if part[0] == "words")
    words = next(one for one in found.schema.columns if one.name == "review").words
    chosen = {words[places[at] - 2] for at in np.flatnonzero(chooser.get_support())}
    assert chosen == {"lovely", "superb", "great", "awful", "broken", "poor"}


def test_target_means_of_whole_numbers_are_candidates_of_their_own():
    """Means of quantities are noise beside the quantity itself; those of identifiers tell."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"amount": rng.integers(0, 60, 900), "word": rng.choice([f"w{i}" for i in range(60)], 900)})
    frame["y"] = frame["amount"] + rng.normal(size=900)
    found = study.fit(frame, "y", budget=1)
    columns, target = found.schema.columns, found.schema.target
    assert [one.repeats for one in columns] == [True, True]
    X, y = encode(read_table(frame), columns), frame["y"].to_numpy()
    for form, means in (("trees", 1), ("trees and means", 2)):
        prepare = _recipes.preparation(columns, target, form=form, most=25).fit(X, y)
        assert len(next(part for part in prepare.transformers_ if part[0] == "means")[2]) == means
    for has_identifiers in (False, True):
        task = TableTask("regression", False, 2, True, has_identifiers=has_identifiers)
        assert any(one.preparation == "trees and means" for one in offered_by_trees(task)) == has_identifiers


def test_products_of_the_strongest_columns_are_a_candidate():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(600, 3)), columns=["a", "b", "c"]).assign(
        side=rng.choice(["left", "right"], 600)
    )
    frame["y"] = frame["a"] * frame["b"] + frame["c"] * (frame["side"] == "left") + 0.1 * rng.normal(size=600)
    found = study.fit(frame, "y", budget=5)
    assert "interactions" in found.winner.title
    assert found.held_out.scores["R²"].lower > 0.9
    assert found.checked.is_accepted


@pytest.mark.parametrize("kind", ["regression", "binary", "multiclass"])
def test_one_column_has_no_products(kind):
    for has_products in (False, True):
        task = TableTask(kind, False, 3, True, is_positive=True, has_products=has_products)
        offered = {one.preparation for one in offered_by_lines(task)}
        assert "splines" in offered
        assert ("interactions" in offered) == has_products


def test_a_table_of_one_column_is_offered_none():
    x = np.random.default_rng(0).normal(size=40)
    schema = study.fit(pd.DataFrame({"x": x, "y": x**2}), "y", budget=1).schema
    offered = {one.preparation for one in _recipes.candidates(schema.target, schema.columns)}
    assert "splines" in offered
    assert "interactions" not in offered


def rare_cases(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    share = 1 / (1 + np.exp(4 - 2 * x[:, 0]))
    return pd.DataFrame(x, columns=["a", "b", "c"]).assign(case=np.where(rng.random(n) < share, "yes", "no"))


def test_rare_classes_get_weights_and_costs_a_threshold(tmp_path):
    frame = rare_cases()
    found = study.fit(frame, "case", budget=3, costs=(1.0, 9.0))
    titles = [one.title for one in found.comparison.entries]
    assert any(one.startswith("calibrated class-weighted logistic regression") for one in titles)
    assert found.schema.target.threshold == pytest.approx(0.1)
    shares = found.model.predict_proba(frame)[:, 1]
    np.testing.assert_array_equal(found.model.predict(frame) == "yes", shares >= 0.1)
    np.testing.assert_array_equal(found.held_out.predicted == 1, found.held_out.shares[:, 1] >= 0.1)
    truth, called = found.held_out.actual == 1, found.held_out.predicted == 1
    cost = np.mean(1.0 * (called & ~truth) + 9.0 * (truth & ~called))
    assert found.held_out.scores["cost a row"].value == pytest.approx(cost)
    assert found.held_out.baseline["cost a row"].value == pytest.approx(min(np.mean(~truth), 9.0 * np.mean(truth)))
    assert found.schema.fit_record.scores["cost a row"] == pytest.approx(cost)
    found.model.save(tmp_path / "model.qed")
    assert study.load(tmp_path / "model.qed").schema.target.threshold == pytest.approx(0.1)
    # no class is rare: weights are not tried
    even = _recipes.candidates(found.schema.target, found.schema.columns, np.arange(100) % 2)
    assert not any("class-weighted" in one.title for one in even)
    with pytest.raises(InvalidParameter, match="Costs must be"):
        study.fit(frame, "case", costs=(0.0, 0.0))


def test_the_best_is_varied_until_that_gains_nothing():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(400, 4)), columns=list("abcd"))
    frame["y"] = np.where(frame["a"] + frame["b"] + 0.3 * rng.normal(size=400) > 0, "up", "down")

    def strong_only(task):
        offered = [one for one in declared_candidates(task) if one.title == "logistic regression, strength 0.1"]
        assert len(offered) == 1
        return offered

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_recipes, "declared_candidates", strong_only)
        found = study.fit(frame, "y", budget=10)
    losses = {one.title: one.loss for one in found.comparison.entries if one.n_folds == 5}
    assert found.winner.title != "logistic regression, strength 0.1"
    assert losses[found.winner.title] < losses["logistic regression, strength 0.1"]
    strengths = sorted(float(title.rsplit(" ", 1)[1]) for title in losses if "average" not in title)
    best = float(found.winner.title.rsplit(" ", 1)[1])
    assert strengths[0] < best < strengths[-1]  # the neighbours on both sides were tried


def test_a_model_scores_rows_with_the_target_inside_or_beside(priced):
    frame = prices(300, seed=9)
    inside = priced.model.score(frame)
    assert priced.model.score(frame.drop(columns="price"), frame["price"]) == inside
    assert priced.model.score(frame.assign(price=0.0), frame["price"].tolist()) == inside  # what is given counts
    with pytest.raises(InvalidData, match="3 entries, and the table 300 rows"):
        priced.model.score(frame, [1.0, 2.0, 3.0])
