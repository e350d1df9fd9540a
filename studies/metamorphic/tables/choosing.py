"""What guidance would keep of a study's candidates, and which errors it holds: next to baselines.

Counts rise with crowded scenes whatever is kept, so rates for each exposed object stand next to
them. Scores that hold the system's own errors select what is then counted: those are circular.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import qmc

from harness.common.randomness import derive_seed, make_named_stream
from harness.types.vocabulary import Integers
from studies.metamorphic.judging.guidance import select_best_share
from studies.metamorphic.judging.rows import RECORDED_OPERATOR
from studies.metamorphic.tables.summary import StudyTables
from studies.metamorphic.tables.text_sheet import TextSheet

SHARE = 0.15
RANDOM_SETS = 20
COUNTED = ("misled", "occlusion", "long_range_30", "long_range_50")
GUIDE_TEXTS = {
    "random": "mean of 20 sets",
    "sobol": "spread over scenes and operators",
    "vgt_published": "CooTest 3.4",
    "vgt": "CooTest 3.4, repaired",
    "v2xgen": "V2XGen 3.3, circular: holds the misses",
    "multitest": "MultiTest 3.3, circular: holds the errors",
}


@dataclass(frozen=True, slots=True, eq=False)
class CandidatePool:
    """Candidates of one system: scores, and counts and exposures of errors, row by row."""

    scores: pd.DataFrame
    counts: pd.DataFrame
    exposed: pd.DataFrame


def build_candidate_pool(tables: StudyTables, system: str) -> CandidatePool:
    """Return the changed scenes of one system that were scored, without placebos."""
    scores = [tables.select_rows("scores", system, operator) for operator in tables.tested]
    known = pd.concat(scores).set_index(["scene", "operator"])
    rows = pd.concat([tables.select_rows("checks", system, operator) for operator in tables.tested])
    rows = rows[(rows["side"] == "changed") & (rows["hits"] == "before")]
    counts, exposed = (
        rows.pivot(index=["scene", "operator"], columns="check", values=column).reindex(known.index)
        for column in ("count", "exposed")
    )
    return CandidatePool(known, counts, exposed)


def select_by_guide(guide: str, pool: CandidatePool, share: float = SHARE) -> list[Integers]:
    """Return the rows that a guide keeps; sets of them where chance decides."""
    count = len(pool.scores)
    if guide == "random":
        random = [make_named_stream(number, "keep") for number in range(RANDOM_SETS)]
        return [select_best_share(one.random(count), share) for one in random]
    if guide == "sobol":
        return [select_by_sobol(pool, round(share * count))]
    return [select_best_share(pool.scores[guide].to_numpy(np.float64), share)]


def select_by_sobol(pool: CandidatePool, count: int) -> Integers:
    """Return the first candidates that a Sobol sequence over scenes and operators meets."""
    index = pool.scores.index
    scenes, operators = index.get_level_values(0), index.get_level_values(1)
    names, kinds = sorted(set(scenes)), sorted(set(operators))
    # places of the sequence are pairs of scene and operator
    row_of = {pair: row for row, pair in enumerate(zip(scenes, operators, strict=True))}
    sampler = qmc.Sobol(2, seed=derive_seed(0, "sobol"))
    met: dict[int, None] = {}
    # until enough different ones are met
    while len(met) < count:
        for across, up in sampler.random(64):
            pair = names[int(across * len(names))], kinds[int(up * len(kinds))]
            if pair in row_of and len(met) < count:
                met[row_of[pair]] = None
    return np.array(sorted(met), np.int64)


def measure_kept_errors(
    pool: CandidatePool, sets: list[Integers], check: str
) -> tuple[float, float]:
    """Return the count of errors in what is kept and the objects exposed, means over sets."""
    counts, exposed = pool.counts[check].to_numpy(), pool.exposed[check].to_numpy()
    return (
        float(np.mean([counts[rows].sum() for rows in sets])),
        float(np.mean([exposed[rows].sum() for rows in sets])),
    )


def list_counted_checks(pool: CandidatePool) -> list[str]:
    """Return the checks that are counted, as far as the study has them."""
    return [name for name in COUNTED if name in pool.counts]


def build_guidance_sheet(tables: StudyTables) -> TextSheet:
    """Return counts and rates of errors in what each guide keeps."""
    rows, checks = [], list[str]()
    for system in tables.systems:
        pool = build_candidate_pool(tables, system)
        checks = list_counted_checks(pool)
        # random sets, as the measure for all guides
        chance = {
            check: measure_kept_errors(pool, select_by_guide("random", pool), check)
            for check in checks
        }
        for guide, what in GUIDE_TEXTS.items():
            sets = select_by_guide(guide, pool)
            cells = [
                format_against_chance(measure_kept_errors(pool, sets, check), chance[check])
                for check in checks
            ]
            rows.append((system, guide, what, str(len(sets[0])), *cells))
    return TextSheet(
        name="guidance",
        title=f"Guidance: errors in the best {100 * SHARE:g} % of candidates",
        head=("system", "guide", "what it is", "kept", *checks),
        rows=tuple(rows),
        names=3,
        note="Errors of exposed objects; in brackets the count and the rate as multiples of those"
        " of random sets. Candidates are all changed scenes but those of placebos.",
    )


def format_against_chance(kept_errors: tuple[float, float], chance: tuple[float, float]) -> str:
    """Return a count with its exposure, and both count and rate by those of chance."""
    (count, exposed), (other, other_exposed) = kept_errors, chance
    shown = f"{count:.0f} of {exposed:.0f}"
    if not (exposed and other and other_exposed):
        return shown
    rate = (count / exposed) / (other / other_exposed)
    return f"{shown} ({count / other:.2f}, {rate:.2f})"


def compute_guide_multiples(
    tables: StudyTables, system: str, check: str
) -> Mapping[str, tuple[float, float]]:
    """Return count and rate of each guide's choice, as multiples of those of random sets."""
    pool = build_candidate_pool(tables, system)
    other, other_exposed = measure_kept_errors(pool, select_by_guide("random", pool), check)
    values = {}
    for guide in GUIDE_TEXTS:
        count, exposed = measure_kept_errors(pool, select_by_guide(guide, pool), check)
        known = exposed and other and other_exposed
        rate = (count / exposed) / (other / other_exposed) if known else np.nan
        values[guide] = (count / other if other else np.nan, rate)
    return values


def count_source_scenes(tables: StudyTables) -> int:
    """Return how many recorded scenes a study has."""
    return int(tables.objects[tables.objects["operator"] == RECORDED_OPERATOR]["scene"].nunique())
