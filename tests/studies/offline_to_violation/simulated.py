"""Studies of which the answer is known: violations by a logistic model, repairs by chance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import expit

from harness.types.vocabulary import Floats
from studies.offline_to_violation.findings import OfflineFinding
from studies.offline_to_violation.verdicts import MeasuredStudy

SYSTEMS, CONDITIONS = ("late", "early", "fcooper"), ("none", "latency")
PREDICTS, NOISE = "LCME", "CCME"


@dataclass(frozen=True, kw_only=True)
class Simulated:
    """What is true in a simulated study."""

    seed: int
    routes: int = 60
    slope: float = 0.0  # of the logit, for a standard deviation of PREDICTS
    spared: Mapping[str, float] | None = (
        None  # by pattern, share of violations that a repair spares
    )

    def make_study(self) -> MeasuredStudy:
        """Return a study with two findings; all depends on crowding and on the town."""
        random = np.random.default_rng(self.seed)
        shape = (self.routes, len(SYSTEMS))
        crowding = random.normal(size=(self.routes, 1)) + np.zeros(shape)
        trivial = np.dstack([random.normal(size=shape), crowding, random.normal(size=shape)])
        of_route = random.normal(size=(2, self.routes, 1))
        values = np.dstack(
            [0.7 * of_route[at] + random.normal(size=shape) + 0.5 * crowding for at in range(2)]
        )
        known = (values - values.mean(axis=0)) / values.std(axis=0)
        # (routes, systems): a route is hard for all systems, and one town harder than the other
        town = (np.arange(self.routes) % 2)[:, None]
        hard = 0.8 * random.normal(size=(self.routes, 1)) + 0.5 * crowding + 0.8 * town
        values = values + 0.8 * town[:, :, None]
        drives = self.drive(self.slope * known[:, :, 0] + hard, random)
        repairs = {
            pattern: drives.assign(
                violated=drives["violated"] & (random.random(len(drives)) >= share)
            )
            for pattern, share in (self.spared or {}).items()
        }
        return MeasuredStudy(
            routes=[f"r{number:03}" for number in range(self.routes)],
            towns=["a" if number % 2 else "b" for number in range(self.routes)],
            systems=list(SYSTEMS),
            drives=drives,
            repairs=repairs,
            findings=[OfflineFinding(kind="pattern", name=name) for name in (PREDICTS, NOISE)],
            values=values,
            trivial=trivial,
        )

    def drive(self, logits: Floats, random: np.random.Generator) -> pd.DataFrame:
        """Return one drive of each route, system and condition."""
        rows = [
            {
                "route": f"r{route:03}",
                "system": system,
                "condition": condition,
                "violated": bool(random.random() < expit(logits[route, at] - 0.8 + 0.6 * later)),
            }
            for route in range(self.routes)
            for at, system in enumerate(SYSTEMS)
            for later, condition in enumerate(CONDITIONS)
        ]
        return pd.DataFrame(rows)
