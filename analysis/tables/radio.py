"""What radios made of messages, by kind of partner: distance, sight, reception, delay; and load.

A vehicle's messages are V2V, a roadside unit's V2I. Sums are over the messages of an attempt, and
intervals over routes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from analysis.attempt import read_checked_table
from analysis.collection import CampaignCollection
from analysis.tables.mean_speeds import add_speed_columns
from analysis.tables.parts import join_segments
from analysis.tables.staleness import build_staleness_table
from analysis.tables.table import (
    EstimatesTable,
    estimate_cells,
    make_mean_measure,
    make_rate_measure,
    make_ratio_measure,
)
from harness.common.errors import UserError
from harness.records.arms import LINK, is_there
from harness.records.keys import AttemptKey
from harness.records.reading import CampaignRecords
from harness.types.vocabulary import Floats

PARTNER_NAMES = {"vehicle": "vehicle (V2V)", "roadside": "roadside unit (V2I)"}
SIGHT_NAMES = ("LOS", "NLOSv", "NLOS")
PERCENT, MILLISECONDS = 100.0, 1e3
BUSY, VIOLATIONS = "busy ratio, %", "violations, %"
AGE = "age of information, s"


def build_radio_tables(collection: CampaignCollection) -> list[EstimatesTable]:
    """Return the tables of sight and reception, of delays, and of the load, by arm.

    Raises:
        UserError: packed campaigns have no messages; or no arm has a link.
    """
    if collection.packed:
        raise UserError(
            f"{collection.folder}: packed drives have no messages; a radio needs whole records"
        )
    sums, loads = [], []
    for row, campaign, key in collection.iterate_attempts():
        if is_there(LINK, key.arm[LINK]):
            messages = read_link_messages(campaign, key)
            frames = read_checked_table(campaign, "frames", key)
            sums += [{"row": row, **one} for one in sum_by_partner(messages, frames)]
            loads.append({"row": row, **sum_load(messages, frames)})
    if not loads:
        raise UserError(
            f"{collection.folder}: no drive has another link than the ideal one; link=nr_v2x has"
        )
    arm = collection.factors
    attempts = collection.attempts.reset_index(drop=True).rename_axis("row").reset_index()
    attempts = attempts[["row", *arm, "cluster", "violated", "driving_score"]]
    by_partner = attempts.merge(pd.DataFrame(sums, columns=["row", *PARTNER_SUMS]), on="row")
    load = attempts.merge(pd.DataFrame(loads), on="row")
    delays = make_partner_table("radio_delay", "Delays of messages", by_partner, arm)
    return [
        make_partner_table("radio_sight", "Sight and reception", by_partner, arm),
        add_speed_columns(delays, build_staleness_table(collection)),
        EstimatesTable(
            name="radio_load",
            title="Load of the channel",
            by=arm,
            cells=estimate_cells(load, arm, LOAD_MEASURES),
            arm=len(arm),
        ),
    ]


def make_partner_table(
    name: str, title: str, frame: pd.DataFrame, arm: tuple[str, ...]
) -> EstimatesTable:
    """Return a table with a row for each arm and kind of partner."""
    by = (*arm, "partner")
    cells = estimate_cells(frame, by, PARTNER_MEASURES[name])
    return EstimatesTable(name=name, title=title, by=by, cells=cells, digits={AGE: 3}, arm=len(arm))


def read_link_messages(campaign: CampaignRecords, key: AttemptKey) -> pd.DataFrame:
    """Return an attempt's messages, with what the link made of each."""
    messages = read_checked_table(campaign, "messages", key)
    links = join_segments(read_checked_table(campaign, "links", key))
    kept = messages[["sender", "kind", "capture_frame", "capture_time", "delivered_time"]]
    names = {"sender": str, "kind": str}
    sent = links.astype({"sender": str, "sight": str, "outcome": str})
    return kept.astype(names).merge(sent, on=["sender", "capture_frame"])


PARTNER_SUMS = (
    *("partner", "messages", "known", "distance", "received"),
    *(f"{word}{sight}" for sight in SIGHT_NAMES for word in ("", "received ")),
    *("sent", "queue", "airtime", "unsent", "sensed", "busy", "ages", "age"),
)
"""Of an attempt and a kind of partner: counts, and sums over messages."""


