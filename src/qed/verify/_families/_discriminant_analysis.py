"""Linear and quadratic discriminant analysis."""

from __future__ import annotations

from functools import partial

from qed.certificates import LikelihoodCertificate
from qed.verify import _discriminants, _likelihood
from qed.verify._answers import _densities, _linear
from qed.verify._answers._compare import defined, in_precision_of_rows
from qed.verify._families._entry import by

ENTRIES = {
    "LinearDiscriminantAnalysis": by(
        LikelihoodCertificate,
        partial(_likelihood.check, _discriminants.check_linear),
        {**_linear.PROBABILITIES, **in_precision_of_rows(transform=_linear.discriminant_axes)},
    ),
    "QuadraticDiscriminantAnalysis": by(
        LikelihoodCertificate,
        partial(_likelihood.check, _discriminants.check_quadratic),
        {
            **_densities.by_bayes(_densities.ellipses),
            **defined(decision_function=_densities.decision(_densities.ellipses, beside=1.0)),
        },
    ),
}
