"""The result of a check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

Verdict: TypeAlias = Literal["ok", "warning", "fault"]


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """The result of one check.

    Attributes:
        name: of what was looked at.
        verdict: ok, warning or fault.
        details: what is there.
        cure: what to do; empty where nothing is to be done.
    """

    name: str
    verdict: Verdict  # fault: a campaign on carlite cannot run
    details: str
    cure: str = ""


@dataclass(frozen=True, slots=True)
class DoctorPlaces:
    """Where to look."""

    out: Path  # where campaigns are written
    carla: Path | None = None  # an install of CARLA
    maps: Path | None = None  # towns' OpenDRIVE files


def get_worst_verdict(findings: Sequence[DoctorFinding]) -> Verdict:
    """Return the gravest verdict."""
    order: tuple[Verdict, ...] = ("fault", "warning", "ok")
    return next(
        verdict
        for verdict in order
        if verdict == "ok" or any(f.verdict == verdict for f in findings)
    )
