"""What all drivers share in one step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from harness.carlite.arrays import Bytes, Floats, Ints
from harness.carlite.compiled import compiled
from harness.carlite.traffic.drivers import TrafficDriver
from harness.carlite.traffic.rng import hash_question


class TrafficStep(NamedTuple):
    """The step's number and length, the lights, and which actors are ignored by which.

    Attributes:
        lights, shown: state of each light, and the seconds since it began.
        exempt: pairs of actor ids of which the first ignores the second.
        seed: of answers that are settled once and for all.
        first: the id from which the episode's actors count: in the next one all ids are higher.
    """

    step: int
    dt: float
    lights: Bytes
    shown: Floats
    exempt: Ints
    seed: np.uint64
    first: int


@compiled
def ignores_actor(now: TrafficStep, me: TrafficDriver, other: int, share: float) -> bool:
    """Whether a driver does not mind another actor: it is exempt, or chance has settled it.

    Args:
        now: the step of the traffic.
        me: the driver.
        other: id of the other actor.
        share: % of the actors that it does not mind, the same ones at every step.
    """
    question = (me.actor - now.first) * 1000003 + other - now.first
    if share > 0.0 and hash_question(now.seed, question) * 100.0 < share:
        return True
    for k in range(len(now.exempt)):
        if now.exempt[k, 0] == me.actor and now.exempt[k, 1] == other:
            return True
    return False


@compiled
def ignores_signal(now: TrafficStep, me: TrafficDriver, mark: int, share: float) -> bool:
    """Whether a driver passes a light or a sign this time regardless.

    Args:
        now: the step of the traffic.
        me: the driver, with the number of this approach.
        mark: number of the light or sign.
        share: % of the approaches on which it does not mind.
    """
    question = ((me.actor - now.first) * 131071 + me.approach) * 8191 + mark
    return share > 0.0 and hash_question(now.seed, question) * 100.0 < share
