"""What guides declare that they read is what they read."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from harness.common.errors import UserError
from harness.common.randomness import make_named_stream
from studies.metamorphic.guiding.guides import (
    GUIDES,
    OUTCOME_SCORES,
    CandidateFacts,
    GuideDeclaration,
    choose_candidate_sets,
    choose_candidates,
    rank_by_outcome,
)
from studies.metamorphic.running.generation import KEEP_GUIDES
from studies.metamorphic.storage.records import GUIDANCE_SCORES
from tests.studies.metamorphic.made_boxes import SEEDS

FREE = [name for name, guide in GUIDES.items() if not guide.circular]


def facts_of(seed: int, *, outcomes: int = 0) -> CandidateFacts:
    """Return 60 candidates; outcomes have a seed of their own."""
    random = make_named_stream(seed, "facts")
    scores = make_named_stream(outcomes, "outcomes")
    return CandidateFacts(
        scenes=tuple(f"s{number // 3:02}" for number in range(60)),
        operators=("rain", "fog", "insert") * 20,
        objects=random.integers(1, 20, 60),
        others=random.random(60),
        outcomes={name: scores.random(60) for name in OUTCOME_SCORES},
    )


def test_every_guide_of_the_papers_is_circular() -> None:
    assert set(OUTCOME_SCORES) == set(KEEP_GUIDES) - {"random"}
    assert set(OUTCOME_SCORES) <= set(GUIDANCE_SCORES)
    assert FREE == ["random", "sobol", "crowded", "vgt_others"]


@pytest.mark.parametrize("name", FREE)
@given(seed=SEEDS)
def test_outcomes_change_no_choice_that_is_declared_free_of_them(name: str, seed: int) -> None:
    facts = facts_of(seed)
    chosen = [
        choose_candidates(GUIDES[name], one, 0.2).tolist()
        for one in (facts, facts_of(seed, outcomes=1), facts.hide_outcomes())
    ]
    assert chosen[0] == chosen[1] == chosen[2]
    assert len(chosen[0]) == len(set(chosen[0])) == 12


@pytest.mark.parametrize("name", OUTCOME_SCORES)
def test_a_circular_guide_cannot_choose_before_the_outcome(name: str) -> None:
    facts = facts_of(1)
    chosen = choose_candidates(GUIDES[name], facts, 0.2).tolist()
    assert chosen != choose_candidates(GUIDES[name], facts_of(1, outcomes=1), 0.2).tolist()
    with pytest.raises(UserError, match=f"{name}: reads the answers of the judged network"):
        choose_candidates(GUIDES[name], facts.hide_outcomes(), 0.2)


def test_a_guide_that_reads_more_than_it_declares_gets_nothing_to_read() -> None:
    wrong = GuideDeclaration(
        text="says scene, reads outcomes",
        reads="scene",
        rank=lambda facts, kept, seed: rank_by_outcome(facts, kept, seed, score="vgt"),
    )
    with pytest.raises(UserError, match="reads the answers of the judged network"):
        choose_candidates(wrong, facts_of(1), 0.2)


def test_crowded_and_others_keep_the_highest() -> None:
    facts = facts_of(3)
    kept = choose_candidates(GUIDES["crowded"], facts, 0.25)
    assert facts.objects[kept].min() >= np.delete(facts.objects, kept).max()
    assert facts.others is not None
    kept = choose_candidates(GUIDES["vgt_others"], facts, 0.25)
    assert facts.others[kept].min() > np.delete(facts.others, kept).max()
    with pytest.raises(UserError, match="needs the answers of other networks"):
        choose_candidates(GUIDES["vgt_others"], replace(facts, others=None), 0.25)


def test_chance_has_sets() -> None:
    sets = choose_candidate_sets(GUIDES["random"], facts_of(1), 0.2)
    assert len(sets) == 20
    assert len({tuple(rows.tolist()) for rows in sets}) == 20


def test_sobol_spreads_over_scenes_and_operators() -> None:
    facts = facts_of(1)
    rows = choose_candidates(GUIDES["sobol"], facts, 0.5)
    kinds = [facts.operators[row] for row in rows.tolist()]
    assert max(map(kinds.count, kinds)) - min(map(kinds.count, kinds)) <= 4
    assert len({facts.scenes[row] for row in rows.tolist()}) >= 15
