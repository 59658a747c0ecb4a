"""The command: what it prints, writes and returns, in this process."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

import qed
from qed.cli import main
from qed.cli._parser import COMMANDS
from qed.datasets import _penguins

PENGUINS = Path(_penguins.__file__).parent / "_tables" / "penguins.csv"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with two models and a page."""
    made = tmp_path_factory.mktemp("models")
    words = ["fit", str(PENGUINS), "--budget", "15s", "--quiet"]
    report = ["--report", str(made / "mass.html")]
    assert main([*words, "--target", "body_mass_g", "--out", str(made / "mass.qed"), *report]) == 0
    drop = ["--drop", "species,island,flipper_length_mm,bill_length_mm,bill_depth_mm", "--no-report"]
    assert main([*words, "--target", "body_mass_g", "--out", str(made / "poor.qed"), *drop]) == 0
    assert main([*words, "--target", "sex", "--out", str(made / "sex.qed"), "--no-report"]) == 0
    return made


def answer(capsys):
    return json.loads(capsys.readouterr().out)


def test_fit_tells_what_it_did(tmp_path, capsys):
    model, page = tmp_path / "m.qed", tmp_path / "r.html"
    code = main(["fit", str(PENGUINS), "-t", "species", "-o", str(model), "--report", str(page), "--budget", "10s"])
    told = capsys.readouterr()
    assert code == 0
    assert "multiclass" in told.out
    assert "flipper_length_mm  number" in told.out
    assert "No coefficients lower the objective" in told.out
    assert "accepted by an independent checker" in told.out
    assert "comparing: " in told.err  # progress, as lines, apart from the answer
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert main(["verify", str(model), str(PENGUINS)]) == 0


def test_fit_answers_in_json(tmp_path, capsys):
    words = [
        "fit",
        str(PENGUINS),
        "-t",
        "sex",
        "-o",
        str(tmp_path / "m.qed"),
        "--no-report",
        "--json",
        "-q",
        "--budget",
        "10s",
    ]
    assert main([*words, "--types", "year=category", "--drop", "island"]) == 0
    found = answer(capsys)
    # names that scripts rely on: they may become more, never fewer
    names = ("target", "task", "rows", "rows_fitted", "held_out", "columns", "candidates", "winner", "constant", "scores",
             "baseline", "importance", "certificate", "checked", "notes", "interrupted", "model", "report", "seconds")  # fmt: skip
    assert set(found) >= set(names)
    assert set(found["columns"][0]) >= {"name", "type", "why", "missing", "form"}
    assert set(found["candidates"][0]) >= {"title", "loss", "error", "rows", "folds", "gain"}
    assert found["candidates"][-1]["gain"] is None
    kinds = {one["name"]: one["type"] for one in found["columns"]}
    assert kinds["year"] == "category"
    assert kinds["island"] == "dropped"
    assert found["task"] == "binary"
    assert found["checked"] is True
    assert found["scores"]["accuracy"]["lower"] < found["scores"]["accuracy"]["value"]


def test_predict_prints_writes_and_warns(folder, tmp_path, capsys):
    new = tmp_path / "new.csv"
    new.write_text("species,sex,bill_length_mm\nAdelie,male,40\nEmperor,,x\n", encoding="utf-8")
    assert main(["predict", str(folder / "mass.qed"), str(new), "--allow-missing"]) == 0
    told = capsys.readouterr()
    lines = told.out.splitlines()
    assert lines[0] == "row,prediction"
    assert all(2500 < float(line.split(",")[1]) < 6500 for line in lines[1:])
    assert "'Emperor' (row 2) is unknown to the model" in told.err
    assert "'x' (row 2) is no number" in told.err
    assert "Column 'flipper_length_mm' is not there" in told.err
    out = tmp_path / "p.parquet"
    assert main(["predict", str(folder / "sex.qed"), str(PENGUINS), "--out", str(out), "-q"]) == 0
    table = pyarrow.parquet.read_table(out)
    assert table.column_names == ["row", "prediction", "probability_female", "probability_male"]
    assert table.num_rows == 344
    for ending in ("csv", "json", "jsonl"):
        assert (
            main(["predict", str(folder / "sex.qed"), str(PENGUINS), "--out", str(tmp_path / f"p.{ending}"), "-q"]) == 0
        )
    assert len(json.loads((tmp_path / "p.json").read_text(encoding="utf-8"))) == 344
    assert len((tmp_path / "p.jsonl").read_text(encoding="utf-8").splitlines()) == 344


