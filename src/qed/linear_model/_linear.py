"""What every linear regressor shares once it is fitted: predictions, a state that can be checked, a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import Array, InvalidData
from qed.core._records import record
from qed.designs import design
from qed.linear_model._kernels import matmul

if TYPE_CHECKING:
    from collections.abc import Iterator


def predict_linear(model: Any, X: Any) -> Array:
    """Return ``X @ coef_ + intercept_`` in the type of ``X``."""
    rows = model._new_data(X, finite=False)  # noqa: SLF001
    with np.errstate(over="ignore", invalid="ignore"):
        predicted = _predicted(rows, *_coefficients(model))
    if not np.isfinite(predicted).all():  # entries that are not finite leave no score finite: no need to look before
        model._new_data(X)  # noqa: SLF001
    return predicted[:, 0] if model.coef_.ndim == 1 else predicted


def _coefficients(model: Any) -> tuple[Array, Array]:
    w = np.atleast_2d(model.coef_).T.astype(np.float64)
    return w, np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64), (w.shape[1],))


def _predicted(X: Any, w: Array, b: Array) -> Array:
    predicted: Array
    predicted = matmul(X, w, b) if isinstance(X, np.ndarray) else (design(X) @ w + b).astype(X.dtype, copy=False)
    return predicted


def one_for_each_target(model: Any, intercept: Any) -> str:
    """Say what is wrong with intercepts: they are one number, or as many as ``coef_`` has rows."""
    shape = model.coef_.shape[:-1]
    return (
        "" if np.shape(intercept) in ((), shape) else f"should have shape () or {shape}, and has {np.shape(intercept)}"
    )


def fits_coefficients(model: Any, memory: Any) -> str:
    """Say what is wrong with the memory of an online learner: its coefficients have the shape of ``coef_``."""
    shape = np.atleast_2d(model.coef_).shape
    return "" if memory.w.shape == shape else f"should hold coefficients of shape {shape}, and holds {memory.w.shape}"


@record("coefficient-table")
class CoefficientTable:
    """Coefficients with standard errors and confidence intervals; for several targets, one row of each array per target.

    Valid under the classical model: targets are linear in the columns plus independent noise of equal variance; the
    intervals also need the noise to be normal or the rows many. Of a logistic regression: log-odds are linear in the columns, and
    the rows are many. Weights count as repetitions.

    Attributes
    ----------
    names : tuple of str
        Names of the columns, and ``"intercept"`` last when there is one.
    estimate, standard_error, lower, upper : ndarray of shape (k,) or (m, k)
        The coefficient, its standard error and the ends of its interval.
    level : float
        Probability that an interval covers its coefficient.
    degrees_of_freedom : float
        Of the residual variance; infinite where none is estimated.
    """

    names: tuple[str, ...]
    estimate: np.ndarray[Any, Any]
    standard_error: np.ndarray[Any, Any]
    lower: np.ndarray[Any, Any]
    upper: np.ndarray[Any, Any]
    level: float
    degrees_of_freedom: float

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        width = max(map(len, self.names))
        head = f"{'':<{width}}  {'estimate':>12} {'std. error':>12}   {100 * self.level:.4g} % interval"
        blocks = []
        for rows in self._targets():
            lines = [f"{name:<{width}}  {e:>12.6g} {s:>12.4g}   [{lo:.6g}, {hi:.6g}]" for name, e, s, lo, hi in rows]
            blocks.append("\n".join([head, *lines]))
        return "\n\n".join(blocks)

    def _repr_html_(self) -> str:
        from qed.core._escape import escaped  # noqa: PLC0415  (notebooks only)

        titles = ("", "estimate", "std. error", f"{100 * self.level:.4g} % interval")
        head = "".join(f"<th style='text-align:right'>{title}</th>" for title in titles)
        tables = []
        for target, rows in enumerate(self._targets()):
            cells = "".join(
                f"<tr><th style='text-align:left'>{escaped(name)}</th><td>{e:.6g}</td><td>{s:.4g}</td>"
                f"<td>[{lo:.6g}, {hi:.6g}]</td></tr>"
                for name, e, s, lo, hi in rows
            )
            caption = f"<caption>target {target}</caption>" if self.estimate.ndim == 2 else ""
            tables.append(f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{cells}</tbody></table>")
        return f"<div class='qed-coefficients'>{''.join(tables)}</div>"

    def to_frame(self, library: str | None = None) -> Any:
        """Return the table as a frame: one row for each coefficient, and for several targets one for each of each.

        Parameters
        ----------
        library : {"pandas", "polars", "pyarrow"}, optional
            What makes the frame; None means the first of them that is loaded, or else installed.

        Returns
        -------
        DataFrame or Table
            With the columns ``name``, ``estimate``, ``standard_error``, ``lower`` and ``upper``, and for several targets
            ``target``, a number, before them.
        """
        from qed.core._frames import framed  # noqa: PLC0415  (loads narwhals)

        targets = len(self.estimate) if self.estimate.ndim == 2 else 1
        columns: dict[str, Any] = {"name": list(self.names) * targets}
        for name in ("estimate", "standard_error", "lower", "upper"):
            columns[name] = getattr(self, name).ravel()
        if self.estimate.ndim == 2:
            columns = {"target": np.repeat(np.arange(targets), len(self.names)), **columns}
        return framed(columns, library)

    def _targets(self) -> Iterator[Iterator[tuple[str, float, float, float, float]]]:
        """Go through the targets, and in each through the rows of its table."""
        columns = [np.atleast_2d(a) for a in (self.estimate, self.standard_error, self.lower, self.upper)]
        for target in range(len(columns[0])):
            yield zip(self.names, *(column[target] for column in columns), strict=True)

    def __len__(self) -> int:
        return len(self.names)


def require_names(model: Any) -> tuple[str, ...]:
    """Return the names of the columns, or ``x0, x1, …`` when they came without."""
    names = model.__dict__.get("feature_names_in_")
    if names is None:
        return tuple(f"x{j}" for j in range(model.n_features_in_))
    if len(names) != model.n_features_in_:
        msg = f"feature_names_in_ holds {len(names)} names for {model.n_features_in_} columns"
        raise InvalidData(msg)
    return tuple(map(str, names))
