"""A drive's last seconds as a film at real speed: the road from above, and a panel of curves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from analysis.drawing.canvas import Canvas, Mark, Shape, shortened
from analysis.drawing.palette import KIND_OF_ERROR, brought
from analysis.drawing.picture import below, beside, picture
from analysis.drawing.scale import Scale, spread, tick_words
from analysis.drive import Drive, Moment, moment_of
from analysis.figures.birds_eye import (
    SIZE,
    View,
    draw_moment,
    draw_ten_metres,
    heard,
    lane_lines,
    pairs,
)
from analysis.replay.scene import ages
from harness.errors import UserError
from harness.files import write_whole
from harness.vocabulary import PATTERNS, Floats

if TYPE_CHECKING:
    from PIL.Image import Image

PANEL = 170.0
LEFT, RIGHT = 26.0, PANEL - 8
CURVE_HEIGHT = 42.0
"""Of a curve."""
SHORTEST = 0.1
"""Seconds that a curve spans at least."""


def draw_panel(drive: Drive, shown: Sequence[Moment], now: Moment) -> Canvas:
    """Draw everything that changes and is not on the road."""
    canvas = Canvas(PANEL, SIZE, "clock, speed, messages and errors")
    canvas.words((4, 15), f"{now.time:.1f} s", size=16, bold=True)
    canvas.words((4, 28), f"{now.before:.1f} s before {drive.ending}", colour="quiet")
    across = Scale(shown[0].time, max(drive.end, shown[0].time + SHORTEST), LEFT, RIGHT)
    speeds = np.array([(each.time, 3.6 * float(each.state["speed"])) for each in shown])
    canvas.words((4, 48), "speed, km/h", colour="quiet")
    canvas.words((RIGHT, 48), f"{3.6 * float(now.state['speed']):.0f}", "end", bold=True)
    up = draw_axes(canvas, 55, across, speeds[:, 1], now.time)
    past = speeds[speeds[:, 0] <= now.time + 1e-6].tolist()
    canvas.line([(across.at(time), up.at(speed)) for time, speed in past], "accent", 1.4)
    told = np.column_stack(ages(drive.messages))
    told = told[(told[:, 0] >= across.low) & (told[:, 0] <= across.high)]
    canvas.words((4, 115), "messages' age at delivery, s", colour="quiet")
    up = draw_axes(canvas, 122, across, told[:, 1], now.time)
    canvas.words((4, 179), f"now: {heard(now.state)}", colour="quiet")
    for time, age in told[told[:, 0] <= now.time + 1e-6].tolist():
        canvas.dot((across.at(time), up.at(age)), 1.5, "accent")
    draw_errors(canvas, now)
    return canvas


def draw_axes(canvas: Canvas, top: float, across: Scale, values: Floats, now: float) -> Scale:
    """Draw a frame for a curve, and a line where the film is; return the scale upwards."""
    low, high = spread(values.tolist(), (0.0,))
    up = Scale(low, high, top + CURVE_HEIGHT, top)
    for tick in up.ticks(3):
        canvas.line([(LEFT, up.at(tick)), (RIGHT, up.at(tick))], "line", 0.7)
        canvas.words((LEFT - 3, up.at(tick) + 3), tick_words(round(tick, 6)), "end", "quiet", 8.5)
    x = across.at(now)
    canvas.line([(x, top), (x, top + CURVE_HEIGHT)], "quiet", 0.8)
    return up


def draw_errors(canvas: Canvas, now: Moment) -> None:
    """Draw how often each pattern is counted now."""
    canvas.words((4, 203), "errors now", colour="quiet")
    for number, pattern in enumerate(PATTERNS):
        x, y = 10 + 56 * (number % 3), 219 + 17 * (number // 3)
        count = int(now.state[pattern])
        colour = KIND_OF_ERROR[pattern]
        canvas.dot((x, y - 3.4), 3.2, colour, hollow=not brought(pattern))
        ink = "ink" if count else "quiet"
        canvas.words((x + 7, y), f"{pattern} {count}", colour=ink, size=9, bold=bool(count))


SCALE = 3
"""Pixels for each unit of a drawing."""
GAP, TITLE = 12, 36.0
WIDTH, HEIGHT = round((SIZE + PANEL) * SCALE) + GAP, round((SIZE + TITLE) * SCALE)
"""Pixels; H.264 wants even numbers."""
HALF = 28.0
"""Metres from the ego to the edge of what is shown."""
TRAIL = 3.0
"""Seconds of everybody's way that are shown."""
HELD = 1.5
"""Seconds for which the last picture stays."""
CODEC = "libx264"


