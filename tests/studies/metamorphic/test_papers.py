"""Everything that the table of papers names is there, and everything of a paper is in the table."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from crucible.subcommands import dispatch_subcommand
from studies.metamorphic.catalogue import MAKERS
from studies.metamorphic.running.generation import KEEP_GUIDES
from studies.metamorphic.tables.printing import build_operator_listing
from studies.metamorphic.tables.summary import StudyTables
from tests.conftest import ROOT
from tests.docs.reference import help_of
from tests.studies.metamorphic.made_study import write_study

OF_PICTURES = {"night", "blur", "glare", "dropped_camera", "miscalibration", "brightness"}
PAGE = ROOT / "docs" / "reference" / "metamorphic-papers.md"
NAMED = re.compile(r"\b(operator|relation|check|guide|table|function)s? ((?:`[^`]+`(?:, )?)+)")
COMMAND = re.compile(r"`(crucible metamorphic [^`]+)`")


def named(kind: str) -> set[str]:
    """Return what the page's tables name of a kind."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("|")]
    matches = NAMED.findall("\n".join(lines))
    return {name for of, names in matches for name in re.findall(r"`([^`]+)`", names) if of == kind}


def test_operators_are_those_of_the_papers() -> None:
    published = {name for name, make in MAKERS.items() if make().operator.paper != "ours"}
    assert named("operator") == published | {"wet_ground", "mirrored", "same_view"} | OF_PICTURES


def test_relations_are_there() -> None:
    known = {relation.name for make in MAKERS.values() for relation in make().relations}
    assert len(named("relation")) > 5
    assert named("relation") <= known


@pytest.mark.thorough
def test_checks_and_tables_are_there(tmp_path: Path) -> None:
    from studies.metamorphic.judging.rows import FAR_DISTANCES, IN_PICTURES
    from studies.metamorphic.tables.choosing import build_guidance_sheets
    from studies.metamorphic.tables.sheets import build_sheets

    tables = StudyTables(write_study(tmp_path))
    checks = {*tables.checks["check"], *(f"long_range_{beyond:g}" for beyond in FAR_DISTANCES)}
    # the study here has no pictures
    checks |= {f"{name}{IN_PICTURES}" for name in ("missed", "mislocalised", "additional")}
    assert named("check") == checks
    sheets = [*build_sheets(tables), *build_guidance_sheets(tables)]
    # the study here has no sweeps for realism, which has tests of its own
    assert named("table") <= {"realism", *(sheet.name for sheet in sheets)}


def test_guides_are_there() -> None:
    assert named("guide") == set(KEEP_GUIDES) - {"random"}


def test_functions_are_there() -> None:
    for name in named("function"):
        module, _, function = name.rpartition(".")
        assert callable(getattr(import_module(module), function))


def test_commands_are_there() -> None:
    commands = COMMAND.findall(PAGE.read_text())
    assert len(commands) > 3
    for command in commands:
        _, name, action, *rest = command.split()
        if action in ("list",):
            continue
        options = set(re.findall(r"--[a-z-]+", help_of(name, action)))
        assert {word for word in rest if word.startswith("--")} <= options, command


def test_an_unknown_action_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        dispatch_subcommand(["metamorphic", "retrian"])
    assert "invalid choice" in capsys.readouterr().err


@pytest.mark.parametrize("width", [80, 200])
def test_the_listing_names_what_can_be_chosen(width: int) -> None:
    cells = [cell for column in build_operator_listing(width).columns for cell in column.cells]
    shown = "\n".join(map(str, cells))
    assert "side: left, right" in shown
    assert "looks: 1 or 2 (1 s apart)" in shown
    assert "count: 10 points" in shown
    assert "milliseconds: 100 ms" in shown
    assert "a LiDAR whose rays are known" in shown
    assert not re.search(r"0 to 0(?![.\d])", shown)
