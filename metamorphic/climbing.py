"""MultiTest's search over recorded scenes (algorithm 1): insertions that raise the fitness stay.

From every scene it starts again: a road user is put somewhere by chance, and stays if the system's
errors weigh more by MultiTest's fitness than before. Next to it, each scene gets as many road users
by chance alone, with the same number kept: what guidance is compared with. The fitness holds the
errors against ground truth, so that more errors in what it keeps are no surprise; whether there
are more for each object is what the table says.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from analysis.statistics.intervals import Estimate, mean, ratio
from harness.files import write_whole
from harness.randomness import stream
from harness.records.reading import read_json
from harness.vocabulary import Boxes, Floats
from metamorphic.answers import Perceiving, answer
from metamorphic.checks import Objects, additional, mislocalised, missed
from metamorphic.generation import MADE, Done, flat, in_processes, some_of, write_changed
from metamorphic.guidance import climb, multitest_fitness
from metamorphic.judging import judged_objects
from metamorphic.operators.objects import Insert
from metamorphic.operators.operator import (
    ChangedNothingError,
    DoesNotApplyError,
    Expectation,
    changed_something,
)
from metamorphic.records import begin
from metamorphic.scene import Scene, Source, read_scene, sources
from metamorphic.sheets import Sheet
from metamorphic.space import sampled
from metamorphic.study import digest_of
from metamorphic.systems import system_named

TRIES, MOST = 5, 3
"""Places tried for a road user, and road users at most (MultiTest 4)."""
SIDES = {"recorded": "as recorded", "random": "by chance", "climbed": "by fitness"}
CHECKS = {"missed": missed, "mislocalised": mislocalised, "additional": additional}
HOPELESS = 20
"""Places in a row without room, after which a scene is full."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Climbing:
    """What is searched."""

    recordings: tuple[Path, ...]
    system: str
    scenes: int | None  # at most
    seed: int
    folder: Path
    tries: int = TRIES
    most: int = MOST

    def chosen(self) -> list[Source]:
        """Return all scenes, or so many at random."""
        return some_of(sources(list(self.recordings)), self.scenes, self.seed)

    def header(self) -> dict[str, Any]:
        """Return what makes equal searches equal."""
        return {
            "recordings": [path.name for path in self.recordings],
            "system": {self.system: digest_of(self.system)},
            "scenes": [source.name for source in self.chosen()],
            "seed": self.seed,
            "tries": self.tries,
            "most": self.most,
        }


@dataclass(frozen=True, slots=True, eq=False)
class Crowded:
    """A scene with road users that were inserted."""

    scene: Scene
    new: frozenset[int] = frozenset()

    @property
    def expectation(self) -> Expectation:
        """Return what was done to the ground truth."""
        return Expectation(new=self.new)


def run(climbing: Climbing, workers: int, done: Done) -> list[dict[str, Any]]:
    """Search what is not searched yet, and return a row for each scene."""
    chosen = climbing.chosen()
    begin(climbing.folder, climbing.header())
    (climbing.folder / f".{MADE}").mkdir(exist_ok=True)
    left = [source for source in chosen if not row_file(climbing, source).is_file()]
    done(len(chosen) - len(left))
    in_processes(partial(search, climbing), left, workers, done)
    return [read_json(row_file(climbing, source)) for source in chosen]


def row_file(climbing: Climbing, source: Source) -> Path:
    """Return the file of a scene's row."""
    return climbing.folder / f".{MADE}" / f"{flat(source)}.json"


_systems: dict[str, Perceiving] = {}


def search(climbing: Climbing, source: Source) -> int:
    """Climb from a scene; write where that arrived, if anywhere, and then the row."""
    if climbing.system not in _systems:
        _systems[climbing.system] = system_named(climbing.system)
    system = _systems[climbing.system]
    seed = Crowded(read_scene(source))
    guided, chance = (stream(climbing.seed, name, source.name) for name in ("climb", "chance"))
    reached = climb(
        seed,
        lambda crowded: inserted(crowded, guided),
        lambda crowded: fitness(system, crowded, seed.scene),
        tries=climbing.tries,
        most=climbing.most,
    )
    places = {"recorded": seed, "random": crowded_by_chance(seed, reached.accepted, chance)}
    places["climbed"] = reached.best
    row = {
        "scene": source.name,
        "cluster": source.cluster,
        "accepted": reached.accepted,
        "evaluations": reached.evaluations,
        "sides": {side: errors(system, place, seed.scene) for side, place in places.items()},
    }
    folder = climbing.folder / f"{flat(source)}-climbed"
    if reached.accepted and not folder.exists():
        about = {"operator": "climb", "accepted": reached.accepted, "system": climbing.system}
        about["metamorphic_seed"] = climbing.seed
        write_changed(folder, reached.best.scene, reached.best.expectation, about)
    write_whole(row_file(climbing, source), json.dumps(row) + "\n")
    return 1


