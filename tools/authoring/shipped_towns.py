"""The towns of our own, drawn from plans; `python -m tools.authoring build` writes them."""

from __future__ import annotations

from harness.authoring.build import build_document
from harness.authoring.plan import JunctionControl, TownPlan
from harness.authoring.writing import format_opendrive
from harness.carlite.towns import loading
from tools.authoring import crucible05, hill, old, ring

__all__ = ["DATA", "PLANS", "JunctionControl", "TownPlan", "write_town_opendrive"]

PLANS: dict[str, TownPlan] = {town.PLAN.name: town.PLAN for town in (crucible05, old, ring, hill)}
DATA = loading.SHIPPED_TOWNS


def write_town_opendrive(name: str) -> str:
    """Draw one of our towns: its OpenDRIVE text, the same bytes everywhere."""
    return format_opendrive(build_document(PLANS[name]))
