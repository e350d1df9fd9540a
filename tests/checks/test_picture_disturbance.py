"""The check of disturbances of pictures: shipped ones pass, and each fault has its finding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from harness.channel.disturbance import Disturbance
from harness.channel.interference.pictures import (
    Blur,
    DroppedCamera,
    Glare,
    Miscalibration,
    Night,
)
from harness.checks.disturbance import findings_of
from harness.types.vocabulary import CameraImage, Observation

Images = tuple[CameraImage, ...]


class Broken(Disturbance):
    name = "broken"
    of_pictures = True

    def __init__(self, fault: str) -> None:
        super().__init__(("ego", "roadside", "vehicle"))
        self.fault, self.calls = fault, 0

    def see(self, images: Images, observation: Observation) -> Images:
        self.calls += 1
        if self.fault == "runs":
            return images[:2]
        if self.fault == "inputs":
            images[0].pixels[:] += 1
        if self.fault == "pictures":
            return tuple(replace(one, pixels=one.pixels[::2]) for one in images)
        chance = int(np.random.default_rng().integers(1, 99))
        amounts = {"acts": 0, "deterministic": chance, "reset": self.calls}
        amount = amounts.get(self.fault, 5)
        return tuple(replace(one, pixels=np.roll(one.pixels, amount, 1)) for one in images)


@pytest.mark.parametrize(
    "make", [Night, Blur, partial(Glare, azimuth=5.0), DroppedCamera, Miscalibration]
)
def test_shipped_disturbances_pass(make: Callable[[], Disturbance]) -> None:
    assert {finding.verdict for finding in findings_of(make)} == {"passed"}


@pytest.mark.parametrize("fault", ["runs", "pictures", "inputs", "acts", "deterministic", "reset"])
def test_a_fault_has_its_finding(fault: str) -> None:
    failed = {one.check for one in findings_of(partial(Broken, fault)) if one.verdict == "failed"}
    assert fault in failed
