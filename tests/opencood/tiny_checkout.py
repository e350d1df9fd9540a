"""A small package with the interface of HEAL's, written for these tests: nothing of it is HEAL's.

Its network counts points in cells of 2 m, fuses the cells of agents by their maximum after a warp,
and returns one anchor box per cell; the score is `sigmoid(scale * count + offset)`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import yaml

YAML_UTILS = """
import yaml
def load_yaml(file, opt=None):
    with open(file) as stream:
        param = yaml.load(stream, Loader=yaml.Loader)
    return eval(param["yaml_parser"])(param) if "yaml_parser" in param else param
"""
TRAIN_UTILS = """
import importlib
def create_model(hypes):
    name = hypes["model"]["core_method"]
    module = importlib.import_module("opencood.models." + name)
    return getattr(module, "Tiny")(hypes["model"]["args"])
def to_device(inputs, device):
    if isinstance(inputs, dict):
        return {key: to_device(value, device) for key, value in inputs.items()}
    return inputs.to(device) if hasattr(inputs, "to") else inputs
"""
TRANSFORMATIONS = """
import numpy as np
def x_to_world(pose):
    x, y, z, roll, yaw, pitch = pose
    a = np.radians(yaw)
    matrix = np.eye(4)
    matrix[:2, :2] = [[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]
    matrix[:3, 3] = [x, y, z]
    return matrix
def x1_to_x2(first, second):
    return np.linalg.inv(x_to_world(second)) @ x_to_world(first)
def get_pairwise_transformation(data, most, proj_first):
    matrix = np.tile(np.eye(4), (most, most, 1, 1))
    poses = [x_to_world(agent["params"]["lidar_pose"]) for agent in data.values()]
    for i, one in enumerate(poses):
        for j, other in enumerate(poses):
            matrix[i, j] = np.linalg.inv(other) @ one
    return matrix
"""
BOXES = """
import torch
def nms_rotated(boxes, scores, threshold):
    kept = []
    for i in scores.argsort(descending=True).tolist():
        centre = boxes[i, :, :2].mean(dim=0)
        if all((boxes[j, :, :2].mean(dim=0) - centre).norm() > 2.5 for j in kept):
            kept.append(i)
    return torch.tensor(kept, dtype=torch.long)
"""
MODEL = """
import torch
from torch import nn
SIZE = 32
def warp(features, matrix):
    # metres to the share of the range, x along columns
    theta = torch.zeros(1, 2, 3)
    theta[0, :, :2] = matrix[:2, :2]
    theta[0, :, 2] = matrix[:2, 3] / float(SIZE)
    grid = nn.functional.affine_grid(theta, [1, *features.shape], align_corners=False)
    return nn.functional.grid_sample(features[None], grid, align_corners=False)[0]
class Fusion(nn.Module):
    def forward(self, features, record_len, matrices):
        assert int(record_len.sum()) == len(features), (record_len, features.shape)
        # row 0: from the ego's cells to those of each agent
        warped = [warp(f, matrices[0, 0, j].float()) for j, f in enumerate(features)]
        return torch.stack(warped).max(dim=0)[0][None]
class Tiny(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.modality_name_list = ["m1"]
        self.scale = nn.Parameter(torch.full((args["anchors"],), 0.02))
        self.offset = nn.Parameter(torch.full((args["anchors"],), -4.0))
        self.fusion_net = Fusion()
    def forward(self, batch):
        features = batch["inputs_m1"]
        if "record_len" in batch:
            features = self.fusion_net(features, batch["record_len"], batch["pairwise_t_matrix"])
        scores = features[:, :1] * self.scale[0] + self.offset[0]
        return {"cls_preds": scores, "reg_preds": features}
"""
DATASETS = """
import numpy as np, torch
from opencood.utils.transformation_utils import x1_to_x2, get_pairwise_transformation
SIZE = 32
class PostProcessor:
    def __init__(self, params):
        self.params = params
    def post_process(self, batch, outputs):
        boxes, scores = [], []
        for name, output in outputs.items():
            probability = output["cls_preds"][0, 0].sigmoid()
            least = self.params["target_args"]["score_threshold"]
            rows, columns = (probability > least).nonzero().T
            for row, column in zip(rows.tolist(), columns.tolist()):
                x, y = 2.0 * column - SIZE + 1.0, 2.0 * row - SIZE + 1.0
                flat = [(2, -1), (2, 1), (-2, 1), (-2, -1)]
                corners = [(x + a, y + b, z) for z in (-1.9, -0.3) for a, b in flat]
                boxes.append(corners)
                scores.append(float(probability[row, column]))
        if not boxes:
            return None, None
        return torch.tensor(boxes), torch.tensor(scores)
class Data:
    def __init__(self, params, visualize, train):
        self.params, self.max_cav, self.proj_first = params, 5, False
        assert params["validate_dir"] and not params["noise_setting"]["add_noise"]
        self.post_processor = PostProcessor(params["postprocess"])
        self.reinitialize()
    def reinitialize(self):
        raise OSError("no data set here")
    def count(self, points):
        counts = np.zeros((1, SIZE, SIZE), np.float32)
        cells = np.floor((points[:, :2] + SIZE) / 2.0).astype(int)
        high = (cells >= 0).all(axis=1) & (cells < SIZE).all(axis=1) & (points[:, 2] > -1.2)
        np.add.at(counts, (0, cells[high, 1], cells[high, 0]), 1)
        return torch.tensor(counts)
    def __getitem__(self, index):
        data = self.retrieve_base_data(index)
        ego = next(iter(data.values()))
        assert ego["ego"]
        near = {k: a for k, a in data.items() if a["distance_to_ego"] <= self.params["comm_range"]}
        method = self.params["fusion"]["core_method"]
        sweeps = [agent["lidar_np"] for agent in near.values()]
        if method == "early":
            here = ego["params"]["lidar_pose"]
            to_ego = [x1_to_x2(a["params"]["lidar_pose"], here) for a in near.values()]
            moved = [s[:, :3] @ m[:3, :3].T + m[:3, 3] for s, m in zip(sweeps, to_ego)]
            sweeps = [np.vstack(moved)]
        item = {"inputs_m1": torch.stack([self.count(sweep) for sweep in sweeps])}
        if method == "intermediate":
            item["record_len"] = torch.tensor([len(sweeps)])
            matrices = get_pairwise_transformation(near, self.max_cav, False)
            item["pairwise_t_matrix"] = torch.tensor(matrices[None])
        return {"ego": item}
    def collate_batch_test(self, batch):
        return batch[0]
    def post_process(self, batch, outputs):
        boxes, scores = self.post_processor.post_process(batch, outputs)
        return boxes, scores, self.post_processor.generate_gt_bbx(batch)
def build_dataset(hypes, visualize=False, train=True):
    from opencood.data_utils.datasets.basedataset.opv2v_basedataset import OPV2VBaseDataset
    class Joined(OPV2VBaseDataset, Data):
        pass
    return Joined(hypes, visualize, train)
from opencood.data_utils.datasets.basedataset import opv2v_basedataset
"""
BASE = """
class OPV2VBaseDataset:
    pass
"""
FILES = {
    "opencood/hypes_yaml/yaml_utils.py": YAML_UTILS,
    "opencood/tools/train_utils.py": TRAIN_UTILS,
    "opencood/utils/transformation_utils.py": TRANSFORMATIONS,
    "opencood/utils/box_utils.py": BOXES,
    "opencood/models/tiny.py": MODEL,
    "opencood/data_utils/datasets/__init__.py": DATASETS,
    "opencood/data_utils/datasets/basedataset/opv2v_basedataset.py": BASE,
}


def write_checkout(folder: Path) -> Path:
    """Write the package, and return the root of the checkout."""
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    for place in {parent for name in FILES for parent in Path(name).parents} - {Path()}:
        (folder / place / "__init__.py").touch()
    return folder


def make_tiny_settings(method: str, anchors: int = 1, data_set: str = "opv2v") -> dict[str, Any]:
    """Return a `config.yaml` of the small network."""
    return {
        "root_dir": "/elsewhere/train",
        "fusion": {"core_method": method, "dataset": data_set, "args": {}},
        "comm_range": 70.0,
        "noise_setting": {"add_noise": True, "args": {"pos_std": 0.2}},
        "preprocess": {"cav_lidar_range": [-32, -32, -3, 32, 32, 1]},
        "postprocess": {"nms_thresh": 0.15, "target_args": {"score_threshold": 0.2}},
        "model": {"core_method": "tiny", "args": {"anchors": anchors}},
    }


def write_checkpoint(folder: Path, method: str, anchors: int = 1, **changed: Any) -> Path:
    """Write `config.yaml` and `net_epoch3.pth`, and return the folder.

    Args:
        folder: made if it does not exist.
        method: `late`, `early` or `intermediate`.
        anchors: of the weights; the settings have one.
        changed: weights that are other, or None for those left out.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.yaml").write_text(yaml.safe_dump(make_tiny_settings(method)))
    weights: dict[str, Any] = {
        "scale": torch.full((anchors,), 0.02),
        "offset": torch.full((anchors,), -4.0),
        **changed,
    }
    torch.save({k: v for k, v in weights.items() if v is not None}, folder / "net_epoch3.pth")
    return folder
