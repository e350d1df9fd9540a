"""The context of an attempt: the client's handles and the facts that all of `world` shares."""

from __future__ import annotations

from dataclasses import dataclass, replace

import carla
import numpy as np

from harness.common.randomness import make_named_stream
from harness.types.vocabulary import Pose, Route


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptContext:
    """One attempt's world, already loaded and in synchronous mode.

    Attributes:
        client: connected to the server.
        world: newly loaded for this attempt.
        route: the way to drive.
        seed: of the attempt; every random stream comes from it.
        tick_seconds: the length of a tick.
        server: host and port, for systems that open the world themselves.
        attempt: its name, a path of arm, route and seed.
    """

    client: carla.Client
    world: carla.World
    map: carla.Map
    traffic_manager: carla.TrafficManager
    route: Route
    seed: int
    tick_seconds: float
    server: tuple[str, int] = ("", 0)
    attempt: str = ""
    noise_number: int = 0  # of the LiDARs' noise seeds; 0 is the usual one

    def with_noise(self, number: int) -> AttemptContext:
        """Return the context in which LiDARs have other noise."""
        return replace(self, noise_number=number)

    def compute_noise_seed(self, *names: str) -> int:
        """Return the seed of a LiDAR's noise: a number of the stream of that name."""
        random = self.random(*names)
        numbers = [int(random.integers(2**31)) for _ in range(self.noise_number + 1)]
        return numbers[-1]

    def random(self, *names: str) -> np.random.Generator:
        """Return this attempt's stream of that name.

        Args:
            names: of the stream; equal names give equal numbers.
        """
        return make_named_stream(self.seed, *names)


@dataclass(frozen=True, slots=True, kw_only=True)
class EgoState:
    """The ego as it truly is after a tick.

    Attributes:
        frame: the simulator's tick.
        time: seconds, of the simulator.
        speed: m/s.
    """

    frame: int
    time: float
    vehicle_in_world: Pose
    speed: float
    station: float  # metres driven along the route


def make_empty_route(town: str) -> Route:
    """Return a route of no length: none is followed."""
    # (0,) for every column
    none = np.zeros(0)
    no = np.zeros(0, np.bool_)
    return Route(
        name=town,
        town=town,
        xyz=np.zeros((0, 3)),
        yaw=none,
        station=none,
        lane_width=none,
        speed_limit=none,
        in_junction=no,
        lane_change=no,
    )
