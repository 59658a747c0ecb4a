"""Mixtures of distributions."""

from __future__ import annotations

from qed.certificates import AscentCertificate
from qed.verify import _independent_mixtures, _mixtures, _variational
from qed.verify._answers import _densities
from qed.verify._families._entry import by

_INDEPENDENT = by(
    AscentCertificate, _independent_mixtures.check, _densities.of_components(_densities.independent_components)
)

ENTRIES = {
    "BayesianGaussianMixture": by(
        AscentCertificate, _variational.check, _densities.of_components(_densities.expected_components)
    ),
    "BernoulliMixture": _INDEPENDENT,
    "CategoricalMixture": _INDEPENDENT,
    "GaussianMixture": by(AscentCertificate, _mixtures.check, _densities.of_components(_densities.components)),
    "GaussianMixtureClassifier": by(
        AscentCertificate, _mixtures.check_classes, _densities.by_bayes(_densities.class_mixtures)
    ),
    "PoissonMixture": _INDEPENDENT,
}
