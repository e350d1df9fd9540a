"""Injected errors: perfect boxes, and on them errors as they were measured on other drives.

In the window every true box that counts has a perfect detection, but for the errors: an actor that
is missed, or mislocalised by an offset that it keeps, for as many planning steps as such errors
last; and additional boxes that stand still in the world for a while. Detections outside the window,
of parked cars and of true boxes that do not count stay as the system made them.

Every actor has a random stream, so that a larger dose is the smaller one and more, as long as the
drives are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from harness.evaluation.frame_evaluation import bands_of, in_window, visible
from harness.evaluation.interventions.error_model import (
    GHOSTS,
    INJECTABLE,
    read_error_model,
)
from harness.evaluation.interventions.intervention import (
    NO_ACTOR,
    NO_BOX,
    Change,
    Intervened,
    Intervention,
    Scene,
    checked_patterns,
)
from harness.evaluation.patterns import highest
from harness.geometry import boxes_between
from harness.overlap import bev_iou, overlaps_of_a_class
from harness.randomness import stream
from harness.vocabulary import BANDS, Boxes, Floats, Mask, Pose

WORLD = Pose(0.0, 0.0)
NONE, MISSED, MISLOCALISED = "", "ME", "LE"
"""What is wrong with an actor: the ends of the patterns' names."""
MOST_SHARE = 0.95
"""Of true boxes of one kind in one band, with an error of either sort."""
TRIES = 20
"""Offsets and places that are tried before a simple one is taken, or none."""


@dataclass(slots=True, eq=False)
class ActorErrors:
    """One actor's random stream, what is wrong with it now, and its offset."""

    random: np.random.Generator
    state: str | None = None  # None: not seen so far
    offset: Floats | None = None


@dataclass(slots=True, eq=False)
class Ghost:
    """An additional box, standing in the world."""

    in_world: Boxes


