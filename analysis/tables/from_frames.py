"""Tables that need each drive's frames and messages: distance, common stretches, ages, bytes.

A collision ends a drive, and with it the counting of its errors: `common_stretch` compares the
errors of two arms over the part of the route that both drove.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from analysis.arms import format_short_arm_name, match_arms
from analysis.attempt import read_checked_table
from analysis.collection import CampaignCollection
from analysis.comparison import PAIRED_BY
from analysis.contrasts import plan_comparisons
from analysis.regression.risk_sets import RouteTrack, read_attempt_track
from analysis.statistics.intervals import (
    IntervalEstimate,
    compute_expanded_percentiles,
    sample_bootstrap_weights,
)
from analysis.tables.table import (
    ESTIMATE,
    EstimatesTable,
    Measure,
    encode_names,
    estimate_cells,
    make_mean_measure,
    make_ratio_measure,
)
from harness.records.arms import Arm
from harness.records.keys import AttemptKey
from harness.records.reading import CampaignRecords
from harness.types.record_names import BANDS, PATTERNS
from harness.types.vocabulary import Floats

FATES = ("delivered", "superseded", "lost", "unsent", "unheard", "in_flight")
ON_AIR = "unsent"
"""The fate of what never went on the air."""


def build_frame_tables(collection: CampaignCollection) -> list[EstimatesTable]:
    """Return all tables that need frames and messages of every attempt; if packed, frames alone."""
    sums, tracks = [], []
    # one pass over all attempts: sums over steps, and the errors along the route
    for row, campaign, key in collection.iterate_attempts():
        frames = read_checked_table(campaign, "frames", key)
        sums.append(sum_frames(frames))
        tracks.append(read_attempt_track(collection.attempts, row, frames))
    attempts, arm = collection.attempts, collection.factors
    needed = attempts.reset_index(drop=True)[[*arm, "cluster", "duration"]]
    both = pd.concat([needed, pd.DataFrame(sums)], axis=1)  # metrics may be called like sums
    of_frames = [
        build_bands_table(both, arm),
        build_common_stretch_table(collection, tracks),
        build_used_ages_table(both, arm),
    ]
    if collection.packed:
        return of_frames
    # a second pass over the messages
    kinds = [
        {"row": row, **sums_of_kind}
        for row, campaign, key in collection.iterate_attempts()
        for sums_of_kind in iterate_sender_sums(campaign, key)
    ]
    return [
        *of_frames,
        *build_message_tables(attempts, arm, kinds),
        build_ages_table(attempts, arm, kinds),
        build_delivered_table(attempts, arm, kinds),
    ]


def sum_frames(frames: pd.DataFrame) -> dict[str, float]:
    """Return an attempt's sums over its planning steps."""
    names = [f"{name}_{band}" for name in (*PATTERNS, "truth") for band in BANDS]
    heard = frames["messages"] > 0
    return {
        **{name: float(frames[name].sum(skipna=False)) for name in names},
        "steps": float(len(frames)),
        "driven": float(frames["station"].max()) if len(frames) else 0.0,
        "steps_heard": float(heard.sum()),
        "messages_given": float(frames["messages"].sum()),
        "age_sum": float(frames.loc[heard, "oldest_age"].sum()),
    }


def build_bands_table(sums: pd.DataFrame, arm: tuple[str, ...]) -> EstimatesTable:
    """Return errors per 100 ground-truth boxes, by distance from the ego."""
    by = (*arm, "band")
    parts = []
    exposure = {
        "ground-truth boxes": make_mean_measure("true_boxes"),
        "driven, m": make_mean_measure("driven"),
        "driven, s": make_mean_measure("duration"),
    }
    for band in BANDS:
        # columns of the band under the names that measures read
        of_band = sums.assign(
            band=band,
            **{name: sums[f"{name}_{band}"] for name in PATTERNS},
            true_boxes=sums[f"truth_{band}"],
        )
        measures = {name: make_ratio_measure(name, "true_boxes", 100) for name in PATTERNS}
        parts.append(estimate_cells(of_band, by, measures | exposure))
    band_cells = pd.concat(parts).sort_values(list(arm), kind="stable")
    title = "Errors per 100 ground-truth boxes by distance, m; exposure of a drive"
    return EstimatesTable(name="bands", title=title, by=by, cells=band_cells, arm=len(arm))


