"""The towns of our own, drawn from plans; `python -m harness.authoring build` writes them."""

from __future__ import annotations

from harness.authoring import crucible05, hill, old, ring
from harness.authoring.build import build_document
from harness.authoring.plan import JunctionControl, TownPlan
from harness.authoring.writing import format_opendrive
from harness.carlite.towns import loading

__all__ = ["DATA", "PLANS", "JunctionControl", "TownPlan", "write_town_opendrive"]

PLANS: dict[str, TownPlan] = {town.PLAN.name: town.PLAN for town in (crucible05, old, ring, hill)}
DATA = loading.SHIPPED_TOWNS


def write_town_opendrive(name: str) -> str:
    """Draw one of our towns: its OpenDRIVE text, the same bytes everywhere."""
    return format_opendrive(build_document(PLANS[name]))
