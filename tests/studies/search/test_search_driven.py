"""A search in closed loop on carlite: the same ledger however it was driven, then confirmed."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import time
from pathlib import Path

import pytest
import yaml

from crucible.subcommands import dispatch_subcommand
from harness.records.reading import CampaignRecords
from studies.search.folders import read_search
from studies.search.ledger import read_ledger
from studies.search.settings import compute_record_digest
from tests.called import CommandCall, make_command_call
from tests.conftest import ROOT
from tests.once import once
from tests.studies.search.searched import (
    CONFIG,
    crucible,
    environment_of,
    line_of,
    write_configuration,
)

pytestmark = pytest.mark.thorough

PATIENCE = 300.0
"""Seconds that an evaluation may take on a busy machine."""


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> CommandCall:
    """Return what runs a command that drives nothing here."""
    monkeypatch.setattr("harness.campaign.settings.config.THEIRS", ("tests.",))
    monkeypatch.setenv("COLUMNS", "200")
    return make_command_call(dispatch_subcommand, capsys)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder, not to be changed, with a configuration and its finished search."""
    return once(tmp_path_factory, "searched", search_in)


def search_in(folder: Path) -> Path:
    """Search with one worker."""
    write_configuration(folder)
    done = crucible(*line_of(folder)[3:])
    assert done.returncode == 0, done.stderr
    assert "first failure " in done.stdout
    assert "evaluation 0: " in done.stdout
    assert "next: crucible confirm " in done.stdout
    return folder


@pytest.fixture
def out(home: Path, tmp_path: Path) -> Path:
    """Return a copy of the search."""
    return shutil.copytree(home / "out", tmp_path / "out")


def rows(folder: Path) -> list[str]:
    file = folder / "search" / "ledger.jsonl"
    return file.read_text().splitlines() if file.is_file() else []


