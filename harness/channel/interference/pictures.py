"""Pictures that are dark, blurred, dazzled or black, and cameras that are not where they should be.

For systems that read images (`reads_images`). MultiTest inserts objects; these are the operators on
pictures besides. Rain, snow, fog and wet ground are weather of sweeps and pictures at once
(`weather.py`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from harness.channel.disturbance import Disturbance, refuse_negative
from harness.channel.interference.weather import ALL_AGENTS
from harness.channel.picture_effects import add_glare, blur_image, drop_image, turn_camera
from harness.common.errors import UserError
from harness.types.vocabulary import CameraImage, Kind, Observation

Images = tuple[CameraImage, ...]


class Night(Disturbance):
    """The sun stands low or below the horizon; LiDARs do not notice."""

    safe_from_file = True
    name = "night"
    of_pictures = True

    def __init__(
        self,
        altitude: float = -20.0,  # degrees of the sun over the horizon, -90 to 90
        kinds: Sequence[Kind] = ALL_AGENTS,  # agents: ego, roadside, vehicle
    ) -> None:
        super().__init__(kinds)
        if not -90.0 <= altitude <= 90.0:
            raise UserError(f"night.altitude = {altitude:g} degrees: -90 to 90 are valid")
        if set(kinds) != set(ALL_AGENTS):
            raise UserError("night.kinds: night is for all agents: ego, roadside, vehicle")
        self.altitude = altitude

    def describe_air(self) -> dict[str, float]:
        """Return the sun."""
        return {"sun_altitude_angle": self.altitude}


class Blur(Disturbance):
    """Pictures are out of focus."""

    safe_from_file = True
    name = "blur"
    of_pictures = True

    def __init__(
        self,
        radius: float = 2.0,  # pixels of a picture of 256, standard deviation
        kinds: Sequence[Kind] = ALL_AGENTS,  # agents: ego, roadside, vehicle
    ) -> None:
        super().__init__(kinds)
        refuse_negative(self.name, "pixels", radius=radius)
        self.radius = radius

    @property
    def size_zero(self) -> bool:
        """Whether pictures are sharp."""
        return self.radius == 0

    def see(self, images: Images, observation: Observation) -> Images:
        """Return blurred pictures."""
        return tuple(blur_image(image, self.radius) for image in images)


class Glare(Disturbance):
    """A low light dazzles the cameras that look towards it, from one direction for all agents."""

    safe_from_file = True
    name = "glare"
    of_pictures = True

    def __init__(
        self,
        strength: float = 0.9,  # share of white in the middle, 0 to 1
        *,
        altitude: float = 8.0,  # degrees over the horizon
        azimuth: float | None = None,  # degrees in the world; null: sampled per episode
        kinds: Sequence[Kind] = ALL_AGENTS,  # agents: ego, roadside, vehicle
    ) -> None:
        super().__init__(kinds)
        if not 0.0 <= strength <= 1.0:
            raise UserError(f"glare.strength = {strength:g}: 0 to 1 are valid")
        self.strength, self.altitude, self.azimuth = strength, altitude, azimuth
        self.direction = 0.0  # rad, of this episode

    @property
    def size_zero(self) -> bool:
        """Whether nothing dazzles."""
        return self.strength == 0

    def reset(self, seed: int, route: str) -> None:
        """Start an episode with a light of its direction."""
        super().reset(seed, route)
        sampled = float(self.random("azimuth").uniform(-180.0, 180.0))
        self.direction = math.radians(sampled if self.azimuth is None else self.azimuth)

    def see(self, images: Images, observation: Observation) -> Images:
        """Return pictures with glare."""
        altitude = math.radians(self.altitude)
        return tuple(
            add_glare(
                image,
                observation.lidar_in_world,
                self.direction,
                altitude,
                strength=self.strength,
            )
            for image in images
        )


class DroppedCamera(Disturbance):
    """Some cameras send black pictures, always or now and then."""

    safe_from_file = True
    name = "dropped_camera"
    of_pictures = True

    def __init__(
        self,
        cameras: Sequence[str] = ("front",),  # names in the rig
        share: float = 1.0,  # of pictures that are black, 0 to 1
        kinds: Sequence[Kind] = ALL_AGENTS,  # agents: ego, roadside, vehicle
    ) -> None:
        super().__init__(kinds)
        if not 0.0 <= share <= 1.0:
            raise UserError(f"dropped_camera.share = {share:g}: 0 to 1 are valid")
        self.cameras, self.share = frozenset(cameras), share

    @property
    def size_zero(self) -> bool:
        """Whether no picture is black."""
        return self.share == 0 or not self.cameras

    def reset(self, seed: int, route: str) -> None:
        """Start an episode."""
        super().reset(seed, route)
        self.idle_chance = 1.0

    def see(self, images: Images, observation: Observation) -> Images:
        """Return the pictures, some of them black."""
        random = self.random_at(observation.sender, observation.frame)
        drops = random.random(len(images)) < self.share
        meant = sum(image.name in self.cameras for image in images)
        if meant:
            self.idle_chance *= (1.0 - self.share) ** meant
        return tuple(
            drop_image(image) if dropped and image.name in self.cameras else image
            for image, dropped in zip(images, drops.tolist(), strict=True)
        )


class Miscalibration(Disturbance):
    """Agents are wrong about where their cameras are and look, by errors of the whole episode."""

    safe_from_file = True
    name = "miscalibration"
    of_pictures = True

    def __init__(
        self,
        degrees: float = 2.0,  # degrees, largest error of yaw, pitch and roll, sampled per camera
        metres: float = 0.0,  # m, largest error along each axis, sampled per camera
        kinds: Sequence[Kind] = ALL_AGENTS,  # agents: ego, roadside, vehicle
    ) -> None:
        super().__init__(kinds)
        refuse_negative(self.name, "degrees", degrees=degrees)
        refuse_negative(self.name, "m", metres=metres)
        self.degrees, self.metres = degrees, metres

    @property
    def size_zero(self) -> bool:
        """Whether all cameras are where they should be."""
        return self.degrees == 0 and self.metres == 0

    def see(self, images: Images, observation: Observation) -> Images:
        """Return the pictures with other extrinsics."""
        largest = math.radians(self.degrees)
        turned = []
        for image in images:
            random = self.random(observation.sender, image.name)
            angles = random.uniform(-largest, largest, 3)
            turned.append(turn_camera(image, angles, random.uniform(-self.metres, self.metres, 3)))
        return tuple(turned)
