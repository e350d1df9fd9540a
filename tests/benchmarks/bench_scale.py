"""A campaign of ten thousand finished attempts: to plan, to resume, to sum up.

The folder is made without driving: one try as campaigns write it, and copies with other results.
`cold` means that nothing of the folder was in memory, where the machine lets us see to that.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from harness.campaign.folder.summary import summarise_campaign
from harness.campaign.planning.estimate import estimate_campaign
from harness.campaign.planning.plan import CampaignPlan, plan_campaign
from harness.campaign.planning.survey import survey_campaign
from harness.campaign.running.work_queue import WorkQueue
from harness.records.ledger import rebuild_ledger
from tests.campaign.many import finish
from tests.campaign.tiny import composed

CHOICES = (
    "routes=crucible05",
    "system=[ideal_single,ideal_late]",
    "interference=[none,latency,loss,pose_error]",
    f"seeds={list(range(63))}",
)
"""32 routes, 5 arms, 63 seeds."""


def run() -> list[tuple[str, str]]:
    """Make the folder, then do each thing once cold and once warm."""
    settings = composed(*CHOICES)
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "campaign"
        planned = finish(folder, settings)
        jobs: dict[str, Callable[[], object]] = {
            "plan": lambda: plan_campaign(settings),
            "resume": lambda: resume(planned, folder),
            "estimate the rest": lambda: estimate_campaign(planned, folder),
            "sum up": lambda: summarise_campaign(folder, planned.attempts),
            "status": lambda: survey_campaign(folder),
        }
        rows = [("attempts", str(len(planned.attempts)))]
        for name, job in jobs.items():
            cold = f"{measured(job)[0]:.2f} cold, " if forget() else ""
            wall, processor = measured(job)
            rows.append((f"{name}, s", f"{cold}{wall:.2f} warm, {processor:.2f} of a processor"))
        return rows


def resume(planned: CampaignPlan, folder: Path) -> None:
    """Do what a runner does before its first try."""
    rebuild_ledger(folder)
    assert not WorkQueue(planned.attempts, folder, 2, False)


def measured(job: Callable[[], object]) -> tuple[float, float]:
    """Return how long a job takes, and how much of that a processor was at work for it."""
    began, worked = time.perf_counter(), time.process_time()
    job()
    return time.perf_counter() - began, time.process_time() - worked


def forget() -> bool:
    """Have the machine forget what it has read of its disks; return whether it let us."""
    os.sync()
    try:
        Path("/proc/sys/vm/drop_caches").write_text("3")
    except OSError:
        return False
    return True
