"""V2Xverse's own data set class over an export, run unmodified and compared with our scenes.

    python -m tests.datasets.outside_v2xverse CHECKOUT EXPORTED RECORDED

CHECKOUT is a clone of V2Xverse, EXPORTED a folder of `crucible export-dataset --format v2xverse`,
RECORDED what it was made from. The class needs torch, torchvision, OpenCV, h5py, scikit-image and
spconv. Printed are the largest differences in millimetres; the exit code is 1 if one is over one.
"""

from __future__ import annotations

import importlib.util
import math
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np

from harness.common.recordings import AgentLook, RecordedScenario
from harness.datasets.lidar_mounts import find_lidar_mounts
from harness.datasets.opening import open_recordings
from harness.datasets.scene_frames import WORLD_FRAME, AgentTrack, level_pose
from harness.types.geometry import transform_boxes, transform_points
from tests.datasets.boxes_of_others import list_corners
from tests.datasets.outside_loaders import define_torchvision_operators, note_all

SETTINGS = Path("opencood/hypes_yaml/v2xverse/fcooper_multiclass_config.yaml")
KINDS = (0, 1, 3)
"""Their numbers of vehicle, pedestrian and cyclist."""
MILLIMETRE = 1.0


def load_v2xverse(checkout: Path) -> Any:
    """Import the data sets of the checkout; what they import for other things may be empty."""
    sys.path.insert(0, str(checkout))
    vars(np).setdefault("int", int)  # NumPy 1.24 dropped it; their labels use it
    define_torchvision_operators()
    for name in ("pypcd", "open3d", "icecream", "g2o", "d3d"):
        if importlib.util.find_spec(name) is None:
            module = types.ModuleType(name)
            vars(module).update(pypcd=types.ModuleType(name), ic=print)
            sys.modules[name] = module
            print(f"stand-in: {name} (an empty module)")
    import matplotlib

    vars(matplotlib.cm).setdefault("get_cmap", matplotlib.colormaps.get_cmap)
    overlaps = "opencood.utils.box_overlaps"
    if not list((checkout / "opencood/utils").glob("box_overlaps*.so")):
        module = types.ModuleType(overlaps)
        vars(module)["bbox_overlaps"] = lambda a, b: np.zeros((len(a), len(b)), np.float32)
        sys.modules[overlaps] = module
        print("stand-in: box_overlaps (of training labels only)")
    return importlib.import_module("opencood.data_utils.datasets")


def build_v2xverse_dataset(outside: Any, checkout: Path, exported: Path) -> Any:
    """Return their data set of intermediate fusion over the exported folder, in test mode."""
    loader = importlib.import_module("opencood.hypes_yaml.yaml_utils")
    settings = loader.load_yaml(str(checkout / SETTINGS))
    settings["root_dir"] = settings["validate_dir"] = settings["test_dir"] = str(exported)
    settings["train_params"]["max_cav"] = 7
    settings["extrinsic"] = 2
    return outside.build_dataset(settings, visualize=True, train=False)


def compare_scene(
    data: Any, number: int, scenarios: dict[str, RecordedScenario]
) -> dict[str, float]:
    """Return the largest differences of one scene, in millimetres."""
    scene, frame = data.route_frames[number]
    route = Path(scene["ego"]).parent.name
    scenario = next(one for name, one in scenarios.items() if f"_{name}_w0" in route)
    agents = scenario.list_agents()
    folders = {"car_0": scene["ego"]}
    folders |= {f"car_{i + 1}": one for i, one in enumerate(scene["other_egos"])}
    folders |= {f"rsu_{i}": one for i, one in enumerate(scene["rsu"])}
    base = data.retrieve_base_data(number)
    assert set(base) == set(folders), "an agent of theirs was not loaded"
    worst: dict[str, float] = {}
    for name, record in base.items():
        folder = Path(folders[name]).name
        vehicle = folder.startswith("ego")
        agent = agents[int(folder.rpartition("_")[2])] if vehicle else min(agents)
        moment = scenario.list_moments(agent)[frame]
        look = scenario.read_look(agent, moment)
        track = AgentTrack((look,), find_lidar_mounts(scenario))
        note_all(worst, compare_agent(record, look, track.measure_road_height(look)))
        note_all(worst, compare_cameras(data, record, scenario.read_images(agent, moment), look))
    # their whole item: voxels, labels, matrices
    item = data[number]["ego"]
    assert np.asarray(item["object_bbx_mask"]).sum() > 0
    return worst


