"""The same work for many parts: in order, heard, and left off when nobody asks for more."""

from __future__ import annotations

import threading
import time

import pytest

import qed
from qed.core._events import Progress
from qed.core._jobs import mapped


@pytest.mark.parametrize("n_jobs", [None, 1, 3, -1])
def test_answers_come_in_the_order_of_the_parts(n_jobs):
    def late(k: int) -> int:
        time.sleep(0.002 * (5 - k))
        return k * k

    assert list(mapped(late, range(5), n_jobs)) == [0, 1, 4, 9, 16]


def test_parts_run_at_the_same_time():
    both = threading.Barrier(2, timeout=600)
    assert len(set(mapped(lambda _: (both.wait(), threading.get_ident())[1], range(2), 2))) == 2


def test_whoever_listens_hears_what_happens_in_threads():
    def speak(k: int) -> None:
        with Progress(f"part {k}"):
            pass

    heard = []
    with qed.listen(lambda event: heard.append((event.source, event.kind))):
        list(mapped(speak, range(3), 2))
    assert sorted(heard) == sorted((f"part {k}", kind) for k in range(3) for kind in ("start", "end"))


def test_an_error_leaves_the_rest_undone():
    done = []

    def work(k: int) -> None:
        if k == 0:
            raise ArithmeticError
        time.sleep(0.2)  # all of them would take 5 s: nobody waits that long for the error
        done.append(k)

    with pytest.raises(ArithmeticError):
        list(mapped(work, range(50), 2))
    assert len(done) < 49


@pytest.mark.parametrize("n_jobs", [0, True, 1.5])
def test_numbers_of_jobs_without_sense(n_jobs):
    with pytest.raises(qed.InvalidParameter, match="whole number other than 0"):
        list(mapped(abs, [1, 2], n_jobs))
