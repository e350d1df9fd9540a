"""Builds the distribution `carlite` from harness/carlite (decision 0095).

The sources stay where Crucible imports them. pip calls the last two functions (PEP 517). They copy
the package to a temporary folder, rename it in the text, and let setuptools build that folder. A
source archive has the renamed package and is built by setuptools alone.
"""

from __future__ import annotations

import ast
import contextlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from setuptools import build_meta

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parent
CHECKOUT = PACKAGE.parents[1]
LEFT_OUT = shutil.ignore_patterns(HERE.name, "__pycache__", ".*")
OLD_NAME = re.compile(r"\bharness\.carlite\b")
KNOWN = {"carlite", "msgpack", "numba", "numpy", "pytest", *sys.stdlib_module_names}
"""What the package may import. pytest is imported by the plug-in of pytest alone."""
OUR_BACKEND = 'build-backend = "backend"\nbackend-path = ["."]\n'
PLAIN_BACKEND = 'build-backend = "setuptools.build_meta"\n'


def get_requires_for_build_wheel(config_settings: dict[str, Any] | None = None) -> list[str]:
    """Name nothing besides what pyproject.toml does."""
    return []


def get_requires_for_build_sdist(config_settings: dict[str, Any] | None = None) -> list[str]:
    """Name nothing besides what pyproject.toml does."""
    return []


def stage_sources(folder: Path) -> None:
    """Write an ordinary project of the package `carlite` to an empty folder."""
    package = folder / "carlite"
    shutil.copytree(PACKAGE, package, ignore=LEFT_OUT)
    for file in package.rglob("*.py"):
        text = OLD_NAME.sub("carlite", file.read_text("utf-8"))
        file.write_text(text, "utf-8")
        check_imports(str(file.relative_to(folder)), text)
    (package / "py.typed").touch()
    shutil.copy(CHECKOUT / "LICENSE", folder)
    shutil.copy(HERE / "README.md", folder)
    project = (HERE / "pyproject.toml").read_text("utf-8")
    if OUR_BACKEND not in project:
        raise RuntimeError("pyproject.toml: the lines of the build backend are not as expected")
    (folder / "pyproject.toml").write_text(project.replace(OUR_BACKEND, PLAIN_BACKEND), "utf-8")


def check_imports(name: str, text: str) -> None:
    """Refuse a module that imports what the distribution does not have."""
    for node in ast.walk(ast.parse(text)):
        imported = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            imported = [node.module or ""]
        for module in imported:
            if module.partition(".")[0] not in KNOWN:
                raise RuntimeError(f"{name} imports {module}, which carlite does not have")


@contextlib.contextmanager
def staged() -> Iterator[None]:
    """Work in a folder with the renamed sources while the block lasts."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="carlite-build-") as folder:
        stage_sources(Path(folder))
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def build_wheel(
    wheel_directory: str,
    config_settings: dict[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Build the wheel; return its name."""
    target = str(Path(wheel_directory).resolve())
    with staged():
        return str(build_meta.build_wheel(target, config_settings))


def build_sdist(sdist_directory: str, config_settings: dict[str, Any] | None = None) -> str:
    """Build a source archive; return its name."""
    target = str(Path(sdist_directory).resolve())
    with staged():
        return str(build_meta.build_sdist(target, config_settings))
