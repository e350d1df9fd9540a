"""MultiTest's search over recorded scenes (algorithm 1): insertions that raise the fitness stay.

From every scene it starts again: a road user is put somewhere by chance, and stays if the system's
errors weigh more by MultiTest's fitness than before. Next to it, each scene gets as many road users
by chance alone, with the same number kept: what guidance is compared with. The fitness holds the
errors against ground truth, so that more errors in what it keeps are no surprise; whether there
are more for each object is what the table says.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from analysis.statistics.intervals import IntervalEstimate, estimate_mean, estimate_ratio
from harness.common.files import write_whole
from harness.common.randomness import make_named_stream
from harness.records.reading import read_json_object
from harness.types.vocabulary import Boxes, Floats
from studies.metamorphic.judging.checks import (
    JudgedObjects,
    check_additional,
    check_mislocalised,
    check_missed,
)
from studies.metamorphic.judging.guidance import climb_greedily, compute_multitest_fitness
from studies.metamorphic.judging.picture_boxes import compute_picture_parts, count_picture_errors
from studies.metamorphic.judging.rows import select_checked_objects
from studies.metamorphic.operators.objects import InsertObject
from studies.metamorphic.running.generation import (
    MADE,
    Done,
    format_flat_name,
    run_in_processes,
    sample_sources,
    write_changed_scene,
)
from studies.metamorphic.running.study import compute_system_digest
from studies.metamorphic.running.systems import build_named_system, refuse_without_pictures
from studies.metamorphic.scenes.answers import AskableSystem, ask_system
from studies.metamorphic.scenes.operator import (
    ChangedNothingError,
    DoesNotApplyError,
    TruthExpectation,
    change_scene,
)
from studies.metamorphic.scenes.scene import (
    CooperativeScene,
    SceneSource,
    list_scene_sources,
    read_scene,
)
from studies.metamorphic.storage.records import begin_records
from studies.metamorphic.tables.text_sheet import TextSheet
from studies.space import sample_values

TRIES, MOST = 5, 3
"""Places tried for a road user, and road users at most (MultiTest 4)."""
SIDES = {"recorded": "as recorded", "random": "by chance", "climbed": "by fitness"}
CHECKS = {
    "missed": check_missed,
    "mislocalised": check_mislocalised,
    "additional": check_additional,
}
HOPELESS = 20
"""Places in a row without room, after which a scene is full."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClimbSettings:
    """What is searched."""

    recordings: tuple[Path, ...]
    system: str
    scenes: int | None  # at most
    seed: int
    folder: Path
    tries: int = TRIES
    most: int = MOST

    def select_sources(self) -> list[SceneSource]:
        """Return all scenes, or so many at random."""
        return sample_sources(list_scene_sources(list(self.recordings)), self.scenes, self.seed)

    def make_header(self) -> dict[str, Any]:
        """Return what makes equal searches equal."""
        return {
            "recordings": [path.name for path in self.recordings],
            "system": {self.system: compute_system_digest(self.system)},
            "scenes": [source.name for source in self.select_sources()],
            "seed": self.seed,
            "tries": self.tries,
            "most": self.most,
        }


@dataclass(frozen=True, slots=True, eq=False)
class CrowdedScene:
    """A scene with road users that were inserted."""

    scene: CooperativeScene
    new: frozenset[int] = frozenset()

    @property
    def expectation(self) -> TruthExpectation:
        """Return what was done to the ground truth."""
        return TruthExpectation(new=self.new)


def run_climbing(climbing: ClimbSettings, workers: int, done: Done) -> list[dict[str, Any]]:
    """Search what is not searched yet, and return a row for each scene."""
    chosen = climbing.select_sources()
    refuse_without_pictures([climbing.system], chosen)
    begin_records(climbing.folder, climbing.make_header())
    (climbing.folder / f".{MADE}").mkdir(exist_ok=True)
    left = [source for source in chosen if not get_row_file(climbing, source).is_file()]
    done(len(chosen) - len(left))
    run_in_processes(partial(climb_scene, climbing), left, workers, done)
    return [read_json_object(get_row_file(climbing, source)) for source in chosen]


def get_row_file(climbing: ClimbSettings, source: SceneSource) -> Path:
    """Return the file of a scene's row."""
    return climbing.folder / f".{MADE}" / f"{format_flat_name(source)}.json"


