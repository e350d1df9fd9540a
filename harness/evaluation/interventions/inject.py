"""Injected errors: perfect boxes, and on them errors as they were measured on other drives.

In the window every true box that counts has a perfect detection, but for the errors: an actor that
is missed, or mislocalised by an offset that it keeps, for as many planning steps as such errors
last; additional boxes that stand still in the world for a while (LADE); and copies of false
detections of the ego alone, kept for a while too (CADE). Detections outside the window, of parked
cars and of true boxes that do not count stay as the system made them.

Every actor has a random stream, so that a larger dose is the smaller one and more, as long as the
drives are the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np

from harness.common.randomness import make_named_stream
from harness.evaluation.frame_evaluation import (
    compute_distance_bands,
    find_boxes_in_window,
    find_visible_truth,
)
from harness.evaluation.interventions.error_model import (
    COPIES,
    GHOSTS,
    OFFSET,
    match_additional_boxes,
    read_error_model,
)
from harness.evaluation.interventions.intervention import (
    NO_ACTOR,
    NO_BOX,
    BoxChange,
    Intervened,
    Intervention,
    Scene,
    check_patterns,
)
from harness.evaluation.patterns import compute_highest_overlap
from harness.types.geometry import transform_boxes
from harness.types.overlap import compute_bev_iou, compute_class_overlaps
from harness.types.record_names import BANDS, PATTERNS
from harness.types.vocabulary import Boxes, Floats, Mask, Pose

WORLD = Pose(0.0, 0.0)
NONE, MISSED, MISLOCALISED = "", "ME", "LE"
"""What is wrong with an actor: the ends of the patterns' names."""
STATES = (MISSED, MISLOCALISED)
COPIED = "ADE"
"""What is wrong with a false detection of the ego alone."""
MOST_SHARE = 0.98
"""Of true boxes of one kind in one band, with an error: a larger dose is cut, and recorded."""
MOST_COPIED = 1.0
"""The same of false detections of the ego alone: all of them can be repeated."""
Chain: TypeAlias = dict[str | None, dict[str, float]]
"""Probabilities of the next error by the one before; None for what comes into sight."""
TRIES = 20
"""Offsets and places that are tried before a simple one is taken, or none."""


@dataclass(slots=True, eq=False)
class ActorErrors:
    """One actor's random stream, what is wrong with it now, and its offset."""

    random: np.random.Generator
    state: str | None = None  # None: not seen so far
    offset: Floats | None = None


@dataclass(slots=True, eq=False)
class GhostBox:
    """An additional box, standing in the world."""

    in_world: Boxes


@dataclass(slots=True, eq=False)
class EgoFalseDetections:
    """Those of the ego alone at one step, and which of them are copied."""

    in_world: Boxes
    states: list[str | None]


