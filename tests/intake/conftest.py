from __future__ import annotations

from pathlib import Path

import pytest

from grader.intake import IntakeError, IntakeLimits, Submission, take_in

LAB_FILES = ("assignment4.py",)
USUAL = IntakeLimits()


class Intake:
    """Hands files in, one after another, each to a staging directory of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.count = 0
        self.staging = folder

    def __call__(self, name: str, data: bytes, limits: IntakeLimits = USUAL) -> Submission:
        self.count += 1
        place = self.folder / f"handed-in-{self.count}"
        place.mkdir()
        (place / name).write_bytes(data)
        return self.take(place / name, limits)

    def take(self, path: Path, limits: IntakeLimits = USUAL) -> Submission:
        self.count += 1
        self.staging = self.folder / f"staging-{self.count}"
        return take_in(path, self.staging, LAB_FILES, limits)

    def staged(self) -> dict[str, bytes]:
        files = (path for path in self.staging.rglob("*") if path.is_file())
        return {path.relative_to(self.staging).as_posix(): path.read_bytes() for path in files}

    def refused(self, name: str, data: bytes, limits: IntakeLimits = USUAL) -> str:
        with pytest.raises(IntakeError) as caught:
            self(name, data, limits)
        assert not self.staging.exists(), "a refused submission must leave nothing staged"
        message = str(caught.value)
        assert "\n" not in message and message.isprintable()
        assert all(
            part.endswith(".") for part in (caught.value.seen, caught.value.means, caught.value.advice)
        )
        return message


@pytest.fixture
def intake(tmp_path: Path) -> Intake:
    return Intake(tmp_path)
