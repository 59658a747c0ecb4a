"""What the fitting side proves, down to its last digit, the checker confirms; what is worse, it refuses."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.reference.convex_programs import points, say
from tests.verify.convex_models import (
    ElasticNet,
    Lasso,
    LogisticRegression,
    PoissonRegressor,
    QuantileRegressor,
    verified,
)

import qed

# loss and penalty of the problem: the model of the documentation for a strength, and what its objective is in units of the mean
MODELS = {
    ("Squared", "L1"): lambda a, s: (Lasso(alpha=a), 1.0),
    ("Squared", "L2"): lambda a, s: (ElasticNet(alpha=a, l1_ratio=0.0), 1.0),
    ("Squared", "Zero"): lambda a, s: (Lasso(alpha=0.0), 1.0),
    ("Squared", "Nonnegative"): lambda a, s: (Lasso(alpha=a, positive=True), 1.0),
    ("Logistic", "L1"): lambda a, s: (LogisticRegression(C=1 / (a * s.sum()), l1_ratio=1.0), 1 / a),
    ("Logistic", "L2"): lambda a, s: (LogisticRegression(C=1 / (a * s.sum())), 1 / a),
    ("Logistic", "Zero"): lambda a, s: (LogisticRegression(C=np.inf), s.sum()),
    ("Softmax", "L1"): lambda a, s: (LogisticRegression(C=1 / (a * s.sum()), l1_ratio=1.0), 1 / a),
    ("Softmax", "L2"): lambda a, s: (LogisticRegression(C=1 / (a * s.sum())), 1 / a),
    ("Poisson", "L2"): lambda a, s: (PoissonRegressor(alpha=a), 1.0),
    ("Poisson", "Zero"): lambda a, s: (PoissonRegressor(alpha=0.0), 1.0),
    ("Quantile", "L1"): lambda a, s: (QuantileRegressor(quantile=0.75, alpha=a), 1.0),
}
FEW = settings().max_examples // 8


def model_of(said, w, b, gap, kind):
    """Return a model of the documentation at a point, with the claim of the fitting side."""
    problem, (model, unit) = said.problem, kind
    labels = {"Logistic": [-1.0, 1.0], "Softmax": [0.0, 1.0, 2.0]}.get(said.loss)
    model.fit_intercept = problem.free_intercept
    if labels is not None:
        model.classes_ = np.array(labels)
    model._fit_data(said.X, said.y, said.s)
    level = b - (0.0 if problem.centre is None else problem.centre @ w)
    model.coef_ = np.ascontiguousarray(np.atleast_2d(w.T)) if labels is not None else w
    model.intercept_ = np.atleast_1d(level) if labels is not None else float(level)
    claim = {
        "rounding": unit * gap.rounding,
        "objective": unit * gap.objective,
        "null_objective": unit * problem.null_objective,
        "radius": gap.radius,
        "dual": None if problem.loss.traits.has_curvature else gap.u,
    }
    return model.claim(said.X, said.y, said.s, unit * gap.value, **claim)


@pytest.mark.parametrize(("loss", "penalty"), MODELS)
@settings(max_examples=FEW)
@given(seed=st.integers(0, 2**40))
def test_what_is_proved_is_confirmed_and_what_is_worse_refused(seed, loss, penalty):
    said = say(seed, loss, penalty)
    found = points(said, np.random.default_rng([seed, 1]))
    worth = [float(said.objective(w, b)) for w, b, _ in found]
    strength = getattr(said.problem.penalty, "alpha", None)
    strength = said.problem.penalty.other.alpha if penalty == "Nonnegative" else strength
    assume(said.problem.null_objective > 0)
    gaps = [said.problem.certify(w, b, u) for w, b, u in found]
    best = int(np.argmin([gap.value for gap in gaps]))
    for at, (w, b, _) in enumerate(found):
        kind = MODELS[loss, penalty](strength, said.s)
        model = model_of(said, w, b, gaps[at], kind)
        assert verified(model, said.X, said.y, said.s).holds
        gap = gaps[best]
        if said.within(w, found[best][0], gap.radius) and worth[at] - worth[best] > 4 * gap.value:
            worse = model_of(said, w, b, gap, MODELS[loss, penalty](strength, said.s))
            with pytest.raises(qed.CertificateError):
                verified(worse, said.X, said.y, said.s)
