"""The three studies: which routes, when a drive ends, what it scores."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.campaign.planning.plan import plan_campaign
from harness.campaign.planning.validation import refuse_misshapen
from harness.campaign.settings.config import build_part
from harness.campaign.settings.declared import CampaignSettings
from harness.evaluation.driving import DriveEvaluation, ReportedCollision
from harness.evaluation.scoring import score
from harness.world.routes.checkout import ROUTES_COPY, SCENARIOS_COPY
from tests.campaign.tiny import composed, write_route
from tests.evaluation.test_driving import straight

STUDIES = ("paper_text", "paper_code", "recommended")
DROVE = 40.0


@pytest.fixture(scope="module")
def studies() -> dict[str, CampaignSettings]:
    return {name: composed(f"study={name}") for name in STUDIES}


def drive(settings: CampaignSettings, **then: Any) -> DriveEvaluation:
    """Drive the judge over 100 m; from 40 m on things are otherwise."""
    driven = DriveEvaluation(rules=build_part(settings["driving"], "driving"), route_length=100.0)
    for moment in straight(100.0):
        if driven.ended:
            break
        driven.observe_tick(replace(moment, **then) if moment.x >= DROVE else moment)
    return driven


def gave_up(settings: CampaignSettings, speed: float) -> tuple[str, float]:
    """Creep on the spot; return why and after how many seconds the drive was ended."""
    driven = DriveEvaluation(rules=build_part(settings["driving"], "driving"), route_length=1000.0)
    start = next(iter(straight(1000.0)))
    for tick in range(20 * 2000):
        driven.observe_tick(replace(start, time=100 + tick * 0.05, speed=speed))
        if driven.ended:
            break
    assert driven.violation
    return driven.violation.kind, driven.violation.time - 100


def by_study(**values: object) -> list[tuple[str, object]]:
    """Return what pytest's parametrize wants."""
    assert set(values) == set(STUDIES)
    return list(values.items())


@pytest.mark.parametrize("study", STUDIES)
def test_any_system_may_be_driven(study: str) -> None:
    paper = study.startswith("paper")
    ours = ["routes=town05", "traffic=v2xverse_1"] if paper else []
    settings = composed(f"study={study}", "system=[oracle,ideal_late]", *ours)
    refuse_misshapen(settings)
    assert list(settings["system"]) == ["oracle", "ideal_late"]


@pytest.mark.parametrize(
    ("study", "names"),
    by_study(paper_text=["bend", "again"], paper_code=["bend", "again"], recommended=["bend"]),
)
def test_routes_of_one_way(study: str, names: list[str], tmp_path: Path) -> None:
    folder = write_route(tmp_path, "bend", "again")
    files = [f"routes.{what}={folder / file}" for what, file in FILES.items()]
    planned = plan_campaign(composed(f"study={study}", "routes.only=null", *files))
    assert [assignment.route.name for assignment in planned.assignments] == names


FILES = {"file": "routes.xml", "hazards": "hazards.json"}


@pytest.mark.parametrize("study", ["paper_text", "paper_code"])
def test_papers_drive_routes_0_to_31_of_v2xverse(study: str) -> None:
    """Copies of V2Xverse's files; how a checkout is read is in test_checkout.py."""
    chosen = composed(f"study={study}")["routes"]
    assert chosen["only"] == list(range(32))
    assert chosen["repeats"]
    assert chosen["file"] == ROUTES_COPY
    assert chosen["hazards"] == SCENARIOS_COPY


@pytest.mark.parametrize(
    ("study", "seeds"), by_study(paper_text=[1], paper_code=[2000], recommended=[1, 2, 3])
)
def test_seeds(study: str, seeds: list[int], tmp_path: Path) -> None:
    folder = write_route(tmp_path)
    files = [f"routes.{what}={folder / file}" for what, file in FILES.items()]
    planned = plan_campaign(composed(f"study={study}", "routes.only=null", *files))
    assert sorted({key.seed for key in planned.attempts}) == seeds


@pytest.mark.parametrize(
    ("study", "lights"), by_study(paper_text="green", paper_code="green", recommended="working")
)
def test_lights(studies: dict[str, CampaignSettings], study: str, lights: str) -> None:
    assert studies[study]["lights"] == lights


@pytest.mark.parametrize("study", STUDIES)
def test_the_first_violation_ends_the_drive(
    studies: dict[str, CampaignSettings], study: str
) -> None:
    driven = drive(studies[study], contacts=(ReportedCollision(7, "vehicle.a.b", 5.0),))
    assert driven.ended
    assert driven.completion == pytest.approx(0.4, abs=0.01)
    marks = score(driven, build_part(studies[study]["scoring"], "scoring"))
    assert marks.driving_score == pytest.approx(100 * driven.completion * 0.6)


@pytest.mark.parametrize(
    ("study", "seconds"), by_study(paper_text=180.0, paper_code=15.0, recommended=60.0)
)
def test_who_stands_is_blocked(
    studies: dict[str, CampaignSettings], study: str, seconds: float
) -> None:
    why, after = gave_up(studies[study], speed=0.05)
    assert why == "blocked"
    assert after == pytest.approx(seconds, abs=0.11)


@pytest.mark.parametrize(
    ("study", "why"), by_study(paper_text="timeout", paper_code="blocked", recommended="timeout")
)
def test_who_creeps_is_blocked_or_late(
    studies: dict[str, CampaignSettings], study: str, why: str
) -> None:
    assert gave_up(studies[study], speed=0.9)[0] == why


@pytest.mark.parametrize(
    ("study", "extra"), by_study(paper_text=5.0, paper_code=8.0, recommended=30.0)
)
def test_timeout(studies: dict[str, CampaignSettings], study: str, extra: float) -> None:
    why, after = gave_up(studies[study], speed=1.1)
    assert why == "timeout"
    assert after == pytest.approx(800 + extra, abs=0.11)


@pytest.mark.parametrize(
    ("study", "penalty"), by_study(paper_text=0.99, paper_code=0.80, recommended=0.99)
)
def test_off_the_road(studies: dict[str, CampaignSettings], study: str, penalty: float) -> None:
    driven = drive(studies[study], lane_distance=4.0)
    assert driven.violation
    assert driven.violation.kind == "off_road"
    marks = score(driven, build_part(studies[study]["scoring"], "scoring"))
    assert marks.penalty == pytest.approx(penalty)  # 0.4 of 40 m were outside


@pytest.mark.parametrize(
    ("study", "off_road"), by_study(paper_text=False, paper_code=True, recommended=False)
)
def test_a_metre_beyond_the_lane(
    studies: dict[str, CampaignSettings], study: str, off_road: bool
) -> None:
    driven = drive(studies[study], lane_distance=3.5 / 2 + 1.0)
    assert (driven.violation is not None) == off_road
