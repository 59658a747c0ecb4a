"""Densities of columns in each class: they have area one, and overlap as much as the classes do."""

import re

import numpy as np
import pytest

from qed import study
from qed.report import study_report
from qed.study._densities import densities
from qed.study._schema import ColumnSchema, TargetSchema, words_array

TWO = TargetSchema("t", "binary", "", "", words_array(["no", "yes"]), False)


def spread(values, y, target=TWO):
    column = ColumnSchema("x", "number", "", "", words_array([]), 0.0, 300, "")
    return densities(values[:, np.newaxis], y, [column], target, ["x"])


@pytest.mark.parametrize(("apart", "common"), [(0.0, 1.0), (2.0, 0.3173), (8.0, 0.0)])
def test_curves_have_area_one_and_overlap_as_normal_ones_do(apart, common):
    rng = np.random.default_rng(0)
    y = np.repeat([0.0, 1.0], 2000)
    (found,) = spread(rng.normal(size=4000) + apart * y, y)
    areas = found.curves.sum(axis=0) * (found.places[1] - found.places[0])
    assert np.all(np.abs(areas - 1) < 0.03)  # the outer hundredths are not drawn
    # of two normal curves d apart, 2 Phi(-d / 2) is in common; two empirical curves of 2000 rows are within 0.1 of theirs
    assert abs(found.overlap - common) < 0.1
    assert found.classes == (0, 1)


def test_what_a_curve_cannot_show_is_left_out():
    y = np.repeat([0.0, 1.0], 50)
    assert spread(np.arange(100) % 5.0, y) == ()  # five values are bars
    assert spread(np.arange(100.0), np.repeat([0.0, 1.0], [95, 5])) == ()  # five rows are dots
    assert spread(np.r_[np.full(60, np.nan), np.arange(40.0)], y) == ()
    assert spread(np.arange(100.0), y, TargetSchema("t", "regression", "", "", words_array([]), False)) == ()


def test_the_page_shows_columns_that_tell_classes_apart():
    rng = np.random.default_rng(1)
    kind = np.repeat(["ash", "birch"], 150)
    table = {"height": rng.normal(size=300) + 3 * (kind == "ash"), "noise": rng.normal(size=300), "kind": kind}
    found = study.fit(table, "kind", budget=4)
    text = study_report(found).html()
    assert "How do the classes differ?" in text
    assert "Density of height in each class" in text
    assert "Density of noise in each class" not in text


def test_a_class_has_one_colour_on_the_whole_page():
    rng = np.random.default_rng(2)
    # of the first, twelve rows are kept aside: too few for a curve
    kind = np.repeat(["ash", "birch", "cedar"], [60, 160, 160])
    table = {"height": rng.normal(size=380) + 3 * (kind == "birch") - 3 * (kind == "ash"), "kind": kind}
    found = study.fit(table, "kind", budget=4)
    (shown,) = found.held_out.densities
    assert shown.classes == (1, 2)
    drawn = set()
    for svg in re.findall(r"<svg.*?</svg>", study_report(found).html(), re.DOTALL):
        if 'class="curve line' in svg:
            drawn |= set(re.findall(r'class="dot (group\d)"[^>]*></\w+>\s*<text[^>]*>(\w+)</text>', svg))
    assert {name for _, name in drawn} == {"ash", "birch", "cedar"}
    assert len(drawn) == 3
