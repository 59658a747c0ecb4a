"""Methods that a model of models hands over to a model inside it."""

from __future__ import annotations

from typing import Any


class Delegated:
    """A method that a model of models has exactly when the model it hands over to has it.

    The outer model says by ``_delegate()`` which model that is, and by ``_ask(method, X, **options)`` how it is asked.
    """

    def __init__(self, text: str) -> None:
        self.__doc__ = text

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, outer: Any, owner: type | None = None) -> Any:
        """Return the method, bound; AttributeError if the inner model has none."""
        if outer is None:
            return self
        inner = outer._delegate()  # noqa: SLF001
        if not hasattr(inner, self.name):
            raise AttributeError(f"{type(outer).__name__} has no {self.name}: {type(inner).__name__} in it has none.")
        return lambda X, **options: outer._ask(self.name, X, **options)  # noqa: SLF001
