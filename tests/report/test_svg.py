"""Drawing words: round ticks, points where they belong, well-formed and escaped output."""

import itertools
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qed.report._figures import coefficient_intervals, predicted_against_actual
from qed.report._study_figures import confusion, whiskers
from qed.report._svg import WIDTH, Plot, number, ticks

finite = st.floats(-1e9, 1e9, allow_nan=False)


@given(low=finite, width=st.floats(1e-6, 1e9))
def test_ticks_lie_inside_in_order_and_are_few(low, width):
    high = low + width
    found = ticks(low, high)
    slack = 1e-6 * (abs(low) + width)
    assert all(low - slack <= value <= high + slack for value in found)
    assert found == sorted(found)
    assert len(found) <= 7


def test_ticks_of_a_point():
    assert ticks(3.0, 3.0) == [3.0]


@pytest.mark.parametrize(("value", "words"), [(1500.0, "1\u202f500"), (-0.5, "\u22120.5"), (0.0, "0"), (2.0, "2")])
def test_numbers_read_well(value, words):
    assert number(value) == words


def test_corners_of_the_plot_area():
    plot = Plot((0.0, 1.0), (0.0, 1.0))
    assert plot.at(0.0, 0.0) == (plot.left, plot.height - plot.bottom)
    assert plot.at(1.0, 1.0) == (WIDTH - plot.right, plot.top)


def test_every_observation_is_drawn_and_names_are_escaped():
    actual, predicted = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.1, 1.9, 3.2, 4.0])
    svg = predicted_against_actual(actual, predicted, band=0.5, label="<mass>", groups=["a", "b", "c", "d&"])
    tree = ET.fromstring(svg)  # noqa: S314  (written by ourselves)
    dots = [part for part in tree if "dot" in part.get("class", "")]
    assert len(dots) == 4 + 4  # observations, and the legend
    assert {part.tag for part in dots} == {"circle", "polygon"}
    assert "<mass>" not in svg


def test_intervals_that_cross_zero_are_drawn_weak():
    svg = coefficient_intervals(["x", "y"], np.array([1.0, 0.1]), np.array([0.5, -0.4]), np.array([1.5, 0.6]))
    assert svg.count('class="whisker weak"') == 1
    assert svg.count('class="whisker"') == 1
    ET.fromstring(svg)  # noqa: S314  (written by ourselves)


def test_long_names_go_on_in_a_second_line_and_ticks_never_meet():
    long = "Average household income per year of the whole district"
    svg = whiskers(
        [(long, 1e8, 2e8, 3e8, 0), ("column\nits group", 1.0, 2e8, 2.1e8, 1)], label="x" * 90, description="d"
    )
    tree = ET.fromstring(svg)  # noqa: S314  (written by ourselves)
    words = [part.text for part in tree if part.tag == "text"]
    assert "Average household income" in words[-4]
    assert words[-2:] == ["column", "its group"]
    ticks_at = sorted(float(part.get("x")) for part in tree if part.tag == "text" and "·10" in (part.text or ""))
    assert all(right - left > 40 for left, right in itertools.pairwise(ticks_at))
    grid = confusion(np.eye(9, dtype=int), ["Ministry of foreign affairs"] * 9, description="d")
    assert grid.count("rotate(-55)") == 9
    assert number(1.5e9) == "1.5·10⁹"
    assert number(-2e-6) == "\u22122·10⁻⁶"
