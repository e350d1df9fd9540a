"""A drive's last seconds as one picture that stands alone: three moments, captions, a legend."""

from __future__ import annotations

import math
from pathlib import Path

from PIL import Image, ImageDraw

from analysis.drawing.canvas import shortened
from analysis.drawing.picture import colour, write_png
from analysis.drive import Drive
from analysis.figures.birds_eye import SECONDS_BEFORE, describe_messages
from analysis.replay.film import GAP, MARGIN, SIZE, Film, film_of, font
from analysis.replay.legend import legend_of
from analysis.replay.panel import panel_of

TITLE, CAPTION = 76, 36
"""Pixels above the panels."""
TEN = 10.0
"""Metres of the scale in the last panel."""


def write_stills(drive: Drive, name: str, file: Path, dark: bool) -> None:
    """Write the picture, whole or not at all."""
    film = film_of([drive], name, before=max(SECONDS_BEFORE), dark=dark)
    write_png(stills_of(film), file)


def stills_of(film: Film) -> Image.Image:
    """Draw the moments of a film of one drive side by side."""
    (footage,), drive = film.footages, film.footages[0].drive
    count = len(SECONDS_BEFORE)
    width = count * SIZE + (count - 1) * GAP + 2 * MARGIN
    legend = legend_of(width - 2 * MARGIN, bool(footage.sweeps), film.dark, note=False)
    height = TITLE + CAPTION + SIZE + legend.height + 3 * MARGIN
    image = Image.new("RGB", (width, height), colour("paper", film.dark))
    brush = ImageDraw.Draw(image)
    lines = (f"{film.name}{drive.title}", "ink", 26), (drive.what, "quiet", 22)
    for number, (words, ink, size) in enumerate(lines):
        place = MARGIN, MARGIN + 20 + 34 * number
        fitting = shortened(words, width - 2 * MARGIN, size)
        brush.text(place, fitting, colour(ink, film.dark), font(size), anchor="lm")
    for number, before in enumerate(SECONDS_BEFORE):
        tick = max(footage.last - round(before / footage.tick), film.first)
        left = MARGIN + number * (SIZE + GAP)
        state = footage.step(tick).snapshot.state
        words = f"{before:g} s before the end, {footage.speeds[tick]:.0f} km/h"
        words += f", {describe_messages(state)}"
        at = left, MARGIN + TITLE + CAPTION / 2
        brush.text(at, shortened(words, SIZE, 19), colour("ink", film.dark), font(19), anchor="lm")
        panel = panel_of(footage, film.ground, camera=film.camera, tick=tick, dark=film.dark)
        image.paste(panel, (left, MARGIN + TITLE + CAPTION))
    render_scale(brush, width - MARGIN - 16, MARGIN + TITLE + CAPTION + SIZE - 18, film)
    image.paste(legend, (MARGIN, height - MARGIN - legend.height))
    return image


def render_scale(brush: ImageDraw.ImageDraw, right: int, bottom: int, film: Film) -> None:
    """Draw how long ten metres are."""
    long = math.floor(TEN * film.camera.scale * SIZE / film.camera.size)
    brush.line([(right - long, bottom), (right, bottom)], colour("ink", film.dark), 3)
    at = right - long / 2, bottom - 14
    brush.text(at, f"{TEN:g} m", colour("ink", film.dark), font(18), anchor="mm")
