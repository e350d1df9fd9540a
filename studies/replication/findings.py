"""The findings of the paper on driving, each with its estimate here, its family and its verdict.

The rules are those of docs/study/replication-protocol.md, which was written before the drives.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd

from analysis.regression.estimators import fit_paper_logit
from analysis.regression.sample import NoFitError, build_regression_sample
from analysis.statistics.intervals import LEVEL
from analysis.statistics.significance import compute_holm_p_values
from harness.types.record_names import PATTERNS
from harness.types.vocabulary import Floats
from studies.replication import paper
from studies.replication.drives import LAST, ReplicationDrives, make_drive_mean
from studies.replication.paper import ALONE, SYSTEMS
from studies.replication.resampled import (
    Combine,
    ResampledEstimate,
    compare_in_percent,
    estimate_resampled,
    subtract_last_from_lowest,
    subtract_means,
    take_mean,
)

Verdict: TypeAlias = Literal[
    "found",
    "found, not after correction",
    "not found: the opposite",
    "not found: the opposite, not after correction",
    "not found",
    "undecided",
]
OUTCOMES = (
    ("driving_score", 1.0, "driving score"),
    ("collided", 100.0, "collision rate, %"),
    ("completion", 100.0, "route completion, %"),
)
"""Columns of attempts, their factor, and their name, in the order of table II."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicatedFinding:
    """A finding of the paper and what these drives say of it.

    Attributes:
        name: as the protocol numbers it, such as A1.
        claim: in the paper's sense.
        sign: +1 or -1, the direction that the paper reports.
        printed: the number that the paper prints; NaN where it prints none.
        estimate: the same number from these drives.
        p_holm: corrected within the family, which is the first letter of the name.
    """

    name: str
    claim: str
    sign: int
    printed: float
    estimate: ResampledEstimate
    p_holm: float = math.nan

    @property
    def family(self) -> str:
        """The letter of its family."""
        return self.name[0]

    @property
    def verdict(self) -> Verdict:
        """What the protocol calls it; of what is not found, whether the opposite is."""
        low, high = self.estimate.low, self.estimate.high
        if not (math.isfinite(low) and math.isfinite(high)):
            return "undecided"
        corrected = self.p_holm < 1 - LEVEL
        if low > 0 if self.sign > 0 else high < 0:
            return "found" if corrected else "found, not after correction"
        if low > 0 or high < 0:
            return (
                "not found: the opposite"
                if corrected
                else "not found: the opposite, not after correction"
            )
        # zero is possible; so is the paper's number, or no number is printed
        excluded = math.isfinite(self.printed) and not low <= self.printed <= high
        return "not found" if excluded else "undecided"


def replicate_findings(drives: ReplicationDrives) -> list[ReplicatedFinding]:
    """Return all findings of the protocol, with p corrected in each family.

    Args:
        drives: that take part.
    """
    findings = [
        *iterate_driving_findings(drives),
        *iterate_error_findings(drives),
        *iterate_odds_findings(drives),
        *iterate_contrast_findings(drives),
    ]
    families: dict[str, list[int]] = {}
    for index, finding in enumerate(findings):
        families.setdefault(finding.family, []).append(index)
    for members in families.values():
        p = np.array([findings[index].estimate.p for index in members])
        for index, corrected in zip(members, compute_holm_p_values(p).tolist(), strict=True):
            findings[index] = replace(findings[index], p_holm=corrected)
    return findings


def iterate_driving_findings(drives: ReplicationDrives) -> Iterator[ReplicatedFinding]:
    """Yield A to D: what cooperation, latency and pose errors do to driving."""
    together = paper.average_driving("none")
    alone = paper.DRIVING[ALONE, "none"]
    # A: cooperation against the ego alone
    tables = drives.align([*((system, "none") for system in SYSTEMS), (ALONE, "none")])
    for name, at, sign, words in (("A1", 0, 1, "raises"), ("A2", 1, -1, "lowers")):
        column, scale, label = OUTCOMES[at]
        gap = scale * subtract_arm([table[column] for table in tables])
        yield ReplicatedFinding(
            name=name,
            claim=f"cooperation {words} the {label}",
            sign=sign,
            printed=together[at] - alone[at],
            estimate=estimate_resampled([make_drive_mean(gap, tables[0])], take_mean),
        )
    # B and C: disturbed against undisturbed
    for family, condition, cause in (
        ("B", "latency", "latency"),
        ("C", "pose_error", "pose errors"),
    ):
        disturbed = paper.average_driving(condition)
        for at, (column, scale, label) in enumerate(OUTCOMES):
            sign = 1 if column == "collided" else -1
            verb = ("raise" if sign > 0 else "lower") + ("s" if condition == "latency" else "")
            yield ReplicatedFinding(
                name=f"{family}{at + 1}",
                claim=f"{cause} {verb} the {label}",
                sign=sign,
                printed=disturbed[at] - together[at],
                estimate=compare_conditions(
                    drives, column, first=condition, second="none", scale=scale
                ),
            )
    # D: the worst of the disturbed arms against the ego alone; the minimum is resampled as well
    arms = [drives.select(system, cause) for cause in paper.CONDITIONS[1:] for system in SYSTEMS]
    arms.append(drives.select(ALONE, "none"))
    scores = [make_drive_mean(arm["driving_score"].to_numpy(np.float64), arm) for arm in arms]
    lowest = min(
        paper.DRIVING[system, cause][0] for system in SYSTEMS for cause in paper.CONDITIONS
    )
    yield ReplicatedFinding(
        name="D1",
        claim="some disturbed cooperative system drives worse than the ego alone, driving score",
        sign=-1,
        printed=lowest - alone[0],
        estimate=estimate_resampled(scores, subtract_last_from_lowest),
    )


