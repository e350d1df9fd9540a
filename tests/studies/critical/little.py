"""A small search for critical sizes, as records have it."""

from __future__ import annotations

from harness.records.critical import CriticalSizes, SearchedAttempt


def sizes_with(*rows: SearchedAttempt) -> CriticalSizes:
    """Return a search over latency, from 0 to 0.8 s."""
    return CriticalSizes(
        of="latency",
        finest=0.2,
        coarse=(0.0, 0.4, 0.8),
        placebo="pose",
        placebos=5,
        period=0.2,
        searched=rows,
    )
