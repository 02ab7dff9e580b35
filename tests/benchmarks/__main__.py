"""How long a right submission and a class take, against one bare 4-rank torchrun, and where the time goes.

Both are whole commands, run in turn on the same machine; the ratio is that of their medians.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from tests.benchmarks import of_a_class, of_three_hundred

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
ROUNDS = 3
BARE = """
import torch.distributed as dist
dist.init_process_group("gloo")
dist.barrier()
dist.destroy_process_group()
"""
SPANS = """
import json, sys, time
started = time.monotonic()
from pathlib import Path
from grader.check import Progress, check
from grader.course import find_course
from grader.options import Options
from grader.rubric import load_rubric
course = find_course(Path(sys.argv[1]))
graded = check(course.reference_dir / "assignment4.py", course, load_rubric(course.rubric_path),
               Options(seed=1), Progress())
spans = graded.timings.spans
spans.insert(0, ("start of the command", 0.0, graded.timings.started - started))
print(json.dumps({"spans": spans, "total": time.monotonic() - started, "score": graded.report.score}))
"""


def main() -> None:
    """Print the ratio and the breakdown."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        bare = Path(folder, "bare.py")
        bare.write_text(BARE)
        torchrun = [BIN / "torchrun", "--standalone", "--nproc_per_node", "4", bare]
        grade = [BIN / "grader", "check", ROOT / "reference" / "assignment4.py"]
        times: dict[str, list[float]] = defaultdict(list)
        for _ in range(ROUNDS):
            times["torchrun"].append(_seconds(torchrun, environment))
            times["grader"].append(_seconds(grade, environment))
    medians = {what: statistics.median(runs) for what, runs in times.items()}
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {ROUNDS} rounds in turn, medians")
    print(f"  bare torchrun, 4 ranks              {medians['torchrun']:6.2f} s   1.00 x")
    ratio = medians["grader"] / medians["torchrun"]
    print(f"  grader check, right, all exercises  {medians['grader']:6.2f} s   {ratio:4.2f} x")
    _print_spans(environment)
    of_a_class.measure(medians["torchrun"], lambda command: _seconds(command, environment))
    of_three_hundred.measure()


def _seconds(command: list[str | Path], environment: dict[str, str]) -> float:
    begun = time.monotonic()
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{command[0]} ended with status {done.returncode}:\n{done.stdout}{done.stderr}")
    return time.monotonic() - begun


def _print_spans(environment: dict[str, str]) -> None:
    command = [sys.executable, "-c", SPANS, str(ROOT)]
    output = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True)
    data = json.loads(output.stdout)
    comparison = sum(seconds for what, _, seconds in data["spans"] if what.startswith("comparison"))
    print(f"\nWhere the time goes (one more run, {data['total']:.2f} s; jobs overlap):")
    print("   begin  seconds")
    for what, begin, seconds in data["spans"]:
        if not what.startswith("comparison"):
            print(f"  {begin:6.2f}   {seconds:6.2f}  {what}")
    print(f"           {comparison:6.2f}  comparison and baselines, all cases")


if __name__ == "__main__":
    main()