def build_used_ages_table(sums: pd.DataFrame, arm: tuple[str, ...]) -> EstimatesTable:
    """Return the messages given to systems at their planning steps."""
    measures = {
        "steps with messages %": make_ratio_measure("steps_heard", "steps", 100),
        "messages per step": make_ratio_measure("messages_given", "steps"),
        "age of the oldest, s": make_ratio_measure("age_sum", "steps_heard"),
    }
    digits = {"messages per step": 2, "age of the oldest, s": 3}
    title = "Messages given to the system, per planning step"
    return EstimatesTable(
        name="ages_used",
        title=title,
        by=arm,
        cells=estimate_cells(sums, arm, measures),
        digits=digits,
        arm=len(arm),
    )


def iterate_sender_sums(campaign: CampaignRecords, key: AttemptKey) -> Iterator[dict[str, object]]:
    """Yield an attempt's sums over its messages, by kind of sender."""
    table = read_checked_table(campaign, "messages", key)
    for kind, rows in table.groupby(table["kind"].astype(str)):
        # (messages,) seconds; NaN where a message never arrived
        age = rows["age_measured"].to_numpy(np.float64)
        heard = np.isfinite(age)
        fates = rows["fate"].astype(str)
        on_air = (fates != ON_AIR).to_numpy()
        sent = rows["bytes"].to_numpy(np.float64)[on_air]
        shift = np.hypot(
            rows["measured_x"].to_numpy(np.float64), rows["measured_y"].to_numpy(np.float64)
        )
        yield {
            "kind": str(kind),
            "messages": float(len(rows)),
            "sent": float(on_air.sum()),
            "heard": float(heard.sum()),
            "age": float(age[heard].sum()),
            "ages": age[heard],
            "shift": float(shift.sum()),
            "kilobytes": float(sent.sum()) / 1000,
            "received": float(rows.loc[(fates == "delivered").to_numpy(), "bytes"].sum()),
            **{fate: float((fates == fate).sum()) for fate in FATES},
        }


def add_empty_rows(
    attempts: pd.DataFrame, arm: tuple[str, ...], kinds: list[dict[str, object]]
) -> pd.DataFrame:
    """Return a row for each drive and each kind of sender of its arm.

    Drives without messages of a kind count with zero.

    Args:
        attempts: a table with a row for each attempt.
        arm: names of the factors' columns.
        kinds: sums by attempt and kind of sender.
    """
    shared = attempts.reset_index(drop=True)[[*arm, "cluster", "duration"]]
    shared = shared.rename_axis("row").reset_index()
    known_sums = pd.DataFrame(kinds, columns=list(kinds[0]) if kinds else ["row", "kind"])
    known = known_sums.merge(shared, on="row")[[*arm, "kind"]].drop_duplicates()
    sums = known_sums.drop(columns="ages", errors="ignore")
    joined = shared.merge(known, on=list(arm)).merge(sums, on=["row", "kind"], how="left")
    return joined.fillna(dict.fromkeys(sums.columns, 0.0))


def build_message_tables(
    attempts: pd.DataFrame, arm: tuple[str, ...], kinds: list[dict[str, object]]
) -> tuple[EstimatesTable, EstimatesTable]:
    """Return messages by kind of sender: their fates; age, displacement and bytes."""
    by = (*arm, "kind")
    fates = {
        "messages per drive": make_mean_measure("messages"),
        **{f"{fate} %": make_ratio_measure(fate, "messages", 100) for fate in FATES},
    }
    sizes = {
        "age at delivery, s": make_ratio_measure("age", "heard"),
        "displaced, m": make_ratio_measure("shift", "messages"),
        "kB per message": make_ratio_measure("kilobytes", "sent"),
        "kB/s": make_ratio_measure("kilobytes", "duration"),
    }
    digits = {"age at delivery, s": 3, "displaced, m": 3, "kB per message": 2, "kB/s": 2}
    joined = add_empty_rows(attempts, arm, kinds)
    return (
        EstimatesTable(
            name="fates",
            title="Fates of messages",
            by=by,
            cells=estimate_cells(joined, by, fates),
            digits=digits,
            arm=len(arm),
        ),
        EstimatesTable(
            name="messages",
            title="Messages: age, displacement and size",
            by=by,
            cells=estimate_cells(joined, by, sizes),
            digits=digits,
            arm=len(arm),
        ),
    )


