"""A drive's last seconds as a film at real speed: the road from above, and a panel of curves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from analysis.drawing.canvas import Canvas, Mark, Polyline, shortened
from analysis.drawing.palette import ERROR_COLOURS, is_misled
from analysis.drawing.picture import picture, side_by_side, stacked
from analysis.drawing.scale import Scale, spread, tick_words
from analysis.drive import Drive, Snapshot, snapshot_of
from analysis.figures.birds_eye import (
    SIZE,
    View,
    as_points,
    describe_messages,
    lane_lines,
    render_snapshot,
    render_ten_metres,
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


def render_panel(drive: Drive, shown: Sequence[Snapshot], now: Snapshot) -> Canvas:
    """Draw everything that changes and is not on the road."""
    canvas = Canvas(PANEL, SIZE, "clock, speed, messages and errors")
    canvas.text((4, 15), f"{now.time:.1f} s", size=16, bold=True)
    canvas.text((4, 28), f"{now.before:.1f} s before {drive.ending}", colour="quiet")
    across = Scale(shown[0].time, max(drive.end, shown[0].time + SHORTEST), LEFT, RIGHT)
    speeds = np.array([(step.time, 3.6 * float(step.state["speed"])) for step in shown])
    canvas.text((4, 48), "speed, km/h", colour="quiet")
    canvas.text((RIGHT, 48), f"{3.6 * float(now.state['speed']):.0f}", "end", bold=True)
    up = render_axes(canvas, 55, across, speeds[:, 1], now.time)
    past = speeds[speeds[:, 0] <= now.time + 1e-6].tolist()
    canvas.line([(across.at(time), up.at(speed)) for time, speed in past], "accent", 1.4)
    points = np.column_stack(ages(drive.messages))
    points = points[(points[:, 0] >= across.low) & (points[:, 0] <= across.high)]
    canvas.text((4, 115), "messages' age at delivery, s", colour="quiet")
    up = render_axes(canvas, 122, across, points[:, 1], now.time)
    canvas.text((4, 179), f"now: {describe_messages(now.state)}", colour="quiet")
    for time, age in points[points[:, 0] <= now.time + 1e-6].tolist():
        canvas.dot((across.at(time), up.at(age)), 1.5, "accent")
    render_errors(canvas, now)
    return canvas


def render_axes(canvas: Canvas, top: float, across: Scale, values: Floats, now: float) -> Scale:
    """Draw a frame for a curve, and a line where the film is; return the scale upwards."""
    low, high = spread(values.tolist(), (0.0,))
    up = Scale(low, high, top + CURVE_HEIGHT, top)
    for tick in up.ticks(3):
        canvas.line([(LEFT, up.at(tick)), (RIGHT, up.at(tick))], "line", 0.7)
        canvas.text((LEFT - 3, up.at(tick) + 3), tick_words(round(tick, 6)), "end", "quiet", 8.5)
    x = across.at(now)
    canvas.line([(x, top), (x, top + CURVE_HEIGHT)], "quiet", 0.8)
    return up


def render_errors(canvas: Canvas, now: Snapshot) -> None:
    """Draw how often each pattern is counted now."""
    canvas.text((4, 203), "errors now", colour="quiet")
    for number, pattern in enumerate(PATTERNS):
        x, y = 10 + 56 * (number % 3), 219 + 17 * (number // 3)
        count = int(now.state[pattern])
        colour = ERROR_COLOURS[pattern]
        canvas.dot((x, y - 3.4), 3.2, colour, hollow=not is_misled(pattern))
        ink = "ink" if count else "quiet"
        canvas.text((x + 7, y), f"{pattern} {count}", colour=ink, size=9, bold=bool(count))


SCALE = 3
"""Pixels for each unit of a drawing."""
GAP, TITLE = 12, 36.0
WIDTH, HEIGHT = round((SIZE + PANEL) * SCALE) + GAP, round((SIZE + TITLE) * SCALE)
"""Pixels; H.264 wants even numbers."""
HALF = 28.0
"""Metres from the ego to the edge of what is shown."""
TRAIL = 3.0
"""Seconds of the road users' trails that are shown."""
HELD = 1.5
"""Seconds for which the last picture stays."""
CODEC = "libx264"


