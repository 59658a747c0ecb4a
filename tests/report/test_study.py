"""The page of a study: self-contained, figures first, strangers' words escaped, whatever the task."""

import re
from dataclasses import replace

import numpy as np
import pytest

from qed import study
from qed.report import study_report
from qed.report._study_classes import threshold_choice

RNG = np.random.default_rng(0)
N = 240
X = RNG.normal(size=(N, 3))
EVIL = "<script>alert('x')</script>"
COLUMNS = {
    "size_mm": X[:, 0],
    EVIL: X[:, 1],
    "kind": np.array(["a & b", "<i>c</i>", EVIL], dtype=object)[RNG.integers(0, 3, N)],
    "sometimes": np.where(X[:, 2] > 0, X[:, 2], np.nan),
}
TARGETS = {
    "regression": X[:, 0] * 40 + 100 + RNG.normal(size=N),
    "binary": np.where(X[:, 0] + 0.3 * RNG.normal(size=N) > 0, "yes", "no"),
    "multiclass": np.array(["low", "mid", EVIL], dtype=object)[np.digitize(X[:, 0], [-0.5, 0.5])],
    "counts": RNG.poisson(np.exp(X[:, 0])),
}


@pytest.fixture(scope="module", params=TARGETS)
def page(request):
    found = study.fit({**COLUMNS, "weight_g": TARGETS[request.param]}, "weight_g", budget=10)
    return request.param, study_report(found).html()


def test_nothing_is_fetched_and_nothing_runs(page):
    _, text = page
    assert "<script" not in text
    assert not re.search(r"(src|href)\s*=", text)
    assert "@import" not in text
    assert "url(" not in text


def test_names_from_strangers_are_escaped(page):
    _, text = page
    assert EVIL not in text
    assert "<i>c</i>" not in text
    assert "&lt;script&gt;" in text


def test_figures_come_before_details(page):
    task, text = page
    assert text.count("<svg") >= 4
    order = ["How good is it?", "How sure is it?", "Which columns matter?", "What is proven?", "What was tried", "The columns",
             "How it was made"]  # fmt: skip
    places = [text.index(words) for words in order]
    assert places == sorted(places)
    assert text.index("<svg") < text.index("<table")
    if task == "binary":
        assert "ROC" in text
    assert "nan" not in re.sub(r"[a-z]*nan[a-z]+|[a-z]+nan", "", text.lower())


def test_every_drawing_says_what_it_shows(page):
    _, text = page
    for svg in re.findall(r"<svg[^>]*>", text):
        assert 'role="img"' in svg
        assert re.search(r'aria-label="[^"]{10,}"', svg)


def test_the_threshold_of_the_costs_counts_as_it_is_and_not_as_it_is_shown():
    x = np.linspace(-4, 4, 400)
    found = study.fit(
        {"x": x, "sold": np.where(x + RNG.normal(size=400) > 2, "yes", "no")}, "sold", budget=2, costs=(1, 20)
    )
    share = found.held_out.shares.copy()
    share[:, 1] = np.linspace(0.9, 0.1, len(share))
    share[0] = 1 - 0.0476, 0.04761  # above the threshold as it is shown, 0.0476, and below 1/21
    odd = replace(found, held_out=replace(found.held_out, shares=share))
    line = next(row for row in threshold_choice(odd, (1.0, 20.0)).table.rows if row[0] == "0.0476")
    called, truth = share[:, 1] >= 1 / 21, found.held_out.actual.astype(bool)
    assert line[3] == f"{np.sum(called & ~truth)}"
    assert line[4] == f"{np.sum(~called & truth)}"


def test_mistakes_have_row_numbers_and_few_classes_are_drawn():
    place = np.repeat(np.arange(30), 8)
    rows = {"x": place + RNG.normal(size=len(place)), "place": np.array([f"p{at}" for at in place], dtype=object)}
    found = study.fit(rows, "place", budget=5)
    text = study_report(found).html()
    assert "Of 30 classes the 12 with most mistakes are shown." in text
    surest = np.argmin(found.held_out.shares[np.arange(len(found.held_out.actual)), found.held_out.actual.astype(int)])
    assert "surest mistakes" in text
    assert f"row {found.held_out.rows[surest] + 1:,}" in text
    assert "Of 30 classes the 4 that are predicted most are drawn." in text
