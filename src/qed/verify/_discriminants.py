"""Discriminant analysis, checked: covariances by definition, and the equations that coefficients and axes must satisfy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.verify._by_class import MAX_BELIEVED_ROUNDING, Estimate, Labelled, labelled, require_near, require_shares
from qed.verify._refusals import refuse
from qed.verify._rows import EXTENDED

if TYPE_CHECKING:
    from qed.certificates import LikelihoodCertificate


Array = np.ndarray[Any, Any]


def _require_means(model: Any, found: Labelled, near: float) -> float:
    """Check the means of the classes, each against the deviations of its own rows or of all."""
    variance = np.einsum("kjj->kj", found.scatter).sum(axis=0) / found.weight.sum()
    slack = 4 * near * np.sqrt(variance) + 2.0**-51 * np.abs(found.mean)
    return require_near(model, "the mean of a column", model.means_, found.mean, slack)


def _covariance(model: Any, found: Labelled, at: int | None) -> Array:
    """Return the covariance of a class (or of all rows), shrunk as the model asks."""
    if at is None:
        share = found.weight / found.weight.sum()
        # so the mean of equal means is the same to the last digit
        middle = found.mean[0] + share @ (found.mean - found.mean[0])
        own = found.scatter.sum(axis=0) / found.weight.sum()
        own = own + np.einsum("k,ki,kj->ij", share, found.mean - middle, found.mean - middle)
    else:
        middle, own = found.mean[at], found.scatter[at] / found.weight[at]
    amount = model.shrinkage
    if amount is None:
        return np.asarray(own)
    p = len(own)
    if amount != "auto":
        return np.asarray((1 - EXTENDED(amount)) * own + EXTENDED(amount) * np.trace(own) / p * np.eye(p))
    return _by_ledoit_and_wolf(found, at, middle, own)


def _by_ledoit_and_wolf(found: Labelled, at: int | None, middle: Array, own: Array) -> Array:
    """Shrink by their formula, from every product of two scaled entries of every row."""
    p = len(own)
    if p == 1:
        return own
    root = np.sqrt(np.diag(own))
    root = np.where(root > 0, root, 1)
    scaled = own / np.multiply.outer(root, root)
    level = np.trace(scaled) / p
    apart = ((scaled - level * np.eye(p)) ** 2).sum()
    noise = weight = EXTENDED(0)
    for label, x, s in found.parts():
        if at in (None, label):
            z = (x - middle) / root
            # the squared distance of z z' from the covariance, row by row
            noise += s @ (((z**2).sum(axis=1)) ** 2 - 2 * np.einsum("ni,ij,nj->n", z, scaled, z) + (scaled**2).sum())
            weight += s.sum()
    part = min(noise / weight / weight, apart)
    amount = part / apart if part > 0 else EXTENDED(0)
    return np.asarray(((1 - amount) * scaled + amount * level * np.eye(p)) * np.multiply.outer(root, root))


def check_linear(model: Any, certificate: LikelihoodCertificate, X: Any, y: Any, sample_weight: Any) -> Estimate:
    """Check means, common covariance, hyperplanes and directions."""
    found = labelled(model, certificate, X, y, sample_weight, products=True)
    near = min(certificate.rounding + certificate.backward_error, MAX_BELIEVED_ROUNDING) + found.rounding + 2.0**-50
    given = None if model.priors is None else np.asarray(model.priors, dtype=EXTENDED)
    prior = require_shares(model, model.priors_, given if given is None else given / given.sum(), found, near)
    off = _require_means(model, found, near)
    pooled = found.scatter.sum(axis=0) / found.weight.sum()
    covariance = pooled
    if model.solver != "svd":
        covariance = sum(share * _covariance(model, found, k) for k, share in enumerate(prior))
    scale = np.sqrt(np.diag(covariance)).astype(np.float64)
    scale = np.where(scale > 0, scale, 1.0)
    whole = np.multiply.outer(scale, scale)
    if "covariance_" in vars(model):
        stated = sum(share * _covariance(model, found, k) for k, share in enumerate(prior))
        require_near(model, "the covariance", model.covariance_, stated, 16 * near * whole)
    scaled = (covariance / whole).astype(np.float64)
    variance, axes = np.linalg.eigh(scaled)
    least = max(model.tol, 0.0) if model.solver == "svd" else 0.0
    # axes along which rows vary no more than the stated rounding are left out, and no others of a variance that can be told
    told = min(4 * len(scale) * certificate.rounding, 64 * len(scale) * near)
    kept = variance > max(least * least, told)
    _require_planes(model, found, prior, (scaled, scale, variance, axes[:, kept]), near)
    if model.solver != "lsqr":
        _require_directions(model, found, prior, scaled, scale, near)
    observed = np.einsum("jr,jr->r", (pooled / whole).astype(np.float64) @ axes[:, kept], axes[:, kept])
    full = kept.all()
    density = -0.5 * (np.log(2 * np.pi * variance[kept]) + observed / variance[kept]).sum()
    density -= np.log(scale).sum() if full else 0.0
    share = (found.weight / found.weight.sum()).astype(np.float64)
    reach = np.abs(axes[:, kept]).sum(axis=0)
    slack = (1 + 0.5 * observed / variance[kept]) @ _moved(reach, variance[kept], near)
    return Estimate(float(share @ np.log(prior.astype(np.float64)) + density), off, found.rounding, float(slack))


def _moved(reach: Array, variance: Array, near: float) -> Array:
    """Bound how much of a variance along an axis is rounding.

    Entries (i, j) of a covariance are off by ``near`` times the deviations of both columns, and so are products summed in float64;
    ``reach`` is the sum of an axis' entries, each times the deviation of its column.
    """
    return np.asarray((near + len(variance) * 2.0**-51) * reach**2 / variance, dtype=np.float64)


def _require_planes(model: Any, found: Labelled, prior: Array, parts: tuple[Array, ...], near: float) -> None:
    """Check that the covariance times the coefficients gives the means, and that intercepts follow from both."""
    scaled, scale, variance, axes = parts
    mean = found.mean
    centre = prior @ mean
    about = mean - centre if model.solver == "svd" else mean
    two = len(model.classes_) == 2
    wanted = about[1:] - about[:1] if two else about
    W = model.coef_.astype(EXTENDED)
    if W.shape != wanted.shape or model.intercept_.shape != W.shape[:1]:
        refuse(model, f"its hyperplanes have the shape {W.shape}, and {wanted.shape} was expected")
    w, b = (W * scale).astype(np.float64), (wanted / scale).astype(np.float64)
    size = np.linalg.norm(w, axis=1) * variance.max() + np.linalg.norm(b, axis=1)
    missed = np.linalg.norm((w @ scaled - b) @ axes, axis=1)
    outside = np.linalg.norm(w - (w @ axes) @ axes.T, axis=1)
    slack = 64 * len(scale) * near
    # the mean of a class that holds nearly all weight, or lies midway, is that of all up to the rounding of both
    rounded = 2 * float(np.linalg.norm(4 * near + 2.0**-51 * np.abs(mean).max(axis=0) / scale))
    # a small variance divides what is off: within the kept directions coefficients are compared by what they multiply to
    if (
        not (missed <= slack * size + rounded).all()
        or not (outside * np.sqrt(slack) <= slack * (1 + np.linalg.norm(w, axis=1))).all()
    ):
        k = int(np.argmax(missed / size))
        refuse(model, f"the coefficients of hyperplane {k} miss their equations by {float(missed[k] / size[k]):.3g}")
    level = np.log(prior)
    if two:
        # half the sum of the means lies where only the priors decide
        true = level[1:] - level[:1] - 0.5 * ((mean[0] + mean[1]) * W).sum(axis=1)
        terms = np.abs((mean[0] + mean[1]) * W).sum(axis=1)
    else:
        true = level - 0.5 * (about * W).sum(axis=1) - (W @ centre if model.solver == "svd" else 0)
        terms = (np.abs(about * W) + np.abs(centre * W)).sum(axis=1)
    require_near(model, "an intercept", model.intercept_, true, slack * (1 + np.abs(level).max() + terms))


def _require_directions(model: Any, found: Labelled, prior: Array, scaled: Array, scale: Array, near: float) -> None:
    """Check that directions have a variance of one within classes and none in common, and their shares of that between."""
    size = np.abs(model.scalings_)
    largest = size >= (1 - 1e-9) * size.max(axis=0, initial=0.0)
    if not ((model.scalings_ > 0) & largest).any(axis=0).all():
        refuse(model, "a direction points the other way: its largest entry is negative")
    T = model.scalings_ * scale[:, np.newaxis]
    inner = T.T @ scaled @ T
    reach = np.abs(T).sum(axis=0)
    slack = 1e-10 + 16 * near * np.multiply.outer(reach, reach)
    if not (np.abs(inner - np.eye(T.shape[1])) <= slack).all():
        refuse(model, "its directions do not have a variance of one within classes, each independent of the others")
    if model.solver == "svd":
        centre = prior @ found.mean
        require_near(
            model, "the mean of the means", model.xbar_, centre, near * (np.abs(found.mean).max(axis=0) + scale)
        )
        apart = (found.mean - centre) / scale * np.sqrt(found.weight.sum() * prior / (len(prior) - 1))[:, np.newaxis]
        squares = np.linalg.norm(apart.astype(np.float64) @ T, axis=0) ** 2
    else:
        between = _covariance(model, found, None) / np.multiply.outer(scale, scale) - scaled
        squares = np.einsum("jr,jr->r", between.astype(np.float64) @ T, T)
    total = squares.sum()  # directions stand in the order of their shares
    wanted = len(model.explained_variance_ratio_)
    most = min(len(prior) - 1, len(scale)) if model.n_components is None else int(model.n_components)
    if not min(most, T.shape[1]) <= wanted <= most:
        refuse(model, f"it states the shares of {wanted} directions, and {min(most, T.shape[1])} are kept")
    true = np.zeros(wanted)
    true[: len(squares)] = (squares / total if total > 0 else np.zeros_like(squares))[:wanted]
    rounding_error = (
        1e-7 + 64 * near * float(reach.max(initial=0.0)) ** 2 / max(abs(total), 1e-300) + (model.tol**2 * len(prior))
    )
    require_near(model, "the share of a direction", model.explained_variance_ratio_, true, rounding_error)


def check_quadratic(model: Any, certificate: LikelihoodCertificate, X: Any, y: Any, sample_weight: Any) -> Estimate:
    """Check means, covariances and their axes."""
    found = labelled(model, certificate, X, y, sample_weight, products=True)
    near = min(certificate.rounding + certificate.backward_error, MAX_BELIEVED_ROUNDING) + found.rounding + 2.0**-50
    prior = require_shares(model, model.priors_, model.priors, found, near)
    off = _require_means(model, found, near)
    p, moved = found.rows.p, 0.0
    with np.errstate(divide="ignore"):
        total = (found.weight / found.weight.sum() * np.log(prior))[found.weight > 0].sum()
    for k in range(len(prior)):
        own = _covariance(model, found, k)
        drawn = (1 - EXTENDED(model.reg_param)) * own + EXTENDED(model.reg_param) * np.eye(p)
        axes, variance = model.rotations_[k], model.scalings_[k]
        size = np.abs(axes)
        if not ((axes > 0) & (size >= (1 - 1e-9) * size.max(axis=0, initial=0.0))).any(axis=0).all():
            refuse(model, f"an axis of class {k} points the other way: its largest entry is negative")
        if axes.shape != (p, p) or variance.shape != (p,):
            refuse(model, f"the axes of class number {k} have the wrong shape")
        slack = 64 * p * near * float(np.abs(drawn).max())
        if not (np.abs(axes.T @ axes - np.eye(p)) <= 64 * p * 2.0**-50).all():
            refuse(model, f"the axes of class number {k} are not orthogonal")
        off = max(off, require_near(model, "a covariance", (axes * variance) @ axes.T, drawn, slack))
        if "covariance_" in vars(model):
            require_near(model, "a covariance", model.covariance_[k], drawn, slack)
        observed = found.scatter[k] / found.weight[k]
        along = np.einsum("jr,jr->r", observed @ axes, axes)
        density = -0.5 * (np.log(2 * np.pi * variance) + along / variance).sum()
        share = found.weight[k] / found.weight.sum()
        total = total + share * density
        reach = np.sqrt(np.diag(observed)) @ np.abs(axes)
        moved += float(share) * 0.5 * float(_moved(reach, variance, near).sum())
    return Estimate(float(total), off, found.rounding, moved)
