"""One scene under one operator, asked again: a picture of both answers over the points."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from analysis.drawing.picture import picture, write_png
from harness.errors import UserError
from harness.geometry import relative
from harness.suggestions import unknown
from harness.vocabulary import Boxes
from metamorphic.answers import Answer, answer
from metamorphic.catalogue import entries
from metamorphic.following import followed
from metamorphic.judging import Follow
from metamorphic.pages.pictures import PlanBox, picture_of
from metamorphic.relations.relation import Breach
from metamorphic.scene import Source, read_scene, sources
from metamorphic.systems import system_named

ALL_POINTS = 12_000
"""Points of the ego's sweep in a picture, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What is shown of a scene."""

    lines: tuple[str, ...]  # of the relations
    boxes: tuple[PlanBox, ...]


def show(source: Source, system: str, operator: str, *, seed: int, file: Path) -> Shown:
    """Ask a system about a scene and the changed one, and write a picture of both answers."""
    test = entries((operator,))[operator]
    follow = followed(read_scene(source), operator, test, seed=seed)
    if isinstance(follow, str):
        raise UserError(f"{source.name}: {operator}: {follow}")
    asked = system_named(system)
    before, after = answer(asked, follow.source), answer(asked, follow.scene)
    measures = [(one, one.measure(before, after, follow.expected)) for one in test.relations]
    breaches = [breach for one, measure in measures if not one.exact for breach in measure.breaches]
    boxes = tuple(shown_boxes(follow, before, after, breaches))
    points = follow.scene.ego.points_in_lidar
    thinned = points[:: max(1, len(points) // ALL_POINTS)]
    canvas = picture_of(boxes, says=f"{operator} in {source.name}", points=thinned)
    write_png(picture(canvas, scale=3.0), file)
    values = ", ".join(f"{name} = {value}" for name, value in follow.values.items())
    lines = [f"{source.name}, {operator}: {values or 'no values'}"]
    lines += [
        f"{one.name}: {measure.value:.4f} of {measure.exposed}, {len(measure.breaches)} breaches"
        for one, measure in measures
    ]
    return Shown(lines=tuple(lines), boxes=boxes)


def shown_boxes(
    follow: Follow, before: Answer, after: Answer, breaches: list[Breach]
) -> Iterator[PlanBox]:
    """Yield ground truth, both answers, breaches and agents."""
    objects = follow.objects["changed", "before"]
    kinds = {
        "object": objects.judged,
        "unjudged": objects.others,
        "parked": objects.parked,
        "source": before.cooperative,
        "changed": after.cooperative,
    }
    for kind, boxes in kinds.items():
        yield from of_boxes(kind, boxes)
    for breach in breaches:
        yield plan_box(breach.why, breach.geometry)
    for view in follow.scene.views:
        pose = relative(view.lidar_in_world, follow.scene.ego.lidar_in_world)
        yield plan_box("agent", (pose.x, pose.y, 0.0, 4.5, 1.9, 1.6, pose.yaw))


def of_boxes(kind: str, boxes: Boxes) -> Iterator[PlanBox]:
    """Yield boxes of one kind."""
    for geometry in boxes.geometry.tolist():
        yield plan_box(kind, geometry)


def plan_box(kind: str, geometry: tuple[float, ...] | list[float]) -> PlanBox:
    """Return a box from above."""
    x, y, _, length, width, _, yaw = geometry
    return PlanBox(kind=kind, x=x, y=y, length=length, width=width, yaw=yaw)


def source_named(folders: list[Path], name: str) -> Source:
    """Return the scene of a name."""
    known = {source.name: source for source in sources(folders)}
    if name not in known:
        raise UserError(unknown("scene", name, known))
    return known[name]
