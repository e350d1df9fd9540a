"""Durations and amounts of data with units."""

from __future__ import annotations

UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


def format_duration(seconds: float) -> str:
    """Return a time in two units at most."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min"
    days, hours = divmod(hours, 24)
    return f"{days} days {hours} h"


def format_bytes(amount: float) -> str:
    """Return an amount of data, in powers of ten as disks have them."""
    for size, unit in UNITS:
        if amount >= size:
            return f"{amount / size:.1f} {unit}"
    return f"{amount:.0f} bytes"
