"""A car more in a frame of KITTI: pasted, since there is no world that could be shown again.

The pose is found on the ground that points show, free of points. The car is rendered by rays of the
frame's own camera, hides and is hidden by the depths of points, has the mean and spread of
brightness of its surroundings, half of their colour, and a soft shadow at its foot. Points that it
hides move to its surface; beams of a Velodyne HDL-64E that came back with nothing may hit it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from harness.types.vocabulary import VEHICLE, Floats, Mask, Pose, Singles
from studies.metamorphic.geometry.casting import find_nearest_hits
from studies.metamorphic.geometry.placement import is_clear_of_boxes, is_vacant
from studies.metamorphic.geometry.shapes import PlacedShape, load_shapes
from studies.metamorphic.kitti.frames import KittiCalibration, KittiFrame, parse_rectangle
from studies.metamorphic.scenes.operator import DoesNotApplyError
from studies.metamorphic.scenes.owners import transform_to_box_frame

AT_SENSOR = Pose(0.0, 0.0)
NEAREST, FARTHEST, ASIDE = 7.0, 40.0, 12.0
"""Metres ahead and aside at which a car is asked for."""
TRIES = 200
GROUND_SPREAD = 0.15
"""Metres by which lowest points round a car may differ: level ground."""
FEWEST_GROUND = 6
RINGS = np.radians(np.linspace(2.0, -24.8, 64))
COLUMNS = 2083
"""Rings and columns of an HDL-64E that turns ten times a second."""
LOST, NOISE, REFLECTANCE = 0.05, 0.02, 0.3
"""Share of new points that are lost, noise along the beam in m, and their reflectance (3.2)."""
IN_FRONT = 0.3
"""Metres by which a point must be nearer than the car to hide it."""
GAP = 6.0
"""Pixels to the nearest point, beyond which nothing is known to be in front."""
PAINTS = np.array(
    [[190, 190, 194], [60, 62, 66], [120, 20, 22], [28, 44, 92], [225, 226, 226], [84, 92, 80]]
)
LIGHT = np.array([-0.35, -0.45, 0.82])
"""Where light comes from: behind, left, above."""
AMBIENT = 0.45
SHADOW = 0.5
SHADOW_EDGE = 0.45
"""Share of light at the foot, and metres over which the shadow ends."""
HIDDEN = 0.9
"""Share of another object's rectangle that the car covers, from which it is not judged."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RenderedCar:
    """What a camera sees of a car, before anything hides it."""

    mask: Mask  # (rows, columns)
    depth: Floats  # (rows, columns) m from the camera; inf elsewhere
    pixels: Floats  # (rows, columns, 3) 0 to 255


def insert_into_frame(frame: KittiFrame, random: np.random.Generator) -> KittiFrame:
    """Return a frame with a car more.

    Args:
        frame: before.
        random: of shape, place, colour and noise.

    Raises:
        DoesNotApplyError: there is no room, or the car would not be seen.
    """
    placed = find_free_place(frame, random)
    paint = PAINTS[int(random.integers(len(PAINTS)))].astype(np.float64)
    car = render_car(frame, placed, paint)
    hidden = find_hidden_pixels(frame, car)
    seen = car.mask & ~hidden
    if seen.sum() < (1 - HIDDEN) * max(car.mask.sum(), 1) or not seen.any():
        raise DoesNotApplyError(f"{frame.name}: the car would be hidden")
    shaded = darken_ground(frame, placed)
    pixels = paste_car(shaded, car, seen)
    labels = [mark_covered_label(line, seen) for line in frame.labels]
    share = 1 - seen.sum() / car.mask.sum()
    labels.append(format_label(frame.calibration, placed, car.mask, float(share)))
    return replace(
        frame, pixels=pixels, points=insert_points(frame, placed, random), labels=tuple(labels)
    )


