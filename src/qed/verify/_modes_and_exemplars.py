"""Modes, exemplars and subclusters, checked: kernel means, net similarity, prices and sums of rows are found again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qed.verify import _merges
from qed.verify._distances import distances
from qed.verify._refusals import refuse
from qed.verify._rows import read, read_data
from qed.verify._same_data import require_same_data, summarize_columns
from qed.verify._verdict import Verdict

if TYPE_CHECKING:
    from qed.certificates import ClustersCertificate, ExactCertificate, StationaryCertificate

Array = np.ndarray[Any, Any]
STARTS = 300  # rows from which steps are taken again
DOUBLE = 2.0**-53


# -- mean shift ------------------------------------------------------------------------------------------------


def check_modes(model: Any, certificate: StationaryCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:  # noqa: ARG001
    """Recompute the objective at all centres and after one more step; move a sample of rows to the centres again."""
    rows = read(model, X, None, None)
    require_same_data(certificate.fingerprint, summarize_columns(rows), rows.p)
    x = np.asarray(read_data(model, X, None, None).X, np.float64)
    centres, radius = np.asarray(model.cluster_centers_, np.float64), float(model.bandwidth_)
    if model.bandwidth is not None and radius != float(model.bandwidth):
        refuse(model, f"its bandwidth is {radius:.10g}, not {model.bandwidth:.10g}")
    if model.bandwidth is None:
        _require_bandwidth(model, x, radius)
    for i, centre in enumerate(centres):
        if not np.all(np.sqrt(np.sum((centres[i + 1 :] - centre) ** 2, axis=1)) > radius * (1 - 1e-9)):
            refuse(model, "two of its centres are within the bandwidth")
    size = float(np.max(np.abs(x))) / radius if radius > 0 else 0.0
    most = 128 * (x.shape[1] + 8) * (DOUBLE * (1 + size) + 2.0**-36) * len(centres)
    here, gap = 0.0, 0.0
    for centre in centres:
        value, mean = _step(x, centre, radius)
        here, gap = here + value, gap + value - _step(x, mean, radius)[0]
    if not certificate.rounding <= most or certificate.radius != 0 or certificate.curvature != 0:
        refuse(model, f"it states a rounding of {certificate.rounding:.3g}, a radius or a curvature that no fit has")
    if not abs(here - certificate.objective) <= most or certificate.null_objective != len(centres):
        refuse(model, f"its objective is {here:.10g}, not {certificate.objective:.10g}")
    if not gap <= certificate.gap + most or not certificate.gap <= max(gap, 0.0) + 2 * most:
        refuse(model, f"another step lowers the objective by {gap:.4g}, and {certificate.gap:.4g} is stated")
    if certificate.step != "step to the mean of the rows within the bandwidth":
        refuse(model, "it speaks of other steps")
    _require_labels(model, x, centres, radius)
    if certificate.outcome == "solved" and model.seeds is None and not model.bin_seeding:
        _require_all_modes(model, x, centres, radius)
    return Verdict(certificate.statement, here, max(gap, 0.0), most, certificate.gap)


def _step(x: Array, centre: Array, radius: float) -> tuple[float, Array]:
    """Return the objective at a point, and the mean of the rows within the radius."""
    away = np.sum((x - centre) ** 2, axis=1)
    near = np.sqrt(away) <= radius * (1 + 1e-15)
    share = np.minimum(away / radius**2, 1.0) if radius > 0 else (away > 0).astype(float)
    return float(np.mean(share)), centre + np.mean(x[near] - centre, axis=0) if near.any() else centre


def _require_bandwidth(model: Any, x: Array, radius: float) -> None:
    k = max(int(len(x) * 0.3), 1)
    some = np.unique(np.linspace(0, len(x) - 1, min(len(x), 2000)).astype(int))
    away = [float(np.partition(np.sqrt(np.sum((x - x[i]) ** 2, axis=1)), k - 1)[k - 1]) for i in some]
    # the mean over all rows, of which a sample lies within the range of the sample
    exact = len(some) == len(x)
    low, high = (np.mean(away),) * 2 if exact else (min(away), max(away))
    if not low * (1 - 1e-9) <= radius <= high * (1 + 1e-9):
        refuse(model, f"its bandwidth is {radius:.10g}, and the mean distance to a near row {np.mean(away):.10g}")


def _require_labels(model: Any, x: Array, centres: Array, radius: float) -> None:
    labels = np.asarray(model.labels_)
    if labels.shape != (len(x),):
        refuse(model, "its labels are not those of these rows")
    for first in range(0, len(x), 4096):
        some = slice(first, first + 4096)
        away = np.stack([np.sqrt(np.sum((x[some] - c) ** 2, axis=1)) for c in centres], axis=1)
        own, least = labels[some], away.min(axis=1)
        slack = 1e-9 * (least + radius) + 64 * DOUBLE * float(np.max(np.abs(x)))
        noise = own < 0
        if not np.all((away[np.arange(len(own)), own] <= least + slack) | noise):
            refuse(model, "a row is nearer to another centre")
        if np.any(noise) and (model.cluster_all or not np.all(least[noise] >= radius - slack[noise])):
            refuse(model, "it calls rows noise that have a centre")
        if not model.cluster_all and not np.all(least[~noise] <= radius + slack[~noise]):
            refuse(model, "it gives a centre to rows that have none within the bandwidth")


def _require_all_modes(model: Any, x: Array, centres: Array, radius: float) -> None:
    """Move rows again: where they come to rest there is a centre within the bandwidth."""
    some = np.unique(np.linspace(0, len(x) - 1, min(len(x), max(min(STARTS, 3 * 10**7 // x.size), 10))).astype(int))
    for i in some:
        point = x[i]
        for _ in range(model.max_iter):
            after = _step(x, point, radius)[1]
            moved = float(np.max(np.abs(after - point), initial=0.0))
            point = after
            if moved <= 1e-9 * radius:
                break
        if not np.min(np.sqrt(np.sum((centres - point) ** 2, axis=1))) <= radius * (1 + 1e-6) + 1e-12:
            refuse(model, f"row {i} comes to rest where there is no centre")


# -- affinity propagation --------------------------------------------------------------------------------------


def check_exemplars(model: Any, certificate: ClustersCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:  # noqa: ARG001
    """Recompute similarities, the cost of the exemplars, and that the prices are a dual solution."""
    rows = read(model, X, None, None)
    require_same_data(certificate.fingerprint, summarize_columns(rows), rows.p)
    x = np.asarray(read_data(model, X, None, None).X, np.float64)
    n, given = len(x), model.affinity == "precomputed"
    S = x.copy() if given else -distances(x, x, "sqeuclidean")
    size = float(np.abs(S).max()) + (float(np.abs(x).max()) ** 2 * 1e-4 if not given else 0.0)
    stored = np.asarray(model.affinity_matrix_)
    if stored.shape != (n, n) or not np.all(np.abs(stored - S) <= 1e-9 * size):
        refuse(model, "its similarities are others")
    S = stored
    preference = (
        np.full(n, np.median(S))
        if model.preference is None
        else np.broadcast_to(np.asarray(model.preference, float), (n,))
    )
    near = 1e-10 * n * (float(np.abs(S).max()) + float(np.abs(preference).max()))
    exemplars, labels = np.asarray(model.cluster_centers_indices_), np.asarray(model.labels_)
    if (
        labels.shape != (n,)
        or np.any(labels >= max(len(exemplars), 0))
        or (len(exemplars) > 0) == bool(np.any(labels < 0))
    ):
        refuse(model, "its labels are not those of these rows")
    if not given and not np.array_equal(vars(model).get("cluster_centers_"), x[exemplars]):
        refuse(model, "the exemplars that it keeps are other rows")
    others = S.copy()
    np.fill_diagonal(others, -np.inf)
    best = np.maximum(others.max(axis=1), preference) if n > 1 else preference
    fee, cost = best - preference, float(np.sum(best - preference))
    if len(exemplars):
        chosen = np.zeros(n, bool)
        chosen[exemplars] = True
        if not np.array_equal(labels[exemplars], np.arange(len(exemplars))):
            refuse(model, "an exemplar does not stand for itself")
        own = S[np.arange(n), exemplars[labels]]
        if not np.all(own[~chosen] >= S[:, exemplars].max(axis=1)[~chosen] - 1e-10 * float(np.abs(S).max())):
            refuse(model, "a row is more similar to another exemplar")
        cost = float(fee[chosen].sum() + np.sum((best - own)[~chosen]))
    if not abs(cost - certificate.objective) <= near or not certificate.rounding <= near:
        refuse(model, f"its exemplars cost {cost:.10g}, not {certificate.objective:.10g}")
    if (
        not abs(certificate.null_objective - float(fee.sum())) <= near
        or certificate.drift != 0
        or len(certificate.trace)
    ):
        refuse(model, "it states a drift, steps or a total that no fit has")
    _require_rounds(model, certificate)
    prices = np.asarray(model.prices_, np.float64)
    if prices.shape != (n,):
        refuse(model, "its prices are not those of these rows")
    paid = prices.copy()  # each row pays itself, at no distance
    for i in range(n):
        paid += np.maximum(prices[i] - (best[i] - others[i]), 0.0)
    if not np.all(paid <= fee + near):
        refuse(model, "its prices are too high to bound anything")
    bound = float(prices.sum())
    if not certificate.bound <= bound + near:
        refuse(model, f"no bound of {certificate.bound:.8g} is known, only {bound:.8g}")
    return Verdict(certificate.statement, cost, max(cost - bound, 0.0), near, certificate.gap)


def _require_rounds(model: Any, certificate: ClustersCertificate) -> None:
    """Refuse an end that does not fit the rounds that were made: messages settle before the last one that is allowed."""
    made, most = model.n_iter_, model.max_iter
    least = min(model.convergence_iter + 1, most - 1)  # messages have to stay as they are for so many rounds
    fits = {
        "solved": made == 0 or least <= made < most,  # rows that are all alike need no round
        "max_iter": made == most,
        "stopped": made <= most,
        "interrupted": made <= most,
    }
    if not fits.get(certificate.outcome, False):
        refuse(model, f"it says {certificate.outcome!r} after {made} of {most} rounds")


# -- BIRCH -----------------------------------------------------------------------------------------------------


def check_subclusters(model: Any, certificate: ExactCertificate, X: Any, y: Any, sample_weight: Any) -> Verdict:  # noqa: ARG001
    """Sum the rows of every subcluster again."""
    table = read_data(model, X, None, None).X
    x = np.asarray(table.toarray() if hasattr(table, "toarray") else table, np.float64)
    means, counts, squares = (
        np.asarray(one) for one in (model.subcluster_centers_, model.subcluster_counts_, model.subcluster_squares_)
    )
    n, m = len(x), len(means)
    if certificate.rows != n or certificate.what != "Subclusters with the counts, means and radii" or counts.sum() != n:
        refuse(model, f"it is about {certificate.rows} rows, and these are {n}")
    size = float(np.max(np.abs(x))) + float(np.max(np.abs(means)))
    near = (1e-12 + 64 * n * DOUBLE) * size
    if not np.all(squares <= counts * model.threshold**2 * (1 + 1e-9) + counts * near * size):
        refuse(model, "a subcluster is wider than the threshold")
    off = _require_sums(model, x, means, counts, squares, near)
    _require_tree(model, m)
    labels, joined = np.asarray(model.subcluster_labels_), model.clusterer_
    if joined is not None:
        if (
            type(joined).__name__ != "AgglomerativeClustering"
            or joined.linkage != "ward"
            or joined.n_clusters != model.n_clusters
        ):
            refuse(model, "something else has clustered its subclusters")
        _merges.check(joined, joined.certificate_, means, None, None)
        if not np.array_equal(joined.labels_, labels):
            refuse(model, "its subclusters have other labels")
    elif model.n_clusters is not None and m > model.n_clusters:
        refuse(model, "nothing has clustered its subclusters")
    elif not np.array_equal(labels, np.arange(m)):
        refuse(model, "its subclusters have other labels")
    if model.compute_labels:
        _require_nearest(model, x, means, labels)
    return Verdict(certificate.statement, float(m), off, near, certificate.rounding, "subclusters")


def _require_sums(model: Any, x: Array, means: Array, counts: Array, squares: Array, near: float) -> float:
    """Refuse counts, means and squares that are not those of the rows; of the whole where rows are not kept."""
    place = vars(model).get("row_subclusters_")
    if place is None:
        place, means_of = np.zeros(len(x), int), np.average(means, axis=0, weights=counts)[None]
        squares = np.array([np.sum(squares) + np.sum(counts @ (means - means_of) ** 2)])
        counts, means = np.array([counts.sum()]), means_of
    if len(place) != len(x) or not np.array_equal(np.bincount(place, minlength=len(means)), counts):
        refuse(model, "its subclusters have other rows")
    sums, spread = np.zeros_like(means), np.zeros(len(means))
    np.add.at(sums, place, x - means[place])
    np.add.at(spread, place, np.sum((x - means[place]) ** 2, axis=1))
    off = float(np.max(np.abs(sums) / counts[:, None], initial=0.0))
    size = float(np.max(np.abs(x)))
    if not off <= near or not np.all(np.abs(spread - squares) <= 1e-9 * spread + counts * near * size):
        refuse(model, "means or radii of its subclusters are not those of their rows")
    return off


def _require_tree(model: Any, m: int) -> None:
    starts, children = np.asarray(model.tree_starts_), np.asarray(model.tree_children_)
    nodes = children[children >= 0]
    good = (
        len(starts) >= 2 and starts[0] == 0 and starts[-1] == len(children)
        and np.diff(starts).min() >= 1 and np.diff(starts).max() <= model.branching_factor
        and np.array_equal(np.sort(~children[children < 0]), np.arange(m))
        and np.array_equal(np.sort(nodes), np.arange(1, len(starts) - 1))
    )  # fmt: skip
    if not good:
        refuse(model, "its nodes are no tree of its subclusters")


def _require_nearest(model: Any, x: Array, means: Array, labels: Array) -> None:
    given = np.asarray(vars(model).get("labels_", ()))
    if not 1 <= len(given) <= len(x):
        refuse(model, "its labels are not those of these rows")
    last = x[len(x) - len(given) :]
    for first in range(0, len(last), 1024):
        rows = last[first : first + 1024]
        away = np.sqrt(np.maximum(np.stack([np.sum((rows - c) ** 2, axis=1) for c in means], axis=1), 0.0))
        slack = 1e-7 * (away.min(axis=1) + 1e-9 * float(np.max(np.abs(x)))) + 1e-8 * float(
            np.max(np.abs(x - x.mean(axis=0)))
        )
        close = away <= (away.min(axis=1) + slack)[:, None]
        if not np.all(np.any(close & (labels == given[first : first + 1024, None]), axis=1)):
            refuse(model, "a row has the label of a subcluster that is not the nearest")
