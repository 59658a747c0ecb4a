"""A neural network with and without a hidden layer.

No line separates the two half moons. The same classifier without and with a hidden layer, and the objective over the
epochs.
"""

import matplotlib.pyplot as plt

import qed
from qed.datasets import make_moons
from qed.inspection import DecisionBoundaryDisplay, LossCurveDisplay
from qed.neural_network import MLPClassifier


def main():
    """Fit both, draw their boundaries and the objective of the second."""
    X, y = make_moons(120, noise=0.2, random_state=0)
    settings = {"activation": "tanh", "learning_rate_init": 0.02, "max_iter": 300, "random_state": 0}
    models = {"no hidden layer": MLPClassifier((), **settings), "one of 16 units": MLPClassifier((16,), **settings)}
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
    for ax, (name, model) in zip(axes, models.items(), strict=False):
        model.fit(X, y)
        DecisionBoundaryDisplay.from_estimator(
            model, X, ax=ax, grid_resolution=60, response_method="predict", alpha=0.25
        )
        ax.scatter(*X.T, c=["#2e8b57" if one else "#2f6db3" for one in y], s=10)
        ax.set_title(f"{name}: {model.score(X, y):.0%} right", fontsize=11)
        LossCurveDisplay.from_estimator(model, name=name, ax=axes[2])
        print(f"{name}: {model.certificate_.statement}")
        assert qed.verify(model, X, y).holds  # noqa: S101
    return figure