def find_free_place(frame: KittiFrame, random: np.random.Generator) -> PlacedShape:
    """Return a car that stands on level ground in view, where no points are."""
    cars = sorted(
        name
        for name, shape in load_shapes().items()
        if shape.of_class == VEHICLE and shape.size[0] < 5.2
    )
    shape = load_shapes()[cars[int(random.integers(len(cars)))]]
    points = frame.points[:, :3].astype(np.float64)
    rows, columns = frame.pixels.shape[:2]
    obstacles = collect_label_boxes(frame)
    for _ in range(TRIES):
        x, y = random.uniform(NEAREST, FARTHEST), random.uniform(-ASIDE, ASIDE)
        yaw = float(random.choice([0.0, math.pi])) + random.normal(0.0, 0.15)
        near = points[(np.abs(points[:, 0] - x) < 2.5) & (np.abs(points[:, 1] - y) < 2.5)]
        if len(near) < FEWEST_GROUND:
            continue
        height = float(np.quantile(near[:, 2], 0.1))
        if np.abs(near[near[:, 2] < height + 0.4, 2] - height).max(initial=0.0) > GROUND_SPREAD:
            continue
        box = np.array([x, y, height + shape.size[2] / 2, *shape.size, yaw])
        column, row, depth = frame.calibration.project(box[None, :3])[0]
        if not (depth > 1 and 0 <= column < columns and 0 <= row < rows):
            continue
        if is_vacant(points, box) and is_clear_of_boxes(obstacles, box):
            pose = Pose(x, y, float(box[2]), yaw=yaw)
            return PlacedShape(shape, pose, 0)
    raise DoesNotApplyError(f"{frame.name}: no room for {shape.name} on level ground in view")


def collect_label_boxes(frame: KittiFrame) -> Floats:
    """Return the (N, 7) boxes of labelled objects at the Velodyne, in Crucible's axes."""
    calibration, boxes = frame.calibration, []
    into = np.linalg.inv(calibration.from_velodyne)
    for line in frame.labels:
        words = line.split()
        if words[0] == "DontCare":
            continue
        height, width, length, x, y, z, turn = map(float, words[8:15])
        place = into @ [x, y - height / 2, z, 1.0]
        ahead = into[:3, :3] @ [math.cos(turn), 0.0, -math.sin(turn)]
        yaw = math.atan2(ahead[1], ahead[0])
        boxes.append([*place[:3], length, width, height, yaw])
    return np.array(boxes, np.float64).reshape(-1, 7)


def render_car(frame: KittiFrame, placed: PlacedShape, paint: Floats) -> RenderedCar:
    """Return what the frame's camera sees of a car: a ray for each pixel of its rectangle."""
    calibration, shape = frame.calibration, frame.pixels.shape[:2]
    corners = placed.compute_corners(AT_SENSOR) - calibration.camera_in_velodyne
    seen = calibration.project(corners.reshape(-1, 3) + calibration.camera_in_velodyne)
    low = np.clip(np.floor(seen[:, 1::-1].min(axis=0)), 0, shape).astype(int)
    high = np.clip(np.ceil(seen[:, 1::-1].max(axis=0)) + 1, 0, shape).astype(int)
    rows, columns = (
        part.ravel() for part in np.mgrid[low[0] : high[0], low[1] : high[1]].astype(np.float64)
    )
    rays = calibration.compute_rays(columns, rows)
    ranges, faces = find_nearest_hits(np.ascontiguousarray(rays), np.ascontiguousarray(corners))
    hit = faces >= 0
    at = rows[hit].astype(int), columns[hit].astype(int)
    # Lambert's law on faces; the upper part of a car is glass
    a, b, c = (corners[faces[hit], n] for n in range(3))
    normals = np.cross(b - a, c - a)
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)
    normals *= np.sign(-(normals * rays[hit]).sum(axis=1, keepdims=True))
    facing = np.maximum(normals @ (LIGHT / np.linalg.norm(LIGHT)), 0.0)
    place = rays[hit] * ranges[hit, None] + calibration.camera_in_velodyne
    local = transform_to_box_frame(place, placed.box_in_world.geometry[0])
    tall = placed.shape.size[2]
    above, upright = local[:, 2] / tall + 0.5, np.abs(normals[:, 2]) < 0.75
    colours = np.where((above > 0.58)[:, None] & upright[:, None], [38.0, 44.0, 52.0], paint)
    colours = np.where((above < 0.16)[:, None], [24.0, 24.0, 26.0], colours)
    mask, depth = np.zeros(shape, np.bool_), np.full(shape, np.inf)
    pixels = np.zeros((*shape, 3))
    mask[at], depth[at] = True, ranges[hit]
    pixels[at] = colours * (AMBIENT + (1 - AMBIENT) * facing)[:, None]
    return RenderedCar(mask=mask, depth=depth, pixels=pixels)


