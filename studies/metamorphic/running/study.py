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
from multiprocessing.pool import IMapIterator
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import Any

from harness.campaign.settings.config import find_class
from harness.common.errors import AttemptError, UserError
from harness.common.randomness import make_named_stream
from harness.common.safe_reading import CHECKPOINT, read_within
from harness.types.vocabulary import CameraImage
from studies.metamorphic.catalogue import CatalogueEntry, select_catalogue_entries
from studies.metamorphic.geometry.sight import AgentSight, measure_sight
from studies.metamorphic.guiding.saved_tests import SavedTests, refuse_changed_test
from studies.metamorphic.judging.checks import JudgedObjects, JudgingRules
from studies.metamorphic.judging.following import make_follow_up
from studies.metamorphic.judging.realism import corrupt_view
from studies.metamorphic.judging.rows import (
    CORRUPTED_OPERATOR,
    FAR_DISTANCES,
    RECORDED_OPERATOR,
    AnswerPair,
    ByHits,
    FollowUp,
    JudgeContext,
    Side,
    add_box_rows,
    add_check_rows,
    add_measure_rows,
    add_score_row,
    add_sweep_row,
    add_user_rows,
    select_checked_objects,
)
from studies.metamorphic.judging.windows import (
    describe_unread_change,
    describe_unseen_change,
    fit_to_window,
    get_judging_rules,
)
from studies.metamorphic.running.systems import (
    build_named_system,
    read_system_settings,
    refuse_without_pictures,
)
from studies.metamorphic.scenes.answers import AskableSystem, SystemAnswer, ask_system
from studies.metamorphic.scenes.operator import TruthExpectation
from studies.metamorphic.scenes.scene import (
    CooperativeScene,
    SceneSource,
    list_scene_sources,
    read_scene,
)
from studies.metamorphic.storage.records import (
    TableRows,
    begin_records,
    is_block_written,
    make_empty_rows,
    make_row_head,
    split_into_blocks,
    write_block,
)

BLOCK = 5
"""Scenes that are computed together."""
SCENE_POLL = 0.5
"""Seconds after which it is looked again how many scenes are computed."""
FIRST_MOMENT = 2
"""The first moment of a scenario that is a scene: operators of latency need two earlier ones."""
THREADS = {"OMP_NUM_THREADS": "1", "MALLOC_MMAP_THRESHOLD_": str(32 << 20)}
Done = Callable[[int], object]
"""Is called with how many more are done."""


