"""Penalties, one file each: value, proximal step, conjugate, excess, traits."""

from __future__ import annotations

from qed.convex.penalties._box import Box
from qed.convex.penalties._elastic_net import ElasticNet
from qed.convex.penalties._group import Group
from qed.convex.penalties._l1 import L1
from qed.convex.penalties._l2 import L2
from qed.convex.penalties._nonnegative import Nonnegative
from qed.convex.penalties._zero import Zero

__all__ = ["L1", "L2", "Box", "ElasticNet", "Group", "Nonnegative", "Zero"]
