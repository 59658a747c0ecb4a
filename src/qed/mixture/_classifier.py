"""Classes that are Gaussian mixtures, learnt from rows with and without labels."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np

from qed.core import (
    KW_ONLY,
    Array,
    InvalidData,
    InvalidParameter,
    NonNegative,
    NonNegativeInt,
    Number,
    Numbers,
    PositiveInt,
    Seed,
    fitted,
    generator,
    param,
)
from qed.core._posterior import PosteriorClassifier
from qed.core._shared_params import VERBOSE
from qed.core._validation import is_source
from qed.data import ArraySource
from qed.designs._range import fingerprint, fingerprint_of_columns, require_range
from qed.mixture import _stored
from qed.mixture._ascent import decompose
from qed.mixture._chunked import Labels, SourceFamily, some_components
from qed.mixture._gaussian import degenerate
from qed.mixture._kernels import gaussian_densities
from qed.mixture._mixture import add_up_to_one, best_ascent, keep_ascent
from qed.mixture._starts import by_class
from qed.mixture._stored import COVARIANCES, MEANS, PRECISION_FACTORS, PRECISIONS, REG_COVAR, STRUCTURE, Structure

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import ArrayLike

    from qed.certificates import AscentCertificate
    from qed.mixture._ascent import Ascent
    from qed.mixture._gaussians import Gaussians
else:  # naming it for real would load numpy.typing at import
    ArrayLike = object

WHAT = "log-likelihood of rows and known labels"
START_ROWS = 1 << 16  # rows that starts are chosen from where rows come in chunks


def _why_no_label(value: Any) -> str:
    return "" if value is None or type(value) in (int, float, str, bool) else "should be a label or None"


def _are_of_classes(model: Any, owner: Array) -> str:
    good = np.array_equal(np.unique(owner), np.arange(len(model.classes_))) and bool(np.all(np.diff(owner) >= 0))
    return "" if good else "should name every class, in order"


class GaussianMixtureClassifier(PosteriorClassifier, chunks=True):
    r"""Classifier with a Gaussian mixture for each class (mixture discriminant analysis); it also learns from unlabelled samples.

    Objective
    ---------
    .. math:: \max_{w, \mu, \Sigma} \frac{1}{\sum_i s_i} \sum_i s_i \log \sum_{k \in K(y_i)} w_k \, N(x_i \mid \mu_k, \Sigma_k) \,
              e^{-\frac{v}{2} \operatorname{tr} \Sigma_k^{-1}}

    with K(y) the components of class y, those of all classes for a row without a label, and v = ``reg_covar``, a variance that
    rows are blurred by. The probability of a class is the sum of the weights of its components.

    Certificate
    -----------
    AscentCertificate: the objective after each step, none of which lowered it, what one more step would add, and the
    log-likelihood as a sum of expected log-likelihood, entropy and divergence of the responsibilities.

    Cost
    ----
    O(m p^2) a step for each row, O(m p) for "diag" and "spherical": m is the number of components of its class, of all classes for
    rows without a label. Memory: X once more, sorted by class, unless rows come in chunks.

    See Also
    --------
    qed.discriminant_analysis.QuadraticDiscriminantAnalysis : One Gaussian for each class, without steps.
    GaussianMixture : No labels at all.

    Notes
    -----
    With one component for each class and all labels known this is quadratic discriminant analysis ("full"), linear discriminant
    analysis ("tied") or Gaussian naive Bayes ("diag"), found in one step. With ``unlabeled=-1`` rows of label -1 are
    scikit-learn's unlabelled rows; they belong to each class as far as the model says (semi-supervised EM). They help where classes
    are near to their mixtures, and can harm where they are not.

    Examples
    --------
    >>> import numpy as np
    >>> from qed.mixture import GaussianMixtureClassifier
    >>> X = np.array([[-9.0], [-8.0], [8.0], [9.0], [-1.0], [1.0]])  # a class on both sides of another one
    >>> y = ["outer", "outer", "outer", "outer", "inner", "inner"]
    >>> model = GaussianMixtureClassifier([1, 2], random_state=0).fit(X, y)
    >>> model.predict([[-8.5], [0.0], [8.5]]).tolist()
    ['outer', 'inner', 'outer']
    """

    n_components: PositiveInt | Annotated[ArrayLike, Numbers(1, Number(low=1, whole=True))] = param(
        1, "Number of components of each class: one number for all, or one for each in the order of ``classes_``."
    )
    _: KW_ONLY
    covariance_type: Structure = STRUCTURE
    tol: NonNegative = param(1e-3, "Gain of the objective, per unit of weight, at which the ascent stops.")
    reg_covar: NonNegative = REG_COVAR
    max_iter: PositiveInt = param(100, "Most steps of one start.")
    n_init: PositiveInt = param(1, "How many starts, of which the best is kept.")
    unlabeled: Any = param(
        None,
        "The label of rows whose class is unknown, such as -1; None if every label is a class.",
        in_files=_why_no_label,
    )
    random_state: Seed = param(None, "Seed of the starts and of ``sample``.")
    verbose: NonNegativeInt = VERBOSE

    weights_: Array = fitted("Weights of the components.", shape="(c,)", low=0, high=1, check=add_up_to_one)
    component_classes_: Array = fitted(
        "For each component the number of its class.", shape="(c,)", dtype="int64", low=0, check=_are_of_classes
    )
    means_: Array = MEANS
    covariances_: Array = COVARIANCES
    precisions_: Array = PRECISIONS
    precisions_cholesky_: Array = PRECISION_FACTORS
    degenerate_components_: list[int] = fitted(
        "Components with a variance near ``reg_covar``, or no rows.", low=0, answers=False
    )
    converged_: bool = fitted("Whether the ascent came to rest.", answers=False)
    n_iter_: int = fitted("Steps of the best start.", low=0, answers=False)
    lower_bound_: float = fitted("The objective per unit of weight.", answers=False)
    lower_bounds_: list[float] = fitted("The objective at the start and after each step.", answers=False)
    certificate_: AscentCertificate = fitted("What is proven about the fit.")  # type: ignore[assignment]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the components of every class.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels; those equal to ``unlabeled`` are unknown.
        """
        data = self._fit_data(X, y, sample_weight)
        labels, codes = self._read_labels(data)
        counts, target = np.diff(labels.first), data.y.astype(np.float64)[:, None]
        known = np.flatnonzero(codes >= 0)
        if is_source(X):
            from qed.data._selected import gathered  # noqa: PLC0415  (most rows are in memory)

            known = _some_of_each(codes, known, generator(self.random_state))
            rows, weights = gathered(X, known)
            seen = fingerprint_of_columns(X, target, data.weight)
            raw = np.asarray(data.classes, dtype=np.float64)
            unknown = None if labels.unknown is None else float(raw[int(labels.unknown)])
            source, labels = X, Labels(raw[labels.classes.astype(int)], labels.first, unknown)
        else:
            order = np.argsort(codes, kind="stable")
            s = None if data.weight is None else data.weight[order]
            source = ArraySource(np.ascontiguousarray(data.X[order]), data.y[order], s)
            seen = fingerprint(data.X, target, data.weight)
            rows, weights = data.X[known], None if data.weight is None else data.weight[known]
        require_range(source, seen)
        family = SourceFamily(
            rows, weights, seen.mean[: rows.shape[1]], self.covariance_type, float(self.reg_covar),
            source=source, total_weight=seen.weight, labels=labels,
        )  # fmt: skip
        run: Ascent[Gaussians, Any] = best_ascent(
            family, lambda rng: by_class(family, codes[known], counts, rng), self.n_init, self
        )
        _stored.store(self, run.parameters)
        self.component_classes_ = np.repeat(np.arange(len(counts)), counts)
        self.degenerate_components_ = degenerate(run.parameters, float(self.reg_covar), run.expected.sums.weights)
        rounding = _stored.rounding(run.parameters, run.trace)
        keep_ascent(self, run, WHAT, rounding, seen, decompose(family, run, rounding))
        return self

    def _read_labels(self, data: Any) -> tuple[Labels, Any]:
        """Learn the classes; return how targets are read, and the number of the class of each row."""
        found = data.classes.tolist()
        kept = [k for k, label in enumerate(found) if self.unlabeled is None or label != self.unlabeled]
        if len(kept) < 2:
            unknown = f", of which {self.unlabeled!r} means that a label is unknown" if len(kept) < len(found) else ""
            raise InvalidData(
                f"{type(self).__name__} needs samples of at least 2 classes in the data, but the data contains only one class:"
                f" y holds {found!r:.200}{unknown}."
            )
        counts = np.asarray(self.n_components, dtype=np.int64)
        if counts.shape not in ((), (len(kept),)):
            raise InvalidParameter(
                f"GaussianMixtureClassifier.n_components is one number, or one for each of {len(kept)} classes; got shape"
                f" {counts.shape}."
            )
        counts = np.broadcast_to(counts, (len(kept),))
        unknown_code = None if len(kept) == len(found) else float(next(k for k in range(len(found)) if k not in kept))
        labels = Labels(np.array(kept, dtype=np.float64), np.concatenate([[0], np.cumsum(counts)]), unknown_code)
        codes = labels.codes(data.y)
        used = codes if data.weight is None else codes[data.weight > 0]
        for number, k in enumerate(counts.tolist()):
            rows = int(np.count_nonzero(used == number))
            if rows < k:
                raise InvalidData(
                    f"The class {found[kept[number]]!r} has {rows} rows of positive weight and n_components={k}. Ask for fewer"
                    " components, or label more rows."
                )
        self.classes_ = data.classes[kept]
        return labels, codes

    def _joint(self, rows: Any) -> Array:
        shift, parts = self.weights_ @ self.means_, _stored.stored(self)
        return np.column_stack([gaussian_densities(rows, shift, one, shares=False)[0] for one in self._by_class(parts)])

    def _by_class(self, parts: Gaussians) -> list[Any]:
        whole, owner = parts.components(), self.component_classes_
        edges = np.searchsorted(owner, np.arange(len(self.classes_) + 1))
        return [some_components(whole, slice(a, b)) for a, b in pairwise(edges)]

    def _rescued(self, rows: Any) -> Array:
        """Compare rows so far away that their squares overflow, with the larger exponents of extended precision."""
        wide = np.longdouble
        columns = []
        for one in self._by_class(_stored.stored(self)):
            joint = []
            for k, (mean, level) in enumerate(zip(one.means, one.levels, strict=True)):
                away = rows.astype(wide) - mean
                white = one.whiten if one.shape == "tied" else one.whiten[k]
                z = away * white if one.shape == "diag" else away @ white.T.astype(wide)
                joint.append(level - 0.5 * (z**2).sum(axis=1))
            columns.append(np.logaddexp.reduce(np.stack(joint, axis=1), axis=1))
        found = np.stack(columns, axis=1)
        with np.errstate(over="ignore"):
            return np.asarray(found - found.max(axis=1, keepdims=True), dtype=np.float64)

    def sample(self, n_samples: int = 1) -> tuple[Array, Array]:
        """Draw new rows and labels: a component by its weight, then a row from it.

        Parameters
        ----------
        n_samples : int
            How many rows, at least one.

        Returns
        -------
        X : ndarray of shape (n_samples, p)
            Rows, component by component.
        y : ndarray of shape (n_samples,)
            Their labels.
        """
        rows, component = _stored.draw(self, n_samples, generator(self.random_state))
        return rows, np.asarray(self.classes_[self.component_classes_[component]])


def _some_of_each(codes: Any, known: Any, rng: Generator) -> Any:
    """Return numbers of labelled rows, as many of each class as there is room for."""
    classes = np.unique(codes[known])
    most = max(1, START_ROWS // len(classes))
    chosen = []
    for label in classes:
        mine = known[codes[known] == label]
        chosen.append(mine if len(mine) <= most else rng.choice(mine, most, replace=False))
    return np.sort(np.concatenate(chosen))
