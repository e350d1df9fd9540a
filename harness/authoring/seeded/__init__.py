"""Towns from a seed: `town(seed)` samples what is not given and writes the OpenDRIVE text."""

from __future__ import annotations

from harness.authoring.build import build_document
from harness.authoring.seeded.names import DEVELOPMENT_SEEDS, format_development_name
from harness.authoring.seeded.parameters import TownParameters, sample_town_parameters
from harness.authoring.seeded.plans import make_town_plan
from harness.authoring.writing import format_opendrive

__all__ = [
    "DEVELOPMENT_SEEDS",
    "TownParameters",
    "format_development_name",
    "make_town_plan",
    "sample_town_parameters",
    "write_seeded_opendrive",
]


def write_seeded_opendrive(seed: int, name: str, parameters: TownParameters) -> str:
    """Return the OpenDRIVE text of a town; ValueError says why the seed gives none."""
    return format_opendrive(build_document(make_town_plan(seed, name, parameters)))
