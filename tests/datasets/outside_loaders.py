"""OpenCOOD's or HEAL's own data sets over an export, run unmodified and compared with our scenes.

    python -m tests.datasets.outside_loaders CHECKOUT EXPORTED [RECORDED]

CHECKOUT is a clone of OpenCOOD or HEAL in which `opencood/utils/setup.py build_ext --inplace` was
run. EXPORTED is a folder of `crucible export-dataset --format opv2v`, RECORDED the recordings that
it was made from (default: EXPORTED). Their packages must be importable: torch, Open3D, OpenCV,
spconv. `pypcd`, which HEAL imports for another data set, is an empty module where it is absent.
Printed are the largest differences in millimetres. The exit code is 1 if one is over a millimetre.
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
    import opencood.data_utils.datasets as outside  # type: ignore[import-not-found]

    return outside  # type: ignore[no-any-return]


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


def list_corners(box: Floats) -> Floats:
    """Return (8, 3) corners of an upright box."""
    x, y, z, length, width, height, yaw = box
    signs = np.array([(a, b, c) for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)]) / 2
    local = signs * [length, width, height]
    turn = np.array([[np.cos(yaw), np.sin(yaw), 0], [-np.sin(yaw), np.cos(yaw), 0], [0, 0, 1]])
    corners: Floats = local @ turn + [x, y, z]
    return corners


def note_largest(differences: dict[str, float], name: str, metres: list[float]) -> None:
    """Note the largest of some differences in millimetres, and how many there were."""
    differences[name] = max(differences.get(name, 0.0), 1e3 * max(metres, default=0.0))
    counted = f"{name}: compared"
    differences[counted] = differences.get(counted, 0.0) + len(metres)


def main() -> int:
    """Compare all items, print the largest differences."""
    checkout, exported = Path(sys.argv[1]), Path(sys.argv[2])
    scenarios = {one.folder.name: one for one in open_recordings(Path(sys.argv[-1]))}
    data = build_outside_dataset(load_outside(checkout), checkout, exported)
    largest: dict[str, float] = {}
    for number in range(len(data)):
        for name, difference in compare_item(data, number, scenarios).items():
            if name.endswith("compared"):
                largest[name] = largest.get(name, 0.0) + difference
            else:
                largest[name] = max(largest.get(name, 0.0), difference)
    print(f"{len(data)} items of {len(scenarios)} scenarios; largest differences in mm:")
    for name, difference in largest.items():
        print(f"  {name}: {difference:.6g}")
    limits = {name: 2.0 if name.startswith("intensity") else MILLIMETRE for name in largest}
    bad = [n for n, d in largest.items() if not n.endswith("compared") and d > limits[n]]
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
