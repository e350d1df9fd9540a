"""`export_dataset`: scenarios into a folder in another layout, scenario by scenario.

A scenario is written into a hidden folder that is renamed when it is whole; the same command again
writes what is missing.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from harness.common.errors import UserError
from harness.common.progress_bar import track_items
from harness.common.recordings import PROTOCOL, RecordedScenario
from harness.datasets import mcap_writing, nuscenes_writing, v2xverse_writing
from harness.datasets.campaign_reading import is_campaign, open_campaign
from harness.datasets.layouts import DatasetLayout, place_by_name, read_agent_track
from harness.datasets.lidar_mounts import find_lidar_mounts
from harness.datasets.opening import open_recordings
from harness.datasets.opv2v_reading import read_opv2v_protocol
from harness.datasets.opv2v_writing import EXTRA_KEY, write_opv2v_look

UNSAFE_WORDS = re.compile("yaml|train|validate|test|additional|OPV2V")
"""What HEAL replaces in the path of a file, wherever it stands."""


def write_opv2v_scenario(scenario: RecordedScenario, folder: Path) -> int:
    """Write a scenario in OPV2V's layout; return the number of looks."""
    agents = scenario.list_agents()
    written = 0
    for agent in agents:
        place = folder / str(agent)
        place.mkdir()
        moments = scenario.list_moments(agent)
        track = read_agent_track(scenario, agent, moments, find_lidar_mounts(scenario))
        for number, moment in enumerate(moments):
            write_opv2v_look(
                place / moment,
                scenario.read_look(agent, moment),
                track,
                number=number,
                cooperating=agents,
                images=scenario.read_images(agent, moment),
                depths=scenario.read_depths(agent, moment),
            )
            written += 1
    return written


OPV2V = DatasetLayout(
    write_scenario=write_opv2v_scenario,
    place_scenario=place_by_name,
    forbidden=UNSAFE_WORDS,
    forbidden_because="HEAL replaces {word!r} in paths",
)
LAYOUTS: dict[str, DatasetLayout] = {
    "opv2v": OPV2V,
    "v2xset": OPV2V,
    "v2xverse": v2xverse_writing.LAYOUT,
    "nuscenes": nuscenes_writing.LAYOUT,
    "mcap": mcap_writing.LAYOUT,
}
"""Those of V2XSet and OPV2V are the same."""


def export_dataset(source: Path, folder: Path, layout: str, *, split: str | None = None) -> str:
    """Write what is missing of a dataset; return a line on what is there.

    Args:
        source: folder of recordings, or of a campaign that kept its sweeps.
        folder: of the dataset; scenarios that it has are left as they are.
        layout: one of `LAYOUTS`.
        split: `train`, `validate` or `test`, of layouts that have it; None: by the recordings.
    """
    scenarios = open_campaign(source) if is_campaign(source) else open_recordings(source)
    if split is not None:
        scenarios = [replace(scenario, purpose=SPLITS[split]) for scenario in scenarios]
    wanted = {scenario.folder.name: make_protocol(scenario, layout) for scenario in scenarios}
    if len(wanted) != len(scenarios):
        raise UserError(f"{source}: two scenarios have one name")
    refuse_export_place(source, folder, scenarios, layout)
    known = LAYOUTS[layout]
    missing = [one for one in scenarios if not (folder / known.place_scenario(one)).exists()]
    folder.mkdir(parents=True, exist_ok=True)
    written = 0
    for scenario in track_items(missing, "scenarios"):
        written += publish_scenario(scenario, folder, wanted[scenario.folder.name], layout)
    if known.write_index is not None:
        known.write_index(folder)
    there = len(scenarios) - len(missing)
    return f"{folder}: {len(missing)} scenarios written with {written} sweeps, {there} were there"


SPLITS = {"train": "training", "validate": "validation", "test": "testing"}
"""Purposes of scenarios, by the names that data sets have for them."""


def publish_scenario(
    scenario: RecordedScenario, folder: Path, protocol: dict[str, Any], layout: str
) -> int:
    """Write a scenario into a hidden folder, and let it appear when it is whole."""
    known = LAYOUTS[layout]
    place = folder / known.place_scenario(scenario)
    partial = folder / f".{scenario.folder.name}"
    if partial.exists():  # of a command that was ended
        shutil.rmtree(partial)
    partial.mkdir()
    try:
        written = known.write_scenario(scenario, partial)
        (partial / PROTOCOL).write_text(yaml.safe_dump({EXTRA_KEY: protocol}))
        place.parent.mkdir(parents=True, exist_ok=True)
        partial.rename(place)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return written


def make_protocol(scenario: RecordedScenario, layout: str) -> dict[str, Any]:
    """Return what a dataset's scenario says of how it was made."""
    return {
        "layout": layout,
        "town": scenario.town,
        "purpose": scenario.purpose,
        "seed": scenario.seed,
        "interval": scenario.interval,
        "egos": list(scenario.named_egos),
        "rig": scenario.rig,
    }


def refuse_export_place(
    source: Path, folder: Path, scenarios: list[RecordedScenario], layout: str
) -> None:
    """Refuse a folder that holds other scenarios, or whose names readers would change."""
    inside = folder.resolve()
    if inside == source.resolve() or inside.is_relative_to(source.resolve()):
        raise UserError(f"{folder}: lies in the source; name another folder")
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder}: not a folder")
    known = LAYOUTS[layout]
    for scenario in scenarios:
        name, place = scenario.folder.name, folder / known.place_scenario(scenario)
        if known.forbidden is not None and (word := known.forbidden.search(name)):
            why = known.forbidden_because.format(word=word[0])
            raise UserError(f"scenario {name}: {why}; rename it")
        if place.exists() and read_opv2v_protocol(place) != make_protocol(scenario, layout):
            raise UserError(f"{place}: another scenario of this name; name another folder")
