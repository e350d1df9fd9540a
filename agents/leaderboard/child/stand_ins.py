"""What an agent imports of CARLA, its Leaderboard and its scenario runner, where it is not there.

The agent's own packages come first. Where one of them is absent or cannot be imported, the little
of it that agents use is put in its place: base class and tracks, data provider, clock, road
options. Standard library and numpy only, Python 3.7 or newer.
"""

from __future__ import annotations

import datetime
import importlib
import sys
import time
import types
from enum import Enum, IntEnum
from typing import Any

BASE = "leaderboard.autoagents.autonomous_agent"
PROVIDER = "srunner.scenariomanager.carla_data_provider"
TIMER = "srunner.scenariomanager.timer"
PLANNER = "agents.navigation.local_planner"
DAO = "agents.navigation.global_route_planner_dao"
NO_WORLD = (
    "this agent opens the simulator's world: drive it with system=leaderboard_agent_privileged,"
    " which is marked as privileged"
)
LOOK_AGAIN = 20
"""Ticks after which actors that are new are registered."""
FAR_APART, FAR_APART_BEFORE = 200.0, 50.0
"""Metres between places of a plan at most, in Leaderboard 2, and in 1, which V2Xverse's form is."""


class Track(Enum):
    """What an agent may use."""

    SENSORS = "SENSORS"
    MAP = "MAP"
    SENSORS_QUALIFIER = "SENSORS_QUALIFIER"
    MAP_QUALIFIER = "MAP_QUALIFIER"


class RoadOption(IntEnum):
    """What to do at a place of a route."""

    VOID = -1
    LEFT = 1
    RIGHT = 2
    STRAIGHT = 3
    LANEFOLLOW = 4
    CHANGELANELEFT = 5
    CHANGELANERIGHT = 6


class AutonomousAgent:
    """What agents inherit from, in the form of Leaderboard 2."""

    def __init__(self, carla_host: str = "", carla_port: int = 0, debug: bool = False) -> None:
        self.track = Track.SENSORS
        self._global_plan: Any = None
        self._global_plan_world_coord: Any = None
        self.sensor_interface: Any = None
        self.wallclock_t0: Any = None

    def setup(self, path_to_conf_file: str) -> None:
        """Prepare to drive."""

    def sensors(self) -> list[dict[str, Any]]:
        """Return the sensors that are wanted."""
        return []

    def run_step(self, input_data: Any, timestamp: float) -> Any:
        """Return a `VehicleControl`."""
        raise NotImplementedError("run_step")

    def destroy(self) -> None:
        """Clean up."""

    @staticmethod
    def get_ros_version() -> int:
        """Return that ROS is not used."""
        return -1

    def set_global_plan(self, global_plan_gps: Any, global_plan_world_coord: Any) -> None:
        """Keep the route, thinned as Leaderboard 2 thins it; or the routes of several egos."""
        if isinstance(global_plan_world_coord[0], list):
            ways = [thin_plan(way, FAR_APART_BEFORE) for way in global_plan_world_coord]
            both = (global_plan_world_coord, global_plan_gps)
            self._global_plan_world_coord, self._global_plan = (
                [[tuple(whole[row]) for row in kept] for whole, kept in zip(plans, ways)]  # noqa: B905
                for plans in both
            )
            return
        kept = thin_plan(global_plan_world_coord, FAR_APART)
        self._global_plan_world_coord = [tuple(global_plan_world_coord[row]) for row in kept]
        self._global_plan = [global_plan_gps[row] for row in kept]


def thin_plan(plan: Any, spacing: float) -> list[int]:
    """Return the rows of a plan that agents are given: changes of what to do, and some between."""
    kept, before, away = [], None, 0.0
    for row, (transform, option) in enumerate(plan):
        what = int(getattr(option, "value", option))
        changing = what in (RoadOption.CHANGELANELEFT, RoadOption.CHANGELANERIGHT)
        left = before in (RoadOption.CHANGELANELEFT, RoadOption.CHANGELANERIGHT)
        other = before != what and not left
        if before is None or changing or other or away > spacing or row == len(plan) - 1:
            kept.append(row)
            away = 0.0
        else:
            away += transform.location.distance(plan[row - 1][0].location)
        before = what
    return kept


