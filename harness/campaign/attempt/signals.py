"""What signals ask the ego to stop: as its system is shown them, and as recorded intervals."""

from __future__ import annotations

from collections.abc import Iterable

from harness.evaluation.surrogates.reasons import SignalInterval
from harness.types.vocabulary import LightAhead
from harness.world.lights import RouteLights
from harness.world.stops import RouteStops

STOPS = ("red", "yellow")


def find_signals_ahead(
    lights: RouteLights, stops: RouteStops | None, station: float
) -> tuple[LightAhead, ...]:
    """Return the lights ahead, and the stop signs where drivers are to heed them."""
    shown = (
        *lights.list_lights_ahead(station),
        *(stops.list_stops_ahead(station) if stops else ()),
    )
    return tuple(sorted(shown, key=lambda light: light.station))


class SignalLog:
    """When each stop line ahead asked to stop."""

    def __init__(self, first_frame: int) -> None:
        self._first_frame = first_frame
        self._since: dict[float, int] = {}
        self._closed: list[SignalInterval] = []

    def add_signals(self, frame: int, lights: Iterable[LightAhead]) -> None:
        """Add a planning step."""
        tick = frame - self._first_frame
        red = {light.station for light in lights if light.state in STOPS}
        for station in set(self._since) - red:
            self._close_interval(station, tick - 1)
        for station in red - set(self._since):
            self._since[station] = tick

    def list_intervals(self, last: int) -> list[SignalInterval]:
        """Return all intervals until the last tick, in the order of their starts."""
        for station in list(self._since):
            self._close_interval(station, last)
        return sorted(self._closed, key=lambda one: (one.start, one.station))

    def _close_interval(self, station: float, last: int) -> None:
        start = self._since.pop(station)
        self._closed.append(SignalInterval(station=station, start=start, last=last))
