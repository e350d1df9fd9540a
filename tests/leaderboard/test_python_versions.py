"""The child of a leaderboard agent in Python 3.7 to 3.12: it runs, and its sources stay readable.

The interpreters are those of the machine. Without any, the sources are compared with the grammar of
Python 3.7 and with names of its standard library, which a Python 3.7 confirms where there is one.
"""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import ROOT
from tests.leaderboard.test_parts import PLACE, make_agent, make_observation, make_route, sense

VERSIONS = ("3.7", "3.8", "3.9", "3.10", "3.11", "3.12")
OLDEST = (3, 7)
SOURCES = sorted(
    file
    for child in ("agents/leaderboard/child", "agents/foreign/child")
    for file in (ROOT / child).glob("*.py")
)
"""What the agent's own Python reads of Crucible."""
OTHERS = ("numpy", "carla")
"""Packages of the agent's environment."""
NAMES_OF_3_7 = {
    "collections.abc": {"Callable"},
    "ctypes": {"CDLL"},
    "datetime": {"datetime"},
    "enum": {"Enum", "IntEnum"},
    "importlib": {"import_module"},
    "importlib.util": {"find_spec", "module_from_spec", "spec_from_file_location"},
    "inspect": {"getsourcefile", "getsourcelines", "signature"},
    "json": {"dumps", "loads"},
    "math": {"atan", "cos", "degrees", "exp", "log", "radians", "sin", "sqrt", "tan"},
    "os": {"__file__", "chdir", "dup", "dup2", "environ", "fdopen"},
    "pathlib": {"Path"},
    "random": {"seed"},
    "re": {"DOTALL", "search"},
    "signal": {"SIGKILL"},
    "socket": {"getaddrinfo", "socket"},
    "struct": {"Struct"},
    "sys": {"modules", "path", "platform", "stdin", "version"},
    "time": {"monotonic", "sleep"},
    "traceback": {"extract_tb", "print_exception"},
    "types": {"ModuleType"},
    "typing": {"Any", "IO"},
}
"""Modules of the standard library and what the child may take of them."""
LATER_METHODS = {"removeprefix", "removesuffix", "is_relative_to", "with_stem", "bit_count"}
"""Methods of texts, paths and numbers that came after Python 3.7."""
GENERIC_LATER = {"dict", "list", "set", "tuple", "type", "frozenset"}
"""Types that only annotations may give parameters: `list[int]` is an error when 3.7 runs it."""


def list_imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield each module that a file imports, with a name that it takes of it, or nothing."""
    modules = {
        alias.asname or alias.name: alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    for name in modules.values():
        yield name, ""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from ((str(node.module), alias.name) for alias in node.names)
        # module.name, also of a module in a package
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) in modules:
            whole = f"{ast.unparse(node.value)}.{node.attr}"
            if whole not in modules:
                yield modules[ast.unparse(node.value)], node.attr


def drop_annotations(tree: ast.Module) -> ast.Module:
    """Return a file's tree without what only type checkers read."""
    for node in ast.walk(tree):
        for part in ("annotation", "returns"):
            if getattr(node, part, None) is not None:
                setattr(node, part, ast.Constant(None))
    return tree


def find_problems(text: str) -> list[str]:
    """Return what Python 3.7 and its standard library would not read or run in a source."""
    tree = drop_annotations(ast.parse(text, feature_version=OLDEST))
    problems = [
        f"{module}.{name}".rstrip(".")
        for module, name in list_imports(tree)
        if module != "__future__"
        and module.partition(".")[0] not in OTHERS
        and (module not in NAMES_OF_3_7 or name not in {"", *NAMES_OF_3_7[module]})
    ]
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in LATER_METHODS:
            problems.append(f".{node.attr}()")
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) in GENERIC_LATER:
            problems.append(ast.unparse(node))
    return problems