def build_delivered_table(
    attempts: pd.DataFrame, arm: tuple[str, ...], kinds: list[dict[str, object]]
) -> EstimatesTable:
    """Return what reached the system, of all partners together."""
    # a drive without messages has sums of 0
    names = ["heard", "age", "lost", "messages", "shift", "received"]
    sums = pd.DataFrame(kinds, columns=["row", *names]).groupby("row")[names].sum()
    of_drives = attempts.reset_index(drop=True)[[*arm, "cluster", "duration"]]
    measures = {
        "age at first use, s": make_ratio_measure("age", "heard"),
        "lost %": make_ratio_measure("lost", "messages", 100),
        "displaced, m": make_ratio_measure("shift", "messages"),
        "received, bytes/s": make_ratio_measure("received", "duration"),
    }
    rows = of_drives.join(sums).fillna(dict.fromkeys(names, 0.0))
    return EstimatesTable(
        name="delivered",
        title="What was delivered, of all partners together",
        by=arm,
        cells=estimate_cells(rows.astype(dict.fromkeys(names, float)), arm, measures),
        digits={"age at first use, s": 3, "displaced, m": 3, "received, bytes/s": 0},
        arm=len(arm),
    )


BY = ("second", "first", "of")
TITLE = (
    "Errors per 100 ground-truth boxes on the stretch that both drives of a pair drove;"
    " exposure of a drive"
)


def build_common_stretch_table(
    collection: CampaignCollection, tracks: Sequence[RouteTrack]
) -> EstimatesTable:
    """Return the errors of every comparison's arms where both were, from all tracks."""
    parts = [
        estimate_cells(rows, BY, make_stretch_measures())
        for _, a, b in plan_comparisons(collection.arms)
        for rows in [count_common_stretch_errors(collection, tracks, a, b)]
        if len(rows)
    ]
    empty = pd.DataFrame(columns=[*BY, "measure", *ESTIMATE])
    return EstimatesTable(
        name="common_stretch", title=TITLE, by=BY, cells=pd.concat(parts) if parts else empty
    )


def make_stretch_measures() -> dict[str, Measure]:
    """Return rates and what they rest on."""
    rates = {name: make_ratio_measure(name, "true_boxes", 100) for name in PATTERNS}
    return {
        **rates,
        "ground-truth boxes": make_mean_measure("true_boxes"),
        "driven, m": make_mean_measure("driven"),
    }


def count_common_stretch_errors(
    collection: CampaignCollection, tracks: Sequence[RouteTrack], a: Arm, b: Arm
) -> pd.DataFrame:
    """Return a row for each drive of each pair: its errors as far as both came.

    Args:
        collection: campaigns that were read.
        tracks: by attempt, its errors along the route.
        a: the first arm.
        b: the second arm.
    """
    attempts = (
        collection.attempts.reset_index(drop=True)[PAIRED_BY].rename_axis("row").reset_index()
    )
    sides = [attempts[match_arms(collection.attempts, [arm]).to_numpy()] for arm in (a, b)]
    first, second = (format_short_arm_name(arm, collection.factors) for arm in (a, b))
    # pairs of equal place and seed
    pairs = sides[0].merge(sides[1], on=PAIRED_BY, suffixes=("_a", "_b"))
    rows = []
    # errors of both as far as the drive that ended first came
    for row_a, row_b, cluster in zip(pairs["row_a"], pairs["row_b"], pairs["cluster"], strict=True):
        both = tracks[row_a], tracks[row_b]
        end = min((track.reached[-1] if len(track.reached) else 0.0) for track in both)
        for arm, track in zip((first, second), both, strict=True):
            counts, truths = track.count_errors_between(np.array([-np.inf]), np.array([end]))
            names = {"second": second, "first": first, "of": arm, "cluster": cluster}
            errors = dict(zip(PATTERNS, counts[0], strict=True))
            rows.append({**names, **errors, "true_boxes": truths[0], "driven": end})
    return pd.DataFrame(rows)


QUANTILES = {"5 %": 0.05, "25 %": 0.25, "median": 0.5, "75 %": 0.75, "95 %": 0.95}
RESAMPLES = 1000
EXACT = 6
"""Decimals of a second to which ages are rounded."""


