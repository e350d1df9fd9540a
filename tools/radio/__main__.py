"""Print reception over distance on a highway next to that of another simulator.

`python -m tools.radio` simulates six settings: NR-V2X, LTE-V2X and ITS-G5, 50 and 150 vehicles per
kilometre. Every line is a bin of 25 m. The difference is in points of reception; the gap between
two packets that arrive is a mean; the age is that of the newest packet just before the next one.
`--figure FILE` writes a figure.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from tools.radio.highway import ReceptionTally, simulate_highway
from tools.radio.reference import DISTANCES, WILAB_RECEPTION

AIM = 5.0
"""Points of reception."""


def run_radio_command(arguments: list[str] | None = None) -> int:
    """Simulate and print; return 0."""
    parser = argparse.ArgumentParser(prog="python -m tools.radio", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.5, help="of simulated time")
    parser.add_argument("--seeds", type=int, default=1, help="repetitions of every setting")
    parser.add_argument("--only", choices=("nr_v2x", "lte_v2x", "itsg5"), help="one radio")
    parser.add_argument("--figure", type=Path, metavar="FILE", help="figure, SVG or PNG")
    options = parser.parse_args(arguments)
    if not 1 <= options.seeds <= 100 or not 0.2 <= options.seconds <= 1000:
        parser.error("--seeds must be from 1 to 100, --seconds from 0.2 to 1000")
    curves, missed = {}, []
    for (radio, density), reference in WILAB_RECEPTION.items():
        if options.only in (None, radio):
            tallies = [
                simulate_highway(radio, density, seconds=options.seconds, seed=seed)
                for seed in range(1, options.seeds + 1)
            ]
            curves[radio, density] = measure_ratio(tallies)
            missed += print_setting(f"{radio}, {density} vehicles/km", tallies, reference)
    print(f"\nmore than {AIM:g} points apart: {'; '.join(missed) or 'nowhere'}")
    if options.figure:
        plot_curves(curves, options.figure)
    return 0


def measure_ratio(tallies: list[ReceptionTally]) -> list[float]:
    """Return the share of packets that arrive, over all repetitions, at the distances."""
    sent = np.sum([tally.sent for tally in tallies], axis=0)
    received = np.sum([tally.received for tally in tallies], axis=0)
    return [float(received[far // 25 - 1] / max(sent[far // 25 - 1], 1)) for far in DISTANCES]


def print_setting(
    title: str, tallies: list[ReceptionTally], reference: tuple[float, ...]
) -> list[str]:
    """Print a setting; return where it misses the aim."""
    print(f"\n{title}\n   m   here  WiLab  points  gap ms  age ms")
    missed = []
    ratios = measure_ratio(tallies)
    for far, ratio, other in zip(DISTANCES, ratios, reference, strict=True):
        place = far // 25 - 1
        gaps = [gap for tally in tallies for gap in tally.gaps[place]]
        ages = [age for tally in tallies for age in tally.ages[place]]
        apart = 100 * (ratio - other)
        means = [f"{1000 * np.mean(times):7.0f}" if times else f"{'':7}" for times in (gaps, ages)]
        print(f"{far:4}  {ratio:5.3f}  {other:5.3f}  {apart:+6.1f} {' '.join(means)}")
        if abs(apart) > AIM:
            missed.append(f"{title} at {far} m ({apart:+.1f})")
    return missed


def plot_curves(curves: dict[tuple[str, int], list[float]], file: Path) -> None:
    """Draw reception over distance, lines here and points there."""
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(8.0, 3.4), layout="constrained")
    radios = list(dict.fromkeys(radio for radio, _ in curves))
    axes = figure.subplots(1, len(radios), sharey=True, squeeze=False)[0]
    for place, radio in zip(axes, radios, strict=True):
        for colour, density in (("#1f6f8b", 50), ("#c0562f", 150)):
            here, there = curves[radio, density], WILAB_RECEPTION[radio, density]
            place.plot(DISTANCES, here, color=colour, label=f"{density}/km")
            place.plot(DISTANCES, there, "x", color=colour, markersize=4)
        place.set_title(radio)
        place.set_xlabel("distance (m)")
        place.set_ylim(0, 1.02)
        place.grid(alpha=0.3)
    axes[0].set_ylabel("packet reception ratio")
    axes[0].legend(title="line: here, cross: WiLabV2Xsim", fontsize=7, title_fontsize=7)
    figure.savefig(file)


if __name__ == "__main__":
    sys.exit(run_radio_command())
