"""No command breaks a word at any width: where each of them is tested, and what none names."""

from __future__ import annotations

import ast
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from rich.console import Console

from crucible.commandline import start_subcommand
from harness.campaign.printing.terminal import console
from harness.commands.doctor import show_machine_findings
from harness.common.command_registry import list_subcommands
from harness.doctor.finding import DoctorFinding
from studies.search.confirm import FindingConfirmation
from studies.search.shrink import ShrinkResult, ShrunkFinding
from studies.search.tables import render_shrunk_table
from tests.campaign.plain import SETTINGS, drive_plain_once
from tests.conftest import ROOT
from tests.kept_prints import keep_prints
from tests.screens import check_screens, print_on_terminal, split_words

HERE = "tests/test_widths.py"
ANALYSIS = "tests/analysis/test_widths.py"
WIDTH_TESTS = {
    "run": (HERE, "test_what_reads_a_finished_campaign"),
    "status": (HERE, "test_what_reads_a_finished_campaign"),
    "twin": (
        "tests/campaign/test_twins.py",
        "test_without_the_disturbance_all_is_as_under_none",
    ),
    "attribute": (
        "tests/campaign/test_twins.py",
        "test_windows_of_an_attribution_are_needed_one_by_one",
    ),
    "export": (
        "tests/campaign/test_exports.py",
        "test_the_command_passes_on_what_is_recorded",
    ),
    "critical": ("tests/studies/critical/test_driven.py", "test_recorded_drives_nothing"),
    "pack": (HERE, "test_what_reads_a_finished_campaign"),
    "unpack": (HERE, "test_what_reads_a_finished_campaign"),
    "verify": (
        "tests/verification/test_verify.py",
        "test_what_was_driven_is_equal_and_not_driven_again",
    ),
    "reference": (HERE, "test_what_reads_a_finished_campaign"),
    "replication": (HERE, "test_findings_of_the_replication"),
    "decide": (
        "tests/studies/decide/test_declaration.py",
        "test_a_dry_run_prints_strata_and_drives",
    ),
    "speed": (ANALYSIS, "test_commands_of_studies_break_no_word"),
    "decide-replay": (
        "tests/studies/decide/test_decide_replay.py",
        "test_the_command_prints_its_tables",
    ),
    "routes": ("tests/world/test_route_commands.py", "test_check"),
    "maps": ("tests/authoring/test_generate.py", "test_check_drives_a_town"),
    "doctor": (HERE, "test_the_doctors_findings"),
    "collect": (
        "tests/training/test_collect.py",
        "test_at_close_quarters_a_unit_stands_next_to_a_road_user_it_sees",
    ),
    "export-dataset": (
        "tests/datasets/test_round_trip.py",
        "test_command_resumes_and_refuses_other_scenes",
    ),
    "train": ("tests/training/test_train.py", "test_a_run_stops_and_goes_on"),
    "train-flow": (
        "tests/training/test_train_flow.py",
        "test_a_network_is_trained_and_equal_runs_give_equal_files",
    ),
    "evaluate": ("tests/training/test_side_by_side.py", "evaluations"),
    "modes": (
        "tests/training/test_cooperation_modes.py",
        "test_counts_are_those_of_a_slow_recount",
    ),
    "senses": ("tests/training/test_senses.py", "test_the_command_writes_what_its_tables_show"),
    "compensation": (
        "tests/training/test_compensation.py",
        "test_boxes_are_compared_on_time_and_late",
    ),
    "networks": ("tests/training/test_side_by_side.py", "test_tables_side_by_side"),
    "metamorphic": (ANALYSIS, "test_commands_break_no_word"),
    "models": (ANALYSIS, "test_commands_break_no_word"),
    "offline": (
        "tests/studies/offline_to_violation/test_route_scenes.py",
        "test_the_command_records_asks_drives_repairs_and_resumes",
    ),
    "search": (
        "tests/studies/search/test_search_rates.py",
        "test_a_dry_run_prints_the_plan_and_drives_nothing",
    ),
    "confirm": (
        "tests/studies/search/test_search_driven.py",
        "test_confirmation_uses_other_seeds_lists_what_is_unconfirmed_and_resumes",
    ),
    "shrink": (HERE, "test_smallest_values_of_findings"),
    "curves": (
        "tests/studies/search/test_search_driven.py",
        "test_confirmation_uses_other_seeds_lists_what_is_unconfirmed_and_resumes",
    ),
    "rate": (
        "tests/studies/search/test_search_rates.py",
        "test_a_dry_run_prints_the_plan_and_drives_nothing",
    ),
    "report": (ANALYSIS, "test_commands_break_no_word"),
    "tables": (ANALYSIS, "test_commands_break_no_word"),
    "volume": (ANALYSIS, "test_commands_break_no_word"),
    "attacks": (ANALYSIS, "test_commands_of_studies_break_no_word"),
    "radio": (ANALYSIS, "test_commands_of_studies_break_no_word"),
    "regress": (ANALYSIS, "test_commands_break_no_word"),
    "predict": (ANALYSIS, "test_commands_break_no_word"),
    "compare": (ANALYSIS, "test_commands_break_no_word"),
    "compare-results": (
        "tests/studies/outside_results/test_results.py",
        "test_the_command_prints_pairs_and_writes_tables",
    ),
    "effects": (ANALYSIS, "test_commands_of_studies_break_no_word"),
    "causes": (ANALYSIS, "test_commands_of_studies_break_no_word"),
    "errors": (
        "tests/analysis/test_effects.py",
        "test_errors_are_measured_of_drives_without_interventions",
    ),
    "power": (ANALYSIS, "test_commands_break_no_word"),
    "calibrate": (
        "tests/analysis/test_calibrated_effects.py",
        "test_the_command_prints_rates_and_checks_them",
    ),
    "replay": (ANALYSIS, "test_commands_break_no_word"),
    "new": (HERE, "test_a_package_of_a_plug_in"),
    "check": ("tests/checks/test_metric.py", "test_the_command_line"),
    "plugins": (ANALYSIS, "test_commands_break_no_word"),
}
"""Where the widths of each command are tested: file, function."""
OUTCOME = "collision_pedestrian"
NOT_FOR_PEOPLE = {
    "completion": "a script for a shell",
    "serve": "the ready line of carlite, which programs read and which is 50 characters long",
}
"""Commands whose output has no width, and why."""