def inserted(crowded: Crowded, random: np.random.Generator) -> Crowded | None:
    """Return a scene with a road user more, None if there was no room where it was put."""
    operator = Insert()
    values = sampled(operator.space, random)
    try:
        changed = changed_something(operator, crowded.scene, values, random)
    except (DoesNotApplyError, ChangedNothingError):
        return None
    return Crowded(changed.scene, crowded.new | changed.expectation.new)


def crowded_by_chance(seed: Crowded, count: int, random: np.random.Generator) -> Crowded:
    """Return a scene with so many road users more, wherever there was room."""
    crowded, failed = seed, 0
    while len(crowded.new) < count and failed < HOPELESS:
        more = inserted(crowded, random)
        crowded, failed = (crowded, failed + 1) if more is None else (more, 0)
    return crowded


def fitness(system: Perceiving, crowded: Crowded, seed: Scene) -> float:
    """Return MultiTest's fitness of a system's answer."""
    objects = judged_objects(crowded.scene, seed, crowded.expectation)
    return multitest_fitness(objects.judged, answer(system, crowded.scene).cooperative)


def errors(system: Perceiving, crowded: Crowded, seed: Scene) -> dict[str, Any]:
    """Return fitness, errors and what was exposed to them."""
    objects = judged_objects(crowded.scene, seed, crowded.expectation)
    boxes = answer(system, crowded.scene).cooperative
    return {
        "new": len(crowded.new),
        "fitness": multitest_fitness(objects.judged, boxes),
        "errors": {name: counted(name, boxes, objects) for name in CHECKS},
    }


def counted(name: str, boxes: Boxes, objects: Objects) -> tuple[int, int]:
    """Return how many errors of a kind there are, and among how many."""
    measure = CHECKS[name](boxes, objects)
    return len(measure.breaches), measure.exposed


def sheet(climbing: Climbing, rows: Sequence[dict[str, Any]]) -> Sheet:
    """Return the errors as recorded, with road users by chance, and by fitness."""
    kept = [row for row in rows if row["accepted"]]
    clusters = np.unique([row["cluster"] for row in kept], return_inverse=True)[1].astype(float)
    reached = [sum(row["accepted"] >= number for row in rows) for number in counts_of(climbing)]
    evaluations = np.mean([row["evaluations"] for row in rows]) if rows else 0.0
    shares = ", ".join(
        f"{count} of {len(rows)} by {number} or more"
        for number, count in zip(counts_of(climbing), reached, strict=True)
    )
    return Sheet(
        name="climb",
        title=f"MultiTest's search over {climbing.system}: scenes that a road user made worse",
        head=("road users", "inserted", "fitness", *(f"{name}, %" for name in CHECKS)),
        rows=tuple(tuple(cells(side, kept, clusters)) for side in SIDES) if kept else (),
        note=f"Scenes made worse: {shares}; {evaluations:.1f} answers for each scene. Errors are"
        " shares of what is exposed to them, in the scenes that were made worse, with 95 %"
        " confidence intervals over scenarios.",
    )


def counts_of(climbing: Climbing) -> range:
    """Return the numbers of road users that may be inserted."""
    return range(1, climbing.most + 1)


def cells(side: str, rows: Sequence[dict[str, Any]], clusters: Floats) -> Iterator[str]:
    """Yield a line of the table."""
    sides = [row["sides"][side] for row in rows]
    yield SIDES[side]
    yield str(sum(one["new"] for one in sides))
    yield shown(mean(np.array([one["fitness"] for one in sides]), clusters), 2)
    for name in CHECKS:
        wrong, exposed = np.array([one["errors"][name] for one in sides], np.float64).T
        yield f"{shown(ratio(100 * wrong, exposed, clusters), 1)} of {exposed.sum():.0f}"


def shown(estimate: Estimate, digits: int) -> str:
    """Return a number with its interval, if it has one."""
    value, low, high = (
        f"{number:.{digits}f}" for number in (estimate.value, estimate.low, estimate.high)
    )
    return f"{value} ({low} to {high})" if np.isfinite(estimate.low) else value
