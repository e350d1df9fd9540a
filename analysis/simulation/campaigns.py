"""Simulated campaigns, drive by drive, with a known ground truth that a test should find."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from analysis.regression.risk_sets import LOOK_BACK, RouteTrack
from analysis.regression.sample import RegressionSample
from harness.types.record_names import PATTERNS
from harness.types.vocabulary import Floats, Integers

PER_BOX = 0.05
"""Errors for each true box, typically."""
BOXES = 250.0
"""True boxes of a window, typically."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignScenario:
    """A campaign of one condition, before it is drawn."""

    routes: int = 19
    systems: int = 4
    seeds: int = 1
    route_sd: float = 1.5  # log-odds of violation from route to route
    base: float = 0.0  # log-odds of violation on a typical route
    effect: float = 0.0  # log-odds for one SD of the first pattern's log rate
    correlation: float = 0.5  # between patterns
    spread: float = 1.0  # of log rates over routes, systems and drives; 1: SD 0.8, 0.4 and 0.4
    place: float = 1.0  # how many times as high rates are near the dangerous place
    places: int = 6  # in how many patterns


STEP = 0.5
"""s between planning steps."""
SPEED = 6.0
SLOWER = 0.08
"""Standard deviation of the logarithm of drives' speeds."""
LENGTHS = (25.0, 40.0)
"""How long routes take, s."""
NEAR = 7.0
"""s before and after the dangerous place in which rates differ."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SimulatedDrives:
    """All drives of one condition."""

    route: Integers
    system: Integers
    seed: Integers
    violated: Floats
    completion: Floats
    tracks: tuple[RouteTrack, ...]


def simulate_drives(
    scene: CampaignScenario, random: np.random.Generator, harder: Floats | None = None
) -> SimulatedDrives:
    """Return drives with one dangerous place on each route.

    Whether a drive violates there is decided by its route, by chance, by `harder` (log-odds by
    system) and, if there is an effect, by its rate of the first pattern. Near that place rates are
    `scene.place` times as high, in all drives, whether they violate or not.

    Args:
        scene: the campaign.
        random: of the campaign.
        harder: (systems,); None: all are equal.
    """
    # (drives,) numbers of route, system and seed
    shape = (np.arange(scene.routes).repeat(scene.seeds), np.arange(scene.systems))
    route, system = (axis.ravel() for axis in np.meshgrid(*shape, indexing="ij"))
    seed = np.tile(np.arange(scene.seeds).repeat(scene.systems), scene.routes)
    k = len(PATTERNS)
    # (drives, patterns) logs of rates, correlated between patterns
    mix = np.linalg.cholesky(
        np.full((k, k), scene.correlation) + (1 - scene.correlation) * np.eye(k)
    ).T
    logs = scene.spread * (
        0.8 * (random.normal(size=(scene.routes, k)) @ mix)[route]
        + 0.4 * (random.normal(size=(scene.systems, k)) @ mix)[system]
        + 0.4 * random.normal(size=(len(route), k)) @ mix
    )
    # (drives,) whether each violates at its dangerous place
    first = (logs[:, 0] - logs[:, 0].mean()) / logs[:, 0].std()
    odds = scene.base + scene.route_sd * random.normal(size=scene.routes)[route]
    odds = odds + (0.0 if harder is None else harder[system])
    violated = random.random(len(route)) < expit(odds + scene.effect * first)
    # where and when, m and s
    length = random.uniform(*LENGTHS, scene.routes)
    danger = length * random.uniform(0.4, 0.8, scene.routes)
    pace = np.exp(SLOWER * random.normal(size=len(route)))
    happens = danger[route] + random.uniform(-1.5, 1.5, len(route))
    busy = BOXES * STEP / LOOK_BACK * np.exp(0.3 * random.normal(size=scene.routes))
    # On the clock of a drive at the usual pace; each drive has its own.
    clock = STEP * (np.arange(int(1.5 * LENGTHS[1] / STEP)) + random.random((len(route), 1)))
    along = clock * pace[:, None]
    # (drives, steps, patterns) how much higher rates are near the place
    near = np.abs(along - danger[route][:, None]) < NEAR
    factor = 1 + (scene.place - 1) * (near[:, :, None] & (np.arange(k) < scene.places))
    # (drives, steps) boxes; (drives, steps, patterns) errors among them
    boxes = 1 + random.poisson(busy[route][:, None], clock.shape)
    counts = random.poisson(boxes[:, :, None] * PER_BOX * np.exp(logs)[:, None, :] * factor)
    # each drive up to its end
    ends = np.where(violated, happens, length[route])
    tracks = []
    for number in range(len(route)):
        steps = int((along[number] < ends[number]).sum())
        tracks.append(
            RouteTrack(
                route=f"{route[number]:04}",
                system=f"system {system[number]}",
                times=clock[number, :steps],
                reached=SPEED * along[number, :steps],
                counts=np.vstack([np.zeros((1, k)), np.cumsum(counts[number, :steps], axis=0)]),
                truths=np.append(0.0, np.cumsum(boxes[number, :steps])),
                violated=bool(violated[number]),
            )
        )
    share = np.where(violated, happens / length[route], 1.0)
    return SimulatedDrives(
        route=route,
        system=system,
        seed=seed,
        violated=violated.astype(np.float64),
        completion=share,
        tracks=tuple(tracks),
    )


def select_last_window(made: SimulatedDrives) -> RegressionSample:
    """Return what the window regressions see: the last ten seconds of each drive."""
    # counts are sums from the start on: those of a window are differences
    firsts = [np.searchsorted(track.times, track.times[-1] - LOOK_BACK) for track in made.tracks]
    both = list(zip(made.tracks, firsts, strict=True))
    # (drives, patterns) and (drives,)
    counts = np.stack([track.counts[-1] - track.counts[first] for track, first in both])
    truths = np.array([track.truths[-1] - track.truths[first] for track, first in both])
    names = np.array([track.system for track in made.tracks])
    return RegressionSample(
        y=made.violated,
        counts=counts,
        exposure=truths,
        systems=names,
        clusters=made.route,
        dropped={},
        left_out={},
    )
