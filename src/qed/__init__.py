"""qed: machine learning that shows its proof."""
from qed.core import __version__