def test_truths_name_the_columns_of_their_probabilities(tmp_path):
    x = np.linspace(-1, 1, 60)
    table, model, out = (str(tmp_path / name) for name in ("truths.parquet", "m.qed", "p.parquet"))
    pyarrow.parquet.write_table(pyarrow.table({"x": x, "good": x + 0.3 * np.sin(40 * x) > 0}), table)
    assert main(["fit", table, "--target", "good", "--out", model, "--no-report", "-q", "--budget", "1s"]) == 0
    assert main(["predict", model, table, "--out", out, "-q"]) == 0
    found = pyarrow.parquet.read_table(out)
    assert found.column_names == ["row", "prediction", "probability_False", "probability_True"]
    np.testing.assert_array_equal(found["prediction"], np.asarray(found["probability_True"]) > 0.5)


def test_predict_agrees_with_the_library(folder, capsys):
    assert main(["predict", str(folder / "mass.qed"), str(PENGUINS), "--json"]) == 0
    model = qed.study.load(folder / "mass.qed")
    assert answer(capsys)["predictions"]["prediction"] == model.predict(PENGUINS).tolist()


def test_explain_writes_a_page(folder, tmp_path, capsys):
    page = tmp_path / "why.html"
    words = ["explain", str(folder / "mass.qed"), str(PENGUINS), "--rows", "12", "--out", str(page)]
    assert main(words) == 0
    told = capsys.readouterr()
    assert "Mean contribution of each column to 12 predictions" in told.out
    assert "The first 12 of 344 rows are explained" in told.out
    assert "Row 4: " in page.read_text(encoding="utf-8")
    assert main(words) == 2  # the page is there
    assert "there is such a file already" in capsys.readouterr().err
    assert main([*words, "--force", "-q"]) == 0


def test_explain_answers_in_json(folder, capsys):
    assert main(["explain", str(folder / "mass.qed"), str(PENGUINS), "--rows", "6", "--json", "-q"]) == 0
    found = answer(capsys)
    assert found["rows"] == len(found["contributions"]) == 6
    assert found["out"] is None
    for one in found["contributions"]:
        assert found["base_value"] + sum(one["contributions"].values()) == pytest.approx(one["prediction"])
    assert found["residual"] < 1e-6
    assert main(["explain", str(folder / "sex.qed"), str(PENGUINS), "--rows", "2", "--json", "-q"]) == 0
    assert answer(capsys)["outputs"] == ["male"]


def test_explain_refuses_in_words(folder, tmp_path, capsys):
    few = tmp_path / "few.csv"
    few.write_text("\n".join(PENGUINS.read_text(encoding="utf-8").splitlines()[:4]), encoding="utf-8")
    words = ["explain", str(folder / "mass.qed"), str(few), "--json", "-q"]
    assert main(words) == 1
    assert "--against" in answer(capsys)["error"]
    assert main([*words, "--against", str(PENGUINS)]) == 0
    assert answer(capsys)["rows"] == 3
    assert main([*words, "--rows", "0"]) == 2
    assert "--rows 0" in answer(capsys)["error"]
    lacking = tmp_path / "lacking.csv"
    lacking.write_text("species,sex\n" + "Adelie,male\n" * 12, encoding="utf-8")
    assert main(["explain", str(folder / "mass.qed"), str(lacking), "--out", str(tmp_path / "no.html")]) == 1
    assert "The model needs" in capsys.readouterr().err
    assert not (tmp_path / "no.html").exists()


