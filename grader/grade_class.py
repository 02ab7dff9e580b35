"""Grades the evening's hand-ins of a class, from what was downloaded to the gradebook."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from grader.batch import ClassRun, Finished, bearable, stored_results
from grader.check import Grader
from grader.course import Course
from grader.intake.hand_ins import HandIn, Naming, find_hand_ins
from grader.options import Options, UsageError, replay_command
from grader.report.files import write_text
from grader.report.gradebook import Row, gradebook
from grader.report.schema import Report
from grader.results import Refused, Results, Stored, hash_of_points, hashes_of_asked
from grader.roster import Roster
from grader.rubric import Rubric
from grader.scratch import scratch


@dataclass(frozen=True)
class ClassOptions:
    """How to grade a class. ``jobs`` submissions at once (0: what the machine bears); ``seed`` is the class's
    master seed (None: the one of the results that are there, or a new one); ``force`` grades all again."""

    out: Path
    jobs: int = 0
    seed: int | None = None
    force: bool = False
    roster: Roster | None = None


@dataclass(frozen=True)
class Watcher:
    """Called as the class goes on: ``planned`` with the number of hand-ins and of those graded at once."""

    planned: Callable[[int, int], None] = lambda hand_ins, at_once: None
    finished: Callable[[Finished], None] = lambda one: None


@dataclass(frozen=True)
class ClassGraded:
    """``not_submitted`` are the roster's students without a hand-in."""

    finished: Sequence[Finished]
    not_submitted: int


def grade_class(
    paths: Sequence[Path],
    course: Course,
    rubric: Rubric,
    options: Options,
    of_class: ClassOptions,
    watcher: Watcher,
) -> ClassGraded:
    """Grade every hand-in in ``paths`` and write ``report.json`` for each, and ``gradebook.csv``.

    Raises `grader.intake.IntakeError` when there are none, `UsageError`, `grader.rubric_errors.RubricError`,
    `grader.run.sandbox.SandboxError`, and OSError when the results cannot be written.
    """
    if options.only:
        raise UsageError(
            "--only asks one submission; a class is asked everything (leave out --only or --out)."
        )
    of_class.out.mkdir(parents=True, exist_ok=True)
    results = Results(of_class.out)
    if of_class.seed is not None:
        results.set_seed(of_class.seed)
    options = replace(options, seed=results.seed(options.seed))
    jobs = of_class.jobs or bearable()
    with scratch() as unpacked:
        naming = Naming(rubric.class_.names)
        hand_ins = find_hand_ins(paths, (f"{rubric.lab}.py",), naming, unpacked)
        watcher.planned(len(hand_ins), jobs)
        with Grader(course, rubric, options) as grader:
            run = ClassRun(
                lambda hand_in, only: _report(grader, hand_in, only, options),
                results,
                hashes_of_asked(
                    course, rubric, (options.seed, options.device, options.launcher, options.sandbox)
                ),
                {
                    name: {str(c): worth for c, worth in part.points.items()}
                    for name, part in rubric.exercises.items()
                },
                hash_of_points(rubric),
                of_class.force,
            )
            try:
                finished = run.run(hand_ins, jobs, watcher.finished)
            finally:
                missing = _write_gradebook(results, hand_ins, rubric, of_class.roster)
    return ClassGraded(finished, missing)


def _report(grader: Grader, hand_in: HandIn, only: tuple[str, ...], options: Options) -> Report:
    report = grader.grade(hand_in.path, only=only).report
    name = report.submission.model_copy(update={"name": hand_in.student})
    # Where it lay while it was graded may be gone by now, and another run has it elsewhere.
    command = replay_command(Path(hand_in.file), options)
    return report.model_copy(update={"submission": name, "command": command})


def _write_gradebook(
    results: Results, hand_ins: Sequence[HandIn], rubric: Rubric, roster: Roster | None
) -> int:
    """Write ``gradebook.csv`` and return how many of the roster handed nothing in."""
    names = tuple(rubric.exercises)
    stored = stored_results(results, (hand_in.student for hand_in in hand_ins))
    rows = [_row(one, rubric, roster) for one in stored]
    absent = _absent(hand_ins, rubric, roster)
    rows += absent
    write_text(results.folder / "gradebook.csv", gradebook(rows, names, roster.columns if roster else ()))
    return len(absent)


def _row(stored: Stored, rubric: Rubric, roster: Roster | None) -> Row:
    number = roster.row_of(stored.student) if roster else None
    cells = roster.rows[number] if roster and number is not None else ()
    if isinstance(stored.outcome, Refused):
        return Row(
            stored.student,
            f"nothing to grade: {stored.outcome.sentence}",
            0,
            rubric.max_score,
            dict.fromkeys(rubric.exercises, 0.0),
            stored.file,
            stored.basis.hand_in,
            stored.graded_at,
            cells,
        )
    report = stored.outcome
    return Row(
        stored.student,
        report.status,
        report.score,
        report.max_score,
        {part.name: part.score for part in report.exercises if part.max_score},
        stored.file,
        report.submission.sha256,
        stored.graded_at,
        cells,
    )


def _absent(hand_ins: Sequence[HandIn], rubric: Rubric, roster: Roster | None) -> list[Row]:
    if roster is None:
        return []
    there = {roster.row_of(hand_in.student) for hand_in in hand_ins}
    zeros = dict.fromkeys(rubric.exercises, 0.0)
    return [
        Row(row[0], "not submitted", 0, rubric.max_score, zeros, of_roster=row)
        for number, row in enumerate(roster.rows)
        if number not in there
    ]


def lines_of(finished: Finished) -> Iterator[str]:
    """One line for a hand-in that is done, and its sentence where it has one."""
    score = f"{finished.score:g} / {finished.max_score:g}" if finished.status != "error" else "-"
    how = f"{finished.seconds:.1f} s" if finished.how == "graded" else finished.how
    wrong = sorted({f"{name}: {code}" for name, code in finished.codes})
    told = "; ".join(wrong[:3]) + (f" and {len(wrong) - 3} more" if len(wrong) > 3 else "")
    yield f"{finished.student:<30} {score:>11}  {finished.status:<8} {how:>9}  {told}".rstrip()
    if finished.sentence:
        yield f"    {finished.sentence}"
