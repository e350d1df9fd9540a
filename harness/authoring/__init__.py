"""The towns of our own, drawn from plans; `python -m harness.authoring build` writes them."""

from __future__ import annotations

from harness.authoring import crucible05, hill, old, ring
from harness.authoring.build import build
from harness.authoring.plan import Control, Plan
from harness.authoring.writing import to_text
from harness.carlite.towns import loading

__all__ = ["DATA", "PLANS", "Control", "Plan", "opendrive"]

PLANS: dict[str, Plan] = {town.PLAN.name: town.PLAN for town in (crucible05, old, ring, hill)}
DATA = loading.SHIPPED_TOWNS


def opendrive(name: str) -> str:
    """Draw one of our towns: its OpenDRIVE text, the same bytes everywhere."""
    return to_text(build(PLANS[name]))
