"""`export_dataset`: scenarios into a folder in another layout, scenario by scenario.

A scenario is written into a hidden folder that is renamed when it is whole; the same command again
writes what is missing.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from harness.common.errors import UserError
from harness.common.progress_bar import track_items
from harness.common.recordings import PROTOCOL, AgentLook, RecordedScenario
from harness.datasets.opening import open_recordings
from harness.datasets.opv2v_reading import read_opv2v_protocol
from harness.datasets.opv2v_writing import EXTRA_KEY, write_opv2v_look
from harness.datasets.scene_frames import AgentTrack

WriteScenario = Callable[[RecordedScenario, Path], int]
NO_POINTS = np.zeros((0, 4), np.float32)
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
        track_of_agent = read_agent_track(scenario, agent, moments)
        for number, moment in enumerate(moments):
            write_opv2v_look(
                place / moment,
                scenario.read_look(agent, moment),
                track_of_agent,
                number=number,
                cooperating=agents,
            )
            written += 1
    return written


LAYOUTS: dict[str, WriteScenario] = {
    "opv2v": write_opv2v_scenario,
    "v2xset": write_opv2v_scenario,
}
"""What writes a scenario in each layout; those of V2XSet and OPV2V are the same."""


def read_agent_track(scenario: RecordedScenario, agent: int, moments: Sequence[str]) -> AgentTrack:
    """Return an agent's looks without their points, which would fill the memory."""
    looks: Iterable[AgentLook] = (scenario.read_look(agent, moment) for moment in moments)
    return AgentTrack(tuple(replace(look, points_in_lidar=NO_POINTS) for look in looks))


def export_dataset(source: Path, folder: Path, layout: str) -> str:
    """Write what is missing of a dataset; return a line on what is there.

    Args:
        source: folder of recordings.
        folder: of the dataset; scenarios that it has are left as they are.
        layout: one of `LAYOUTS`.
    """
    scenarios = open_recordings(source)
    wanted = {scenario.folder.name: make_protocol(scenario, layout) for scenario in scenarios}
    if len(wanted) != len(scenarios):
        raise UserError(f"{source}: two scenarios have one name")
    refuse_export_place(source, folder, wanted)
    missing = [one for one in scenarios if not (folder / one.folder.name).exists()]
    folder.mkdir(parents=True, exist_ok=True)
    written = 0
    for scenario in track_items(missing, "scenarios"):
        written += publish_scenario(scenario, folder, wanted[scenario.folder.name], layout)
    there = len(scenarios) - len(missing)
    return f"{folder}: {len(missing)} scenarios written with {written} sweeps, {there} were there"


def publish_scenario(
    scenario: RecordedScenario, folder: Path, protocol: dict[str, Any], layout: str
) -> int:
    """Write a scenario into a hidden folder, and let it appear when it is whole."""
    partial = folder / f".{scenario.folder.name}"
    if partial.exists():  # of a command that was ended
        shutil.rmtree(partial)
    partial.mkdir()
    try:
        written = LAYOUTS[layout](scenario, partial)
        (partial / PROTOCOL).write_text(yaml.safe_dump({EXTRA_KEY: protocol}))
        partial.rename(folder / scenario.folder.name)
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
    }


def refuse_export_place(source: Path, folder: Path, wanted: dict[str, dict[str, Any]]) -> None:
    """Refuse a folder that holds other scenarios, or whose names HEAL would change."""
    inside = folder.resolve()
    if inside == source.resolve() or inside.is_relative_to(source.resolve()):
        raise UserError(f"{folder}: lies in the source; name another folder")
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder}: not a folder")
    for name, protocol in wanted.items():
        if word := UNSAFE_WORDS.search(name):
            raise UserError(f"scenario {name}: HEAL replaces {word[0]!r} in paths; rename it")
        if (folder / name).exists() and read_opv2v_protocol(folder / name) != protocol:
            raise UserError(f"{folder / name}: another scenario of this name; name another folder")
