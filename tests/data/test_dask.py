"""Folds on a Dask cluster: the same bits as here, whatever the partitions; sources of every kind; faults; wrong input."""

from __future__ import annotations

import gc
import os
import signal
import threading
from itertools import pairwise

import dask.array as da
import dask.dataframe as dd
import distributed
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from clusters import new_cluster, two_workers
from dask.sizeof import sizeof
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from scipy import sparse

import qed
from qed.core._errors import ClusterLost, InvalidData, InvalidDataType, InvalidParameter
from qed.core._events import listen
from qed.data import Interrupted, Moments, fold, scan
from qed.data._chunk import Chunk, MixedChunk
from qed.data.executors._dask import DaskExecutor
from qed.data.executors._held import HeldBlock, HeldPart

pytestmark = pytest.mark.filterwarnings("default")  # Dask warns of ports and of sockets that a killed worker left

RNG = np.random.default_rng(0)
N, P = 400, 3
TABLE = pd.DataFrame(RNG.normal(size=(N, P)) + 1e3, columns=list("abc")).assign(y=RNG.integers(0, 3, N).astype(float))
NAMES = ["a", "b", "c"]


@pytest.fixture
def client():
    return two_workers()


def frames(cuts):
    edges = [0, *sorted(cuts), N]
    return [TABLE[start:stop] for start, stop in pairwise(edges)]


def write(folder, parts, row_group_size=17):
    for number, part in enumerate(parts):
        parquet.write_table(
            pa.Table.from_pandas(part, preserve_index=False),
            folder / f"f{number:03}.parquet",
            row_group_size=row_group_size,
        )
    return str(folder / "*.parquet")


def agree(one, other):
    assert one.rows == other.rows
    np.testing.assert_allclose(one.mean, other.mean, rtol=1e-12)
    np.testing.assert_allclose(one.scatter, other.scatter, rtol=1e-10, atol=1e-10)


@settings(max_examples=6)
@given(cuts=st.lists(st.integers(0, N), max_size=5), batch_rows=st.sampled_from([1, 7, 64, 1000]))
def test_one_chunk_is_many_chunks_is_a_cluster(cuts, batch_rows):
    client = two_workers()
    whole = fold(scan(TABLE, target="y"), Moments.of)
    source = scan(frames(cuts), target="y", batch_rows=max(batch_rows, 7))  # empty and single-row partitions among them
    here, there = fold(source, Moments.of, "serial"), fold(source, Moments.of, client)
    assert here == there == fold(source, Moments.of, "threads")
    agree(whole, there)


def test_files_give_the_same_bits_everywhere(client, tmp_path):
    source = scan(write(tmp_path, frames([1, 1, 90, 300])), target="y", batch_rows=20)
    assert len(source.parts()) > 4
    here = fold(source, Moments.of, "serial")
    assert here == fold(source, Moments.of, client) == fold(source, Moments.of, 2)
    agree(here, fold(scan(TABLE, target="y"), Moments.of))


def test_partitions_in_another_order_give_the_same_statistic(client):
    parts = frames([50, 170, 171, 390])
    agree(fold(scan(parts, target="y"), Moments.of, client), fold(scan(parts[::-1], target="y"), Moments.of, client))


def every_source(tmp_path):
    X, y = TABLE[NAMES].to_numpy(), TABLE["y"].to_numpy()
    return {
        "files": scan(write(tmp_path, frames([100, 210])), target="y", batch_rows=40),
        "pandas": scan(frames([100, 210]), target="y"),
        "polars": scan([pl.from_pandas(part) for part in frames([10])], target="y"),
        "arrow": scan([pa.Table.from_pandas(TABLE, preserve_index=False)], target="y"),
        "batches": scan(pa.Table.from_pandas(TABLE, preserve_index=False).to_batches(100), target="y"),
        "dask.dataframe": scan(dd.from_pandas(TABLE, npartitions=5), target="y"),
        "dask.array": scan(da.from_array(X, chunks=(90, 2)), target=da.from_array(y, chunks=70)),
    }


