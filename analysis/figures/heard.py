"""What the ego heard and what it did not, on the map of one drive."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from analysis.attempt import read_checked_table
from analysis.drawing.canvas import Canvas, Mark, Polyline
from analysis.drawing.markers import add_marker
from analysis.figures.route_plan import (
    GAP,
    TITLE,
    WIDE,
    RoutePanel,
    RoutePlan,
    clip_polyline,
    compute_aspect_ratio,
    fit_route_panel,
    list_ground_legend_entries,
    make_ego_sign,
    make_ground_marks,
    make_scale_marks,
    render_plan_legend,
)
from analysis.tables.radio import read_link_messages
from harness.records.keys import AttemptKey
from harness.records.reading import CampaignRecords
from harness.types.vocabulary import Floats

HEARD, NOT_HEARD = "cooperative", "worse"
"""Colours of messages that arrived on the link, and of others."""
SHAPES_BY_KIND = {"vehicle": "circle", "roadside": "diamond"}
NO_PLACES = np.zeros((0, 2))
LEGEND = 20.0
"""Height of a line of the legend."""


def render_heard_map(campaign: CampaignRecords, key: AttemptKey) -> Canvas | None:
    """Draw one drive from above: senders, and a line to the ego for each message.

    Args:
        campaign: its records.
        key: an attempt on a link.

    Returns:
        None where no message was sent.
    """
    poses = read_checked_table(campaign, "poses", key)
    messages = place_messages(read_link_messages(campaign, key), poses)
    if messages.empty:
        return None
    ego = poses.loc[poses["sender"].astype(str) == "ego", ["true_x", "true_y"]]
    way = ego.to_numpy(np.float64)
    senders = messages[["x", "y"]].to_numpy(np.float64)
    plan = RoutePlan(
        name=key.route,
        town="",
        length=0.0,
        way=np.concatenate([way, senders]),
        lane_change=np.zeros(0, np.bool_),
        lines=read_checked_table(campaign, "map", key),
        scenery=read_checked_table(campaign, "scenery", key),
        lights=NO_PLACES,
        stops=NO_PLACES,
        hazards=(),
        units=NO_PLACES,
    )
    height = min(max(compute_aspect_ratio(plan) * WIDE, 0.3 * WIDE), 1.2 * WIDE)
    panel = fit_route_panel(plan, (GAP, GAP + TITLE), (WIDE, height))
    arrived = int((messages["outcome"] == "arrived").sum())
    title = f"{key}: {arrived} of {len(messages)} messages were received"
    canvas = Canvas(WIDE + 2 * GAP, 0.0, title)
    canvas.add_text((GAP, GAP + TITLE - 7), title, bold=True)
    canvas.marks.append(Polyline(points=panel.corners, fill="panel", closed=True))
    canvas.marks += make_ground_marks(plan, panel)
    canvas.marks += make_message_lines(messages, panel)
    # the ego's way, and where it set off
    for piece in clip_polyline(panel, way):
        canvas.add_line(piece, "accent", 2.0)
    start = panel.place_points(way[:1])[0]
    # its direction: to the first place that is 2 m away, or the last one
    left = np.flatnonzero(np.hypot(*(way - way[0]).T) > 2.0)
    ahead = panel.place_points(way[[left[0] if len(left) else -1]])[0] - start
    canvas.marks += make_ego_sign((start[0], start[1]), float(np.arctan2(ahead[1], ahead[0])))
    add_senders(canvas, messages, panel)
    canvas.marks += make_scale_marks(panel)
    canvas.marks.append(Polyline(points=panel.corners, stroke="line", closed=True))
    add_heard_legend(canvas, GAP + TITLE + height + LEGEND)
    # what lies on the ground, below the two lines on messages
    entries = [("ego at the start", make_ego_sign), *list_ground_legend_entries([plan])]
    below = GAP + TITLE + height + LEGEND * 2.5
    canvas.height = render_plan_legend(canvas, entries, below) + GAP
    return canvas


def place_messages(messages: pd.DataFrame, poses: pd.DataFrame) -> pd.DataFrame:
    """Return messages with the places of sender and ego when they were captured."""
    places = poses[["sender", "frame", "true_x", "true_y"]].astype({"sender": str})
    places = places.rename(columns={"frame": "capture_frame", "true_x": "x", "true_y": "y"})
    ego = places[places["sender"] == "ego"].drop(columns="sender")
    return messages.merge(places, on=["sender", "capture_frame"]).merge(
        ego, on="capture_frame", suffixes=("", "_ego")
    )


def make_message_lines(messages: pd.DataFrame, panel: RoutePanel) -> Iterator[Mark]:
    """Yield a line for each message: by whether it was received, dashed where sight is blocked."""
    ends = [panel.place_points(messages[list(at)].to_numpy(np.float64)) for at in PLACES]
    rows = zip(messages["outcome"], messages["sight"], *ends, strict=True)
    for outcome, sight, sender, ego in rows:
        yield Polyline(
            points=((sender[0], sender[1]), (ego[0], ego[1])),
            stroke=get_outcome_colour(outcome),
            width=0.8,
            dashed=sight != "LOS",
            opacity=0.45,
        )


PLACES = (("x", "y"), ("x_ego", "y_ego"))
"""Columns of the sender's and of the ego's place."""


def get_outcome_colour(outcome: str) -> str:
    """Return the colour of a message."""
    return HEARD if outcome == "arrived" else NOT_HEARD


def add_senders(canvas: Canvas, messages: pd.DataFrame, panel: RoutePanel) -> None:
    """Draw where messages were sent, those that were not received on top."""
    for outcome in ("arrived", "lost"):
        rows = messages[messages["outcome"] == outcome]
        points: Floats = panel.place_points(rows[["x", "y"]].to_numpy(np.float64))
        for kind, sender, (x, y) in zip(rows["kind"], rows["sender"], points, strict=True):
            add_marker(
                canvas,
                (float(x), float(y)),
                2.6,
                colour=get_outcome_colour(outcome),
                shape=SHAPES_BY_KIND.get(kind, "square"),
                title=f"{sender}: {outcome}",
            )


def add_heard_legend(canvas: Canvas, top: float) -> None:
    """Draw the legend: colours, lines and markers."""
    for column, (colour, words) in enumerate(((HEARD, "received"), (NOT_HEARD, "not received"))):
        x = GAP + 150.0 * column
        canvas.add_line([(x, top), (x + 24, top)], colour, 2.0)
        canvas.add_text((x + 30, top + 3.8), words)
    x = GAP + 300.0
    canvas.add_line([(x, top), (x + 24, top)], "quiet", 1.4)
    canvas.add_text((x + 30, top + 3.8), "in sight")
    canvas.add_dashed_line([(x + 110, top), (x + 134, top)], "quiet", 1.4)
    canvas.add_text((x + 140, top + 3.8), "sight blocked")
    below = top + LEGEND
    for column, (kind, words) in enumerate(
        (("vehicle", "vehicle (V2V)"), ("roadside", "roadside unit (V2I)"))
    ):
        x = GAP + 150.0 * column
        add_marker(canvas, (x + 12, below), 4.0, colour="quiet", shape=SHAPES_BY_KIND[kind])
        canvas.add_text((x + 30, below + 3.8), words)
    canvas.add_line([(GAP + 300, below), (GAP + 324, below)], "accent", 2.0)
    canvas.add_text((GAP + 330, below + 3.8), "way of the ego")
