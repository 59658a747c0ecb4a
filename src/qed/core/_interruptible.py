"""Long calls of compiled libraries that know nothing of Ctrl-C, such as LAPACK's decompositions."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable


LONG_WORK = 5e7  # operations, some 10 ms: a thread costs a hundredth of that

Result = TypeVar("Result")


def interruptible(call: Callable[..., Result], *arguments: Any, work: float) -> Result:
    """Return ``call(*arguments)``; Ctrl-C ends the wait for it at once.

    A long call runs in a thread of its own, and the main thread, to which signals come, waits for it. When Ctrl-C comes the
    call goes on unheard until it ends; its arguments must not be changed meanwhile, so pass it arrays of its own.

    Parameters
    ----------
    call : callable
        A function that lets other threads run while it works, as those of NumPy and SciPy do.
    *arguments : object
        Its arguments.
    work : float
        Operations that it takes, about; short calls are made as they are.
    """
    if work < LONG_WORK or threading.current_thread() is not threading.main_thread():
        return call(*arguments)
    import contextvars  # noqa: PLC0415  (long calls only)

    found: list[Result] = []
    failed: list[BaseException] = []
    context = contextvars.copy_context()  # NumPy keeps its error settings there

    def run() -> None:
        try:
            found.append(context.run(call, *arguments))
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, name="qed-interruptible", daemon=True)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return found[0]