class Inject(Intervention):
    """Puts errors on perfect boxes, at measured rates or a multiple of them."""

    safe_from_file = True
    kind: ClassVar[str] = "inject"

    def __init__(
        self,
        model: str,  # a file that `crucible errors` wrote
        times: float = 1.0,  # of the measured rates; 0 for perfect boxes
        patterns: Sequence[str] = PATTERNS,  # to inject: LCME, LCLE, LADE, CCME, CCLE, CADE
    ) -> None:
        self.patterns = check_patterns(patterns)
        if not (np.isfinite(times) and times >= 0):
            raise ValueError(f"times = {times}: must be ≥ 0")
        self.times, self.file = times, model
        self.model = read_error_model(model)
        self.capped: list[str] = []
        self._chains = {
            group: self._build_chains(group, {state: f"{group}C{state}" for state in STATES})
            for group in "LC"
        }
        self._copying = self._build_chains(COPIES, {COPIED: COPIES}, MOST_COPIED)

    def _build_chains(
        self, kind: str, names: Mapping[str, str], most: float = MOST_SHARE
    ) -> list[Chain]:
        """Return the chain of each distance band; beyond the bands nothing is wrong.

        Args:
            kind: name of the boxes in the message about a dose that was cut.
            names: by state, the pattern whose share and persistence are used.
            most: the share of boxes with an error that is never exceeded.
        """
        nothing = dict.fromkeys(names, 0.0)
        chains = []
        for number, band in enumerate(BANDS):
            stays = {state: float(self.model.stay[name][number]) for state, name in names.items()}
            shares = {
                state: float(self.model.share[name][number]) * self.times * (name in self.patterns)
                for state, name in names.items()
            }
            # a dose above what is possible is scaled down, and recorded as capped
            total = sum(shares.values())
            if total > most:
                self.capped.append(f"{kind} {band}")
                shares = {state: share * most / total for state, share in shares.items()}
            chains.append(build_error_chain(shares, stays))
        return [*chains, build_error_chain(nothing, nothing)]

    def reset(self, seed: int, period: float) -> None:
        """Start an attempt; the model's steps must be as long as the attempt's."""
        if not np.isclose(period, self.model.period):
            raise ValueError(
                f"{self.file}: measured at steps of {self.model.period:g} s, and planning steps are"
                f" {period:g} s"
            )
        self._seed = seed
        self._actors: dict[int, ActorErrors] = {}
        self._ghosts: list[GhostBox] | None = None
        self._random = make_named_stream(seed, "intervention", "ghosts")
        self._false = EgoFalseDetections(Boxes.none(), [])
        self._of_copies = make_named_stream(seed, "intervention", "copies")

    def record(self) -> dict[str, Any]:
        """Return patterns, dose and model."""
        source = {"file": self.file, **self.model.source}
        record = {"kind": self.kind, "patterns": list(self.patterns), "times": self.times}
        return {**record, "capped": self.capped, "model": source}

    def apply(self, scene: Scene) -> Intervened:
        """Return perfect boxes with errors.

        Args:
            scene: the planning step with perceived boxes and ground truth.

        Returns:
            All boxes to drive by, and the errors as changes of perfect boxes.
        """
        # (N,) distance bands of the ground truth
        bands = compute_distance_bands(scene.truth.boxes_in_lidar.geometry)
        # detections that no error model is about
        kept = scene.perceived.cooperative[self._select_kept(scene)]
        changes: list[BoxChange] = []
        parts = [kept]
        known = self._find_detected_alone(scene)
        # a perfect box for every true box that counts, with its error if it has one
        for true in np.flatnonzero(find_counted_truth(scene)).tolist():
            box = scene.truth.boxes_in_lidar[true : true + 1]
            change = self._sample_error(scene, true, "L" if known[true] else "C", int(bands[true]))
            if change is not None:
                changes.append(change)
                if change.kind == "removed":
                    continue
                box = Boxes(change.after[None, :], box.classes, np.array([change.score]))
            parts.append(box)
        # additional boxes: ghosts in the world, and copies of the ego's false detections
        for pattern, boxes in (
            (GHOSTS, self._update_ghosts(scene)),
            (COPIES, self._select_copies(scene)),
        ):
            changes += [
                make_added_change(pattern, boxes[row : row + 1]) for row in range(len(boxes))
            ]
            parts.append(boxes)
        return Intervened(Boxes.join(parts), tuple(changes))

    def _select_kept(self, scene: Scene) -> Mask:
        """Return which detections stay: outside the window, parked, of boxes that do not count."""
        boxes = scene.perceived.cooperative
        overlaps = scene.overlaps(boxes)
        counts = find_counted_truth(scene)
        # (M,) boxes on true boxes that count are replaced by perfect ones
        of_counted = (overlaps[counts] > 0).any(axis=0)
        of_others = (overlaps[~counts] > 0).any(axis=0)
        outside = ~find_boxes_in_window(boxes.geometry, scene.settings)
        return np.asarray(scene.ignored(boxes) | ((of_others | outside) & ~of_counted))

    def _find_detected_alone(self, scene: Scene) -> Mask:
        alone = scene.perceived.ego_alone
        return np.asarray(compute_highest_overlap(scene.overlaps(alone)) > scene.taus)

    def _sample_error(self, scene: Scene, true: int, group: str, band: int) -> BoxChange | None:
        """Return what is wrong with a true box at this step.

        Args:
            scene: the planning step.
            true: row of the true box.
            group: `L` if the ego alone detects it, else `C`.
            band: its distance band.
        """
        actor = int(scene.actors[true])
        # every actor has a random stream, so that one actor's errors do not change another's
        errors = self._actors.get(actor)
        if errors is None:
            random = make_named_stream(self._seed, "intervention", str(actor))
            errors = self._actors[actor] = ActorErrors(random)
        before, uniform = errors.state, float(errors.random.random())
        errors.state = sample_next_state(before, self._chains[group][band], uniform)
        if errors.state == NONE:
            return None
        box, pattern = scene.truth.boxes_in_lidar[true : true + 1], f"{group}C{errors.state}"
        if errors.state == MISSED:
            return make_injected_change(
                "removed", pattern, box, after=NO_BOX, score=1.0, actor=true
            )
        # a new error has a new offset; one that lasts keeps its offset
        if before != MISLOCALISED or errors.offset is None:
            rows = self._get_offsets(int(box.classes[0]), band)
            errors.offset = sample_offset(rows, box, float(scene.taus[true]), errors.random)
        after = displace_box(box.geometry[0], errors.offset)
        score = float(errors.offset[-1])
        return make_injected_change("moved", pattern, box, after=after, score=score, actor=true)

    def _get_offsets(self, of_class: int, band: int) -> Floats:
        """Return the measured offsets of a class in a band, or in all of them if it has none."""
        tables = self.model.offsets
        if len(tables.get((of_class, band), ())):
            return tables[of_class, band]
        others = [rows for (number, _), rows in sorted(tables.items()) if number == of_class]
        return np.concatenate([np.zeros((0, len(OFFSET))), *others])

    def _update_ghosts(self, scene: Scene) -> Boxes:
        """Let ghosts appear and go; return those that are additional detections here and now."""
        rate = self.model.ghosts_a_step * self.times * (GHOSTS in self.patterns)
        stay = self.model.ghosts_stay
        # the first step has as many as the long run has on average
        if self._ghosts is None:
            self._ghosts, new = [], self._random.poisson(rate)
        else:
            # afterwards some stay, and so many appear that the average is kept
            last = self._random.random(len(self._ghosts)) < stay
            self._ghosts = [ghost for ghost, lasts in zip(self._ghosts, last, strict=True) if lasts]
            new = self._random.poisson(rate * (1 - stay))
        for _ in range(int(new)):
            born = self._sample_ghost(scene)
            if born is not None:
                self._ghosts.append(GhostBox(transform_boxes(born, scene.lidar_in_world, WORLD)))
        # they stand still in the world; only those in the window and in free space show
        there = Boxes.join([ghost.in_world for ghost in self._ghosts])
        boxes = transform_boxes(there, WORLD, scene.lidar_in_world)
        return boxes[find_showing_boxes(scene, boxes, GHOSTS)]

    def _sample_ghost(self, scene: Scene) -> Boxes | None:
        """Return an additional box at a measured place; none if there is no room at any."""
        rows = [(number, row) for number, table in self.model.ghosts.items() for row in table]
        for _ in range(TRIES if rows else 0):
            number, row = rows[int(self._random.integers(len(rows)))]
            box = Boxes(row[None, :7].copy(), np.array([number]), row[7:8].copy())
            if find_showing_boxes(scene, box, GHOSTS)[0]:
                return box
        return None

    def _select_copies(self, scene: Scene) -> Boxes:
        """Return the false detections of the ego alone that are copied at this step."""
        alone = scene.perceived.ego_alone
        boxes = alone[find_showing_boxes(scene, alone, COPIES)]
        in_world = transform_boxes(boxes, scene.lidar_in_world, WORLD)
        states: list[str | None] = [None] * len(boxes)
        # a detection that lasts keeps its state
        for before, now in match_additional_boxes(self._false.in_world, in_world):
            states[now] = self._false.states[before]
        # (K,) one number for every box, copied or not: the streams stay in step
        uniforms = self._of_copies.random(len(boxes))
        for row, band in enumerate(compute_distance_bands(boxes.geometry)):
            states[row] = sample_next_state(states[row], self._copying[band], float(uniforms[row]))
        self._false = EgoFalseDetections(in_world, states)
        return boxes[np.array([state == COPIED for state in states], np.bool_)]


