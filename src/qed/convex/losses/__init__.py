"""Losses, one file each: value, slope, curvature, conjugate, projection on its domain, excess, proximal step, traits."""

from __future__ import annotations

from qed.convex.losses._huber import Huber
from qed.convex.losses._quantile import Quantile
from qed.convex.losses._squared import Squared

__all__ = ["Huber", "Quantile", "Squared"]
