"""Tables of `crucible speed`: outcomes by delay and speed, and what delays cost.

They are made of the drives of campaigns, or of the file of drives that the command has written.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.statistics.intervals import IntervalEstimate, estimate_mean
from analysis.tables.staleness import MEAN_SPEEDS, SPEED_SUMS
from analysis.tables.writing import format_p
from harness.common.errors import UserError
from harness.common.files import write_whole
from harness.common.safe_reading import TEXT_TABLE, open_regular
from harness.records.arms import DEFAULT_DRIVER, DRIVER, Arm
from studies.speed.figure import PERCEPTION
from studies.speed.interaction import (
    MARKS,
    SCORE,
    SWEEPS,
    VIOLATED,
    SpeedInteraction,
    SpeedPairs,
    correct_interactions,
    estimate_interaction,
    find_clean_pairs,
    order_speeds,
    pair_speeds,
)
from studies.speed.public import compute_public_losses

SPEED_NAME = re.compile(r"(?:(?P<driver>.+)_)?speed_(?P<factor>[0-9.e+-]+)")
WHAT = {SCORE: "driving score lost", VIOLATED: "violations added"}
SELECTED = f"{WHAT[SCORE]}, clean on time"
NOTE = "a public note"
COLUMNS: dict[Hashable, str] = {
    "arm": "str",
    "system": "str",
    "condition": "str",
    "cluster": "str",
    "route": "str",
    "seed": "int64",
    VIOLATED: "bool",
    "violation": "str",
    SCORE: "float64",
}
"""Of a drive, with their types; the arm's name has the driver."""
SUM_COLUMNS: dict[Hashable, str] = dict.fromkeys(SPEED_SUMS, "float64")
"""Of a drive: what mean speeds are made of, empty where it is not known."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SpeedStudy:
    """Pairs of drives at two speeds.

    Attributes:
        speeds: the drivers, the slower one first.
        pairs: by system and sweep, and by outcome.
    """

    speeds: tuple[str, str]
    pairs: dict[tuple[str, str], dict[str, SpeedPairs]]

    def build_curves(self) -> pd.DataFrame:
        """Return the outcomes for each delay, at both speeds."""
        return pd.DataFrame(
            [row for key, of in self.pairs.items() for row in list_curve_rows(*key, of)]
        )


def pair_study(attempts: pd.DataFrame) -> SpeedStudy:
    """Return the pairs of all systems and sweeps.

    Args:
        attempts: with the columns of `COLUMNS`.
    """
    attempts = add_driver_column(attempts)
    speeds = find_speeds(attempts)
    pairs = {
        (str(system), sweep): outcomes
        for system, rows in attempts.groupby("system")
        for sweep in SWEEPS
        if (outcomes := pair_outcomes(rows, speeds, sweep))
    }
    return SpeedStudy(speeds=speeds, pairs=pairs)


def write_speed_drives(attempts: pd.DataFrame, file: Path) -> None:
    """Write a row for each drive as text, in the order of arms and routes."""
    rows = attempts[[*COLUMNS, *SUM_COLUMNS]].sort_values(["arm", "cluster", "route", "seed"])
    write_whole(file, rows.to_csv(index=False, lineterminator="\n"))


def read_speed_drives(file: Path) -> pd.DataFrame:
    """Return the drives of a file of `write_speed_drives`.

    Older files lack the sums of mean speeds: they are then NaN.

    Raises:
        UserError: the file has no such drives.
    """
    try:
        with open_regular(file, TEXT_TABLE, follow=True) as opened:
            drives: pd.DataFrame = pd.read_csv(
                opened,
                dtype=COLUMNS | SUM_COLUMNS,
                na_values={name: [""] for name in SPEED_SUMS},
                keep_default_na=False,
            )
        return drives[list(COLUMNS)].join(drives.reindex(columns=[*SUM_COLUMNS]).astype("float64"))
    except (OSError, ValueError, KeyError) as problem:
        raise UserError(f"{file}: no drives at two speeds ({problem})") from None


def add_driver_column(attempts: pd.DataFrame) -> pd.DataFrame:
    """Return attempts with the name of each arm's driver."""
    drivers = [Arm.parse_name(name)[DRIVER] for name in attempts["arm"].astype(str)]
    return attempts.assign(**{DRIVER: drivers})


def find_speeds(attempts: pd.DataFrame) -> tuple[str, str]:
    """Return the drivers at two speeds, the slower one first.

    Raises:
        UserError: there are not two speeds of one driver.
    """
    factors, whose = {}, set()
    for name in sorted(set(attempts[DRIVER])):
        match = SPEED_NAME.fullmatch(name)
        factors[name] = float(match["factor"]) if match else 1.0
        whose.add((match["driver"] or DEFAULT_DRIVER) if match else name)
    if len(whose) > 1:
        raise UserError(f"one driver is needed, at two speeds; there are: {', '.join(factors)}")
    return order_speeds(factors)


def name_speeds(speeds: tuple[str, str]) -> tuple[str, str]:
    """Return how figures call both speeds."""
    slow, fast = (name.replace("_", " ") for name in speeds)
    return slow, fast


