"""A drive's last seconds as one picture that stands alone: three moments, captions, a legend."""

from __future__ import annotations

import math
from pathlib import Path

from PIL import Image, ImageDraw

from analysis.drawing.canvas import trim_text
from analysis.drawing.picture import get_rgb_colour, load_film_font, write_png
from analysis.drive import RecordedDrive
from analysis.figures.birds_eye import SECONDS_BEFORE, describe_messages
from analysis.replay.film import GAP, MARGIN, PANEL_PIXELS, DriveFilm, make_film
from analysis.replay.legend import render_film_legend
from analysis.replay.panel import render_drive_panel
from analysis.replay.views import render_front_views

TITLE, CAPTION = 76, 36
"""Pixels above the panels."""
TEN = 10.0
"""Metres of the scale in the last panel."""


def write_stills(drive: RecordedDrive, name: str, file: Path, dark: bool) -> None:
    """Write the picture, whole or not at all.

    Args:
        drive: the recorded attempt.
        name: in the title.
        file: the target, PNG.
        dark: colours for dark pages.
    """
    film = make_film([drive], name, before=max(SECONDS_BEFORE), dark=dark)
    write_png(render_stills(film), file)


def render_stills(film: DriveFilm) -> Image.Image:
    """Draw the moments of a film of one drive side by side."""
    (footage,), drive = film.footages, film.footages[0].drive
    # panels side by side above a legend
    count = len(SECONDS_BEFORE)
    width = count * PANEL_PIXELS + (count - 1) * GAP + 2 * MARGIN
    legend = render_film_legend(
        width - 2 * MARGIN,
        bool(footage.sweeps),
        film.dark,
        note=False,
        with_partners=drive.reads_messages,
    )
    height = TITLE + CAPTION + PANEL_PIXELS + film.views + legend.height + 3 * MARGIN
    image = Image.new("RGB", (width, height), get_rgb_colour("paper", film.dark))
    brush = ImageDraw.Draw(image)
    lines = (f"{film.name}{drive.title}", "ink", 26), (drive.what, "quiet", 22)
    for number, (words, ink, size) in enumerate(lines):
        place = MARGIN, MARGIN + 20 + 34 * number
        fitting = trim_text(words, width - 2 * MARGIN, size)
        brush.text(
            place, fitting, get_rgb_colour(ink, film.dark), load_film_font(size), anchor="lm"
        )
    # a moment, with caption and panel
    for number, before in enumerate(SECONDS_BEFORE):
        tick = max(footage.last - round(before / footage.tick), film.first)
        left = MARGIN + number * (PANEL_PIXELS + GAP)
        state = footage.get_step(tick).snapshot.state
        words = f"{before:g} s before the end, {footage.speeds[tick]:.0f} km/h"
        words += f", {describe_messages(drive, state)}"
        at = left, MARGIN + TITLE + CAPTION / 2
        brush.text(
            at,
            trim_text(words, PANEL_PIXELS, 19),
            get_rgb_colour("ink", film.dark),
            load_film_font(19),
            anchor="lm",
        )
        panel = render_drive_panel(
            footage, film.ground, camera=film.camera, tick=tick, dark=film.dark
        )
        image.paste(panel, (left, MARGIN + TITLE + CAPTION))
        if film.views:
            snapshot = footage.get_step(tick).snapshot
            views = render_front_views(
                snapshot, footage.pictures, width=PANEL_PIXELS, dark=film.dark
            )
            image.paste(views, (left, MARGIN + TITLE + CAPTION + PANEL_PIXELS + GAP))
    render_metre_scale(
        brush, width - MARGIN - 16, MARGIN + TITLE + CAPTION + PANEL_PIXELS - 18, film
    )
    image.paste(legend, (MARGIN, height - MARGIN - legend.height))
    return image


def render_metre_scale(
    brush: ImageDraw.ImageDraw, right: int, bottom: int, film: DriveFilm
) -> None:
    """Draw how long ten metres are."""
    long = math.floor(TEN * film.camera.scale * PANEL_PIXELS / film.camera.size)
    brush.line([(right - long, bottom), (right, bottom)], get_rgb_colour("ink", film.dark), 3)
    at = right - long / 2, bottom - 14
    brush.text(at, f"{TEN:g} m", get_rgb_colour("ink", film.dark), load_film_font(18), anchor="mm")
