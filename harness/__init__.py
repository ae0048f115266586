"""Size and power of significance tests that compare two classifiers."""

__version__ = "0.1.0"