def test_every_kind_of_source(client, tmp_path):
    from qed.linear_model import LogisticRegression  # noqa: PLC0415

    whole = fold(scan(TABLE, target="y"), Moments.of)
    first = LogisticRegression().fit(TABLE[NAMES], TABLE["y"].astype(int))
    for name, source in every_source(tmp_path).items():
        agree(whole, fold(source, Moments.of, client))
        assert fold(source, Moments.of, "serial") == fold(source, Moments.of, client), name
        if name not in ("files", "dask.array", "dask.dataframe"):
            continue
        with qed.executor(client):
            model = LogisticRegression().fit(source)
        scores = model.predict_proba(TABLE[NAMES].to_numpy() if name == "dask.array" else TABLE[NAMES])
        np.testing.assert_allclose(scores, first.predict_proba(TABLE[NAMES]), atol=1e-3)  # both within tol
        assert qed.verify(model, source).holds


def test_weights_of_a_dask_array(client):
    X, y, s = TABLE[NAMES].to_numpy(), TABLE["y"].to_numpy(), np.arange(N) % 3.0
    pieces = [da.from_array(one, chunks=150) for one in (y, s)]
    source = scan(da.from_array(X, chunks=(150, 3)), target=pieces[0], weight=pieces[1])
    frame = TABLE.assign(s=s)
    agree(fold(source, Moments.of, client), fold(scan(frame, target="y", weight="s"), Moments.of))


def test_by_address_and_by_word(client, monkeypatch):
    source = scan(frames([100]), target="y")
    address = client.scheduler.address.removeprefix("tcp://")
    with qed.executor(f"dask://{address}") as runs:
        assert repr(runs) == f"DaskExecutor(tcp://{address})"
        there = fold(source, Moments.of)
    for word in ("serial", "threads"):
        with qed.executor(word):
            assert fold(source, Moments.of) == there
    assert client.status == "running"
    monkeypatch.setattr("qed.data.executors._dask.CONNECT_SECONDS", 1)
    with pytest.raises(ClusterLost, match=r"No Dask scheduler answers at '127.0.0.1:9'"):
        DaskExecutor.connected("127.0.0.1:9")


def test_rows_in_memory_stay_here(client):
    from qed.data import ArraySource  # noqa: PLC0415

    with qed.executor(client):
        assert fold(ArraySource(TABLE[NAMES].to_numpy()), lambda chunk: Pid({os.getpid()})).pids == {os.getpid()}
        pids = fold(scan(frames([100, 200, 300]), batch_rows=10), lambda chunk: Pid({os.getpid()})).pids
    assert os.getpid() not in pids


class Pid:
    def __init__(self, pids):
        self.pids = pids

    def merge(self, other):
        return Pid(self.pids | other.pids)


def test_progress_is_told(client):
    heard = []
    with listen(heard.append):
        fold(scan(frames([100, 200, 300]), target="y"), Moments.of, client, name="reading")
    assert [event.step for event in heard if event.kind == "step"] == [100, 200, 300, 400]


# -- faults --------------------------------------------------------------------------------------------------------


def _die_once(chunk, marker):
    """Kill this worker process, the first time."""
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return Moments.of(chunk)
    os.kill(os.getpid(), signal.SIGKILL)
    return None


def test_a_killed_worker_changes_nothing(client, tmp_path):
    source = scan(frames([50, 100, 150, 200, 250, 300]), target="y")
    there = fold(source, lambda chunk: _die_once(chunk, str(tmp_path / "died")), client)
    assert (tmp_path / "died").exists()
    assert there == fold(source, Moments.of)


def test_a_failing_partition_is_named(client, tmp_path):
    bad = TABLE.copy()
    bad.loc[333, "b"] = np.inf
    source = scan(write(tmp_path, [TABLE, bad]), target="y", batch_rows=30)
    with pytest.raises(InvalidData, match=r"infinity: row 333 of f001.parquet, column 'b'") as caught:
        fold(source, Moments.of, client)
    assert any("f001.parquet (row group" in note for note in caught.value.__notes__)

    def fail(chunk):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught:
        fold(source, fail, client)
    assert any("f000.parquet (row groups 0 to 1)" in note for note in caught.value.__notes__)
    damaged = tmp_path / "f001.parquet"
    content = bytearray(damaged.read_bytes())
    content[1000:3000] = bytes(2000)
    damaged.write_bytes(content)
    with pytest.raises(InvalidData, match=r"f001.parquet is damaged: .* \(row group \d+\)"):
        fold(source, Moments.of, client)


