"""Transformed recordings: changed scenes that `crucible train --data` reads like any others.

First all candidates (scene and operator) get their scores, then those that are kept are written: a
folder for each, with the looks of the ego and its partners. Everything random comes from the seed,
so a run that was stopped goes on, and equal commands write equal bytes.
"""

from __future__ import annotations

import json
import multiprocessing
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from harness.common.drivable_area import write_drivable_area
from harness.common.errors import UserError
from harness.common.files import write_whole
from harness.common.ground_fields import write_ground_field
from harness.common.pictures import iter_camera_records, write_pictures
from harness.common.randomness import make_named_stream
from harness.common.recordings import PROTOCOL, AgentLook, read_protocol, write_look
from harness.common.safe_reading import read_json_within
from harness.common.suggestions import describe_unknown_name
from harness.common.world_states import write_world_state
from harness.types.vocabulary import GroundTruth, Singles
from studies.metamorphic.catalogue import select_catalogue_entries
from studies.metamorphic.geometry.sight import measure_sight
from studies.metamorphic.judging.following import apply_operator, make_follow_up
from studies.metamorphic.judging.guidance import select_best_by_objects, select_best_share
from studies.metamorphic.judging.rows import JudgeContext, add_score_row, select_checked_objects
from studies.metamorphic.pictures.staging import (
    get_picture_settings,
    has_pictures,
    take_staged_pictures,
)
from studies.metamorphic.running.study import compute_system_digest, limit_process_threads
from studies.metamorphic.running.systems import build_named_system, refuse_without_pictures
from studies.metamorphic.scenes.answers import AskableSystem, ask_system
from studies.metamorphic.scenes.operator import TruthExpectation
from studies.metamorphic.scenes.road import get_road_region
from studies.metamorphic.scenes.scene import (
    AgentView,
    CooperativeScene,
    SceneSource,
    list_scene_sources,
    read_scene,
)
from studies.metamorphic.storage.records import (
    GUIDANCE_SCORES,
    begin_records,
    make_empty_rows,
    make_row_head,
)

