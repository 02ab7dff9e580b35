"""From whatever was handed in to a folder of plain Python files.

Nothing of a submission is executed or unpacked here: members are read as bytes, within limits, and only
those that are needed to run are written again, under names that this package has checked.
"""

from grader.intake.errors import IntakeError
from grader.intake.limits import IntakeLimits
from grader.intake.submission import Submission, take_in

__all__ = ["IntakeError", "IntakeLimits", "Submission", "take_in"]