def test_ctrl_c_stops_the_tasks(client):
    source = scan(frames(range(10, 400, 10)), target="y")

    def interrupt(event):
        if event.step >= 50:
            signal.raise_signal(signal.SIGINT)

    before = set(client.futures)
    with listen(interrupt), pytest.raises(Interrupted) as caught:
        fold(source, Moments.of, client)
    assert caught.value.statistic.rows == caught.value.rows >= 50
    left = [state for key, state in client.futures.items() if key not in before]
    assert all(state.status != "pending" for state in left)  # none is left on the workers
    assert fold(source, Moments.of, client).rows == N


def test_a_lost_scheduler_is_told():
    cluster = new_cluster(1)
    mine = distributed.Client(cluster, set_as_default=False, timeout=5)
    source = scan(frames(range(10, 400, 10)), target="y")
    closed = threading.Event()

    def close(event):
        if event.step >= 50 and not closed.is_set():
            closed.set()
            cluster.close()

    with listen(close), pytest.raises(ClusterLost, match=r"scheduler cannot be reached any more") as caught:
        fold(source, Moments.of, mine)
    assert caught.value.statistic.rows == caught.value.rows >= 50
    mine.close()
    with pytest.raises(InvalidParameter, match=r"The Dask client is closed"), qed.executor(mine):
        pass


# -- wrong input ---------------------------------------------------------------------------------------------------


def test_another_version_on_the_workers(client, monkeypatch):
    monkeypatch.setattr("qed.__version__", "99.0")
    with pytest.raises(InvalidParameter, match=r"The worker tcp://\S+ runs qed .* and this process qed 99.0"):
        DaskExecutor(client)


def test_partitions_that_differ():
    with pytest.raises(InvalidData, match=r"Column 'b' is not in partition 1"):
        scan([TABLE, TABLE.drop(columns="b")], target="y")
    with pytest.raises(InvalidDataType, match=r"Column 'b' is Float64 in the first partition and Int64 in partition 1"):
        scan([TABLE, TABLE.assign(b=1)], target="y")
    times = TABLE.assign(b=pd.Timestamp("2020-01-01"))
    with pytest.raises(InvalidDataType, match=r"Column 'b' of partition 0 is Datetime.*, and only numbers and words"):
        scan([times], target="y")
    gap = TABLE.assign(y=[None if i == 7 else 1.0 for i in range(N)])
    with pytest.raises(InvalidData, match=r"Column 'y' has no value in row 7 of partition 1"):
        fold(scan([TABLE, gap], target="y"), Moments.of)
    with pytest.raises(InvalidParameter, match=r"named for two roles"):
        scan(TABLE, target="y", features=["a", "y"])
    with pytest.raises(InvalidParameter, match=r"schema is for files"):
        scan(TABLE, schema={"a": "float64"})


def test_wrong_dask_collections(client):
    X = da.from_array(TABLE[NAMES].to_numpy(), chunks=100)
    with pytest.raises(InvalidData, match=r"X has 400 rows, and target has 10"):
        scan(X, target=da.ones(10))
    with pytest.raises(InvalidParameter, match=r"Beside a dask.array, target is a dask.array"):
        scan(X, target="y")
    with pytest.raises(InvalidParameter, match=r"index it"):
        scan(X, features=["a"])
    with pytest.raises(InvalidData, match=r"two dimensions"):
        scan(X[:, 0])
    times = dd.from_pandas(TABLE.assign(b=pd.Timestamp("2020-01-01")), npartitions=2)
    with pytest.raises(InvalidDataType, match=r"Column 'b' of the Dask dataframe is"):
        scan(times, target="y")
    changed = dd.from_map(
        lambda k: TABLE if k else TABLE.assign(b=TABLE["b"].astype("float32")), [1, 0], meta=TABLE[:0]
    )
    with pytest.raises(
        InvalidDataType, match=r"Column 'b' is Float64 .* Float32 in partition 1 of the Dask collection"
    ):
        fold(scan(changed, target="y"), Moments.of, client)


def kept_parts(runs):
    return runs._held.kept()


