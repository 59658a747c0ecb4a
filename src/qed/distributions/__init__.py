r"""Probability distributions, conjugate priors and information.

One rule: **a distribution is a frozen set of parameters**, in the units of the textbooks: Gaussians have a variance, gammas a rate.
Densities are logarithms first, so that no product underflows. Entropies and divergences name their unit, nats or bits.

::

    _distribution   what all have: density, sample, moments, fit      _discrete      Bernoulli, categorical, Poisson ...
    _scalar         Gaussian, Laplace, Beta, gamma                    _multivariate  Gaussian, Student, Dirichlet
    _wishart        covariances: inverse-Wishart, and with a mean     _conjugate     posterior, predictive and evidence by formula
    _information    entropy, divergences, mutual information          _moments       expectations, integrals, Occam factors
    _process        functions: Gaussian processes

Maximum likelihood is ``Gaussian.fit(x)``. The maximum a posteriori estimate is ``posterior.mode`` and the Bayes estimate is
``posterior.mean``, of the posterior that a pair of `CONJUGATE_PAIRS` returns.
"""

from __future__ import annotations

from qed.core._exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
