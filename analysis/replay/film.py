"""The last seconds of one drive, or of two side by side on one clock, as a film at real speed.

Every tick is a picture. Road users are where the records say, at each tick; boxes and messages hold
from one planning step to the next. Both drives are seen by one camera, which follows the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
from PIL import Image, ImageDraw

from analysis.cases import format_arm_title
from analysis.drawing.canvas import trim_text
from analysis.drawing.picture import get_rgb_colour, load_film_font
from analysis.drawing.scale import AxisScale
from analysis.drive import RecordedDrive
from analysis.figures.birds_eye import describe_messages
from analysis.replay.ground import FilmGround, FollowCamera, make_follow_camera, render_film_ground
from analysis.replay.legend import render_film_legend
from analysis.replay.panel import DriveFootage, render_drive_panel
from analysis.replay.scene import read_kept_sweeps
from analysis.replay.views import VIEW_HEIGHT, read_front_pictures, render_front_views
from harness.common.errors import UserError
from harness.common.files import write_whole

Layout = Literal["row", "column"]
PANEL_PIXELS = 640
"""Pixels of a panel's sides."""
GAP, MARGIN, HEADER, CURVES = 16, 12, 92, 132
"""Pixels between and round panels, above each of them, and of the curves below."""
AFTER = 3.0
"""Seconds that a second drive is shown beyond the end of the first."""
HELD = 1.5
"""Seconds for which the last picture stays."""
CODEC = "libx264"
HUES = ("worse", "accent")
"""Of the two drives' names and speeds; the first is the one that the film is about."""
MOVING = {".webp": 10, ".gif": 10}
"""Picture formats that move, and their pictures a second."""
RENDERED_UNITS, HELD_UNITS, SAVED_UNITS = 19, 1, 22
"""What a picture takes that is rendered, one that is the last again, and one of an animated picture
when that is saved (decisions 0127 and 0143)."""
UNIT = 0.0016
"""Seconds of a core of 2023 for a unit of work."""


OnPicture = Callable[[int], object]
"""Is called with units of work."""


