"""Count the study's effects again from its packed drives: `python recount.py PACKED`.

Nothing of Crucible is imported. For each repair, and for messages on time, the script prints the
difference in violations over pairs of route, system and condition, and a p value. The p value is
exact: the distribution of the sum of all routes' differences with every sign, by convolution.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

PAIR = ["route", "system", "condition"]
DRIVES_OF_A_ROUTE = 48
"""Six without a repair, and 42 next to the repairs. Repairs of other routes are not whole."""


def compute_exact_p(sums: pd.Series) -> float:
    """Return the share of all choices of signs whose sum is at least as far from 0."""
    sizes = [abs(int(one)) for one in sums if one]
    if not sizes:
        return 1.0
    # (2 * total + 1,) probability of each sum, from -total to total
    total = sum(sizes)
    chance = np.zeros(2 * total + 1)
    chance[total] = 1.0
    for size in sizes:
        chance = (np.roll(chance, size) + np.roll(chance, -size)) / 2
    far = np.abs(np.arange(-total, total + 1)) >= abs(int(sums.sum()))
    return float(chance[far].sum())


def describe_effect(without: pd.DataFrame, with_it: pd.DataFrame) -> dict[str, float]:
    """Return violations with a repair less violations without it."""
    pairs = without.merge(with_it, on=PAIR, suffixes=("", "_repaired"))
    change = pairs["violated_repaired"].astype(int) - pairs["violated"].astype(int)
    return {
        "pairs": len(pairs),
        "routes": pairs["route"].nunique(),
        "points": 100 * change.mean(),
        "fewer": int((change < 0).sum()),
        "more": int((change > 0).sum()),
        "p": compute_exact_p(change.groupby(pairs["route"]).sum()),
    }


def recount_effects(packed: Path) -> pd.DataFrame:
    """Return the effect of each repair, and of messages on time."""
    drives = pd.read_parquet(packed / "outcomes.parquet")
    plain = drives[~drives["again"]]
    sides = {name: plain[plain["condition"] == name] for name in ("latency", "none")}
    on_time = [side.assign(condition="") for side in sides.values()]
    effects = {"messages on time": describe_effect(*on_time)}
    counts = drives.groupby("route").size()
    repaired = drives[drives["again"] & (drives["repair"] != "none")]
    repaired = repaired[repaired["route"].map(counts) == DRIVES_OF_A_ROUTE]
    for repair, rows in repaired.groupby("repair"):
        effects[str(repair)] = describe_effect(plain, rows)
    return pd.DataFrame(effects).T


if __name__ == "__main__":
    print(recount_effects(Path(sys.argv[1])).to_string(float_format="{:.4f}".format))
