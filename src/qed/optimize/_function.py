"""What is minimised: a value, and whatever else is known of it.

A `Function` is a record of callables. What it does not have is None, and an optimiser that needs it says so before it begins.
Traits (``is_convex``, ``curvature_bound``, ``convexity``) are claims of whoever made the function; operations carry them by
rule, and `qed.optimize.check_convexity` can refute them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import numpy as np

from qed.core import InvalidData, InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable

Vector = np.ndarray[Any, np.dtype[np.float64]]


UNIT = 2.0**-53


class Bound(NamedTuple):
    """How much lower than here a function can be.

    Attributes
    ----------
    gap : float
        Upper bound on the value here minus the infimum.
    radius : float
        The bound speaks of points closer than this; ``inf`` means all there are.
    """

    gap: float
    radius: float = np.inf


class Proximal(Protocol):
    """A convex function that need not be smooth, known by its value and its proximal step: penalties of `qed.convex`, sets here."""

    def value(self, w: Vector) -> float:
        """Return the value; ``inf`` outside the domain."""
        ...

    def prox(self, v: Vector, step: float) -> Vector:
        """Return the w that minimises ``value(w) + |w - v|**2 / (2 step)``."""
        ...


@dataclass(frozen=True, eq=False)
class Function:
    """A function of a vector, and what is known of it.

    Parameters
    ----------
    value : callable
        ``value(w)``, a number for w of shape (p,); ``inf`` outside the domain.
    gradient : callable, optional
        ``gradient(w)``, of shape (p,). At a non-differentiable point any subgradient, and then ``is_smooth=False``.
    curvature : callable, optional
        ``curvature(w)``, the second derivatives, (p, p).
    part_gradient : callable, optional
        ``part_gradient(w, rows)``: an unbiased gradient from some examples, the mean over them for a mean of n functions.
    n_examples : int
        Examples that ``rows`` may name; 0 means that there are none.
    is_smooth : bool
        Whether ``gradient`` is a gradient everywhere.
    is_convex, is_quadratic : bool
        What the maker of the function claims.
    curvature_bound : float
        Bound on the largest curvature L, the Lipschitz constant of the gradient; ``inf`` where none is known.
    convexity : float
        A number m >= 0 with ``value - m/2 |w|**2`` convex.
    bound : callable, optional
        ``bound(w)``, a `Bound`: how much lower the function can be.
    split : Split, optional
        The same function as a smooth one plus one with a proximal step.
    size : int, optional
        Length p of the vectors it takes; any by default.
    name : str
        How messages call it.

    Examples
    --------
    >>> from qed.optimize import Function, gradient_descent
    >>> bowl = Function(lambda w: float(w @ w), lambda w: 2 * w)
    >>> gradient_descent(bowl, [3.0, -1.0], step=0.25).outcome
    'solved'
    """

    __array_ufunc__: ClassVar[None] = None  # a NumPy number times a function is this class's business

    value: Callable[[Vector], float]
    gradient: Callable[[Vector], Vector] | None = None
    curvature: Callable[[Vector], Vector] | None = None
    part_gradient: Callable[[Vector, Any], Vector] | None = None
    n_examples: int = 0
    is_smooth: bool = True
    is_convex: bool = False
    is_quadratic: bool = False
    curvature_bound: float = np.inf
    convexity: float = 0.0
    bound: Callable[[Vector], Bound] | None = None
    split: Split | None = None
    size: int | None = None
    name: str = "function"

    def __post_init__(self) -> None:
        for part in ("value", "gradient", "curvature", "part_gradient", "bound"):
            given = getattr(self, part)
            if not (callable(given) or (given is None and part != "value")):
                raise InvalidParameter(
                    f"Function.{part} must be a callable of a vector, got {given!r} of type {type(given).__name__}."
                )
        if not self.curvature_bound >= 0 or not self.convexity >= 0:
            raise InvalidParameter(
                f"Function.curvature_bound and Function.convexity must be >= 0, got"
                f" {self.curvature_bound!r} and {self.convexity!r}."
            )

    def __call__(self, w: Any) -> float:
        """Return the value."""
        return float(self.value(np.atleast_1d(np.asarray(w, dtype=np.float64))))

    def __add__(self, other: Function) -> Function:
        """Return the sum: convex if both are, and curvatures add."""
        f, g = self, as_function(other)
        return Function(
            lambda w: f.value(w) + g.value(w),
            _both(f.gradient, g.gradient),
            _both(f.curvature, g.curvature),
            is_smooth=f.is_smooth and g.is_smooth,
            is_convex=f.is_convex and g.is_convex,
            is_quadratic=f.is_quadratic and g.is_quadratic,
            curvature_bound=f.curvature_bound + g.curvature_bound,
            convexity=f.convexity + g.convexity if f.is_convex and g.is_convex else 0.0,
            size=f.size if g.size is None else g.size,
            name=f"{f.name} + {g.name}",
        )

    def __rmul__(self, factor: float) -> Function:
        """Return the function times a number: convex if it was and the number is >= 0."""
        factor = float(factor)
        part = self.part_gradient
        return Function(
            lambda w: factor * self.value(w),
            _times(factor, self.gradient),
            _times(factor, self.curvature),
            None if part is None else lambda w, rows: factor * part(w, rows),
            self.n_examples,
            is_smooth=self.is_smooth,
            is_convex=self.is_convex and factor >= 0,
            is_quadratic=self.is_quadratic,
            curvature_bound=abs(factor) * self.curvature_bound if factor else 0.0,
            convexity=factor * self.convexity if factor > 0 else 0.0,
            size=self.size,
            name=f"{factor:g} {self.name}",
        )

    def __mul__(self, factor: float) -> Function:
        """Return the function times a number."""
        return factor * self

    def __sub__(self, other: Function) -> Function:
        """Return the difference, which need not be convex."""
        return self + -as_function(other)

    def __neg__(self) -> Function:
        """Return minus the function, for those who maximise."""
        return replace(-1.0 * self, name=f"minus {self.name}")

    def after(self, A: Any, b: Any = 0.0) -> Function:
        """Return ``w -> f(A w + b)``, convex if f is.

        Parameters
        ----------
        A : array-like of shape (q, p)
            The matrix.
        b : array-like of shape (q,)
            The shift.
        """
        A = np.atleast_2d(np.asarray(A, dtype=np.float64))
        b = np.broadcast_to(np.asarray(b, dtype=np.float64), A.shape[:1])
        gradient, curvature = self.gradient, self.curvature
        squares = np.linalg.norm(A, 2) ** 2
        return Function(
            lambda w: self.value(A @ w + b),
            None if gradient is None else lambda w: A.T @ gradient(A @ w + b),
            None if curvature is None else lambda w: A.T @ curvature(A @ w + b) @ A,
            is_smooth=self.is_smooth,
            is_convex=self.is_convex,
            is_quadratic=self.is_quadratic,
            curvature_bound=self.curvature_bound * float(squares) if squares else 0.0,
            size=A.shape[1],
            name=f"{self.name} after an affine map",
        )


@dataclass(frozen=True, eq=False)
class Split:
    """A function as a sum of two.

    Parameters
    ----------
    smooth : Function
        With a gradient everywhere.
    rest : Proximal
        With a proximal step.
    is_separable : bool
        Whether ``rest`` is a sum over coordinates, so that its proximal step may be taken one coordinate at a time.
    """

    smooth: Function
    rest: Proximal
    is_separable: bool = False


def as_function(given: Any) -> Function:
    """Return what is known of a function.

    Parameters
    ----------
    given : Function, Problem, callable, or object with ``value`` and ``gradient``
        A problem of `qed.convex` becomes a function of its coefficients, the intercept last. A plain callable has a value and
        nothing else. An object may also have ``curvature``, ``part_gradient`` and ``n_examples``.
    """
    if isinstance(given, Function):
        return given
    maker = getattr(given, "as_function", None)
    if callable(maker):
        made: Function = maker()
        return made
    if callable(getattr(given, "value", None)):
        parts: dict[str, Any] = {
            part: getattr(given, part, None) for part in ("gradient", "curvature", "part_gradient")
        }
        count = int(getattr(given, "n_examples", 0))
        return Function(given.value, **parts, n_examples=count, name=type(given).__name__)
    if callable(given):
        return Function(given, name=getattr(given, "__name__", "function"))
    raise InvalidParameter(
        f"A function to minimise is a Function(value, gradient), a convex Problem, an object with value(w) and gradient(w),"
        f" or a callable; got {given!r} of type {type(given).__name__}."
    )


def quadratic(A: Any, b: Any = 0.0, c: float = 0.0) -> Function:
    r"""Return ``w'Aw / 2 - b'w + c`` with everything that is known of it.

    Objective
    ---------
    .. math:: \frac{1}{2} w^\top A w - b^\top w + c

    Certificate
    -----------
    Where A is positive definite the gap is ``g' A^{-1} g / 2`` with g the gradient, and a bound on its rounding.

    Cost
    ----
    One eigendecomposition of A when the function is made; O(p^2) a gradient.

    Parameters
    ----------
    A : array-like of shape (p, p)
        Made symmetric. Its eigenvalues say whether the function is convex, up to their rounding.
    b : array-like of shape (p,)
        The linear part.
    c : float
        The constant.

    Examples
    --------
    >>> from qed.optimize import quadratic
    >>> quadratic([[2.0, 0.0], [0.0, 10.0]]).curvature_bound
    10.0
    """
    A = np.atleast_2d(np.asarray(A, dtype=np.float64))
    if A.ndim != 2 or A.shape[0] != A.shape[1] or not np.isfinite(A).all():
        raise InvalidData(f"The matrix of a quadratic must be square and finite, got shape {A.shape}.")
    A = 0.5 * (A + A.T)
    b = np.asarray(b, dtype=np.float64)
    if b.shape not in ((), A.shape[:1]) or not np.isfinite(b).all():
        raise InvalidData(f"The linear part of a quadratic must be {len(A)} finite numbers, got {b!r:.200}.")
    b = np.broadcast_to(b, A.shape[:1])
    eigenvalues = np.linalg.eigvalsh(A)
    least, largest = float(eigenvalues[0]), float(np.max(np.abs(eigenvalues)))
    rounding_error = 4 * len(A) * UNIT * largest

    def gradient(w: Vector) -> Vector:
        return np.asarray(A @ w - b)

    def bound(w: Vector) -> Bound:
        g = gradient(w)
        off = (len(A) + 4) * UNIT * float(np.linalg.norm(np.abs(A) @ np.abs(w) + np.abs(b)))  # rounding of the gradient
        flat = least - rounding_error
        squared = max(float(g @ np.linalg.solve(A, g)), 0.0) * (1.0 + 16 * len(A) * UNIT * largest / flat)
        return Bound(0.5 * (float(np.sqrt(squared)) + off / float(np.sqrt(flat))) ** 2)

    return Function(
        lambda w: float(0.5 * w @ A @ w - b @ w + c),
        gradient,
        lambda _: A,
        is_convex=least >= -rounding_error,
        is_quadratic=True,
        curvature_bound=largest,
        convexity=least if least > rounding_error else 0.0,
        bound=bound if least > rounding_error else None,
        size=len(A),
        name="quadratic",
    )


def maximum(*functions: Function) -> Function:
    """Return the largest of several functions: convex if all of them are, not differentiable where the largest changes."""
    if not functions:
        raise InvalidParameter("maximum() needs at least one function.")
    parts = [as_function(function) for function in functions]

    def gradient(w: Vector) -> Vector:
        top = parts[int(np.argmax([part.value(w) for part in parts]))]
        return np.asarray(top.gradient(w))  # type: ignore[misc]

    has_gradient = all(part.gradient is not None for part in parts)
    return Function(
        lambda w: max(part.value(w) for part in parts),
        gradient if has_gradient else None,
        is_smooth=len(parts) == 1 and parts[0].is_smooth,
        is_convex=all(part.is_convex for part in parts),
        size=parts[0].size,
        name="maximum",
    )


def _both(f: Any, g: Any) -> Any:
    return None if f is None or g is None else lambda w: f(w) + g(w)


def _times(factor: float, f: Any) -> Any:
    return None if f is None else lambda w: factor * np.asarray(f(w))
