"""What is left to do, and what it will take."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from harness.campaign.planning.estimate import (
    BYTES_PER_METRE,
    SECONDS_PER_METRE,
    STARTING,
    estimate_campaign,
)
from harness.campaign.planning.paces import SystemPace
from harness.campaign.planning.plan import CampaignPlan
from harness.campaign.printing.tables import describe_remaining_work
from harness.campaign.printing.units import format_bytes, format_duration
from harness.records.ledger import find_finished_tries
from harness.records.writing import EPISODES
from tests.campaign.many import finish
from tests.campaign.tiny import composed, write_route


@pytest.fixture
def made(tmp_path: Path) -> tuple[CampaignPlan, Path]:
    """A campaign of six attempts, all finished."""
    routes = write_route(tmp_path, "bend", "hop")
    files = (f"routes.file={routes / 'routes.xml'}", f"routes.hazards={routes / 'hazards.json'}")
    settings = composed("routes.only=null", "seeds=[1]", "++executor.workers=2", *files)
    return finish(tmp_path / "out", settings), tmp_path / "out"


def share_of_two(bend: float, hop: float) -> float:
    """Return when two workers have driven three attempts on `bend`, then three on `hop`.

    The first has two on `bend` and the second one, which then begins on `hop`.
    """
    first, second = 2 * bend, bend
    for _ in range(3):
        first, second = (first + hop, second) if first <= second else (first, second + hop)
    return max(first, second)


def test_nothing_is_left(made: tuple[CampaignPlan, Path]) -> None:
    expected = estimate_campaign(*made)
    assert (expected.done, expected.left, expected.seconds, expected.bytes) == (6, 0, 0.0, 0.0)


def test_an_arm_takes_what_it_took(made: tuple[CampaignPlan, Path]) -> None:
    planned, folder = made
    slow = ("ideal_late", "latency")
    for key, place in find_finished_tries(folder).items():
        total = 100.0 if (key.arm.system, key.arm.condition) == slow else 10.0
        (place / "timing.json").write_text(json.dumps({"seconds": {"total": total}}))
    size = sum(path.stat().st_size for path in place.iterdir())
    left = [key for key in planned.attempts if key.route == "hop"]
    for key in left:
        shutil.rmtree(folder / EPISODES / key.path)
    expected = estimate_campaign(planned, folder)
    assert (expected.done, expected.left, expected.samples) == (3, 3, 3)
    # the slow attempt is the last one to begin
    assert expected.seconds == 10 + 100 + 2 * STARTING
    assert [round(one.expected) for one in expected.expected.pieces.values()].count(102) == 1
    assert expected.bytes == pytest.approx(3 * size, rel=0.02)


def test_an_arm_not_yet_driven_takes_what_others_took(made: tuple[CampaignPlan, Path]) -> None:
    planned, folder = made
    shutil.rmtree(folder / EPISODES / "ideal_late")
    for place in find_finished_tries(folder).values():
        (place / "timing.json").write_text('{"seconds": {"total": 8.0}}')
    assert estimate_campaign(planned, folder).seconds == 4 * (8.0 + STARTING) / 2


def test_workers_without_work_save_no_time(made: tuple[CampaignPlan, Path], tmp_path: Path) -> None:
    planned, _ = made
    few, many = (replace(planned, at_a_time=number) for number in (6, 1000))
    assert estimate_campaign(many, tmp_path).seconds == estimate_campaign(few, tmp_path).seconds


def test_by_the_metre_where_nothing_is_finished(
    made: tuple[CampaignPlan, Path], tmp_path: Path
) -> None:
    planned, _ = made
    expected = estimate_campaign(planned, tmp_path / "nowhere")
    metres = 3 * sum(assignment.route.length for assignment in planned.assignments)
    assert (expected.done, expected.left, expected.samples) == (0, 6, 0)
    on_bend, on_hop = (
        SECONDS_PER_METRE * one.route.length + STARTING for one in planned.assignments
    )
    assert expected.seconds == pytest.approx(share_of_two(on_bend, on_hop))
    assert not expected.expected.in_seconds
    assert expected.bytes == BYTES_PER_METRE * metres


def test_driven_egos_cost_the_metres_of_all_of_them(
    made: tuple[CampaignPlan, Path], tmp_path: Path
) -> None:
    planned, _ = made
    three = replace(
        planned,
        assignments=tuple(
            replace(one, further=(one.route, one.route)) for one in planned.assignments
        ),
    )
    pace = SystemPace(metres=100.0, seconds=50.0, bytes=2000.0, attempts=3)
    for paces in ({}, {"ideal_single": pace, "ideal_late": pace}):
        one, of_three = (
            estimate_campaign(plan, tmp_path / "nowhere", paces) for plan in (planned, three)
        )
        assert of_three.bytes == pytest.approx(3 * one.bytes)
        # what a process takes to start is the same
        for key, piece in one.expected.pieces.items():
            expected = of_three.expected.pieces[key].expected - STARTING
            assert expected == pytest.approx(3 * (piece.expected - STARTING))


def test_by_what_the_machine_drove_before(made: tuple[CampaignPlan, Path], tmp_path: Path) -> None:
    planned, _ = made
    pace = SystemPace(metres=100.0, seconds=50.0, bytes=2000.0, attempts=3)
    whole = estimate_campaign(
        planned, tmp_path / "nowhere", {"ideal_single": pace, "ideal_late": pace}
    )
    metres = 3 * sum(assignment.route.length for assignment in planned.assignments)
    bend, hop = (one.route.length for one in planned.assignments)
    assert whole.seconds == pytest.approx(share_of_two(0.5 * bend + STARTING, 0.5 * hop + STARTING))
    assert whole.expected.in_seconds
    assert whole.bytes == pytest.approx(20 * metres)
    assert (whole.remembered, whole.unknown) == (6, ())
    part = estimate_campaign(planned, tmp_path / "nowhere", {"ideal_single": pace})
    assert part.seconds < whole.seconds
    assert not part.expected.in_seconds
    assert (part.remembered, part.unknown) == (3, ("ideal_late",))


def test_a_program_of_the_users_has_no_time_before_its_first_drive(
    made: tuple[CampaignPlan, Path], tmp_path: Path
) -> None:
    planned, folder = made
    guest = replace(planned, guests=("ideal_late",))
    expected = estimate_campaign(guest, tmp_path / "nowhere")
    assert (expected.guests, expected.left_of_guests) == (("ideal_late",), 4)
    assert expected.unknown == ("ideal_single",)
    assert not expected.expected.in_seconds
    # what is known is of the other system, by the rule
    bend, hop = (SECONDS_PER_METRE * one.route.length + STARTING for one in planned.assignments)
    assert expected.seconds == pytest.approx(max(bend, hop))
    metres = sum(assignment.route.length for assignment in planned.assignments)
    assert expected.bytes == pytest.approx(BYTES_PER_METRE * metres)
    (_, line), (name, of_guest) = describe_remaining_work(expected, guest)
    assert line.startswith("2 attempts: about ")
    assert (name, of_guest) == (
        "",
        "4 attempts of ideal_late with 2 workers:"
        " the time is not known before the first one has finished",
    )
    # alone, it has the only line
    alone = replace(guest, guests=("ideal_late", "ideal_single"))
    ((name, line),) = describe_remaining_work(estimate_campaign(alone, tmp_path / "no"), alone)
    assert (name, line.split(":")[0]) == (
        "left",
        "6 attempts of ideal_single, ideal_late with 2 workers",
    )
    # a drive on this machine, here or elsewhere, is a basis
    pace = SystemPace(metres=100.0, seconds=50.0, bytes=2000.0, attempts=3)
    assert not estimate_campaign(guest, tmp_path / "nowhere", {"ideal_late": pace}).guests
    shutil.rmtree(folder / EPISODES / planned.attempts[-1].path)
    assert not estimate_campaign(guest, folder).guests


def test_attempts_of_the_campaign_go_before_those_of_the_machine(
    made: tuple[CampaignPlan, Path],
) -> None:
    planned, folder = made
    for key in planned.attempts[:2]:
        shutil.rmtree(folder / EPISODES / key.path)
    pace = SystemPace(metres=1.0, seconds=9e9, bytes=9e9, attempts=1)
    expected = estimate_campaign(
        planned, folder, dict.fromkeys(("ideal_single", "ideal_late"), pace)
    )
    assert expected == estimate_campaign(planned, folder)
    assert (expected.samples, expected.remembered) == (4, 0)


@pytest.mark.parametrize("text", ["", "[]", '{"seconds": {}}', '{"seconds": {"total": "long"}}'])
def test_spoilt_timings_are_passed_over(made: tuple[CampaignPlan, Path], text: str) -> None:
    planned, folder = made
    for place in find_finished_tries(folder).values():
        (place / "timing.json").write_text(text)
    assert estimate_campaign(planned, folder).samples == 0


def test_amounts_in_words() -> None:
    texts = [format_duration(value) for value in (4.4, 89.6, 3600, 5400, 90_000, 201_600)]
    assert texts == ["4 s", "90 s", "60 min", "1 h 30 min", "25 h 0 min", "2 days 8 h"]
    assert [format_bytes(value) for value in (12, 3400, 5.55e6, 1.2e10)] == [
        "12 bytes",
        "3.4 kB",
        "5.5 MB",
        "12.0 GB",
    ]
