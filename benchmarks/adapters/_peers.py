"""Rivals that race only in rows which name them among their peers: the row knows how each package is called.

Set QED_BENCH_<NAME> to a Python that has the package when this one does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Peer:
    """A package without models of scikit-learn's names; the attributes are those of an adapter."""

    NAME: str
    PACKAGE: str  # what the row gets; after a colon, how the package is to be used
    distributions: tuple[str, ...]  # one of them is installed

    def versions(self) -> dict[str, str]:
        from importlib.metadata import PackageNotFoundError, version

        for name in self.distributions:
            try:
                return {self.distributions[0]: version(name)}
            except PackageNotFoundError:
                continue
        raise PackageNotFoundError(self.distributions[0])

    def estimator(self, task: str, **params: Any) -> Any:  # noqa: ARG002  the form of an adapter
        return None

    def score(self, task: str) -> Any:  # noqa: ARG002  the form of an adapter
        return None


PEERS = {
    "arpack": Peer("scikit-learn, arpack", "sklearn:arpack", ("scikit-learn",)),
    "lightgbm": Peer("LightGBM", "lightgbm", ("lightgbm",)),
    "xgboost": Peer("XGBoost", "xgboost", ("xgboost", "xgboost-cpu")),
    "shap": Peer("shap", "shap", ("shap",)),
    "fastcluster": Peer("fastcluster", "fastcluster", ("fastcluster",)),
    "quitefastmst": Peer("quitefastmst", "quitefastmst", ("quitefastmst",)),
    "hdbscan": Peer("hdbscan", "hdbscan", ("hdbscan",)),
    "kmedoids": Peer("kmedoids", "kmedoids", ("kmedoids",)),
    "faiss": Peer("faiss, float32", "faiss", ("faiss-cpu",)),
    "numpy_by_hand": Peer("NumPy by hand", "numpy", ("numpy",)),
    "umap_learn": Peer("umap-learn", "umap", ("umap-learn",)),
}
