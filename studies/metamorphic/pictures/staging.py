"""Pictures of a changed scene: its recorded world is shown again, with what is different.

The simulator draws the object, so that it hides and is hidden, throws its shadow and has the light
of the scene as everything else has (decision 0115). A process leases one server and keeps it.
"""

from __future__ import annotations

import atexit
import math
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import lru_cache
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from harness.common.errors import AttemptError
from harness.common.pictures import PictureSettings, resize_image
from harness.common.recordings import PROTOCOL, read_protocol
from harness.common.world_states import WorldState
from harness.types.geometry import build_pose_matrix
from harness.types.vocabulary import CameraImage, Pose, Singles
from harness.world.cameras import CameraMount
from harness.world.rig import RIGS, Rig, read_rig
from harness.world.simulators.carlite import CarliteSimulator
from harness.world.simulators.lease import LaunchError, SimulatorServer
from harness.world.world_states import StagedPictures, WorldStage, open_stage
from studies.metamorphic.scenes.operator import DoesNotApplyError
from studies.metamorphic.scenes.scene import AgentView, CooperativeScene


@dataclass(slots=True, kw_only=True)
class StageLease:
    """The server of a process, and the town that it shows."""

    town: str = ""
    server: SimulatorServer | None = None
    stage: WorldStage | None = None
    leases: ExitStack = field(default_factory=ExitStack)
    shown: ExitStack = field(default_factory=ExitStack)

    def get_stage(self, town: str, state: WorldState) -> WorldStage:
        """Return a stage that can show a state; the server is started when first needed."""
        if self.stage is not None and self.town == town and self.stage.fits(state):
            return self.stage
        self.leave_town()
        if self.server is None:
            self.server = self.leases.enter_context(CarliteSimulator(None).lease_server(town))
        server = self.server
        self.stage = self.shown.enter_context(open_stage(server.host, server.port, town))
        self.town = town
        return self.stage

    def leave_town(self) -> None:
        """Take the stage down; the server stays."""
        self.stage = None
        self.shown.close()

    def close(self) -> None:
        """Give the server back."""
        self.leave_town()
        self.leases.close()
        self.server = None


_lease = StageLease()
atexit.register(_lease.close)


def close_stage() -> None:
    """Stop the server of this process, if it has one."""
    _lease.close()


def has_pictures(scene: CooperativeScene) -> bool:
    """Return whether agents of a scene have pictures."""
    return any(view.images for view in scene.views)


def get_recorded_world(scene: CooperativeScene) -> WorldState:
    """Return the world of a scene with pictures.

    Raises:
        DoesNotApplyError: it was not recorded, or the scene is elsewhere or mirrored.
    """
    if scene.world is None or not scene.in_town_frame:
        raise DoesNotApplyError(
            f"{scene.source.name}: pictures without the state of their world;"
            " record them again with `crucible collect`"
        )
    return scene.world


def show_world(scene: CooperativeScene, world: WorldState) -> CooperativeScene:
    """Return a scene whose pictures show another world.

    Args:
        scene: with pictures.
        world: that its cameras are to see.

    Raises:
        DoesNotApplyError: the simulator cannot show it.
    """
    staged = take_staged_pictures(scene, world)
    settings, pictures = get_picture_settings(scene), iter(staged.pixels)
    shown = [
        replace(
            view,
            images=tuple(finish_image(image, next(pictures), settings) for image in view.images),
        )
        for view in scene.views
    ]
    return replace(scene, ego=shown[0], partners=tuple(shown[1:]), world=world)


def take_staged_pictures(
    scene: CooperativeScene, world: WorldState, depth_size: tuple[int, int] | None = None
) -> StagedPictures:
    """Return what the cameras of all views see of a world, in the order of views and cameras."""
    cameras = list_scene_cameras(scene, world)
    town = scene.source.scenario.town
    try:
        return _lease.get_stage(town, world).take_pictures(world, cameras, depth_size)
    except (AttemptError, LaunchError, RuntimeError) as problem:
        _lease.leave_town()
        raise DoesNotApplyError(f"{scene.source.name}: {problem}") from None


