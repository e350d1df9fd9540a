"""The check of an export: with a made-up campaign, in a folder that is removed afterwards."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from harness.campaign.exports.export import AttemptValues, CampaignFacts, Export
from harness.common.findings import Finding, make_checks
from harness.records.arms import Arm

ARMS = tuple(
    Arm((("system", system), ("cooperation", "ahead"), ("condition", condition)))
    for system, condition in (("late", "none"), ("late", "latency"))
)
KNOWN = {"driving_score": 80.0, "completion": 1.0, "collided": 0.0, "violated": 0.0}
CHECKS = {
    "declared": "it overrides start, attempt or end",
    "runs": "takes a campaign, attempts with and without average precision, and means",
    "resumed": "another instance takes the rest of a campaign",
}


class ExportExamination:
    """Puts one export to all checks; whatever it writes by a relative path is removed."""

    def __init__(self, make: Callable[[], Export]) -> None:
        self._make = make

    def list_findings(self) -> list[Finding]:
        """Make every check, in order."""
        checks = {
            "declared": self._check_declaration,
            "runs": self._check_runs,
            "resumed": self._check_resumed,
        }
        with enter_temporary_folder():
            return make_checks(
                {name: (CHECKS[name], check) for name, check in checks.items()},
                needed=("declared", "runs"),
            )

    def _check_declaration(self) -> Iterator[Finding]:
        made = type(self._make())
        if all(
            getattr(made, name) is getattr(Export, name) for name in ("start", "attempt", "end")
        ):
            yield Finding("declared", "failed", "it overrides neither start nor attempt nor end")

    def _check_runs(self) -> Iterator[Finding]:
        pass_made_up_campaign(self._make(), seeds=(1, 2))
        yield from ()

    def _check_resumed(self) -> Iterator[Finding]:
        pass_made_up_campaign(self._make(), seeds=(1,))
        pass_made_up_campaign(self._make(), seeds=(2,))
        yield from ()


def pass_made_up_campaign(export: Export, seeds: tuple[int, ...]) -> None:
    """Pass on a campaign of one route, as a runner does."""
    export.start(
        CampaignFacts(
            folder=Path("runs/check"),
            study="check",
            digest="0123abcd",
            revision="",
            simulator="carlite",
            settings={"seeds": str(list(seeds)), "tick": 0.05, "live": None, "dry_run": False},
        )
    )
    for step, seed in enumerate(seeds):
        for arm in ARMS:
            # average precision is not known where there was nothing to detect
            values = KNOWN | ({"ap": 0.7} if step else {})
            export.attempt(
                AttemptValues(arm=arm, route="0", seed=seed, step=step, values=values, violation="")
            )
    export.end({arm: {**KNOWN, "attempts": float(len(seeds))} for arm in ARMS})


@contextmanager
def enter_temporary_folder() -> Iterator[None]:
    """Work in a folder that is removed when the block ends."""
    before = Path.cwd()
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def findings_of(make: Callable[[], Export]) -> list[Finding]:
    """Return what the check of an export finds."""
    return ExportExamination(make).list_findings()
