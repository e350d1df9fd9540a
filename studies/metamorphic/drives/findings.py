"""A campaign's drives in pairs, and what of each relation is broken."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from analysis.statistics.intervals import compute_clopper_pearson_interval
from harness.campaign.settings.config import find_class
from harness.common.errors import UserError
from harness.records.arms import NONE, Arm
from harness.records.reading import CampaignRecords
from harness.types.vocabulary import Floats
from studies.metamorphic.drives.conditions import (
    Parts,
    find_condition_relations,
    find_half_conditions,
    is_sensing_only,
)
from studies.metamorphic.drives.drive_records import (
    CampaignDrives,
    DriveRecord,
    read_campaign_drives,
)
from studies.metamorphic.drives.judging import (
    average_over_seeds,
    compute_permutation_p,
    compute_sign_p,
    find_maximum_over_seeds,
    find_routes_beyond_bands,
)
from studies.metamorphic.drives.relations import RELATIONS, DriveRelation
from studies.metamorphic.judging.bands import apply_benjamini_hochberg

DrivePlace = tuple[str, int]
Pairs = Mapping[DrivePlace, tuple[DriveRecord, DriveRecord]]


@dataclass(frozen=True, slots=True, kw_only=True)
class DriveFinding:
    """One test: a relation, an arm, and how often its pairs break it."""

    relation: str
    system: str
    cooperation: str
    source: str  # condition
    follow: str  # condition
    pairs: int
    routes: int
    broken: int  # routes; of D1 and D6 pairs
    expected: float  # by chance, at most; NaN: it is a control
    p: float  # NaN: no test
    rate: float
    low: float
    high: float
    rejected: bool = False  # at the false discovery rate


def evaluate_drive_relations(campaign: CampaignRecords, level: float) -> list[DriveFinding]:
    """Return all tests of a campaign; refuse one that has no pair of any relation."""
    if not 0 < level < 1:
        raise UserError(f"--level {level:g}: must be > 0 and < 1")
    settings = campaign.header.get("settings")
    conditions = settings.get("interference") if isinstance(settings, dict) else None
    if not isinstance(settings, dict) or not isinstance(conditions, dict):
        raise UserError(f"{campaign.folder / 'campaign.yaml'}: not a campaign's settings")
    drives = read_campaign_drives(campaign)
    findings = [*iterate_drive_findings(drives, conditions, settings, level)]
    refuse_no_findings(findings, campaign.folder)
    return mark_discoveries(findings, level)


def refuse_no_findings(findings: Sequence[DriveFinding], folder: Path) -> None:
    """Refuse a campaign without any pair of a relation."""
    if not findings:
        raise UserError(
            f"{folder}: no condition has a relation to another; see"
            " `crucible run study=metamorphic`"
        )


def iterate_drive_findings(
    drives: CampaignDrives,
    conditions: Mapping[str, Parts],
    settings: Mapping[str, Any],
    level: float,
) -> Iterator[DriveFinding]:
    """Yield every test, relation by relation."""
    senseless = {system for system in settings["system"] if is_blind_system(settings, system)}
    meant = {arm: list_arm_relations(arm, conditions, senseless) for arm in drives.by_arm}
    for name, relation in RELATIONS.items():
        for arm in drives.by_arm:
            if name == "D6" and name in meant[arm] and (pairs := pair_drives(drives, arm, NONE)):
                yield make_equality_finding(relation, drives, arm, pairs)
            elif name == "D5":
                for full, half in find_half_conditions(conditions):
                    if half == arm.condition and (pairs := pair_drives(drives, arm, full)):
                        yield make_dose_finding(relation, arm, full, pairs)
            elif name in meant[arm] and (pairs := pair_drives(drives, arm, NONE)):
                if name == "D1":
                    yield make_control_finding(relation, arm, pairs)
                else:
                    yield make_banded_finding(
                        relation, drives, arm, pairs=pairs, meant=meant, level=level
                    )


def list_arm_relations(
    arm: Arm, conditions: Mapping[str, Parts], senseless: Collection[str]
) -> tuple[str, ...]:
    """Return the relations between an arm and its `none`.

    What changes sensing only is no placebo for a system that senses nothing: its drive is equal.
    """
    parts = conditions.get(arm.condition, [])
    if arm.condition == NONE or not parts:
        return ()
    if arm.system in senseless and is_sensing_only(parts):
        return ("D6",)
    return find_condition_relations(parts)


def pair_drives(drives: CampaignDrives, arm: Arm, source: str) -> Pairs:
    """Return an arm's drives, each with that of another condition on the same route and seed."""
    before = drives.by_arm.get(arm.replace_factors(condition=source), {})
    after = drives.by_arm[arm]
    return {place: (before[place], after[place]) for place in after if place in before}


