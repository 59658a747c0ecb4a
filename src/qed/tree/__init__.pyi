from qed.tree._classifier import DecisionTreeClassifier as DecisionTreeClassifier
from qed.tree._export_text import export_text as export_text
from qed.tree._plot import plot_tree as plot_tree
from qed.tree._prune import PruningPath as PruningPath
from qed.tree._regressor import DecisionTreeRegressor as DecisionTreeRegressor
from qed.tree._structure import DecisionTree as DecisionTree
