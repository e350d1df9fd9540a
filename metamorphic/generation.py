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

from harness.errors import UserError
from harness.files import write_whole
from harness.randomness import stream
from harness.recordings import PROTOCOL, Look, read_protocol, write_look
from harness.safe_reading import read_json_within
from harness.suggestions import unknown
from harness.vocabulary import GroundTruth
from metamorphic.answers import Perceiving, answer
from metamorphic.catalogue import entries
from metamorphic.following import applied, followed
from metamorphic.guidance import kept, kept_by_objects
from metamorphic.judging import Judge, judged_objects, scored
from metamorphic.operators.operator import Expectation
from metamorphic.records import SCORES, begin, empty, where
from metamorphic.scene import Scene, Source, View, read_scene, sources
from metamorphic.sight import sight_of
from metamorphic.study import digest_of, settings_of_processes
from metamorphic.systems import system_named

MADE = "made"
"""Folder of the scores, inside the output: hidden from readers of recordings."""
RANDOM = "random"
GUIDES = (RANDOM, *SCORES[:4])
IGNORED_HITS = 1
"""Hits of what is neither to be detected nor wrong to detect: training ignores 1 to 4."""
LOWEST = -1e9
"""Instead of minus infinity, which JSON does not have."""
Budget = Literal["frames", "objects"]
Done = Callable[[int], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """Which candidates are kept: the best by a score, until a share of frames or objects."""

    guide: str = RANDOM
    share: float = 1.0
    budget: Budget = "frames"

    def __post_init__(self) -> None:
        """Check name and share."""
        if self.guide not in GUIDES:
            raise UserError(unknown("guide", self.guide, GUIDES))
        if not 0 < self.share <= 1:
            raise UserError(f"--keep {self.guide}:{self.share:g}: the share must be > 0 and ≤ 1")


def keep_of(text: str, budget: Budget = "frames") -> Keep:
    """Return what `GUIDE:SHARE` asks for."""
    guide, _, share = text.partition(":")
    try:
        return Keep(guide=guide, share=float(share or 1.0), budget=budget)
    except ValueError:
        raise UserError(f"--keep {text}: must be GUIDE:SHARE, as in vgt:0.15") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """What is made of which recordings."""

    recordings: tuple[Path, ...]
    operators: tuple[str, ...]
    keep: Keep
    system: str  # whose answers the scores are of; random ones need none
    scenes: int | None  # at most
    seed: int
    folder: Path
    keep_seed: int = 1  # of random choice
    scores: Path | None = None  # folder of scores, if several generations have one

    def __post_init__(self) -> None:
        """Refuse operators that change no sweep."""
        for name, entry in entries(self.operators).items():
            if entry.operator.level == "sharing":
                raise UserError(
                    f"{name}: changes messages and no sweep, so no recording can hold it; train"
                    " with --interference for late messages and pose errors"
                )

    @property
    def scored(self) -> str:
        """Return whose answers the scores are of."""
        return "" if self.keep.guide == RANDOM and self.scores is None else self.system

    @property
    def score_folder(self) -> Path:
        """Return where scores are."""
        return self.scores or self.folder / f".{MADE}"

    def chosen(self) -> list[Source]:
        """Return all scenes, or so many at random."""
        return some_of(sources(list(self.recordings)), self.scenes, self.seed)

    def header(self) -> dict[str, Any]:
        """Return what makes equal generations equal."""
        return {
            "recordings": [path.name for path in self.recordings],
            "operators": list(self.operators),
            "keep": [self.keep.guide, self.keep.share, self.keep.budget],
            "system": {self.scored: digest_of(self.scored)} if self.scored else {},
            "scenes": [source.name for source in self.chosen()],
            "seed": self.seed,
            "keep_seed": self.keep_seed,
        }


def some_of(known: list[Source], count: int | None, seed: int) -> list[Source]:
    """Return all scenes, or so many at random."""
    if count is None:
        return known
    order = stream(seed, "scenes").permutation(len(known))
    return [known[number] for number in order[:count]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One scene under one operator."""

    scene: int  # number among the chosen
    operator: str
    objects: int  # that are judged
    scores: dict[str, float]


def generate(generation: Generation, workers: int, done: Done) -> list[Candidate]:
    """Write what is not there yet, and return what is kept; `done` is given numbers of scenes."""
    chosen = generation.chosen()
    begin(generation.folder, generation.header())
    generation.score_folder.mkdir(parents=True, exist_ok=True)
    numbers = list(range(len(chosen)))
    left = [number for number in numbers if not score_file(generation, chosen[number]).is_file()]
    done(len(chosen) - len(left))
    in_processes(partial(score, generation), [(n, chosen[n]) for n in left], workers, done)
    candidates = [
        candidate
        for number in numbers
        for candidate in read_candidates(score_file(generation, chosen[number]), number)
    ]
    best = selected(candidates, generation.keep, generation.keep_seed)
    missing = [one for one in best if not place(generation, chosen[one.scene], one).exists()]
    tasks = [(chosen[one.scene], one) for one in missing]
    in_processes(partial(write, generation), tasks, workers, lambda _: done(0))
    return best


def in_processes(
    work: Callable[[Any], int], tasks: Sequence[Any], workers: int, done: Done
) -> None:
    """Do tasks in processes, in any order."""
    with settings_of_processes():
        if workers == 1 or len(tasks) < 2:
            for task in tasks:
                done(work(task))
            return
        with multiprocessing.get_context("spawn").Pool(workers) as pool:
            for count in pool.imap_unordered(work, tasks):
                done(count)


def selected(candidates: Sequence[Candidate], keep: Keep, seed: int) -> list[Candidate]:
    """Return the candidates that are kept, in their order."""
    if keep.guide == RANDOM:
        scores = stream(seed, "keep").random(len(candidates))
    else:
        scores = np.array([candidate.scores[keep.guide] for candidate in candidates])
    if keep.budget == "frames":
        best = kept(scores, keep.share)
    else:
        objects = np.array([candidate.objects for candidate in candidates], np.int64)
        best = kept_by_objects(scores, objects, keep.share)
    return [candidates[number] for number in best.tolist()]


_systems: dict[str, Perceiving] = {}


def score(generation: Generation, task: tuple[int, Source]) -> int:
    """Write the scores of all candidates of a scene; operators that do not apply give none."""
    _, source = task
    name, scene = generation.scored, read_scene(source)
    if name and name not in _systems:
        _systems[name] = system_named(name)
    rows = []
    sight = sight_of(scene) if name else None
    for operator, test in entries(generation.operators).items():
        if not name:
            change = applied(scene, operator, test, generation.seed)
            if not isinstance(change, str):
                objects = judged_objects(change.scene, scene, change.expectation)
                rows.append({"operator": operator, "objects": len(objects.judged), "scores": {}})
            continue
        follow = followed(scene, operator, test, seed=generation.seed, sight=sight)
        if not isinstance(follow, str):
            objects = follow.objects["changed", "before"]
            scores = empty()
            judge = Judge(
                head=where(source.name, source.cluster, name, operator),
                side="changed",
                hits="before",
                objects=objects,
                sight=follow.sight,
            )
            scored(scores, answer(_systems[name], follow.scene), judge)
            values = {guide: max(scores["scores"][0][guide], LOWEST) for guide in SCORES}
            rows.append({"operator": operator, "objects": len(objects.judged), "scores": values})
    write_whole(score_file(generation, source), json.dumps(rows) + "\n")
    return 1


def score_file(generation: Generation, source: Source) -> Path:
    """Return the file of a scene's scores."""
    return generation.score_folder / f"{flat(source)}.json"


def flat(source: Source) -> str:
    """Return the name of a scene without slashes."""
    return source.name.replace("/", "-")


def read_candidates(file: Path, scene: int) -> list[Candidate]:
    """Return the candidates of a scene."""
    try:
        return [Candidate(scene=scene, **row) for row in read_json_within(file)]
    except (OSError, ValueError, TypeError, RecursionError) as problem:
        raise UserError(f"{file}: not the scores of a scene ({problem})") from None


def place(generation: Generation, source: Source, candidate: Candidate) -> Path:
    """Return the folder of a changed scene."""
    return generation.folder / f"{flat(source)}-{candidate.operator}"


def write(generation: Generation, task: tuple[Source, Candidate]) -> int:
    """Write a changed scene: all of it or nothing."""
    source, candidate = task
    test = entries((candidate.operator,))[candidate.operator]
    change = applied(read_scene(source), candidate.operator, test, generation.seed)
    if isinstance(change, str):
        raise UserError(f"{source.name}: {change}; were the recordings changed?")
    about = {
        "operator": candidate.operator,
        "values": dict(change.values),
        "metamorphic_seed": generation.seed,
    }
    folder = place(generation, source, candidate)
    write_changed(folder, change.scene, change.expectation, about)
    return 1


def write_changed(
    folder: Path, scene: Scene, expectation: Expectation, about: Mapping[str, Any]
) -> None:
    """Write a scene as a recording: all of it or nothing."""
    partial_folder = folder.with_name(f".{folder.name}")
    if partial_folder.exists():  # of a run that was stopped
        shutil.rmtree(partial_folder)
    partial_folder.mkdir()
    for view in scene.views:
        write_look(partial_folder, f"{0:06}", look_of(view, expectation))
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


def look_of(view: View, expectation: Expectation) -> Look:
    """Return a view as a recording holds it; what cannot be judged is not to be detected."""
    truth = view.truth
    unknown_here = np.isin(truth.actor_ids, sorted(expectation.unjudged))
    hits = np.where(unknown_here, IGNORED_HITS, truth.hits)
    return Look(
        agent=view.agent,
        time=view.time,
        lidar_in_world=view.lidar_in_world,
        points_in_lidar=view.points_in_lidar,
        truth=GroundTruth(truth.boxes_in_lidar, truth.actor_ids, hits),
        parked_in_lidar=view.parked_in_lidar,
        surfaces=view.surfaces,
    )
