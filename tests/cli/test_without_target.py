"""``qed cluster``, ``qed embed`` and ``qed detect``: what they print, write and return, and what other commands make of it."""

import csv
import json
from pathlib import Path

import pytest

from qed.cli import main
from qed.datasets import _penguins

PENGUINS = str(Path(_penguins.__file__).parent / "_tables" / "penguins.csv")
COMMANDS = {
    "cluster": (["--k", "3", "--method", "kmeans"], "cluster"),
    "embed": (["--method", "pca", "--colour", "species"], "x,y"),
    "detect": (["--method", "neighbors", "--rate", "0.02"], "anomaly,score,p_value"),
}


@pytest.fixture(scope="module", params=COMMANDS)
def made(request, tmp_path_factory):
    """A command, the folder of its files, and what it said in JSON."""
    folder = tmp_path_factory.mktemp(request.param)
    said, _ = COMMANDS[request.param]
    words = [request.param, PENGUINS, *said, "--budget", "600s", "--out", str(folder / "m.qed"), "--report",
             str(folder / "r.html"), "--rows", str(folder / "rows.csv")]  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        answers = []
        patch.setattr("qed.cli._screen.Screen.answer", lambda self, value: answers.append(value))
        assert main([*words, "--json"]) == 0
    return request.param, folder, answers[0]


def test_writes_model_page_and_rows(made):
    command, folder, answer = made
    names = {"rows", "rows_fitted", "columns", "method", "scores", "certificate", "checked", "notes", "model", "report",
             "rows_file", "seconds", "methods"}  # fmt: skip
    assert set(answer) >= names
    assert answer["checked"] is True
    page = (folder / "r.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "What is proven?" in page
    assert "<script" not in page
    with (folder / "rows.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 344
    assert list(rows[0]) == ["row", *COMMANDS[command][1].split(",")]


def test_other_commands_read_the_model(made, tmp_path, capsys):
    command, folder, _ = made
    model = str(folder / "m.qed")
    assert main(["predict", model, PENGUINS]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"row,{COMMANDS[command][1]}"
    assert len(lines) == 345
    assert main(["verify", model, PENGUINS]) == 0
    assert "accepted" in capsys.readouterr().out
    assert main(["info", model]) == 0
    assert "Output" in capsys.readouterr().out
    assert main(["info", model, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["output"]["task"] in ("clusters", "embedding", "anomalies")
    for other in (["explain", model, PENGUINS, "--out", str(tmp_path / "e.html")], ["compare", model, model, PENGUINS]):
        assert main(other) == 2
        assert "has no target" in capsys.readouterr().err
    for flag in (["--threshold", "0.5"], ["--intervals"]):
        assert main(["predict", model, PENGUINS, *flag]) == 2
        assert flag[0] in capsys.readouterr().err


def test_other_rows_are_rejected(made, tmp_path, capsys):
    _, folder, _ = made
    other = tmp_path / "other.csv"
    lines = Path(PENGUINS).read_text(encoding="utf-8").splitlines()
    other.write_text("\n".join([lines[0], *lines[20:]]), encoding="utf-8")
    assert main(["verify", str(folder / "m.qed"), str(other)]) == 1
    assert "rejected" in capsys.readouterr().out


def test_tells_what_it_did(tmp_path, capsys):
    files = ["--out", str(tmp_path / "m.qed"), "--no-report"]
    assert main(["cluster", PENGUINS, *files, "--k", "2", "--budget", "600s"]) == 0
    told = capsys.readouterr().out
    assert "what sets it apart" in told
    assert "accepted by an independent checker" in told
    assert main(["detect", PENGUINS, *files, "--method", "neighbors", "-f"]) == 0
    assert "rows are anomalous" in capsys.readouterr().out
    assert main(["embed", PENGUINS, *files, "--method", "pca", "-f", "--rows", str(tmp_path / "c.parquet")]) == 0
    assert "trustworthiness" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["cluster", "--k", "1"], "--k 1"),
        (["cluster", "--drop", "wings"], "no column 'wings'"),
        (["detect", "--rate", "2"], "--rate 2"),
        (["embed", "--colour", "wings"], "no column 'wings'"),
        (["detect", "--rows", "scores.xls"], "--rows scores.xls"),
        (["cluster", "--seed", "-1"], "seed"),
    ],
)
def test_bad_words_write_nothing(words, said, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main([words[0], PENGUINS, *words[1:], "--budget", "600s"]) == 2
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_there_stays(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "coordinates.csv").write_text("mine", encoding="utf-8")
    assert main(["embed", PENGUINS]) == 2
    assert "--rows coordinates.csv" in capsys.readouterr().err
    assert (tmp_path / "coordinates.csv").read_text(encoding="utf-8") == "mine"
