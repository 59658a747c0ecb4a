from qed.decomposition._incremental_pca import IncrementalPCA as IncrementalPCA
from qed.decomposition._mini_batch_nmf import MiniBatchNMF as MiniBatchNMF
from qed.decomposition._nmf import NMF as NMF
from qed.decomposition._pca import PCA as PCA
from qed.decomposition._randomized_svd import LowRank as LowRank
from qed.decomposition._randomized_svd import randomized_svd as randomized_svd
from qed.decomposition._truncated_svd import TruncatedSVD as TruncatedSVD
