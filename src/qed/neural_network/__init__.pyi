from qed.neural_network._mlp_classifier import MLPClassifier as MLPClassifier
from qed.neural_network._mlp_regressor import MLPRegressor as MLPRegressor
from qed.neural_network._summary import LayerSummary as LayerSummary
from qed.neural_network._summary import NetworkSummary as NetworkSummary
