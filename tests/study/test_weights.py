"""Names of coefficients: each says what the number belongs to, and none comes twice."""

import numpy as np
import pytest

from qed import study
from qed.study import _recipes
from qed.study._weights import weights

RNG = np.random.default_rng(0)
N = 900
AGE = RNG.integers(18, 60, N)  # whole numbers that come back: they may be identifiers
TABLE = {
    "age": AGE,
    "plan": RNG.choice(["a", "b"], N),
    "spend": np.where(RNG.random(N) < 0.1, np.nan, RNG.normal(size=N)),
    "pay": AGE + RNG.normal(size=N),
    "grade": np.array(["low", "mid", "high"])[np.digitize(AGE + 8 * RNG.normal(size=N), [32, 45])],
}


@pytest.mark.parametrize(
    ("target", "means"),
    [("pay", {"age: target mean"}), ("grade", {"age: share of low", "age: share of mid", "age: share of high"})],
)
def test_every_coefficient_has_a_name_of_its_own(target, means, monkeypatch):
    own = _recipes.declared_candidates
    monkeypatch.setattr(_recipes, "declared_candidates", lambda task: own(task)[:1])  # a linear one
    other = {"pay": "grade", "grade": "pay"}[target]
    found = weights(study.fit({name: TABLE[name] for name in TABLE if name != other}, target, budget=4).model)
    names = [name for name, _ in found]
    assert len(names) == len(set(names))
    assert set(names) == {"age", "plan = a", "plan = b", "spend", "spend is missing"} | means
