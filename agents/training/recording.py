"""One episode of recording: a busy town, and groups of vehicles that look at it together.

A group is a vehicle, its nearest neighbours and a roadside unit ahead of it, as partners stand in a
campaign. All vehicles are driven by the Traffic Manager. A group looks some times at equal
intervals; then another group has its turn.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import carla
import numpy as np

from agents.training.close_quarters import place_unit_nearby, spawn_close_quarters
from agents.training.ground_survey import survey_ground
from agents.training.population import spawn_drivers, spawn_parked_vehicles
from agents.training.samples import PARTNER_RANGE
from harness.common.drivable_area import DrivableArea, write_drivable_area
from harness.common.ground_fields import GroundField, write_ground_field
from harness.common.pictures import PictureSettings, iter_camera_records, write_pictures
from harness.common.randomness import derive_seed
from harness.common.recordings import PROTOCOL, AgentLook, write_look
from harness.common.world_states import write_world_state
from harness.types.vocabulary import VEHICLE, Boxes, Pose
from harness.world.attempt_context import AttemptContext, make_empty_route
from harness.world.equipped import can_carry_lidar
from harness.world.poses import to_carla_transform, to_pose
from harness.world.rig import RIGS, Rig, ScanningPost, read_rig
from harness.world.road_surface import build_drivable_area
from harness.world.roadside import find_roadside_pose
from harness.world.scene import (
    ActorRegistry,
    GroundTruthScene,
    crop_boxes_to_lidar,
    list_parked_boxes,
)
from harness.world.session import open_session
from harness.world.traffic import Traffic
from harness.world.world_states import WorldReader

TICK = 0.05
WARM_UP = 100
SERVER_UNITS, SPAWN_UNITS, CREW_UNITS, WARM_UP_UNITS, AREA_UNITS, GROUND_UNITS = 18, 5, 2, 4, 3, 21
"""What parts of an episode take, in looks of a group: for the time that is left (decision 0111)."""
"""Ticks before the first look: traffic comes to speed, walkers leave their places."""
CANDIDATES = 4
"""Vehicles to choose a group's first from: the one with most pedestrians and cyclists near."""
NEAR = 30.0
DEFAULT_RIG = "v2xverse"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingEpisode:
    """What makes an episode: equal ones give equal recordings."""

    town: str
    number: int
    seed: int
    purpose: str  # training or testing
    groups: int
    looks: int  # of each group
    interval: float  # s between looks: the latency that is evaluated is one look
    neighbours: int
    vehicles: int
    drivers: int  # vehicles and cyclists that begin anywhere on the lanes
    standing: int  # vehicles at the roadside
    cyclists: int
    walkers: int
    close_quarters: bool  # scenes at close quarters
    rig: str = DEFAULT_RIG  # of `conf/rig`; one with cameras records their pictures
    pictures: PictureSettings | None = None  # size and format; none without cameras

    def read_rig(self) -> Rig:
        """Return the rig of the agents."""
        return read_rig(RIGS / f"{self.rig}.yaml")

    def make_record(self) -> dict[str, Any]:
        """Return what is written of it; episodes without pictures do not name their rig."""
        record = asdict(self)
        if self.pictures is None:
            del record["rig"], record["pictures"]
        return record

    def get_scenario_name(self, group: int) -> str:
        """Return the name of a group's scenario."""
        return f"{self.town}-{self.seed}-{self.number:03}-{group:03}"


@dataclass(frozen=True, slots=True, eq=False)
class LidarCrew:
    """Who can look."""

    carriers: dict[int, ScanningPost]  # by actor
    unit: ScanningPost


class SharedCount(Protocol):
    """A number that another process reads."""

    value: int


@dataclass(frozen=True, slots=True, eq=False)
class GroupLooks:
    """What a group has recorded, in a hidden folder."""

    partial: Path
    folder: Path  # that it becomes
    stood: list[Pose]  # where its LiDARs were


def count_episode_units(episode: RecordingEpisode) -> int:
    """Return what an episode takes, in looks of a group."""
    before = SERVER_UNITS + SPAWN_UNITS + CREW_UNITS + WARM_UP_UNITS + AREA_UNITS
    return before + episode.groups * episode.looks + GROUND_UNITS


