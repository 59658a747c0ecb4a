"""Explanations of models, and plots of them.

Two rules: **contributions add up to the prediction, and are exact or say how exact they are; a figure shows what the model says,
at every point that it shows.**

::

    _explain                     what each column contributes to predictions of any model, in the columns that its user knows
    _shapley                     Shapley values of one model: which game, solved how
    _tree_game, _additive_game   models whose form is known: trees; linear models and naive Bayes
    _model_game                  any other model: all coalitions, or permutations with standard errors
    _explanation                 the result; _explanation_displays: beeswarm, bars, waterfall, dependence
    _games, _sampled_value       coalition games and their values, exact or sampled
    _importance                  permutation importance; _standardised: comparable coefficients
    _partial_dependence          average and individual curves, and their display
    _unit_probes                 single units of networks: rows and inputs that excite them, gradients
    _column_table                tables whose columns are replaced one by one
    _decision_boundary   regions, boundaries and margins over two columns
    _coefficient_path    coefficients along strengths
    _loss_curve          the objective from pass to pass
    _norm_ball           a limit on two coefficients, and the contours of the squared error
    _scree               variances of principal components
    _cluster_displays    silhouettes, Voronoi cells, embeddings, k-means and EM step by step
    _gaussian_contours   Gaussians as ellipses; class densities with their boundaries
    _class_curves        Gaussian classes over one column
    _impurity_curves     entropy, Gini impurity and error of two labels
    _bayes_displays      prior, likelihood and posterior; predictive bands
    _fit_pictures        residuals of one column; target, fit and residual as a triangle
"""

from __future__ import annotations

from qed.core._exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
