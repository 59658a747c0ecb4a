"""Fits in other processes: fork, spawn, loky, Ctrl-C; and models that travel between them."""

from __future__ import annotations

import copy
import io
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
import pytest
import scipy.sparse
from sklearn.model_selection import cross_val_score

import qed
from qed.linear_model import LinearRegression, Ridge, RidgeCV

if TYPE_CHECKING:
    from pathlib import Path

MODELS: list[Any] = [LinearRegression(), Ridge(alpha=0.5), RidgeCV()]
model_of = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def data(n: int = 5_000, p: int = 12) -> tuple[Any, Any]:
    rng = np.random.default_rng(23)
    X = rng.standard_normal((n, p))
    return X, X @ rng.standard_normal(p) + 0.1 * rng.standard_normal(n)


def in_a_process(code: str, *, timeout: float = 600) -> str:
    """Run code in a fresh interpreter, warnings being errors, and return what it printed."""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


FORK = """
    import os, sys, threading
    import numpy as np, scipy.sparse
    import qed
    from qed.linear_model import LinearRegression, Ridge, RidgeCV

    qed.set_num_threads(3)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 20))
    y = X[:, 0] + rng.standard_normal(20_000)
    S = scipy.sparse.random_array((20_000, 6_000), density=0.002, format="csr", rng=rng)

    def work():
        found = [LinearRegression().fit(X, y), Ridge().fit(X[:200], y[:200]), RidgeCV().fit(X, y), Ridge().fit(S, y)]
        wide = Ridge().fit(X[:50].T @ X[:50, :5] @ np.ones((5, 400)), y[:20])
        return b"".join(model.coef_.tobytes() for model in [*found, wide])

    want = work()
    busy = True

    def others():
        while busy:
            work()

    callers = [threading.Thread(target=others) for _ in range({others})]
    for caller in callers:
        caller.start()
    codes = []
    for _ in range(4):
        child = os.fork()
        if child == 0:
            os._exit(0 if work() == want else 1)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    busy = False
    for caller in callers:
        caller.join()
    print(codes, work() == want)
"""


@needs_fork
@pytest.mark.parametrize("others", [0, 2], ids=["alone", "while other threads fit"])
def test_a_forked_child_fits_again(others: int) -> None:
    assert in_a_process(FORK.replace("{others}", str(others))) == "[0, 0, 0, 0] True"


SCRIPT = """
import multiprocessing
import numpy as np
import qed
from qed.linear_model import LinearRegression, RidgeCV


def bits(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((5_000, 12))
    y = X[:, 0] + rng.standard_normal(5_000)
    return [model.fit(X, y).coef_.tobytes() for model in (LinearRegression(), RidgeCV())]


if __name__ == "__main__":
    want = [bits(seed) for seed in range(4)]
    with multiprocessing.get_context("{method}").Pool(2) as pool:
        assert pool.map(bits, range(4)) == want
"""


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_multiprocessing(method: str, tmp_path: Path) -> None:
    script = tmp_path / "work.py"
    script.write_text(SCRIPT.replace("{method}", method), encoding="utf-8")
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-W", "error", str(script)], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr


@model_of
def test_loky_gives_the_serial_scores(model: Any) -> None:
    X, y = data()
    parallel = cross_val_score(model, X, y, cv=4, n_jobs=2)
    assert parallel.tolist() == cross_val_score(model, X, y, cv=4).tolist()


def test_models_fitted_in_workers_come_back_whole() -> None:
    X, y = data()
    found = joblib.Parallel(n_jobs=2)(joblib.delayed(type(model).fit)(model, X, y) for model in MODELS)
    for back, model in zip(found, MODELS, strict=True):
        assert back.coef_.tobytes() == model.fit(X, y).coef_.tobytes()
        assert qed.verify(back, X, y).holds


