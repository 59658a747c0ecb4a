"""Nonnegative factors and dictionaries, checked: the codes that belong to them, the objective, and what steps could still gain.

Codes for squared error are found by exact steps along one component for all rows at once, in an order of its own; those for other
divergences by as many multiplicative steps as the model takes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.verify._refusals import refuse
from qed.verify._rows import DOUBLE, EXTENDED, read, read_data
from qed.verify._same_data import require_same_data, summarize_columns
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from qed.certificates import StationaryCertificate

Array = np.ndarray[Any, Any]
RELATIVE_TOLERANCE = 1e-6  # of the null objective: codes that are found again agree to far more
SWEEPS = 500  # over the entries of all codes at once, before those that still move are found one by one
DEPENDENT = 1e-13  # of the largest curvature of atoms in use: less of it is rounding
UNUSED = 1e-5  # of the penalty strength: how far below it no row correlates with an atom that is surely unused
NONNEGATIVE = 1e-10  # of the same, for objectives of nonnegative codes
FLOOR = float(np.finfo(np.float32).eps)
STEPS = {True: "change of a single entry of codes or components", False: "multiplicative step of the components"}
NAMES = {"frobenius": 2.0, "kullback-leibler": 1.0, "itakura-saito": 0.0}


def check_nonnegative(model: Any, certificate: StationaryCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:  # noqa: ARG001
    """Find codes again; raise CertificateError when objective or gap are not as stated."""
    rows = read(model, X, None, sample_weight)
    require_same_data(certificate.fingerprint, summarize_columns(rows), rows.p)
    x = dense(model, X)
    H = np.asarray(model.components_, dtype=np.float64)
    if H.shape != (model.n_components_, rows.p) or not np.all(H >= 0) or model.n_components_ != _asked(model, rows.p):
        refuse(model, "its components have a negative entry, or other shapes than its columns give them")
    lengths = np.sqrt(np.sum(H * H, axis=1))
    # summed in another order, and no more: small entries that became zero show in nothing else
    if not np.all(np.abs(model.component_norms_ - lengths) <= (rows.p + 8) * DOUBLE * lengths):
        refuse(model, "the lengths of its components are others than stated")
    beta = NAMES[model.beta_loss] if isinstance(model.beta_loss, str) else float(model.beta_loss)
    same = model.alpha_W if model.alpha_H == "same" else model.alpha_H
    on_W, on_H, ratio = rows.p * model.alpha_W, len(x) * same, model.l1_ratio
    if beta == 2:
        W = nonnegative_codes(x @ H.T, H @ H.T, on_W * ratio, on_W * (1 - ratio))
        error, gap = _squared(x, W, H, (on_W, on_H, ratio))
        null = float(np.sum(x * x)) / 2
    else:
        steps = getattr(model, "transform_max_iter", None) or model.max_iter
        W = multiplied_codes(x, H, beta, (on_W * ratio, on_W * (1 - ratio)), steps)
        error = _divergence(x, W @ H, beta)
        after = _multiplied_components(x, W, H, beta, (on_H * ratio, on_H * (1 - ratio)))
        gap = error + _penalty(H, on_H, ratio) - _divergence(x, W @ after, beta) - _penalty(after, on_H, ratio)
        null = _divergence(x, np.full(x.shape, x.mean()), beta)
    objective = error + _penalty(W, on_W, ratio) + _penalty(H, on_H, ratio)
    size = max(null, objective)
    require_stated(model, certificate, STEPS[beta == 2], (objective, null, gap), RELATIVE_TOLERANCE * size)
    if not abs(objective - certificate.objective) <= NONNEGATIVE * size:  # which is flat where codes are the best ones
        refuse(model, f"its objective is {objective:.14g}, not {certificate.objective:.14g}")
    if not abs(model.reconstruction_err_**2 / 2 - error) <= RELATIVE_TOLERANCE * size:
        refuse(model, f"its reconstruction error is {np.sqrt(2 * error):.8g}, not {model.reconstruction_err_:.8g}")
    return Verdict(certificate.statement, objective, max(gap, 0.0), RELATIVE_TOLERANCE * size, certificate.gap)


def require_stated(
    model: Any, certificate: StationaryCertificate, step: str, found: tuple[float, float, float], near: float
) -> None:
    """Hold objective, that of the null model, and the gap against a certificate."""
    objective, null, gap = found
    if certificate.step != step or certificate.radius != 0 or certificate.curvature != 0:
        refuse(model, f"it speaks of another step than a {step}")
    if not abs(objective - certificate.objective) <= near:
        refuse(model, f"its objective is {objective:.10g}, not {certificate.objective:.10g}")
    if not abs(null - certificate.null_objective) <= near:
        refuse(model, f"the null model has an objective of {null:.10g}, not {certificate.null_objective:.10g}")
    if not gap <= certificate.gap + near:
        refuse(model, f"a step lowers the objective by {gap:.3g}, and at most {certificate.gap:.3g} is claimed")
    if not certificate.rounding <= max(certificate.gap, near):
        refuse(model, "its rounding is more than its gap")


def dense(model: Any, X: Any) -> Array:
    """Return all rows as doubles."""
    table = read_data(model, X, None, None).X
    return np.asarray(table if isinstance(table, np.ndarray) else table.toarray(), dtype=np.float64)


def _asked(model: Any, p: int) -> int:
    given = model.n_components
    custom = model.init == "custom" and given in ("auto", None)
    return len(model.components_) if custom else p if given in ("auto", None) else int(given)


def nonnegative_codes(P: Array, G: Array, l1: float, l2: float) -> Array:
    """Minimise w'(G + l2)w / 2 - (p - l1)'w over w >= 0 for all rows p of P, one component at a time."""
    W, Q = np.zeros_like(P), G + l2 * np.eye(len(G))
    used = np.flatnonzero(np.diag(Q) > 0)
    gained = np.zeros(len(P))
    for _ in range(SWEEPS):
        before, gained = gained, np.zeros(len(P))
        for j in used:
            best = np.maximum(W[:, j] - (W @ Q[:, j] - P[:, j] + l1) / Q[j, j], 0.0)
            gained += Q[j, j] / 2 * (best - W[:, j]) ** 2
            W[:, j] = best
        slow = (gained > before / 2) & (gained > 0)
        if not (slow | (gained > 1e-13 * (np.sum(P * W, axis=1) + 1e-300))).any():
            return W
    scale = 1 / np.sqrt(np.diag(Q)[used])
    Q, P = Q[np.ix_(used, used)] * np.outer(scale, scale), (P[:, used] - l1) * scale

    def value(w: Array, p: Array) -> float:
        return float(w @ Q @ w / 2 - p @ w)

    for i in np.flatnonzero(gained > 0):  # sweeps are slow where components are alike
        swept = W[i, used] / scale
        found = _active_set(P[i], Q, 0.0, swept, positive=True)
        if (found >= 0).all() and value(found, P[i]) < value(swept, P[i]):
            W[i, used] = found * scale
    return W


def _squared(x: Array, W: Array, H: Array, penalty: tuple[float, float, float]) -> tuple[float, float]:
    """Return half the squared error, and what single entries gain, each alone, summed."""
    on_W, on_H, ratio = penalty
    rest = W @ H - x
    gain = 0.0
    for factor, slope, squares, strength in (
        (W, rest @ H.T, np.sum(H * H, axis=1), on_W),
        (H.T, rest.T @ W, np.sum(W * W, axis=0), on_H),
    ):
        steep = slope + strength * (ratio + (1 - ratio) * factor)
        curvature = np.maximum(squares + strength * (1 - ratio), np.finfo(float).tiny)
        lower = np.maximum(factor - steep / curvature, 0.0)
        gain += float(np.sum(np.maximum(steep * (factor - lower) - curvature / 2 * (factor - lower) ** 2, 0)))
    return float(np.sum(rest * rest)) / 2, gain


def _penalty(factor: Array, strength: float, ratio: float) -> float:
    return strength * float(ratio * np.sum(factor) + (1 - ratio) / 2 * np.sum(factor * factor))


def _divergence(x: Array, y: Array, beta: float) -> float:
    y = np.maximum(y, FLOOR)
    if beta == 1:
        some = x > 0
        return max(float(np.sum(x[some] * np.log(x[some] / y[some])) - np.sum(x) + np.sum(y)), 0.0)
    if beta == 0:
        return float(np.sum(x / y - np.log(x / y) - 1))
    return float(np.sum((x**beta + (beta - 1) * y**beta - beta * x * y ** (beta - 1)) / (beta * (beta - 1))))


def _exponent(beta: float) -> float:
    return 1 / (2 - beta) if beta < 1 else 1.0 if beta <= 2 else 1 / (beta - 1)


def multiplied_codes(x: Array, H: Array, beta: float, penalty: tuple[float, float], steps: int) -> Array:
    """Take multiplicative steps from equal codes."""
    k = len(H)
    W = np.sqrt(np.maximum(x.mean(axis=1, keepdims=True), FLOOR) / k) * np.ones((1, k))
    for _ in range(steps):
        y = np.maximum(W @ H, FLOOR)
        down = y ** (beta - 1) @ H.T + penalty[0] + penalty[1] * W
        W = W * ((x * y ** (beta - 2)) @ H.T / np.maximum(down, FLOOR)) ** _exponent(beta)
    return np.asarray(W)


def _multiplied_components(x: Array, W: Array, H: Array, beta: float, penalty: tuple[float, float]) -> Array:
    y = np.maximum(W @ H, FLOOR)
    down = W.T @ y ** (beta - 1) + penalty[0] + penalty[1] * H
    return np.asarray(H * (W.T @ (x * y ** (beta - 2)) / np.maximum(down, FLOOR)) ** _exponent(beta))


def check_dictionary(model: Any, certificate: StationaryCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:  # noqa: ARG001
    """Find the lasso codes of all rows again; raise CertificateError when objective or gap are not as stated."""
    rows = read(model, X, None, None)
    require_same_data(certificate.fingerprint, summarize_columns(rows), rows.p)
    x, D, alpha = dense(model, X), np.asarray(model.components_), float(model.alpha)
    if D.shape != (model.n_components or rows.p, rows.p) or not np.all(np.sum(D * D, axis=1) <= 1 + 1e-12):
        refuse(model, "its atoms are more, fewer or longer than they may be")
    if model.positive_dict and not np.all(D >= 0):
        refuse(model, "an atom has a negative entry")
    size = np.abs(D)
    largest = (D > 0) & (size >= (1 - 1e-9) * size.max(axis=1, keepdims=True))
    if not (model.positive_code or model.positive_dict or largest.any(axis=1)[size.max(axis=1) > 0].all()):
        refuse(model, "the largest entry of an atom is negative")
    U = _lasso_codes(x, D, alpha, positive=model.positive_code)
    _require_order(model, D, x)
    rest = x - U @ D
    slopes = rest @ D.T
    highest = (slopes if model.positive_code else np.abs(slopes)).max(axis=0)
    if certificate.outcome != "partial_fit" and (D[highest < alpha * (1 - UNUSED)] != 0).any():
        refuse(model, "an atom has entries, and no row uses it: a fit sets such atoms to zero")
    null = float(np.sum(x * x)) / 2
    objective = float(np.sum(rest * rest)) / 2 + alpha * float(np.sum(np.abs(U)))
    gap = 0.0
    for j in range(len(D)):
        use = float(U[:, j] @ U[:, j])
        if use > 0:
            best = D[j] + U[:, j] @ rest / use
            place = np.maximum(best, 0.0) if model.positive_dict else best
            place = place / max(float(np.linalg.norm(place)), 1.0)
            gap += use / 2 * max(float(np.sum((D[j] - best) ** 2) - np.sum((place - best) ** 2)), 0.0)
    near = RELATIVE_TOLERANCE * max(null, objective)
    step = "change of a single entry of the codes or of a single atom"
    if near < objective - certificate.objective:
        # codes that were found here are not the best ones: the objective of those is bounded from below by dual points
        rounding_error = float(np.sum(lacking(x, D, U, alpha, positive=model.positive_code)))
        if certificate.objective >= objective - rounding_error - near:
            objective, gap, near = certificate.objective, max(gap - rounding_error, 0.0), near + rounding_error
    require_stated(model, certificate, step, (objective, null, gap), near)
    return Verdict(certificate.statement, objective, gap, near, certificate.gap)


def _require_order(model: Any, D: Array, x: Array) -> None:
    """Refuse atoms that are not in the order of the lengths of rows along them; equal ones in that of their entries."""
    along = np.sum((x @ D.T) ** 2, axis=0)
    for j in range(1, len(D)):
        tied = along[j - 1] == along[j] == 0
        if not along[j] <= along[j - 1] + 1e-9 * float(np.sum(along)) or (tied and D[j - 1].tolist() > D[j].tolist()):
            refuse(model, "its atoms are not in the order of the lengths of rows along them")


def lacking(x: Array, D: Array, U: Array, alpha: float, *, positive: bool) -> Array:
    """Bound for each row by how much other codes lower the objective of the lasso: by the best of three dual points.

    These are what is left of a row; that, moved to where the atoms in use correlate with it by alpha; and what no atom reaches.
    Each is shrunk until no atom correlates by more.
    """
    wide, atoms = x.astype(EXTENDED), D.astype(EXTENDED)
    rest = wide - U.astype(EXTENDED) @ atoms
    size = np.sqrt(np.sum(atoms * atoms, axis=1))
    unit = atoms / np.where(size > 0, size, 1)[:, None]

    def bound(dual: Array, rest: Array, U: Array) -> Array:
        slope = dual @ atoms.T
        most = np.max(slope if positive else np.abs(slope), axis=1, keepdims=True)
        share = np.minimum(1, alpha / np.maximum(most, np.finfo(float).tiny))
        off = np.sum((rest - share * dual) ** 2, axis=1) / 2
        return np.asarray(off + np.sum(alpha * np.abs(U) - U * share * slope, axis=1))

    found = bound(rest, rest, U)
    far = np.flatnonzero(found > 1e-10 * np.sum(wide * wide, axis=1))
    if len(far):
        _, values, axes = np.linalg.svd(unit.astype(np.float64), full_matrices=False)
        span = axes[values > 1e-13 * values[0]].astype(EXTENDED)
        outside = rest[far]
        for _ in range(2):
            outside = outside - (outside @ span.T) @ span
        found[far] = np.minimum(found[far], bound(outside, rest[far], U[far]))
    for i in far:
        used = np.flatnonzero(U[i])
        into, dual = np.linalg.pinv(unit[used].astype(np.float64), rcond=1e-12).astype(EXTENDED), rest[i]
        for _ in range(3):  # each wins back the digits that the one before lost
            dual = dual - into @ (unit[used] @ dual - alpha * np.sign(U[i, used]) / size[used])
        found[i] = min(found[i], bound(dual[None], rest[[i]], U[[i]])[0])
    return found


def _lasso_codes(x: Array, D: Array, alpha: float, *, positive: bool) -> Array:
    """Minimise |x - D'u|^2 / 2 + alpha |u| for all rows x: one atom at a time, then those rows by active sets that are left far."""
    P, G = x @ D.T, D @ D.T
    U = np.zeros_like(P)
    for _ in range(200):
        moved = 0.0
        for j in np.flatnonzero(np.diag(G) > 0):
            wanted = P[:, j] - U @ G[:, j] + G[j, j] * U[:, j]
            size = np.maximum((wanted if positive else np.abs(wanted)) - alpha, 0.0) / G[j, j]
            after = np.where(wanted < 0, -size, size)
            moved += G[j, j] / 2 * float(np.sum((after - U[:, j]) ** 2))
            U[:, j] = after
        if moved <= 1e-15 * (float(np.sum(P * U)) + 1e-300):
            break
    # a dual point of each row: what is left of it, shrunk until no atom correlates with it by more than alpha
    rest = x - U @ D
    slopes = rest @ D.T
    size = (slopes if positive else np.abs(slopes)).max(axis=1)
    dual = rest * np.minimum(1.0, alpha / np.maximum(size, 1e-300))[:, None]
    away = np.sum((x - dual) ** 2, axis=1) - np.sum(x * x, axis=1) + np.sum(rest * rest, axis=1)
    far = away / 2 + alpha * np.abs(U).sum(axis=1) > 1e-10 * np.sum(x * x, axis=1)
    for i in np.flatnonzero(far):
        U[i] = _active_set(P[i], G, alpha, U[i], positive=positive)
    return U


