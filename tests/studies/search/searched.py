"""A search that takes seconds: a system that leaves the road where messages are late."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from harness.common.randomness import derive_seed
from harness.types.vocabulary import Boxes, Control, EgoObservation, Route, Step
from tests.campaign.systems import Deaf
from tests.campaign.tiny import environment, write_route
from tests.warm import run_warm

BASE_SEED = 1
LATE = 0.5
"""Seconds of age from which on the system leaves the road to the right, in every world."""
TOO_LATE = 0.9
"""From here on it does so in the world of the search alone."""
CONFIG = """\
# @package _global_
defaults:
  - override /system: ideal_late
  - override /interference: none
  - override /traffic: none
routes: {{file: {routes}/routes.xml, hazards: null, only: null}}
seeds: [1]
study: {{name: tiny}}
progress: plain
system:
  ideal_late: {{_target_: tests.studies.search.searched.Veering}}
search:
  sampler: sobol
  seed: 3
  budget: 4
  batch: 2
  startup: 2
  seeds: same
  objectives: [driving_score, gap]
  behaviour:
    message_age: {{unit: s, low: 0.0, high: 1.5, cells: 15}}
  space:
    delay: {{unit: s, low: 0.0, high: 1.2}}
  condition:
    - _target_: harness.channel.interference.latency.Fixed
      seconds: ${{delay}}
"""


class Veering(Deaf):
    """Leaves the road where messages are late; where they are very late, in one world alone.

    A search in that world comes upon the latter, and no repeat does.
    """

    def reset(self, seed: int, route: Route) -> None:
        super().reset(seed, route)
        world = derive_seed(BASE_SEED, route.town, route.name)
        self._in_base_world = seed == derive_seed(world, "system")

    def step(self, *given: object) -> Step:
        observation, messages = given
        assert isinstance(observation, EgoObservation)
        assert isinstance(messages, tuple)
        ages = [observation.time - message.capture_time for message in messages]
        if self._veers(min(ages, default=0.0)):
            return Step(Control(throttle=1.0, steer=1.0), Boxes.none(), Boxes.none())
        return super().step(*given)

    def _veers(self, age: float) -> bool:
        return age > LATE and (age < TOO_LATE or self._in_base_world)

    def share(self, *given: object) -> Boxes:
        return Boxes.none()


def write_configuration(folder: Path, *names: str, text: str = CONFIG) -> Path:
    """Write `conf/search/tiny.yaml` and its route; return where the search will lie."""
    write_route(folder, *(names or ("step",)))
    (folder / "conf" / "search").mkdir(parents=True)
    out = folder / "out"
    (folder / "conf" / "search" / "tiny.yaml").write_text(text.format(routes=folder))
    return out


def line_of(folder: Path, *settings: str) -> list[str]:
    """Return the command line of that search."""
    words = [f"out={folder / 'out'}", *settings]  # that of a file may not be elsewhere
    config = ["tiny", *words, "--config-dir", str(folder / "conf")]
    return [sys.executable, "-m", "crucible", "search", *config]


def crucible(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command."""
    arguments = ["-m", "crucible", *map(str, words)]
    return run_warm(arguments, environment=environment_of(), timeout=500)


def environment_of() -> dict[str, str]:
    """Return the environment in which the system may be named."""
    return {**os.environ, **environment(), "COLUMNS": "200"}