def test_verify_accepts_and_refuses(folder, tmp_path, capsys):
    assert main(["verify", str(folder / "mass.qed"), str(PENGUINS)]) == 0
    assert "✓ accepted" in capsys.readouterr().out
    fewer = tmp_path / "fewer.csv"
    fewer.write_text("\n".join(PENGUINS.read_text(encoding="utf-8").splitlines()[:-5]), encoding="utf-8")
    assert main(["verify", str(folder / "mass.qed"), str(fewer), "--json"]) == 1
    assert answer(capsys)["accepted"] is False
    model = qed.study.load(folder / "mass.qed")
    model.pipeline.steps_[-1][1].coef_[1] *= 1.01
    model.save(tmp_path / "tampered.qed")
    assert main(["verify", str(tmp_path / "tampered.qed"), str(PENGUINS)]) == 1
    assert "✗ rejected" in capsys.readouterr().out


def test_compare_is_paired(folder, capsys):
    assert main(["compare", str(folder / "mass.qed"), str(folder / "poor.qed"), str(PENGUINS)]) == 0
    told = capsys.readouterr().out
    assert "mass.qed is better" in told
    assert "fitted on these very rows" in told
    assert main(["compare", str(folder / "mass.qed"), str(folder / "poor.qed"), str(PENGUINS), "--json"]) == 0
    found = answer(capsys)
    assert found["lower"] < found["difference"] < found["upper"] < 0


def test_info_shows_columns_proof_and_story(folder, capsys):
    assert main(["info", str(folder / "mass.qed")]) == 0
    told = capsys.readouterr().out
    for words in ("bill_length_mm", "mm", "No coefficients lower", "SHA-256", "seed", "body_mass_g"):
        assert words in told
    assert main(["info", str(folder / "sex.qed"), "--json"]) == 0
    found = answer(capsys)
    assert found["target"]["labels"] == ["female", "male"]
    assert found["fit_record"]["rows_fitted"] == 333


def test_demo_writes_a_page_and_refuses_a_tampered_copy(tmp_path, capsys):
    assert main(["demo", str(tmp_path / "demo"), "--budget", "10s"]) == 0
    told = capsys.readouterr().out
    assert "✓ accepted" in told
    assert "✗ rejected" in told
    assert "report.html" in told
    beside = told.partition("Which kind of model wins")[2].splitlines()
    for name in (
        "diabetes",
        "weather",
    ):  # which one is better is not asserted: how many folds are met depends on the clock
        lines = [line for line in beside if line.split()[:1] == [name]]
        assert 1 <= len(lines) <= 2
        assert all("loss" in line for line in lines)
    assert sorted(path.name for path in (tmp_path / "demo").iterdir()) == [
        "diabetes.csv",
        "model.qed",
        "penguins.csv",
        "report.html",
        "tampered.qed",
        "weather.csv",
    ]


MISTAKES = [
    (["fit", "DATA", "-t", "mass", "-o", "NEW"], 2, "Did you mean 'body_mass_g'|There is no target column 'mass'"),
    (["fit", "nowhere.csv", "-t", "y", "-o", "NEW"], 1, "Check the path"),
    (["fit", "DATA", "-t", "sex", "-o", "OLD"], 2, "there is such a file already"),
    (["fit", "DATA", "-t", "sex", "-o", "nowhere/m.qed"], 2, "does not exist"),
    (["fit", "DATA", "-t", "sex", "-o", "NEW", "--budget", "never"], 2, "60s, 5m or 1h"),
    (["fit", "DATA", "-t", "sex", "-o", "NEW", "--types", "year"], 2, "column=type"),
    (["fit", "DATA", "-t", "sex", "-o", "NEW", "--task", "regression"], 1, "holds words"),
    (["predict", "DATA", "DATA"], 1, "cannot be loaded"),
    (["predict", "OLD", "nowhere.csv"], 1, "Check the path"),
    (["predict", "OLD", "DATA", "--out", "p.docx"], 2, "should end in"),
    (["verify", "OLD", "DATA", "--table", "x"], 1, "no database"),
]


