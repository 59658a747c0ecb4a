"""Tasks that were sent out to workers of a cluster, and items that stay with a worker from pass to pass."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from qed.core._errors import ClusterLost

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

B = TypeVar("B")


class Stranded(Exception):  # noqa: N818  (nobody outside of the executors sees it)
    """Tasks wait for a worker that is not among those that are there."""

    def __init__(self, workers: set[str]) -> None:
        self.workers = workers


class Sent(NamedTuple):
    """A task that was sent out, and the items that it answers."""

    future: Any
    group: list[Any]
    address: str = ""  # of the worker that it, or the reading of its block, was sent to, if to a certain one
    places: Sequence[int] = ()  # of the answers among those of all items, where these come in another order
    deaths: int = 0  # how often it was sent again because that worker was gone

    def is_stranded(self, workers: set[str]) -> bool:
        """Say whether it has no result, and its worker is not among these."""
        has_ended = self.future.status in (
            "finished",
            "error",
        )  # "lost" and "cancelled" have not: its block may be forgotten
        return bool(self.address) and self.address not in workers and not has_ended

    def given_up(self) -> ClusterLost:
        """Return the error that workers died of it."""
        return ClusterLost(
            f"Workers died again and again while they computed {self.label or 'a task'}: it may need more memory than a worker "
            "has. Give workers more memory, or scan with a smaller batch_rows."
        )

    @property
    def label(self) -> str:
        """The first item, and how many there are behind it."""
        first, count = str(getattr(self.group[0], "label", "")), len(self.group)
        return first if count == 1 or not first else f"{first} and {count - 1} parts behind it"


class Workers(Protocol):
    """What `Placed` asks of an executor."""

    def require_cluster(self) -> list[tuple[str, int]]:
        """Return the threads of the workers, each an address and a number."""
        ...

    def submit_to(self, address: str, function: Any, items: list[Any], places: list[int]) -> list[Sent]:
        """Send items to a worker."""
        ...

    def ready(self, waiting: deque[Sent], count: int) -> list[Any]:
        """Wait for the first results, and take them out; `Stranded` when a worker is gone that tasks were sent to."""
        ...

    def send_again(self, waiting: deque[Sent], workers: set[str], send: Callable[[Sent], list[Sent]]) -> None:
        """Send tasks again whose worker is gone."""
        ...

    def cleared(self, waiting: deque[Sent]) -> AbstractContextManager[None]:
        """Cancel what is left of the tasks at the end."""
        ...


class Placed:
    """Items that have a number go to the worker that had that number before: one task a thread, of all items that it gets.

    A worker that dies loses its numbers to the others. Dask then gives its tasks to them, too.
    """

    def __init__(self, runs: Workers) -> None:
        self._runs = runs
        self._owners: dict[int, tuple[str, int]] = {}

    def map(self, function: Callable[[Any], B], items: Iterable[Any], /) -> Iterator[B]:
        """Apply the function on the workers; results come in the order of the items."""
        every = list(items)
        answers: dict[int, Any] = {}
        waiting: deque[Sent] = deque()
        with self._runs.cleared(waiting):
            waiting.extend(self._send(function, every, range(len(every))))
            while waiting:
                sent = list(waiting)
                try:
                    found = self._runs.ready(waiting, len(waiting))
                except Stranded as stranded:
                    self._runs.send_again(
                        waiting, stranded.workers, lambda sent: self._send(function, sent.group, sent.places)
                    )
                    continue
                for one, some in zip(sent, found, strict=True):
                    answers.update(zip(one.places, some, strict=True))
        return iter([answers[place] for place in range(len(every))])

    def _send(self, function: Any, items: Sequence[Any], places: Sequence[int]) -> list[Sent]:
        """Send items to the workers that their numbers belong to; places are those of their answers."""
        owners = self._placed([item.number for item in items], self._runs.require_cluster())
        groups: dict[tuple[str, int], list[int]] = {}
        for at, owner in enumerate(owners):
            groups.setdefault(owner, []).append(at)
        sent: list[Sent] = []
        for (address, _), group in groups.items():
            sent += self._runs.submit_to(address, function, [items[at] for at in group], [places[at] for at in group])
        return sent

    def _placed(self, numbers: Sequence[int], threads: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
        """Return the worker and its thread that each number belongs to; new ones go to those that have fewest."""
        load = dict.fromkeys(threads, 0)
        self._owners = {number: owner for number, owner in self._owners.items() if owner in load}
        for owner in self._owners.values():
            load[owner] += 1
        for number in numbers:
            if number not in self._owners:
                self._owners[number] = min(load, key=lambda one: (load[one], one))
                load[self._owners[number]] += 1
        return [self._owners[number] for number in numbers]
