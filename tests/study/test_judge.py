"""The judgement of held-out rows: columns are shuffled in the time there is, the promising ones first."""

import numpy as np

from qed.study import _judge
from qed.study._clock import Clock
from qed.study._judge import importances
from qed.study._schema import ColumnSchema, TargetSchema, words_array


class Slow:
    """Says twice the last column, and takes a second for it."""

    def __init__(self, clock):
        self.clock = clock

    def predict(self, X):
        self.clock[0] += 1.0
        return 2 * X[:, -1]


def test_of_many_columns_those_that_move_with_the_prediction_are_shuffled_first():
    clock = [0.0]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 50))
    columns = [
        ColumnSchema(f"c{at}", "number", "", "", words_array([]), 0.0, 300, "", "", -3.0, 3.0, False, 0.0)
        for at in range(50)
    ]
    target = TargetSchema("y", "regression", "", "", words_array([]), False, "", -9.0, 9.0, "number")
    found = importances(Slow(clock), X, 2 * X[:, -1], columns, target, clock=Clock(5.0, lambda: clock[0]), seed=0)
    assert found[0].name == "c49"
    assert len(found) == _judge.ALWAYS_SHUFFLED  # these in any case, and no more than time allows
    assert found[0].lower > 0
    assert all(one.rise == 0 for one in found[1:])