def find_counted_truth(scene: Scene) -> Mask:
    """Return which true boxes count."""
    inside = find_boxes_in_window(scene.truth.boxes_in_lidar.geometry, scene.settings)
    return find_visible_truth(scene.truth, scene.hits_observers, scene.settings) & inside


def find_showing_boxes(scene: Scene, boxes: Boxes, pattern: str) -> Mask:
    """Return which boxes would show LADE, or CADE, among the cooperative ones.

    Args:
        scene: the planning step.
        boxes: N boxes in the ego's LiDAR frame.
        pattern: LADE, or CADE for boxes that overlap one of the ego alone.

    Returns:
        (N,)
    """
    free = compute_highest_overlap(scene.overlaps(boxes).T) == 0
    shared = compute_highest_overlap(compute_class_overlaps(boxes, scene.perceived.ego_alone)) > 0
    inside = find_boxes_in_window(boxes.geometry, scene.settings)
    return np.asarray(free & (shared == (pattern == COPIES)) & inside & ~scene.ignored(boxes))


def sample_offset(rows: Floats, box: Boxes, tau: float, random: np.random.Generator) -> Floats:
    """Return a measured offset that mislocalises this box; half its length if none does.

    Args:
        rows: (K, 6) measured offsets; columns as OFFSET has them.
        box: the true box, one row.
        tau: the overlap that counts as detected.
        random: the actor's stream.

    Returns:
        (6,) an offset after which the overlap is above 0 and at most `tau`.
    """
    for _ in range(TRIES if len(rows) else 0):
        offset = rows[int(random.integers(len(rows)))]
        overlap = compute_bev_iou(displace_box(box.geometry[0], offset)[None, :], box.geometry)[
            0, 0
        ]
        if 0 < overlap <= tau:
            return np.asarray(offset)
    return np.array([0.5, 0.0, 0.0, 1.0, 1.0, 1.0])


