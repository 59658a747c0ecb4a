"""Categories as the mean target of their rows, drawn towards the mean of all."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np

from qed.certificates import ExactCertificate
from qed.core import Array, InvalidData, InvalidParameter, NonNegative, Seed, Transformer, fitted, param
from qed.core._finite import require
from qed.core._mixed import new_table
from qed.core._roles import _input_names
from qed.core._targets import as_target, encode
from qed.core._validation import is_source, require_fit_source, require_source_target, source_targets
from qed.data import fold
from qed.designs._chunked import Paired
from qed.preprocessing._categories import counted_table, places
from qed.preprocessing._one_hot import learnt_categories

if TYPE_CHECKING:
    from qed.data import Chunk


def _are_of_its_categories(model: Any, encodings: list[Array]) -> str:
    each = np.atleast_1d(model.target_mean_).size
    sizes = [len(known) for known in model.categories_ for _ in range(each)]
    good = [len(one) for one in encodings] == sizes
    return "" if good else "should be one number for each category (and class)"


class TargetEncoder(Transformer, chunks=True, target="number", allow_nan=True, categorical=True, keeps_dtype=False):
    r"""Target encoding: each category as the mean target of its rows, shrunk towards the overall mean, with cross-fitting.

    Objective
    ---------
    .. math:: z_c = \frac{n_c \bar y_c + m_c \bar y}{n_c + m_c}

    for a category of :math:`n_c` rows; :math:`m_c` is ``smooth``, or with ``'auto'`` the variance of the target in the category
    over that of all rows, the ratio under which the mean is best if both are normal.

    Certificate
    -----------
    ExactCertificate: the categories are exactly the values that occur, and the codes are those means, up to a stated rounding.

    Cost
    ----
    One pass over the entries, hashed, and two over the targets for each column, however many folds there are.

    Notes
    -----
    ``fit_transform`` is not ``fit`` and then ``transform``: each row is coded by the means of the other folds, so that the codes do
    not tell its own target. Of more than two classes each category has one code for every class. Gaps are categories; values that
    the fit has not seen get the mean of all rows.

    Examples
    --------
    >>> from qed.preprocessing import TargetEncoder
    >>> X, y = [["cat"], ["cat"], ["dog"], ["dog"]], [1.5, 2.5, 6.0, 8.0]
    >>> model = TargetEncoder(smooth=2.0).fit(X, y)
    >>> model.transform([["cat"], ["dog"], ["emu"]])
    array([[3.25],
           [5.75],
           [4.5 ]])
    """

    categories: Any = param("auto", "Categories of each column; 'auto' for those that occur.")
    target_type: Literal["auto", "continuous", "binary", "multiclass"] = param(
        "auto", "What the target is; 'auto' looks at it."
    )
    smooth: NonNegative | Literal["auto"] = param("auto", "How many rows of the overall mean each category is given.")
    cv: Any = param(5, "Folds of fit_transform: a number, a splitter or pairs of indices that test every row once.")
    shuffle: bool = param(True, "Whether to shuffle rows before they are split into folds.")
    random_state: Seed = param(None, "Seed of the shuffle.")

    categories_: list[Array] = fitted(
        "Categories of each column, in order.", length="p", dtype="label", shape="(*,)", finite=False, nan=True
    )
    encodings_: list[Array] = fitted(
        "Codes of the categories of each column; of several classes, one after the other.",
        shape="(*,)",
        check=_are_of_its_categories,
    )
    target_mean_: float | Array = fitted("Mean of the target, or the share of each class.", shape="(k,)")
    target_type_: str = fitted("What the target is.", one_of=("continuous", "binary", "multiclass"))
    classes_: Array | None = fitted("The labels; None for numbers.", dtype="label", shape="(*,)")
    folds_: Array | None = fitted(
        "The fold of each row of ``fit_transform``, in their order; None after ``fit``.",
        dtype="uint8 or uint16 or uint32",
        shape="(*,)",
        answers=False,
        optional=True,
    )
    certificate_: ExactCertificate = fitted("What is proven about the fit.")

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the categories and their codes, from all rows.

        Parameters
        ----------
        X : array-like or frame of shape (n, p), or a source from ``qed.scan``
            Rows of words, numbers or gaps. A source is read three times, and its targets are gathered.
        y : array-like of shape (n,)
            Targets: numbers, or labels; None beside a source, which brings its own.
        """
        self._learn(X, y)
        return self

    def fit_transform(self, X: Any, y: Any) -> Any:  # type: ignore[override]
        """Learn the codes, and code each row by the other folds alone.

        Parameters
        ----------
        X, y : object
            As for `fit`.

        Returns
        -------
        ndarray of shape (n, p) or (n, p classes), or frame
            Codes.
        """
        codes, targets = self._learn(X, y)
        fold, n_folds = self._folds(X, y, len(targets))
        self.folds_ = fold.astype(np.min_scalar_type(n_folds))
        return self._coded(codes, targets, fold, n_folds)

    def _coded(self, codes: list[Array], targets: Array, fold: Array, n_folds: int) -> Array:
        """Code each row by the rows of the other folds."""
        blocks = []
        for j, place in enumerate(codes):
            for number in range(targets.shape[1]):
                sums = _Sums.of(place, targets[:, number], fold, n_folds, len(self.categories_[j]))
                others = [sums.without(k) for k in range(n_folds)]
                # The last row is for values that the user has not listed: they get the mean of the other folds.
                coded = np.column_stack([np.append(one.codes(self.smooth), one.mean) for one in others])
                blocks.append(coded[place, fold])
        return np.column_stack(blocks)

    def _coded_by_folds(self, X: Any, y: Any) -> Array:
        """Return once more what ``fit_transform`` gave for these rows, by the folds that it kept."""
        table = new_table(self, X)
        codes = [places(column, self.categories_[j])[0] for j, column in enumerate(table.columns)]
        targets = copy(self)._targets(y, table.n_rows)  # noqa: SLF001  (a copy of itself)
        fold = np.asarray(self.folds_, dtype=np.intp)
        return self._coded(codes, targets, fold, int(fold.max()) + 1)

    def _learn(self, X: Any, y: Any) -> tuple[list[Array], Array]:
        self._validate_params()
        if is_source(X):
            require_fit_source(self, X, y, None)
            require_source_target(self, X)
            y = source_targets(X, labels=True)[0]
        seen = counted_table(self, X)
        n_rows = seen.table.n_rows
        targets = self._targets(y, n_rows)
        self.folds_ = None
        self.categories_, codes, counts = learnt_categories(seen, self.categories, refuse=False)
        if is_source(X):
            means_of = _source_means(X, targets, self.categories_)
        else:
            all_one = np.zeros(n_rows, np.intp)
            means_of = [
                _Sums.of(place, targets[:, number], all_one, 1, len(count)).without(None)
                for place, count in zip(codes, counts, strict=True)
                for number in range(targets.shape[1])
            ]
        self.encodings_ = [one.codes(self.smooth) for one in means_of]
        means = targets.mean(axis=0)
        self.target_mean_ = means if self.target_type_ == "multiclass" else float(means[0])
        self.certificate_ = ExactCertificate(
            f"categories and mean targets of {len(codes)} columns", n_rows, (n_rows + 16) * 2.0**-53
        )
        return codes, targets

    def _transform_source(self, source: Any, *, fits: bool) -> Any:
        if fits:
            raise InvalidData(
                "TargetEncoder.fit_transform codes each row by the other folds, and needs its rows in memory. Fit a source, then"
                " transform it: codes then know the target of their own row."
            )
        return super()._transform_source(source, fits=False)

    def _targets(self, y: Any, n_rows: int) -> Array:
        """Return the target as columns of numbers, and keep what it is."""
        if y is None:
            raise InvalidData(
                "This TargetEncoder estimator requires y to be passed, but the target y is None. Pass y after X."
            )
        array = as_target(y, "y")
        array = array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
        if array.ndim != 1:
            raise InvalidData(
                "Unknown label type: Target type was inferred to be 'multilabel-indicator' or one of several columns. Only"
                " ('binary', 'multiclass', 'continuous') are supported."
            )
        if len(array) != n_rows:
            raise InvalidData(
                f"Found input variables with inconsistent numbers of samples: {[n_rows, len(array)]}. X has {n_rows} rows and y has"
                f" {len(array)}; they must be of the same rows."
            )
        kind = self.target_type
        numbers = array.dtype.kind in "fiub"
        if array.dtype.kind == "f":
            require(array, "y", None, "TargetEncoder")
        if kind == "auto" and array.dtype.kind == "f" and (array != np.floor(array)).any():
            kind = "continuous"
        if kind == "continuous":
            if not numbers:
                raise InvalidData(f"y holds {array.dtype}, and target_type='continuous' needs numbers.")
            self.target_type_, self.classes_ = kind, None
            return array.astype(np.float64)[:, np.newaxis]
        classes, codes = encode(array)
        self.target_type_ = ("binary" if len(classes) <= 2 else "multiclass") if kind == "auto" else kind
        self.classes_ = classes
        if self.target_type_ == "binary":
            if len(classes) > 2:
                raise InvalidParameter(f"TargetEncoder.target_type is 'binary', and y has {len(classes)} classes.")
            return codes.astype(np.float64)[:, np.newaxis]
        return np.asarray(codes[:, np.newaxis] == np.arange(len(classes)), dtype=np.float64)

    def _folds(self, X: Any, y: Any, n_rows: int) -> tuple[Array, int]:
        """Return the fold of each row, and their number."""
        from qed.model_selection import KFold, StratifiedKFold, check_cv  # noqa: PLC0415  only for cross-fitting

        X, y = X if hasattr(X, "shape") else np.empty((n_rows, 1)), as_target(y, "y")
        splitter = check_cv(self.cv, y, classifier=self.target_type_ != "continuous")
        if isinstance(splitter, KFold | StratifiedKFold) and splitter is not self.cv and self.shuffle:
            splitter = type(splitter)(splitter.n_splits, shuffle=True, random_state=self.random_state)
        fold, times, number = np.zeros(n_rows, np.intp), np.zeros(n_rows, np.intp), -1
        for number, (_, test) in enumerate(splitter.split(X, y)):
            fold[test] = number
            times[test] += 1
        if not (times == 1).all():
            raise InvalidParameter(
                "Validation indices from `cv` must cover each sample index exactly once with no overlap. Pass a splitter with"
                " non-overlapping validation folds, such as KFold."
            )
        return fold, number + 1

    def transform(self, X: Any) -> Any:
        """Code rows by what was learnt from all rows of the fit.

        Returns
        -------
        ndarray of shape (n, p) or (n, p classes), or frame
            Codes.
        """
        table = new_table(self, X)
        means = np.atleast_1d(self.target_mean_)
        blocks = []
        for j, column in enumerate(table.columns):
            place, _ = places(column, self.categories_[j])
            for number, mean in enumerate(means.tolist()):
                blocks.append(np.append(self.encodings_[j * len(means) + number], mean)[place])
        return np.column_stack(blocks)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Name the columns that come out: those that went in, or ``<name>_<class>`` for several classes."""
        self._check_is_fitted()
        inside = _input_names(self, input_features)
        if np.ndim(self.target_mean_) == 0:
            return inside
        return np.asarray([f"{name}_{one}" for name in inside for one in np.asarray(self.classes_)], dtype=object)


class _Sums(NamedTuple):
    """Counts and sums by category (rows) and fold (columns), each category about its own mean; and those of all rows."""

    middle: Array
    often: Array
    total: Array
    squares: Array
    whole: Array  # (3, folds): count, sum and squares about `base`
    base: float

    @classmethod
    def of(cls, place: Array, y: Array, fold: Array, n_folds: int, n_categories: int) -> Self:
        base = float(y.mean())
        rest = y - base
        whole = np.stack([np.bincount(fold, w, n_folds) for w in (None, rest, rest * rest)])
        if len(place) and place.min() < 0:
            here = place >= 0
            place, rest, fold = place[here], rest[here], fold[here]
        rows = np.bincount(place, minlength=n_categories)
        middle = np.bincount(place, rest, n_categories) / np.maximum(rows, 1)
        rest = rest - middle[place]
        key = place * n_folds + fold
        size, shape = n_categories * n_folds, (n_categories, n_folds)
        often, total, squares = (np.bincount(key, w, size).reshape(shape) for w in (None, rest, rest * rest))
        return cls(middle, often, total, squares, whole, base)

    def without(self, fold: int | None) -> _Means:
        """Return counts, means and variances of the rows of all other folds."""
        keep = np.ones(self.often.shape[1], bool)
        if fold is not None:
            keep[fold] = False
        n = self.often[:, keep].sum(axis=1)
        total, squares = self.total[:, keep].sum(axis=1), self.squares[:, keep].sum(axis=1)
        safe = np.maximum(n, 1)
        scatter = np.maximum(squares - total * total / safe, 0.0)
        rows, summed, squared = self.whole[:, keep].sum(axis=1)
        rows = max(rows, 1.0)
        variance = max(squared - summed * summed / rows, 0.0) / rows
        return _Means(n, self.middle + total / safe + self.base, scatter / safe, self.base + summed / rows, variance)


class _Means(NamedTuple):
    """What some rows say of each category, and of all of them together."""

    often: Array
    each: Array
    spread: Array
    mean: float
    variance: float

    def codes(self, smooth: Any) -> Array:
        """Return the codes: means drawn towards the mean of all."""
        if smooth == "auto":
            pull = self.variance * self.often
            whole = pull + self.spread
            share = np.divide(pull, whole, out=np.zeros_like(whole), where=whole > 0)
        else:
            whole = self.often + smooth
            share = np.divide(self.often, whole, out=np.zeros_like(whole, dtype=np.float64), where=whole > 0)
        return np.asarray(np.where(self.often > 0, share * self.each + (1 - share) * self.mean, self.mean))


# -- rows that come in chunks --------------------------------------------------------------------------------------


def _source_means(source: Any, targets: Array, categories: list[Array]) -> list[_Means]:
    """Return what the rows of a source say of each category, by column and target.

    One pass sums targets, and one the squares of their distances from the means.
    """
    base = targets.mean(axis=0)
    rows = Paired(source, targets - base, None)
    first = fold(rows, partial(_category_sums, categories=categories, about=None), name="TargetEncoder")
    often = [sums[0] for sums in first.sums]
    middle = [np.divide(sums[1:], np.maximum(sums[0], 1)) for sums in first.sums]
    spread = fold(rows, partial(_category_sums, categories=categories, about=middle), name="TargetEncoder")
    variance = np.mean((targets - base) ** 2, axis=0)
    return [
        _Means(
            often[j],
            base[k] + middle[j][k],
            second[1 + k] / np.maximum(often[j], 1),
            float(base[k]),
            float(variance[k]),
        )
        for j, second in enumerate(spread.sums)
        for k in range(targets.shape[1])
    ]


@dataclass(frozen=True, eq=False)
class _CategorySums:
    """For each column, counts of its categories and sums over their rows: (1 + targets, categories)."""

    sums: list[Array]

    def merge(self, other: Self) -> Self:
        """Return the sums over the rows of both."""
        return type(self)([a + b for a, b in zip(self.sums, other.sums, strict=True)])


def _category_sums(chunk: Chunk, categories: list[Array], about: list[Array] | None) -> _CategorySums:
    """Sum targets by category, or their squared distances from the means of the categories."""
    assert chunk.y is not None  # noqa: S101  (made by Paired)
    found = []
    for j, known in enumerate(categories):
        place, _ = places(chunk.column(j), known)
        here = place >= 0
        own, y = place[here], chunk.y[here]
        terms = y if about is None else (y - about[j][:, own].T) ** 2
        sums = [np.bincount(own, minlength=len(known))]
        found.append(np.stack([*sums, *(np.bincount(own, one, len(known)) for one in terms.T)]).astype(np.float64))
    return _CategorySums(found)
