"""A campaign's hazards on one sheet: each from above, shortly before the ego meets the mover."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from analysis.drawing.canvas import trim_text
from analysis.drawing.picture import get_rgb_colour, load_film_font, write_png
from analysis.drive import RecordedDrive, read_recorded_drive
from analysis.replay.film import GAP, MARGIN, PANEL_PIXELS
from analysis.replay.ground import make_follow_camera, render_film_ground
from analysis.replay.legend import render_film_legend
from analysis.replay.panel import DriveFootage, render_drive_panel
from harness.common.errors import UserError
from harness.records.keys import AttemptKey
from harness.records.reading import CampaignRecords, make_unreadable_error

ACROSS, CAPTION = 4, 58
"""Panels in a row, and pixels above each."""
OF_A_KIND, MOST = 2, 24
"""Hazards of each kind that are shown, and of all kinds together."""
SHORT_OF = 11.0
"""Metres from the ego to the meeting, along the route: its mover is on its way."""
LONGEST = 80
"""Characters of a kind's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedHazard:
    """A hazard that began in an attempt."""

    key: AttemptKey
    kind: str
    meeting: float  # m along the route
    reveal: float | None  # s between when an ego alone could see the mover and the meeting


@dataclass(frozen=True, slots=True, kw_only=True)
class SheetHazard:
    """A hazard as it is drawn."""

    drive: RecordedDrive
    kind: str
    words: str  # which route, how late an ego alone could see the mover
    time: float  # s, since the start of the attempt


def write_hazard_sheet(campaign: CampaignRecords, file: Path, dark: bool) -> int:
    """Write the sheet, whole or not at all; return how many hazards it shows.

    Args:
        campaign: its records.
        file: the target, PNG.
        dark: colours for dark pages.

    Raises:
        UserError: no hazard ran.
    """
    shown = [
        prepare_sheet_hazard(campaign, hazard)
        for hazard in islice(select_sheet_hazards(campaign), MOST)
    ]
    if not shown:
        raise UserError(f"{campaign.folder}: no hazard ran")
    write_png(render_hazard_sheet(shown, dark), file)
    return len(shown)


def select_sheet_hazards(campaign: CampaignRecords) -> Iterator[StartedHazard]:
    """Yield the first hazards of each kind that ran in a campaign's first arm, by kind."""
    by_kind: dict[str, list[StartedHazard]] = defaultdict(list)
    keys = sorted(campaign.find_attempts())
    for key in keys:
        if key.arm == keys[0].arm:
            for hazard in list_started_hazards(campaign, key):
                by_kind[hazard.kind].append(hazard)
    for kind in sorted(by_kind):
        yield from by_kind[kind][:OF_A_KIND]


def list_started_hazards(campaign: CampaignRecords, key: AttemptKey) -> list[StartedHazard]:
    """Return the hazards of an attempt that began, as its result has them."""
    try:
        return [
            parse_started_hazard(key, hazard)
            for hazard in campaign.read_result(key)["crucible"]["hazards"]
            if hazard["started_at"] is not None
        ]
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise make_unreadable_error(campaign.get_result_path(key), problem) from None


def parse_started_hazard(key: AttemptKey, hazard: Mapping[str, Any]) -> StartedHazard:
    """Return a hazard from its record; those without a mover meet the ego at their station."""
    encounter = hazard.get("encounter") or {}
    station, reveal = encounter.get("conflict_station"), encounter.get("reveal")
    return StartedHazard(
        key=key,
        kind=str(hazard["kind"])[:LONGEST],
        meeting=float(hazard["station"] if station is None else station),
        reveal=None if reveal is None else float(reveal),
    )


def prepare_sheet_hazard(campaign: CampaignRecords, hazard: StartedHazard) -> SheetHazard:
    """Return what is shown of a hazard: a moment of its drive, with a caption."""
    drive = read_recorded_drive(campaign, hazard.key)
    if drive is None:
        raise UserError(f"{hazard.key}: it ended before the first planning step")
    near = np.flatnonzero(drive.frames["station"].to_numpy() >= hazard.meeting - SHORT_OF)
    row = near[0] if len(near) else len(drive.frames) - 1
    words = f"route {hazard.key.route}"
    if hazard.reveal is not None:
        words += f", seen {hazard.reveal:.1f} s ahead"
    return SheetHazard(drive=drive, kind=hazard.kind, words=words, time=float(drive.times[row]))


def render_hazard_sheet(shown: Sequence[SheetHazard], dark: bool) -> Image.Image:
    """Draw the hazards side by side, row after row, a legend below."""
    # rows of panels above a legend
    down = -(-len(shown) // ACROSS)
    side = PANEL_PIXELS // 2
    width = ACROSS * side + (ACROSS - 1) * GAP + 2 * MARGIN
    partners = any(hazard.drive.reads_messages for hazard in shown)
    legend = render_film_legend(width - 2 * MARGIN, False, dark, note=False, with_partners=partners)
    height = down * (CAPTION + side + GAP) + legend.height + 2 * MARGIN
    image = Image.new("RGB", (width, height), get_rgb_colour("paper", dark))
    brush = ImageDraw.Draw(image)
    # caption and panel of each
    for number, hazard in enumerate(shown):
        row, column = divmod(number, ACROSS)
        left = MARGIN + column * (side + GAP)
        top = MARGIN + row * (CAPTION + side + GAP)
        for line, (words, ink, size) in enumerate(
            ((hazard.kind, "ink", 20), (hazard.words, "quiet", 15))
        ):
            at = left, top + 16 + 24 * line
            fitting = trim_text(words, side, size)
            brush.text(at, fitting, get_rgb_colour(ink, dark), load_film_font(size), anchor="lm")
        image.paste(render_sheet_panel(hazard, dark).reduce(2), (left, top + CAPTION))
    image.paste(legend, (MARGIN, height - MARGIN - legend.height))
    return image


def render_sheet_panel(hazard: SheetHazard, dark: bool) -> Image.Image:
    """Draw one moment from above, the way that the ego looks then."""
    footage = DriveFootage(hazard.drive, {}, {}, hazard.drive.other)
    tick = min(round(hazard.time / footage.tick), footage.last)
    way = np.repeat(footage.way[tick : tick + 1], tick + 1, axis=0)
    camera = make_follow_camera(way, float(footage.headings[tick]), PANEL_PIXELS)
    ground = render_film_ground(hazard.drive.map, hazard.drive.scenery, camera, dark)
    return render_drive_panel(footage, ground, camera=camera, tick=tick, dark=dark)
