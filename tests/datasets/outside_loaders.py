"""OpenCOOD's or HEAL's own data sets over an export, run unmodified and compared with our scenes.

    python -m tests.datasets.outside_loaders CHECKOUT EXPORTED [RECORDED]

CHECKOUT is a clone of OpenCOOD or HEAL in which `opencood/utils/setup.py build_ext --inplace` was
run. EXPORTED is a folder of `crucible export-dataset --format opv2v`, RECORDED the recordings that
it was made from (default: EXPORTED). Their packages must be importable: torch, Open3D, OpenCV,
spconv. `pypcd`, which HEAL imports for another data set, is an empty module where it is absent.
Printed are the largest differences in millimetres. The exit code is 1 if one is over a millimetre.
With HEAL and an export with pictures, its camera data set is opened, too: pixels, depths, corners
of boxes in pictures by its own projection, and the vehicles that its map of visibility shows.
"""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from harness.common.recordings import AgentLook, RecordedScenario
from harness.datasets.opening import open_recordings
from harness.types.geometry import transform_boxes, transform_points
from harness.types.vocabulary import VEHICLE, Floats
from tests.datasets.boxes_of_others import list_corners
from tests.datasets.outside_cameras import (
    SETTINGS,
    build_camera_dataset,
    compare_pictures,
    has_pictures,
)

RANGE = [-140.0, -140.0, -10.0, 140.0, 140.0, 10.0]
MILLIMETRE = 1.0


def load_outside(checkout: Path) -> types.ModuleType:
    """Import `opencood` of the checkout."""
    sys.path.insert(0, str(checkout))
    try:
        import pypcd  # type: ignore[import-not-found]  # noqa: F401
    except ImportError:
        package = types.ModuleType("pypcd")
        package.pypcd = types.ModuleType("pypcd.pypcd")  # type: ignore[attr-defined]
        sys.modules["pypcd"] = package
        print("stand-in: pypcd (an empty module)")
    import matplotlib

    if not hasattr(
        matplotlib.cm, "get_cmap"
    ):  # Matplotlib 3.9 dropped it; a drawing module calls it
        vars(matplotlib.cm)["get_cmap"] = matplotlib.colormaps.get_cmap
        print("shim: matplotlib.cm.get_cmap")
    define_torchvision_operators()
    import opencood.data_utils.datasets as outside  # type: ignore[import-not-found]

    return outside  # type: ignore[no-any-return]


def define_torchvision_operators() -> None:
    """Declare operators that a torchvision for CUDA lacks next to a torch for CPUs; none runs."""
    import torch

    registry: Any = torch.library
    try:
        import torchvision  # type: ignore[import-untyped,import-not-found,unused-ignore]  # noqa: F401
    except RuntimeError:
        for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
            del sys.modules[name]
        OPERATORS.append(registry.Library("torchvision", "FRAGMENT"))
        for name in ("nms", "qnms"):
            OPERATORS[0].define(f"{name}(Tensor dets, Tensor scores, float iou) -> Tensor")
        print("shim: operators of torchvision")


OPERATORS: list[Any] = []
"""Kept: a library that is dropped takes its operators along."""


def build_outside_dataset(outside: Any, checkout: Path, exported: Path) -> Any:
    """Return their intermediate-fusion data set over the exported folder, in test mode."""
    from opencood.hypes_yaml.yaml_utils import load_yaml  # type: ignore[import-not-found]

    folder = checkout / "opencood" / "hypes_yaml"
    heal = folder / "opv2v" / "LiDAROnly" / "lidar_fcooper.yaml"
    settings = load_yaml(str(heal if heal.is_file() else folder / "point_pillar_fcooper.yaml"))
    settings["root_dir"] = settings["validate_dir"] = settings["test_dir"] = str(exported)
    settings["postprocess"]["max_num"] = 300
    settings.setdefault("train_params", {})["max_cav"] = 7
    if heal.is_file():
        settings["fusion"].update(core_method="intermediate", dataset="opv2v")
        settings["fusion"]["args"]["proj_first"] = True
        settings["postprocess"]["gt_range"] = RANGE
        # one frame of all agents; HEAL's heterogeneous models are another class
        settings.pop("heter", None)
        settings["comm_range"] = 1000.0
    settings["preprocess"]["args"].update(
        max_points_per_voxel=32, max_voxel_train=32000, max_voxel_test=70000
    )
    return outside.build_dataset(settings, visualize=True, train=False)


