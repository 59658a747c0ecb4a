"""``qed fit --cluster``: the workers of a Dask cluster fit the candidates, and find what is found here."""

from __future__ import annotations

import json

import pytest
from clusters import two_workers

import qed
from qed import study
from qed.cli import main
from qed.datasets import load_penguins
from qed.study._clock import Clock

pytestmark = pytest.mark.filterwarnings("default")  # Dask warns of ports in use


def losses(found):
    return {(entry.title, entry.n_rows, entry.n_folds): entry.loss for entry in found.comparison.entries}


def test_candidates_are_fitted_by_the_workers(tmp_path, capsys):
    path = tmp_path / "penguins.parquet"
    frame = load_penguins(as_frame=True).frame
    frame.to_parquet(path)
    here = study.fit(frame, "body_mass_g", clock=Clock(60, float))  # a clock that stands still: nothing is left out
    address = two_workers().scheduler.address
    words = ["fit", str(path), "-t", "body_mass_g", "--budget", "2s", "--no-report", "--json"]
    assert main([*words, "-o", str(tmp_path / "m.qed"), "--cluster", address]) == 0
    assert json.loads(capsys.readouterr().out)["model"].endswith("m.qed")
    with qed.executor(two_workers()):
        there = study.fit(frame, "body_mass_g", clock=Clock(60, float))
    assert len(losses(here)) > 3
    assert losses(here) == losses(there)


def test_a_cluster_that_does_not_answer_is_told(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("qed.data.executors._dask.CONNECT_SECONDS", 1)
    path = tmp_path / "t.csv"
    path.write_text("a,y\n" + "".join(f"{k},{k % 7}\n" for k in range(40)))
    words = ["fit", str(path), "-t", "y", "--cluster", "127.0.0.1:9", "-o", str(tmp_path / "m.qed"), "--no-report"]
    assert main(words) != 0
    assert "No Dask scheduler answers" in capsys.readouterr().err
