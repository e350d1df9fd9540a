"""The towns of our own, drawn from plans; `python -m harness.carlite.towns build` writes them."""

from __future__ import annotations

from pathlib import Path

from harness.carlite.towns.authoring import crucible05, hill, old, ring
from harness.carlite.towns.authoring.build import build
from harness.carlite.towns.authoring.plan import Control, Plan
from harness.carlite.towns.authoring.writing import to_text

__all__ = ["DATA", "PLANS", "Control", "Plan", "opendrive"]

PLANS: dict[str, Plan] = {town.PLAN.name: town.PLAN for town in (crucible05, old, ring, hill)}
DATA = Path(__file__).parent.parent / "data"


def opendrive(name: str) -> str:
    """Draw one of our towns: its OpenDRIVE text, the same bytes everywhere."""
    return to_text(build(PLANS[name]))