def record_episode(
    episode: RecordingEpisode, host: str, port: int, *, out: Path, progress: SharedCount
) -> None:
    """Play an episode and write what its groups saw.

    Args:
        episode: what is played.
        host: of the server.
        port: of the server.
        out: folder of recordings.
        progress: units of work that are done.
    """
    progress.value = SERVER_UNITS
    seed = derive_seed(episode.seed, episode.town, str(episode.number))
    with open_session(host, port, town=episode.town, tick_seconds=TICK, seed=seed) as session:
        context = AttemptContext(
            client=session.client,
            world=session.world,
            map=session.map,
            traffic_manager=session.traffic_manager,
            route=make_empty_route(episode.town),
            seed=seed,
            tick_seconds=TICK,
        )
        # road users
        traffic = Traffic(
            vehicles=episode.vehicles,
            bicycles=episode.cyclists,
            walkers=episode.walkers,
            crossing_share=0.3,
        )
        population = traffic.spawn_population(context, [])
        drivers = spawn_drivers(context, episode.drivers)
        progress.value += SPAWN_UNITS
        standing = spawn_parked_vehicles(context, episode.standing)
        close = spawn_close_quarters(context) if episode.close_quarters else []
        parked = list_parked_boxes(context.world)
        # LiDARs, then let traffic spread
        crew = equip_crew(context, [*population.vehicles, *drivers], episode)
        progress.value += CREW_UNITS
        for _ in range(WARM_UP):
            context.world.tick()
        progress.value += WARM_UP_UNITS
        registry = ActorRegistry(context.world)
        area = build_drivable_area(context.map)
        progress.value += AREA_UNITS
        random = context.random("groups")
        # groups, each a scenario
        recorded = []
        for group in range(episode.groups):
            agents, place = choose_group(
                context, crew, registry=registry, random=random, episode=episode
            )
            looks = record_group(
                context,
                crew,
                registry=registry,
                parked=parked,
                agents=agents,
                place=place,
                episode=episode,
                folder=out / episode.get_scenario_name(group),
                progress=progress,
            )
            recorded.append(looks)
        # clear away
        for post in (crew.unit, *crew.carriers.values()):
            post.destroy_sensors()
        population.vehicles += [*drivers, *standing, *close]
        population.destroy_population()
        # the town's surface, last: scenes do not depend on it, and no actor hides it now
        ground = survey_ground(context)
        for looks in recorded:
            publish_group(looks, ground, area, episode)


def equip_crew(
    context: AttemptContext, vehicles: Sequence[carla.Actor], episode: RecordingEpisode
) -> LidarCrew:
    """Give sensors to every car that can carry them, and to the roadside unit."""
    carriers, rig = {}, episode.read_rig()
    depth_size = None
    if episode.pictures is not None:
        depth_size = episode.pictures.width, episode.pictures.height
    for number, vehicle in enumerate(vehicles):
        if can_carry_lidar(vehicle, rig.vehicle):
            noise = derive_seed(context.seed, "lidar", str(number))
            carriers[vehicle.id] = ScanningPost(
                context,
                rig.vehicle,
                period=0.0,
                reads_points=True,
                reads_surfaces=True,
                carrier=vehicle,
                noise_seed=noise,
                cameras=rig.place_cameras("vehicle"),
                depth_size=depth_size,
            )
    return LidarCrew(
        carriers,
        ScanningPost(
            context,
            rig.roadside,
            period=0.0,
            reads_points=True,
            reads_surfaces=True,
            place=carla.Transform(),
            cameras=rig.place_cameras("roadside"),
            depth_size=depth_size,
        ),
    )


def choose_group(
    context: AttemptContext,
    crew: LidarCrew,
    *,
    registry: ActorRegistry,
    random: np.random.Generator,
    episode: RecordingEpisode,
) -> tuple[list[int], Pose]:
    """Return the vehicles of a new group, and where its roadside unit stands."""
    snapshot = context.world.get_snapshot()
    scene = registry.read_scene(snapshot)
    # cars with a LiDAR that are still there
    poses = {}
    for actor in crew.carriers:
        vehicle = snapshot.find(actor)
        if vehicle is not None:
            poses[actor] = to_pose(vehicle.get_transform())
    # of some, the one with most people near; its neighbours join
    chosen = random.choice(sorted(poses), min(CANDIDATES, len(poses)), replace=False).tolist()
    first = max(chosen, key=lambda actor: count_people_near(scene, poses[actor]))
    here = poses[first]
    gaps = {actor: math.hypot(p.x - here.x, p.y - here.y) for actor, p in poses.items()}
    nearest = sorted((gap, actor) for actor, gap in gaps.items() if gap <= PARTNER_RANGE)
    agents = [actor for _, actor in nearest[: episode.neighbours + 1]]
    # the roadside unit
    rig = episode.read_rig()
    ahead, height = rig.roadside_distance, rig.roadside_height
    if episode.close_quarters:
        return agents, place_unit_nearby(
            context.map, scene, first=here, random=random, height=height
        )
    return agents, find_roadside_pose(context.map, here, ahead, height)


