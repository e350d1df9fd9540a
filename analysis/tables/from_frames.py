"""Tables that need each drive's frames and messages: distance, common stretches, ages, bytes.

A collision ends a drive, and with it the counting of its errors: `common_stretch` compares the
errors of two arms over the part of the route that both drove.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from analysis.arms import brief, of_arms
from analysis.attempt import checked_table
from analysis.collection import Collection
from analysis.comparison import PAIR
from analysis.contrasts import planned
from analysis.regression.stretches import Track, track_in
from analysis.statistics.intervals import Estimate, expanded, resampled
from analysis.tables.table import ESTIMATE, Measure, Table, cells, mean_of, numbered, ratio_of
from harness.records.arms import Arm
from harness.records.keys import AttemptKey
from harness.records.reading import Campaign
from harness.vocabulary import BANDS, PATTERNS, Floats

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


BY = ("second", "first", "of")
TITLE = (
    "Errors for 100 true boxes over the stretch that both drives of a pair drove;"
    " true boxes and metres for each drive"
)


def common_stretches(found: Collection, tracks: Sequence[Track]) -> Table:
    """Return the errors of every comparison's arms where both were, from all tracks."""
    parts = [
        cells(rows, BY, measures())
        for _, a, b in planned(found.arms)
        for rows in [shared(found, tracks, a, b)]
        if len(rows)
    ]
    empty = pd.DataFrame(columns=[*BY, "measure", *ESTIMATE])
    return Table("common_stretch", TITLE, BY, pd.concat(parts) if parts else empty)


def measures() -> dict[str, Measure]:
    """Return rates and what they rest on."""
    rates = {name: ratio_of(name, "true_boxes", 100) for name in PATTERNS}
    return {**rates, "true boxes": mean_of("true_boxes"), "driven, m": mean_of("driven")}


def shared(found: Collection, tracks: Sequence[Track], a: Arm, b: Arm) -> pd.DataFrame:
    """Return a row for each drive of each pair: its errors as far as both came."""
    attempts = found.attempts.reset_index(drop=True)[PAIR].rename_axis("row").reset_index()
    sides = [attempts[of_arms(found.attempts, [arm]).to_numpy()] for arm in (a, b)]
    first, second = (brief(arm, found.factors) for arm in (a, b))
    pairs = sides[0].merge(sides[1], on=PAIR, suffixes=("_a", "_b"))
    rows = []
    for row_a, row_b, cluster in zip(pairs["row_a"], pairs["row_b"], pairs["cluster"], strict=True):
        both = tracks[row_a], tracks[row_b]
        end = min((each.reached[-1] if len(each.reached) else 0.0) for each in both)
        for arm, track in zip((first, second), both, strict=True):
            counts, truths = track.over(np.array([-np.inf]), np.array([end]))
            names = {"second": second, "first": first, "of": arm, "cluster": cluster}
            errors = dict(zip(PATTERNS, counts[0], strict=True))
            rows.append({**names, **errors, "true_boxes": truths[0], "driven": end})
    return pd.DataFrame(rows)


QUANTILES = {"5 %": 0.05, "25 %": 0.25, "median": 0.5, "75 %": 0.75, "95 %": 0.95}
RESAMPLES = 1000
EXACT = 6
"""Decimals of a second to which ages are told apart."""


def ages(
    attempts: pd.DataFrame, arm: tuple[str, ...], kinds: Sequence[Mapping[str, object]]
) -> Table:
    """Return the quantiles by arm and kind of sender, routes resampled whole."""
    by = (*arm, "kind")
    shared = attempts.reset_index(drop=True)
    groups: dict[tuple[str, ...], list[tuple[str, Floats]]] = {}
    for each in kinds:
        row = shared.iloc[int(str(each["row"]))]
        name = (*(str(row[factor]) for factor in arm), str(each["kind"]))
        heard: Floats = np.asarray(each["ages"], np.float64).round(EXACT)
        groups.setdefault(name, []).append((str(row["cluster"]), heard))
    cells = [
        {**dict(zip(by, name, strict=True)), "measure": measure, **numbers_of(found)}
        for name, drives in sorted(groups.items())
        for measure, found in quantiles(drives).items()
    ]
    frame = pd.DataFrame(cells, columns=[*by, "measure", *ESTIMATE])
    digits = dict.fromkeys(QUANTILES, 2)
    title = "Age of messages at delivery, s: quantiles"
    return Table("ages", title, by, frame, digits, len(arm))


def numbers_of(found: Estimate) -> dict[str, object]:
    """Return an estimate's columns."""
    return {name: getattr(found, name) for name in ESTIMATE}


def quantiles(drives: Sequence[tuple[str, Floats]]) -> dict[str, Estimate]:
    """Return the quantiles of the ages of all drives; each comes with its route."""
    routes = numbered(pd.Series([route for route, _ in drives])).astype(np.int64)
    everything = np.concatenate([own for _, own in drives])
    n = sum(len(own) > 0 for _, own in drives)
    known, place = np.unique(everything, return_inverse=True)
    of_route = np.repeat(routes, [len(own) for _, own in drives])
    counts = np.zeros((int(routes.max()) + 1, len(known)))
    np.add.at(counts, (of_route, place), 1)
    return {name: quantile(known, counts, share, n) for name, share in QUANTILES.items()}


def quantile(known: Floats, counts: Floats, share: float, n: int) -> Estimate:
    """Return a quantile of values that every route has so many of."""
    there = int((counts.sum(axis=1) > 0).sum())
    if not there:
        return Estimate(math.nan, math.nan, math.nan, 0, 0, "none")
    value = at_share(known, counts.sum(axis=0, keepdims=True), share)[0]
    if there < 2:
        return Estimate(float(value), math.nan, math.nan, n, there, "none")
    drawn = resampled(len(counts), RESAMPLES) @ counts
    values = at_share(known, drawn[drawn.sum(axis=1) > 0], share)
    low, high = np.quantile(values, expanded(len(counts)))
    if low == high:
        return Estimate(float(value), math.nan, math.nan, n, there, "none")
    return Estimate(float(value), float(low), float(high), n, there, "bootstrap")


def at_share(known: Floats, weights: Floats, share: float) -> Floats:
    """Return, for each row of weights, the least value that so large a share does not exceed."""
    running = np.cumsum(weights, axis=1)
    return np.asarray(known[(running < share * running[:, -1:] - 1e-9).sum(axis=1)])