_systems: dict[str, AskableSystem] = {}


def climb_scene(climbing: ClimbSettings, source: SceneSource) -> int:
    """Climb from a scene; write where that arrived, if anywhere, and then the row."""
    # a process loads a system once
    if climbing.system not in _systems:
        _systems[climbing.system] = build_named_system(climbing.system)
    system = _systems[climbing.system]
    # two streams: what chance inserts does not depend on how long the climb took
    seed = CrowdedScene(read_scene(source))
    guided, chance = (
        make_named_stream(climbing.seed, name, source.name) for name in ("climb", "chance")
    )
    reached = climb_greedily(
        seed,
        lambda crowded: insert_random_road_user(crowded, guided),
        lambda crowded: compute_crowd_fitness(system, crowded, seed.scene),
        tries=climbing.tries,
        most=climbing.most,
    )
    places = {"recorded": seed, "random": crowd_by_chance(seed, reached.accepted, chance)}
    places["climbed"] = reached.best
    # errors in the recorded, the random and the climbed scene
    row = {
        "scene": source.name,
        "cluster": source.cluster,
        "accepted": reached.accepted,
        "evaluations": reached.evaluations,
        "sides": {
            side: count_crowd_errors(system, place, seed.scene) for side, place in places.items()
        },
    }
    # the row last: with it the scene counts as done
    folder = climbing.folder / f"{format_flat_name(source)}-climbed"
    if reached.accepted and not folder.exists():
        about = {"operator": "climb", "accepted": reached.accepted, "system": climbing.system}
        about["metamorphic_seed"] = climbing.seed
        write_changed_scene(folder, reached.best.scene, reached.best.expectation, about)
    write_whole(get_row_file(climbing, source), json.dumps(row) + "\n")
    return 1


def insert_random_road_user(
    crowded: CrowdedScene, random: np.random.Generator
) -> CrowdedScene | None:
    """Return a scene with a road user more, None if there was no room where it was put."""
    operator = InsertObject()
    values = sample_values(operator.space, random)
    try:
        changed = change_scene(operator, crowded.scene, values, random)
    except (DoesNotApplyError, ChangedNothingError):
        return None
    return CrowdedScene(changed.scene, crowded.new | changed.expectation.new)


def crowd_by_chance(seed: CrowdedScene, count: int, random: np.random.Generator) -> CrowdedScene:
    """Return a scene with so many road users more, wherever there was room."""
    crowded, failed = seed, 0
    while len(crowded.new) < count and failed < HOPELESS:
        more = insert_random_road_user(crowded, random)
        crowded, failed = (crowded, failed + 1) if more is None else (more, 0)
    return crowded


def compute_crowd_fitness(
    system: AskableSystem, crowded: CrowdedScene, seed: CooperativeScene
) -> float:
    """Return MultiTest's fitness of a system's answer."""
    objects = select_checked_objects(crowded.scene, seed, crowded.expectation)
    boxes = ask_system(system, crowded.scene).cooperative
    return compute_scene_fitness(crowded.scene, objects.judged, boxes)


def compute_scene_fitness(scene: CooperativeScene, judged: Boxes, boxes: Boxes) -> float:
    """Return MultiTest's fitness: in space, or the mean of space and pictures where there are some.

    Args:
        scene: with the ego's pictures, if it has any.
        judged: objects.
        boxes: that were detected.
    """
    in_space = compute_multitest_fitness(judged, boxes)
    if not scene.ego.images:
        return in_space
    return (in_space + compute_picture_parts(judged, boxes, scene.ego.images).fitness) / 2


def count_crowd_errors(
    system: AskableSystem, crowded: CrowdedScene, seed: CooperativeScene
) -> dict[str, Any]:
    """Return fitness, errors and what was exposed to them."""
    objects = select_checked_objects(crowded.scene, seed, crowded.expectation)
    boxes = ask_system(system, crowded.scene).cooperative
    images = crowded.scene.ego.images
    return {
        "new": len(crowded.new),
        "fitness": compute_scene_fitness(crowded.scene, objects.judged, boxes),
        "errors": {name: count_check_errors(name, boxes, objects) for name in CHECKS},
        "in_pictures": count_picture_errors(boxes, objects, images) if images else {},
    }


