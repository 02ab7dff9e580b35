"""What the logs that were handed in say: facts for a reader, and never proof.

Anybody can write a log. No verdict and no point for right or wrong comes from here; a rubric may give points
for handing in the complete log of a run, whatever it says.
"""

from grader.evidence.claims import Claim
from grader.evidence.read import Evidence, read_evidence

__all__ = ["Claim", "Evidence", "read_evidence"]