class GameTime:
    """The clock of the drive."""

    frame, seconds = 0, 0.0

    @staticmethod
    def get_time() -> float:
        """Return seconds since the first tick."""
        return GameTime.seconds

    @staticmethod
    def get_frame() -> int:
        """Return ticks since the first."""
        return GameTime.frame

    @staticmethod
    def get_carla_time() -> float:
        """Return seconds since the first tick."""
        return GameTime.seconds


class CarlaDataProvider:
    """Where agents that open the world look for it."""

    client: Any = None
    world: Any = None
    map: Any = None
    ego: Any = None
    active_scenarios: list[Any] = []  # noqa: RUF012

    @classmethod
    def get_client(cls) -> Any:
        """Return the client."""
        return cls.client

    @classmethod
    def get_world(cls) -> Any:
        """Return the world."""
        return cls.world

    @classmethod
    def get_map(cls, world: Any = None) -> Any:
        """Return the town's map."""
        return cls.map

    @classmethod
    def get_hero_actor(cls) -> Any:
        """Return the ego."""
        return cls.ego

    @staticmethod
    def get_velocity(actor: Any) -> float:
        """Return the speed of an actor, m/s."""
        return float(actor.get_velocity().length())

    @staticmethod
    def get_location(actor: Any) -> Any:
        """Return where an actor is."""
        return actor.get_location()

    @staticmethod
    def get_transform(actor: Any) -> Any:
        """Return where an actor is and looks."""
        return actor.get_transform()

    @staticmethod
    def is_sync_mode() -> bool:
        """Return that the world waits for its ticks."""
        return True


class GlobalRoutePlannerDAO:
    """What CARLA's agents no longer have: a map and a sampling distance."""

    def __init__(self, wmap: Any, sampling_resolution: float = 1.0) -> None:
        self._wmap, self._sampling_resolution = wmap, sampling_resolution

    def get_topology(self) -> Any:
        """Return the segments of the map, as the planner of CARLA's agents builds them."""
        planner: Any = importlib.import_module("agents.navigation.global_route_planner")
        return planner.GlobalRoutePlanner(self._wmap, self._sampling_resolution)._topology

    def get_resolution(self) -> float:
        """Return metres between waypoints."""
        return self._sampling_resolution


def put_stand_ins(carla_data: Any) -> list[str]:
    """Put what is absent in its place; return a line for each that was put."""
    notes: list[str] = []
    if not is_usable("carla", ("Transform", "VehicleControl"), notes):
        put_module("carla", **{kind.__name__: kind for kind in carla_data.TYPES})
    if not is_usable(PROVIDER, ("CarlaDataProvider",), notes):
        put_module(PROVIDER, CarlaDataProvider=CarlaDataProvider)
        put_module(TIMER, GameTime=GameTime)
    elif not is_usable(TIMER, ("GameTime",), notes):
        put_module(TIMER, GameTime=GameTime)
    if not is_usable(PLANNER, ("RoadOption",), notes):
        put_module(PLANNER, RoadOption=RoadOption)
    put_back_dao()
    if not is_usable(BASE, ("AutonomousAgent", "Track"), notes):
        put_module(BASE, AutonomousAgent=AutonomousAgent, Track=Track)
    return notes


def is_usable(name: str, needed: tuple[str, ...], notes: list[str]) -> bool:
    """Return whether a module of the agent's can be imported; note why not."""
    try:
        module = importlib.import_module(name)
        absent = [one for one in needed if not hasattr(module, one)]
        if not absent:
            return True
        why = f"has no {absent[0]}"
    except Exception as problem:
        why = f"{type(problem).__name__}: {problem}"
    notes.append(f"{name}: {' '.join(why.split())}; Crucible's stand-in is used")
    return False


def put_module(name: str, **members: Any) -> None:
    """Put a module and its packages in their places; packages that are there stay."""
    outer, _, last = name.rpartition(".")
    if outer and outer not in sys.modules:
        try:
            importlib.import_module(outer)
        except Exception:
            put_module(outer)
    module: Any = types.ModuleType(name)
    module.__path__ = []
    module.__dict__.update(members)
    sys.modules[name] = module
    if outer:
        setattr(sys.modules[outer], last, module)


