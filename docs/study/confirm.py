"""The confirmation of question 3, as deviation 6 declares it: tables in Markdown.

python docs/study/confirm.py FOLDER ...

The folders are campaigns with CCME repaired, with all but CCME, and with nothing repaired.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.collection import collect
from analysis.effects.arms import bases, intervention_arms, pairs_of, with_times
from analysis.effects.paired import OUTCOMES, PairedEffect, effect_of, in_one_family, paired_effect
from analysis.tables.table import codes_of

VIOLATIONS = OUTCOMES[0]
PRIMARY = "repair CCME"
REPAIRS = (PRIMARY, "repair all but CCME")
COSTS = tuple(outcome for outcome in OUTCOMES if not outcome.tested)
HEAD = ("system", "effect of", "violations, %", "difference", "95 % interval", "p", "pairs")


def main(folders: Sequence[Path]) -> None:
    """Print the one primary test, and the family of the secondary ones."""
    pairs = pairs_by_system(folders)
    print("Primary: the mean of the systems, one test.\n")
    print_table(in_one_family([mean_effect([pairs[name] for name in pairs if name[1] == PRIMARY])]))
    print("\nSecondary: each system, one family.\n")
    single = [effect_of_system(*name, found) for name, found in sorted(pairs.items())]
    print_table(in_one_family(single))
    print("\nWhat the repairs cost, and other descriptions, without tests.\n")
    print_costs(pairs)


def pairs_by_system(folders: Sequence[Path]) -> dict[tuple[str, str], pd.DataFrame]:
    """Return the pairs of each system and repair: with it, and with nothing repaired."""
    collection = collect(folders)
    attempts = with_times(collection.attempts)
    return {
        (base["system"], arm.effect_of): pairs_of(attempts, base, arm.arm)
        for base, members in bases(intervention_arms(collection))
        for arm in members
        if arm.effect_of in REPAIRS
    }


def mean_effect(pairs: Sequence[pd.DataFrame]) -> PairedEffect:
    """Return the effect on violations in the mean of the systems that have a pair on a route."""
    sides = [f"{VIOLATIONS.column}_{side}" for side in "ab"]
    means = pd.concat(pairs).astype(dict.fromkeys(sides, float))
    means = means.groupby(["cluster", "seed"], sort=False, as_index=False)[sides].mean()
    a, b = (means[side].to_numpy(np.float64) * VIOLATIONS.scale for side in sides)
    names: dict[str, object] = {"system": "mean", "effect of": PRIMARY}
    clusters = codes_of(means["cluster"])
    return effect_of(a, b, clusters=clusters, outcome=VIOLATIONS, names=names)


def effect_of_system(system: str, repair: str, pairs: pd.DataFrame) -> PairedEffect:
    """Return the effect of one repair on one system's violations."""
    return paired_effect(pairs, VIOLATIONS, {"system": system, "effect of": repair})


def print_costs(pairs: Mapping[tuple[str, str], pd.DataFrame]) -> None:
    """Print a line for each system and repair: differences of time and speed with intervals."""
    head = ("system", "effect of", *(outcome.name for outcome in COSTS))
    print("| " + " | ".join(head) + " |\n" + "| --- " * len(head) + "|")
    for (system, repair), found in sorted(pairs.items()):
        rows = [paired_effect(found, outcome).row for outcome in COSTS]
        cells = (
            f"{row['difference']:+.2f} ({row['low']:+.2f} to {row['high']:+.2f})" for row in rows
        )
        print(f"| {system} | {repair} | " + " | ".join(cells) + " |")


def print_table(table: pd.DataFrame) -> None:
    """Print a line for each effect; p is within the table."""
    print("| " + " | ".join(HEAD) + " |\n" + "| --- " * len(HEAD) + "|")
    for row in table.to_dict("records"):
        shares = f"{row['with']:.1f} against {row['without']:.1f}"
        interval = f"{row['low']:+.1f} to {row['high']:+.1f}"
        cells = (row["system"], row["effect of"], shares, f"{row['difference']:+.1f}", interval)
        print("| " + " | ".join(cells) + f" | {row['p family']:.4f} | {row['pairs']} |")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: python docs/study/confirm.py FOLDER ...")
    main([Path(name) for name in sys.argv[1:]])
