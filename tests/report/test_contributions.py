"""The contributions on a page: bars, dots, steps; and words where time was too short."""

import re
from dataclasses import replace

import numpy as np
import pytest

from qed import study
from qed.report import explanation_report, study_report
from qed.report._contribution_figures import NO_SHADE, SHADES, shades_of, waterfall
from qed.report._contributions import TITLE
from qed.study._contributions import Contributions

RNG = np.random.default_rng(0)
N = 160
X = RNG.normal(size=(N, 2))
EVIL = "<script>alert('x')</script>"
COLUMNS = {
    "size_mm": X[:, 0],
    EVIL: X[:, 1],
    "kind": np.array(["a & b", EVIL], dtype=object)[RNG.integers(0, 2, N)],
}
TARGETS = {
    "regression": X[:, 0] * 40 + 100 + RNG.normal(size=N),
    "binary": np.where(X[:, 0] + 0.3 * RNG.normal(size=N) > 0, "yes", "no"),
    "multiclass": np.array(["low", "mid", EVIL], dtype=object)[np.digitize(X[:, 0], [-0.5, 0.5])],
}


@pytest.fixture(scope="module", params=TARGETS)
def studied(request):
    found = study.fit({**COLUMNS, "weight_g": TARGETS[request.param]}, "weight_g", budget=5)
    return found, found.model.explain(COLUMNS, rows=30)


def with_contributions(found, shared):
    return replace(found, held_out=replace(found.held_out, contributions=shared))


def test_the_page_of_a_study_shows_contributions(studied):
    found, explanation = studied
    page = study_report(with_contributions(found, Contributions(explanation))).html()
    section = page[page.index(TITLE) :].split("</section>")[0]
    assert section.count("<svg") == 2
    assert section.count("<circle") == 30 * 3  # a dot for each row and column
    assert "add up to prediction minus average within" in section
    assert "At most 5 % of the time" in section
    assert page.index("Which columns matter?") < page.index(TITLE) < page.index("What is proven?")


def test_the_page_says_when_time_was_too_short(studied):
    found, _ = studied
    page = study_report(with_contributions(found, Contributions(None, "the time was too short"))).html()
    section = page[page.index(TITLE) :].split("</section>")[0]
    assert "Not shown: the time was too short." in section
    assert "qed explain" in section
    assert "<svg" not in section
    assert TITLE not in study_report(with_contributions(found, None)).html()


def test_the_page_of_an_explanation_is_whole(studied):
    found, explanation = studied
    page = explanation_report(found.model, explanation, source="new.csv").html()
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert not re.search(r"(src|href)\s*=", page)
    assert "30 rows of new.csv" in page
    for row in range(1, 5):
        assert f"Row {row}: " in page
    for svg in re.findall(r"<svg[^>]*>", page):
        assert re.search(r'role="img" aria-label="[^"]{10,}"', svg)


def test_a_sampled_explanation_states_its_standard_error(studied):
    found, explanation = studied
    sampled = replace(explanation, certificate=replace(explanation.certificate, standard_error=0.125))
    page = explanation_report(found.model, sampled).html()
    assert "estimates, with standard errors up to 0.125" in page


def test_shades_follow_the_order_of_values():
    shades = shades_of(np.array([3.0, np.nan, 1.0, 2.0, 9.0]))
    assert shades[1] == NO_SHADE
    assert shades[2] == 0
    assert shades[4] == SHADES - 1
    assert shades[2] < shades[3] < shades[0] < shades[4]
    assert (shades_of(np.ones(4)) == NO_SHADE).all()


def test_steps_lead_from_the_base_value_to_the_prediction():
    svg = waterfall([("a", 3.0), ("b", -1.0)], 10.0, label="y", description="steps of one row")
    bars = re.findall(r'<rect class="(\w+)" x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', svg)
    (up, x, width), (down, other, narrow) = ((kind, float(a), float(b)) for kind, a, b in bars)
    assert (up, down) == ("miss", "hit")
    assert width == pytest.approx(3 * narrow, abs=0.5)
    assert x + width == pytest.approx(other + narrow, abs=0.2)  # the second begins where the first ends
    assert ">12<" in svg