def put_back_dao() -> None:
    """Give CARLA's agents the class that they had up to 0.9.11, for planners that are given it."""
    try:
        planner: Any = importlib.import_module("agents.navigation.global_route_planner")
    except Exception:
        return
    try:
        importlib.import_module(DAO)
        return
    except ImportError:
        put_module(DAO, GlobalRoutePlannerDAO=GlobalRoutePlannerDAO)
    newer = planner.GlobalRoutePlanner

    def take_map_or_dao(self: Any, wmap: Any, sampling_resolution: Any = None) -> None:
        """Take a map and a distance, or the two in one as it did before."""
        if isinstance(wmap, GlobalRoutePlannerDAO):
            sampling_resolution = wmap.get_resolution()
            wmap = wmap._wmap
        newer.__init__(self, wmap, 1.0 if sampling_resolution is None else sampling_resolution)

    def set_up_already(self: Any) -> None:
        """Do nothing: the constructor has done it."""

    # the class to derive from is known only while the agent's Python runs
    members = {"__init__": take_map_or_dao, "setup": set_up_already}
    planner.GlobalRoutePlanner = type("GlobalRoutePlanner", (newer,), members)


def close_world() -> None:
    """Let whatever opens the world say in one line that this system is not for it."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise RuntimeError(NO_WORLD)

    carla: Any = sys.modules["carla"]
    carla.Client = refuse
    provider: Any = sys.modules[PROVIDER].CarlaDataProvider
    for name in ("get_client", "get_world", "get_map", "get_hero_actor"):
        setattr(provider, name, staticmethod(refuse))


class HiddenEgo:
    """The ego for agents that only ask whether it drives; what it knows of the world is refused."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(NO_WORLD)


def number_egos(egos: dict[int, Any]) -> None:
    """Let the data provider know egos by their numbers, as agents of V2Xverse's form ask for them.

    An ego that drives no more is None. Without the world an agent may only ask whether it drives.
    """
    provider: Any = sys.modules[PROVIDER].CarlaDataProvider
    provider.get_hero_actor = staticmethod(lambda hero_id=0: egos.get(hero_id))


def provide_world(client: Any, world: Any) -> None:
    """Let the data provider know client, world and map."""
    provider: Any = sys.modules[PROVIDER].CarlaDataProvider
    if provider is CarlaDataProvider:
        provider.client, provider.world, provider.map = client, world, world.get_map()
        return
    provider.set_client(client)
    provider.set_world(world)


def follow_world(world: Any, server: dict[str, Any], frame: int, patience: float) -> None:
    """Wait until the world shows a tick; let the data provider know the ego and the tick."""
    until = time.monotonic() + patience
    while world.get_snapshot().frame < frame:
        if time.monotonic() > until:
            raise TimeoutError(f"the world does not show tick {frame}")
        time.sleep(0.0005)
    provider: Any = sys.modules[PROVIDER].CarlaDataProvider
    if provider is CarlaDataProvider:
        if provider.ego is None:
            provider.ego = world.get_actor(server["egos"][0])
        return
    # the scenario runner's own: it knows the actors that are registered
    known = {actor.id for actor in provider._actor_velocity_map}
    if not known or frame % LOOK_AGAIN == 0:
        for actor in world.get_actors():
            if actor.type_id.startswith(("vehicle.", "walker.")) and actor.id not in known:
                provider.register_actor(actor)
                if actor.id in server["egos"]:
                    provider._carla_actor_pool[actor.id] = actor
    provider.on_carla_tick()


def set_clock(frame: int, seconds: float) -> None:
    """Set the clock that agents read."""
    clock: Any = sys.modules[TIMER].GameTime
    if clock is GameTime:
        clock.frame, clock.seconds = frame, seconds
        return
    # the scenario runner's own
    clock._current_game_time, clock._last_frame = seconds, frame
    clock._carla_time = seconds
    clock._platform_timestamp = datetime.datetime.now()
    clock._init = True
