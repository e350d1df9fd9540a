"""What `crucible new` writes: for each kind of plug-in a class that works, to be changed.

`@NAME@` stands for the package, `@CLASS@` for the class.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class PluginTemplate:
    """The module of a kind of plug-in, and what its check is given."""

    module: str  # name of the module in the package
    source: str
    settings: str = ""  # of the class, as `crucible check` takes them
    use: str  # how a campaign names it


METRIC = '''"""@CLASS@: how long the ego stands still."""

from __future__ import annotations

from crucible.api import AttemptData, Metric, Route, StepData


class @CLASS@(Metric):
    """1 for each planning step at which the ego is slower than `below`, 0 for the others."""

    unit = "s"

    def __init__(self, below: float = 0.1) -> None:
        self.below = below  # m/s

    def reset(self, route: Route) -> None:
        """Start an attempt: clear here what `step` remembers."""

    def step(self, data: StepData) -> float | None:
        """Return the number of a planning step, None where there is none."""
        return float(data.speed < self.below)

    def attempt(self, data: AttemptData) -> float | None:
        """Return the number of the attempt: seconds, at five planning steps a second."""
        return float(data.values.sum()) / 5.0 if len(data.values) else None
'''

DISTURBANCE = '''"""@CLASS@: partners leave out what is nearer than a distance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from crucible.api import PARTNERS, Boxes, Disturbance, Kind, Message, cannot_touch


class @CLASS@(Disturbance):
    """Boxes nearer to their sender than 0 to `most` metres are missing."""

    name = "@NAME@"  # of its random streams

    def __init__(self, most: float = 30.0, kinds: Sequence[Kind] = PARTNERS) -> None:
        super().__init__(kinds)
        self.most = most  # m

    @property
    def size_zero(self) -> bool:
        """Return whether these settings ask for nothing."""
        return self.most == 0

    def alter(self, message: Message) -> Message:
        """Return what the message holds now; sample from `random_at` alone."""
        if not isinstance(message.payload, Boxes):
            raise cannot_touch(self, message)
        random = self.random_at(message.sender, message.capture_frame)
        # (boxes,) distances from the sender
        distance = np.hypot(*message.payload.geometry[:, :2].T)
        return replace(message, payload=message.payload[distance >= random.uniform(0, self.most)])
'''

SYSTEM = '''"""@CLASS@: a system that sees what stands above the road, and shares it as points."""

from __future__ import annotations

import numpy as np

from crucible.api import (
    Boxes,
    Control,
    Driver,
    EgoObservation,
    Message,
    Observation,
    Perceived,
    PerceivingSystem,
    Route,
    find_ego_boxes,
    merge_partner_boxes,
)

CELL = 2.0  # m
CAR = (4.5, 1.9, 1.6)  # full sizes, m


class @CLASS@(PerceivingSystem):
    """Calls each cell with enough points above the road a car (late fusion). Replace it."""

    reads_points = reads_messages = True
    fusion_stage = "late"

    def __init__(self, fewest: int = 20) -> None:
        self._fewest = fewest  # points in a cell
        self._driver = Driver()

    def reset(self, seed: int, route: Route) -> None:
        """Start an attempt: clear all state, and seed all random numbers from `seed` alone."""
        self._driver.reset(route)

    def share(self, observation: Observation) -> Boxes:
        """Return what a partner sends; it must not use what the ego knows."""
        # (points, 3) x ahead, y to the right, z up, in the LiDAR's frame
        xyz = observation.points_in_lidar[:, :3].astype(np.float64)
        near = xyz[np.hypot(xyz[:, 0], xyz[:, 1]) < 30.0]
        road = np.percentile(near[:, 2], 20) if len(near) else 0.0
        standing = near[(near[:, 2] > road + 0.5) & (near[:, 2] < road + 2.0)]
        cells, counts = np.unique(np.floor(standing[:, :2] / CELL), axis=0, return_counts=True)
        middles = (cells[counts >= self._fewest] + 0.5) * CELL
        return make_car_boxes(middles, road + CAR[2] / 2)

    def perceive(self, observation: EgoObservation, messages: tuple[Message, ...]) -> Perceived:
        """Return boxes by the messages, and those that the ego sees without any."""
        seen = self.share(observation)
        alone = seen[~find_ego_boxes(seen, observation.lidar_in_vehicle)]
        merged = merge_partner_boxes(
            alone, messages, observation.lidar_in_world, observation.lidar_in_vehicle
        )
        return Perceived(merged, alone)

    def drive(self, observation: EgoObservation, boxes: Boxes) -> Control:
        """Return pedals and wheel; other road users are known by the boxes alone."""
        return self._driver.step(observation, boxes)