MADE = "made"
"""Folder of the scores, inside the output: hidden from readers of recordings."""
RANDOM_GUIDE = "random"
KEEP_GUIDES = (RANDOM_GUIDE, *GUIDANCE_SCORES[:4])
IGNORED_HITS = 1
"""Hits of what is neither to be detected nor wrong to detect: training ignores 1 to 4."""
LOWEST = -1e9
"""Instead of minus infinity, which JSON does not have."""
Budget = Literal["frames", "objects"]
Done = Callable[[int], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepRule:
    """Which candidates are kept: the best by a score, until a share of frames or objects."""

    guide: str = RANDOM_GUIDE
    share: float = 1.0
    budget: Budget = "frames"

    def __post_init__(self) -> None:
        """Check name and share."""
        if self.guide not in KEEP_GUIDES:
            raise UserError(describe_unknown_name("guide", self.guide, KEEP_GUIDES))
        if not 0 < self.share <= 1:
            raise UserError(f"--keep {self.guide}:{self.share:g}: the share must be > 0 and ≤ 1")


def parse_keep_rule(text: str, budget: Budget = "frames") -> KeepRule:
    """Return what `GUIDE:SHARE` asks for."""
    guide, _, share = text.partition(":")
    try:
        return KeepRule(guide=guide, share=float(share or 1.0), budget=budget)
    except ValueError:
        raise UserError(f"--keep {text}: must be GUIDE:SHARE, as in vgt:0.15") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationSettings:
    """What is made of which recordings."""

    recordings: tuple[Path, ...]
    operators: tuple[str, ...]
    keep: KeepRule
    system: str  # whose answers the scores are of; random ones need none
    scenes: int | None  # at most
    seed: int
    folder: Path
    keep_seed: int = 1  # of random choice
    scores: Path | None = None  # folder of scores, if several generations have one

    def __post_init__(self) -> None:
        """Refuse operators that change no sweep."""
        for name, entry in select_catalogue_entries(self.operators).items():
            if entry.operator.level == "sharing":
                raise UserError(
                    f"{name}: changes messages and no sweep, so no recording can hold it; train"
                    " with --interference for late messages and pose errors"
                )

    @property
    def scored(self) -> str:
        """Return whose answers the scores are of."""
        return "" if self.keep.guide == RANDOM_GUIDE and self.scores is None else self.system

    @property
    def score_folder(self) -> Path:
        """Return where scores are."""
        return self.scores or self.folder / f".{MADE}"

    def select_sources(self) -> list[SceneSource]:
        """Return all scenes, or so many at random."""
        return sample_sources(list_scene_sources(list(self.recordings)), self.scenes, self.seed)

    def make_header(self) -> dict[str, Any]:
        """Return what makes equal generations equal."""
        return {
            "recordings": [path.name for path in self.recordings],
            "operators": list(self.operators),
            "keep": [self.keep.guide, self.keep.share, self.keep.budget],
            "system": {self.scored: compute_system_digest(self.scored)} if self.scored else {},
            "scenes": [source.name for source in self.select_sources()],
            "seed": self.seed,
            "keep_seed": self.keep_seed,
        }


def sample_sources(known: list[SceneSource], count: int | None, seed: int) -> list[SceneSource]:
    """Return all scenes, or so many at random."""
    if count is None:
        return known
    order = make_named_stream(seed, "scenes").permutation(len(known))
    return [known[number] for number in order[:count]]


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationCandidate:
    """One scene under one operator."""

    scene: int  # number among the chosen
    operator: str
    objects: int  # that are judged
    scores: dict[str, float]


def generate_recordings(
    generation: GenerationSettings, workers: int, done: Done
) -> list[GenerationCandidate]:
    """Write what is not there yet, and return what is kept; `done` is given numbers of scenes.

    Args:
        generation: what is generated.
        workers: processes.
        done: is called with numbers of scenes.
    """
    # score what has no scores yet
    chosen = generation.select_sources()
    if generation.scored:
        refuse_without_pictures([generation.scored], chosen)
    begin_records(generation.folder, generation.make_header())
    generation.score_folder.mkdir(parents=True, exist_ok=True)
    numbers = list(range(len(chosen)))
    left = [
        number for number in numbers if not get_score_file(generation, chosen[number]).is_file()
    ]
    done(len(chosen) - len(left))
    run_in_processes(
        partial(score_candidates, generation), [(n, chosen[n]) for n in left], workers, done
    )
    # choose among all
    candidates = [
        candidate
        for number in numbers
        for candidate in read_candidates(get_score_file(generation, chosen[number]), number)
    ]
    best = select_candidates(candidates, generation.keep, generation.keep_seed)
    # write what is kept and not there; it counts as no further scene
    missing = [
        one for one in best if not get_candidate_folder(generation, chosen[one.scene], one).exists()
    ]
    tasks = [(chosen[one.scene], one) for one in missing]
    run_in_processes(partial(write_candidate, generation), tasks, workers, lambda _: done(0))
    return best


def run_in_processes(
    work: Callable[[Any], int], tasks: Sequence[Any], workers: int, done: Done
) -> None:
    """Do tasks in processes, in any order."""
    with limit_process_threads():
        if workers == 1 or len(tasks) < 2:
            for task in tasks:
                done(work(task))
            return
        with multiprocessing.get_context("spawn").Pool(workers) as pool:
            for count in pool.imap_unordered(work, tasks):
                done(count)


def select_candidates(
    candidates: Sequence[GenerationCandidate], keep: KeepRule, seed: int
) -> list[GenerationCandidate]:
    """Return the candidates that are kept, in their order."""
    if keep.guide == RANDOM_GUIDE:
        scores = make_named_stream(seed, "keep").random(len(candidates))
    else:
        scores = np.array([candidate.scores[keep.guide] for candidate in candidates])
    if keep.budget == "frames":
        best = select_best_share(scores, keep.share)
    else:
        objects = np.array([candidate.objects for candidate in candidates], np.int64)
        best = select_best_by_objects(scores, objects, keep.share)
    return [candidates[number] for number in best.tolist()]


_systems: dict[str, AskableSystem] = {}


def score_candidates(generation: GenerationSettings, task: tuple[int, SceneSource]) -> int:
    """Write the scores of all candidates of a scene; operators that do not apply give none."""
    # a process loads a system once
    _, source = task
    name, scene = generation.scored, read_scene(source)
    if name and name not in _systems:
        _systems[name] = build_named_system(name)
    rows = []
    sight = measure_sight(scene) if name else None
    for operator, test in select_catalogue_entries(generation.operators).items():
        # without a system nothing is judged: counts of objects only
        if not name:
            change = apply_operator(scene, operator, test, generation.seed)
            if not isinstance(change, str):
                objects = select_checked_objects(change.scene, scene, change.expectation)
                rows.append({"operator": operator, "objects": len(objects.judged), "scores": {}})
            continue
        # with one: its answer, and what guides make of it
        follow = make_follow_up(scene, operator, test, seed=generation.seed, sight=sight)
        if not isinstance(follow, str):
            objects = follow.objects["changed", "before"]
            scores = make_empty_rows()
            judge = JudgeContext(
                head=make_row_head(source.name, source.cluster, name, operator),
                side="changed",
                hits="before",
                objects=objects,
                sight=follow.sight,
            )
            add_score_row(scores, ask_system(_systems[name], follow.scene), judge)
            values = {guide: max(scores["scores"][0][guide], LOWEST) for guide in GUIDANCE_SCORES}
            rows.append({"operator": operator, "objects": len(objects.judged), "scores": values})
    write_whole(get_score_file(generation, source), json.dumps(rows) + "\n")
    return 1


def get_score_file(generation: GenerationSettings, source: SceneSource) -> Path:
    """Return the file of a scene's scores."""
    return generation.score_folder / f"{format_flat_name(source)}.json"


def format_flat_name(source: SceneSource) -> str:
    """Return the name of a scene without slashes."""
    return source.name.replace("/", "-")


def read_candidates(file: Path, scene: int) -> list[GenerationCandidate]:
    """Return the candidates of a scene."""
    try:
        return [GenerationCandidate(scene=scene, **row) for row in read_json_within(file)]
    except (OSError, ValueError, TypeError, RecursionError) as problem:
        raise UserError(f"{file}: not the scores of a scene ({problem})") from None


def get_candidate_folder(
    generation: GenerationSettings, source: SceneSource, candidate: GenerationCandidate
) -> Path:
    """Return the folder of a changed scene."""
    return generation.folder / f"{format_flat_name(source)}-{candidate.operator}"


def write_candidate(
    generation: GenerationSettings, task: tuple[SceneSource, GenerationCandidate]
) -> int:
    """Write a changed scene: all of it or nothing."""
    source, candidate = task
    test = select_catalogue_entries((candidate.operator,))[candidate.operator]
    change = apply_operator(read_scene(source), candidate.operator, test, generation.seed)
    if isinstance(change, str):
        raise UserError(f"{source.name}: {change}; were the recordings changed?")
    about = {
        "operator": candidate.operator,
        "values": dict(change.values),  # in the order in which they were made
        "metamorphic_seed": generation.seed,
    }
    folder = get_candidate_folder(generation, source, candidate)
    write_changed_scene(folder, change.scene, change.expectation, about)
    return 1


def write_changed_scene(
    folder: Path, scene: CooperativeScene, expectation: TruthExpectation, about: Mapping[str, Any]
) -> None:
    """Write a scene as a recording: all of it or nothing."""
    partial_folder = folder.with_name(f".{folder.name}")
    if partial_folder.exists():  # of a run that was stopped
        shutil.rmtree(partial_folder)
    partial_folder.mkdir()
    for view in scene.views:
        cameras = make_camera_records(view)
        write_look(partial_folder, f"{0:06}", make_recorded_look(view, expectation), cameras)
    if has_pictures(scene):
        write_scene_pictures(partial_folder, scene)
    if scene.ground is not None:
        write_ground_field(partial_folder, scene.ground)
    region = get_road_region(scene, scene.ego.lidar_in_world)
    if region is not None:
        write_drivable_area(region.area, partial_folder)
    source = scene.source
    protocol = {
        **read_protocol(source.scenario.folder / PROTOCOL),
        "egos": [source.ego],
        "made_from": source.name,
        **about,
        "unjudged": sorted(expectation.unjudged),
    }
    (partial_folder / PROTOCOL).write_text(json.dumps(protocol))
    partial_folder.rename(folder)


def make_camera_records(view: AgentView) -> dict[str, Any]:
    """Return what a look says of its cameras; nothing without pictures."""
    if not view.images:
        return {}
    rows, columns = view.images[0].pixels.shape[:2]
    return dict(iter_camera_records(view.images, view.lidar_in_world, (columns, rows)))


def write_scene_pictures(folder: Path, scene: CooperativeScene) -> None:
    """Write pictures, their depths and the world that they show.

    Depths are recorded ones, or those of the world as it was changed.
    """
    settings, recorded = get_picture_settings(scene), scene.source
    depths: dict[int, tuple[Singles, ...]] = {}
    if scene.world is not None and scene.in_town_frame:
        size = settings.width, settings.height
        taken = iter(take_staged_pictures(scene, scene.world, size).depths)
        depths = {view.agent: tuple(next(taken) for _ in view.images) for view in scene.views}
        write_world_state(folder, f"{0:06}", scene.world)
    for view in scene.views:
        metres = depths.get(view.agent)
        if metres is None:
            metres = recorded.scenario.read_depths(view.agent, f"{recorded.moment:06}")
        write_pictures(folder / str(view.agent) / f"{0:06}", view.images, metres, settings)


def make_recorded_look(view: AgentView, expectation: TruthExpectation) -> AgentLook:
    """Return a view as a recording holds it; what cannot be judged is not to be detected."""
    truth = view.truth
    # (true boxes,)
    unknown_here = np.isin(truth.actor_ids, sorted(expectation.unjudged))
    hits = np.where(unknown_here, IGNORED_HITS, truth.hits)
    return AgentLook(
        agent=view.agent,
        time=view.time,
        lidar_in_world=view.lidar_in_world,
        points_in_lidar=view.points_in_lidar,
        truth=GroundTruth(truth.boxes_in_lidar, truth.actor_ids, hits),
        parked_in_lidar=view.parked_in_lidar,
        surfaces=view.surfaces,
    )
