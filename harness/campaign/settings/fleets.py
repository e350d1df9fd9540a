"""Fleets: which system each partner uses, from the words of the configuration.

`partners.system=[own,camera_late]` gives all partners a system, `partners.system.roadside=…` and
`partners.system.vehicle=…` those of one kind; several names are compared.
`partners.system.assignment` names a file in the form of HEAL's modality assignment, which gives
each agent of each scenario a modality, and `partners.system.modalities` says which system a
modality is.

The resolved settings name every fleet and hold what the file says, so that a campaign folder needs
no file besides. Where all partners use the ego's system, the settings have no group `partners`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, Literal

from harness.common.errors import UserError
from harness.common.files import expand_home
from harness.common.safe_reading import SETTINGS_FILE, read_json_within
from harness.common.suggestions import describe_unknown_name
from harness.records.arms import PARTNER_FLEET, SAME_SYSTEM

FLEETS, SYSTEMS = "fleets", "systems"
"""The two parts of the resolved group: fleets by name, and the settings of the systems in them."""
PARTNER_KINDS: tuple[Literal["roadside", "vehicle"], ...] = ("roadside", "vehicle")
"""The kinds of partners, which may use a system each."""
ALL, ASSIGNMENT, MODALITIES, AGENTS = "all", "assignment", "modalities", "agents"
CHOICE_GROUP = f"system@{PARTNER_FLEET}.{SYSTEMS}"
"""How Hydra puts files of `conf/system` at `partners.systems`."""
PLACE = f"{PARTNER_FLEET}.system"
"""The setting that names the systems of partners."""


def with_fleets(settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings with each fleet by name, in the place of the words that choose them.

    Args:
        settings: of the campaign; resolved ones are returned as they are.

    Raises:
        UserError: a fleet that cannot be made, or a file that cannot be read.
    """
    given = settings.get(PARTNER_FLEET)
    if given is None or (isinstance(given, dict) and FLEETS in given):
        return settings
    rest = {name: value for name, value in settings.items() if name != PARTNER_FLEET}
    if not isinstance(given, dict):
        raise make_fleet_error(f"= {given}: a system is named by {PLACE}=NAME", PARTNER_FLEET)
    if unknown := sorted(given.keys() - {"system", SYSTEMS}):
        valid = ("system", SYSTEMS)
        raise make_fleet_error(describe_unknown_name("key", unknown[0], valid), f"{PARTNER_FLEET}:")
    fleets = dict(iter_fleets(given.get("system")))
    if not any(fleets.values()):
        return rest
    known = {**(settings.get("system") or {}), **(given.get(SYSTEMS) or {})}
    used = dict.fromkeys(name for fleet in fleets.values() for name in list_fleet_systems(fleet))
    for name in used:
        if name not in known:
            raise make_fleet_error(
                f"names {name}, which has no settings: {CHOICE_GROUP}=[{name}] chooses them"
            )
    return {**rest, PARTNER_FLEET: {FLEETS: fleets, SYSTEMS: {name: known[name] for name in used}}}


def list_fleet_systems(fleet: Mapping[str, Any]) -> list[str]:
    """Return the systems of a fleet that its settings name, each once."""
    named = [fleet.get(kind) for kind in PARTNER_KINDS] + [*(fleet.get(MODALITIES) or {}).values()]
    return list(dict.fromkeys(name for name in named if name not in (None, SAME_SYSTEM)))


