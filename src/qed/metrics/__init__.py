"""Metrics: formulas over statistics that merge, with a confidence interval for every metric.

The names, arguments and answers are scikit-learn's. What is added: `Tally`, a score that merges with the score of other
rows, and `score_interval`, a score with an interval around it.

Map: `Confusion` (labels), `Ranking` (scores of two classes), `Sample` and `Largest` (errors by order) and
`qed.data.Moments` (mean losses) are the statistics; a function reads its arguments, computes the statistic and applies a
formula; `_recipes` lists which formula belongs to which statistic and what is known about its interval. Scorers turn a
score into what model selection asks for; displays draw, and load matplotlib when they do.
"""

from __future__ import annotations

from qed.core._exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