def count_people_near(scene: GroundTruthScene, here: Pose) -> int:
    """Return how many on foot or on cycles are near a place."""
    boxes = scene.boxes_in_world
    away = np.hypot(boxes.geometry[:, 0] - here.x, boxes.geometry[:, 1] - here.y)
    return int(((boxes.classes != VEHICLE) & (away < NEAR)).sum())


def record_group(
    context: AttemptContext,
    crew: LidarCrew,
    *,
    registry: ActorRegistry,
    parked: Boxes,
    agents: Sequence[int],
    place: Pose,
    episode: RecordingEpisode,
    folder: Path,
    progress: SharedCount,
) -> GroupLooks:
    """Let a group look some times, and write that into a hidden folder."""
    partial = folder.with_name(f".{folder.name}")
    if partial.exists():  # of a try that was ended, perhaps with others in its group
        shutil.rmtree(partial)
    partial.mkdir(parents=True)
    # the unit moves to the group
    yaw = place.yaw + math.radians(episode.read_rig().roadside.yaw)
    turned = Pose(place.x, place.y, place.z, yaw=yaw)
    crew.unit.move_lidar(to_carla_transform(turned))
    posts = {-1: crew.unit, **{actor: crew.carriers[actor] for actor in agents}}
    # moments at equal intervals; the last tick of each is the recorded one
    stood: list[Pose] = []
    for look in range(episode.looks):
        for _ in range(round(episode.interval / TICK) - 1):
            context.world.tick()
        stood += write_moment(
            context,
            registry,
            parked=parked,
            posts=posts,
            folder=partial,
            moment=f"{look:06}",
            episode=episode,
        )
        progress.value += 1
    return GroupLooks(partial, folder, stood)


def publish_group(
    looks: GroupLooks, ground: GroundField, area: DrivableArea, episode: RecordingEpisode
) -> None:
    """Let a group's scenario appear under its name, now that it is whole."""
    reach = episode.read_rig().vehicle.range
    write_ground_field(looks.partial, crop_ground_to_lidars(ground, looks.stood, reach))
    write_drivable_area(area, looks.partial)
    (looks.partial / PROTOCOL).write_text(json.dumps(episode.make_record()))
    if looks.folder.exists():  # by an earlier try of this episode
        shutil.rmtree(looks.partial)
    else:
        looks.partial.rename(looks.folder)


def write_moment(
    context: AttemptContext,
    registry: ActorRegistry,
    *,
    parked: Boxes,
    posts: dict[int, ScanningPost],
    folder: Path,
    moment: str,
    episode: RecordingEpisode,
) -> list[Pose]:
    """Record what all agents of a group sense in the next tick; return where their LiDARs stood."""
    stood = []
    # sensors run only in this tick
    for post in posts.values():
        post.start_scanning()
    frame = context.world.tick()
    snapshot = context.world.get_snapshot()
    scene = registry.read_scene(snapshot)
    if episode.pictures is not None:  # what they show can be shown again
        state = WorldReader(context.world).read_state(snapshot, posts)
        write_world_state(folder, moment, state)
    reach = episode.read_rig().vehicle.range
    for agent, post in posts.items():
        scan = post.collect_scan(frame)
        # road users in reach, but the agent
        truth = scene.select_ground_truth(scan.lidar_in_world, scan.hits, reach, agent)
        pose = scan.lidar_in_world
        near = crop_boxes_to_lidar(parked, pose, reach)
        look = AgentLook(
            agent=agent,
            time=scan.time,
            lidar_in_world=pose,
            points_in_lidar=scan.points_in_lidar,
            truth=truth,
            parked_in_lidar=near,
            surfaces=scan.surfaces,
        )
        cameras = {}
        if episode.pictures is not None:
            size = episode.pictures.width, episode.pictures.height
            cameras = dict(iter_camera_records(scan.images, pose, size))
        write_look(folder, moment, look, cameras)
        if episode.pictures is not None:
            place = folder / str(agent) / moment
            write_pictures(place, scan.images, scan.depths, episode.pictures)
        post.stop_scanning()
        stood.append(pose)
    return stood


def crop_ground_to_lidars(ground: GroundField, lidars: Sequence[Pose], reach: float) -> GroundField:
    """Return the ground that LiDARs may have reached."""
    x, y = [pose.x for pose in lidars], [pose.y for pose in lidars]
    return ground.crop((min(x) - reach, max(x) + reach), (min(y) - reach, max(y) + reach))