def iter_fleets(chosen: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the fleets that `partners.system` names, and what each consists of; `own` of nothing.

    Args:
        chosen: a system or several for all partners, or what each kind uses.
    """
    chosen = chosen if isinstance(chosen, dict) else {ALL: chosen}
    valid = (ALL, *PARTNER_KINDS, ASSIGNMENT, MODALITIES)
    if unknown := sorted(str(key) for key in chosen.keys() - {*valid}):
        raise make_fleet_error(describe_unknown_name("key", unknown[0], valid), f"{PLACE}:")
    choices = {
        key: list_choices(chosen.get(key), f"{PLACE}.{key}")
        for key in (ALL, *PARTNER_KINDS, ASSIGNMENT)
    }
    refuse_two_ways([key for key, words in choices.items() if words != [SAME_SYSTEM]])
    if choices[ASSIGNMENT] != [SAME_SYSTEM]:
        yield from iter_assigned_fleets(choices[ASSIGNMENT], chosen.get(MODALITIES))
        return
    if choices[ALL] != [SAME_SYSTEM]:
        for name in choices[ALL]:
            yield name, make_kind_fleet(dict.fromkeys(PARTNER_KINDS, name))
        return
    for names in product(*(choices[kind] for kind in PARTNER_KINDS)):
        fleet: dict[str, str] = dict(zip(PARTNER_KINDS, names, strict=True))
        yield name_kind_fleet(fleet), make_kind_fleet(fleet)


def refuse_two_ways(used: Sequence[str]) -> None:
    """Refuse settings of which each says alone which system partners use.

    Args:
        used: the keys that say something.
    """
    if len(used) > 1 and not {*used} <= {*PARTNER_KINDS}:
        raise make_fleet_error(
            f"and {PLACE}.{used[1]} both say which system partners use; leave one of them out",
            f"{PLACE}.{used[0]}",
        )


def list_choices(value: Any, place: str) -> list[str]:
    """Return the words of a setting that takes one or several; `own` where it is null.

    Raises:
        UserError: something else, an empty list, or a word twice.
    """
    words = [SAME_SYSTEM] if value is None else value if isinstance(value, list) else [value]
    if not words or not all(isinstance(word, str) and word for word in words):
        raise make_fleet_error(f"= {value}: a name or a list of names is needed", place)
    if len({*words}) < len(words):
        raise make_fleet_error(f"= {value}: names one twice", place)
    return words


def name_kind_fleet(systems: Mapping[str, str]) -> str:
    """Return the name of a fleet, such as `roadside_camera_late`; kinds with `own` are left out.

    Args:
        systems: by kind of partner.
    """
    if len({*systems.values()}) == 1:
        return next(iter(systems.values()))
    return "_".join(f"{kind}_{name}" for kind, name in systems.items() if name != SAME_SYSTEM)


def make_kind_fleet(systems: Mapping[str, str]) -> dict[str, Any]:
    """Return a fleet by kind of partner, without the kinds that use the ego's system."""
    return {kind: name for kind, name in systems.items() if name != SAME_SYSTEM}


def iter_assigned_fleets(files: list[str], modalities: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the fleets of assignment files, called after the files."""
    place = f"{PLACE}.{MODALITIES}"
    if not isinstance(modalities, dict):
        raise make_fleet_error(f"= {modalities}: a system for each modality is needed", place)
    systems = {str(name): system for name, system in modalities.items() if system is not None}
    for name, system in systems.items():
        if not isinstance(system, str):
            raise make_fleet_error(f"= {system}: the name of a system is needed", f"{place}.{name}")
    seen = set[str]()
    for file in files:
        name = SAME_SYSTEM if file == SAME_SYSTEM else Path(file).stem
        if name in seen:
            raise make_fleet_error(
                f"= {files}: two files are called {name}", f"{PLACE}.{ASSIGNMENT}"
            )
        seen.add(name)
        yield name, {} if file == SAME_SYSTEM else read_assigned_fleet(file, systems)


def read_assigned_fleet(file: str, systems: Mapping[str, str]) -> dict[str, Any]:
    """Return the fleet of a file in the form of HEAL's modality assignment.

    The form is `{scenario: {agent: modality}}`, as `modality_assign/*.json` of HEAL have it (Lu et
    al., ICLR 2024). A scenario is a route here, and an agent the name of a partner in the records.

    Args:
        file: as the user wrote it.
        systems: by modality.

    Raises:
        UserError: the file cannot be read, or has another form.
    """
    path = expand_home(file, f"{PLACE}.{ASSIGNMENT}")
    try:
        agents = read_json_within(path, SETTINGS_FILE, follow=True)
    except OSError as problem:
        raise UserError(f"{path}: {problem.strerror}") from None
    except ValueError as problem:
        raise UserError(f"{path}: not JSON: {' '.join(str(problem).split())}") from None
    if not isinstance(agents, dict) or not agents:
        raise UserError(f"{path}: an object is needed: {{scenario: {{agent: modality}}}}")
    for scenario, assigned in agents.items():
        if not isinstance(assigned, dict):
            raise UserError(f"{path}: {scenario}: an object is needed: {{agent: modality}}")
        for agent, modality in assigned.items():
            if not isinstance(modality, str) or modality not in systems:
                known = ", ".join(systems) or "none"
                raise UserError(
                    f"{path}: {scenario}: {agent}: no system for the modality {modality!r} (known:"
                    f" {known}); set {PLACE}.{MODALITIES}.{modality}=SYSTEM"
                )
    used = {modality for assigned in agents.values() for modality in assigned.values()}
    return {
        AGENTS: agents,
        MODALITIES: {name: system for name, system in systems.items() if name in used},
    }


def make_fleet_error(why: str, place: str = PLACE) -> UserError:
    """Return the error of a fleet that cannot be driven."""
    return UserError(f"configuration: {place} {why}")
