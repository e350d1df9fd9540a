"""Scenes that carlite's own LiDARs render, for tests of objects put into recordings."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from agents.training.ground_survey import make_survey_mount, survey_squares
from harness.carlite import blueprints, bodies, sensors
from harness.carlite.actors import ActorTable
from harness.carlite.sensors import protocol
from harness.carlite.sensors.scene import SensorScene as World
from harness.carlite.towns.model import Town
from harness.common.ground_fields import GroundField, read_ground_field, write_ground_field
from harness.common.recordings import AgentLook, RecordedScenario
from harness.types.geometry import compose_poses, transform_boxes
from harness.types.vocabulary import Boxes, Floats, GroundTruth, Integers, Pose
from harness.world.rig import (
    CARRIER_BODY,
    SEMANTIC_RETURN,
    LidarMount,
    LidarScan,
    to_surfaces,
)
from studies.metamorphic.geometry.rays import fit_beam_grid, get_lidar_mount
from studies.metamorphic.geometry.shapes import PlacedShape, find_shape_by_name
from studies.metamorphic.scenes.scene import AgentView, CooperativeScene, SceneSource
from tests.carlite import ray_worlds

WORLD = Pose(0.0, 0.0)
TICK = 0.05
CARRIER = "vehicle.lincoln.mkz_2020"
TESLA, BUS, BICYCLE = (
    "vehicle.tesla.model3",
    "vehicle.mitsubishi.fusorosa",
    "vehicle.gazelle.omafiets",
)
MOTORCYCLE, ADULT, VAN = "vehicle.yamaha.yzf", "walker.pedestrian.0001", "vehicle.mercedes.sprinter"


@dataclass(frozen=True)
class Standing:
    """A road user of a world: blueprint, where its foot is, heading."""

    name: str
    x: float
    y: float
    yaw: float
    z: float = field(default=0.0, kw_only=True)

    @property
    def size(self) -> Floats:
        return find_shape_by_name(self.name).size

    def placed(self, actor: int) -> PlacedShape:
        shape = find_shape_by_name(self.name)
        return PlacedShape(
            shape, Pose(self.x, self.y, self.z + shape.size[2] / 2, yaw=self.yaw), actor
        )


Users = dict[int, Standing]


@cache
def bare_town(pieces: int = 300, hills: float = 0.0) -> Town:
    """Return a town; its ground is level within 12 m of the middle."""
    return ray_worlds.town(hills=hills, pieces=pieces)


def world_with(town: Town, users: Users) -> World:
    """Return a world with these road users by id."""
    table = ActorTable()
    for actor, user in users.items():
        blueprint = blueprints.build_blueprint_library()[user.name]
        x, y, z = blueprint.extent
        table.add_actor(
            actor,
            kind=blueprint.kind,
            label=blueprint.label,
            body=bodies.build_body_library().find_body_index(blueprint.body),
            position=(user.x, user.y, user.z + z - blueprint.box_centre[2]),
            rotation=(0.0, user.yaw, 0.0),
            velocity=(0.0, 0.0, 0.0),
            box_centre=blueprint.box_centre,
            extent=(x, y, z),
        )
    return World(town, table)


@cache
def surveyed(town_hills: float, pieces: int) -> GroundField:
    """Return the surface of a bare town, as `crucible collect` surveys and writes it."""
    town = bare_town(pieces, hills=town_hills)
    world, mount = world_with(town, {}), make_survey_mount()
    along = np.arange(-100.0, 101.0, 4.0)
    lanes = np.column_stack([along, np.zeros((len(along), 2))])

    def scan_from(place: Pose) -> LidarScan:
        at = protocol.SensorPose((place.x, place.y, place.z), (0.0, 0.0, 0.0))
        bodies_of = [
            sensors.make_sensor(kind, attributes(mount), 1, 9).capture(world, at, 1, TICK)
            for kind in ("sensor.lidar.ray_cast", "sensor.lidar.ray_cast_semantic")
        ]
        head = 8 + 4 * mount.channels
        points = np.frombuffer(bodies_of[0] or b"", np.float32, offset=head).reshape(-1, 4)
        semantic = np.frombuffer(bodies_of[1] or b"", SEMANTIC_RETURN, offset=head)
        return LidarScan(
            frame=1,
            time=0.0,
            lidar_in_world=place,
            points_in_lidar=points,
            hits={},
            surfaces=to_surfaces(semantic, len(points)),
        )

    with TemporaryDirectory() as folder:
        write_ground_field(Path(folder), survey_squares(lanes, scan_from))
        field = read_ground_field(Path(folder))
    assert field is not None
    return field


def attributes(mount: LidarMount) -> dict[str, str]:
    """Return a mount's attributes by CARLA's names."""
    names = [
        *("channels", "range", "points_per_second", "upper_fov", "lower_fov", "noise_stddev"),
        *("atmosphere_attenuation_rate", "dropoff_general_rate"),
        *("dropoff_intensity_limit", "dropoff_zero_intensity"),
    ]
    return {"rotation_frequency": "20", **{name: str(getattr(mount, name)) for name in names}}


def looked(world: World, users: Users, agent: int, lidar_in_world: Pose) -> AgentView:
    """Return what a LiDAR of the rig records, as `harness.world.rig` and `collect` do."""
    empty = GroundTruth(Boxes.none(), np.zeros(0, np.int64), np.zeros(0, np.int64))
    view = AgentView(
        agent=agent,
        time=0.0,
        lidar_in_world=lidar_in_world,
        believed_in_world=lidar_in_world,
        points_in_lidar=np.zeros((0, 4), np.float32),
        surfaces=None,
        truth=empty,
        parked_in_lidar=Boxes.none(),
    )
    mount = get_lidar_mount(view)
    turned = compose_poses(lidar_in_world, Pose(0.0, 0.0, yaw=math.radians(mount.yaw)))
    at = protocol.SensorPose(
        (turned.x, turned.y, turned.z), (turned.pitch, turned.yaw, turned.roll)
    )
    kinds = ("sensor.lidar.ray_cast", "sensor.lidar.ray_cast_semantic")
    bodies_of = [
        sensors.make_sensor(kind, attributes(mount), 1, 9).capture(world, at, 1, TICK)
        for kind in kinds
    ]
    head = 8 + 4 * mount.channels
    points = np.frombuffer(bodies_of[0] or b"", np.float32, offset=head).reshape(-1, 4)
    semantic = np.frombuffer(bodies_of[1] or b"", SEMANTIC_RETURN, offset=head)
    upright = points.copy()  # as rig.ScanningPost._upright
    yaw = math.radians(mount.yaw)
    cos, sin = np.float32(math.cos(yaw)), np.float32(math.sin(yaw))
    upright[:, 0] = cos * points[:, 0] - sin * points[:, 1]
    upright[:, 1] = sin * points[:, 0] + cos * points[:, 1]
    behind, ahead, aside = CARRIER_BODY
    x, y = upright[:, 0], upright[:, 1]
    kept = ~((agent >= 0) & (x > behind) & (x < ahead) & (np.abs(y) < aside))
    actors, counts = np.unique(semantic["actor"], return_counts=True)
    hits = dict(zip(actors.tolist(), counts.tolist(), strict=True))
    return replace(
        view,
        points_in_lidar=upright[kept],
        surfaces=to_surfaces(semantic, len(points))[kept],
        truth=truth_of({who: user for who, user in users.items() if who != agent}, view, hits),
        parked_in_lidar=transform_boxes(parked_of(world.town), WORLD, lidar_in_world),
    )


def truth_of(users: Users, view: AgentView, hits: dict[int, int]) -> GroundTruth:
    """Return the ground truth of a view."""
    boxes = Boxes.join([user.placed(actor).box_in_world for actor, user in users.items()])
    return GroundTruth(
        transform_boxes(boxes, WORLD, view.lidar_in_world),
        np.array(list(users), np.int64),
        np.array([hits.get(actor, 0) for actor in users], np.int64),
    )


def parked_of(town: Town) -> Boxes:
    """Return the cars that are scenery."""
    scenery = town.scenery
    cars = scenery.body >= 0
    rows = np.column_stack([scenery.centre, 2 * scenery.extent, scenery.yaw])[cars]
    return Boxes(rows, np.zeros(len(rows), np.int64), np.ones(len(rows)))


def scene_of(
    town: Town, users: Users, carriers: Iterable[int] = (), roadside: Sequence[Pose] = ()
) -> CooperativeScene:
    """Render what carriers (users' ids, the ego first) and roadside units see."""
    world = world_with(town, users)
    lidars = [(actor, on_roof(users[actor])) for actor in carriers]
    lidars += [(-1 - number, pose) for number, pose in enumerate(roadside)]
    ego, *partners = (looked(world, users, agent, pose) for agent, pose in lidars)
    scenario = RecordedScenario(Path("rendered"), town.name, "testing", 1)
    return CooperativeScene(
        source=SceneSource(scenario=scenario, ego=ego.agent, moment=0),
        ego=ego,
        partners=tuple(partners),
    )


def on_roof(user: Standing) -> Pose:
    """Return where the rig mounts a car's LiDAR."""
    return compose_poses(Pose(user.x, user.y, user.z, yaw=user.yaw), Pose(1.3, 0.0, 1.85))


def in_cells(view: AgentView) -> tuple[Floats, Integers]:
    """Return points by cell of the LiDAR's grid, and their labels; NaN and -1 where there is none.

    Two renderings of one LiDAR have one grid.
    """
    grid = fit_beam_grid(view)
    cells = np.full((len(grid.elevations), grid.columns, 4), np.nan)
    labels = np.full(cells.shape[:2], -1)
    cells[grid.rings, grid.column_of] = view.points_in_lidar
    assert int(np.isfinite(cells[..., 0]).sum()) == len(view.points_in_lidar)
    assert view.surfaces is not None
    labels[grid.rings, grid.column_of] = view.surfaces.labels
    return cells, labels


USERS: Users = {
    7: Standing(CARRIER, 0.0, 0.0, 0.0),
    9: Standing("vehicle.audi.tt", 14.0, -3.0, 2.9),
    20: Standing(TESLA, 12.0, 3.0, 0.1),
    21: Standing(BUS, 25.0, -5.0, 1.0),
    22: Standing(ADULT, 9.0, 4.0, 0.0),
}
"""Two of them carry LiDARs, the first is the ego."""
MAST = Pose(5.0, 8.0, 7.5, yaw=1.0, pitch=0.02, roll=-0.01)


@cache
def crowded(*more: tuple[int, Standing], pieces: int = 300) -> CooperativeScene:
    """Return a scene of three agents with some road users more."""
    users = {**USERS, **dict(more)}
    return scene_of(bare_town(pieces), users, carriers=(7, 9), roadside=(MAST,))


def sparse(*more: tuple[int, Standing]) -> CooperativeScene:
    """Return the scene of three agents with little scenery: there is room on the road."""
    return crowded(*more, pieces=40)


def bare_surfaces(scene: CooperativeScene) -> CooperativeScene:
    """Return a scene whose surfaces were not recorded."""
    ego, *partners = (replace(view, surfaces=None) for view in scene.views)
    return replace(scene, ego=ego, partners=tuple(partners))


def look_of(view: AgentView) -> AgentLook:
    """Return a view as a recording holds it."""
    return AgentLook(
        agent=view.agent,
        time=view.time,
        lidar_in_world=view.lidar_in_world,
        points_in_lidar=view.points_in_lidar,
        truth=view.truth,
        parked_in_lidar=view.parked_in_lidar,
        surfaces=view.surfaces,
    )
