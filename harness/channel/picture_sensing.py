"""What stands between cameras and agents: disturbances of pictures, counted by what changed."""

from __future__ import annotations

from collections.abc import Sequence

from harness.channel.disturbance import Disturbance
from harness.channel.picture_effects import is_same_image
from harness.common.errors import AttemptError
from harness.types.vocabulary import CameraImage, Observation


class PictureSensing:
    """One episode's pictures, as cameras give them to their agents."""

    def __init__(self, disturbances: Sequence[Disturbance]) -> None:
        self.disturbances = [one for one in disturbances if one.of_pictures]
        self.changed = 0  # observations with another picture

    def reset_sensing(self) -> None:
        """Start an episode."""
        self.changed = 0

    def see_images(self, observation: Observation) -> tuple[CameraImage, ...]:
        """Return the images of an observer as it is given them.

        Args:
            observation: with the images of its cameras.
        """
        images = observation.images
        if not images:
            return images
        for disturbance in self.disturbances:
            if observation.kind not in disturbance.kinds:
                continue
            seen = disturbance.see(images, observation)
            if len(seen) != len(images):
                raise AttemptError(
                    "interference_not_delivered",
                    f"{disturbance.name}: returned {len(seen)} images of {len(images)}",
                )
            # air is in the pictures that the simulator takes
            changed = bool(disturbance.describe_air()) or not all(map(is_same_image, seen, images))
            disturbance.reached += 1
            disturbance.acted += changed
            self.changed += changed
            images = seen
        return images