def build_error_chain(shares: Mapping[str, float], stays: Mapping[str, float]) -> Chain:
    """Return the Markov chain of boxes that have these shares, and errors that last so long.

    An error gives way to none, and comes from none. Where so many come and go that none is too
    rare for that, as many as needed turn into the other error, if there is one; where even that is
    too much, errors last longer than asked: the shares are kept.

    Args:
        shares: by error, the share of boxes that have it.
        stays: by error, the probability that it lasts another step.

    Returns:
        By the state before, the probabilities of the errors next; what is missing to 1 is no error.
    """
    # flows for each step: the shares are kept if as many boxes leave an error as enter it
    correct = 1.0 - sum(shares.values())
    leave = {state: share * (1.0 - stays[state]) for state, share in shares.items()}
    # errors that turn into the other one, where boxes without an error are too few
    most = min(leave.values()) if len(leave) > 1 else 0.0
    turn = min(max((sum(leave.values()) - correct) / 2, 0.0), most)
    # flows through "no error", slowed down where even those are too many
    pass_none = {state: flow - turn for state, flow in leave.items()}
    slower = min(1.0, correct / sum(pass_none.values())) if sum(pass_none.values()) > 0 else 1.0
    # probabilities: a flow over the share of the state that it leaves
    nexts: Chain = {None: {**shares}, NONE: {**shares}}
    if correct > 0:
        nexts[NONE] = {state: flow * slower / correct for state, flow in pass_none.items()}
    for state, share in shares.items():
        others = [name for name in shares if name != state]
        gone = pass_none[state] * slower / share if share else 1.0
        turned = turn / share if share else 0.0
        nexts[state] = {state: max(1.0 - gone - turned, 0.0), **dict.fromkeys(others, turned)}
    return nexts


def sample_next_state(before: str | None, chain: Chain, uniform: float) -> str:
    """Return what is wrong with an actor next."""
    passed = 0.0
    for state, probability in chain[before].items():
        passed += probability
        if uniform < passed:
            return state
    return NONE


def displace_box(box: Floats, offset: Floats) -> Floats:
    """Return a box shifted along and across itself, turned and resized as an offset says.

    Args:
        box: (7,) metres and radians.
        offset: (6,) as OFFSET has them: shifts in lengths and widths of the box, radians, factors.

    Returns:
        (7,)
    """
    along, across, yaw, length, width, _ = offset
    cos, sin = np.cos(box[6]), np.sin(box[6])
    ahead, aside = along * box[3], across * box[4]
    moved = box.copy()
    moved[0] += cos * ahead - sin * aside
    moved[1] += sin * ahead + cos * aside
    moved[3:5] *= length, width
    moved[6] += yaw
    return np.asarray(moved)


def make_injected_change(
    kind: Any, pattern: str, box: Boxes, *, after: Floats, score: float, actor: int
) -> BoxChange:
    """Return the change of a perfect box."""
    return BoxChange(
        kind=kind,
        pattern=pattern,
        of_class=int(box.classes[0]),
        before=box.geometry[0].copy(),
        after=after,
        score=score,
        actor=actor,
    )


def make_added_change(pattern: str, box: Boxes) -> BoxChange:
    """Return the change that an additional box is."""
    return BoxChange(
        kind="added",
        pattern=pattern,
        of_class=int(box.classes[0]),
        before=NO_BOX,
        after=box.geometry[0].copy(),
        score=float(box.scores[0]),
        actor=NO_ACTOR,
    )
