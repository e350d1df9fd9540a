"""Builds the wheel; pyproject.toml has everything else.

`conf` and `routes` are at the top of a checkout and in `crucible` in a wheel.
"""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

DATA = ("conf", "routes")


class BuildWithData(build_py):
    """Copies the packages of this checkout, without remains of an earlier build, and the data."""

    def run(self) -> None:
        """Copy; an editable installation reads both where they are."""
        if not self.editable_mode:
            shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()
        if not self.editable_mode:
            for folder in DATA:
                shutil.copytree(folder, Path(self.build_lib, "crucible", folder))


setup(cmdclass={"build_py": BuildWithData})
