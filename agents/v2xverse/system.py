"""A user's own V2Xverse, perception and planner, in the user's own Python."""

from __future__ import annotations

import math
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, Literal

import numpy as np

from agents.foreign.process import Child, ChildError
from agents.merging import find_ego_boxes
from agents.perception.checkpoint_files import find_newest_weights
from agents.v2xverse import child
from agents.v2xverse.agent_files import AgentFiles, find_agent_files
from agents.v2xverse.roads import TownRoads
from harness.common.errors import UserError
from harness.types.geometry import compose_poses, compute_relative_pose
from harness.types.systems import FusionStage
from harness.types.vocabulary import (
    Boxes,
    Control,
    EgoObservation,
    Floats,
    Integers,
    Message,
    Observation,
    Points,
    Pose,
    Route,
    Step,
)

Method = Literal["single", "early", "late", "fcooper", "v2xvit", "codriving"]

FAR_END = Path(child.__file__).parent
STAGES: dict[str, FusionStage] = {"single": "none", "early": "early", "late": "late"}
"""Of its methods; all others fuse features."""
CONFIG = "simulation/leaderboard/team_code/agent_config/pnp_config_{method}_5_10.yaml"
NEEDED = ("opencood", "codriving", "common", "simulation/leaderboard/team_code")
MOST_PARTNERS = 4
"""V2Xverse's networks are made for five agents, the ego among them."""


class V2Xverse:
    """Drives as V2Xverse's agent does; what partners send are their points."""

    has_separate_python = True
    reads_points = True
    reads_messages = True

    def __init__(
        self,
        root: str,  # folder of the checkout
        method: Method = "codriving",  # codriving, early, late, fcooper or v2xvit
        *,
        python: str = "python",  # the interpreter in which the checkout runs
        agent_config: str | None = None,  # a file, from root; null: that of the method
        checkpoint: str | None = None,  # folder of perception/ and planning/; null: of agent_config
        maps: str | None = None,  # folder of the towns' OpenDRIVE files
        start_timeout: float = 600.0,  # s until networks are loaded
        step_timeout: float = 300.0,  # s
    ) -> None:
        # what is missing is said before a process starts
        files = self.find_files(root, method, agent_config, checkpoint)
        refuse_missing_interpreter(python)
        self._scratch = tempfile.TemporaryDirectory(prefix="v2xverse-")
        hello = {
            "root": str(resolve_checkout(root)),
            "agent_config": str(files.config),
            "perception": [str(files.perception), find_newest_weights(files.perception).name],
            "planner": str(files.planner),
            "folder": self._scratch.name,
        }
        self.fusion_stage = STAGES.get(method, "intermediate")
        self._maps, self._patience = maps, step_timeout
        self._speed_factor = 1.0
        # loading takes a minute: it has a time-out for itself
        try:
            self._child = Child([python, str(FAR_END)], hello, start_timeout)
        except ChildError as problem:
            raise UserError(f"system: V2Xverse in {root} by {python}: {problem}") from None
        for note in self._child.notes:
            print(f"system: V2Xverse: {note}", file=sys.stderr)

    @classmethod
    def files(
        cls,
        root: str,
        method: Method = "codriving",
        agent_config: str | None = None,
        *,
        checkpoint: str | None = None,
        python: str = "python",
        **others: object,
    ) -> list[Path]:
        """Return its configuration and checkpoints; what weights hold is not looked at."""
        files = cls.find_files(root, method, agent_config, checkpoint)
        refuse_missing_interpreter(python)
        return files.all_files()

    @classmethod
    def find_files(
        cls, root: str, method: Method, agent_config: str | None, checkpoint: str | None
    ) -> AgentFiles:
        """Return where configuration and checkpoints are, or say in one line what is missing."""
        if (method == "single") == cls.reads_messages:
            raise UserError("system: method=single is for agents.v2xverse.system.V2XverseAlone")
        for folder in NEEDED:
            if not (resolve_checkout(root) / folder).is_dir():
                raise UserError(f"system: {root} is no checkout of V2Xverse: it has no {folder}")
        config = resolve_checkout(root) / (agent_config or CONFIG.format(method=method))
        if not config.is_file():
            raise UserError(f"system: there is no agent_config {config}")
        return find_agent_files(resolve_checkout(root), config, checkpoint)

    def scale_speed(self, factor: float) -> None:
        """Multiply `control.max_speed` of the agent's configuration, from the next reset on.

        V2Xverse's controller multiplies the speed of the planned waypoints by `max_speed / 5`.
        """
        self._speed_factor = factor

    def reset(self, seed: int, route: Route) -> None:
        """Start a route there."""
        self._roads = TownRoads.from_route(route, self._maps)
        asked = {"kind": "reset", "seed": seed % 2**32, "speed_factor": self._speed_factor}
        self._child.ask_child(asked, {"route": route.xyz[:, :2]}, self._patience)

    def share(self, observation: Observation) -> Points:
        """Return the sweep: V2Xverse encodes the points of all agents at the ego."""
        return Points(observation.points_in_lidar)

    def step(self, observation: EgoObservation, messages: tuple[Message, ...]) -> Step:
        """Let it look, plan and act."""
        partners = select_nearest_messages(messages, observation.lidar_in_world)
        words, arrays = make_step_request(observation, partners)
        arrays["drivable"] = self._roads.render_picture(observation.vehicle_in_world)
        answer, detected = self._child.ask_child(words, arrays, self._patience)
        throttle, steer, brake = answer["control"]
        together, alone = (
            leave_out_ego(name, detected, observation) for name in ("together", "alone")
        )
        return Step(Control(throttle, steer, brake), together, alone)


