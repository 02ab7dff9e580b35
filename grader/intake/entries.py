"""What every form of a submission looks like to the intake: named entries whose bytes can be asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from grader.intake.ends import Ends
from grader.intake.errors import IntakeError, shown
from grader.intake.limits import RATIO_FROM, IntakeLimits

REGULAR = "file"

OnBadName = Callable[[str, IntakeError], None]
"""Hears of a member's name that would land outside, and why; the member is left out."""


def raise_bad_name(name: str, error: IntakeError) -> None:
    """One such name condemns the archive."""
    raise error


@dataclass(frozen=True)
class Entry:
    """One member: ``parts`` are the checked pieces of its path, ``size`` what it claims to hold (bytes).

    ``kind`` is `REGULAR`, or words for what it is instead ("a symbolic link"). ``key`` finds it again in
    its source. ``when`` is its time stamp, in seconds since the epoch (0: unknown). Folders are no entries.
    """

    parts: tuple[str, ...]
    size: int
    kind: str = REGULAR
    key: int = 0
    when: float = 0.0

    @property
    def path(self) -> str:
        return "/".join(self.parts)


class Source(Protocol):
    """A submission that has been opened. Its methods raise `IntakeError` and no other error."""

    def entries(self) -> tuple[Entry, ...]:
        """Every file (not the folders), in the order in which the source has them."""
        ...

    def read(self, wanted: Sequence[Entry]) -> list[bytes]:
        """The contents of ``wanted``, each of exactly ``size`` bytes, in that order."""
        ...

    def ends(self, wanted: Sequence[Entry], most: int) -> list[Ends | None]:
        """The beginning and the end of each of ``wanted``, ``most`` bytes together, in that order; None of
        one that cannot be read, which spoils no other."""
        ...


def refuse_too_many(name: str, limits: IntakeLimits) -> IntakeError:
    """The error for more than ``limits.entries`` members."""
    return IntakeError(
        f"{shown(name)} holds more than {limits.entries} files and folders.",
        "That is no hand-in of a few Python files (a virtual environment or a data set may be in it).",
        "Hand in only your Python files and the log.",
    )


def check_unpacked(name: str, packed: int, unpacked: int, limits: IntakeLimits) -> None:
    """Raises `IntakeError` when ``unpacked`` bytes are more than the limits allow for ``packed`` bytes."""
    if unpacked > limits.total_bytes:
        raise IntakeError(
            f"{shown(name)} unpacks to more than {limits.total_mb} MB.",
            "The grader does not unpack that much for one submission.",
            "Leave data, models and environments out, and hand in only your Python files and the log.",
        )
    if unpacked > RATIO_FROM and unpacked > limits.ratio * packed:
        raise IntakeError(
            f"{shown(name)} unpacks to more than {limits.ratio} times its own size.",
            "Archives made to fill a disk look like that, so it was not unpacked.",
            "Leave generated data out, and hand in only your Python files and the log.",
        )


@contextmanager
def reading(name: str, what: str) -> Iterator[None]:
    """Turns whatever a parser raises over hostile bytes into an `IntakeError`.

    The archive modules raise a dozen unrelated types over damaged headers (struct.error, OverflowError,
    RecursionError, UnicodeError, …), so every ``Exception`` means the same here.
    """
    try:
        yield
    except IntakeError:
        raise
    except Exception as error:
        raise IntakeError(
            f"{shown(name)} begins like {what} but cannot be read to its end"
            f" ({shown(str(error) or type(error).__name__)}).",
            "It is damaged or was cut off while it was uploaded.",
            "Make the archive again, open it once to see that it works, and hand it in anew.",
        ) from error
