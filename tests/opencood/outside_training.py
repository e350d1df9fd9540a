"""HEAL's own `train.py` and `inference.py`, unmodified, on data that Crucible exported.

    python -m tests.opencood.outside_training learn CHECKOUT PYTHON CONFIGURATION EXPORTED OUT
    python -m tests.opencood.outside_training judge CHECKOUT PYTHON CHECKPOINT EXPORTED

CHECKOUT is a clone of HEAL, PYTHON the interpreter in which it runs. `learn` trains a narrow form
of a CONFIGURATION of `opencood/hypes_yaml` on a folder of `crucible export-dataset --format opv2v`,
and copies the settings and the last weights to OUT. `judge` gives another exported folder to their
`inference.py` and to `system=opencood`, and compares boxes, scores and average precision. Its exit
code is 1 if an overlap is below 0.99, or if a score or an AP differs by more than 0.001.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml

from agents.opencood.checkpoint import (
    list_checkpoint_files,
    refuse_absent_python,
    resolve_checkout,
)
from agents.opencood.child.scenes import to_box_rows
from agents.opencood.requests import make_agent_request, make_boxes, make_message_request
from agents.opencood.system import OpenCood, OpenCoodCameras
from agents.training.inference import make_ego_observation, make_partner_message
from agents.training.samples import LidarView
from harness.common.errors import UserError
from harness.common.options import OneLineParser
from harness.common.recordings import RecordedScenario
from harness.datasets.opening import open_recordings
from harness.evaluation.opencood_precision import compute_opencood_precision, match_by_popping
from harness.types.vocabulary import Floats, Pose

if TYPE_CHECKING:
    import shapely

THEIR_PROCESS = Path(__file__).parent / "their_process"
REACH = 38.4
"""Metres of all ranges, ahead, behind and aside."""
NARROWER = 4
"""By how much the layers of a LiDAR's network are divided."""
LIKE, CLOSE = 0.99, 1e-3
"""Overlap of a box of theirs with ours, and differences of scores and AP."""
COMMUNICATION = 70.0
"""Metres: `comm_range` of HEAL's files for OPV2V."""
OVERLAPS = "shapely"
"""What `judge` computes overlaps with; `learn` needs none of it."""
KINDS = ("m1", "m3")
"""HEAL's kinds of agents, in turn: the first has a LiDAR in all configurations that have one."""


@dataclass(frozen=True, slots=True, eq=False)
class Detections:
    """What was detected in one sample, in the ego's LiDAR frame."""

    rows: Floats  # (N, 7) x y z length width height yaw
    scores: Floats  # (N,)


def main(words: Sequence[str] | None = None) -> int:
    """Train or judge; return 2 for bad input."""
    parser = OneLineParser(prog="outside_training", description=__doc__)
    parser.add_argument("task", choices=("learn", "judge"))
    parser.add_argument("checkout", type=Path)
    parser.add_argument("python")
    parser.add_argument("configuration", type=Path, help="settings to learn, or folder to judge")
    parser.add_argument("exported", type=Path)
    parser.add_argument("out", type=Path, nargs="?")
    parser.add_argument("--epochs", type=int, default=5)
    options = parser.parse_args(words)
    if problem := find_problem(options):
        parser.error(problem)
    if options.task == "learn":
        learn(options)
        return 0
    return judge(options)


def find_problem(options: argparse.Namespace) -> str:
    """Return what is missing, in one line; nothing if both scripts could start."""
    try:
        resolve_checkout(str(options.checkout))
        refuse_absent_python(options.python)
        if options.task == "judge":
            list_checkpoint_files(str(options.configuration), None)
    except UserError as problem:
        return str(problem)
    if options.task == "judge" and find_spec(OVERLAPS) is None:
        return f"{OVERLAPS} is not installed here; it computes overlaps: pip install {OVERLAPS}"
    if options.task == "learn" and not locate_settings(options).is_file():
        return f"configuration: file not found: {locate_settings(options)}"
    if options.task == "learn" and options.out is None:
        return "out: name a folder for settings and weights"
    if not any(options.exported.glob("*/*/*.yaml")):
        return (
            f"exported: {options.exported} is no folder of crucible export-dataset --format opv2v"
        )
    return "" if options.epochs > 0 else f"--epochs {options.epochs}: must be 1 or more"


