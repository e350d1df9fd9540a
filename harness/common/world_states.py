"""What a picture depends on: actors, lamps, traffic lights and weather of a town at one moment.

`crucible collect` writes it next to recorded pictures, `000042.world.npz` in the folder of the
scenario, so that a simulator can show the moment again, with an actor more (decision 0115). Poses
are those that the simulator's snapshots have, in their precision.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.common.errors import UserError
from harness.common.safe_reading import BROKEN_ARRAYS, open_arrays
from harness.types.vocabulary import Integers, Singles

MOST_ACTORS = 100_000


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class WorldState:
    """A town at one moment, and where the cameras of a scenario stood.

    Attributes:
        actors: (N,) ids, ascending.
        blueprints: (N,) names.
        poses: (N, 6) x y z in m, pitch yaw roll in degrees, of actors' origins.
        lamps: (N,) CARLA's light state of vehicles, 0 of others.
        signals: (L,) state of each traffic light, by ascending id.
        weather: numbers of CARLA's `WeatherParameters`.
        hidden: ids of pieces of scenery that are not there.
        cameras: (cameras, 6) poses in the world, by agent.
    """

    actors: Integers
    blueprints: tuple[str, ...]
    poses: Singles
    lamps: Integers
    signals: NDArray[np.uint8]
    weather: Mapping[str, float]
    hidden: Integers
    cameras: Mapping[int, Singles]

    def add_actor(self, actor: int, blueprint: str, pose: Singles) -> WorldState:
        """Return the state with an actor more, whose id is above all others.

        Args:
            actor: its id.
            blueprint: its name.
            pose: (6,) of its origin.
        """
        if len(self.actors) and actor <= self.actors.max():
            raise ValueError(f"actor {actor}: its id must be above {self.actors.max()}")
        return replace(
            self,
            actors=np.append(self.actors, actor),
            blueprints=(*self.blueprints, blueprint),
            poses=np.concatenate([self.poses, np.asarray(pose, np.float32)[None]]),
            lamps=np.append(self.lamps, 0),
        )

    def remove_actor(self, actor: int) -> WorldState:
        """Return the state without an actor."""
        kept = self.actors != actor
        names = zip(self.blueprints, kept.tolist(), strict=True)
        return replace(
            self,
            actors=self.actors[kept],
            blueprints=tuple(name for name, stays in names if stays),
            poses=self.poses[kept],
            lamps=self.lamps[kept],
        )

    def move_actor(self, actor: int, pose: Singles) -> WorldState:
        """Return the state with an actor elsewhere: (6,) of its origin."""
        poses = self.poses.copy()
        poses[self.actors == actor] = pose
        return replace(self, poses=poses)

    def change_weather(self, **numbers: float) -> WorldState:
        """Return the state in another weather: numbers of `WeatherParameters` by name."""
        return replace(self, weather={**self.weather, **numbers})

    def find_blueprint(self, actor: int) -> str:
        """Return the blueprint of an actor."""
        return self.blueprints[int(np.flatnonzero(self.actors == actor)[0])]

    def get_pose(self, actor: int) -> Singles:
        """Return the (6,) pose of an actor."""
        return np.asarray(self.poses[self.actors == actor][0], np.float32)


def get_world_file(folder: Path, moment: str) -> Path:
    """Return the file of a moment in the folder of a scenario."""
    return folder / f"{moment}.world.npz"


def write_world_state(folder: Path, moment: str, state: WorldState) -> None:
    """Write the state of a moment; equal states give equal bytes.

    Args:
        folder: of the scenario.
        moment: name of the files.
        state: of the town.
    """
    names = sorted(set(state.blueprints))
    agents = sorted(state.cameras)
    texts = {"blueprints": names, "weather": dict(sorted(state.weather.items()))}
    np.savez_compressed(
        get_world_file(folder, moment),
        texts=np.frombuffer(json.dumps(texts).encode(), np.uint8),
        actors=state.actors.astype(np.int64),
        kinds=np.array([names.index(name) for name in state.blueprints], np.int32),
        poses=state.poses.astype(np.float32),
        lamps=state.lamps.astype(np.int32),
        signals=state.signals.astype(np.uint8),
        hidden=state.hidden.astype(np.int64),
        agents=np.array(agents, np.int64),
        counts=np.array([len(state.cameras[agent]) for agent in agents], np.int64),
        cameras=np.concatenate(
            [np.zeros((0, 6), np.float32), *(state.cameras[agent] for agent in agents)]
        ),
    )


def read_world_state(folder: Path, moment: str) -> WorldState | None:
    """Return the state of a moment, None where none was recorded.

    Raises:
        UserError: the file holds no such state.
    """
    file = get_world_file(folder, moment)
    if not os.path.lexists(file):
        return None
    try:
        with open_arrays(file, within=folder) as arrays:
            return _parse_state({name: arrays[name] for name in arrays.files})
    except BROKEN_ARRAYS as problem:
        why = str(problem).partition("\n")[0][:100]
        raise UserError(f"{file}: not the state of a recorded world ({why})") from None


def _parse_state(arrays: Mapping[str, NDArray[Any]]) -> WorldState:
    texts = json.loads(arrays["texts"].tobytes())
    names = [str(name) for name in texts["blueprints"]]
    weather = {str(name): float(number) for name, number in texts["weather"].items()}
    actors, poses = arrays["actors"].astype(np.int64), arrays["poses"].astype(np.float32)
    lamps, signals = arrays["lamps"].astype(np.int64), arrays["signals"].astype(np.uint8)
    cameras, counts = arrays["cameras"].astype(np.float32), arrays["counts"].astype(np.int64)
    kinds, agents = arrays["kinds"].astype(np.int64), arrays["agents"].astype(np.int64)
    count = len(actors)
    # all columns fit together, and all numbers are numbers
    if count > MOST_ACTORS or poses.shape != (count, 6) or lamps.shape != (count,):
        raise ValueError("actors, poses and lamps do not fit together")
    if kinds.shape != (count,) or (count and not 0 <= kinds.min() <= kinds.max() < len(names)):
        raise ValueError("a blueprint without a name")
    if (np.diff(actors) <= 0).any():
        raise ValueError("ids do not ascend")
    if (counts < 0).any() or cameras.shape != (int(counts.sum()), 6) or len(counts) != len(agents):
        raise ValueError("cameras do not fit to agents")
    if not (np.isfinite(poses).all() and np.isfinite(cameras).all()):
        raise ValueError("a pose is not finite")
    if not all(map(math.isfinite, weather.values())):
        raise ValueError("weather is not finite")
    ends = np.cumsum(counts)
    return WorldState(
        actors=actors,
        blueprints=tuple(names[kind] for kind in kinds.tolist()),
        poses=poses,
        lamps=lamps,
        signals=signals,
        weather=weather,
        hidden=arrays["hidden"].astype(np.int64),
        cameras={
            agent: cameras[end - number : end]
            for agent, number, end in zip(
                agents.tolist(), counts.tolist(), ends.tolist(), strict=True
            )
        },
    )
