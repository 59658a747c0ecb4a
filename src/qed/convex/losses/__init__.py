"""Losses, one file each: value, slope, curvature, conjugate, projection on its domain, excess, proximal step, traits."""

from __future__ import annotations

from qed.convex.losses._logistic import Logistic
from qed.convex.losses._poisson import Poisson
from qed.convex.losses._softmax import Softmax
from qed.convex.losses._squared import Squared

__all__ = ["Logistic", "Poisson", "Softmax", "Squared"]
