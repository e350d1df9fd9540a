"""Where a campaign's routes come from: files, a checkout of V2Xverse, or a class of the user."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from harness.common.files import expand_home, find_file
from harness.world.hazards.spec import HazardSpec
from harness.world.routes.checkout import (
    ROUTES_COPY,
    SCENARIOS_COPY,
    describe_copies,
    find_checkout_file,
    refuse_incomplete_checkout,
)
from harness.world.routes.files import RouteSpec, read_routes
from harness.world.routes.hazard_files import read_hazards, read_nested_hazards


class RouteSource(ABC):
    """Routes by their points, and the hazards on them; equal settings give equal ones.

    Attributes:
        several_egos: whether attempts may have several driven egos.
    """

    several_egos = False

    @abstractmethod
    def routes(self, invalid: list[str] | None = None) -> Iterable[RouteSpec]:
        """Return the routes, of one town, each with an id of its own.

        With a list for them, what is wrong with routes that are left out is added to it.

        Args:
            invalid: collects problems; None: the first problem is raised.
        """

    def hazards(
        self, routes: Mapping[str, RouteSpec], kinds: Collection[str], maps: Path | None
    ) -> list[HazardSpec]:
        """Return the hazards on these routes; if not overridden, those that routes carry.

        Args:
            routes: by id.
            kinds: names of hazards that are known.
            maps: folder of OpenDRIVE files; None for shipped towns.
        """
        return read_nested_hazards(kinds=kinds, routes=routes, maps=maps)

    def further_egos(self, routes: Mapping[str, RouteSpec]) -> Mapping[str, Sequence[RouteSpec]]:
        """Return the routes of egos that are driven next to the first; by default none.

        Args:
            routes: of the first egos, by id.

        Returns:
            By the first ego's route; every further route has its id and its town.
        """
        return {}

    def find_unlaid(self, routes: Mapping[str, RouteSpec], maps: Path | None) -> Mapping[str, str]:
        """Return routes whose further egos or hazards cannot be laid, and why; by default none.

        Args:
            routes: by id; the way of each was laid.
            maps: folder of OpenDRIVE files; None for shipped towns.

        Returns:
            By route, the problem.
        """
        return {}

    def files(self) -> Mapping[str, Path]:
        """Return the files that are read, by name: other contents are another campaign."""
        return {}

    def describe_origin(self) -> str:
        """Return the plan's line on where routes and hazards come from; empty for no line."""
        return ""


class RouteFiles(RouteSource):
    """A file or folder of routes, and a file of hazards on them."""

    safe_from_file = True

    def __init__(
        self,
        file: str,  # routes, as XML of Leaderboard 1.0
        hazards: str | None = None,  # hazards, as JSON; null: none
    ) -> None:
        self.file, self._hazards = file, hazards

    def routes(self, invalid: list[str] | None = None) -> Sequence[RouteSpec]:
        """Return the routes in the order of their files."""
        return read_routes(find_file(self.file, "routes.file"), invalid)

    def hazards(
        self, routes: Mapping[str, RouteSpec], kinds: Collection[str], maps: Path | None
    ) -> list[HazardSpec]:
        """Return the hazards that routes carry, and those of the file."""
        nested = super().hazards(routes, kinds, maps)
        if self._hazards is None:
            return nested
        path = find_file(self._hazards, "routes.hazards")
        return nested + read_hazards(path, kinds=kinds, routes=routes, maps=maps)

    def files(self) -> Mapping[str, Path]:
        """Return the two files."""
        named = {"file": self.file, "hazards": self._hazards}
        return {
            name: find_file(file, f"routes.{name}")
            for name, file in named.items()
            if file is not None
        }


class V2XverseRoutes(RouteFiles):
    """V2Xverse's routes and scenarios: of a checkout, or the copies that come with Crucible."""

    safe_from_file = True

    def __init__(
        self,
        checkout: str | None,  # V2Xverse's folder; null: copies are read
        file: str = ROUTES_COPY,  # routes; with a checkout, the copy stands for its routes
        hazards: str | None = SCENARIOS_COPY,  # scenarios, likewise; null: none
    ) -> None:
        chosen = find_checkout_file(checkout, file) or file
        super().__init__(chosen, find_checkout_file(checkout, hazards))
        self._checkout = checkout

    def routes(self, invalid: list[str] | None = None) -> Sequence[RouteSpec]:
        """Return the routes; a checkout that lacks something is refused by what it lacks."""
        if self._checkout is not None:
            refuse_incomplete_checkout(expand_home(self._checkout, "routes.checkout"))
        return super().routes(invalid)

    def describe_origin(self) -> str:
        """Return which copies are read, and why."""
        return describe_copies(self._checkout, self.file, self._hazards)


def make_route_spec(
    name: str, town: str, points: Sequence[tuple[float, float, float]], source: str
) -> RouteSpec:
    """Return the route past points x, y, z, m; `source` is what messages call its origin.

    Args:
        name: the route's id.
        town: its name.
        points: two or more, in order, in the world.
        source: such as a file's name.

    Returns:
        A route without weather and scenarios.
    """
    keypoints = np.column_stack([np.array(points, np.float64), np.full(len(points), np.nan)])
    return RouteSpec(
        id=name,
        town=town,
        keypoints=keypoints,
        weather=None,
        scenarios=(),
        file=Path(source),
        line=0,
    )
