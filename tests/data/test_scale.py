"""The benchmark of files larger than memory, at a size that tests can afford."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks.scale.cluster import read_from_disk  # noqa: E402


@pytest.mark.skipif(not hasattr(__import__("os"), "posix_fadvise"), reason="needs posix_fadvise to empty the cache")
def test_the_benchmark_runs_in_bounded_memory_and_cleans_up(tmp_path):
    pytest.importorskip("pyarrow")
    command = [sys.executable, "-m", "benchmarks.scale.parquet", "--gigabytes", "0.05", "--repeats", "1"]
    done = subprocess.run(  # noqa: S603  our own interpreter and code
        [*command, "--folder", str(tmp_path)], check=True, capture_output=True, text=True, cwd=ROOT
    )
    head, *_, last = done.stdout.splitlines()
    assert "122,549 rows x 50 features + target" in head
    cells = [cell.strip() for cell in last.strip("|").split("|")]
    assert cells[:2] == ["warm", "fold"]
    assert float(cells[5]) < 1000, "memory does not follow the size of the files"
    assert list(tmp_path.iterdir()) == []


def test_what_disks_have_read_is_counted_once(tmp_path):
    for name, below in (("sda", ()), ("nvme0n1", ()), ("mmcblk0", ()), ("md0", ("sda",)), ("loop0", ()), ("zram0", ())):
        for one in below:
            (tmp_path / name / "slaves" / one).mkdir(parents=True)
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / "stat").write_text("   10   2   6   7   0 0 0 0 0 0 0\n")
    assert read_from_disk(tmp_path) == 3 * 6 * 512