@dataclass(frozen=True, eq=False, kw_only=True)
class DriveFilm:
    """One drive, or two on one clock; ticks count from the start of both attempts."""

    name: str  # before the first drive's own in the title
    footages: tuple[DriveFootage, ...]
    first: int
    last: int
    layout: Layout
    dark: bool

    @property
    def rate(self) -> Fraction:
        """Pictures a second: one for each tick."""
        return Fraction(1 / self.footages[0].tick).limit_denominator(1000)

    @property
    def pictures(self) -> int:
        """How many pictures it has, the last one repeated."""
        return self.rendered + round(HELD * self.rate)

    @property
    def rendered(self) -> int:
        """How many pictures are rendered: all others are the last one again."""
        return self.last - self.first + 1

    @property
    def skip(self) -> int:
        """Pictures for one picture of an animated picture."""
        return max(1, round(self.rate / MOVING[".webp"]))

    def list_work(self, suffix: str) -> list[int]:
        """Return the units of work for each picture of a file of this format.

        An animated picture is saved after the last one.
        """
        held = self.pictures - self.rendered
        work = [RENDERED_UNITS] * self.rendered + [HELD_UNITS] * held
        if suffix in MOVING:
            work[-1] += SAVED_UNITS * -(-self.pictures // self.skip)
        return work

    @cached_property
    def camera(self) -> FollowCamera:
        """The camera, which follows the first drive and stays where that ended."""
        main = self.footages[0]
        shown = np.clip(np.arange(self.last + 1), self.first, main.last)
        return make_follow_camera(main.way[shown], float(main.headings[-1]), PANEL_PIXELS)

    @cached_property
    def ground(self) -> FilmGround:
        """What does not move."""
        drive = self.footages[0].drive
        return render_film_ground(drive.map, drive.scenery, self.camera, self.dark)

    @cached_property
    def legend(self) -> Image.Image:
        """What the signs mean."""
        return self._render_legend(self.size[0] - 2 * MARGIN)

    def _render_legend(self, width: int) -> Image.Image:
        """Return the legend in so many pixels; partners are in it if any drive has messages."""
        return render_film_legend(
            width,
            any(footage.sweeps for footage in self.footages),
            self.dark,
            with_partners=any(footage.drive.reads_messages for footage in self.footages),
        )

    @property
    def views(self) -> int:
        """Pixels of what front cameras see below each panel; 0 where no pictures were kept."""
        return VIEW_HEIGHT + GAP if any(footage.pictures for footage in self.footages) else 0

    @cached_property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels, both even as H.264 wants them."""
        across, down = self._grid
        width = across * PANEL_PIXELS + (across - 1) * GAP + 2 * MARGIN
        legend = self._render_legend(width - 2 * MARGIN)
        parts = down * (HEADER + PANEL_PIXELS + self.views)
        height = parts + CURVES + legend.height + 2 * MARGIN
        return width + width % 2, height + height % 2

    @property
    def _grid(self) -> tuple[int, int]:
        count = len(self.footages)
        return (count, 1) if self.layout == "row" else (1, count)

    def get_panel_corner(self, number: int) -> tuple[int, int]:
        """Return the left upper corner of a drive's part."""
        if self.layout == "row":
            return MARGIN + number * (PANEL_PIXELS + GAP), MARGIN
        return MARGIN, MARGIN + number * (HEADER + PANEL_PIXELS + self.views)


def make_film(
    drives: Sequence[RecordedDrive],
    name: str,
    *,
    before: float,
    layout: Layout = "row",
    dark: bool = False,
) -> DriveFilm:
    """Return the film of the last seconds of a drive, next to another one if there are two.

    Args:
        drives: the drive, and another one that is shown next to it.
        name: in the title.
        before: seconds before the end.
        layout: `row` or another arrangement of the panels.
        dark: colours for dark pages.
    """
    footages = tuple(
        DriveFootage(drive, read_kept_sweeps(drive), read_front_pictures(drive), drives[0].other)
        for drive in drives
    )
    main = footages[0]
    first = main.last - round(min(before / main.tick, main.last))
    longest = max(footage.last for footage in footages)
    last = min(longest, main.last + round(AFTER / main.tick)) if len(drives) > 1 else main.last
    return DriveFilm(name=name, footages=footages, first=first, last=last, layout=layout, dark=dark)


def can_encode_h264() -> bool:
    """Return whether PyAV is there, which .mp4 needs."""
    try:
        import av  # noqa: F401
    except ImportError:
        return False
    return True


def write_film(film: DriveFilm, file: Path, on_picture: OnPicture) -> None:
    """Write a film, whole or not at all.

    Args:
        film: what is shown.
        file: its ending decides the format.
        on_picture: is called for each picture, with the units of work that it took.
    """
    if file.suffix in MOVING:
        write_whole(
            file, lambda temporary: write_animated_image(film, temporary, file.suffix, on_picture)
        )
    else:
        write_whole(file, lambda temporary: encode_h264(film, temporary, on_picture))


def encode_h264(film: DriveFilm, file: Path, on_picture: OnPicture) -> None:
    """Draw and encode every picture as H.264."""
    import av

    if CODEC not in av.codecs_available:
        raise UserError(f"{file.name}: this PyAV has no {CODEC}; its wheels have it")
    with av.open(str(file), "w", format="mp4") as container:
        options = {"crf": "23", "preset": "veryfast"}
        track = container.add_stream(CODEC, rate=film.rate, options=options)
        (track.width, track.height), track.pix_fmt = film.size, "yuv420p"
        work = film.list_work(".mp4")
        for image, units in zip(iterate_pictures(film), work, strict=True):
            container.mux(track.encode(av.VideoFrame.from_image(image)))
            on_picture(units)
        container.mux(track.encode())


def write_animated_image(film: DriveFilm, file: Path, suffix: str, on_picture: OnPicture) -> None:
    """Write a picture that moves, for pages that show no films: every other tick, half as large."""
    shown, work = [], film.list_work(suffix)
    for number, image in enumerate(iterate_pictures(film)):
        if number % film.skip == 0:
            shown.append(image.reduce(2))
        if number < len(work) - 1:
            on_picture(work[number])
    options = {"quality": 55, "method": 4} if suffix == ".webp" else {}
    shown[0].save(
        file,
        suffix[1:].upper(),
        save_all=True,
        append_images=shown[1:],
        duration=round(1000 * film.skip / film.rate),
        loop=0,
        **options,
    )
    # the last picture counts when all are saved
    on_picture(work[-1])


def iterate_pictures(film: DriveFilm) -> Iterator[Image.Image]:
    """Yield every picture."""
    base = render_film_background(film)
    for tick in range(film.first, film.last + 1):
        image = render_tick_picture(film, base, tick)
        yield image
    for _ in range(round(HELD * film.rate)):
        yield image


def render_tick_picture(film: DriveFilm, base: Image.Image, tick: int) -> Image.Image:
    """Draw one tick on what stays the same."""
    image = base.copy()
    brush = ImageDraw.Draw(image)
    for number, footage in enumerate(film.footages):
        # the panel of each drive, which stays at its end once it is over
        left, top = film.get_panel_corner(number)
        panel = render_drive_panel(
            footage, film.ground, camera=film.camera, tick=tick, dark=film.dark
        )
        image.paste(panel, (left, top + HEADER))
        if film.views:
            snapshot = footage.get_step(min(tick, footage.last)).snapshot
            views = render_front_views(
                snapshot, footage.pictures, width=PANEL_PIXELS, dark=film.dark
            )
            image.paste(views, (left, top + HEADER + PANEL_PIXELS + GAP))
        write_drive_state(
            brush, (left, top), footage=footage, tick=min(tick, footage.last), dark=film.dark
        )
        if tick >= footage.last:
            write_drive_ending(brush, (left, top + HEADER), footage.drive, film.dark)
    # the moment on the curves of speed
    across, _ = make_speed_scales(film)
    x = across.place_value(tick * film.footages[0].tick)
    top = compute_curves_top(film)
    brush.line([(x, top + 26), (x, top + CURVES - 22)], get_rgb_colour("ink", film.dark), 2)
    return image


def write_drive_state(
    brush: ImageDraw.ImageDraw,
    corner: tuple[int, int],
    *,
    footage: DriveFootage,
    tick: int,
    dark: bool,
) -> None:
    """Write speed, messages and braking of a drive."""
    left, top = corner
    state = footage.get_step(tick).snapshot.state
    # speed, messages, braking
    speed = f"{footage.speeds[tick]:.0f} km/h"
    brush.text(
        (left, top + 60), speed, get_rgb_colour("ink", dark), load_film_font(24), anchor="lm"
    )
    messages = describe_messages(footage.drive, state)
    brush.text(
        (left + 120, top + 60),
        messages,
        get_rgb_colour("ink", dark),
        load_film_font(20),
        anchor="lm",
    )
    brake = float(state["brake"])
    if brake > 0.05:
        words, right = "braking", left + PANEL_PIXELS
        brush.rectangle([right - 96, top + 48, right, top + 74], get_rgb_colour("worse", dark))
        brush.text(
            (right - 48, top + 61),
            words,
            get_rgb_colour("paper", dark),
            load_film_font(18),
            anchor="mm",
        )


def write_drive_ending(
    brush: ImageDraw.ImageDraw, corner: tuple[int, int], drive: RecordedDrive, dark: bool
) -> None:
    """Write how a drive ended, across its panel."""
    left, top = corner
    hue = "worse" if drive.violated else "accent"
    brush.rectangle(
        [left, top + PANEL_PIXELS - 44, left + PANEL_PIXELS, top + PANEL_PIXELS],
        get_rgb_colour(hue, dark),
    )
    words = trim_text(drive.what, PANEL_PIXELS - 20, 20)
    at = left + PANEL_PIXELS / 2, top + PANEL_PIXELS - 22
    brush.text(at, words, get_rgb_colour("paper", dark), load_film_font(20), anchor="mm")


def render_film_background(film: DriveFilm) -> Image.Image:
    """Draw what stays the same: titles, curves, legend."""
    image = Image.new("RGB", film.size, get_rgb_colour("paper", film.dark))
    brush = ImageDraw.Draw(image)
    for number, footage in enumerate(film.footages):
        left, top = film.get_panel_corner(number)
        key = footage.drive.key
        title = (
            format_arm_title(key.arm)
            if len(film.footages) > 1
            else f"{film.name}{footage.drive.title}"
        )
        ink = get_rgb_colour(HUES[number], film.dark)
        brush.text(
            (left, top + 20),
            trim_text(title, PANEL_PIXELS, 24),
            ink,
            load_film_font(24),
            anchor="lm",
        )
    render_speed_curves(brush, film)
    image.paste(film.legend, (MARGIN, film.size[1] - MARGIN - film.legend.height))
    return image


def compute_curves_top(film: DriveFilm) -> int:
    """Return where the curves begin."""
    _, down = film._grid
    return MARGIN + down * (HEADER + PANEL_PIXELS + film.views)


def make_speed_scales(film: DriveFilm) -> tuple[AxisScale, AxisScale]:
    """Return the scales of the curves: seconds across, km/h upwards."""
    top, tick = compute_curves_top(film), film.footages[0].tick
    fastest = max(
        float(footage.speeds[film.first :].max(initial=10.0)) for footage in film.footages
    )
    end = max(film.last, film.first + 2) * tick
    left, right = MARGIN + 46, film.size[0] - MARGIN
    across = AxisScale(low=film.first * tick, high=end, first=left, last=right)
    return across, AxisScale(low=0.0, high=1.05 * fastest, first=top + CURVES - 24, last=top + 28)


def render_speed_curves(brush: ImageDraw.ImageDraw, film: DriveFilm) -> None:
    """Draw the speeds of the drives."""
    across, up = make_speed_scales(film)
    quiet, line = get_rgb_colour("quiet", film.dark), get_rgb_colour("line", film.dark)
    top, tick = compute_curves_top(film), film.footages[0].tick
    brush.text((MARGIN, top + 12), "speed, km/h", quiet, load_film_font(16), anchor="lm")
    # grid
    for value in up.choose_ticks(3):
        y = up.place_value(value)
        brush.line(
            [(across.place_value(across.low), y), (across.place_value(across.high), y)], line
        )
        brush.text((MARGIN + 38, y), f"{value:g}", quiet, load_film_font(15), anchor="rm")
    for value in across.choose_ticks(8):
        words = f"{value:g} s"
        brush.text(
            (across.place_value(value), top + CURVES - 10),
            words,
            quiet,
            load_film_font(15),
            anchor="mm",
        )
    # curves, the first drive on top
    for number, footage in reversed(list(enumerate(film.footages))):
        ticks = np.arange(film.first, min(film.last, footage.last) + 1)
        points = [
            (across.place_value(t * tick), up.place_value(footage.speeds[t]))
            for t in ticks.tolist()
        ]
        brush.line(points, get_rgb_colour(HUES[number], film.dark), 4 - number)