def locate_settings(options: argparse.Namespace) -> Path:
    """Return the file of a configuration of theirs, which is named without its ending."""
    folder: Path = options.checkout.resolve() / "opencood" / "hypes_yaml"
    return folder / f"{options.configuration}.yaml"


# training


def learn(options: argparse.Namespace) -> None:
    """Run their training, and copy settings and weights to `out`."""
    checkout, out = options.checkout.resolve(), options.out.resolve()
    file = locate_settings(options)
    out.mkdir(parents=True, exist_ok=True)
    settings = prepare_settings(yaml.safe_load(file.read_text()), options.exported.resolve(), out)
    settings["train_params"] |= {"epoches": options.epochs, "eval_freq": 1000, "save_freq": 1}
    (out / "settings.yaml").write_text(yaml.safe_dump(settings))
    logs = checkout / "opencood" / "logs"
    before = set(logs.glob("*")) if logs.is_dir() else set()
    run_their_script(
        checkout, options.python, "train.py", ["-y", str(out / "settings.yaml")], keep=None
    )
    (made,) = [path for path in set(logs.glob("*")) - before if (path / "config.yaml").is_file()]
    shutil.copy(made / "config.yaml", out)
    last = max(made.glob("net_epoch*.pth"), key=lambda path: path.stat().st_mtime)
    shutil.copy(last, out)
    print(f"{last.name} and config.yaml are in {out}")


def prepare_settings(settings: dict[str, Any], exported: Path, out: Path) -> dict[str, Any]:
    """Return settings of theirs over an exported folder, with shorter ranges and fewer channels."""
    settings = cut_ranges(settings, ())
    for key in ("root_dir", "validate_dir", "test_dir"):
        settings[key] = str(exported)
    settings["train_params"]["max_cav"] = 7
    settings["postprocess"]["target_args"]["score_threshold"] = 0.1
    settings["postprocess"]["max_num"] = 300
    settings["heter"]["assignment_path"] = str(write_assignment(exported, out))
    network = settings["model"]["args"]
    for modality, part in network.items():
        if isinstance(part, dict) and part.get("core_method") == "point_pillar":
            narrow_backbone(part)
            print(f"{modality}: channels divided by {NARROWER} before the last layers")
    return settings


def cut_ranges(value: Any, path: tuple[str, ...]) -> Any:
    """Return settings in which ranges of LiDARs and of labels reach to `REACH`; heights stay."""
    if isinstance(value, dict):
        return {key: cut_ranges(one, (*path, key)) for key, one in value.items()}
    if path and path[-1] in ("cav_lidar_range", "lidar_range", "gt_range"):
        return [-REACH, -REACH, value[2], REACH, REACH, value[5]]
    return value


