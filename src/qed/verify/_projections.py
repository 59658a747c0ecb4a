"""Projections, checked: directions that follow from a seed, and components of a kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.verify._factors import dense
from qed.verify._kernel_clusters import kernel_of
from qed.verify._refusals import refuse
from qed.verify._rows import DOUBLE, EXTENDED, read
from qed.verify._same_data import require_same_data, summarize_columns
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from qed.certificates import ExactCertificate, SubspaceCertificate

Array = np.ndarray[Any, Any]


def check_seeded(model: Any, certificate: ExactCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:  # noqa: ARG001
    """Hold the seed, the sizes and the words against each other: directions are made from these alone."""
    x = read(model, X, None, sample_weight)
    count = sum(len(block.X) for block in x.blocks())
    asked, k = model.n_components, model.n_components_
    if asked == "auto":
        share = model.eps
        asked = int(4 * np.log(count) / (share**2 / 2 - share**3 / 3))
    words = f"{type(model).__name__} of {x.p} columns, {asked} directions of seed {model.seed_}"
    if k != asked or certificate.what != words or certificate.rows != count or certificate.rounding != 0:
        refuse(model, "its seed or its number of directions is not the one that is stated")
    return Verdict(certificate.statement, 0.0, 0.0, 0.0, 0.0, measure="")


def check_kernel_pca(model: Any, certificate: SubspaceCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:  # noqa: ARG001
    """Form the kernel again, and hold eigenpairs, means and the regression on scores against it."""
    rows = read(model, X, None, sample_weight)
    require_same_data(certificate.fingerprint, summarize_columns(rows), rows.p)
    x = dense(model, X)
    n = len(x)
    if model.X_fit_.shape != x.shape or not np.array_equal(model.X_fit_, x):
        refuse(model, "its rows are not those of the fit")
    rate = 1.0 / rows.p if model.gamma is None else float(model.gamma)
    if model.gamma_ != rate:
        refuse(model, f"its rate is {rate:.6g}, not {model.gamma_:.6g}")
    K = np.asarray(kernel_of(model, x), dtype=np.float64)
    size = float(np.max(np.abs(K)))
    near = 256 * n * DOUBLE * size
    means = K.mean(axis=0)
    if not np.all(np.abs(model.kernel_means_ - means) <= near) or not abs(model.kernel_mean_ - means.mean()) <= near:
        refuse(model, "the means of its kernel are others")
    centred = K - means - means[:, None] + means.mean()
    total = float(np.trace(centred))
    values, V = np.asarray(model.eigenvalues_), np.asarray(model.eigenvectors_)
    k = len(values)
    if V.shape != (n, k) or (model.n_components is not None and not 1 <= k <= model.n_components):
        refuse(model, "its eigenvectors have other shapes than asked for")
    rounding_error = near * n
    if not np.linalg.norm(V.T @ V - np.eye(k)) <= certificate.orthogonality + 1e-13 * k:
        refuse(model, "its eigenvectors are not orthonormal")
    largest = V[np.argmax(np.abs(V), axis=0), np.arange(k)]
    ties = np.abs(V) >= (1 - 1e-9) * np.max(np.abs(V), axis=0)
    if not (((V > 0) & ties).any(axis=0)).all() and (largest < 0).any():
        refuse(model, "an eigenvector is turned around")
    off = float(np.linalg.norm(centred @ V - V * values))
    if not off <= certificate.backward_error * abs(total) + rounding_error:
        refuse(model, f"its pairs are no eigenpairs of the kernel (off by {off:.3g})")
    _require_eigenvalues(model, x, centred, near)
    distance = _distance_from_best(model, centred, certificate.gap, rounding_error)
    left = max(total - float(np.sum(values)), 0.0)
    slack = rounding_error + 1e-9 * abs(total)
    if not (abs(left - certificate.objective) <= slack and abs(max(total, 0.0) - certificate.null_objective) <= slack):
        refuse(model, "it leaves out another part than stated")
    if certificate.what != "sum of squares in feature space":
        refuse(model, "it speaks of something else than its feature space")
    if model.fit_inverse_transform:
        _require_inverse(model, x, V * np.sqrt(values))
    elif "dual_coef_" in vars(model) or "X_transformed_fit_" in vars(model):
        refuse(model, "it holds a regression that it was not asked for")
    return Verdict(certificate.statement, left, distance, rounding_error, certificate.gap)


def _distance_from_best(model: Any, centred: Array, claimed: float, rounding_error: float) -> float:
    """Find all eigenvalues: none may be negative, and the largest may exceed those of the model by what is claimed."""
    every, values = np.linalg.eigvalsh(centred), np.asarray(model.eigenvalues_)
    if not every[0] >= -(2e-7 * max(float(np.trace(centred)), 0.0) + rounding_error):
        refuse(model, f"its kernel has an eigenvalue of {every[0]:.3g}: there is no feature space")
    distance = max(float(np.sum(every[::-1][: len(values)]) - np.sum(values)), 0.0)
    if not distance <= claimed + rounding_error:
        refuse(model, f"other directions explain {distance:.3g} more, and at most {claimed:.3g} is claimed")
    return distance


def _require_eigenvalues(model: Any, x: Array, centred: Array, near: float) -> None:
    """Hold eigenvalues to the quotients of their vectors, as closely as entries of a kernel (``near`` at most) are known."""
    (n, p), V = x.shape, np.asarray(model.eigenvectors_)
    # of distances inside an exponential it is the rounding of squared rows that a kernel shows
    grows = 1 + model.gamma_ * float(np.max(x * x)) * p if model.kernel in ("rbf", "laplacian", "chi2") else 1.0
    entry = min((p + 16) / (16 * n) * grows, 1.0) * near
    own = np.einsum("ij,ij->j", V.astype(EXTENDED), centred.astype(EXTENDED) @ V)
    if not np.all(np.abs(model.eigenvalues_ - own) <= n * entry):
        refuse(model, "an eigenvalue is not that of its eigenvector")


def _require_inverse(model: Any, x: Array, scores: Array) -> None:
    if "dual_coef_" not in vars(model) or "X_transformed_fit_" not in vars(model):
        refuse(model, "it lacks the regression that gives rows back")
    size = float(np.max(np.abs(scores), initial=0.0))
    if not np.all(np.abs(model.X_transformed_fit_ - scores) <= 1e-9 * size):
        refuse(model, "its scores are not those of its components")

    class Like:
        kernel, degree, coef0, gamma = model.kernel, model.degree, model.coef0, model.gamma_

    K = np.asarray(kernel_of(Like, scores), dtype=np.float64) + model.alpha * np.eye(len(x))
    rest = K @ model.dual_coef_ - x
    scale = np.linalg.norm(K) * np.linalg.norm(model.dual_coef_) + np.linalg.norm(x)
    if not np.linalg.norm(rest) <= 64 * len(x) * DOUBLE * scale:
        refuse(model, "the regression that gives rows back does not fit them")
