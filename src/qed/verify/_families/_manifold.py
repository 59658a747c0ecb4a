"""Embeddings."""

from __future__ import annotations

from qed.certificates import EmbeddingCertificate
from qed.verify import _neighbor_embeddings, _patches, _scalings
from qed.verify._answers import _embeddings
from qed.verify._answers._compare import defined
from qed.verify._families._entry import by

ENTRIES = {
    "ClassicalMDS": by(EmbeddingCertificate, _scalings.check_classical),
    "Isomap": by(EmbeddingCertificate, _scalings.check_isomap, defined(transform=_embeddings.along_paths)),
    "LocallyLinearEmbedding": by(
        EmbeddingCertificate, _patches.check_patches, defined(transform=_embeddings.by_weights)
    ),
    "MDS": by(EmbeddingCertificate, _scalings.check_stress),
    "SpectralEmbedding": by(EmbeddingCertificate, _patches.check_laplacian),
    "TSNE": by(EmbeddingCertificate, _neighbor_embeddings.check_tsne),
    "UMAP": by(EmbeddingCertificate, _neighbor_embeddings.check_umap, {"transform": _embeddings.drawn}),
}
