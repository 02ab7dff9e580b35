"""Whether the code handed in may have printed a log: what speaks against it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from grader.evidence.code import Code
from grader.evidence.runs import Run, spoken
from grader.evidence.trouble import Frame, frames_in
from grader.evidence.words import listed
from grader.judge.text import clean_line

_MOST_QUOTED = 3
_MOST_HELD = 200  # messages, against each text of the code
_OF_OTHERS = re.compile(r"All ranks (are here|ready)|Watchdog|NCCL|ProcessGroup|PG ID")
"""What is not printed by a student's file: by the staff's utils.py and the handout's, and by torch."""


def doubts_about(text: str, run: Run, code: Code) -> tuple[list[str], bool]:
    """Sentences on what this code would not have printed, and whether there was anything to look at."""
    frames = list(frames_in(text, code.lines))
    messages = list(dict.fromkeys(m for m in spoken(text) if m and not _OF_OTHERS.search(m)))
    was_checked = bool(frames) or (code.is_read and bool(messages or run.compared))
    doubts = _of_frames(frames, code) if frames else []
    if code.is_read:
        doubts = [*_of_comparisons(run, code), *_of_messages(messages, code), *doubts]
    return doubts, was_checked


def _of_comparisons(run: Run, code: Code) -> list[str]:
    unknown = [p for p in dict.fromkeys(c.prefix for c in run.compared) if not code.could_compare(p)]
    names = [f'with the prefix "{clean_line(p, 40)}"' if p else "without a prefix" for p in unknown]
    if not names:
        return []
    return [f"The log has comparisons {listed(names[:_MOST_QUOTED])}, and the code handed in makes none."]


def _of_messages(messages: list[str], code: Code) -> list[str]:
    unknown = [message for message in messages[:_MOST_HELD] if not code.could_say(message)]
    if not unknown:
        return []
    quoted = listed([f'"{clean_line(message, 60)}"' for message in unknown[:_MOST_QUOTED]])
    return [f"The log has {quoted}, and no such text is in the code handed in."]


def _of_frames(frames: Sequence[Frame], code: Code) -> list[str]:
    printed: dict[tuple[str, int], set[str]] = {}
    for frame in frames:
        printed.setdefault((frame.file, frame.line), set()).add(frame.code)
    doubts = []
    for (file, number), codes in printed.items():
        lines = code.lines[file]
        own = lines[number - 1].strip() if 0 < number <= len(lines) else None
        if own is None:
            doubts.append(f"A traceback names line {number} of {file}, which has {len(lines)} lines.")
        # Ranks write to one file: what follows may be another one's line.
        elif own not in codes and (seen := [c for c in codes if c and not c.startswith(("File ", "^", "~"))]):
            doubts.append(
                f'A traceback shows "{clean_line(min(seen), 60)}" as line {number} of {file}, where the file '
                f'handed in has "{clean_line(own, 60)}".'
            )
    return doubts[:_MOST_QUOTED]
