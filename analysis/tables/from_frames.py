"""Tables that need each drive's frames and messages: distance, common stretches, ages, bytes.

A collision ends a drive, and with it the counting of its errors: `common_stretch` compares the
errors of two arms over the part of the route that both drove.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from analysis.arms import of_arms, short_name
from analysis.attempt import checked_table
from analysis.collection import Collection
from analysis.comparison import PAIR
from analysis.contrasts import planned_comparisons
from analysis.regression.risk_sets import Track, track_in
from analysis.statistics.intervals import Estimate, expanded_percentiles, resample_weights
from analysis.tables.table import ESTIMATE, Measure, Table, cells, codes_of, mean_of, ratio_of
from harness.records.arms import Arm
from harness.records.keys import AttemptKey
from harness.records.reading import Campaign
from harness.vocabulary import BANDS, PATTERNS, Floats

FATES = ("delivered", "superseded", "lost", "unsent", "unheard", "in_flight")
ON_AIR = "unsent"
"""The fate of what never went on the air."""


def tables_of_frames(collection: Collection) -> list[Table]:
    """Return all tables that need frames and messages of every attempt; if packed, frames alone."""
    sums, tracks = [], []
    for row, campaign, key in collection.attempts_in_order():
        frames = checked_table(campaign, "frames", key)
        sums.append(sums_of(frames))
        tracks.append(track_in(collection.attempts, row, frames))
    attempts, arm = collection.attempts, collection.factors
    needed = attempts.reset_index(drop=True)[[*arm, "cluster", "duration"]]
    both = pd.concat([needed, pd.DataFrame(sums)], axis=1)  # metrics may be called like sums
    of_frames = [bands(both, arm), common_stretches(collection, tracks), used_ages(both, arm)]
    if collection.packed:
        return of_frames
    kinds = [
        {"row": row, **sums_of_kind}
        for row, campaign, key in collection.attempts_in_order()
        for sums_of_kind in kinds_of(campaign, key)
    ]
    return [
        *of_frames,
        *messages(attempts, arm, kinds),
        ages(attempts, arm, kinds),
        delivered(attempts, arm, kinds),
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
    """Return errors per 100 ground-truth boxes, by distance from the ego."""
    by = (*arm, "band")
    parts = []
    exposure = {
        "ground-truth boxes": mean_of("true_boxes"),
        "driven, m": mean_of("driven"),
        "driven, s": mean_of("duration"),
    }
    for band in BANDS:
        of_band = sums.assign(
            band=band,
            **{name: sums[f"{name}_{band}"] for name in PATTERNS},
            true_boxes=sums[f"truth_{band}"],
        )
        measures = {name: ratio_of(name, "true_boxes", 100) for name in PATTERNS}
        parts.append(cells(of_band, by, measures | exposure))
    band_cells = pd.concat(parts).sort_values(list(arm), kind="stable")
    title = "Errors per 100 ground-truth boxes by distance, m; exposure of a drive"
    return Table(name="bands", title=title, by=by, cells=band_cells, arm=len(arm))


def used_ages(sums: pd.DataFrame, arm: tuple[str, ...]) -> Table:
    """Return the messages given to systems at their planning steps."""
    measures = {
        "steps with messages %": ratio_of("steps_heard", "steps", 100),
        "messages per step": ratio_of("messages_given", "steps"),
        "age of the oldest, s": ratio_of("age_sum", "steps_heard"),
    }
    digits = {"messages per step": 2, "age of the oldest, s": 3}
    title = "Messages given to the system, per planning step"
    return Table(
        name="ages_used",
        title=title,
        by=arm,
        cells=cells(sums, arm, measures),
        digits=digits,
        arm=len(arm),
    )


def kinds_of(campaign: Campaign, key: AttemptKey) -> Iterator[dict[str, object]]:
    """Yield an attempt's sums over its messages, by kind of sender."""
    table = checked_table(campaign, "messages", key)
    for kind, rows in table.groupby(table["kind"].astype(str)):
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


