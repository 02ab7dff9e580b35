"""Slurm clusters: their profiles, the job scripts that are rendered for them, and a lint of job scripts."""