def find_hidden_pixels(frame: KittiFrame, car: RenderedCar) -> Mask:
    """Return the pixels at which a point of the frame is in front of the car."""
    calibration = frame.calibration
    points = frame.points[:, :3].astype(np.float64)
    seen = calibration.project(points)
    away = np.linalg.norm(points - calibration.camera_in_velodyne, axis=1)
    rows, columns = frame.pixels.shape[:2]
    inside = (seen[:, 2] > 0.5) & (seen[:, 0] >= 0) & (seen[:, 0] < columns)
    inside &= (seen[:, 1] >= 0) & (seen[:, 1] < rows)
    hidden = np.zeros_like(car.mask)
    at = np.argwhere(car.mask)
    if not inside.any() or not len(at):
        return hidden
    gap, nearest = cKDTree(seen[inside][:, 1::-1]).query(at)
    front = (gap <= GAP) & (away[inside][nearest] < car.depth[car.mask] - IN_FRONT)
    hidden[at[front, 0], at[front, 1]] = True
    return hidden


def darken_ground(frame: KittiFrame, placed: PlacedShape) -> NDArray[np.uint8]:
    """Return the picture with a soft shadow on the ground round the foot of a car."""
    box = placed.box_in_world.geometry[0]
    camera, foot = frame.calibration.camera_in_velodyne, box[2] - box[5] / 2
    rows, columns = frame.pixels.shape[:2]
    down, right = np.mgrid[0:rows, 0:columns].astype(np.float64)
    rays = frame.calibration.compute_rays(right.ravel(), down.ravel())
    with np.errstate(divide="ignore", invalid="ignore"):
        along = (foot - camera[2]) / rays[:, 2]
    known = (along > 0) & (along < 2 * FARTHEST)
    place = camera + rays * np.where(known, along, 0.0)[:, None]
    out = np.full(len(rays), np.inf)
    local = np.abs(transform_to_box_frame(place[known], box))[:, :2] - box[3:5] / 2
    out[known] = np.linalg.norm(np.maximum(local, 0.0), axis=1)
    ground = RenderedCar(
        mask=(out < SHADOW_EDGE).reshape(rows, columns),
        depth=np.where(known, along, np.inf).reshape(rows, columns),
        pixels=np.zeros((0, 0, 3)),
    )
    light = 1 - SHADOW * np.clip(1 - out / SHADOW_EDGE, 0.0, 1.0).reshape(rows, columns)
    light[~ground.mask | find_hidden_pixels(frame, ground)] = 1.0
    return np.rint(frame.pixels * light[..., None]).astype(np.uint8)


