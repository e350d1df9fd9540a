"""Studies that tests declare, and a driver whose outcomes follow from a key alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import yaml

from harness.common.randomness import make_named_stream
from harness.records.keys import AttemptKey
from studies.decide.declaration import read_declaration
from studies.decide.driving import StudyDriver, StudyState, drive_study
from studies.decide.log import open_decide_log
from studies.decide.planning import DecidePlan, StudyWords, plan_study

STUDY: Mapping[str, Any] = {
    "name": "tried",
    "comparisons": {
        "sharing": {"a": "ideal_single/none", "b": "ideal_late/none"},
        "latency": {
            "a": "ideal_late/none",
            "b": "ideal_late/latency",
            "outcome": "driving_score",
            "question": "either",
            "margin": 0.3,
        },
    },
    "most": 300,
    "batch": 5,
    "routes": "sudden",
    "strata": {"by": ["reveal"], "reveal_edges": [0.6, 0.7]},
}


def write_study(file: Path, **changes: Any) -> Path:
    """Write a study with some keys changed; None leaves a key out."""
    content = {name: value for name, value in {**STUDY, **changes}.items() if value is not None}
    file.write_text(yaml.safe_dump(content, sort_keys=False))
    return file


def plan_written(file: Path, **changes: Any) -> DecidePlan:
    """Return the plan of such a study."""
    write_study(file, **changes)
    return plan_study(StudyWords(declaration=read_declaration(file), file=file, overrides=[]), None)


class InterruptedStudyError(Exception):
    """The driver stops here."""


class Certain:
    """Drives nothing: an attempt's outcomes follow from its key.

    Args:
        rates: of violations, by system and condition.
        batches: after which it stops.
    """

    def __init__(self, rates: Mapping[str, float], batches: int = 1000) -> None:
        self.rates, self._left = rates, batches
        self.outcomes: dict[AttemptKey, dict[str, float]] = {}

    def drive_attempts(self, keys: Sequence[AttemptKey]) -> dict[AttemptKey, dict[str, float]]:
        """Return the outcomes of attempts."""
        if not self._left:
            raise InterruptedStudyError
        self._left -= 1
        given = {key: self._make_outcomes(key) for key in keys}
        self.outcomes |= given
        return given

    def _make_outcomes(self, key: AttemptKey) -> dict[str, float]:
        uniform = make_named_stream(1, "certain", str(key)).random(2)
        failed = float(uniform[0] < self.rates[f"{key.arm.system}/{key.arm.condition}"])
        return {"violation": failed, "driving_score": (1 - 0.6 * failed) * float(uniform[1])}


def follow_study(plan: DecidePlan, driver: Certain, folder: Path) -> StudyState | None:
    """Drive a study to its end, or until the driver stops; return how far it is."""
    folder.mkdir(exist_ok=True)
    with open_decide_log(folder) as log:
        try:
            *_, state = drive_study(plan, cast("StudyDriver", driver), log)
        except InterruptedStudyError:
            return None
        return state
