"""Figures, quiet enough for print: dots, lines and their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.tables.table import Table
from harness.errors import UserError

COLOURS = ("#1f77b4", "#d95f02", "#1b9e77", "#7570b3", "#66a61e", "#a6761d", "#e7298a", "#666666")
STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "svg.hashsalt": "analysis",
}


def draw_along_route(table: Table, file: Path) -> None:
    """Draw figure 8: precision over parts of the route, one line for each system and condition."""
    rows = table.rows()
    arms = list(dict.fromkeys(names[:2] for names, _ in rows))
    with mpl.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(7, 4))
        for number, arm in enumerate(arms):
            own = [(names[2], row["AP pooled"]) for names, row in rows if names[:2] == arm]
            middles = [position(part) + 0.6 * (number - (len(arms) - 1) / 2) for part, _ in own]
            values = [each.value for _, each in own]
            colour = COLOURS[number % len(COLOURS)]
            axes.plot(middles, values, "o-", ms=3.5, lw=1.2, color=colour, label=" / ".join(arm))
            for x, (_, each) in zip(middles, own, strict=True):
                axes.plot([x, x], [each.low, each.high], color=colour, lw=1, alpha=0.5)
        axes.set(xlim=(0, 100), ylim=(0, 1.02), xlabel="% of the route", ylabel="average precision")
        legend_above(axes, len(arms))
        save(figure, file)


def position(part: str) -> float:
    """Return the middle of a part of the route, which is named by its ends in per cent."""
    first, last = part.removesuffix(" %").split("-")
    return (float(first) + float(last)) / 2


def draw_pairs(
    names: Sequence[str],
    a: Sequence[float],
    b: Sequence[float],
    arms: tuple[str, str],
    what: str,
    file: Path,
) -> None:
    """Draw a line from one arm's value to the other's for each route."""
    order = sorted(range(len(names)), key=lambda at: (b[at] - a[at], a[at]))
    with mpl.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(7, 1.4 + 0.19 * len(names)))
        for row, at in enumerate(order):
            worse = b[at] < a[at]
            axes.plot([a[at], b[at]], [row, row], color="#b2182b" if worse else "#888888", lw=1.4)
        rows = range(len(order))
        hollow = axes.scatter(
            [a[at] for at in order], rows, s=34, facecolors="white", edgecolors=COLOURS[0], zorder=3
        )
        full = axes.scatter([b[at] for at in order], rows, s=12, color=COLOURS[1], zorder=4)
        axes.set_yticks(list(rows), [names[at] for at in order], fontsize=7)
        axes.set(xlabel=what, ylabel="route", ylim=(-0.8, len(order) - 0.2))
        axes.grid(axis="y", visible=False)
        axes.legend(
            [hollow, full],
            list(arms),
            loc="lower left",
            bbox_to_anchor=(0, 1),
            ncols=2,
            frameon=False,
        )
        save(figure, file)


def legend_above(axes: Axes, entries: int) -> None:
    """Put the legend where it covers nothing."""
    axes.legend(
        loc="lower left", bbox_to_anchor=(0, 1), ncols=min(entries, 3), frameon=False, fontsize=8
    )


def save(figure: Figure, file: Path) -> None:
    """Write a figure, the same bytes for the same numbers."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        metadata = {"Date": None} if file.suffix == ".svg" else None
        figure.savefig(file, bbox_inches="tight", dpi=150, metadata=metadata)
    except OSError as problem:
        raise UserError(f"{file}: {problem.strerror or problem}") from None
    finally:
        plt.close(figure)