@pytest.mark.parametrize(("words", "code", "sentence"), MISTAKES)
def test_mistakes_get_a_sentence_and_write_nothing(folder, tmp_path, capsys, words, code, sentence):
    places = {"DATA": str(PENGUINS), "OLD": str(folder / "mass.qed"), "NEW": str(tmp_path / "new.qed")}
    report = ["--no-report"] if words[0] == "fit" else []
    before = (folder / "mass.qed").read_bytes()
    assert main([places.get(word, word) for word in words] + report) == code
    told = capsys.readouterr()
    assert any(part in told.err for part in sentence.split("|"))
    assert "Traceback" not in told.err
    assert list(tmp_path.iterdir()) == []
    assert (folder / "mass.qed").read_bytes() == before


def test_values_outside_the_fit_are_named_in_a_column(folder, tmp_path, capsys):
    new = tmp_path / "new.csv"
    new.write_text("species,sex,bill_length_mm\nAdelie,male,40\nEmperor,,400\n", encoding="utf-8")
    assert main(["predict", str(folder / "mass.qed"), str(new), "--outside", "--json", "--allow-missing"]) == 0
    found = answer(capsys)
    assert found["predictions"]["outside"] == ["", "species; bill_length_mm"]
    assert found["outside"] == {"rows": 1, "columns": {"species": 1, "bill_length_mm": 1}}


def test_one_model_compared_with_itself(folder, capsys):
    assert main(["compare", str(folder / "sex.qed"), str(folder / "sex.qed"), str(PENGUINS)]) == 0
    assert "they are the same model" in capsys.readouterr().out


def test_the_bare_command_shows_its_help(capsys):
    assert main([]) == 0
    assert "qed demo" in capsys.readouterr().out


def test_usage_is_explained(capsys):
    assert main(["fit", str(PENGUINS)]) == 2
    assert "--target COLUMN. " in (told := capsys.readouterr().err)
    assert "species, island, bill_length_mm" in told
    with pytest.raises(SystemExit) as end:
        main(["fit"])
    assert end.value.code == 2
    with pytest.raises(SystemExit) as end:
        main(["--help"])
    assert end.value.code == 0
    told = capsys.readouterr().out
    for command in COMMANDS:
        assert command in told


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_shows_its_help(command, capsys):
    with pytest.raises(SystemExit) as end:
        main([command, "--help"])
    assert end.value.code == 0
    told = capsys.readouterr().out
    assert told.startswith(f"usage: qed {command} ")
    assert "--json" in told


def test_an_unforeseen_error_is_a_sentence_too(monkeypatch, capsys):
    from qed.cli import _info  # noqa: PLC0415

    def fail(*_):
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(_info, "run", fail)
    assert main(["info", "x.qed"]) == 1
    assert "This should not happen: ZeroDivisionError: oh" in capsys.readouterr().err
    with pytest.raises(ZeroDivisionError):
        main(["info", "x.qed", "--debug"])


