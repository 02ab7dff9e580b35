"""What 300 submissions ask of the grader itself: its memory, and the time of a run with nothing to run.

Every exercise is asked one case only, in one job for all, so that it takes minutes.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from grader.exercises.assignment4 import LAB
from tests.grading import COURSE

MANY = 300
FEW = 10


def measure() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as folder:
        course, hand_ins, out = (Path(folder, name) for name in ("course", "hand-ins", "out"))
        _write_course(course, worth=10)
        source = (COURSE.reference_dir / "assignment4.py").read_text("utf-8")
        hand_ins.mkdir()
        for number in range(MANY):
            (hand_ins / f"student{number:03d}.py").write_text(f"{source}\n# {number}\n", encoding="utf-8")
        command = [sys.executable, "-c", "from grader.cli import main; main()", "check", str(hand_ins)]
        command += ["--out", str(out), "--course", str(course)]
        seconds, memory = _run(command)
        again, _ = _run(command)
        _write_course(course, worth=20)
        rescored, _ = _run(command)
    print(f"\nA class of {MANY}, one case of each exercise")
    print(f"  graded                              {seconds:7.2f} s")
    print(f"  resident set of the grader          {memory[FEW]:5.0f} MiB after {FEW} of them")
    print(f"                                      {memory[MANY]:5.0f} MiB after {MANY}")
    print(f"  nothing to run                      {again:7.2f} s")
    print(f"  other points: scored anew           {rescored:7.2f} s")


def _run(command: list[str]) -> tuple[float, dict[int, float]]:
    """The wall time in seconds, and the resident set in MiB by the number of submissions that were done."""
    begun = time.monotonic()
    memory: dict[int, float] = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line)
            if re.match(r"student\d.* passed ", line):
                memory[len(memory) + 1] = psutil.Process(process.pid).memory_info().rss / (1 << 20)
    if process.returncode or len(memory) != MANY:
        sys.exit(f"{' '.join(command)} ended with status {process.returncode}:\n{''.join(lines)}")
    return time.monotonic() - begun, memory


def _write_course(course: Path, worth: int) -> None:
    """This course, with a rubric that asks one case of every exercise and gives ``worth`` points for it."""
    (course / "assignment").mkdir(parents=True, exist_ok=True)
    (course / "reference").mkdir(exist_ok=True)
    for file in (COURSE.staff_utils, COURSE.reference_dir / "assignment4.py"):
        (course / file.relative_to(COURSE.root)).write_bytes(file.read_bytes())
    rubric = [f'title = "One case"\nlab = "{LAB.name}"\ntolerance = 1e-5\n[baseline]\nworld_size = 4\n']
    rubric += [
        f"[exercises.{exercise.name}.points]\n{'script' if exercise.whole_file else 'baseline'} = {worth}\n"
        for exercise in LAB.exercises
    ]
    (course / "reference" / "rubric.toml").write_text("".join(rubric), encoding="utf-8")
