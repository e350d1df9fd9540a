"""Disturbances of pictures: what they do to pixels and cameras, and that the channel counts it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from harness.channel.channel import Channel
from harness.channel.disturbance import Disturbance
from harness.channel.interference.counterfactual import Counterfactual
from harness.channel.interference.pictures import (
    Blur,
    DroppedCamera,
    Glare,
    Miscalibration,
    Night,
)
from harness.channel.picture_effects import (
    add_glare,
    blur_image,
    compute_pixel_rays,
    mirror_image,
    scale_brightness,
)
from harness.common.errors import AttemptError, UserError
from harness.types.geometry import build_pose_matrix
from harness.types.vocabulary import CameraImage, Kind, Observation, Pose

NAMES = ("front", "left", "right", "rear")
YAWS = (0.0, -60.0, 60.0, 180.0)
LIDAR = Pose(3.0, -2.0, 2.0, yaw=0.7)


def make_images() -> tuple[CameraImage, ...]:
    """Return four pictures with structure, as in the rigs."""
    random = np.random.default_rng(3)
    focal = 128 / math.tan(math.radians(50.0)) / 2
    intrinsics = np.array([[focal, 0.0, 64.0], [0.0, focal, 48.0], [0.0, 0.0, 1.0]])
    return tuple(
        CameraImage(
            name=name,
            pixels=random.integers(0, 200, (96, 128, 3), np.uint8),
            intrinsics=intrinsics,
            camera_in_lidar=Pose(1.3, 0.0, 0.4, yaw=math.radians(yaw)),
            above_road=2.3,
        )
        for name, yaw in zip(NAMES, YAWS, strict=True)
    )


def observe(kind: Kind = "ego", sender: str = "ego", frame: int = 0) -> Observation:
    return Observation(
        sender=sender,
        kind=kind,
        frame=frame,
        time=frame * 0.05,
        lidar_in_world=LIDAR,
        points_in_lidar=np.ones((3, 4), np.float32),
        images=make_images(),
    )


def started(disturbance: Disturbance, seed: int = 1) -> Disturbance:
    disturbance.reset(seed, "r1")
    return disturbance


ALL: tuple[Callable[[], Disturbance], ...] = (
    Night,
    Blur,
    partial(Glare, azimuth=40.0),
    DroppedCamera,
    Miscalibration,
)


@pytest.mark.parametrize("make", ALL, ids=("night", "blur", "glare", "dropped", "turned"))
def test_the_channel_counts_what_changed(make: Callable[[], Disturbance]) -> None:
    disturbance = make()
    channel = Channel([disturbance])
    channel.reset(1, "r1")
    for frame, (kind, sender) in enumerate((("ego", "ego"), ("vehicle", "vehicle-3"))):
        channel.see_images(observe(kind, sender, frame))  # type: ignore[arg-type]
    assert disturbance.reached == disturbance.acted == 2
    assert disturbance.inert() is None
    assert channel.audit.tally.effects.sensed == 2
    # a system that reads no images is given none, and nothing is counted
    empty = replace(observe(), images=())
    assert channel.see_images(empty) == ()
    assert disturbance.reached == 2


@pytest.mark.parametrize("make", ALL[1:], ids=("blur", "glare", "dropped", "turned"))
def test_equal_seeds_give_equal_pictures(make: Callable[[], Disturbance]) -> None:
    seen = [started(make()).see(make_images(), observe()) for _ in range(2)]
    for one, other, before in zip(*seen, make_images(), strict=True):
        np.testing.assert_array_equal(one.pixels, other.pixels)
        assert one.camera_in_lidar == other.camera_in_lidar
        assert one.name == before.name


def test_size_zero_is_none() -> None:
    zero = (Blur(0.0), Glare(0.0), DroppedCamera(share=0.0), DroppedCamera([]), Miscalibration(0.0))
    assert all(disturbance.size_zero for disturbance in zero)
    assert not any(make().size_zero for make in ALL)
    assert Channel(zero).disturbances == ()


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: Night(-100.0), "-90 to 90"),
        (lambda: Night(kinds=["ego"]), "for all agents"),
        (lambda: Blur(-1.0), "must be ≥ 0"),
        (lambda: Glare(1.5), "0 to 1"),
        (lambda: DroppedCamera(share=2.0), "0 to 1"),
        (lambda: Miscalibration(metres=math.nan), "must be ≥ 0"),
    ],
)
def test_bad_settings_are_refused(make: Callable[[], Disturbance], why: str) -> None:
    with pytest.raises(UserError, match=why):
        make()


def test_blur_keeps_the_mean_and_takes_detail() -> None:
    image = make_images()[0]
    blurred = blur_image(image, 3.0)
    assert blurred.pixels.mean() == pytest.approx(image.pixels.mean(), abs=1.5)
    assert blurred.pixels.std() < 0.35 * image.pixels.std()
    # twice as large a picture is blurred over twice as many of its pixels: the same angle
    large = replace(image, pixels=np.kron(image.pixels, np.ones((2, 2, 1), np.uint8)))
    small = blur_image(large, 3.0).pixels[::2, ::2].astype(float)
    assert np.abs(small[8:-8, 8:-8] - blurred.pixels[8:-8, 8:-8]).mean() < 2.0


def test_glare_is_where_the_light_is() -> None:
    front = make_images()[0]
    # the camera looks by 0.7 rad in the world; the light is 20 degrees to the right of that, 5 up
    azimuth = LIDAR.yaw + math.radians(20.0)
    lit = add_glare(front, LIDAR, azimuth, math.radians(5.0), strength=1.0)
    more = lit.pixels.astype(int).sum(axis=2) - front.pixels.astype(int).sum(axis=2)
    assert (more >= 0).all()
    flat = np.array([math.cos(math.radians(20.0)), math.sin(math.radians(20.0))])
    light = np.array([*(flat * math.cos(math.radians(5.0))), math.sin(math.radians(5.0))])
    nearest = np.unravel_index((compute_pixel_rays(front) @ light).argmax(), more.shape)
    assert (lit.pixels[nearest] >= [253, 248, 236]).all()
    focal = front.intrinsics[0, 0]
    assert nearest[1] == pytest.approx(64 + focal * math.tan(math.radians(20.0)), abs=1.0)
    assert nearest[0] < 48
    # behind the camera nothing changes
    away = add_glare(front, LIDAR, azimuth + math.pi, 0.0, strength=1.0)
    assert np.abs(away.pixels.astype(int) - front.pixels).max() <= 1


def test_one_light_for_all_agents() -> None:
    glare = started(Glare())
    assert isinstance(glare, Glare)
    assert glare.direction == started(Glare()).direction  # type: ignore[attr-defined]
    others = {started(Glare(), seed).direction for seed in range(5)}  # type: ignore[attr-defined]
    assert len(others) == 5


def test_a_dropped_camera_is_black_and_the_others_stay() -> None:
    seen = started(DroppedCamera(["left"])).see(make_images(), observe())
    for one, before in zip(seen, make_images(), strict=True):
        assert (one.pixels == 0).all() == (before.name == "left")
        if before.name != "left":
            np.testing.assert_array_equal(one.pixels, before.pixels)
    some = started(DroppedCamera(["left"], share=0.3))
    dark = [
        (some.see(make_images(), observe(frame=frame))[1].pixels == 0).all() for frame in range(200)
    ]
    assert 0.2 < np.mean(dark) < 0.4
    assert some.idle_chance < 1e-6


def test_a_miscalibrated_camera_keeps_its_pixels_for_the_episode() -> None:
    turned = started(Miscalibration(2.0))
    first, later = (turned.see(make_images(), observe(frame=frame)) for frame in (0, 7))
    for one, other, before in zip(first, later, make_images(), strict=True):
        np.testing.assert_array_equal(one.pixels, before.pixels)
        assert one.camera_in_lidar == other.camera_in_lidar
        a, b = (build_pose_matrix(image.camera_in_lidar)[:3, :3] for image in (one, before))
        angle = math.degrees(math.acos(min((np.trace(a.T @ b) - 1) / 2, 1.0)))
        assert 0.05 < angle <= 2.0 * math.sqrt(3) + 0.01
    assert first[0].camera_in_lidar != first[1].camera_in_lidar


def test_a_mirrored_picture_shows_mirrored_points() -> None:
    image = make_images()[1]
    other = mirror_image(image)
    np.testing.assert_array_equal(mirror_image(other).pixels, image.pixels)
    point = np.array([9.0, -4.0, 0.5])
    places = []
    for one, at in ((image, point), (other, point * [1, -1, 1])):
        x, y, z = np.linalg.inv(build_pose_matrix(one.camera_in_lidar))[:3] @ [*at, 1.0]
        places.append((one.intrinsics @ [y / x, -z / x, 1.0])[:2])
    assert places[1][0] == pytest.approx(128 - places[0][0])
    assert places[1][1] == pytest.approx(places[0][1])


def test_brightness_is_a_factor() -> None:
    image = make_images()[0]
    np.testing.assert_array_equal(
        scale_brightness(image, 1.1).pixels, np.rint(image.pixels * 1.1).clip(0, 255)
    )


def test_a_counterfactual_sees_in_its_window_only() -> None:
    one = Counterfactual(Blur(), windows=[(2, 4)])
    channel = Channel([one])
    channel.reset(1, "r1")
    changed = [
        bool((channel.see_images(observe(frame=frame))[0].pixels != make_images()[0].pixels).any())
        for frame in range(5)
    ]
    assert changed == [False, False, True, True, False]
    assert Counterfactual(Night()).describe_air() == {"sun_altitude_angle": -20.0}
    assert not Counterfactual(Night(), windows=[(0, 3)]).describe_air()


def test_fewer_images_are_refused() -> None:
    class Cut(Blur):
        def see(
            self, images: tuple[CameraImage, ...], observation: Observation
        ) -> tuple[CameraImage, ...]:
            return images[:1]

    channel = Channel([Cut()])
    channel.reset(1, "r1")
    with pytest.raises(AttemptError, match="1 images of 4"):
        channel.see_images(observe())
