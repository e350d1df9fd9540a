"""What guidance would keep of a study's tests, which errors that holds, and what the null explains.

Counts rise with crowded scenes. Rates rise with any guide that reads the outcome it is judged by,
even where no test is harder than another. So each rate stands next to that of a world without
weakness, and the gain is what goes beyond it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from harness.types.vocabulary import Floats, Integers
from studies.metamorphic.guiding.gain import (
    NULL_WORLDS,
    GuideJudgement,
    GuideTests,
    KeptSums,
    NullSampling,
    WorldSpread,
    judge_guides,
    measure_null_gain,
)
from studies.metamorphic.guiding.guides import (
    GUIDES,
    OUTCOME_SCORES,
    READS_TEXTS,
    CandidateFacts,
)
from studies.metamorphic.judging.rows import RECORDED_OPERATOR
from studies.metamorphic.tables.at_risk import collect_users_at_risk
from studies.metamorphic.tables.summary import StudyTables
from studies.metamorphic.tables.text_sheet import NOTHING, TextSheet

SHARE = 0.15
COUNTED = ("misled", "occlusion", "long_range_30", "long_range_50")
COUNTED_TEXTS = {
    "misled": "MCE (CooTest 3.1.2)",
    "occlusion": "OE (V2XGen 3.1)",
    "long_range_30": "LE beyond 30 m (V2XGen 3.1)",
    "long_range_50": "LE beyond 50 m (V2XGen 3.1)",
}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CandidatePool:
    """Tests of one system: scores, and counts and exposures of errors, row by row."""

    scores: pd.DataFrame  # by scene and operator
    counts: pd.DataFrame
    exposed: pd.DataFrame
    users: pd.DataFrame  # rows of road users, in any order
    others: Floats | None  # repaired VGT of other systems, their mean

    @property
    def facts(self) -> CandidateFacts:
        """Return what guides may read."""
        index = self.scores.index
        return CandidateFacts(
            scenes=tuple(index.get_level_values(0)),
            operators=tuple(index.get_level_values(1)),
            objects=self.exposed["missed"].to_numpy(np.int64),
            others=self.others,
            outcomes={name: self.scores[name].to_numpy(np.float64) for name in OUTCOME_SCORES},
        )

    @property
    def guides(self) -> list[str]:
        """Return the guides that have what they read."""
        return [name for name in GUIDES if name != "vgt_others" or self.others is not None]

    def select_check(self, check: str) -> GuideTests:
        """Return the tests with the errors of one check."""
        clusters: Integers = np.unique(self.scores["cluster"], return_inverse=True)[1]
        return GuideTests(
            check=check,
            facts=self.facts,
            clusters=clusters,
            errors=self.counts[check].to_numpy(np.float64),
            exposed=self.exposed[check].to_numpy(np.float64),
        )


def build_candidate_pool(tables: StudyTables, system: str) -> CandidatePool:
    """Return the changed scenes of one system that were scored, without placebos."""
    known = read_candidate_scores(tables, system)
    rows = pd.concat([tables.select_rows("checks", system, operator) for operator in tables.tested])
    rows = rows[(rows["side"] == "changed") & (rows["hits"] == "before")]
    counts, exposed = (
        rows.pivot(index=["scene", "operator"], columns="check", values=column).reindex(known.index)
        for column in ("count", "exposed")
    )
    users = [tables.select_rows("users", system, operator) for operator in tables.tested]
    return CandidatePool(
        scores=known,
        counts=counts,
        exposed=exposed,
        users=pd.concat(users),
        others=average_other_scores(tables, system, known.index),
    )


def read_candidate_scores(tables: StudyTables, system: str) -> pd.DataFrame:
    """Return the scores of one system's tests, by scene and operator."""
    scores = [tables.select_rows("scores", system, operator) for operator in tables.tested]
    return pd.concat(scores).set_index(["scene", "operator"])


def average_other_scores(tables: StudyTables, system: str, index: pd.Index) -> Floats | None:
    """Return the mean repaired VGT of all other systems, of each test; None without others.

    Where none of them was asked, minus infinity: the test comes last.
    """
    others = [name for name in tables.systems if name != system]
    if not others:
        return None
    columns = [
        read_candidate_scores(tables, name)["vgt"].reindex(index).clip(lower=-1.0)
        for name in others
    ]
    return pd.concat(columns, axis=1).mean(axis=1).fillna(-np.inf).to_numpy(np.float64)


def list_counted_checks(pool: CandidatePool) -> list[str]:
    """Return the checks that are counted, as far as the study has them."""
    return [name for name in COUNTED if name in pool.counts]


def judge_pool(pool: CandidatePool, check: str) -> dict[str, GuideJudgement]:
    """Return what every guide gains over the null."""
    users = collect_users_at_risk(pool.users, pool.exposed)
    return judge_guides(pool.guides, pool.select_check(check), users, share=SHARE)


