"""The golden scripts: ``python -m tests.clusters.golden`` writes them anew, with slurm/run.sbatch."""

from __future__ import annotations

from pathlib import Path

from grader.clusters.choose import choose_settings
from grader.clusters.load import load_profile, profile_paths
from grader.clusters.render import render

ROOT = Path(__file__).parents[2]
GOLDEN = Path(__file__).parent / "golden"
COMMITTED = ROOT / "slurm" / "run.sbatch"
PROFILES = profile_paths(None)


def rendered(cluster: str, *given: str) -> str:
    """A cluster's script, with the profile's example for what it demands."""
    profile = load_profile(PROFILES[cluster])
    example = [f"{key}={value}" for key, value in profile.example.items()]
    return render(cluster, profile, choose_settings(profile, [*example, *given], ROOT))


def golden_path(cluster: str) -> Path:
    return GOLDEN / f"{cluster}.sbatch"


def main() -> None:
    GOLDEN.mkdir(exist_ok=True)
    for path in GOLDEN.glob("*.sbatch"):
        path.unlink()
    for cluster in PROFILES:
        golden_path(cluster).write_text(rendered(cluster), encoding="utf-8")
    COMMITTED.write_text(rendered("generic"), encoding="utf-8")


if __name__ == "__main__":
    main()
