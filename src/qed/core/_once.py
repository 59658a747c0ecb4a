"""Properties computed once, without a lock.

Until Python 3.12 `functools.cached_property` holds one lock for all instances while it computes. A process that is forked
meanwhile inherits the lock and nobody to release it: its first fit would wait without end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from functools import cached_property as cached_property  # noqa: PLC0414  to a type checker: handed on
else:

    class cached_property:  # noqa: N801  as the standard library spells it
        """Compute a property at its first use, and keep it in the instance."""

        def __init__(self, compute):
            self.compute, self.__doc__ = compute, compute.__doc__

        def __set_name__(self, owner, name):
            self.name = name

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            value = instance.__dict__[self.name] = self.compute(instance)
            return value