def _leaving(G: Array, u: Array, sign: Array) -> Array | None:
    """Return codes of dependent atoms, moved along what they have in common until one is zero; None if they are independent."""
    values, vectors = np.linalg.eigh(G) if len(G) > 1 and u.all() else (np.ones(1), np.ones((1, 1)))
    way = -vectors[:, 0] * np.sign(sign @ vectors[:, 0]) if len(values) > 1 else vectors[:, 0]
    if len(values) < 2 or values[0] > DEPENDENT * values[-1] or abs(float(sign @ way)) <= 1e-9:
        return None
    shares = np.where(u * way < 0, -u / np.where(way == 0, 1.0, way), np.inf)
    moved = u + shares.min() * way
    moved[np.argmin(shares)] = 0.0
    return np.asarray(moved)


def _active_set(p: Array, G: Array, alpha: float, start: Array, *, positive: bool) -> Array:
    """Minimise u'Gu / 2 - p'u + alpha |u|: least squares over the entries in use, which leave at zero and join by their slope."""
    u, sign = start.copy(), np.sign(start)
    for _ in range(50 * len(p)):
        own = np.flatnonzero(sign)
        gone = _leaving(G[np.ix_(own, own)], u[own], sign[own])
        if gone is not None:  # along a direction that changes nothing but the penalty
            u[own] = gone
            sign[own[gone == 0]] = 0.0
            continue
        goal = np.linalg.lstsq(G[np.ix_(own, own)], p[own] - alpha * sign[own], rcond=1e-14)[0]
        crossing = np.flatnonzero(goal * sign[own] < 0)
        if len(crossing):
            away = u[own] - goal
            shares = u[own][crossing] / away[crossing]
            u[own] -= shares.min() * away
            gone = own[crossing[np.argmin(shares)]]
            u[gone], sign[gone] = 0.0, 0.0
            continue
        u[own] = goal
        slope = np.where(sign == 0, p - G @ u, 0.0)
        slope = np.maximum(slope, 0.0) if positive else slope
        joins = int(np.argmax(np.abs(slope)))
        if not abs(slope[joins]) > alpha + 1e-12 * float(np.abs(p).max(initial=0.0)):
            break
        sign[joins] = np.sign(slope[joins])
    return u