# Seconds are those of the process alone: other work on the machine does not count.
INTERRUPT = """
    import os, signal, sys
    import numpy as np, scipy.sparse
    import qed
    from qed.linear_model import LinearRegression, Ridge, RidgeCV

    rng = np.random.default_rng(0)
    {setup}
    signal.signal(signal.SIGVTALRM, signal.default_int_handler)
    begin = os.times().user
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.5, 0.5)  # again, should Python lose the first in the callback of a weak reference
    try:
        while True:
            {work}
    except KeyboardInterrupt:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        print(os.times().user - begin)
"""
# A million rows that are one: time without memory.
LONG: dict[str, tuple[str, str]] = {
    "one large fit": (
        "X = np.broadcast_to(rng.standard_normal(600), (2_000_000, 600)); y = np.zeros(len(X))",
        "LinearRegression().fit(X, y)",
    ),
    "products of rows": ("X = rng.standard_normal((3_000, 8_000)); y = X[:, 0].copy()", "Ridge().fit(X, y)"),
    "small fits": ("X = rng.standard_normal((200, 5)); y = X[:, 0].copy()", "LinearRegression().fit(X, y)"),
    "conjugate gradients": (
        "X = scipy.sparse.random_array((100_000, 20_000), density=1e-3, format='csr', rng=rng); y = X @ np.ones(20_000)",
        "LinearRegression(tol=0.0).fit(X, y)",
    ),
    "leave-one-out": ("X = rng.standard_normal((40_000, 300)); y = X[:, 0].copy()", "RidgeCV().fit(X, y)"),
    "columns that depend on each other": (
        "X = rng.standard_normal((40_000, 300)); X[:, 1] = X[:, 0]; y = X[:, 2].copy()",
        "LinearRegression().fit(X, y)",
    ),
}


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers")
@pytest.mark.parametrize("name", LONG)
def test_interrupts_end_a_fit_soon(name: str) -> None:
    setup, work = LONG[name]
    out = in_a_process(textwrap.dedent(INTERRUPT).replace("{setup}", setup).replace("{work}", work))
    assert float(out) - 0.5 < 2.0  # the promise is 0.2 s


ONCE = """
    import os, signal
    import numpy as np, scipy.sparse
    import qed
    from qed.data import ArraySource
    from qed.linear_model import LinearRegression

    rng = np.random.default_rng(0)
    told = []

    def stop(event):
        if event.kind == "step" and not told:
            told.append(event)
            os.kill(os.getpid(), signal.SIGINT)

    def interrupted(X, y=None):
        model = LinearRegression(tol=1e-12)
        try:
            with qed.listen(stop):
                model.fit(X, y)
        except KeyboardInterrupt:
            return model
"""


def test_an_interrupted_iteration_leaves_a_model_whose_certificate_holds() -> None:
    code = """
        S = scipy.sparse.random_array((2_000, 300), density=0.05, format="csr", rng=rng)
        y = S @ np.arange(300.0)
        model = interrupted(S, y)
        print(model.certificate_.outcome, model.certificate_.reached, model.predict(S[:3]).shape)
        print(qed.verify(model, S, y).holds)
    """
    out = in_a_process(textwrap.dedent(ONCE) + textwrap.dedent(code))
    assert out.split() == ["interrupted", "False", "(3,)", "True"]


def test_an_interrupted_pass_leaves_the_model_of_the_rows_it_saw() -> None:
    code = """
        X = rng.standard_normal((4_000, 6))
        y = X @ np.arange(6.0) + rng.standard_normal(4_000)
        model = interrupted(ArraySource(X, y, chunk_rows=1_000))
        print(model.certificate_.outcome, qed.verify(model, X[:1_000], y[:1_000]).holds)
    """
    assert in_a_process(textwrap.dedent(ONCE) + textwrap.dedent(code)) == "interrupted True"


