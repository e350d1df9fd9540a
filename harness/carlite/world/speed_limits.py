"""Which speed limit holds where a vehicle is."""

from __future__ import annotations

from harness.carlite.actors import ActorTable
from harness.carlite.arrays import Floats, Ints
from harness.carlite.compiled import compiled
from harness.carlite.towns.lookup import DRIVING, LaneFinder, LaneGrid, find_nearest_segment
from harness.carlite.towns.model import TownLanes

SHARE = 10
"""One vehicle in so many is looked up per tick."""


class SpeedLimits:
    """Keeps the table's speed limits up to date, a share of the vehicles at a time."""

    def __init__(self, lanes: TownLanes) -> None:
        self._limits = lanes.speed_limit
        self._grid = LaneFinder(lanes).grid
        self._turn = 0

    def restart(self) -> None:
        """Let it be the first share's turn."""
        self._turn = 0

    def look_up_next_share(self, table: ActorTable, vehicles: Ints) -> None:
        """Look up the vehicles whose turn it is."""
        self._turn = (self._turn + 1) % SHARE
        self._look_up_share(table, vehicles, self._turn, SHARE)

    def look_up(self, table: ActorTable, slots: Ints) -> None:
        """Look up the vehicles in `slots`."""
        self._look_up_share(table, slots, 0, 1)

    def _look_up_share(self, table: ActorTable, slots: Ints, first: int, every: int) -> None:
        if first < len(slots):
            _look_up_limits(
                self._grid, self._limits, table.position, table.rotation, slots, first, every,
                table.speed_limit,
            )  # fmt: skip


@compiled
def _look_up_limits(
    grid: LaneGrid,
    limits: Floats,
    position: Floats,
    rotation: Floats,
    slots: Ints,
    first: int,
    every: int,
    speed_limits: Floats,
) -> None:
    # every so many slots in a tick: limits change slowly
    for index in range(first, len(slots), every):
        slot = slots[index]
        x, y, z = position[slot]
        segment, _, _ = find_nearest_segment(grid, x, y, z, rotation[slot, 1], DRIVING)
        if segment >= 0:
            speed_limits[slot] = limits[grid.lane[segment]]
