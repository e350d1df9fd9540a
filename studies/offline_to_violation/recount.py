"""Count the study's effects and losses again from its packed routes: `python recount.py PACKED`.

Nothing of Crucible is imported. For each repair, and for messages on time, the script prints the
difference in violations over pairs of route, system and condition, and a p value. The p value is
exact: the distribution of the sum of all routes' differences with every sign, by convolution.

For some models it prints the log loss on held-out routes. Every route is left out alone; the study
leaves out a tenth at once. The fit is a general optimiser's.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import minimize

PAIR = ["route", "system", "condition"]
DRIVES_OF_A_ROUTE = 48
"""Six without a repair, and 42 next to the repairs."""


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
    """Return the effect of messages on time; of each repair too, once all routes have them."""
    drives = pd.read_parquet(packed / "outcomes.parquet")
    plain = drives[~drives["again"]]
    sides = {name: plain[plain["condition"] == name] for name in ("latency", "none")}
    on_time = [side.assign(condition="") for side in sides.values()]
    effects = {"messages on time": describe_effect(*on_time)}
    if (drives.groupby("route").size() == DRIVES_OF_A_ROUTE).all():
        repaired = drives[drives["again"] & (drives["repair"] != "none")]
        for repair, rows in repaired.groupby("repair"):
            effects[str(repair)] = describe_effect(plain, rows)
    return pd.DataFrame(effects).T


def recount_losses(packed: Path) -> dict[str, float]:
    """Return the mean log loss on held-out routes: base rate, reveal time, all patterns."""
    routes = pd.DataFrame(json.loads((packed / "routes.json").read_text()))
    routes["name"] = routes["group"] + "-" + routes["route"]
    drives = pd.read_parquet(packed / "outcomes.parquet")
    drives = drives[~drives["again"]].merge(routes, left_on="route", right_on="name")
    cell = pd.get_dummies(drives["system"] + drives["condition"])
    offsets = np.column_stack([cell, pd.get_dummies(drives["group"])]).astype(float)
    counts = pd.read_parquet(packed / "patterns.parquet").drop(columns=["AP", "road users"])
    counts = counts.groupby(["route", "system"]).mean(numeric_only=True)
    patterns = counts.loc[list(zip(drives["name"], drives["system"], strict=True))].to_numpy()
    models = {"base rate": patterns[:, :0], "reveal time": drives[["reveal"]].to_numpy(float)}
    return {
        name: compute_held_out_loss(drives, offsets, columns)
        for name, columns in {**models, "all patterns": patterns}.items()
    }


def compute_held_out_loss(drives: pd.DataFrame, offsets: np.ndarray, columns: np.ndarray) -> float:
    """Return the mean log loss of ridge regressions that leave out one route each.

    Args:
        drives: (rows,) `name` of the route, `system`, `violated`.
        offsets: (rows, offsets) of cells and towns.
        columns: (rows, columns) findings; NaN is the mean of the other routes.
    """
    violated, losses = drives["violated"].to_numpy(float), []
    for route in drives["name"].unique():
        out = (drives["name"] == route).to_numpy()
        scaled = np.zeros(columns.shape)
        for system in drives["system"].unique():
            of = (drives["system"] == system).to_numpy()
            seen = columns[of & ~out]
            spread = np.nanstd(seen, axis=0)
            spread[spread == 0] = np.inf
            scaled[of] = np.nan_to_num((columns[of] - np.nanmean(seen, axis=0)) / spread)
        design = np.column_stack([np.ones(len(out)), offsets, scaled])
        at = fit_by_optimiser(violated[~out], design[~out])
        p = 1 / (1 + np.exp(-design[out] @ at))
        losses += list(-np.log(np.where(violated[out] > 0, p, 1 - p)))
    return float(np.mean(losses))


def fit_by_optimiser(violated: np.ndarray, design: np.ndarray) -> np.ndarray:
    """Return the coefficients of least penalised loss; the first column has no penalty."""

    def lose(at: np.ndarray) -> float:
        line = design @ at
        return float((np.logaddexp(0, line) - violated * line).sum() + (at[1:] ** 2).sum() / 2)

    return np.asarray(minimize(lose, np.zeros(design.shape[1]), method="BFGS").x)


if __name__ == "__main__":
    print(recount_effects(Path(sys.argv[1])).to_string(float_format="{:.4f}".format))
    for name, loss in recount_losses(Path(sys.argv[1])).items():
        print(f"held-out log loss, {name}: {loss:.4f}")
