"""How natural inserted objects are: consistency of points and pixels, and distances of statistics.

MultiTest's first question (table 2), on recordings with pictures. Next to insertion stands a
control of consistency: an object that stands 2 m away, and turned, in pictures only.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from analysis.statistics.intervals import estimate_mean
from harness.common.files import write_whole
from harness.common.randomness import make_named_stream
from harness.records.reading import read_json_object
from harness.types.vocabulary import Floats
from studies.metamorphic.judging.realism import (
    compute_frechet_distance,
    corrupt_view,
    measure_range_statistics,
)
from studies.metamorphic.operators.objects import InsertObject
from studies.metamorphic.pictures.naturalness import (
    PICTURE_STATISTICS,
    corrupt_pixels,
    measure_object,
    measure_picture_statistics,
)
from studies.metamorphic.pictures.staging import (
    count_changed_pixels,
    get_picture_settings,
    get_recorded_world,
    has_pictures,
    show_world,
    take_staged_pictures,
)
from studies.metamorphic.running.climbing import format_estimate_with_interval
from studies.metamorphic.running.generation import (
    Done,
    format_flat_name,
    run_in_processes,
    sample_sources,
)
from studies.metamorphic.scenes.operator import DoesNotApplyError
from studies.metamorphic.scenes.scene import (
    CooperativeScene,
    SceneSource,
    list_scene_sources,
    read_scene,
)
from studies.metamorphic.storage.records import begin_records
from studies.metamorphic.tables.text_sheet import NOTHING, TextSheet
from studies.space import sample_values

ROWS = "rows"
PIPELINES = {"inserted": "inserted", "displaced": "2 m and 30° away in pictures only"}
AWAY, TURNED = 2.0, 30.0
"""Metres along x, and degrees, of the control."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NaturalnessSettings:
    """What is measured."""

    recordings: tuple[Path, ...]
    scenes: int | None  # at most
    seed: int
    folder: Path

    def select_sources(self) -> list[SceneSource]:
        """Return all scenes, or so many at random."""
        return sample_sources(list_scene_sources(list(self.recordings)), self.scenes, self.seed)

    def make_header(self) -> dict[str, Any]:
        """Return what makes equal measurements equal."""
        return {
            "recordings": [path.name for path in self.recordings],
            "scenes": [source.name for source in self.select_sources()],
            "seed": self.seed,
        }


def measure_naturalness(
    measuring: NaturalnessSettings, workers: int, done: Done
) -> list[dict[str, Any]]:
    """Measure what is not measured yet, and return a row for each scene."""
    chosen = measuring.select_sources()
    begin_records(measuring.folder, measuring.make_header())
    (measuring.folder / ROWS).mkdir(exist_ok=True)
    left = [source for source in chosen if not get_row_file(measuring, source).is_file()]
    done(len(chosen) - len(left))
    run_in_processes(partial(measure_scene, measuring), left, workers, done)
    return [read_json_object(get_row_file(measuring, source)) for source in chosen]


def get_row_file(measuring: NaturalnessSettings, source: SceneSource) -> Path:
    """Return the file of a scene's row."""
    return measuring.folder / ROWS / f"{format_flat_name(source)}.json"


def measure_scene(measuring: NaturalnessSettings, source: SceneSource) -> int:
    """Write the row of a scene."""
    row: dict[str, Any] = {"scene": source.name, "cluster": source.cluster, "skipped": ""}
    try:
        row |= measure_insertion(read_scene(source), measuring.seed)
    except DoesNotApplyError as why:
        row["skipped"] = str(why)
    write_whole(get_row_file(measuring, source), json.dumps(row) + "\n")
    return 1


def measure_insertion(scene: CooperativeScene, seed: int) -> dict[str, Any]:
    """Return the numbers of one insertion."""
    if not has_pictures(scene):
        raise DoesNotApplyError(f"{scene.source.name}: has no pictures")
    world = get_recorded_world(scene)
    random = make_named_stream(seed, "natural", scene.source.name)
    operator = InsertObject()
    changed = operator.apply(scene, sample_values(operator.space, random), random)
    (actor,) = changed.expectation.new
    after = get_recorded_world(changed.scene)
    # the same object elsewhere in pictures, which points do not know
    pose = after.get_pose(actor).copy()
    pose[0] += AWAY
    pose[4] = np.remainder(pose[4] + TURNED + 180.0, 360.0) - 180.0
    elsewhere = after.move_actor(actor, pose)
    settings = get_picture_settings(scene)
    size = settings.width, settings.height
    before = take_staged_pictures(scene, world, size).depths
    objects = {
        name: [
            asdict(one)
            for one in measure_object(
                changed.scene,
                actor,
                iter(take_staged_pictures(changed.scene, shown, size).depths),
                iter(before),
            )
        ]
        for name, shown in (("inserted", after), ("displaced", elsewhere))
    }
    again = show_world(scene, world)
    pairs = list(zip(scene.ego.images, changed.scene.ego.images, strict=True))
    return {
        "pixels": sum(image.pixels[..., 0].size for view in scene.views for image in view.images),
        "differ": count_changed_pixels(scene.views, again.views),
        "changed": count_changed_pixels(scene.views, changed.scene.views),
        "objects": objects,
        "pictures": {
            "recorded": [measure_picture_statistics(one.pixels).tolist() for one, _ in pairs],
            "inserted": [measure_picture_statistics(one.pixels).tolist() for _, one in pairs],
            "corrupted": [
                measure_picture_statistics(corrupt_pixels(one.pixels, random)).tolist()
                for one, _ in pairs
            ],
        },
        "sweeps": {
            "recorded": [measure_range_statistics(scene.ego).tolist()],
            "inserted": [measure_range_statistics(changed.scene.ego).tolist()],
            "corrupted": [measure_range_statistics(corrupt_view(scene.ego, random)).tolist()],
        },
    }


