"""What fog itself sends back to a LiDAR: a soft target in front of the hard one.

Formulas of Rasshofer et al. (2011) and Hahner et al. (2021). A pulse sin^2(pi t / 2 tau) of
half-power width tau meets fog at all ranges x up to the hard target. The receiver sees nothing
before 0.9 m and everything from 1 m on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from harness.types.vocabulary import Floats

LIGHT = 299_792_458.0
"""m/s."""
PULSE = 20e-9
"""s, half-power width."""
LATE = LIGHT * PULSE / 2
"""m by which the peak of a pulse comes after its start."""
BLIND, SEEING = 0.9, 1.0
"""m between which the receiver's view comes to overlap the beam."""
FAR, STEP, PEAK_STEP = 8.0, 0.01, 0.05
"""m: fog beyond FAR does not change the peak; steps of range in fog, and of the response."""
PHOTONS = 100.0
"""At the peak of the response: they make its place uncertain. An assumption of ours."""
PEAKS = 256

Calibration = Literal["hahner", "lambert"]
"""How the soft target compares with the hard one. `hahner`: all targets have the backscatter
1e-6 / pi, so reflectivity cancels. `lambert`: a target of reflectivity rho has rho / pi per
steradian, and the pulse's length c tau / 2 is in metres: fog is 150 / rho times as bright."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class FogResponses:
    """The integral I(R, r0) of a pulse in fog, in s/m^2, for places of the hard target."""

    places: Floats  # (X,) r0, m
    peaks: Floats  # (X,) greatest I over R
    peak_ranges: Floats  # (X,) R of it, m
    ranges: Floats  # (R,) m
    of_free_air: Floats  # (R,) I where the hard target is far away


@lru_cache(64)
def get_fog_responses(extinction: float) -> FogResponses:
    """Return the responses of fog by its extinction in 1/m: trapezoids along the beam.

    Args:
        extinction: 1/m.
    """
    # (X,) places in the fog, (R,) ranges that the receiver asks about, (X,) share of the beam in
    # view
    x = np.linspace(BLIND, FAR, round((FAR - BLIND) / STEP) + 1)
    ranges = np.linspace(BLIND, FAR, round((FAR - BLIND) / PEAK_STEP) + 1)
    overlap = np.clip((x - BLIND) / (SEEING - BLIND), 0.0, 1.0)
    # (R, X) metres between a place and the range that is asked about
    delay = ranges[:, None] - x
    pulse = np.sin(math.pi / (LIGHT * PULSE) * delay) ** 2
    pulse[(delay < 0) | (delay > LIGHT * PULSE)] = 0.0
    # (R, X) what each place sends back; `until`: summed from the receiver up to each place
    integrand = 2 / LIGHT * pulse * (overlap * np.exp(-2 * extinction * x) / x**2)
    until = np.zeros_like(integrand)
    np.cumsum((integrand[:, 1:] + integrand[:, :-1]) * (x[1] - x[0]) / 2, axis=1, out=until[:, 1:])
    # at each place of the target: the greatest response, and the range of it
    return FogResponses(
        places=x,
        peaks=until.max(axis=0),
        peak_ranges=ranges[until.argmax(axis=0)],
        ranges=ranges,
        of_free_air=until[:, -1],
    )


def compute_backscatter(extinction: float) -> float:
    """Return beta of fog in 1/(m sr): 0.046 over visibility (Rasshofer et al., 2011)."""
    return 0.046 * extinction / math.log(20)


def compute_soft_powers(
    extinction: float, ranges: Floats, rho: Floats, *, calibration: Calibration = "hahner"
) -> Floats:
    """Return the greatest power from fog before targets, where these send rho exp(-2 a r) / r^2.

    It is beta / beta_0 times the peak of the response; beta_0 is the target's backscatter.

    Args:
        extinction: 1/m.
        ranges: (N,) of the targets, m.
        rho: (N,) reflectivity times cosine of incidence.
        calibration: how fog compares with targets.

    Returns:
        (N,) in the units of the targets' powers.
    """
    response = get_fog_responses(extinction)
    peaks = np.interp(ranges, response.places, response.peaks)
    fog = math.pi * compute_backscatter(extinction) * peaks
    return np.asarray(1e6 * fog * rho if calibration == "hahner" else LIGHT / 2 * fog)


def sample_soft_ranges(extinction: float, ranges: Floats, random: np.random.Generator) -> Floats:
    """Return where fog appears to be before targets, m: the peak of a response of few photons.

    Without noise all points would lie on a shell. Photons are counted in steps of PEAK_STEP, some
    hundred times, and points get one of these peaks. A peak is LATE, and no farther than the
    target.

    Args:
        extinction: 1/m.
        ranges: (N,) of the targets, m.
        random: of the sweep.

    Returns:
        (N,) m, not beyond the targets.
    """
    response = get_fog_responses(extinction)
    # (PEAKS, R) photons at each range of the response to free air
    counts = random.poisson(
        PHOTONS * response.of_free_air / response.of_free_air.max(), (PEAKS, len(response.ranges))
    )
    peaks = response.ranges[counts.argmax(axis=1)][random.integers(PEAKS, size=len(ranges))]
    # a place within its step, less what the peak of a pulse is late
    peaks = peaks + random.uniform(-PEAK_STEP / 2, PEAK_STEP / 2, len(ranges))
    return np.asarray(np.minimum(np.maximum(peaks - LATE, BLIND), ranges))
