"""Figures in characters: as large as ordered, with every dot and the zero line in place."""

import numpy as np

from qed.report._terminal import scatter, whiskers


def test_scatter_has_its_size_and_its_corners():
    drawn = scatter(np.array([0.0, 10.0]), np.array([0.0, 10.0]), columns=20, lines=6).splitlines()
    area = [line.split("│", 1)[1] for line in drawn[:6]]
    assert max(map(len, area)) <= 20
    assert area[0].endswith("○")
    assert area[-1].startswith("○")


def test_two_in_one_place_are_filled():
    drawn = scatter(np.array([0.0, 0.0, 9.0]), np.array([0.0, 0.0, 9.0]), columns=12, lines=5)
    assert drawn.count("●") == 1
    assert drawn.count("○") == 1


def test_a_constant_target_is_drawn():
    assert "●" in scatter(np.full(3, 2.0), np.full(3, 2.0))


def test_whiskers_mark_zero_and_estimate():
    rows = whiskers(["a", "bb"], np.array([2.0, -1.0]), np.array([1.0, -2.0]), np.array([3.0, 0.5])).splitlines()
    assert rows[0].startswith("  a ")
    assert "┊" in rows[0]
    assert "─●─" in rows[0].replace("──", "─")
    assert len(rows) == 3
