"""Attacks and defences of a campaign: what was stated, stopped and believed, and what came of it.

A row for each arm that has an attack, a defence or neither. Differences are paired by route and
seed: of an attack, to the arm without it under the same defence; of a defence, to the arm without
it under the same attack.

Tests of a table are one family, with Holm's correction: violations by each attack without a
defence, and by each defence under each attack and under none. Other differences have intervals and
no test.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.arms import ARM, get_arm_names, list_arms, match_arms
from analysis.attempt import read_checked_table
from analysis.collection import CampaignCollection
from analysis.comparison import estimate_difference
from analysis.statistics.intervals import (
    NO_ESTIMATE,
    IntervalEstimate,
    estimate_mean,
    estimate_ratio,
    estimate_share,
)
from analysis.statistics.significance import compute_holm_p_values
from analysis.tables.table import encode_names
from harness.common.errors import UserError
from harness.common.files import write_whole
from harness.common.safe_reading import TEXT_TABLE, open_regular
from harness.records.arms import ATTACK, DEFENCE, NONE, Arm
from harness.records.keys import AttemptKey
from harness.records.reading import CampaignRecords

PAIRED_BY = ["cluster", "route", "seed"]
DRIVES_FILE = "attack_drives.csv"
"""What was summed over each drive: small, and enough for the table."""
OUTCOMES = ["violated", "driving_score"]
SUMS = (
    *("added", "stopped", "believed", "gone", "missed", "uses"),
    *("honest_boxes", "honest_rejected", "honest_messages", "honest_whole"),
    *("attack_seconds", "losses", "loss_before", "loss_after", "defence_seconds", "steps"),
)
"""Of an attempt: what is summed over its planning steps."""
MILLISECONDS = 1e3
LEVEL = 0.05
"""Of the family of sign-flip tests, above which a difference is undecided."""


def build_attack_frame(drives: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each arm and measure: value, interval, drives and routes.

    Args:
        drives: of `collect_attack_drives`, of one campaign or of several.

    Raises:
        UserError: no arm has an attack or a defence.
    """
    arms = list_arms(drives)
    if not any(is_about_attacks(arm) for arm in arms):
        raise UserError("no drive has an attack or a defence")
    rows: list[dict[str, object]] = []
    for arm in arms:
        for measure, estimate in estimate_measures(arm, drives[match_arms(drives, [arm])]):
            rows.append(make_row(arm, measure, estimate))
        for measure, other in list_references(arm, arms):
            rows += list(make_difference_rows(drives, arm, other, measure))
    return judge_family(pd.DataFrame(rows))


def collect_attack_drives(collection: CampaignCollection) -> pd.DataFrame:
    """Return a row for each drive: its arm, route, seed and outcome, and `SUMS` over its steps.

    Raises:
        UserError: packed campaigns have no messages.
    """
    if collection.packed:
        raise UserError(
            f"{collection.folder}: packed drives have no messages; attacks need whole records"
        )
    sums = pd.DataFrame(list(iterate_security_sums(collection)), columns=["row", *SUMS])
    attempts = collection.attempts.reset_index(drop=True)
    names = get_arm_names(attempts).rename(ARM)
    joined = attempts[[*PAIRED_BY, *OUTCOMES]].join(names).join(sums.set_index("row"))
    return joined[[ARM, *PAIRED_BY, *OUTCOMES, *SUMS]]


def write_attack_drives(drives: pd.DataFrame, file: Path) -> None:
    """Write drives as text, in the order of arms and routes."""
    ordered = drives.sort_values([ARM, *PAIRED_BY], ignore_index=True)
    text = ordered.to_csv(index=False, lineterminator="\n")
    write_whole(file, text)


def read_attack_drives(file: Path) -> pd.DataFrame:
    """Return the drives of a file of `write_attack_drives`.

    Raises:
        UserError: the file has no such drives.
    """
    kinds: dict[Hashable, str] = {ARM: "str", "cluster": "str", "route": "str", "seed": "int64"}
    kinds |= {"violated": "bool", **dict.fromkeys(("driving_score", *SUMS), "float64")}
    try:
        with open_regular(file, TEXT_TABLE, follow=True) as opened:
            drives: pd.DataFrame = pd.read_csv(opened, dtype=kinds)
        return drives[list(kinds)]
    except (OSError, ValueError, KeyError) as problem:
        raise UserError(f"{file}: no drives of attacks ({problem})") from None


