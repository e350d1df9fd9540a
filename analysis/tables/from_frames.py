"""Tables that need each drive's frames and messages: distance bands, ages, bytes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from analysis.checked import checked_table
from analysis.collection import Collection
from analysis.regression.stretches import track_in
from analysis.tables.ages import ages
from analysis.tables.common import common_stretches
from analysis.tables.table import Table, cells, mean_of, ratio_of
from harness.records.keys import AttemptKey
from harness.records.reading import Campaign
from harness.vocabulary import BANDS, PATTERNS

FATES = ("delivered", "superseded", "lost", "unsent", "unheard", "in_flight")
ON_AIR = "unsent"
"""The fate of what never went on the air."""


def tables_of_frames(found: Collection) -> list[Table]:
    """Return all tables that need frames and messages of every attempt."""
    sums, tracks = [], []
    for row, campaign, key in found.each():
        frames = checked_table(campaign, "frames", key)
        sums.append(sums_of(frames))
        tracks.append(track_in(found.attempts, row, frames))
    both = pd.concat([found.attempts.reset_index(drop=True), pd.DataFrame(sums)], axis=1)
    kinds = [
        {"row": row, **sums_of_kind}
        for row, campaign, key in found.each()
        for sums_of_kind in kinds_of(campaign, key)
    ]
    attempts, arm = found.attempts, found.factors
    return [
        bands(both, arm),
        common_stretches(found, tracks),
        used_ages(both, arm),
        *messages(attempts, arm, kinds),
        ages(attempts, arm, kinds),
    ]


def sums_of(frames: pd.DataFrame) -> dict[str, float]:
    """Return an attempt's sums over its planning steps."""
    names = [f"{name}_{band}" for name in (*PATTERNS, "truth") for band in BANDS]
    heard = frames["messages"] > 0
    return {
        **{name: float(frames[name].sum()) for name in names},
        "steps": float(len(frames)),
        "driven": float(frames["station"].max()) if len(frames) else 0.0,
        "steps_heard": float(heard.sum()),
        "messages_given": float(frames["messages"].sum()),
        "age_sum": float(frames.loc[heard, "oldest_age"].sum()),
    }


def bands(sums: pd.DataFrame, arm: tuple[str, ...]) -> Table:
    """Return errors for 100 true boxes, by distance from the ego."""
    by = (*arm, "band")
    parts = []
    exposure = {
        "true boxes": mean_of("true_boxes"),
        "driven, m": mean_of("driven"),
        "driven, s": mean_of("duration"),
    }
    for band in BANDS:
        own = sums.assign(
            band=band,
            **{name: sums[f"{name}_{band}"] for name in PATTERNS},
            true_boxes=sums[f"truth_{band}"],
        )
        measures = {name: ratio_of(name, "true_boxes", 100) for name in PATTERNS}
        parts.append(cells(own, by, measures | exposure))
    found = pd.concat(parts).sort_values(list(arm), kind="stable")
    title = "Errors for 100 true boxes by distance, m; true boxes, way and time of a drive"
    return Table("bands", title, by, found, arm=len(arm))


def used_ages(sums: pd.DataFrame, arm: tuple[str, ...]) -> Table:
    """Return what systems were given at their planning steps."""
    measures = {
        "steps with messages %": ratio_of("steps_heard", "steps", 100),
        "messages a step": ratio_of("messages_given", "steps"),
        "age of the oldest, s": ratio_of("age_sum", "steps_heard"),
    }
    digits = {"messages a step": 2, "age of the oldest, s": 3}
    title = "What systems were given, at each planning step"
    return Table("ages_used", title, arm, cells(sums, arm, measures), digits, len(arm))


def kinds_of(campaign: Campaign, key: AttemptKey) -> Iterator[dict[str, object]]:
    """Yield an attempt's sums over its messages, by kind of sender."""
    table = checked_table(campaign, "messages", key)
    for kind, own in table.groupby(table["kind"].astype(str)):
        age = own["age_found"].to_numpy(np.float64)
        heard = np.isfinite(age)
        fates = own["fate"].astype(str)
        on_air = (fates != ON_AIR).to_numpy()
        sent = own["bytes"].to_numpy(np.float64)[on_air]
        shift = np.hypot(own["found_x"].to_numpy(np.float64), own["found_y"].to_numpy(np.float64))
        yield {
            "kind": str(kind),
            "messages": float(len(own)),
            "sent": float(on_air.sum()),
            "heard": float(heard.sum()),
            "age": float(age[heard].sum()),
            "ages": age[heard],
            "shift": float(shift.sum()),
            "kilobytes": float(sent.sum()) / 1000,
            **{fate: float((fates == fate).sum()) for fate in FATES},
        }


def with_nothing(
    attempts: pd.DataFrame, arm: tuple[str, ...], kinds: list[dict[str, object]]
) -> pd.DataFrame:
    """Return a row for each drive and each kind of sender that its arm knows.

    Drives in which nobody of a kind came near had no messages of it, and count as such.
    """
    shared = attempts.reset_index(drop=True)[[*arm, "cluster", "duration"]]
    shared = shared.rename_axis("row").reset_index()
    own = pd.DataFrame(kinds, columns=list(kinds[0]) if kinds else ["row", "kind"])
    known = own.merge(shared, on="row")[[*arm, "kind"]].drop_duplicates()
    sums = own.drop(columns="ages", errors="ignore")
    joined = shared.merge(known, on=list(arm)).merge(sums, on=["row", "kind"], how="left")
    return joined.fillna(dict.fromkeys(sums.columns, 0.0))


def messages(
    attempts: pd.DataFrame, arm: tuple[str, ...], kinds: list[dict[str, object]]
) -> tuple[Table, Table]:
    """Return messages by kind of sender: what became of them; age, displacement and bytes."""
    by = (*arm, "kind")
    fates = {
        "messages a drive": mean_of("messages"),
        **{f"{fate} %": ratio_of(fate, "messages", 100) for fate in FATES},
    }
    sizes = {
        "age at delivery, s": ratio_of("age", "heard"),
        "displaced, m": ratio_of("shift", "messages"),
        "kB a message": ratio_of("kilobytes", "sent"),
        "kB/s": ratio_of("kilobytes", "duration"),
    }
    digits = {"age at delivery, s": 3, "displaced, m": 3, "kB a message": 2, "kB/s": 2}
    joined = with_nothing(attempts, arm, kinds)
    return (
        Table("fates", "What became of messages", by, cells(joined, by, fates), digits, len(arm)),
        Table(
            "messages",
            "How late, how far off and how big messages were",
            by,
            cells(joined, by, sizes),
            digits,
            len(arm),
        ),
    )
