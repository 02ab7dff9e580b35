"""The cases of an exercise, as they stand in a report."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from grader.exercises.contract import Exercise
from grader.judge.text import clean_line, clean_text
from grader.report.quoted import Sources, place
from grader.report.schema import (
    CaseRow,
    DifferenceRow,
    RankRow,
    SpanRow,
    TheoryRow,
    TimelineRow,
    WorkRow,
)

if TYPE_CHECKING:
    from grader.judge.record import Work
    from grader.judge.timeline import Span, Timeline
    from grader.judge.verdict import CaseVerdict  # imports torch, which a report does not need

_DETAIL = 2000


def case_rows(
    exercise: Exercise, verdicts: Sequence[CaseVerdict], sources: Sources
) -> Mapping[str, Sequence[CaseRow]]:
    """A row for each verdict, by check. Those of the first case and of the first that is not right have
    pictures: one of each kind is enough to see, and a class is kept in full."""
    rows: dict[str, list[CaseRow]] = defaultdict(list)
    wrong = [verdict for verdict in verdicts if verdict.status != "passed"]
    drawn = [*verdicts[:1], *wrong[:1]]
    for verdict in verdicts:
        row = _row(exercise, verdict, sources)
        if not any(verdict is one for one in drawn):
            row = row.model_copy(update={"differences": (), "timeline": ()})
        rows[verdict.case.check].append(row)
    return rows


def _row(exercise: Exercise, verdict: CaseVerdict, sources: Sources) -> CaseRow:
    case = verdict.case
    sent = {line.rank: line.bytes for line in verdict.timeline}
    theory = exercise.theory if verdict.work else None
    return CaseRow(
        seed=case.seed,
        world_size=case.world_size,
        sizes=dict(case.sizes),
        arguments=dict(case.arguments),
        status=verdict.status,
        detail=clean_text(verdict.detail, _DETAIL),
        whole_ranks=case.whole_ranks,
        rows=case.rows,
        noise=case.noise,
        ranks=tuple(RankRow.model_validate(rank, from_attributes=True) for rank in verdict.ranks),
        work=tuple(_work(rank, work, sent.get(rank, 0)) for rank, work in verdict.work),
        theory=tuple(
            TheoryRow(rank=rank, flops=due.flops, bytes=due.bytes)
            for rank, due in enumerate(theory(case, rank) for rank in range(case.world_size))
        )
        if theory
        else (),
        differences=tuple(
            DifferenceRow(rank=d.rank, name=clean_line(d.name, 100), shape=d.shape, grid=d.grid)
            for d in verdict.differences
        ),
        timeline=tuple(_timeline(line, sources) for line in verdict.timeline),
    )


def _work(rank: int, work: Work, sent: int) -> WorkRow:
    collectives = ((clean_line(made.name, 60), tuple(made.shape)) for made in work.collectives)
    return WorkRow(
        rank=rank,
        flops=work.flops,
        gradient_rows=tuple(work.gradient_rows),
        collectives=tuple(collectives),
        bytes=sent,
    )


def _timeline(line: Timeline, sources: Sources) -> TimelineRow:
    return TimelineRow(
        rank=line.rank,
        begin=line.begin,
        end=line.end,
        left_out=line.left_out,
        spans=tuple(_span(span, sources) for span in line.spans),
    )


def _span(span: Span, sources: Sources) -> SpanRow:
    file, line = place(sources, span.file, span.line)
    return SpanRow(
        name=clean_line(span.name, 60),
        begin=span.begin,
        end=span.end,
        peer=span.peer,
        bytes=span.bytes,
        file=clean_line(file or "", 200),
        line=line or 0,
    )
