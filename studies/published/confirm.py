"""The confirmation of question 3, as deviation 6 declares it: tables in Markdown, and a figure.

python studies/published/confirm.py FOLDER ... [--figure FILE.svg]

The folders are campaigns with CCME repaired, with all but CCME, and with nothing repaired.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.collection import CampaignCollection, collect_campaigns
from analysis.drawing.svg import render_svg_file
from analysis.tables.table import encode_names
from harness.common.files import write_whole
from studies.interventions.arms import (
    add_goal_times,
    collect_intervention_arms,
    group_by_base_arm,
    pair_arms,
)
from studies.interventions.effect_figures import render_effects_figure
from studies.interventions.paired import (
    OUTCOMES,
    PairedEffect,
    add_family_p_values,
    estimate_paired_effect,
    estimate_value_difference,
)

VIOLATIONS = OUTCOMES[0]
PRIMARY = "repair CCME"
REPAIRS = (PRIMARY, "repair all but CCME")
COSTS = tuple(outcome for outcome in OUTCOMES if not outcome.tested)
HEAD = ("system", "effect of", "violations, %", "difference", "95 % interval", "p", "pairs")


def main(folders: Sequence[Path], figure: Path | None) -> None:
    """Print the one primary test, and the family of the secondary ones; render all."""
    collection = collect_campaigns(folders)
    pairs = pairs_by_system(collection)
    mean = add_family_p_values([mean_effect([pairs[name] for name in pairs if name[1] == PRIMARY])])
    print("Primary: the mean of the systems, one test.\n")
    print_table(mean)
    print("\nSecondary: each system, one family.\n")
    single = [effect_of_system(*name, matched) for name, matched in sorted(pairs.items())]
    secondary = add_family_p_values(single)
    print_table(secondary)
    print("\nWhat the repairs cost, and other descriptions, without tests.\n")
    print_costs(pairs)
    if figure is not None:
        render_effects(pd.concat([mean, secondary]), collection, figure)


def render_effects(effects: pd.DataFrame, collection: CampaignCollection, figure: Path) -> None:
    """Draw all effects on violations; what is significant is so in its own family."""
    (truth,) = {arm.truth_filter for arm in collect_intervention_arms(collection)}
    canvas = render_effects_figure(effects.assign(arm=effects["system"], truth=truth))
    assert canvas is not None
    write_whole(figure, render_svg_file(canvas))


def pairs_by_system(collection: CampaignCollection) -> dict[tuple[str, str], pd.DataFrame]:
    """Return the pairs of each system and repair: with it, and with nothing repaired."""
    attempts = add_goal_times(collection.attempts)
    return {
        (base["system"], arm.effect_of): pair_arms(attempts, base, arm.arm)
        for base, members in group_by_base_arm(collect_intervention_arms(collection))
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
    clusters = encode_names(means["cluster"])
    return estimate_value_difference(a, b, clusters=clusters, outcome=VIOLATIONS, names=names)


def effect_of_system(system: str, repair: str, pairs: pd.DataFrame) -> PairedEffect:
    """Return the effect of one repair on one system's violations."""
    return estimate_paired_effect(pairs, VIOLATIONS, {"system": system, "effect of": repair})


def print_costs(pairs: Mapping[tuple[str, str], pd.DataFrame]) -> None:
    """Print a line for each system and repair: differences of time and speed with intervals."""
    head = ("system", "effect of", *(outcome.name for outcome in COSTS))
    print("| " + " | ".join(head) + " |\n" + "| --- " * len(head) + "|")
    for (system, repair), matched in sorted(pairs.items()):
        rows = [estimate_paired_effect(matched, outcome).row for outcome in COSTS]
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
    parser = argparse.ArgumentParser(usage="confirm.py FOLDER ... [--figure FILE.svg]")
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--figure", type=Path)
    arguments = parser.parse_args()
    main(arguments.folders, arguments.figure)
