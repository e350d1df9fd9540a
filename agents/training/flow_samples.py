"""What a flow network is trained on: maps that one sender sent, one after another, in recordings.

The map of a later moment is what the map of now should become (SyncNet trains so). Where road users
went in between is known, too (CoBEVFlow trains so).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from agents.perception.designs import LITE_GRID
from agents.perception.grid import PillarGrid
from agents.perception.systems import Intermediate
from agents.perception.warping import compute_affine_matrix
from harness.common.progress_bar import track_items
from harness.common.recordings import AgentLook, RecordedScenario
from harness.types.geometry import compute_relative_pose, transform_boxes
from harness.types.vocabulary import Boxes, Features, Integers, Observation, Pose

WORLD = Pose(0.0, 0.0)
LONGEST_GAP, LONGEST_AGE = 0.4, 0.8
"""Seconds between the two maps, and from the newer one to the later one."""
MARGIN = 0.4
"""Metres around a box that move with it."""


PART = (48, 64)
"""Rows and columns of a part of a map, multiples of 4."""
FARTHEST = 8.0
"""Metres beyond the window at which a road user's box may still reach into it."""
LEAST_SPEED = 0.5
"""m/s of a road user round which a part is chosen."""
Corner: TypeAlias = tuple[int, int]
"""Lower row and column of a part, multiples of 4."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SentMap:
    """What one agent sent at one moment, as float16, and what is true of it.

    Attributes:
        levels: (channels, rows, columns) each, the finest first.
        score: (1, rows, columns), best score of any class that the sender's own heads give.
        users: road users round it, in the world; ids and returns of the sender next to them.
    """

    levels: tuple[Tensor, ...]
    score: Tensor
    lidar_in_world: Pose
    users: Boxes
    ids: Integers
    hits: Integers


@dataclass(frozen=True, slots=True)
class Course:
    """The maps of one agent of a scenario, one for each look."""

    maps: Sequence[SentMap]
    interval: float  # s


@dataclass(frozen=True, slots=True)
class FlowPlace:
    """Three looks of a course: the older, the newer, and the later, whose map is the goal."""

    course: Course
    older: int
    newer: int
    later: int

    @property
    def gap(self) -> float:
        """Seconds between the two maps that are known."""
        return (self.newer - self.older) * self.course.interval

    @property
    def age(self) -> float:
        """Seconds from the newer map to the later one."""
        return (self.later - self.newer) * self.course.interval


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a map, in cells of its finest level."""

    corner: Corner
    shape: tuple[int, int]  # rows, columns

    def crop(self, level: Tensor) -> Tensor:
        """Return the part of a level (channels, rows, columns) of a lite network."""
        finer = LITE_GRID.output_shape[0] // level.shape[-2]
        (row, column), (rows, columns) = self.corner, self.shape
        row, column, rows, columns = (n // finer for n in (row, column, rows, columns))
        return level[:, row : row + rows, column : column + columns]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class FlowBatch:
    """Tensors of some places; all in the frame of the newer map.

    Attributes:
        newer: (places, channels, rows, columns) of each level, the finest first.
        older: (places, channels, rows, columns) of the finest level.
        later: as `newer`; zero where the later map does not reach.
        reach: (places, 1, rows, columns), 1 where it does.
        score: (places, 1, rows, columns), the greater of the newer and of the later map.
        speeds: (places, 2, rows, columns) m/s in x and y, of the road user in each cell.
        counted: (places, 1, rows, columns), 0 in cells of road users without a return.
        gap: (places,) seconds.
        age: (places,) seconds.
    """

    newer: tuple[Tensor, ...]
    older: Tensor
    later: tuple[Tensor, ...]
    reach: Tensor
    score: Tensor
    speeds: Tensor
    counted: Tensor
    gap: Tensor
    age: Tensor


def encode_courses(
    system: Intermediate, recorded: Sequence[RecordedScenario], name: str, *, senders: int
) -> list[Course]:
    """Return what agents of some recordings would send with a system's network.

    Args:
        system: whose partners send.
        recorded: scenarios.
        name: of the bar.
        senders: agents of each scenario: the roadside unit first, then vehicles.
    """
    courses = []
    for scenario in track_items(recorded, name):
        for agent in sorted(scenario.list_agents())[:senders]:
            looks = (scenario.read_look(agent, one) for one in scenario.list_moments(agent))
            sent = [encode_look(system, look) for look in looks]
            courses.append(Course(sent, scenario.interval))
    return courses


@torch.inference_mode()
def encode_look(system: Intermediate, look: AgentLook) -> SentMap:
    """Return what an agent sends at a look."""
    observation = Observation(
        sender="sender",
        kind="vehicle" if look.agent >= 0 else "roadside",
        frame=0,
        time=look.time,
        lidar_in_world=look.lidar_in_world,
        points_in_lidar=look.points_in_lidar,
    )
    features = system.share(observation)
    levels = tuple(torch.from_numpy(np.array(level)) for level in features.maps)
    return SentMap(
        levels=tuple(level.half() for level in levels),
        score=compute_score(system, features)[0].half(),
        lidar_in_world=look.lidar_in_world,
        users=transform_boxes(look.truth.boxes_in_lidar, look.lidar_in_world, WORLD),
        ids=look.truth.actor_ids,
        hits=look.truth.hits,
    )


def compute_score(system: Intermediate, features: Features) -> Tensor:
    """Return the best score of any class in each cell of a message, (1, 1, rows, columns)."""
    network = system.detector.network
    device = system.detector.device
    levels = tuple(torch.from_numpy(np.array(level))[None].to(device) for level in features.maps)
    one = network.to_detection_map(network.receive_maps(levels))
    return torch.sigmoid(network.cls_head(one)).amax(1, keepdim=True).cpu()


def list_places(
    courses: Iterable[Course], gaps: Sequence[int], ages: Sequence[int]
) -> Iterator[FlowPlace]:
    """Yield all places with these looks between older and newer, and newer and later."""
    for course in courses:
        for newer in range(len(course.maps)):
            for gap in gaps:
                for age in ages:
                    if newer >= gap and newer + age < len(course.maps):
                        yield FlowPlace(course, newer - gap, newer, newer + age)


def sample_places(
    courses: Sequence[Course], count: int, random: np.random.Generator
) -> list[FlowPlace]:
    """Return places with gaps and ages up to the longest, all equally likely."""
    places: list[FlowPlace] = []
    while len(places) < count:
        course = courses[int(random.integers(len(courses)))]
        gap = random.integers(1, round(LONGEST_GAP / course.interval) + 1)
        age = random.integers(1, round(LONGEST_AGE / course.interval) + 1)
        room = len(course.maps) - gap - age
        if room > 0:
            newer = int(gap + random.integers(room))
            places.append(FlowPlace(course, newer - int(gap), newer, newer + int(age)))
    return places


def make_batch(
    places: Sequence[FlowPlace], grid: PillarGrid, corners: Sequence[Corner] | None = None
) -> FlowBatch:
    """Return the tensors of some places: of whole maps, or of a part of each, which is faster.

    Args:
        places: of which moments.
        grid: of whole maps.
        corners: lower row and column of the parts; None: whole maps.
    """
    shape = grid.output_shape if corners is None else PART
    corners = corners or [(0, 0)] * len(places)
    newer, older, later = (
        [place.course.maps[getattr(place, name)] for place in places]
        for name in ("newer", "older", "later")
    )
    parts = [Part(corner, shape) for corner in corners]
    to_older, to_later = (
        [make_affine_matrix(one, target, grid) for one, target in zip(source, newer, strict=True)]
        for source in (older, later)
    )
    fields = [render_speeds(place, grid) for place in places]
    score, then = [one.score for one in newer], [one.score for one in later]
    everywhere = [torch.ones_like(one) for one in score]
    return FlowBatch(
        newer=tuple(crop_stack(level, parts) for level in list_levels(newer)),
        older=warp_stack(next(iter(list_levels(older))), to_older, parts),
        later=tuple(warp_stack(level, to_later, parts) for level in list_levels(later)),
        reach=warp_stack(everywhere, to_later, parts).ge(0.999).float(),
        score=torch.maximum(crop_stack(score, parts), warp_stack(then, to_later, parts)),
        speeds=crop_stack([speeds for speeds, _ in fields], parts),
        counted=crop_stack([counted for _, counted in fields], parts),
        gap=torch.tensor([place.gap for place in places], dtype=torch.float32),
        age=torch.tensor([place.age for place in places], dtype=torch.float32),
    )


def choose_corner(place: FlowPlace, grid: PillarGrid, random: np.random.Generator) -> Corner:
    """Return a part of a map, round a road user that moves if there is one in the window."""
    here, there = place.course.maps[place.newer], place.course.maps[place.later]
    later = {int(actor): row for actor, row in zip(there.ids, there.users.geometry, strict=True)}
    now = transform_boxes(here.users, WORLD, here.lidar_in_world).geometry[:, :2]
    moved = np.array(
        [
            np.hypot(*(later.get(int(actor), row) - row)[:2])
            for actor, row in zip(here.ids, here.users.geometry, strict=True)
        ]
    )
    # (users, 2) rows and columns
    cells = ((now - grid.low[:2]) / grid.cell).astype(int)[:, ::-1]
    inside = ((cells >= 0) & (cells < grid.output_shape)).all(1)
    chosen = np.flatnonzero(inside & (moved > LEAST_SPEED * place.age) & (here.hits > 0))
    if len(chosen):
        middle = cells[random.choice(chosen)] + random.integers(-8, 9, 2)
    else:
        middle = random.integers((0, 0), grid.output_shape)
    most = np.array(grid.output_shape) - PART
    row, column = np.clip(middle - np.array(PART) // 2, 0, most) // 4 * 4
    return int(row), int(column)


def list_levels(sent: Sequence[SentMap]) -> Iterator[tuple[Tensor, ...]]:
    """Yield each level of some maps, the finest first."""
    yield from zip(*(one.levels for one in sent), strict=True)


def make_affine_matrix(source: SentMap, target: SentMap, grid: PillarGrid) -> Tensor:
    """Return (2, 3): from places on the grid of one map to those of another."""
    pose = compute_relative_pose(source.lidar_in_world, target.lidar_in_world)
    return torch.from_numpy(compute_affine_matrix(pose, grid)).float()


def crop_stack(maps: Sequence[Tensor], parts: Sequence[Part]) -> Tensor:
    """Return parts of maps (channels, rows, columns), side by side, in float32."""
    return torch.stack([part.crop(one).float() for one, part in zip(maps, parts, strict=True)])


def warp_stack(maps: Sequence[Tensor], theta: Sequence[Tensor], parts: Sequence[Part]) -> Tensor:
    """Return parts of maps on other grids, bilinear between cells, zero beyond them."""
    warped = []
    for one, matrix, part in zip(maps, theta, parts, strict=True):
        cells = functional.affine_grid(matrix[None], [1, *one.shape], align_corners=False)
        # (1, rows, columns, 2) seen as channels first, and back
        chosen = part.crop(cells[0].permute(2, 0, 1)).permute(1, 2, 0)[None]
        warped.append(functional.grid_sample(one[None].float(), chosen, align_corners=False)[0])
    return torch.stack(warped)


def render_speeds(place: FlowPlace, grid: PillarGrid) -> tuple[Tensor, Tensor]:
    """Return the mean velocity of what stands in each cell, from the newer to the later moment.

    Returns:
        (2, rows, columns) m/s in x and y of the newer map's frame, 0 where no road user stands; and
        (1, rows, columns), 0 in cells of road users without a return or not known later, else 1.
    """
    here, there = place.course.maps[place.newer], place.course.maps[place.later]
    rows, columns = grid.output_shape
    speeds, counted = (
        np.zeros((2, rows, columns), np.float32),
        np.ones((1, rows, columns), np.float32),
    )
    # both moments in the newer LiDAR's frame
    now = transform_boxes(here.users, WORLD, here.lidar_in_world).geometry
    then = transform_boxes(there.users, WORLD, here.lidar_in_world).geometry
    later = {int(actor): row for actor, row in zip(there.ids, then, strict=True)}
    x = grid.low[0] + (np.arange(columns) + 0.5) * grid.cell
    y = grid.low[1] + (np.arange(rows)[:, None] + 0.5) * grid.cell
    reach = np.array(grid.high[:2]) + FARTHEST
    near_window = [bool((np.abs(row[:2]) < reach).all()) for row in now]
    for row, actor, hits, near in zip(now, here.ids, here.hits, near_window, strict=True):
        if not near:
            continue
        cos, sin = np.cos(row[6]), np.sin(row[6])
        along = np.abs(cos * (x - row[0]) + sin * (y - row[1])) <= row[3] / 2 + MARGIN
        across = np.abs(cos * (y - row[1]) - sin * (x - row[0])) <= row[4] / 2 + MARGIN
        inside = along & across
        other = later.get(int(actor))
        if other is None or not hits:
            counted[0][inside] = 0.0
        else:
            speeds[:, inside] = ((other[:2] - row[:2]) / place.age)[:, None]
    return torch.from_numpy(speeds), torch.from_numpy(counted)