class Inject(Intervention):
    """Puts errors on perfect boxes, at measured rates or a multiple of them."""

    safe_from_file = True
    kind: ClassVar[str] = "inject"

    def __init__(
        self,
        model: str,  # a file that `crucible errors` wrote
        times: float = 1.0,  # of the measured rates; 0 for perfect boxes
        patterns: Sequence[str] = INJECTABLE,  # of LCME, LCLE, LADE, CCME, CCLE
    ) -> None:
        self.patterns = checked_patterns(patterns)
        for name in self.patterns:
            if name not in INJECTABLE:
                raise ValueError(
                    f"patterns: {name} repeats a false detection of the ego alone, and ego-alone"
                    f" boxes are never changed; valid: {', '.join(INJECTABLE)}"
                )
        if not (np.isfinite(times) and times >= 0):
            raise ValueError(f"times = {times}: must be ≥ 0")
        self.times, self.file = times, model
        self.model = read_error_model(model)
        self._shares = {
            group: {state: self._share(group, state) for state in (MISSED, MISLOCALISED)}
            for group in "LC"
        }
        for group, shares in self._shares.items():
            if (most := max(shares[MISSED] + shares[MISLOCALISED])) > MOST_SHARE:
                raise ValueError(
                    f"times = {times:g}: {most:.2f} of the boxes of a band would show {group}CME or"
                    f" {group}CLE; {MOST_SHARE} is the most"
                )

    def _share(self, group: str, state: str) -> Floats:
        name = f"{group}C{state}"
        share = self.model.share[name] if name in self.patterns else np.zeros(len(BANDS))
        return np.append(share * self.times, 0.0)  # none beyond the bands

    def reset(self, seed: int, period: float) -> None:
        """Start an attempt; the model's steps must be as long as the attempt's."""
        if not np.isclose(period, self.model.period):
            raise ValueError(
                f"{self.file}: measured at steps of {self.model.period:g} s, and planning steps are"
                f" {period:g} s"
            )
        self._seed = seed
        self._actors: dict[int, ActorErrors] = {}
        self._ghosts: list[Ghost] | None = None
        self._random = stream(seed, "intervention", "ghosts")

    def record(self) -> dict[str, Any]:
        """Return patterns, dose and model."""
        source = {"file": self.file, **self.model.source}
        record = {"kind": self.kind, "patterns": list(self.patterns), "times": self.times}
        return {**record, "model": source}

    def apply(self, scene: Scene) -> Intervened:
        """Return perfect boxes with errors."""
        bands = bands_of(scene.truth.boxes_in_lidar.geometry)
        kept = scene.perceived.cooperative[self._kept(scene)]
        changes: list[Change] = []
        parts = [kept]
        known = self._detected_alone(scene)
        for true in np.flatnonzero(counted(scene)).tolist():
            box = scene.truth.boxes_in_lidar[true : true + 1]
            change = self._error(scene, true, "L" if known[true] else "C", int(bands[true]))
            if change is not None:
                changes.append(change)
                if change.kind == "removed":
                    continue
                box = Boxes(change.after[None, :], box.classes, np.array([change.score]))
            parts.append(box)
        ghosts = self._shown_ghosts(scene)
        changes += [added_ghost(ghosts[row : row + 1]) for row in range(len(ghosts))]
        return Intervened(Boxes.join([*parts, ghosts]), tuple(changes))

    def _kept(self, scene: Scene) -> Mask:
        """Return which detections stay: outside the window, parked, of boxes that do not count."""
        boxes = scene.perceived.cooperative
        overlaps = scene.overlaps(boxes)
        counts = counted(scene)
        of_counted = (overlaps[counts] > 0).any(axis=0)
        of_others = (overlaps[~counts] > 0).any(axis=0)
        outside = ~in_window(boxes.geometry, scene.settings)
        return np.asarray(scene.ignored(boxes) | ((of_others | outside) & ~of_counted))

    def _detected_alone(self, scene: Scene) -> Mask:
        alone = scene.perceived.ego_alone
        return np.asarray(highest(scene.overlaps(alone)) > scene.taus)

    def _error(self, scene: Scene, true: int, group: str, band: int) -> Change | None:
        """Return what is wrong with a true box at this step."""
        actor = int(scene.actors[true])
        errors = self._actors.get(actor)
        if errors is None:
            random = stream(self._seed, "intervention", str(actor))
            errors = self._actors[actor] = ActorErrors(random)
        shares = {state: float(rows[band]) for state, rows in self._shares[group].items()}
        stays = {state: self.model.stay[f"{group}C{state}"] for state in shares}
        before, uniform = errors.state, float(errors.random.random())
        errors.state = next_state(before, shares, stays, uniform)
        if errors.state == NONE:
            return None
        box, pattern = scene.truth.boxes_in_lidar[true : true + 1], f"{group}C{errors.state}"
        if errors.state == MISSED:
            return injected("removed", pattern, box, after=NO_BOX, score=1.0, actor=true)
        if before != MISLOCALISED or errors.offset is None:
            errors.offset = self._new_offset(box, float(scene.taus[true]), errors.random)
        after = displaced(box.geometry[0], errors.offset)
        score = float(errors.offset[-1])
        return injected("moved", pattern, box, after=after, score=score, actor=true)

    def _new_offset(self, box: Boxes, tau: float, random: np.random.Generator) -> Floats:
        """Return a measured offset that mislocalises this box; by half its length if none does."""
        rows = self.model.offsets.get(int(box.classes[0]), np.zeros((0, 6)))
        for _ in range(TRIES if len(rows) else 0):
            offset = rows[int(random.integers(len(rows)))]
            overlap = bev_iou(displaced(box.geometry[0], offset)[None, :], box.geometry)[0, 0]
            if 0 < overlap <= tau:
                return np.asarray(offset)
        return np.array([0.5, 0.0, 0.0, 1.0, 1.0, 1.0])

    def _shown_ghosts(self, scene: Scene) -> Boxes:
        """Let ghosts appear and go; return those that are additional detections here and now."""
        rate = self.model.ghosts_a_step * self.times * (GHOSTS in self.patterns)
        stay = self.model.stay[GHOSTS]
        if self._ghosts is None:
            self._ghosts, new = [], self._random.poisson(rate)
        else:
            last = self._random.random(len(self._ghosts)) < stay
            self._ghosts = [ghost for ghost, lasts in zip(self._ghosts, last, strict=True) if lasts]
            new = self._random.poisson(rate * (1 - stay))
        for _ in range(int(new)):
            born = self._new_ghost(scene)
            if born is not None:
                self._ghosts.append(Ghost(boxes_between(born, scene.lidar_in_world, WORLD)))
        there = Boxes.join([ghost.in_world for ghost in self._ghosts])
        boxes = boxes_between(there, WORLD, scene.lidar_in_world)
        return boxes[additional(scene, boxes)]

    def _new_ghost(self, scene: Scene) -> Boxes | None:
        """Return an additional box at a measured place; none if there is no room at any."""
        rows = [(number, row) for number, table in self.model.ghosts.items() for row in table]
        for _ in range(TRIES if rows else 0):
            number, row = rows[int(self._random.integers(len(rows)))]
            box = Boxes(row[None, :7].copy(), np.array([number]), row[7:8].copy())
            if additional(scene, box)[0]:
                return box
        return None


