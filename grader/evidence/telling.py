"""What one run tells of the lab's parts, in sentences: what is missing, and what is as it should be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grader.evidence.claims import Claim, claims_of
from grader.evidence.code import Code
from grader.evidence.runs import Run
from grader.evidence.words import listed, part_of, ranks_in_words
from grader.exercises.contract import Exercise, Lab


@dataclass(frozen=True)
class Telling:
    """A run, held against what the handout's driver prints. ``missing`` pairs each exercise with the ranks
    whose comparison is not there, ``unfinished`` are the ranks without the last line."""

    run: Run
    lab: Lab
    claims: tuple[Claim, ...]
    missing: tuple[tuple[Exercise, tuple[int, ...]], ...]
    unfinished: tuple[int, ...]

    @property
    def says_anything(self) -> bool:
        return self.run.world_size is not None

    @property
    def is_whole(self) -> bool:
        return self.says_anything and not self.missing and not self.unfinished

    def facts(self) -> Iterator[str]:
        """Sentences, the weightiest first."""
        said = {claim.part for claim in self.claims}
        if absent := [part_of(exercise.title) for exercise, _ in self.missing if exercise.name not in said]:
            yield f"The log has no comparison of {listed(absent)}."
        for exercise, ranks in self.missing:
            if exercise.name in said:
                yield f"The log has no comparison of {part_of(exercise.title)} on {ranks_in_words(ranks)}."
        if self.unfinished:
            where = ranks_in_words(self.unfinished)
            yield f'The last line ("{self.lab.last_line}") is missing on {where}.'
        yield from self._of_claims()
        if self.run.world_size is not None:
            yield f"It is of a run on {self.run.world_size} rank{'s' * (self.run.world_size > 1)}."

    def _of_claims(self) -> Iterator[str]:
        titles = {exercise.name: exercise.title for exercise in self.lab.exercises}
        good = []
        for claim in self.claims:
            prefix = f'with the prefix "{claim.part}"' if claim.part else "without a prefix"
            part = part_of(titles[claim.part]) if claim.part in titles else f"comparisons {prefix}"
            if wrong := claim.unexpected:
                said = f'"Tensors match: {not claim.expected}" of {part} on {ranks_in_words(wrong)}'
                yield f"The log says {said}; it should be {claim.expected}."
            else:
                good.append(part)
        if good:
            yield f"What the log says of {listed(good)} is as it should be."


def told(run: Run, code: Code, lab: Lab) -> Telling:
    """``run``, held against the handout's driver; ``code`` is what was handed in with it."""
    claims = tuple(claims_of(run, lab, code.prefixes))
    said = {claim.part: {*claim.matching, *claim.not_matching} for claim in claims}
    ranks = range(run.world_size or 1)
    missing = (
        (exercise, tuple(rank for rank in _asked(exercise, ranks) if rank not in said.get(exercise.name, ())))
        for exercise in lab.exercises
    )
    # A driver that never prints the last line cannot be asked for it.
    has_end = lab.last_line and (not code.is_read or any(lab.last_line in text for text in code.texts))
    return Telling(
        run,
        lab,
        claims,
        tuple((exercise, without) for exercise, without in missing if without),
        tuple(rank for rank in ranks if has_end and rank not in run.finished),
    )


def _asked(exercise: Exercise, ranks: range) -> Sequence[int]:
    if exercise.printed is None:
        return ()
    return ranks if exercise.printed.ranks == "all" else ranks[:1]
