"""Answers of factorisations, kernels and projections.

Directions of a random projection are drawn again from its seed. Codes are the end of a search: those of squared errors are held to
the conditions of the best ones, those of other divergences are found again by as many multiplicative steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from qed.verify._answers._compare import Numbers, blocks_of, dense, require, table_of
from qed.verify._completed import completed
from qed.verify._factors import NAMES, lacking, multiplied_codes
from qed.verify._refusals import refuse_answer
from qed.verify._rows import EXTENDED

Array = np.ndarray[Any, Any]


def pooled(model: Any, X: Array) -> Numbers:
    """Pool the columns of each cluster."""
    pool = getattr(np, model.pooling_func) if isinstance(model.pooling_func, str) else model.pooling_func
    groups = [X[:, np.asarray(model.labels_) == k] for k in range(int(model.n_clusters_))]
    found = np.column_stack([np.asarray(pool(own, axis=1)) for own in groups])
    return Numbers(found, np.abs(found) + np.column_stack([np.abs(own).max(axis=1) for own in groups]))


def _kernel(model: Any, X: Array, others: Array) -> Array:
    """Return the kernel of rows and others, by definition."""
    name = model.kernel
    if callable(name):
        return np.array([[name(a, b, **(model.kernel_params or {})) for b in others] for a in X], dtype=np.float64)
    if name in ("rbf", "laplacian", "chi2", "additive_chi2"):
        apart = X[:, None, :] - others
        if name in ("rbf", "laplacian"):
            far = (apart**2 if name == "rbf" else np.abs(apart)).sum(axis=2)
        else:
            both = X[:, None, :] + others
            far = (apart**2 / np.where(both != 0, both, 1.0)).sum(axis=2)
        return np.asarray(-far if name == "additive_chi2" else np.exp(-model.gamma_ * far))
    products = X @ others.T
    if name == "cosine":
        lengths = np.sqrt((X**2).sum(axis=1))[:, None] * np.sqrt((others**2).sum(axis=1))
        return np.asarray(products / np.where(lengths > 0, lengths, 1.0))
    if name in ("poly", "polynomial"):
        return np.asarray((model.gamma_ * products + model.coef0) ** model.degree)
    return np.asarray(np.tanh(model.gamma_ * products + model.coef0) if name == "sigmoid" else products)


def kernel_coordinates(model: Any, X: Array) -> Numbers:
    """Project on directions in the space of a kernel, about the mean of the rows of the fit."""
    K = (
        X
        if isinstance(model.kernel, str) and model.kernel == "precomputed"
        else _kernel(model, X, np.asarray(model.X_fit_))
    )
    centred = K - np.asarray(model.kernel_means_) - K.mean(axis=1, keepdims=True) + float(model.kernel_mean_)
    values = np.asarray(model.eigenvalues_)
    axes = np.asarray(model.eigenvectors_) * np.where(values > 0, 1 / np.sqrt(np.where(values > 0, values, 1.0)), 0.0)
    # distances are found from products, whose rounding a kernel may multiply
    size = np.abs(X).max(initial=0.0) ** 2 * X.shape[1] * abs(float(getattr(model, "gamma_", None) or 1.0)) + 1
    terms = np.abs(K) + np.abs(np.asarray(model.kernel_means_)) + abs(float(model.kernel_mean_))
    return Numbers(centred.astype(EXTENDED) @ axes, size * 16 * (terms @ np.abs(axes)))


def drawn_map(model: Any, X: Any, told: Any) -> None:
    """Compare with directions drawn again from the seed."""
    rows, answers = table_of(model, X), dense(told)
    own = _directions(type(model).__name__, model, rows.shape[1])
    x = rows if isinstance(rows, np.ndarray) else rows.toarray()
    values = x.astype(EXTENDED) @ own
    size = np.abs(x.astype(EXTENDED)) @ np.abs(own) * 16
    require(model, "transform", Numbers(values, size), answers, terms=rows.shape[1], is_single=rows.dtype == np.float32)


def _directions(kind: str, model: Any, p: int) -> Array:
    """Draw directions as columns, shape (p, k), from the seed by definition."""
    rng, k = np.random.default_rng(model.seed_), int(model.n_components_)
    if kind == "GaussianRandomProjection":
        return np.asarray(rng.standard_normal((k, p)).T / np.sqrt(k))
    if kind == "SparseRandomProjection":
        share = 1 / np.sqrt(p) if model.density == "auto" else float(model.density)
        found = np.zeros((p, k))
        for j in range(k):
            place = np.flatnonzero(rng.random(p) < share)
            found[place, j] = np.where(rng.random(len(place)) < 0.5, -1.0, 1.0) * np.sqrt(1 / (share * k))
        return found
    signs = np.where(rng.random(p) < 0.5, -1.0, 1.0)
    q = 1 << max(p - 1, k - 1).bit_length()
    kept = np.sort(rng.permutation(q)[:k])
    common = np.bitwise_and.outer(np.arange(p), kept)  # an entry of Hadamard's matrix is the parity of common digits
    odd = np.zeros(common.shape, dtype=bool)
    while common.any():
        odd ^= (common & 1).astype(bool)
        common >>= 1
    return np.asarray(np.where(odd, -1.0, 1.0) * signs[:, None] / np.sqrt(k))


def factors(model: Any, X: Any, told: Any) -> None:
    """See that codes are non-negative, and the best ones: by their conditions, or after the same multiplicative steps."""
    rows, answers = table_of(model, X), dense(told)
    H = np.asarray(model.components_, dtype=np.float64)
    good = answers.shape == (rows.shape[0], len(H)) and answers.dtype.kind == "f"
    if not good or not (np.isfinite(answers) & (answers >= 0)).all():
        refuse_answer(model, "transform")
    beta = NAMES[model.beta_loss] if isinstance(model.beta_loss, str) else float(model.beta_loss)
    strength = rows.shape[1] * float(model.alpha_W)
    l1, l2 = strength * model.l1_ratio, strength * (1 - model.l1_ratio)
    unit = 2.0**-24 if answers.dtype == np.float32 else 2.0**-53
    steps = getattr(model, "transform_max_iter", None) or model.max_iter
    for some, x in blocks_of(rows):
        W = answers[some].astype(np.float64)
        if beta == 2:
            sizes = x @ H.T + W @ (H @ H.T) + l2 * W + l1
            slope = W @ (H @ H.T) + l2 * W - x @ H.T + l1
            near = 1e-6 * sizes + 64 * unit * H.shape[1] * (W @ np.abs(H @ H.T) + sizes)
            good = np.where(W > 0, np.abs(slope), np.maximum(-slope, 0.0)) <= near
        else:
            own = multiplied_codes(x, H, beta, (l1, l2), steps)
            good = np.abs(own - W) <= (1e-6 + 8 * unit) * own.max(axis=1, initial=0.0, keepdims=True)
        if not good.all():
            refuse_answer(model, "transform")


def shares_of_topics(model: Any, X: Any, told: Any) -> None:
    """Compare with updates of each document from equal shares, wherever rounding may have stopped them."""
    from scipy.special import psi  # noqa: PLC0415  a special function

    rows, answers = table_of(model, X), dense(told)
    beta, k = np.asarray(model.exp_dirichlet_component_, dtype=np.float64), len(model.components_)
    if answers.shape != (rows.shape[0], k) or not np.isfinite(answers).all():
        refuse_answer(model, "transform")
    near = 1e-5 if answers.dtype == np.float32 else 1e-8
    for i in range(rows.shape[0]):
        row = rows[i] if isinstance(rows, np.ndarray) else rows[[i]].toarray()[0]
        used = np.flatnonzero(row)
        counts, topics = row[used].astype(np.float64), beta[:, used]
        gamma, good = np.ones(k), model.max_doc_update_iter == 0
        for _ in range(model.max_doc_update_iter):
            theta = np.exp(psi(gamma) - psi(gamma.sum()))
            after = model.doc_topic_prior_ + theta * (topics @ (counts / np.maximum(theta @ topics, 1e-300)))
            change = float(np.mean(np.abs(after - gamma)))
            gamma = after
            if change < (1 + 1e-6) * model.mean_change_tol + 1e-12:
                good = good or bool(np.all(np.abs(gamma / gamma.sum() - answers[i]) <= near))
                if change < (1 - 1e-6) * model.mean_change_tol - 1e-12:
                    break
        if not good and not np.all(np.abs(gamma / gamma.sum() - answers[i]) <= near):
            refuse_answer(model, "transform")


def filled(model: Any, X: Any, told: Any) -> None:
    """Compare what missing entries are filled with; the others stay as they are."""
    rows, answers = table_of(model, X), dense(told)
    x = np.asarray(rows, dtype=np.float64)
    there = ~np.isnan(x)
    own = np.where(there, x, completed(model, x))
    size = (
        np.abs(own) + np.sqrt(np.nansum(x * x, axis=1, keepdims=True)) + np.abs(np.asarray(model.mean_)).max(initial=0)
    )
    near = (1e-5 if answers.dtype == np.float32 else 1e-7) * size
    if answers.shape != x.shape or not np.all(np.where(there, answers == rows, np.abs(answers - own) <= near)):
        refuse_answer(model, "transform")


def ridge_scores(model: Any, X: Array) -> Numbers:
    """Return the ridge regression of centred rows on components."""
    C, mean, p = np.asarray(model.components_), np.asarray(model.mean_), X.shape[1]
    stacked = np.vstack([C.T, np.sqrt(float(model.ridge_alpha)) * np.eye(len(C))])
    into = np.linalg.pinv(stacked)[:, :p]
    values = np.linalg.svd(stacked, compute_uv=False)
    flat = (values[0] / values[values > 1e-12 * values[0]][-1]) ** 2 if values[0] > 0 else 1.0
    x = X.astype(EXTENDED)
    size = (np.abs(x) + np.abs(mean)).max(axis=1, initial=0, keepdims=True) * np.abs(into).sum()
    return Numbers((x - mean) @ into.T.astype(EXTENDED), flat * (size + np.zeros((1, len(C)))))


def rows_of_components(model: Any, X: Array) -> Numbers:
    """Return the rows that scores and components make."""
    C, mean, z = np.asarray(model.components_), np.asarray(model.mean_), X.astype(EXTENDED)
    return Numbers(z @ C + mean, np.abs(z) @ np.abs(C) + np.abs(mean))


def codes(model: Any, X: Any, told: Any) -> None:
    """See that sparse codes are optimal: the lasso by its conditions, a pursuit by least squares over the atoms it chose."""
    rows, answers = table_of(model, X), dense(told)
    given = hasattr(model, "dictionary")
    D = np.asarray(model.dictionary if given else model.components_, dtype=np.float64)
    D = np.eye(rows.shape[1]) if given and model.dictionary is None else D
    kind = model.transform_algorithm
    k, x = len(D), np.asarray(rows, dtype=np.float64)
    if answers.shape != (len(x), (1 + bool(model.split_sign)) * k) or not np.isfinite(answers).all():
        refuse_answer(model, "transform")
    U = (answers[:, :k] - answers[:, k:] if model.split_sign else answers).astype(np.float64)
    unit = 2.0**-24 if answers.dtype == np.float32 else 2.0**-53
    length = np.sqrt(np.sum(x * x, axis=1, keepdims=True))
    near = 1e-6 * length + 64 * unit * (np.abs(U).sum(axis=1, keepdims=True) + length) * D.shape[1]
    slope = (x - U @ D) @ D.T
    if kind == "omp":
        good = (np.abs(slope) <= near) | (U == 0)
        most = model.transform_n_nonzero_coefs or (k if model.transform_alpha is not None else max(D.shape[1] // 10, 1))
        good &= np.count_nonzero(U, axis=1)[:, None] <= most
    else:
        default = 1.0 if given else model.alpha
        alpha = default if model.transform_alpha is None else model.transform_alpha
        if kind == "threshold":
            wanted = x @ D.T
            size = np.maximum((wanted if model.positive_code else np.abs(wanted)) - alpha, 0.0)
            good = np.abs(U - np.where(wanted < 0, -size, size)) <= near
        elif (
            given
        ):  # sweeps may end before the best codes: what they lack is bounded by a dual point, and stated by the fit
            lacks = lacking(x, D, U, float(alpha), positive=model.positive_code)[:, None]
            good = lacks <= model.certificate_.gap + near * length
        else:
            above = slope <= alpha + near if model.positive_code else np.abs(slope) <= alpha + near
            good = np.where(U == 0, above, np.abs(slope - alpha * np.sign(U)) <= near)
    if not good.all() or (model.positive_code and kind != "omp" and U.min(initial=0.0) < 0):
        refuse_answer(model, "transform")
