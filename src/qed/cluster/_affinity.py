"""Exemplars that rows elect by passing messages."""

from __future__ import annotations

import warnings
from typing import Annotated, Any, Literal, NamedTuple, Self

import numpy as np

from qed.certificates import ClustersCertificate
from qed.cluster import _kernels
from qed.cluster._space import require_sizes
from qed.core import (
    KW_ONLY,
    Array,
    Clusterer,
    ConvergenceWarning,
    InvalidData,
    InvalidParameter,
    NonNegativeInt,
    Number,
    PositiveInt,
    Seed,
    Traits,
    Vector,
    fitted,
    generator,
    param,
)
from qed.core._events import STOP, Progress
from qed.core._memory import require_memory
from qed.data._kernels import UNIT
from qed.designs._range import fingerprint
from qed.metrics import pairwise_distances

PRICE_ROUNDS = 100  # in which prices rise together; with more the bound hardly changes
Damping = Annotated[float, Number(low=0.5, high=1, open_high=True)]


class _Election(NamedTuple):
    exemplars: Array
    labels: Array
    steps: int
    outcome: str


class AffinityPropagation(Clusterer):
    r"""Affinity propagation: clusters around exemplars, chosen by messages between samples (rows); ``preference`` sets how many.

    Objective
    ---------
    .. math:: \max_E \sum_{i \notin E} \max_{k \in E} s_{ik} + \sum_{k \in E} p_k

    over sets E of exemplars: the net similarity, with :math:`s_{ik} = -\| x_i - x_k \|^2` and the preferences p. Rows send each
    other how well one would serve the other (responsibilities) and how much support one has (availabilities) until the same rows
    have elected themselves for ``convergence_iter`` rounds. If they never do, the best round counts, and its exemplars come, go and
    change places as long as that raises the net similarity.

    Certificate
    -----------
    ClustersCertificate: what the exemplars cost, and what every choice costs at least. The cost of a choice is what it falls short
    of each row's best similarity, itself included; the bound are prices of rows (``prices_``) that solve the dual linear program
    of facility location.

    Cost
    ----
    O(n^2) a round, and a pass over exchanges; memory for similarities, two tables of messages and a copy: 32 n^2 bytes, refused
    beforehand where they do not fit.

    Examples
    --------
    >>> from qed.cluster import AffinityPropagation
    >>> model = AffinityPropagation(random_state=0).fit([[0.0], [1.0], [2.0], [20.0], [21.0], [22.0]])
    >>> model.cluster_centers_indices_.tolist(), model.labels_.tolist()
    ([1, 4], [0, 0, 0, 1, 1, 1])
    """

    _: KW_ONLY
    damping: Damping = param(0.5, "Share of a message that stays as it was.")
    max_iter: PositiveInt = param(200, "Most rounds of messages.")
    convergence_iter: PositiveInt = param(15, "Rounds without change after which to stop.")
    copy: bool = param(True, "Whether a given table may not be written over; it never is.", kind="hint")
    preference: float | Vector | None = param(
        None, "Similarity of each row to itself: more gives more exemplars. The median of all similarities by default."
    )
    affinity: Literal["euclidean", "precomputed"] = param(
        "euclidean", "Minus squared distances, or 'precomputed' where X holds similarities."
    )
    verbose: NonNegativeInt | bool = param(False, "How much progress to show: 0 for none.")
    random_state: Seed = param(None, "Seed of the noise below rounding that decides between equal similarities.")

    cluster_centers_indices_: Array = fitted(
        "Rows that are exemplars; none if no round elected any.", dtype="int64", shape="(c,)", low=0, below="labels_",
        order="strictly rising",
    )  # fmt: skip
    cluster_centers_: Array = fitted("The exemplars themselves.", shape="(c, p)", optional=True)
    labels_: Array = fitted(
        "The exemplar of each row by its place; -1 without any.", dtype="int64", shape="(n,)", low=-1
    )
    affinity_matrix_: Array = fitted("Similarities.", shape="(n, n)", answers=False)
    prices_: Array = fitted("Prices of rows, which prove the bound.", shape="(n,)", low=0, answers=False)
    n_iter_: int = fitted("Rounds of messages.", low=0, answers=False)
    certificate_: ClustersCertificate = fitted("What is proven about the fit.")

    def _traits(self) -> Traits:
        return self._declared_traits._replace(pairwise=self.affinity == "precomputed")

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Find exemplars.

        Parameters
        ----------
        X : array-like or frame of shape (n, p), or similarities of shape (n, n)
            Rows.
        """
        data = self._fit_data(X)
        n = data.n_rows
        require_memory(
            32 * n * n, f"messages between all pairs of {n} rows", "Cluster a sample, or take KMeans or HDBSCAN."
        )
        rows = np.ascontiguousarray(data.X, dtype=np.float64)
        S = self._similarities(rows)
        preference = self._preferences(S)
        found = self._elect(S, preference)
        self.affinity_matrix_, self.n_iter_ = S, found.steps
        self.cluster_centers_indices_, self.labels_ = found.exemplars, found.labels
        vars(self).pop("cluster_centers_", None)
        if self.affinity != "precomputed":
            self.cluster_centers_ = rows[found.exemplars].copy()
        self._certify(rows, S, preference, found.outcome)
        if found.outcome == "interrupted":
            raise KeyboardInterrupt
        return self

    def _similarities(self, rows: Array) -> Array:
        if self.affinity == "precomputed":
            if rows.shape[0] != rows.shape[1]:
                raise InvalidData(f"The matrix of similarities must be a square array. Got {rows.shape} instead.")
            return rows.copy()
        require_sizes(type(self).__name__, rows)
        return -pairwise_distances(rows - rows.mean(axis=0), metric="sqeuclidean")

    def _preferences(self, S: Array) -> Array:
        n = len(S)
        if self.preference is None:
            return np.full(n, np.median(S))
        given = np.asarray(self.preference, dtype=np.float64)
        if (given.ndim > 0 and given.shape != (n,)) or not np.isfinite(given).all():
            raise InvalidParameter(
                f"preference must be one finite number, or one for each of {n} rows, got shape {given.shape}."
            )
        return np.broadcast_to(given, (n,)).copy()

    def _elect(self, S: Array, preference: Array) -> _Election:
        n = len(S)
        if n == 1 or _are_equal(S, preference):
            warnings.warn(
                "All samples have mutually equal similarities. Returning arbitrary cluster center(s).", stacklevel=3
            )
            alone = n == 1 or preference[0] > S[0, 1]
            exemplars = np.arange(n) if alone else np.zeros(1, np.int64)
            return _Election(exemplars, np.arange(n) if alone else np.zeros(n, np.int64), 0, "solved")
        rng = generator(self.random_state)
        size = np.abs(S)
        np.fill_diagonal(size, np.abs(preference))
        noise = (UNIT * size + 100 * np.finfo(float).tiny) * rng.standard_normal((n, n))
        noisy, own = S + noise, preference + np.diag(noise)
        del noise, size
        np.fill_diagonal(noisy, -np.inf)
        messages = _kernels.Messages(noisy, own, float(self.damping))
        since, before, outcome, step = np.zeros(n, np.int64), np.zeros(n, bool), "max_iter", 0
        best, most = before, -np.inf
        with Progress(type(self).__name__, verbose=int(self.verbose)) as progress:
            try:
                for step in range(1, self.max_iter + 1):
                    is_exemplar = messages.step()
                    since = np.where(is_exemplar == before, since + 1, 1)
                    if (
                        not np.array_equal(is_exemplar, before)
                        and (gain := _net_similarity(S, preference, is_exemplar)) > most
                    ):
                        best, most = is_exemplar, gain
                    before = is_exemplar
                    settled = (
                        step > self.convergence_iter and since.min() >= self.convergence_iter and is_exemplar.any()
                    )
                    if settled and step < self.max_iter:
                        outcome = "solved"
                        break
                    if progress.step(float(is_exemplar.sum())) is STOP:
                        outcome = "stopped"
                        break
            except KeyboardInterrupt:
                outcome = "interrupted"
        del messages, noisy
        # messages that did not settle leave exemplars of some round: the best one is as good an answer as the last
        return self._assigned(S, preference, before if outcome == "solved" else best, step, outcome)

    def _assigned(self, S: Array, preference: Array, is_exemplar: Array, step: int, outcome: str) -> _Election:
        """Give each group the member that serves it best, and each row its most similar exemplar."""
        exemplars = np.flatnonzero(is_exemplar)
        if not len(exemplars):
            warnings.warn(
                ConvergenceWarning(
                    "Affinity propagation did not converge and this model will not have any cluster centers."
                    " Raise max_iter or damping."
                ),
                stacklevel=4,
            )
            return _Election(exemplars, np.full(len(S), -1, np.int64), step, outcome)
        if outcome == "max_iter":
            warnings.warn(
                ConvergenceWarning(
                    "Affinity propagation did not converge, this model may return degenerate cluster centers and labels."
                    " Raise max_iter or damping."
                ),
                stacklevel=4,
            )
        labels = _most_similar(S, exemplars)
        for k, _ in enumerate(exemplars):
            own = np.flatnonzero(labels == k)
            inner = S[np.ix_(own, own)]
            inner[np.diag_indices(len(own))] = preference[own]
            exemplars[k] = own[int(np.argmax(inner.sum(axis=0)))]
        if outcome != "solved":
            exemplars = _exchanged(S, preference, exemplars)
        exemplars = np.sort(exemplars)
        return _Election(exemplars, _most_similar(S, exemplars), step, outcome)

    def _certify(self, rows: Array, S: Array, preference: Array, outcome: str) -> None:
        n = len(S)
        away = S.copy()
        np.fill_diagonal(away, -np.inf)
        best = np.maximum(away.max(axis=1), preference) if n > 1 else preference
        fee = best - preference
        self.prices_ = _kernels.raise_prices(away, best, fee, PRICE_ROUNDS)
        del away
        rounding = 64 * n * UNIT * (float(np.abs(S).max()) + float(np.abs(preference).max())) * n**0.5
        is_exemplar = np.zeros(n, bool)
        is_exemplar[self.cluster_centers_indices_] = True
        cost = float(fee[is_exemplar].sum())
        if is_exemplar.any():
            others = np.flatnonzero(~is_exemplar)
            cost += float(np.sum(best[others] - S[others, self.cluster_centers_indices_[self.labels_[others]]]))
        else:  # nobody is served
            cost = float(fee.sum())
        self.certificate_ = ClustersCertificate(
            objective=cost,
            bound=max(float(self.prices_.sum()) - rounding, 0.0),
            rounding=rounding,
            null_objective=float(fee.sum()),
            drift=0.0,
            trace=np.zeros(0),
            evaluations=n * n * self.n_iter_,
            tol=1e-4,
            outcome=outcome,
            fingerprint=fingerprint(rows, np.empty((n, 0)), None),
        )

    def predict(self, X: Any) -> Array:
        """Return the nearest exemplar of rows.

        Returns
        -------
        ndarray of int of shape (m,)
            Numbers of exemplars.
        """
        X = np.asarray(self._new_data(X), dtype=np.float64)
        if self.affinity == "precomputed":
            raise InvalidData("Predict method is not supported when affinity='precomputed'. Fit the rows themselves.")
        if not len(self.cluster_centers_indices_):
            warnings.warn(
                ConvergenceWarning(
                    "This model does not have any cluster centers because affinity propagation did not converge."
                ),
                stacklevel=2,
            )
            return np.full(len(X), -1, np.int64)
        return np.asarray(np.argmin(pairwise_distances(X, self.cluster_centers_), axis=1), dtype=np.int64)


def _are_equal(S: Array, preference: Array) -> bool:
    """Tell whether all similarities are the same, and all preferences."""
    others = S[~np.eye(len(S), dtype=bool)]
    return bool(np.all(preference == preference[0]) and np.all(others == others[0]))


def _net_similarity(S: Array, preference: Array, is_exemplar: Array) -> float:
    """Return the sum of similarities of rows to their exemplars, and of the preferences of these."""
    if not is_exemplar.any():
        return -np.inf
    return float(S[np.ix_(~is_exemplar, is_exemplar)].max(axis=1).sum() + preference[is_exemplar].sum())


def _exchanged(S: Array, preference: Array, exemplars: Array) -> Array:
    """Let exemplars come, go and change places while one such exchange raises the net similarity."""
    away = np.array(S.T, order="C")
    np.fill_diagonal(away, preference)
    best = away.max(axis=0)
    np.subtract(best, away, out=away)
    np.fill_diagonal(away, 0.0)
    return _kernels.swap_medoids(away, None, exemplars, 10 * len(S), best - preference)[0]


def _most_similar(S: Array, exemplars: Array) -> Array:
    labels = np.argmax(S[:, exemplars], axis=1)
    labels[exemplars] = np.arange(len(exemplars))
    return np.asarray(labels, dtype=np.int64)


def affinity_propagation(
    S: Any, *, preference: Any = None, convergence_iter: int = 15, max_iter: int = 200, damping: float = 0.5,
    copy: bool = True, verbose: bool = False, return_n_iter: bool = False, random_state: Any = None,
) -> tuple[Any, ...]:  # fmt: skip
    """Choose exemplars by affinity propagation: the function behind `AffinityPropagation`.

    Parameters
    ----------
    S : array-like of shape (n, n)
        Similarities.
    preference, convergence_iter, max_iter, damping, copy, verbose, random_state : object
        As in `AffinityPropagation`.
    return_n_iter : bool
        Whether to return the rounds as well.

    Returns
    -------
    cluster_centers_indices : ndarray of int of shape (c,)
        Rows that are exemplars.
    labels : ndarray of int of shape (n,)
        The exemplar of each row, by its place.
    n_iter : int
        Rounds of messages, if asked for.

    Examples
    --------
    >>> from qed.cluster import affinity_propagation
    >>> S = [[0, -1, -2, -9], [-1, 0, -1, -9], [-2, -1, 0, -9], [-9, -9, -9, 0]]
    >>> affinity_propagation(S, preference=-4, random_state=0)[1].tolist()
    [0, 0, 0, 1]
    """
    model = AffinityPropagation(
        damping=damping, max_iter=max_iter, convergence_iter=convergence_iter, copy=copy, preference=preference,
        affinity="precomputed", verbose=verbose, random_state=random_state,
    ).fit(S)  # fmt: skip
    found = model.cluster_centers_indices_, model.labels_
    return (*found, model.n_iter_) if return_n_iter else found
