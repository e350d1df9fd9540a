"""How the ego brakes: recorded, on carlite, and with realistic tyres; a figure and a table.

`python -m tests.docs.braking` makes docs/images/braking.svg again and prints the table of
docs/explanation/dynamics.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from analysis.drawing.canvas import Canvas
from analysis.drawing.plots import PlotLine, render_line_plot
from analysis.drawing.svg import render_svg_file
from harness.carlite.arrays import Floats
from harness.world.brakes import TyreGrip
from tests.carlite.proving_ground import DT, LINCOLN, Place
from tools.fidelity.records import read_drive
from tools.fidelity.roads import DATA

ROOT = Path(__file__).parents[2]
FIGURE = ROOT / "docs" / "images" / "braking.svg"
REALISTIC = 0.85
"""Friction of conf/brakes/realistic.yaml."""
SHOWN = 8.0
"""m/s from which the figure shows a stop."""
LONGEST = 1.8
"""Seconds on the horizontal axis."""
FROM = 10.0
"""m/s at which a simulated car of the figure begins to brake, so that its pedal is down at 8."""
SPEEDS = (4.0, 8.0, 13.9)
"""m/s from which stopping distances are computed; 13.9 m/s are 50 km/h."""
MOST_TICKS = 400


def list_recorded_stops() -> Iterator[tuple[str, Floats, Floats]]:
    """Yield the name, the times and the speeds of each record from its highest speed on."""
    for path in sorted(DATA.glob("mkz2020-throttle-*.csv")):
        drive = read_drive(path)
        yield path.stem, drive.time[drive.peak :], drive.speed[drive.peak :]


def simulate_stop(speed: float, grip: TyreGrip | None) -> tuple[Floats, float]:
    """Return the speeds at each tick of a full braking of the ego's car, and the distance, m.

    Args:
        speed: m/s at the start.
        grip: of its tyres; None for those of the simulator.
    """
    place = Place()
    place.car(LINCOLN, velocity=(speed, 0.0))
    if grip is not None:
        control = place.control()
        wheels = tuple(replace(wheel, tire_friction=grip.tyre_friction) for wheel in control.wheels)
        actor = int(place.table.id[0])
        place.physics.set_control(place.table, actor, replace(control, wheels=wheels))
    place.table.brake[0] = 1.0
    speeds = [speed]
    start = float(place.table.position[0, 0])
    while speeds[-1] > 0.01 and len(speeds) < MOST_TICKS:
        place.tick()
        speeds.append(place.speed())
    return np.array(speeds), float(place.table.position[0, 0]) - start


def cut_stop(times: Floats, speeds: Floats) -> list[tuple[float, float, float, float]]:
    """Return the points of a stop below the speed that is shown, from the moment it is passed."""
    first = int(np.flatnonzero(speeds < SHOWN)[0])
    # where the speed is passed between two samples
    share = (speeds[first - 1] - SHOWN) / (speeds[first - 1] - speeds[first])
    start = times[first - 1] + share * (times[first] - times[first - 1])
    points = [(0.0, SHOWN, math.nan, math.nan)]
    for time, speed in zip(times[first:], speeds[first:], strict=True):
        points.append((float(time - start), float(speed), math.nan, math.nan))
        if speed < 0.05:
            break
    return points


def render_braking_figure() -> Canvas:
    """Draw the last metres per second of stops: recorded, on carlite, and with realistic tyres."""
    recorded = list(list_recorded_stops())
    lines = [
        PlotLine("recorded: three stops of an MKZ 2020", tuple(cut_stop(times, speeds)), "quiet")
        for name, times, speeds in recorded
        if name.endswith(("0.5", "0.8", "1.0"))
    ]
    # one entry of the legend for all records
    lines = [replace(line, label=line.label if n == 0 else "") for n, line in enumerate(lines)]
    for label, colour, shape, grip in (
        ("carlite", "accent", "square", None),
        ("brakes=realistic", "hue1", "diamond", TyreGrip(REALISTIC)),
    ):
        speeds, _ = simulate_stop(FROM, grip)
        times = DT * np.arange(len(speeds), dtype=np.float64)
        lines.append(PlotLine(label, tuple(cut_stop(times, speeds)), colour, shape))
    return render_line_plot(
        lines,
        (0.0, LONGEST, "time since 8 m/s, s"),
        y=(0.0, SHOWN, "speed, m/s"),
        says="speed over time of full braking: recorded, on carlite, and with realistic tyres",
    )


def compute_hardest(speeds: Floats) -> float:
    """Return the hardest braking from one tick to the next, m/s²."""
    return float(-np.diff(speeds).min()) / DT


def compute_regulation_distance(kmh: float) -> float:
    """Return the stopping distance by the formula of UN Regulation No. 13-H, m.

    Args:
        kmh: speed when the pedal is pressed, km/h; the regulation tests from 100.
    """
    return 0.1 * kmh + 0.006 * kmh**2


def list_stop_rows() -> Iterator[tuple[str, ...]]:
    """Yield for each speed the distance and the hardest braking, without and with realism."""
    for speed in SPEEDS:
        cells = [f"{speed:g} m/s"]
        for grip in (None, TyreGrip(REALISTIC)):
            speeds, distance = simulate_stop(speed, grip)
            cells += [f"{distance:.1f} m", f"{compute_hardest(speeds):.1f} m/s²"]
        cells.append(f"{compute_regulation_distance(3.6 * speed):.1f} m")
        yield tuple(cells)


def write_and_print() -> None:
    """Write the figure and print the rows of the table."""
    FIGURE.write_text(render_svg_file(render_braking_figure()), encoding="utf-8")
    for row in list_stop_rows():
        print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    write_and_print()
