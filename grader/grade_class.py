"""Grades the evening's hand-ins of a class, from what was downloaded to the gradebook."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from grader.batch import ClassRun, Finished, bearable
from grader.check import Grader
from grader.course import Course
from grader.intake.attempts import HandIn
from grader.intake.errors import shown
from grader.intake.hand_ins import Found, find_hand_ins
from grader.intake.naming import Naming
from grader.options import Options, UsageError, replay_command
from grader.platforms import Platforms
from grader.report.audience import Audience
from grader.report.files import write_text
from grader.report.formats import rendered
from grader.report.gradebook import gradebook
from grader.report.index import render_index
from grader.report.schema import Report
from grader.results import Results, Stored, hash_of_points, hashes_of_asked
from grader.roster import Roster
from grader.rows import ClassRows, check_heading
from grader.rubric import Rubric
from grader.scratch import scratch
from grader.wanted import MADE_ALWAYS, Wanted, check_for_class


@dataclass(frozen=True)
class ClassOptions:
    """How to grade a class. ``jobs`` submissions at once (0: what the machine bears); ``seed`` is the class's
    master seed (None: the one of the results that are there, or a new one); ``force`` grades all again;
    ``wanted`` are formats to write for each student, as ``audience`` may see them; ``platforms`` has the
    files of learning platforms that are to be filled in."""

    out: Path
    jobs: int = 0
    seed: int | None = None
    force: bool = False
    roster: Roster | None = None
    wanted: Sequence[Wanted] = ()
    audience: Audience = "instructor"
    platforms: Platforms | None = None


@dataclass(frozen=True)
class Watcher:
    """Called as the class goes on: ``planned`` with what was found and how many are graded at once."""

    planned: Callable[[Found, int], None] = lambda found, at_once: None
    finished: Callable[[Finished], None] = lambda one: None


@dataclass(frozen=True)
class ClassGraded:
    """``not_submitted`` of the roster handed nothing in; ``not_in_roster`` did, and are not found there.
    ``told`` are sentences about the platforms' files."""

    finished: Sequence[Finished]
    not_submitted: int
    not_in_roster: Sequence[str]
    told: Sequence[str] = ()


def grade_class(
    paths: Sequence[Path],
    course: Course,
    rubric: Rubric,
    options: Options,
    of_class: ClassOptions,
    watcher: Watcher,
) -> ClassGraded:
    """Grade every hand-in in ``paths``: write ``report.json``, ``report.html`` and what is wanted for each,
    and for all of them ``gradebook.csv`` and ``index.html``.

    Raises `grader.intake.IntakeError` when there are none, `UsageError`, `grader.rubric_errors.RubricError`,
    `grader.roster.RosterError`, `grader.run.sandbox.SandboxError`, and OSError when the results cannot be
    written.
    """
    if options.only:
        raise UsageError(
            "--only asks one submission; a class is asked everything (leave out --only or --out)."
        )
    check_for_class(of_class.wanted, of_class.audience)
    _keep_apart(of_class.out, paths)
    of_class.out.mkdir(parents=True, exist_ok=True)
    with _alone_in(of_class.out), scratch() as unpacked:
        naming = Naming(rubric.class_.names)
        found = find_hand_ins(paths, (f"{rubric.lab}.py",), naming, unpacked / "class")
        if of_class.roster:
            check_heading(of_class.roster, found.hand_ins)
        return _graded(found, course, rubric, options, of_class, watcher)


def _graded(
    found: Found, course: Course, rubric: Rubric, options: Options, of_class: ClassOptions, watcher: Watcher
) -> ClassGraded:
    results = Results(of_class.out)
    if of_class.seed is not None:
        results.set_seed(of_class.seed)
    options = replace(options, seed=results.seed(options.seed))
    jobs = of_class.jobs or bearable()
    watcher.planned(found, jobs)
    rows = ClassRows(found.hand_ins, results, rubric, of_class.roster)
    with Grader(course, rubric, options) as grader:
        run = ClassRun(
            lambda hand_in, only: _report(grader, hand_in, only, options),
            results,
            hashes_of_asked(
                course, rubric, (options.seed, options.device, options.launcher, options.sandbox)
            ),
            rubric.worth,
            hash_of_points(rubric),
            of_class.force,
            grader.give_up,
            lambda stored: _write_wanted(results, stored, of_class),
        )
        told: Sequence[str] = ()
        try:
            finished = run.run(found.hand_ins, jobs, watcher.finished)
        finally:
            columns = of_class.roster.columns if of_class.roster else ()
            students, exercises = tuple(rows.all(run.done)), tuple(rubric.worth)
            write_text(results.folder / "gradebook.csv", gradebook(students, exercises, columns))
            write_text(results.folder / "index.html", render_index(students, exercises, rubric.title))
            if of_class.platforms is not None:
                told = of_class.platforms.write(results.folder, students, Naming(rubric.class_.names))
    return ClassGraded(finished, rows.not_submitted, rows.not_in_roster, told)


def _write_wanted(results: Results, stored: Stored, of_class: ClassOptions) -> None:
    if isinstance(stored.outcome, Report):
        for one in of_class.wanted:
            name = one.made.file_in_class(of_class.audience)
            if name not in MADE_ALWAYS:
                text = rendered(stored.outcome, one.made, of_class.audience)
                results.write_beside(stored.student, name, text)


def _keep_apart(out: Path, paths: Sequence[Path]) -> None:
    """Raises `UsageError` where the results would be taken for hand-ins."""
    out = out.resolve()
    for path in (path.resolve() for path in paths if path.is_dir()):
        if out.is_relative_to(path):
            raise UsageError(
                f"--out {out} lies in {path}, where it would be taken for a hand-in: put it beside it."
            )


@contextmanager
def _alone_in(out: Path) -> Iterator[None]:
    """Raises `UsageError` while another run writes there; the kernel lets go of the lock with its process."""
    descriptor = os.open(out / ".lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise UsageError(f"Another run is writing to {out}: wait for it, or name another folder.") from error
    finally:
        os.close(descriptor)


def _report(grader: Grader, hand_in: HandIn, only: tuple[str, ...], options: Options) -> Report:
    report = grader.grade(hand_in.path, only=only).report
    name = report.submission.model_copy(update={"name": hand_in.student})
    # Where it lay while it was graded may be gone by now, and another run has it elsewhere.
    command = replay_command(Path(hand_in.file), options)
    return report.model_copy(update={"submission": name, "command": command})


def lines_of(finished: Finished) -> Iterator[str]:
    """One line for a hand-in that is done, and its sentences where it has some."""
    score = f"{finished.score:g} / {finished.max_score:g}" if finished.status != "error" else "-"
    how = f"{finished.seconds:.1f} s" if finished.how == "graded" else finished.how
    wrong = sorted({f"{name}: {code}" for name, code in finished.codes})
    told = "; ".join(wrong[:3]) + (f" and {len(wrong) - 3} more" if len(wrong) > 3 else "")
    student = shown(finished.student)
    yield f"{student:<30} {score:>11}  {finished.status:<8} {how:>9}  {told}".rstrip()
    for sentence in (finished.sentence, *finished.notes):
        if sentence:
            yield f"    {shown(sentence, 1000)}"
