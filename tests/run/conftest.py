from __future__ import annotations

import pytest

from tests.run.made import runs_in


@pytest.fixture(scope="module")
def jail():
    """Runs submissions in the sandbox; torch is imported once for a module."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("OF_THE_HOST", "secret")
        with runs_in("bubblewrap") as runs:
            yield runs
