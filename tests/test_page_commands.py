"""Commands of how-to pages that are not executed: their subcommands and options are there."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from crucible.subcommands import SUBCOMMANDS
from tests.conftest import ROOT
from tests.docs.reference import help_of

PAGES = sorted((ROOT / "docs" / "how-to").glob("*.md"))
CODE = re.compile(r"^```(?:bash|sh)?\n(.*?)^```$", re.M | re.S)
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
NESTED = ("routes", "maps")


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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_have_subcommands_and_options_that_there_are(page: Path) -> None:
    for name, *rest in commands(page):
        if name.startswith("-"):
            continue
        assert name in SUBCOMMANDS, name
        if name != "run":  # whose options are Hydra's
            known = options_of(name, *rest[: name in NESTED])
            given = {word.partition("=")[0] for word in rest if word.startswith("--")}
            assert given <= known, f"crucible {name} {' '.join(rest)}"


def test_pages_have_commands() -> None:
    assert sum(len(list(commands(page))) for page in PAGES) > 40
