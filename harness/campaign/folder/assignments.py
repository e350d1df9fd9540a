"""Routes as they are driven, with their hazards, kept in the campaign folder for its workers."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from harness.common.files import write_whole
from harness.common.nesting import parse_json
from harness.common.safe_reading import LAID_ROUTE, is_regular, read_text_within, refuse_link
from harness.records.names import escape_file_name, unescape_file_name
from harness.records.reading import BROKEN, make_unreadable_error
from harness.types.vocabulary import Route
from harness.world.hazards.spec import HazardSpec
from harness.world.routes.kinds import NOT_RUN

FOLDER = "routes"
FLAGS = ("in_junction", "lane_change")
NUMBERS = ("xyz", "yaw", "station", "lane_width", "speed_limit")


@dataclass(frozen=True, slots=True)
class RouteAssignment:
    """A route, what happens on it, and the weather.

    Attributes:
        route: as it was laid, in the world frame.
        hazards: those on the route, run or not.
        weather: CARLA's parameters; None for the town's usual one.
        further: the routes of further egos that are driven in the same attempt.
    """

    route: Route
    hazards: tuple[HazardSpec, ...]
    weather: dict[str, float] | None
    further: tuple[Route, ...] = ()

    @property
    def runnable(self) -> tuple[HazardSpec, ...]:
        """The hazards that can be run."""
        return tuple(hazard for hazard in self.hazards if not hazard.kind.startswith(NOT_RUN))

    @property
    def not_run(self) -> tuple[HazardSpec, ...]:
        """Those that cannot; their kind says why."""
        return tuple(hazard for hazard in self.hazards if hazard.kind.startswith(NOT_RUN))

    @property
    def driven_metres(self) -> float:
        """The metres of road that all driven egos have before them: each senses and is recorded."""
        return sum(route.length for route in (self.route, *self.further))

    def to_json(self) -> str:
        """Return the assignment as text."""
        further = [list_way_columns(route) for route in self.further]
        return json.dumps(
            {
                "name": self.route.name,
                "town": self.route.town,
                "way": list_way_columns(self.route),
                "hazards": [asdict(hazard) for hazard in self.hazards],
                "weather": self.weather,
                **({"further": further} if further else {}),
            }
        )

    @staticmethod
    def from_json(text: str) -> RouteAssignment:
        """Return the assignment that a text holds."""
        record = parse_json(text)
        name, town = record["name"], record["town"]
        return RouteAssignment(
            make_laid_route(name, town, record["way"]),
            tuple(HazardSpec(**hazard) for hazard in record["hazards"]),
            record["weather"],
            tuple(make_laid_route(name, town, way) for way in record.get("further", ())),
        )


def list_way_columns(route: Route) -> dict[str, Any]:
    """Return the columns of a laid route, as text holds them."""
    return {name: getattr(route, name).tolist() for name in (*NUMBERS, *FLAGS)}


def make_laid_route(name: str, town: str, columns: Mapping[str, Any]) -> Route:
    """Return a laid route.

    Args:
        name: of the route.
        town: its name.
        columns: of `list_way_columns`.
    """
    way: dict[str, Any] = {
        **{name: np.array(columns[name], np.float64) for name in NUMBERS},
        **{name: np.array(columns[name], np.bool_) for name in FLAGS},
    }
    return Route(name=name, town=town, **way)


def write_assignments(
    campaign: Path, assignments: Sequence[RouteAssignment], condition: str | None = None
) -> None:
    """Keep what is not kept yet; with a condition, the routes as that condition alone has them.

    Args:
        campaign: the campaign's folder.
        assignments: routes with their hazards.
        condition: whose routes these are; None for the campaign's.
    """
    for assignment in assignments:
        file = _get_assignment_path(campaign, assignment.route.name, condition)
        if not file.exists():
            write_whole(file, assignment.to_json())


def has_condition_assignment(campaign: Path, route: str, condition: str) -> bool:
    """Return whether a condition has a route of its own, with other hazards than the others."""
    file = _get_assignment_path(campaign, route, condition)
    refuse_link(file, within=campaign)
    return is_regular(file)


def read_assignment(campaign: Path, route: str, condition: str | None = None) -> RouteAssignment:
    """Return one route's assignment; that of a condition, if the condition has its own.

    Args:
        campaign: the campaign's folder.
        route: its name.
        condition: whose assignment; None for the campaign's.

    Raises:
        UserError: the file cannot be read.
    """
    if condition is not None and not has_condition_assignment(campaign, route, condition):
        condition = None
    file = _get_assignment_path(campaign, route, condition)
    try:
        return RouteAssignment.from_json(read_text_within(file, LAID_ROUTE, within=campaign))
    except (*BROKEN, KeyError, TypeError) as problem:
        raise make_unreadable_error(file, problem) from None


def list_assigned_routes(campaign: Path) -> list[str]:
    """Return the names of the routes that a campaign has; hidden files are not whole."""
    names: list[str] = []
    refuse_link(campaign / FOLDER)
    for file in os.listdir(campaign / FOLDER):  # noqa: PTH208
        if file.endswith(".json") and not file.startswith("."):
            with suppress(UnicodeError):  # a stranger's
                names.append(unescape_file_name(file.removesuffix(".json")))
    return names


def _get_assignment_path(campaign: Path, route: str, condition: str | None = None) -> Path:
    folder = campaign / FOLDER
    if condition is not None:
        folder /= escape_file_name(condition)
    return folder / f"{escape_file_name(route)}.json"