def count_check_errors(name: str, boxes: Boxes, objects: JudgedObjects) -> tuple[int, int]:
    """Return how many errors of a kind there are, and among how many."""
    measure = CHECKS[name](boxes, objects)
    return len(measure.breaches), measure.exposed


def build_climb_sheet(climbing: ClimbSettings, rows: Sequence[dict[str, Any]]) -> TextSheet:
    """Return the errors as recorded, with road users by chance, and by fitness."""
    # only scenes that were made worse
    kept = [row for row in rows if row["accepted"]]
    clusters = np.unique([row["cluster"] for row in kept], return_inverse=True)[1].astype(float)
    reached = [
        sum(row["accepted"] >= number for row in rows) for number in list_climb_counts(climbing)
    ]
    evaluations = np.mean([row["evaluations"] for row in rows]) if rows else 0.0
    shares = ", ".join(
        f"{count} of {len(rows)} by {number} or more"
        for number, count in zip(list_climb_counts(climbing), reached, strict=True)
    )
    return TextSheet(
        name="climb",
        title=f"MultiTest's search over {climbing.system}: scenes that a road user made worse",
        head=("road users", "inserted", "fitness", *(f"{name}, %" for name in CHECKS)),
        rows=tuple(tuple(format_climb_cells(side, kept, clusters)) for side in SIDES)
        if kept
        else (),
        note=f"Scenes made worse: {shares}; {evaluations:.1f} answers for each scene. Errors are"
        " shares of what is exposed to them, in the scenes that were made worse, with 95 %"
        " confidence intervals over scenarios.",
    )


def build_guidance_sheet(climbing: ClimbSettings, rows: Sequence[dict[str, Any]]) -> TextSheet:
    """Return the errors of scenes by fitness and by chance, in pairs, and what the search adds."""
    kept = [row for row in rows if row["accepted"]]
    clusters = np.unique([row["cluster"] for row in kept], return_inverse=True)[1].astype(float)
    lines = []
    for where, key in (("in space", "errors"), ("in pictures", "in_pictures")):
        if not kept or not kept[0]["sides"]["climbed"][key]:
            continue
        for name in CHECKS:
            recorded, chance, guided = (
                np.array([row["sides"][side][key][name][0] for row in kept], np.float64)
                for side in SIDES
            )
            more = estimate_mean(guided - chance, clusters)
            clear = np.isfinite(more.low) and not more.low <= 0 <= more.high
            lines.append(
                (
                    *(f"{name}, {where}", f"{recorded.mean():.2f}"),
                    *(f"{chance.mean():.2f}", f"{guided.mean():.2f}"),
                    *(format_estimate_with_interval(more, 2), "yes" if clear else "no"),
                )
            )
    return TextSheet(
        name="climb_guidance",
        title="Guidance against chance, with equally many road users: errors for each scene",
        head=("error", *SIDES.values(), "by fitness less by chance", "excludes 0"),
        rows=tuple(lines),
        note=f"{len(kept)} scenes that were made worse. Fitness counts these errors itself, with"
        " weights, so that more of them are no surprise.",
    )


def list_climb_counts(climbing: ClimbSettings) -> range:
    """Return the numbers of road users that may be inserted."""
    return range(1, climbing.most + 1)


def format_climb_cells(
    side: str, rows: Sequence[dict[str, Any]], clusters: Floats
) -> Iterator[str]:
    """Yield a line of the table."""
    sides = [row["sides"][side] for row in rows]
    yield SIDES[side]
    yield str(sum(one["new"] for one in sides))
    yield format_estimate_with_interval(
        estimate_mean(np.array([one["fitness"] for one in sides]), clusters), 2
    )
    for name in CHECKS:
        wrong, exposed = np.array([one["errors"][name] for one in sides], np.float64).T
        share = estimate_ratio(100 * wrong, exposed, clusters)
        yield f"{format_estimate_with_interval(share, 1)} of {exposed.sum():.0f}"


def format_estimate_with_interval(estimate: IntervalEstimate, digits: int) -> str:
    """Return a number with its interval, if it has one."""
    value, low, high = (
        f"{number:.{digits}f}" for number in (estimate.value, estimate.low, estimate.high)
    )
    return f"{value} ({low} to {high})" if np.isfinite(estimate.low) else value
