"""What may go wrong while partners share: late, shifted or damaged messages (CooTest, table 1).

Noise in features is that of the harness's disturbances: they act on the air, when messages are
made.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from harness.channel.disturbance import Disturbance
from harness.channel.interference.feature_corruption import Scattered, WholeChannels
from harness.common.errors import UserError
from harness.types.vocabulary import Floats, Pose
from studies.metamorphic.scenes.operator import (
    ChangedScene,
    DoesNotApplyError,
    Level,
    Need,
    TruthExpectation,
)
from studies.metamorphic.scenes.scene import CooperativeScene, read_view
from studies.space import Space, SpaceParameter, Values, get_numeric_value

AXES = ("x", "y", "z", "yaw", "pitch", "roll")


class PartnerLatency:
    """Partners send what they sensed some looks ago: seconds, in recordings of one look a second.

    Partners' sweeps are read again: changes of them by other operators are lost.
    """

    name = "latency"
    level: Level = "sharing"
    paper = "cootest"
    needs: frozenset[Need] = frozenset({"earlier"})

    def __init__(self, most: int = 2) -> None:
        self.space: Space = (
            SpaceParameter(name="looks", unit="1 s apart", low=1, high=most, kind="whole"),
        )

    def apply(
        self, scene: CooperativeScene, values: Values, random: np.random.Generator
    ) -> ChangedScene:
        """Return the scene with partners' views of an earlier moment."""
        refuse_ego_alone(scene)
        looks = round(get_numeric_value(values, "looks"))
        return delay_partners(scene, looks)


class PartnerDelay:
    """Partners send what they sensed 0 to 300 ms ago (CooTest, operator CT).

    The recording's looks must lie so close together: `crucible collect --interval 0.1`.
    """

    level: Level = "sharing"
    paper = "cootest"
    needs: frozenset[Need] = frozenset({"earlier"})
    space: Space = (SpaceParameter(name="milliseconds", unit="ms", low=0, high=300, kind="whole"),)

    def __init__(self, name: str = "delay") -> None:
        self.name = name

    def apply(
        self, scene: CooperativeScene, values: Values, random: np.random.Generator
    ) -> ChangedScene:
        """Return the scene with partners' views of an earlier moment."""
        refuse_ego_alone(scene)
        milliseconds = get_numeric_value(values, "milliseconds")
        interval = scene.source.scenario.interval
        looks = milliseconds / 1000 / interval
        if not math.isclose(looks, round(looks), abs_tol=1e-6):
            raise DoesNotApplyError(
                f"looks are {interval:g} s apart: no moment {milliseconds:g} ms earlier; record"
                " with `crucible collect --interval 0.1`"
            )
        return delay_partners(scene, round(looks))


class PoseError:
    """Partners are wrong about where they are (CooTest, operator SM).

    Values are the greatest sizes; size and sign are sampled for every partner and axis. As in the
    harness, the shift is along the world's axes. CooTest: 0.2 m in x, y and z, 2 degrees of yaw.
    """

    name = "pose_error"
    level: Level = "sharing"
    paper = "cootest"
    needs: frozenset[Need] = frozenset()

    def __init__(self, metres: float = 0.2, degrees: float = 2.0, tilt: float = 0.0) -> None:
        """Take the greatest shift, yaw, and pitch and roll (degrees); 0: not in the space."""
        highest = (metres, metres, metres, degrees, tilt, tilt)
        units = ("m", "m", "m", "degrees", "degrees", "degrees")
        self.space: Space = tuple(
            SpaceParameter(name=name, unit=unit, high=high)
            for name, unit, high in zip(AXES, units, highest, strict=True)
            if high
        )

    def apply(
        self, scene: CooperativeScene, values: Values, random: np.random.Generator
    ) -> ChangedScene:
        """Return the scene with partners that believe to be elsewhere."""
        refuse_ego_alone(scene)
        # (axes,) largest errors, and (partners, axes) sampled ones
        most = np.array(
            [get_numeric_value(values, axis) if axis in values else 0.0 for axis in AXES]
        )
        errors = random.uniform(-1.0, 1.0, (len(scene.partners), len(AXES))) * most
        partners = tuple(
            replace(
                partner, believed_in_world=shift_pose_by_error(partner.believed_in_world, error)
            )
            for partner, error in zip(scene.partners, errors, strict=True)
        )
        changed = replace(scene, partners=partners)
        count = int(errors.any(axis=1).sum())
        return ChangedScene(scene=changed, expectation=TruthExpectation(), changed=count)