def build_ages_table(
    attempts: pd.DataFrame, arm: tuple[str, ...], kinds: Sequence[Mapping[str, object]]
) -> EstimatesTable:
    """Return the quantiles by arm and kind of sender, routes resampled whole."""
    by = (*arm, "kind")
    shared = attempts.reset_index(drop=True)
    groups: dict[tuple[str, ...], list[tuple[str, Floats]]] = {}
    for sums in kinds:
        row = shared.iloc[int(str(sums["row"]))]
        name = (*(str(row[factor]) for factor in arm), str(sums["kind"]))
        heard: Floats = np.asarray(sums["ages"], np.float64).round(EXACT)
        groups.setdefault(name, []).append((str(row["cluster"]), heard))
    cells = [
        {**dict(zip(by, name, strict=True)), "measure": measure, **get_estimate_columns(estimate)}
        for name, drives in sorted(groups.items())
        for measure, estimate in estimate_age_quantiles(drives).items()
    ]
    frame = pd.DataFrame(cells, columns=[*by, "measure", *ESTIMATE])
    digits = dict.fromkeys(QUANTILES, 2)
    title = "Age of messages at delivery, s: quantiles"
    return EstimatesTable(name="ages", title=title, by=by, cells=frame, digits=digits, arm=len(arm))


def get_estimate_columns(estimate: IntervalEstimate) -> dict[str, object]:
    """Return an estimate's columns."""
    return {name: getattr(estimate, name) for name in ESTIMATE}


def estimate_age_quantiles(drives: Sequence[tuple[str, Floats]]) -> dict[str, IntervalEstimate]:
    """Return the quantiles of the ages of all drives; each comes with its route."""
    routes = encode_names(pd.Series([route for route, _ in drives])).astype(np.int64)
    everything = np.concatenate([ages_of_drive for _, ages_of_drive in drives])
    n = sum(len(ages_of_drive) > 0 for _, ages_of_drive in drives)
    # (routes, ages) how often each age occurs on each route: resamples are then products
    known, place = np.unique(everything, return_inverse=True)
    of_route = np.repeat(routes, [len(ages_of_drive) for _, ages_of_drive in drives])
    counts = np.zeros((int(routes.max()) + 1, len(known)))
    np.add.at(counts, (of_route, place), 1)
    return {name: estimate_quantile(known, counts, share, n) for name, share in QUANTILES.items()}


def estimate_quantile(known: Floats, counts: Floats, share: float, n: int) -> IntervalEstimate:
    """Return a quantile of values that every route has so many of.

    Args:
        known: (values,) ascending.
        counts: (routes, values).
        share: 0 to 1.
        n: number of attempts.

    Returns:
        In the unit of the values.
    """
    # routes with any value
    there = int((counts.sum(axis=1) > 0).sum())
    if not there:
        return IntervalEstimate(
            value=math.nan, low=math.nan, high=math.nan, n=0, routes=0, method="none"
        )
    # the quantile over all routes
    value = find_weighted_quantile(known, counts.sum(axis=0, keepdims=True), share)[0]
    if there < 2:
        return IntervalEstimate(
            value=float(value), low=math.nan, high=math.nan, n=n, routes=there, method="none"
        )
    # (resamples, values) counts when routes are resampled
    resamples = sample_bootstrap_weights(len(counts), RESAMPLES) @ counts
    values = find_weighted_quantile(known, resamples[resamples.sum(axis=1) > 0], share)
    low, high = np.quantile(values, compute_expanded_percentiles(len(counts)))
    if low == high:
        return IntervalEstimate(
            value=float(value), low=math.nan, high=math.nan, n=n, routes=there, method="none"
        )
    return IntervalEstimate(
        value=float(value), low=float(low), high=float(high), n=n, routes=there, method="bootstrap"
    )


def find_weighted_quantile(known: Floats, weights: Floats, share: float) -> Floats:
    """Return, for each row of weights, the least value that so large a share does not exceed.

    Args:
        known: (values,) ascending.
        weights: (rows, values).
        share: 0 to 1.

    Returns:
        (rows,)
    """
    running = np.cumsum(weights, axis=1)
    return np.asarray(known[(running < share * running[:, -1:] - 1e-9).sum(axis=1)])
