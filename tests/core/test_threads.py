"""The number of threads: where it comes from and who may change it."""

import os
import subprocess
import sys
import threading

import pytest
import threadpoolctl

from qed.core import _threads
from qed.core._errors import InvalidParameter


@pytest.fixture(autouse=True)
def _same_number_afterwards():
    before = _threads.get_num_threads()
    yield
    _threads.set_num_threads(before)


def fresh(code, **environment):
    clean = {key: value for key, value in os.environ.items() if key not in ("OMP_NUM_THREADS", "QED_NUM_THREADS")}
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        timeout=600,
        env={**clean, **environment},
        check=False,
    )
    return done.stdout.strip() or done.stderr


COUNT = "from qed.core import _threads; print(_threads.get_num_threads())"


def test_set_and_get():
    _threads.set_num_threads(3)
    assert _threads.get_num_threads() == 3


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "2", True, None])
def test_wrong_numbers_are_refused(wrong):
    with pytest.raises(InvalidParameter, match="whole number >= 1"):
        _threads.set_num_threads(wrong)


def test_environment():
    assert fresh(COUNT, OMP_NUM_THREADS="1") == "1"
    assert fresh(COUNT, OMP_NUM_THREADS="1,2") == "1"
    assert fresh(COUNT, OMP_NUM_THREADS="many") == fresh(COUNT)
    assert fresh(COUNT, OMP_NUM_THREADS="1", QED_NUM_THREADS="5") == "5"
    assert "QED_NUM_THREADS must be a whole number >= 1, got 'many'" in fresh(COUNT, QED_NUM_THREADS="many")


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system has no affinity masks")
def test_affinity():
    code = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); "
    assert fresh(code + COUNT) == "1"


@pytest.mark.parametrize(
    ("files", "groups", "share"),
    [
        ({"cpu.max": "150000 100000"}, "0::/\n", 2),
        ({"cpu.max": "max 100000"}, "0::/\n", None),
        ({"cpu.max": "400000 100000", "pod/cpu.max": "50000 100000"}, "0::/pod/inner\n", 1),
        ({"cpu/cpu.cfs_quota_us": "300000", "cpu/cpu.cfs_period_us": "100000"}, "4:cpu:/\n", 3),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, "4:cpu:/\n", None),
        ({"cpu,cpuacct/job/cpu.cfs_quota_us": "90000", "cpu,cpuacct/job/cpu.cfs_period_us": "100000"},
         "4:cpu,cpuacct:/job\n", 1),
        ({}, "", None),
    ],
)  # fmt: skip
def test_control_groups(tmp_path, files, groups, share):
    for name, text in files.items():
        path = tmp_path / "root" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    (tmp_path / "groups").write_text(groups)
    assert _threads._cgroup_share(str(tmp_path / "root"), str(tmp_path / "groups")) == share


def test_threadpoolctl_sees_and_limits_qed():
    _threads.set_num_threads(4)
    (info,) = [info for info in threadpoolctl.threadpool_info() if info["user_api"] == "qed"]
    assert info["num_threads"] == 4
    with threadpoolctl.threadpool_limits(limits=1):
        assert _threads.get_num_threads() == 1
    with threadpoolctl.threadpool_limits(limits=2, user_api="qed"):
        assert _threads.get_num_threads() == 2
    assert _threads.get_num_threads() == 4


def blas_threads():
    return {info["num_threads"] for info in threadpoolctl.threadpool_info() if info["user_api"] == "blas"}


def test_one_blas_thread():
    before = blas_threads()
    with _threads.one_blas_thread():
        assert blas_threads() == {1}
        with _threads.one_blas_thread():
            assert blas_threads() == {1}
        assert blas_threads() == {1}
    assert blas_threads() == before


def test_overlapping_limits_restore_what_was():
    with threadpoolctl.threadpool_limits(limits=2, user_api="blas"):
        before = blas_threads()  # some wheels bring a library that never has more than one
        assert 2 in before
        entered, leave = threading.Event(), threading.Event()

        def other():
            with _threads.one_blas_thread():
                entered.set()
                leave.wait()

        thread = threading.Thread(target=other)
        with _threads.one_blas_thread():
            thread.start()
            entered.wait()
        assert blas_threads() == {1}  # the other one is still inside
        leave.set()
        thread.join()
        assert blas_threads() == before


def test_importing_is_cheap():
    code = (
        "import sys; import qed.core._threads; print([n for n in sys.modules if n.endswith(('threadpoolctl', '_v3'))])"
    )
    assert fresh(code) == "[]"


def test_loky_workers_share_the_processors():
    joblib = pytest.importorskip("joblib")

    def count(_):
        from qed.core import _threads as inner  # noqa: PLC0415

        return inner.get_num_threads()

    # loky tells its workers their share through OMP_NUM_THREADS
    wanted = max(1, (os.cpu_count() or 1) // 2)
    assert max(joblib.Parallel(n_jobs=2)(joblib.delayed(count)(i) for i in range(2))) <= wanted
