from qed.ensemble._stacking import StackingClassifier as StackingClassifier
from qed.ensemble._stacking import StackingRegressor as StackingRegressor
from qed.ensemble._voting import VotingClassifier as VotingClassifier
from qed.ensemble._voting import VotingRegressor as VotingRegressor
