"""Support vector machines: linear models with a margin, and a bound on their distance from the optimum.

One rule: **a machine is a loss of the margin and a penalty, as its documentation writes them; the hyperplane and the proof
follow.**

::

    _linear_svc      classes, one hyperplane for each or all at once
    _linear_svr      numbers, within a tube
    _small_tables    all hyperplanes of a small table at once
    _planes          one hyperplane after the other, one certificate for all
    _hard_margin     the hyperplane with the widest margin, where nothing may be on the wrong side
"""

from __future__ import annotations

from qed.core._exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
