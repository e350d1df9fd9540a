"""The towns of our own, drawn from plans; `python -m harness.carlite.towns build` writes them."""

from __future__ import annotations

from pathlib import Path

from harness.carlite.towns.authoring import crucible05
from harness.carlite.towns.authoring.build import build
from harness.carlite.towns.authoring.document import to_text
from harness.carlite.towns.authoring.plan import Plan

PLANS: dict[str, Plan] = {plan.name: plan for plan in (crucible05.PLAN,)}
DATA = Path(__file__).parent.parent / "data"


def opendrive(name: str) -> str:
    """Draw one of our towns: its OpenDRIVE text, the same bytes everywhere."""
    return to_text(build(PLANS[name]))
