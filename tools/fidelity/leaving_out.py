"""Leave-one-record-out: the fitted parameters fitted again on all records but the one compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace

from harness.carlite.towns.model import TownGround
from tools.fidelity.driving import FittedValues, simulate_drive
from tools.fidelity.measures import DriveMeasure, compare_drive
from tools.fidelity.records import PublicDriveRecord

START = FittedValues(
    low_torque=1.04, high_torque=1.07, up=0.45, down=0.23, switch_time=0.12, latency=0.5
)
STEPS = {
    "low_torque": 0.01,
    "high_torque": 0.01,
    "up": 0.006,
    "down": 0.008,
    "switch_time": 0.02,
    "latency": 0.03,
}
ROUNDS = 3
WORST = 2.0
"""Multiples of what is allowed beyond which a fit does not mind: a stop from a speed that is just
not reached must not outweigh the rest."""

Case = tuple[PublicDriveRecord, TownGround]


def validate_left_out(
    cases: Sequence[Case], vehicle: str
) -> list[tuple[PublicDriveRecord, FittedValues, list[DriveMeasure]]]:
    """Return for each record the values fitted without it and its figures with them."""
    results = []
    for index, (drive, ground) in enumerate(cases):
        others = [case for other, case in enumerate(cases) if other != index]
        values = fit_values(others, vehicle)
        results.append(
            (drive, values, compare_drive(drive, simulate_drive(drive, vehicle, ground, values)))
        )
    return results


def fit_values(cases: Sequence[Case], vehicle: str, start: FittedValues = START) -> FittedValues:
    """Return the values that miss least: one parameter after the other, in ever smaller steps."""
    best, least = start, compute_fit_cost(cases, vehicle, start)
    shrink = 1.0
    for _ in range(ROUNDS):
        for name, step in STEPS.items():
            for change in (shrink * step, -shrink * step):
                while True:
                    tried = replace(best, **{name: asdict(best)[name] + change})
                    price = compute_fit_cost(cases, vehicle, tried)
                    if price >= least:
                        break
                    best, least = tried, price
        shrink *= 0.5
    return best


def compute_fit_cost(cases: Sequence[Case], vehicle: str, values: FittedValues) -> float:
    """Return the sum of all errors' squares, in multiples of what is allowed, up to `WORST`."""
    return sum(
        min(measure.missed, WORST) ** 2
        for drive, ground in cases
        for measure in compare_drive(drive, simulate_drive(drive, vehicle, ground, values))
    )
