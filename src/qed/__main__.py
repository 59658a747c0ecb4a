"""``python -m qed`` is the command ``qed``."""

import sys

from qed.cli import main

if __name__ == "__main__":
    sys.exit(main())