def build_naturalness_sheets(rows: Sequence[dict[str, Any]]) -> list[TextSheet]:
    """Return exactness and consistency, and the distances of pictures and sweeps."""
    kept = [row for row in rows if not row["skipped"]]
    return [build_consistency_sheet(rows, kept), build_distance_sheet(kept)]


def build_consistency_sheet(
    rows: Sequence[dict[str, Any]], kept: Sequence[dict[str, Any]]
) -> TextSheet:
    """Return how box, points and pixels of inserted objects agree."""
    clusters = np.unique([row["cluster"] for row in kept], return_inverse=True)[1].astype(float)
    lines = []
    for key, name in PIPELINES.items() if kept else ():
        seen = [row["objects"][key] for row in kept]
        has = np.array([bool(one) for one in seen])
        overlaps = np.array([np.mean([o["overlap"] for o in one]) for one in seen if one])
        points = sum(o["points"] for one in seen for o in one)
        on = sum(o["on_pixels"] for one in seen for o in one)
        errors = [o["depth_error"] for one in seen for o in one if np.isfinite(o["depth_error"])]
        overlap = estimate_mean(overlaps, clusters[has]) if has.any() else None
        lines.append(
            (
                name,
                str(int(has.sum())),
                str(sum(map(len, seen))),
                NOTHING if overlap is None else format_estimate_with_interval(overlap, 3),
                f"{100 * on / points:.1f} of {points}" if points else NOTHING,
                f"{100 * float(np.median(errors)):.1f}" if errors else NOTHING,
            )
        )
    differ, pixels = (sum(row[key] for row in kept) for key in ("differ", "pixels"))
    skipped = len(rows) - len(kept)
    return TextSheet(
        name="consistency",
        title="Modality consistency of inserted objects (MultiTest, eq. 11)",
        head=(
            *("object", "scenes", "pictures", "MC: box and pixels"),
            *("points on its pixels, %", "depth of points and pixels, cm, median"),
        ),
        rows=tuple(lines),
        note=f"{differ} of {pixels} pixels differ between recorded pictures and the recorded worlds"
        f" shown again. {skipped} of {len(rows)} scenes could not be changed. Points lie in the"
        " object's box; the second row is the control, whose pictures contradict its points.",
    )


def build_distance_sheet(kept: Sequence[dict[str, Any]]) -> TextSheet:
    """Return Fréchet distances of changed pictures and sweeps to those of other scenarios."""
    clusters = sorted({row["cluster"] for row in kept})
    others = [row for row in kept if row["cluster"] in clusters[::2]]
    here = [row for row in kept if row["cluster"] in clusters[1::2]]
    lines = []
    for side in ("recorded", "inserted", "corrupted"):
        cells = []
        for kind, least in (("pictures", 0.005), ("sweeps", 0.002)):
            everything = stack_statistics(kept, kind, "recorded")
            scale = np.maximum(everything.std(axis=0), least) if len(everything) else np.ones(1)
            same, known = stack_statistics(kept, kind, side), everything
            pair = stack_statistics(here, kind, side), stack_statistics(others, kind, "recorded")
            cells.append(NOTHING if side == "recorded" else format_distance(same, known, scale))
            cells.append(format_distance(*pair, scale))
        lines.append((side, *cells))
    return TextSheet(
        name="naturalness",
        title="Naturalness: Fréchet distances of statistics (not FID, not FRD)",
        head=(
            *("ego's pictures and sweeps", "pictures, to the same as recorded"),
            *("pictures, to other scenarios", "sweeps, to the same as recorded"),
            "sweeps, to other scenarios",
        ),
        rows=tuple(lines),
        note=f"Distances of normal distributions of {len(PICTURE_STATISTICS)} statistics of a"
        " picture, and of those of the range image (`realism`), in units of their spread in what"
        " was recorded; 0 is equal. FID needs the activations of a trained network, and its numbers"
        " are others. `corrupted` is the control: noise of 5 % in pictures; points lost and moved.",
    )


def stack_statistics(rows: Sequence[dict[str, Any]], kind: str, side: str) -> Floats:
    """Return the statistics of all pictures or sweeps of some scenes."""
    return np.array([one for row in rows for one in row[kind][side]], np.float64)


def format_distance(one: Floats, other: Floats, scale: Floats) -> str:
    """Return a distance; a dash where there are too few."""
    if min(len(one), len(other)) < 2 * len(scale):
        return NOTHING
    return f"{compute_frechet_distance(one, other, scale):.3f}"