@pytest.mark.parametrize("file", SOURCES, ids=lambda file: f"{file.parent.parent.name}-{file.stem}")
def test_a_source_of_the_child_needs_python_3_7_and_its_library_only(file: Path) -> None:
    assert find_problems(file.read_text()) == []


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("import tomllib", ["tomllib"]),
        ("from math import dist", ["math.dist"]),
        ("import math\nmath.dist((0,), (1,))", ["math.dist"]),
        ("import importlib.metadata as m\nm.version('a')", ["importlib.metadata"] * 2),
        ("import torch", ["torch"]),
        ("'a'.removeprefix('b')", [".removeprefix()"]),
        ("Names = dict[str, int]", ["dict[str, int]"]),
        ("def f(a: dict[str, int]) -> list[int]: ...", []),
        ("import numpy as np\nnp.zeros(3)", []),
    ],
)
def test_what_came_after_python_3_7_is_a_problem(text: str, problems: list[str]) -> None:
    problems_listed = find_problems(text)
    assert [one.replace(".version", "") for one in problems_listed] == problems


@pytest.mark.parametrize("text", ["(a := 1)", "def f(a, /): ...", "match a:\n    case 1: ..."])
def test_grammar_after_python_3_7_is_refused(text: str) -> None:
    with pytest.raises(SyntaxError):
        find_problems(text)


def find_python(version: str) -> str:
    """Return a working interpreter of a version: of pyenv, or on the path; skip without one."""
    installed = (Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python")
    for one in (*sorted(map(str, installed)), shutil.which(f"python{version}")):
        # a file of pyenv's on the path may stand for no version that is chosen
        if one and not subprocess.run([one, "-V"], check=False, capture_output=True).returncode:
            return one
    pytest.skip(f"there is no python{version} on this machine")


READ_AND_IMPORT = """
import importlib, json, sys
asked = json.loads(sys.stdin.read())
for file in asked["files"]:
    compile(open(file, encoding="utf-8").read(), file, "exec")
for module, names in asked["names"].items():
    there = importlib.import_module(module)
    print(*[module + "." + name for name in names if not hasattr(there, name)])
print("%d.%d" % sys.version_info[:2])
"""


@pytest.mark.parametrize("version", VERSIONS)
def test_every_python_reads_the_sources_and_has_the_names(version: str) -> None:
    """It confirms `NAMES_OF_3_7`: with a Python 3.7 the list is known to be right."""
    asked = {
        "files": [str(file) for file in SOURCES],
        "names": {module: sorted(names) for module, names in NAMES_OF_3_7.items()},
    }
    done = subprocess.run(
        [find_python(version), "-I", "-c", READ_AND_IMPORT],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [version]


def install_numpy(version: str, folder: Path) -> None:
    """Install numpy for a version of Python; skip where it cannot be had within two minutes.

    This Python's pip reads the wheels of another version, so that no environment is made. For its
    own version, the numpy that is there is taken.
    """
    if version == ".".join(map(str, sys.version_info[:2])):
        folder.mkdir()
        there = Path(np.__file__).parent
        for one in (there, there.with_name("numpy.libs")):
            (folder / one.name).symlink_to(one)
        return
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder)]
    install += ["--python-version", version, "--only-binary=:all:", "numpy"]
    if subprocess.run(["timeout", "120", *install], check=False, capture_output=True).returncode:
        pytest.skip(f"no numpy for python{version} within two minutes")


@pytest.mark.thorough
@pytest.mark.parametrize("version", VERSIONS)
def test_every_python_of_the_leaderboards_runs_the_child(tmp_path: Path, version: str) -> None:
    """With numpy alone: CARLA's data types are then the stand-in's."""
    python = find_python(version)
    install_numpy(version, tmp_path / "packages")
    # an interpreter that finds numpy, as an environment has it
    interpreter = tmp_path / "python"
    interpreter.write_text(
        f'#!/bin/sh\nPYTHONPATH="{tmp_path / "packages"}" exec "{python}" "$@"\n'
    )
    interpreter.chmod(0o755)
    agent = make_agent(python=str(interpreter))
    assert any(note.startswith("carla: ") for note in agent._child.notes)
    assert agent._child.versions["python"].startswith(f"{version}.")
    agent.open_attempt(PLACE, seed=3, route=make_route())
    assert agent.step(make_observation(0, sense()), ()).control.throttle == 0.5
    agent.close_attempt()
