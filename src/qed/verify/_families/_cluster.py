"""Clusterings."""

from __future__ import annotations

from qed.certificates import AscentCertificate, ClustersCertificate, ExactCertificate, StationaryCertificate
from qed.verify import (
    _biclusters,
    _clusters,
    _cuts_and_medoids,
    _density_clusters,
    _kernel_clusters,
    _merges,
    _modes_and_exemplars,
    _soft_clusters,
)
from qed.verify._answers import _columns, _found
from qed.verify._answers._compare import defined
from qed.verify._families._entry import by

_KMEANS = by(
    ClustersCertificate, _clusters.check, defined(predict=_columns.nearest_centre, transform=_columns.distances)
)

ENTRIES = {
    "AffinityPropagation": by(ClustersCertificate, _modes_and_exemplars.check_exemplars),
    "AgglomerativeClustering": by(ExactCertificate, _merges.check),
    "Birch": by(
        ExactCertificate, _modes_and_exemplars.check_subclusters, defined(transform=_columns.subcluster_distances)
    ),
    "BisectingKMeans": by(ClustersCertificate, _clusters.check, defined(transform=_columns.distances)),
    "DBSCAN": by(ExactCertificate, _density_clusters.check_dbscan),
    "DivisiveClustering": by(ExactCertificate, _merges.check_splits),
    "FeatureAgglomeration": by(ExactCertificate, _merges.check, defined(transform=_found.pooled)),
    "HDBSCAN": by(ExactCertificate, _density_clusters.check_hdbscan),
    "KMeans": _KMEANS,
    "KMedoids": by(ClustersCertificate, _cuts_and_medoids.check_medoids),
    "KernelKMeans": by(ClustersCertificate, _kernel_clusters.check),
    "MeanShift": by(StationaryCertificate, _modes_and_exemplars.check_modes),
    "MiniBatchKMeans": _KMEANS,
    "OPTICS": by(ExactCertificate, _density_clusters.check_optics),
    "SoftKMeans": by(AscentCertificate, _soft_clusters.check, defined(transform=_columns.distances)),
    "SpectralBiclustering": by(ClustersCertificate, _biclusters.check_checkerboard),
    "SpectralClustering": by(ClustersCertificate, _cuts_and_medoids.check_spectral),
    "SpectralCoclustering": by(ClustersCertificate, _biclusters.check_cocluster),
}
