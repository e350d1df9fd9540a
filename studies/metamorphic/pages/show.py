"""One scene under one operator, asked again: a picture of both answers over the points."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from analysis.drawing.picture import render_canvas, write_png
from harness.common.errors import UserError
from harness.common.suggestions import describe_unknown_name
from harness.types.geometry import compute_relative_pose
from harness.types.vocabulary import Boxes
from studies.metamorphic.catalogue import select_catalogue_entries
from studies.metamorphic.judging.following import make_follow_up
from studies.metamorphic.judging.rows import FollowUp
from studies.metamorphic.pages.pictures import PlanBox, render_plan_picture
from studies.metamorphic.relations.relation import RelationBreach
from studies.metamorphic.running.systems import build_named_system
from studies.metamorphic.scenes.answers import SystemAnswer, ask_system
from studies.metamorphic.scenes.scene import SceneSource, list_scene_sources, read_scene

ALL_POINTS = 12_000
"""Points of the ego's sweep in a picture, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownScene:
    """What is shown of a scene."""

    lines: tuple[str, ...]  # of the relations
    boxes: tuple[PlanBox, ...]


def show_scene(
    source: SceneSource, system: str, operator: str, *, seed: int, file: Path
) -> ShownScene:
    """Ask a system about a scene and the changed one, and write a picture of both answers."""
    # change the scene, and ask
    test = select_catalogue_entries((operator,))[operator]
    follow = make_follow_up(read_scene(source), operator, test, seed=seed)
    if isinstance(follow, str):
        raise UserError(f"{source.name}: {operator}: {follow}")
    asked = build_named_system(system)
    before, after = ask_system(asked, follow.source), ask_system(asked, follow.scene)
    measures = [(one, one.measure(before, after, follow.expected)) for one in test.relations]
    breaches = [breach for one, measure in measures if not one.exact for breach in measure.breaches]
    # the picture: boxes of both answers over a part of the points
    boxes = tuple(iterate_plan_boxes(follow, before, after, breaches))
    points = follow.scene.ego.points_in_lidar
    thinned = points[:: max(1, len(points) // ALL_POINTS)]
    canvas = render_plan_picture(boxes, says=f"{operator} in {source.name}", points=thinned)
    write_png(render_canvas(canvas, scale=3.0), file)
    # the lines: values of the change, then relations
    values = ", ".join(f"{name} = {value}" for name, value in follow.values.items())
    lines = [f"{source.name}, {operator}: {values or 'no values'}"]
    lines += [
        f"{one.name}: {measure.value:.4f} of {measure.exposed}, {len(measure.breaches)} breaches"
        for one, measure in measures
    ]
    return ShownScene(lines=tuple(lines), boxes=boxes)


def iterate_plan_boxes(
    follow: FollowUp, before: SystemAnswer, after: SystemAnswer, breaches: list[RelationBreach]
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
        yield from iterate_boxes_of_kind(kind, boxes)
    for breach in breaches:
        yield make_plan_box(breach.why, breach.geometry)
    for view in follow.scene.views:
        pose = compute_relative_pose(view.lidar_in_world, follow.scene.ego.lidar_in_world)
        yield make_plan_box("agent", (pose.x, pose.y, 0.0, 4.5, 1.9, 1.6, pose.yaw))


def iterate_boxes_of_kind(kind: str, boxes: Boxes) -> Iterator[PlanBox]:
    """Yield boxes of one kind."""
    for geometry in boxes.geometry.tolist():
        yield make_plan_box(kind, geometry)


def make_plan_box(kind: str, geometry: tuple[float, ...] | list[float]) -> PlanBox:
    """Return a box from above."""
    x, y, _, length, width, _, yaw = geometry
    return PlanBox(kind=kind, x=x, y=y, length=length, width=width, yaw=yaw)


def find_scene_source(folders: list[Path], name: str) -> SceneSource:
    """Return the scene of a name."""
    known = {source.name: source for source in list_scene_sources(folders)}
    if name not in known:
        raise UserError(describe_unknown_name("scene", name, known))
    return known[name]
