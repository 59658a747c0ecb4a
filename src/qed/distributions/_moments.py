"""Expectations of finite distributions, Gaussian integrals, Occam factors and rates."""

from __future__ import annotations

from typing import Any

import numpy as np

from qed.core import InvalidData, InvalidParameter
from qed.distributions._distribution import number, numbers, simplex


def expectation(values: Any, probabilities: Any) -> float:
    """Return the expectation of a function on a finite distribution.

    Parameters
    ----------
    values : array-like
        The function at each outcome.
    probabilities : array-like of the same shape
        Of the outcomes; of a joint table, say, for a function of several variables.

    Returns
    -------
    float
        The sum of values times probabilities.
    """
    p, f = simplex(probabilities, "The probabilities"), numbers(values, "The values")
    if f.shape != p.shape:
        raise InvalidData(f"Values and probabilities must have one shape, got {f.shape} and {p.shape}.")
    return float(np.sum(np.where(p > 0, p * f, 0.0)))


def variance(values: Any, probabilities: Any) -> float:
    """Return the variance of a function on a finite distribution: the expected squared distance from its expectation.

    Parameters
    ----------
    values : array-like
        The function at each outcome.
    probabilities : array-like of the same shape
        Of the outcomes.

    Returns
    -------
    float
        Not negative.
    """
    return expectation((numbers(values, "The values") - expectation(values, probabilities)) ** 2, probabilities)


def gaussian_integral(a: float, b: float = 0.0, c: float = 0.0) -> float:
    """Return the integral of ``exp(-a x**2 + b x + c)`` over the real line.

    Parameters
    ----------
    a : float
        Positive.
    b, c : float
        Any numbers.

    Returns
    -------
    float
        ``sqrt(pi / a) * exp(b**2 / (4 a) + c)``.
    """
    a = number(a, "a", 0)
    with np.errstate(over="ignore"):  # what float64 cannot hold is infinity
        return float(np.sqrt(np.pi / a) * np.exp(np.square(np.float64(b)) / (4 * a) + c))


def occam_factor(posterior_width: float, prior_width: float) -> float:
    """Return the share of the prior that is left after the data: what a flexible model pays for its flexibility.

    The evidence is about the best likelihood times this factor; exactly so when the likelihood is constant on an interval inside a
    uniform prior, and zero elsewhere.

    Parameters
    ----------
    posterior_width, prior_width : float
        Widths, not modes, of the two distributions of a parameter.

    Returns
    -------
    float
        At most one.
    """
    after, before = number(posterior_width, "posterior_width", 0), number(prior_width, "prior_width", 0)
    if after > before:
        raise InvalidParameter(f"The posterior is at most as wide as the prior, got {after:g} and {before:g}.")
    return after / before


def density_error_exponent(n_dimensions: int) -> float:
    """Return the exponent e of the error n**e of a density estimate without a model, in a number of dimensions.

    Parameters
    ----------
    n_dimensions : int
        Number of columns.

    Returns
    -------
    float
        ``-2 / (2 + d)``; halving the error takes ``2**((2 + d) / 2)`` times the rows.
    """
    return -2 / (2 + number(n_dimensions, "n_dimensions", 1, np.inf, open_ends=False))
