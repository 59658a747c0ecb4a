from qed.feature_selection._sequential import SequentialFeatureSelector as SequentialFeatureSelector
from qed.feature_selection._subsets import L1Selection as L1Selection
from qed.feature_selection._subsets import Selection as Selection
from qed.feature_selection._subsets import backward_elimination as backward_elimination
from qed.feature_selection._subsets import exhaustive_search as exhaustive_search
from qed.feature_selection._subsets import forward_selection as forward_selection
from qed.feature_selection._subsets import l1_selection as l1_selection
from qed.feature_selection._subsets import subset_score as subset_score