def counted(scene: Scene) -> Mask:
    """Return which true boxes count."""
    inside = in_window(scene.truth.boxes_in_lidar.geometry, scene.settings)
    return visible(scene.truth, scene.hits_observers, scene.settings) & inside


def additional(scene: Scene, boxes: Boxes) -> Mask:
    """Return which boxes would show LADE."""
    free = highest(scene.overlaps(boxes).T) == 0
    alone = highest(overlaps_of_a_class(boxes, scene.perceived.ego_alone)) == 0
    inside = in_window(boxes.geometry, scene.settings)
    return np.asarray(free & alone & inside & ~scene.ignored(boxes))


def next_state(
    before: str | None, shares: dict[str, float], stays: dict[str, float], uniform: float
) -> str:
    """Return what is wrong with an actor next: a Markov chain with these shares in the long run.

    An error lasts with probability `stay` and then gives way to none; it comes from none at the
    rate that keeps its share. An actor that comes into sight starts with the shares themselves.
    """
    correct = 1.0 - sum(shares.values())
    if before in shares and shares[before] > 0:
        return before if uniform < stays[before] else NONE
    passed = 0.0
    for state, share in shares.items():
        leaves = 1.0 - stays[state]
        passed += share if before is None else min(share * leaves / correct, 1.0)
        if uniform < passed:
            return state
    return NONE


def displaced(box: Floats, offset: Floats) -> Floats:
    """Return a box shifted along and across itself, turned and resized as an offset says."""
    along, across, yaw, length, width, _ = offset
    cos, sin = np.cos(box[6]), np.sin(box[6])
    ahead, aside = along * box[3], across * box[4]
    moved = box.copy()
    moved[0] += cos * ahead - sin * aside
    moved[1] += sin * ahead + cos * aside
    moved[3:5] *= length, width
    moved[6] += yaw
    return np.asarray(moved)


def injected(
    kind: Any, pattern: str, box: Boxes, *, after: Floats, score: float, actor: int
) -> Change:
    """Return the change of a perfect box."""
    return Change(
        kind=kind,
        pattern=pattern,
        of_class=int(box.classes[0]),
        before=box.geometry[0].copy(),
        after=after,
        score=score,
        actor=actor,
    )


def added_ghost(box: Boxes) -> Change:
    """Return the change that an additional box is."""
    return Change(
        kind="added",
        pattern=GHOSTS,
        of_class=int(box.classes[0]),
        before=NO_BOX,
        after=box.geometry[0].copy(),
        score=float(box.scores[0]),
        actor=NO_ACTOR,
    )
