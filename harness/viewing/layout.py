"""What the Rerun viewer shows of a drive, and where: views, legend, curves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.common.colours import COLOURS, get_error_colour
from harness.types.record_names import PATTERNS
from harness.viewing.scene import BOX_COLOURS

if TYPE_CHECKING:
    from rerun.blueprint import Blueprint

AROUND = 45.0
"""Metres to each side that are seen from above."""
CURVES = {
    "speed": "Speed, m/s",
    "controls": "Throttle, brake, steering",
    "messages/age": "Age of messages at delivery, s",
    "messages/displacement": "Displacement of messages at capture, m",
    "errors": "Errors by class",
}
CAMERAS = {"ego": "Ego", "partner": "Nearest partner"}
"""Titles of the views of front cameras, by entity."""
NAMES = {
    "truth": "ground truth",
    "ego_alone": "detected by the ego alone",
    "cooperative": "detected with messages",
}
"""What the legend calls a source of boxes."""


def build_viewer_layout(*, cameras: bool) -> Blueprint:
    """Return the world to the left, the view from above in the middle, curves to the right.

    Args:
        cameras: whether front cameras of the ego and a partner are shown below the world.
    """
    import rerun.blueprint as parts

    above = parts.VisualBounds2D(x_range=[-AROUND, AROUND], y_range=[-AROUND, AROUND])
    world = parts.Spatial3DView(
        origin="here", contents="world/**", name="World, following the ego (y to the left)"
    )
    front = [
        parts.Spatial2DView(origin=f"cameras/{who}", name=f"{title}, front camera")
        for who, title in CAMERAS.items()
    ]
    # three columns, with more room for the world
    views = parts.Horizontal(
        parts.Vertical(world, parts.Horizontal(*front), row_shares=[2, 1]) if cameras else world,
        parts.Vertical(
            parts.Spatial2DView(
                origin="above", name="From above, ahead is up (m)", visual_bounds=above
            ),
            parts.Tabs(
                parts.TextLogView(origin="events", name="Events"),
                parts.TextDocumentView(origin="about", name="Legend"),
            ),
            row_shares=[3, 1],
        ),
        parts.Vertical(
            *(parts.TimeSeriesView(origin=origin, name=name) for origin, name in CURVES.items())
        ),
        column_shares=[4, 3, 3],
    )
    closed = parts.SelectionPanel(state="collapsed"), parts.BlueprintPanel(state="collapsed")
    return parts.Blueprint(views, *closed, parts.TimePanel(state="collapsed"))


def format_legend(title: str, what: str) -> str:
    """Return what is to be known of a drive in a viewer, as Markdown.

    Args:
        title: which drive.
        what: how it ended, in a few words.
    """
    colours = [
        *((NAMES[source], COLOURS[colour][0]) for source, colour in BOX_COLOURS.items()),
        *((pattern, get_error_colour(pattern)) for pattern in PATTERNS),
    ]
    return "\n".join(
        [
            f"# {title}",
            f"{what[:1].upper()}{what[1:]}.",
            "",
            "| box | colour |",
            "|---|---|",
            *(f"| {name} | `{code}` |" for name, code in colours),
            "",
            "Thin lines lead from a LiDAR to the road users that it hits, and have its colour."
            " `world` is CARLA's frame with y negated: right-handed, x forward, y left, z up, in m."
            " `above` is the frame of the ego's LiDAR from above: x right, y down, ahead is up."
            " Time is seconds since the start of the attempt. The ego's symbol has the size of a"
            " typical car.",
        ]
    )
