"""Relations over pairs of drives: a statistic, whether it is exact, and in which direction.

D1 is a control: placebos leave how a drive ends as it is. D2 to D4 are judged by what placebos do
on the same routes, D5 by the signs of routes' differences, D6 by equality.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from studies.metamorphic.drives.drive_records import DriveRecord

OTHER_OUTCOME = 1000.0
"""What another outcome adds to a difference of driving scores, of 100 at most."""
Statistic = Callable[[DriveRecord, DriveRecord], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class DriveRelation:
    """What should hold between a drive and the same drive under a change; 0 is no difference."""

    name: str
    says: str
    statistic: str
    measure: Statistic | None  # None: bytes are compared
    exact: bool = False
    one_sided: bool = False  # only a follow-up that is worse counts


def measure_outcome_change(source: DriveRecord, follow: DriveRecord) -> float:
    """Return 1 if a drive ends otherwise: clean, or another kind of violation."""
    return float(source.outcome != follow.outcome)


def measure_score_drift(source: DriveRecord, follow: DriveRecord) -> float:
    """Return how far the driving score moves; another outcome is more than any such move."""
    moved = abs(source.driving_score - follow.driving_score)
    return moved + OTHER_OUTCOME * measure_outcome_change(source, follow)


def measure_score_loss(source: DriveRecord, follow: DriveRecord) -> float:
    """Return by how much the follow-up's driving score is lower; below 0: it is higher."""
    return source.driving_score - follow.driving_score


RELATIONS = {
    relation.name: relation
    for relation in (
        DriveRelation(
            name="D1",
            says="a placebo: the same outcome",
            statistic="outcome",
            measure=measure_outcome_change,
        ),
        DriveRelation(
            name="D2",
            says="an actor that no road user on the route can meet: the same outcome and score",
            statistic="outcome, score",
            measure=measure_score_drift,
        ),
        DriveRelation(
            name="D3",
            says="a message of a sender that sees nothing new: the same outcome and score",
            statistic="outcome, score",
            measure=measure_score_drift,
        ),
        DriveRelation(
            name="D4",
            says="a hazard 0.1 s off, a body of like size: the same outcome",
            statistic="outcome",
            measure=measure_outcome_change,
        ),
        DriveRelation(
            name="D5",
            says="half of a disturbance: not worse",
            statistic="lower score",
            measure=measure_score_loss,
            one_sided=True,
        ),
        DriveRelation(
            name="D6",
            says="a system that senses nothing, under what changes sensing: the same bytes",
            statistic="bytes",
            measure=None,
            exact=True,
        ),
    )
}
