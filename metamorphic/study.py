"""An offline study: systems are asked about recorded scenes, and about what operators make of them.

Scenes come in blocks, blocks are computed in any order by any number of processes, and everything
that is random comes from the study's seed, the scene's name and the operator's.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from harness.campaign.settings.config import find_class
from harness.errors import AttemptError, UserError
from harness.randomness import stream
from harness.safe_reading import CHECKPOINT, read_within
from metamorphic.answers import Answer, Perceiving, answer
from metamorphic.catalogue import Entry, entries
from metamorphic.checks import Objects
from metamorphic.following import followed
from metamorphic.judging import (
    FAR,
    SOURCE,
    Answers,
    ByHits,
    Follow,
    Judge,
    Side,
    checked,
    judged_objects,
    measured,
    scored,
    standing,
)
from metamorphic.operators.operator import (
    Expectation,
)
from metamorphic.records import Rows, begin, blocks_of, empty, is_written, where, write_block
from metamorphic.scene import Scene, Source, read_scene, sources
from metamorphic.sight import Sight, sight_of
from metamorphic.systems import settings_of, system_named

BLOCK = 5
"""Scenes that are computed together."""
THREADS = {"OMP_NUM_THREADS": "1", "MALLOC_MMAP_THRESHOLD_": str(32 << 20)}
Done = Callable[[int], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """What is asked of which systems, about which scenes."""

    recordings: tuple[Path, ...]
    systems: tuple[str, ...]
    operators: tuple[str, ...]
    scenes: int  # at most
    seed: int
    folder: Path
    far: tuple[float, ...] = FAR  # m, of long-range errors

    def header(self) -> dict[str, Any]:
        """Return what makes equal studies equal: settings, scenes and weights."""
        chosen = [source.name for source in self.chosen()]
        return {
            "recordings": [path.name for path in self.recordings],
            "systems": {name: digest_of(name) for name in self.systems},
            "operators": list(self.operators),
            "seed": self.seed,
            "far": list(self.far),
            "scenes": len(chosen),
            "scenes_sha256": hashlib.sha256("\n".join(chosen).encode()).hexdigest(),
        }

    def chosen(self) -> list[Source]:
        """Return scenes of all scenarios in random order, each with an earlier moment."""
        known = sources(list(self.recordings), first_moment=2)
        if not known:
            raise UserError(f"{self.recordings[0]}: no scenario has three moments")
        order = stream(self.seed, "scenes").permutation(len(known))
        return [known[number] for number in order[: self.scenes]]


def digest_of(system: str) -> str:
    """Return the digest of the files that a system reads; nothing if it reads none."""
    settings = dict(settings_of(system))
    kind = find_class(settings.pop("_target_"), f"system.{system}")
    files = kind.files(**settings) if hasattr(kind, "files") else []
    content = b"".join(read_within(path, CHECKPOINT, follow=True) for path in sorted(files))
    return hashlib.sha256(content).hexdigest() if files else ""


def run(study: Study, workers: int, done: Done) -> None:
    """Compute all blocks that are not there yet; `done` is given the scenes of each."""
    chosen = study.chosen()
    begin(study.folder, study.header())
    blocks = blocks_of(len(chosen), BLOCK)
    left = []
    for number, block in enumerate(blocks):
        if is_written(study.folder, number):
            done(len(block))
        else:
            left.append((number, [chosen[scene] for scene in block]))
    work = partial(compute, study)
    with settings_of_processes():
        if workers == 1 or len(left) < 2:
            for task in left:
                done(work(task))
            return
        with multiprocessing.get_context("spawn").Pool(workers) as pool:
            for count in pool.imap_unordered(work, left):
                done(count)


@contextmanager
def settings_of_processes() -> Iterator[None]:
    """Give started processes one thread of torch, and memory that they keep."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(THREADS)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


_systems: dict[str, Perceiving] = {}


def compute(study: Study, task: tuple[int, Sequence[Source]]) -> int:
    """Compute one block, write it, and return how many scenes it has."""
    number, block = task
    for name in study.systems:
        if name not in _systems:
            _systems[name] = system_named(name)
    rows = empty()
    systems = {name: _systems[name] for name in study.systems}
    tests = entries(study.operators)
    for source in block:
        asking = Asking(study=study, scene=read_scene(source), rows=rows)
        asking.ask(systems, tests)
    write_block(study.folder, number, rows)
    return len(block)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Asking:
    """One scene of a study, and the rows that come of it."""

    study: Study
    scene: Scene
    rows: Rows

    def ask(self, systems: dict[str, Perceiving], tests: dict[str, Entry]) -> None:
        """Ask all systems about the scene, and about what every operator makes of it."""
        scene, before = self.scene, dict[str, Answer]()
        sight, objects = sight_of(scene), judged_objects(scene, scene, Expectation())
        standing(self.rows, scene, objects)
        for name, system in systems.items():
            before[name] = answer(system, scene)
            judge = self.judge(name, SOURCE, sight=sight, key=("recorded", "before"), of=objects)
            checked(self.rows, before[name], judge)
            scored(self.rows, before[name], judge)
        for operator, test in tests.items():
            follow = followed(scene, operator, test, seed=self.study.seed, sight=sight)
            if isinstance(follow, str):
                self.skip("", operator, follow)
                continue
            for name, system in systems.items():
                try:
                    given, source = answer(system, follow.scene), before[name]
                    if follow.source is not scene:
                        source = answer(system, follow.source)
                except AttemptError as why:  # no such message can be changed so
                    self.skip(name, operator, str(why))
                    continue
                self.judged(name, test, follow=follow, answers=Answers(source, given))

    def judged(self, system: str, test: Entry, *, follow: Follow, answers: Answers) -> None:
        """Add the rows of a system's answers."""
        measured(self.rows, test, system, follow=follow, answers=answers)
        for (side, hits), objects in follow.objects.items():
            judge = self.judge(
                system, follow.operator, sight=follow.sight, key=(side, hits), of=objects
            )
            given = answers.source if side == "dry" else answers.follow
            checked(self.rows, given, judge)
            if (side, hits) == ("changed", "before"):
                scored(self.rows, given, judge)

    def judge(
        self, system: str, operator: str, *, sight: Sight, key: tuple[Side, ByHits], of: Objects
    ) -> Judge:
        """Return what an answer is held against."""
        head = self.head(system, operator)
        side, hits = key
        return Judge(head=head, side=side, hits=hits, objects=of, sight=sight, far=self.study.far)

    def skip(self, system: str, operator: str, why: str) -> None:
        """Add that an operator could not change the scene."""
        self.rows["skipped"].append({**self.head(system, operator), "reason": why})

    def head(self, system: str, operator: str) -> dict[str, str]:
        """Return what a row of this scene begins with."""
        return where(self.scene.source.name, self.scene.source.cluster, system, operator)
