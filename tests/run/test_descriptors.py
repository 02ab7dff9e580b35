from __future__ import annotations

import resource
import subprocess
import sys

import pytest

from tests.run.made import ROOT

TELL = """
import resource, sys
from grader.run import descriptors
soft, hard = map(int, sys.argv[1:])
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
descriptors.raise_own_limit()
print(*resource.getrlimit(resource.RLIMIT_NOFILE), descriptors.for_a_process_of_a_job())
"""


@pytest.mark.parametrize(
    ("hard", "of_a_job"), [(4096, 1024), (2048, 512), (800, 200)], ids=["many", "few", "fewer"]
)
def test_the_grader_takes_what_it_may_have_and_leaves_a_process_of_a_job_a_quarter_at_most(hard, of_a_job):
    if 0 <= resource.getrlimit(resource.RLIMIT_NOFILE)[1] < hard:
        pytest.skip("this machine allows fewer open files")
    command = [sys.executable, "-c", TELL, "256", str(hard)]
    result = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert [int(word) for word in result.stdout.split()] == [hard, hard, of_a_job]
