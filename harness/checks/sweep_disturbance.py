"""The check of a disturbance of sweeps: on the channel, with a made-up street, no simulator."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from harness.channel.channel import Channel
from harness.channel.disturbance import Disturbance, Sweep
from harness.common.errors import AttemptError
from harness.common.findings import Finding, make_checks
from harness.common.randomness import make_named_stream
from harness.common.sensitivity import LidarSensitivity
from harness.types.vocabulary import Kind, Observation, Pose, Surfaces

STEPS, TICKS, PERIOD = 6, 4, 0.2
"""Planning steps, ticks and seconds between two."""
SEED, OTHER_SEED = 1, 2
SLOW = 0.05
"""Seconds of a sweep from which a warning is due."""
POINTS = 4000
"""In a sweep, a sixth of the shipped rig's."""
AGENTS: tuple[tuple[str, Kind], ...] = (
    ("ego", "ego"),
    ("roadside-0", "roadside"),
    ("vehicle-7", "vehicle"),
)
ROAD, CAR = 1, 14
"""CARLA's tags."""
CHECKS = {
    "declared": "has a name of its class",
    "runs": "senses sweeps of its kinds of agents, and the channel's audit agrees",
    "points": "returns finite float32 points, four numbers each",
    "surfaces": "surfaces, if there are any, stay those of the points",
    "inputs": "leaves the sweep that it is given unchanged",
    "zero": "a disturbance of size 0 returns the sweep itself, bit for bit",
    "acts": "sweeps differ from those in dry air",
    "deterministic": "the same seed gives the same sweeps",
    "seed": "another seed gives other sweeps, unless it is declared certain",
    "reset": "reset clears everything from earlier episodes",
    "independent": "an agent's sweeps do not depend on other agents",
    "time": "a sweep takes less than a quarter of the planning interval",
}

Sensed = tuple[str, int, bytes]
"""Sender, planning step, and all numbers of a sweep."""


@dataclass(frozen=True, slots=True)
class SensedEpisode:
    """What a channel did to the sweeps of one episode."""

    sweeps: tuple[Sensed, ...]
    problem: str  # what the channel's audit finds wrong
    seconds: float  # for a sweep, of the disturbed ones