def test_files_that_are_read_again_are_kept_by_the_workers(client, tmp_path):
    source = scan(write(tmp_path, frames([100, 210])), target="y", batch_rows=40)
    here = fold(source, Moments.of, "serial")
    with qed.executor(client) as runs:
        assert fold(source, Moments.of) == here
        assert not kept_parts(runs)  # one pass keeps nothing
        assert fold(source, Moments.of) == here
        assert len(kept_parts(runs)) == len(source.parts())
        for path in tmp_path.iterdir():
            path.unlink()
        assert fold(source, Moments.of) == here  # nothing is read any more
        rows = source.changed(np.negative, P, None)
        np.testing.assert_allclose(fold(rows, Moments.of).mean[:P], -here.mean[:P])
    assert not runs._held


def first_value(chunk):
    return float(chunk.X[0, 0])


def test_parts_of_a_fit_of_several_passes_are_kept_from_the_first_one(client, tmp_path):
    source = scan(write(tmp_path, frames([100, 210])), target="y", batch_rows=40)
    here, first = fold(source, Moments.of, "serial"), [first_value(chunk) for chunk in source.chunks()]
    with qed.executor(client) as runs:
        runs.expect_passes(source.parts())
        assert fold(source, Moments.of) == here
        assert len(kept_parts(runs)) == len(source.parts())
        blocks = runs._held.blocks()
        assert 2 <= len(blocks) < len(source.parts())  # several parts are read, and computed with, by a task
        for path in tmp_path.iterdir():
            path.unlink()
        assert fold(source, Moments.of) == here
        assert list(source.each(first_value)) == first


def test_blocks_know_their_bytes():
    chunk = Chunk(np.zeros((50, 4)), np.zeros((50, 1)), np.ones(50))
    few = Chunk(sparse.csr_array(np.eye(10)))
    codes, words = np.zeros((40, 2)), np.array(["w" * 1000, "v" * 1000], dtype=object)
    mixed = MixedChunk(codes, (None, words), np.zeros((40, 1)))
    assert chunk.nbytes == 8 * (200 + 50 + 50)
    assert few.nbytes >= 10 * (8 + 4) + 11 * 4
    assert mixed.nbytes >= codes.nbytes + 2000 + 8 * 40
    block = HeldBlock(tuple(HeldPart("a part", (one,)) for one in (chunk, few, mixed)))
    assert sizeof(block) >= chunk.nbytes + few.nbytes + mixed.nbytes


def test_blocks_go_with_their_source(client, tmp_path):
    with qed.executor(client) as runs:
        source = scan(write(tmp_path, frames([100, 210])), target="y", batch_rows=40)
        runs.expect_passes(source.parts())
        fold(source, Moments.of)
        assert runs._held
        del source
        gc.collect()
        assert not runs._held


def test_workers_keep_no_more_than_they_may(client, tmp_path, monkeypatch):
    source = scan(write(tmp_path, frames([100, 210])), target="y", batch_rows=40)
    monkeypatch.setattr("qed.data.executors._held.HELD_BYTES", source.parts()[0].nbytes)
    with qed.executor(client) as runs:
        first, second = fold(source, Moments.of), fold(source, Moments.of)
        kept = kept_parts(runs)
        another = scan(str(tmp_path / "*.parquet"), target="y", batch_rows=40)
        for _ in range(3):  # what is not read any more makes room
            assert fold(another, Moments.of) == first
        assert len(kept_parts(runs)) == 2
        assert set(kept_parts(runs)) <= set(another.parts())
    assert first == second == fold(source, Moments.of, "serial")
    assert len(kept) == 2  # one for each worker
    assert sum(len(frame) * 32 for frame in frames([100, 210])) == sum(part.nbytes for part in source.parts())


def test_a_part_that_could_not_be_read_is_read_again(client, tmp_path):
    source = scan(write(tmp_path, frames([100, 210])), target="y", batch_rows=40)
    with qed.executor(client):
        here = fold(source, Moments.of)
        path = tmp_path / "f001.parquet"
        saved = path.read_bytes()
        path.unlink()
        with pytest.raises(InvalidData, match=r"f001\.parquet does not exist") as caught:
            fold(source, Moments.of)
        assert any("f001.parquet" in note for note in caught.value.__notes__)
        path.write_bytes(saved)
        assert fold(source, Moments.of) == here == fold(source, Moments.of)
