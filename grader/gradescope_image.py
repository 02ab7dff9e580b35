"""The zip from which Gradescope builds its image: ``python -m grader.gradescope_image OUT.zip``."""

from __future__ import annotations

import argparse
import secrets
import zipfile
from collections.abc import Iterator
from pathlib import Path

from grader.course import Course, CourseError, find_course

_SCRIPTS = ("setup.sh", "run_autograder")
_SOURCES = ("pyproject.toml", "setup.py", "README.md", "LICENSE", "constraints.txt")
_FOLDERS = ("grader", "templates", "slurm", "assignment", "reference")
_LEFT_OUT = {"__pycache__", ".mypy_cache", ".ruff_cache"}
_WHEN = (1980, 1, 1, 0, 0, 0)  # the same course makes the same zip


def write_image(course: Course, out: Path, seed: int, torch_index: str = "") -> None:
    """Write the zip: Gradescope's two scripts at its top, the grader's sources, and the course.

    ``seed`` is the master seed by which the whole class is asked; ``torch_index`` is the address of a package
    index with torch for the CPU ("": torch comes from where everything else does). Raises OSError.
    """
    texts = {"seed": f"{seed}\n"} | ({"torch-index": f"{torch_index}\n"} if torch_index else {})
    out.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in _SCRIPTS:
            _add(archive, name, (course.root / "templates" / "gradescope" / name).read_bytes(), 0o755)
        for path in _files(course.root):
            _add(archive, path.relative_to(course.root).as_posix(), path.read_bytes(), 0o644)
        for name, text in texts.items():
            _add(archive, name, text.encode(), 0o644)


def _files(root: Path) -> Iterator[Path]:
    yield from (root / name for name in _SOURCES)
    for folder in _FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            parts = path.relative_to(root).parts
            if path.is_file() and not _LEFT_OUT & {*parts} and parts[:2] != ("templates", "gradescope"):
                yield path


def _add(archive: zipfile.ZipFile, name: str, content: bytes, mode: int) -> None:
    member = zipfile.ZipInfo(name, _WHEN)
    member.compress_type, member.create_system = zipfile.ZIP_DEFLATED, 3  # Unix: the mode is kept
    member.external_attr = (0o100000 | mode) << 16
    archive.writestr(member, content)


def main() -> None:
    """The command: writes the zip, and says what to keep."""
    parser = argparse.ArgumentParser(prog="python -m grader.gradescope_image", description=__doc__)
    parser.add_argument("out", type=Path, help="the zip to write")
    parser.add_argument("--seed", type=int, help="master seed of the hidden cases (default: a new one)")
    parser.add_argument("--torch-index", default="", help="package index with torch for the CPU")
    parser.add_argument("--course", type=Path, help="the course folder (default: found upwards from here)")
    asked = parser.parse_args()
    seed: int = secrets.randbelow(2**31) if asked.seed is None else asked.seed
    if seed < 0:
        parser.error("--seed is 0 or more")
    try:
        write_image(find_course(Path.cwd(), asked.course), asked.out, seed, asked.torch_index)
    except (CourseError, OSError) as error:
        parser.exit(2, f"grader: {error}\n")
    print(
        f"{asked.out} is to be uploaded under Configure Autograder. Its hidden cases are those of seed "
        f"{seed}: make gradescope SEED={seed} asks the same again."
    )


if __name__ == "__main__":
    main()
