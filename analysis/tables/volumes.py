"""What is sent, under each definition of communication volume that the field uses.

Papers report numbers under the same name that differ by orders of magnitude: bytes of one message,
its logarithm, bytes that the ego gets at a step, or bits on a link in a second. All of them follow
from the messages of a campaign's records.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from analysis.attempt import read_checked_table
from analysis.collection import CampaignCollection
from analysis.statistics.intervals import IntervalEstimate, estimate_ratio
from analysis.tables.from_frames import ON_AIR
from analysis.tables.parts import join_segments
from analysis.tables.table import encode_names
from harness.common.errors import UserError
from harness.records.keys import AttemptKey
from harness.records.reading import CampaignRecords

BITS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeDefinition:
    """One definition: a sum over a sum, and who reports it.

    Attributes:
        above: column of attempts whose sum is divided.
        below: column by whose sum it is divided.
        scale: of the quotient.
        used_by: papers, or the tool whose number it is.
        transform: of the quotient and of its limits; monotonous.
    """

    name: str
    unit: str
    above: str
    below: str
    scale: float = 1.0
    used_by: str
    transform: Callable[[float], float] | None = None


def compute_log2(size: float) -> float:
    """Return the logarithm of bytes to base 2 (Where2comm, section 5.1); NaN of nothing."""
    return math.log2(size) if size > 0 else math.nan


DEFINITIONS = (
    VolumeDefinition(
        name="a message", unit="B", above="bytes", below="sent",
        used_by="OPV2V, V2X-ViT: size of a message",
    ),
    VolumeDefinition(
        name="a message, log2", unit="log2 B", above="bytes", below="sent",
        transform=compute_log2, used_by="Where2comm, CoAlign, HEAL: communication volume",
    ),
    VolumeDefinition(
        name="a link", unit="Mbit/s", above="bytes", below="link_seconds",
        scale=BITS / 1e6, used_by="V2VNet, OPV2V: bandwidth of an agent",
    ),
    VolumeDefinition(
        name="the ego, delivered", unit="B/step", above="delivered_bytes", below="steps",
        used_by="DAIR-V2X: average bytes",
    ),
    VolumeDefinition(
        name="all agents, sent", unit="kB/s", above="bytes", below="seconds",
        scale=1e-3, used_by="this harness: kB/s in `crucible tables`",
    ),
    VolumeDefinition(
        name="packets a message", unit="", above="fragments", below="carried",
        used_by="a radio link (`link=`): fragments",
    ),
    VolumeDefinition(
        name="segments a split message", unit="", above="segments", below="split",
        used_by="`message_format=cpm`: messages that were too large for one",
    ),
    VolumeDefinition(
        name="the channel, share of time", unit="%", above="airtime", below="link_time",
        scale=100.0, used_by="a radio link (`link=`): airtime of the partners",
    ),
)  # fmt: skip
SUMS = (
    *("bytes", "sent", "link_seconds", "delivered_bytes", "steps", "seconds"),
    *("fragments", "carried", "airtime", "link_time"),
    *("segments", "split"),
)


def build_volume_frame(collection: CampaignCollection) -> pd.DataFrame:
    """Return a row for each arm and definition: value, interval, unit and who uses it.

    Raises:
        UserError: packed campaigns have no messages.
    """
    if collection.packed:
        raise UserError(
            f"{collection.folder}: packed drives have no messages; volumes need whole records"
        )
    sums = pd.DataFrame(list(iterate_volume_sums(collection)), columns=["row", *SUMS])
    attempts = collection.attempts.reset_index(drop=True)[["arm", "cluster"]]
    joined = attempts.join(sums.set_index("row"))
    rows = [
        {"arm": arm, **make_volume_row(definition, estimate_volume(definition, drives))}
        for arm, drives in joined.groupby("arm", sort=False)
        for definition in DEFINITIONS
        if drives["sent"].sum() > 0 and drives[definition.below].sum() > 0
    ]
    return pd.DataFrame(rows)


def make_volume_row(definition: VolumeDefinition, estimate: IntervalEstimate) -> dict[str, object]:
    """Return a definition's cells."""
    return {
        "volume": definition.name,
        "unit": definition.unit,
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "drives": estimate.n,
        "routes": estimate.routes,
        "used by": definition.used_by,
    }


def estimate_volume(definition: VolumeDefinition, drives: pd.DataFrame) -> IntervalEstimate:
    """Return a definition's value for some drives, with its route-clustered interval."""
    above, below = (
        drives[name].to_numpy(np.float64) for name in (definition.above, definition.below)
    )
    estimate = estimate_ratio(
        above * definition.scale, below, encode_names(pd.Series(drives["cluster"]))
    )
    if definition.transform is None:
        return estimate
    value, low, high = map(definition.transform, (estimate.value, estimate.low, estimate.high))
    return replace(estimate, value=value, low=low, high=high)


def iterate_volume_sums(collection: CampaignCollection) -> Iterator[dict[str, float]]:
    """Yield an attempt's sums, with the attempt's row."""
    for row, campaign, key in collection.iterate_attempts():
        yield {"row": row, **sum_attempt_volumes(campaign, key)}


def sum_attempt_volumes(campaign: CampaignRecords, key: AttemptKey) -> dict[str, float]:
    """Return an attempt's sums over messages, steps and packets.

    A message that was never sent has no bytes on the air. A sender is there for one period of
    planning for each of its captures, sent or not.
    """
    messages = read_checked_table(campaign, "messages", key)
    times = read_checked_table(campaign, "frames", key)["time"].to_numpy(np.float64)
    period = float(np.median(np.diff(times))) if len(times) > 1 else 0.0
    fates = messages["fate"].astype(str).to_numpy()
    sizes = messages["bytes"].to_numpy(np.float64)
    on_air = fates != ON_AIR
    sums = {
        "bytes": float(sizes[on_air].sum()),
        "sent": float(on_air.sum()),
        "link_seconds": len(messages) * period,
        "delivered_bytes": float(sizes[fates == "delivered"].sum()),
        "steps": float(len(times)),
        "seconds": len(times) * period,
    }
    return {
        **sums,
        **sum_link_volumes(campaign, key, sums["seconds"]),
        **count_segments(campaign, key),
    }


def count_segments(campaign: CampaignRecords, key: AttemptKey) -> dict[str, float]:
    """Return how many segments there were, of how many messages; zeros without the table."""
    if not (campaign.find_attempts()[key] / "segments.parquet").exists():
        return {"segments": 0.0, "split": 0.0}
    segments = read_checked_table(campaign, "segments", key)
    return {
        "segments": float(len(segments)),
        "split": float((segments["segment"] == 1).sum()),
    }


def sum_link_volumes(
    campaign: CampaignRecords, key: AttemptKey, seconds: float
) -> dict[str, float]:
    """Return sums over what a link carried; zeros on the ideal link, which has no table."""
    if not (campaign.find_attempts()[key] / "links.parquet").exists():
        return dict.fromkeys(("fragments", "carried", "airtime", "link_time"), 0.0)
    links = read_checked_table(campaign, "links", key)
    messages = join_segments(links)
    airtime = links["airtime"].to_numpy(np.float64)
    return {
        "fragments": float(messages["fragments"].sum()),
        "carried": float(len(messages)),
        "airtime": float(np.nansum(airtime)),
        # a link without a model of airtime has no share of time
        "link_time": seconds if np.isfinite(airtime).any() else 0.0,
    }
