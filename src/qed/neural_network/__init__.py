"""Neural networks: multilayer perceptrons, trained with PyTorch and used without it.

One rule: **PyTorch is loaded by a fit and by nothing else.** Importing this package, making models, loading files and predicting
need NumPy alone; ``pip install "qed[neural]"`` brings what fits need.

::

    _mlp_classifier, _mlp_regressor   the models           _network     what they share: parameters, storing
    _layout                           one vector of all weights, and what they are at first
    _units, _heads                    activations; outputs with their losses
    _gradients                        backpropagation, in blocks of rows
    _steps, _course                   rules of steps; passes over the rows
    _prove                            the certificate      _forward     predictions, in NumPy
    _torch                            the interface to PyTorch  _summary  layers and parameters, counted
"""

from __future__ import annotations

from qed.core._exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