@dataclass(frozen=True, slots=True, eq=False)
class Film:
    """What is shown: planning steps, and how many go into a second."""

    drive: Drive
    name: str  # before the attempt's own in the title
    moments: list[Moment]  # from TRAIL before the first that is shown
    first: int
    rate: Fraction
    dark: bool

    @property
    def pictures(self) -> int:
        """How many pictures it has, the last one repeated."""
        return len(self.moments) - self.first + round(HELD * self.rate)


def film_of(drive: Drive, name: str, before: float, dark: bool) -> Film:
    """Return the film of the last seconds of a drive."""
    first = drive.row_at(drive.end - before)
    early = drive.row_at(float(drive.times[first]) - TRAIL)
    moments = [moment_of(drive, row) for row in range(early, drive.row_at(drive.end) + 1)]
    steps = np.diff(drive.times)
    rate = Fraction(1 / float(np.median(steps)) if len(steps) else 1.0).limit_denominator(1000)
    return Film(drive, name, moments, first - early, rate, dark)


def write_film(film: Film, file: Path, drawn: Callable[[], None]) -> None:
    """Write a film as H.264, whole or not at all; `drawn` is told of each picture."""
    write_whole(file, lambda beside: encode(film, beside, drawn))


def encode(film: Film, file: Path, drawn: Callable[[], None]) -> None:
    """Draw and encode every picture."""
    import av

    if CODEC not in av.codecs_available:
        raise UserError(f"{file.name}: this PyAV has no {CODEC}; its wheels have it")
    with av.open(str(file), "w", format="mp4") as container:
        track = container.add_stream(CODEC, rate=film.rate, options={"crf": "20"})
        track.width, track.height, track.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        for image in images(film):
            container.mux(track.encode(av.VideoFrame.from_image(image)))
            drawn()
        container.mux(track.encode())


def images(film: Film) -> Iterator[Image]:
    """Yield every picture."""
    for number in range(film.first, len(film.moments)):
        image = draw(film, number)
        yield image
    for _ in range(film.pictures - len(film.moments) + film.first):
        yield image


def draw(film: Film, number: int) -> Image:
    """Draw one planning step: the title above, the road to the left, numbers to the right."""
    moment, drive = film.moments[number], film.drive
    yaw = float(film.moments[-1].state["ego_yaw"])
    view = View(float(moment.state["ego_x"]), float(moment.state["ego_y"]), yaw, HALF)
    ground: list[Mark] = [*lane_lines(drive.map, view)]
    ground += trails(film.moments[: number + 1], view)
    road = draw_moment(drive, moment, view, ground)
    draw_ten_metres(road, view)
    panel = draw_panel(drive, film.moments[film.first :], moment)
    row = beside([picture(each, SCALE, film.dark) for each in (road, panel)], GAP, film.dark)
    title = Canvas(SIZE + PANEL + GAP / SCALE, TITLE, "title")
    title.words((6, 15), shortened(f"{film.name}{drive.title}", title.width - 12), bold=True)
    title.words((6, 29), shortened(drive.what, title.width - 12), colour="quiet")
    return below([picture(title, SCALE, film.dark), row], film.dark)


def trails(moments: list[Moment], view: View) -> Iterator[Shape]:
    """Yield the ways of the ego and of everybody else in the last seconds."""
    now = moments[-1].time
    recent = [each for each in moments if each.time >= now - TRAIL - 1e-6]
    ways: dict[int, list[tuple[float, float]]] = {}
    for moment in recent:
        state, boxes = moment.state, moment.boxes
        ways.setdefault(0, []).append((float(state["ego_x"]), float(state["ego_y"])))
        known = boxes[boxes["source"].astype(str) == "truth"]
        for actor, *place in known[["actor_id", "world_x", "world_y"]].itertuples(index=False):
            ways.setdefault(int(actor), []).append((place[0], place[1]))
    for actor, way in ways.items():
        if len(way) > 1:
            colour = "quiet" if actor else "accent"
            yield Shape(pairs(view.seen(np.array(way), SIZE)), colour, width=1.2, opacity=0.55)