def make_car_boxes(middles: np.ndarray, z: float) -> Boxes:
    """Return a box of a car's size round each point of (boxes, 2)."""
    count = len(middles)
    # (boxes, 7) x y z length width height yaw
    geometry = np.column_stack(
        [middles, np.full(count, z), np.tile(CAR, (count, 1)), np.zeros(count)]
    ).reshape(-1, 7)
    return Boxes(
        geometry=geometry, classes=np.zeros(count, np.int64), scores=np.full(count, 0.5)
    )
'''

HAZARD = '''"""@CLASS@: a barrier on the lane's edge."""

from __future__ import annotations

from crucible.api import EgoState, Hazard, NoPlaceError, NumberParameter, StaticActor, Track


class @CLASS@(Hazard):
    """Stands next to the route; is running while the ego is near."""

    kind = "@NAME@"  # its name in the records
    parameters = {
        "aside": NumberParameter(
            default=2.2, low=1.5, high=4.0, unit="m", meaning="right of the lane's centre"
        ),
        "notice": NumberParameter(
            default=30.0, low=5.0, high=80.0, unit="m", meaning="begins so far before"
        ),
    }
    sizes = {"static.prop.streetbarrier": (1.22, 0.37, 1.07)}  # full sizes, m

    def set_up(self, track: Track) -> None:
        """Put into the world what the hazard needs; it is removed at the end."""
        pose = track.pose(self.spec.station, self.number("aside"))
        if self.hazard_actors.stand(StaticActor("static.prop.streetbarrier", pose)) is None:
            raise NoPlaceError("something stands there")

    def act(self, ego: EgoState) -> None:
        """Act after a tick."""
        to_go = self.spec.station - ego.station  # m
        if self.status == "waiting" and to_go < self.number("notice"):
            self.begin(ego)
        elif self.status == "running" and to_go < -5.0:
            self.finish("over", "the ego has passed")
'''

FUSION = '''"""@CLASS@: a mean of all agents' feature maps, weighted cell by cell."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from crucible.api import FeatureSpec, IntermediateFusion


class @CLASS@(IntermediateFusion):
    """Weighs agents by a convolution of their features."""

    def __init__(self, kernel: int = 3) -> None:
        super().__init__()
        self.kernel = kernel

    def build(self, features: FeatureSpec) -> None:
        """Make the layers."""
        self.gate = nn.Conv2d(features.channels, 1, self.kernel, padding=self.kernel // 2)

    def forward(self, x: Tensor) -> Tensor:
        """Return one map (1, channels, rows, columns) of (agents, channels, rows, columns)."""
        weights = torch.softmax(self.gate(x), dim=0)
        return (weights * x).sum(0, keepdim=True)
'''

SCENE_CHANGE = '''"""@CLASS@: the background vehicle nearest to the route starts with a speed."""

from __future__ import annotations

from crucible.api import BackgroundChange, SceneCensus, SpawnedScene


class @CLASS@(BackgroundChange):
    """Gives one vehicle a speed once all of them are there."""

    name = "@NAME@"  # of its random streams

    def __init__(self, speed: float = 3.0, rank: int | None = 0) -> None:
        super().__init__("vehicle", rank)
        self.speed = speed  # m/s
        self._actor = 0

    def after_traffic(self, stage: SpawnedScene) -> None:
        """Change what traffic there is."""
        actor = self.chosen(stage)
        ahead = stage.place_of(actor).get_forward_vector()
        actor.set_target_velocity(self.speed * ahead)
        self._actor = actor.id

    def undelivered(self, census: SceneCensus) -> str:
        """Return what the first tick shows to be missing of the change, nothing if all is there."""
        present = census.actors.get(self._actor)
        if present is None or abs(present.travelled[0]) + abs(present.travelled[1]) < 0.01:
            return "the vehicle stands"
        return ""
'''

ROUTE_SOURCE = '''"""@CLASS@: starts along one street, a fixed distance apart."""

from __future__ import annotations

from collections.abc import Iterator

from crucible.api import RouteSource, RouteSpec, make_route_spec


class @CLASS@(RouteSource):
    """Routes to one goal."""

    def __init__(self, count: int = 3, apart: float = 4.0) -> None:
        self.count, self.apart = count, apart  # m

    def routes(self, invalid: list[str] | None = None) -> Iterator[RouteSpec]:
        """Yield the routes."""
        for number in range(self.count):
            x = 136.7 + self.apart * number
            points = [(x, 196.6, 0.9), (166.7, 196.6, 0.9)]  # that the way passes, m
            yield make_route_spec(f"start{number}", "Crucible05", points, "@CLASS@")
'''

EXPORT = '''"""@CLASS@: appends a line for each attempt to a text file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from crucible.api import Arm, AttemptValues, CampaignFacts, Export


