"""Gaussian components as models declare and store them: parameters, shapes, precisions, and rows drawn from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from qed.core import Array, InvalidData, fitted, param
from qed.data._kernels import UNIT
from qed.mixture._gaussians import Gaussians, collapsed
from qed.mixture._mixture import draw_components

if TYPE_CHECKING:
    from numpy.random import Generator

Structure = Literal["full", "tied", "diag", "spherical"]
LARGEST_MOVE = 1e-3  # of a log-density, or of a row in deviations of its component, by rounding: three digits are left
SHAPES = "(c, p, p) or (p, p) or (c, p) or (c,)"

STRUCTURE = param(
    "full", "A covariance for each component, one for all, variances of columns, or one variance for each component."
)
REG_COVAR = param(1e-6, "Variance that every row is blurred by; no variance falls below it.")
INIT_PARAMS = param(
    "kmeans", "Where to begin: clusters of k-means, rows far from each other, random responsibilities, or any rows."
)


def shape_of(structure: str, k: int, p: int) -> tuple[int, ...]:
    """Return the shape of covariances."""
    shapes: dict[str, tuple[int, ...]] = {"full": (k, p, p), "tied": (p, p), "diag": (k, p), "spherical": (k,)}
    return shapes[structure]


def _has_its_structure(model: Any, stored: Array) -> str:
    shape = shape_of(model.covariance_type, *model.means_.shape)
    return "" if stored.shape == shape else f"should have shape {shape}, and has {stored.shape}"


MEANS = fitted("Means, shape (k, p).", shape="(c, p)")
COVARIANCES = fitted("Covariances, in the shape of their structure.", shape=SHAPES, check=_has_its_structure)
PRECISIONS = fitted("Their inverses.", shape=SHAPES, check=_has_its_structure)
PRECISION_FACTORS = fitted(
    "Upper triangular U with precision U U'; inverse standard deviations of structures without correlations.",
    shape=SHAPES,
    check=_has_its_structure,
)


def store(model: Any, found: Gaussians) -> None:
    """Store weights, means, covariances, and the inverses of the latter."""
    model.weights_, model.means_, model.covariances_ = found.weights, found.means, np.array(found.covariances)
    whiten = found.whiten
    if found.structure in ("diag", "spherical"):
        roots = whiten if found.structure == "diag" else whiten[:, 0].copy()
        model.precisions_cholesky_, model.precisions_ = roots, roots**2
        return
    turned = np.swapaxes(whiten, -1, -2)
    model.precisions_cholesky_, model.precisions_ = np.ascontiguousarray(turned), turned @ whiten


def stored(model: Any) -> Gaussians:
    """Return the components of a fitted model."""
    return Gaussians(model.weights_, model.means_, model.covariances_, model.covariance_type)


def rounding(found: Gaussians, trace: Array) -> float:
    """Bound the rounding of objectives of an ascent that ended at given components."""
    p = found.means.shape[1]
    size = 1.0 + p + float(np.max(np.abs(trace))) + p * abs(float(np.log(np.max(np.abs(found.whiten)))))
    # a Cholesky factor has that of a matrix nearby, whose determinant differs by the condition number of the matrix
    of_factors = 2 * p * UNIT * found.condition**2
    if not of_factors <= LARGEST_MOVE:
        raise collapsed()
    return float(64 * (p + 8) * UNIT * found.condition * size + of_factors) + _of_distances(found)


def _of_distances(found: Gaussians) -> float:
    """Bound what log-densities lose where components are narrow, and far apart or far from zero.

    Rows and means are rounded when the mean of all rows is taken off, and means once more when they are stored. That moves a
    whitened row by up to two units of the distance of its component and one of its mean, in deviations; the mean squared length of
    whitened rows is p.
    """
    apart = np.abs(found.means - found.weights @ found.means) + 0.5 * np.abs(found.means)
    white = np.abs(found.whiten)
    if found.structure in ("diag", "spherical"):
        far = np.linalg.norm(white * apart, axis=1)
    else:
        far = np.linalg.norm(np.einsum("ij,kj->ki" if white.ndim == 2 else "kij,kj->ki", white, apart), axis=1)
    moved = 2 * UNIT * float(far.max())
    if not moved <= LARGEST_MOVE:
        raise InvalidData(
            f"A component is {float(far.max()):.1e} of its own deviations away from zero or from the mean of all rows, and float64"
            " cannot tell its rows apart. Increase reg_covar, or scale the columns."
        )
    p = found.means.shape[1]
    return float(2 * moved * (1 + np.sqrt(p)) + moved**2)


def draw(model: Any, n_samples: int, rng: Generator) -> tuple[Array, Array]:
    """Draw components by their weights, then rows of them, component by component."""
    labels = draw_components(model, n_samples, rng)
    found, (k, p) = stored(model), model.means_.shape
    z = rng.standard_normal((n_samples, p))
    if model.covariance_type in ("diag", "spherical"):
        return model.means_[labels] + z / found.whiten[labels], labels
    try:
        factors = np.broadcast_to(np.linalg.cholesky(model.covariances_), (k, p, p))
    except np.linalg.LinAlgError as error:
        raise InvalidData(
            f"covariances_ of this {type(model).__name__} holds a matrix that is not positive definite, so nothing can be drawn"
            " from it. Fit again, or load the model from its file."
        ) from error
    rows = [z[labels == j] @ factors[j].T + model.means_[j] for j in range(k)]
    return np.vstack(rows), labels
