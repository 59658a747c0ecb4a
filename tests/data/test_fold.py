from __future__ import annotations

import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections import deque
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

from qed.core._errors import InvalidData, InvalidParameter
from qed.core._events import STOP, StopFit, listen
from qed.data import ArraySource, Executor, Interrupted, Moments, Serial, Stopped, Threads, executor, fold

X = np.random.default_rng(0).normal(size=(1000, 4)) + 1e6
SOURCE = ArraySource(X, X[:, 0], chunk_rows=37)


class Processes:
    """The seam for clusters: an executor that only needs function and chunks to be picklable."""

    def __repr__(self):
        return f"Processes({self.n})"

    def __init__(self, n):
        self.n = n

    def map(self, function, items):
        with ProcessPoolExecutor(self.n, get_context("spawn")) as pool:
            waiting = deque()
            for item in items:
                waiting.append(pool.submit(function, item))
                if len(waiting) > self.n:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()


@pytest.mark.parametrize("where", [Serial(), Threads(1), Threads(3), 2, Processes(2)], ids=repr)
def test_the_executor_changes_no_bit(where):
    expected = fold(SOURCE, Moments.of)
    assert fold(SOURCE, Moments.of, where) == expected
    with executor(where):
        assert fold(SOURCE, Moments.of) == expected


def test_the_block_chooses_and_gives_back():
    class Counting(Serial):
        calls = 0

        def map(self, function, items):
            self.calls += 1
            return super().map(function, items)

    outer, inner = Counting(), Counting()
    with executor(outer) as chosen:
        assert chosen is outer
        with executor(inner):
            fold(SOURCE, Moments.of)
        fold(SOURCE, Moments.of)
        fold(SOURCE, Moments.of, 2)
    fold(SOURCE, Moments.of)
    assert (outer.calls, inner.calls) == (1, 1)


def test_what_is_not_an_executor():
    assert isinstance(Processes(1), Executor)
    for wrong in ("thread", "dask://", "tcp://here:1", 0, True, None, 2.5, Serial):
        with pytest.raises(InvalidParameter), executor(wrong):
            pass
    assert [repr(Serial()), repr(Threads(2))] == ["Serial()", "Threads(2)"]


def test_threads_keep_the_order_and_hold_few_items():
    alive, most = 0, 0
    lock = threading.Lock()

    def items():
        nonlocal alive, most
        for i in range(40):
            with lock:
                alive += 1
                most = max(most, alive)
            yield i

    def slow_for_some(i):
        nonlocal alive
        time.sleep(0.002 * (i % 3))
        with lock:
            alive -= 1
        return i

    assert list(Threads(3).map(slow_for_some, items())) == list(range(40))
    assert most <= 4


def test_reading_overlaps_computing():
    third_was_read = threading.Event()

    def items():
        for i in range(6):
            if i == 3:
                third_was_read.set()
            yield i

    def compute(i):
        if i == 2:
            assert third_was_read.wait(600)  # it comes while this one is computed, or never
        return threading.current_thread().name

    names = list(Threads(1).map(compute, items()))
    assert len(names) == 6
    assert all(name.startswith("qed-fold") for name in names)


def test_an_error_in_a_chunk_comes_out_and_stops_the_rest():
    seen = []

    def of(chunk):
        seen.append(chunk)
        if len(seen) == 3:
            raise InvalidData("third")
        return Moments.of(chunk)

    before = threading.active_count()
    for where in (Serial(), Threads(2)):
        seen.clear()
        with pytest.raises(InvalidData, match=r"third"):
            fold(SOURCE, of, where)
        assert len(seen) < 8
    assert threading.active_count() == before


@pytest.mark.parametrize("where", [Serial(), Threads(2)], ids=repr)
def test_ctrl_c_leaves_the_statistic_so_far(where):

    class Interrupting(ArraySource):
        def chunks(self):
            for number, chunk in enumerate(super().chunks()):
                if number == 7:
                    raise KeyboardInterrupt
                yield chunk

    with pytest.raises(KeyboardInterrupt) as caught:
        fold(Interrupting(X, X[:, 0], chunk_rows=37), Moments.of, where)
    stopped = caught.value
    assert isinstance(stopped, Interrupted)
    assert stopped.rows == stopped.statistic.rows == 37 * stopped.chunks
    assert 5 <= stopped.chunks <= 7
    expected = fold(ArraySource(X[: stopped.rows], X[: stopped.rows, 0], chunk_rows=37), Moments.of)
    assert stopped.statistic == expected
    copy = pickle.loads(pickle.dumps(stopped))
    assert copy.statistic == expected


def test_a_callback_can_stop_a_fold():
    heard = []

    def callback(event):
        heard.append((event.kind, event.step, event.total))
        return STOP if event.step >= 100 else None

    with listen(callback), pytest.raises(Stopped) as caught:
        fold(SOURCE, Moments.of, name="reading")
    assert isinstance(caught.value, StopFit)
    assert not isinstance(caught.value, KeyboardInterrupt)
    assert caught.value.statistic.rows == caught.value.rows == 111
    assert heard == [
        ("start", 0, 1000),
        ("step", 37, 1000),
        ("step", 74, 1000),
        ("step", 111, 1000),
        ("end", 111, 1000),
    ]


def test_stopping_after_the_last_chunk_changes_nothing():
    with listen(lambda event: STOP if event.step == 1000 else None):
        assert fold(SOURCE, Moments.of) == fold(SOURCE, Moments.of)


def test_a_source_without_chunks_is_refused():
    class Nothing(ArraySource):
        def chunks(self):
            return iter(())

    with pytest.raises(InvalidData, match=r"Nothing gave no chunk"):
        fold(Nothing(X), Moments.of)


def test_progress_is_shown_when_asked(capsys):
    fold(SOURCE, Moments.of, name="Ridge", verbose=1)
    assert "Ridge" in capsys.readouterr().err


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers")
@pytest.mark.parametrize("where", ["threads", "serial"])
def test_a_real_ctrl_c_ends_a_fold_at_once(where):
    code = textwrap.dedent("""
        import os, signal, sys
        import numpy as np
        from qed.data import ArraySource, Interrupted, Moments, Threads, fold

        class Endless(ArraySource):
            n_rows = None
            def chunks(self):
                while True:
                    yield from super().chunks()

        where = Threads(1) if sys.argv[1] == "threads" else None
        signal.signal(signal.SIGVTALRM, signal.default_int_handler)
        begin = os.times().user  # of this process alone: other work does not count
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.3)
        try:
            fold(Endless(np.ones((2000, 20))), Moments.of, where)
        except Interrupted as stop:
            assert stop.statistic.rows == stop.rows > 0
            print(os.times().user - begin)
    """)
    child = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code, where], capture_output=True, text=True, timeout=600, check=True
    )
    assert float(child.stdout) - 0.3 < 1.0
