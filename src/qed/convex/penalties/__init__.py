"""Penalties, one file each: value, proximal step, conjugate, excess, traits."""

from __future__ import annotations

from qed.convex.penalties._l1 import L1

__all__ = ["L1"]
