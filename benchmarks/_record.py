"""What was measured: kept as results.json, printed as RESULTS.md."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks._judge import TOLERANCE, report_words
from benchmarks.adapters import RIVALS, adapter

HERE = Path(__file__).resolve().parent
STORE = HERE / "results.json"
PAGE = HERE / "RESULTS.md"
TIE = (0.8, 1.3)


@dataclass(frozen=True)
class Measure:
    """Medians for one rival on one problem.

    Seconds; bytes beyond the data; objective above the best, relative to the null model's.
    """

    cold: float
    warm: float | None
    extra_bytes: int | None
    excess: float

    @property
    def seconds(self) -> float:
        return self.cold if self.warm is None else self.warm


@dataclass(frozen=True)
class Row:
    name: str
    title: str
    date: str
    commit: str
    scale: float
    cpu: str
    measures: dict[str, Measure]


def machine(threads: int) -> tuple[str, dict[str, Any]]:
    """Return the name of the processor, and what else of this machine matters to a time."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [
            line.split(":", 1)[1].strip()
            for line in info.read_text(encoding="utf-8").splitlines()
            if line.startswith("model name")
        ]
        cpu = names[0] if names else cpu
    host = {"threads": threads, "system": platform.platform(terse=True), "python": platform.python_version()}
    return cpu, host


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def load() -> dict[str, Any]:
    if not STORE.exists():
        return {"machines": {}, "versions": {}, "rows": {}}
    stored: dict[str, Any] = json.loads(STORE.read_text(encoding="utf-8"))
    return stored


def save(stored: dict[str, Any], rows: list[Row]) -> None:
    """Add rows to what is stored and print everything anew. A row keeps the date on which it was measured."""
    for row in rows:
        stored["rows"][row.name] = asdict(row)
    _replace(STORE, json.dumps(stored, indent=1) + "\n")
    _replace(PAGE, render(stored))


def _replace(path: Path, text: str) -> None:
    fresh = path.with_suffix(path.suffix + ".new")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(path)


def rows_of(stored: dict[str, Any]) -> list[Row]:
    return [
        Row(**{**row, "measures": {rival: Measure(**values) for rival, values in row["measures"].items()}})
        for row in stored["rows"].values()
    ]


def ratio_words(ours: Measure, theirs: Measure | None) -> str:
    """Their time over ours. Below one we lost, and the cell says so in bold."""
    if theirs is None:
        return "–"
    if ours.excess > TOLERANCE >= theirs.excess:
        return "**worse answer**"
    ratio = theirs.seconds / ours.seconds
    return f"{ratio:.1f}×" if ratio >= 1 else f"**{ratio:.2f}× slower**"


def seconds_words(measure: Measure | None, field: str) -> str:
    value = None if measure is None else getattr(measure, field)
    if measure is None or value is None:
        return "–"
    text = f"{value:.2f} s" if value >= 1 else f"{1e3 * value:.0f} ms" if value >= 0.01 else f"{1e3 * value:.2f} ms"
    return text + report_words(measure.excess)


def best_peer(row: Row) -> Measure | None:
    """The fastest rival whose answer is as good as the best."""
    peers = [measure for rival, measure in row.measures.items() if rival != "ours" and measure.excess <= TOLERANCE]
    return min(peers, key=lambda measure: measure.seconds, default=None)


def summary(rows: list[Row]) -> list[str]:
    """The short table, also shown in the README."""
    lines = [
        "| problem | qed | scikit-learn | best peer | against scikit-learn | against the best |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        ours = row.measures["ours"]
        theirs, best = row.measures.get("scikit_learn"), best_peer(row)
        field = "cold" if ours.warm is None else "warm"
        times = " | ".join(seconds_words(measure, field) for measure in (ours, theirs, best))
        lines.append(f"| {row.title} | {times} | {ratio_words(ours, theirs)} | {ratio_words(ours, best)} |")
    return lines


def details(rows: list[Row]) -> list[str]:
    lines = ["| problem | who | warm | cold | extra memory | measured |", "|---|---|---|---|---|---|"]
    for row in rows:
        for rival in RIVALS:
            if rival not in row.measures:
                continue
            measure = row.measures[rival]
            memory = "–" if measure.extra_bytes is None else f"{max(0, measure.extra_bytes) / 1e6:.0f} MB"
            who = adapter(rival).NAME
            times = f"{seconds_words(measure, 'warm')} | {seconds_words(measure, 'cold')}"
            scaled = "" if row.scale == 1 else f", size × {row.scale:g}"
            lines.append(f"| {row.title}{scaled} | {who} | {times} | {memory} | {row.date}, {row.commit}, {row.cpu} |")
    return lines


def machines_words(stored: dict[str, Any], rows: list[Row]) -> str:
    """Name the machines, with the rows that were measured on each."""
    return "; ".join(
        f"{sum(row.cpu == cpu for row in rows)} rows on {cpu}, {host['threads']} threads, {host['system']}, Python {host['python']}"
        for cpu, host in sorted(stored["machines"].items())
        if any(row.cpu == cpu for row in rows)
    )


def render(stored: dict[str, Any]) -> str:
    rows = rows_of(stored)
    if not rows:
        return "# Results\n\nNot measured yet: `make bench` writes this page.\n"
    versions = stored["versions"]
    lost = sum(_is_lost(row) for row in rows)
    lines = [
        "# Results",
        "",
        "Written by `make bench`; do not edit. Medians of interleaved runs, validation and certificate included.",
        f"A ratio above one means that qed is faster; {TIE[0]}–{TIE[1]} is a tie where times move from run",
        "to run. An answer counts as equal when its objective,",
        f"judged in float64, is within {TOLERANCE:.0e} of the null model's objective of the best one.",
        "",
        f"{machines_words(stored, rows)};",
        ", ".join(f"{name} {version}" for name, version in sorted(versions.items())) + ".",
        "",
        f"{len(rows)} rows, of which qed loses {lost} to its best peer.",
        "",
        "## At a glance",
        "",
        *summary(rows),
        "",
        "## Everything",
        "",
        "*Warm*: fits after the first. *Cold*: the library's import (NumPy and data are already there) plus the first",
        "fit; for the row about the first fit, a whole process. *Extra memory*: peak beyond the data in the first.",
        "",
        *details(rows),
        "",
    ]
    for key, title in (("larger_than_memory", "Larger than memory"), ("on_a_cluster", "On a Dask cluster")):
        if (scale := stored.get(key)) is None:
            continue
        lines += [
            f"## {title}",
            "",
            f"Measured {scale['stamp']}.",
            "",
            scale["text"].rstrip(),
            "",
        ]
    return "\n".join(lines)


def _is_lost(row: Row) -> bool:
    """Whether somebody is faster with an answer as good, or has a better one."""
    best, ours = best_peer(row), row.measures["ours"]
    return best is not None and (best.seconds < ours.seconds or ours.excess > TOLERANCE)
