"""A checkpoint of the OpenCOOD family: settings, data set, network and post-processing.

Reading of settings, what is made of points and images, the network, its decoding and suppression
are the checkout's own. What is written here stands between them and a pipe: agents come from
frames instead of files, and a network may be run in two parts.
"""

from __future__ import annotations

import copy
import importlib
import os
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np

CANDIDATES = 60
"""Random weights let every anchor pass; so many with the highest scores are kept."""
SCORE_MAPS = ("cls_preds", "psm", "cls")
"""Names under which networks return scores before the sigmoid."""


class Stack:
    """Everything of one checkpoint that detects.

    Args:
        words: `root`, `checkpoint` (a folder, or a YAML file with `random` weights), `weights`,
            `folder` (empty), `messages` (`points`, `features` or nothing), `mirrored`, `cameras`,
            `threshold` of scores, and `range` to which all ranges are cut.
    """

    def __init__(self, words: dict[str, Any]) -> None:
        self.notes: list[str] = []
        # our own modules first: a checkout may have modules of the same names
        allowances: Any = importlib.import_module("allowances")
        self._absences: Any = importlib.import_module("absent_keys")
        self._cuts: Any = importlib.import_module("cuts")
        self._settings: Any = importlib.import_module("settings")
        self._scenes: Any = importlib.import_module("scenes")
        allowances.make()
        if words["root"] not in sys.path:
            sys.path.insert(0, words["root"])
        os.chdir(words["root"])
        allowances.put_compiled_parts()
        self._torch: Any = importlib.import_module("torch")
        self._device = self._torch.device("cuda" if self._torch.cuda.is_available() else "cpu")
        self._random = words["weights"] == "random"
        self._seed = 0
        self._seed_generators()
        self._read_settings(words)
        self._build(Path(words["checkpoint"]))
        self._choose(words)

    def _read_settings(self, words: dict[str, Any]) -> None:
        checkpoint = Path(words["checkpoint"])
        reader: Any = importlib.import_module("opencood.hypes_yaml.yaml_utils")
        file = checkpoint / "config.yaml" if checkpoint.is_dir() else checkpoint
        try:
            self.hypes = reader.load_yaml(str(file))
        except NameError as problem:
            # the reader evaluates the name of a function that a file gives
            raise ValueError(
                f"{file.name} is of another project: the checkout has no function"
                f" {self._settings.name_parser(file)}"
            ) from problem
        if words.get("range"):
            self._settings.cut_ranges(self.hypes, float(words["range"]))
            getattr(reader, self.hypes["yaml_parser"])(self.hypes)
        self.data_set = self._settings.name_data_set(self.hypes)
        self.notes += self._settings.prepare_settings(self.hypes, words["folder"])
        method = str(self.hypes["fusion"]["core_method"])
        if method not in self._settings.STAGES:
            raise ValueError(f"fusion.core_method: {method} is not known")
        self.stage = self._settings.STAGES[method]
        self._targets = self.hypes["postprocess"]["target_args"]
        if words.get("threshold") is not None:
            self._targets["score_threshold"] = float(words["threshold"])
        self._threshold = float(self._targets["score_threshold"])

    def _build(self, checkpoint: Path) -> None:
        tools: Any = importlib.import_module("opencood.tools.train_utils")
        datasets: Any = importlib.import_module("opencood.data_utils.datasets")
        self._boxes: Any = importlib.import_module("opencood.utils.box_utils")
        self._world: Any = importlib.import_module("opencood.utils.transformation_utils")
        self._move = tools.to_device
        network = tools.create_model(self.hypes)
        if not self._random:
            self._load_weights(network, self._settings.find_weights(checkpoint))
        self._network = network.to(self._device).eval()
        # data sets read an index of files first: there are none
        base: Any = sys.modules.get("opencood.data_utils.datasets.basedataset.opv2v_basedataset")
        if base is not None:
            base.OPV2VBaseDataset.reinitialize = lambda _: None
        hypes = copy.copy(self.hypes)
        if self.data_set in self._settings.SAME_FRAMES:
            hypes["fusion"] = {**hypes["fusion"], "dataset": "opv2v"}
        self._data = datasets.build_dataset(hypes, visualize=False, train=False)
        self._data.get_ext_int = get_camera
        self._data.load_depth_file = False
        self._data.generate_object_center_camera = getattr(
            self._data, "generate_object_center_lidar", None
        )
        # labels are of the training: there are none
        self._data.post_processor.generate_gt_bbx = lambda _: None

    def _load_weights(self, network: Any, file: Path) -> None:
        try:
            state = self._torch.load(str(file), map_location="cpu", weights_only=True)
        except TypeError:  # before torch 1.13
            state = self._torch.load(str(file), map_location="cpu")
        needed = network.state_dict()
        state = {key[7:] if key.startswith("module.") else key: n for key, n in state.items()}
        state = {key: turn_kernel(numbers, needed.get(key)) for key, numbers in state.items()}
        # counters of batches are older than some files, and not needed
        given = {*state, *(key for key in needed if key.endswith("num_batches_tracked"))}
        absent = self._absences.refuse_missing_keys(needed, given)
        if absent:
            self.notes.append(self._absences.describe_absent_keys(absent))
        for key, numbers in state.items():
            if key in needed and tuple(numbers.shape) != tuple(needed[key].shape):
                raise ValueError(
                    f"{file.name}: {key} is {tuple(numbers.shape)}, and the network of config.yaml"
                    f" has {tuple(needed[key].shape)}: another number of classes, anchors or layers"
                )
        surplus = [key for key in state if key not in needed]
        if surplus:
            self.notes.append(
                f"{file.name}: {len(surplus)} keys are not read, {surplus[0]} among them"
            )
        network.load_state_dict(state, strict=False)

    def _choose(self, words: dict[str, Any]) -> None:
        """Choose what is sent, and which modalities agents may have."""
        self._mirrored = words["mirrored"]
        if self._mirrored is None:
            self._mirrored = self.data_set in self._settings.RIGHT_HANDED
        sensors = self._settings.find_sensors(self.hypes)
        usable = [m for m, sensor in sensors.items() if sensor == "lidar" or words["cameras"]]
        ego = [m for m in self._settings.find_ego_modalities(self.hypes) if m in usable]
        if not ego:
            raise ValueError(
                "this configuration reads images: use agents.opencood.system.OpenCoodCameras"
            )
        fits = self._cuts.Cut.fits(self._network, getattr(self._data, "proj_first", False))
        sends = {"late": "boxes", "early": "points"}.get(self.stage, "points")
        if self.stage == "intermediate" and fits and words["messages"] != "points":
            sends = "features"
        if words["messages"] not in (None, sends):
            raise ValueError(f"messages: {words['messages']} cannot be sent; {sends} can")
        if sends == "points":
            usable = [m for m in usable if sensors[m] == "lidar"]
        self._sends = sends
        self._sensors = sensors
        self._cut: Any = self._cuts.Cut(self._network) if sends == "features" else None
        self.properties = {
            "stage": self.stage,
            "sends": sends,
            "ego_modality": ego[0],
            "modalities": usable,
            "sensors": sensors,
            "data_set": self.data_set,
            "most_agents": int(self._data.max_cav),
        }

    def answer(
        self, words: dict[str, Any], arrays: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the words and arrays that answer a frame."""
        if words["kind"] == "reset":
            self._seed = int(words["seed"])
            return {"kind": "reset"}, {}
        self._seed_generators()
        with self._torch.no_grad():
            agents = [read_agent(agent, arrays) for agent in words["agents"]]
            if words["kind"] == "share":
                return {"kind": "share"}, self._share(agents[0])
            alone = self._detect(agents[:1])
            boxes = pack_boxes("alone", *alone)
            if len(agents) > 1:
                self._seed_generators()
                boxes.update(pack_boxes("together", *self._fuse(agents)))
            return {"kind": "perceive"}, boxes

    def _share(self, agent: dict[str, Any]) -> dict[str, Any]:
        """Return what a partner sends: its boxes, or its features."""
        if self._sends == "boxes":
            # heights and ranges are judged in the ego's frame, as in the checkout
            with self._scenes.Unfiltered(self._boxes):
                return pack_boxes("sent", *self._detect([agent]))
        if not self._has_data(agent, None):
            return {}
        features = self._cut.encode_sender(self._make_batch([agent])["ego"])
        return {"features": features.cpu().numpy().astype(np.float32)}

    def _fuse(self, agents: list[dict[str, Any]]) -> tuple[Any, Any]:
        """Return boxes and scores with the messages of partners."""
        if self._sends == "boxes":
            return self._merge_boxes(agents)
        if self._sends == "points":
            return self._detect(agents)
        return self._fuse_features(agents)

    def _detect(self, agents: list[dict[str, Any]]) -> tuple[Any, Any]:
        """Return boxes (N, 7) and scores (N,) from the data of one agent or of all."""
        ego = self._scenes.to_their_pose(agents[0]["pose"], self._mirrored)
        agents = [
            agent
            for agent in agents
            if self._has_data(agent, ego) or (agent is agents[0] and self.stage == "early")
        ]
        if not agents or not agents[0]["is_ego"]:
            return np.zeros((0, 7)), np.zeros(0)
        batch = self._make_batch(agents)
        return self._decode(batch, {"ego": self._network(batch["ego"])})

    def _has_data(self, agent: dict[str, Any], ego_pose: Any) -> bool:
        """Return whether an agent has images, or points in range that a network can take."""
        if self._sensors.get(agent["modality"]) == "camera":
            return len(agent["images"]) > 0
        limits = self.hypes["preprocess"]["cav_lidar_range"]
        points = self._scenes.to_their_points(agent["points"], self._mirrored)
        to_ego = None
        if ego_pose is not None and getattr(self._data, "proj_first", self.stage == "early"):
            pose = self._scenes.to_their_pose(agent["pose"], self._mirrored)
            to_ego = self._world.x1_to_x2(pose, ego_pose)
        count = self._scenes.count_cells_in_range(points, limits, to_ego)
        return bool(count >= self._scenes.FEWEST_CELLS)

    def _make_batch(self, agents: list[dict[str, Any]]) -> Any:
        """Return what the checkout's data set makes of agents."""
        data = self._scenes.make_base_data(agents, self._world, self._mirrored)
        self._data.retrieve_base_data = lambda *_, **__: data
        return self._move(self._data.collate_batch_test([self._data[0]]), self._device)

    def _decode(self, batch: Any, outputs: Any) -> tuple[Any, Any]:
        """Return boxes and scores of the checkout's post-processing."""
        if self._random:
            self._targets["score_threshold"] = max(self._threshold, find_threshold(outputs))
        corners, scores = self._data.post_process(batch, outputs)[:2]
        if corners is None or not len(corners):
            return np.zeros((0, 7)), np.zeros(0)
        rows = self._scenes.to_box_rows(corners.cpu().numpy(), self._mirrored)
        return rows, scores.cpu().numpy().astype(np.float64).reshape(-1)

    def _merge_boxes(self, agents: list[dict[str, Any]]) -> tuple[Any, Any]:
        """Return the ego's boxes and those that partners sent, after the checkout's suppression."""
        ego_pose = self._scenes.to_their_pose(agents[0]["pose"], self._mirrored)
        rows, scores = self._detect(agents[:1])
        corners, every = [self._scenes.to_their_corners(rows, self._mirrored)], [scores]
        for agent in agents[1:]:
            pose = self._scenes.to_their_pose(agent["pose"], self._mirrored)
            to_ego = self._world.x1_to_x2(pose, ego_pose)
            sent = self._scenes.to_their_corners(agent["boxes"], self._mirrored)
            corners.append(sent @ to_ego[:3, :3].T + to_ego[:3, 3])
            every.append(agent["scores"])
        joined = self._torch.tensor(np.concatenate(corners), dtype=self._torch.float32)
        score = self._torch.tensor(np.concatenate(every), dtype=self._torch.float32)
        if not len(score):
            return np.zeros((0, 7)), np.zeros(0)
        whole = self._scenes.find_plausible(self._boxes, joined)
        joined, score = joined[whole], score[whole]
        kept = self._boxes.nms_rotated(joined, score, self.hypes["postprocess"]["nms_thresh"])
        joined, score = joined[kept], score[kept]
        inside = self._scenes.find_in_range(self._boxes, joined, self.hypes["postprocess"])
        rows = self._scenes.to_box_rows(joined[inside].numpy(), self._mirrored)
        return rows, score[inside].numpy().astype(np.float64)

    def _fuse_features(self, agents: list[dict[str, Any]]) -> tuple[Any, Any]:
        """Return boxes and scores from the ego's data and the features that partners sent."""
        if not self._has_data(agents[0], None):
            return np.zeros((0, 7)), np.zeros(0)
        # beyond the range of communication no agent takes part, as in the checkout's data set
        data = self._scenes.make_base_data(agents, self._world, self._mirrored)
        names = [
            name
            for name, agent in data.items()
            if agent["ego"] or agent["distance_to_ego"] <= self.hypes["comm_range"]
        ]
        near = [agents[place] for place, name in enumerate(data) if name in names]
        near = [near[0]] + [agent for agent in near[1:] if agent["features"] is not None]
        batch = self._make_batch(near[:1])
        if len(near) == 1:
            return self._decode(batch, {"ego": self._network(batch["ego"])})
        data = self._scenes.make_base_data(near, self._world, self._mirrored)
        matrices = self._world.get_pairwise_transformation(data, self._data.max_cav, False)
        given = batch["ego"]["pairwise_t_matrix"]
        batch["ego"]["pairwise_t_matrix"] = self._torch.tensor(matrices[None]).to(given)
        received = self._torch.tensor(np.stack([agent["features"] for agent in near[1:]]))
        output = self._cut.run_receiver(
            batch["ego"], received, [agent["modality"] for agent in near]
        )
        return self._decode(batch, {"ego": output})

    def _seed_generators(self) -> None:
        random.seed(self._seed)
        np.random.seed(self._seed)
        self._torch.manual_seed(self._seed)


def read_agent(words: dict[str, Any], arrays: dict[str, Any]) -> dict[str, Any]:
    """Return an agent with its arrays: points, images, boxes, features."""
    name = words["name"]
    images = [arrays[f"{name}/image{place}"] for place in range(len(words["cameras"]))]
    if images:
        pictures: Any = importlib.import_module("PIL.Image")
        images = [pictures.fromarray(pixels) for pixels in images]
    return {
        **words,
        "points": arrays.get(f"{name}/points", np.zeros((0, 4), np.float32)),
        "images": images,
        "boxes": arrays.get(f"{name}/boxes"),
        "scores": arrays.get(f"{name}/scores"),
        "features": arrays.get(f"{name}/features"),
    }


def get_camera(params: dict[str, Any], place: int) -> tuple[Any, Any]:
    """Return a camera's place in its agent's LiDAR frame (4, 4), and its intrinsics (3, 3)."""
    camera = params["cameras"][place]
    return camera["matrix"], camera["intrinsic"].astype(np.float32)


def pack_boxes(name: str, rows: Any, scores: Any) -> dict[str, Any]:
    """Return boxes as two arrays of a frame."""
    return {f"{name}_boxes": np.asarray(rows, np.float64), f"{name}_scores": np.asarray(scores)}


def find_threshold(outputs: Any) -> float:
    """Return the score that only some candidates of each agent's output reach."""
    highest = 0.0
    for output in outputs.values():
        scores = next(output[name] for name in SCORE_MAPS if name in output).sigmoid().flatten()
        if len(scores) > CANDIDATES:
            highest = max(highest, float(scores.kthvalue(len(scores) - CANDIDATES)[0]))
    return highest


def turn_kernel(numbers: Any, needed: Any) -> Any:
    """Return a kernel of spconv 1 in the order of spconv 2; anything else as it is.

    spconv 1.2 keeps (z, y, x, in, out), spconv 2 keeps (out, z, y, x, in): its issues 428 and 605.
    """
    if needed is None or numbers.dim() != 5 or tuple(numbers.shape) == tuple(needed.shape):
        return numbers
    turned = numbers.permute((4, 0, 1, 2, 3)).contiguous()
    return turned if tuple(turned.shape) == tuple(needed.shape) else numbers
