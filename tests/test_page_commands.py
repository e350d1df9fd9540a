"""Commands of pages: their subcommands and options are there; those of analysis work."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from crucible.subcommands import dispatch_subcommand
from harness.common.command_registry import list_subcommands
from tests.analysis.little import write_little
from tests.conftest import ROOT
from tests.docs.reference import help_of

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
CODE = re.compile(r"^```(?:bash|sh)?\n(.*?)^```$", re.M | re.S)
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
NESTED = ("routes", "maps", "metamorphic")
LONG = ("power", "calibrate")
"""Simulations of minutes, which have tests with smaller ones."""
OTHERWISE = ("effects", "errors", "critical")
"""Commands that need interventions or a search, which have tests and pages apart."""
DRIVEN = "runs/cells"
"""A campaign that the page of analysis drives for one of its commands."""


@cache
def options_of(*words: str) -> frozenset[str]:
    """Return the options in the help of a subcommand."""
    return frozenset(OPTION.findall(help_of(*words)))


def commands(page: Path) -> Iterator[list[str]]:
    """Yield the words of each command of a page that is `crucible SUBCOMMAND ...`."""
    for code in CODE.findall(page.read_text()):
        for line in code.replace("\\\n", " ").splitlines():
            words = re.sub(r"\$\(|\)$|`", " ", line.partition(" #")[0])
            if words.strip().startswith("crucible ") and words.count("'") % 2 == 0:
                yield shlex.split(words.strip())[1:]


@pytest.mark.thorough
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_commands_have_subcommands_and_options_that_there_are(page: Path) -> None:
    for name, *rest in commands(page):
        if name.startswith("-"):
            continue
        assert name in list_subcommands(), name
        if name != "run":  # whose options are Hydra's
            known = options_of(name, *rest[: name in NESTED])
            given = {word.partition("=")[0] for word in rest if word.startswith("--")}
            assert given <= known, f"crucible {name} {' '.join(rest)}"


def typed(words: list[str], names: Mapping[str, str]) -> list[str]:
    """Return a command as a reader types it: no options in brackets, the first alternative."""
    chosen: list[str] = []
    depth = 0
    arms = iter(("late/none", "late/latency"))
    for word in words:
        plain = word.removeprefix("[DIR:]")
        if plain == "|" and not depth:
            break
        if not depth and not plain.startswith("["):
            given = next(arms) if plain == "ARM" else names.get(plain, plain)
            chosen.append("1" if chosen and chosen[-1] == "--case" else given)
        depth += plain.count("[") - plain.count("]")
    return chosen


@pytest.mark.thorough
def test_commands_of_analysis_work(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = write_little(tmp_path_factory.mktemp("campaigns") / "few", routes=("0", "1"), seeds=(1,))
    monkeypatch.chdir(tmp_path)
    names = {"DIR": str(few), DRIVEN: str(few), "late/latency/7-s1": "late/latency/1-s1"}
    done = list[list[str]]()
    for words in commands(ROOT / "docs" / "how-to" / "analysis.md"):
        command = typed(words, names)
        if command[0] not in (*LONG, *OTHERWISE, "run") and command not in done:
            assert dispatch_subcommand(command) == 0, command
            done.append(command)
    assert len(done) == 12
    assert {file.suffix for file in tmp_path.iterdir()} == {".webp", ".png", ".rrd", ".mp4"}


def test_pages_have_commands() -> None:
    assert any(any(commands(page)) for page in PAGES)
