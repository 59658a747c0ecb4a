"""Matrix factorisations and projections."""

from __future__ import annotations

from qed.certificates import (
    AscentCertificate,
    DualityGapCertificate,
    ExactCertificate,
    LikelihoodCertificate,
    StationaryCertificate,
    SubspaceCertificate,
)
from qed.verify import (
    _completed,
    _factors,
    _latent_normal,
    _projections,
    _sources,
    _sparse_components,
    _subspace,
    _topics,
    _two_tables,
)
from qed.verify._answers import _columns, _found, _linear
from qed.verify._answers._compare import defined, in_precision_of_rows
from qed.verify._families._entry import Entry, by

_HIDDEN = defined(transform=_columns.hidden, inverse_transform=_columns.expected_of_hidden)
_PROJECTED = defined(transform=_columns.projections, inverse_transform=_columns.projections_back)
_TWO_TABLES = {
    **in_precision_of_rows(predict=_linear.number_of_centred),
    **defined(transform=_columns.scores_of_pairs, inverse_transform=_columns.rows_of_scores),
}
_COVARYING = by(SubspaceCertificate, _two_tables.check_covarying, _TWO_TABLES)
_DICTIONARY = by(StationaryCertificate, _factors.check_dictionary, {"transform": _found.codes})
_NONNEGATIVE = by(StationaryCertificate, _factors.check_nonnegative, {"transform": _found.factors})
_SEEDED = by(ExactCertificate, _projections.check_seeded, {"transform": _found.drawn_map})
_SPARSE = by(
    StationaryCertificate,
    _sparse_components.check_components,
    defined(transform=_found.ridge_scores, inverse_transform=_found.rows_of_components),
)

ENTRIES = {
    "CCA": by(SubspaceCertificate, _two_tables.check_correlated, _TWO_TABLES),
    "DictionaryLearning": _DICTIONARY,
    "FactorAnalysis": by(AscentCertificate, _latent_normal.check_analysis, _HIDDEN),
    "FastICA": by(
        StationaryCertificate, _sources.check, defined(transform=_columns.unmixed, inverse_transform=_columns.mixed)
    ),
    "GaussianRandomProjection": _SEEDED,
    "HadamardProjection": _SEEDED,
    "IncrementalPCA": by(SubspaceCertificate, _subspace.check, _PROJECTED),
    "KernelPCA": by(SubspaceCertificate, _projections.check_kernel_pca, defined(transform=_found.kernel_coordinates)),
    "LatentDirichletAllocation": by(AscentCertificate, _topics.check, {"transform": _found.shares_of_topics}),
    "MatrixCompletion": by(DualityGapCertificate, _completed.check, {"transform": _found.filled}),
    "MiniBatchDictionaryLearning": _DICTIONARY,
    "MiniBatchNMF": _NONNEGATIVE,
    "MiniBatchSparsePCA": _SPARSE,
    "NMF": _NONNEGATIVE,
    "PCA": by(SubspaceCertificate, _subspace.check, _PROJECTED),
    "PLSCanonical": _COVARYING,
    "PLSRegression": _COVARYING,
    "PLSSVD": by(SubspaceCertificate, _two_tables.check_svd, defined(transform=_columns.scores_of_pairs)),
    "ProbabilisticPCA": by(LikelihoodCertificate, _latent_normal.check_probabilistic, _HIDDEN),
    "SparseCoder": Entry(
        {DualityGapCertificate: _sparse_components.check_coder, ExactCertificate: _sparse_components.check_rule},
        {"transform": _found.codes},
    ),
    "SparsePCA": _SPARSE,
    "SparseRandomProjection": _SEEDED,
    "TruncatedSVD": by(SubspaceCertificate, _subspace.check_truncated, _PROJECTED),
}
