"""Choose tests before any judged network answers: what `crucible metamorphic select` writes.

Every operator is applied once to every scene, as `check` does it, and a guide keeps a share of the
tests. No network is asked, or only one by whose answers the guide chooses and which is not judged.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness.common.errors import AttemptError, UserError
from harness.common.suggestions import describe_unknown_name
from studies.metamorphic.catalogue import CatalogueEntry, select_catalogue_entries
from studies.metamorphic.geometry.sight import AgentSight, measure_sight
from studies.metamorphic.guiding.guides import GUIDES, CandidateFacts, choose_candidates
from studies.metamorphic.guiding.saved_tests import SavedTest, SavedTests, compute_sweep_digest
from studies.metamorphic.judging.following import make_follow_up
from studies.metamorphic.judging.guidance import compute_repaired_vgt
from studies.metamorphic.running.study import Done, OfflineStudy, compute_system_digest
from studies.metamorphic.running.systems import build_named_system
from studies.metamorphic.scenes.answers import AskableSystem, ask_system
from studies.metamorphic.scenes.scene import CooperativeScene, SceneSource, read_scene


@dataclass(frozen=True, slots=True, kw_only=True)
class UnjudgedTest:
    """A test that can be chosen, and what guides may read of it."""

    saved: SavedTest
    objects: int
    other: float  # repaired VGT of the network to choose by; NaN without one


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionSettings:
    """What is chosen among, and how."""

    recordings: tuple[Path, ...]
    operators: tuple[str, ...]
    guide: str
    share: float
    scenes: int  # at most
    seed: int
    by: str | None = None  # the network by whose answers tests are chosen

    def __post_init__(self) -> None:
        """Refuse guides that need the outcome, and a network that no guide reads."""
        if self.guide not in GUIDES:
            raise UserError(f"--guide: {describe_unknown_name('guide', self.guide, GUIDES)}")
        reads = GUIDES[self.guide].reads
        if reads == "outcome":
            raise UserError(
                f"--guide {self.guide}: circular: it reads the answers of the judged network,"
                " which are not known before; choose by another network with vgt_others"
            )
        if (reads == "others") != (self.by is not None):
            raise UserError(
                f"--guide {self.guide}: "
                + ("reads no network; leave out --by" if self.by else "needs --by SYSTEM")
            )
        if not 0 < self.share <= 1:
            raise UserError(f"--share {self.share:g}: must be > 0 and ≤ 1")

    def list_sources(self) -> list[SceneSource]:
        """Return the scenes that `check` would take."""
        study = OfflineStudy(
            recordings=self.recordings,
            systems=(),
            operators=self.operators,
            scenes=self.scenes,
            seed=self.seed,
            folder=Path(),
        )
        return study.select_sources()

    def count_scenes(self) -> int:
        """Return the number of scenes."""
        return len(self.list_sources())


def select_tests(selection: SelectionSettings, done: Done) -> SavedTests:
    """Return the tests that a guide keeps; `done` is given numbers of scenes.

    Args:
        selection: what is chosen among, and how.
        done: is called after each scene.
    """
    entries = select_catalogue_entries(selection.operators)
    by = None if selection.by is None else build_named_system(selection.by)
    candidates: list[UnjudgedTest] = []
    for source in selection.list_sources():
        scene = read_scene(source)
        sight = measure_sight(scene)
        for operator, entry in entries.items():
            candidate = make_unjudged_test(
                scene, operator, entry, seed=selection.seed, sight=sight, by=by
            )
            candidates += [] if candidate is None else [candidate]
        done(1)
    rows = choose_candidates(
        GUIDES[selection.guide], collect_facts(candidates), selection.share, selection.seed
    )
    chosen_by = {} if selection.by is None else {selection.by: compute_system_digest(selection.by)}
    return SavedTests(
        guide=selection.guide,
        reads=GUIDES[selection.guide].reads,
        share=selection.share,
        seed=selection.seed,
        operators=selection.operators,
        candidates=len(candidates),
        chosen_by=chosen_by,
        tests=tuple(candidates[row].saved for row in rows.tolist()),
    )


def make_unjudged_test(
    scene: CooperativeScene,
    operator: str,
    entry: CatalogueEntry,
    *,
    seed: int,
    sight: AgentSight,
    by: AskableSystem | None,
) -> UnjudgedTest | None:
    """Return a scene under an operator as a candidate; None where it cannot be.

    Args:
        scene: as recorded.
        operator: its name in the catalogue.
        entry: the operator.
        seed: of its values.
        sight: of the scene.
        by: the network by whose answers tests are chosen.
    """
    follow = make_follow_up(scene, operator, entry, seed=seed, sight=sight)
    if isinstance(follow, str):
        return None
    try:
        other = np.nan if by is None else compute_repaired_vgt(ask_system(by, follow.scene))
    except AttemptError:  # no such message can be changed so: the last to be chosen
        other = -np.inf
    saved = SavedTest(
        scene=scene.source.name,
        operator=operator,
        values=dict(follow.values),
        sweep=compute_sweep_digest(scene),
    )
    objects = len(follow.objects["changed", "before"].judged)
    return UnjudgedTest(saved=saved, objects=objects, other=float(other))


def collect_facts(candidates: list[UnjudgedTest]) -> CandidateFacts:
    """Return what guides may read of candidates: no outcome, since nothing was judged."""
    others = np.array([candidate.other for candidate in candidates], np.float64)
    return CandidateFacts(
        scenes=tuple(candidate.saved.scene for candidate in candidates),
        operators=tuple(candidate.saved.operator for candidate in candidates),
        objects=np.array([candidate.objects for candidate in candidates], np.int64),
        others=None if np.isnan(others).all() else others,
    )
