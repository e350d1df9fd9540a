"""The check of disturbances: shipped ones pass it, and each mistake fails where it is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from crucible.check import main
from harness.channel.disturbance import Disturbance
from harness.channel.effects import Shift
from harness.checks.disturbance import CHECKS, DisturbanceExamination
from harness.types.vocabulary import Boxes, Message, Observation
from tests.channel.test_independence import EVERY


class Late(Disturbance):
    name = "late"

    def delay(self, message: Message) -> float:
        random = self.random_at(message.sender, message.capture_frame)
        return float(random.uniform(0.1, 1.0))


class Nameless(Late):
    name = Disturbance.name


class NothingAsked(Late):
    @property
    def size_zero(self) -> bool:
        return True


class Raises(Late):
    def delay(self, message: Message) -> float:
        raise KeyError("delay")


class Backwards(Disturbance):
    """Only sometimes, and never where an undisturbed message would not arrive at once too."""

    name = "backwards"

    def delay(self, message: Message) -> float:
        return -0.001


class NowhereAtAll(Late):
    def shift(self, observation: Observation) -> Shift:
        return Shift(yaw=float("nan")) if observation.kind == "vehicle" else Shift()


class Writes(Disturbance):
    name = "writes"

    def alter(self, message: Message) -> Message:
        if isinstance(message.payload, Boxes) and message.payload.geometry.flags.writeable:
            message.payload.geometry[:, 0] += 1.0
        return replace(message, payload=Boxes.none())


class Idle(Disturbance):
    name = "idle"
    certain = True

    def inert(self) -> str | None:
        return None


class Unseeded(Late):
    def delay(self, message: Message) -> float:
        return float(np.random.default_rng().uniform(0.1, 1.0))


class SameForAllSeeds(Late):
    def delay(self, message: Message) -> float:
        return 0.5


class Remembers(Late):
    def __init__(self) -> None:
        super().__init__()
        self.random_of_all = np.random.default_rng(3)

    def delay(self, message: Message) -> float:
        return float(self.random_of_all.uniform(0.1, 1.0)) + super().delay(message)


class Shared(Late):
    """One stream for all senders."""

    def reset(self, seed: int, route: str) -> None:
        super().reset(seed, route)
        self.random_of_all = self.random("all")

    def delay(self, message: Message) -> float:
        return float(self.random_of_all.uniform(0.1, 1.0))


def verdicts(make: Callable[[], Disturbance]) -> dict[str, str]:
    return {
        finding.check: finding.verdict for finding in DisturbanceExamination(make).list_findings()
    }


@pytest.mark.thorough
@pytest.mark.parametrize("name", EVERY)
def test_shipped_disturbances_pass(name: str) -> None:
    make, _ = EVERY[name]
    assert verdicts(make) | {"time": "passed"} == dict.fromkeys(CHECKS, "passed")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("named", "check"),
    [
        (Nameless, "declared"),
        (NothingAsked, "declared"),
        (Raises, "numbers"),
        (Backwards, "numbers"),
        (NowhereAtAll, "numbers"),
        (Writes, "inputs"),
        (Idle, "acts"),
        (Unseeded, "deterministic"),
        (Remembers, "reset"),
        (Shared, "independent"),
    ],
)
def test_a_mistake_fails_its_check(named: type[Disturbance], check: str) -> None:
    failed = [name for name, verdict in verdicts(named).items() if verdict == "failed"]
    assert failed[:1] == [check]


def test_a_disturbance_without_chance_is_to_be_declared() -> None:
    assert verdicts(SameForAllSeeds)["seed"] == "warning"


def test_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["harness.channel.interference.loss:Loss", "probability=0.3"]) == 0
    assert "as a disturbance" in capsys.readouterr().out
    assert main(["tests.checks.test_disturbance:Shared"]) == 1
    assert "change with another sender" in " ".join(capsys.readouterr().out.split())
    assert main(["harness.channel.interference.loss:Loss", "probability=3"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
