"""Reception over distance from a simulator that is not ours.

WiLabV2Xsim v6.1 (branch Octave-version, commit d10ebc0) was run under GNU Octave on a highway of
2 km with 3 lanes a direction: 120 km/h with a deviation of 12, ten packets of 350 B a second,
10 MHz, 23 dBm, antennas of 3 dB, noise figure 6 dB, WINNER+ B1 in sight, shadowing of 3 dB
correlated over 25 m, no congestion control, one transmission, errors by a step. One seed and 3 to
4 s: its noise is 1 to 2 points. MCS 2 (ITS-G5), 7 (LTE-V2X) and 11 (NR-V2X); subchannels of 10
blocks; a resource is kept with probability 0.4.
"""

from __future__ import annotations

from collections.abc import Mapping

DISTANCES = tuple(range(50, 451, 50))
"""Upper ends, in metres, of the bins of 25 m below."""
WILAB_RECEPTION: Mapping[tuple[str, int], tuple[float, ...]] = {
    ("itsg5", 50): (0.997, 0.996, 0.979, 0.932, 0.830, 0.611, 0.313, 0.115, 0.028),
    ("itsg5", 150): (0.979, 0.949, 0.855, 0.705, 0.532, 0.340, 0.154, 0.047, 0.010),
    ("lte_v2x", 50): (0.957, 0.919, 0.876, 0.843, 0.791, 0.673, 0.478, 0.216, 0.097),
    ("lte_v2x", 150): (0.919, 0.795, 0.636, 0.496, 0.364, 0.246, 0.127, 0.052, 0.016),
    ("nr_v2x", 50): (0.975, 0.945, 0.893, 0.845, 0.773, 0.591, 0.344, 0.148, 0.046),
    ("nr_v2x", 150): (0.937, 0.847, 0.737, 0.614, 0.485, 0.330, 0.164, 0.063, 0.018),
}
"""Ratios of reception by radio and vehicles per kilometre, at `DISTANCES`."""
