"""A graded assignment harness for distributed PyTorch."""

__version__ = "0.1.0"
