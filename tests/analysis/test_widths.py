"""What commands print at 60, 80, 120 and 200 columns: every word that they print, whole."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from agents.perception.loading import FOLDER
from crucible.commandline import start_subcommand
from tests.analysis import test_attack_table, test_radio_table
from tests.analysis.interventions import repair, write_interventions
from tests.analysis.little import Drive
from tests.conftest import ROOT
from tests.kept_prints import keep_prints
from tests.studies.causes import test_causes
from tests.studies.speed import test_command

NO_CAMPAIGN = ("metamorphic", "plugins", "power", "models")
"""Commands that read no campaign."""
WRITING = ("tables", "regress", "compare", "report")


def write_attacks(folder: Path) -> Path:
    """Write a campaign with attacks."""
    return test_attack_table.write_campaign(folder / "attacks", routes=2)


def write_radios(folder: Path) -> Path:
    """Write a campaign on a radio."""
    return test_radio_table.write_campaign(folder / "radios")


def write_speeds(folder: Path) -> Path:
    """Write a campaign at two speeds."""
    return test_command.write_speeds(folder / "speeds")


def write_causes(folder: Path) -> Path:
    """Write a campaign on a radio with parts switched off."""
    return test_causes.write_causes(folder / "causes", test_causes.ARMS, routes=2)


def write_repairs(folder: Path) -> Path:
    """Write a campaign with interventions."""
    arms = {"repair_CCME": repair("CCME"), "repair_LADE": repair("LADE")}
    return write_interventions(
        folder / "repairs", arms, lambda *_: Drive(12, "collision_vehicle"), routes=3
    )


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("words", "least"),
    [
        (["tables"], 500),
        (["regress"], 100),
        (["compare", "late/none", "late/latency", "early"], 100),
        (["report", "--results-only"], 0),
        (["volume"], 80),
        (["predict"], 60),
        (["replay", "--list"], 40),
        (["metamorphic", "list"], 150),
        (["plugins"], 100),
        (["power", "--routes=19", "--seeds=1", "--difference=0.2", "--campaigns=20"], 20),
        (["models", "check", str(FOLDER / "robust")], 40),
    ],
    ids=lambda given: given[0] if isinstance(given, list) else "",
)
def test_commands_break_no_word(little: Path, tmp_path: Path, words: list[str], least: int) -> None:
    command, *more = words
    folder = [] if command in NO_CAMPAIGN else [str(little)]
    out = ["--out", str(tmp_path)] if command in WRITING else []
    with keep_prints() as prints:
        assert start_subcommand([command, *folder, *more, *out]) == 0
    prints.check_widths(least)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("command", "write", "least"),
    [
        ("attacks", write_attacks, 40),
        ("radio", write_radios, 60),
        ("speed", write_speeds, 60),
        ("causes", write_causes, 60),
        ("effects", write_repairs, 100),
    ],
)
def test_commands_of_studies_break_no_word(
    tmp_path: Path,
    command: str,
    write: Callable[[Path], Path],
    least: int,
) -> None:
    folder = write(tmp_path)
    with keep_prints() as prints:
        assert start_subcommand([command, str(folder), "--out", str(tmp_path / "out")]) == 0
    prints.check_widths(least)


def test_every_command_prints_tables_by_the_same_printer() -> None:
    """What is printed as a table fits any width (`test_fitting_table`); live lines are no table."""
    modules = {
        str(file.relative_to(ROOT))
        for room in ("harness", "agents", "analysis", "studies", "crucible")
        for file in (ROOT / room).rglob("*.py")
        if re.search(r"^\s*(from|import) rich\.table\b", file.read_text(), re.MULTILINE)
    }
    assert modules == {"harness/common/fitting_table.py", "harness/campaign/printing/progress.py"}