def sum_by_partner(messages: pd.DataFrame, frames: pd.DataFrame) -> Iterator[dict[str, object]]:
    """Yield the sums of each kind of partner.

    Args:
        messages: as `read_link_messages` gives them.
        frames: the planning steps.
    """
    for kind, rows in messages.groupby("kind"):
        arrived = rows["outcome"] == "arrived"
        known = rows["distance"].notna()
        # a radio with a busy ratio models waiting: without a wait, the message was not sent
        sensed, sent = rows["busy"].notna(), rows["queue"].notna()
        ages = np.concatenate(
            [
                compute_information_ages(one, frames["time"].to_numpy(np.float64))
                for _, one in rows.groupby("sender")
            ]
        )
        by_sight: dict[str, float] = {}
        for sight in SIGHT_NAMES:
            seen = rows["sight"] == sight
            by_sight[sight] = float(seen.sum())
            by_sight[f"received {sight}"] = float((seen & arrived).sum())
        yield {
            "partner": PARTNER_NAMES.get(str(kind), str(kind)),
            "messages": float(len(rows)),
            "known": float(known.sum()),
            "distance": float(rows.loc[known, "distance"].sum()),
            "received": float(arrived.sum()),
            **by_sight,
            "sent": float(sent.sum()),
            "queue": float(rows.loc[sent, "queue"].sum()),
            "airtime": float(rows.loc[sent, "airtime"].sum()),
            "unsent": float((sensed & ~sent).sum()),
            "sensed": float(sensed.sum()),
            "busy": float(rows.loc[sensed, "busy"].sum()),
            "ages": float(len(ages)),
            "age": float(ages.sum()),
        }


def compute_information_ages(messages: pd.DataFrame, steps: Floats) -> Floats:
    """Return the age of the newest message of one sender at each planning step, s.

    Steps count from the first delivery on, as long as the sender is in range.

    Args:
        messages: of one sender, with `capture_time` and `delivered_time`.
        steps: (steps,) their times, ascending.
    """
    delivered = messages[messages["delivered_time"].notna()].sort_values("delivered_time")
    if delivered.empty:
        return np.zeros(0)
    times = delivered["delivered_time"].to_numpy(np.float64)
    newest = np.maximum.accumulate(delivered["capture_time"].to_numpy(np.float64))
    last = float(messages["capture_time"].max())
    at = steps[(steps >= times[0] - 1e-6) & (steps <= last + 1e-6)]
    return np.asarray(at - newest[np.searchsorted(times, at + 1e-6, side="right") - 1])


def sum_load(messages: pd.DataFrame, frames: pd.DataFrame) -> dict[str, float]:
    """Return the sums of an attempt over planning steps, seconds and messages."""
    times = frames["time"].to_numpy(np.float64)
    sensed = messages["busy"].notna()
    return {
        "steps": float(len(frames)),
        "seconds": float(np.ptp(times)) if len(times) else 0.0,
        "sent": float(len(messages)),
        "heard": float(frames["messages"].sum()),
        "on_air": float(messages["airtime"].sum()),
        "load_sensed": float(sensed.sum()),
        "load_busy": float(messages.loc[sensed, "busy"].sum()),
    }


PARTNER_MEASURES = {
    "radio_sight": {
        "messages a drive": make_mean_measure("messages"),
        "distance, m": make_ratio_measure("distance", "known"),
        **{f"{sight}, %": make_ratio_measure(sight, "messages", PERCENT) for sight in SIGHT_NAMES},
        "received, %": make_ratio_measure("received", "messages", PERCENT),
        **{
            f"of {sight}, %": make_ratio_measure(f"received {sight}", sight, PERCENT)
            for sight in SIGHT_NAMES
        },
    },
    "radio_delay": {
        "received, %": make_ratio_measure("received", "messages", PERCENT),
        "not sent, %": make_ratio_measure("unsent", "messages", PERCENT),
        "queue, ms": make_ratio_measure("queue", "sent", MILLISECONDS),
        "airtime, ms": make_ratio_measure("airtime", "sent", MILLISECONDS),
        BUSY: make_ratio_measure("busy", "sensed", PERCENT),
        AGE: make_ratio_measure("age", "ages"),
    },
}
"""By table."""
LOAD_MEASURES = {
    "messages sent a step": make_ratio_measure("sent", "steps"),
    "messages used a step": make_ratio_measure("heard", "steps"),
    "partners on the air, %": make_ratio_measure("on_air", "seconds", PERCENT),
    BUSY: make_ratio_measure("load_busy", "load_sensed", PERCENT),
    VIOLATIONS: make_rate_measure("violated"),
    "driving score": make_mean_measure("driving_score"),
}
