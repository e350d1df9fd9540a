"""Systems by name: those of `conf/system`, or a class of the user's own packages."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import yaml

from harness.campaign.settings.config import build
from harness.errors import UserError
from harness.installation import CONF
from harness.suggestions import unknown
from harness.vocabulary import is_privileged
from metamorphic.answers import Perceiving

FOLDER = CONF / "system"


def system_named(name: str) -> Perceiving:
    """Return a system: a shipped one, or `package.module:Class` with the class's own defaults."""
    made = build(settings_of(name), f"system.{name}")
    if not callable(getattr(made, "perceive", None)) or is_privileged(made):
        raise UserError(
            f"{name}: cannot be asked without driving: its class has no"
            " perceive(observation, messages)"
        )
    return cast(Perceiving, made)


def settings_of(name: str) -> dict[str, object]:
    """Return the settings of a system; `NAME=FILE` is a shipped one with other weights."""
    shipped, _, weights = name.partition("=")
    if weights:
        if not Path(weights).is_file():
            raise UserError(f"{name}: no such file of weights: {weights}")
        return {**settings_of(shipped), "weights": weights}
    if ":" in name:
        return {"_target_": name.replace(":", ".")}
    names = sorted(path.stem for path in FOLDER.glob("*.yaml"))
    if name not in names:
        raise UserError(unknown("system", name, names))
    settings: dict[str, object] = yaml.safe_load((FOLDER / f"{name}.yaml").read_text())[name]
    return settings
