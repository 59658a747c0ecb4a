"""What networks of dense layers share: their parameters, how these are read, and how a fit is stored."""

from __future__ import annotations

import math
import warnings
from numbers import Integral
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np

from qed.certificates import NetworkCertificate  # noqa: TC001  (names the type of an attribute)
from qed.core import (
    KW_ONLY,
    Array,
    Estimator,
    InvalidParameter,
    NonNegative,
    NonNegativeInt,
    Number,
    Positive,
    PositiveInt,
    Probability,
    Seed,
    fitted,
    generator,
    param,
)
from qed.core._memory import require_memory
from qed.core._rules import Rule
from qed.neural_network._course import Course, Task, Trail, descend, descend_by_all, refuse_overflow
from qed.neural_network._forward import scores, silence
from qed.neural_network._gradients import Rows
from qed.neural_network._layout import Layout, drawn
from qed.neural_network._prove import Effort, fingerprint, prove
from qed.neural_network._steps import Adam, Memory, Momentum, Steps
from qed.neural_network._summary import LayerSummary, NetworkSummary
from qed.neural_network._torch import load_torch, one_torch_thread

if TYPE_CHECKING:
    from collections.abc import Callable

    from qed.core import FitData
    from qed.neural_network._layout import Parameters


AUTO_BATCH = 200


class Sizes(Rule):
    """Whole numbers of at least one, any number of them, or a single one."""

    words = "an integer >= 1 or a sequence of such"

    def accepts(self, value: object) -> bool:
        """Tell whether the value is right."""
        if isinstance(value, str | bytes | dict | set):
            return False
        try:
            entries = list(value)  # type: ignore[call-overload]
        except TypeError:
            entries = [value]
        return all(isinstance(one, Integral) and not isinstance(one, bool) and int(one) > 0 for one in entries)

    def constraints(self, make: Callable[..., Any]) -> Any:
        """Say the same in scikit-learn's constraints."""
        return ["array-like", make("Interval", Integral, 1, None, closed="left")]


FractionOrZero = Annotated[float, Number(low=0, high=1, open_high=True)]
Patience = PositiveInt | Annotated[float, Number(low=math.inf, infinite=True)]


class OfSteps:
    """A method that a network has as long as it learns step by step."""

    def __init__(self, method: Any) -> None:
        self.method = method
        self.__doc__ = method.__doc__

    def __get__(self, model: Any, owner: type | None = None) -> Any:
        """Return the method, bound; AttributeError if the solver needs all rows at once."""
        if model is None:
            return self.method
        if model.solver == "lbfgs":
            raise AttributeError("partial_fit is only available for stochastic optimizers. lbfgs is not stochastic.")
        return self.method.__get__(model, owner)


def _fit_each_other(model: Any, coefs: list[Array]) -> str:
    below = model.n_features_in_
    for weights, own in zip(coefs, model.intercepts_, strict=True):
        if len(weights) != below or own.shape != weights.shape[1:] or not own.size:
            return f"should fit each other and the columns: {below} come in, and {weights.shape} and {own.shape} follow"
        below = weights.shape[1]
    return "" if len({one.dtype for one in (*coefs, *model.intercepts_)}) == 1 else "should be of one type"


def _are_those_of_the_last_layer(model: Any, number: int) -> str:
    own = len(model.intercepts_[-1])
    return "" if number == own else f"should be {own}, and is {number}"


def _fits_the_weights(model: Any, memory: Memory | None) -> str:
    size = sum(one.size for one in (*model.coefs_, *model.intercepts_))
    good = memory is None or (len(memory.first) == size and len(memory.second) in (0, size))
    return "" if good else f"should have one number for each of {size} weights"


