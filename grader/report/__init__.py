"""The report of one submission, and its renderers: each of them a pure function of the report."""
