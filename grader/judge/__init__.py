"""From the files that the ranks left to verdicts and findings. Trusted: no student code runs here."""
