"""The other stations on the channel: where they are, and how much of them a receiver gets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.channel.links.noise import convert_to_milliwatts
from harness.channel.links.propagation import (
    CAR_HEIGHT,
    Environment,
    PropagationModel,
    compute_los_probability,
    compute_path_loss,
    convert_normal_to_vehicle_loss,
    correlate_shadowing,
    get_shadowing_deviation,
)
from harness.channel.links.sight import LOS, NLOSV, PathView
from harness.common.randomness import make_named_stream
from harness.types.vocabulary import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class RadioBudget:
    """Powers and propagation, equal for all stations.

    Attributes:
        power: dBm of a transmitter.
        gains: dB of both antennas together.
        frequency: GHz.
        shadowed: whether paths are shadowed.
    """

    power: float
    gains: float
    frequency: float
    environment: Environment
    model: PropagationModel
    shadowed: bool

    def compute_levels(self, distance: Floats, sight: str, shadowing: Floats) -> Floats:
        """Return dBm at receivers.

        Args:
            distance: metres between antennas.
            sight: of all paths.
            shadowing: standard normal.
        """
        loss = compute_path_loss(
            distance, sight, self.environment, model=self.model, frequency=self.frequency
        )
        deviation = get_shadowing_deviation(sight, self.environment, self.model)
        faded = shadowing * deviation if self.shadowed else 0.0
        return np.asarray(self.power + self.gains - loss - faded)


class PathShadowing:
    """Shadowing and loss by vehicles of one path, correlated along the movement of both ends.

    Source: Wang, Tameh and Nix 2008, "Joint shadowing process in urban peer-to-peer radio
    channels", equation (9): the correlations of the two ends are multiplied.
    """

    def __init__(self, decorrelation: float) -> None:
        self._decorrelation = decorrelation
        self._ends: Floats | None = None
        self.values = np.zeros(2)  # standard normal: shadowing, loss by vehicles

    def move_ends(
        self, view: PathView, random: np.random.Generator, *, turned: bool = False
    ) -> None:
        """Note where the ends are now, and change the values accordingly.

        Args:
            view: the path.
            random: for what has changed.
            turned: the ends are those of the way back.
        """
        ends = np.array([[end.x, end.y] for end in (view.ego, view.sender)])
        ends = ends[::-1] if turned else ends
        fresh = random.standard_normal(2)
        if self._ends is None:
            self.values = fresh
        else:
            moved = np.hypot(*(ends - self._ends).T).sum()
            self.values = correlate_shadowing(self.values, moved, self._decorrelation, fresh)
        self._ends = ends


def compute_message_level(budget: RadioBudget, view: PathView, normals: Floats) -> float:
    """Return dBm of a message at the ego, from the sight in the scene.

    Args:
        budget: of the radio.
        view: the path between the antennas.
        normals: standard normal values of shadowing and of the loss by vehicles.
    """
    distance = view.distance
    level = float(budget.compute_levels(np.asarray(distance), view.sight, normals[0]))
    if view.sight == NLOSV:
        blocker = max(height for _, _, height in view.obstacles)
        normal = float(normals[1]) if budget.shadowed else 0.0
        level -= convert_normal_to_vehicle_loss(normal, distance, view.heights, blocker)
    return level


class OtherStations:
    """Vehicles that send as well: uniform along a street that moves with the ego.

    A path to one of them is in sight or blocked by a car, with the probability of TR 37.885.
    """

    def __init__(
        self, budget: RadioBudget, count: int, reach: float, *, seed: int, share: float = 1.0
    ) -> None:
        """Place the stations.

        Args:
            budget: of the radio.
            count: of stations where all vehicles are connected.
            reach: metres of the street ahead and behind.
            seed: of the attempt.
            share: of the vehicles that are connected; stations at a small share are there, at the
                same places, at each larger one.
        """
        self._budget, self._seed, self._count = budget, seed, count
        kept = round(count * share)
        random = make_named_stream(seed, "link", "stations")
        self.places = np.stack(
            [random.uniform(-reach, reach, count), random.uniform(-8.0, 8.0, count)], axis=1
        )
        apart = np.hypot(*(self.places[:, None] - self.places).T)
        normals, chances = random.standard_normal((2, count, count)), random.random((count, count))
        # the way there is the way back
        lower = np.tril_indices(count)
        for table in (normals[0], normals[1], chances):
            table[lower] = table.T[lower]
        among = self._receive(apart, normals, chances)
        np.fill_diagonal(among, 0.0)
        # all are sampled, then the first are kept
        self.places, self.among = self.places[:kept], among[:kept, :kept]

    def receive_at(self, place: Floats, receiver: str) -> Floats:
        """Return milliwatts of every station at a receiver.

        Args:
            place: metres ahead of the ego and to its right.
            receiver: its name, of which its shadowing comes.
        """
        kept = len(self.places)
        random = make_named_stream(self._seed, "link", "stations", receiver)
        normals, chances = random.standard_normal((2, self._count)), random.random(self._count)
        return self._receive(np.hypot(*(self.places - place).T), normals[:, :kept], chances[:kept])

    def _receive(self, distance: Floats, normals: Floats, chances: Floats) -> Floats:
        budget = self._budget
        heights = (CAR_HEIGHT, CAR_HEIGHT)
        level = budget.compute_levels(distance, LOS, normals[0])
        blocked = chances >= compute_los_probability(distance, budget.environment)
        if budget.shadowed:
            behind = budget.compute_levels(distance, NLOSV, normals[0])
            lost = [
                convert_normal_to_vehicle_loss(float(normal), float(far), heights, CAR_HEIGHT)
                for normal, far in zip(normals[1][blocked], distance[blocked], strict=True)
            ]
            level[blocked] = behind[blocked] - np.array(lost)
        return convert_to_milliwatts(level)
