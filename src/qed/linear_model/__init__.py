"""Linear models: a prediction is a weighted sum of columns, and its optimality is proved.

One rule: **a fit is a statistic followed by a solve, and the certificate decides how much work that is.**

::

    _linear_regression, _ridge, _ridge_cv   least squares, as declarations
    _lasso, _elastic_net, _multi_task       sparse models, as declarations; _sparse_regression is what they share
    _group_lasso, _groups                   whole groups of columns, and how users name them
    _least_squares, _linear, _stream        what they share: learn, learn more, forget, predict
    _learn                                  which way to solve, what to store
    _solve                                  products of columns -> coefficients and proof
      _quadratic, _factors                  the objective as a quadratic, with rounding bounds; its inverse
      _triangle, _residuals                 the columns themselves, when squaring them would cost too many digits
    _dual                                   products of rows, for fewer rows than columns
    _conjugate_gradients                    products with vectors alone, for wide sparse designs
    _leave_one_out                          exact leave-one-out predictions for many strengths
    _inference                              standard errors and intervals
    _quantile_regressor, _power_regressor   models that are a loss and a penalty, as declarations
    _bounded_regressor                      a loss that stops growing, and the weights it implies
    _huber_regressor, _square_root_lasso    models that estimate a scale with the coefficients, as declarations
    _convex_regressor, _learn_convex        what they share: from the door of fit to coefficients and proof
    _learn_scaled                           the same, with a scale
    _lasso_cv, _cross_validated_path        the same with a strength chosen by folds; _paths gives coefficients for many
    _perceptron, _voted_perceptron          models that learn one row at a time, as declarations
    _sgd_classifier, _sgd_regressor         the same along slopes of losses; _stochastic is what they share
    _online, _learn_online, _prove_online   rules and memories; from the doors to attributes; how far from the best they end
    _small_proofs                           the last for all planes of a small table in one call
    _threshold, _random_linear              a cut through one column; the best of planes drawn at random
    _ridge_classifier, _ridge_classifier_cv classes by least squares
    _constrained                            coefficients of limited size, and the strength that stands for
    _ordinal                                ordered classes: one score and cut points
    _best_subset, _best_subset_regressor    few columns: the best of all subsets
    _chain                                  the best sequence of labels
    _fisher                                 the direction along which two classes are furthest apart
    _geometry                               planes: sides, distances, margins, how far a row can be pushed
    _separation, _hulls                     whether a plane separates two classes, with a proof either way
    _learn_convex                           models that are a loss and a penalty, over qed.convex
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from qed.core._missing import later

if TYPE_CHECKING:
    from qed.linear_model._best_subset import Subset, best_subset, hard_thresholding
    from qed.linear_model._best_subset_regressor import BestSubsetRegressor
    from qed.linear_model._bounded_regressor import BoundedRegressor
    from qed.linear_model._chain import best_sequence
    from qed.linear_model._constrained import ConstrainedLasso, ConstrainedRidge
    from qed.linear_model._elastic_net import ElasticNet
    from qed.linear_model._fisher import Discriminant, fisher_criterion, fisher_discriminant
    from qed.linear_model._geometry import Hyperplane, margins, robustness_radius, signed_distance
    from qed.linear_model._group_lasso import GroupLasso, GroupPath, group_lasso_path
    from qed.linear_model._huber_regressor import HuberRegressor
    from qed.linear_model._lasso import Lasso
    from qed.linear_model._lasso_cv import ElasticNetCV, LassoCV, MultiTaskElasticNetCV, MultiTaskLassoCV
    from qed.linear_model._linear import CoefficientTable
    from qed.linear_model._linear_regression import LinearRegression
    from qed.linear_model._logistic_regression import LogisticRegression
    from qed.linear_model._logistic_regression_cv import LogisticRegressionCV
    from qed.linear_model._multi_task import MultiTaskElasticNet, MultiTaskLasso
    from qed.linear_model._ordinal import OrdinalRegressor
    from qed.linear_model._paths import enet_path, lasso_path
    from qed.linear_model._perceptron import Perceptron
    from qed.linear_model._poisson_regressor import PoissonRegressor
    from qed.linear_model._power_regressor import PowerRegressor
    from qed.linear_model._quantile_regressor import QuantileRegressor
    from qed.linear_model._random_linear import RandomLinearClassifier
    from qed.linear_model._ridge import Ridge
    from qed.linear_model._ridge_classifier import RidgeClassifier
    from qed.linear_model._ridge_classifier_cv import RidgeClassifierCV
    from qed.linear_model._ridge_cv import RidgeCV
    from qed.linear_model._separation import Separation, separating_plane
    from qed.linear_model._sgd_classifier import SGDClassifier
    from qed.linear_model._sgd_regressor import SGDRegressor
    from qed.linear_model._square_root_lasso import SquareRootLasso
    from qed.linear_model._threshold import ThresholdClassifier
    from qed.linear_model._voted_perceptron import VotedPerceptron

__all__ = [
    "BestSubsetRegressor",
    "BoundedRegressor",
    "CoefficientTable",
    "ConstrainedLasso",
    "ConstrainedRidge",
    "Discriminant",
    "ElasticNet",
    "ElasticNetCV",
    "GroupLasso",
    "GroupPath",
    "HuberRegressor",
    "Hyperplane",
    "Lasso",
    "LassoCV",
    "LinearRegression",
    "LogisticRegression",
    "LogisticRegressionCV",
    "MultiTaskElasticNet",
    "MultiTaskElasticNetCV",
    "MultiTaskLasso",
    "MultiTaskLassoCV",
    "OrdinalRegressor",
    "Perceptron",
    "PoissonRegressor",
    "PowerRegressor",
    "QuantileRegressor",
    "RandomLinearClassifier",
    "Ridge",
    "RidgeCV",
    "RidgeClassifier",
    "RidgeClassifierCV",
    "SGDClassifier",
    "SGDRegressor",
    "Separation",
    "SquareRootLasso",
    "Subset",
    "ThresholdClassifier",
    "VotedPerceptron",
    "best_sequence",
    "best_subset",
    "enet_path",
    "fisher_criterion",
    "fisher_discriminant",
    "group_lasso_path",
    "hard_thresholding",
    "lasso_path",
    "margins",
    "robustness_radius",
    "separating_plane",
    "signed_distance",
]

# A ridge needs no support for ranks and likelihoods: each model is loaded when it is first named.
_HOMES = {
    "_best_subset": (
        "Subset",
        "best_subset",
        "hard_thresholding",
    ),
    "_best_subset_regressor": ("BestSubsetRegressor",),
    "_bounded_regressor": ("BoundedRegressor",),
    "_chain": ("best_sequence",),
    "_constrained": (
        "ConstrainedLasso",
        "ConstrainedRidge",
    ),
    "_elastic_net": ("ElasticNet",),
    "_fisher": (
        "Discriminant",
        "fisher_criterion",
        "fisher_discriminant",
    ),
    "_geometry": (
        "Hyperplane",
        "margins",
        "robustness_radius",
        "signed_distance",
    ),
    "_group_lasso": (
        "GroupLasso",
        "GroupPath",
        "group_lasso_path",
    ),
    "_huber_regressor": ("HuberRegressor",),
    "_lasso": ("Lasso",),
    "_lasso_cv": (
        "ElasticNetCV",
        "LassoCV",
        "MultiTaskElasticNetCV",
        "MultiTaskLassoCV",
    ),
    "_linear": ("CoefficientTable",),
    "_linear_regression": ("LinearRegression",),
    "_logistic_regression": ("LogisticRegression",),
    "_logistic_regression_cv": ("LogisticRegressionCV",),
    "_multi_task": (
        "MultiTaskElasticNet",
        "MultiTaskLasso",
    ),
    "_ordinal": ("OrdinalRegressor",),
    "_paths": (
        "enet_path",
        "lasso_path",
    ),
    "_perceptron": ("Perceptron",),
    "_poisson_regressor": ("PoissonRegressor",),
    "_power_regressor": ("PowerRegressor",),
    "_quantile_regressor": ("QuantileRegressor",),
    "_random_linear": ("RandomLinearClassifier",),
    "_ridge": ("Ridge",),
    "_ridge_classifier": ("RidgeClassifier",),
    "_ridge_classifier_cv": ("RidgeClassifierCV",),
    "_ridge_cv": ("RidgeCV",),
    "_separation": (
        "Separation",
        "separating_plane",
    ),
    "_sgd_classifier": ("SGDClassifier",),
    "_sgd_regressor": ("SGDRegressor",),
    "_square_root_lasso": ("SquareRootLasso",),
    "_threshold": ("ThresholdClassifier",),
    "_voted_perceptron": ("VotedPerceptron",),
}
__getattr__ = later(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
