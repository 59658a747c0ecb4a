"""The independent checker: recomputes what a certificate claims, by other code than the code that claimed it.

One rule: **nothing here is shared with the solvers.** Plain NumPy in extended precision, its own passes over the rows, its own
decompositions, its own definition of what every class answers; importing anything that fits is barred by contract. Searches over
columns (``_steps``, ``_selected``) have models fitted again as proposals, and verify each before they use it.

::

    _check_model     what any model must hold, then the check of its class
    _families        which check verifies which class, what a fit of that class may carry, and what its models answer
    _rows            the rows, in blocks, in extended precision
    _same_data       whether the rows are those of the certificate
    _least_squares   objective and distance from the optimum of a least-squares model
    _objectives      the documented objective of each convex model, from its public parameters
    _losses          losses by definition, and _penalty, the one family of penalties
    _margins         the same of margins and tubes; _ramps: losses with a knee
    _hard_margin     machines that let no row fall short of its margin
    _largest         the largest error, and _ordinal, thresholds between ordered classes
    _table           passes over the rows, and _search, dual points of its own
    _duality         objective and distance from the optimum of a convex model
    _transformers    what transformers learnt, class by class; _learnt: their columns, comparisons and refusals
    _scales          means, ranges and quantile ranges; _fillings: gaps; _categories: categories, labels and mean targets
    _quantiles       weighted medians and quantiles by the rule of the fit
    _networks        slopes of networks, by plain backpropagation and by differences
    _mistakes        margins and mistake bounds of online learners
    _counts          shares of labels, best constants and cuts: what the simplest predictors learnt
    _likelihood      parameters with a closed form, and their likelihood; _by_class: sums of the rows of each class
    _discriminants   covariances, hyperplanes and axes; _class_counts: counts of each class
    _levels          edges, knots and quantiles; _words: vocabularies and weights of words
    _bounded         losses that stop growing: what is proved near a fit
    _subsets         subsets of columns, by a search of its own
    _clusters        centres, and a bound on all others
    _subspace        directions of largest variance, by eigenvalues of its own
    _column_scores   variances, tests and mutual information of single columns; _selected: columns that a model chose
    _steps           greedy steps over columns, each fitted and scored again
    _trees           nodes of decision trees; _cuts: what cuts through columns leave
    _small_trees     all trees of a small depth; _multiway_trees: nodes with a branch for each value
    _boosting        steps of the leaves of boosted trees; _exact_boosting: of those grown by exact splits
    _forests         trees of a forest, from the seed that drew their rows; _forest_nodes, _forest_splits: their nodes and cuts
    _random_trees    trees that look at no target
    _copies          copies of a model on drawn or weighted rows: bagging and AdaBoost
    _mixtures        mixtures: the objective, and one more step
    _powers          powers of columns, by the slopes of their objectives
    _neighbors       nearest neighbours, votes, means and densities, from every row
    _part            one part of a model of models; _pipelines, _members, _coded: the parts of each class, on what reached them
    _handed_on       what a step hands on; _answers: what every class answers, computed a second time; _blocks: rows and columns
    _refits          folds, verified fits and scores of searches over columns
    _chains          models of several targets, each with the targets before its own
    _claims          words, tolerances and counts of certificates
    _names           how messages name columns
    _explanations    contributions of columns to predictions; _tree_paths: those of trees, leaf by leaf
    _verdict         what is reported

The attribute ``qed.verify`` is the function, so that ``qed.verify(model, X, y)`` works and ``help(qed.verify)`` shows it;
``from qed.verify import`` finds this package.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from qed.certificates import ExplanationCertificate
from qed.core import CertificateError, Estimator, InvalidData, InvalidParameter
from qed.verify._check_model import check_model
from qed.verify._rows import OtherData
from qed.verify._verdict import Verdict

__all__ = ["Verdict", "verify"]


def verify(model: Estimator, X: Any, y: Any = None, sample_weight: Any = None) -> Verdict:
    """Check that a model's certificate is true for these data.

    Parameters
    ----------
    model : Estimator
        A fitted model; or an explanation, followed by the model that it explains and by its background, if it has one.
    X : array-like, frame, sparse container or source of shape (n, p)
        The rows the model was fitted on. Their order does not matter, except where a model depends on it or its proof does: models
        that cut the rows into folds, voted perceptrons, and non-differentiable losses, whose dual variables belong to rows.
    y : array-like of shape (n,) or (n, m)
        Their targets.
    sample_weight : array-like of shape (n,), optional
        Their weights.

    Returns
    -------
    Verdict
        What was found, with its own rounding bound; its statement says where not everything was looked at. Whether the tolerance
        of the fit was reached is another question: see ``model.certificate_.reached``.

    Raises
    ------
    CertificateError
        When the statement is not true: the model was changed, the data are others, or the fit was wrong. The message says
        which. Whatever the model holds, no other error is raised because of it.
    InvalidData
        When X, y or the weights cannot be read, or are not those of the fit. Such an error is a CertificateError too, since it
        cannot be told whether the data or the model was changed.
    InvalidParameter
        When ``model`` is no model of qed.

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
    if isinstance(getattr(model, "certificate", None), ExplanationCertificate):
        return _explained(model, X, y)
    if not isinstance(model, Estimator):
        msg = (
            f"qed.verify takes a fitted model of qed, got {name}, which carries no certificate. Of a pipeline pass the last "
            "step with the rows that it saw: qed.verify(pipeline[-1], pipeline[:-1].transform(X), y)."
        )
        raise InvalidParameter(msg)
    Estimator._check_is_fitted(model)  # noqa: SLF001
    try:
        with np.errstate(all="ignore"):  # comparisons are written so that what overflows is refused
            return check_model(model, X, y, sample_weight)
    except (CertificateError, MemoryError):
        raise
    except InvalidData as error:
        raise OtherData(str(error)) from error
    except Exception as error:
        # Whatever a model holds instead of what its class declares, the model is at fault.
        first = (str(error).splitlines() or [""])[0][:200]
        raise CertificateError(
            f"This {name} holds something that no fit leaves there ({type(error).__name__}: {first}). It was changed after the fit."
            " Fit again, or load the model from its file."
        ) from error


def _explained(explanation: Any, model: Any, background: Any) -> Verdict:
    from qed.verify import _explanations  # noqa: PLC0415  (few ask)

    try:
        with np.errstate(all="ignore"):
            return _explanations.check(explanation, model, background)
    except (CertificateError, InvalidData, InvalidParameter, MemoryError):
        raise
    except Exception as error:
        raise CertificateError(
            f"This explanation is not one of this {type(model).__name__} ({type(error).__name__}: {str(error)[:200]}). Pass the"
            " model that it was made of."
        ) from error


# `qed.verify` is this function; `qed.verify.Verdict` is found on it as well, for both share one namespace.
verify.__dict__ = sys.modules[__name__].__dict__
