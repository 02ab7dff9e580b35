"""Benchmarks: figures are ratios of runs taken side by side. Run them with ``make bench``."""
