"""A declared study really driven: decided, killed and resumed, and read by the other commands."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from crucible.subcommands import dispatch_subcommand
from crucible.verification.comparing import check_reference_files
from crucible.verification.decided import check_decided_campaigns
from crucible.verification.reference import read_reference
from harness.records.decided import DECIDE_FILE
from harness.records.ledger import LEDGER
from tests.campaign.tiny import environment, files, write_route
from tests.conftest import ROOT
from tests.studies.decide.declared import write_study
from tests.warm import run_warm

PATIENCE = 300.0
SLURM = ("executor=slurm", "executor.cluster=local")


def command(study: Path, out: Path, *executor: str) -> list[str]:
    words = ["decide", str(study), f"out={out}", "progress=plain", *executor, "executor.workers=1"]
    return [sys.executable, "-m", "crucible", *words]


def drive(study: Path, out: Path, *executor: str) -> subprocess.CompletedProcess[str]:
    arguments = command(study, out, *executor)[1:]
    return run_warm(arguments, environment=environment(), timeout=600)


def drive_and_kill(study: Path, out: Path, results: int, *executor: str) -> None:
    """Drive until there are so many results, then kill the command."""
    runner = subprocess.Popen(
        command(study, out, *executor),
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + PATIENCE
        while len(list(out.glob("episodes/*/*/*/*/try*/result.json"))) < results:
            assert runner.poll() is None
            assert time.monotonic() < until
            time.sleep(0.1)
    finally:
        os.kill(runner.pid, signal.SIGKILL)
        runner.wait()


@pytest.mark.thorough
def test_a_study_is_driven_killed_resumed_and_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    routes = write_route(tmp_path, "step")
    study = write_study(
        tmp_path / "study.yaml",
        comparisons={"sharing": {"a": "ideal_single/none", "b": "ideal_late/none"}},
        most=4,
        batch=1,
        routes={"file": str(routes / "routes.xml")},
        strata=None,
        campaign=["traffic=none"],
    )
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    done = drive(study, whole)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "out of budget" in done.stdout
    # killed under Slurm after its first result, it ends on Ray and writes the same
    drive_and_kill(study, parts, 1, *SLURM)
    again = drive(study, parts, "executor=ray")
    assert again.returncode == 0, again.stdout + again.stderr
    assert (parts / DECIDE_FILE).read_bytes() == (whole / DECIDE_FILE).read_bytes()
    results = [path for path in files(whole) if path.name == "boxes.parquet"]
    assert len(results) == 4
    for path in results:
        assert (whole / path).read_bytes() == (parts / path).read_bytes()
    # what was sampled, and what other commands say of it
    sampled = [json.loads(line) for line in (whole / DECIDE_FILE).read_text().splitlines()]
    assert sum("route" in line for line in sampled) == 2
    monkeypatch.chdir(tmp_path)
    arms = "ideal_single/none", "ideal_late/none"
    for words, said in (
        (["compare", str(whole), *arms, "--out", "c"], "were chosen by crucible decide"),
        (["tables", str(whole), "--out", "t"], ""),
        (["status", str(whole)], ""),
        (["pack", str(whole), "--out", "p.parquet"], ""),
        (["unpack", "p.parquet", "--out", "u"], ""),
    ):
        assert dispatch_subcommand(words) == 0, words
        assert said in capsys.readouterr().out
    assert (tmp_path / "t" / "sampling.csv").is_file()
    # a reference of it: its lines follow from the packed results, and from no others
    assert dispatch_subcommand(["reference", "p.parquet", "--out", "reference.json"]) == 0
    reference = read_reference(tmp_path / "reference.json")
    changed, campaigns = check_reference_files(tmp_path / "reference.json", reference)
    assert not changed
    wrong, (checked,) = check_decided_campaigns(campaigns, None)
    assert not wrong
    assert (
        checked == f"{whole.name}: decide.jsonl: all {len(sampled)} lines follow from the results"
    )
    (packed,) = campaigns.values()
    packed.decided = (packed.decided or "").replace('"estimate": ', '"estimate": 0')
    (wrong_line,), _ = check_decided_campaigns(campaigns, None)
    assert wrong_line.startswith(f"{whole.name}: decide.jsonl: line 3: not what")
    (unpacked,) = (tmp_path / "u").rglob(DECIDE_FILE)
    assert unpacked.read_bytes() == (whole / DECIDE_FILE).read_bytes()
    check_that_it_goes_on_from_a_part(study, whole, tmp_path)


def check_that_it_goes_on_from_a_part(study: Path, whole: Path, tmp_path: Path) -> None:
    """A study whose first batch is a packed part drives the second, and ends with equal bytes."""
    first = tmp_path / "first" / whole.name
    keep_first_batch(whole, first)
    assert dispatch_subcommand(["pack", str(first), "--out", "one.parquet"]) == 0
    # another name, other settings, a file that is none: one line, and nothing is written
    part, second = str(tmp_path / "one.parquet"), tmp_path / "second" / whole.name
    for out, more, why in (
        (second.with_name("other"), ["--known", part], "no campaign other, but whole"),
        (second, ["traffic=few", "--known", part], "were driven otherwise"),
        (second, ["--known", str(study)], "not a Parquet file"),
    ):
        refused = drive(study, out, *more)
        assert (refused.returncode, refused.stdout) == (2, ""), refused.stdout
        assert why in refused.stderr
        assert not out.exists()
    done = drive(study, second, "--known", part)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 in packed parts" in done.stdout
    assert (second / DECIDE_FILE).read_bytes() == (whole / DECIDE_FILE).read_bytes()
    driven = [path for path in files(second) if path.name == "boxes.parquet"]
    assert len(driven) == 2
    for path in driven:
        assert (whole / path).read_bytes() == (second / path).read_bytes()
    # its records alone are not the study: the parts are needed again
    refused = drive(study, second)
    assert refused.returncode == 2
    assert "give --known FILE" in refused.stderr
    # both parts together are
    again = ["pack", str(second), "--out", "two.parquet", "--without", "one.parquet"]
    assert dispatch_subcommand(again) == 0
    assert dispatch_subcommand(["reference", "one.parquet", "two.parquet", "--out", "r.json"]) == 0
    changed, campaigns = check_reference_files(
        tmp_path / "r.json", read_reference(tmp_path / "r.json")
    )
    assert not changed
    assert len(campaigns[whole.name].attempts) == 4
    assert not check_decided_campaigns(campaigns, None)[0]


def keep_first_batch(whole: Path, first: Path) -> None:
    """Copy a study as it was after its first batch: a pair of drives."""
    shutil.copytree(whole, first)
    lines = (first / DECIDE_FILE).read_text().splitlines(keepends=True)
    _, pair, look, *later = lines
    (first / DECIDE_FILE).write_text("".join(lines[: len(lines) - len(later)]))
    assert (json.loads(pair)["batch"], json.loads(look)["batch"]) == (1, 1)
    known = {key: json.loads(pair)[key] for key in ("route", "seed")}
    ledger = first / LEDGER
    kept = [
        line
        for line in ledger.read_text().splitlines(keepends=True)
        if known.items() <= json.loads(line).items()
    ]
    ledger.write_text("".join(kept))
    for place in first.glob("episodes/*/*/*/*"):
        if place.name != f"{known['route']}-s{known['seed']}" and place.is_dir():
            shutil.rmtree(place)
