"""Searches of systems whose flips are known, through real drives on carlite."""

from __future__ import annotations

import csv
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from crucible.subcommands import dispatch_subcommand
from crucible.verification.driving import RedriveSettings, drive_attempts_again
from harness.records.critical import (
    PlaceboDrives,
    SearchedAttempt,
    format_twin_condition,
    get_sizes_path,
    read_critical,
)
from harness.records.digests import hash_attempt_records
from harness.records.packing.pack import pack_campaigns
from harness.records.packing.parts import read_packed_campaigns
from harness.records.reading import CampaignRecords, read_stored_table
from harness.records.twins import TWINS
from harness.records.writing import EPISODES
from tests.campaign.many import finish
from tests.campaign.tiny import composed, environment, write_route
from tests.keys import key_of
from tests.once import once
from tests.profiles import ONLY_WITH_ALL
from tests.warm import run_warm

AGES = {
    "steady": "FailsAt, bands: [[0.7, 9]]",  # 0.8 s is the first age above 0.7 s
    "banded": "FailsAt, bands: [[0.3, 0.5]], heeds_places: false",  # at 0.4 s; no placebo shows
    "always": "FailsAt, bands: [[-1, 9]]",
    "never": "FailsAt, bands: []",
}
PLACES = [[148.686, 199.55], [161.082, 199.55], [174.481, 199.366]]
"""Of roadside units along the route."""
METRES, MOST = 1.1, 5
OTHERS = {
    "away": f"FailsAway, places: {PLACES}, metres: {METRES}",
    "without": f"FailsWithout, most: {MOST}",
}
"""1.5 m is the first displacement above 1.1 m; a loss that takes six messages ends a drive."""
SEARCH = ("--of", "latency", "--sizes", "0,0.4,0.8", "--placebos", "1")
NOTHING, ALL, NO_EFFECT = PlaceboDrives(0, 1, 1), PlaceboDrives(1, 1, 1), PlaceboDrives(0, 0, 1)


def critical(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    arguments = ["-m", "crucible", "critical", str(folder), *SEARCH, *words]
    return run_warm(arguments, environment={**environment(), "COLUMNS": "200"}, timeout=600)


def made_up(folder: Path, systems: Mapping[str, str], *more: str) -> Path:
    """Return a campaign of the systems whose attempts under `none` were not driven."""
    module = "_target_: tests.studies.critical.systems"
    routes = write_route(folder, "hop")
    settings = composed(
        "system=[]",
        *(f"+system.{name}={{{module}.{words}}}" for name, words in systems.items()),
        *(f"routes.file={routes / 'routes.xml'}", "routes.hazards=null", "routes.only=null"),
        *("traffic=none", "interference=none", "seeds=[1]", *more),
    )
    finish(routes / "out", settings)
    return routes / "out"


def search_with_two_workers(folder: Path) -> Path:
    out = made_up(folder, AGES)
    done = critical(out, "--workers", "2")
    assert done.returncode == 0, done.stderr
    (folder / "stdout").write_text(done.stdout)
    return out


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory, packages: None) -> Path:
    """Return a searched campaign, which no test may change."""
    return once(tmp_path_factory, "critical", search_with_two_workers)


