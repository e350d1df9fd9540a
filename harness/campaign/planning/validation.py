"""Validates settings before anything is run or written; errors are one line."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Literal, TypedDict, get_type_hints

from harness.campaign.exports.export import Export
from harness.campaign.exports.exporting import exports_in
from harness.campaign.running.executors.interface import Executor
from harness.campaign.settings.config import INPUTS, Settings, build, find_class
from harness.campaign.settings.metrics import metrics_in
from harness.campaign.settings.trust import targets
from harness.campaign.settings.type_checks import mistakes
from harness.channel.channel import Channel
from harness.errors import UserError
from harness.evaluation.driving import DrivingRules
from harness.evaluation.frame_evaluation import EvaluationSettings
from harness.evaluation.metrics.metric import Metric
from harness.evaluation.scoring import Coefficients
from harness.evaluation.windows import WindowRules
from harness.field_notes import notes_of
from harness.suggestions import unknown
from harness.world.partners import Cooperation, Placement
from harness.world.rig import Rig
from harness.world.routes.sources import RouteSource
from harness.world.session import LONGEST_TICK
from harness.world.simulators import Simulator
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


class Study(TypedDict):
    """The study that a campaign belongs to."""

    name: str  # part of the campaign folder's name


class Routes(TypedDict):
    """Where the ego drives."""

    file: str | None  # routes, as XML of Leaderboard 1.0
    hazards: str | None  # hazards, as JSON
    only: list[str | int] | None  # ids; null: all
    source: RouteSource  # what reads routes and hazards
    clean_under: str | None  # a finished campaign: only the routes that it drove without violation
    repeats: bool  # drive routes that go the same way as an earlier one
    skip_invalid: bool  # leave out routes that cannot be read or laid
    checkout: str | None  # V2Xverse's folder


class Record(TypedDict):
    """What is kept besides the tables."""

    points: bool  # keep every sweep: 20 MB for a minute of the ego and one partner


class Top(TypedDict):
    """A campaign's settings."""

    simulator: Simulator  # carlite, or CARLA running or launched
    cooperation: dict[str, Cooperation]  # partners; one or several
    reference: Placement  # the unit that defines ground truth together with the ego, in every arm
    traffic: Traffic  # background traffic
    rig: Rig  # LiDARs of the ego, of roadside units and of connected vehicles
    driving: DrivingRules  # thresholds of violations and of the drive's end
    scoring: Coefficients  # of the driving score, by infraction
    patterns: EvaluationSettings  # how boxes are matched and which count
    windows: WindowRules  # the ends of drives over which patterns are means
    channel: Channel  # between partners and ego
    study: Study  # its name
    routes: Routes  # where the ego drives
    record: Record  # what is kept besides the tables
    out: str | None  # campaign folder; null: runs/<study>-<digest of the settings>
    seeds: list[int]  # each route is driven with each
    dry_run: bool  # print the plan, run nothing
    retry_failed: bool  # try once more, as often, what has used up its tries
    attempts_per_route: int  # tries before an attempt counts as failed
    attempt_timeout: float  # s of wall-clock for a try
    progress: Literal["live", "plain", "json", "quiet"]  # live, plain, json or quiet
    live: bool | str | None  # true: show attempts in the Rerun viewer as they drive; or its address
    lights: Literal["working", "green"]  # working, or green: frozen so, as in V2Xverse
    tick: float  # s
    perceive_every: int  # ticks between perception and planning steps
    system: dict[str, Any]  # systems under test; one or several
    interference: dict[str, list[Any]]  # disturbances by condition; one or several
    metrics: dict[str, Metric]  # further numbers; none, one or several
    export: dict[str, Export]  # other tools that get the results; none, one or several
    executor: Executor  # where attempts run


def refuse_misshapen(settings: Settings) -> None:
    """Check every setting, as far as that is possible without running."""
    chosen = {name: value for name, value in settings.items() if name != INPUTS}
    for mistake in mistakes(chosen, Top, ""):
        raise UserError(f"configuration: {mistake}")
    for name in POSITIVE:
        if settings[name] <= 0:
            raise UserError(f"configuration: {name} = {settings[name]}: must be > 0")
    refuse_tick(settings["tick"])
    for place, part in targets(settings, ""):
        refuse_misfit(place, part)
    made_here = {name: build(settings[name], name) for name in MADE_HERE}
    metrics_in(settings)
    exports_in(settings)
    for name, part in settings["cooperation"].items():
        refuse_unconnected(name, build(part, f"cooperation.{name}"), made_here["traffic"])
    for name, disturbances in settings["interference"].items():
        made = [build(disturbance, f"interference.{name}") for disturbance in disturbances]
        build(settings["channel"], f"interference.{name}", disturbances=made)


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


def refuse_misfit(place: str, part: dict[str, Any]) -> None:
    """Compare settings with the parameters of what they name."""
    given = {name: value for name, value in part.items() if name != "_target_"}
    named = find_class(part["_target_"], place)
    parameters = inspect.signature(named).parameters.values()
    known = {
        parameter.name: parameter for parameter in parameters if parameter.kind not in COLLECTED
    }
    takes_all = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters)
    hints = hints_of(named)
    for name, value in given.items():
        if name not in known and not takes_all:
            raise UserError(f"configuration: {place}: {unknown('key', name, known)}")
        for mistake in mistakes(value, hints.get(name, Any), f"{place}.{name}"):
            raise UserError(f"configuration: {mistake}{in_brackets(notes_of(named), name)}")
    missing = [
        name
        for name, parameter in known.items()
        if parameter.default is inspect.Parameter.empty and name not in given
    ]
    if missing:
        raise UserError(f"configuration: {place} needs {', '.join(missing)}")


def in_brackets(notes: Mapping[str, str], name: str) -> str:
    """Return what a setting means, to stand behind what is needed."""
    return f" ({notes[name]})" if name in notes else ""


def hints_of(named: type[Any]) -> dict[str, Any]:
    """Return the types that a class declares, unless only type checkers can look them up."""
    try:
        return get_type_hints(named.__init__)
    except (NameError, SyntaxError, TypeError, AttributeError):
        return {}
