"""Where folds compute: the calling thread, other threads, or the workers of a Dask cluster.

Map: `_local` (the protocol, `Serial`, `Threads`), `_dask` (the one file that imports Dask: its workers, and its collections as
sources), `_choice` (the ``with qed.executor(...)`` block). An executor decides where, never what: a fold merges in the order of
its source, whoever finished first.
"""
