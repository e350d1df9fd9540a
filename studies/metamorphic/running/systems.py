"""Systems by name: those of `conf/system`, or a class of the user's own packages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import cast

import yaml

from harness.campaign.settings.config import build_part, find_class
from harness.common.errors import UserError
from harness.common.installation import CONF
from harness.common.suggestions import describe_unknown_name
from harness.types.systems import is_privileged
from studies.metamorphic.scenes.answers import AskableSystem
from studies.metamorphic.scenes.scene import SceneSource

FOLDER = CONF / "system"


def build_named_system(name: str) -> AskableSystem:
    """Return a system: a shipped one, or `package.module:Class` with the class's own defaults."""
    made = build_part(read_system_settings(name), f"system.{name}")
    if not callable(getattr(made, "perceive", None)) or is_privileged(made):
        raise UserError(
            f"{name}: cannot be asked without driving: its class has no"
            " perceive(observation, messages)"
        )
    return cast(AskableSystem, made)


def refuse_without_pictures(systems: Iterable[str], sources: Sequence[SceneSource]) -> None:
    """Refuse systems that read images where a scenario has none.

    Args:
        systems: names.
        sources: scenes that they are to be asked about.

    Raises:
        UserError: a scenario has no pictures.
    """
    settings = {name: dict(read_system_settings(name)) for name in systems}
    seeing = [
        name
        for name, given in settings.items()
        if getattr(find_class(str(given["_target_"]), f"system.{name}"), "reads_images", False)
    ]
    if not seeing:
        return
    for folder, source in {source.scenario.folder: source for source in sources}.items():
        if not source.scenario.read_images(source.ego, f"{source.moment:06}"):
            raise UserError(
                f"{folder}: has no pictures, and {seeing[0]} reads images; record some with"
                " `crucible collect --rig v2xverse_cameras`"
            )


def read_system_settings(name: str) -> dict[str, object]:
    """Return the settings of a system; `NAME=FILE` is a shipped one with other weights."""
    shipped, _, weights = name.partition("=")
    if weights:
        if not Path(weights).is_file():
            raise UserError(f"{name}: no such file of weights: {weights}")
        return {**read_system_settings(shipped), "weights": weights}
    if ":" in name:
        return {"_target_": name.replace(":", ".")}
    names = sorted(path.stem for path in FOLDER.glob("*.yaml"))
    if name not in names:
        raise UserError(describe_unknown_name("system", name, names))
    settings: dict[str, object] = yaml.safe_load((FOLDER / f"{name}.yaml").read_text())[name]
    return settings