class GlobalLoss:
    """Numbers of feature maps are replaced by noise, one by one (CooTest, operator GL)."""

    name = "global_loss"
    level: Level = "sharing"
    paper = "cootest"
    space: Space = (SpaceParameter(name="probability", unit="of each number", low=0.01, high=1.0),)
    needs: frozenset[Need] = frozenset({"features"})

    def apply(
        self, scene: CooperativeScene, values: Values, random: np.random.Generator
    ) -> ChangedScene:
        """Return the scene with noise on the air."""
        return add_air_disturbance(
            scene, get_numeric_value(values, "probability"), Scattered, random
        )


class ChannelLoss:
    """Whole channels of feature maps are replaced by noise (CooTest, operator CL).

    Of C channels, floor(share * C) are replaced. The space starts at one channel of 16, which the
    shipped networks send. A share below one channel is refused: nothing would change.
    """

    name = "channel_loss"
    level: Level = "sharing"
    paper = "cootest"
    needs: frozenset[Need] = frozenset({"features"})

    def __init__(self, channels: int = 16) -> None:
        """Take how many channels a feature map has."""
        self._channels = channels
        self.space: Space = (
            SpaceParameter(name="share", unit="of channels", low=1 / channels, high=1.0),
        )

    def apply(
        self, scene: CooperativeScene, values: Values, random: np.random.Generator
    ) -> ChangedScene:
        """Return the scene with noise on the air."""
        share = get_numeric_value(values, "share")
        if math.floor(share * self._channels + 1e-9) < 1:  # as the disturbance counts them
            raise UserError(
                f"channel_loss: share = {share:g} is less than one of {self._channels} channels;"
                f" {1 / self._channels:g} or more is needed"
            )
        return add_air_disturbance(scene, share, WholeChannels, random)


def add_air_disturbance(
    scene: CooperativeScene,
    amount: float,
    make: Callable[[float], Disturbance],
    random: np.random.Generator,
) -> ChangedScene:
    """Return the scene with one disturbance more, which samples from a stream of `random`."""
    refuse_ego_alone(scene)
    disturbance = make(amount)
    disturbance.reset(int(random.integers(2**63)), scene.source.name)
    changed = replace(scene, on_air=(*scene.on_air, disturbance))
    count = 0 if disturbance.size_zero else len(scene.partners)
    return ChangedScene(scene=changed, expectation=TruthExpectation(), changed=count)


def shift_pose_by_error(pose: Pose, error: Floats) -> Pose:
    """Return a pose that is wrong by x, y, z (m), yaw, pitch and roll (degrees)."""
    x, y, z, yaw, pitch, roll = error.tolist()
    return Pose(
        pose.x + x,
        pose.y + y,
        pose.z + z,
        yaw=pose.yaw + math.radians(yaw),
        pitch=pose.pitch + math.radians(pitch),
        roll=pose.roll + math.radians(roll),
    )


def delay_partners(scene: CooperativeScene, looks: int) -> ChangedScene:
    """Return the scene with partners that send what they sensed some looks earlier."""
    if looks > scene.source.moment:
        raise DoesNotApplyError(f"{scene.source.name}: no moment {looks} looks earlier")
    if looks == 0:
        return ChangedScene(scene=scene, expectation=TruthExpectation(), changed=0)
    earlier = tuple(read_view(scene.source, partner.agent, looks) for partner in scene.partners)
    changed = replace(scene, partners=earlier)
    return ChangedScene(scene=changed, expectation=TruthExpectation(), changed=len(earlier))


def refuse_ego_alone(scene: CooperativeScene) -> None:
    """Refuse a scene without partners: nothing is shared."""
    if not scene.partners:
        raise DoesNotApplyError(f"{scene.source.name}: the ego has no partners")