def travelled(model: Any, how: str, folder: Path) -> Any:
    if how == "pickle":
        return pickle.loads(pickle.dumps(model, protocol=5))
    if how == "oldest pickle":
        return pickle.loads(pickle.dumps(model, protocol=2))
    if how == "deepcopy":
        return copy.deepcopy(model)
    if how == "save":
        model.save(folder / "model.qed")
        return qed.load(folder / "model.qed")
    if how == "memory map":
        joblib.dump(model, folder / "model.joblib")
        return joblib.load(folder / "model.joblib", mmap_mode="r")
    buffer = io.BytesIO()
    joblib.dump(model, buffer)
    buffer.seek(0)
    return joblib.load(buffer)


@model_of
@pytest.mark.parametrize("how", ["pickle", "oldest pickle", "deepcopy", "save", "joblib", "memory map"])
@pytest.mark.parametrize("kind", ["dense", "sparse", "wide", "several targets"])
def test_models_travel_whole(model: Any, how: str, kind: str, tmp_path: Path) -> None:
    X, y = data(300, 8)
    if kind == "sparse":
        X = scipy.sparse.csr_array(X * (X > 1))
    elif kind == "wide":
        X, y = data(30, 100)
    elif kind == "several targets":
        y = np.column_stack([y, -y, X[:, 0]])
    model = type(model)(**model.get_params()).fit(X, y)
    back = travelled(model, how, tmp_path)
    assert type(back) is type(model)
    assert back.get_params() == model.get_params()
    assert back.predict(X).tobytes() == model.predict(X).tobytes()
    assert back.certificate_.gap == model.certificate_.gap
    assert qed.verify(back, X, y).holds


@pytest.mark.parametrize("how", ["pickle", "deepcopy", "save", "joblib", "memory map"])
def test_models_that_travelled_learn_on(how: str, tmp_path: Path) -> None:
    X, y = data(300, 8)
    back = travelled(LinearRegression().fit(X[:200], y[:200]), how, tmp_path)
    back.partial_fit(X[200:], y[200:])
    np.testing.assert_allclose(back.coef_, LinearRegression().fit(X, y).coef_, rtol=1e-12)
    assert qed.verify(back, X, y).holds


def test_errors_travel() -> None:
    with pytest.raises(qed.InvalidData) as caught:
        LinearRegression().fit([[np.nan]], [1.0])
    back = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(back, qed.InvalidData)
    assert str(back) == str(caught.value)


FORK_INSIDE = """
    import os, threading
    import threadpoolctl
    import qed
    from qed.core import _threads

    def numbers():
        return [info["num_threads"] for info in threadpoolctl.threadpool_info() if info["user_api"] in ("blas", "qed")]

    def in_child(check):
        child = os.fork()
        if child == 0:
            os._exit(0 if check() else 1)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    def limited():
        with _threads.one_blas_thread(), _threads.limited_threads(1):
            entered.set()
            leave.wait()

    qed.set_num_threads(3)
    threadpoolctl.threadpool_limits(limits=2, user_api="blas")
    before = numbers()
    entered, leave = threading.Event(), threading.Event()
    other = threading.Thread(target=limited)
    other.start()
    entered.wait()
    assert numbers() != before
    codes = [in_child(lambda: numbers() == before)]  # what the other thread limited is its own affair

    with _threads.one_blas_thread(), _threads.limited_threads(1):
        inside = numbers()
        codes.append(in_child(lambda: numbers() == inside))  # still inside a block of its own

    def own_block():
        with _threads.one_blas_thread(), _threads.limited_threads(1):
            child = os.fork()
        if child == 0:
            os._exit(0 if numbers() == before else 1)  # left its own block, and nobody else is there
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    codes.append(own_block())
    leave.set()
    other.join()
    print(codes, numbers() == before)
"""


@needs_fork
def test_a_child_is_not_bound_by_limits_that_nobody_there_will_lift() -> None:
    assert in_a_process(FORK_INSIDE) == "[0, 0, 0] True"