class SweepExamination:
    """Puts one disturbance of sweeps to all checks."""

    def __init__(self, make: Callable[[], Disturbance]) -> None:
        self._make, self._disturbance = make, make()
        self._asks_nothing = self._disturbance.size_zero
        self._played: SensedEpisode

    def list_findings(self) -> list[Finding]:
        """Make every check, in order; a disturbance of size 0 need not act."""
        checks = {
            "declared": self._check_declaration,
            "runs": self._check_runs,
            "points": self._check_points,
            "surfaces": self._check_surfaces,
            "inputs": self._check_inputs,
            "zero": self._check_zero,
            "acts": self._check_effect,
            "deterministic": self._check_determinism,
            "seed": self._check_seed,
            "reset": self._check_reset,
            "independent": self._check_independence,
            "time": self._check_time,
        }
        return make_checks(
            {name: (CHECKS[name], check) for name, check in checks.items()},
            needed=("declared", "runs", "points", "surfaces"),
        )

    def _check_declaration(self) -> Iterator[Finding]:
        if type(self._disturbance).name == Disturbance.name:
            why = "name is that of the base class: its random streams are named after it; set one"
            yield Finding("declared", "failed", why)

    def _check_runs(self) -> Iterator[Finding]:
        self._played = run_sweep_episode(self._make())
        if self._played.problem:
            yield Finding("runs", "failed", self._played.problem)

    def _check_points(self) -> Iterator[Finding]:
        for sender, _, sensed in self._iter_direct_calls():
            points = sensed.points_in_lidar
            if points.dtype != np.float32 or points.ndim != 2 or points.shape[1:] != (4,):
                why = f"points of {sender}: {points.dtype} of shape {points.shape}"
                yield Finding("points", "failed", f"{why}; float32 of shape (N, 4) are needed")
                return
            if not np.isfinite(points).all():
                yield Finding("points", "failed", f"a point of {sender} is not finite")
                return
            lost = int((points[:, :3] == 0).all(axis=1).sum())
            if lost:
                why = f"{lost} points of {sender} lie at 0, 0, 0: leave out what is lost"
                yield Finding("points", "failed", why)
                return

    def _check_surfaces(self) -> Iterator[Finding]:
        for sender, given, sensed in self._iter_direct_calls():
            # surfaces in, surfaces out
            if (sensed.surfaces is None) != (given.surfaces is None):
                why = "returns a sweep without the surfaces that it was given: index them, too"
                yield Finding("surfaces", "failed", why)
                return
            if sensed.surfaces is None:
                continue
            actors = sensed.surfaces.actors
            # one entry for every point
            sizes = {len(sensed.surfaces.labels), len(sensed.surfaces.cosines)}
            sizes |= set() if actors is None else {len(actors)}
            if sizes != {len(sensed.points_in_lidar)} or actors is None:
                why = (
                    f"{len(sensed.points_in_lidar)} points of {sender} and surfaces of"
                    f" {', '.join(map(str, sorted(sizes)))}, actors"
                    f" {'missing' if actors is None else 'among them'}"
                )
                yield Finding("surfaces", "failed", why)
                return
            # and the entry of the same point
            if why := find_misalignment(given, sensed):
                yield Finding("surfaces", "failed", f"{sender}: {why}")
                return

    def _check_inputs(self) -> Iterator[Finding]:
        disturbance = start_sweep_disturbance(self._make())
        for sender, kind in self._list_agents():
            given = make_raw_sweep(sender, 0)
            before = serialize_sweep(given)
            disturbance.sense(given, make_sweep_observation(sender, kind, 0))
            if serialize_sweep(given) != before:
                why = "sense writes into the sweep that it is given: return a changed copy"
                yield Finding("inputs", "failed", why)
                return

    def _check_zero(self) -> Iterator[Finding]:
        if not self._asks_nothing:
            return
        for sender, given, sensed in self._iter_direct_calls():
            if serialize_sweep(sensed) != serialize_sweep(given):
                why = f"size_zero is true, and the sweep of {sender} changes"
                yield Finding("zero", "failed", why)
                return

    def _check_effect(self) -> Iterator[Finding]:
        if not self._asks_nothing and self._played.sweeps == run_undisturbed_sweeps():
            yield Finding("acts", "failed", "sweeps are those in dry air")

    def _check_determinism(self) -> Iterator[Finding]:
        if self._played.sweeps != run_sweep_episode(self._make()).sweeps:
            why = "a second instance with the same seed: sample from self.random_at, not elsewhere"
            yield Finding("deterministic", "failed", why)

    def _check_seed(self) -> Iterator[Finding]:
        if self._asks_nothing or self._disturbance.certain:
            return
        if self._played.sweeps == run_sweep_episode(self._make(), OTHER_SEED, dry_seed=SEED).sweeps:
            why = "another seed gives the same sweeps; declare certain = True if that is meant"
            yield Finding("seed", "warning", why)

    def _check_reset(self) -> Iterator[Finding]:
        again = start_sweep_disturbance(self._make())
        run_sweep_episode(again, OTHER_SEED)
        if self._played.sweeps != run_sweep_episode(again).sweeps:
            why = "after another episode the same seed gives other sweeps: clear all in reset"
            yield Finding("reset", "failed", why)

    def _check_independence(self) -> Iterator[Finding]:
        for agent in AGENTS:
            alone = run_sweep_episode(self._make(), agents=(agent,)).sweeps
            among = tuple(one for one in self._played.sweeps if one[0] == agent[0])
            if alone != among:
                why = f"sweeps of {agent[0]} change with other agents: sample by the sender's name"
                yield Finding("independent", "failed", why)
                return

    def _check_time(self) -> Iterator[Finding]:
        said = f"{1000 * self._played.seconds:.1f} ms for a sweep of {POINTS} points"
        yield Finding("time", "warning" if self._played.seconds > SLOW else "passed", said)

    def _list_agents(self) -> list[tuple[str, Kind]]:
        return [agent for agent in AGENTS if agent[1] in self._disturbance.kinds]

    def _iter_direct_calls(self) -> Iterator[tuple[str, Sweep, Sweep]]:
        """Yield senders, what the disturbance is given, and what it returns."""
        disturbance = start_sweep_disturbance(self._make())
        for step in range(STEPS):
            for sender, kind in self._list_agents():
                given = make_raw_sweep(sender, step)
                yield (
                    sender,
                    given,
                    disturbance.sense(given, make_sweep_observation(sender, kind, step)),
                )


def start_sweep_disturbance(disturbance: Disturbance) -> Disturbance:
    """Return a disturbance at the start of an episode."""
    disturbance.reset(SEED, "check")
    return disturbance


