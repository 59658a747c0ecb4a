"""Nearest neighbours and kernel densities."""

from __future__ import annotations

from qed.certificates import SearchCertificate
from qed.verify import _neighbors
from qed.verify._answers import _nearest
from qed.verify._families._entry import by

ENTRIES = {
    "KNeighborsClassifier": by(
        SearchCertificate,
        _neighbors.check,
        {one: _nearest.by_neighbours(one) for one in ("predict", "predict_proba")},
    ),
    "KNeighborsRegressor": by(SearchCertificate, _neighbors.check, {"predict": _nearest.by_neighbours("predict")}),
    "KernelDensity": by(SearchCertificate, _neighbors.check),
    "NearestNeighbors": by(SearchCertificate, _neighbors.check),
}
