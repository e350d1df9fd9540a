"""From Hydra's configuration to plain settings, and from settings to the things they name.

A configuration may come from a stranger's `campaign.yaml`: `_target_` is followed only into the
packages that its group is listed with here, and nothing else in it is ever evaluated.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Literal, TypeVar, cast, overload

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import MissingMandatoryValue, OmegaConfBaseException

from harness.campaign.settings.declared import CampaignSettings, PartSettings
from harness.campaign.settings.fleets import with_fleets
from harness.campaign.settings.resolvers import pure_resolvers
from harness.campaign.settings.sweeps import with_sweeps
from harness.common.errors import UserError
from harness.common.installation import EXTRAS, format_missing_package
from harness.common.plugins import (
    describe_plugin_origin,
    list_installed_prefixes,
    list_plugin_packages,
)
from harness.records.arms import (
    ATTACK,
    BRAKES,
    COMPENSATE,
    COMPUTE,
    DEFAULT_BRAKES,
    DEFAULT_DRIVER,
    DEFENCE,
    DRIVER,
    IDEAL_LINK,
    LINK,
    MESSAGE_FORMAT,
    NATIVE_FORMAT,
    NONE,
)
from harness.types.record_names import IRRELEVANT_SETTINGS

T = TypeVar("T")

OURS: Mapping[str, str | tuple[str, ...]] = {
    "simulator": "harness.world.simulators.",
    "executor": "harness.campaign.running.executors.",
    "system": "agents.",
    "cooperation": "harness.world.partners.",
    "reference": "harness.world.partners.",
    "traffic": "harness.world.traffic.",
    "rig": ("harness.world.rig.", "harness.world.cameras."),
    "driving": "harness.evaluation.",
    "scoring": "harness.evaluation.",
    "patterns": "harness.evaluation.",
    "windows": "harness.evaluation.",
    "channel": "harness.channel.",
    "interference": ("harness.channel.", "harness.world.changes."),
    "metrics": "harness.evaluation.metrics.",
    "intervention": "harness.evaluation.interventions.",
    "driver": "agents.driving.",
    "link": "harness.channel.links.",
    "message_format": "harness.channel.messages.",
    "attack": "harness.channel.attacks.",
    "defence": "harness.channel.defences.",
    "compensate": "harness.channel.compensation.",
    "compute": "harness.channel.computing.",
    "brakes": "harness.world.brakes.",
    "partners": "agents.",
    "routes": ("harness.world.routes.sources.", "harness.world.routes.scenario_sets."),
    "export": "harness.campaign.exports.",
}
"""The packages whose classes each group may name; reading a campaign folder builds some of them."""
THEIRS = list_plugin_packages()
"""Packages that the user allows for all groups by the environment; no configuration can add any."""
INTERVENTION: Literal["intervention"] = "intervention"
"""The group and the factor of arms; absent from settings that name none."""
REPEATABLE: Literal["repeatable"] = "repeatable"
"""Whether networks compute with kernels that all processors share; absent where they do not."""
LATER_SETTINGS: Mapping[str, Mapping[str, Mapping[str, object]]] = {
    "cooperation": {"harness.world.partners.Cooperation": {"intentions": False}},
    MESSAGE_FORMAT: {
        "harness.channel.messages.collective_perception.CpmFormat": {
            "largest": 1100,
            "cams": False,
            "denms": False,
        },
    },
    ATTACK: {
        f"harness.channel.attacks.{named}Attack": {"egos": None}
        for named in (
            "ghost.Ghost",
            "hidden.Removal",
            "hidden.Shift",
            "perturbation.Perturbation",
            "replay.Replay",
            "sybil.Sybil",
            "wrong_pose.WrongPose",
        )
    },
    COMPUTE: {
        "harness.channel.computing.declared.DeclaredTime": {"busy": "parallel"},
        "harness.channel.computing.measured.MeasuredTime": {"busy": "parallel"},
    },
    "routes": {
        "harness.world.routes.scenario_sets.InterDriveRoutes": {"driven": "one"},
        "harness.world.routes.scenario_sets.MDriveRoutes": {"driven": "one"},
    },
}
"""By group and class: settings that came later, at their defaults. Settings without them mean the
same, so that folders from before keep their digests."""
INPUTS = "inputs"
"""What a campaign adds to its settings: the digests of the files that it reads."""


def resolve_settings(config: DictConfig) -> CampaignSettings:
    """Resolve interpolations and sweeps; the result is nothing but names, numbers and lists."""
    try:
        with pure_resolvers():
            settings = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    except MissingMandatoryValue as problem:
        key = problem.full_key
        raise UserError(f"configuration: {key} is not set; write {key}=VALUE") from None
    except OmegaConfBaseException as problem:
        raise UserError(f"configuration: {format_one_line(problem)}") from None
    assert isinstance(settings, dict)
    check_settings(settings)
    whole = with_fleets(with_sweeps({str(name): value for name, value in settings.items()}))
    if not whole.get(INTERVENTION, True):
        del whole[INTERVENTION]
    # folders of campaigns under the default driver alone do not name it
    if whole.get(DRIVER, True) in ({}, {DEFAULT_DRIVER: None}):
        del whole[DRIVER]
    # the same for the ideal link
    if whole.get(LINK, True) in ({}, {IDEAL_LINK: None}):
        del whole[LINK]
    # and for messages as systems share them
    if whole.get(MESSAGE_FORMAT, True) in ({}, {NATIVE_FORMAT: None}):
        del whole[MESSAGE_FORMAT]
    # and for the simulator's brakes
    if whole.get(BRAKES, True) in ({}, {DEFAULT_BRAKES: None}):
        del whole[BRAKES]
    # and for honest partners whose messages nothing judges or moves, and where nothing takes time
    for group in (ATTACK, DEFENCE, COMPENSATE, COMPUTE):
        if whole.get(group, True) in ({}, {NONE: None}):
            del whole[group]
    # and for what later versions can set, and these settings do not
    for later, classes in LATER_SETTINGS.items():
        if isinstance(named := whole.get(later), dict):
            whole[later] = {name: drop_defaults(part, classes) for name, part in named.items()}
    # and for networks that compute as fast as the processor can
    if whole.get(REPEATABLE, True) is False:
        del whole[REPEATABLE]
    # and for campaigns that keep no pictures
    if isinstance(record := whole.get("record"), dict) and not record.get("pictures", True):
        whole["record"] = {name: value for name, value in record.items() if name != "pictures"}
    return cast("CampaignSettings", whole)


def drop_defaults(part: Any, classes: Mapping[str, Mapping[str, object]]) -> Any:
    """Return the settings of a class without those that stand at their defaults.

    Args:
        part: settings with `_target_`; others are returned as they are.
        classes: the defaults that are dropped, by class.
    """
    if not isinstance(part, dict):
        return part
    defaults = classes.get(str(part.get("_target_")), {})
    return {
        name: value
        for name, value in part.items()
        if name not in defaults or defaults[name] != value
    }


def check_settings(value: Any, place: str = "") -> None:
    """Refuse numbers that are not finite, and targets outside the listed packages."""
    if isinstance(value, dict):
        if "_target_" in value:
            find_class(value["_target_"], place or "the top")
        for name, inner in value.items():
            check_settings(inner, f"{place}.{name}" if place else str(name))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            check_settings(inner, f"{place}[{number}]")
    elif isinstance(value, float) and not math.isfinite(value):
        raise UserError(f"configuration: {place} = {value}: must be finite")


def find_class(target: Any, place: str) -> type[Any]:
    """Return the class that a `_target_` names, if its group may name it.

    Args:
        target: `module.Class`, from settings.
        place: of the setting, for the message.

    Raises:
        UserError: no such class, or one of a package that is not listed.
    """
    refused = f"configuration: {place} names {target!r}"
    packages = list_allowed_packages(place)
    if not str(target).startswith(packages):
        # entry points are read for classes of others alone: it takes some milliseconds
        packages = (*packages, *list_installed_prefixes())
    if not str(target).startswith(packages) or ".__main__." in str(target):
        known = " and ".join(package + "*" for package in packages) or "nothing"
        raise UserError(
            f"{refused}; only {known} may be named by _target_ there"
            f"{describe_plugin_origin(str(target))}"
        )
    # importing runs the module: only packages that are listed
    module, _, name = target.rpartition(".")
    try:
        named = getattr(import_module(module), name)
    except ModuleNotFoundError as problem:
        raise UserError(f"{refused}: {describe_missing_package(problem)}") from None
    except Exception as problem:
        raise UserError(f"{refused}: {format_one_line(problem)}") from None
    if not isinstance(named, type) or not f"{named.__module__}.".startswith(packages):
        raise UserError(f"{refused}, which is no class of ours")
    return named


def is_of_user(target: object) -> bool:
    """Return whether a `_target_` lies in a package that the user has named."""
    return str(target).startswith(THEIRS)


def list_allowed_packages(place: str) -> tuple[str, ...]:
    """Return the packages whose classes may be named in a place of the configuration."""
    ours = OURS.get(place.partition(".")[0])
    if ours is None:
        return THEIRS
    return (*((ours,) if isinstance(ours, str) else ours), *THEIRS)


@overload
def build_part(settings: PartSettings[T], place: str, **more: Any) -> T: ...
@overload
def build_part(settings: object, place: str, **more: Any) -> Any: ...
def build_part(settings: Any, place: str, **more: Any) -> Any:
    """Return what `_target_` names, built with the settings next to it.

    Args:
        settings: a mapping with `_target_`, the full name of a class, and its arguments.
        place: where in the configuration, for messages.
        more: further arguments, made here rather than in files.

    Returns:
        An object of that class.

    Raises:
        UserError: no such class, or it refuses its arguments.
    """
    check_settings(settings, place)
    try:
        return build_nested_parts(settings, place, **more)
    except UserError:
        raise
    except Exception as problem:  # any error that a class raises for its arguments
        raise UserError(f"configuration: {place}: {format_one_line(problem)}") from None


def build_typed_part(part: object, place: str, kind: type[Any], noun: str) -> Any:
    """Return what the settings in a place make, if it is of a kind.

    Args:
        part: settings with `_target_`.
        place: where in the configuration, for messages.
        kind: the class that is needed.
        noun: what it is, with its article, for messages.

    Raises:
        UserError: nothing is named, or something of another kind.
    """
    if not isinstance(part, dict) or "_target_" not in part:
        raise UserError(f"configuration: {place} needs the _target_ of {noun}")
    made = build_part(part, place)
    if not isinstance(made, kind):
        raise UserError(f"configuration: {place}: {part['_target_']} is not a {kind.__name__}")
    return made


def build_nested_parts(value: Any, place: str, **more: Any) -> Any:
    """Return settings with an object wherever they name a class.

    Hydra would do that too, and look into text for `${...}`, which may hold further targets.
    """
    if isinstance(value, list):
        return [build_nested_parts(inner, place) for inner in value]
    if not isinstance(value, dict):
        return value
    parts = {
        name: build_nested_parts(inner, place)
        for name, inner in value.items()
        if name != "_target_"
    }
    return find_class(value["_target_"], place)(**parts, **more) if "_target_" in value else parts


def hash_settings(settings: Mapping[str, object]) -> str:
    """Return eight characters that change with anything that changes results."""
    meaning = {
        name: setting for name, setting in settings.items() if name not in IRRELEVANT_SETTINGS
    }
    text = json.dumps(meaning, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def describe_missing_package(problem: ModuleNotFoundError) -> str:
    """Return what is missing, and which extra has it if one of ours does."""
    name = (problem.name or "").partition(".")[0]
    return (
        format_missing_package(name, EXTRAS[name]) if name in EXTRAS else format_one_line(problem)
    )


def format_one_line(problem: BaseException) -> str:
    """Return the message of an exception on one line."""
    return " ".join(str(problem).split()) or type(problem).__name__
