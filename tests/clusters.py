"""A real cluster of two worker processes, started once for all tests of a process that ask for it."""

from __future__ import annotations

import atexit
import functools
import warnings

import distributed


@functools.cache
def two_workers() -> distributed.Client:
    """Return a client of two processes with a thread each."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of ports in use, and of forks
        cluster = new_cluster()
        client = distributed.Client(cluster, set_as_default=False)
    atexit.register(_close, client, cluster)
    return client


def new_cluster(n_workers: int = 2) -> distributed.LocalCluster:
    """Start worker processes with a thread each, and nothing else."""
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