def paste_car(pixels: NDArray[np.uint8], car: RenderedCar, seen: Mask) -> NDArray[np.uint8]:
    """Return the picture with the pixels of a car, in the light and colour of its surroundings."""
    rows, columns = (np.flatnonzero(car.mask.any(axis=axis)) for axis in (1, 0))
    tall, wide = rows[-1] - rows[0] + 1, columns[-1] - columns[0] + 1
    part = (
        slice(max(rows[0] - tall // 2, 0), rows[-1] + tall // 2 + 1),
        slice(max(columns[0] - wide // 2, 0), columns[-1] + wide // 2 + 1),
    )
    around = pixels[part][~car.mask[part]].astype(np.float64)
    matched = match_colours(car.pixels[car.mask], around)
    result, painted = pixels.copy(), np.zeros((*car.mask.shape, 3))
    painted[car.mask] = matched
    result[seen] = np.rint(np.clip(painted[seen], 0, 255)).astype(np.uint8)
    return result


def match_colours(colours: Floats, around: Floats) -> Floats:
    """Return colours with the mean brightness of their surroundings, and half of their tint.

    Args:
        colours: (N, 3) of an object in neutral light.
        around: (M, 3) of the picture round it.

    Returns:
        (N, 3) whose brightness spreads as the surroundings' does, by a factor of 0.5 to 1.5.
    """
    if not len(colours) or not len(around):
        return colours
    light, other = colours.mean(axis=1, keepdims=True), around.mean(axis=1)
    spread = float(np.clip(other.std() / max(float(light.std()), 1.0), 0.5, 1.5))
    tint = (around - other[:, None]).mean(axis=0)
    gain = float(np.clip(other.mean() / max(float(light.mean()), 1.0), 0.2, 1.0))
    brightness = (light - light.mean()) * spread + other.mean()
    matched: Floats = brightness + (colours - light) * gain + 0.5 * tint
    return matched


def insert_points(frame: KittiFrame, placed: PlacedShape, random: np.random.Generator) -> Singles:
    """Return the sweep with a car: points that it hides move to it, empty beams may hit it."""
    corners = np.ascontiguousarray(placed.compute_corners(AT_SENSOR))
    points = frame.points
    xyz = points[:, :3].astype(np.float64)
    away = np.maximum(np.linalg.norm(xyz, axis=1), 1e-9)
    directions = xyz / away[:, None]
    ranges, _ = find_nearest_hits(directions, corners)
    hidden = ranges < away
    # beams of the LiDAR's grid near which nothing came back
    grid = np.stack(np.meshgrid(RINGS, math.tau * np.arange(COLUMNS) / COLUMNS), axis=-1)
    elevation, azimuth = grid.reshape(-1, 2).T
    rays = np.column_stack(
        [
            np.cos(elevation) * np.cos(azimuth),
            np.cos(elevation) * np.sin(azimuth),
            np.sin(elevation),
        ]
    )
    empty_ranges, faces = find_nearest_hits(rays, corners)
    struck = faces >= 0
    spacing = max(math.tau / COLUMNS, float(RINGS[0] - RINGS[-1]) / (len(RINGS) - 1))
    if struck.any() and len(directions):
        gap, _ = cKDTree(directions).query(rays[struck])
        free = gap > spacing
    else:
        free = np.ones(int(struck.sum()), np.bool_)
    hits = np.concatenate([directions[hidden], rays[struck][free]])
    reach = np.concatenate([ranges[hidden], empty_ranges[struck][free]])
    reach = reach + random.normal(0.0, NOISE, len(reach))
    kept = random.random(len(reach)) >= LOST
    new = np.column_stack([hits * reach[:, None], np.full(len(hits), REFLECTANCE)])[kept]
    return np.concatenate([points[~hidden], new.astype(np.float32)])


def format_label(
    calibration: KittiCalibration, placed: PlacedShape, mask: Mask, hidden: float
) -> str:
    """Return the line of a car in label_2."""
    box = placed.box_in_world.geometry[0]
    rows, columns = (np.flatnonzero(mask.any(axis=axis)) for axis in (1, 0))
    foot = np.array([box[0], box[1], box[2] - box[5] / 2, 1.0])
    x, y, z = (calibration.from_velodyne @ foot)[:3]
    ahead = calibration.from_velodyne[:3, :3] @ [math.cos(box[6]), math.sin(box[6]), 0.0]
    turn = math.atan2(-ahead[2], ahead[0])
    alpha = math.remainder(turn - math.atan2(x, z), math.tau)
    occluded = int(np.digitize(hidden, [0.05, 0.5]))
    edges = columns[0], rows[0], columns[-1], rows[-1]
    numbers = [alpha, *map(float, edges), box[5], box[4], box[3], x, y, z, turn]
    return f"Car 0.00 {occluded} " + " ".join(f"{number:.2f}" for number in numbers)


def mark_covered_label(line: str, seen: Mask) -> str:
    """Return a label as it was, or as DontCare where a car covers nearly all of it."""
    left, top, right, bottom = np.rint(parse_rectangle(line)).astype(int).tolist()
    part = seen[max(top, 0) : bottom + 1, max(left, 0) : right + 1]
    if not part.size or part.mean() < HIDDEN:
        return line
    rest = "-1 -1 -10 {} -1 -1 -1 -1000 -1000 -1000 -10"
    return "DontCare " + rest.format(" ".join(line.split()[4:8]))
