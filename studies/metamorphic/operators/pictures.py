"""Pictures that are changed, and what they show not: light, focus, cameras (MultiTest, besides).

The same functions change pictures in drives (`harness.channel.interference.pictures`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from harness.channel.picture_effects import (
    add_glare,
    blur_image,
    drop_image,
    is_same_image,
    scale_brightness,
    turn_camera,
)
from harness.types.vocabulary import CameraImage
from studies.metamorphic.operators.partners import make_truth_preserving_change
from studies.metamorphic.pictures.staging import (
    count_changed_pixels,
    get_recorded_world,
    has_pictures,
    show_world,
)
from studies.metamorphic.scenes.operator import ChangedScene, DoesNotApplyError, Level, Need
from studies.metamorphic.scenes.scene import AgentView, CooperativeScene
from studies.space import Space, SpaceParameter, Values, get_numeric_value

CAMERAS = ("front", "left", "right", "rear")


@dataclass(frozen=True, slots=True, eq=False)
class PictureChange:
    """What the pictures of a scene are changed by."""

    scene: CooperativeScene
    values: Values
    random: np.random.Generator


class PictureOperator(ABC):
    """Pictures of all agents, each changed by itself."""

    name = "picture"
    level: Level = "pictures"
    paper = "ours"
    space: Space = ()
    needs: frozenset[Need] = frozenset({"pictures"})

    def apply(
        self, scene: CooperativeScene, values: Values, random: np.random.Generator
    ) -> ChangedScene:
        """Return the scene with other pictures."""
        refuse_without_images(scene)
        change = PictureChange(scene, values, random)
        views = [
            replace(
                view,
                images=tuple(self.change_image(image, view, change) for image in view.images),
            )
            for view in scene.views
        ]
        changed = sum(
            not is_same_image(one, other)
            for before, after in zip(scene.views, views, strict=True)
            for one, other in zip(before.images, after.images, strict=True)
        )
        return make_truth_preserving_change(
            replace(scene, ego=views[0], partners=tuple(views[1:])), changed
        )

    @abstractmethod
    def change_image(
        self, image: CameraImage, view: AgentView, change: PictureChange
    ) -> CameraImage:
        """Return an image as it is to be."""


class BlurredPictures(PictureOperator):
    """Pictures out of focus."""

    name = "blur"
    space: Space = (
        SpaceParameter(name="radius", unit="pixels of a picture of 256", low=0.5, high=4.0),
    )

    def change_image(
        self, image: CameraImage, view: AgentView, change: PictureChange
    ) -> CameraImage:
        """Return it blurred."""
        return blur_image(image, get_numeric_value(change.values, "radius"))


class DazzledCameras(PictureOperator):
    """A low light in one direction, for all agents."""

    name = "glare"
    space: Space = (
        SpaceParameter(name="strength", unit="share of white", low=0.3, high=1.0),
        SpaceParameter(name="bearing", unit="degrees to the ego's heading", low=-60.0, high=60.0),
        SpaceParameter(name="altitude", unit="degrees", low=2.0, high=25.0),
    )

    def change_image(
        self, image: CameraImage, view: AgentView, change: PictureChange
    ) -> CameraImage:
        """Return it with a veil of light."""
        strength, bearing, altitude = (
            get_numeric_value(change.values, name) for name in ("strength", "bearing", "altitude")
        )
        azimuth = change.scene.ego.lidar_in_world.yaw + math.radians(bearing)
        return add_glare(
            image, view.lidar_in_world, azimuth, math.radians(altitude), strength=strength
        )


class BlackPicture(PictureOperator):
    """One camera of the ego sends black pictures."""

    name = "dropped_camera"
    space: Space = (SpaceParameter(name="camera", unit="", kind="choice", choices=CAMERAS),)

    def change_image(
        self, image: CameraImage, view: AgentView, change: PictureChange
    ) -> CameraImage:
        """Return it black, if it is meant."""
        meant = view.agent == change.scene.ego.agent and image.name == change.values["camera"]
        return drop_image(image) if meant else image


class MiscalibratedCameras(PictureOperator):
    """Agents are wrong about where their cameras look; every camera has an error of its size."""

    name = "miscalibration"
    space: Space = (SpaceParameter(name="degrees", unit="degrees", low=0.5, high=4.0),)

    def change_image(
        self, image: CameraImage, view: AgentView, change: PictureChange
    ) -> CameraImage:
        """Return it with other extrinsics: turned about a random axis."""
        axis = change.random.normal(size=3)
        size = math.radians(get_numeric_value(change.values, "degrees"))
        return turn_camera(image, size * axis / np.linalg.norm(axis), np.zeros(3))


class BrighterPictures(PictureOperator):
    """All pictures a little brighter or darker: the answer must hardly change."""

    name = "brightness"
    space: Space = (SpaceParameter(name="factor", unit="of all channels", low=0.85, high=1.15),)

    def change_image(
        self, image: CameraImage, view: AgentView, change: PictureChange
    ) -> CameraImage:
        """Return it brighter or darker."""
        return scale_brightness(image, get_numeric_value(change.values, "factor"))


class PixelPlacebo(PictureOperator):
    """Every number of a picture moves by at most 1 of 255."""

    name = "placebo_pixels"

    def change_image(
        self, image: CameraImage, view: AgentView, change: PictureChange
    ) -> CameraImage:
        """Return it with noise that no eye sees."""
        noise = change.random.integers(-1, 2, image.pixels.shape)
        pixels = np.clip(image.pixels.astype(np.int64) + noise, 0, 255).astype(np.uint8)
        return replace(image, pixels=pixels)


class NightOperator:
    """The recorded world at night: the sun low or below the horizon, street lamps on."""

    name = "night"
    level: Level = "pictures"
    paper = "ours"
    space: Space = (
        SpaceParameter(name="altitude", unit="degrees of the sun", low=-30.0, high=-3.0),
    )
    needs: frozenset[Need] = frozenset({"pictures"})

    def apply(
        self, scene: CooperativeScene, values: Values, random: np.random.Generator
    ) -> ChangedScene:
        """Return the scene at night."""
        refuse_without_images(scene)
        altitude = get_numeric_value(values, "altitude")
        world = get_recorded_world(scene).change_weather(sun_altitude_angle=altitude)
        dark = show_world(scene, world)
        return make_truth_preserving_change(dark, count_changed_pixels(scene.views, dark.views))


class SameView:
    """The only partner senses what the ego does, from the same place, under another name."""

    name = "same_view"
    level: Level = "sharing"
    paper = "ours"
    space: Space = ()
    needs: frozenset[Need] = frozenset()

    def apply(
        self, scene: CooperativeScene, values: Values, random: np.random.Generator
    ) -> ChangedScene:
        """Return the scene with the ego's own view as a message."""
        known = [view.agent for view in scene.views]
        other = replace(scene.ego, agent=max([0, *known]) + 1)
        return make_truth_preserving_change(replace(scene, partners=(other,)), 1)


def refuse_without_images(scene: CooperativeScene) -> None:
    """Refuse a scene without pictures."""
    if not has_pictures(scene):
        raise DoesNotApplyError(f"{scene.source.name}: has no pictures")
