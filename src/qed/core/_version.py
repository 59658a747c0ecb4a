"""The version, stated once for the package; a test holds pyproject.toml to it."""

__version__ = "0.1.0"
