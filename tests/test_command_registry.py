"""A subcommand is one file: declared there, listed without an import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from harness.common.command_registry import (
    COMMAND_PACKAGES,
    GROUP_ORDER,
    find_subcommand,
    group_subcommands,
    list_subcommands,
)
from harness.common.command_running import run_package_command, run_subcommand
from harness.common.errors import UserError
from tests.conftest import ROOT

COUNT = """\"\"\"Counts words.\"\"\"

import argparse

import no_such_package_at_all

from harness.common.command_registry import CommandDeclaration

COMMAND = CommandDeclaration(
    group="Words",
    purpose="count words, "
    "each of them",
    extra="run",
    examples=("crucible count one two",),
)
"""


def write_command(folder: Path, text: str, name: str = "count") -> Path:
    (folder / "own").mkdir(exist_ok=True)
    (folder / "own" / f"{name}.py").write_text(text)
    return folder


def test_a_new_file_is_a_subcommand_and_is_not_imported(tmp_path: Path) -> None:
    root = write_command(tmp_path, COUNT)
    (tmp_path / "own" / "helper.py").write_text("NUMBER = 1\n")
    listed = list_subcommands(("own",), root)
    assert list(listed) == ["count"]
    assert listed["count"].module == "own.count"
    assert listed["count"].declaration.purpose == "count words, each of them"
    assert find_subcommand("count", ("own",), root) == listed["count"]
    assert find_subcommand("helper", ("own",), root) is None
    assert find_subcommand("../own/count", ("own",), root) is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"run"', "EXTRA"),
        ('    extra="run",\n', ""),
        ('extra="run"', 'extra="run",\n    colour="red"'),
        ("    examples=", "    examples=open('x'),\n    others="),
    ],
)
def test_a_declaration_of_anything_but_literals_is_refused(
    before: str, after: str, tmp_path: Path
) -> None:
    root = write_command(tmp_path, COUNT.replace(before, after, 1))
    with pytest.raises(UserError, match=r"count\.py: COMMAND must consist of literals"):
        find_subcommand("count", ("own",), root)


def test_others_groups_follow_those_of_the_house(tmp_path: Path) -> None:
    root = write_command(tmp_path, COUNT)
    write_command(tmp_path, COUNT.replace('"Words"', '"Shell"'), "sort")
    assert [*group_subcommands(list_subcommands(("own",), root).values())] == ["Shell", "Words"]


def test_every_subcommand_is_in_a_group_of_the_help_and_has_a_unique_name() -> None:
    files = [one for package in COMMAND_PACKAGES for one in list_subcommands((package,)).values()]
    assert len(files) >= 37
    assert len({subcommand.name for subcommand in files}) == len(files)
    assert {subcommand.declaration.group for subcommand in files} == set(GROUP_ORDER)


def test_the_help_loads_nothing_that_subcommands_need() -> None:
    code = (
        "import sys; from crucible.subcommands import format_help; format_help();"
        "heavy = {'numpy', 'pandas', 'carla', 'torch', 'hydra', 'rich', 'analysis', 'agents'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_no_other_file_has_a_purpose_again() -> None:
    sources = {
        file: file.read_text()
        for room in ("crucible", "harness", "analysis", "agents", "studies")
        for file in (ROOT / room).rglob("*.py")
    }
    for subcommand in list_subcommands().values():
        purpose = subcommand.declaration.purpose
        having = [file for file, text in sources.items() if f'"{purpose}"' in text]
        assert len(having) <= 1, (purpose, having)


@pytest.mark.parametrize(
    ("problem", "code", "line"),
    [
        ("harness.common.errors.UserError('wrong')", 2, "wrong\n"),
        ("harness.common.errors.AttemptError('server_crash', 'down')", 3, ""),
        ("FileNotFoundError(2, 'No such file', 'x.txt')", 2, "x.txt: No such file\n"),
        ("KeyboardInterrupt()", 130, "crucible count: interrupted; files written so far are"),
        ("ModuleNotFoundError('no', name='torch')", 2, "crucible count: torch is not installed: "),
    ],
)
def test_what_the_user_can_put_right_is_one_line(
    problem: str,
    code: int,
    line: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    head = "\n\ndef main(arguments, program):\n    import harness.common.errors\n"
    body = f"{head}    raise {problem}\n"
    package = f"own_{code}_{len(problem)}"  # a module is imported once
    (tmp_path / package).mkdir()
    text = COUNT.replace("import no_such_package_at_all\n", "") + body
    (tmp_path / package / "count.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    subcommand = find_subcommand("count", (package,), tmp_path)
    assert subcommand is not None
    assert run_subcommand(subcommand, [], "crucible count") == code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(line)
    assert printed.err.count("\n") == 1


def test_a_package_runs_its_subcommands_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_package_command("analysis.commands", ["--help"], "python -m analysis") == 0
    assert "tables" in capsys.readouterr().out
    assert run_package_command("analysis.commands", ["run"], "python -m analysis") == 2
    assert capsys.readouterr().err.startswith("python -m analysis: unknown subcommand run;")
