"""The files of a V2Xverse agent: its configuration, and the checkpoints that it names.

Published configurations name paths that a checkout does not have: the folder of V2Xverse's model
hub is `codriving/perception` and `codriving/planning`, its agents look for `codriving/planner`, and
one of them leaves `perception` out. So a path that leads nowhere is looked for where the hub's
folder has it, and what is still missing is refused in one line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents.perception.checkpoint_files import find_newest_weights
from agents.perception.published_settings import read_settings
from agents.v2xverse.child.stack import refuse_disturbing
from harness.common.errors import UserError

PERCEPTION, PLANNING = "perception", ("planning", "planner")
"""Folders of a checkpoint; the hub's folder and V2Xverse's agents name the second differently."""

NEEDED_KEYS = {
    "control": ("max_speed", "target_point_distance"),
    "simulation": ("skip_frames",),
    "perception": ("perception_model_dir", "detection_range"),
    "planning": ("planner_config", "planner_model_checkpoint"),
}
"""What V2Xverse's own agent (`pnp_agent_e2e.py`) reads; other agents' files have none of it."""

REQUIRED_VALUES = {
    ("simulation", "ego_num"): (1, "one vehicle is driven here"),
    ("simulation", "skip_frames"): (4, "it is asked at every planning step, every fourth tick"),
    ("perception", "use_semantic"): (False, "semantic cameras are not passed to it"),
}
"""Settings of an agent that only have effect where they have this value."""

WHERE = (
    "get V2Xverse's folder codriving (perception/ and planning/) from"
    " https://huggingface.co/gjliu/v2xverse and set checkpoint=FOLDER"
)


@dataclass(frozen=True, slots=True)
class AgentFiles:
    """What one agent reads."""

    config: Path
    perception: Path  # folder
    planner_config: Path
    planner: Path

    def all_files(self) -> list[Path]:
        """Return every file that decides how it drives."""
        perception = [self.perception / "config.yaml", find_newest_weights(self.perception)]
        return [self.config, *perception, self.planner_config, self.planner]


def find_agent_files(root: Path, config: Path, checkpoint: str | None) -> AgentFiles:
    """Return the files of an agent; one line says what is missing or cannot be followed.

    Args:
        root: the checkout, from which paths of the configuration start.
        config: the agent's configuration.
        checkpoint: a folder that takes the place of the configuration's own paths, or None.
    """
    settings = read_settings(config)
    refuse_other_agents(settings, config)
    # paths of the configuration, or one folder for both
    if checkpoint is None:
        perception = root / str(settings["perception"]["perception_model_dir"])
        planner = root / str(settings["planning"]["planner_model_checkpoint"])
    else:
        perception = planner = Path(checkpoint).expanduser().absolute()
    files = AgentFiles(
        config=config,
        perception=find_perception(perception),
        planner_config=root / str(settings["planning"]["planner_config"]),
        planner=find_planner(planner),
    )
    if not files.planner_config.is_file():
        raise UserError(
            f"{config}: planning.planner_config: file not found: {files.planner_config}"
        )
    # what disturbs by itself would disturb twice
    try:
        refuse_disturbing(settings, read_settings(files.perception / "config.yaml"))
    except ValueError as problem:
        raise UserError(f"system: {problem}") from None
    find_newest_weights(files.perception)
    return files


def refuse_other_agents(settings: Mapping[str, Any], config: Path) -> None:
    """Refuse the configuration of another agent, and settings that could have no effect here."""
    for section, names in NEEDED_KEYS.items():
        given = settings.get(section)
        for name in names:
            if not isinstance(given, dict) or name not in given:
                raise UserError(
                    f"{config}: there is no {section}.{name}: not a configuration of V2Xverse's"
                    " pnp_agent_e2e.py, which is the agent that system=v2xverse drives"
                )
    for (section, name), (value, why) in REQUIRED_VALUES.items():
        given = settings[section].get(name, value)
        if given != value:
            raise UserError(f"{config}: {section}.{name} is {given!r}, not {value!r}: {why}")


def find_perception(place: Path) -> Path:
    """Return the folder with a perception network: the place itself, or inside of it."""
    for folder in (place, place / PERCEPTION):
        if (folder / "config.yaml").is_file():
            return folder
    raise UserError(f"system: no perception checkpoint (config.yaml) in {place}; {WHERE}")


def find_planner(place: Path) -> Path:
    """Return the planner's file: the place itself, or in or next to its folders."""
    if place.is_file():
        return place
    named_file = place.suffix == ".ckpt"  # a path of an agent's configuration that leads nowhere
    around = [place.parent.parent] if named_file else [place, place.parent]
    for outer in around:
        for name in PLANNING:
            planners = sorted((outer / name).glob("*.ckpt"))
            if len(planners) > 1:
                names = ", ".join(path.name for path in planners)
                raise UserError(f"system: {outer / name} has {len(planners)} planners: {names}")
            if planners:
                return planners[0]
    raise UserError(
        f"system: no planner checkpoint (planning/*.ckpt or planner/*.ckpt) in {around[0]}; {WHERE}"
    )
