"""Single trees whose thresholds are drawn."""

from __future__ import annotations

from typing import Annotated, Literal

from qed.core import Number, PositiveInt, param
from qed.tree._classifier import DecisionTreeClassifier
from qed.tree._regressor import DecisionTreeRegressor

Share = Annotated[float, Number(low=0, high=1, open_low=True)]


class ExtraTreeClassifier(DecisionTreeClassifier):
    r"""Extremely randomised classification tree: each split is the best of a few random thresholds.

    Objective
    ---------
    .. math:: \min_{j \in J} \; \frac{W_L}{W} I(L) + \frac{W_R}{W} I(R)

    at every node, over the columns J drawn there, each with one threshold drawn between its least and largest value at the node,
    where I is the Gini impurity or the entropy.

    Certificate
    -----------
    TreeCertificate: the mean impurity of the leaves, and how far it can be above that of any tree.

    Cost
    ----
    O(m n) for each level of the tree, with m columns looked at: nothing is sorted. 8 n p bytes, 4 n p where single precision
    holds all values. A prediction takes one comparison for each level.

    See Also
    --------
    qed.ensemble.ExtraTreesClassifier : Many such trees vote.

    Examples
    --------
    >>> from qed.tree import ExtraTreeClassifier
    >>> model = ExtraTreeClassifier(random_state=0).fit([[1.0], [2.0], [4.0]], ["cold", "cold", "warm"])
    >>> model.predict([[1.0], [4.0]]).tolist()
    ['cold', 'warm']
    """

    splitter: Literal["best", "random"] = param(
        "random",
        "Whether a column offers the best of its cuts, or one that is drawn between its least and largest value.",
    )
    max_features: Literal["sqrt", "log2"] | PositiveInt | Share | None = param(
        "sqrt",
        "Columns considered at each split, drawn at random: a number, a share, the square root or the logarithm of their number;"
        " None for all. Further ones are drawn while these hold a single value.",
    )


class ExtraTreeRegressor(DecisionTreeRegressor):
    r"""Extremely randomised regression tree: each split is the best of random thresholds.

    Objective
    ---------
    .. math:: \min_{j \in J} \; \frac{W_L}{W} I(L) + \frac{W_R}{W} I(R)

    at every node, over the columns J drawn there, each with one threshold drawn between its least and largest value at the node,
    where I is the mean squared error about the mean, the mean absolute error about the median, or half the mean Poisson deviance.

    Certificate
    -----------
    TreeCertificate: the mean impurity of the leaves, and how far it can be above that of any tree.

    Cost
    ----
    O(m n) for each level of the tree, with m columns looked at: nothing is sorted. 8 n p bytes, 4 n p where single precision
    holds all values. A prediction takes one comparison for each level.

    See Also
    --------
    qed.ensemble.ExtraTreesRegressor : The mean of many such trees.

    Examples
    --------
    >>> from qed.tree import ExtraTreeRegressor
    >>> model = ExtraTreeRegressor(random_state=0).fit([[1.0], [2.0], [4.0]], [0.0, 0.0, 3.0])
    >>> model.predict([[1.0], [4.0]]).tolist()
    [0.0, 3.0]
    """

    splitter: Literal["best", "random"] = param(
        "random",
        "Whether a column offers the best of its cuts, or one that is drawn between its least and largest value.",
    )
    max_features: Literal["sqrt", "log2"] | PositiveInt | Share | None = param(
        1.0,
        "Columns considered at each split, drawn at random: a number, a share, the square root or the logarithm of their number;"
        " None for all. Further ones are drawn while these hold a single value.",
    )
