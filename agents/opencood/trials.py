"""`crucible check opencood --all`: every configuration of a checkout, built and stepped once."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from agents.conformance.recorded_steps import RecordedStep
from agents.foreign.process import Child, ChildError
from agents.opencood.checkpoint import (
    RANDOM,
    refuse_absent_python,
    refuse_wrong_numbers,
    resolve_checkout,
)
from agents.opencood.requests import (
    CAMERAS,
    make_agent_request,
    make_boxes,
    make_message_request,
)
from agents.opencood.system import FAR_END
from harness.common.errors import UserError
from harness.common.findings import Finding
from harness.common.suggestions import describe_unknown_name
from harness.types.vocabulary import (
    Boxes,
    CameraImage,
    Features,
    Message,
    Observation,
    Payload,
    Points,
    Pose,
)

FOLDER = "opencood/hypes_yaml"
KEYS = ("root", "python", "only", "cut_range", "cameras")
"""What may be given, as `name=value`."""
PARTNERS = 2
PATIENCE = 900.0
"""Seconds for building a network, and for a step of it."""
MOUNTS = {"front": (3.0, 0.0, 0.0), "right": (0.5, 0.3, 100.0), "left": (0.5, -0.3, -100.0)}
MOUNTS["rear"] = (-1.5, 0.0, 180.0)
"""OPV2V's cameras as seen from its LiDAR: metres ahead and to the right, degrees."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialSettings:
    """What is tried.

    Attributes:
        root: folder of the checkout.
        python: the interpreter in which the checkout runs.
        files: settings, below `root`.
        cut_range: metres to which all ranges are cut; None: not.
        cameras: whether modalities with cameras take part.
    """

    root: Path
    python: str
    files: tuple[Path, ...]
    cut_range: float | None
    cameras: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What came of one configuration.

    Attributes:
        configuration: its path below the folder of settings, without the ending.
        built: seconds.
        stepped: seconds: two messages, the ego alone, all together.
    """

    configuration: str
    built: float | None = None
    stepped: float | None = None
    sends: str = ""
    message_bytes: int = 0
    boxes: int = 0
    reason: str = ""

    def to_finding(self) -> Finding:
        """Return a row of the table."""
        if self.built is None:
            return Finding(self.configuration, "failed", f"not built: {self.reason}")
        if self.stepped is None:
            text = f"built in {self.built:.1f} s; not stepped: {self.reason}"
            return Finding(self.configuration, "failed", text)
        text = (
            f"built in {self.built:.1f} s, stepped in {self.stepped:.1f} s;"
            f" {self.sends}, {self.message_bytes:,} bytes a message; {self.boxes} boxes"
        )
        return Finding(self.configuration, "passed", text)


def read_trial_settings(given: Sequence[str]) -> TrialSettings:
    """Return what is tried, from arguments `name=value` of `KEYS`; refuse what cannot be tried."""
    values = dict[str, str]()
    for word in given:
        key, sign, value = word.partition("=")
        if not sign:
            raise UserError(f"opencood: {word}: arguments are given as name=value")
        if key not in KEYS:
            raise UserError(f"opencood: with --all: {describe_unknown_name('argument', key, KEYS)}")
        values[key] = value
    if "root" not in values:
        raise UserError("opencood: root= is missing: the folder of the checkout")
    cameras = values.get("cameras", "true")
    if cameras not in ("true", "false"):
        raise UserError(f"opencood: cameras: {cameras} is neither true nor false")
    root, python = resolve_checkout(values["root"]), values.get("python", "python")
    refuse_absent_python(python)
    return TrialSettings(
        root=root,
        python=python,
        files=tuple(list_configurations(root, values.get("only", ""))),
        cut_range=read_range(values.get("cut_range")),
        cameras=cameras == "true",
    )


def read_range(text: str | None) -> float | None:
    """Return metres; refuse a text that is no number."""
    if text is None:
        return None
    try:
        metres = float(text)
    except ValueError:
        raise UserError(f"opencood: cut_range: {text} is no number") from None
    refuse_wrong_numbers({"cut_range": metres})
    return metres


def list_configurations(root: Path, only: str) -> list[Path]:
    """Return the YAML files of a checkout whose path contains a text."""
    folder = root / FOLDER
    files = sorted(path for path in folder.rglob("*.yaml") if only in str(path.relative_to(folder)))
    if not files:
        part = f" whose path contains {only}" if only else ""
        raise UserError(f"opencood: {folder} has no YAML file{part}")
    return files


def try_configurations(settings: TrialSettings, street: RecordedStep) -> Iterator[Trial]:
    """Yield what comes of every configuration: random weights, one step with two partners.

    Args:
        settings: what is tried.
        street: a recorded moment with partners.
    """
    root, python = settings.root, settings.python
    child: Child | None = None
    with tempfile.TemporaryDirectory(prefix="opencood-") as folder:
        for file in settings.files:
            name = str(file.relative_to(root / FOLDER).with_suffix(""))
            words = {
                "kind": "load",
                "root": str(root),
                "checkpoint": str(file),
                "weights": RANDOM,
                "folder": folder,
                "messages": None,
                "mirrored": None,
                "cameras": settings.cameras,
                "threshold": None,
                "range": settings.cut_range,
            }
            try:
                child = child or Child([python, str(FAR_END)], {}, PATIENCE)
                yield try_configuration(child, name, words, street)
            except ChildError as problem:
                # a child that ended is followed by another
                child = None
                yield Trial(configuration=name, reason=str(problem)[-200:])
    if child is not None:
        child.end()


def try_configuration(
    child: Child, name: str, words: dict[str, Any], street: RecordedStep
) -> Trial:
    """Return what comes of one configuration."""
    asked_at = time.perf_counter()
    built, _ = child.ask_child(words, {}, PATIENCE)
    trial = Trial(configuration=name)
    if "failed" in built:
        return replace(trial, reason=f"{built['failed']} ({built['where']})")
    loaded = time.perf_counter()
    trial = replace(trial, built=loaded - asked_at, sends=built["sends"])
    # partners send
    ego = add_grey_images(street.observation)
    agent, arrays = make_agent_request(ego, built["ego_modality"], 0.0, 5.0)
    agents, sizes = [agent], [0]
    most = min(PARTNERS, built["most_agents"] - 1)
    for place, view in enumerate(street.partners[:most]):
        modality = built["modalities"][place % len(built["modalities"])]
        seen = add_grey_images(view.observation)
        payload: Payload = Points(seen.points_in_lidar)
        if built["sends"] != "points":
            request, brought = make_agent_request(seen, modality, 0.0)
            said, answer = child.ask_child(
                {"kind": "share", "agents": [request]}, brought, PATIENCE
            )
            if said["kind"] == "failed":
                return replace(trial, reason=f"{said['failed']} ({said['where']})")
            payload = read_payload(built["sends"], answer)
        message = make_message(seen, payload)
        sizes.append(message.size_bytes)
        request, brought = make_message_request(message, modality, 0.0, ego.time)
        agents.append(request)
        arrays.update(brought)
    # the ego detects
    said, answer = child.ask_child({"kind": "perceive", "agents": agents}, arrays, PATIENCE)
    if said["kind"] == "failed":
        return replace(trial, reason=f"{said['failed']} ({said['where']})")
    return replace(
        trial,
        stepped=time.perf_counter() - loaded,
        message_bytes=max(sizes),
        boxes=len(make_boxes("together", answer, 0.0)),
    )


def read_payload(sends: str, answer: dict[str, Any]) -> Payload:
    """Return what a partner sends, from the child's answer."""
    if sends == "boxes":
        boxes: Boxes = make_boxes("sent", answer, 0.0)
        return boxes
    return Features((answer["features"],))


def make_message(seen: Observation, payload: Payload) -> Message:
    """Return a message that arrives at once."""
    return Message(
        sender=seen.sender,
        kind=seen.kind,
        capture_frame=seen.frame,
        capture_time=seen.time,
        lidar_in_world=seen.lidar_in_world,
        payload=payload,
    )


def add_grey_images(seen: Any) -> Any:
    """Return an observation with four grey images: recorded streets have none."""
    focus = 400.0 / np.tan(np.radians(50.0))
    intrinsics = np.array([[focus, 0.0, 400.0], [0.0, focus, 300.0], [0.0, 0.0, 1.0]])
    images = []
    for camera in CAMERAS:
        x, y, yaw = MOUNTS[camera]
        images.append(
            CameraImage(
                name=camera,
                pixels=np.full((600, 800, 3), 127, np.uint8),
                intrinsics=intrinsics,
                camera_in_lidar=Pose(x, y, -0.9, float(np.radians(yaw))),
                above_road=1.0,
            )
        )
    return replace(seen, images=tuple(images))
