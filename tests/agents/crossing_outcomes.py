"""How often two cars on made-up ways collide or stand, with and without intentions.

`python -m tests.agents.crossing_outcomes --worlds 30` prints a line for each case; decision 0150
has the numbers.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass

import numpy as np

from harness.types.vocabulary import Route
from tests.agents.crossing_world import CrossingWorld, left_turn, straight_way

SECONDS = 25.0


@dataclass(frozen=True, kw_only=True)
class Case:
    """What the cars hear of each other."""

    apart: float  # m by which their ways to the meeting point differ, at most
    intends: bool = True
    late: int = 0  # planning steps
    lost: frozenset[int] = frozenset()  # numbers of senders that are not heard


def make_ways(random: np.random.Generator, apart: float) -> tuple[list[Route], list[float]]:
    """Return two ways that meet after 15 to 40 m, and the speeds at their starts.

    Half of them are straight ways that cross at 40 to 140 degrees; in the others one car turns
    left across the way of an oncoming one.

    Args:
        random: that samples them.
        apart: metres by which the ways to the meeting point differ, at most.
    """
    first = random.uniform(15.0, 40.0)
    second = max(first + random.uniform(-apart, apart), 15.0)
    speeds = [float(random.choice([0.0, 4.0, 8.0]))] * 2
    if random.random() < 0.5:
        yaw = math.radians(float(random.uniform(40.0, 140.0)))
        start = (-second * math.cos(yaw), -second * math.sin(yaw))
        return [straight_way((-first, 0.0), 0.0), straight_way(start, yaw)], speeds
    turning = left_turn((-first, 0.0), 0.0, first + 2.0, 8.0)
    return [turning, straight_way((second, -3.5), math.pi)], speeds


def describe_outcomes(worlds: int, case: Case) -> str:
    """Return in how many worlds both arrive, the two touch, or one stands until the end."""
    arrived = touched = 0
    for number in range(worlds):
        ways, speeds = make_ways(np.random.default_rng(number), case.apart)
        world = CrossingWorld(
            ways, speeds=speeds, intends=case.intends, late=case.late, lost=case.lost
        ).drive(SECONDS)
        touched += world.touched
        arrived += world.arrived and not world.touched
    stands = worlds - arrived - touched
    return f"{case}: {arrived} arrive, {touched} touch, {stands} stand"


def main() -> None:
    """Print the outcomes of each case."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--worlds", type=int, default=30)
    worlds = options.parse_args().worlds
    for apart in (1.0, 25.0):
        for case in (
            Case(apart=apart, intends=False),
            Case(apart=apart),
            Case(apart=apart, late=2),
            Case(apart=apart, lost=frozenset({0})),
        ):
            print(describe_outcomes(worlds, case), flush=True)


if __name__ == "__main__":
    main()