class @CLASS@(Export):
    """Calls come from one thread, one after the other."""

    def __init__(self, file: str = "results.txt") -> None:
        self.file = Path(file)

    def start(self, campaign: CampaignFacts) -> None:
        """Begin with the facts of a campaign."""
        self.add(f"{campaign.study} {campaign.digest}")

    def attempt(self, attempt: AttemptValues) -> None:
        """Pass on the numbers of an attempt."""
        score = attempt.values["driving_score"]
        self.add(f"{attempt.arm} {attempt.route}: {score:.0f} {attempt.violation}")

    def end(self, means: Mapping[Arm, Mapping[str, float]]) -> None:
        """End with the means of all arms."""
        for arm, values in means.items():
            self.add(f"{arm}: mean {values['driving_score']:.0f} of {values['attempts']:.0f}")

    def add(self, line: str) -> None:
        """Append a line."""
        with self.file.open("a") as file:
            print(line, file=file)
'''

SAMPLER = '''"""@CLASS@: candidates from all over the space of a search, until one has failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from crucible.api import (
    SearchCandidate,
    SearchOutcome,
    SearchSettings,
    make_named_stream,
    number_candidates,
    sample_values,
)


class @CLASS@:
    """Equal settings and equal outcomes give equal candidates: a search is resumed by them."""

    safe_from_file: ClassVar[bool] = True  # it starts no program and writes no file
    libraries: tuple[str, ...] = ("numpy",)  # whose versions may change what is asked

    def __init__(self, settings: SearchSettings) -> None:
        self._settings, self._asked, self._failures = settings, 0, 0
        self._random = make_named_stream(settings.seed, "search", "@NAME@")

    def ask(self, count: int) -> list[SearchCandidate]:
        """Return the next candidates."""
        values = [sample_values(self._settings.space, self._random) for _ in range(count)]
        candidates = number_candidates(values, self._asked, self._settings.seed)
        self._asked += count
        return candidates

    def report(self, outcomes: Sequence[SearchOutcome]) -> None:
        """Use the outcomes of the candidates that were asked last, in their order."""
        self._failures += sum(outcome.failed for outcome in outcomes)
'''

STUDY = """# @package _global_
# @NAME@: what `recommended` is, with one system and one condition. Change it.
defaults:
  - recommended
  - override /system: [ideal_single, ideal_late]
  - override /interference: [none, latency]
  - _self_

study:
  name: @NAME@ # campaigns are named after it

routes:
  only: null # all 16 of `town05_sudden`

seeds: [1]
"""

TEMPLATES = {
    "system": PluginTemplate(
        module="system",
        source=SYSTEM,
        use="crucible run 'system=[late]' +system.@NAME@._target_=@NAME@.system.@CLASS@",
    ),
    "fusion": PluginTemplate(
        module="fusion",
        source=FUSION,
        use="crucible train --scheme @NAME@.fusion:@CLASS@ --data DIR --held-out DIR --out DIR",
    ),
    "metric": PluginTemplate(
        module="metric",
        source=METRIC,
        use="crucible run +metrics.@NAME@._target_=@NAME@.metric.@CLASS@",
    ),
    "disturbance": PluginTemplate(
        module="disturbance",
        source=DISTURBANCE,
        settings="most=30",
        use="crucible run '+interference.@NAME@=[{_target_: @NAME@.disturbance.@CLASS@}]'",
    ),
    "hazard": PluginTemplate(
        module="hazard",
        source=HAZARD,
        use='"kind": "@NAME@.hazard.@CLASS@" in a hazard file',
    ),
    "scene_change": PluginTemplate(
        module="scene_change",
        source=SCENE_CHANGE,
        settings="speed=3",
        use="crucible run '+interference.@NAME@=[{_target_: @NAME@.scene_change.@CLASS@}]'",
    ),
    "route_source": PluginTemplate(
        module="route_source",
        source=ROUTE_SOURCE,
        settings="count=3",
        use="crucible run routes.source._target_=@NAME@.route_source.@CLASS@",
    ),
    "export": PluginTemplate(
        module="export",
        source=EXPORT,
        use="crucible export DIR --to @NAME@.export:@CLASS@",
    ),
    "sampler": PluginTemplate(
        module="sampler",
        source=SAMPLER,
        use="crucible search latency_cut_in search.sampler=@NAME@.sampler.@CLASS@",
    ),
    "study": PluginTemplate(
        module="study",
        source=STUDY,
        use="crucible run --config-dir . study=@NAME@",
    ),
}
"""By the word of the command line."""