def judge_family(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with p-values of the family, and what is undecided by them."""
    judged = rows.copy()
    judged["p_holm"] = compute_holm_p_values(rows["p"].to_numpy(np.float64))
    undecided = judged["p_holm"] > LEVEL
    judged["verdict"] = [
        f"undecided at n = {drives}" if open_ else ""
        for drives, open_ in zip(rows["drives"], undecided, strict=True)
    ]
    return judged


def is_about_attacks(arm: Arm) -> bool:
    """Return whether an arm has an attack or a defence."""
    return arm[ATTACK] != NONE or arm[DEFENCE] != NONE


def list_references(arm: Arm, arms: list[Arm]) -> Iterator[tuple[str, Arm]]:
    """Yield what an arm is compared with: without its attack, and without its defence."""
    for factor, words in ((ATTACK, "by the attack"), (DEFENCE, "by the defence")):
        other = arm.replace_factors(**{factor: NONE})
        if arm[factor] != NONE and other in arms:
            yield words, other


def estimate_measures(arm: Arm, drives: pd.DataFrame) -> Iterator[tuple[str, IntervalEstimate]]:
    """Yield an arm's measures, those of the attack and of the defence where it has them."""
    clusters = encode_names(pd.Series(drives["cluster"]))

    def share(above: str, below: str, scale: float = 100.0) -> IntervalEstimate:
        values = drives[[above, below]].to_numpy(np.float64)
        if not values[:, 1].sum() > 0:
            return NO_ESTIMATE
        return estimate_ratio(values[:, 0] * scale, values[:, 1], clusters)

    if arm[ATTACK] != NONE:
        yield "added boxes believed, %", share("believed", "added")
        yield "left out and missed, %", share("missed", "gone")
        lies = drives[["believed", "missed"]].to_numpy(np.float64).sum(1)
        believed = np.asarray(lies > 0, np.float64)
        yield "drives with a lie believed, %", scale_estimate(estimate_share(believed, clusters))
        if arm[DEFENCE] != NONE:
            yield "added boxes stopped, %", share("stopped", "added")
        # of attacks by gradient: the loss of their goal, at the ego's network and maps
        if drives["losses"].sum() > 0:
            yield "loss of the goal, honest maps", share("loss_before", "losses", 1.0)
            yield "loss of the goal, as sent", share("loss_after", "losses", 1.0)
        yield "attack, ms/lie", share("attack_seconds", "uses", MILLISECONDS)
    if arm[DEFENCE] != NONE:
        yield "honest boxes rejected, %", share("honest_rejected", "honest_boxes")
        yield "honest messages rejected, %", share("honest_whole", "honest_messages")
        yield "defence, ms/step", share("defence_seconds", "steps", MILLISECONDS)
    violated = drives["violated"].to_numpy(np.float64)
    yield "violations, %", scale_estimate(estimate_share(violated, clusters))
    yield "driving score", estimate_mean(drives["driving_score"].to_numpy(np.float64), clusters)


def scale_estimate(share: IntervalEstimate) -> IntervalEstimate:
    """Return a share in percent."""
    return IntervalEstimate(
        value=100 * share.value,
        low=100 * share.low,
        high=100 * share.high,
        n=share.n,
        routes=share.routes,
        method=share.method,
    )


def make_row(arm: Arm, measure: str, estimate: IntervalEstimate) -> dict[str, object]:
    """Return the row of a measure."""
    return {
        **name_arm(arm),
        "measure": measure,
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "drives": estimate.n,
        "routes": estimate.routes,
        "p": np.nan,
    }


def name_arm(arm: Arm) -> dict[str, object]:
    """Return the cells that name an arm: other factors stay in its name."""
    rest = arm.replace_factors(**{ATTACK: NONE, DEFENCE: NONE})
    return {"arm": str(rest), "attack": arm[ATTACK], "defence": arm[DEFENCE]}


def make_difference_rows(
    drives: pd.DataFrame, arm: Arm, other: Arm, words: str
) -> Iterator[dict[str, object]]:
    """Yield paired differences of violations and of driving scores, arm less other.

    An attack is tested without a defence only, so that each question is asked once.

    Args:
        drives: of both.
        arm: with the attack or the defence.
        other: without it.
        words: what the difference is by.
    """
    a, b = (drives.loc[match_arms(drives, [one]), [*PAIRED_BY, *OUTCOMES]] for one in (other, arm))
    pairs = a.merge(b, on=PAIRED_BY, suffixes=("_a", "_b"))
    if pairs.empty:
        return
    asked = arm[DEFENCE] == NONE or arm[ATTACK] == other[ATTACK]
    for measure, column, scale, tested in (
        ("violations, points", "violated", 100.0, asked),
        ("driving score", "driving_score", 1.0, False),
    ):
        row = estimate_difference(pairs, measure, column, scale)
        yield {
            **name_arm(arm),
            "measure": f"{measure}, {words}",
            "value": row["difference"],
            "low": row["low"],
            "high": row["high"],
            "drives": row["pairs"],
            "routes": row["routes"],
            "p": row["p"] if tested else np.nan,
        }


def iterate_security_sums(collection: CampaignCollection) -> Iterator[dict[str, float]]:
    """Yield an attempt's sums, with the attempt's row."""
    for row, campaign, key in collection.iterate_attempts():
        yield {"row": row, **sum_security(campaign, key)}


def sum_security(campaign: CampaignRecords, key: AttemptKey) -> dict[str, float]:
    """Return an attempt's sums over planning steps; 0 of tables that it does not have."""
    sums = dict.fromkeys(SUMS, 0.0)
    sums["steps"] = float(len(read_checked_table(campaign, "frames", key)))
    if campaign.has_table("attacks", key):
        attacks = read_checked_table(campaign, "attacks", key)
        for name in ("added", "stopped", "believed", "gone", "missed"):
            sums[name] = float(attacks[name].sum())
        sums["uses"] = float(len(attacks))
        sums["attack_seconds"] = float(campaign.read_timing(key)["seconds"].get("attack", 0.0))
        if "loss_before" in attacks:
            sums["losses"] = float(attacks["loss_before"].notna().sum())
            for name in ("loss_before", "loss_after"):
                sums[name] = float(attacks[name].sum())
    if campaign.has_table("defences", key):
        judged = read_checked_table(campaign, "defences", key)
        honest = judged[~judged["lies"].astype(bool)]
        messages = honest.groupby(["frame", "sender"], observed=True)
        # the first check was given all boxes of a message
        sums["honest_boxes"] = float(messages["boxes"].max().sum())
        sums["honest_rejected"] = float(honest["rejected"].sum())
        sums["honest_messages"] = float(messages.ngroups)
        sums["honest_whole"] = float(honest["whole"].sum())
        seconds = campaign.read_timing(key)["seconds"]
        sums["defence_seconds"] = float(seconds.get("defence", 0.0))
    return sums