def compare_item(
    data: Any, number: int, scenarios: dict[str, RecordedScenario]
) -> dict[str, float]:
    """Return the largest differences of one item, in millimetres."""
    base = data.retrieve_base_data(number)
    scenario, moment, agents = locate_item(data, number, scenarios, list(base))
    ego = next(agent for agent in agents if base[str(agent)]["ego"])
    looks = {agent: scenario.read_look(agent, moment) for agent in agents}
    item = data[number]["ego"]
    differences: dict[str, float] = {}
    # sweeps as they are read: every row
    differences["points as read"] = 1e3 * max(
        float(np.abs(base[str(agent)]["lidar_np"][:, :3] - look.points_in_lidar[:, :3]).max())
        for agent, look in looks.items()
    )
    differences["intensity, of 1000"] = 1e3 * max(
        float(np.abs(base[str(agent)]["lidar_np"][:, 3] - look.points_in_lidar[:, 3]).max())
        for agent, look in looks.items()
    )
    # sweeps in the ego's frame, without those of the agents' own bodies
    near = [agent for agent in agents if is_in_range(looks[agent], looks[ego], data)]
    ours = np.concatenate([drop_carrier_body(looks[a], looks[ego]) for a in near])
    theirs = np.asarray(item["origin_lidar"])[:, :3]
    # OpenCOOD keeps those in the range of the network only; all within it, less a millimetre
    kept = ours
    if len(ours) != len(theirs):
        low, high = np.split(np.array(data.params["preprocess"]["cav_lidar_range"]), 2)
        kept = ours[(ours > low + 1e-3).all(axis=1) & (ours < high - 1e-3).all(axis=1)]
        assert abs(len(kept) - len(theirs)) < 0.001 * len(theirs)
    differences["points in the ego's frame"] = 1e3 * max(
        float(cKDTree(ours).query(theirs)[0].max()), float(cKDTree(theirs).query(kept)[0].max())
    )
    # boxes of each agent in the agent's own frame, and of all in the ego's
    for agent in agents:
        centres, mask, ids = data.post_processor.generate_object_center(
            [base[str(agent)]], base[str(agent)]["params"]["lidar_pose"]
        )
        pairs = compare_boxes(centres[mask == 1], ids, looks[agent], agents)
        note_largest(differences, "boxes of each agent", pairs)
    boxes = np.asarray(item["object_bbx_center"])[np.asarray(item["object_bbx_mask"]) == 1]
    note_largest(
        differences, "boxes of all, in the ego's frame",
        compare_boxes(boxes, item["object_ids"], looks[ego], agents),
    )  # fmt: skip
    return differences


def locate_item(
    data: Any, number: int, scenarios: dict[str, RecordedScenario], agents: list[str]
) -> tuple[RecordedScenario, str, list[int]]:
    """Return the scenario, the moment and the agents of an item."""
    index = next(i for i, end in enumerate(data.len_record) if number < end)
    files = data.scenario_database[index]
    before = data.len_record[index - 1] if index else 0
    moment = data.return_timestamp_key(files, number - before)
    file = Path(files[agents[0]][moment]["yaml"])
    return scenarios[file.parents[1].name], moment, [int(agent) for agent in agents]


def is_in_range(look: AgentLook, ego: AgentLook, data: Any) -> bool:
    """Return whether a look is of an agent whose data they use."""
    reach = data.params.get("comm_range", 70.0)
    here, there = ego.lidar_in_world, look.lidar_in_world
    return bool(np.hypot(here.x - there.x, here.y - there.y) <= reach)


