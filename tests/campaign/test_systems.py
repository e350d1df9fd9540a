"""Systems under test that are not ours: what they are given, and what becomes of their failures."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from pandas.testing import assert_frame_equal

from harness.campaign.planning.plan import plan_campaign
from harness.records.points import read_point_sweeps
from harness.records.reading import CampaignRecords, read_stored_table
from harness.records.schema import TABLES
from tests.campaign.tiny import command, composed, ledger, place, run, truth, write_route
from tests.once import once

SYSTEMS = [
    f"+system.{name.lower()}._target_=tests.campaign.systems.{name}"
    for name in ("Deaf", "Quitter", "Unready")
]

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def ended(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """Run all of them."""
    settings = ("system=[]", "interference=[none,latency]", "attempts_per_route=1", *SYSTEMS)
    return once(
        tmp_path_factory,
        "systems",
        lambda folder: (
            folder / "out",
            run(write_route(folder), f"out={folder / 'out'}", *settings),
        ),
    )


def test_truth_is_for_the_privileged(
    ended: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    for condition in ("none", "latency"):
        assert place(ended[0], "deaf", condition).is_dir()


def test_who_ignores_messages_meets_the_same_world_under_every_condition(
    ended: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    calm, late = (place(ended[0], "deaf", name) for name in ("none", "latency"))
    assert len(truth(calm)) > 100
    for name in set(TABLES) - {"messages", "frames"}:
        one, other = (
            read_stored_table(folder / f"{name}.parquet", name) for folder in (calm, late)
        )
        assert_frame_equal(one, other, check_exact=True)
    one, other = (read_stored_table(folder / "frames.parquet", "frames") for folder in (calm, late))
    heard = ["messages", "oldest_age"]
    assert_frame_equal(one.drop(columns=heard), other.drop(columns=heard), check_exact=True)
    assert one.oldest_age.max() == 0.0
    assert other.oldest_age.min() >= 0.5


def test_failures_have_names(ended: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    out, done = ended
    failures = {line["arm"]["system"]: line for line in ledger(out) if line["outcome"] == "failed"}
    assert {name: line["failure"] for name, line in failures.items()} == {
        "quitter": "agent_exception",
        "unready": "agent_setup",
    }
    assert failures["quitter"]["message"] == "KeyError: 'no more'"
    assert "weights.pth" in failures["unready"]["message"]
    assert done.returncode == 1
    assert "2 of 4 attempts have no result" in done.stdout


def test_routes_that_the_oracle_drove_clean(tmp_path: Path) -> None:
    routes = write_route(tmp_path, "hop", "bend")
    settings = ("system=oracle", "interference=none", "traffic=none")
    too_little = "driving.timeout_extra_seconds=-20"  # 4 s for the hop, 46 s for the bend
    assert run(routes, *settings, too_little, f"out={tmp_path / 'clean'}").returncode == 0
    kept = composed(*command(routes, *settings, f"routes.clean_under={tmp_path / 'clean'}")[2:])
    assert [key.route for key in plan_campaign(kept).attempts] == ["bend"]


def test_sweeps_of_all_agents_are_recorded_at_every_planning_step_if_asked_for(
    tmp_path: Path,
) -> None:
    out = tmp_path / "out"
    settings = ("system=ideal_late", "interference=none", "traffic=none", "record.points=true")
    done = run(write_route(tmp_path, "hop"), *settings, "routes.hazards=null", f"out={out}")
    assert done.returncode == 0, done.stderr
    (attempt,) = CampaignRecords(out).find_attempts().values()
    poses = read_stored_table(attempt / "poses.parquet", "poses")
    kept = read_point_sweeps(attempt)
    assert set(kept) == set(zip(poses.frame, poses.sender, strict=True))
    assert {sender for _, sender in kept} >= {"ego", "roadside-0"}
    assert min(len(folder) for folder in kept.values()) > 1000
