"""dask-ml on files, with two worker processes: run by `benchmarks.scale.cluster` in a Python that has it.

Reads the files into the memory of the workers, as its users do, then fits. Prints seconds and answers as JSON. It imports nothing
of qed.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from typing import Any


def main() -> None:
    """Fit, and print."""
    warnings.simplefilter("ignore")
    import dask_ml
    import distributed
    import numpy as np

    glob, centres, repeats = sys.argv[1], np.asarray(json.loads(sys.argv[2])), int(sys.argv[3])
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    )
    with cluster, distributed.Client(cluster) as client:
        client.run(_imported)
        start = time.perf_counter()
        X, targets = load(glob)
        found: dict[str, Any] = {"load": time.perf_counter() - start, "version": dask_ml.__version__, "fits": {}}
        for name, fit in _fits(centres).items():
            times = []
            for _ in range(repeats + 1):
                start = time.perf_counter()
                answer = fit(X, targets)
                times.append(time.perf_counter() - start)
            found["fits"][name] = {"seconds": min(times[1:]), "answer": np.ravel(answer).tolist()}
        print(json.dumps(found))


def _imported() -> None:
    """Import what loading needs, so that it is not measured."""
    import dask.array
    import dask.dataframe  # noqa: F401
    import pyarrow.parquet  # noqa: F401


def load(glob: str) -> tuple[Any, Any]:
    """Read the files into the memory of the workers."""
    import dask.dataframe as dd
    import distributed

    rows = dd.read_parquet(glob).to_dask_array(lengths=True).persist()
    distributed.wait(rows)
    X, y, label = rows[:, :-2].persist(), rows[:, -2].persist(), rows[:, -1].persist()
    distributed.wait([X, y, label])
    return X, {"y": y, "label": label}


def _fits(centres: Any) -> dict[str, Any]:
    import numpy as np
    from dask_ml.cluster import KMeans
    from dask_ml.linear_model import LinearRegression, LogisticRegression
    from dask_ml.preprocessing import StandardScaler

    def linear(kind: Any, target: str) -> Any:
        def fit(X: Any, targets: Any) -> Any:
            model = kind(solver="newton").fit(X, targets[target])
            return np.append(np.ravel(model.coef_), model.intercept_)

        return fit

    def scale(X: Any, _: Any) -> Any:
        model = StandardScaler().fit(X)
        return np.concatenate([model.mean_, model.scale_])

    def cluster(X: Any, _: Any) -> Any:
        return KMeans(len(centres), init=centres, max_iter=5, tol=0.0).fit(X).cluster_centers_

    return {
        "LinearRegression": linear(LinearRegression, "y"),
        "StandardScaler": scale,
        "LogisticRegression": linear(LogisticRegression, "label"),
        "KMeans, 8 clusters, 5 steps": cluster,
    }


if __name__ == "__main__":
    main()
