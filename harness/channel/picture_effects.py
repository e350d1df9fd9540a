"""What can go wrong with a picture: blur, glare, a black picture, a camera that is turned.

Functions of single pictures, for disturbances of drives and operators on recorded scenes alike.
Sizes are given for pictures of 256 pixels and hold for others in proportion.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter

from harness.types.geometry import build_pose_matrix, compose_poses
from harness.types.vocabulary import CameraImage, Floats, Pose

USUAL_WIDTH = 256
CORE, HALO = math.radians(5.0), math.radians(22.0)
"""Angles from the light at which the core of its glare, and the halo, have fallen to a third."""
CORE_SHARE = 0.6
WHITE = np.array([255.0, 250.0, 238.0])


def blur_image(image: CameraImage, radius: float) -> CameraImage:
    """Return a picture out of focus.

    Args:
        image: of a camera.
        radius: standard deviation of the blur, pixels of a picture of 256.
    """
    scaled = radius * image.pixels.shape[1] / USUAL_WIDTH
    shown = Image.fromarray(image.pixels).filter(ImageFilter.GaussianBlur(scaled))
    return replace(image, pixels=np.asarray(shown))


def add_glare(
    image: CameraImage, lidar_in_world: Pose, azimuth: float, altitude: float, *, strength: float
) -> CameraImage:
    """Return a picture with a veil of light round the direction that light comes from.

    Args:
        image: of a camera.
        lidar_in_world: of the camera's agent.
        azimuth: of the light in the world, rad, clockwise from x.
        altitude: of the light, rad.
        strength: share of white at its middle, 0 to 1.
    """
    flat = math.cos(altitude)
    light = np.array([flat * math.cos(azimuth), flat * math.sin(azimuth), math.sin(altitude)])
    axes = build_pose_matrix(compose_poses(lidar_in_world, image.camera_in_lidar))[:3, :3]
    away = np.arccos(np.clip(compute_pixel_rays(image) @ (axes.T @ light), -1.0, 1.0))
    core, halo = np.exp(-((away / CORE) ** 2)), np.exp(-((away / HALO) ** 2))
    veil = strength * (CORE_SHARE * core + (1 - CORE_SHARE) * halo)[..., None]
    lit = image.pixels + veil * (WHITE - image.pixels)
    return replace(image, pixels=np.rint(np.clip(lit, 0, 255)).astype(np.uint8))


def compute_pixel_rays(image: CameraImage) -> Floats:
    """Return the (rows, columns, 3) unit vectors of pixels: ahead, right and up of the camera."""
    rows, columns = image.pixels.shape[:2]
    focal, middle = image.intrinsics[[0, 1], [0, 1]], image.intrinsics[:2, 2]
    right = (np.arange(columns) + 0.5 - middle[0]) / focal[0]
    up = -(np.arange(rows) + 0.5 - middle[1]) / focal[1]
    y, z = np.meshgrid(right, up)
    rays = np.stack([np.ones_like(y), y, z], axis=-1)
    return np.asarray(rays / np.linalg.norm(rays, axis=-1, keepdims=True))


def drop_image(image: CameraImage) -> CameraImage:
    """Return a black picture."""
    return replace(image, pixels=np.zeros_like(image.pixels))


def scale_brightness(image: CameraImage, factor: float) -> CameraImage:
    """Return a brighter or darker picture."""
    return replace(image, pixels=scale_pixels(image.pixels, factor))


def scale_pixels(pixels: NDArray[np.uint8], factor: float) -> NDArray[np.uint8]:
    """Return pixels times a factor, as far as they go."""
    table = np.rint(np.clip(np.arange(256) * factor, 0, 255)).astype(np.uint8)
    scaled: NDArray[np.uint8] = table[pixels]
    return scaled


def turn_camera(image: CameraImage, angles: Floats, shift: Floats) -> CameraImage:
    """Return a picture whose agent is wrong about where its camera is.

    Args:
        image: of a camera.
        angles: (3,) yaw, pitch, roll in rad, about the camera.
        shift: (3,) m ahead, right and up of the camera.
    """
    x, y, z = shift.tolist()
    yaw, pitch, roll = angles.tolist()
    error = Pose(x, y, z, yaw=yaw, pitch=pitch, roll=roll)
    return replace(image, camera_in_lidar=compose_poses(image.camera_in_lidar, error))


def mirror_image(image: CameraImage) -> CameraImage:
    """Return a picture in a mirror, of a camera in a mirror: left and right change places."""
    pose, intrinsics = image.camera_in_lidar, image.intrinsics.copy()
    intrinsics[0, 2] = image.pixels.shape[1] - intrinsics[0, 2]
    return replace(
        image,
        pixels=np.ascontiguousarray(image.pixels[:, ::-1]),
        intrinsics=intrinsics,
        camera_in_lidar=replace(pose, y=-pose.y, yaw=-pose.yaw, roll=-pose.roll),
    )


def is_same_image(one: CameraImage, other: CameraImage) -> bool:
    """Return whether two pictures have the same pixels and the same camera."""
    return one is other or (
        one.camera_in_lidar == other.camera_in_lidar
        and np.array_equal(one.intrinsics, other.intrinsics)
        and np.array_equal(one.pixels, other.pixels)
    )
