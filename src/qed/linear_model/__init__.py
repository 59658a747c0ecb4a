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
    _convex_regressor, _learn_convex        what they share: from the input of fit to coefficients and proof
    _learn_scaled                           the same, with a scale
    _lasso_cv, _cross_validated_path        the same with a strength chosen by folds; _paths gives coefficients for many
    _perceptron, _voted_perceptron          models that learn one row at a time, as declarations
    _sgd_classifier, _sgd_regressor         the same along slopes of losses; _stochastic is what they share
    _online, _learn_online, _prove_online   rules and memories; from input to attributes; how far from the best they end
    _small_proofs                           the last for all hyperplanes of a small table in one call
    _threshold, _random_linear              a cut through one column; the best of hyperplanes drawn at random
    _ridge_classifier, _ridge_classifier_cv classes by least squares
    _constrained                            norm-constrained coefficients, and the strength that stands for
    _ordinal                                ordered classes: one score and thresholds
    _best_subset, _best_subset_regressor    few columns: the best of all subsets
    _chain                                  the best sequence of labels
    _fisher                                 the direction along which two classes are furthest apart
    _geometry                               hyperplanes: sides, distances, margins, how far a row can be pushed
    _separation, _hulls                     whether a hyperplane separates two classes, with a proof either way
    _learn_convex                           models that are a loss and a penalty, over qed.convex
"""

from __future__ import annotations

from qed.core._exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