@pytest.fixture(scope="module")
def packages() -> Any:
    """Let the systems of these tests be named in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("harness.campaign.settings.config.THEIRS", ("tests.",))
        yield


def of_system(out: Path, system: str, of: str = "latency") -> SearchedAttempt:
    (one,) = (one for one in read_critical(out, of).searched if one.of.arm.system == system)
    return one


@pytest.mark.thorough
def test_the_known_flip_is_between_two_planning_steps(out: Path) -> None:
    one = of_system(out, "steady")
    assert one.interval == (0.6, 0.8)
    assert {size: bool(kind) for size, kind in one.outcomes.items()} == {
        0.0: False, 0.4: False, 0.6: False, 0.8: True,
    }  # fmt: skip
    (flip,) = one.flips
    assert (flip.low, flip.high, flip.into, flip.confirmed) == (0.6, 0.8, True, True)
    assert (flip.at_low, flip.at_high) == (NOTHING, ALL)


@pytest.mark.thorough
def test_a_flip_back_is_located_and_what_no_placebo_moves_is_unconfirmed(out: Path) -> None:
    one = of_system(out, "banded")
    assert one.interval == (0.2, 0.4)
    assert [(flip.low, flip.high, flip.into) for flip in one.flips] == [
        (0.2, 0.4, True),
        (0.4, 0.6, False),
    ]
    for flip in one.flips:
        assert flip.at_low == flip.at_high == NO_EFFECT
        assert not flip.confirmed
    lines = (out.parent / "stdout").read_text().splitlines()
    assert "banded/ahead/none/hop-s1: latency 0.4 to 0.6: flips back, to no violation" in lines
    assert sum("not confirmed by placebos: 0 of 0, and 0 of 0" in line for line in lines) == 2


@pytest.mark.thorough
def test_censored_attempts_stay(out: Path) -> None:
    left, right = of_system(out, "always"), of_system(out, "never")
    assert left.interval == (float("-inf"), 0.0)
    assert right.interval == (0.8, float("inf"))
    assert not left.flips
    assert not right.flips
    assert list(left.outcomes) == list(right.outcomes) == [0.0, 0.4, 0.8]


@pytest.mark.thorough
def test_messages_are_as_old_as_the_size(out: Path) -> None:
    for condition, age in (("none with latency=0.6", 0.6), ("none with latency=0.4", 0.4)):
        place = CampaignRecords(out / TWINS).find_attempts()[key_of("steady", condition, "hop", 1)]
        messages = read_stored_table(place / "messages.parquet", "messages")
        ages = messages["age_measured"].dropna()
        assert len(ages) > 5
        assert ages.between(age - 1e-6, age + 1e-6).all()


@pytest.mark.thorough
def test_the_same_command_with_one_worker_drives_what_is_missing_and_writes_the_same_bytes(
    out: Path, tmp_path: Path
) -> None:
    copy = shutil.copytree(out, tmp_path / "out")
    lost = [
        key_of("banded", "none with latency=0.4", "hop", 1),
        key_of("steady", "none with latency=0.6", "hop", 1),
    ]
    for key in lost:
        shutil.rmtree(copy / TWINS / EPISODES / key.path)
    get_sizes_path(copy, "latency").unlink()
    done = critical(copy)
    assert done.returncode == 0, done.stderr
    driven = [line for line in done.stdout.splitlines() if line.startswith("  ") and "DS" in line]
    assert sorted(line.split("  ")[1] for line in driven) == sorted(map(str, lost))
    assert (
        get_sizes_path(copy, "latency").read_bytes() == get_sizes_path(out, "latency").read_bytes()
    )
    there = CampaignRecords(out / TWINS).find_attempts()
    for key, place in CampaignRecords(copy / TWINS).find_attempts().items():
        for file in place.iterdir():
            if file.name != "timing.json":
                assert file.read_bytes() == (there[key] / file.name).read_bytes(), file


@pytest.mark.usefixtures("prints_fit")
@pytest.mark.thorough
def test_recorded_drives_nothing(out: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(out, tmp_path / "out")
    ledger = (copy / TWINS / "ledger.jsonl").read_bytes()
    words = ("--recorded", "--out", str(tmp_path / "tables"), "--format", "csv,latex")
    assert dispatch_subcommand(["critical", str(copy), *SEARCH, *words]) == 0
    assert (copy / TWINS / "ledger.jsonl").read_bytes() == ledger
    assert {path.name for path in (tmp_path / "tables").iterdir()} == {
        *(f"critical_latency{name}.csv" for name in ("", "_flips", "_free", "_differences")),
        *(f"critical_latency_{name}.csv" for name in ("reveal", "kind")),
        *(f"critical_latency_{name}.tex" for name in ("free", "reveal", "kind")),
        "critical-latency-free.svg", "critical-latency-free.png",
    }  # fmt: skip


@pytest.mark.thorough
def test_packed_twins_are_driven_again_with_the_same_bytes(
    out: Path, tmp_path: Path, packages: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRUCIBLE_PACKAGES", "tests")
    pack_campaigns([out], tmp_path / "part.parquet")
    twins = read_packed_campaigns([tmp_path / "part.parquet"])[f"{out.name}/{TWINS}"]
    of = key_of("steady", format_twin_condition("latency", 0.8, "pose", 1), "hop", 1)
    again = RedriveSettings(out=tmp_path, maps=None, protocol=None, workers=1, trust=False)
    (place,) = drive_attempts_again(twins, [of], again).values()
    (packed,) = (attempt for attempt in twins.attempts if attempt.key == of)
    assert hash_attempt_records(place) == packed.records
    assert CampaignRecords(tmp_path / twins.name).read_result(of)["crucible"]["violation"]


@ONLY_WITH_ALL
@pytest.mark.thorough
def test_the_known_displacement_and_loss_are_between_two_sizes(
    tmp_path: Path, packages: None
) -> None:
    out = made_up(tmp_path, OTHERS)
    sizes = {"pose_error": ("0,2", "0.5", "away"), "loss": ("0,0.5,1", "0.25", "without")}
    for name, (coarse, finest, system) in sizes.items():
        words = ("--of", name, "--sizes", coarse, "--finest", finest, "--system", system)
        done = critical(out, *words)
        assert done.returncode == 0, done.stderr
    away, without = of_system(out, "away", "pose_error"), of_system(out, "without", "loss")
    assert away.interval == (1.0, 1.5)
    assert len(away.outcomes) == 2 + 2
    for one in (away, without):
        (flip,) = one.flips
        assert (flip.into, flip.confirmed) == (True, True)
        assert (flip.at_low, flip.at_high) == (NOTHING, ALL)
    for size, kind in without.outcomes.items():
        key = key_of("without", format_twin_condition("loss", size), "hop", 1)
        place = CampaignRecords(out / TWINS).find_attempts()[key]
        fates = read_stored_table(place / "messages.parquet", "messages")["fate"]
        assert bool(kind) == ((fates == "lost").sum() > MOST)


@ONLY_WITH_ALL
@pytest.mark.thorough
def test_every_speed_has_a_critical_age(tmp_path: Path, packages: None) -> None:
    """A metre takes the ego 0.25 s at 4 m/s, and 0.125 s at 8 m/s."""
    out = made_up(tmp_path, {"far": "FailsFar, metres: 1.0"}, "sweep.speed=[0.5,1]")
    words = ("--sizes", "0,0.4", "--placebo", "pose")
    done = critical(out, *words)
    assert done.returncode == 0, done.stderr
    ages = {one.of.arm["driver"]: one.interval for one in read_critical(out, "latency").searched}
    assert ages == {"speed_0.5": (0.2, 0.4), "default": (0.0, 0.2)}
    (row,) = csv.DictReader((out / "report" / "critical_latency_differences.csv").open())
    assert {row[side] for side in "ab"} == {"far/speed_0.5", "far/default"}