def ignore_count(count: int) -> None:
    """Note nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfflineStudy:
    """What is asked of which systems, about which scenes."""

    recordings: tuple[Path, ...]
    systems: tuple[str, ...]
    operators: tuple[str, ...]
    scenes: int  # at most
    seed: int
    folder: Path
    far: tuple[float, ...] = FAR_DISTANCES  # m, of long-range errors
    saved: SavedTests | None = None  # the tests that are judged; None: all operators in all scenes

    @property
    def scene_parts(self) -> int:
        """Into how many parts the work on a scene divides: as recorded, and under each operator."""
        return 1 + len(self.operators)

    def make_header(self) -> dict[str, Any]:
        """Return what makes equal studies equal: settings, scenes and weights."""
        chosen = [source.name for source in self.select_sources()]
        return {
            "recordings": [path.name for path in self.recordings],
            "systems": {name: compute_system_digest(name) for name in self.systems},
            "operators": list(self.operators),
            "seed": self.seed,
            "far": list(self.far),
            "scenes": len(chosen),
            "scenes_sha256": hashlib.sha256("\n".join(chosen).encode()).hexdigest(),
            **({} if self.saved is None else {"tests_sha256": self.saved.digest}),
        }

    def select_sources(self) -> list[SceneSource]:
        """Return scenes of all scenarios in random order, each with an earlier moment.

        With saved tests, all of their scenes.
        """
        known = list_scene_sources(list(self.recordings), first_moment=FIRST_MOMENT)
        if not known:
            raise UserError(f"{self.recordings[0]}: no scenario has three moments")
        order = make_named_stream(self.seed, "scenes").permutation(len(known))
        if self.saved is None:
            return [known[number] for number in order[: self.scenes]]
        if missing := self.saved.scenes - {source.name for source in known}:
            raise UserError(f"{self.recordings[0]}: no scene {min(missing)} of the saved tests")
        return [known[number] for number in order if known[number].name in self.saved.scenes]

    def is_tested(self, scene: str, operator: str) -> bool:
        """Return whether a scene is judged under an operator."""
        return self.saved is None or (scene, operator) in self.saved.by_name


def compute_system_digest(system: str) -> str:
    """Return the digest of the files that a system reads; nothing if it reads none."""
    settings = dict(read_system_settings(system))
    kind = find_class(settings.pop("_target_"), f"system.{system}")
    files = kind.files(**settings) if hasattr(kind, "files") else []
    content = b"".join(read_within(path, CHECKPOINT, follow=True) for path in sorted(files))
    return hashlib.sha256(content).hexdigest() if files else ""


def run_study(
    study: OfflineStudy, workers: int, done: Done, part_done: Done = ignore_count
) -> None:
    """Compute all blocks that are not there yet.

    Args:
        study: what is asked.
        workers: processes.
        done: is called with numbers of scenes.
        part_done: is called with numbers of parts of scenes, `study.scene_parts` of each.
    """
    chosen = study.select_sources()
    refuse_without_pictures(study.systems, chosen)
    begin_records(study.folder, study.make_header())
    # a block has a file: those that are there are done
    blocks = split_into_blocks(len(chosen), BLOCK)
    left = []
    for number, block in enumerate(blocks):
        if is_block_written(study.folder, number):
            done(len(block))
            part_done(len(block) * study.scene_parts)
        else:
            left.append((number, [chosen[scene] for scene in block]))
    work = partial(compute_block, study)
    # one thread for each process: more would compete for the cores
    with limit_process_threads():
        if workers == 1 or len(left) < 2:
            # this process notes scene after scene
            for task in left:
                work(task, done, part_done)
            return
        spawn = multiprocessing.get_context("spawn")
        counts = SharedCount(spawn.Value("i", 0), done), SharedCount(spawn.Value("i", 0), part_done)
        with spawn.Pool(workers, keep_counts, [count.value for count in counts]) as pool:
            computing = pool.imap_unordered(partial(compute_counted_block, study), left)
            for _ in left:
                # scenes of blocks that are not finished count, too, and parts of scenes
                while not is_next_ready(computing):
                    for count in counts:
                        count.pass_on()
            for count in counts:
                count.pass_on()


def is_next_ready(results: IMapIterator[int]) -> bool:
    """Return whether another block is finished, after a short wait; its exception is raised."""
    try:
        results.next(SCENE_POLL)
    except multiprocessing.TimeoutError:
        return False
    return True


class SharedCount:
    """What several processes count, passed on in the process that shows how far all is.

    Args:
        value: that all processes add to.
        done: is called with what was added.
    """

    def __init__(self, value: Synchronized[int], done: Done) -> None:
        self.value, self._done, self._noted = value, done, 0

    def pass_on(self) -> None:
        """Call with what was added since the last time."""
        now = self.value.value
        self._done(now - self._noted)
        self._noted = now


_counts: list[Synchronized[int]] = []


def keep_counts(*counts: Synchronized[int]) -> None:
    """Keep the counts of scenes and of their parts, in a process that computes blocks."""
    _counts[:] = counts


def compute_counted_block(study: OfflineStudy, task: tuple[int, Sequence[SceneSource]]) -> int:
    """Compute one block; scenes and their parts are counted for the process that shows them."""
    scenes, parts = _counts
    return compute_block(study, task, partial(add_to_count, scenes), partial(add_to_count, parts))


def add_to_count(count: Synchronized[int], more: int) -> None:
    """Add to a count that other processes add to."""
    with count.get_lock():
        count.value += more


@contextmanager
def limit_process_threads() -> Iterator[None]:
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


_systems: dict[str, AskableSystem] = {}


def compute_block(
    study: OfflineStudy,
    task: tuple[int, Sequence[SceneSource]],
    done: Done = ignore_count,
    part_done: Done = ignore_count,
) -> int:
    """Compute one block, write it, and return how many scenes it has.

    Args:
        study: what is asked.
        task: number of the block, and its scenes.
        done: is called after each scene.
        part_done: is called after each part of a scene.
    """
    number, block = task
    for name in study.systems:
        if name not in _systems:
            _systems[name] = build_named_system(name)
    rows = make_empty_rows()
    systems = {name: _systems[name] for name in study.systems}
    tests = select_catalogue_entries(study.operators)
    for source in block:
        asking = SceneRows(study=study, scene=read_scene(source), rows=rows)
        asking.ask_systems(systems, tests, part_done)
        done(1)
    write_block(study.folder, number, rows)
    return len(block)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class AskedSystems:
    """Systems by name, by what rules each is judged, and its answer to the recorded scene."""

    systems: dict[str, AskableSystem]
    rules: dict[str, JudgingRules]
    before: dict[str, SystemAnswer]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SceneRows:
    """One scene of a study, and the rows that come of it."""

    study: OfflineStudy
    scene: CooperativeScene
    rows: TableRows

    def ask_systems(
        self,
        systems: dict[str, AskableSystem],
        tests: dict[str, CatalogueEntry],
        part_done: Done = ignore_count,
    ) -> None:
        """Ask all systems about the scene, and about what every operator makes of it.

        Args:
            systems: by name.
            tests: operators with their relations, by name.
            part_done: is called after the recorded scene, and after each operator.
        """
        scene, before = self.scene, dict[str, SystemAnswer]()
        sight, objects = (
            measure_sight(scene),
            select_checked_objects(scene, scene, TruthExpectation()),
        )
        add_box_rows(self.rows, scene, objects)
        # sweeps as recorded, and the control of realism
        noise = make_named_stream(self.study.seed, CORRUPTED_OPERATOR, scene.source.name)
        add_sweep_row(self.rows, scene, RECORDED_OPERATOR, scene.ego)
        add_sweep_row(self.rows, scene, CORRUPTED_OPERATOR, corrupt_view(scene.ego, noise))
        # the scene as it was recorded
        rules = {name: get_judging_rules(system) for name, system in systems.items()}
        for name, system in systems.items():
            before[name] = ask_system(system, scene)
            judged = select_checked_objects(scene, scene, TruthExpectation(), rules[name])
            judge = self.make_judge_context(
                name,
                RECORDED_OPERATOR,
                sight=sight,
                key=("recorded", "before"),
                of=judged,
                images=scene.ego.images,
            )
            add_check_rows(self.rows, before[name], judge)
            add_score_row(self.rows, before[name], judge)
        part_done(1)
        # what every operator makes of it
        asked = AskedSystems(systems=systems, rules=rules, before=before)
        for operator, test in tests.items():
            if self.study.is_tested(scene.source.name, operator):
                self.ask_about_change(operator, test, asked, sight)
            part_done(1)

    def ask_about_change(
        self, operator: str, test: CatalogueEntry, asked: AskedSystems, sight: AgentSight
    ) -> None:
        """Ask all systems about what one operator makes of the scene.

        Args:
            operator: its name.
            test: the operator with its relation.
            asked: the systems, and what they answered to the recorded scene.
            sight: what the agents of the recorded scene see.
        """
        scene = self.scene
        follow = make_follow_up(scene, operator, test, seed=self.study.seed, sight=sight)
        if self.study.saved is not None:
            refuse_changed_test(self.study.saved, scene, operator, follow)
        if isinstance(follow, str):
            self.add_skip_row("", operator, follow)
            return
        if follow.scene.ego.points_in_lidar is not scene.ego.points_in_lidar:
            add_sweep_row(self.rows, scene, operator, follow.scene.ego)
        for name, system in asked.systems.items():
            rules = asked.rules[name]
            unseen = describe_unread_change(test.operator, system)
            if unseen := unseen or describe_unseen_change(follow, rules):
                self.add_skip_row(name, operator, unseen)
                continue
            try:
                given, source = ask_system(system, follow.scene), asked.before[name]
                # some operators compare with another scene, such as the dry one
                if follow.source is not scene:
                    source = ask_system(system, follow.source)
            except AttemptError as why:  # no such message can be changed so
                self.add_skip_row(name, operator, str(why))
                continue
            fitted = fit_to_window(follow, scene, rules)
            self.add_answer_rows(name, test, follow=fitted, answers=AnswerPair(source, given))

    def add_answer_rows(
        self, system: str, test: CatalogueEntry, *, follow: FollowUp, answers: AnswerPair
    ) -> None:
        """Add the rows of a system's answers."""
        add_measure_rows(self.rows, test, system, follow=follow, answers=answers)
        for (side, hits), objects in follow.objects.items():
            judge = self.make_judge_context(
                system,
                follow.operator,
                sight=follow.sight,
                key=(side, hits),
                of=objects,
                images=follow.scene.ego.images,
            )
            given = answers.source if side == "dry" else answers.follow
            add_check_rows(self.rows, given, judge)
            if (side, hits) == ("changed", "before"):
                add_score_row(self.rows, given, judge)
                if not test.placebo:
                    add_user_rows(self.rows, given, judge)

    def make_judge_context(
        self,
        system: str,
        operator: str,
        *,
        sight: AgentSight,
        key: tuple[Side, ByHits],
        of: JudgedObjects,
        images: tuple[CameraImage, ...],
    ) -> JudgeContext:
        """Return what an answer is held against."""
        head = self.make_scene_head(system, operator)
        side, hits = key
        return JudgeContext(
            head=head,
            side=side,
            hits=hits,
            objects=of,
            sight=sight,
            far=self.study.far,
            images=images,
        )

    def add_skip_row(self, system: str, operator: str, why: str) -> None:
        """Add that an operator could not change the scene."""
        self.rows["skipped"].append({**self.make_scene_head(system, operator), "reason": why})

    def make_scene_head(self, system: str, operator: str) -> dict[str, str]:
        """Return what a row of this scene begins with."""
        return make_row_head(self.scene.source.name, self.scene.source.cluster, system, operator)
