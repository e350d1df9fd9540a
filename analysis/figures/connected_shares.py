"""Violations and channel load over the share of connected vehicles, or of equipped corners."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from analysis.arms import format_short_arm_name
from analysis.collection import CampaignCollection, get_campaign_settings
from analysis.drawing.canvas import Canvas
from analysis.figures.curves import (
    CurvePoint,
    StyledCurve,
    assign_styles,
    make_horizontal_axis,
    render_curve_figure,
)
from analysis.statistics.intervals import NO_ESTIMATE
from analysis.tables.radio import BUSY, VIOLATIONS
from analysis.tables.table import EstimatesTable
from harness.records.arms import COOPERATION, Arm

SHARE_AXES = {
    "connected": "share of vehicles that are connected, %",
    "roadside": "share of corners with a roadside unit, %",
}
SHARE_FIGURES = {"violations": VIOLATIONS, "busy": BUSY}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareLine:
    """Arms that differ in one share.

    Attributes:
        kind: of the share, a key of `SHARE_AXES`.
        label: what else the arms are.
        arms: by share, 0 to 1.
    """

    kind: str
    label: str
    arms: Mapping[float, Arm]


def find_share_lines(collection: CampaignCollection) -> list[ShareLine]:
    """Return the arms that differ in the share of connected vehicles, or of equipped corners."""
    cooperations: dict[str, Any] = {}
    for campaign in collection.campaigns:
        cooperations |= get_campaign_settings(campaign).get(COOPERATION) or {}
    factors = [name for name in collection.factors if name != COOPERATION]
    groups: dict[tuple[str, str, Arm], dict[float, Arm]] = {}
    for arm in collection.arms:
        part = cooperations.get(arm.cooperation)
        if isinstance(part, dict):
            rest = arm.replace_factors(cooperation="any")
            for kind, alike, share in iterate_shares(part):
                groups.setdefault((kind, alike, rest), {})[share] = arm
    return [
        ShareLine(kind=kind, label=format_short_arm_name(rest, factors), arms=arms)
        for (kind, _, rest), arms in groups.items()
        if len(arms) > 1
    ]


def iterate_shares(cooperation: Mapping[str, Any]) -> Iterator[tuple[str, str, float]]:
    """Yield the kind of each share in a cooperation, its other settings as text, and the share."""
    if cooperation.get("connected") and isinstance(
        share := cooperation.get("connected_share"), int | float
    ):
        alike = {**cooperation, "connected_share": None}
        yield "connected", json.dumps(alike, sort_keys=True, default=str), float(share)
    units = cooperation.get("roadside")
    if isinstance(units, dict) and isinstance(share := units.get("share"), int | float):
        alike = {**cooperation, "roadside": {**units, "share": None}}
        yield "roadside", json.dumps(alike, sort_keys=True, default=str), float(share)


def render_share_figures(
    lines: list[ShareLine], load: EstimatesTable
) -> Iterator[tuple[str, Canvas]]:
    """Yield figures of violations and of the busy ratio over each kind of share, with names.

    Args:
        lines: as `find_share_lines` gives them.
        load: the table `radio_load`.
    """
    estimates = dict(load.list_rows())
    for kind, axis in SHARE_AXES.items():
        of_kind = [line for line in lines if line.kind == kind]
        look = assign_styles([line.label for line in of_kind])
        for figure, measure in SHARE_FIGURES.items() if of_kind else ():
            curves = [
                StyledCurve(
                    label=line.label,
                    style=look[line.label],
                    data=tuple(
                        CurvePoint(
                            x=replace(NO_ESTIMATE, value=100 * share),
                            y=estimates.get(arm.get_values(load.by), {}).get(measure, NO_ESTIMATE),
                            title=f"{line.label}, {100 * share:g} %",
                        )
                        for share, arm in sorted(line.arms.items())
                    ),
                )
                for line in of_kind
            ]
            words = {VIOLATIONS: "drives with a violation, %", BUSY: "channel busy ratio, %"}
            yield (
                f"radio-{kind}-{figure}",
                render_curve_figure(
                    curves,
                    make_horizontal_axis(curves, axis),
                    up=(0.0, 100.0, words[measure]),
                    says=f"{words[measure]} over the {axis}, with 95 % intervals",
                ),
            )