def pair_outcomes(
    attempts: pd.DataFrame, speeds: tuple[str, str], sweep: str
) -> dict[str, SpeedPairs] | None:
    """Return the pairs of a sweep for each outcome; None where it was not driven.

    Sums of speeds are among the outcomes where every drive has them.
    """
    known = (name for name in SPEED_SUMS if attempts[name].notna().all())
    outcomes = (*MARKS, *known)
    made = {outcome: pair_speeds(attempts, speeds, sweep, outcome) for outcome in outcomes}
    return {name: pairs for name, pairs in made.items() if pairs is not None} or None


def list_curve_rows(system: str, sweep: str, of: dict[str, SpeedPairs]) -> list[dict[str, object]]:
    """Return the outcomes for each delay, at both speeds.

    Args:
        system: its name.
        sweep: a name of `SWEEPS`.
        of: pairs by outcome.
    """
    rows: list[dict[str, object]] = []
    score, violated = of[SCORE], of[VIOLATED]
    for number, size in enumerate((0.0, *score.sizes)):
        row: dict[str, object] = {"system": system, "late": SWEEPS[sweep], "delay, s": f"{size:g}"}
        row["pairs"] = len(score.values)
        for speed, name in enumerate(("slow", "fast")):
            points = estimate_mean(score.values[:, speed, number], score.ways)
            share = estimate_mean(100 * violated.values[:, speed, number], violated.ways)
            row[f"score, {name}"] = format_estimate(points)
            row[f"violations, {name}, %"] = format_estimate(share)
            for what, mean in estimate_mean_speeds(of, speed, number).items():
                row[f"{what}, {name}, m/s"] = "-" if np.isnan(mean) else f"{mean:.1f}"
        rows.append(row)
    return rows


def estimate_mean_speeds(of: dict[str, SpeedPairs], speed: int, number: int) -> dict[str, float]:
    """Return the ego's and the traffic's mean speed, m/s, as `staleness` has them.

    Args:
        of: pairs by outcome; without sums of speeds, the means are NaN.
        speed: 0 is the lower one.
        number: of the delay; 0 is none.
    """
    drives = pd.DataFrame({"cluster": of[SCORE].ways})
    for name in SPEED_SUMS:
        drives[name] = of[name].values[:, speed, number] if name in of else np.nan
    return {
        measure.removesuffix(", m/s"): estimate(drives).value
        for measure, estimate in MEAN_SPEEDS.items()
    }


def build_interaction_frame(pairs: dict[tuple[str, str], dict[str, SpeedPairs]]) -> pd.DataFrame:
    """Return the interactions: the tested ones first, then those without a test.

    Args:
        pairs: by system and sweep, and by outcome.
    """
    tested = correct_interactions([estimate_interaction(of[SCORE], SCORE) for of in pairs.values()])
    rows = [
        make_interaction_row(system, one, WHAT[SCORE], tested=True)
        for (system, _), one in zip(pairs, tested, strict=True)
    ]
    for (system, sweep), of in pairs.items():
        rows.append(
            make_interaction_row(
                system, estimate_interaction(of[VIOLATED], VIOLATED), WHAT[VIOLATED]
            )
        )
        clean = of[SCORE].select(find_clean_pairs(of[VIOLATED]))
        rows.append(make_interaction_row(system, estimate_interaction(clean, SCORE), SELECTED))
        if sweep == PERCEPTION:
            rows.append(make_public_row(system, of[SCORE].sizes))
    return pd.DataFrame(rows)


def make_interaction_row(
    system: str, one: SpeedInteraction, what: str, *, tested: bool = False
) -> dict[str, object]:
    """Return a row of the table."""
    return {
        "system": system,
        "late": SWEEPS[one.sweep],
        "what": what,
        "pairs": one.pairs,
        "slow": format_estimate(one.slow),
        "fast": format_estimate(one.fast),
        "fast less slow": format_estimate(one.more),
        "p in family": format_p(one.p_holm, 3) if tested else "-",
        "verdict": one.verdict if tested else "not tested",
    }


def make_public_row(system: str, sizes: tuple[float, ...]) -> dict[str, object]:
    """Return what a public note has for the same delays, to stand below a system's rows."""
    slow, fast = compute_public_losses(sizes)
    absent = bool(np.isnan(slow))
    return {
        "system": system,
        "late": SWEEPS[PERCEPTION],
        "what": NOTE,
        "pairs": 29,
        "slow": "-" if absent else f"{slow:.1f}",
        "fast": "-" if absent else f"{fast:.1f}",
        "fast less slow": "-" if absent else f"{fast - slow:.1f}",
        "p in family": "-",
        "verdict": "another simulator and system",
    }


def format_estimate(estimate: IntervalEstimate) -> str:
    """Return a number and its interval with one decimal."""
    if not np.isfinite(estimate.value):
        return "-"
    if not np.isfinite(estimate.low):
        return f"{estimate.value:.1f}"
    return f"{estimate.value:.1f} ({estimate.low:.1f} to {estimate.high:.1f})"
