from qed.mixture._bayesian import BayesianGaussianMixture as BayesianGaussianMixture
from qed.mixture._gaussian import GaussianMixture as GaussianMixture
from qed.mixture._likelihood import LikelihoodDecomposition as LikelihoodDecomposition
from qed.mixture._likelihood import MixtureLikelihood as MixtureLikelihood
from qed.mixture._likelihood import MixtureParameters as MixtureParameters
from qed.mixture._likelihood import decompose_likelihood as decompose_likelihood
from qed.mixture._likelihood import expected_log_likelihood as expected_log_likelihood
from qed.mixture._likelihood import mixture_parameters as mixture_parameters
