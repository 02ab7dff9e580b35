"""Who reads a report: an instructor, or the student, who is not to learn what the hidden cases are.

Hidden is every case of the check `hidden`, and every other whose seed, sizes or arguments are not the
handout's. The handout's are those of the check `baseline` (or `script`), which is asked nothing else; a
report without such a check has hidden cases only. What stays of a hidden case is its world size, its status
and which ranks were right: not by how much, for a program can return a weight whose difference is a number
that it wants to know. Texts from hidden cases lose their numbers by the rule of `grader.report.masked`, which
looks at no value and so holds for every message, those that nobody has written yet included.

Not touched are texts from the handout's cases, and what was handed in: nothing hidden is in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Literal

from grader.report.masked import Allowed, masked
from grader.report.quoted import AROUND
from grader.report.schema import (
    CaseRow,
    CheckPart,
    ExercisePart,
    FindingRow,
    OutputRow,
    RankRow,
    Report,
)

Audience = Literal["student", "instructor"]

_ALWAYS_HIDDEN = "hidden"
_HANDOUT = ("baseline", "script")


def for_audience(report: Report, audience: Audience) -> Report:
    """The report as it may be shown: to an instructor as it is, to a student without what gives hidden cases
    away, without the master seed and without the command that replays it. Doing it twice changes nothing."""
    if audience == "instructor":
        return report
    staged = frozenset(report.submission.files)
    usual = [
        case
        for part in report.exercises
        for check in part.checks
        if check.name in _HANDOUT
        for case in check.cases
        if case.seed is not None
    ]
    return report.model_copy(
        update={
            "seed": None,
            "command": "",
            "exercises": tuple(_exercise(part, usual, staged) for part in report.exercises),
            "notes": tuple(masked(note, Allowed(names=_names(report))) for note in report.notes),
        }
    )


def _names(report: Report) -> tuple[str, ...]:
    """Names that the student gave to files, whole and without their folders: for notes, in which no program
    has a say. In the texts of one they would be words to choose from."""
    paths = [*report.submission.files, *(file.name for file in report.submission.ignored)]
    names = [report.submission.name, *paths, *(PurePosixPath(path).name for path in paths)]
    return tuple(dict.fromkeys(names))


def _exercise(part: ExercisePart, usual: Sequence[CaseRow], staged: frozenset[str]) -> ExercisePart:
    own = [case for check in part.checks if check.name in _HANDOUT for case in check.cases]
    usual = own or usual
    hidden = {check.name: [_is_hidden(case, check, usual) for case in check.cases] for check in part.checks}
    allowed = _allowed(part)
    return part.model_copy(
        update={
            "checks": tuple(_check(check, hidden[check.name], allowed) for check in part.checks),
            "findings": tuple(
                _finding(finding, allowed, staged) if _tells(finding.check, part, hidden) else finding
                for finding in part.findings
            ),
            "output": tuple(row for row in part.output if not _printed_in_hidden(row, hidden)),
        }
    )


def _is_hidden(case: CaseRow, check: CheckPart, usual: Sequence[CaseRow]) -> bool:
    if check.name == _ALWAYS_HIDDEN:
        return True
    return not any(
        (case.seed, case.sizes, case.arguments) == (other.seed, other.sizes, other.arguments)
        for other in usual
    )


def _tells(check: str, part: ExercisePart, hidden: dict[str, list[bool]]) -> bool:
    """Whether a finding of ``check`` may come from a hidden case: one of them did not pass, or the report
    does not say which cases there were."""
    cases = next((other.cases for other in part.checks if other.name == check), ())
    if not cases:
        return True
    return any(unseen and case.status != "passed" for case, unseen in zip(cases, hidden[check], strict=True))


def _printed_in_hidden(row: OutputRow, hidden: dict[str, list[bool]]) -> bool:
    """Also where another case, perhaps a hidden one, ran in the same process."""
    own = hidden.get(row.check, [])
    if row.case is not None and row.case < len(own):
        return own[row.case]
    return not hidden or any(unseen for cases in hidden.values() for unseen in cases)


def _allowed(part: ExercisePart) -> Allowed:
    world_sizes = {case.world_size for check in part.checks for case in check.cases}
    return Allowed(
        ranks=range(max(world_sizes, default=0)),
        lines={finding.line for finding in part.findings if finding.line is not None},
        world_sizes=world_sizes,
    )


def _check(check: CheckPart, hidden: Sequence[bool], allowed: Allowed) -> CheckPart:
    """Of the handout's cases only the whole file is run behind hidden ones in one process, for it may well
    take the process group down: its program may know them, and choose where and when it communicates. One
    that did not pass was asked again by itself."""
    cases = (
        _case(case, allowed) if unseen else case for case, unseen in zip(check.cases, hidden, strict=True)
    )
    if check.name == "script":
        cases = (_without_its_say(case) if case.status == "passed" else case for case in cases)
    return check.model_copy(update={"cases": tuple(cases)})


def _without_its_say(case: CaseRow) -> CaseRow:
    """Without times and places of what it communicated, and without differences, which are numbers of its
    choice below the tolerance."""
    ranks = (row.model_copy(update={"max_diff": None, "mean_diff": None}) for row in case.ranks)
    return case.model_copy(update={"timeline": (), "ranks": tuple(ranks)})


def _case(case: CaseRow, allowed: Allowed) -> CaseRow:
    """Made anew, so that a field which the schema gets one day is left out until somebody thinks of it."""
    return CaseRow(
        seed=None,
        world_size=case.world_size,
        sizes={},
        status=case.status,
        detail=masked(case.detail, allowed),
        ranks=tuple(
            RankRow(rank=row.rank, status=row.status, match=row.match, max_diff=None, mean_diff=None)
            for row in case.ranks
        ),
    )


def _finding(finding: FindingRow, allowed: Allowed, staged: frozenset[str]) -> FindingRow:
    """A place stays where it is in a file that was handed in, and so do the lines around it: they tell
    nothing more. Other lines are quoted because the message names them, and there the program has a say."""
    file = finding.file if finding.file in staged else None
    line = finding.line if file is not None else None
    near = () if line is None else range(line - AROUND, line + AROUND + 1)
    return FindingRow(
        code=finding.code,
        message=masked(finding.message, allowed),
        check=finding.check,
        ranks=finding.ranks,
        file=file,
        line=line,
        source=tuple((number, text) for number, text in finding.source if number in near),
    )
