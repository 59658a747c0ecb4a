"""Networks, checked: objective and gradient by plain backpropagation, and that gradient by differences of objectives.

The objective is read from the public parameters and the weights alone. Small networks on few rows are gone through in extended
precision, others in doubles; rounding is then still ten digits away from any change worth making.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from qed.core import CertificateError
from qed.verify._rows import EXTENDED, Block, Rows, read
from qed.verify._same_data import ColumnSummary, require_same_data, summarize_columns
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from qed.certificates import NetworkCertificate


Array = np.ndarray[Any, Any]
WORK = 2**22  # multiplications of a pass up to which it is made in extended precision
SINGLE_PRECISION_TOLERANCE = (
    1e-7  # of the sizes of what was summed: fits in single precision are certified in doubles, too
)
OBJECTIVE = 1e-12  # of the same, for a sum in doubles
ROWS = 512  # on which differences are taken
SILENT = 1e-5  # of the sizes of what is added up: how far below zero a unit is surely silent, in single precision too
TRIALS = 2


def check(model: Any, certificate: NetworkCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:
    """Recompute objective and gradient; raise CertificateError when they are not those of the certificate."""
    name = type(model).__name__
    rows = read(model, X, y, sample_weight)
    seen = summarize_columns(rows)
    require_same_data(certificate.fingerprint, seen, rows.p)
    layers = _layers(model, rows)
    decay = _decay(model, seen)
    classes = model.__dict__.get("classes_")
    if classes is not None and not _same_labels(model, rows):
        raise CertificateError(f"{name} was fitted to the labels {classes.tolist()!r:.200}, and these are others.")
    objective, gradient, size = _slope(model, layers, rows.blocks(), rows.classes, seen.weight, decay)
    if model.activation == "relu" and certificate.outcome != "partial_fit":
        _require_silence(model, layers, rows)
    length, largest = (float(one) for one in (np.sqrt(sum(np.sum(g**2) for g in gradient)), _most(gradient)))
    slack = SINGLE_PRECISION_TOLERANCE * float(size)
    rounding_error = OBJECTIVE * (abs(float(objective)) + float(size))
    if not abs(float(objective) - certificate.objective) <= rounding_error:
        raise CertificateError(
            f"{name} claims an objective of {certificate.objective:.10g}; these rows and weights give {float(objective):.10g}. The"
            " model was changed after the fit, or the data are others."
        )
    if not (abs(length - certificate.gradient) <= slack and abs(largest - certificate.largest) <= slack):
        raise CertificateError(
            f"{name} claims a gradient of length {certificate.gradient:.6g} and a largest partial derivative of"
            f" {certificate.largest:.6g}; these"
            f" rows and weights give {length:.6g} and {largest:.6g}. The model was changed after the fit, or the data are others."
        )
    if not 0 <= certificate.rounding <= slack or not certificate.difference <= certificate.bound:
        raise CertificateError(
            f"{name} claims a gradient that its own differences of objectives do not confirm: {certificate.difference:.3g} apart,"
            f" {certificate.bound:.3g} allowed."
        )
    null = float(_null(model, rows, seen))
    if not abs(null - certificate.null_objective) <= 1e-9 * (abs(null) + 1e-300) + 1e-12 * float(objective):
        raise CertificateError(
            f"{name} claims that the best constant costs {certificate.null_objective:.8g}, the null model of these rows {null:.8g}."
        )
    _require_differences(name, model, layers, rows, decay)
    off = max(abs(length - certificate.gradient), abs(largest - certificate.largest))
    return Verdict(certificate.statement, float(objective), off, slack, certificate.gradient, "objective value")


def _layers(model: Any, rows: Rows) -> list[Array]:
    """Return weights and intercepts of each layer in turn, if they are those of the parameters."""
    hidden = model.hidden_layer_sizes
    hidden = [hidden] if np.ndim(hidden) == 0 else list(hidden)
    sizes = [rows.p, *hidden, model.n_outputs_]
    parts = [part for both in zip(model.coefs_, model.intercepts_, strict=False) for part in both]
    wanted = [shape for below, above in pairwise(sizes) for shape in ((below, above), (above,))]
    fits = len(model.coefs_) == len(model.intercepts_) and [np.shape(part) for part in parts] == wanted
    ends = ("logistic", "softmax") if "classes_" in model.__dict__ else ("identity", "exp")
    if fits and "classes_" not in model.__dict__:
        fits = model.out_activation_ == ("exp" if model.loss == "poisson" else "identity")
    if not fits or model.out_activation_ not in ends or not all(np.isfinite(part).all() for part in parts):
        raise CertificateError(
            f"The layers of this {type(model).__name__} are not those that its parameters name: they were changed after the fit."
        )
    work = len(model.coefs_[0]) + sum(np.size(part) for part in parts)
    small = rows.kind is EXTENDED and work * 4096 <= 64 * WORK
    return [np.asarray(part, EXTENDED if small else np.float64) for part in parts]


def _require_silence(model: Any, layers: list[Array], rows: Rows) -> None:
    """Refuse rectifiers with weights that no row reaches: nothing would tell them from others."""
    hidden = len(layers) // 2 - 1
    highest = [np.full(len(layers[2 * k + 1]), -np.inf, layers[0].dtype) for k in range(hidden)]
    size = [np.zeros_like(one) for one in highest]
    for block in rows.blocks():
        a = block.X.astype(layers[0].dtype)
        for k in range(hidden):
            z = a @ layers[2 * k] + layers[2 * k + 1]
            size[k] = np.maximum(size[k], (np.abs(a) @ np.abs(layers[2 * k])).max(axis=0) + np.abs(layers[2 * k + 1]))
            highest[k] = np.maximum(highest[k], z.max(axis=0))
            a = np.where(z > 0, z, 0)
    for k in range(hidden):
        silent = highest[k] < -SILENT * size[k]
        if silent.any():  # those that were set to zero stand at zero exactly
            raise CertificateError(
                f"A unit of hidden layer {k} of this {type(model).__name__} has weights, and no row reaches it: a fit sets such"
                " weights to zero. The model was changed after the fit, or the data are others."
            )
        idle = ~layers[2 * k].any(axis=0) & (layers[2 * k + 1] == 0)
        if layers[2 * k + 2][idle].any():
            raise CertificateError(
                f"A unit of hidden layer {k} of this {type(model).__name__} is always zero, and weights lead on from it. The model"
                " was changed after the fit."
            )


def _decay(model: Any, seen: ColumnSummary) -> Any:
    """Return what half the sum of squared weights is multiplied by: alpha over the weight of a batch, or of all rows."""
    batch = 200 if model.batch_size == "auto" else model.batch_size
    share = EXTENDED(1) if model.solver == "lbfgs" else EXTENDED(min(batch, seen.rows)) / seen.rows
    return EXTENDED(model.alpha) / (seen.weight * share)


def _same_labels(model: Any, rows: Rows) -> bool:
    """Tell whether labels are those of the fit; a stretch of a stream need not have them all."""
    if model.n_outputs_ > 1 and model.out_activation_ == "logistic":
        return rows.m == int(model.n_outputs_)
    known = model.classes_.tolist()
    return all(label in known for label in rows.classes.tolist())


def _truth(model: Any, block: Block, labels: Any) -> Array:
    """Return targets, one column for each output."""
    if labels is None or block.y.shape[1] > 1:
        return block.y
    known = np.array([model.classes_.tolist().index(label) for label in labels.tolist()])
    codes = known[block.y[:, 0].astype(int)]
    if model.n_outputs_ == 1:
        return np.asarray(codes[:, None], block.y.dtype)
    return np.asarray(codes[:, None] == np.arange(model.n_outputs_), block.y.dtype)


def unit_of(name: str, z: Array) -> tuple[Array, Array]:
    """Return the activation of hidden units and its derivative, by definition."""
    if name == "relu":
        return np.where(z > 0, z, 0), (z > 0).astype(z.dtype)
    if name == "tanh":
        return np.tanh(z), 1 - np.tanh(z) ** 2
    if name == "logistic":
        p = _sigmoid(z)
        return p, p * (1 - p)
    return z, np.ones_like(z)


def _sigmoid(z: Array) -> Array:
    small = np.exp(-np.abs(z))
    return np.asarray(np.where(z >= 0, 1 / (1 + small), small / (1 + small)))


def _end(name: str, z: Array, y: Array) -> tuple[Array, Array]:
    """Return the loss of each row, and its slopes by the values of the last layer."""
    if name == "identity":
        return np.sum((z - y) ** 2, axis=1) / 2, z - y
    if name == "exp":
        rate = np.exp(z)
        kept = np.where(y > 0, y, 1)
        return np.sum(y * (np.log(kept) - z) - y + rate, axis=1), rate - y
    if name == "logistic":
        return np.sum(np.log1p(np.exp(-np.abs(z))) + np.maximum(z, 0) - y * z, axis=1), _sigmoid(z) - y
    top = z.max(axis=1, keepdims=True)
    total = np.log(np.sum(np.exp(z - top), axis=1, keepdims=True)) + top
    return np.sum(y * (total - z), axis=1), np.exp(z - total) - y


def _slope(
    model: Any, layers: list[Array], blocks: Any, labels: Any, weight: Any, decay: Any
) -> tuple[Any, list[Array], Any]:
    """Return objective, gradient in the order of the layers, and the size of what was summed."""
    kind = layers[0].dtype
    gradient = [np.zeros(part.shape, EXTENDED) for part in layers]
    value, size = EXTENDED(0), EXTENDED(0)
    depth = len(layers) // 2
    for block in blocks:
        a = [block.X.astype(kind)]
        derivatives: list[Array] = []
        for k in range(depth):
            z = a[-1] @ layers[2 * k] + layers[2 * k + 1]
            if k < depth - 1:
                unit, derivative = unit_of(model.activation, z)
                a.append(unit)
                derivatives.append(derivative)
        losses, delta = _end(model.out_activation_, z, _truth(model, block, labels).astype(kind))
        share = (block.s / weight).astype(kind)
        value = value + np.sum(share * losses)
        delta = delta * share[:, None]
        for k in range(depth - 1, -1, -1):
            gradient[2 * k] += a[k].T @ delta
            gradient[2 * k + 1] += np.sum(delta, axis=0)
            size = size + np.sum(np.sqrt((np.sum(a[k] ** 2, axis=1) + 1) * np.sum(delta**2, axis=1)))
            if k:
                delta = derivatives[k - 1] * (delta @ layers[2 * k].T)
    for k in range(depth):
        gradient[2 * k] += decay * layers[2 * k]
        square = np.sum(layers[2 * k].astype(EXTENDED) ** 2)
        value, size = value + decay * square / 2, size + decay * np.sqrt(square)
    return value, gradient, size


def _most(gradient: list[Array]) -> Any:
    return max(np.max(np.abs(part)) for part in gradient)


def _null(model: Any, rows: Rows, seen: ColumnSummary) -> Any:
    """Return the loss of the best constant outputs, which are known from the mean of the targets."""
    truth = [(block, _truth(model, block, rows.classes)) for block in rows.blocks()]
    mean = sum(block.s @ y for block, y in truth) / seen.weight
    if model.out_activation_ == "identity":
        return sum(np.sum(block.s @ (y - mean) ** 2) for block, y in truth) / (2 * seen.weight)
    if model.out_activation_ == "exp":
        log = np.log(np.where(mean > 0, mean, 1))
        return sum(np.sum(block.s @ (y * (np.log(np.where(y > 0, y, 1)) - log))) for block, y in truth) / seen.weight
    if model.out_activation_ == "softmax":
        return -np.sum(mean * np.log(np.where(mean > 0, mean, 1)))
    rest = 1 - mean
    return -np.sum(mean * np.log(np.where(mean > 0, mean, 1)) + rest * np.log(np.where(rest > 0, rest, 1)))


def _require_differences(name: str, model: Any, layers: list[Array], rows: Rows, decay: Any) -> None:
    """Take differences of objectives along random directions; refuse a gradient that is not theirs."""
    block = next(iter(rows.blocks()))
    some = Block(block.X[:ROWS], block.y[:ROWS], block.s[:ROWS])
    weight = np.sum(some.s)
    rng = np.random.default_rng(1)
    whole = np.sqrt(sum(np.sum(part**2) for part in layers))
    length = 1e-6 * max(1.0, float(whole))
    _, here, size = _slope(model, layers, [some], rows.classes, weight, decay)
    for _ in range(TRIALS):
        way = [rng.standard_normal(part.shape) for part in layers]
        norm = np.sqrt(sum(np.sum(part**2) for part in way))
        way = [(part / norm).astype(layers[0].dtype) for part in way]
        ends = [[part + sign * length * one for part, one in zip(layers, way, strict=True)] for sign in (1, -1)]
        (up, above, _), (down, below, _) = (_slope(model, end, [some], rows.classes, weight, decay) for end in ends)
        slopes = [float(sum(np.sum(g * one) for g, one in zip(at, way, strict=True))) for at in (here, above, below)]
        difference = float((up - down) / (2 * length))
        allowed = max(slopes) - min(slopes) + 1e-12 * (float(size) * float(whole) + float(up)) / length
        if not abs(difference - slopes[0]) <= allowed:
            raise CertificateError(
                f"Along a random direction the objective of this {name} changes by {difference:.8g}, and its gradient says"
                f" {slopes[0]:.8g}: {allowed:.2g} apart is what the change of the derivative allows."
            )
