"""Three ways to fill missing values, on patients.

Ten measurements of 442 patients, of which a growing share is hidden at random. The mean of a column knows nothing of the other
columns; nearest neighbours and chained regressions do. Vertical axis: root mean square error of the filled entries, in standard
deviations of their columns. Every regression inside the last one is certified, and `qed.verify` takes its rounds again.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

import qed
from qed.datasets import load_diabetes
from qed.preprocessing import IterativeImputer, KNNImputer, SimpleImputer, StandardScaler

SHARES = (0.05, 0.1, 0.2, 0.3, 0.4)


def main():
    """Hide, fill, compare."""
    X = StandardScaler().fit_transform(load_diabetes().data)
    ways = {
        "mean of the column": SimpleImputer(),
        "five nearest patients": KNNImputer(),
        "chained regressions": IterativeImputer(max_iter=5, random_state=0),
    }
    errors = {name: [] for name in ways}
    for share in SHARES:
        hidden = np.random.default_rng(1).random(X.shape) < share
        holes = np.where(hidden, np.nan, X)
        for name, imputer in ways.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # five rounds need not settle every digit
                filled = imputer.fit_transform(holes)
            errors[name].append(np.sqrt(np.mean((filled - X)[hidden] ** 2)))
    print(qed.verify(ways["chained regressions"], holes).statement)
    figure, axes = plt.subplots(figsize=(7, 4.2))
    for (name, values), colour in zip(errors.items(), ("#777777", "#2f6db3", "#c9641b"), strict=True):
        axes.plot(np.array(SHARES) * 100, values, marker="o", color=colour, label=name)
    axes.set(xlabel="hidden entries, %", ylabel="error, standard deviations", ylim=(0, None))
    axes.legend(frameon=False)
    return figure
