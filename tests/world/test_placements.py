"""Placements that were tried are kept: an interrupted generator resumes, and makes the same."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from harness.types.vocabulary import Route
from harness.world.hazards.reports import EncounterReport
from harness.world.hazards.spec import HazardSpec
from harness.world.maps import load_road_network
from harness.world.roads import RoadNetwork
from harness.world.routes.generate import generate_routes
from harness.world.routes.placements import KeptPlacements, read_kept_placements
from tests.conftest import ROOT
from tests.world.test_generate import FEW, WORDS, encounter, generate_once

TOWN = "Crucible05"


class World:
    """Answers by what it is asked, and ends after so many questions, as an interrupted one does."""

    def __init__(self, most: int = 10_000) -> None:
        self.asked: list[HazardSpec] = []
        self.most = most

    def __call__(self, route: Route, hazard: HazardSpec) -> EncounterReport | None:
        if len(self.asked) == self.most:
            raise KeyboardInterrupt
        self.asked.append(hazard)
        # by the route's place, so that equal questions have equal answers
        late = round(float(route.xyz[0, 0])) % 3
        return encounter(reveal=0.6 + late) if late else None


@cache
def load_town() -> RoadNetwork:
    return load_road_network(TOWN, None)


def make(
    check: Callable[[Route, HazardSpec], EncounterReport | None], seed: int = 3
) -> list[HazardSpec]:
    network = load_town()
    return generate_routes(network, TOWN, seed=seed, count=3, kinds=FEW[:1], check=check)[1]


@pytest.mark.parametrize("torn", [False, True])
def test_a_resumed_generator_asks_the_world_only_what_is_new(tmp_path: Path, torn: bool) -> None:
    whole = World()
    hazards = make(whole)
    file = tmp_path / "out" / "placements.jsonl"
    stopped = World(most=len(whole.asked) // 2)
    with pytest.raises(KeyboardInterrupt), KeptPlacements(file, "facts", stopped) as kept:
        make(kept)
    assert len(read_kept_placements(file)) == len(stopped.asked) > 1
    if torn:
        file.write_bytes(file.read_bytes()[:-9])
    resumed = World()
    with KeptPlacements(file, "facts", resumed) as kept:
        assert make(kept) == hazards
    assert resumed.asked == whole.asked[len(stopped.asked) - torn :]
    assert len(read_kept_placements(file)) == len(whole.asked)


@pytest.mark.parametrize(("facts", "seed"), [("others", 3), ("facts", 4)])
def test_what_another_command_has_tried_is_not_taken(tmp_path: Path, facts: str, seed: int) -> None:
    file = tmp_path / "placements.jsonl"
    with KeptPlacements(file, "facts", World()) as kept:
        make(kept)
    alone, other = World(), World()
    hazards = make(alone, seed)
    with KeptPlacements(file, facts, other) as kept:
        assert make(kept, seed) == hazards
    assert other.asked == alone.asked
    assert len(read_kept_placements(file)) == len(other.asked)


@pytest.mark.thorough
def test_a_killed_command_resumes_to_the_same_files(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    """The same seed makes the same files, whether its command was killed or not."""
    whole, out = generate_once(tmp_path_factory), tmp_path / "killed"
    command = [sys.executable, "-m", "crucible", "routes", "generate", *WORDS, "--seed", "5"]
    command += ["--out", str(out)]
    with subprocess.Popen(command, cwd=ROOT) as process:
        until = time.monotonic() + 300
        while not read_kept_placements(out / "placements.jsonl"):
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.01)
        process.kill()
    assert [file.name for file in out.iterdir()] == ["placements.jsonl"]
    subprocess.run(command, cwd=ROOT, check=True, timeout=600)
    for name in ("routes.xml", "hazards.json"):
        assert (out / name).read_bytes() == (whole / name).read_bytes()
    assert sorted(file.name for file in out.iterdir()) == ["hazards.json", "routes.xml"]
