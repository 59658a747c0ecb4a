"""Properties that are computed once, without a lock that a forked process could inherit."""

import threading

from qed.core._once import cached_property


class Slow:
    calls = 0

    def __init__(self, begun=None, go=None):
        self.begun, self.go = begun, go

    @cached_property
    def value(self):
        """What takes its time."""
        self.calls += 1
        if self.go is not None:
            self.begun.set()
            self.go.wait(10)
        return self.calls


def test_a_property_is_computed_once_and_kept_in_the_instance():
    one = Slow()
    assert (one.value, one.value, one.__dict__["value"]) == (1, 1, 1)
    assert Slow.value.__doc__ == "What takes its time."


def test_no_instance_waits_for_another():
    begun, go = threading.Event(), threading.Event()
    other = threading.Thread(target=lambda: Slow(begun, go).value)
    other.start()
    assert begun.wait(10)
    found = []
    mine = threading.Thread(target=lambda: found.append(Slow().value))
    mine.start()
    mine.join(5)
    go.set()
    other.join()
    assert found == [1]
