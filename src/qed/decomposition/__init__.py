"""Dimension reduction: principal components, factors, independent and nonnegative parts, kernels, projections, sparse codes.

One rule: **directions are found from the smaller of two square matrices**, the products of the columns or those of the rows, and
what is proved about them is proved from it.

::

    _pca, _incremental_pca   principal components       _truncated_svd       singular values, not centred
    _principal               what both of them share    _randomized_svd      the same as a function, with a bound
    _choose                  how many components        _solve               which matrix, and its leading pairs
    _rows                    centred, weighted rows     _krylov              leading pairs by a few products
    _learn                   from rows to a model       _proof               how much better other directions can be
    _kernel_pca              the same of a kernel       _random_projection   directions that follow from a seed
    _nmf, _mini_batch_nmf    nonnegative factors        _nonnegative         their starts and steps
    _factor_analysis         hidden normal variables    _latent              posteriors, densities, new rows
    _probabilistic_pca       with one noise for all     _fast_ica            sources that were mixed
    _sparse_encode           codes for a dictionary     _independent         their fixed-point steps
    _dictionary_learning     a dictionary for codes     _pls, _pls_svd       two tables that vary together
    _mini_batch_dictionary_learning, _sparse_coder      _two_tables          their pairs of directions
    _sparse_coding           codes of new rows          _dictionary          steps over codes and atoms
    _sparse_pca              few columns a component    _online_dictionary   the same from batches
    _matrix_completion       missing entries of a table of low rank
    _latent_dirichlet_allocation   topics of documents  _topics              their variational inference
"""

from __future__ import annotations

from qed.core._exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
