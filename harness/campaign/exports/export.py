"""Exports: classes that pass a campaign's results on to another tool while it runs.

An export is called with what is in the records already. It changes no record, and neither the
digest nor the comparison of a campaign's settings looks at it. What it raises ends the export, not
the campaign.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from harness.common.errors import UserError
from harness.records.arms import Arm


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignFacts:
    """What does not change while a campaign runs.

    Attributes:
        folder: of the campaign.
        study: its name.
        digest: of the settings that change results.
        simulator: name and version.
    """

    folder: Path
    study: str
    digest: str
    revision: str  # of Crucible, from git; empty if it is not known
    simulator: str
    settings: Mapping[str, Any]  # by dotted name: texts, numbers, true or false, None

    @property
    def tags(self) -> dict[str, str]:
        """By what results are searched for in other tools."""
        return {
            "study": self.study,
            "digest": self.digest,
            "revision": self.revision,
            "simulator": self.simulator,
            "folder": str(self.folder),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptValues:
    """One finished attempt.

    Attributes:
        arm: of the attempt.
        route: its name.
        seed: of the attempt.
    """

    arm: Arm
    route: str
    seed: int
    step: int  # counts routes and seeds from 0, the same in all arms: equal steps are pairs
    values: Mapping[str, float]  # what is known, by the name that a table of attempts gives it
    violation: str  # its kind; empty without one


class Export:
    """Is given a campaign, then each attempt that finishes, and the arms' means at the end.

    A subclass overrides what it needs. Its exceptions are reported once and do not stop the
    campaign.
    """

    def start(self, campaign: CampaignFacts) -> None:
        """Start, or resume: attempts that were finished before are not passed again.

        Args:
            campaign: its folder, study, settings and versions.
        """

    def attempt(self, attempt: AttemptValues) -> None:
        """Take one finished attempt.

        Args:
            attempt: its values, those of metrics included.
        """

    def end(self, means: Mapping[Arm, Mapping[str, float]]) -> None:
        """Take the means over all finished attempts of every arm, and close what is open.

        `attempts` among them is how many there are.

        Args:
            means: by arm and name.
        """


def require_package(package: str) -> None:
    """Refuse an export whose package is not installed."""
    if find_spec(package) is None:
        raise UserError(f"{package} is not installed: pip install {package}")


def name_attempt_values(attempt: AttemptValues) -> dict[str, float]:
    """Return an attempt's numbers as other tools name them: `attempt/driving_score`."""
    return {f"attempt/{name}": value for name, value in attempt.values.items()}


def name_mean_values(values: Mapping[str, float]) -> dict[str, float]:
    """Return an arm's means as other tools name them: `mean/driving_score`."""
    return {f"mean/{name}": value for name, value in values.items()}