def narrow_backbone(part: dict[str, Any]) -> None:
    """Divide the channels of a backbone's levels; what comes out has as many as before."""
    backbone = part["backbone_args"]
    backbone["num_filters"] = [number // NARROWER for number in backbone["num_filters"]]
    backbone["layer_nums"] = [2, 2, 2]


def write_assignment(exported: Path, out: Path) -> Path:
    """Write which agent is of which kind: in turn, vehicles first, as they are listed."""
    kinds = {
        scenario.name: {
            name: KINDS[place % len(KINDS)]
            for place, name in enumerate(list_their_agents(scenario))
        }
        for scenario in sorted(exported.iterdir())
        if scenario.is_dir()
    }
    file = out / f"assignment-{exported.name}.json"
    file.write_text(json.dumps(kinds, indent=1))
    return file


def list_their_agents(scenario: Path) -> list[str]:
    """Return agents in the order of their test data set: as text, a roadside unit at the end."""
    names = sorted(path.name for path in scenario.iterdir() if path.is_dir())
    return [*names[1:], names[0]] if int(names[0]) < 0 else names


def run_their_script(
    checkout: Path, python: str, script: str, words: list[str], keep: Path | None
) -> None:
    """Run a script of `opencood/tools`; `keep` is a folder for what its evaluation is given."""
    environment = {**os.environ, **make_variables(checkout, keep)}
    command = [python, f"opencood/tools/{script}", *words]
    if code := subprocess.run(command, cwd=checkout, env=environment, check=False).returncode:
        sys.exit(f"{script} ended with exit code {code}")


def make_variables(checkout: Path, keep: Path | None) -> dict[str, str]:
    """Return the variables of a process of theirs; with `keep`, points keep their order."""
    return {
        "PYTHONPATH": f"{THEIR_PROCESS}{os.pathsep}{checkout}",
        "OPENCOOD_CHECKOUT": str(checkout),
        "KEEP_DETECTIONS": str(keep) if keep else "",
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
    }


# judging


def judge(options: argparse.Namespace) -> int:
    """Compare their detections with ours; print and return whether they differ."""
    checkout, exported = options.checkout.resolve(), options.exported.resolve()
    with tempfile.TemporaryDirectory() as place:
        # a copy of the checkpoint over the other folder
        folder = Path(place) / "checkpoint"
        shutil.copytree(options.configuration, folder)
        kept = Path(place) / "kept"
        kept.mkdir()
        write_judged_settings(folder, exported)
        words = ["--model_dir", str(folder), "--range", f"{REACH},{REACH}"]
        run_their_script(checkout, options.python, "inference.py", words, keep=kept)
        said = json.loads((kept / "precisions.json").read_text())
        theirs, truths = read_kept_detections(kept)
        # the system's child shuffles points too, unless it is started alike
        python = write_interpreter(Path(place) / "python", checkout, options.python, kept)
        ours = detect_all(checkout, str(python), folder, exported)
    return compare(theirs, ours, truths, said)


def write_interpreter(file: Path, checkout: Path, python: str, kept: Path) -> Path:
    """Write a command that starts their Python with the variables of their scripts."""
    variables = [f"{k}={shlex.quote(v)}" for k, v in make_variables(checkout, kept).items()]
    file.write_text(f'#!/bin/sh\n{" ".join(variables)} exec {shlex.quote(python)} "$@"\n')
    file.chmod(0o755)
    return file


def write_judged_settings(folder: Path, exported: Path) -> None:
    """Name the folder of data in their settings, line by line: their files hold Python objects."""
    assignment = write_assignment(exported, folder)
    file = folder / "config.yaml"
    places = dict.fromkeys(("root_dir", "validate_dir", "test_dir"), exported)
    places["assignment_path"] = assignment
    text = file.read_text()
    for name, place in places.items():
        text = re.sub(rf"^( *){name}:.*$", rf"\1{name}: {place}", text, flags=re.MULTILINE)
    file.write_text(text)


def read_kept_detections(folder: Path) -> tuple[list[Detections], list[Floats]]:
    """Return what their evaluation was given, and the true corners, sample by sample."""
    theirs, truths = [], []
    for file in sorted(folder.glob("*.npz")):
        with np.load(file) as arrays:
            corners, scores, truth = (arrays[f"arr_{n}"].astype(np.float64) for n in range(3))
        theirs.append(Detections(to_box_rows(corners, False), scores))
        truths.append(to_box_rows(truth, False))
    return theirs, truths


def detect_all(checkout: Path, python: str, folder: Path, exported: Path) -> list[Detections]:
    """Return what `system=opencood` detects in each sample, in the order of their data set."""
    settings = (folder / "config.yaml").read_text()
    kind = OpenCoodCameras if "sensor_type: camera" in settings else OpenCood
    system = kind(str(checkout), str(folder), python=python)
    assigned = json.loads((folder / f"assignment-{exported.name}.json").read_text())
    usable = system.properties["modalities"]
    detected = []
    for scenario in sorted(open_recordings(exported), key=lambda one: one.folder.name):
        kinds = assigned[scenario.folder.name]
        names = list_their_agents(scenario.folder)
        # HEAL puts the first agent of the ego's modality first
        modalities = {name: usable[KINDS.index(kinds[name]) % len(usable)] for name in names}
        moments = scenario.list_moments(int(names[0]))
        detected += [detect(system, scenario, moment, modalities) for moment in moments]
    return detected


def detect(
    system: OpenCood, scenario: RecordedScenario, moment: str, modalities: dict[str, str]
) -> Detections:
    """Return what a system detects with the messages of all other agents in reach.

    Args:
        system: of the checkpoint.
        scenario: that is shown.
        moment: when.
        modalities: of the agents, the ego first.
    """
    ego, *partners = modalities
    views = {name: read_view(scenario, int(name), moment) for name in modalities}
    place = views[ego].lidar_in_world
    near = [name for name in partners if is_in_reach(views[name].lidar_in_world, place)]
    # as `OpenCood.perceive` asks, with modalities by the file, and boxes on the ego left in
    system._given = {name: modalities[name] for name in near}
    words, arrays = make_agent_request(make_ego_observation(views[ego]), modalities[ego], 0.0)
    agents = [words]
    for name in near:
        message = make_partner_message(system, name, views[name])
        said, brought = make_message_request(message, modalities[name], 0.0, 0.0)
        agents.append(said)
        arrays |= brought
    _, answer = system._ask_child("perceive", agents, arrays)
    boxes = make_boxes("together" if near else "alone", answer, 0.0)
    return Detections(boxes.geometry, boxes.scores)


def read_view(scenario: RecordedScenario, agent: int, moment: str) -> LidarView:
    """Return what one agent sensed."""
    look = scenario.read_look(agent, moment)
    images = scenario.read_images(agent, moment)
    return LidarView(look.points_in_lidar, look.lidar_in_world, images)


def is_in_reach(one: Pose, other: Pose) -> bool:
    """Return whether agents are as near as HEAL's `comm_range`."""
    return bool(np.hypot(one.x - other.x, one.y - other.y) <= COMMUNICATION)


def compare(
    theirs: list[Detections], ours: list[Detections], truths: list[Floats], said: list[float]
) -> int:
    """Print the differences of boxes, scores and AP; return whether one is too large."""
    assert len(theirs) == len(ours) > 0
    lowest, farthest, unequal, count = 1.0, 0.0, 0, 0
    for one, other in zip(theirs, ours, strict=True):
        count += len(one.rows)
        unequal += len(one.rows) != len(other.rows)
        if not len(one.rows) or not len(other.rows):
            continue
        overlaps = compute_plane_overlaps(one.rows, other.rows)
        nearest = overlaps.argmax(axis=1)
        lowest = min(lowest, float(overlaps.max(axis=1).min()))
        farthest = max(farthest, float(np.abs(one.scores - other.scores[nearest]).max()))
    print(f"{len(theirs)} samples, {count} boxes of theirs, {unequal} samples with another number")
    print(f"lowest overlap {lowest:.6f}, largest difference of a score {farthest:.2e}")
    worst = 0.0
    for threshold, theirs_ap in zip((0.3, 0.5, 0.7), said, strict=True):
        frames = [
            match_by_popping(compute_plane_overlaps(one.rows, truth), one.scores, threshold)
            for one, truth in zip(ours, truths, strict=True)
        ]
        ap = compute_opencood_precision(frames, "global")
        worst = max(worst, abs(ap - theirs_ap))
        print(f"AP at {threshold}: theirs {theirs_ap:.4f}, of our boxes by our rule {ap:.4f}")
    return int(unequal > 0 or lowest < LIKE or farthest > CLOSE or worst > CLOSE)


def compute_plane_overlaps(one: Floats, other: Floats) -> Floats:
    """Return (N, M) overlaps of outlines in the plane, by shapely."""
    first, second = ([outline_box(row) for row in rows] for rows in (one, other))
    overlaps = [[a.intersection(b).area / a.union(b).area for b in second] for a in first]
    return np.array(overlaps, np.float64).reshape(len(one), len(other))


def outline_box(row: Floats) -> shapely.Polygon:
    """Return the outline of a box in the plane."""
    from shapely import affinity, box

    length, width = row[3] / 2, row[4] / 2
    shape = box(-length, -width, length, width)
    turned = affinity.rotate(shape, row[6], (0, 0), use_radians=True)
    return affinity.translate(turned, row[0], row[1])


if __name__ == "__main__":
    sys.exit(main())
