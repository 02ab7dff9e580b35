"""Why a submission was not taken in, and how names from it are shown."""

from __future__ import annotations


class IntakeError(Exception):
    """The hand-in cannot be graded as it is: the fault lies in the file, not in the grader.

    The message is three sentences in one line: what was seen, what it means, what to do.
    """

    def __init__(self, seen: str, means: str, advice: str) -> None:
        super().__init__(f"{seen} {means} {advice}")
        self.seen = seen
        self.means = means
        self.advice = advice


def shown(name: str, longest: int = 120) -> str:
    """A name out of a submission as one printable line of at most ``longest`` characters."""
    printable = "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape", "surrogatepass").decode("ascii")
        for letter in name
    )
    return printable if len(printable) <= longest else printable[: longest - 1] + "…"
