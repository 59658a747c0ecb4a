"""Naive Bayes classifiers."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from qed.certificates import LikelihoodCertificate
from qed.verify import _likelihood, _mixed_columns
from qed.verify._answers import _densities
from qed.verify._class_counts import check_counts
from qed.verify._families._entry import by

if TYPE_CHECKING:
    from qed.verify._families._entry import Entry


def _counted(joint: Any, *, linear: bool = True) -> Entry:
    answers = _densities.by_bayes(joint, linear=linear)
    return by(LikelihoodCertificate, partial(_likelihood.check, check_counts), answers)


ENTRIES = {
    "BernoulliNB": _counted(_densities.presence),
    "CategoricalNB": _counted(_densities.categories, linear=False),
    "ComplementNB": _counted(_densities.counts),
    "GaussianNB": by(
        LikelihoodCertificate,
        partial(_likelihood.check, _likelihood.check_normal),
        _densities.by_bayes(_densities.normal),
    ),
    "MixedNB": by(
        LikelihoodCertificate,
        partial(_likelihood.check, _mixed_columns.check),
        _densities.by_bayes(_densities.columns_of_kinds),
    ),
    "MultinomialNB": _counted(_densities.counts),
    "PoissonNB": _counted(_densities.events),
}