def list_scene_cameras(
    scene: CooperativeScene, world: WorldState
) -> list[tuple[CameraMount, Singles]]:
    """Return mount and pose of the cameras of all views."""
    rig = read_scenario_rig(scene.source.scenario.folder)
    cameras: list[tuple[CameraMount, Singles]] = []
    for view in scene.views:
        mounts = rig.roadside_cameras if view.agent < 0 else rig.vehicle_cameras
        poses = world.cameras.get(view.agent, np.zeros((0, 6), np.float32))
        names = [image.name for image in view.images]
        if len(poses) < len(names) or names != list(mounts)[: len(names)]:
            raise DoesNotApplyError(f"{view.name}: cameras are others than those of the rig")
        cameras += [(mounts[name], pose) for name, pose in zip(names, poses, strict=False)]
    return cameras


@lru_cache(maxsize=8)
def read_scenario_rig(folder: Path) -> Rig:
    """Return the rig that recorded a scenario."""
    name = str(read_protocol(folder / PROTOCOL).get("rig", ""))
    known = {file.stem: file for file in RIGS.glob("*.yaml")}
    if name not in known:
        raise DoesNotApplyError(f"{folder.name}: recorded with a rig that is not there: {name}")
    return read_rig(known[name])


@lru_cache(maxsize=8)
def read_scenario_pictures(folder: Path) -> PictureSettings:
    """Return size and format of the pictures of a scenario."""
    record = read_protocol(folder / PROTOCOL).get("pictures") or {}
    try:
        return PictureSettings(**record)
    except TypeError:
        raise DoesNotApplyError(f"{folder.name}: its protocol does not describe pictures") from None


def get_picture_settings(scene: CooperativeScene) -> PictureSettings:
    """Return size and format of the pictures of a scene."""
    return read_scenario_pictures(scene.source.scenario.folder)


def finish_image(
    image: CameraImage, pixels: NDArray[np.uint8], settings: PictureSettings
) -> CameraImage:
    """Return a recorded image with the pixels of a camera, resized and coded as in recordings."""
    whole = replace(image, pixels=pixels)
    small = resize_image(whole, settings.width, settings.height).pixels
    if settings.format == "jpeg":
        coded = BytesIO()
        Image.fromarray(small).save(coded, "JPEG", quality=settings.quality)
        small = np.asarray(Image.open(coded).convert("RGB"))
    return replace(image, pixels=small)


def compute_actor_pose(scene: CooperativeScene, blueprint: str, centre: Pose) -> Singles:
    """Return where the origin of an actor is whose box has its middle at a place.

    Args:
        scene: with a recorded world.
        blueprint: of the actor.
        centre: of its box, upright, in the world.

    Returns:
        (6,) x y z in m, pitch yaw roll in degrees.
    """
    town, world = scene.source.scenario.town, get_recorded_world(scene)
    box = _lease.get_stage(town, world).measure_box_centre(blueprint)
    frame = build_pose_matrix(Pose(0.0, 0.0, yaw=centre.yaw))
    x, y, z = np.array([centre.x, centre.y, centre.z]) - frame[:3, :3] @ box
    yaw = math.remainder(math.degrees(centre.yaw), 360.0)  # as a snapshot has it
    return np.array([x, y, z, 0.0, yaw, 0.0], np.float32)


def add_to_pictures(
    scene: CooperativeScene, blueprint: str, centre: Pose, actor: int
) -> CooperativeScene:
    """Return a scene whose pictures show an actor more; one without pictures stays as it is."""
    if not has_pictures(scene):
        return scene
    pose = compute_actor_pose(scene, blueprint, centre)
    return show_world(scene, get_recorded_world(scene).add_actor(actor, blueprint, pose))


def remove_from_pictures(scene: CooperativeScene, actor: int) -> CooperativeScene:
    """Return a scene whose pictures do not show an actor."""
    if not has_pictures(scene):
        return scene
    return show_world(scene, get_recorded_world(scene).remove_actor(actor))


def move_in_pictures(scene: CooperativeScene, actor: int, centre: Pose) -> CooperativeScene:
    """Return a scene whose pictures show an actor elsewhere: the middle of its box, upright."""
    if not has_pictures(scene):
        return scene
    world = get_recorded_world(scene)
    pose = compute_actor_pose(scene, world.find_blueprint(actor), centre)
    return show_world(scene, world.move_actor(actor, pose))


def count_changed_pixels(before: Sequence[AgentView], after: Sequence[AgentView]) -> int:
    """Return in how many pixels the pictures of two equal rows of views differ."""
    pairs = zip(
        (image for view in before for image in view.images),
        (image for view in after for image in view.images),
        strict=True,
    )
    return sum(int((one.pixels != other.pixels).any(axis=2).sum()) for one, other in pairs)
