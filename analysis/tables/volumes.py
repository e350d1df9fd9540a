"""What is sent, under each definition of communication volume that the field uses.

Papers report numbers under the same name that differ by orders of magnitude: bytes of one message,
its logarithm, bytes that the ego gets at a step, or bits on a link in a second. All of them follow
from the messages of a campaign's records.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from analysis.attempt import read_checked_table
from analysis.collection import CampaignCollection
from analysis.statistics.intervals import NO_ESTIMATE, IntervalEstimate, estimate_ratio
from analysis.tables.from_frames import ON_AIR
from analysis.tables.parts import join_segments
from analysis.tables.table import encode_names
from harness.common.errors import UserError
from harness.records.arms import PARTNER_FLEET, SAME_SYSTEM
from harness.records.keys import AttemptKey
from harness.records.reading import CampaignRecords

BITS = 8
FEATURES = "features"
"""The kind of a formatted message with feature maps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeDefinition:
    """One definition: a sum over a sum, and who reports it.

    Attributes:
        above: column of attempts whose sum is divided.
        below: column by whose sum it is divided.
        scale: of the quotient.
        used_by: papers, or the tool whose number it is.
        transform: of the quotient and of its limits; monotonous.
        missing: what records must have for it; its row is there without a value where they lack it.
    """

    name: str
    unit: str
    above: str
    below: str
    scale: float = 1.0
    used_by: str
    transform: Callable[[float], float] | None = None
    missing: str = ""


def compute_log2(size: float) -> float:
    """Return the logarithm of bytes to base 2 (Where2comm, section 5.1); NaN of nothing."""
    return math.log2(size) if size > 0 else math.nan


NO_BYTES_BEFORE = (
    "bytes before compression are known of boxes and points, of the networks that come with"
    " Crucible, and under a message format; a published network may compress features itself"
)
NO_CELLS = (
    "cells of feature maps are counted under message_format=eight_bits or top_k;"
    " message_format=top_k message_format.top_k.share=1 changes no number of a map"
)
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
        name="a message, before compression", unit="B", above="bytes_before", below="known_before",
        used_by="OpenCOOD's results on OPV2V: bandwidth before compression",
        missing=NO_BYTES_BEFORE,
    ),
    VolumeDefinition(
        name="cells sent, share", unit="%", above="cells_sent", below="cells", scale=100.0,
        used_by="Where2comm, V2Xverse: communication rate", missing=NO_CELLS,
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
        scale=1e-3, used_by="`crucible tables`: kB/s",
    ),
    VolumeDefinition(
        name="packets a message", unit="", above="fragments", below="carried",
        used_by="radio links: fragments",
    ),
    VolumeDefinition(
        name="segments a split message", unit="", above="segments", below="split",
        used_by="`message_format=cpm`: messages that were too large for one",
    ),
    VolumeDefinition(
        name="the channel, share of time", unit="%", above="airtime", below="link_time",
        scale=100.0, used_by="radio links: airtime of the partners",
    ),
)  # fmt: skip
SUMS = (
    *("bytes", "sent", "link_seconds", "delivered_bytes", "steps", "seconds"),
    *("fragments", "carried", "airtime", "link_time"),
    *("segments", "split"),
    *("bytes_before", "known_before", "cells_sent", "cells"),
)
MODULES = "agents.perception.fusion."
"""Where the fusion modules that come with Crucible are: none of them compresses what it sends."""
SHARED_WHOLE = ("late", "early")
"""Fusion of boxes and of points, which no network compresses."""


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
        # a definition that is not known has a row, one that does not apply has none
        if drives["sent"].sum() > 0 and not (drives[definition.below] == 0).all()
    ]
    return pd.DataFrame(rows)


def list_silent_arms(collection: CampaignCollection, volumes: pd.DataFrame) -> list[str]:
    """Return the arms with drives and without a message on the air, which have no row.

    Args:
        collection: of campaigns.
        volumes: as `build_volume_frame` returns them.
    """
    sending = set(volumes["arm"]) if len(volumes) else set()
    return [arm for arm in dict.fromkeys(collection.attempts["arm"]) if arm not in sending]


