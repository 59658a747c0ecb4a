"""What columns contribute to predictions.

Boosting on the progression of diabetes. On the left a dot for each patient and column: its place is the contribution, its colour
the value of the column. In the middle one patient, from the base value to the prediction. On the right the contribution of the
body mass index along its values, coloured by another column.
"""

import matplotlib.pyplot as plt

from qed.datasets import load_diabetes
from qed.ensemble import HistGradientBoostingRegressor
from qed.inspection import BeeswarmDisplay, DependenceDisplay, WaterfallDisplay, explain


def main():
    """Explain and draw."""
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = HistGradientBoostingRegressor(max_iter=60, learning_rate=0.08, random_state=0).fit(X, y)
    found = explain(model, X)
    figure, panels = plt.subplots(1, 3, figsize=(13, 3.8), layout="constrained", width_ratios=[1.2, 1, 1])
    BeeswarmDisplay(found, max_display=8).plot(panels[0])
    WaterfallDisplay(found, row=3, max_display=7).plot(panels[1])
    DependenceDisplay(found, feature="bmi", colour_by="s5").plot(panels[2])
    return figure
