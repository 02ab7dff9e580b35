"""Runs jobs: the trusted side starts the sandbox (`sandbox`, `session`), the rest lives inside it.

Everything in this package is readable by student code, so nothing here may be secret.
"""