def list_volume_notes(volumes: pd.DataFrame) -> list[str]:
    """Return a line for each definition that the records of some arm cannot give, and why."""
    unknown = set(volumes.loc[volumes["value"].isna(), "volume"]) if len(volumes) else set()
    return [
        f"{definition.name}: - stands for what is not in the records: {definition.missing}"
        for definition in DEFINITIONS
        if definition.missing and definition.name in unknown
    ]


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
    """Return a definition's value for some drives, with its route-clustered interval.

    Drives whose records do not have it, NaN, are left out.
    """
    drives = drives[drives[definition.below].notna()]
    if drives.empty:
        return NO_ESTIMATE
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
    formatted = read_formatted_messages(campaign, key, messages[on_air])
    return {
        **sums,
        **sum_link_volumes(campaign, key, sums["seconds"]),
        **count_segments(campaign, key),
        **sum_bytes_before(campaign, key, messages[on_air], formatted),
        **count_cells(campaign, key, formatted),
    }


def read_formatted_messages(
    campaign: CampaignRecords, key: AttemptKey, sent: pd.DataFrame
) -> pd.DataFrame | None:
    """Return what a message format made of the messages that were sent; None in native format.

    Args:
        campaign: its records.
        key: of the attempt.
        sent: its messages on the air.
    """
    if not campaign.get_result_path(key).with_name("formatted.parquet").exists():
        return None
    names = {"sender": str}
    formatted = read_checked_table(campaign, "formatted", key).astype({**names, "kind": str})
    return (
        sent[["sender", "capture_frame"]]
        .astype(names)
        .merge(formatted, on=["sender", "capture_frame"])
    )


def sum_bytes_before(
    campaign: CampaignRecords, key: AttemptKey, sent: pd.DataFrame, formatted: pd.DataFrame | None
) -> dict[str, float]:
    """Return the bytes of payloads before compression, as systems share them, and of how many.

    OpenCOOD's results on OPV2V (its README) have a column "bandwidth, before/after compression":
    the size of features before and after an encoder that compresses them. Under a message format
    it is the size of the payload that the format was given; without one the payload is sent as it
    is. NaN where a network of others may have compressed features before it shared them.

    Args:
        campaign: its records.
        key: of the attempt.
        sent: its messages on the air.
        formatted: the same with the columns of `formatted`; None in native format.
    """
    if not is_shared_uncompressed(campaign, key):
        return dict.fromkeys(("bytes_before", "known_before"), math.nan)
    sizes = sent["bytes"] if formatted is None else formatted["native_bytes"]
    return {"bytes_before": float(sizes.sum()), "known_before": float(len(sizes))}


def is_shared_whole(campaign: CampaignRecords, key: AttemptKey) -> bool:
    """Return whether all partners share boxes or points, which have no feature maps."""
    return (
        key.arm[PARTNER_FLEET] == SAME_SYSTEM
        and campaign.read_result(key)["crucible"]["messages"]["fusion"] in SHARED_WHOLE
    )


def is_shared_uncompressed(campaign: CampaignRecords, key: AttemptKey) -> bool:
    """Return whether records show that no network compresses what partners share."""
    if is_shared_whole(campaign, key):
        return True
    if key.arm[PARTNER_FLEET] != SAME_SYSTEM:
        return False
    system = (campaign.header["settings"].get("system") or {}).get(key.arm.system)
    fusion = system.get("fusion") if isinstance(system, Mapping) else None
    target = fusion.get("_target_", "") if isinstance(fusion, Mapping) else ""
    return str(target).startswith(MODULES)


def count_cells(
    campaign: CampaignRecords, key: AttemptKey, formatted: pd.DataFrame | None
) -> dict[str, float]:
    """Return the cells of feature maps that were sent, and all cells, over messages.

    The share of cells is Where2comm's (Hu et al. 2022: ones of the binary selection matrix over
    its size; `communication_rate` in its code and in V2Xverse's). Cells of all maps of a message
    count; a cell with zeros in all channels is not sent. NaN where no format of features counted
    them; zeros of boxes and points, which have no cells.

    Args:
        campaign: its records.
        key: of the attempt.
        formatted: messages on the air with the columns of `formatted`; None in native format.
    """
    if formatted is None or not (formatted["kind"] == FEATURES).any():
        count = 0.0 if is_shared_whole(campaign, key) else math.nan
        return dict.fromkeys(("cells_sent", "cells"), count)
    features = formatted[formatted["kind"] == FEATURES]
    return {
        "cells_sent": float(features["included"].sum()),
        "cells": float(features["perceived"].sum()),
    }


def count_segments(campaign: CampaignRecords, key: AttemptKey) -> dict[str, float]:
    """Return how many segments there were, of how many messages; zeros without the table."""
    if not campaign.get_result_path(key).with_name("segments.parquet").exists():
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
    if not campaign.get_result_path(key).with_name("links.parquet").exists():
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
