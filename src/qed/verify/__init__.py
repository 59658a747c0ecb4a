"""The independent checker: recomputes what a certificate claims, by other code than the code that claimed it.

One rule: **nothing here is shared with the solvers.** Plain NumPy in extended precision, its own passes over the rows, its own
decompositions; importing anything that fits is barred by contract.

::

    _rows            the rows, in blocks, in extended precision
    _same_data       whether the rows are those of the certificate
    _least_squares   objective and distance from the optimum of a least-squares model
    _objectives      the documented objective of each convex model, from its public parameters
    _losses          losses by definition, and _penalty, the one family of penalties
    _margins         the same of margins and tubes; _ramps: losses with a knee
    _hard_margin     machines that let no row fall short of its margin
    _largest         the largest error, and _ordinal, cut points between ordered classes
    _table           passes over the rows, and _search, dual points of its own
    _duality         objective and distance from the optimum of a convex model
    _transformers    means, ranges, quantiles, categories: what transformers learnt
    _networks        slopes of networks, by plain backpropagation and by differences
    _mistakes        margins and mistake bounds of online learners
    _counts          shares of labels, best constants and cuts: what the simplest predictors learnt
    _likelihood      parameters with a closed form, and their likelihood; _by_class: sums of the rows of each class
    _discriminants   covariances, planes and axes; _class_counts: counts of each class
    _levels          edges, knots and quantiles; _words: vocabularies and codes of categories
    _bounded         losses that stop growing: what is proved near a fit
    _subsets         subsets of columns, by a search of its own
    _clusters        centres, and a bound on all others
    _subspace        directions of largest variance, by eigenvalues of its own
    _steps           greedy steps over columns, each fitted and scored again
    _trees           nodes of decision trees; _cuts: what cuts through columns leave
    _boosting        steps of the leaves of boosted trees
    _forests         trees of a forest, from the seed that drew their rows
    _powers          powers of columns, by the slopes of their objectives
    _neighbors       near rows, votes, means and densities, from every row
    _parts           the parts of a model of models, each on what reached it
    _names           how messages name columns
    _verdict         what is reported

The package is callable: ``qed.verify(model, X, y)`` is ``qed.verify.verify(model, X, y)``.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import CertificateError, Estimator, InvalidParameter
from qed.core._certificates import (
    BoostingCertificate,
    BracketCertificate,
    ClustersCertificate,
    DualityGapCertificate,
    ExactCertificate,
    ForestCertificate,
    LeastSquaresCertificate,
    LikelihoodCertificate,
    MistakesCertificate,
    NetworkCertificate,
    PartsCertificate,
    SearchCertificate,
    StationaryCertificate,
    SubsetCertificate,
    SubspaceCertificate,
    TreeCertificate,
    Uncertified,
)
from qed.verify import (
    _boosting,
    _bounded,
    _clusters,
    _counts,
    _duality,
    _forests,
    _hard_margin,
    _largest,
    _least_squares,
    _likelihood,
    _mistakes,
    _neighbors,
    _networks,
    _ordinal,
    _parts,
    _powers,
    _subsets,
    _subspace,
    _transformers,
    _trees,
)
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Verdict", "verify"]


def verify(model: Estimator, X: Any, y: Any = None, sample_weight: Any = None) -> Verdict:
    """Check that a model's certificate is true for these data.

    Parameters
    ----------
    model : Estimator
        A fitted model.
    X : array-like, frame, sparse container or source of shape (n, p)
        The rows the model was fitted on; their order does not matter.
    y : array-like of shape (n,) or (n, m)
        Their targets.
    sample_weight : array-like of shape (n,), optional
        Their weights.

    Returns
    -------
    Verdict
        What was found, with its own rounding bound. Whether the tolerance of the fit was reached is another question: see
        ``model.certificate_.reached``.

    Raises
    ------
    CertificateError
        When the statement is not true: the model was changed, the data are others, or the fit was wrong. The message says
        which.

    Examples
    --------
    >>> import qed
    >>> from qed.linear_model import LinearRegression
    >>> X, y = [[1.0], [2.0], [3.0]], [1.0, 2.0, 4.0]
    >>> model = LinearRegression().fit(X, y)
    >>> qed.verify(model, X, y).holds
    True
    >>> model.coef_ *= 1.01
    >>> qed.verify(model, X, y)
    Traceback (most recent call last):
    ...
    qed.core._errors.CertificateError: ...
    """
    name = type(model).__name__
    if not isinstance(model, Estimator):
        msg = (
            f"qed.verify takes a fitted model of qed, got {name}, which carries no certificate. Of a pipeline pass the last "
            "step with the rows that it saw: qed.verify(pipeline[-1], pipeline[:-1].transform(X), y)."
        )
        raise InvalidParameter(msg)
    model._check_is_fitted()  # noqa: SLF001
    certificate = model.__dict__.get("certificate_")
    if isinstance(certificate, Uncertified):
        msg = f"{name} claims nothing that could be verified: {certificate.reason}."
        raise CertificateError(msg)
    labels = model.__dict__.get("classes_")
    if isinstance(labels, np.ndarray) and labels.ndim == 1 and not np.array_equal(np.unique(labels), labels):
        msg = f"The labels of this {name} are not in order, as those of every fit are: classes_ was changed. Fit again."
        raise CertificateError(msg)
    if isinstance(certificate, PartsCertificate):
        return _parts.check(verify, model, certificate, X, y, sample_weight)
    for kind, check in _CHECKS.items():
        if isinstance(certificate, kind):
            return check(model, certificate, X, y, sample_weight)
    msg = f"{name} carries no certificate that this checker knows ({type(certificate).__name__}). Fit it again."
    raise CertificateError(msg)


def _by_counting(model: Any, certificate: Any, X: Any, y: Any, sample_weight: Any) -> Verdict:
    traits = model._traits()  # noqa: SLF001
    check = _counts.check if traits.target and not traits.transforms else _transformers.check
    return check(model, certificate, X, y, sample_weight)


def _by_slopes(model: Any, certificate: Any, X: Any, y: Any, sample_weight: Any) -> Verdict:  # noqa: ARG001
    return _powers.check(model, certificate, X, sample_weight)


def _by_duality(model: Any, certificate: Any, X: Any, y: Any, sample_weight: Any) -> Verdict:
    own = [kind.check for kind in (_hard_margin, _largest, _ordinal) if kind.applies(model)]
    return (own[0] if own else _duality.check)(model, certificate, X, y, sample_weight)


_CHECKS: dict[type, Callable[..., Verdict]] = {
    DualityGapCertificate: _by_duality,
    BoostingCertificate: _boosting.check,
    BracketCertificate: _by_slopes,
    ClustersCertificate: _clusters.check,
    ExactCertificate: _by_counting,
    ForestCertificate: _forests.check,
    LeastSquaresCertificate: _least_squares.check,
    LikelihoodCertificate: _likelihood.check,
    MistakesCertificate: _mistakes.check,
    SearchCertificate: _neighbors.check,
    NetworkCertificate: _networks.check,
    StationaryCertificate: _bounded.check,
    SubsetCertificate: _subsets.check,
    SubspaceCertificate: _subspace.check,
    TreeCertificate: _trees.check,
}


class _Callable(ModuleType):
    def __call__(self, model: Estimator, X: Any, y: Any = None, sample_weight: Any = None) -> Verdict:
        return verify(model, X, y, sample_weight)


sys.modules[__name__].__class__ = _Callable
