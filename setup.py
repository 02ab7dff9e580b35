"""What pyproject.toml cannot say: folders of the repository's top that a wheel carries inside the package."""

from __future__ import annotations

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

SHIPPED = ("templates", "slurm")


class BuildWithFiles(build_py):
    """Copies them to where ``grader.shipped`` looks; an editable install finds them where they are."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        for folder in SHIPPED:
            target = Path(self.build_lib, "grader", "shipped_files", folder)
            shutil.rmtree(target, ignore_errors=True)  # an earlier build's
            shutil.copytree(folder, target)


setup(cmdclass={"build_py": BuildWithFiles})