class Network(Estimator, sparse=True):
    """A network of dense layers."""

    hidden_layer_sizes: Annotated[object, Sizes()] = param(
        (100,), "Units of each hidden layer, from the columns to the outputs; () for none."
    )
    activation: Literal["identity", "logistic", "tanh", "relu"] = param("relu", "Activation of hidden units.")
    _: KW_ONLY
    solver: Literal["lbfgs", "sgd", "adam"] = param(
        "adam", "How to descend: by quasi-Newton steps on all rows, or by steps on some rows at a time."
    )
    alpha: NonNegative = param(0.0001, "Strength of the penalty on squared weights; see the objective.")
    batch_size: PositiveInt | Literal["auto"] = param(
        "auto", "Rows of a step of 'sgd' and 'adam'; 'auto' for 200, or all if there are fewer."
    )
    learning_rate: Literal["constant", "invscaling", "adaptive"] = param(
        "constant",
        "Length of the steps of 'sgd': learning_rate_init; that divided by (rows shown + 1)**power_t; or a fifth whenever progress"
        " ends, until it is tiny.",
    )
    learning_rate_init: Positive = param(0.001, "Length of the first step of 'sgd' and 'adam'.")
    power_t: NonNegative = param(0.5, "How fast steps shrink with 'invscaling'.")
    max_iter: PositiveInt = param(200, "Most passes over the rows; of 'lbfgs', most steps.")
    shuffle: bool = param(True, "Whether every pass has an order of its own; otherwise rows come as they are.")
    random_state: Seed = param(None, "Seed of the first weights, of the orders, and of the rows that are held out.")
    tol: NonNegative = param(
        1e-4,
        "A pass counts as progress when the loss falls, or the score of held-out rows rises, by more. 'lbfgs' ends when no slope"
        " of the objective is larger, which is also what the certificate calls reached.",
    )
    verbose: bool | NonNegativeInt = param(False, "How much progress to show: 0 for none.")
    warm_start: bool = param(False, "Whether to go on from the weights there are.")
    momentum: Probability = param(0.9, "Share of the speed that a step of 'sgd' keeps.")
    nesterovs_momentum: bool = param(True, "Whether the speed of 'sgd' moves the weights before the gradient does.")
    early_stopping: bool = param(
        False, "Whether 'sgd' and 'adam' hold rows out, stop by their score and keep the best weights."
    )
    validation_fraction: FractionOrZero = param(0.1, "Share of rows held out with ``early_stopping``.")
    beta_1: FractionOrZero = param(0.9, "Decay of the mean of gradients of 'adam'.")
    beta_2: FractionOrZero = param(0.999, "Decay of the mean of squared gradients of 'adam'.")
    epsilon: Positive = param(1e-8, "What 'adam' adds to the root of squared gradients, which may be zero.")
    n_iter_no_change: Patience = param(10, "Passes without progress that are put up with.")
    max_fun: PositiveInt = param(15000, "Most evaluations of the objective by 'lbfgs'.")

    if TYPE_CHECKING:
        classes_: Array  # of classifiers

    coefs_: list[Array] = fitted(
        "Weights of each layer, of shape (units below, units above).",
        dtype="float",
        shape="(*, *)",
        length="at least 1",
        check=_fit_each_other,
    )
    intercepts_: list[Array] = fitted("Intercepts of each layer.", dtype="float", shape="(*,)", length="coefs_")
    n_layers_: int = fitted("Layers, columns and outputs counted.", low="coefs_ + 1", high="coefs_ + 1")
    n_outputs_: int = fitted("Outputs.", low=1, check=_are_those_of_the_last_layer)
    out_activation_: str = fitted("Activation of the outputs.", one_of=("identity", "exp", "logistic", "softmax"))
    n_iter_: int = fitted("Passes over the rows; of 'lbfgs', steps.", low=0, answers=False)
    t_: int = fitted("Rows shown, in all passes together.", low=0, answers=False)
    loss_: float = fitted(
        "The objective in the last pass, of batches as they were met.", finite=False, nan=True, answers=False
    )
    best_loss_: float | None = fitted(
        "The least of ``loss_curve_``; None with early stopping.", finite=False, nan=True, answers=False
    )
    loss_curve_: list[float] = fitted(
        "The objective in each pass; of 'lbfgs', whenever it fell.", finite=False, nan=True, answers=False
    )
    validation_scores_: list[float] | None = fitted(
        "Score of held-out rows after each pass, with early stopping.", finite=False, nan=True, answers=False
    )
    best_validation_score_: float | None = fitted(
        "The largest of ``validation_scores_``.", finite=False, nan=True, answers=False
    )
    memory_: Memory | None = fitted(
        "What ``partial_fit`` goes on from, beside the weights; None after 'lbfgs'.",
        check=_fits_the_weights,
        answers=False,
    )
    certificate_: NetworkCertificate = fitted("What is proved about the weights.")

    def __sklearn_is_fitted__(self) -> bool:
        """Tell whether there are weights."""
        return "coefs_" in self.__dict__

    def _hidden(self) -> tuple[int, ...]:
        sizes: Any = self.hidden_layer_sizes
        return (int(sizes),) if isinstance(sizes, Integral) else tuple(int(size) for size in sizes)

    def _learn(
        self, data: FitData, truth: Array, outputs: tuple[int, str], *, goes_on: bool, once: bool = False
    ) -> Self:
        """Learn from rows, and store what was learnt.

        Parameters
        ----------
        data : FitData
            What came through the door.
        truth : ndarray of shape (n, k) or (n, 1)
            Targets, or numbers of classes.
        outputs : (int, str)
            How many outputs there are, and their activation.
        goes_on : bool
            Whether to go on from the weights there are.
        once : bool
            Whether to pass over the rows once, as ``partial_fit`` does.
        """
        name = type(self).__name__
        torch = load_torch(name)
        layout = Layout((data.X.shape[1], *self._hidden(), outputs[0]))
        dtype = np.dtype(data.X.dtype)
        require_memory(
            8 * dtype.itemsize * layout.n_parameters,
            f"{name} of {layout.n_parameters} weights",
            "Choose smaller hidden_layer_sizes.",
        )
        rng = generator(self.random_state)
        if goes_on:
            self._require_layout(layout, outputs[1])
            flat = layout.packed(self.coefs_, self.intercepts_, dtype)
        else:
            flat = drawn(layout, self.activation, rng, dtype)
        seen = fingerprint(data.X, truth, data.weight)
        if not np.isfinite(seen.spread).all():
            refuse_overflow(name)
        rows = Rows.of(data.X, truth, data.weight)
        batch = self._batch(rows.n)
        decay = self.alpha / (rows.mean_weight * (rows.n if self.solver == "lbfgs" else batch))
        task = Task(name, layout, self.activation, outputs[1], rows, decay)
        trail = self._trail() if goes_on else Trail()
        with one_torch_thread(torch):
            flat, steps = self._descended(torch, task, flat, batch, trail, rng, once=once, goes_on=goes_on)
            if not np.isfinite(flat).all():
                refuse_overflow(name)
            if self.activation == "relu" and not once:
                silence(rows.X, *layout.parts(flat)[1:])
            trail.outcome = "partial_fit" if once and trail.outcome == "max_iter" else trail.outcome
            effort = Effort(1, 64) if once else Effort()  # a stream is proved over and over
            certificate = prove(torch, task, flat, trail=trail, tol=self.tol, seen=seen, effort=effort)
        if data.classes is not None:
            self.classes_ = data.classes
        self._store(layout, flat, outputs[1], trail, certificate)
        self.memory_ = None if steps is None else steps.memory()
        if trail.outcome == "interrupted":
            raise KeyboardInterrupt
        return self

    def _descended(
        self, torch: Any, task: Task, flat: Array, batch: int, trail: Trail, rng: Any, *, once: bool, goes_on: bool
    ) -> tuple[Array, Steps | None]:
        theta = task.layout.parts(torch.from_numpy(flat))
        if self.solver == "lbfgs":
            course = Course(
                self.max_iter, task.rows.n, False, self.tol, 0, rng, most_calls=self.max_fun, verbose=int(self.verbose)
            )
            with torch.no_grad():
                descend_by_all(torch, task, theta, course, trail)
            return flat, None
        taught, score = task, None
        if self.early_stopping:
            taught, score = self._held_out(task, rng)
        memory = self.__dict__.get("memory_") if once and goes_on else None
        steps = self._steps(torch, theta.flat, memory)
        course = Course(
            1 if once else self.max_iter,
            min(batch, taught.rows.n),
            self.shuffle,
            self.tol,
            self.n_iter_no_change,
            rng,
            score=score,
            verbose=int(self.verbose),
        )
        with torch.inference_mode():
            descend(torch, taught, theta, steps, course, trail)
        return (flat if trail.best is None else trail.best), steps

    def _steps(self, torch: Any, theta: Any, memory: Memory | None) -> Steps:
        if self.solver == "adam":
            kept = memory if memory is not None and len(memory.second) == len(theta) else None
            return Adam(torch, theta, self.learning_rate_init, (self.beta_1, self.beta_2), self.epsilon, kept)
        kept = memory if memory is not None and not len(memory.second) else None
        return Momentum(
            torch,
            theta,
            self.learning_rate_init,
            self.learning_rate,
            self.power_t,
            self.momentum,
            self.nesterovs_momentum,
            kept,
        )

    def _batch(self, n: int) -> int:
        """Return how many rows a step takes."""
        if self.batch_size == "auto":
            return min(AUTO_BATCH, n)
        if self.solver != "lbfgs" and self.batch_size > n:
            warnings.warn(
                f"Got `batch_size` larger than sample size. It is going to be clipped: {self.batch_size} to the {n} rows.",
                stacklevel=4,
            )
        return min(self.batch_size, n)

    def _held_out(self, task: Task, rng: Any) -> tuple[Task, Callable[[Parameters], float]]:
        """Hold rows out; return the task on the others, and a score of parameters on those held out."""
        from qed.model_selection import ShuffleSplit, StratifiedShuffleSplit  # noqa: PLC0415  (few fits need it)

        rows = task.rows
        strata = self._strata(rows)
        if round(rows.n * self.validation_fraction) < 2:
            raise InvalidParameter(
                "The validation set is too small. Increase 'validation_fraction' or the size of your dataset:"
                f" {self.validation_fraction:g} of {rows.n} rows are fewer than two."
            )
        splitter = ShuffleSplit if strata is None else StratifiedShuffleSplit
        split = splitter(1, test_size=self.validation_fraction, random_state=rng)
        labels = np.zeros(rows.n) if strata is None else strata
        inside, outside = next(iter(split.split(np.zeros((rows.n, 1)), labels)))
        held = rows.some(outside)
        weight = None if held.weight is None else held.weight[:, 0]

        def score(theta: Parameters) -> float:
            layers = task.layout.parts(theta.flat.numpy())
            return self._judged(scores(held.X, layers.weights, layers.intercepts, task.activation), held.truth, weight)

        taught = Task(task.owner, task.layout, task.activation, task.end, rows.some(inside), task.decay)
        return taught, score

    def _strata(self, rows: Rows) -> Array | None:
        """Return what rows are held out by, None for nothing."""
        raise NotImplementedError

    def _judged(self, z: Array, truth: Array, weight: Array | None) -> float:
        """Score the values of the last layer against the truth."""
        raise NotImplementedError

    def _trail(self) -> Trail:
        """Return the trail of the course so far, to go on from."""
        trail = Trail(losses=list(self.loss_curve_), shown=self.t_)
        if self.best_loss_ is not None:
            trail.best_loss = self.best_loss_
        if self.validation_scores_ is not None and self.best_validation_score_ is not None:
            trail.scores, trail.best_score = list(self.validation_scores_), self.best_validation_score_
        return trail

    def _store(self, layout: Layout, flat: Array, end: str, trail: Trail, certificate: NetworkCertificate) -> None:
        parts = layout.parts(flat)
        self.coefs_, self.intercepts_ = ([part.copy() for part in some] for some in parts[1:])
        self.n_layers_, self.n_outputs_, self.out_activation_ = len(layout.sizes), layout.sizes[-1], end
        self.n_iter_, self.t_, self.loss_curve_ = trail.passes, trail.shown, trail.losses
        self.loss_ = trail.losses[-1] if trail.losses else certificate.objective
        stops = self.early_stopping and self.solver != "lbfgs"
        self.best_loss_ = None if stops else float(trail.best_loss)
        self.validation_scores_ = trail.scores if stops else None
        self.best_validation_score_ = float(trail.best_score) if stops else None
        self.certificate_ = certificate

    def _require_layout(self, layout: Layout, end: str) -> None:
        """Refuse to go on from a network of another shape."""
        known = (self.coefs_[0].shape[0], *(len(part) for part in self.intercepts_))
        if known != layout.sizes or end != self.out_activation_:
            raise InvalidParameter(
                f"{type(self).__name__} cannot go on from layers of {list(known)} units with outputs {self.out_activation_!r}: its"
                f" parameters ask for {list(layout.sizes)} and {end!r}. Set warm_start=False, or fit a clone."
            )

    def summary(self) -> NetworkSummary:
        """Return the layers of the fitted network with the number of their parameters; printed, it is a table.

        Returns
        -------
        NetworkSummary
            Its ``layers`` and ``n_parameters``.
        """
        self._check_is_fitted()
        ends = [self.activation] * (len(self.coefs_) - 1) + [self.out_activation_]
        layers = zip(self.coefs_, ends, strict=True)
        return NetworkSummary(tuple(LayerSummary(len(weights), weights.shape[1], end) for weights, end in layers))

    def _scores(self, X: Any) -> Array:
        """Return the values of the last layer before its activation."""
        X = self._new_data(X)
        if not isinstance(X, np.ndarray):
            X = X.tocsr()
        return scores(X, self.coefs_, self.intercepts_, self.activation)