class V2XverseAlone(V2Xverse):
    """The same without partners: V2Xverse's `single`."""

    reads_messages = False


def refuse_missing_interpreter(python: str) -> None:
    """Refuse an interpreter that is not there."""
    if shutil.which(python) is None:
        raise UserError(
            f"system: python: interpreter not found: {python}; name that of V2Xverse's environment"
        )


def resolve_checkout(root: str) -> Path:
    """Return where V2Xverse lies."""
    return Path(root).expanduser().absolute()


def select_nearest_messages(messages: tuple[Message, ...], ego: Pose) -> list[Message]:
    """Return as many partners as V2Xverse takes, nearest first."""
    by_distance = sorted(
        messages,
        key=lambda message: math.hypot(
            message.lidar_in_world.x - ego.x, message.lidar_in_world.y - ego.y
        ),
    )
    return by_distance[:MOST_PARTNERS]


def make_step_request(
    observation: EgoObservation, partners: list[Message]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a moment in words and arrays."""
    # where the ego believes to be: its believed LiDAR pose, moved to the vehicle
    vehicle_in_lidar = compute_relative_pose(Pose(0.0, 0.0), observation.lidar_in_vehicle)
    believed = compose_poses(observation.lidar_in_world, vehicle_in_lidar)
    here = observation.vehicle_in_world
    words: dict[str, Any] = {
        "kind": "step",
        "time": observation.time,
        "ego": {
            "lidar": to_v2xverse_pose(observation.lidar_in_world),
            "vehicle": [believed.x, believed.y],
            "on_route": [here.x, here.y, here.yaw],
            "speed": observation.speed,
        },
        "partners": [],
    }
    arrays: dict[str, Any] = {"ego": observation.points_in_lidar}
    # points of partners, with the poses that they believe
    for message in partners:
        if not isinstance(message.payload, Points):
            raise TypeError(f"{message.sender} sent no points")
        lidar = to_v2xverse_pose(message.lidar_in_world)
        words["partners"].append({"name": message.sender, "lidar": lidar, "vehicle": lidar[:2]})
        arrays[message.sender] = message.payload.in_lidar
    return words, arrays


def to_v2xverse_pose(lidar_in_world: Pose) -> list[float]:
    """Return what V2Xverse knows of a pose; its LiDARs stand upright."""
    return [lidar_in_world.x, lidar_in_world.y, lidar_in_world.z, lidar_in_world.yaw]


def leave_out_ego(name: str, detected: dict[str, Any], observation: EgoObservation) -> Boxes:
    """Return who is there besides the ego; V2Xverse leaves itself out later, before it plans."""
    boxes = to_boxes_in_lidar(name, detected, observation.lidar_in_world.z)
    return boxes[~find_ego_boxes(boxes, observation.lidar_in_vehicle)]


def to_boxes_in_lidar(name: str, detected: dict[str, Any], height: float) -> Boxes:
    """Return boxes from corners, whose heights V2Xverse gives from the world's zero."""
    corners: Floats = np.array(detected[f"{name}_corners"], np.float64).reshape(-1, 8, 3)
    scores: Floats = np.array(detected[f"{name}_scores"], np.float64)
    classes: Integers = np.array(detected[f"{name}_classes"], np.int64)
    # (boxes, 8, 3) corners: the first four are the bottom
    along, across = corners[:, 0] - corners[:, 3], corners[:, 1] - corners[:, 0]
    centres = corners.mean(axis=1)
    geometry = np.column_stack(
        [
            centres[:, :2],
            centres[:, 2] - height,
            np.linalg.norm(along[:, :2], axis=1),
            np.linalg.norm(across[:, :2], axis=1),
            np.abs(corners[:, 4, 2] - corners[:, 0, 2]),
            np.arctan2(along[:, 1], along[:, 0]),
        ]
    )
    return Boxes(geometry, classes, scores)
