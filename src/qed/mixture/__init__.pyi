from qed.mixture._gaussian import GaussianMixture as GaussianMixture
