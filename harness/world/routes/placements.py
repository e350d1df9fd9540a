"""Placements that were tried in a running world, kept in a file: an interrupted generator resumes.

The running world takes nearly all of a generator's time. A generator that is resumed runs again
from its beginning. As long as it asks the world the same, the answers come from the file. From its
first other question on, the world is asked, and the rest of the file is dropped.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO, TypeAlias

from harness.common.errors import UserError
from harness.common.files import open_here, write_whole
from harness.common.installation import PACKAGES
from harness.common.nesting import parse_json
from harness.common.safe_reading import LEDGER_FILE, read_lines_within
from harness.types.vocabulary import Route
from harness.world.hazards.reports import EncounterReport
from harness.world.hazards.spec import HazardSpec
from harness.world.roads import RoadNetwork

Check: TypeAlias = Callable[[Route, HazardSpec], EncounterReport | None]
"""How a hazard would meet the ego, None where it has no room."""
DIGITS = 16
"""Of a digest, as the file has it."""


def describe_placement_world(network: RoadNetwork, town: str, seed: int) -> str:
    """Return a digest of all that answers depend on: the town, its map, the seed, and the code.

    Args:
        network: the town's roads.
        town: its name.
        seed: of the placements.
    """
    facts = hashlib.sha256(f"{town} {seed}".encode())
    facts.update(network.map.to_opendrive().encode())
    for file in sorted((PACKAGES / "harness" / "world").rglob("*.py")):
        facts.update(file.read_bytes())
    return facts.hexdigest()


class KeptPlacements:
    """A check that answers from its file as long as it is asked the same as before.

    Args:
        file: one line for each placement; made with the first one.
        facts: of the world.
        check: asks the world.
    """

    def __init__(self, file: Path, facts: str, check: Check) -> None:
        self.file, self._facts, self._check = file, facts, check
        self._known = read_kept_placements(file)
        self._count = 0  # placements so far
        self._lines: IO[str] | None = None  # the file, open for writing
        self._stack = ExitStack()

    def __enter__(self) -> KeptPlacements:
        return self

    def __exit__(self, *problem: object) -> None:
        self._stack.close()

    def __call__(self, route: Route, hazard: HazardSpec) -> EncounterReport | None:
        """Return how a hazard would meet the ego, None where it has no room."""
        asked = self._compute_digest(route, hazard)
        if self._count < len(self._known) and self._known[self._count][0] == asked:
            answer = self._known[self._count][1]
        else:
            del self._known[self._count :]
            answer = self._check(route, hazard)
            self._append_placement(asked, answer)
            self._known.append((asked, answer))
        self._count += 1
        return answer

    def _compute_digest(self, route: Route, hazard: HazardSpec) -> str:
        asked = hashlib.sha256(self._facts.encode())
        asked.update(f"{route.name} {json.dumps(asdict(hazard), sort_keys=True)}".encode())
        asked.update(route.xyz.tobytes())
        return asked.hexdigest()[:DIGITS]

    def _append_placement(self, asked: str, answer: EncounterReport | None) -> None:
        """Write a placement; what the file has of another command goes before the first one."""
        if self._lines is None:
            write_whole(self.file, "".join(format_placement(*known) for known in self._known))
        try:
            if self._lines is None:
                opened = open(self.file, "a", encoding="utf-8", opener=open_here)  # noqa: SIM115
                self._lines = self._stack.enter_context(opened)
            self._lines.write(format_placement(asked, answer))
            self._lines.flush()
        except OSError as problem:
            raise UserError(f"{self.file}: cannot be written ({problem.strerror})") from None


def format_placement(asked: str, answer: EncounterReport | None) -> str:
    """Return the line of a placement."""
    return json.dumps({"asked": asked, "answer": answer and asdict(answer)}) + "\n"


def read_kept_placements(file: Path) -> list[tuple[str, EncounterReport | None]]:
    """Return what an interrupted command has tried; a torn or foreign line ends it."""
    kept: list[tuple[str, EncounterReport | None]] = []
    if not file.exists():
        return kept
    with suppress(ValueError, TypeError, KeyError):
        for line in read_lines_within(file, LEDGER_FILE):
            given = parse_json(line)
            answer = given["answer"]
            kept.append((given["asked"], None if answer is None else EncounterReport(**answer)))
    return kept
