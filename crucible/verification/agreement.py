"""Whether two drives ended alike: for drives again, and for redraws with a placebo."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from analysis.statistics.intervals import compute_clopper_pearson_interval
from harness.common.errors import UserError

CLEAN = "clean"
DIGITS = 6
"""Decimals of driving scores that are compared."""
ENDING_MEASURES = ("outcome", "kind", "frame", "driving_score")
"""In what drives may agree: violation or none, its kind, its frame, the driving score."""


@dataclass(frozen=True, slots=True)
class ComparedEnding:
    """How a drive ended."""

    kind: str  # of the first violation; clean without one
    frame: int | None  # of the first violation
    driving_score: float

    @property
    def outcome(self) -> bool:
        """Whether it ended in a violation."""
        return self.kind != CLEAN


def parse_drive_ending(ours: Mapping[str, Any]) -> ComparedEnding:
    """Return how the drive of a result ended, from what it holds under `crucible`."""
    try:
        violation, score = ours["violation"], round(float(ours["driving_score"]), DIGITS)
        if violation is None:
            return ComparedEnding(CLEAN, None, score)
        return ComparedEnding(str(violation["kind"]), int(violation["frame"]), score)
    except (KeyError, TypeError, ValueError) as problem:
        raise UserError(f"not a whole result ({problem!r})") from None


@dataclass(frozen=True, slots=True)
class EndingAgreement:
    """How many pairs agree in each measure, and how many do by how the first of them ended."""

    n: int
    equal: Mapping[str, int]  # by measure
    by_outcome: Mapping[str, tuple[int, int]]  # by kind: pairs, and those that agree in all

    @property
    def alike(self) -> int:
        """Pairs that agree in all."""
        return sum(equal for _, equal in self.by_outcome.values())

    def to_record(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        outcomes = {kind: {"n": n, "equal": equal} for kind, (n, equal) in self.by_outcome.items()}
        return {"n": self.n, "equal": dict(self.equal), "by_outcome": outcomes}

    @staticmethod
    def from_record(record: Any) -> EndingAgreement:
        """Return the agreement of a record; KeyError, TypeError or ValueError if it is none."""
        outcomes = {
            str(kind): (int(part["n"]), int(part["equal"]))
            for kind, part in record["by_outcome"].items()
        }
        equal = {name: int(record["equal"][name]) for name in ENDING_MEASURES}
        return EndingAgreement(int(record["n"]), equal, outcomes)


def compute_ending_agreement(
    pairs: Iterable[tuple[ComparedEnding, ComparedEnding]],
) -> EndingAgreement:
    """Return how far pairs agree."""
    listed = list(pairs)
    equal = {
        name: sum(getattr(one, name) == getattr(other, name) for one, other in listed)
        for name in ENDING_MEASURES
    }
    count = Counter(one.kind for one, _ in listed)
    alike = Counter(one.kind for one, other in listed if one == other)
    by_outcome = {kind: (count[kind], alike[kind]) for kind in sorted(count)}
    return EndingAgreement(len(listed), equal, by_outcome)


def format_agreement_share(agreement: EndingAgreement | None, measure: str) -> str:
    """Return the share that agrees in a measure, with its exact 95 % interval."""
    if agreement is None or not agreement.n:
        return "-"
    equal, n = agreement.equal[measure], agreement.n
    low, high = compute_clopper_pearson_interval(equal, n)
    return f"{equal} of {n}, {100 * equal / n:.1f} %\n{100 * low:.1f} to {100 * high:.1f}"
