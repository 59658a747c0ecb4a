"""Losses, one file each: value, slope, curvature, conjugate, projection on its domain, excess, proximal step, traits."""

from __future__ import annotations

from qed.convex.losses._squared import Squared

__all__ = ["Squared"]
