"""The figure: an outcome over the delay, a line for each speed; a public curve next to it."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.drawing.canvas import Canvas
from analysis.drawing.plots import PlotLine, render_line_plot
from analysis.statistics.intervals import estimate_mean
from studies.speed import public
from studies.speed.interaction import SWEEPS, SpeedPairs

COLOURS = ("quiet", "accent")
"""Of the lower and the higher speed."""
PERCEPTION = "own_latency"
"""The sweep that the public curve is of."""
APART = 0.012


def render_speed_figure(pairs: SpeedPairs, speeds: tuple[str, str]) -> Canvas:
    """Return the driving score over the delay, with 95 % intervals.

    Args:
        pairs: of the outcome `driving_score`.
        speeds: how both speeds are called, the lower one first.
    """
    lines = [make_speed_line(pairs, number, name) for number, name in enumerate(speeds)]
    if pairs.sweep == PERCEPTION:
        lines += list_public_lines(pairs.sizes)
    what = SWEEPS[pairs.sweep]
    return render_line_plot(
        lines,
        (0.0, max(pairs.sizes) + APART * len(lines), f"delay, s ({what})"),
        y=(0.0, 100.0, "driving score"),
        says=f"Driving score over the delay at two speeds: {what}",
        apart=APART,
    )


def make_speed_line(pairs: SpeedPairs, speed: int, name: str) -> PlotLine:
    """Return the line of one speed."""
    points = []
    for number, size in enumerate((0.0, *pairs.sizes)):
        estimate = estimate_mean(pairs.values[:, speed, number], pairs.ways)
        points.append((size, estimate.value, estimate.low, estimate.high))
    return PlotLine(label=name, points=tuple(points), colour=COLOURS[speed])


def list_public_lines(sizes: Sequence[float]) -> list[PlotLine]:
    """Return the public curve at both speeds, up to the largest delay that was driven."""
    none = float("nan")
    return [
        PlotLine(
            label=f"a public note, max_speed {limit:g}",
            points=tuple(
                (size, scores[speed], none, none)
                for size, scores in public.DRIVING_SCORES.items()
                if size <= max(sizes)
            ),
            colour=COLOURS[speed],
            shape="square",
        )
        for speed, limit in enumerate(public.SPEEDS)
    ]
