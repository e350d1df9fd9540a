"""What all hazards have in common: a life from waiting to over, and a report about it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import ClassVar

import carla

from harness.common.errors import AttemptError, ScenarioError, UserError
from harness.world.attempt_context import AttemptContext, EgoState
from harness.world.hazards.actors import HazardActors
from harness.world.hazards.parameters import Parameter
from harness.world.hazards.reports import Cause, EncounterReport, HazardReport, Status
from harness.world.hazards.sight import RayCastScenery
from harness.world.hazards.sizes import Size, add_sizes
from harness.world.hazards.spec import HazardSpec
from harness.world.hazards.track import Track


class NoPlaceError(Exception):
    """A hazard has no place on its route: for this attempt it is not run."""


class Hazard(ABC):
    """Something that happens once on a route.

    A subclass spawns in `set_up` and acts in `act`; it calls `begin` and `finish`.

    Attributes:
        spec: which hazard, where, with which parameters.
        status: waiting, running, over or not_run.
        started_at: seconds, of the simulator.
        reason: how it ended, for people.
        cause: why it was not run.
    """

    kind: ClassVar[str]
    """Its name in hazard files and records."""
    parameters: ClassVar[Mapping[str, Parameter]] = {}
    """What a hazard file may set, with defaults."""
    sizes: ClassVar[Mapping[str, Size]] = {}
    """Blueprints whose full length, width and height, m, its plans need, unless they are known."""
    meets_ego: ClassVar[bool] = False
    """Whether a road user of it comes to meet the ego, at an expected moment."""

    def __init_subclass__(cls) -> None:
        """Make the sizes known that a kind brings."""
        super().__init_subclass__()
        add_sizes(cls.sizes)

    def __init__(self, spec: HazardSpec) -> None:
        self.spec = spec
        self.status: Status = "waiting"
        self.started_at: float | None = None
        self.reason = ""
        self.cause: Cause = ""
        self._hazard_actors: HazardActors | None = None

    @property
    def hazard_actors(self) -> HazardActors:
        """The actors, once placed."""
        if self._hazard_actors is None:
            raise RuntimeError("place the hazard first")
        return self._hazard_actors

    @property
    def actors(self) -> Sequence[carla.Actor]:
        """All actors that it spawned."""
        return () if self._hazard_actors is None else self._hazard_actors.actors

    def number(self, name: str) -> float:
        """Return a parameter that is a number.

        Args:
            name: of the parameter.

        Returns:
            The spec's, else the default; its unit is that of the parameter.
        """
        return float(self.spec.parameters.get(name, self.parameters[name].default))

    def word(self, name: str) -> str:
        """Return a parameter that is a word.

        Args:
            name: of the parameter.
        """
        return str(self.spec.parameters.get(name, self.parameters[name].default))

    def place_in_world(self, context: AttemptContext) -> bool:
        """Put occluders and actors into the world, before the run; return whether there is room.

        Without room it is not run, and nothing of it stays in the world.

        Args:
            context: of the attempt.
        """
        self._hazard_actors = HazardActors(context)
        try:
            self.set_up(Track(context.map, context.route, RayCastScenery(context.world)))
        except NoPlaceError as problem:
            self._hazard_actors.destroy_actors()
            self.skip("no_place", str(problem))
            return False
        return True

    def record_lidar_returns(self, ego: EgoState, returned: frozenset[int]) -> None:  # noqa: B027  optional
        """Note which actors the ego's own LiDAR returned in a planning step.

        Args:
            ego: at the planning step.
            returned: ids of actors that the sweep has points of.
        """

    def report_encounter(self) -> EncounterReport | None:
        """Return how it met the ego, if it is one to meet it."""
        return None

    def expect_meeting_time(self, ego: EgoState) -> float | None:
        """Return when a road user of it is expected to meet the ego; None: there is no meeting.

        Args:
            ego: after the tick.

        Returns:
            Seconds of the simulator.
        """
        return None

    def make_report(self) -> HazardReport:
        """Return what has become of it so far."""
        spec = self.spec
        return HazardReport(
            kind=self.kind,
            source=spec.source,
            station=spec.station,
            status=self.status,
            started_at=self.started_at,
            reason=self.reason,
            cause=self.cause,
            encounter=self.report_encounter(),
        )

    def remove_from_world(self) -> None:
        """Take everything out of the world again."""
        if self._hazard_actors is not None:
            self._hazard_actors.destroy_actors()
        self.conclude_attempt()

    def conclude_attempt(self) -> None:
        """Note the end of the attempt: a hazard that has not started was not run."""
        if self.status == "waiting":
            self.skip("ended_before", "the attempt ended before the ego came near")

    def begin(self, ego: EgoState) -> None:
        """Note that it runs.

        Args:
            ego: after the tick.
        """
        self.status, self.started_at = "running", ego.time

    def finish(self, status: Status, reason: str) -> None:
        """Note how it ended.

        Args:
            status: how it ended.
            reason: in a few words.
        """
        self.status, self.reason = status, reason

    def skip(self, cause: Cause, reason: str) -> None:
        """Note that it was not run, and why.

        Args:
            cause: one of the causes that records know.
            reason: for people.
        """
        self.cause = cause
        self.finish("not_run", reason)

    def explain_impossible(self, track: Track) -> str:
        """Return why it has no place on a route, as far as the map alone shows; else "".

        Args:
            track: the ego's route on its map, without scenery.
        """
        return ""

    @abstractmethod
    def set_up(self, track: Track) -> None:
        """Spawn what it needs.

        Args:
            track: the ego's route, with the scenery of the running world.

        Raises:
            NoPlaceError: there is no room; what was spawned is removed by the caller.
        """

    def step_hazard(self, ego: EgoState) -> None:
        """Act after a tick; RuntimeError if actors have left the world before it is over.

        Args:
            ego: after the tick.
        """
        if self.status in {"waiting", "running"} and (
            missing := self.hazard_actors.find_missing_actors()
        ):
            raise RuntimeError(f"no longer in the world: {', '.join(missing)}")
        self.act(ego)

    @abstractmethod
    def act(self, ego: EgoState) -> None:
        """Do what is due after a tick.

        Args:
            ego: as it truly is after the tick.
        """


@contextmanager
def convert_hazard_errors(hazard: Hazard) -> Iterator[None]:
    """Turn an exception of a hazard into a ScenarioError that names the hazard."""
    try:
        yield
    except (AttemptError, UserError):
        raise
    except Exception as problem:
        spec = hazard.spec
        message = f"{spec.kind} at {spec.station:g} m: {type(problem).__name__}: {problem}"
        raise ScenarioError(message) from problem