def iterate_error_findings(drives: ReplicationDrives) -> Iterator[ReplicatedFinding]:
    """Yield E and F: AP and errors of undisturbed drives with and without a violation."""
    rows = pd.concat([drives.select(system, "none") for system in SYSTEMS])
    violated = rows["violated"].to_numpy(bool)

    def compare(column: str, combine: Combine) -> ResampledEstimate:
        values = rows[column].to_numpy(np.float64)
        groups = [make_drive_mean(values[of], rows[of]) for of in (violated, ~violated)]
        return estimate_resampled(groups, combine)

    yield ReplicatedFinding(
        name="E1",
        claim="drives with a violation have a lower AP, % of the other drives'",
        sign=-1,
        printed=paper.LOWER_PRECISION,
        estimate=compare(f"ap_{LAST}", compare_in_percent),
    )
    for number, pattern in enumerate(PATTERNS, 2):
        yield ReplicatedFinding(
            name=f"E{number}",
            claim=f"drives with a violation have more {pattern}",
            sign=1,
            printed=paper.average_error_rise(pattern),
            estimate=compare(f"{pattern}_{LAST}", subtract_means),
        )
    # F: towards the violation, in drives that last long enough for t1
    before = rows[violated]
    for number, pattern in enumerate(("CCME", "CCLE"), 1):
        rise = (before[f"{pattern}_t3"] - before[f"{pattern}_t1"]).to_numpy(np.float64)
        yield ReplicatedFinding(
            name=f"F{number}",
            claim=f"{pattern} rises towards a violation",
            sign=1,
            printed=math.nan,
            estimate=estimate_resampled([make_drive_mean(rise, before)], take_mean),
        )


def iterate_odds_findings(drives: ReplicationDrives) -> Iterator[ReplicatedFinding]:
    """Yield G: the paper's regression (V-C, V-D) on the six counts of the last ten seconds."""
    names = iter(("G1", "G2", "G3", "G4", "G5"))
    for (condition, pattern), printed in paper.ODDS.items():
        rows = pd.concat([drives.select(system, condition) for system in SYSTEMS]).reset_index()
        yield ReplicatedFinding(
            name=next(names),
            claim=f"{pattern} predicts violations under {condition}, log odds ratio of one error",
            sign=1,
            printed=math.log(printed.ratio),
            estimate=estimate_log_odds(rows, pattern),
        )


def estimate_log_odds(rows: pd.DataFrame, pattern: str) -> ResampledEstimate:
    """Return a term of the paper's regression, with Wald's interval and p as in the paper."""
    nothing = ResampledEstimate(
        value=math.nan,
        low=math.nan,
        high=math.nan,
        p=math.nan,
        n=len(rows),
        ways=rows["way"].nunique(),
    )
    try:
        terms = fit_paper_logit(build_regression_sample(rows, SYSTEMS)).terms
    except NoFitError:
        return nothing
    term = terms[terms["term"] == pattern]
    if term.empty:
        return nothing
    value, low, high, p = term.iloc[0][["odds_ratio", "low", "high", "p"]].to_numpy(np.float64)
    with np.errstate(divide="ignore"):
        low, high = float(np.log(low)), float(np.log(high))
    return replace(nothing, value=math.log(value), low=low, high=high, p=float(p))


def iterate_contrast_findings(drives: ReplicationDrives) -> Iterator[ReplicatedFinding]:
    """Yield H: which errors latency adds, and which pose errors add.

    The paper prints its counts apart for drives with and without a violation, and no number of
    these drives: there is no mean of all drives to compare with.
    """
    for name, kind, more, less in (
        ("H1", "missed", "latency", "pose_error"),
        ("H2", "mislocalised", "pose_error", "latency"),
    ):
        yield ReplicatedFinding(
            name=name,
            claim=f"more {kind} detections under {more} than under {less}",
            sign=1,
            printed=math.nan,
            estimate=compare_conditions(drives, kind, first=more, second=less),
        )


def compare_conditions(
    drives: ReplicationDrives, column: str, *, first: str, second: str, scale: float = 1.0
) -> ResampledEstimate:
    """Return one condition less another, mean of systems, over pairs that all arms have.

    Args:
        drives: that take part.
        column: of the attempts.
        first: the condition that is compared.
        second: the condition that it is compared with.
        scale: from the column's unit to the result's.
    """
    tables = drives.align([(system, cause) for system in SYSTEMS for cause in (first, second)])
    gaps = [
        subtract_arm([table[column], reference[column]])
        for table, reference in zip(tables[::2], tables[1::2], strict=True)
    ]
    mean = scale * np.stack(gaps).mean(axis=0)
    return estimate_resampled([make_drive_mean(mean, tables[0])], take_mean)


def subtract_arm(columns: Sequence[pd.Series]) -> Floats:
    """Return the mean of all columns but the last, less the last.

    Args:
        columns: (pairs,) each, of the same pairs.
    """
    values = np.stack([column.to_numpy(np.float64) for column in columns])
    gap: Floats = values[:-1].mean(axis=0) - values[-1]
    return gap
