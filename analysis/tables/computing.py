"""What computing costs: how late messages leave and controls act, and how old what they know is.

The age of information is the time between a partner's sweep and the moment at which the control
that the ego made with it acts: the message's age at the planning step, and the ego's computing.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.attempt import read_checked_table
from analysis.collection import CampaignCollection
from analysis.tables.table import EstimatesTable, estimate_cells, make_ratio_measure
from harness.records.arms import COMPUTE, NONE
from harness.records.keys import AttemptKey
from harness.records.reading import CampaignRecords

SENDERS, EGO_TIME = "message leaves after, ms", "control is ready after, ms"
ACTS, AGE = "control acts after, s", "age of messages, s"
INFORMATION_AGE = "age of information, s"
MILLISECONDS = 1e3
EGO = "ego"


def build_computing_tables(collection: CampaignCollection) -> list[EstimatesTable]:
    """Return the table of computing times by arm; none where nothing takes time."""
    if not any(arm[COMPUTE] != NONE for arm in collection.arms):
        return []
    sums, unrepeatable = [], set()
    for row, campaign, key in collection.iterate_attempts():
        sums.append({"row": row, **sum_computing(campaign, key)})
        computing = campaign.read_result(key)["crucible"].get("computing", {})
        if not computing.get("repeatable", True):
            unrepeatable.add(key.arm[COMPUTE])
    arm = collection.factors
    attempts = collection.attempts.reset_index(drop=True)[[*arm, "cluster"]]
    joined = attempts.rename_axis("row").reset_index().merge(pd.DataFrame(sums), on="row")
    measures = {
        SENDERS: make_ratio_measure("sender_ms", "sent"),
        EGO_TIME: make_ratio_measure("ego_ms", "controls"),
        ACTS: make_ratio_measure("acted_after", "acted"),
        AGE: make_ratio_measure("age", "heard"),
        INFORMATION_AGE: make_ratio_measure("information_age", "acted_on"),
    }
    title = "Computing times, and the age of the oldest message when the control acts"
    if unrepeatable:
        title += f"; {', '.join(sorted(unrepeatable))}: by a clock, not repeatable"
    return [
        EstimatesTable(
            name="computing",
            title=title,
            by=arm,
            cells=estimate_cells(joined, arm, measures),
            digits=dict.fromkeys((ACTS, AGE, INFORMATION_AGE), 3),
            arm=len(arm),
        )
    ]


def sum_computing(campaign: CampaignRecords, key: AttemptKey) -> dict[str, float]:
    """Return an attempt's sums over messages and planning steps: milliseconds, ages in seconds."""
    frames = read_checked_table(campaign, "frames", key)
    ages = frames.set_index("frame")["oldest_age"]
    heard = ages.dropna()
    sums = {"age": float(heard.sum()), "heard": float(len(heard))}
    if key.arm[COMPUTE] == NONE:
        # a message leaves at its capture, and a control acts at its sweep
        zero = dict.fromkeys(("sender_ms", "ego_ms", "acted_after"), 0.0)
        count = dict.fromkeys(("sent", "controls", "acted"), float(len(frames)))
        acted_on = {"information_age": sums["age"], "acted_on": sums["heard"]}
        return {**sums, **zero, **count, **acted_on}
    table = read_checked_table(campaign, "computing", key)
    milliseconds = table["seconds"].to_numpy(np.float64) * MILLISECONDS
    of_ego = (table["agent"].astype(str) == EGO).to_numpy()
    controls = table[of_ego]
    # since the sweep, of controls that ever acted
    after = (controls["acts"] - (controls["ready"] - controls["seconds"])).to_numpy(np.float64)
    acted = np.isfinite(after)
    # of the oldest message, at the planning step whose control acts then
    age = ages.reindex(controls["capture_frame"]).to_numpy(np.float64) + after
    known = np.isfinite(age)
    return {
        **sums,
        "sender_ms": float(milliseconds[~of_ego].sum()),
        "sent": float((~of_ego).sum()),
        "ego_ms": float(milliseconds[of_ego].sum()),
        "controls": float(of_ego.sum()),
        "acted_after": float(after[acted].sum()),
        "acted": float(acted.sum()),
        "information_age": float(age[known].sum()),
        "acted_on": float(known.sum()),
    }
