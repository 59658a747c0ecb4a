from qed.neural_network._mlp_classifier import MLPClassifier as MLPClassifier
from qed.neural_network._mlp_regressor import MLPRegressor as MLPRegressor
