"""What a fit proves: frozen records with a number, a sentence and a way to be printed.

A certificate is data. It is made by the package that fits, judged by ``qed.verify``, which shares no code with it, and it
travels inside model files. Two words are kept apart everywhere: a certificate is *true* when ``verify`` confirms its
statement, and the tolerance is *reached* when the number is small enough for what the user asked. An interrupted fit has a
true certificate whose tolerance is not reached.

===========================  =====================================================================================
record                       statement
===========================  =====================================================================================
``LeastSquaresCertificate``  no coefficients lower the sum of squares (plus penalty) by more than ``gap``
``DualityGapCertificate``    no coefficients lower the objective of a convex model by more than ``gap``
``SubsetCertificate``        no other subset of columns lowers the objective by more than ``gap``
``StationaryCertificate``    nothing near lowers an objective that is not convex by more than ``gap``
``SubspaceCertificate``      no directions, as many, leave out less of the variance by more than ``gap``
``ClustersCertificate``      the inertia is at most ``ratio`` times that of the best centres
``HeldOutCertificate``       errors on new rows, with a stated confidence, from rows the fit never saw
``BracketCertificate``       one parameter a column is best up to ``gap``: slopes of opposite signs enclose the optimum
``NetworkCertificate``       how steep an objective is at the parameters of a network, and that its gradient is one
``TreeCertificate``          what a tree leaves on its rows, against what every tree must leave
``ForestCertificate``        the error of a forest on rows out of its samples, and that its seed prescribes every tree
``BoostingCertificate``      the training loss after every round, and that each leaf takes the step its rows ask for
``MistakeBoundCertificate``  mistakes made while learning, against the most that any order of the rows can cause
``LikelihoodCertificate``    parameters found by formula are the most likely ones, with the likelihood they attain
``ExactCertificate``         what was computed, from how many rows, and how far rounding can have moved it
``ExplanationCertificate``   contributions of columns add up to predictions, exact or with a standard error
``SearchCertificate``        answers that look at every row of the fit: nearest rows, densities
``CompositeCertificate``     each part of a model of models keeps its own certificate
``Uncertified``              nothing is claimed, and why
===========================  =====================================================================================
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qed.core._certificates._beyond_convex import StationaryCertificate, SubsetCertificate
    from qed.core._certificates._boosting import BoostingCertificate
    from qed.core._certificates._bracket import BracketCertificate
    from qed.core._certificates._certificate import Certificate, GapCertificate
    from qed.core._certificates._clusters import ClustersCertificate
    from qed.core._certificates._duality_gap import DualityGapCertificate
    from qed.core._certificates._exact import ExactCertificate
    from qed.core._certificates._explanation import ExplanationCertificate
    from qed.core._certificates._fingerprint import Fingerprint
    from qed.core._certificates._forest import ForestCertificate
    from qed.core._certificates._held_out import HeldOutCertificate
    from qed.core._certificates._least_squares import LeastSquaresCertificate
    from qed.core._certificates._likelihood import LikelihoodCertificate
    from qed.core._certificates._mistakes import MistakeBoundCertificate
    from qed.core._certificates._network import NetworkCertificate
    from qed.core._certificates._parts import CompositeCertificate, Uncertified
    from qed.core._certificates._search import SearchCertificate
    from qed.core._certificates._subspace import SubspaceCertificate
    from qed.core._certificates._tree import TreeCertificate

__all__ = [
    "BoostingCertificate",
    "BracketCertificate",
    "Certificate",
    "ClustersCertificate",
    "CompositeCertificate",
    "DualityGapCertificate",
    "ExactCertificate",
    "ExplanationCertificate",
    "Fingerprint",
    "ForestCertificate",
    "GapCertificate",
    "HeldOutCertificate",
    "LeastSquaresCertificate",
    "LikelihoodCertificate",
    "MistakeBoundCertificate",
    "NetworkCertificate",
    "SearchCertificate",
    "StationaryCertificate",
    "SubsetCertificate",
    "SubspaceCertificate",
    "TreeCertificate",
    "Uncertified",
]

# A fit proves one thing: its record is loaded then, and the others are not.
HOMES = {
    "BoostingCertificate": "_boosting",
    "BracketCertificate": "_bracket",
    "Certificate": "_certificate",
    "ClustersCertificate": "_clusters",
    "DualityGapCertificate": "_duality_gap",
    "ExactCertificate": "_exact",
    "ExplanationCertificate": "_explanation",
    "Fingerprint": "_fingerprint",
    "ForestCertificate": "_forest",
    "GapCertificate": "_certificate",
    "HeldOutCertificate": "_held_out",
    "LeastSquaresCertificate": "_least_squares",
    "LikelihoodCertificate": "_likelihood",
    "MistakeBoundCertificate": "_mistakes",
    "NetworkCertificate": "_network",
    "CompositeCertificate": "_parts",
    "SearchCertificate": "_search",
    "StationaryCertificate": "_beyond_convex",
    "SubsetCertificate": "_beyond_convex",
    "SubspaceCertificate": "_subspace",
    "TreeCertificate": "_tree",
    "Uncertified": "_parts",
}


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{HOMES[name]}"), name)
    globals()[name] = value
    return value
