"""Why a command line does not compose, in one line that names what is valid."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import yaml
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import (
    ConfigCompositionException,
    HydraException,
    MissingConfigException,
    OverrideParseException,
)
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from harness.campaign.settings.composing import TOP, compose_config
from harness.campaign.settings.config import find_class, format_one_line
from harness.campaign.settings.fleets import CHOICE_GROUP
from harness.campaign.settings.override_errors import (
    explain_unread_override,
    explain_unread_yaml,
)
from harness.campaign.settings.partner_choices import add_partner_choices
from harness.common.errors import UserError
from harness.common.installation import CONF
from harness.common.plugins import describe_plugin_origin
from harness.common.suggestions import describe_unknown_name

BLAMED = re.compile(r"Could not (?:override|delete(?: from config)?\.?) ?'([^']+)'")
"""How Hydra names the key that the configuration lacks."""
AMBIGUOUS = re.compile(r"Ambiguous value for argument '([^=']+)=([^']*)'")
"""How Hydra names a list without brackets."""
INCLUDER = re.compile(r"In '([^']+)'")
NO_NUMBER = "invalid literal for int()"
"""What OmegaConf raises for a word where the number of a list's item is needed."""
INTERNAL = ("_target_", "hydra")


def explain_composition_error(
    problem: Exception, overrides: Sequence[str], folders: Iterable[Path]
) -> str:
    """Return why overrides could not be composed: an unknown choice or key, or Hydra's reason.

    Args:
        problem: what Hydra or the YAML reader raised.
        overrides: words of the command line.
        folders: looked in before `conf`.

    Returns:
        One line.
    """
    if isinstance(problem, yaml.YAMLError):
        return explain_unread_yaml(problem)
    if ambiguous := AMBIGUOUS.search(str(problem)):
        key, values = ambiguous.groups()
        return f"{key}={values}: a list has brackets, {key}=[{values}]"
    if isinstance(problem, OverrideParseException):
        return explain_unread_override(problem.override, overrides)
    if isinstance(problem, MissingConfigException):
        return describe_unknown_choice(problem, (*folders, CONF)) or format_one_line(problem)
    return explain_unknown_name(problem, overrides) or format_one_line(problem)


def explain_unknown_name(problem: Exception, overrides: Sequence[str]) -> str:
    """Return which key of the overrides there is not; nothing if it is not about one."""
    if isinstance(problem, ValueError) and NO_NUMBER in str(problem):
        return describe_list_key(overrides)
    blamed = BLAMED.search(str(problem))
    if isinstance(problem, ConfigCompositionException) and blamed is not None:
        return describe_unknown_key(blamed[1].split("@")[0], overrides)
    return ""


def describe_unknown_choice(problem: MissingConfigException, folders: Iterable[Path]) -> str:
    """Return which choice of a group is unknown; nothing if the group is."""
    group, _, name = (problem.missing_cfg_file or "").rpartition("/")
    choices = sorted({file.stem for folder in folders for file in folder.glob(f"{group}/*.yaml")})
    if not group or not choices:
        return ""
    includer = INCLUDER.search(str(problem))
    where = f"{includer[1]}: " if includer and includer[1] != TOP else ""
    unknown = describe_unknown_name("choice", name, choices)
    return f"{where}{group}: {unknown}{describe_plugin_origin(name)}"


def describe_unknown_key(place: str, overrides: Sequence[str]) -> str:
    """Return which part of a dotted name is unknown, and what is valid there."""
    node: Any = compose_choices(overrides)
    path: list[str] = []
    for part in place.split("."):
        valid = [str(name) for name in node] if isinstance(node, DictConfig) else []
        if part not in valid:
            return describe_wrong_name(
                ".".join(path), part, valid, list_class_parameters(node, ".".join(path))
            )
        whole: Any = OmegaConf.to_container(node, resolve=False)
        below = whole[part]
        node = OmegaConf.create(below) if isinstance(below, dict) else below
        path.append(part)
    return ""


def describe_list_key(overrides: Sequence[str]) -> str:
    """Return which word of a command line has a name where a list needs the number of an item."""
    config = compose_choices(overrides)
    for word in overrides:
        place = word.partition("=")[0].lstrip("+~")
        node: Any = config
        path: list[str] = []
        for part in place.split("."):
            if isinstance(node, ListConfig) and not part.isdecimal():
                return describe_item_key(".".join(path), part, node)
            if not isinstance(node, ListConfig | DictConfig):
                break
            node = OmegaConf.select(node, part)
            path.append(part)
    return ""


def describe_item_key(place: str, name: str, items: ListConfig) -> str:
    """Return how a setting of a list's item is written, and which there are."""
    keys = dict.fromkeys(str(key) for item in items if isinstance(item, DictConfig) for key in item)
    valid = [key for key in keys if key not in INTERNAL]
    if name in valid:
        return f"{place} is a list; write {place}.0.{name}=... for its first item"
    return f"{place} is a list, and {place}.0 its first item; " + describe_unknown_name(
        "key", name, valid
    )


def describe_wrong_name(
    place: str, name: str, present: Sequence[str], parameters: Sequence[str]
) -> str:
    """Return one line about a name that a group lacks, or whose value is not in the files."""
    whole = f"{place}.{name}" if place else name
    if name in parameters:
        return f"{whole} has its default; write +{whole}=... to set it"
    if (CONF / place / f"{name}.yaml").is_file():
        return f"{whole} is not chosen; {place}={name} chooses it"
    valid = [key for key in dict.fromkeys((*present, *parameters)) if key not in INTERNAL]
    return (f"{place}: " if place else "") + describe_unknown_name("key", name, valid)


def list_class_parameters(node: Any, place: str) -> list[str]:
    """Return the parameters of the class that a group names."""
    if not isinstance(node, DictConfig) or "_target_" not in node:
        return []
    try:
        return list(inspect.signature(find_class(node["_target_"], place)).parameters)
    except (UserError, ValueError):
        return []


def compose_choices(overrides: Sequence[str]) -> DictConfig:
    """Return the configuration with the choices of a command line, but none of its values."""
    groups = {entry.name for entry in CONF.iterdir() if entry.is_dir()}
    parsed = OverridesParser.create().parse_overrides(list(overrides))
    chosen = [
        str(override.input_line)
        for override in parsed
        if override.key_or_group.split("@")[0] in groups
    ]
    # systems of partners, which other words choose
    words = add_partner_choices(overrides)
    chosen += [word for word in words if word.startswith(CHOICE_GROUP) and word not in chosen]
    try:
        return compose_config(chosen)
    except (HydraException, OmegaConfBaseException):
        return OmegaConf.create({})