def drop_carrier_body(look: AgentLook, ego: AgentLook) -> Floats:
    """Return (N, 3) points in the ego's frame, without those on the agent's own body."""
    x, y = look.points_in_lidar[:, 0], look.points_in_lidar[:, 1]
    on_body = (x >= -1.95) & (x <= 2.95) & (y >= -1.1) & (y <= 1.1)
    points = look.points_in_lidar[~on_body].astype(np.float64)
    moved = transform_points(points, look.lidar_in_world, ego.lidar_in_world)  # type: ignore[arg-type]
    return np.asarray(moved[:, :3], np.float64)


def compare_boxes(
    theirs: Floats, ids: list[Any], look: AgentLook, agents: list[int]
) -> list[float]:
    """Return metres by which centres, sizes and corners differ, box by box.

    Args:
        theirs: (N, 7) x y z height width length yaw in the look's frame.
        ids: of the boxes.
        look: with our boxes.
        agents: no agent may be among the boxes.
    """
    assert not {int(actor) for actor in ids} & set(agents)
    truth = look.truth
    rows = {actor: row for row, actor in enumerate(truth.actor_ids.tolist())}
    geometry = transform_boxes(
        truth.boxes_in_lidar, look.lidar_in_world, look.lidar_in_world
    ).geometry
    apart = []
    for box, actor in zip(theirs, ids, strict=True):
        if int(actor) not in rows:  # a partner sees farther than the ego's recorded road users
            continue
        row = rows[int(actor)]
        assert truth.boxes_in_lidar.classes[row] == VEHICLE
        ours = geometry[row]
        x, y, z, height, width, length, yaw = box
        same = list_corners(np.array([x, y, z, length, width, height, yaw]))
        apart.append(float(np.linalg.norm(same - list_corners(ours), axis=1).max()))
    return apart


def note_largest(differences: dict[str, float], name: str, metres: list[float]) -> None:
    """Note the largest of some differences in millimetres, and how many there were."""
    differences[name] = max(differences.get(name, 0.0), 1e3 * max(metres, default=0.0))
    counted = f"{name}: compared"
    differences[counted] = differences.get(counted, 0.0) + len(metres)


def main() -> int:
    """Compare all items, print the largest differences."""
    checkout, exported = Path(sys.argv[1]), Path(sys.argv[2])
    scenarios = {one.folder.name: one for one in open_recordings(Path(sys.argv[-1]))}
    outside = load_outside(checkout)
    data = build_outside_dataset(outside, checkout, exported)
    largest: dict[str, float] = {}
    for number in range(len(data)):
        note_all(largest, compare_item(data, number, scenarios))
    if (checkout / SETTINGS).is_file() and has_pictures(scenarios):
        one = next(iter(scenarios.values()))
        agent = one.list_agents()[0]
        rows, columns = one.read_images(agent, one.list_moments(agent)[0])[0].pixels.shape[:2]
        filmed = build_camera_dataset(outside, checkout, exported, (columns, rows))
        for number in range(len(filmed)):
            agents = list(filmed.retrieve_base_data(number))
            scenario, moment, _ = locate_item(filmed, number, scenarios, agents)
            note_all(largest, compare_pictures(filmed, number, scenario, moment))
            _ = filmed[number]["ego"]  # their whole item, with images as tensors
    print(f"{len(data)} items of {len(scenarios)} scenarios; largest differences in mm:")
    for name, difference in largest.items():
        print(f"  {name}: {difference:.6g}")
    limits = {name: get_limit(name) for name in largest if not name.endswith("compared")}
    return 1 if any(largest[name] > limit for name, limit in limits.items()) else 0


def note_all(largest: dict[str, float], differences: dict[str, float]) -> None:
    """Note the largest of differences, and the sum of what was compared."""
    for name, difference in differences.items():
        before = largest.get(name, 0.0)
        summed = name.endswith("compared")
        largest[name] = before + difference if summed else max(before, difference)


def get_limit(name: str) -> float:
    """Return the largest difference that passes: a millimetre, and half a step of what is whole."""
    if name.startswith("intensity"):
        return 2.0
    return {"pixels of pictures": 0.0, "depths, m": 0.51, "labels that are no vehicle": 0.0}.get(
        name, MILLIMETRE
    )


if __name__ == "__main__":
    sys.exit(main())
