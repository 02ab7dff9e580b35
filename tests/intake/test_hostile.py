"""The hand-ins of `tests.corpus.hostile.archives`: each is taken cleanly or refused in a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.intake import IntakeError
from tests.corpus.hostile.archives import HANDED_IN
from tests.intake.conftest import Intake


def _files_below(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("what", HANDED_IN)
def test_a_hand_in_is_taken_cleanly_or_refused_in_a_sentence(intake: Intake, what: str) -> None:
    hand_in = HANDED_IN[what]
    if hand_in.taken:
        submission = intake(hand_in.name, hand_in.data())
        assert submission.files == hand_in.taken
        assert set(intake.staged()) == set(hand_in.taken)
        said = [*submission.notes, *(f"{name}: {reason}" for name, reason in submission.ignored)]
        assert not hand_in.words or any(hand_in.words in line for line in said)
    else:
        assert hand_in.words in intake.refused(hand_in.name, hand_in.data())
    written = _files_below(intake.folder) - {f"handed-in-1/{hand_in.name}"}
    assert all(name.startswith(f"{intake.staging.name}/") for name in written)


def test_a_folder_that_may_not_be_read_is_refused(intake: Intake, tmp_path: Path) -> None:
    # Root may read everything, so the file is one that cannot be opened at all.
    folder = tmp_path / "handed-in"
    folder.mkdir()
    (folder / "assignment4.py").symlink_to("assignment4.py")
    with pytest.raises(IntakeError, match="symbolic link"):
        intake.take(folder)