def compare_agent(record: dict[str, Any], look: AgentLook, road: float) -> dict[str, float]:
    """Return differences of one agent's points, pose and road users."""
    level = level_pose(look.lidar_in_world)
    ours = transform_points(look.points_in_lidar, look.lidar_in_world, level)
    ours[:, 2] += level.z - road
    theirs = record["lidar_np"]
    worst = {
        "points": 1e3 * float(np.abs(theirs[:, :3] - ours[:, :3]).max()),
        "intensity": 1e3 * float(np.abs(theirs[:, 3] - ours[:, 3]).max()),
    }
    x, y, _, _, yaw, _ = record["params"]["lidar_pose"]
    turned = abs(math.remainder(math.radians(yaw) - level.yaw, math.tau))
    worst["lidar_pose"] = 1e3 * max(math.hypot(x - level.x, y - level.y), 100 * turned)
    # road users, upright on the road: corners, but for the direction that their file loses
    boxes = transform_boxes(look.truth.boxes_in_lidar, look.lidar_in_world, WORLD_FRAME)
    listed = record["params"]["vehicles"]
    assert {int(actor) for actor in listed} == set(look.truth.actor_ids.tolist())
    apart = [0.0]
    for actor, box, kind in zip(
        look.truth.actor_ids.tolist(), boxes.geometry, boxes.classes.tolist(), strict=True
    ):
        known = listed[str(actor)]
        assert known["tpe"] == KINDS[kind]
        places = [known["location"][0], known["location"][1], known["center"][2]]
        sizes = 2 * np.array(known["extent"])
        same = list_corners(np.array([*places, *sizes, math.radians(known["angle"][1])]))
        mine = box.copy()
        mine[2] = box[5] / 2
        turned_box = mine + np.array([0, 0, 0, 0, 0, 0, math.pi])
        gaps = [np.abs(same - list_corners(one)).max() for one in (mine, turned_box)]
        apart.append(float(min(gaps)))
    return worst | {
        "road users": 1e3 * max(apart),
        "road users: compared": float(len(listed)),
    }


def compare_cameras(
    data: Any, record: dict[str, Any], images: tuple[Any, ...], look: AgentLook
) -> dict[str, float]:
    """Return how far pixels differ on average (JPEG), and cameras' places."""
    known = {image.name: image for image in images}
    pixels, places = 0.0, 0.0
    tilt = np.abs([look.lidar_in_world.pitch, look.lidar_in_world.roll]).max()
    for number, name in enumerate(("front", "left", "right", "rear")):
        if name in known:
            theirs = np.asarray(record["camera_data"][number]).astype(float)
            pixels = max(pixels, float(np.abs(theirs - known[name].pixels).mean()))
            camera, intrinsic = data.get_ext_int(record["params"], number)
            # their frame here is that of the mounted LiDAR, x to the left
            x, y, z = camera[:3, 3]
            ours = known[name].camera_in_lidar
            gap = float(np.abs(np.array([y, -x, z]) - [ours.x, ours.y, ours.z]).max())
            places = max(places, gap - 3.0 * float(tilt))
            assert np.allclose(intrinsic, known[name].intrinsics, atol=1e-3)
    return {
        "pixels of pictures, mean of JPEG": pixels,
        "cameras": 1e3 * max(0.0, places),
        "pictures: compared": float(len(known)),
    }


def main() -> int:
    """Compare all scenes, print the largest differences."""
    checkout, exported, recorded = map(Path, sys.argv[1:4])
    scenarios = {one.folder.name: one for one in open_recordings(recorded)}
    data = build_v2xverse_dataset(load_v2xverse(checkout), checkout, exported)
    largest: dict[str, float] = {}
    for number in range(len(data)):
        note_all(largest, compare_scene(data, number, scenarios))
    print(f"{len(data)} scenes of {len(scenarios)} scenarios; largest differences in mm:")
    for name, difference in largest.items():
        print(f"  {name}: {difference:.6g}")
    limits = {name: 4.0 if name.startswith("pixels") else MILLIMETRE for name in largest}
    bad = [n for n, d in largest.items() if not n.endswith("compared") and d > limits[n]]
    return 1 if bad or not len(data) else 0


if __name__ == "__main__":
    sys.exit(main())
