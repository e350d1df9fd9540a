"""Validates settings before anything is run or written; errors are one line."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, get_type_hints

from harness.campaign.exports.exporting import build_exports
from harness.campaign.settings.attacks import build_attacks
from harness.campaign.settings.brakes import build_all_brakes
from harness.campaign.settings.compensations import build_compensations
from harness.campaign.settings.computing import build_computing_times
from harness.campaign.settings.conditions import build_condition_part
from harness.campaign.settings.config import INPUTS, INTERVENTION, build_part, find_class
from harness.campaign.settings.declared import CampaignSettings
from harness.campaign.settings.defences import build_defences
from harness.campaign.settings.drivers import build_drivers
from harness.campaign.settings.fleets import FLEETS, SYSTEMS
from harness.campaign.settings.interventions import build_interventions
from harness.campaign.settings.links import build_links
from harness.campaign.settings.message_formats import build_message_formats
from harness.campaign.settings.metrics import build_metrics
from harness.campaign.settings.repeatable import refuse_unrepeatable
from harness.campaign.settings.trust import iter_targets
from harness.campaign.settings.type_checks import find_type_mistakes
from harness.channel.disturbance import Disturbance
from harness.common.errors import UserError
from harness.common.field_notes import read_class_comments
from harness.common.suggestions import describe_unknown_name
from harness.records.arms import (
    ATTACK,
    BRAKES,
    COMPENSATE,
    COMPUTE,
    DEFENCE,
    DRIVER,
    LINK,
    MESSAGE_FORMAT,
    PARTNER_FLEET,
)
from harness.world.partners import Cooperation
from harness.world.session import LONGEST_TICK
from harness.world.traffic import Traffic

MADE_HERE = (
    "simulator",
    "reference",
    "traffic",
    "rig",
    "driving",
    "scoring",
    "patterns",
    "windows",
)
"""What is made once for its own checks; systems are not, they may have networks to load."""
COLLECTED = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
"""Parameters that stand for any number of others."""
POSITIVE = ("attempts_per_route", "attempt_timeout", "perceive_every")


def refuse_misshapen(settings: CampaignSettings) -> None:
    """Check every setting, as far as that is possible without running."""
    # types and ranges of single settings
    given = {name: value for name, value in settings.items() if name != INPUTS}
    absent: dict[str, Any] = {
        name: {}
        for name in (
            *(INTERVENTION, DRIVER, LINK, MESSAGE_FORMAT),
            *(ATTACK, DEFENCE, COMPENSATE, BRAKES, COMPUTE),
        )
    }
    absent[PARTNER_FLEET] = {FLEETS: {}, SYSTEMS: {}}
    chosen: dict[str, Any] = {**absent, **given}
    for mistake in find_type_mistakes(chosen, CampaignSettings, ""):
        raise UserError(f"configuration: {mistake}")
    for name in POSITIVE:
        if chosen[name] <= 0:
            raise UserError(f"configuration: {name} = {chosen[name]}: must be > 0")
    refuse_tick(settings["tick"])
    refuse_unrepeatable(settings)
    # parts: first whether their classes take the arguments, then by making them
    for place, part in iter_targets(settings, ""):
        refuse_misfit(place, part)
    made_here = {name: build_part(chosen[name], name) for name in MADE_HERE}
    build_metrics(settings)
    build_interventions(settings)
    build_drivers(settings)
    build_links(settings)
    build_message_formats(settings)
    build_attacks(settings)
    build_defences(settings)
    build_compensations(settings)
    build_computing_times(settings)
    build_all_brakes(settings)
    build_exports(settings["export"])
    # what must fit another part
    for name, part in settings["cooperation"].items():
        refuse_unconnected(name, build_part(part, f"cooperation.{name}"), made_here["traffic"])
    for name, parts in settings["interference"].items():
        made = [build_condition_part(part, f"interference.{name}") for part in parts]
        disturbances = [one for one in made if isinstance(one, Disturbance)]
        build_part(settings["channel"], f"interference.{name}", disturbances=disturbances)


def refuse_tick(seconds: float) -> None:
    """Refuse a tick that physics cannot follow: often it is meant in milliseconds."""
    if not 0 < seconds <= LONGEST_TICK:
        raise UserError(
            f"configuration: tick = {seconds:g} s: must be > 0 and ≤ {LONGEST_TICK:g} s, the"
            " longest that CARLA's physics moves in one tick (50 ms is tick=0.05)"
        )


def refuse_unconnected(name: str, cooperation: Cooperation, traffic: Traffic) -> None:
    """Refuse connected vehicles where there is no vehicle to connect."""
    if cooperation.connected and not traffic.vehicles:
        raise UserError(
            f"configuration: cooperation.{name}.connected = {cooperation.connected}, and"
            " traffic.vehicles = 0: connected vehicles are background vehicles; choose another"
            f" traffic, or cooperation.{name}.connected=0"
        )


def refuse_misfit(place: str, part: Mapping[str, Any]) -> None:
    """Compare settings with the parameters of what they name.

    Args:
        place: of the part in the settings, dotted.
        part: settings with `_target_`.

    Raises:
        UserError: an unknown key, a missing one, or a value of another type.
    """
    given = {name: value for name, value in part.items() if name != "_target_"}
    named = find_class(part["_target_"], place)
    parameters = inspect.signature(named).parameters.values()
    # parameters of the class that is named
    known = {
        parameter.name: parameter for parameter in parameters if parameter.kind not in COLLECTED
    }
    takes_all = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters)
    hints = load_type_hints(named)
    # unknown keys and wrong types, then what is missing
    for name, value in given.items():
        if name not in known and not takes_all:
            raise UserError(f"configuration: {place}: {describe_unknown_name('key', name, known)}")
        for mistake in find_type_mistakes(value, hints.get(name, Any), f"{place}.{name}"):
            raise UserError(
                f"configuration: {mistake}{format_setting_note(read_class_comments(named), name)}"
            )
    missing = [
        name
        for name, parameter in known.items()
        if parameter.default is inspect.Parameter.empty and name not in given
    ]
    if missing:
        raise UserError(f"configuration: {place} needs {', '.join(missing)}")


def format_setting_note(notes: Mapping[str, str], name: str) -> str:
    """Return what a setting means, to stand behind what is needed."""
    return f" ({notes[name]})" if name in notes else ""


def load_type_hints(named: type[Any]) -> dict[str, Any]:
    """Return the types that a class declares, unless only type checkers can look them up."""
    try:
        return get_type_hints(named.__init__)
    except (NameError, SyntaxError, TypeError, AttributeError):
        return {}