def with_empty_rows(
    attempts: pd.DataFrame, arm: tuple[str, ...], kinds: list[dict[str, object]]
) -> pd.DataFrame:
    """Return a row for each drive and each kind of sender of its arm.

    Drives without messages of a kind count with zero.
    """
    shared = attempts.reset_index(drop=True)[[*arm, "cluster", "duration"]]
    shared = shared.rename_axis("row").reset_index()
    known_sums = pd.DataFrame(kinds, columns=list(kinds[0]) if kinds else ["row", "kind"])
    known = known_sums.merge(shared, on="row")[[*arm, "kind"]].drop_duplicates()
    sums = known_sums.drop(columns="ages", errors="ignore")
    joined = shared.merge(known, on=list(arm)).merge(sums, on=["row", "kind"], how="left")
    return joined.fillna(dict.fromkeys(sums.columns, 0.0))


def messages(
    attempts: pd.DataFrame, arm: tuple[str, ...], kinds: list[dict[str, object]]
) -> tuple[Table, Table]:
    """Return messages by kind of sender: their fates; age, displacement and bytes."""
    by = (*arm, "kind")
    fates = {
        "messages per drive": mean_of("messages"),
        **{f"{fate} %": ratio_of(fate, "messages", 100) for fate in FATES},
    }
    sizes = {
        "age at delivery, s": ratio_of("age", "heard"),
        "displaced, m": ratio_of("shift", "messages"),
        "kB per message": ratio_of("kilobytes", "sent"),
        "kB/s": ratio_of("kilobytes", "duration"),
    }
    digits = {"age at delivery, s": 3, "displaced, m": 3, "kB per message": 2, "kB/s": 2}
    joined = with_empty_rows(attempts, arm, kinds)
    return (
        Table(
            name="fates",
            title="Fates of messages",
            by=by,
            cells=cells(joined, by, fates),
            digits=digits,
            arm=len(arm),
        ),
        Table(
            name="messages",
            title="Messages: age, displacement and size",
            by=by,
            cells=cells(joined, by, sizes),
            digits=digits,
            arm=len(arm),
        ),
    )


def delivered(
    attempts: pd.DataFrame, arm: tuple[str, ...], kinds: list[dict[str, object]]
) -> Table:
    """Return what reached the system, of all partners together."""
    names = ["heard", "age", "lost", "messages", "shift", "received"]
    sums = pd.DataFrame(kinds, columns=["row", *names]).groupby("row")[names].sum()
    of_drives = attempts.reset_index(drop=True)[[*arm, "cluster", "duration"]]
    measures = {
        "age at first use, s": ratio_of("age", "heard"),
        "lost %": ratio_of("lost", "messages", 100),
        "displaced, m": ratio_of("shift", "messages"),
        "received, bytes/s": ratio_of("received", "duration"),
    }
    rows = of_drives.join(sums).fillna(dict.fromkeys(names, 0.0))
    return Table(
        name="delivered",
        title="What was delivered, of all partners together",
        by=arm,
        cells=cells(rows.astype(dict.fromkeys(names, float)), arm, measures),
        digits={"age at first use, s": 3, "displaced, m": 3, "received, bytes/s": 0},
        arm=len(arm),
    )


BY = ("second", "first", "of")
TITLE = (
    "Errors per 100 ground-truth boxes on the stretch that both drives of a pair drove;"
    " exposure of a drive"
)


def common_stretches(collection: Collection, tracks: Sequence[Track]) -> Table:
    """Return the errors of every comparison's arms where both were, from all tracks."""
    parts = [
        cells(rows, BY, measures())
        for _, a, b in planned_comparisons(collection.arms)
        for rows in [errors_on_common_stretch(collection, tracks, a, b)]
        if len(rows)
    ]
    empty = pd.DataFrame(columns=[*BY, "measure", *ESTIMATE])
    return Table(
        name="common_stretch", title=TITLE, by=BY, cells=pd.concat(parts) if parts else empty
    )


def measures() -> dict[str, Measure]:
    """Return rates and what they rest on."""
    rates = {name: ratio_of(name, "true_boxes", 100) for name in PATTERNS}
    return {**rates, "ground-truth boxes": mean_of("true_boxes"), "driven, m": mean_of("driven")}


