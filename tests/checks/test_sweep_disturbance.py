"""The check of disturbances of sweeps: shipped ones pass, each mistake fails its own check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from crucible.check import main
from harness.channel.disturbance import Disturbance, Sweep
from harness.channel.interference.stray_points import StrayReturns
from harness.channel.interference.weather import ALL_AGENTS, Fog, Rain, Snow, WetGround
from harness.checks.disturbance import findings_of
from harness.checks.sweep_disturbance import CHECKS
from harness.types.vocabulary import Observation, Surfaces

SHIPPED: dict[str, Callable[[], Disturbance]] = {
    "rain": lambda: Rain(20.0),
    "rain of any rate over wet ground": lambda: Rain(0.1, 50.0, water=0.5),
    "snow": lambda: Snow(5.0),
    "fog": lambda: Fog(50.0),
    "wet ground": lambda: WetGround(1.2),
    "no rain": lambda: Rain(0.0),
    "stray returns": StrayReturns,
    "no stray returns": lambda: StrayReturns(0),
}


class Thinned(Disturbance):
    """Without a tenth of all points."""

    name = "thinned"
    of_sweeps = True

    def __init__(self) -> None:
        super().__init__(ALL_AGENTS)

    def sense(self, sweep: Sweep, observation: Observation) -> Sweep:
        random = self.random_at(observation.sender, observation.frame)
        return of(sweep, self.kept(random, len(sweep.points_in_lidar)))

    def kept(self, random: np.random.Generator, count: int) -> np.ndarray:
        return random.random(count) < 0.9


def of(sweep: Sweep, kept: np.ndarray) -> Sweep:
    surfaces = None if sweep.surfaces is None else sweep.surfaces[kept]
    return replace(sweep, points_in_lidar=sweep.points_in_lidar[kept], surfaces=surfaces)


class Nameless(Thinned):
    name = Disturbance.name


class Doubles(Thinned):
    def sense(self, sweep: Sweep, observation: Observation) -> Sweep:
        doubles: Any = sweep.points_in_lidar.astype(np.float64)
        return replace(sweep, points_in_lidar=1.01 * doubles)


class Infinite(Thinned):
    def sense(self, sweep: Sweep, observation: Observation) -> Sweep:
        return replace(sweep, points_in_lidar=sweep.points_in_lidar / np.float32(0.0))


class AtTheOrigin(Thinned):
    """What is lost is kept at 0, 0, 0, as in CooTest's published code."""

    def sense(self, sweep: Sweep, observation: Observation) -> Sweep:
        points = sweep.points_in_lidar.copy()
        points[::10, :3] = 0.0
        return replace(sweep, points_in_lidar=points)


class Forgetful(Thinned):
    def sense(self, sweep: Sweep, observation: Observation) -> Sweep:
        return replace(super().sense(sweep, observation), surfaces=None)


class Shuffled(Thinned):
    """Points in another order than their surfaces."""

    def sense(self, sweep: Sweep, observation: Observation) -> Sweep:
        random = self.random_at(observation.sender, observation.frame)
        return replace(sweep, points_in_lidar=random.permutation(sweep.points_in_lidar))


class WithoutActors(Thinned):
    def sense(self, sweep: Sweep, observation: Observation) -> Sweep:
        less = super().sense(sweep, observation)
        assert less.surfaces is not None
        return replace(less, surfaces=Surfaces(less.surfaces.labels, less.surfaces.cosines))


class Writes(Thinned):
    def sense(self, sweep: Sweep, observation: Observation) -> Sweep:
        sweep.points_in_lidar[:, 3] *= np.float32(0.999)
        return super().sense(sweep, observation)


class NotQuiteNothing(Thinned):
    @property
    def size_zero(self) -> bool:
        return True


class Idle(Thinned):
    def sense(self, sweep: Sweep, observation: Observation) -> Sweep:
        return sweep

    def inert(self) -> str | None:
        return None


class IdleAndHonest(Idle):
    def inert(self) -> str | None:
        return Disturbance.inert(self)


class Unseeded(Thinned):
    def sense(self, sweep: Sweep, observation: Observation) -> Sweep:
        return of(sweep, self.kept(np.random.default_rng(), len(sweep.points_in_lidar)))


class Remembers(Thinned):
    def __init__(self) -> None:
        super().__init__()
        self.random_of_all = np.random.default_rng(3)

    def sense(self, sweep: Sweep, observation: Observation) -> Sweep:
        return of(sweep, self.kept(self.random_of_all, len(sweep.points_in_lidar)))


class Shared(Thinned):
    """One stream for all agents."""

    def reset(self, seed: int, route: str) -> None:
        super().reset(seed, route)
        self.random_of_all = self.random("all")

    def sense(self, sweep: Sweep, observation: Observation) -> Sweep:
        return of(sweep, self.kept(self.random_of_all, len(sweep.points_in_lidar)))


class SameForAllSeeds(Thinned):
    def sense(self, sweep: Sweep, observation: Observation) -> Sweep:
        return of(sweep, np.arange(len(sweep.points_in_lidar)) % 10 > 0)


class OfMessages(Thinned):
    of_sweeps = False


def verdicts(make: Callable[[], Disturbance]) -> dict[str, str]:
    return {finding.check: finding.verdict for finding in findings_of(make)}


@pytest.mark.thorough
@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_disturbances_pass(name: str) -> None:
    assert verdicts(SHIPPED[name]) | {"time": "passed"} == dict.fromkeys(CHECKS, "passed")


def test_another_disturbance_passes() -> None:
    assert verdicts(Thinned) | {"time": "passed"} == dict.fromkeys(CHECKS, "passed")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("named", "check"),
    [
        (Nameless, "declared"),
        (IdleAndHonest, "runs"),
        (Doubles, "points"),
        (Infinite, "points"),
        (AtTheOrigin, "points"),
        (Forgetful, "surfaces"),
        (Shuffled, "surfaces"),
        (WithoutActors, "surfaces"),
        (Writes, "inputs"),
        (NotQuiteNothing, "zero"),
        (Idle, "acts"),
        (Unseeded, "deterministic"),
        (Remembers, "reset"),
        (Shared, "independent"),
        (OfMessages, "declared"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*encountered in divide")
def test_a_mistake_fails_its_check(named: type[Disturbance], check: str) -> None:
    failed = [name for name, verdict in verdicts(named).items() if verdict == "failed"]
    assert failed[:1] == [check]


def test_a_disturbance_without_chance_is_to_be_declared() -> None:
    assert verdicts(SameForAllSeeds)["seed"] == "warning"


@pytest.mark.thorough
def test_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["harness.channel.interference.weather:Snow", "rate=2"]) == 0
    assert "as a disturbance" in capsys.readouterr().out
    assert main(["tests.checks.test_sweep_disturbance:AtTheOrigin"]) == 1
    assert "lie at 0, 0, 0" in " ".join(capsys.readouterr().out.split())
    assert main(["harness.channel.interference.weather:Snow", "rate=200"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
