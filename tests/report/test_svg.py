"""Drawing words: round ticks, points where they belong, well-formed and escaped output."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qed.report._figures import coefficient_intervals, predicted_against_actual
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
