from qed.decomposition._pca import PCA as PCA
