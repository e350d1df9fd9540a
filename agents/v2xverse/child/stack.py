"""V2Xverse's perception, planner and controller, as its own agent puts them together.

The networks, their preprocessing and post-processing, the planner, the controller and the choice of
the target point are V2Xverse's classes, from the checkout. What is written here is what its agent
does between them with a simulator: what it loads, and what it hands over each step.
"""

from __future__ import annotations

import importlib
import os
import random
import sys
import tempfile
import types
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np

PATHS = (".", "simulation", "simulation/leaderboard", "simulation/scenario_runner")
CAMERAS = ("front", "rear", "left", "right")
LANE_FOLLOW = 4
NO_PICTURE = np.zeros((600, 800, 3), np.uint8)


class Stack:
    """Everything of V2Xverse's that drives.

    Args:
        root: the checkout.
        agent_config: the agent's configuration.
        perception: the folder of the perception checkpoint, and the name of its weights' file.
        planner: the planner's checkpoint.
        folder: an empty folder that this process may write into.
    """

    def __init__(
        self,
        root: str,
        agent_config: str,
        *,
        perception: list[str],
        planner: str,
        folder: str,
    ) -> None:
        for path in reversed(PATHS):
            sys.path.insert(0, str(Path(root) / path))
        os.chdir(root)
        importlib.import_module("allowances").make()
        self._torch: Any = importlib.import_module("torch")
        self._folder = folder
        self.notes: list[str] = []
        os.environ.update(SAVE_PATH=folder, ROUTES="route.xml")
        yaml = importlib.import_module("yaml")
        self.config = yaml.safe_load(Path(agent_config).read_text())
        self._device = self._torch.device("cuda" if self._torch.cuda.is_available() else "cpu")
        self._seed_generators(0)
        self._load_perception(*perception)
        self._load_planner(planner)
        self._core: Any = importlib.import_module("team_code.pnp_infer_action_e2e")
        self._router: Any = importlib.import_module("team_code.planner_pnp")
        self._replace_unneeded_parts()

    def _load_perception(self, source: str, weights: str) -> None:
        tools: Any = importlib.import_module("opencood.tools.train_utils")
        settings = importlib.import_module("team_code.utils.yaml_utils")
        absences: Any = importlib.import_module("absent_keys")
        # a folder of links: the checkpoint as V2Xverse expects it
        folder = link_checkpoint(source, weights, str(Path(self._folder, "perception")))
        self.config["perception"]["perception_model_dir"] = folder
        hypes = settings.load_yaml(folder)
        refuse_disturbing(self.config, hypes)
        self.config["perception"]["perception_hypes"] = hypes
        # data sets of the configuration are not there, and not needed
        datasets = importlib.import_module("opencood.data_utils.datasets")
        hypes["test_dir"] = hypes["validate_dir"] = hypes["root_dir"] = None
        self._data = datasets.build_dataset(hypes, visualize=True, train=False)
        self._network = tools.create_model(hypes)

        # missing keys are refused or noted, where V2Xverse prints them
        def check(needed: Any, given: Any) -> None:
            absent = absences.refuse_missing_keys(needed, given)
            if absent:
                self.notes.append(absences.describe_absent_keys(absent))

        tools.check_missing_key = check
        epoch, self._network = tools.load_saved_model(folder, self._network)
        if not epoch:
            raise FileNotFoundError(f"no net_epoch*.pth in {source}")
        self._network.to(self._device).eval()

    def _load_planner(self, checkpoint: str) -> None:
        planning = self.config["planning"]
        settings = importlib.import_module("common.io").load_config_from_yaml(
            planning["planner_config"]
        )
        registry = importlib.import_module("codriving").CODRIVING_REGISTRY
        build = importlib.import_module("common.registry")
        self._planner = build.build_object_within_registry_from_config(registry, settings["model"])
        load = importlib.import_module("common.torch_helper").load_checkpoint
        load(checkpoint, self._device, self._planner)
        self._planner.to(self._device).eval()

    def _replace_unneeded_parts(self) -> None:
        """Windows, pictures, and the first of two equal looks, whose answer is not used."""
        self._core.DisplayInterface = NoWindow
        self._core.SpVoxelPreprocessor = UnusedVoxels
        self._core.PnP_infer.save = lambda *_: None
        self._core.inference_utils = types.SimpleNamespace(
            inference_intermediate_fusion_multiclass=lambda *_, **__: {}
        )

    def reset(self, seed: int, route_xy: Any, speed_factor: float) -> None:
        """Start a route: nothing seen is kept.

        Args:
            seed: of the attempt.
            route_xy: (N, 2) metres in the world.
            speed_factor: of the configuration's `max_speed`.
        """
        self._seeded = seed % 2**32
        self._count = 0
        self._core.SAVE_PATH = tempfile.mkdtemp(dir=self._folder)
        self._infer = self._core.PnP_infer(
            config=scale_max_speed(self.config, speed_factor),
            ego_vehicles_num=1,
            perception_model=self._network,
            planning_model=self._planner,
            perception_dataloader=self._data,
            device=self._device,
        )
        spacing = self.config["control"]["target_point_distance"]
        command = types.SimpleNamespace(value=LANE_FOLLOW)
        self._route = self._router.RoutePlanner(2.0, 10.0)
        plan = [(at, command) for at in to_gps(thin_route(route_xy, spacing))]
        self._route.route = [deque(plan)]

    def step(self, words: dict[str, Any], arrays: dict[str, Any]) -> tuple[list[float], Any, Any]:
        """Return pedals and wheel, and what is detected with partners and without."""
        # measurements as V2Xverse makes them
        ego = self._make_measurements(words["ego"], arrays["ego"])
        self._add_ego(ego, words["ego"], arrays["drivable"])
        partners = [
            self._make_measurements(partner, arrays[partner["name"]])
            for partner in words["partners"]
        ]
        # the answer with partners; the boxes are overheard
        with self._torch.no_grad(), OutputListener(self._data) as boxes:
            self._seed_generators(self._seeded)
            self._count += 4
            (control,) = self._infer.get_action_from_list_inter(
                car_data_raw=[ego],
                rsu_data_raw=partners,
                step=self._count,
                timestamp=words["time"],
            )
            together = boxes.last
            # once more without partners
            if partners:
                self._look_alone(ego)
        return [control.throttle, control.steer, control.brake], together, boxes.last

    def _look_alone(self, ego: dict[str, Any]) -> None:
        tools = importlib.import_module("opencood.tools.train_utils")
        self._seed_generators(self._seeded)
        one = self._data.__getitem__(idx=None, extra_source={"car_data": [ego], "rsu_data": []})
        batch = self._data.collate_batch_test([one], online_eval_only=True)
        batch = tools.to_device(batch, self._device)
        outputs = {name: self._network(scene) for name, scene in batch.items()}
        self._data.post_process_multiclass(batch, outputs, online_eval_only=True)

    def _make_measurements(self, state: dict[str, Any], points: Any) -> dict[str, Any]:
        """Return what its agents measure, in its sensors' frames: turned to the left."""
        turned = points.copy()
        turned[:, 0], turned[:, 1] = -points[:, 1], points[:, 0]
        x, y, z, yaw = state["lidar"]
        measured = {
            "x": state["vehicle"][0],
            "y": state["vehicle"][1],
            "theta": yaw + np.pi / 2,
            "compass": yaw + np.pi / 2,
            "lidar_pose_x": x,
            "lidar_pose_y": y,
            "lidar_pose_z": z,
        }
        for camera in CAMERAS:
            measured[f"camera_{camera}_intrinsics"] = np.eye(3).tolist()
            measured[f"camera_{camera}_extrinsics"] = np.eye(4).tolist()
        return {"lidar": turned, "measurements": measured}

    def _add_ego(self, ego: dict[str, Any], state: dict[str, Any], drivable: Any) -> None:
        # the next target of the route, in V2Xverse's frame
        x, y, yaw = state["on_route"]
        target, command = self._route.run_step(to_gps(np.array([[x, y]]))[0], 0)
        front, rear, left, right = self.config["perception"]["detection_range"]
        ahead, aside = np.cos(yaw), np.sin(yaw)
        # (2,) in the ego's frame, cut to the range of the perception
        away = np.array([target[1] - x, -target[0] - y])
        in_ego = np.array([away @ [-aside, ahead], -(away @ [ahead, aside])])
        ego["measurements"].update(
            speed=np.float64(state["speed"]),
            command=command.value,
            target_point=np.clip(in_ego, [-rear, -front], [left, right]),
        )
        ego["drivable_area"] = drivable
        for camera in CAMERAS:
            ego[f"rgb_{camera}"] = NO_PICTURE

    def _seed_generators(self, seed: int) -> None:
        random.seed(seed)
        np.random.seed(seed)
        self._torch.manual_seed(seed)


