"""Traffic: eighty vehicles for ten minutes in both towns, every event and its cause; step times."""

from __future__ import annotations

import time

from tests.carlite.traffic_runner import Scenario, load
from tests.carlite.traffic_watch import Watch

VEHICLES, MINUTES = 80, 10
SEEDS = range(1, 7)
FLEETS = (20, 50, 100)


class Timed(Scenario):
    """A scenario that times the Traffic Manager's share of its ticks."""

    spent = 0.0

    def decide(self) -> None:
        start = time.perf_counter()
        super().decide()
        self.spent += time.perf_counter() - start


def episode(town: str, seed: int) -> tuple[str, str]:
    """Run one seed; print what went wrong and return the count of it."""
    scenario = Scenario(load(town), seed)
    actors = scenario.populate(VEHICLES, seed)
    record = Watch(scenario, actors).run(60.0 * MINUTES)
    if str(record):
        print(f"{town}, seed {seed}\n{record}")
    pace = record.metres / len(actors) / MINUTES
    return (
        f"{town}, seed {seed}: collisions, stuck, off the road, at red; metres a minute",
        f"{len(record.collisions)}, {len(record.stuck)}, {len(record.off_road)}, "
        f"{len(record.ran_red)}; {pace:.0f}",
    )


def step_time(town: str, count: int) -> tuple[str, str]:
    """Time the Traffic Manager's share of a tick, in traffic that moves."""
    scenario = Timed(load(town), 1)
    scenario.populate(count, 1)
    scenario.run(20.0)
    scenario.spent = 0.0
    scenario.run(30.0)
    return f"{town}, {count} vehicles: Traffic Manager, ms a tick", f"{scenario.spent / 0.6:.3f}"


def run() -> list[tuple[str, str]]:
    """Return what was measured in two towns."""
    names = ["Crucible05", "Town05"]
    rows = [step_time(town, count) for town in names for count in FLEETS]
    return rows + [episode(town, seed) for town in names for seed in SEEDS]