def build_guidance_sheets(tables: StudyTables) -> list[TextSheet]:
    """Return for each check the errors in what guides keep, next to those at the null."""
    rows: dict[str, list[tuple[str, ...]]] = {}
    for system in tables.systems:
        pool = build_candidate_pool(tables, system)
        for check in list_counted_checks(pool):
            judged = judge_pool(pool, check)
            rows.setdefault(check, []).extend(
                (system, guide, READS_TEXTS[GUIDES[guide].reads], *format_judgement(judgement))
                for guide, judgement in judged.items()
            )
    return [
        TextSheet(
            name=f"guidance_{check}",
            title=f"Guidance: {COUNTED_TEXTS[check]} in the best {100 * SHARE:g} % of tests",
            head=(
                *("system", "guide", "what it reads", "kept", "errors"),
                *("count", "rate", "rate at the null", "gain over the null"),
            ),
            rows=tuple(of_check),
            names=3,
            note="Errors of exposed road users. Count and rate are multiples of those of random"
            " choice. At the null every road user is lost with the overall rate of the system,"
            f" whatever the test is: mean of {NULL_WORLDS} worlds, and where 95 % of them lie. The"
            " gain is rate by rate at the null, 1 where no test is harder than another. Its 95 %"
            " interval is the wider one of that over scenarios and that over worlds."
            f" `{NOTHING}`: no errors, or the records do not have which road users were exposed."
            " Tests are all changed scenes but those of placebos.",
        )
        for check, of_check in rows.items()
    ]


def format_judgement(judgement: GuideJudgement) -> tuple[str, ...]:
    """Return the cells of a guide."""
    null = NOTHING if judgement.null is None else format_spread(judgement.null.rate)
    return (
        str(judgement.kept),
        f"{judgement.errors:.0f} of {judgement.exposed:.0f}",
        format_multiple(judgement.count),
        format_multiple(judgement.rate),
        null,
        format_multiple(judgement.gain, judgement.low, judgement.high),
    )


def format_multiple(value: float, low: float = math.nan, high: float = math.nan) -> str:
    """Return a multiple, with its interval if there is one."""
    if not math.isfinite(value):
        return NOTHING
    interval = f" ({low:.2f} to {high:.2f})" if math.isfinite(low) else ""
    return f"{value:.2f}{interval}"


def format_spread(spread: WorldSpread) -> str:
    """Return a multiple over worlds."""
    return format_multiple(spread.mean, spread.low, spread.high)


def build_null_sheet(
    tables: StudyTables,
    *,
    systems: Sequence[str],
    rates: Sequence[float],
    worlds: int,
    seed: int = 0,
) -> TextSheet:
    """Return what guides seem to gain where every road user is lost with one probability.

    Args:
        tables: of a study; only its tests and exposed road users are used, and its overall rates.
        systems: whose tests.
        rates: probabilities, next to the rate of the study.
        worlds: how many for each probability.
        seed: of the losses.
    """
    rows, columns = [], dict[str, None]()
    without = dict[str, None]()  # guides that the study has no values of
    null = NullSampling(share=SHARE, worlds=worlds, seed=seed)
    for system in systems:
        pool = build_candidate_pool(tables, system)
        users = collect_users_at_risk(pool.users, pool.exposed)
        checks = [pool.select_check(check) for check in list_counted_checks(pool)]
        columns |= dict.fromkeys(tests.check for tests in checks)
        # at the overall rate of each check, then at given ones
        of_study: dict[tuple[str, str], KeptSums] = {}
        for tests in checks:
            of_study |= null.sample_sums(pool.guides, [tests], users, tests.rate)
        worlds_by_rate = {"as in the study": of_study} | {
            f"{100 * rate:g} %": null.sample_sums(pool.guides, checks, users, rate)
            for rate in rates
        }
        kept = round(SHARE * len(pool.scores)) / len(pool.scores)
        for lost, sums in worlds_by_rate.items():
            for guide in pool.guides:
                cells = [format_null_gain(sums.get((guide, tests.check)), kept) for tests in checks]
                if set(cells) == {NOTHING}:
                    without[guide] = None
                    continue
                rows.append((system, guide, READS_TEXTS[GUIDES[guide].reads], lost, *cells))
    return TextSheet(
        name="null",
        title=f"Guidance in {worlds} worlds without weakness",
        head=("system", "guide", "what it reads", "lost", *columns),
        rows=tuple(rows),
        names=4,
        note="Every road user is lost with one probability, whatever the test is. Cells have the"
        f" rate of errors in the best {100 * SHARE:g} % of tests as a multiple of that of random"
        " choice, where 95 % of the worlds lie, and the multiple of the count after the semicolon."
        + (f" No values in this study: {', '.join(without)}." if without else ""),
    )


def format_null_gain(sums: KeptSums | None, share: float) -> str:
    """Return a cell of the table of the null."""
    if sums is None:
        return NOTHING
    gain = measure_null_gain(sums, share)
    return f"{format_spread(gain.rate)}; {format_multiple(gain.count.mean)}"


def compute_guide_gains(
    tables: StudyTables, system: str, check: str
) -> Mapping[str, GuideJudgement]:
    """Return what every guide gains over the null, of one system."""
    return judge_pool(build_candidate_pool(tables, system), check)


def count_source_scenes(tables: StudyTables) -> int:
    """Return how many recorded scenes a study has."""
    return int(tables.objects[tables.objects["operator"] == RECORDED_OPERATOR]["scene"].nunique())
