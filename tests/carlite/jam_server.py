"""A server that watches its traffic: `python -m tests.carlite.jam_server FILE [options]`.

Every simulated minute it appends what was seen in the episode so far to FILE, a line of JSON.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

from harness.carlite.actors import ActorTable
from harness.carlite.dynamics.collisions import CollisionContact
from harness.carlite.serving import main
from harness.carlite.traffic.manager import TrafficManager
from harness.carlite.world.episode import WorldEpisode
from harness.carlite.world.world import ServerWorld
from tests.carlite.jam_watch import JamWatch

REPORT_EVERY = 1200
"""Ticks."""


class Seen:
    """An episode as the watch wants it."""

    def __init__(self, episode: WorldEpisode) -> None:
        self._episode = episode

    @property
    def table(self) -> ActorTable:
        return self._episode.table

    @property
    def manager(self) -> TrafficManager:
        return self._episode.traffic

    @property
    def contacts(self) -> list[CollisionContact]:
        return self._episode.motion.contacts


class Report:
    """Watches the present episode of a world."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._number = -1

    def look(self, world: ServerWorld) -> None:
        """Take note of a tick, if there is traffic."""
        if not world.traffic.vehicles:
            return
        if world.episode.number != self._number:
            self._number = world.episode.number
            self._watch = JamWatch(Seen(world.episode), world.step)
        self._watch.look()
        if self._watch.ticks % REPORT_EVERY == 0:
            with self._file.open("a") as file:
                file.write(json.dumps(asdict(self._watch.jams)) + "\n")


def watch_worlds(report: Report) -> None:
    """Let every world report after each of its ticks."""
    tick = ServerWorld.tick

    def tick_and_look(self: ServerWorld) -> int:
        frame = tick(self)
        report.look(self)
        return frame

    ServerWorld.tick = tick_and_look  # type: ignore[method-assign]


if __name__ == "__main__":
    watch_worlds(Report(Path(sys.argv[1])))
    sys.exit(main(sys.argv[2:]))