def test_help_and_prediction_load_no_table_engine(folder, tmp_path):
    """A small prediction stays quick because it imports neither DuckDB nor Arrow nor a frame library."""
    new = tmp_path / "new.csv"
    new.write_text("species,sex\nAdelie,male\n", encoding="utf-8")
    program = (
        "import sys; from qed.cli import main; code = main(sys.argv[1:]);"
        "heavy = [name for name in ('duckdb', 'pyarrow', 'narwhals', 'pandas', 'rich', 'scipy.optimize') if name in sys.modules];"
        "print(heavy); sys.exit(code)"
    )
    command = [sys.executable, "-c", program, "predict", str(folder / "mass.qed"), str(new), "-q", "--allow-missing"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.splitlines()[-1] == "[]"


def test_ctrl_c_in_a_terminal_leaves_the_best_model(tmp_path):
    """A real interrupt of a real process: exit code 130, a whole model, and the words."""
    lines = ["a,b,c,y"] + [f"{i % 97},{i * 7 % 89},{'uvw'[i % 3]},{i % 97 + 3 * (i * 7 % 89)}" for i in range(30_000)]
    (tmp_path / "t.csv").write_text("\n".join(lines), encoding="utf-8")
    places = ["--out", str(tmp_path / "model.qed"), "--report", str(tmp_path / "report.html")]
    command = [sys.executable, "-m", "qed", "fit", str(tmp_path / "t.csv"), "-t", "y", "--budget", "10h", *places]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8")  # noqa: S603
    for line in process.stderr:
        if "comparing" in line:
            process.send_signal(signal.SIGINT)
            break
    out, err = process.communicate(timeout=600)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert "best model so far" in out
    assert main(["verify", str(tmp_path / "model.qed"), str(tmp_path / "t.csv"), "-q"]) == 0
    assert (tmp_path / "report.html").exists()


def test_one_name_is_one_file_even_with_force(tmp_path, capsys):
    both = str(tmp_path / "same.out")
    assert main(["fit", str(PENGUINS), "-t", "species", "-o", both, "--report", both, "-q"]) == 2
    assert "that is also --out" in capsys.readouterr().err
    table = tmp_path / "table.csv"
    table.write_bytes(PENGUINS.read_bytes())
    assert main(["fit", str(table), "-t", "species", "-o", str(table), "--no-report", "--force", "-q"]) == 2
    assert table.read_bytes() == PENGUINS.read_bytes()


def test_a_reader_who_leaves_does_not_stop_the_fit(tmp_path):
    words = [
        sys.executable,
        "-m",
        "qed",
        "fit",
        str(PENGUINS),
        "-t",
        "species",
        "-o",
        str(tmp_path / "m.qed"),
        "--no-report",
    ]
    fit = subprocess.Popen([*words, "--budget", "5s"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # noqa: S603
    assert fit.stdout is not None
    fit.stdout.readline()
    fit.stdout.close()
    assert fit.wait(timeout=600) == 0
    assert (tmp_path / "m.qed").exists()


def test_a_column_of_text_may_be_absent(tmp_path, capsys):
    rows = ["size,note,kind"]
    notes = ["came late and was open", "a fine thing for the money", "broke on the second day of use"]
    rows += [f"{i % 7},{notes[i % 3]} {i},{'ab'[i % 2]}" for i in range(120)]
    table, short = tmp_path / "t.csv", tmp_path / "s.csv"
    table.write_text("\n".join(rows))
    short.write_text("\n".join(row.split(",")[0] for row in rows))
    model = str(tmp_path / "m.qed")
    words = [
        "fit",
        str(table),
        "-t",
        "kind",
        "-o",
        model,
        "--no-report",
        "-q",
        "--budget",
        "5s",
        "--types",
        "note=text",
    ]
    assert main(words) == 0
    assert main(["predict", model, str(short), "--out", str(tmp_path / "p.csv"), "--allow-missing"]) == 0
    assert "'note' is not there" in "".join(capsys.readouterr())


def test_predictions_keep_identifiers_and_refuse_missing_columns(folder, tmp_path, capsys):
    few = tmp_path / "few.csv"
    lines = PENGUINS.read_text(encoding="utf-8").splitlines()
    few.write_text("\n".join(lines[:4]), encoding="utf-8")
    assert main(["predict", str(folder / "mass.qed"), str(few), "-q"]) == 0
    head, first, *_ = capsys.readouterr().out.splitlines()
    assert head == "row,prediction"
    assert first.startswith("1,")
    assert (
        main(["predict", str(folder / "mass.qed"), str(few), "-q", "--keep", "species,bill_length_mm", "--intervals"])
        == 0
    )
    head, first, *_ = capsys.readouterr().out.splitlines()
    assert head == "species,bill_length_mm,prediction,lower,upper"
    low, high = (float(one) for one in first.split(",")[-2:])
    assert low < float(first.split(",")[2]) < high
    lacking = tmp_path / "lacking.csv"
    names = lines[0].split(",")
    gone = names.index("species")
    lacking.write_text("\n".join(",".join(part for at, part in enumerate(line.split(",")) if at != gone) for line in lines[:4]),
                       encoding="utf-8")  # fmt: skip
    assert main(["predict", str(folder / "mass.qed"), str(lacking), "-q"]) == 1
    assert "needs 'species'" in capsys.readouterr().err
    assert main(["predict", str(folder / "mass.qed"), str(lacking), "-q", "--allow-missing"]) == 0
    capsys.readouterr()
    assert main(["predict", str(folder / "mass.qed"), str(few), "--keep", "nothing"]) == 2


def test_classes_come_back_as_what_the_table_held(tmp_path, capsys):
    path = tmp_path / "truths.csv"
    rows = [f"{at},{'true' if at % 3 else 'false'},{at % 2}" for at in range(60)]
    path.write_text("a,is_ok,b\n" + "\n".join(rows), encoding="utf-8")
    model = tmp_path / "m.qed"
    assert main(["fit", str(path), "--target", "is_ok", "--budget", "2", "-o", str(model), "--no-report", "-q"]) == 0
    assert main(["predict", str(model), str(path), "-o", str(tmp_path / "p.parquet"), "-q", "--no-probabilities"]) == 0
    capsys.readouterr()
    import pyarrow.parquet as pq  # noqa: PLC0415

    found = pq.read_table(tmp_path / "p.parquet")
    assert found.column_names == ["row", "prediction"]
    assert str(found.schema.field("prediction").type) == "bool"
    loaded = qed.study.load(model)
    assert 0 <= loaded.score(path) <= 1
    assert "is_ok" in repr(loaded)
    assert "<table>" in loaded._repr_html_()


@pytest.mark.parametrize("words", [["fit", "nowhere.csv", "--json", "-t", "a"], ["fit", "--json"], ["predict", "--json", "a", "b"],
                                   ["fit", "x.csv", "--json", "--task", "magic"]])  # fmt: skip
def test_errors_are_json_where_json_is_asked_for(words, capsys):
    try:
        code = main(words)
    except SystemExit as ended:
        code = ended.code
    said = json.loads(capsys.readouterr().out)
    assert said["code"] == code != 0
    assert said["error"]


def test_costs_choose_a_threshold(folder, tmp_path, capsys):
    page = tmp_path / "r.html"
    words = [
        "fit",
        str(PENGUINS),
        "--target",
        "sex",
        "--budget",
        "2",
        "-o",
        str(tmp_path / "m.qed"),
        "--report",
        str(page),
        "-q",
    ]
    assert main([*words, "--cost", "fp=1,fn=20"]) == 0
    text = page.read_text(encoding="utf-8")
    assert "Which threshold?" in text
    assert "its mistakes cost" in text
    assert "0.04762" in text or "0.048" in text or "0.0476" in text  # 1 / 21
    said = {}
    for threshold in ("", "0.9"):
        extra = ["--threshold", threshold] if threshold else []
        assert main(["predict", str(tmp_path / "m.qed"), str(PENGUINS), "--json", "-q", *extra]) == 0
        found = answer(capsys)["predictions"]
        least = float(threshold or 1 / 21)
        called = [share >= least for share in found["probability_male"]]
        assert [one == "male" for one in found["prediction"]] == called
        said[threshold] = sum(called)
    assert said[""] > said["0.9"] > 0
    assert main(["predict", str(tmp_path / "m.qed"), str(PENGUINS), "-q", "--threshold", "2"]) == 2
    assert main(["predict", str(folder / "mass.qed"), str(PENGUINS), "-q", "--threshold", "0.2"]) == 2
    assert "for models of two classes" in capsys.readouterr().err
    assert main([*words, "--force", "--cost", "fp=1"]) == 2
    assert "--cost fp=1" in capsys.readouterr().err