def test_two_workers_killed_and_resumed_leave_the_same_ledger(home: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    line = line_of(home, f"out={out}", "executor.workers=2")
    with subprocess.Popen(line, cwd=ROOT, env=environment_of(), stdout=subprocess.DEVNULL) as first:
        until = time.monotonic() + PATIENCE
        while len(rows(out)) < 2 and first.poll() is None and time.monotonic() < until:
            time.sleep(0.05)
        assert first.poll() is None, "ended before it could be killed"
        first.kill()
    known = rows(out)
    assert 2 <= len(known) <= 4
    done = crucible(*line[3:])
    assert done.returncode == 0, done.stderr
    assert f"{len(known) - 1} of 4 evaluations are done already" in done.stdout
    ours, theirs = (place / "search" / "ledger.jsonl" for place in (out, home / "out"))
    assert ours.read_bytes() == theirs.read_bytes()


def test_attempts_of_a_search_are_those_of_a_campaign(home: Path) -> None:
    campaign = CampaignRecords(home / "out")
    ledger = read_ledger(home / "out" / "search" / "ledger.jsonl")[1]
    by_condition = {key.arm.condition: key for key in campaign.find_attempts()}
    assert sorted(by_condition) == ["e0000", "e0001", "e0002", "e0003"]
    for evaluation in ledger:
        key = by_condition[f"e{evaluation.candidate.number:04}"]
        assert key.seed == 1
        result = campaign.read_result(key)["crucible"]
        assert result["driving_score"] == evaluation.outcome.objectives["driving_score"]
        assert (result["violation"] is not None) == evaluation.outcome.failed
        (part,) = campaign.header["settings"]["interference"][key.arm.condition]
        assert part["seconds"] == evaluation.candidate.values["delay"]
        assert evaluation.outcome.measures["message_age"] >= part["seconds"]


def test_status_plans_what_was_driven(home: Path, call: CommandCall) -> None:
    status = json.loads(call("status", home / "out", "--json").stdout)
    assert (status["planned"], status["done"], status["troubles"]) == (4, 4, [])


@pytest.mark.usefixtures("prints_fit")
def test_confirmation_uses_other_seeds_lists_what_is_unconfirmed_and_resumes(
    out: Path, call: CommandCall
) -> None:
    line = ("confirm", out, "--redraws", "2", "--least", "2", "--workers", "2", "--trust")
    done = crucible(*line)
    assert done.returncode == 0, done.stderr
    shown = [row.split("│") for row in done.stdout.splitlines() if row.startswith("│")]
    states = {int(row[1]): row[-2].strip() for row in shown}
    assert states == {0: "confirmed", 1: "unconfirmed", 2: "confirmed"}
    searched = {key.seed for key in CampaignRecords(out).find_attempts()}
    repeats = [key.seed for key in CampaignRecords(out / "confirm").find_attempts()]
    assert len(set(repeats)) == 6
    assert not searched & set(repeats)
    ledger = out / "confirm" / "search" / "ledger.jsonl"
    whole = ledger.read_bytes()
    ledger.write_bytes(b"".join(whole.splitlines(keepends=True)[:-1]))
    (curves,) = {call("curves", out, "--trust").stderr}
    assert "not confirmed to the end" in curves
    again = crucible(*line)
    assert ledger.read_bytes() == whole
    assert again.stdout.count("of 6:") == 1
    table = call("curves", out, "--trust", "--out", out / "curves")
    assert table.returncode == 0, table.stderr
    with (out / "curves" / "search_findings.csv").open() as file:
        findings = list(csv.DictReader(file))
    assert [row["evaluation"] for row in findings] == ["0", "1", "2"]
    assert [row["confirmed"] for row in findings] == ["True", "False", "True"]
    assert all(row["repeats"] == "2" for row in findings)
    cells = [cell.strip() for row in table.stdout.splitlines() for cell in row.split("│")]
    at = cells.index("sobol")
    assert cells[at + 1 : at + 8] == ["3", "4", "3", "3", "3", "2", "0"]
    # what is finished is printed again
    assert call(*line).returncode == 0


def refused(done: subprocess.CompletedProcess[str], complaint: str) -> None:
    assert done.returncode == 2, done.stdout
    (line,) = done.stderr.splitlines()
    assert complaint in line


def test_a_changed_ledger_another_version_and_other_settings_are_refused(
    home: Path, out: Path, call: CommandCall
) -> None:
    ledger = out / "search" / "ledger.jsonl"
    whole = ledger.read_text()
    search = (*line_of(home)[3:], f"out={out}")
    ledger.write_text(whole.replace('"failed": false', '"failed": true'))
    refused(call(*search), "was changed: it does not match its digest")
    refused(call("confirm", out, "--trust"), "was changed: it does not match its digest")
    ledger.write_text(of_another_version(whole))
    refused(call(*search), 'version of scipy is "0.1" in the ledger')
    ledger.write_text(whole)
    refused(call(*search, "search.seed=4"), "seed is 3 in the ledger, 4 now")
    refused(call(*search, "lights=green"), 'evaluation.campaign.lights is "working"')
    assert ledger.read_text() == whole


def of_another_version(ledger: str) -> str:
    """Return a ledger as another version of scipy would have written it."""
    header, *records = map(json.loads, ledger.splitlines())
    content = {**header, "versions": {**header["versions"], "scipy": "0.1"}}
    del content["digest"]
    chain = compute_record_digest(content)
    lines = [{**content, "digest": chain}]
    for record in records:
        record.pop("chain")
        chain = compute_record_digest([chain, record])
        lines.append({**record, "chain": chain})
    return "".join(json.dumps(line) + "\n" for line in lines)


def test_settings_of_the_folder_changed_since_are_refused(out: Path, call: CommandCall) -> None:
    file = out / "campaign.yaml"
    header = yaml.safe_load(file.read_text())
    header["settings"]["lights"] = "green"
    file.write_text(yaml.safe_dump(header))
    refused(call("confirm", out, "--trust"), "lights: working -> green: changed since")


def test_classes_of_a_strangers_search_are_built_with_trust_alone(
    out: Path, call: CommandCall
) -> None:
    refused(call("confirm", out), "pass --trust if you trust it")


def test_a_search_that_is_not_finished_is_not_confirmed(out: Path, call: CommandCall) -> None:
    ledger = out / "search" / "ledger.jsonl"
    ledger.write_bytes(b"".join(ledger.read_bytes().splitlines(keepends=True)[:-1]))
    refused(call("confirm", out, "--trust"), "3 of 4 evaluations; finish the search first")


def test_the_configuration_of_the_tests_is_that_of_the_search(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.campaign.settings.config.THEIRS", ("tests.",))
    assert read_search(home / "out", trust=True).ready.search.budget == 4
    assert "budget: 4" in CONFIG
