"""What became of the hazards of an attempt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from harness.world.hazards.hazard import Hazard
from harness.world.hazards.reports import HazardReport
from harness.world.hazards.spec import HazardSpec
from harness.world.routes.kinds import NOT_RUN


def iter_hazard_reports(
    hazards: Iterable[Hazard], not_run: Iterable[HazardSpec]
) -> Iterator[HazardReport]:
    """Yield the final report of every hazard, run or not."""
    for hazard in hazards:
        hazard.conclude_attempt()
        yield hazard.make_report()
    for spec in not_run:
        reason = spec.kind.removeprefix(NOT_RUN)
        yield HazardReport(
            kind=spec.source,
            source=spec.source,
            station=spec.station,
            status="not_run",
            started_at=None,
            reason=reason,
            cause="not_planned",
        )
