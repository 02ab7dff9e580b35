"""Whether the same submission gets the same verdicts, round after round, on a machine that is busy."""