def test_every_command_has_a_test_of_its_widths() -> None:
    assert {*WIDTH_TESTS, *NOT_FOR_PEOPLE} == {*list_subcommands()}
    for command, (file, name) in WIDTH_TESTS.items():
        text = (ROOT / file).read_text()
        functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
        (test,) = [ast.unparse(node) for node in functions if node.name == name]
        checked = ("prints_fit", "check_widths(", "check_screens(")
        assert any(word in test for word in checked), (command, file, name)


def run_words(*words: object) -> None:
    """Run a command that ends well."""
    assert start_subcommand([str(word) for word in words]) == 0


def test_a_plan_on_terminals_and_as_it_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What `keep_prints` prints again has the words of a real terminal of that width."""
    monkeypatch.setenv("CRUCIBLE_CACHE", str(tmp_path))  # no other test changes its estimate
    plan = partial(run_words, "run", f"out={tmp_path / 'plan'}", "dry_run=true")
    check_screens(plan, least=30)
    with keep_prints() as prints:
        plan()
    prints.check_widths(least=30)
    for width in (60, 120):
        assert split_words(prints.print_at(width)) == split_words(
            print_on_terminal(plan, width).out
        )


def print_unbroken_line() -> None:
    """Print a line that only the terminal breaks."""
    print("a line of many words that goes on and on behind the edge of a narrow terminal")


def print_cut_word() -> None:
    """Print a word that is broken on narrow terminals."""
    Console().print("path/" * 20, overflow="fold")


@pytest.mark.parametrize("broken", [print_unbroken_line, print_cut_word])
def test_what_is_broken_is_noticed(broken: Callable[[], None]) -> None:
    with pytest.raises(AssertionError):
        check_screens(broken, least=0)
    with keep_prints() as prints:
        broken()
    with pytest.raises(AssertionError):
        prints.check_widths(least=0)


@pytest.mark.thorough
def test_what_reads_a_finished_campaign(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    driven = drive_plain_once(tmp_path_factory)
    folder = shutil.copytree(driven, tmp_path / "out")
    routes = (f"routes.file={driven.parent / 'routes.xml'}", "routes.only=null", "seeds=[1]")
    drive = ("run", *routes, "traffic=few", *SETTINGS, f"out={folder}")
    check_screens(partial(run_words, *drive), least=30, any_number=True)
    check_screens(partial(run_words, "status", folder), least=20)
    pack = tmp_path / "packed.parquet"
    check_screens(partial(run_words, "pack", folder, "--out", pack), least=10)
    check_screens(partial(run_words, "reference", pack, "--out", tmp_path / "r.json"), least=4)
    with keep_prints() as prints:
        run_words("unpack", pack, "--out", tmp_path / "unpacked")
    prints.check_widths(least=0)


def test_the_doctors_findings() -> None:
    findings = [
        DoctorFinding("python", "ok", "3.11.7"),
        DoctorFinding("disk", "warning", "0.5 GB free where campaigns are written", "free 2 GB"),
        DoctorFinding("a folder", "fault", f"{'/a-long-name' * 4} cannot be read", "chmod it"),
    ]
    check_screens(partial(show_machine_findings, findings), least=20)


def test_smallest_values_of_findings() -> None:
    again = FindingConfirmation(
        number=7, outcome=OUTCOME, failures=4, repeats=5, low=0.28, high=0.99, confirmed=True
    )
    values = {"delay": 0.85, "ghosts": 3, "hazard_speed": 2.125, "gap": 0.5}
    result = ShrinkResult(values=values, held=True, evaluations=40, complete=False)
    one = ShrunkFinding(
        number=7, outcome=OUTCOME, shrunk=result, confirmation=again, attribution=None
    )
    before = {name: 3 * value for name, value in values.items()}
    check_screens(lambda: console.print(render_shrunk_table([before], [one], 0.05)), least=15)


@pytest.mark.thorough
def test_findings_of_the_replication(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The drives of one seed that the replication's tables rest on."""
    packed = ROOT / "studies" / "replication" / "packed"
    run_words("unpack", packed / "filter.parquet", "--out", tmp_path / "filter")
    run_words("unpack", *sorted(packed.glob("seed-1*.parquet")), "--out", tmp_path / "study")
    study = sorted((tmp_path / "study").glob("replication-*"))
    with keep_prints() as prints:
        run_words("replication", tmp_path / "filter" / "replication-oracle", *study)
    prints.check_widths(least=200)


def test_a_package_of_a_plug_in(tmp_path: Path) -> None:
    with keep_prints() as prints:
        run_words("new", "metric", "own_metric", "--out", tmp_path / "package")
    prints.check_widths(least=10)