def run_sweep_episode(
    disturbance: Disturbance | None,
    seed: int = SEED,
    agents: Sequence[tuple[str, Kind]] = AGENTS,
    dry_seed: int | None = None,
) -> SensedEpisode:
    """Return what a channel with a disturbance makes of the sweeps of some agents."""
    channel = Channel([] if disturbance is None else [disturbance], PERIOD / TICKS)
    channel.reset(seed, "check")
    if dry_seed is not None:
        channel.sensing.reset_sensing(dry_seed)
    sweeps: list[Sensed] = []
    since, problem = time.perf_counter(), ""
    try:
        for step in range(STEPS):
            for sender, kind in agents:
                raw, seen = make_raw_sweep(sender, step), make_sweep_observation(sender, kind, step)
                sensed = channel.sense_sweep(seen, raw.surfaces, raw.sensitivity)
                sweeps.append((sender, step, serialize_sweep(sensed)))
        channel.audit.verify_deliveries()
    except AttemptError as wrong:
        problem = str(wrong)
    seconds = (time.perf_counter() - since) / (STEPS * len(agents))
    return SensedEpisode(tuple(sweeps), problem, seconds)


@cache
def run_undisturbed_sweeps() -> tuple[Sensed, ...]:
    """Return the sweeps in dry air."""
    return run_sweep_episode(None).sweeps


def make_sweep_observation(sender: str, kind: Kind, step: int) -> Observation:
    """Return one capture: all drive along x, side by side."""
    return Observation(
        sender=sender,
        kind=kind,
        frame=TICKS * step,
        time=PERIOD * step,
        lidar_in_world=Pose(1.6 * step, float(sum(sender.encode()) % 17), 1.85),
        points_in_lidar=make_raw_sweep(sender, step).points_in_lidar,
    )


def make_raw_sweep(sender: str, step: int) -> Sweep:
    """Return a sweep of a road with cars on it, of a LiDAR with a sensitivity; a new one."""
    made = make_street_sweep(sender, step)
    assert made.surfaces is not None
    every = np.arange(len(made.points_in_lidar))
    return Sweep(made.points_in_lidar.copy(), made.surfaces[every], made.sensitivity)


@cache
def make_street_sweep(sender: str, step: int) -> Sweep:
    """Return a sweep, always the same one."""
    random = make_named_stream(step, "check", sender)
    # (POINTS,) a flat road with some cars on it
    ranges = random.uniform(3.0, 80.0, POINTS)
    turned = random.uniform(-np.pi, np.pi, POINTS)
    of_car = random.random(POINTS) < 0.3
    height = np.where(of_car, random.uniform(-1.7, -0.5, POINTS), -1.85)
    flat = np.sqrt(ranges**2 - height**2)
    # (POINTS, 4) in the LiDAR frame; intensity falls with the range
    points = [flat * np.cos(turned), flat * np.sin(turned), height, np.exp(-0.004 * ranges)]
    return Sweep(
        np.column_stack(points).astype(np.float32),
        Surfaces(
            np.where(of_car, CAR, ROAD).astype(np.uint8),
            np.where(of_car, 0.8, 1.85 / ranges).astype(np.float32),
            np.where(of_car, 1 + np.floor(turned * 3).astype(np.int64) % 7, 0),
        ),
        LidarSensitivity(),
    )


def serialize_sweep(sweep: Sweep) -> bytes:
    """Return all numbers of a sweep."""
    parts: list[np.ndarray] = [sweep.points_in_lidar]
    if sweep.surfaces is not None:
        parts += [sweep.surfaces.labels, sweep.surfaces.cosines]
        parts += [] if sweep.surfaces.actors is None else [sweep.surfaces.actors]
    return b"".join(part.tobytes() for part in parts)


def find_misalignment(given: Sweep, sensed: Sweep) -> str:
    """Return what is wrong with the surfaces of points that were not moved; nothing if all is well.

    Points are known again by their place; what the disturbance moved is not looked at.
    """
    assert given.surfaces is not None
    assert sensed.surfaces is not None
    known = {point.tobytes(): at for at, point in enumerate(given.points_in_lidar[:, :3])}
    for at, point in enumerate(sensed.points_in_lidar[:, :3]):
        before = known.get(point.tobytes())
        if before is not None and sensed.surfaces.labels[at] != given.surfaces.labels[before]:
            return "a point that stayed where it was has the surface of another"
    return ""
