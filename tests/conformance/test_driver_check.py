"""`crucible check` of drivers: the shipped ones pass, broken ones fail by name."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agents.conformance.driver_check import CHECKS, findings_of
from agents.driving.driver import Driver
from agents.driving.proposing.idm_driver import IdmDriver
from crucible.check import check_plugin, name_plugin_kind
from harness.types.drivers import RouteDriver
from harness.types.vocabulary import Boxes, Control, EgoObservation, Floats, Route


class Blind(Driver):
    """Sees nothing."""

    def step(self, observation: EgoObservation, detections_in_lidar: Boxes) -> Control:
        return super().step(observation, Boxes.none())


class Forgetful(Driver):
    """Keeps a state over resets."""

    resets = 0

    def reset(self, route: Route) -> None:
        self.resets += 1
        super().reset(route)

    def step(self, observation: EgoObservation, detections_in_lidar: Boxes) -> Control:
        made = super().step(observation, detections_in_lidar)
        return Control(throttle=made.throttle / self.resets, steer=made.steer, brake=made.brake)


class Wild(RouteDriver):
    """Returns what no pedal does."""

    planned_xy: Floats

    def reset(self, route: Route) -> None:
        """Start."""

    def step(self, observation: EgoObservation, detections_in_lidar: Boxes) -> Control:
        return Control(throttle=2.0, steer=0.0, brake=0.0)


@pytest.mark.parametrize("make", [Driver, IdmDriver])
def test_shipped_drivers_pass(make: Callable[[], RouteDriver]) -> None:
    findings = findings_of(make)
    assert [(one.check, one.verdict) for one in findings] == [(name, "passed") for name in CHECKS]


BROKEN = [
    (Blind, "blocker", "warning"),
    (Forgetful, "restarted", "failed"),
    (Wild, "control", "failed"),
]


@pytest.mark.parametrize(("make", "check", "verdict"), BROKEN)
def test_broken_drivers_are_named(
    make: Callable[[], RouteDriver], check: str, verdict: str
) -> None:
    findings = [(one.check, one.verdict) for one in findings_of(make)]
    assert [one for one in findings if one[1] in ("warning", "failed")] == [(check, verdict)]


def test_a_driver_is_a_kind_of_plug_in() -> None:
    assert name_plugin_kind(IdmDriver) == name_plugin_kind(Blind) == "a driver"
    kind, findings = check_plugin("agents.driving.proposing.idm_driver:IdmDriver", ["settings=5"])
    assert kind == "a driver"
    assert findings[0].verdict == "failed"
