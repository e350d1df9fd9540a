"""Guides: which tests are kept, and what each guide has to read for its choice.

A guide that reads the answers of the judged network selects tests by the outcome that is counted
afterwards. It finds many errors even where all tests are equally hard (decision 0091). What a guide
reads is declared here, and the choice of all other guides is made without outcomes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np
from scipy.stats import qmc

from harness.common.errors import UserError
from harness.common.randomness import derive_seed, make_named_stream
from harness.types.vocabulary import Floats, Integers
from studies.metamorphic.judging.guidance import select_best_share

GuideReads = Literal["nothing", "scene", "others", "outcome"]
READS_TEXTS: Mapping[GuideReads, str] = {
    "nothing": "nothing",
    "scene": "the scene",
    "others": "other networks",
    "outcome": "the outcome: circular",
}
RANDOM_SETS = 20


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CandidateFacts:
    """What a guide may read of candidates; a row for each."""

    scenes: tuple[str, ...]
    operators: tuple[str, ...]
    objects: Integers  # road users that are judged
    others: Floats | None = None  # repaired VGT of networks that are not judged, their mean
    outcomes: Mapping[str, Floats] | None = None  # scores by answers of the judged network

    def hide_outcomes(self) -> CandidateFacts:
        """Return what is known before the judged network is asked."""
        return replace(self, outcomes=None)


RankFunction = Callable[[CandidateFacts, int, int], Floats]


@dataclass(frozen=True, slots=True, kw_only=True)
class GuideDeclaration:
    """A way to choose tests.

    `rank` is given the facts, how many are kept, and a seed; it returns a score for each candidate.
    """

    text: str
    reads: GuideReads
    rank: RankFunction
    sets: int = 1  # of different seeds, where chance decides

    @property
    def circular(self) -> bool:
        """Return whether the guide needs the outcome that is counted afterwards."""
        return self.reads == "outcome"


def rank_at_random(facts: CandidateFacts, kept: int, seed: int) -> Floats:
    """Return scores that know nothing."""
    return make_named_stream(seed, "keep").random(len(facts.scenes))


def rank_by_sobol(facts: CandidateFacts, kept: int, seed: int) -> Floats:
    """Return how early a Sobol sequence over scenes and operators meets each candidate.

    Candidates that it meets after as many as are kept have minus infinity.
    """
    names, kinds = sorted(set(facts.scenes)), sorted(set(facts.operators))
    # places of the sequence are pairs of scene and operator
    pairs = zip(facts.scenes, facts.operators, strict=True)
    row_of = {pair: row for row, pair in enumerate(pairs)}
    sampler = qmc.Sobol(2, seed=derive_seed(seed, "sobol"))
    met: dict[int, None] = {}
    # until enough different ones are met
    while len(met) < min(kept, len(row_of)):
        for across, up in sampler.random(64):
            pair = names[int(across * len(names))], kinds[int(up * len(kinds))]
            if pair in row_of and len(met) < kept:
                met[row_of[pair]] = None
    scores = np.full(len(facts.scenes), -np.inf)
    scores[list(met)] = -np.arange(len(met))
    return scores


def rank_by_objects(facts: CandidateFacts, kept: int, seed: int) -> Floats:
    """Return the number of road users: a guide by crowding alone."""
    return facts.objects.astype(np.float64)


def rank_by_others(facts: CandidateFacts, kept: int, seed: int) -> Floats:
    """Return the repaired VGT of networks that are not judged."""
    if facts.others is None:
        raise UserError("vgt_others: needs the answers of other networks; name one to choose by")
    return facts.others


def rank_by_outcome(facts: CandidateFacts, kept: int, seed: int, *, score: str) -> Floats:
    """Return a score of the judged network's answers; refuse where they are not known."""
    if facts.outcomes is None:
        raise UserError(
            f"{score}: reads the answers of the judged network, so tests cannot be chosen by it"
            " before they are judged"
        )
    return facts.outcomes[score]


def make_outcome_guide(score: str, text: str) -> GuideDeclaration:
    """Return a guide by a score of the judged network's answers."""
    return GuideDeclaration(text=text, reads="outcome", rank=partial(rank_by_outcome, score=score))


GUIDES: Mapping[str, GuideDeclaration] = {
    "random": GuideDeclaration(
        text=f"{RANDOM_SETS} sets", reads="nothing", rank=rank_at_random, sets=RANDOM_SETS
    ),
    "sobol": GuideDeclaration(
        text="spread over scenes and operators", reads="nothing", rank=rank_by_sobol
    ),
    "crowded": GuideDeclaration(text="most road users", reads="scene", rank=rank_by_objects),
    "vgt_others": GuideDeclaration(
        text="CooTest 3.4, repaired, of other networks", reads="others", rank=rank_by_others
    ),
    "vgt_published": make_outcome_guide("vgt_published", "CooTest 3.4"),
    "vgt": make_outcome_guide("vgt", "CooTest 3.4, repaired"),
    "v2xgen": make_outcome_guide("v2xgen", "V2XGen 3.3"),
    "multitest": make_outcome_guide("multitest", "MultiTest 3.3"),
}
OUTCOME_SCORES = tuple(name for name, guide in GUIDES.items() if guide.circular)


def choose_candidates(
    guide: GuideDeclaration, facts: CandidateFacts, share: float, seed: int = 0
) -> Integers:
    """Return the rows of the candidates that a guide keeps, ascending.

    Only a guide that declares so is given the outcomes of the judged network.

    Args:
        guide: one of `GUIDES`.
        facts: of all candidates.
        share: of candidates that are kept, 0 to 1.
        seed: of chance.
    """
    seen = facts if guide.circular else facts.hide_outcomes()
    kept = round(share * len(facts.scenes))
    return select_best_share(guide.rank(seen, kept, seed), share)


def choose_candidate_sets(
    guide: GuideDeclaration, facts: CandidateFacts, share: float
) -> list[Integers]:
    """Return what a guide keeps, as often as it has seeds."""
    return [choose_candidates(guide, facts, share, seed) for seed in range(guide.sets)]
