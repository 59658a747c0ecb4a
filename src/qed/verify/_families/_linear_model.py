"""Linear models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.certificates import (
    AscentCertificate,
    DualityGapCertificate,
    ExactCertificate,
    LeastSquaresCertificate,
    LikelihoodCertificate,
    MistakeBoundCertificate,
    StationaryCertificate,
    SubsetCertificate,
)
from qed.verify import (
    _bounded,
    _coded,
    _counts,
    _duality,
    _evidence,
    _largest,
    _least_squares,
    _mistakes,
    _ordinal,
    _subsets,
)
from qed.verify._answers import _linear
from qed.verify._answers._compare import in_precision_of_rows
from qed.verify._answers._linear import HYPERPLANES, NUMBER, PROBABILITIES
from qed.verify._families._entry import Entry, by, of

if TYPE_CHECKING:
    from qed.verify._verdict import Verdict


def _power_regressor(model: Any, certificate: Any, X: Any, y: Any, sample_weight: Any) -> Verdict:
    check = _largest.check if np.isinf(model.p) else _duality.check
    return check(model, certificate, X, y, sample_weight)


_CONVEX = by(DualityGapCertificate, _duality.check, NUMBER)
_LOGISTIC = by(DualityGapCertificate, _duality.check, PROBABILITIES)
_SQUARES = by(LeastSquaresCertificate, _least_squares.check, NUMBER)

ENTRIES = {
    "ARDRegression": by(AscentCertificate, _evidence.check, NUMBER),
    "BayesianLinearRegression": by(LikelihoodCertificate, _evidence.check_posterior, NUMBER),
    "BayesianRidge": by(AscentCertificate, _evidence.check, NUMBER),
    "BestSubsetRegressor": by(SubsetCertificate, _subsets.check, NUMBER),
    "BoundedRegressor": by(StationaryCertificate, _bounded.check, NUMBER),
    "ConstrainedLasso": _CONVEX,
    "ConstrainedRidge": _CONVEX,
    "ElasticNet": _CONVEX,
    "ElasticNetCV": _CONVEX,
    "GroupLasso": _CONVEX,
    "HuberRegressor": _CONVEX,
    "Lasso": _CONVEX,
    "LassoCV": _CONVEX,
    "LinearRegression": _SQUARES,
    "LogisticRegression": _LOGISTIC,
    "LogisticRegressionCV": _LOGISTIC,
    "MultiTaskElasticNet": _CONVEX,
    "MultiTaskElasticNetCV": _CONVEX,
    "MultiTaskLasso": _CONVEX,
    "MultiTaskLassoCV": _CONVEX,
    "OrdinalRegressor": by(
        DualityGapCertificate,
        _ordinal.check,
        in_precision_of_rows(predict=_linear.label_in_order, predict_proba=_linear.chances_in_order),
    ),
    "Perceptron": by(MistakeBoundCertificate, _mistakes.check, HYPERPLANES),
    "PoissonRegressor": by(DualityGapCertificate, _duality.check, in_precision_of_rows(predict=_linear.mean_of_counts)),
    "PowerRegressor": by(DualityGapCertificate, _power_regressor, NUMBER),
    "QuantileRegressor": _CONVEX,
    "RandomLinearClassifier": by(ExactCertificate, _counts.check_drawn, HYPERPLANES),
    "Ridge": _SQUARES,
    "RidgeCV": _SQUARES,
    "RidgeClassifier": of(_coded.ridge_classifier, HYPERPLANES),
    "RidgeClassifierCV": of(_coded.ridge_classifier, HYPERPLANES),
    "SGDClassifier": Entry(
        {DualityGapCertificate: _duality.check, MistakeBoundCertificate: _mistakes.refuse_stream},
        {**HYPERPLANES, **in_precision_of_rows(predict_proba=_linear.chances_of_descent)},
        _coded.each_class,
    ),
    "SGDRegressor": _CONVEX,
    "SquareRootLasso": _CONVEX,
    "ThresholdClassifier": by(
        ExactCertificate,
        _counts.check_threshold,
        in_precision_of_rows(predict=_linear.side_label, decision_function=_linear.side_decision),
    ),
    "VotedPerceptron": by(
        MistakeBoundCertificate,
        _mistakes.check_votes,
        in_precision_of_rows(predict=_linear.label_by_votes, decision_function=_linear.votes),
    ),
}
