"""A latency curve at two speeds that a group published in notes; no test uses it.

V2Xverse's published checkpoint in Town05, 29 routes that are clean without delay at both speeds,
three repeats, the ego's perception late, time-outs counted as 0.
"""

from __future__ import annotations

from collections.abc import Mapping

SPEEDS = (5.0, 8.0)
"""`max_speed` of V2Xverse's agent, a factor on the planned speed that is named after m/s."""
DRIVING_SCORES: Mapping[float, tuple[float, float]] = {
    0.0: (99.4, 99.5),
    0.1: (96.0, 94.0),
    0.2: (94.1, 91.5),
    0.3: (95.5, 83.6),
    0.4: (95.0, 82.7),
    0.5: (89.8, 60.3),
    0.6: (84.9, 64.0),
    0.8: (69.7, 55.9),
}
"""By delay in s, at both speeds."""


def compute_public_losses(sizes: tuple[float, ...]) -> tuple[float, float]:
    """Return the mean loss of driving score over some delays, at both speeds; NaN if one is absent.

    Args:
        sizes: delays, s.
    """
    missing = (float("nan"), float("nan"))
    chosen = [DRIVING_SCORES.get(size, missing) for size in sizes]
    slow, fast = (
        DRIVING_SCORES[0.0][speed] - sum(scores[speed] for scores in chosen) / len(chosen)
        for speed in range(2)
    )
    return slow, fast
