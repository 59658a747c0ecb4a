"""The voted perceptron: every hyperplane there has been has as many votes as rows it survived."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np

from qed.certificates import MistakeBoundCertificate
from qed.core import KW_ONLY, Array, Classifier, NonNegativeInt, PositiveInt, Seed, fitted, param
from qed.core._events import STOP, Progress
from qed.core._shared_params import FIT_INTERCEPT, VERBOSE
from qed.designs._range import fingerprint, require_no_overflow
from qed.linear_model._classes import require_classes
from qed.linear_model._kernels import margins
from qed.linear_model._learn_online import Course, OnlineData, begin, favours, show, shown
from qed.linear_model._online import Memory, Rule, Stop, Visits

SCORES_AT_ONCE = 1 << 18  # of rows times mistakes: 2 MiB, which stays in the cache of one core


@dataclass
class _Course:
    """Where a learner has been: rows that moved it, and how many rows each plane was right about."""

    memory: Memory
    passes: int = 0
    moved: list[Any] = field(default_factory=list)
    votes: list[int] = field(default_factory=list)
    survived: int = 0  # rows that the last plane was right about

    def add(self, memory: Memory, log: Array, order: Array) -> None:
        """Take over one pass: the places of its mistakes, and the order in which the rows came."""
        gaps = np.diff(log, prepend=-1) - 1  # rows that were right between two mistakes
        if len(gaps):
            self.votes += [self.survived + int(gaps[0]), *gaps[1:].tolist()]
            self.survived = len(order) - 1 - int(log[-1])
        else:
            self.survived += len(order)
        self.moved.append(order[log])
        self.memory, self.passes = memory, self.passes + 1


class VotedPerceptron(Classifier, sparse=True, multi_class=False):
    r"""Voted perceptron: a weighted vote of all linear classifiers that a perceptron passes through.

    Objective
    ---------
    None that is minimised. A row that is got wrong is added to the coefficients, times its label :math:`\pm 1` and its weight. The
    prediction is the sign of :math:`\sum_i c_i \, \mathrm{sign}(x^\top w_i + b_i)`, with
    :math:`w_0 = 0`, :math:`w_i` the coefficients after the i-th mistake and :math:`c_i` the number of rows they were right
    about before the next one, or the end.

    Certificate
    -----------
    MistakeBoundCertificate: the mistakes made, and, where the last hyperplane separates the classes with margin :math:`\gamma`,
    the most that any order of the rows can cause.

    Cost
    ----
    O(p) a row shown. The rows of the m mistakes are kept, 8 m (p + 1) bytes. A prediction for n rows takes O(n m p), and
    24 m (p + 1) bytes beyond X and the answer, and 17 max(m, 262144) bytes for the scores of some rows at a time.

    Notes
    -----
    There is no ``partial_fit``: every hyperplane there has been votes, so that the model would grow with its stream, by one row for
    each mistake. For streams use ``Perceptron(variant="averaged")``: it keeps the mean of all hyperplanes, which is one
    hyperplane, and predicts nearly as the vote does.

    Examples
    --------
    >>> from qed.linear_model import VotedPerceptron
    >>> model = VotedPerceptron(shuffle=False).fit([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1, -1, 1])
    >>> model.votes_.tolist()
    [0, 0, 0, 1, 4]
    """

    _: KW_ONLY
    fit_intercept: bool = FIT_INTERCEPT
    max_iter: PositiveInt = param(10, "Most passes over the rows.")
    shuffle: bool = param(True, "Whether every pass has an order of its own; otherwise rows come as they are.")
    class_weight: dict[Any, Any] | Literal["balanced"] | None = param(
        None, "What the steps of the rows of each label are multiplied by."
    )
    verbose: NonNegativeInt = VERBOSE
    random_state: Seed = param(0, "Seed of the orders.")

    classes_: Array = fitted(
        "The two labels, sorted.", dtype="label", shape="(k,)", order="strictly rising", length="2"
    )
    mistakes_: Array = fitted(
        "Rows that were got wrong, in order, times their sign; the last column is that of the intercept.",
        shape="(q, p + 1)",
    )
    steps_: Array = fitted(
        "What each of these rows was multiplied by: its weight and that of its label.", shape="(q,)", optional=True
    )
    votes_: Array = fitted(
        "Rows that each hyperplane survived; the first hyperplane is zero.", dtype="int", shape="(q + 1,)", low=0
    )
    coef_: Array = fitted("Coefficients of the last hyperplane, shape (1, p).", shape="(1, p)")
    intercept_: Array = fitted("Its intercept.", shape="(1,)")
    n_iter_: int = fitted("Passes over the rows.", low=0, answers=False)
    seed_: int = fitted("What the orders of the passes follow from.", answers=False, optional=True)
    certificate_: MistakeBoundCertificate = fitted("What is proved about the mistakes.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Pass over the rows until none is on the wrong side.

        Parameters
        ----------
        y : array-like of shape (n,)
            Two labels.
        sample_weight : array-like of shape (n,), optional
            What the step of each row is multiplied by.
        """
        data = self._fit_data(X, y, sample_weight)
        favour = favours(type(self).__name__, self.class_weight, data.classes, data.y, data.weight)
        rows = shown(data, classes=True, favour=favour)
        require_classes(type(self).__name__, data.classes, (rows.y + 1) / 2)
        seen = fingerprint(rows.X, ((rows.y + 1) / 2).reshape(-1, 1), rows.weight)
        require_no_overflow(seen, rows.X.shape[1])
        rule = Rule("perceptron", intercept=self.fit_intercept)
        memory = begin(self, rows, rule, Course(self.max_iter, None, 1, True, Visits()))
        course, seed = _Course(memory), int(memory.seed)
        interrupted = False
        try:
            self._go(course, rows, rule)
        except KeyboardInterrupt:
            interrupted = True
            if not course.passes:  # before the first pass was over there is nothing to keep
                raise
        memory, places = course.memory, np.concatenate(course.moved)
        wrong = rows.X[places]
        wrong = wrong.toarray() if hasattr(wrong, "toarray") else wrong
        one = np.full((len(places), 1), 1.0 if self.fit_intercept else 0.0)
        self.classes_, self.n_iter_, self.seed_ = data.classes, course.passes, seed
        self.mistakes_ = np.hstack([wrong, one]) * rows.y[places][:, None]
        self.steps_ = np.ones(len(places)) if rows.weight is None else rows.weight[places]
        if favour is not None:
            self.steps_ = self.steps_ * favour[0, (rows.y[places] > 0).astype(np.intp)]
        self.votes_ = np.array([*course.votes, course.survived], dtype=np.int64)
        self.coef_, self.intercept_ = memory.w, memory.b
        least, longest = margins(rows.X, rows.y, self.coef_, self.intercept_)
        length = np.sqrt(np.sum(self.coef_**2) + self.intercept_[0] ** 2)
        margin = least / length if length > 0 else np.zeros(1)
        radius = float(np.sqrt(longest + one[0, 0] if len(one) else longest))
        plain = rows.weight is None and favour is None
        bound = float((radius / margin[0]) ** 2) if plain and margin[0] > 0 else np.inf
        self.certificate_ = MistakeBoundCertificate(memory.rows, memory.mistakes, radius, margin, bound, seen)
        if interrupted:
            raise KeyboardInterrupt
        return self

    def _go(self, course: _Course, rows: OnlineData, rule: Rule) -> None:
        """Pass over the rows, keeping the course up to date after each pass."""
        stream, n = np.random.default_rng(course.memory.seed), rows.X.shape[0]
        with Progress(type(self).__name__, self.max_iter, verbose=self.verbose) as progress:
            while course.passes < self.max_iter:
                order = stream.permutation(n) if self.shuffle else np.arange(n)
                weight = None if rows.weight is None else rows.weight[order]
                shuffled = rows._replace(X=rows.X[order], y=rows.y[order], weight=weight)
                found = show(self, course.memory, shuffled, rule, visits=Visits(), stop=Stop(), logs=True)
                course.add(found.memory, found.log, order)
                wrong = len(found.log)
                if progress.step(wrong / n) is STOP or not wrong:
                    break

    def decision_function(self, X: Any) -> Array:
        """Return the votes for the second label less those for the first, as a share of all.

        Returns
        -------
        ndarray of shape (n,)
            Between -1 and 1.
        """
        X = self._new_data(X)
        steps = self.__dict__.get(
            "steps_", np.ones(len(self.mistakes_))
        )  # files of old do not hold them: they were one
        planes = np.cumsum(self.mistakes_ * steps[:, np.newaxis], axis=0)  # each the one before plus a mistake
        normals, offsets = np.ascontiguousarray(planes[:, :-1].T), planes[:, -1]
        votes, total = self.votes_[1:].astype(np.float64), max(int(self.votes_.sum()), 1)
        won = np.empty(X.shape[0])
        rows = max(1, SCORES_AT_ONCE // max(1, len(planes)))
        for start in range(0, X.shape[0], rows):
            scores = np.asarray(X[start : start + rows] @ normals)
            scores += offsets
            # A row on the plane counts for the first label; so does every row for the first plane, which is zero.
            won[start : start + rows] = (scores > 0).astype(np.float64) @ votes
        return np.asarray((2 * won - int(self.votes_.sum())) / total)

    def predict(self, X: Any) -> Array:
        """Return the label with more votes; of equal ones the first."""
        second = self.decision_function(X) > 0
        return np.asarray(self.classes_[second.astype(np.intp)])
