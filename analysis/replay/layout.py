"""How a recording opens in the viewer, and what it says of itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.drawing.palette import COLOURS, error_colour
from analysis.drive import Drive
from analysis.replay.scene import SHOWN
from harness.vocabulary import PATTERNS

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


def layout() -> Blueprint:
    """Return the world to the left, the view from above beside it, curves to the right."""
    import rerun.blueprint as parts

    above = parts.VisualBounds2D(x_range=[-AROUND, AROUND], y_range=[-AROUND, AROUND])
    views = parts.Horizontal(
        parts.Spatial3DView(
            origin="here", contents="world/**", name="World, following the ego (y to the left)"
        ),
        parts.Vertical(
            parts.Spatial2DView(
                origin="above", name="From above, ahead is up (m)", visual_bounds=above
            ),
            parts.Tabs(
                parts.TextLogView(origin="events", name="Events"),
                parts.TextDocumentView(origin="about", name="What is what"),
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


def about(drive: Drive) -> str:
    """Return what is to be known of a recording, as Markdown."""
    sources = {"truth": "a road user", "ego_alone": "seen by the ego alone"}
    sources["cooperative"] = "seen with the help of messages"
    colours = [
        *((sources[source], COLOURS[colour][0]) for source, colour in SHOWN.items()),
        *((pattern, error_colour(pattern)) for pattern in PATTERNS),
    ]
    return "\n".join(
        [
            f"# {drive.title}",
            f"{drive.what[:1].upper()}{drive.what[1:]}.",
            "",
            "| box | colour |",
            "|---|---|",
            *(f"| {name} | `{code}` |" for name, code in colours),
            "",
            "`world` is CARLA's with y turned round: right-handed, x forward, y left, z up, metres."
            " `above` is the frame of the ego's LiDAR from above: x right, y down, ahead is up."
            " Time is seconds since the ego stood ready. The ego's sign is as large as a car,"
            " not as the ego.",
        ]
    )