def measure_pairs(relation: DriveRelation, pairs: Pairs) -> dict[DrivePlace, float]:
    """Return the statistic of every pair."""
    assert relation.measure is not None
    return {place: relation.measure(*pair) for place, pair in pairs.items()}


def make_control_finding(relation: DriveRelation, arm: Arm, pairs: Pairs) -> DriveFinding:
    """Return how often a placebo changes what it should not: no test, but what tests stand on."""
    values = measure_pairs(relation, pairs)
    return make_drive_finding(
        relation, arm, NONE, pairs, broken=sum(value > 0 for value in values.values())
    )


def make_banded_finding(
    relation: DriveRelation,
    drives: CampaignDrives,
    arm: Arm,
    *,
    pairs: Pairs,
    meant: Mapping[Arm, tuple[str, ...]],
    level: float,
) -> DriveFinding:
    """Return the test against the placebos of the same arm and routes."""
    # by placebo condition of this arm: the largest value of each route
    placebos = [
        find_maximum_over_seeds(measure_pairs(relation, pair_drives(drives, other, NONE)))
        for other in drives.by_arm
        if "D1" in meant[other] and other == arm.replace_factors(condition=other.condition)
    ]
    # routes that have at least one placebo
    follow = find_maximum_over_seeds(measure_pairs(relation, pairs))
    routes = [route for route in follow if any(route in one for one in placebos)]
    if not routes:
        return make_drive_finding(relation, arm, NONE, pairs, broken=0)
    # (routes,), and of each route (placebos,)
    values = np.array([follow[route] for route in routes])
    others: list[Floats] = [
        np.array([one[route] for one in placebos if route in one]) for route in routes
    ]
    beyond, expected = find_routes_beyond_bands(values, others, level)
    p = compute_permutation_p(values, others)
    return make_drive_finding(
        relation, arm, NONE, pairs, broken=sum(beyond), of=len(routes), expected=expected, p=p
    )


def make_dose_finding(relation: DriveRelation, arm: Arm, full: str, pairs: Pairs) -> DriveFinding:
    """Return the one-sided paired test that half of a disturbance is worse than all of it."""
    # (routes,) more under the half than under the whole
    differences = np.array(list(average_over_seeds(measure_pairs(relation, pairs)).values()))
    moved = int((np.abs(differences) > 0).sum())
    return make_drive_finding(
        relation,
        arm,
        full,
        pairs,
        broken=int((differences > 0).sum()),
        of=len(differences),
        expected=moved / 2,
        p=compute_sign_p(differences),
    )


def make_equality_finding(
    relation: DriveRelation, drives: CampaignDrives, arm: Arm, pairs: Pairs
) -> DriveFinding:
    """Return how many pairs differ in a byte of their trajectory or ground truth."""
    source = arm.replace_factors(condition=NONE)
    unlike = [p for p in pairs if drives.compute_digest(arm, p) != drives.compute_digest(source, p)]
    return make_drive_finding(relation, arm, NONE, pairs, broken=len(unlike), expected=0.0)


def make_drive_finding(
    relation: DriveRelation,
    arm: Arm,
    source: str,
    pairs: Pairs,
    *,
    broken: int,
    of: int | None = None,
    expected: float = math.nan,
    p: float = math.nan,
) -> DriveFinding:
    """Return a test with the exact interval of its rate: each route, or pair, counts once."""
    count = len(pairs) if of is None else of
    low, high = compute_clopper_pearson_interval(broken, count)
    return DriveFinding(
        relation=relation.name,
        system=arm.system,
        cooperation=arm.cooperation,
        source=source,
        follow=arm.condition,
        pairs=len(pairs),
        routes=len({route for route, _ in pairs}),
        broken=broken,
        expected=expected,
        p=p,
        rate=broken / count,
        low=low,
        high=high,
    )


def mark_discoveries(findings: list[DriveFinding], level: float) -> list[DriveFinding]:
    """Return the tests, and which are rejected: at a false discovery rate, or by any breach."""
    tested = [number for number, one in enumerate(findings) if not math.isnan(one.p)]
    rejected = apply_benjamini_hochberg(np.array([findings[number].p for number in tested]), level)
    chosen = {number for number, reject in zip(tested, rejected, strict=True) if reject}
    return [
        replace(one, rejected=number in chosen or (one.expected == 0 and one.broken > 0))
        for number, one in enumerate(findings)
    ]


def is_blind_system(settings: Mapping[str, Any], system: str) -> bool:
    """Return whether a system reads neither points nor messages, by its class."""
    part = settings.get("system", {}).get(system)
    if not isinstance(part, dict) or "_target_" not in part:
        return False
    try:
        named = find_class(part["_target_"], f"system.{system}")
    except UserError:
        return False
    return not getattr(named, "reads_points", True) and not getattr(named, "reads_messages", True)
