from __future__ import annotations

import io
import itertools
import logging
import subprocess
import sys
import threading

import pytest

from qed.core._events import STOP, Event, Progress, StopFit, _Screen, guard, listen


def loop(steps: int = 5, **options: int) -> Progress:
    with Progress("Toy", total=steps, **options) as progress:
        for step in range(steps):
            if progress.step(value=1.0 / (step + 1)) is STOP:
                break
    return progress


def test_a_callback_hears_every_event_in_order() -> None:
    heard: list[Event] = []
    with listen(heard.append):
        loop(3)
    assert [(event.kind, event.step) for event in heard] == [
        ("start", 0), ("step", 1), ("step", 2), ("step", 3), ("end", 3)
    ]  # fmt: skip
    assert {(event.source, event.total) for event in heard} == {("Toy", 3)}
    assert heard[1].value == 1.0
    assert heard[-1].message == "finished"
    assert all(a.seconds <= b.seconds for a, b in itertools.pairwise(heard))


def test_after_the_block_nobody_listens() -> None:
    heard: list[Event] = []
    with listen(heard.append):
        pass
    loop()
    assert heard == []


def test_listeners_nest() -> None:
    outer: list[Event] = []
    inner: list[Event] = []
    with listen(outer.append):
        with listen(inner.append):
            loop(1)
        loop(1)
    assert (len(outer), len(inner)) == (6, 3)


@pytest.mark.parametrize("way", ["return", "raise"])
def test_a_callback_stops_the_loop_and_that_is_no_error(way: str) -> None:
    heard: list[Event] = []

    def callback(event: Event) -> object:
        heard.append(event)
        if event.step == 2 and way == "raise":
            raise StopFit
        return STOP if event.step == 2 else None

    with listen(callback):
        progress = loop(10)
    assert progress.is_stopped
    assert progress.steps == 2
    assert heard[-1].kind == "end"
    assert heard[-1].message == "stopped by a callback"


def test_stop_at_the_start_ends_after_the_first_step() -> None:
    with listen(lambda _: STOP):
        assert loop(10).steps == 1


def test_a_mistake_in_a_callback_comes_out_of_the_fit() -> None:
    def callback(event: Event) -> None:
        if event.kind == "step":
            raise KeyError("mistake")

    with pytest.raises(KeyError, match="mistake"), listen(callback):
        loop()


def test_the_end_is_told_when_the_fit_fails_and_a_second_error_is_noted() -> None:
    heard: list[Event] = []

    def callback(event: Event) -> None:
        heard.append(event)
        if event.kind == "end":
            raise KeyError("late")

    with pytest.raises(ZeroDivisionError) as caught, listen(callback), Progress("Toy"):
        raise ZeroDivisionError
    assert heard[-1].message == "ZeroDivisionError"
    assert "late" in caught.value.__notes__[0]


def test_threads_do_not_hear_each_other() -> None:
    heard: list[Event] = []
    with listen(heard.append):
        thread = threading.Thread(target=loop)
        thread.start()
        thread.join()
    assert heard == []


def test_steps_from_many_threads_are_all_counted() -> None:
    heard: list[Event] = []
    with listen(heard.append), Progress("Toy") as progress:
        threads = [threading.Thread(target=lambda: [progress.step() for _ in range(200)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [event.step for event in heard[1:-1]] == list(range(1, 801))


def test_steps_can_count_by_more_than_one() -> None:
    with Progress("fold", total=10) as progress:
        progress.step(count=4)
        progress.step(count=6)
    assert progress.steps == 10


def test_a_step_is_cheap_when_nobody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    def dear(*_: object) -> float:
        raise AssertionError

    with Progress("Toy") as progress:
        monkeypatch.setattr("qed.core._events.time.perf_counter", dear)  # no clock is read
        monkeypatch.setattr("qed.core._events.Event", dear)  # and no event made
        for _ in range(100):
            progress.step(1.0)
        monkeypatch.undo()


def test_verbose_prints_few_lines_on_standard_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("qed.core._events.time.perf_counter", lambda: 0.0)
    loop(1000, verbose=1)
    captured = capsys.readouterr()
    assert captured.out == ""
    first, last = captured.err.splitlines()  # no step took a second
    assert first == "Toy  0.0 s"
    assert last.startswith("Toy 1000/1000  finished  0.")


def test_lines_come_once_a_second(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    clock = iter(range(100))
    monkeypatch.setattr("qed.core._events.time.perf_counter", lambda: next(clock) * 0.4)
    loop(10, verbose=1)
    assert len(capsys.readouterr().err.splitlines()) == 2 + 3


def test_quiet_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    loop()
    assert capsys.readouterr().err == ""


def test_the_log_receives_the_same_lines(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="qed"):
        loop(3)
    assert [record.name for record in caplog.records] == ["qed", "qed"]
    assert "finished" in caplog.records[-1].message


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_a_bar_and_a_fit_inside_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rich")
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with Progress("Outer", total=2, verbose=1) as progress:
        progress.step(0.5, "half")
        loop(1, verbose=1)
        progress.step(0.25)
    assert "Outer" in screen.getvalue()
    assert "━" in screen.getvalue()
    assert "Toy 1/1  finished" in screen.getvalue()


def test_a_failing_callback_leaves_no_bar_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rich")
    monkeypatch.setattr(sys, "stderr", Terminal())

    def callback(event: Event) -> None:
        raise KeyError("at the start")

    for _ in range(2):
        with pytest.raises(KeyError), listen(callback):
            loop(verbose=1)
    for thread in [thread for thread in threading.enumerate() if "Refresh" in type(thread).__name__]:
        thread.join(timeout=600)
        assert not thread.is_alive()
    assert not _Screen.busy.locked()


def test_without_rich_a_terminal_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    loop(1, verbose=1)
    assert screen.getvalue().splitlines()[-1].startswith("Toy 1/1  finished")


def test_guard_stores_then_lets_the_interrupt_go_on() -> None:
    stored: list[str] = []
    with pytest.raises(KeyboardInterrupt), guard(lambda: stored.append("model")):
        raise KeyboardInterrupt
    assert stored == ["model"]


def test_guard_leaves_other_errors_and_success_alone() -> None:
    stored: list[str] = []
    with pytest.raises(ValueError, match="no"), guard(lambda: stored.append("model")):
        raise ValueError("no")
    with guard(lambda: stored.append("model")):
        pass
    assert stored == []


def test_an_interrupted_loop_tells_its_end() -> None:
    heard: list[Event] = []
    with pytest.raises(KeyboardInterrupt), listen(heard.append), Progress("Toy"):
        raise KeyboardInterrupt
    assert heard[-1].message == "KeyboardInterrupt"


def test_the_module_does_not_load_rich() -> None:
    code = "import sys, qed.core._events; sys.exit('rich' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0  # noqa: S603