def scale_max_speed(config: dict[str, Any], factor: float) -> dict[str, Any]:
    """Return an agent's configuration with `control.max_speed` times a factor.

    Its controller (`team_code/v2x_controller.py`) multiplies the speed of the planned waypoints by
    `max_speed / 5` at every step.
    """
    control = {**config["control"], "max_speed": factor * config["control"]["max_speed"]}
    return {**config, "control": control}


class OutputListener:
    """Keeps what its post-processing returns: corners and scores of each class."""

    def __init__(self, data: Any) -> None:
        self._data = data
        self.last: list[Any] = []

    def __enter__(self) -> Any:
        original = self._data.post_process_multiclass

        def listen(*given: Any, **named: Any) -> Any:
            answer = original(*given, **named)
            self.last = [
                (None if box is None else box.detach().cpu().numpy().copy(), score)
                for box, score in zip(answer[0], answer[1])  # noqa: B905
            ]
            return answer

        self._data.post_process_multiclass = listen
        return self

    def __exit__(self, *_: object) -> None:
        del self._data.post_process_multiclass


class NoWindow:
    """Instead of its window on the screen."""

    def run_interface(self, _: Any) -> Any:
        """Draw nothing."""
        return NO_PICTURE


class UnusedVoxels:
    """Instead of voxels that its agent prepares and never takes."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass


def refuse_disturbing(config: dict[str, Any], hypes: dict[str, Any]) -> None:
    """Refuse settings with which V2Xverse itself delays or displaces messages.

    The records would not show it; the channel of the harness disturbs and records by how much.
    """
    settings = {
        "simulation.comm_latency of the agent": config["simulation"].get("comm_latency"),
        "perception.pose_error of the agent": config["perception"].get("pose_error"),
        "noise_setting.add_noise of the checkpoint": hypes.get("noise_setting", {}).get(
            "add_noise"
        ),
    }
    disturbing = [name for name, value in settings.items() if value]
    if disturbing:
        raise ValueError(f"{', '.join(disturbing)} is set: leave it out, interference does that")


def link_checkpoint(source: str, weights: str, folder: str) -> str:
    """Return a new folder with the settings and one file of weights, for V2Xverse's own loaders.

    They need `test_dir` as a text, and look for one best epoch. What a published file has there is
    a path of its authors' machine; nothing is read from it. The settings are kept as they are
    written, with the instructions for Python objects that V2Xverse's reader follows.
    """
    yaml: Any = importlib.import_module("yaml")
    tree = yaml.compose(Path(source, "config.yaml").read_text(), Loader=yaml.SafeLoader)
    paths = ("root_dir", "validate_dir", "test_dir")
    kept = [(key, value) for key, value in tree.value if key.value not in paths]
    text = "tag:yaml.org,2002:str"
    tree.value = kept + [
        (yaml.ScalarNode(text, name), yaml.ScalarNode(text, "none")) for name in paths
    ]
    os.mkdir(folder)  # noqa: PTH102
    Path(folder, "config.yaml").write_text(yaml.serialize(tree))
    Path(folder, weights).symlink_to(Path(source, weights))
    return folder


def to_gps(xy: Any) -> Any:
    """Return positions as its route planner gives them: north and east, in metres."""
    return np.stack([-xy[:, 1], xy[:, 0]], axis=1)


def thin_route(xy: Any, spacing: float) -> Any:
    """Return the start, a place at most so often, and the goal, as its route files are thinned."""
    away = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(xy, axis=0), axis=1))])
    kept = np.unique((away // spacing).astype(int), return_index=True)[1]
    return xy[np.unique(np.append(kept, len(xy) - 1))]
