"""When signals asked to stop, as intervals."""

from __future__ import annotations

from harness.campaign.attempt.signals import SignalLog
from harness.evaluation.surrogates.reasons import SignalInterval
from harness.types.vocabulary import LightAhead, LightState


def light(station: float, state: LightState) -> LightAhead:
    return LightAhead(station, station + 20, state)


def test_intervals_last_until_the_step_that_shows_otherwise() -> None:
    log = SignalLog(first_frame=1000)
    log.add_signals(1000, [light(30.0, "red"), light(90.0, "green")])
    log.add_signals(1004, [light(30.0, "yellow"), light(90.0, "red")])
    log.add_signals(1008, [light(30.0, "green"), light(90.0, "red")])
    log.add_signals(1012, [light(30.0, "red"), light(90.0, "off")])
    log.add_signals(1016, [light(30.0, "red")])
    expected = [(30.0, 0, 7), (90.0, 4, 11), (30.0, 12, 17)]
    assert log.list_intervals(17) == [
        SignalInterval(station=station, start=start, last=last) for station, start, last in expected
    ]
