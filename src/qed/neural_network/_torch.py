"""The one interface to PyTorch: loaded at the first fit, kept to one thread for as long as a fit lasts.

A sum that several threads share out is rounded as they share it. Inside `one_torch_thread` every product is made by the thread
that asks for it, so that a seed gives the same bits on any machine of one kind; what runs at the same time is decided by
`qed.neural_network._gradients`, whose blocks depend on shapes alone.
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


def load_torch(owner: str) -> Any:
    """Return the module torch, or say how to get it."""
    try:
        import torch  # noqa: PLC0415  (seconds, and only fits need it)
    except ImportError as error:
        raise ImportError(
            f'{owner} learns with PyTorch, which is not installed: pip install "qed[neural]". A fitted model predicts without it.'
        ) from error
    return torch


class _Limit:
    """Who is inside, and how many threads PyTorch had before the first of them.

    The number is kept for each thread, and new threads start with the number that was set last, wherever that was. Everyone
    who enters sets the number of their own thread and restores it, those that came later by what the first one found.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.count = 0
        self.before = 1
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self.lock = threading.Lock()  # a thread that the child does not have may hold the old one

    def enter(self, torch: Any) -> int:
        with self.lock:
            found = int(torch.get_num_threads())
            if self.count == 0:
                self.before = found
            elif found == 1:  # a new thread, which has the number of those inside
                found = self.before
            self.count += 1
            torch.set_num_threads(1)
        return found

    def leave(self, torch: Any, found: int) -> None:
        with self.lock:
            self.count -= 1
            torch.set_num_threads(found)


_limit = _Limit()


@contextmanager
def one_torch_thread(torch: Any) -> Iterator[None]:
    """Keep PyTorch to the calling thread inside the block, and its own number of threads afterwards."""
    found = _limit.enter(torch)
    try:
        yield
    finally:
        _limit.leave(torch, found)
