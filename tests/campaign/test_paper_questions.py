"""The studies of the paper's first two questions are planned as pairs on its routes."""

from __future__ import annotations

from collections import Counter

import pytest

from harness.campaign.planning.plan import CampaignPlan, plan_campaign
from tests.campaign.tiny import composed

COOPERATIVE = ("late", "attfuse", "disconet", "fcooper", "v2xvit")
ROUTES = 32


def plan_study(name: str) -> CampaignPlan:
    return plan_campaign(composed(f"study={name}"))


def test_vehicles_and_roadside_units_are_partners_on_the_same_routes() -> None:
    met = Counter(str(key.arm) for key in plan_study("paper_rq2").attempts)
    assert met == {
        "single/none/none": ROUTES,
        **{
            f"{system}/{partner}/{condition}": ROUTES
            for system in ("early", *COOPERATIVE)
            for partner in ("paper_v2v", "paper_v2i")
            for condition in ("none", "latency")
        },
    }


@pytest.mark.thorough
def test_lidars_cameras_and_mixed_agents_drive_the_same_routes() -> None:
    met = Counter(str(key.arm) for key in plan_study("paper_rq1").attempts)
    sharing = [
        "early", *COOPERATIVE,
        *(f"{senses}_{scheme}" for senses in ("camera", "mixed") for scheme in COOPERATIVE),
    ]  # fmt: skip
    assert met == {
        "single/none/none": ROUTES,
        "camera_single/none/none": ROUTES,
        **{
            f"{system}/paper_text/{condition}": ROUTES
            for system in sharing
            for condition in ("none", "latency")
        },
    }
