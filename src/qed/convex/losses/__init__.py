"""Losses, one file each: value, slope, curvature, conjugate, projection on its domain, excess, proximal step, traits.

======================================================= ==================================================
of the residual ``r = t - y``                           of the margin ``m = y t`` or of scores of classes
======================================================= ==================================================
`Squared`, `Absolute`, `Power`, `Huber`, `Quantile`,    `Logistic`, `Hinge`, `SquaredHinge`,
`EpsilonInsensitive`, `SquaredEpsilonInsensitive`,      `SmoothedHinge`, `Perceptron`, `ZeroOne`,
`Poisson` (of counts)                                   `Softmax`, `CrammerSinger`
======================================================= ==================================================

`Bounded` limits any of them, `Weighted` gives each row a cost. `ZeroOne` and `Bounded` are not convex, and their traits say so.
"""

from __future__ import annotations

from qed.convex.losses._absolute import Absolute
from qed.convex.losses._bounded import Bounded
from qed.convex.losses._crammer_singer import CrammerSinger
from qed.convex.losses._epsilon_insensitive import EpsilonInsensitive
from qed.convex.losses._hinge import Hinge
from qed.convex.losses._huber import Huber
from qed.convex.losses._logistic import Logistic
from qed.convex.losses._perceptron import Perceptron
from qed.convex.losses._poisson import Poisson
from qed.convex.losses._power import Power
from qed.convex.losses._quantile import Quantile
from qed.convex.losses._smoothed_hinge import SmoothedHinge
from qed.convex.losses._softmax import Softmax
from qed.convex.losses._squared import Squared
from qed.convex.losses._squared_epsilon_insensitive import SquaredEpsilonInsensitive
from qed.convex.losses._squared_hinge import SquaredHinge
from qed.convex.losses._weighted import Weighted
from qed.convex.losses._zero_one import ZeroOne

__all__ = [
    "Absolute",
    "Bounded",
    "CrammerSinger",
    "EpsilonInsensitive",
    "Hinge",
    "Huber",
    "Logistic",
    "Perceptron",
    "Poisson",
    "Power",
    "Quantile",
    "SmoothedHinge",
    "Softmax",
    "Squared",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
    "Weighted",
    "ZeroOne",
]
