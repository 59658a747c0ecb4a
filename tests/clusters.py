"""A real cluster of two worker processes, started once for all tests of a process that ask for it."""

from __future__ import annotations

import atexit
import warnings

import dask
import distributed

_running: list[tuple[distributed.Client, distributed.LocalCluster]] = []
COMES_BACK_SECONDS = 60  # a worker that a test has killed may take long to start


def two_workers() -> distributed.Client:
    """Return a client of two processes with a thread each; of a new cluster when they do not come back after a test."""
    if _running:
        client, cluster = _running[0]
        try:
            client.wait_for_workers(2, timeout=COMES_BACK_SECONDS)
        except (TimeoutError, OSError):
            _running.clear()
            _close(client, cluster)
        else:
            return client
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of ports in use, and of forks
        cluster = new_cluster()
        client = distributed.Client(cluster, set_as_default=False)
    _running.append((client, cluster))
    atexit.register(_close, client, cluster)
    return client


def new_cluster(n_workers: int = 2) -> distributed.LocalCluster:
    """Start worker processes with a thread each, and nothing else.

    Silence is no fault here: tests kill workers themselves, and the scheduler must not give slow ones up.
    """
    with dask.config.set({"distributed.scheduler.worker-ttl": None}):
        return distributed.LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            memory_limit="2GiB",
            silence_logs=50,
        )


def _close(client: distributed.Client, cluster: distributed.LocalCluster) -> None:
    client.close()
    cluster.close()
