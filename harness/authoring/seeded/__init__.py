"""Towns from a seed: `town(seed)` samples what is not given and writes the OpenDRIVE text."""

from __future__ import annotations

from harness.authoring.build import build
from harness.authoring.seeded.names import DEVELOPMENT_SEEDS, development_name
from harness.authoring.seeded.parameters import Parameters, sampled
from harness.authoring.seeded.plans import plan
from harness.authoring.writing import to_text

__all__ = ["DEVELOPMENT_SEEDS", "Parameters", "development_name", "plan", "sampled", "text_of"]


def text_of(seed: int, name: str, parameters: Parameters) -> str:
    """Return the OpenDRIVE text of a town; ValueError says why the seed gives none."""
    return to_text(build(plan(seed, name, parameters)))