def errors_on_common_stretch(
    collection: Collection, tracks: Sequence[Track], a: Arm, b: Arm
) -> pd.DataFrame:
    """Return a row for each drive of each pair: its errors as far as both came."""
    attempts = collection.attempts.reset_index(drop=True)[PAIR].rename_axis("row").reset_index()
    sides = [attempts[of_arms(collection.attempts, [arm]).to_numpy()] for arm in (a, b)]
    first, second = (short_name(arm, collection.factors) for arm in (a, b))
    pairs = sides[0].merge(sides[1], on=PAIR, suffixes=("_a", "_b"))
    rows = []
    for row_a, row_b, cluster in zip(pairs["row_a"], pairs["row_b"], pairs["cluster"], strict=True):
        both = tracks[row_a], tracks[row_b]
        end = min((track.reached[-1] if len(track.reached) else 0.0) for track in both)
        for arm, track in zip((first, second), both, strict=True):
            counts, truths = track.over(np.array([-np.inf]), np.array([end]))
            names = {"second": second, "first": first, "of": arm, "cluster": cluster}
            errors = dict(zip(PATTERNS, counts[0], strict=True))
            rows.append({**names, **errors, "true_boxes": truths[0], "driven": end})
    return pd.DataFrame(rows)


QUANTILES = {"5 %": 0.05, "25 %": 0.25, "median": 0.5, "75 %": 0.75, "95 %": 0.95}
RESAMPLES = 1000
EXACT = 6
"""Decimals of a second to which ages are rounded."""


def ages(
    attempts: pd.DataFrame, arm: tuple[str, ...], kinds: Sequence[Mapping[str, object]]
) -> Table:
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
        {**dict(zip(by, name, strict=True)), "measure": measure, **estimate_columns(estimate)}
        for name, drives in sorted(groups.items())
        for measure, estimate in quantiles(drives).items()
    ]
    frame = pd.DataFrame(cells, columns=[*by, "measure", *ESTIMATE])
    digits = dict.fromkeys(QUANTILES, 2)
    title = "Age of messages at delivery, s: quantiles"
    return Table(name="ages", title=title, by=by, cells=frame, digits=digits, arm=len(arm))


def estimate_columns(estimate: Estimate) -> dict[str, object]:
    """Return an estimate's columns."""
    return {name: getattr(estimate, name) for name in ESTIMATE}


def quantiles(drives: Sequence[tuple[str, Floats]]) -> dict[str, Estimate]:
    """Return the quantiles of the ages of all drives; each comes with its route."""
    routes = codes_of(pd.Series([route for route, _ in drives])).astype(np.int64)
    everything = np.concatenate([ages_of_drive for _, ages_of_drive in drives])
    n = sum(len(ages_of_drive) > 0 for _, ages_of_drive in drives)
    known, place = np.unique(everything, return_inverse=True)
    of_route = np.repeat(routes, [len(ages_of_drive) for _, ages_of_drive in drives])
    counts = np.zeros((int(routes.max()) + 1, len(known)))
    np.add.at(counts, (of_route, place), 1)
    return {name: quantile(known, counts, share, n) for name, share in QUANTILES.items()}


def quantile(known: Floats, counts: Floats, share: float, n: int) -> Estimate:
    """Return a quantile of values that every route has so many of."""
    there = int((counts.sum(axis=1) > 0).sum())
    if not there:
        return Estimate(value=math.nan, low=math.nan, high=math.nan, n=0, routes=0, method="none")
    value = at_share(known, counts.sum(axis=0, keepdims=True), share)[0]
    if there < 2:
        return Estimate(
            value=float(value), low=math.nan, high=math.nan, n=n, routes=there, method="none"
        )
    resamples = resample_weights(len(counts), RESAMPLES) @ counts
    values = at_share(known, resamples[resamples.sum(axis=1) > 0], share)
    low, high = np.quantile(values, expanded_percentiles(len(counts)))
    if low == high:
        return Estimate(
            value=float(value), low=math.nan, high=math.nan, n=n, routes=there, method="none"
        )
    return Estimate(
        value=float(value), low=float(low), high=float(high), n=n, routes=there, method="bootstrap"
    )


def at_share(known: Floats, weights: Floats, share: float) -> Floats:
    """Return, for each row of weights, the least value that so large a share does not exceed."""
    running = np.cumsum(weights, axis=1)
    return np.asarray(known[(running < share * running[:, -1:] - 1e-9).sum(axis=1)])