@dataclass(frozen=True, slots=True, eq=False)
class Film:
    """What is shown: planning steps, and how many go into a second."""

    drive: Drive
    name: str  # before the attempt's own in the title
    snapshots: list[Snapshot]  # from TRAIL before the first that is shown
    first: int
    rate: Fraction
    dark: bool

    @property
    def pictures(self) -> int:
        """How many pictures it has, the last one repeated."""
        return len(self.snapshots) - self.first + round(HELD * self.rate)


def film_of(drive: Drive, name: str, before: float, dark: bool) -> Film:
    """Return the film of the last seconds of a drive."""
    first = drive.row_at(drive.end - before)
    early = drive.row_at(float(drive.times[first]) - TRAIL)
    snapshots = [snapshot_of(drive, row) for row in range(early, drive.row_at(drive.end) + 1)]
    steps = np.diff(drive.times)
    rate = Fraction(1 / float(np.median(steps)) if len(steps) else 1.0).limit_denominator(1000)
    return Film(drive, name, snapshots, first - early, rate, dark)


def write_film(film: Film, file: Path, on_picture: Callable[[], None]) -> None:
    """Write a film as H.264, whole or not at all; `on_picture` is called for each picture."""
    write_whole(file, lambda temporary: encode(film, temporary, on_picture))


def encode(film: Film, file: Path, on_picture: Callable[[], None]) -> None:
    """Draw and encode every picture."""
    import av

    if CODEC not in av.codecs_available:
        raise UserError(f"{file.name}: this PyAV has no {CODEC}; its wheels have it")
    with av.open(str(file), "w", format="mp4") as container:
        track = container.add_stream(CODEC, rate=film.rate, options={"crf": "20"})
        track.width, track.height, track.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        for image in images(film):
            container.mux(track.encode(av.VideoFrame.from_image(image)))
            on_picture()
        container.mux(track.encode())


def images(film: Film) -> Iterator[Image]:
    """Yield every picture."""
    for number in range(film.first, len(film.snapshots)):
        image = picture_of(film, number)
        yield image
    for _ in range(film.pictures - len(film.snapshots) + film.first):
        yield image


def picture_of(film: Film, number: int) -> Image:
    """Draw one planning step: the title above, the road to the left, numbers to the right."""
    snapshot, drive = film.snapshots[number], film.drive
    yaw = float(film.snapshots[-1].state["ego_yaw"])
    view = View(float(snapshot.state["ego_x"]), float(snapshot.state["ego_y"]), yaw, HALF)
    ground: list[Mark] = [*lane_lines(drive.map, view)]
    ground += trails(film.snapshots[: number + 1], view)
    road = render_snapshot(drive, snapshot, view, ground)
    render_ten_metres(road, view)
    panel = render_panel(drive, film.snapshots[film.first :], snapshot)
    row = side_by_side(
        [picture(canvas, SCALE, film.dark) for canvas in (road, panel)], GAP, film.dark
    )
    title = Canvas(SIZE + PANEL + GAP / SCALE, TITLE, "title")
    title.text((6, 15), shortened(f"{film.name}{drive.title}", title.width - 12), bold=True)
    title.text((6, 29), shortened(drive.what, title.width - 12), colour="quiet")
    return stacked([picture(title, SCALE, film.dark), row], film.dark)


def trails(snapshots: list[Snapshot], view: View) -> Iterator[Polyline]:
    """Yield the trails of all road users in the last seconds."""
    now = snapshots[-1].time
    recent = [snapshot for snapshot in snapshots if snapshot.time >= now - TRAIL - 1e-6]
    ways: dict[int, list[tuple[float, float]]] = {}
    for snapshot in recent:
        state, boxes = snapshot.state, snapshot.boxes
        ways.setdefault(0, []).append((float(state["ego_x"]), float(state["ego_y"])))
        known = boxes[boxes["source"].astype(str) == "truth"]
        for actor, *place in known[["actor_id", "world_x", "world_y"]].itertuples(index=False):
            ways.setdefault(int(actor), []).append((place[0], place[1]))
    for actor, way in ways.items():
        if len(way) > 1:
            colour = "quiet" if actor else "accent"
            yield Polyline(
                as_points(view.seen(np.array(way), SIZE)), colour, width=1.2, opacity=0.55
            )
